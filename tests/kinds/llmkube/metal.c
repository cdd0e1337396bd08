#include "tests/kinds/llmkube/service_stage.h"

static void init(struct stage *s, const char *spec)
{
    service_init(s, spec);
    service_model(
        s, "{'source': 'https://weights.test/base.gguf', 'hardware': {'accelerator': 'metal'}}");
}

static void beat(struct stage *s, const char *annotations, const char *endpoints)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'EndpointSlice', 'metadata': {'name': 'generated', 'labels': "
            "{'kubernetes.io/service-name': 'svc'}, 'annotations': %s}, 'endpoints': %s}",
            annotations,
            endpoints));
}

#define AT(time) "{'llmkube.ai/agent-heartbeat': '" time "'}"
#define ONE "[{'addresses': ['192.0.2.7']}]"

TEST(a_service_on_a_mac_has_no_children)
{
    struct stage s;
    init(&s, "'autoscaling': {'maxReplicas': 3}");
    service_run(&s);
    check_int(s.plan.child_count, 0);
    check(!s.plan.keep_children);
    check_text(service_phase(&s), "Creating");
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "WaitingForMetalAgent");
}

TEST(a_service_on_a_mac_is_ready_while_its_agent_lives)
{
    struct stage s;
    init(&s, "");
    beat(&s, AT("2026-11-15T16:59:30Z"), ONE);
    service_run(&s);
    check_text(service_phase(&s), "Ready");
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_int(s.plan.after_ms, 150001); /* three minutes after the beat it is stale */
    s.world.now_ms += 150001;
    service_run(&s);
    check_text(service_phase(&s), "Creating");
    check_text(json_get_text(s.plan.status, "schedulingStatus"), "AgentHeartbeatStale");
    check_text(stage_condition(&s, "Available"), "False NoReadyReplicas");
    check_int(s.plan.outcome, OUTCOME_DONE);
}

TEST(the_freshest_heartbeat_counts)
{
    struct stage s;
    init(&s, "");
    beat(&s, AT("2026-11-15T16:59:30Z"), ONE);
    stage_add(&s,
        "{'kind': 'EndpointSlice', 'metadata': {'name': 'left-behind', 'labels': "
        "{'kubernetes.io/service-name': 'svc'}, 'annotations': " AT("2026-11-14T00:00:00Z") "}}");
    service_run(&s);
    check_text(service_phase(&s), "Ready");
}

TEST(a_heartbeat_that_is_no_time_is_none)
{
    struct stage s;
    init(&s, "");
    beat(&s, AT("soon"), ONE);
    service_run(&s);
    check(strstr(json_get_text(s.plan.status, "schedulingMessage"), "\"soon\""));
    check_text(service_phase(&s), "Creating");
}

TEST(an_old_agent_without_a_heartbeat_counts)
{
    struct stage s;
    init(&s, "");
    beat(&s, "{}", ONE);
    service_run(&s);
    check_text(service_phase(&s), "Ready");
    beat(&s, "{}", "[{'addresses': ['192.0.2.7'], 'conditions': {'ready': false}}]");
    service_run(&s);
    check_text(service_phase(&s), "Creating");
}

TEST(what_the_agent_wrote_is_not_overwritten)
{
    struct stage s;
    init(&s, "");
    service_set(&s,
        "InferenceService",
        "status",
        "{'schedulingStatus': 'InsufficientMemory', 'schedulingMessage': 'needs 90 GiB'}");
    service_run(&s);
    check(!json_present(json_get(s.plan.status, "schedulingStatus")));
    check(!json_present(json_get(s.plan.status, "schedulingMessage")));
}
