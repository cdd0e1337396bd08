#include "kinds/llmkube/grafana.h"

#include "base/yaml.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/runtime.h"
#include "kinds/llmkube/settings.h"
#include "base/settle.h"

#define REQUIRES_RUNTIME "dashboards.llmkube.dev/requires-runtime"

const struct resource GRAFANA_DASHBOARD = {
    .group = "grafana.integreatly.org",
    .version = "v1beta1",
    .kind = "GrafanaDashboard",
    .plural = "grafanadashboards",
};

static bool is_the_source(const struct view *in)
{
    const struct llmkube_settings *s = in->settings;
    const char *wanted = s->grafana_dashboard_source;
    return wanted &&
           text_eq(wanted, arena_printf(in->arena, "%s/%s", view_namespace(in), view_name(in)));
}

/* A stopped service has no series, and its dashboard would be blank. */
static bool is_in_use(struct json services, const char *runtime)
{
    json_each (service, services) {
        const char *phase = json_get_text(*service, "status.phase");
        bool stopped = text_eq(phase, "Stopped") || text_eq(phase, "Suspended");
        const struct runtime *r = runtime_find(json_get_text(*service, "spec.runtime"));
        if (!stopped && text_eq(r->name, runtime))
            return true;
    }
    return false;
}

/* A manifest that cannot be created here is the chart's mistake; the others still are created. */
static bool is_publishable(const struct view *in, struct json dashboard)
{
    const char *ns = json_get_text(dashboard, "metadata.namespace");
    return text_eq(json_get_text(dashboard, "kind"), GRAFANA_DASHBOARD.kind) &&
           !text_empty(json_get_text(dashboard, "metadata.name")) &&
           (!ns || text_eq(ns, view_namespace(in)));
}

static void publish(
    const struct view *in, struct plan *out, struct json services, struct json dashboard)
{
    struct json annotations = json_get(dashboard, "metadata.annotations");
    const char *runtime = json_text(json_member(annotations, REQUIRES_RUNTIME));
    if (!is_publishable(in, dashboard) || (!text_empty(runtime) && !is_in_use(services, runtime)))
        return;
    struct json stored =
        view_owned(in, &GRAFANA_DASHBOARD, json_get_text(dashboard, "metadata.name"));
    struct json wanted = json_fields(in->arena,
        { "metadata.name", json_get(dashboard, "metadata.name") },
        { "metadata.labels", json_get(dashboard, "metadata.labels") },
        { "metadata.annotations", annotations },
        { "spec", json_get(dashboard, "spec") });
    plan_child(out, &GRAFANA_DASHBOARD, settle_lists(in->arena, wanted, stored));
}

static void reconcile(const struct view *in, struct plan *out)
{
    plan_done(out);
    if (!is_the_source(in) || !view_served(in, &GRAFANA_DASHBOARD))
        return;
    struct json services = view_list(in, &LLMKUBE_INFERENCE_SERVICE, NULL, NULL);
    struct json data = json_get(in->object, "data");
    json_each_member (m, data) {
        struct json documents;
        const char *text = json_text(m->value);
        if (!text || !yaml_parse_all(in->arena, str_of(text), m->key, &documents, NULL))
            continue;
        json_each (dashboard, documents)
            if (out->child_count < PLAN_MAX_CHILDREN)
                publish(in, out, services, *dashboard);
    }
}

static const struct kind_watch watches[] = {
    { .resource = &RESOURCE_CONFIG_MAP, .keep = (const char *const[]){ "data", NULL } },
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep = (const char *const[]){ "spec.runtime", "status.phase", NULL },
    },
    { .resource = &GRAFANA_DASHBOARD, .optional = true, .child = true },
    { 0 },
};

const struct kind llmkube_dashboards_kind = {
    .resource = &RESOURCE_CONFIG_MAP,
    .watches = watches,
    .reconcile = reconcile,
};
