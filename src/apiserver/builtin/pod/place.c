/* Validates the scheduling fields of a pod. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/rules/check.h"
#include "base/json_index.h"

/* ---- affinity ---- */

static const char *const node_operators[] = {
    "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", NULL
};

/* labels: values must be valid labels, which is not required in preferred terms. */
static void check_expressions(
    struct field_errors *e, struct json term, const char *path, bool labels)
{
    struct json list = json_member(term, "matchExpressions");
    size_t i = 0;
    json_each (r, list) {
        const char *here = check_item_path(e->arena, path, "matchExpressions", i++);
        const char *op = json_get_text(*r, "operator"),
                   *values = field_child(e->arena, here, "values");
        struct json given = json_member(*r, "values");
        size_t count = given.count;
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
        for (size_t j = 0; labels && j < count; j++)
            check_label_value(e, given.items[j], field_index(e->arena, values, j));
    }
}

/* Nodes can be selected only by name, with exactly one name. */
static void check_fields(struct field_errors *e, struct json term, const char *path)
{
    size_t i = 0;
    json_each (r, json_member(term, "matchFields")) {
        const char *here = check_item_path(e->arena, path, "matchFields", i++);
        const char *op = json_get_text(*r, "operator"), *key = json_get_text(*r, "key"),
                   *values = field_child(e->arena, here, "values");
        struct json given = json_member(*r, "values");
        if (!text_eq(op, "In") && !text_eq(op, "NotIn"))
            field_invalid(e,
                field_child(e->arena, here, "operator"),
                json_str(op ? op : ""),
                "not a valid selector operator");
        else if (given.count != 1)
            field_required(e,
                values,
                "must be only one value when `operator` is 'In' or 'NotIn' for node field "
                "selector");
        if (!text_eq(key, "metadata.name"))
            field_invalid(e,
                field_child(e->arena, here, "key"),
                json_str(key ? key : ""),
                "not a valid field selector key");
        for (size_t j = 0; text_eq(key, "metadata.name") && j < given.count; j++)
            check_name(e, given.items[j], field_index(e->arena, values, j), NAME_DNS1123_SUBDOMAIN);
    }
}

