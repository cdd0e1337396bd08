#include "apiserver/custom/custom.h"

#include <stdio.h>
#include <string.h>

#include "apiserver/core/call.h"
#include "apiserver/custom/crd_rules.h"
#include "apiserver/custom/structural.h"
#include "base/buf.h"

static struct custom *custom_of(const struct api_kind *k)
{
    return k->ctx;
}

/* Compiles the schema on first use. */
static const struct structural *schema_of_kind(const struct api_kind *k)
{
    struct custom *c = custom_of(k);
    if (!c->schema) {
        cleanup(arena_done) struct arena scratch = ARENA_INIT;
        struct json schema = crds_schema(c->crds, &scratch, c->definition, c->version);
        c->schema = structural_compile(c->arena, schema);
        c->rules = crd_rules_compile(c->arena, schema);
    }
    return c->schema;
}

/* ---- behaviour ---- */

static struct json prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    return structural_prune(schema_of_kind(k), a, object, unknown);
}

static struct json fill(const struct api_kind *k, struct arena *a, struct json object)
{
    return structural_fill(schema_of_kind(k), a, object);
}

static const struct structural *schema_of_version(const struct api_kind *k, const char *api_version)
{
    const char *slash = api_version ? strrchr(api_version, '/') : NULL;
    for (const struct custom *s = custom_of(k)->siblings; s; s = s->next)
        if (slash && text_eq(slash + 1, s->version))
            return schema_of_kind(&s->kind);
    return NULL;
}

const struct api_kind *custom_kind_at(const struct api_kind *k, const char *api_version)
{
    const struct custom *own = custom_of(k);
    size_t group = strlen(k->resource.group);
    if (strncmp(api_version, k->resource.group, group) != 0 || api_version[group] != '/')
        return NULL;
    for (const struct custom *s = own->siblings; s; s = s->next)
        if (s->arena == own->arena && text_eq(api_version + group + 1, s->version))
            return &s->kind;
    return NULL;
}

/* Defaults are those of the storage version; fields that the other version does not have are
 * dropped. */
static struct json convert(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    const struct structural *from = schema_of_version(k, json_get_text(object, "apiVersion")),
                            *to = schema_of_version(k, api_version);
    if (k->refill && from)
        object = structural_fill(from, a, structural_prune(from, a, object, NULL));
    return to ? structural_prune(to, a, object, NULL) : object;
}

static bool prepare(const struct api_write *w, struct json *object, struct error *err)
{
    const struct custom *c = custom_of(w->kind);
    const struct resource *r = &w->kind->resource;
    struct arena *a = w->arena;
    const char *name = json_get_text(*object, "metadata.name");
    if (c->ending && !json_present(w->old))
        return fail(err,
            ERR_FORBIDDEN,
            "%s.%s \"%s\" is forbidden: create not allowed while custom resource definition is "
            "terminating",
            r->plural,
            r->group,
            name ? name : "");
    if (!w->kind->has_status)
        return true;
    if (!text_eq(w->subresource, "status")) {
        struct json status = json_member(w->old, "status");
        *object = json_with_member(a, *object, "status", status);
        if (!json_present(status)) /* it may have a default, which no manager owns */
            *object = fill(w->kind, a, *object);
        return true;
    }
    struct json meta = json_member(w->old, "metadata"), given = json_member(*object, "metadata");
    meta = json_with_member(a, meta, "managedFields", json_member(given, "managedFields"));
    meta = json_with_member(a, meta, "resourceVersion", json_member(given, "resourceVersion"));
    struct json status = json_member(*object, "status");
    *object = json_with_member(a, w->old, "metadata", meta);
    *object = json_with_member(a, *object, "status", status);
    return true;
}

/* ---- validation ---- */

/* Prints a value like Go's %v. */
static void print_go(struct buf *b, struct json v)
{
    if (json_is(v, JSON_STR))
        buf_add(b, v.string, v.count);
    else if (json_is(v, JSON_NULL))
        buf_add_text(b, "<nil>");
    else if (!json_is(v, JSON_LIST) && !json_is(v, JSON_MAP))
        json_print(b, v);
    if (json_is(v, JSON_LIST)) {
        buf_add_char(b, '[');
        for (uint32_t i = 0; i < v.count; i++) {
            buf_add_text(b, i ? " " : "");
            print_go(b, v.items[i]);
        }
        buf_add_char(b, ']');
    }
    if (json_is(v, JSON_MAP)) {
        buf_add_text(b, "map[");
        for (uint32_t i = 0; i < v.count; i++) {
            buf_printf(b, "%s%s:", i ? " " : "", v.members[i].key);
            print_go(b, v.members[i].value);
        }
        buf_add_char(b, ']');
    }
}

