#include "cli/check.h"

#include "apiserver/custom/structural.h"
#include "base/buf.h"
#include "base/str.h"
#include "cel/rules.h"
#include "cli/embedded.h"
#include "merge/schema.h"
#include "merge/typed.h"

#define NAME_BYTES_MAX 64 /* a longer name is not a typo */
#define NAMES_MAX 512

struct check {
    struct inputs *in;
    struct json objects, crds; /* crds: our own, and those of the manifests */
    struct schemas *schemas;
    struct buf *out;
    size_t count;
};

/* ---- the nearest name ---- */

static size_t min_of(size_t x, size_t y)
{
    return x < y ? x : y;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The edit distance: characters to insert, remove or replace. */
static size_t distance(const char *x, const char *y)
{
    size_t row[NAME_BYTES_MAX + 1], length = strlen(y);
    if (strlen(x) > NAME_BYTES_MAX || length > NAME_BYTES_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 0; x[i]; i++) {
        size_t corner = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t replaced = corner + (lower(x[i]) != lower(y[j]));
            corner = row[j + 1];
            row[j + 1] = min_of(replaced, min_of(row[j], corner) + 1);
        }
    }
    return row[length];
}

const char *check_nearest(const char *wrong, const char *const *candidates)
{
    const char *best = NULL;
    size_t best_distance = 1 + strlen(wrong) / 3;
    for (size_t i = 0; candidates[i]; i++) {
        size_t d = distance(wrong, candidates[i]);
        if (d <= best_distance && (!best || d < best_distance)) {
            best = candidates[i];
            best_distance = d;
        }
    }
    return best;
}

/* ---- reporting ---- */

static void tell(struct check *c, size_t i, const char *path, const char *what, const char *nearest)
{
    struct json object = c->objects.items[i];
    const char *kind = json_get_text(object, "kind"),
               *name = json_get_text(object, "metadata.name");
    buf_printf(c->out,
        "%s: %s/%s: %s%s%s",
        input_place(c->in, i, path),
        kind ? kind : "?",
        name ? name : "?",
        path,
        *path ? ": " : "",
        what);
    if (nearest)
        buf_printf(c->out, "; did you mean %s?", nearest);
    buf_add_char(c->out, '\n');
    c->count++;
}

/* ---- kinds of CRDs ---- */

/* The schema at a path, or the deepest one that exists along it. */
static struct json schema_at(struct json schema, const char *path, size_t length)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t at = 0; at < length;) {
        if (path[at] == '[') {
            struct json items = json_member(schema, "items");
            schema = json_present(items) ? items : json_member(schema, "additionalProperties");
            at += strcspn(path + at, "]") + 1;
        } else {
            at += path[at] == '.';
            size_t end = at + strcspn(path + at, ".[");
            const char *name = arena_printf(&a, "%.*s", (int)(end - at), path + at);
            schema = json_member(json_member(schema, "properties"), name);
            at = end;
        }
    }
    return schema;
}

static const char *nearest_field(struct json schema, const char *path)
{
    const char *names[NAMES_MAX + 1], *dot = strrchr(path, '.');
    size_t count = 0;
    struct json parent = schema_at(schema, path, dot ? (size_t)(dot - path) : 0);
    struct json properties = json_member(parent, "properties");
    for (uint32_t i = 0; i < properties.count && count < NAMES_MAX; i++)
        names[count++] = properties.members[i].key;
    names[count] = NULL;
    return check_nearest(dot ? dot + 1 : path, names);
}

static struct json schema_of_version(struct json crd, const char *version)
{
    struct json found = json_find(json_get(crd, "spec.versions"), "name", version);
    return json_get(found, "schema.openAPIV3Schema");
}

static void check_rules(struct check *c, size_t i, struct json schema, struct json object)
{
    struct arena *a = c->in->arena;
    struct cel_problems broken = { 0 }, refused = { 0 }, warned = { 0 };
    const struct cel_rules *rules = cel_rules_compile(
        a, schema, &(struct cel_rules_options){ .at = "", .no_cost_limits = true }, &broken);
    if (!rules)
        return;
    cel_rules_check(rules, a, &(struct cel_rules_input){ .object = object }, &refused, &warned);
    for (const struct cel_problem *p = refused.first; p; p = p->next)
        tell(c, i, text_eq(p->path, "<nil>") ? "" : p->path, p->message, NULL);
}

static void check_custom(struct check *c, size_t i, struct json schema)
{
    struct arena *a = c->in->arena;
    const struct structural *s = structural_compile(a, schema);
    struct field_errors unknown, errors;
    field_errors_init(&unknown, a);
    field_errors_init(&errors, a);
    struct json object = structural_prune(s, a, c->objects.items[i], &unknown);
    object = structural_fill(s, a, object);
    structural_check(s, a, object, json_none, false, &errors);
    for (size_t k = 0; k < unknown.count; k++) {
        const char *path = unknown.items[k].path;
        tell(c, i, path, "unknown field", nearest_field(schema, path));
    }
    for (size_t k = 0; k < errors.count; k++)
        tell(c, i, errors.items[k].path, errors.items[k].message, NULL);
    if (!errors.count)
        check_rules(c, i, schema, object);
}

