/* HorizontalPodAutoscalers in both versions. */

#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/quantity.h"

static struct json parse(struct arena *a, const char *text)
{
    struct json v;
    struct error err;
    bool ok = json_parse(a, str_of(text), &v, &err);
    assert(ok);
    return v;
}

/* ---- defaults ---- */

static struct json fill_rules(
    struct arena *a, struct json behavior, const char *name, const char *rules)
{
    struct json own = json_member(behavior, name);
    if (own.type != JSON_MAP)
        own = json_empty_map();
    json_each_member (m, parse(a, rules))
        own = fill_table(a, own, (struct fill[]){ { m->key, m->value, true }, { 0 } });
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
    return convert_autoscaler_plain(a, fill_each(a, o, "spec.behavior", fill_behavior));
}

static struct json fill_autoscaler_v1(struct arena *a, struct json o)
{
    if (!convert_autoscaler_has_rest(o))
        o = fill_path(a, o, "spec.targetCPUUtilizationPercentage", json_int(80));
    return fill_path(a, o, "spec.minReplicas", json_int(1));
}

/* The behavior in the v1 annotation gets its defaults when it is stored. */
static struct json convert(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    object = convert_autoscaler(k, a, object, api_version);
    return text_ends(api_version, "v2") ? fill_each(a, object, "spec.behavior", fill_behavior)
                                        : object;
}

/* ---- validation ---- */

static const char *const metric_types[] = {
    "ContainerResource", "External", "Object", "Pods", "Resource", NULL
};
static const char *const select_policies[] = { "Disabled", "Max", "Min", NULL };
static const char *const policy_types[] = { "Percent", "Pods", NULL };

/* The same message for every required text that must be a valid path segment. */
static void check_text(
    struct field_errors *e, struct json map, const char *path, const char *name, const char *detail)
{
    struct json v = json_member(map, name);
    const char *here = field_child(e->arena, path, name);
    if (check_is_empty(v))
        field_required(e, here, detail);
    else
        check_segment(e, v, here, json_text(v));
}

static void check_reference(struct field_errors *e, struct json ref, const char *path)
{
    check_text(e, ref, path, "kind", NULL);
    check_text(e, ref, path, "name", NULL);
}

static void check_target(struct field_errors *e, struct json target, const char *path)
{
    static const char *const amounts[] = { "value", "averageValue" };
    struct json use = json_member(target, "averageUtilization"), type = json_member(target, "type");
    const char *text = json_text(type);
    if (text_empty(text))
        field_required(e, field_child(e->arena, path, "type"), "must specify a metric target type");
    if (!text_eq(text, "Utilization") && !text_eq(text, "Value") && !text_eq(text, "AverageValue"))
        field_invalid(e,
            field_child(e->arena, path, "type"),
            type,
            "must be either Utilization, Value, or AverageValue");
    for (size_t i = 0; i < lengthof(amounts); i++) {
        struct json v = json_member(target, amounts[i]);
        struct quantity q, zero = { 0 };
        if (v.type == JSON_STR && quantity_parse(str_of(v.string), &q, NULL) &&
            quantity_compare(q, zero) <= 0)
            field_invalid(e, field_child(e->arena, path, amounts[i]), v, "must be positive");
    }
    if (use.type == JSON_INT && use.integer < 1)
        field_invalid(
            e, field_child(e->arena, path, "averageUtilization"), use, "must be greater than 0");
}

/* Two members of a target, one of which is required, and for some kinds only one is allowed. */
struct alternatives {
    const char *first, *second, *missing_at, *missing, *both_at, *both;
};

static void check_alternatives(
    struct field_errors *e, struct json target, const char *path, const struct alternatives *rule)
{
    bool first = json_present(json_member(target, rule->first)),
         second = json_present(json_member(target, rule->second));
    if (!first && !second)
        field_required(e, field_child(e->arena, path, rule->missing_at), rule->missing);
    if (first && second && rule->both)
        field_forbidden(e, field_child(e->arena, path, rule->both_at), rule->both);
}

static void check_container(struct field_errors *e, struct json source, const char *path)
{
    static const char *const standard[] = { "cpu", "memory", "ephemeral-storage" };
    struct json container = json_member(source, "container"), name = json_member(source, "name");
    const char *here = field_child(e->arena, path, "container"),
               *name_path = field_child(e->arena, path, "name");
    if (check_is_empty(container))
        field_required(e, here, "must specify a container");
    else
        check_name(e, container, here, NAME_DNS1123_LABEL);
    if (check_is_empty(name))
        return;
    check_name(e, name, name_path, NAME_LABEL_KEY);
    bool known = strchr(name.string, '/') || text_starts(name.string, "hugepages-");
    for (size_t i = 0; i < lengthof(standard); i++)
        known = known || text_eq(name.string, standard[i]);
    if (!known)
        field_invalid(e, name_path, name, "must be a standard resource for containers");
}

