/* Autoscalers of two versions: stored as v2. What v1 has no field for stands in annotations of it,
 * as texts that Go printed: the order of its structs is kept. */

#include "apiserver/builtin/convert.h"

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/decode.h"
#include "base/buf.h"
#include "base/quantity.h"
#include "merge/gojson.h"

#define V1 "autoscaling/v1"
#define PREFIX "autoscaling.alpha.kubernetes.io/"
#define TEXT_LIMIT ((size_t)8 << 20)

/* ---- texts in the order of Go's structs ---- */

/* One order serves them all: no two structs disagree. */
static const char *const order[] = { "type",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "kind",
    "name",
    "apiVersion",
    "target",
    "metricName",
    "metricSelector",
    "targetValue",
    "currentValue",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetAverageValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
    "ScaleUp",
    "ScaleDown",
    "StabilizationWindowSeconds",
    "SelectPolicy",
    "Policies",
    "Type",
    "Value",
    "PeriodSeconds",
    "Tolerance" };

static void print(struct buf *b, struct arena *a, struct json v)
{
    const char *between = "";
    if (v.type == JSON_LIST) {
        buf_add_char(b, '[');
        json_each (item, v) {
            buf_add_text(b, between);
            print(b, a, *item);
            between = ",";
        }
        buf_add_char(b, ']');
        return;
    }
    if (v.type != JSON_MAP) {
        buf_add_text(b, gojson_text(a, v));
        return;
    }
    buf_add_char(b, '{');
    for (size_t i = 0; i < lengthof(order); i++) {
        struct json member = json_member(v, order[i]);
        if (!json_present(member))
            continue;
        buf_printf(b, "%s\"%s\":", between, order[i]);
        between = ",";
        if (text_eq(order[i], "matchLabels"))
            buf_add_text(b, gojson_text(a, member));
        else
            print(b, a, member);
    }
    buf_add_char(b, '}');
}

static struct json printed(struct arena *a, struct json v)
{
    if (!json_present(json_or_absent(v)) || v.type == JSON_NULL)
        return (struct json){ 0 };
    cleanup(buf_done) struct buf b = BUF_INIT(TEXT_LIMIT);
    print(&b, a, v);
    return json_strn(a, buf_text(&b), b.len);
}

/* ---- the same things under two names ---- */

/* A metric of v1 and where v2 has it; @ is target in the spec and current in the status. */
struct metric_field {
    const char *source, *old, *new;
    /* v1 always has it, with this value if v2 has none: in the spec, in the status. */
    const char *spec, *status;
};
static const struct metric_field metric_fields[] = {
    { "object", "target", "describedObject", NULL, NULL },
    { "object", "metricName", "metric.name", "", "" },
    { "object", "@Value", "@.value", "0", "0" },
    { "object", "selector", "metric.selector", NULL, NULL },
    { "object", "averageValue", "@.averageValue", NULL, NULL },
    { "pods", "metricName", "metric.name", "", "" },
    { "pods", "@AverageValue", "@.averageValue", "0", "0" },
    { "pods", "selector", "metric.selector", NULL, NULL },
    { "resource", "name", "name", "", "" },
    { "resource", "@AverageUtilization", "@.averageUtilization", NULL, NULL },
    { "resource", "@AverageValue", "@.averageValue", NULL, "0" },
    { "containerResource", "name", "name", "", "" },
    { "containerResource", "@AverageUtilization", "@.averageUtilization", NULL, NULL },
    { "containerResource", "@AverageValue", "@.averageValue", NULL, "0" },
    { "containerResource", "container", "container", "", "" },
    { "external", "metricName", "metric.name", "", "" },
    { "external", "metricSelector", "metric.selector", NULL, NULL },
    { "external", "@Value", "@.value", NULL, "0" },
    { "external", "@AverageValue", "@.averageValue", NULL, NULL },
};
static const char *const sources[] = {
    "object", "pods", "resource", "containerResource", "external"
};
static const char *const reference_fields[] = { "kind", "name", "apiVersion", NULL };
static const char *const condition_fields[] = {
    "type", "status", "lastTransitionTime", "reason", "message", NULL
};

static const char *named(struct arena *a, const char *name, const char *part)
{
    return *name == '@' ? arena_printf(a, "%s%s", part, name + 1) : name;
}

