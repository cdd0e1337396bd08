/* What is wrong with the environment of a container. */

#include "apiserver/builtin_pod.h"
#include "apiserver/check.h"
#include "base/quantity.h"

/* ---- references ---- */

/* Fields of a pod that can be named at all; where, is said by lists of those that are allowed. */
static const char *const known_fields[] = { "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    NULL };

static bool is_among(const char *text, const char *const *list)
{
    while (*list && !text_eq(text, *list))
        list++;
    return *list;
}

/* The b of "a['b']", or NULL; *ret_field is the a then. */
static const char *subscript_of(struct arena *a, const char *field, const char **ret_field)
{
    const char *open = strstr(field, "['");
    size_t length = strlen(field);
    if (!open || open == field || !text_eq(field + length - 2, "']") || open + 4 > field + length)
        return NULL;
    *ret_field = arena_strndup(a, field, (size_t)(open - field));
    return arena_strndup(a, open + 2, (size_t)(field + length - 2 - (open + 2)));
}

static const char *lower_case(struct arena *a, const char *text)
{
    char *lower = arena_strdup(a, text);
    for (char *c = lower; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    return lower;
}

static void refuse_field(
    struct field_errors *e, const char *path, const char *field, const char *why, const char *what)
{
    field_invalid(e,
        path,
        json_str(field),
        arena_printf(e->arena, "error converting fieldPath: %s: %s", why, what));
}

void pod_field_ref_check(
    struct field_errors *e, struct json ref, const char *path, const char *const *allowed)
{
    const char *field = json_get_text(ref, "fieldPath"), *whole,
               *version = json_get_text(ref, "apiVersion"),
               *here = field_child(e->arena, path, "fieldPath");
    if (text_empty(version)) {
        field_required(e, field_child(e->arena, path, "apiVersion"), NULL);
        return;
    }
    if (text_empty(field)) {
        field_required(e, here, NULL);
        return;
    }
    const char *subscript = subscript_of(e->arena, field, &whole);
    bool takes_subscript =
        subscript && (text_eq(whole, "metadata.annotations") || text_eq(whole, "metadata.labels"));
    if (!text_eq(version, "v1"))
        refuse_field(e, here, field, "unsupported pod version", version);
    else if (subscript && !takes_subscript)
        refuse_field(e, here, field, "field label does not support subscript", field);
    else if (subscript) {
        if (text_eq(whole, "metadata.annotations"))
            subscript = lower_case(e->arena, subscript);
        check_label_key(e, json_str(subscript), path, subscript);
    } else if (text_eq(field, "spec.host")) /* what spec.nodeName was called once */
        return;
    else if (!is_among(field, known_fields))
        refuse_field(e, here, field, "field label not supported", field);
    else if (!is_among(field, allowed))
        field_not_supported(e, here, json_str(field), allowed);
}

static const char *const resource_names[] = { "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    NULL };

static const char *const cpu_units[] = { "1m", "1", NULL };
static const char *const byte_units[] = {
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL
};

#define BYTE_UNITS                                                                                 \
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported " \
    "with the "

static const struct divisor_rule {
    const char *resource; /* how its name begins */
    const char *const *units;
    const char *words;
} divisor_rules[] = {
    { "cpu", cpu_units, "only divisor's values 1m and 1 are supported with the cpu resource" },
    { "memory", byte_units, BYTE_UNITS "memory resource" },
    { "ephemeral-storage", byte_units, BYTE_UNITS "local ephemeral storage resource" },
    { "hugepages-", byte_units, BYTE_UNITS "hugepages resource" },
};

static void check_divisor(
    struct field_errors *e, struct json divisor, const char *resource, const char *path)
{
    struct quantity q;
    if (!json_text(divisor) || !quantity_parse(str_of(divisor.string), &q, NULL) || !q.value)
        return;
    const char *name = strchr(resource, '.') + 1, *text = quantity_to_text(e->arena, q);
    for (const struct divisor_rule *r = divisor_rules; r < divisor_rules + lengthof(divisor_rules);
         r++)
        if (text_starts(name, r->resource) && !is_among(text, r->units))
            field_invalid(e, path, json_str(resource), r->words);
}

void pod_resource_ref_check(struct field_errors *e, struct json ref, const char *path)
{
    struct json name = json_member(ref, "resource");
    const char *here = field_child(e->arena, path, "resource");
    if (check_is_empty(name))
        field_required(e, here, NULL);
    else if (!text_starts(name.string, "limits.hugepages-") &&
             !text_starts(name.string, "requests.hugepages-") &&
             !is_among(name.string, resource_names))
        check_enum(e, name, here, resource_names);
    else
        check_divisor(
            e, json_member(ref, "divisor"), name.string, field_child(e->arena, path, "divisor"));
}

static void check_key_ref(struct field_errors *e, struct json ref, const char *path)
{
    static const struct check key = { "key", CHECK_KEY };
    if (!json_present(ref))
        return;
    struct json k = json_member(ref, "key");
    check_name(
        e, json_member(ref, "name"), field_child(e->arena, path, "name"), NAME_DNS1123_SUBDOMAIN);
    if (check_is_empty(k))
        field_required(e, field_child(e->arena, path, "key"), NULL);
    else
        check_value(e, k, field_child(e->arena, path, "key"), &key);
}

static void check_env_name(struct field_errors *e, struct json name, const char *path)
{
    bool odd = false;
    if (check_is_empty(name)) {
        field_required(e, path, NULL);
        return;
    }
    for (const char *c = name.string; *c; c++)
        odd = odd || *c < ' ' || *c > '~' || *c == '=';
    if (odd)
        field_invalid(e,
            path,
            name,
            "a valid environment variable name must consist only of printable ASCII characters "
            "other than '='");
}

/* A variable of a file that another container writes. */
static void check_file_ref(
    struct field_errors *e, struct json ref, struct json volumes, const char *path)
{
    static const struct check rules[] = {
        { "volumeName", CHECK_REQUIRED },
        { "path", CHECK_REQUIRED },
        { 0 },
    };
    if (!json_present(ref))
        return;
    struct json name = json_member(ref, "volumeName"), file = json_member(ref, "path");
    const char *name_path = field_child(e->arena, path, "volumeName");
    check_env_name(e, json_member(ref, "key"), field_child(e->arena, path, "key"));
    check_table(e, ref, path, rules);
    if (check_steps_back(json_text(file)))
        field_invalid(e, field_child(e->arena, path, "path"), file, "must not contain '..'");
    name = check_is_set(name) ? name : json_str("");
    struct json volume = json_find(volumes, "name", json_text(name));
    if (!json_present(volume))
        field_error_add(e, FIELD_NOT_FOUND, name_path, name, NULL);
    else if (!json_present(json_member(volume, "emptyDir")))
        field_invalid(e, name_path, name, "referenced volume must be of type emptyDir");
}

/* ---- env and envFrom ---- */

static void check_value_from(
    struct field_errors *e, struct json env, struct json volumes, const char *path)
{
    static const char *const fields[] = { "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        NULL };
    struct json from = json_member(env, "valueFrom");
    if (!json_present(from))
        return;
    const char *here = field_child(e->arena, path, "valueFrom");
    struct json field = json_member(from, "fieldRef"),
                resource = json_member(from, "resourceFieldRef");
    if (json_present(field))
        pod_field_ref_check(e, field, field_child(e->arena, here, "fieldRef"), fields);
    if (json_present(resource))
        pod_resource_ref_check(e, resource, field_child(e->arena, here, "resourceFieldRef"));
    check_key_ref(
        e, json_member(from, "configMapKeyRef"), field_child(e->arena, here, "configMapKeyRef"));
    check_key_ref(
        e, json_member(from, "secretKeyRef"), field_child(e->arena, here, "secretKeyRef"));
    check_file_ref(
        e, json_member(from, "fileKeyRef"), volumes, field_child(e->arena, here, "fileKeyRef"));
    if (from.count == 0)
        field_invalid(e,
            here,
            json_str(""),
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`");
    else if (!check_is_empty(json_member(env, "value")))
        field_invalid(e, here, json_str(""), "may not be specified when `value` is not empty");
    else if (from.count > 1)
        field_invalid(
            e, here, json_str(""), "may not have more than one field specified at a time");
}

static void check_env_from(struct field_errors *e, struct json c, const char *path)
{
    static const char *const refs[] = { "configMapRef", "secretRef" };
    const char *list = field_child(e->arena, path, "envFrom");
    size_t i = 0;
    json_each (from, json_member(c, "envFrom")) {
        const char *here = field_index(e->arena, list, i++);
        struct json prefix = json_member(*from, "prefix");
        size_t count = 0;
        if (!check_is_empty(prefix))
            check_env_name(e, prefix, field_child(e->arena, here, "prefix"));
        for (size_t j = 0; j < lengthof(refs); j++) {
            struct json ref = json_member(*from, refs[j]), name = json_member(ref, "name");
            const char *name_path =
                field_child(e->arena, field_child(e->arena, here, refs[j]), "name");
            if (!json_present(ref))
                continue;
            count++;
            if (check_is_empty(name))
                field_required(e, name_path, NULL);
            else
                check_name(e, name, name_path, NAME_DNS1123_SUBDOMAIN);
        }
        if (!count)
            field_invalid(
                e, list, json_str(""), "must specify one of: `configMapRef` or `secretRef`");
        else if (count > 1)
            field_invalid(
                e, list, json_str(""), "may not have more than one field specified at a time");
    }
}

void pod_env_check(struct field_errors *e, struct json c, struct json volumes, const char *path)
{
    size_t i = 0;
    json_each (env, json_member(c, "env")) {
        const char *here = check_item_path(e->arena, path, "env", i++);
        check_env_name(e, json_member(*env, "name"), field_child(e->arena, here, "name"));
        check_value_from(e, *env, volumes, here);
    }
    check_env_from(e, c, path);
}