static void check_source(
    struct field_errors *e, struct json source, const char *name, const char *path)
{
    static const char raw[] = "must set either a target raw value or a target utilization",
                      raw_both[] = "may not set both a target raw value and a target utilization",
                      object[] = "must set either a target value or averageValue",
                      value[] = "must set either a target value for metric or a per-pod target",
                      value_both[] =
                          "may not set both a target value for metric and a per-pod target",
                      pods[] = "must specify a positive target averageValue";
    static const struct alternatives resource = {
        "averageUtilization", "averageValue", "averageUtilization", raw, "averageValue", raw_both
    };
    static const struct {
        const char *name;
        bool metric;
        struct alternatives rule;
    } rules[] = {
        { "object", true, { "value", "averageValue", "averageValue", object, NULL, NULL } },
        { "external",
            true,
            { "value", "averageValue", "averageValue", value, "value", value_both } },
        { "pods", true, { "averageValue", "averageValue", "averageValue", pods, NULL, NULL } },
    };
    struct arena *a = e->arena;
    struct json target = json_member(source, "target");
    const struct alternatives *rule = &resource;
    if (text_eq(name, "object"))
        check_reference(
            e, json_member(source, "describedObject"), field_child(a, path, "describedObject"));
    if (text_ends(name, "esource") && check_is_empty(json_member(source, "name")))
        field_required(e, field_child(a, path, "name"), "must specify a resource name");
    if (text_eq(name, "containerResource"))
        check_container(e, source, path);
    for (size_t i = 0; i < lengthof(rules); i++)
        if (text_eq(rules[i].name, name))
            rule = &rules[i].rule;
    if (rule != &resource)
        check_text(e,
            json_member(source, "metric"),
            field_child(a, path, "metric"),
            "name",
            "must specify a metric name");
    check_target(e, target, field_child(a, path, "target"));
    check_alternatives(e, target, field_child(a, path, "target"), rule);
}

static void check_metric(struct field_errors *e, struct json metric, const char *path)
{
    static const struct {
        const char *type, *field;
    } fields[] = {
        { "Object", "object" },
        { "External", "external" },
        { "Pods", "pods" },
        { "Resource", "resource" },
        { "ContainerResource", "containerResource" },
    };
    struct arena *a = e->arena;
    const char *type = json_get_text(metric, "type"), *expected = NULL;
    struct json shown = json_str(type ? type : "");
    size_t present = 0;
    for (size_t i = 0; i < lengthof(fields); i++)
        expected = text_eq(type, fields[i].type) ? fields[i].field : expected;
    if (text_empty(type))
        field_required(e, field_child(a, path, "type"), "must specify a metric source type");
    if (!expected)
        field_not_supported(e, field_child(a, path, "type"), shown, metric_types);
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json source = json_member(metric, fields[i].field);
        if (json_present(source) && !present++)
            check_source(e, source, fields[i].field, field_child(a, path, fields[i].field));
    }
    if (!expected) /* a second time, as in the real server */
        field_not_supported(e, field_child(a, path, "type"), shown, metric_types);
    else if (!json_present(json_member(metric, expected)))
        field_required(e,
            field_child(a, path, expected),
            "must populate information for the given metric source");
    for (size_t i = 0; i < lengthof(fields) && present != 1; i++)
        if (json_present(json_member(metric, fields[i].field)) &&
            !text_eq(fields[i].field, expected))
            field_forbidden(e,
                field_child(a, path, fields[i].field),
                "must populate the given metric source only");
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
    if (json_present(json_member(rules, "selectPolicy")))
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

static void check_autoscaler(const struct api_write *w, struct json o, struct field_errors *e)
{
    o = convert_autoscaler(w->kind, w->arena, o, "autoscaling/v2");
    struct json spec = json_member(o, "spec"), ref = json_member(spec, "scaleTargetRef");
    int64_t min = json_get_int(spec, "minReplicas", 1), max = json_get_int(spec, "maxReplicas", 0);
    if (*w->subresource)
        return;
    if (min < 1)
        field_invalid(e, "spec.minReplicas", json_int(min), "must be greater than or equal to 1");
    if (!max)
        field_required(e, "spec.maxReplicas", "must be set and greater than 0");
    else if (max < 1)
        field_invalid(e, "spec.maxReplicas", json_int(max), "must be greater than or equal to 1");
    if (min == 0 && !scales_to_zero(spec))
        field_forbidden(e,
            "spec.metrics",
            "must specify at least one Object or External metric to support scaling to zero "
            "replicas");
    if (max < min)
        field_invalid(
            e, "spec.maxReplicas", json_int(max), "must be greater than or equal to `minReplicas`");
    check_reference(e, ref, "spec.scaleTargetRef");
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

const struct builtin_rules builtin_autoscaler = {
    .fill = fill_autoscaler,
    .convert = convert,
    .validate = check_autoscaler,
};
const struct builtin_rules builtin_autoscaler_v1 = {
    .fill = fill_autoscaler_v1,
    .convert = convert,
    .validate = check_autoscaler,
};
