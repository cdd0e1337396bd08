#include "tests/kinds/llmkube/service_stage.h"

#define EXPOSED "'endpoint': {'gateway': {'enabled': true, 'gatewayRef': {'name': 'edge'}}}"

TEST(exposure_is_three_objects_and_goes_when_it_is_switched_off)
{
    struct stage s;
    service_init(&s, EXPOSED);
    service_run(&s);
    check(json_present(stage_child(&s, "Backend")));
    check(json_present(stage_child(&s, "AIServiceBackend")));
    check_text(
        json_get_text(stage_child(&s, "AIGatewayRoute"), "spec.rules.0.matches.0.headers.0.value"),
        "base");
    check_text(stage_condition(&s, "GatewayReady"), "True Exposed");
    check_json(json_get(s.plan.status, "gateway"), "{'routeReady': true, 'modelName': 'base'}");
    service_spec(&s, "'endpoint': {'gateway': {'enabled': false, 'gatewayRef': {'name': 'edge'}}}");
    service_run(&s);
    check(!json_present(stage_child(&s, "Backend")));
    check(!stage_condition(&s, "GatewayReady"));
    check(!json_present(json_get(s.plan.status, "gateway")));
    check(!s.plan.keep_children);
}

TEST(without_a_name_for_its_model_the_service_lends_its_own)
{
    struct stage s;
    service_init(&s, EXPOSED);
    stage_add(&s,
        "{'kind': 'InferenceService', 'metadata': {'name': 'svc'}, 'spec': {'modelRef': "
        "'', " EXPOSED "}}");
    service_run(&s);
    check_text(json_get_text(s.plan.status, "gateway.modelName"), "svc");
    check_text(service_phase(&s), "Failed");
}

TEST(exposure_needs_its_crds)
{
    struct stage s;
    service_init(&s, EXPOSED);
    s.not_served = true;
    service_run(&s);
    check_text(stage_condition(&s, "GatewayReady"), "False GatewayCRDsNotInstalled");
    check(!json_present(stage_child(&s, "Backend")));
    check_text(service_phase(&s), "Creating");
}

TEST(exposure_that_is_refused_does_not_fail_the_service)
{
    struct stage s;
    service_init(&s, EXPOSED);
    stage_trouble(&s, "Backend", TROUBLE_FOREIGN, "it is not ours");
    service_run(&s);
    check_text(stage_message(&s, "GatewayReady"), "Backend: it is not ours");
    stage_trouble(&s, "Backend", TROUBLE_NONE, NULL);
    stage_trouble(&s, "AIGatewayRoute", TROUBLE_REFUSED, "spec.rules: Invalid");
    service_run(&s);
    check_text(stage_condition(&s, "GatewayReady"), "False ReconcileFailed");
    check_text(stage_message(&s, "GatewayReady"), "AIGatewayRoute: spec.rules: Invalid");
    check(!json_present(json_get(s.plan.status, "gateway")));
    check_text(service_phase(&s), "Creating");
}
