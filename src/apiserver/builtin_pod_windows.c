/* What is wrong with the options for Windows of a pod or a container. */

#include "apiserver/builtin_pod.h"
#include "apiserver/check.h"

#define SPEC_MAX (64 << 10) /* bytes of credentials */
#define DOMAIN_MAX 255      /* bytes, as are all but the next */
#define NETBIOS_MAX 15      /* characters */
#define USER_MAX 104

static bool is_netbios(struct str name)
{
    size_t characters = 0;
    for (size_t i = 0; i < name.len; i++) {
        characters += ((unsigned char)name.ptr[i] & 0xC0) != 0x80;
        if (strchr("/:*?\"<>|", name.ptr[i]))
            return false;
    }
    return name.len && name.ptr[0] != '.' && characters <= NETBIOS_MAX;
}

static bool is_dns_label(struct str label)
{
    for (size_t i = 0; i < label.len; i++) {
        char c = label.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (c != '-' || i == 0 || i + 1 == label.len))
            return false;
    }
    return label.len && label.len <= NAME_LABEL_MAX;
}

static bool is_dns(struct str name)
{
    while (name.ptr)
        if (!is_dns_label(str_cut(&name, '.')))
            return false;
    return true;
}

static void check_domain(
    struct field_errors *e, struct str domain, struct json name, const char *path)
{
    if (domain.len > DOMAIN_MAX)
        field_invalid(e, path, name, "runAsUserName's Domain length must be under 256 characters");
    if (!is_netbios(domain) && !is_dns(domain))
        field_invalid(
            e, path, name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
}

static void check_user(struct field_errors *e, const char *user, struct json name, const char *path)
{
    if (!*user) {
        field_invalid(e, path, name, "runAsUserName's User cannot be empty");
        return;
    }
    if (strlen(user) > USER_MAX)
        field_invalid(
            e, path, name, "runAsUserName's User length must not be longer than 104 characters");
    if (!user[strspn(user, ". ")])
        field_invalid(e, path, name, "runAsUserName's User cannot contain only periods or spaces");
    if (user[strcspn(user, "\"/\\:;|=,+*?<>@[]")])
        field_invalid(e,
            path,
            name,
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
}

/* A user, or a domain and its user with a backslash between them. */
static void check_user_name(struct field_errors *e, struct json name, const char *path)
{
    const char *text = json_text(name), *slash = strchr(text, '\\');
    bool controls = false;
    for (const char *c = text; *c; c++)
        controls = controls || (*c >= 0 && *c < ' ') || *c == 0x7f;
    if (!*text)
        field_invalid(e, path, name, "runAsUserName cannot be an empty string");
    else if (controls)
        field_invalid(e, path, name, "runAsUserName cannot contain control characters");
    else if (slash && strchr(slash + 1, '\\'))
        field_invalid(e, path, name, "runAsUserName cannot contain more than one backslash");
    else {
        if (slash)
            check_domain(e, (struct str){ text, (size_t)(slash - text) }, name, path);
        check_user(e, slash ? slash + 1 : text, name, path);
    }
}

void pod_windows_check(struct field_errors *e, struct json options, const char *path)
{
    static const struct check rules[] = {
        { "gmsaCredentialSpecName", CHECK_SUBDOMAIN },
        { 0 },
    };
    struct json spec = json_member(options, "gmsaCredentialSpec"),
                user = json_member(options, "runAsUserName");
    const char *spec_path = field_child(e->arena, path, "gmsaCredentialSpec");
    check_table(e, options, path, rules);
    if (json_text(spec) && !spec.count)
        field_invalid(e, spec_path, spec, "gmsaCredentialSpec cannot be an empty string");
    else if (json_text(spec) && spec.count > SPEC_MAX)
        field_invalid(e, spec_path, spec, "gmsaCredentialSpec size must be under 64 KiB");
    if (json_text(user))
        check_user_name(e, user, field_child(e->arena, path, "runAsUserName"));
}
