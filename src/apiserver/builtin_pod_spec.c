/* What is wrong with a pod spec besides its containers and volumes: where it runs and how. */

#include "apiserver/builtin_pod.h"
#include "apiserver/check.h"

static const char *const restart_policies[] = { "Always", "OnFailure", "Never", NULL };
static const char *const dns_policies[] = {
    "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None", NULL
};
static const char *const spread_actions[] = { "DoNotSchedule", "ScheduleAnyway", NULL };
static const char *const seccomp_types[] = { "Localhost", "RuntimeDefault", "Unconfined", NULL };
static const char *const change_policies[] = { "Always", "OnRootMismatch", NULL };
static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

static const struct check spec_rules[] = {
    { "restartPolicy", CHECK_ENUM, restart_policies },
    { "dnsPolicy", CHECK_ENUM, dns_policies },
    { "nodeSelector", CHECK_LABELS },
    { "serviceAccountName", CHECK_SUBDOMAIN },
    { "hostname", CHECK_LABEL },
    { "subdomain", CHECK_LABEL },
    { "nodeName", CHECK_SUBDOMAIN },
    { "hostAliases.*.ip", CHECK_IP },
    { "securityContext.runAsUser", CHECK_USER_ID },
    { "securityContext.runAsGroup", CHECK_USER_ID },
    { "securityContext.fsGroup", CHECK_USER_ID },
    { "securityContext.supplementalGroups.*", CHECK_USER_ID },
    { "securityContext.seccompProfile.type", CHECK_ENUM, seccomp_types },
    { "securityContext.fsGroupChangePolicy", CHECK_ENUM, change_policies },
    { 0 },
};

/* A key and what to do without it, together, are one kind of constraint. */
static bool comes_again(struct json constraints, size_t at)
{
    struct json c = constraints.items[at];
    for (size_t i = at + 1; i < constraints.count; i++)
        if (json_equal(
                json_member(c, "topologyKey"), json_member(constraints.items[i], "topologyKey")) &&
            json_equal(json_member(c, "whenUnsatisfiable"),
                json_member(constraints.items[i], "whenUnsatisfiable")))
            return true;
    return false;
}

/* What a constraint has beside its key, its action and its selector. */
static void check_spread_rest(struct field_errors *e, struct json c, const char *path)
{
    static const char *const policies[] = { "Honor", "Ignore", NULL };
    static const char *const policy_names[] = { "nodeAffinityPolicy", "nodeTaintsPolicy" };
    struct arena *a = e->arena;
    struct json domains = json_member(c, "minDomains"), keys = json_member(c, "matchLabelKeys");
    const char *action = json_get_text(c, "whenUnsatisfiable");
    const char *domains_path = field_child(a, path, "minDomains"),
               *keys_path = field_child(a, path, "matchLabelKeys");
    if (json_present(domains) && domains.integer <= 0)
        field_invalid(e, domains_path, domains, "must be greater than zero");
    if (json_present(domains) && !text_eq(action, "DoNotSchedule"))
        field_invalid(e,
            domains_path,
            domains,
            arena_printf(a,
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not %s",
                action ? action : ""));
    for (size_t i = 0; i < lengthof(policy_names); i++)
        if (json_present(json_member(c, policy_names[i])))
            check_enum(e,
                json_member(c, policy_names[i]),
                field_child(a, path, policy_names[i]),
                policies);
    if (keys.count && !json_present(json_member(c, "labelSelector")))
        field_forbidden(e, keys_path, "must not be specified when labelSelector is not set");
    else
        for (size_t i = 0; i < keys.count; i++)
            check_name(e, keys.items[i], field_index(a, keys_path, i), NAME_LABEL_KEY);
}

static void check_spread(struct field_errors *e, struct json spec, const char *path)
{
    static const struct check rules[] = {
        { "topologyKey", CHECK_REQUIRED, .detail = "can not be empty" },
        { "whenUnsatisfiable", CHECK_ENUM, spread_actions },
        { "labelSelector", CHECK_SELECTOR },
        { 0 },
    };
    struct json all = json_member(spec, "topologySpreadConstraints");
    size_t i = 0;
    json_each (c, all) {
        const char *key = json_get_text(*c, "topologyKey");
        const char *action = json_get_text(*c, "whenUnsatisfiable");
        const char *here = check_item_path(e->arena, path, "topologySpreadConstraints", i);
        struct json skew = json_member(*c, "maxSkew");
        if (json_get_int(*c, "maxSkew", 0) <= 0)
            field_invalid(
                e, field_child(e->arena, here, "maxSkew"), skew, "must be greater than zero");
        check_table(e, *c, here, rules);
        check_spread_rest(e, *c, here);
        if (comes_again(all, i++))
            field_duplicate(e,
                field_child(e->arena, here, "{topologyKey, whenUnsatisfiable}"),
                json_strf(e->arena, "{%s, %s}", key ? key : "", action ? action : ""));
    }
}