static void complain_type(struct field_errors *errors, const char *path, struct json shown,
    struct json v, const char *wanted)
{
    static const char *const types[] = { [JSON_NULL] = "<nil>",
        [JSON_BOOL] = "bool",
        [JSON_INT] = "int64",
        [JSON_REAL] = "float64",
        [JSON_STR] = "string",
        [JSON_LIST] = "[]interface {}",
        [JSON_MAP] = "map[string]interface {}" };
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    print_go(&b, v);
    field_invalid(errors,
        path,
        shown,
        arena_printf(errors->arena,
            "%s accessor error: %s is of the type %s, expected %s",
            path,
            buf_text(&b),
            types[v.type],
            wanted));
}

/* The value at a path of the scale subresource; absent: none, or an error was reported. */
static struct json value_at(struct field_errors *errors, struct json object, const char *path,
    enum json_type type, struct json zero)
{
    const char *shown = arena_printf(errors->arena, ".%s", path);
    struct str rest = str_of(path);
    struct json v = object;
    while (rest.ptr && !json_is(v, JSON_NULL) && json_present(v)) {
        if (!json_is(v, JSON_MAP)) {
            complain_type(errors, shown, zero, v, "map[string]interface{}");
            return json_none;
        }
        v = json_member_n(v, str_cut(&rest, '.'));
    }
    if (rest.ptr || !json_present(v) || v.type == type)
        return rest.ptr ? json_none : v;
    complain_type(errors, shown, zero, v, type == JSON_INT ? "int64" : "string");
    return json_none;
}

static void check_replicas(struct field_errors *errors, struct json object, const char *path)
{
    struct json v = value_at(errors, object, path, JSON_INT, json_int(0));
    const char *shown = arena_printf(errors->arena, ".%s", path);
    if (json_present(v) && v.integer < 0)
        field_invalid(errors, shown, v, "should be a non-negative integer");
    else if (json_present(v) && v.integer > INT32_MAX)
        field_invalid(errors, shown, v, "should be less than or equal to 2147483647");
}

static void check_scale(const struct api_write *w, struct json object, struct field_errors *errors)
{
    const struct api_scale_paths *p = &w->kind->scale;
    if (p->spec_replicas && !text_eq(w->subresource, "status"))
        check_replicas(errors, object, p->spec_replicas);
    if (p->status_replicas)
        check_replicas(errors, object, p->status_replicas);
    if (p->label_selector)
        value_at(errors, object, p->label_selector, JSON_STR, json_str(""));
}

/* Rules are not evaluated for objects with schema errors. */
static bool is_blocked(const struct field_errors *errors)
{
    for (size_t i = 0; i < errors->count; i++)
        switch (errors->items[i].type) {
        case FIELD_NOT_SUPPORTED:
        case FIELD_REQUIRED:
        case FIELD_TOO_LONG:
        case FIELD_TOO_MANY:
        case FIELD_TYPE_INVALID:
            return true;
        default:
            break;
        }
    return false;
}

static void validate(const struct api_write *w, struct json object, struct field_errors *errors)
{
    const struct structural *schema = schema_of_kind(w->kind);
    const struct cel_rules *rules = custom_of(w->kind)->rules;
    structural_check(schema, w->arena, object, w->old, text_eq(w->subresource, "status"), errors);
    check_scale(w, object, errors);
    if (rules && is_blocked(errors))
        field_invalid(errors,
            "<nil>",
            json_null(),
            "some validation rules were not checked because the object was invalid; correct the "
            "existing errors to complete validation");
    else
        crd_rules_ask(rules, w->arena, object, w->old, "", errors);
}

static void written(
    struct apiserver *server, const struct api_kind *k, struct json old, struct json object)
{
    (void)server, (void)old;
    const struct custom *c = custom_of(k);
    if (c->ending && !json_present(object))
        crds_object_gone(c->crds, c->definition);
}

