/* A service level objective for Pyrra, if its CRD is installed and the operator may use it. */

#include "kinds/llmkube/isvc.h"

const struct resource SLO_OBJECTIVE = {
    .group = "pyrra.dev",
    .version = "v1alpha1",
    .kind = "ServiceLevelObjective",
    .plural = "servicelevelobjectives",
};

static bool is_latency(const struct isvc *svc)
{
    return text_eq(svc->spec.slo_indicator, "latency");
}

/* Series have the pod's labels; the label `service` is the one that we set on the pods. */
static struct json indicator_of(const struct isvc *svc)
{
    struct arena *a = svc->arena;
    const char *which = arena_printf(a, "namespace=\"%s\",service=\"%s\"", svc->ns, svc->child);
    if (!is_latency(svc))
        return json_fields(a, { "bool_gauge.metric", json_strf(a, "up{%s}", which) });
    return json_fields(a,
        { "latency.success.metric",
            json_strf(a,
                "vllm:e2e_request_latency_seconds_bucket{%s,le=\"%s\"}",
                which,
                svc->spec.slo_threshold) },
        { "latency.total.metric",
            json_strf(a, "vllm:e2e_request_latency_seconds_count{%s}", which) });
}

static struct json objective_of(const struct isvc *svc, const char *name)
{
    return json_fields(svc->arena,
        { "metadata.name", json_str(name) },
        { "metadata.labels",
            json_map(svc->arena,
                { "app.kubernetes.io/managed-by", json_str("llmkube") },
                { "inference.llmkube.dev/inferenceservice", json_str(svc->child) }) },
        { "spec.target", json_str(svc->spec.slo_objective) },
        { "spec.window", json_str(svc->spec.slo_window) },
        { "spec.indicator", indicator_of(svc) });
}

/* As in the CRD, whose pattern may have been edited: digits and one of m, h, d, w. */
static bool is_window(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && text[digits] && strchr("mhdw", text[digits]) && !text[digits + 1];
}

/* Why there can be no objective; NULL: there can be one. */
static const char *obstacle(const struct isvc *svc, const char **ret_message)
{
    const struct isvc_spec *spec = &svc->spec;
    *ret_message = arena_printf(svc->arena,
        "spec.slo.window: \"%s\" is not a number with m, h, d or w, such as 28d",
        spec->slo_window);
    if (!is_window(spec->slo_window))
        return "ReconcileFailed";
    *ret_message = "spec.slo is set but the Pyrra integration is disabled; enable it with "
                   "pyrra.enabled=true (operator flag --enable-pyrra-slo)";
    if (!svc->settings->enable_pyrra_slo)
        return "IntegrationDisabled";
    *ret_message = "The CRD servicelevelobjectives.pyrra.dev is not installed: install Pyrra, or "
                   "remove spec.slo";
    if (!view_served(svc->in, &SLO_OBJECTIVE))
        return "PyrraNotInstalled";
    *ret_message = arena_printf(svc->arena,
        "spec.slo.indicator: nothing that runtime %s measures tells of \"%s\"",
        svc->runtime->name,
        spec->slo_indicator);
    if (is_latency(svc) && !text_eq(svc->runtime->name, "vllm"))
        return "IndicatorUnsupportedForRuntime";
    *ret_message = text_empty(spec->slo_objective) ? "spec.slo.objective: required"
                                                   : "spec.slo.latencyThreshold: required";
    if (text_empty(spec->slo_objective) || (is_latency(svc) && text_empty(spec->slo_threshold)))
        return "ReconcileFailed";
    return NULL;
}

void slo_plan(struct isvc *svc)
{
    const char *message;
    if (!json_is(svc->spec.slo, JSON_MAP))
        return;
    const char *reason = obstacle(svc, &message);
    if (reason) {
        plan_condition(svc->out, "SLOReady", false, reason, "%s", message);
        return;
    }
    const char *name = svc->spec.slo_name;
    if (text_empty(name))
        name = arena_printf(svc->arena, "%s-%s", svc->child, svc->spec.slo_indicator);
    plan_child(svc->out, &SLO_OBJECTIVE, objective_of(svc, name));
    struct view_trouble trouble = view_trouble(svc->in, &SLO_OBJECTIVE, name);
    if (trouble.what == TROUBLE_FOREIGN || trouble.what == TROUBLE_REFUSED)
        plan_condition(svc->out, "SLOReady", false, "ReconcileFailed", "%s", trouble.message);
    else
        plan_condition(svc->out,
            "SLOReady",
            true,
            "SLOCreated",
            "Pyrra ServiceLevelObjective \"%s\" reconciled",
            name);
    /* A Model that is not ready has been read all the same. */
    if (model_is_metal(&svc->model))
        plan_condition(svc->out,
            "SLODataSourceAvailable",
            false,
            "OffClusterRuntime",
            "Metal-backed services run off-cluster; cluster Prometheus has no scrape target, so "
            "this SLO will show no data");
    else
        plan_condition(svc->out,
            "SLODataSourceAvailable",
            true,
            "InClusterRuntime",
            "serving pods are scraped by cluster Prometheus");
}
