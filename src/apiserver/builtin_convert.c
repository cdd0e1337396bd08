/* Kinds that are served in two forms: Events of two groups, autoscalers of two versions. */

#include "apiserver/builtin_convert.h"

struct rename {
    const char *core, *other;
};

/* ---- Events: stored as v1 ---- */

static const struct rename event_names[] = {
    { "involvedObject", "regarding" },
    { "message", "note" },
    { "source", "deprecatedSource" },
    { "firstTimestamp", "deprecatedFirstTimestamp" },
    { "lastTimestamp", "deprecatedLastTimestamp" },
    { "count", "deprecatedCount" },
    { "reportingComponent", "reportingController" },
};

/* Values that only one of the forms always has. */
static struct json fill_event(struct arena *a, struct json o, bool core)
{
    static const char *const always[] = { "firstTimestamp", "lastTimestamp", "eventTime" };
    for (size_t i = 0; i < lengthof(always); i++)
        if (core && !json_present(json_member(o, always[i])))
            o = json_with_member(a, o, always[i], json_null());
    static const char *const texts[] = { "reportingComponent", "reportingInstance" };
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct json v = json_member(o, texts[i]);
        if (core && !json_present(v))
            o = json_with_member(a, o, texts[i], json_str(""));
        if (!core && v.type == JSON_STR && !v.count)
            o = json_with_member(a, o, texts[i], (struct json){ 0 });
    }
    return o;
}

struct json convert_event(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    (void)k;
    bool core = text_eq(api_version, "v1");
    if (text_eq(json_get_text(object, "apiVersion"), api_version))
        return object;
    for (size_t i = 0; i < lengthof(event_names); i++) {
        const char *from = core ? event_names[i].other : event_names[i].core,
                   *to = core ? event_names[i].core : event_names[i].other;
        struct json v = json_member(object, from);
        object = json_with_member(a, object, from, (struct json){ 0 });
        bool empty = (v.type == JSON_STR && !v.count);
        object = json_with_member(a, object, to, !core && empty ? (struct json){ 0 } : v);
    }
    object = fill_event(a, object, core);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}

/* ---- autoscalers: stored as v2 ---- */

/* What v1 has no field for travels in annotations. */
#define METRICS "autoscaling.alpha.kubernetes.io/metrics"
#define BEHAVIOR "autoscaling.alpha.kubernetes.io/behavior"

static bool is_cpu(struct json metric)
{
    return text_eq(json_get_text(metric, "resource.name"), "cpu") &&
           json_present(json_get(metric, "resource.target.averageUtilization"));
}

static struct json with_annotation(struct arena *a, struct json o, const char *key, struct json v)
{
    struct json annotations = json_get(o, "metadata.annotations");
    if (annotations.type != JSON_MAP)
        annotations = json_empty_map();
    annotations = json_with_member(a, annotations, key, v);
    return json_with(a, o, "metadata.annotations", json_or_absent(annotations));
}

static struct json autoscaler_to_v1(struct arena *a, struct json o)
{
    struct json_builder others;
    json_builder_init(&others, a);
    struct json cpu = { 0 }, used = { 0 }, behavior = json_get(o, "spec.behavior");
    json_each (m, json_get(o, "spec.metrics"))
        if (is_cpu(*m) && !json_present(cpu))
            cpu = json_get(*m, "resource.target.averageUtilization");
        else
            json_push(&others, *m);
    json_each (m, json_get(o, "status.currentMetrics"))
        if (text_eq(json_get_text(*m, "resource.name"), "cpu"))
            used = json_get(*m, "resource.current.averageUtilization");
    struct json rest = json_list_end(&others);
    if (rest.count)
        o = with_annotation(a, o, METRICS, json_str(json_to_text(a, rest)));
    if (json_present(behavior))
        o = with_annotation(a, o, BEHAVIOR, json_str(json_to_text(a, behavior)));
    static const char *const gone[] = {
        "spec.metrics", "spec.behavior", "status.currentMetrics", "status.conditions"
    };
    for (size_t i = 0; i < lengthof(gone); i++)
        o = json_with(a, o, gone[i], (struct json){ 0 });
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", cpu);
    if (!json_present(json_get(o, "status.currentReplicas")))
        o = json_with(a, o, "status.currentReplicas", json_int(0));
    return json_with(a, o, "status.currentCPUUtilizationPercentage", used);
}

static struct json annotation_value(struct arena *a, struct json o, const char *key)
{
    struct json v, text = json_member(json_get(o, "metadata.annotations"), key);
    struct error err;
    if (text.type != JSON_STR || !json_parse(a, (struct str){ text.string, text.count }, &v, &err))
        return (struct json){ 0 };
    return v;
}

static struct json cpu_metric(struct arena *a, const char *part, struct json percent)
{
    struct json target = json_map(a, { "averageUtilization", percent });
    if (text_eq(part, "target"))
        target = json_with_member(a, target, "type", json_str("Utilization"));
    struct json resource = json_map(a, { "name", json_str("cpu") }, { part, target });
    return json_map(a, { "resource", resource }, { "type", json_str("Resource") });
}

static struct json autoscaler_to_v2(struct arena *a, struct json o)
{
    struct json cpu = json_get(o, "spec.targetCPUUtilizationPercentage"),
                used = json_get(o, "status.currentCPUUtilizationPercentage");
    struct json_builder metrics;
    json_builder_init(&metrics, a);
    json_push_all(&metrics, annotation_value(a, o, METRICS));
    if (json_present(cpu))
        json_push(&metrics, cpu_metric(a, "target", cpu));
    struct json behavior = annotation_value(a, o, BEHAVIOR);
    o = json_with(a, o, "spec.metrics", json_or_absent(json_list_end(&metrics)));
    o = json_with(a, o, "spec.behavior", behavior);
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", (struct json){ 0 });
    o = json_with(a, o, "status.currentCPUUtilizationPercentage", (struct json){ 0 });
    o = json_with(a,
        o,
        "status.currentMetrics",
        json_present(used) ? json_list(a, cpu_metric(a, "current", used)) : json_null());
    if (json_get_int(o, "status.currentReplicas", 0) == 0)
        o = json_with(a, o, "status.currentReplicas", (struct json){ 0 });
    o = with_annotation(a, o, METRICS, (struct json){ 0 });
    return with_annotation(a, o, BEHAVIOR, (struct json){ 0 });
}

struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    (void)k;
    if (text_eq(json_get_text(object, "apiVersion"), api_version))
        return object;
    object = text_eq(api_version, "autoscaling/v1") ? autoscaler_to_v1(a, object)
                                                    : autoscaler_to_v2(a, object);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}