static const char *field(
    const struct api_kind *k, struct arena *a, struct json object, const char *path)
{
    const char *const *selectable = custom_of(k)->selectable;
    for (; selectable && *selectable; selectable++) {
        if (!text_eq(*selectable, path))
            continue;
        struct json v = json_get(object, path);
        if (!json_present(v) || json_is(v, JSON_NULL))
            return "";
        return json_is(v, JSON_STR) ? v.string : json_to_text(a, v);
    }
    return NULL;
}

/* Warns about new finalizers with ambiguous names. */
static void warn(const struct api_write *w, struct json object)
{
    static const char *const standard[] = { "orphan", "foregroundDeletion", "kubernetes" };
    struct json_builder b; /* a map: sorted, without duplicates */
    json_builder_init(&b, w->arena);
    json_each (f, json_get(object, "metadata.finalizers"))
        json_put(&b, json_text(*f), json_null());
    json_each_member (m, *w->subresource ? json_none : json_map_end(&b)) {
        bool known =
            strchr(m->key, '/') || json_list_has(json_get(w->old, "metadata.finalizers"), m->key);
        for (size_t i = 0; i < lengthof(standard); i++)
            known = known || text_eq(m->key, standard[i]);
        if (!known)
            call_warn(w->call,
                arena_printf(w->arena,
                    "metadata.finalizers: \"%s\": prefer a domain-qualified finalizer name%s to "
                    "avoid accidental conflicts with other finalizer writers",
                    m->key,
                    strchr(m->key, '.') ? " including a path (/)" : ""));
    }
}

const struct api_behaviour custom_behaviour = {
    .prune = prune,
    .fill = fill,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
    .written = written,
    .field = field,
};

const struct api_behaviour custom_converting_behaviour = {
    .prune = prune,
    .fill = fill,
    .convert = convert,
    .prepare = prepare,
    .validate = validate,
    .warn = warn,
    .written = written,
    .field = field,
};

/* ---- creating kinds from a CRD ---- */

static const char *copied(struct arena *a, struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return arena_strdup(a, text ? text : "");
}

static const char *const *copied_list(struct arena *a, struct json list)
{
    if (!list.count)
        return NULL;
    const char **texts = arena_array(a, list.count + 1, sizeof(*texts));
    for (uint32_t i = 0; i < list.count; i++)
        texts[i] = arena_strdup(a, json_text(list.items[i]) ? list.items[i].string : "");
    return texts;
}

/* v2 comes before v1, v1 before v1beta2 and v1alpha1, and those before all other names. */
static int priority_of(const char *version)
{
    int major = 0, minor = 0, used = 0;
    char word[6] = "";
    int found = sscanf(version, "v%4d%n%5[a-z]%4d%n", &major, &used, word, &minor, &used);
    if (found < 1 || version[used] != '\0' || major <= 0)
        return 0;
    int tier = found == 1 ? 3 : strcmp(word, "beta") == 0 ? 2 : strcmp(word, "alpha") == 0 ? 1 : 0;
    return tier ? tier * 100000000 + major * 10000 + minor : 0;
}

static const char *dotted(struct arena *a, struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return text_empty(text) ? NULL : arena_strdup(a, *text == '.' ? text + 1 : text);
}

static void set_columns(struct custom *c, struct arena *a, struct json columns)
{
    struct api_column *items = arena_array(a, columns.count, sizeof(*items));
    for (uint32_t i = 0; i < columns.count; i++) {
        struct json column = columns.items[i];
        items[i] = (struct api_column){
            .name = copied(a, column, "name"),
            .type = copied(a, column, "type"),
            .format = copied(a, column, "format"),
            .description = json_present(json_member(column, "description"))
                               ? copied(a, column, "description")
                               : arena_printf(a,
                                     "Custom resource definition column (in JSONPath format): %s",
                                     json_get_text(column, "jsonPath")),
            .path = copied(a, column, "jsonPath"),
            .priority = (int)json_get_int(column, "priority", 0),
        };
    }
    c->kind.columns = items;
    c->kind.column_count = columns.count;
}