static void check_node_term(struct field_errors *e, struct json term, const char *path, bool labels)
{
    check_expressions(e, term, path, labels);
    check_fields(e, term, path);
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

/* Label keys for matchLabelKeys and mismatchLabelKeys. */
static void check_label_keys(
    struct field_errors *e, struct json owner, const char *path, const char *name)
{
    struct json keys = json_member(owner, name);
    const char *here = field_child(e->arena, path, name);
    if (keys.count && !check_is_set(json_member(owner, "labelSelector")))
        field_forbidden(e, here, "must not be specified when labelSelector is not set");
    for (size_t i = 0; check_is_set(json_member(owner, "labelSelector")) && i < keys.count; i++)
        check_name(e, keys.items[i], field_index(e->arena, here, i), NAME_LABEL_KEY);
}

/* A key that is in the selector already: generated requirements could not be distinguished. */
static void check_keys_in_selector(struct field_errors *e, struct json owner, const char *path)
{
    struct json keys = json_member(owner, "matchLabelKeys"),
                selector = json_member(owner, "labelSelector"),
                list = json_member(selector, "matchExpressions");
    for (size_t i = 0; i < list.count; i++) {
        const char *key = json_get_text(list.items[i], "key");
        size_t last = keys.count;
        while (last && !text_eq(json_text(keys.items[last - 1]), key))
            last--;
        bool seen = json_present(json_member(json_member(selector, "matchLabels"), key ? key : ""));
        for (size_t j = 0; j < i; j++)
            seen = seen || text_eq(json_get_text(list.items[j], "key"), key);
        if (last && seen)
            field_invalid(e,
                field_index(e->arena, path, last - 1),
                json_str(key),
                "exists in both matchLabelKeys and labelSelector");
    }
}

static void check_keys_in_both(struct field_errors *e, struct json term, const char *path)
{
    struct json keys = json_member(term, "matchLabelKeys");
    const char *list = field_child(e->arena, path, "matchLabelKeys");
    for (size_t i = 0; i < keys.count; i++)
        if (json_list_has(json_member(term, "mismatchLabelKeys"), json_text(keys.items[i])))
            field_invalid(e,
                field_index(e->arena, list, i),
                keys.items[i],
                "exists in both matchLabelKeys and mismatchLabelKeys");
}

static void check_pod_term(struct field_errors *e, struct json term, const char *path)
{
    static const char *const selectors[] = { "labelSelector", "namespaceSelector" };
    for (size_t i = 0; i < lengthof(selectors); i++)
        check_selector(
            e, json_member(term, selectors[i]), field_child(e->arena, path, selectors[i]));
    json_each (ns, json_member(term, "namespaces"))
        check_name(e, *ns, field_child(e->arena, path, "namespace"), NAME_DNS1123_LABEL);
    check_label_keys(e, term, path, "matchLabelKeys");
    check_label_keys(e, term, path, "mismatchLabelKeys");
    check_keys_in_selector(e, term, path);
    check_keys_in_both(e, term, path);
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

void pod_node_selector_check(struct field_errors *e, struct json selector, const char *path)
{
    struct json terms = json_member(selector, "nodeSelectorTerms");
    if (!terms.count)
        field_required(e,
            field_child(e->arena, path, "nodeSelectorTerms"),
            "must have at least one node selector term");
    for (size_t i = 0; i < terms.count; i++)
        check_node_term(
            e, terms.items[i], check_item_path(e->arena, path, "nodeSelectorTerms", i), true);
}

void pod_affinity_check(struct field_errors *e, struct json spec, const char *path)
{
    struct json affinity = json_member(spec, "affinity");
    if (!json_present(affinity))
        return;
    path = field_child(e->arena, path, "affinity");
    struct json node = json_member(affinity, "nodeAffinity"),
                required = json_member(node, REQUIRED);
    const char *node_path = field_child(e->arena, path, "nodeAffinity");
    if (json_present(required))
        pod_node_selector_check(e, required, field_child(e->arena, node_path, REQUIRED));
    size_t i = 0;
    json_each (term, json_member(node, PREFERRED)) {
        const char *here = check_item_path(e->arena, node_path, PREFERRED, i++);
        check_weight(e, *term, here);
        check_node_term(
            e, json_member(*term, "preference"), field_child(e->arena, here, "preference"), false);
    }
    check_pod_affinity(
        e, json_member(affinity, "podAffinity"), field_child(e->arena, path, "podAffinity"));
    check_pod_affinity(e,
        json_member(affinity, "podAntiAffinity"),
        field_child(e->arena, path, "podAntiAffinity"));
}

/* ---- topology ---- */

static const char *const spread_actions[] = { "DoNotSchedule", "ScheduleAnyway", NULL };

/* A topology key and an action must be a unique pair. Returns which pairs occur again later. */
static const bool *which_come_again(struct arena *a, struct json constraints)
{
    bool *again = arena_array(a, constraints.count, sizeof(*again));
    struct json_seen seen = { .arena = a };
    for (size_t i = constraints.count; i-- > 0;) {
        struct json c = constraints.items[i];
        again[i] = json_seen_add(&seen,
            json_map(a,
                { "action", json_member(c, "whenUnsatisfiable") },
                { "key", json_member(c, "topologyKey") }));
    }
    return again;
}

/* The other fields of a constraint: without key, action and selector. */
static void check_spread_rest(struct field_errors *e, struct json c, const char *path)
{
    static const char *const policies[] = { "Honor", "Ignore", NULL };
    static const char *const policy_names[] = { "nodeAffinityPolicy", "nodeTaintsPolicy" };
    struct arena *a = e->arena;
    struct json domains = json_member(c, "minDomains");
    const char *action = json_get_text(c, "whenUnsatisfiable");
    const char *domains_path = field_child(a, path, "minDomains");
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
    check_label_keys(e, c, path, "matchLabelKeys");
    check_keys_in_selector(e, c, path);
    check_selector(e, json_member(c, "labelSelector"), field_child(a, path, "labelSelector"));
}

void pod_spread_check(struct field_errors *e, struct json spec, const char *path)
{
    static const struct check rules[] = {
        { "topologyKey", CHECK_REQUIRED, .detail = "can not be empty" },
        { "whenUnsatisfiable", CHECK_ENUM, spread_actions },
        { 0 },
    };
    struct json all = json_member(spec, "topologySpreadConstraints");
    const bool *again = which_come_again(e->arena, all);
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
        if (again[i++])
            field_duplicate(e,
                field_child(e->arena, here, "{topologyKey, whenUnsatisfiable}"),
                json_strf(e->arena, "{%s, %s}", key ? key : "", action ? action : ""));
        check_spread_rest(e, *c, here);
    }
}

/* ---- tolerations ---- */

static const char *const effects[] = { "NoSchedule", "PreferNoSchedule", "NoExecute", NULL };

void pod_tolerations_check(struct field_errors *e, struct json spec, const char *path)
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
        if (!exists && (check_is_empty(op) || text_eq(json_text(op), "Equal")) &&
            check_is_set(value))
            check_label_value(e, value, op_path);
        if (text_eq(json_text(op), "Lt") || text_eq(json_text(op), "Gt")) /* known, but off */
            field_error_add(e,
                FIELD_NOT_SUPPORTED,
                op_path,
                op,
                "supported values: \"Equal\", \"Exists\", \"Lt\", \"Gt\"");
        else if (!check_is_empty(op))
            check_enum(e, op, op_path, ops);
        if (!check_is_empty(effect))
            check_enum(e, effect, field_child(e->arena, here, "effect"), effects);
    }
}
