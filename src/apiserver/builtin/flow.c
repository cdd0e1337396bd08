/* Flow control: which requests share which part of a server's capacity. This server has no queues;
 * the objects are kept for those who write them. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"

#define NAME_OF_ALL "exempt" /* the one level that has no limit */

/* Numbers that are 0 if they are not given, which none may be. */
static struct json fill_numbers(
    struct arena *a, struct json o, const char *const *paths, const int64_t *values)
{
    for (; *paths; paths++, values++) {
        struct json v = json_get(o, *paths);
        if (v.type == JSON_INT && !v.integer)
            o = json_with(a, o, *paths, json_int(*values));
    }
    return o;
}

static struct json fill_schema(struct arena *a, struct json o)
{
    static const char *const paths[] = { "spec.matchingPrecedence", NULL };
    return fill_numbers(a, o, paths, (const int64_t[]){ 1000 });
}

#define QUEUING "spec.limited.limitResponse.queuing."

static struct json fill_level(struct arena *a, struct json o)
{
    static const struct fill defaults[] = {
        { "spec.limited.nominalConcurrencyShares", FILL_INT(30) },
        { "spec.limited.lendablePercent", FILL_INT(0) },
        { "spec.exempt.nominalConcurrencyShares", FILL_INT(0) },
        { "spec.exempt.lendablePercent", FILL_INT(0) },
        { 0 },
    };
    static const char *const paths[] = {
        QUEUING "queues", QUEUING "handSize", QUEUING "queueLengthLimit", NULL
    };
    o = fill_table(a, o, defaults);
    return fill_numbers(a, o, paths, (const int64_t[]){ 64, 8, 50 });
}

/* ---- FlowSchema ---- */

static void check_subject(struct field_errors *e, struct json subject, const char *path)
{
    static const char *const kinds[] = { "Group", "ServiceAccount", "User", NULL };
    static const struct {
        const char *kind, *member;
    } parts[] = {
        { "User", "user" }, { "Group", "group" }, { "ServiceAccount", "serviceAccount" }
    };
    struct arena *a = e->arena;
    struct json kind = json_member(subject, "kind");
    for (size_t i = 0; i < lengthof(parts); i++)
        if (text_eq(json_text(kind), parts[i].kind)) {
            if (!json_present(json_member(subject, parts[i].member)))
                field_required(e,
                    field_child(a, path, parts[i].member),
                    arena_printf(a,
                        "%s is required when subject kind is '%s'",
                        parts[i].member,
                        parts[i].kind));
            return;
        }
    field_not_supported(
        e, field_child(a, path, "kind"), check_is_set(kind) ? kind : json_str(""), kinds);
}

/* Lists that may not be empty. */
static void check_lists(
    struct field_errors *e, struct json rule, const char *path, const char *const *lists)
{
    for (; *lists; lists += 2)
        if (!json_member(rule, lists[0]).count)
            field_required(e, field_child(e->arena, path, lists[0]), lists[1]);
}

static void check_rule(struct field_errors *e, struct json rule, const char *path)
{
    static const char *const resource[] = { "verbs",
        "verbs must contain at least one value",
        "apiGroups",
        "resource rules must supply at least one api group",
        "resources",
        "resource rules must supply at least one resource",
        NULL };
    static const char *const other[] = { "verbs",
        "verbs must contain at least one value",
        "nonResourceURLs",
        "nonResourceURLs must contain at least one value",
        NULL };
    struct arena *a = e->arena;
    struct json subjects = json_member(rule, "subjects"),
                resources = json_member(rule, "resourceRules"),
                others = json_member(rule, "nonResourceRules");
    if (!subjects.count)
        field_required(
            e, field_child(a, path, "subjects"), "subjects must contain at least one value");
    for (size_t i = 0; i < subjects.count; i++)
        check_subject(e, subjects.items[i], check_item_path(a, path, "subjects", i));
    if (!resources.count && !others.count)
        field_required(
            e, path, "at least one of resourceRules and nonResourceRules has to be non-empty");
    for (size_t i = 0; i < resources.count; i++) {
        const char *here = check_item_path(a, path, "resourceRules", i);
        struct json cluster = json_member(resources.items[i], "clusterScope");
        check_lists(e, resources.items[i], here, resource);
        if (!(cluster.type == JSON_BOOL && cluster.boolean) &&
            !json_member(resources.items[i], "namespaces").count)
            field_required(e,
                field_child(a, here, "namespaces"),
                "resource rules that are not cluster scoped must supply at least one namespace");
    }
    for (size_t i = 0; i < others.count; i++)
        check_lists(e, others.items[i], check_item_path(a, path, "nonResourceRules", i), other);
}

