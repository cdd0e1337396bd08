/* Validates references to a pod's own fields and to the resources of its containers. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/quantity.h"

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list && !text_eq(text, *list))
        list++;
    return *list;
}

/* All known fields; which of them are allowed depends on the place. */
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

/* "metadata.labels['key']" → "metadata.labels" and "key". */
static const char *split_subscript(struct arena *a, const char *field, const char **key)
{
    const char *open = strstr(field, "['");
    if (!open || open == field || !text_ends(field, "']") || strlen(open) < 4)
        return NULL;
    *key = arena_strndup(a, open + 2, strlen(open) - 4);
    return arena_strndup(a, field, (size_t)(open - field));
}

static void check_subscript(
    struct field_errors *e, const char *map, const char *key, const char *path)
{
    /* Annotation keys ignore case, label keys do not. */
    const char *shown = text_eq(map, "metadata.annotations") ? check_lower(e->arena, key) : key;
    check_label_key(e, json_str(shown), path, shown);
}

void pod_field_ref_check(
    struct field_errors *e, struct json ref, const char *path, const char *const *allowed)
{
    const char *field = json_get_text(ref, "fieldPath"),
               *version = json_get_text(ref, "apiVersion"),
               *here = field_child(e->arena, path, "fieldPath"), *key = "", *why = NULL;
    if (text_empty(version))
        field_required(e, field_child(e->arena, path, "apiVersion"), NULL);
    else if (text_empty(field))
        field_required(e, here, NULL);
    if (text_empty(version) || text_empty(field))
        return;
    const char *map = split_subscript(e->arena, field, &key);
    if (!text_eq(version, "v1"))
        why = arena_printf(e->arena, "unsupported pod version: %s", version);
    else if (map && !text_eq(map, "metadata.annotations") && !text_eq(map, "metadata.labels"))
        why = arena_printf(e->arena, "field label does not support subscript: %s", field);
    else if (!map && !is_one_of(field, known_fields) && !text_eq(field, "spec.host"))
        why = arena_printf(e->arena, "field label not supported: %s", field);
    /* An old name of the field. */
    if (text_eq(field, "spec.host"))
        field = "spec.nodeName";
    if (why)
        field_invalid(e,
            here,
            json_str(field),
            arena_printf(e->arena, "error converting fieldPath: %s", why));
    else if (map)
        check_subscript(e, map, key, path);
    else if (!is_one_of(field, allowed))
        field_not_supported(e, here, json_str(field), allowed);
}

/* ---- resources ---- */

static const char *const resource_names[] = { "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    NULL };

static const char *const cpu_divisors[] = { "1m", "1", NULL };
static const char *const byte_divisors[] = {
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL
};

#define BYTE_DIVISORS                                                                              \
    "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported " \
    "with the "

static const struct {
    const char *resource; /* prefix after "limits." or "requests." */
    const char *const *divisors;
    const char *words;
} divisors[] = {
    { "cpu", cpu_divisors, "only divisor's values 1m and 1 are supported with the cpu resource" },
    { "memory", byte_divisors, BYTE_DIVISORS "memory resource" },
    { "ephemeral-storage", byte_divisors, BYTE_DIVISORS "local ephemeral storage resource" },
    { "hugepages-", byte_divisors, BYTE_DIVISORS "hugepages resource" },
};

static void check_divisor(
    struct field_errors *e, struct json ref, const char *resource, const char *path)
{
    const char *divisor = json_get_text(ref, "divisor");
    if (text_empty(divisor) || quantity_text_equal(divisor, "0"))
        return;
    for (size_t i = 0; i < lengthof(divisors); i++)
        if (text_starts(resource, divisors[i].resource) &&
            !is_one_of(quantity_canonical(e->arena, divisor), divisors[i].divisors))
            field_invalid(e,
                field_child(e->arena, path, "divisor"),
                json_member(ref, "resource"),
                divisors[i].words);
}

void pod_resource_ref_check(
    struct field_errors *e, struct json ref, const char *path, bool with_container)
{
    struct json name = json_member(ref, "resource");
    const char *here = field_child(e->arena, path, "resource");
    const char *dot = check_is_empty(name) ? NULL : strchr(name.string, '.');
    bool sided =
        dot && (text_starts(name.string, "limits.") || text_starts(name.string, "requests."));
    if (with_container && check_is_empty(json_member(ref, "containerName")))
        field_required(e, field_child(e->arena, path, "containerName"), NULL);
    else if (check_is_empty(name))
        field_required(e, here, NULL);
    else if (!sided || !text_starts(dot + 1, "hugepages-"))
        check_enum(e, name, here, resource_names);
    if (sided)
        check_divisor(e, ref, dot + 1, path);
}

/* ---- files ---- */

void pod_downward_file_check(struct field_errors *e, struct json file, const char *path)
{
    static const struct check rules[] = {
        { "path", CHECK_REQUIRED },
        { "path", CHECK_RESERVED_PATH },
        { "mode", CHECK_FILE_MODE },
        { 0 },
    };
    static const char *const allowed[] = { "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        NULL };
    struct json field = json_member(file, "fieldRef"),
                resource = json_member(file, "resourceFieldRef");
    check_table(e, file, path, rules);
    if (json_present(field))
        pod_field_ref_check(e, field, field_child(e->arena, path, "fieldRef"), allowed);
    else if (json_present(resource))
        pod_resource_ref_check(e, resource, field_child(e->arena, path, "resourceFieldRef"), true);
    else
        field_required(e, path, "one of fieldRef and resourceFieldRef is required");
    if (json_present(field) && json_present(resource))
        field_invalid(e,
            path,
            json_str("resource"),
            "fieldRef and resourceFieldRef can not be specified simultaneously");
}
