#include "tests/kinds/llmkube/service_stage.h"

#define LATENCY                                                                                    \
    "'slo': {'objective': '99', 'indicator': 'latency', 'latencyThreshold': '2.5', 'window': "     \
    "'7d'}"

static void init(struct stage *s, const char *spec)
{
    service_init(s, spec);
    llmkube_stage_settings(s)->enable_pyrra_slo = true;
}

TEST(an_objective_for_latency_needs_a_runtime_that_measures_it)
{
    struct stage s;
    init(&s, "'runtime': 'vllm', " LATENCY);
    service_run(&s);
    struct json objective = stage_child(&s, "ServiceLevelObjective");
    check_text(json_get_text(objective, "metadata.name"), "svc-latency");
    check_json(json_get(objective, "spec.indicator.latency"),
        "{'success': {'metric': "
        "'vllm:e2e_request_latency_seconds_bucket{namespace=\\\"ns\\\",service=\\\"svc\\\",le=\\\""
        "2.5\\\"}'}, 'total': {'metric': "
        "'vllm:e2e_request_latency_seconds_count{namespace=\\\"ns\\\",service=\\\"svc\\\"}'}}");
    check_text(stage_condition(&s, "SLOReady"), "True SLOCreated");
    service_spec(&s, LATENCY);
    service_run(&s);
    check(!json_present(stage_child(&s, "ServiceLevelObjective")));
    check_text(stage_condition(&s, "SLOReady"), "False IndicatorUnsupportedForRuntime");
    check(!stage_condition(&s, "SLODataSourceAvailable"));
}

TEST(an_objective_needs_pyrra)
{
    struct stage s;
    init(&s, "'slo': {'objective': '99'}");
    s.not_served = true;
    service_run(&s);
    check_text(stage_condition(&s, "SLOReady"), "False PyrraNotInstalled");
    s.not_served = false;
    llmkube_stage_settings(&s)->enable_pyrra_slo = false;
    service_run(&s);
    check_text(stage_condition(&s, "SLOReady"), "False IntegrationDisabled");
    check(!json_present(stage_child(&s, "ServiceLevelObjective")));
}

TEST(an_objective_that_is_refused_is_told)
{
    struct stage s;
    init(&s, "'slo': {'objective': '99', 'name': 'Not A Name'}");
    stage_trouble(&s, "ServiceLevelObjective", TROUBLE_REFUSED, "metadata.name: Invalid");
    service_run(&s);
    check_text(stage_condition(&s, "SLOReady"), "False ReconcileFailed");
    check_text(stage_message(&s, "SLOReady"), "metadata.name: Invalid");
    service_spec(&s, "'slo': {'window': '7d'}");
    service_run(&s);
    check_text(stage_message(&s, "SLOReady"), "spec.slo.objective: required");
}

TEST(nothing_scrapes_a_mac_whatever_its_model_waits_for)
{
    struct stage s;
    init(&s, "'slo': {'objective': '99'}");
    service_model(
        &s, "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'metal'}}");
    service_set(&s, "Model", "status.phase", "'Failed'");
    service_run(&s);
    check_text(stage_condition(&s, "SLOReady"), "True SLOCreated");
    check_text(stage_condition(&s, "SLODataSourceAvailable"), "False OffClusterRuntime");
}
