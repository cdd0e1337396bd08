/* Validates the security context of a pod, and fields that its operating system does not
 * support. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

static const char *const profile_types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };

/* ---- profiles of pods and containers ---- */

static void check_profile_type(
    struct field_errors *e, struct json profile, const char *path, const char *required)
{
    struct json type = json_member(profile, "type");
    const char *here = field_child(e->arena, path, "type");
    if (check_is_empty(type))
        field_required(e, here, required);
    else
        check_enum(e, type, here, profile_types);
}

void pod_seccomp_check(struct field_errors *e, struct json profile, const char *path)
{
    static const struct check relative = { "", CHECK_LOCAL_PATH };
    if (!check_is_set(profile))
        return;
    struct json file = json_member(profile, "localhostProfile");
    const char *here = field_child(e->arena, path, "localhostProfile");
    const char *type = json_get_text(profile, "type");
    check_profile_type(e, profile, path, "type is required when seccompProfile is set");
    if (text_eq(type, "Localhost") && !check_is_set(file))
        field_required(e, here, "must be set when seccomp type is Localhost");
    else if (text_eq(type, "Localhost"))
        check_value(e, file, here, &relative);
    else if (check_is_set(file))
        field_invalid(e, here, file, "can only be set when seccomp type is Localhost");
}

#define APP_ARMOR_MAX 4095

void pod_app_armor_check(struct field_errors *e, struct json profile, const char *path)
{
    if (!check_is_set(profile))
        return;
    struct json name = json_member(profile, "localhostProfile");
    const char *here = field_child(e->arena, path, "localhostProfile");
    const char *type = json_get_text(profile, "type");
    bool local = text_eq(type, "Localhost"),
         other = text_eq(type, "RuntimeDefault") || text_eq(type, "Unconfined");
    check_profile_type(e, profile, path, "type is required when appArmorProfile is set");
    if (other && check_is_set(name))
        field_invalid(e, here, name, "can only be set when AppArmor type is Localhost");
    else if (local && check_is_empty(name))
        field_required(e, here, "must be set when AppArmor type is Localhost");
    else if (local && str_trim(str_of(json_text(name))).len != name.count)
        field_invalid(e, here, name, "must not be padded with whitespace");
    if (local && name.count > APP_ARMOR_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            here,
            json_none,
            arena_printf(e->arena, "may not be more than %d bytes", APP_ARMOR_MAX));
}

/* ---- sysctls ---- */

static bool is_sysctl(struct str name)
{
    char before = '.';
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        bool ends = c == '.' || c == '/', began = before == '.' || before == '/';
        if (!plain && !ends && c != '-' && c != '_')
            return false;
        if ((!plain && began) || (ends && (before == '-' || before == '_')))
            return false;
        before = c;
    }
    return name.len && name.len <= NAME_SUBDOMAIN_MAX && !strchr("./-_", before);
}

/* Whether a sysctl would change the node, because the pod shares the node's namespace. */
static void check_shared(
    struct field_errors *e, struct json spec, struct json name, const char *path)
{
    static const struct {
        const char *start, *shared;
        bool whole; /* not just a prefix */
    } rows[] = {
        { "kernel.sem", "hostIPC", true },
        { "kernel.shm", "hostIPC", false },
        { "kernel.msg", "hostIPC", false },
        { "fs.mqueue.", "hostIPC", false },
        { "net.", "hostNetwork", false },
    };
    char *text = arena_strdup(e->arena, json_text(name) ? json_text(name) : "");
    size_t first = strcspn(text, "./");
    for (char *c = text; text[first] == '/' && *c; c++)
        *c = (char)(*c == '/' ? '.' : *c == '.' ? '/' : *c); /* the other separator */
    for (size_t i = 0; i < lengthof(rows); i++)
        if ((rows[i].whole ? text_eq(text, rows[i].start) : text_starts(text, rows[i].start)) &&
            json_get_bool(spec, rows[i].shared, false))
            field_invalid(e,
                path,
                name,
                arena_printf(e->arena, "may not be specified when '%s' is true", rows[i].shared));
}

static void check_sysctls(struct field_errors *e, struct json spec, const char *path)
{
    struct json list = json_get(spec, "securityContext.sysctls");
    struct json_index names = json_index_of(e->arena, list, "name");
    for (size_t i = 0; i < list.count; i++) {
        struct json name = json_member(list.items[i], "name");
        const char *here =
            field_child(e->arena, check_item_path(e->arena, path, "sysctls", i), "name");
        bool again = json_index_again(&names, (uint32_t)i);
        if (check_is_empty(name))
            field_required(e, here, NULL);
        else if (!is_sysctl(str_of(name.string)))
            field_invalid(e,
                here,
                name,
                "must have at most 253 characters and match regex "
                "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$");
        else if (again)
            field_duplicate(e, here, name);
        check_shared(e, spec, name, here);
    }
}

/* ---- the context ---- */

static void check_host_network(struct field_errors *e, struct json spec, const char *path)
{
    if (!json_get_bool(spec, "hostNetwork", false))
        return;
    size_t i = 0;
    json_each (c, json_member(spec, "containers")) {
        const char *here = check_item_path(e->arena, path, "containers", i++);
        size_t j = 0;
        json_each (port, json_member(*c, "ports")) {
            const char *at = check_item_path(e->arena, here, "ports", j++);
            struct json host = json_member(*port, "hostPort");
            if (check_is_set(host) && !json_equal(host, json_member(*port, "containerPort")))
                field_invalid(e,
                    field_child(e->arena, at, "hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

void pod_security_check(struct field_errors *e, struct json spec, const char *path)
{
    static const char *const change_policies[] = { "Always", "OnRootMismatch", NULL };
    static const char *const group_policies[] = { "Merge", "Strict", NULL };
    static const char *const label_policies[] = { "Recursive", NULL };
    static const struct check ids[] = {
        { "fsGroup", CHECK_USER_ID },
        { "runAsUser", CHECK_USER_ID },
        { "runAsGroup", CHECK_USER_ID },
        { "supplementalGroups.*", CHECK_USER_ID },
        { 0 },
    };
    static const struct check change[] = {
        { "fsGroupChangePolicy", CHECK_ENUM, change_policies },
        { 0 },
    };
    static const struct check policies[] = {
        { "supplementalGroupsPolicy", CHECK_ENUM, group_policies },
        { "seLinuxChangePolicy", CHECK_ENUM, label_policies },
        { 0 },
    };
    struct json context = json_member(spec, "securityContext");
    const char *here = field_child(e->arena, path, "securityContext");
    check_host_network(e, spec, path);
    check_table(e, context, here, ids);
    if (json_get_bool(spec, "shareProcessNamespace", false) &&
        json_get_bool(spec, "hostPID", false))
        field_invalid(e,
            field_child(e->arena, here, "shareProcessNamespace"),
            json_bool(true),
            "ShareProcessNamespace and HostPID cannot both be enabled");
    check_sysctls(e, spec, here);
    check_table(e, context, here, change);
    pod_seccomp_check(
        e, json_member(context, "seccompProfile"), field_child(e->arena, here, "seccompProfile"));
    pod_app_armor_check(
        e, json_member(context, "appArmorProfile"), field_child(e->arena, here, "appArmorProfile"));
    check_table(e, context, here, policies);
}