static void check_tolerations(struct field_errors *e, struct json spec, const char *path)
{
    size_t i = 0;
    json_each (t, json_member(spec, "tolerations")) {
        const char *here = check_item_path(e->arena, path, "tolerations", i++);
        struct json key = json_member(*t, "key"), value = json_member(*t, "value"),
                    op = json_member(*t, "operator"), effect = json_member(*t, "effect");
        const char *op_path = field_child(e->arena, here, "operator");
        static const char *const ops[] = { "Equal", "Exists", NULL };
        bool exists = text_eq(json_text(op), "Exists");
        if (!check_is_empty(key))
            check_name(e, key, field_child(e->arena, here, "key"), NAME_LABEL_KEY);
        if (check_is_empty(key) && !exists)
            field_invalid(e,
                op_path,
                json_present(op) ? op : json_str(""),
                "operator must be Exists when `key` is empty, which means \"match all values and "
                "all keys\"");
        if (json_present(json_member(*t, "tolerationSeconds")) &&
            !text_eq(json_text(effect), "NoExecute"))
            field_invalid(e,
                field_child(e->arena, here, "effect"),
                json_present(effect) ? effect : json_str(""),
                "effect must be 'NoExecute' when `tolerationSeconds` is set");
        if (exists && !check_is_empty(value))
            field_invalid(e, op_path, value, "value must be empty when `operator` is 'Exists'");
        if (json_present(op) && !exists && !text_eq(json_text(op), "Equal"))
            field_not_supported(e, op_path, op, ops);
        if (!check_is_empty(effect))
            check_enum(e, effect, field_child(e->arena, here, "effect"), effects);
    }
}

/* ---- affinity ---- */

static const char *const node_operators[] = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL
};

