#include "kinds/llmkube/grafana.h"

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

static void init(struct stage *s)
{
    llmkube_stage_init(s);
    llmkube_stage_settings(s)->grafana_dashboard_source = "ns/dashboards";
    stage_add(s,
        "{'kind': 'ConfigMap', 'metadata': {'name': 'dashboards'}, 'data': {"
        "'a.yaml': 'kind: GrafanaDashboard\\nmetadata:\\n  name: always\\nspec: {folder: f}\\n',"
        "'b.yaml': 'kind: GrafanaDashboard\\nmetadata:\\n  name: for-vllm\\n  annotations: "
        "{dashboards.llmkube.dev/requires-runtime: vllm}\\nspec: {}\\n',"
        "'c.yaml': '{ broken',"
        "'d.yaml': 'kind: GrafanaDashboard\\nmetadata: {name: far, namespace: elsewhere}\\n'}}");
}

static void serve(struct stage *s, const char *runtime, const char *phase)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'InferenceService', 'metadata': {'name': 'x', 'namespace': 'other'}, 'spec': "
            "{'runtime': '%s'}, 'status': {'phase': '%s'}}",
            runtime,
            phase));
}

static bool is_published(struct stage *s, const char *name)
{
    stage_run(s, &llmkube_dashboards_kind, "dashboards");
    check(!s->plan.has_status);
    return json_present(stage_child_named(s, "GrafanaDashboard", name));
}

TEST(dashboards_follow_the_runtimes_in_use)
{
    struct stage s;
    init(&s);
    check(is_published(&s, "always"));
    check(!is_published(&s, "for-vllm"));
    check(!is_published(&s, "far"));
    serve(&s, "vllm", "Creating");
    check(is_published(&s, "for-vllm"));
    serve(&s, "vllm", "Suspended");
    check(!is_published(&s, "for-vllm"));
    serve(&s, "sglang", "Ready");
    check(!is_published(&s, "for-vllm"));
}

TEST(dashboards_come_from_the_named_config_map_only)
{
    struct stage s;
    init(&s);
    llmkube_stage_settings(&s)->grafana_dashboard_source = "ns/others";
    check(!is_published(&s, "always"));
    llmkube_stage_settings(&s)->grafana_dashboard_source = NULL;
    check(!is_published(&s, "always"));
    init(&s);
    s.not_served = true;
    check(!is_published(&s, "always"));
}
