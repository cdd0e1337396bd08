/* Autoscalers in both versions, disruption budgets and limits. */

#include "apiserver/builtin_convert.h"
#include "apiserver/builtin_rules.h"
#include "apiserver/call.h"
#include "apiserver/check.h"
#include "apiserver/fill.h"
#include "apiserver/meta.h"
#include "apiserver/internal.h"
#include "base/intorstr.h"
#include "base/quantity.h"

static struct json parse(struct arena *a, const char *text)
{
    struct json v;
    struct error err;
    bool ok = json_parse(a, str_of(text), &v, &err);
    assert(ok);
    return v;
}

/* ---- HorizontalPodAutoscaler ---- */

static struct json fill_rules(
    struct arena *a, struct json behavior, const char *name, const char *rules)
{
    struct json own = json_member(behavior, name);
    if (own.type != JSON_MAP)
        own = json_empty_map();
    json_each_member (m, parse(a, rules))
        own = fill_path(a, own, m->key, m->value);
    return json_with_member(a, behavior, name, own);
}

static struct json fill_behavior(struct arena *a, struct json behavior)
{
    behavior = fill_rules(a,
        behavior,
        "scaleUp",
        "{\"stabilizationWindowSeconds\":0,\"selectPolicy\":\"Max\",\"policies\":["
        "{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"
        "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}");
    return fill_rules(a,
        behavior,
        "scaleDown",
        "{\"selectPolicy\":\"Max\",\"policies\":["
        "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}");
}

static struct json fill_autoscaler(struct arena *a, struct json o)
{
    o = fill_path(a, o, "spec.minReplicas", json_int(1));
    if (!json_present(json_get(o, "spec.metrics")))
        o = fill_path(a,
            o,
            "spec.metrics",
            parse(a,
                "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":"
                "{\"type\":\"Utilization\",\"averageUtilization\":80}}}]"));
    return fill_each(a, o, "spec.behavior", fill_behavior);
}

static struct json fill_autoscaler_v1(struct arena *a, struct json o)
{
    o = fill_path(a, o, "spec.minReplicas", json_int(1));
    return fill_path(a, o, "spec.targetCPUUtilizationPercentage", json_int(80));
}

/* ---- what is wrong ---- */

static const char *const metric_types[] = {
    "ContainerResource", "External", "Object", "Pods", "Resource", NULL
};
static const char *const select_policies[] = { "Disabled", "Max", "Min", NULL };
static const char *const policy_types[] = { "Percent", "Pods", NULL };

static void check_target(struct field_errors *e, struct json target, const char *path)
{
    struct json use = json_member(target, "averageUtilization");
    struct json type = json_member(target, "type");
    bool known = text_eq(json_text(type), "Utilization") || text_eq(json_text(type), "Value") ||
                 text_eq(json_text(type), "AverageValue");
    if (!known)
        field_invalid(e,
            field_child(e->arena, path, "type"),
            type,
            "must be either Utilization, Value, or AverageValue");
    if (use.type == JSON_INT && use.integer < 1)
        field_invalid(
            e, field_child(e->arena, path, "averageUtilization"), use, "must be greater than 0");
}

static void check_metric(struct field_errors *e, struct json metric, const char *path)
{
    static const struct {
        const char *type, *field;
    } fields[] = {
        { "ContainerResource", "containerResource" },
        { "External", "external" },
        { "Object", "object" },
        { "Pods", "pods" },
        { "Resource", "resource" },
    };
    struct arena *a = e->arena;
    const char *type = json_get_text(metric, "type");
    bool known = false;
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json source = json_member(metric, fields[i].field);
        const char *here = field_child(a, path, fields[i].field);
        if (text_eq(type, fields[i].type)) {
            known = true;
            if (!json_present(source))
                field_required(e, here, "must populate information for the given metric source");
        }
        if (!json_present(source))
            continue;
        struct json target = json_member(source, "target");
        const char *target_path = field_child(a, here, "target");
        check_target(e, target, target_path);
        bool resource = text_ends(fields[i].field, "esource");
        if (resource && !json_present(json_member(target, "averageUtilization")) &&
            !json_present(json_member(target, "averageValue")))
            field_required(e,
                field_child(a, target_path, "averageUtilization"),
                "must set either a target raw value or a target utilization");
    }
    for (int twice = 0; twice < 2 && !known; twice++) /* as the server does */
        field_not_supported(
            e, field_child(a, path, "type"), json_str(type ? type : ""), metric_types);
}