/* Go takes a key in any case where none is exact. */
static struct json folded(struct json map, const char *key)
{
    struct json exact = json_member(map, key);
    json_each_member (m, map)
        if (!json_present(exact) && str_eq_nocase(str_of(m->key), str_of(key)))
            return m->value;
    return exact;
}

static struct json folded_fields(struct arena *a, struct json map, const char *const *fields)
{
    struct json_builder b;
    if (map.type != JSON_MAP)
        return map;
    json_builder_init(&b, a);
    for (; *fields; fields++)
        json_put(&b, *fields, folded(map, *fields));
    return json_map_end(&b);
}

/* ---- metrics ---- */

static struct json metric_to_v1(struct arena *a, struct json metric, const char *part)
{
    bool spec = text_eq(part, "target");
    struct json_builder b;
    json_builder_init(&b, a);
    json_put(&b, "type", json_member(metric, "type"));
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct json source = json_member(metric, sources[i]), old = json_empty_map();
        if (!json_present(source))
            continue;
        for (size_t j = 0; j < lengthof(metric_fields); j++) {
            const struct metric_field *f = &metric_fields[j];
            struct json v = json_get(source, named(a, f->new, part));
            const char *otherwise = spec ? f->spec : f->status;
            if (!text_eq(f->source, sources[i]))
                continue;
            old = json_with_member(
                a, old, named(a, f->old, part), json_present(v) ? v : json_str(otherwise));
        }
        json_put(&b, sources[i], old);
    }
    return json_map_end(&b);
}

/* The kind of a target follows from what v1 has of it. */
static struct json with_target_type(struct arena *a, const char *name, struct json source)
{
    struct json target = json_member(source, "target");
    bool average = check_is_set(json_member(target, "averageValue"));
    const char *type = "AverageValue";
    if (text_eq(name, "object") && !average)
        type = "Value";
    if (text_eq(name, "external") && check_is_set(json_member(target, "value")))
        type = "Value";
    if (text_ends(name, "esource") && check_is_set(json_member(target, "averageUtilization")))
        type = "Utilization";
    if (text_eq(name, "object") && average &&
        quantity_text_equal(json_get_text(target, "value"), "0"))
        source = json_with(a, source, "target.value", (struct json){ 0 });
    return json_with(a, source, "target.type", json_str(type));
}

static struct json metric_to_v2(struct arena *a, struct json metric, const char *part)
{
    bool spec = text_eq(part, "target");
    struct json_builder b;
    if (metric.type != JSON_MAP && metric.type != JSON_NULL)
        return metric; /* which fails when it is decoded */
    json_builder_init(&b, a);
    json_put(&b, "type", folded(metric, "type"));
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct json old = folded(metric, sources[i]), source = json_empty_map();
        if (!check_is_set(old))
            continue;
        for (size_t j = 0; j < lengthof(metric_fields); j++) {
            const struct metric_field *f = &metric_fields[j];
            if (!text_eq(f->source, sources[i]))
                continue;
            struct json v = folded(old, named(a, f->old, part));
            if (text_eq(f->new, "describedObject"))
                v = folded_fields(a, v, reference_fields);
            const char *otherwise = spec ? f->spec : f->status;
            source = json_with(a,
                source,
                named(a, f->new, part),
                check_is_set(v) ? v : json_str_or_absent(otherwise));
        }
        if (old.type == JSON_MAP)
            old = spec ? with_target_type(a, sources[i], source) : source;
        json_put(&b, sources[i], old);
    }
    return json_map_end(&b);
}

static struct json each(struct arena *a, struct json list, const char *part,
    struct json (*change)(struct arena *a, struct json metric, const char *part))
{
    struct json_builder b;
    if (list.type != JSON_LIST)
        return list;
    json_builder_init(&b, a);
    json_each (item, list)
        json_push(&b, change(a, *item, part));
    return json_list_end(&b);
}

/* ---- behavior: Go's names, for that struct has no others ---- */

struct rename {
    const char *old, *new;
};
static const struct rename rule_names[] = { { "StabilizationWindowSeconds",
                                                "stabilizationWindowSeconds" },
    { "SelectPolicy", "selectPolicy" },
    { "Policies", "policies" },
    { "Tolerance", "tolerance" },
    { 0 } };
