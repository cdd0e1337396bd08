/* Validates the environment of a container. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"

/* ---- references ---- */

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

/* A variable from a file that another container writes. */
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
        pod_resource_ref_check(e, resource, field_child(e->arena, here, "resourceFieldRef"), false);
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
