/* What is wrong with the options of containers on Windows. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"

#define SPEC_MAX (64 << 10)
#define DOMAIN_MAX 255
#define NETBIOS_MAX 15 /* characters; the others are bytes */
#define USER_MAX 104

static bool has_any(struct str s, const char *chars)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(chars, s.ptr[i]))
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* NetBIOS, or labels of up to 63 letters and dashes. */
static bool is_domain(struct str s)
{
    size_t characters = 0;
    for (size_t i = 0; i < s.len; i++)
        characters += ((unsigned char)s.ptr[i] & 0xC0) != 0x80;
    if (s.len && characters <= NETBIOS_MAX && s.ptr[0] != '.' && !has_any(s, "\\/:*?\"<>|"))
        return true;
    do {
        struct str label = str_cut(&s, '.');
        if (!label.len || label.len > NAME_LABEL_MAX || !is_letter(label.ptr[0]) ||
            !is_letter(label.ptr[label.len - 1]))
            return false;
        for (size_t i = 0; i < label.len; i++)
            if (!is_letter(label.ptr[i]) && label.ptr[i] != '-')
                return false;
    } while (s.ptr);
    return true;
}

static void check_domain(struct field_errors *e, struct json v, const char *path, struct str domain)
{
    if (domain.len > DOMAIN_MAX)
        field_invalid(e, path, v, "runAsUserName's Domain length must be under 256 characters");
    if (!is_domain(domain))
        field_invalid(
            e, path, v, "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
}

static void check_user(struct field_errors *e, struct json v, const char *path, struct str user)
{
    static const char odd[] = "\"/\\:;|=,+*?<>@[]";
    bool only_dots = user.len > 0;
    for (size_t i = 0; i < user.len; i++)
        only_dots = only_dots && (user.ptr[i] == '.' || user.ptr[i] == ' ');
    if (!user.len)
        field_invalid(e, path, v, "runAsUserName's User cannot be empty");
    if (user.len > USER_MAX)
        field_invalid(
            e, path, v, "runAsUserName's User length must not be longer than 104 characters");
    if (only_dots)
        field_invalid(e, path, v, "runAsUserName's User cannot contain only periods or spaces");
    if (has_any(user, odd))
        field_invalid(e,
            path,
            v,
            arena_printf(
                e->arena, "runAsUserName's User cannot contain the following characters: %s", odd));
}

static void check_user_name(struct field_errors *e, struct json v, const char *path)
{
    bool control = false;
    const char *text = json_text(v) ? json_text(v) : "", *slash = strchr(text, '\\');
    for (const char *c = text; *c; c++)
        control = control || (unsigned char)*c < ' ' || *c == 0x7f;
    if (!*text)
        field_invalid(e, path, v, "runAsUserName cannot be an empty string");
    else if (control)
        field_invalid(e, path, v, "runAsUserName cannot contain control characters");
    else if (slash && strchr(slash + 1, '\\'))
        field_invalid(e, path, v, "runAsUserName cannot contain more than one backslash");
    else {
        if (slash)
            check_domain(e, v, path, (struct str){ text, (size_t)(slash - text) });
        check_user(e, v, path, str_of(slash ? slash + 1 : text));
    }
}

void pod_windows_check(struct field_errors *e, struct json options, const char *path)
{
    static const struct check rules[] = {
        { "gmsaCredentialSpecName", CHECK_SUBDOMAIN },
        { 0 },
    };
    struct json text = json_member(options, "gmsaCredentialSpec"),
                user = json_member(options, "runAsUserName");
    const char *here = field_child(e->arena, path, "gmsaCredentialSpec");
    check_table(e, options, path, rules);
    if (check_is_set(text) && !text.count)
        field_invalid(e, here, text, "gmsaCredentialSpec cannot be an empty string");
    if (text.count > SPEC_MAX)
        field_invalid(e, here, text, "gmsaCredentialSpec size must be under 64 KiB");
    if (check_is_set(user))
        check_user_name(e, user, field_child(e->arena, path, "runAsUserName"));
}

/* ---- containers that are processes of the node ---- */

#define HOST_PROCESS "securityContext.windowsOptions.hostProcess"

void pod_host_process_check(struct field_errors *e, struct json spec, const char *path)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    struct json pod = json_get(spec, HOST_PROCESS);
    bool any = false, all = true;
    for (size_t l = 0; l < lengthof(lists); l++) {
        struct json list = json_member(spec, lists[l]);
        for (size_t i = 0; i < list.count; i++) {
            struct json own = json_get(list.items[i], HOST_PROCESS);
            bool set = own.type == JSON_BOOL,
                 is = json_get_bool(set ? list.items[i] : spec, HOST_PROCESS, false);
            if (set && pod.type == JSON_BOOL && own.boolean != pod.boolean)
                field_invalid(e,
                    field_child(
                        e->arena, check_item_path(e->arena, path, lists[l], i), HOST_PROCESS),
                    own,
                    arena_printf(e->arena,
                        "pod hostProcess value must be identical if both are specified, was %s",
                        pod.boolean ? "true" : "false"));
            any = any || is;
            all = all && is;
        }
    }
    if (any && !all)
        field_invalid(e,
            path,
            json_str(""),
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers");
    if (any && !json_get_bool(spec, "hostNetwork", false))
        field_invalid(e,
            field_child(e->arena, path, "hostNetwork"),
            json_bool(false),
            "hostNetwork must be true if pod contains any hostProcess containers");
}
