/* The number of replicas, and who sets it: the spec, or a HorizontalPodAutoscaler. */

#include "kinds/llmkube/isvc.h"

#include "base/quantity.h"

static bool autoscaler_wanted(const struct isvc *svc)
{
    return json_is(svc->spec.autoscaling, JSON_MAP) && !svc->spec.suspend && !svc->metal;
}

static int64_t replicas_of_spec(const struct isvc *svc)
{
    return svc->spec.suspend ? 0 : svc->spec.replicas;
}

/* An autoscaler ignores a Deployment with 0 replicas: 0 in the spec stops the service, and any
 * other value starts it again. */
static bool autoscaler_decides(const struct isvc *svc)
{
    return autoscaler_wanted(svc) && svc->spec.replicas > 0 &&
           json_get_int(svc->live, "spec.replicas", 0) > 0;
}

int64_t autoscaler_desired(const struct isvc *svc)
{
    return autoscaler_decides(svc) ? json_get_int(svc->live, "spec.replicas", 0)
                                   : replicas_of_spec(svc);
}

/* The hand-over never goes through a wrong value: once we have set it, we keep applying the
 * present value until another client changes it. From then on we no longer own the field and do
 * not set it. */
struct json autoscaler_replicas(const struct isvc *svc)
{
    struct json owned = view_owned(svc->in, &RESOURCE_DEPLOYMENT, svc->child);
    if (!autoscaler_decides(svc))
        return json_int(replicas_of_spec(svc));
    return json_if(
        json_present(json_get(owned, "spec.replicas")), json_get(svc->live, "spec.replicas"));
}

static struct json pods_metric(struct arena *a, const char *name, const char *average)
{
    return json_fields(a,
        { "type", json_str("Pods") },
        { "pods.metric.name", json_str(name) },
        { "pods.target.type", json_str("AverageValue") },
        { "pods.target.averageValue", json_str(average) });
}

static struct json resource_metric(struct arena *a, const char *name, int64_t utilisation)
{
    return json_fields(a,
        { "type", json_str("Resource") },
        { "resource.name", json_str(name) },
        { "resource.target.type", json_str("Utilization") },
        { "resource.target.averageUtilization", json_int(utilisation) });
}

/* One metric of the list; absent if it is empty. False: it is invalid. */
static bool metric_of(
    struct arena *a, struct json metric, size_t index, struct json *ret, struct error *err)
{
    const char *name = json_get_text(metric, "name");
    const char *average = json_get_text(metric, "targetAverageValue");
    struct json utilisation = json_get(metric, "targetAverageUtilization");
    *ret = json_none;
    if (text_eq(json_get_text(metric, "type"), "Resource")) {
        if (!json_is(utilisation, JSON_INT))
            return true;
        *ret = resource_metric(a, name, utilisation.integer);
        return utilisation.integer > 0 ||
               fail(err,
                   ERR_INVALID,
                   "spec.autoscaling.metrics.%zu.targetAverageUtilization: must be above zero",
                   index);
    }
    if (text_empty(average))
        return fail(err,
            ERR_INVALID,
            "spec.autoscaling.metrics.%zu.targetAverageValue: required for a metric of type Pods",
            index);
    average = quantity_canonical(a, average);
    if (!average)
        return fail(err,
            ERR_INVALID,
            "spec.autoscaling.metrics.%zu.targetAverageValue: \"%s\" is not a quantity, such as 2 "
            "or 500m",
            index,
            json_get_text(metric, "targetAverageValue"));
    *ret = pods_metric(a, name, average);
    return true;
}

static bool metrics_of(const struct isvc *svc, struct json *ret, struct error *err)
{
    struct arena *a = svc->arena;
    struct json wanted = json_get(svc->spec.autoscaling, "metrics");
    if (!json_is(wanted, JSON_LIST) || wanted.count == 0) {
        *ret = json_list(a, pods_metric(a, svc->runtime->hpa_metric, "2"));
        return true;
    }
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < wanted.count; i++) {
        struct json metric;
        if (!metric_of(a, wanted.items[i], i, &metric, err))
            return false;
        json_push(&b, metric);
    }
    /* An empty list would get a default from the API server. */
    *ret = json_or_absent(json_list_end(&b));
    return true;
}

static bool autoscaler_of(const struct isvc *svc, struct json *ret, struct error *err)
{
    const struct isvc_spec *spec = &svc->spec;
    struct json metrics;
    if (spec->min_replicas > spec->max_replicas)
        return fail(err,
            ERR_INVALID,
            "spec.autoscaling.minReplicas: %lld is more than maxReplicas, %lld",
            (long long)spec->min_replicas,
            (long long)spec->max_replicas);
    if (!metrics_of(svc, &metrics, err))
        return false;
    *ret = json_fields(svc->arena,
        { "metadata.name", json_str(svc->child) },
        { "metadata.labels", isvc_selector(svc) },
        { "spec.scaleTargetRef.apiVersion", json_str("apps/v1") },
        { "spec.scaleTargetRef.kind", json_str("Deployment") },
        { "spec.scaleTargetRef.name", json_str(svc->child) },
        { "spec.minReplicas", json_int(spec->min_replicas) },
        { "spec.maxReplicas", json_int(spec->max_replicas) },
        { "spec.metrics", metrics });
    return true;
}

void autoscaler_plan(struct isvc *svc)
{
    struct json object;
    struct error err;
    if (!autoscaler_wanted(svc))
        return;
    if (autoscaler_of(svc, &object, &err)) {
        isvc_child(svc, &RESOURCE_HPA, object);
        return;
    }
    if (!svc->trouble)
        svc->trouble = arena_printf(svc->arena, "Invalid autoscaling: %s", err.text);
    /* The working one is kept until the spec is valid again. */
    struct json owned = view_owned(svc->in, &RESOURCE_HPA, svc->child);
    if (json_present(json_get(owned, "spec")))
        plan_child(svc->out,
            &RESOURCE_HPA,
            json_fields(svc->arena,
                { "metadata.name", json_str(svc->child) },
                { "metadata.labels", json_get(owned, "metadata.labels") },
                { "spec", json_get(owned, "spec") }));
}
