/* Autoscalers in two versions: stored as v2. In v1 an annotation holds the fields that v1 does not
 * have, so that reading and writing an object as v1 loses nothing. */

#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/rules.h"
#include "apiserver/rules/decode.h"

#define V1 "autoscaling/v1"
#define REST "leeboard.dev/autoscaling-v2"

static const char *const rest_paths[] = {
    "spec.metrics", "spec.behavior", "status.currentMetrics", "status.conditions"
};

static struct json with_rest(struct arena *a, struct json o, struct json rest)
{
    struct json annotations = json_get(o, "metadata.annotations");
    if (!json_is(annotations, JSON_MAP) && !json_present(rest))
        return o;
    annotations = json_is(annotations, JSON_MAP) ? annotations : json_empty_map();
    return json_with(
        a, o, "metadata.annotations", json_or_absent(json_with_member(a, annotations, REST, rest)));
}

bool convert_autoscaler_has_rest(struct json object)
{
    return json_present(json_member(json_get(object, "metadata.annotations"), REST));
}

struct json convert_autoscaler_plain(struct arena *a, struct json object)
{
    return with_rest(a, object, json_none);
}

/* v1 has one metric: CPU utilization. */
static bool is_cpu_target(struct json metric)
{
    return text_eq(json_get_text(metric, "resource.name"), "cpu") &&
           json_present(json_get(metric, "resource.target.averageUtilization"));
}

static struct json cpu_target(struct arena *a, struct json percent)
{
    struct json target =
        json_map(a, { "averageUtilization", percent }, { "type", json_str("Utilization") });
    return json_map(a,
        { "resource", json_map(a, { "name", json_str("cpu") }, { "target", target }) },
        { "type", json_str("Resource") });
}

static struct json to_v1(struct arena *a, struct json o)
{
    struct json target = { 0 }, used = { 0 }, rest = json_empty_map();
    struct json_builder others;
    json_builder_init(&others, a);
    json_each (m, json_get(o, "spec.metrics")) {
        if (is_cpu_target(*m) && !json_present(target))
            target = json_get(*m, "resource.target.averageUtilization");
        else
            json_push(&others, *m);
    }
    json_each (m, json_get(o, "status.currentMetrics"))
        if (text_eq(json_get_text(*m, "resource.name"), "cpu"))
            used = json_get(*m, "resource.current.averageUtilization");
    o = json_with(a, o, "spec.metrics", json_or_absent(json_list_end(&others)));
    for (size_t i = 0; i < lengthof(rest_paths); i++) {
        struct json v = json_get(o, rest_paths[i]);
        if (json_present(v) && !json_is(v, JSON_NULL))
            rest = json_with(a, rest, rest_paths[i], v);
        o = json_with(a, o, rest_paths[i], json_none);
    }
    if (rest.count)
        o = with_rest(a, o, json_str(json_to_text(a, rest)));
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", target);
    if (!json_present(json_get(o, "status.currentReplicas")))
        o = json_with(a, o, "status.currentReplicas", json_int(0));
    return json_with(a, o, "status.currentCPUUtilizationPercentage", used);
}

/* The content of the annotation, in v2's form; empty if it is unreadable. */
static struct json read_rest(const struct api_kind *k, struct arena *a, struct json o)
{
    struct json text = json_member(json_get(o, "metadata.annotations"), REST), rest;
    struct error err;
    struct field_errors errors;
    if (!json_is(text, JSON_STR) ||
        !json_parse(a, (struct str){ text.string, text.count }, &rest, &err))
        return json_empty_map();
    field_errors_init(&errors, a);
    rest = decode_object(a, builtin_of(k)->stored, rest, &errors);
    for (size_t i = 0; i < errors.count; i++)
        if (errors.items[i].type == FIELD_TYPE_INVALID)
            return json_empty_map();
    return rest;
}

static struct json to_v2(const struct api_kind *k, struct arena *a, struct json o)
{
    struct json cpu = json_get(o, "spec.targetCPUUtilizationPercentage"), rest = read_rest(k, a, o),
                others = json_get(rest, "spec.metrics");
    struct json_builder metrics;
    json_builder_init(&metrics, a);
    json_push_all(&metrics, others);
    if (json_present(cpu) || !others.count)
        json_push(&metrics, cpu_target(a, json_present(cpu) ? cpu : json_int(80)));
    for (size_t i = 0; i < lengthof(rest_paths); i++) {
        struct json v = json_get(rest, rest_paths[i]);
        if (json_present(v) && !json_is(v, JSON_NULL))
            o = json_with(a, o, rest_paths[i], v);
    }
    o = json_with(a, o, "spec.targetCPUUtilizationPercentage", json_none);
    o = json_with(a, o, "status.currentCPUUtilizationPercentage", json_none);
    if (!json_get_int(o, "status.currentReplicas", 0))
        o = json_with(a, o, "status.currentReplicas", json_none);
    if (!json_present(json_get(o, "status.currentMetrics")))
        o = json_with(a, o, "status.currentMetrics", json_null());
    return json_with(a, convert_autoscaler_plain(a, o), "spec.metrics", json_list_end(&metrics));
}

struct json convert_autoscaler(
    const struct api_kind *k, struct arena *a, struct json object, const char *api_version)
{
    if (text_eq(json_get_text(object, "apiVersion"), api_version))
        return object;
    object = text_eq(api_version, V1) ? to_v1(a, object) : to_v2(k, a, object);
    return json_with_member(a, object, "apiVersion", json_str(api_version));
}
