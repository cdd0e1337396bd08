/* Validates the security context of a container. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/buf.h"

/* ---- printing a security context ---- */

/* The server prints its own struct in messages: all fields, with their names in Go. */
struct shown_field {
    const char *member, *name;
    const struct shown_field *fields; /* for a struct */
    const char *otherwise;            /* the text if unset; "null" by default */
};

static const struct shown_field capability_fields[] = {
    { "add", "Add" },
    { "drop", "Drop" },
    { 0 },
};
static const struct shown_field label_fields[] = {
    { "user", "User", .otherwise = "\"\"" },
    { "role", "Role", .otherwise = "\"\"" },
    { "type", "Type", .otherwise = "\"\"" },
    { "level", "Level", .otherwise = "\"\"" },
    { 0 },
};
static const struct shown_field windows_fields[] = {
    { "gmsaCredentialSpecName", "GMSACredentialSpecName" },
    { "gmsaCredentialSpec", "GMSACredentialSpec" },
    { "runAsUserName", "RunAsUserName" },
    { "hostProcess", "HostProcess" },
    { 0 },
};
static const struct shown_field profile_fields[] = {
    { "type", "Type", .otherwise = "\"\"" },
    { "localhostProfile", "LocalhostProfile" },
    { 0 },
};
static const struct shown_field context_fields[] = {
    { "capabilities", "Capabilities", capability_fields },
    { "privileged", "Privileged" },
    { "seLinuxOptions", "SELinuxOptions", label_fields },
    { "windowsOptions", "WindowsOptions", windows_fields },
    { "runAsUser", "RunAsUser" },
    { "runAsGroup", "RunAsGroup" },
    { "runAsNonRoot", "RunAsNonRoot" },
    { "readOnlyRootFilesystem", "ReadOnlyRootFilesystem" },
    { "allowPrivilegeEscalation", "AllowPrivilegeEscalation" },
    { "procMount", "ProcMount" },
    { "seccompProfile", "SeccompProfile", profile_fields },
    { "appArmorProfile", "AppArmorProfile", profile_fields },
    { 0 },
};

static void show(struct arena *a, struct buf *b, struct json v, const struct shown_field *fields)
{
    for (const struct shown_field *f = fields; f->member; f++) {
        struct json member = json_member(v, f->member);
        buf_printf(b, "%s\"%s\":", f == fields ? "{" : ",", f->name);
        if (!check_is_set(member))
            buf_printf(b, "%s", f->otherwise ? f->otherwise : "null");
        else if (f->fields)
            show(a, b, member, f->fields);
        else
            buf_printf(b, "%s", json_to_text(a, member));
    }
    buf_printf(b, "}");
}

static void refuse(struct field_errors *e, struct json context, const char *path, const char *why)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    show(e->arena, &b, context, context_fields);
    check_invalid_text(e, FIELD_INVALID, path, buf_text(&b), why);
}

/* ---- the context ---- */

static void check_escalation(struct field_errors *e, struct json context, const char *path)
{
    if (json_get_bool(context, "allowPrivilegeEscalation", true))
        return;
    if (json_get_bool(context, "privileged", false))
        refuse(e,
            context,
            path,
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
    if (json_list_has(json_get(context, "capabilities.add"), "CAP_SYS_ADMIN"))
        refuse(e,
            context,
            path,
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
}

void pod_container_security_check(
    struct field_errors *e, struct json c, struct json spec, const char *path)
{
    static const char *const mounts[] = { "Default", "Unmasked", NULL };
    static const struct check rules[] = {
        { "runAsUser", CHECK_USER_ID },
        { "runAsGroup", CHECK_USER_ID },
        { "procMount", CHECK_ENUM, mounts },
        { 0 },
    };
    struct json context = json_member(c, "securityContext"),
                mount = json_member(context, "procMount");
    const char *here = field_child(e->arena, path, "securityContext");
    if (!check_is_set(context))
        return;
    check_table(e, context, here, rules);
    if (text_eq(json_text(mount), "Unmasked") && json_get_bool(spec, "hostUsers", true))
        field_invalid(e,
            field_child(e->arena, here, "procMount"),
            mount,
            "`hostUsers` must be false to use `Unmasked`");
    pod_seccomp_check(
        e, json_member(context, "seccompProfile"), field_child(e->arena, here, "seccompProfile"));
    check_escalation(e, context, here);
    pod_app_armor_check(
        e, json_member(context, "appArmorProfile"), field_child(e->arena, here, "appArmorProfile"));
}