static const struct rename policy_names[] = {
    { "Type", "type" }, { "Value", "value" }, { "PeriodSeconds", "periodSeconds" }, { 0 }
};
static const struct rename behavior_names[] = {
    { "ScaleUp", "scaleUp" }, { "ScaleDown", "scaleDown" }, { 0 }
};

static const struct rename *names_below(const char *new)
{
    return text_eq(new, "policies") ? policy_names : text_starts(new, "scale") ? rule_names : NULL;
}

static struct json renamed(struct arena *a, struct json v, const struct rename *names, bool to_old)
{
    struct json_builder b;
    if (!names || (v.type != JSON_MAP && v.type != JSON_LIST))
        return v;
    json_builder_init(&b, a);
    if (v.type == JSON_LIST) {
        json_each (item, v)
            json_push(&b, renamed(a, *item, names, to_old));
        return json_list_end(&b);
    }
    for (; names->old; names++) {
        struct json m = to_old ? json_member(v, names->new) : folded(v, names->old);
        m = renamed(a, m, names_below(names->new), to_old);
        if (to_old)
            json_put(&b, names->old, json_present(m) ? m : json_null());
        else
            json_put(&b, names->new, m.type == JSON_NULL ? (struct json){ 0 } : m);
    }
    return json_map_end(&b);
}

/* ---- annotations ---- */

/* What travels there, and where v2 has it. */
static const struct {
    const char *key, *path;
    bool status;
} travelling[] = {
    { PREFIX "metrics", "spec.metrics", false },
    { PREFIX "behavior", "spec.behavior", false },
    { PREFIX "current-metrics", "status.currentMetrics", true },
    { PREFIX "conditions", "status.conditions", true },
};

static struct json with_annotation(struct arena *a, struct json o, const char *key, struct json v)
{
    struct json annotations = json_get(o, "metadata.annotations");
    if (annotations.type != JSON_MAP && !json_present(v))
        return o;
    if (annotations.type != JSON_MAP)
        annotations = json_empty_map();
    annotations = json_with_member(a, annotations, key, v);
    return json_with(a, o, "metadata.annotations", json_or_absent(annotations));
}

static struct json value_to_v1(struct arena *a, struct json v, const char *path)
{
    if (text_eq(path, "spec.behavior"))
        return renamed(a, v, behavior_names, true);
    bool condition = text_eq(path, "status.conditions");
    return condition ? v : each(a, v, path[1] == 'p' ? "target" : "current", metric_to_v1);
}

static struct json condition_to_v2(struct arena *a, struct json v, const char *part)
{
    (void)part;
    return folded_fields(a, v, condition_fields);
}

static struct json value_to_v2(struct arena *a, struct json v, const char *path)
{
    if (text_eq(path, "spec.behavior"))
        return renamed(a, v, behavior_names, false);
    if (text_eq(path, "status.conditions"))
        return each(a, v, "", condition_to_v2);
    return each(a, v, path[1] == 'p' ? "target" : "current", metric_to_v2);
}

/* What an annotation says, in v2's form; false: nothing that can be read. */
static bool annotation_read(
    const struct api_kind *k, struct arena *a, struct json o, size_t i, struct json *ret)
{
    struct json text = json_member(json_get(o, "metadata.annotations"), travelling[i].key);
    struct error err;
    struct field_errors errors;
    if (text.type != JSON_STR || !json_parse(a, (struct str){ text.string, text.count }, ret, &err))
        return false;
    field_errors_init(&errors, a);
    struct json read = json_with(
        a, json_empty_map(), travelling[i].path, value_to_v2(a, *ret, travelling[i].path));
    read = decode_object(a, builtin_of(k)->stored, read, &errors);
    *ret = json_get(read, travelling[i].path);
    for (size_t e = 0; e < errors.count; e++)
        if (errors.items[e].type == FIELD_TYPE_INVALID)
            return false;
    return true;
}

/* ---- objects ---- */

/* Of several the first is the target, and the last is what is used. */
static struct json cpu_of(struct json metrics, const char *path, bool last)
{
    struct json found = { 0 };
    json_each (m, metrics) {
        struct json use = json_get(*m, path);
        if (text_eq(json_get_text(*m, "resource.name"), "cpu") && json_present(use) &&
            (last || !json_present(found)))
            found = use;
    }
    return found;
}