static void set_selectable(struct custom *c, struct arena *a, struct json fields)
{
    const char **paths = arena_array(a, fields.count + 1, sizeof(*paths));
    for (uint32_t i = 0; i < fields.count; i++)
        paths[i] = dotted(a, fields.items[i], "jsonPath");
    c->selectable = fields.count ? paths : NULL;
}

static const char *storage_version(struct arena *a, struct json crd)
{
    json_each (version, json_get(crd, "spec.versions"))
        if (json_get_bool(*version, "storage", false))
            return arena_printf(
                a, "%s/%s", json_get_text(crd, "spec.group"), json_get_text(*version, "name"));
    return "";
}

/* The address of the conversion webhook; NULL: none is needed. */
static const char *converter(struct arena *a, struct json crd)
{
    struct json client = json_get(crd, "spec.conversion.webhook.clientConfig"),
                service = json_member(client, "service");
    const char *url = json_get_text(client, "url"), *path = json_get_text(service, "path");
    if (!text_eq(json_get_text(crd, "spec.conversion.strategy"), "Webhook"))
        return NULL;
    if (!json_present(service))
        return arena_strdup(a, url ? url : "");
    return arena_printf(a,
        "https://%s.%s.svc:%lld%s",
        json_get_text(service, "name"),
        json_get_text(service, "namespace"),
        (long long)json_get_int(service, "port", 443),
        path ? path : "/");
}

/* The deprecation warning of a version: names the best newer version. */
static const char *deprecation(
    struct arena *a, struct json crd, struct json version, const char *kind)
{
    const char *group = json_get_text(crd, "spec.group"), *name = json_get_text(version, "name");
    const char *own = json_get_text(version, "deprecationWarning"), *best = NULL;
    int best_priority = priority_of(name);
    json_each (v, json_get(crd, "spec.versions")) {
        const char *other = json_get_text(*v, "name");
        bool fine = json_get_bool(*v, "served", false) && !json_get_bool(*v, "deprecated", false);
        if (fine && priority_of(other) > best_priority) {
            best = other;
            best_priority = priority_of(other);
        }
    }
    if (own)
        return arena_strdup(a, own);
    if (!best)
        return arena_printf(a, "%s/%s %s is deprecated", group, name, kind);
    return arena_printf(
        a, "%s/%s %s is deprecated; use %s/%s %s", group, name, kind, group, best, kind);
}

void custom_init(struct custom *c, struct arena *a, struct json crd, struct json version)
{
    struct json names = json_get(crd, "status.acceptedNames");
    struct json scale = json_get(version, "subresources.scale");
    const char *group = copied(a, crd, "spec.group"), *plural = copied(a, names, "plural");
    const char *name = copied(a, version, "name"), *kind = copied(a, names, "kind");
    struct error ignored;
    c->arena = a;
    c->schema = NULL;
    c->rules = NULL;
    bool refill = c->kind.refill;
    c->kind = (struct api_kind){
        .resource = { group,
            name,
            kind,
            plural,
            .cluster_scoped = text_eq(json_get_text(crd, "spec.scope"), "Cluster") },
        .singular = copied(a, names, "singular"),
        .list_kind = copied(a, names, "listKind"),
        .short_names = copied_list(a, json_member(names, "shortNames")),
        .categories = copied_list(a, json_member(names, "categories")),
        .verbs = API_ALL_VERBS,
        .has_status = json_present(json_get(version, "subresources.status")),
        .custom = true,
        .generation = true,
        .refill = refill,
        .scale = { .spec_replicas = dotted(a, scale, "specReplicasPath"),
            .status_replicas = dotted(a, scale, "statusReplicasPath"),
            .label_selector = dotted(a, scale, "labelSelectorPath") },
        .table = arena_printf(a, "%s/%s", group, plural),
        .storage_version = storage_version(a, crd),
        .converter = converter(a, crd),
        .ctx = c,
        .group_priority = 1000,
        .version_priority = priority_of(name),
    };
    if (json_get_bool(version, "deprecated", false))
        c->kind.warning = deprecation(a, crd, version, kind);
    struct json schema = json_get(version, "schema.openAPIV3Schema");
    if (!schema_from_crd(a, schema, &c->kind.schema, &ignored))
        c->kind.schema = schema_deduced();
    set_columns(c, a, json_member(version, "additionalPrinterColumns"));
    set_selectable(c, a, json_member(version, "selectableFields"));
}
