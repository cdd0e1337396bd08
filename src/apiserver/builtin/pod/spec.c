/* Validates a pod spec, except its containers, volumes, scheduling and security. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

/* ---- DNS ---- */

#define NAMESERVERS_MAX 3
#define SEARCHES_MAX 32
#define SEARCH_CHARS_MAX 2048

/* A subdomain whose labels may contain underscores. */
static bool is_search(const char *text)
{
    char before = '.';
    for (; *text; before = *text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9');
        if (!plain && !strchr("._-", *text))
            return false;
        bool first = before == '.';
        if (first && (*text == '.' || *text == '-'))
            return false;
        if (first && *text == '_' &&
            !((text[1] >= 'a' && text[1] <= 'z') || (text[1] >= '0' && text[1] <= '9')))
            return false;
        if (*text == '.' && (before == '-' || before == '_'))
            return false;
    }
    return !strchr(".-_", before);
}

static void check_search(struct field_errors *e, struct json search, const char *path)
{
    const char *text = json_text(search) ? json_text(search) : "";
    size_t length = strlen(text);
    if (text_eq(text, "."))
        return;
    if (length && text[length - 1] == '.')
        text = arena_strndup(e->arena, text, --length);
    if (length > NAME_SUBDOMAIN_MAX)
        field_invalid(e, path, json_str(text), "must be no more than 253 characters");
    if (!is_search(text))
        field_invalid(e,
            path,
            json_str(text),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'_', '-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is "
            "'_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')");
}

static void check_searches(struct field_errors *e, struct json list, const char *path)
{
    size_t chars = list.count ? list.count - 1 : 0;
    if (list.count > SEARCHES_MAX)
        field_invalid(e, path, list, "must not have more than 32 search paths");
    json_each (search, list)
        chars += search->count;
    if (chars > SEARCH_CHARS_MAX)
        field_invalid(e,
            path,
            list,
            "must not have more than 2048 characters (including spaces) in the search list");
    for (size_t i = 0; i < list.count; i++)
        check_search(e, list.items[i], field_index(e->arena, path, i));
}

static void check_dns(struct field_errors *e, struct json spec, const char *path)
{
    static const struct check servers[] = { { "nameservers.*", CHECK_IP }, { 0 } };
    struct arena *a = e->arena;
    struct json config = json_member(spec, "dnsConfig"), list = json_member(config, "nameservers"),
                options = json_member(config, "options");
    bool none = text_eq(json_get_text(spec, "dnsPolicy"), "None");
    const char *here = field_child(a, path, "dnsConfig");
    const char *servers_path = field_child(a, here, "nameservers");
    if (none && !check_is_set(config))
        field_required(e, here, "must provide `dnsConfig` when `dnsPolicy` is None");
    else if (none && !list.count)
        field_required(
            e, servers_path, "must provide at least one DNS nameserver when `dnsPolicy` is None");
    if (list.count > NAMESERVERS_MAX)
        field_invalid(e, servers_path, list, "must not have more than 3 nameservers");
    check_table(e, config, here, servers);
    check_searches(e, json_member(config, "searches"), field_child(a, here, "searches"));
    for (size_t i = 0; i < options.count; i++)
        if (check_is_empty(json_member(options.items[i], "name")))
            field_required(e, check_item_path(a, here, "options", i), "must not be empty");
}

static void check_aliases(struct field_errors *e, struct json spec, const char *path)
{
    static const struct check ip = { "", CHECK_IP }, name = { "", CHECK_SUBDOMAIN };
    size_t i = 0;
    json_each (alias, json_member(spec, "hostAliases")) {
        const char *here = check_item_path(e->arena, path, "hostAliases", i++);
        struct json address = json_member(*alias, "ip"), names = json_member(*alias, "hostnames");
        check_value(e,
            check_is_set(address) ? address : json_str(""),
            field_child(e->arena, here, "ip"),
            &ip);
        for (size_t j = 0; j < names.count; j++)
            check_value(e, names.items[j], check_item_path(e->arena, here, "hostnames", j), &name);
    }
}

/* ---- scheduling gates ---- */

static void check_gates(struct field_errors *e, struct json spec, const char *path)
{
    struct arena *a = e->arena;
    struct json ready = json_member(spec, "readinessGates"),
                scheduled = json_member(spec, "schedulingGates");
    struct json_index names = json_index_of(a, scheduled, "name");
    for (size_t i = 0; i < ready.count; i++)
        check_name(e,
            json_member(ready.items[i], "conditionType"),
            field_child(a, check_item_path(a, path, "readinessGates", i), "conditionType"),
            NAME_LABEL_KEY);
    for (size_t i = 0; i < scheduled.count; i++) {
        const char *here = check_item_path(a, path, "schedulingGates", i);
        struct json name = json_member(scheduled.items[i], "name");
        check_name(e, name, here, NAME_LABEL_KEY);
        if (json_index_again(&names, (uint32_t)i))
            field_duplicate(e, here, check_is_set(name) ? name : json_str(""));
    }
}

/* ---- incompatible fields ---- */