/* ---- unknown kinds ---- */

static const char *const builtin_kinds[] = {
    "ConfigMap",
    "CronJob",
    "CustomResourceDefinition",
    "DaemonSet",
    "Deployment",
    "Ingress",
    "Job",
    "Namespace",
    "NetworkPolicy",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityClass",
    "ReplicaSet",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "StatefulSet",
    "StorageClass",
};

static const char *const builtin_groups[] = {
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
};

static bool is_builtin_group(struct str group)
{
    for (size_t i = 0; i < lengthof(builtin_groups); i++)
        if (str_eq(group, str_of(builtin_groups[i])))
            return true;
    return !group.len || !memchr(group.ptr, '.', group.len);
}

static void tell_unknown_kind(struct check *c, size_t i, struct str group)
{
    const char *names[NAMES_MAX + 1], *kind = json_get_text(c->objects.items[i], "kind");
    struct buf list = BUF_INIT(4096);
    size_t count = 0;
    bool builtin = is_builtin_group(group);
    for (size_t k = 0; k < lengthof(builtin_kinds); k++)
        names[count++] = builtin_kinds[k];
    json_each (crd, c->crds) {
        const char *its = json_get_text(*crd, "spec.names.kind");
        if (count < NAMES_MAX && its)
            names[count++] = its;
        if (its && str_eq(str_of(json_get_text(*crd, "spec.group")), group))
            buf_printf(&list, "%s%s", list.len ? ", " : "", its);
    }
    names[count] = NULL;
    const char *nearest = check_nearest(kind, names);
    const char *what =
        list.len ? arena_printf(c->in->arena, "unknown kind; known are %s", buf_text(&list))
                 : "unknown kind or version";
    if (builtin || list.len)
        tell(c, i, "kind", what, nearest && !text_eq(nearest, kind) ? nearest : NULL);
    buf_done(&list);
}

/* ---- one object ---- */

static struct json find_crd(const struct check *c, struct str group, const char *kind)
{
    json_each (crd, c->crds)
        if (text_eq(json_get_text(*crd, "spec.names.kind"), kind) &&
            str_eq(str_of(json_get_text(*crd, "spec.group")), group))
            return *crd;
    return json_none;
}

static void check_builtin(struct check *c, size_t i, const struct schema *schema)
{
    struct error err;
    if (!typed_validate(schema, c->objects.items[i], false, &err))
        tell(c, i, "", err.text, NULL);
}

static void check_object(struct check *c, size_t i)
{
    struct json object = c->objects.items[i];
    const char *version = json_get_text(object, "apiVersion"),
               *kind = json_get_text(object, "kind");
    if (text_empty(version) || text_empty(kind)) {
        tell(c, i, text_empty(version) ? "apiVersion" : "kind", "missing", NULL);
        return;
    }
    if (text_empty(json_get_text(object, "metadata.name")) &&
        text_empty(json_get_text(object, "metadata.generateName")))
        tell(c, i, "metadata.name", "missing", NULL);
    struct str rest = str_of(version), group = STR("");
    if (strchr(version, '/'))
        group = str_cut(&rest, '/');
    struct json crd = find_crd(c, group, kind);
    struct json schema = schema_of_version(crd, rest.ptr);
    const struct schema *builtin = schema_of_object(c->schemas, object);
    if (json_present(schema))
        check_custom(c, i, schema);
    else if (json_present(crd))
        tell(c, i, "apiVersion", "a version that the kind does not have", NULL);
    else if (!builtin->deduced)
        check_builtin(c, i, builtin);
    else
        tell_unknown_kind(c, i, group);
}

size_t check_inputs(struct inputs *in, struct buf *out)
{
    struct check c = { .in = in, .out = out, .schemas = schemas_new() };
    struct json_builder crds;
    c.objects = inputs_list(in);
    json_builder_init(&crds, in->arena);
    json_each (crd, embedded_crds(in->arena))
        json_push(&crds, *crd);
    json_each (object, c.objects)
        if (text_eq(json_get_text(*object, "kind"), "CustomResourceDefinition"))
            json_push(&crds, *object);
    c.crds = json_list_end(&crds);
    for (size_t i = 0; i < in->count; i++)
        check_object(&c, i);
    schemas_free(c.schemas);
    return c.count;
}

/* ---- messages of a server ---- */

/* The path in a message: "spec.a.b" of ".spec.a.b: field not declared"; "": none. */
static const char *path_in(struct arena *a, const char *message)
{
    const char *at = strstr(message, "spec.");
    if (!at || (at > message && !strchr(" .[(", at[-1])))
        return "";
    return arena_printf(a, "%.*s", (int)strcspn(at, ": ,"), at);
}

const char *check_explain(const struct inputs *in, size_t i, const char *message)
{
    struct json object = inputs_list(in).items[i];
    const char *kind = json_get_text(object, "kind"),
               *name = json_get_text(object, "metadata.name");
    return arena_printf(in->arena,
        "%s: %s/%s: %s",
        input_place(in, i, path_in(in->arena, message)),
        kind ? kind : "?",
        name ? name : "?",
        message);
}