static void check_scaling_rules(struct field_errors *e, struct json behavior, const char *name)
{
    struct arena *a = e->arena;
    struct json rules = json_member(behavior, name),
                window = json_member(rules, "stabilizationWindowSeconds");
    const char *path = field_child(a, "spec.behavior", name);
    if (!json_present(rules))
        return;
    if (window.type == JSON_INT && window.integer < 0)
        field_invalid(e,
            field_child(a, path, "stabilizationWindowSeconds"),
            window,
            "must be greater than or equal to zero");
    if (window.type == JSON_INT && window.integer > 3600)
        field_invalid(e,
            field_child(a, path, "stabilizationWindowSeconds"),
            window,
            "must be less than or equal to 3600");
    check_enum(e,
        json_member(rules, "selectPolicy"),
        field_child(a, path, "selectPolicy"),
        select_policies);
    struct json policies = json_member(rules, "policies");
    if (!policies.count)
        field_required(e, field_child(a, path, "policies"), "must specify at least one Policy");
    for (size_t i = 0; i < policies.count; i++) {
        const char *here = check_item_path(a, path, "policies", i);
        struct json p = policies.items[i], period = json_member(p, "periodSeconds");
        check_enum(e, json_member(p, "type"), field_child(a, here, "type"), policy_types);
        if (json_get_int(p, "value", 0) <= 0)
            field_invalid(e,
                field_child(a, here, "value"),
                json_member(p, "value"),
                "must be greater than zero");
        if (json_get_int(p, "periodSeconds", 0) <= 0)
            field_invalid(
                e, field_child(a, here, "periodSeconds"), period, "must be greater than zero");
        if (json_get_int(p, "periodSeconds", 0) > 1800)
            field_invalid(e,
                field_child(a, here, "periodSeconds"),
                period,
                "must be less than or equal to 1800");
    }
}

static bool scales_to_zero(struct json spec)
{
    json_each (metric, json_member(spec, "metrics"))
        if (text_eq(json_get_text(*metric, "type"), "Object") ||
            text_eq(json_get_text(*metric, "type"), "External"))
            return true;
    return false;
}

/* What is to stand in a path. */
static void check_segment(struct field_errors *e, struct json v, const char *path)
{
    const char *text = json_text(v);
    if (check_is_empty(v))
        field_required(e, path, NULL);
    else if (text_eq(text, ".") || text_eq(text, ".."))
        field_invalid(e, path, v, arena_printf(e->arena, "may not be '%s'", text));
    for (const char *c = "/%"; !check_is_empty(v) && *c; c++)
        if (strchr(text, *c))
            field_invalid(e, path, v, arena_printf(e->arena, "may not contain '%c'", *c));
}