static void check_users(struct field_errors *e, struct json spec, const char *path)
{
    static const struct {
        const char *field, *shown;
    } rows[] = {
        { "hostNetwork", "hostNetwork" },
        { "hostPID", "HostPID" },
        { "hostIPC", "HostIPC" },
    };
    static const char *const lists[] = { "initContainers", "containers" };
    if (json_get_bool(spec, "hostUsers", true))
        return;
    for (size_t i = 0; i < lengthof(rows); i++)
        if (json_get_bool(spec, rows[i].field, false))
            field_forbidden(
                e, field_child(e->arena, path, rows[i].shown), "when `hostUsers` is false");
    for (size_t l = 0; l < lengthof(lists); l++) {
        size_t i = 0;
        json_each (c, json_member(spec, lists[l])) {
            const char *here = check_item_path(e->arena, path, lists[l], i++);
            if (json_member(*c, "volumeDevices").count)
                field_forbidden(
                    e, field_child(e->arena, here, "volumeDevices"), "when `hostUsers` is false");
        }
    }
}

#define HOSTNAME_MAX 64

static void check_hostname(struct field_errors *e, struct json spec, const char *path)
{
    static const char *const others[] = { "setHostnameAsFQDN", "hostNetwork" };
    struct json name = json_member(spec, "hostnameOverride");
    const char *here = field_child(e->arena, path, "hostnameOverride");
    if (!check_is_set(name))
        return;
    for (size_t i = 0; i < lengthof(others); i++)
        if (json_get_bool(spec, others[i], false))
            field_forbidden(
                e, here, arena_printf(e->arena, "may not be specified when %s is true", others[i]));
    if (name.count > HOSTNAME_MAX)
        field_error_add(e,
            FIELD_TOO_LONG,
            here,
            json_none,
            arena_printf(e->arena, "may not be more than %d bytes", HOSTNAME_MAX));
    check_name(e, name, here, NAME_DNS1123_SUBDOMAIN);
}

static void check_preemption(struct field_errors *e, struct json spec, const char *path)
{
    static const char *const policies[] = { "PreemptLowerPriority", "Never", NULL };
    struct json policy = json_member(spec, "preemptionPolicy");
    const char *here = field_child(e->arena, path, "preemptionPolicy");
    if (check_is_set(policy) && check_is_empty(policy))
        field_required(e, here, NULL);
    else if (check_is_set(policy))
        check_enum(e, policy, here, policies);
}

static void check_system(struct field_errors *e, struct json system, const char *path)
{
    static const char *const systems[] = { "linux", "windows", NULL };
    struct json name = json_member(system, "name");
    if (!check_is_set(system))
        return;
    if (check_is_empty(name))
        field_required(e, field_child(e->arena, path, "name"), NULL);
    else
        check_enum(e, name, path, systems);
}

/* ---- the spec ---- */

static const char *const restart_policies[] = { "Always", "OnFailure", "Never", NULL };
static const char *const dns_policies[] = {
    "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL
};
static const struct check spec_rules[] = {
    { "restartPolicy", CHECK_ENUM, restart_policies },
    { "dnsPolicy", CHECK_ENUM, dns_policies },
    { "nodeSelector", CHECK_LABELS },
    { "serviceAccountName", CHECK_SUBDOMAIN },
    { "nodeName", CHECK_SUBDOMAIN },
    { "hostname", CHECK_LABEL },
    { "subdomain", CHECK_LABEL },
    { "priorityClassName", CHECK_SUBDOMAIN },
    { "runtimeClassName", CHECK_SUBDOMAIN },
    { 0 },
};

void pod_spec_check(struct field_errors *e, struct json spec, const char *path)
{
    struct json volumes = pod_volumes_check(e, spec, path),
                deadline = json_member(spec, "activeDeadlineSeconds"),
                overhead = json_member(spec, "overhead");
    pod_containers_check(e, spec, volumes, path);
    pod_level_check(e, spec, path);
    check_table(e, spec, path, spec_rules);
    pod_security_check(e, spec, path);
    pod_affinity_check(e, spec, path);
    check_dns(e, spec, path);
    check_gates(e, spec, path);
    pod_spread_check(e, spec, path);
    check_users(e, spec, path);
    if (deadline.type == JSON_INT && (deadline.integer < 1 || deadline.integer > INT32_MAX))
        field_invalid(e,
            field_child(e->arena, path, "activeDeadlineSeconds"),
            deadline,
            "must be between 1 and 2147483647, inclusive");
    check_hostname(e, spec, path);
    pod_tolerations_check(e, spec, path);
    check_aliases(e, spec, path);
    check_preemption(e, spec, path);
    pod_resources_check(
        e, json_map(e->arena, { "limits", overhead }), field_child(e->arena, path, "overhead"));
    check_system(e, json_member(spec, "os"), field_child(e->arena, path, "os"));
}

void pod_template_check(struct field_errors *e, struct json tmpl, const char *path)
{
    check_labels(e, json_get(tmpl, "metadata.labels"), field_child(e->arena, path, "labels"));
    pod_spec_check(e, json_member(tmpl, "spec"), field_child(e->arena, path, "spec"));
    if (json_get(tmpl, "spec.ephemeralContainers").count)
        field_forbidden(e,
            field_child(e->arena, path, "spec.ephemeralContainers"),
            "ephemeral containers not allowed in pod template");
}