static bool is_cpu_target(struct json metric)
{
    return text_eq(json_get_text(metric, "resource.name"), "cpu") &&
           json_present(json_get(metric, "resource.target.averageUtilization"));
}

static struct json without_cpu(struct arena *a, struct json metrics)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (m, metrics)
        if (!is_cpu_target(*m))
            json_push(&b, *m);
    return json_list_end(&b);
}

static struct json to_v1(struct arena *a, struct json o)
{
    struct json metrics = json_get(o, "spec.metrics");
    struct json target = cpu_of(metrics, "resource.target.averageUtilization", false),
                used = cpu_of(json_get(o, "status.currentMetrics"),
                    "resource.current.averageUtilization",
                    true);
    o = json_with(a, o, "spec.metrics", without_cpu(a, metrics));
    for (size_t i = 0; i < lengthof(travelling); i++) {
        const char *path = travelling[i].path;
        struct json text = printed(a, value_to_v1(a, json_get(o, path), path));
        o = with_annotation(a, o, travelling[i].key, text);
        o = json_with(a, o, path, (struct json){ 0 });
    }
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", target);
    if (!json_present(json_get(o, "status.currentReplicas")))
        o = json_with(a, o, "status.currentReplicas", json_int(0));
    return json_with(a, o, "status.currentCPUUtilizationPercentage", used);
}

static struct json cpu_metric(struct arena *a, const char *part, struct json percent)
{
    struct json target = json_map(a, { "averageUtilization", percent });
    if (text_eq(part, "target"))
        target = json_with_member(a, target, "type", json_str("Utilization"));
    struct json resource = json_map(a, { "name", json_str("cpu") }, { part, target });
    return json_map(a, { "resource", resource }, { "type", json_str("Resource") });
}

static struct json to_v2(const struct api_kind *k, struct arena *a, struct json o)
{
    struct json cpu = json_get(o, "spec.targetCPUUtilizationPercentage"),
                used = json_get(o, "status.currentCPUUtilizationPercentage");
    struct json current =
        json_present(used) ? json_list(a, cpu_metric(a, "current", used)) : json_null();
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", (struct json){ 0 });
    o = json_with(a, o, "status.currentCPUUtilizationPercentage", (struct json){ 0 });
    o = json_with(a, o, "status.currentMetrics", current);
    for (size_t i = 0; i < lengthof(travelling); i++) {
        struct json v;
        if (annotation_read(k, a, o, i, &v))
            o = json_with(a, o, travelling[i].path, json_or_absent(v));
        o = with_annotation(a, o, travelling[i].key, (struct json){ 0 });
    }
    if (!json_present(json_get(o, "status.currentMetrics")))
        o = json_with(a, o, "status.currentMetrics", json_null());
    struct json_builder metrics;
    json_builder_init(&metrics, a);
    json_push_all(&metrics, json_get(o, "spec.metrics"));
    if (json_present(cpu) || !metrics.count)
        json_push(&metrics, cpu_metric(a, "target", json_present(cpu) ? cpu : json_int(80)));
    o = json_with(a, o, "spec.metrics", json_list_end(&metrics));
    if (json_get_int(o, "status.currentReplicas", 0) == 0)
        o = json_with(a, o, "status.currentReplicas", (struct json){ 0 });
    return o;
}

struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    if (text_eq(json_get_text(object, "apiVersion"), api_version))
        return object;
    object = text_eq(api_version, V1) ? to_v1(a, object) : to_v2(k, a, object);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}

struct json convert_autoscaler_settle(const struct api_kind *k, struct arena *a, struct json object)
{
    return to_v1(a, to_v2(k, a, object));
}

struct json convert_autoscaler_plain(struct arena *a, struct json object)
{
    for (size_t i = 0; i < lengthof(travelling); i++)
        object = with_annotation(a, object, travelling[i].key, (struct json){ 0 });
    return object;
}

struct json convert_autoscaler_keep(
    struct arena *a, struct json object, struct json from, bool status)
{
    struct json annotations = json_get(from, "metadata.annotations");
    for (size_t i = 0; i < lengthof(travelling); i++)
        if (travelling[i].status == status)
            object = with_annotation(
                a, object, travelling[i].key, json_member(annotations, travelling[i].key));
    return object;
}