static void check_autoscaler(const struct api_write *w, struct json o, struct field_errors *e)
{
    struct json spec = json_member(o, "spec"), ref = json_member(spec, "scaleTargetRef");
    int64_t min = json_get_int(spec, "minReplicas", 1), max = json_get_int(spec, "maxReplicas", 0);
    if (*w->subresource)
        return;
    if (min < 1)
        field_invalid(e, "spec.minReplicas", json_int(min), "must be greater than or equal to 1");
    if (!max)
        field_required(e, "spec.maxReplicas", "must be set and greater than 0");
    if (min == 0 && !scales_to_zero(spec))
        field_forbidden(e,
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas");
    if (max < min)
        field_invalid(
            e, "spec.maxReplicas", json_int(max), "must be greater than or equal to `minReplicas`");
    check_segment(e, json_member(ref, "kind"), "spec.scaleTargetRef.kind");
    check_segment(e, json_member(ref, "name"), "spec.scaleTargetRef.name");
    const char *version = json_get_text(ref, "apiVersion");
    if (!version || (!strchr(version, '/') && !text_eq(version, "v1")))
        field_invalid(e,
            "spec.scaleTargetRef.apiVersion",
            json_str(version ? version : ""),
            "apiVersion must specify API group");
    size_t i = 0;
    json_each (metric, json_member(spec, "metrics"))
        check_metric(e, *metric, check_item_path(e->arena, "spec", "metrics", i++));
    check_scaling_rules(e, json_member(spec, "behavior"), "scaleUp");
    check_scaling_rules(e, json_member(spec, "behavior"), "scaleDown");
}

/* ---- PodDisruptionBudget ---- */

static void check_amount(struct field_errors *e, struct json v, const char *path)
{
    static const struct check at_least_0 = { "", CHECK_MIN };
    int64_t value = 0;
    if (!json_present(v))
        return;
    if (v.type == JSON_STR && !intorstr_scaled(v, 100, true, &value, NULL))
        field_invalid(e,
            path,
            v,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', "
            " or '93%', regex used for validation is '[0-9]+%')");
    else if (v.type == JSON_STR && value > 100)
        field_invalid(e, path, v, "must not be greater than 100%");
    check_value(e, v, path, &at_least_0);
}

static void check_disruption_budget(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const policies[] = { "AlwaysAllow", "IfHealthyBudget", NULL };
    static const struct check rules[] = {
        { "spec.selector", CHECK_SELECTOR },
        { "spec.unhealthyPodEvictionPolicy", CHECK_ENUM, policies },
        { 0 },
    };
    struct json spec = json_member(o, "spec"), min = json_member(spec, "minAvailable"),
                max = json_member(spec, "maxUnavailable");
    if (*w->subresource)
        return;
    if (json_present(min) && json_present(max))
        check_invalid_text(e,
            FIELD_INVALID,
            "spec",
            arena_printf(e->arena,
                "{\"MinAvailable\":%s,\"Selector\":%s,\"MaxUnavailable\":%s,"
                "\"UnhealthyPodEvictionPolicy\":%s}",
                json_to_text(e->arena, min),
                json_to_text(e->arena, json_member(spec, "selector")),
                json_to_text(e->arena, max),
                json_to_text(e->arena, json_member(spec, "unhealthyPodEvictionPolicy"))),
            "minAvailable and maxUnavailable cannot be both set");
    check_amount(e, min, "spec.minAvailable");
    check_amount(e, max, "spec.maxUnavailable");
    check_table(e, o, "", rules);
}

/* ---- LimitRange ---- */

const struct builtin_rules builtin_autoscaler = {
    .fill = fill_autoscaler,
    .convert = convert_autoscaler,
    .validate = check_autoscaler,
};
const struct builtin_rules builtin_autoscaler_v1 = {
    .fill = fill_autoscaler_v1,
    .convert = convert_autoscaler,
    .validate = check_autoscaler,
};
const struct builtin_rules builtin_disruption_budget = { .validate = check_disruption_budget };
/* Maxima are limits where there are none, and limits or minima requests. */
static struct json fill_limit(struct arena *a, struct json item)
{
    static const struct {
        const char *to, *from;
    } moves[] = {
        { "default", "max" }, { "defaultRequest", "default" }, { "defaultRequest", "min" }
    };
    if (!text_eq(json_get_text(item, "type"), "Container"))
        return item;
    for (size_t i = 0; i < lengthof(moves); i++) {
        struct json to = json_member(item, moves[i].to);
        to = json_overlay(a, json_member(item, moves[i].from), to);
        item = json_with_member(a, item, moves[i].to, json_or_absent(to));
    }
    return item;
}

static struct json fill_limit_range(struct arena *a, struct json o)
{
    return fill_each(a, o, "spec.limits.*", fill_limit);
}

/* ---- what is wrong with a LimitRange ---- */

/* One value above another of the same resource; the message names the path of the first. */
static void check_order(
    struct field_errors *e, struct json item, const char *here, const char *const *rule)
{
    const char *low = rule[0], *high = rule[1], *at = rule[2];
    json_each_member (m, json_member(item, low)) {
        const char *a = json_text(m->value);
        const char *b = json_text(json_member(json_member(item, high), m->key));
        struct quantity x, y;
        if (!a || !b || !quantity_parse(str_of(a), &x, NULL) ||
            !quantity_parse(str_of(b), &y, NULL) || quantity_compare(x, y) <= 0)
            continue;
        const char *path = field_key(e->arena, field_child(e->arena, here, at), m->key);
        bool own = text_eq(at, low);
        bool request = text_eq(at, "defaultRequest") && !own;
        field_invalid(e,
            path,
            json_str(own       ? a
                     : request ? b
                               : a),
            arena_printf(e->arena, "%s %s is greater than %s %s", rule[3], a, rule[4], b));
    }
}

static void check_ratios(struct field_errors *e, struct json item, const char *here)
{
    json_each_member (m, json_member(item, "maxLimitRequestRatio")) {
        struct quantity ratio, low, high, one = { .value = 1 };
        const char *text = json_text(m->value);
        const char *min = json_text(json_member(json_member(item, "min"), m->key));
        const char *max = json_text(json_member(json_member(item, "max"), m->key));
        const char *path =
            field_key(e->arena, field_child(e->arena, here, "maxLimitRequestRatio"), m->key);
        if (!text || !quantity_parse(str_of(text), &ratio, NULL))
            continue;
        if (quantity_compare(ratio, one) < 0)
            field_invalid(
                e, path, m->value, arena_printf(e->arena, "ratio %s is less than 1", text));
        if (!min || !max || !quantity_parse(str_of(min), &low, NULL) ||
            !quantity_parse(str_of(max), &high, NULL) || !quantity_milli_value(low))
            continue;
        double most = (double)quantity_milli_value(high) / (double)quantity_milli_value(low);
        if ((double)quantity_milli_value(ratio) / 1000 > most)
            field_invalid(e,
                path,
                m->value,
                arena_printf(e->arena, "ratio %s is greater than max/min = %f", text, most));
    }
}

static void check_limit(struct field_errors *e, struct json item, const char *here)
{
    static const char *const rules[][5] = {
        { "min", "max", "min", "min value", "max value" },
        { "min", "defaultRequest", "defaultRequest", "min value", "default request value" },
        { "defaultRequest", "max", "defaultRequest", "default request value", "max value" },
        { "defaultRequest",
            "default",
            "defaultRequest",
            "default request value",
            "default limit value" },
        { "min", "default", "default", "min value", "default value" },
        { "default", "max", "default", "default value", "max value" },
    };
    static const char *const not_of_pods[] = { "default", "defaultRequest" };
    const char *type = json_get_text(item, "type");
    bool pod = text_eq(type, "Pod");
    for (size_t i = 0; pod && i < lengthof(not_of_pods); i++)
        if (json_member(item, not_of_pods[i]).count)
            field_forbidden(e,
                field_child(e->arena, here, not_of_pods[i]),
                "may not be specified when `type` is 'Pod'");
    if (text_eq(type, "PersistentVolumeClaim") && !json_present(json_get(item, "min.storage")) &&
        !json_present(json_get(item, "max.storage")))
        field_required(e,
            field_child(e->arena, here, "limits"),
            "either minimum or maximum storage value is required, but neither was provided");
    for (size_t i = 0; i < lengthof(rules) && !pod; i++)
        check_order(e, item, here, rules[i]);
    if (pod)
        check_order(e, item, here, rules[0]);
    check_ratios(e, item, here);
}

static void check_limit_range(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json limits = json_get(o, "spec.limits");
    for (size_t i = 0; i < limits.count; i++) {
        const char *here = check_item_path(e->arena, "spec", "limits", i);
        const char *type_path = field_child(e->arena, here, "type");
        struct json type = json_member(limits.items[i], "type");
        bool twice = false;
        size_t before = e->count;
        check_name(e, type, type_path, NAME_LABEL_KEY);
        if (e->count == before && !strchr(json_text(type), '/') &&
            !text_eq(json_text(type), "Container") && !text_eq(json_text(type), "Pod") &&
            !text_eq(json_text(type), "PersistentVolumeClaim"))
            field_invalid(e, type_path, type, "must be a standard limit type or fully qualified");
        for (size_t j = 0; j < i; j++)
            twice = twice || json_equal(type, json_member(limits.items[j], "type"));
        if (twice)
            field_duplicate(e, type_path, type);
        else
            check_limit(e, limits.items[i], here);
    }
}

/* One without a name gets one. */
static bool prepare_limit_range(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old) && text_empty(json_get_text(*object, "metadata.name")))
        *object = json_with(
            w->arena, *object, "metadata.name", json_str(meta_uid(w->server->env, w->arena)));
    return true;
}

const struct builtin_rules builtin_limit_range = {
    .fill = fill_limit_range,
    .prepare = prepare_limit_range,
    .validate = check_limit_range,
};