static void check_schema(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const methods[] = { "ByNamespace", "ByUser", NULL };
    (void)w;
    struct arena *a = e->arena;
    struct json spec = json_member(o, "spec"), rules = json_member(spec, "rules"),
                level = json_get(spec, "priorityLevelConfiguration.name"),
                order = json_member(spec, "matchingPrecedence"),
                method = json_member(spec, "distinguisherMethod");
    if (order.integer <= 0)
        field_invalid(e, "spec.matchingPrecedence", order, "must be a positive value");
    else if (order.integer > 10000)
        field_invalid(e, "spec.matchingPrecedence", order, "must not be greater than 10000");
    if (json_present(method) && !text_eq(json_get_text(method, "type"), methods[0]) &&
        !text_eq(json_get_text(method, "type"), methods[1]))
        field_not_supported(e,
            "spec.distinguisherMethod.type",
            json_map(a, { "Type", json_member(method, "type") }),
            methods);
    if (check_is_empty(level))
        field_required(
            e, "spec.priorityLevelConfiguration.name", "must reference a priority level");
    else
        check_name(e, level, "spec.priorityLevelConfiguration.name", NAME_DNS1123_SUBDOMAIN);
    for (size_t i = 0; i < rules.count; i++)
        check_rule(e, rules.items[i], check_item_path(a, "spec", "rules", i));
}

/* ---- PriorityLevelConfiguration ---- */

static void check_limited(struct field_errors *e, struct json limited)
{
    static const char *const answers[] = { "Queue", "Reject", NULL };
    const char *path = "spec.limited.limitResponse";
    struct json shares = json_member(limited, "nominalConcurrencyShares"),
                response = json_member(limited, "limitResponse"),
                type = json_member(response, "type");
    bool queues = json_present(json_member(response, "queuing"));
    if (shares.type == JSON_INT && shares.integer < 0)
        field_invalid(
            e, "spec.limited.nominalConcurrencyShares", shares, "must be a non-negative integer");
    if (text_eq(json_text(type), "Reject") && queues)
        field_forbidden(e,
            "spec.limited.limitResponse.queuing",
            "must be nil if limited.limitResponse.type is not Limited");
    else if (text_eq(json_text(type), "Queue") && !queues)
        field_required(e,
            "spec.limited.limitResponse.queuing",
            "must not be empty if limited.limitResponse.type is Limited");
    else if (check_is_empty(type))
        field_required(e, field_child(e->arena, path, "type"), NULL);
    else
        check_enum(e, type, field_child(e->arena, path, "type"), answers);
}

static void check_level(const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const types[] = { "Exempt", "Limited", NULL };
    (void)w;
    struct json spec = json_member(o, "spec"), type = json_member(spec, "type"),
                limited = json_member(spec, "limited");
    bool all = text_eq(json_get_text(o, "metadata.name"), NAME_OF_ALL);
    if (check_is_empty(type)) {
        field_required(e, "spec.type", NULL);
        return;
    }
    check_enum(e, type, "spec.type", types);
    if (text_eq(json_text(type), "Exempt") != all && (all || text_eq(json_text(type), "Exempt")))
        field_invalid(e, "spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'");
    if (!text_eq(json_text(type), "Limited"))
        return;
    if (!json_present(limited))
        field_required(e, "spec.limited", "must not be empty when type is Limited");
    else
        check_limited(e, limited);
}

const struct builtin_rules builtin_flow_schema = { .fill = fill_schema, .validate = check_schema };
const struct builtin_rules builtin_priority_level = {
    .fill = fill_level,
    .validate = check_level,
};