static void check_node_requirements(
    struct field_errors *e, struct json list, const char *path, const char *name)
{
    size_t i = 0;
    json_each (r, list) {
        const char *here = check_item_path(e->arena, path, name, i++);
        const char *op = json_get_text(*r, "operator"),
                   *values = field_child(e->arena, here, "values");
        size_t count = json_member(*r, "values").count;
        bool known = false;
        for (const char *const *o = node_operators; *o; o++)
            known = known || text_eq(op, *o);
        if ((text_eq(op, "In") || text_eq(op, "NotIn")) && !count)
            field_required(e, values, "must be specified when `operator` is 'In' or 'NotIn'");
        if ((text_eq(op, "Exists") || text_eq(op, "DoesNotExist")) && count)
            field_forbidden(
                e, values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        if ((text_eq(op, "Gt") || text_eq(op, "Lt")) && count != 1)
            field_required(
                e, values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        if (!known)
            field_invalid(e,
                field_child(e->arena, here, "operator"),
                json_str(op ? op : ""),
                "not a valid selector operator");
        check_name(e, json_member(*r, "key"), field_child(e->arena, here, "key"), NAME_LABEL_KEY);
    }
}

static void check_node_term(struct field_errors *e, struct json term, const char *path)
{
    check_node_requirements(e, json_member(term, "matchExpressions"), path, "matchExpressions");
}

static void check_weight(struct field_errors *e, struct json term, const char *path)
{
    int64_t weight = json_get_int(term, "weight", 0);
    if (weight < 1 || weight > 100)
        field_invalid(e,
            field_child(e->arena, path, "weight"),
            json_int(weight),
            "must be in the range 1-100");
}

static void check_pod_term(struct field_errors *e, struct json term, const char *path)
{
    check_selector(
        e, json_member(term, "labelSelector"), field_child(e->arena, path, "labelSelector"));
    struct json key = json_member(term, "topologyKey");
    const char *here = field_child(e->arena, path, "topologyKey");
    if (check_is_empty(key))
        field_required(e, here, "can not be empty");
    check_name(e, key, here, NAME_LABEL_KEY);
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void check_pod_affinity(struct field_errors *e, struct json affinity, const char *path)
{
    size_t i = 0;
    json_each (term, json_member(affinity, REQUIRED))
        check_pod_term(e, *term, check_item_path(e->arena, path, REQUIRED, i++));
    i = 0;
    json_each (term, json_member(affinity, PREFERRED)) {
        const char *here = check_item_path(e->arena, path, PREFERRED, i++);
        check_weight(e, *term, here);
        check_pod_term(e,
            json_member(*term, "podAffinityTerm"),
            field_child(e->arena, here, "podAffinityTerm"));
    }
}

static void check_affinity(struct field_errors *e, struct json spec, const char *path)
{
    struct json affinity = json_member(spec, "affinity");
    if (!json_present(affinity))
        return;
    path = field_child(e->arena, path, "affinity");
    struct json node = json_member(affinity, "nodeAffinity"),
                required = json_member(node, REQUIRED);
    const char *node_path = field_child(e->arena, path, "nodeAffinity");
    if (json_present(required)) {
        const char *here = field_child(e->arena, node_path, REQUIRED);
        struct json terms = json_member(required, "nodeSelectorTerms");
        if (!terms.count)
            field_required(e,
                field_child(e->arena, here, "nodeSelectorTerms"),
                "must have at least one node selector term");
        for (size_t i = 0; i < terms.count; i++)
            check_node_term(
                e, terms.items[i], check_item_path(e->arena, here, "nodeSelectorTerms", i));
    }
    size_t i = 0;
    json_each (term, json_member(node, PREFERRED)) {
        const char *here = check_item_path(e->arena, node_path, PREFERRED, i++);
        check_weight(e, *term, here);
        check_node_term(
            e, json_member(*term, "preference"), field_child(e->arena, here, "preference"));
    }
    check_pod_affinity(
        e, json_member(affinity, "podAffinity"), field_child(e->arena, path, "podAffinity"));
    check_pod_affinity(e,
        json_member(affinity, "podAntiAffinity"),
        field_child(e->arena, path, "podAntiAffinity"));
}

/* ---- the spec ---- */

static void check_dns(struct field_errors *e, struct json spec, const char *path)
{
    struct json config = json_member(spec, "dnsConfig");
    if (!text_eq(json_get_text(spec, "dnsPolicy"), "None"))
        return;
    const char *here = field_child(e->arena, path, "dnsConfig");
    if (!json_present(config))
        field_required(e,
            here,
            arena_printf(e->arena, "must provide `dnsConfig` when `dnsPolicy` is %s", "None"));
    else if (!json_member(config, "nameservers").count)
        field_required(e,
            field_child(e->arena, here, "nameservers"),
            "must provide at least one DNS nameserver when `dnsPolicy` is None");
}

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
            if (!json_equal(host, json_member(*port, "containerPort")))
                field_invalid(e,
                    field_child(e->arena, at, "hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true");
        }
    }
}

static void check_seccomp(struct field_errors *e, struct json spec, const char *path)
{
    struct json profile = json_get(spec, "securityContext.seccompProfile");
    if (text_eq(json_get_text(profile, "type"), "Localhost") &&
        !json_present(json_member(profile, "localhostProfile")))
        field_required(e,
            field_child(e->arena, path, "securityContext.seccompProfile.localhostProfile"),
            "must be set when seccomp type is Localhost");
}

void pod_spec_check(struct field_errors *e, struct json spec, const char *path)
{
    pod_containers_check(e, spec, pod_volumes_check(e, spec, path), path);
    check_table(e, spec, path, spec_rules);
    struct json deadline = json_member(spec, "activeDeadlineSeconds");
    if (deadline.type == JSON_INT && (deadline.integer < 1 || deadline.integer > INT32_MAX))
        field_invalid(e,
            field_child(e->arena, path, "activeDeadlineSeconds"),
            deadline,
            "must be between 1 and 2147483647, inclusive");
    check_dns(e, spec, path);
    check_host_network(e, spec, path);
    check_seccomp(e, spec, path);
    check_affinity(e, spec, path);
    check_tolerations(e, spec, path);
    check_spread(e, spec, path);
    if (json_get_bool(spec, "shareProcessNamespace", false) &&
        json_get_bool(spec, "hostPID", false))
        field_invalid(e,
            field_child(e->arena, path, "securityContext.shareProcessNamespace"),
            json_bool(true),
            "ShareProcessNamespace and HostPID cannot both be enabled");
}

void pod_template_check(struct field_errors *e, struct json template, const char *path)
{
    check_labels(e, json_get(template, "metadata.labels"), field_child(e->arena, path, "labels"));
    pod_spec_check(e, json_member(template, "spec"), field_child(e->arena, path, "spec"));
}
