#include "tests/kinds/llmkube/service_stage.h"

TEST(zero_is_absent_in_the_status)
{
    struct stage s;
    service_init(&s, "'replicas': 0");
    service_run(&s);
    check_json(s.plan.status,
        "{'phase': 'Stopped', 'mode': 'chat', 'modelReady': true, 'effectivePriority': 10000, "
        "'endpoint': 'http://svc.ns.svc.cluster.local:8080/v1/chat/completions'}");
    check_text(s.plan.stamp, "lastUpdated");
    check_text(stage_condition(&s, "Available"), "False ManuallyScaledToZero");
    check_int(s.plan.outcome, OUTCOME_DONE);
}

TEST(phases_follow_the_replicas)
{
    static const struct {
        int ready;
        const char *phase, *available;
    } steps[] = {
        { 0, "Creating", NULL },
        { 1, "Progressing", NULL },
        { 2, "Ready", "True InferenceReady" },
        { 1, "Progressing", "True InferenceReady" },
        { 0, "Creating", "False NoReadyReplicas" },
        { 2, "Ready", "True InferenceReady" },
    };
    struct stage s;
    service_init(&s, "'replicas': 2");
    service_run(&s);
    for (size_t i = 0; i < lengthof(steps); i++) {
        service_set(&s,
            "Deployment",
            "status.readyReplicas",
            arena_printf(test_arena(), "%d", steps[i].ready));
        service_run(&s);
        check_text(service_phase(&s), steps[i].phase);
        check_text(stage_condition(&s, "Available"), steps[i].available);
        check(!stage_condition(&s, "Degraded"));
        check(!stage_condition(&s, "Progressing") == text_eq(steps[i].phase, "Ready"));
        check_text(stage_condition(&s, "Suspended"), "False NotSuspended");
    }
}

TEST(a_service_that_is_being_stopped_reads_stopped)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    service_spec(&s, "'replicas': 0");
    service_run(&s);
    check_text(service_phase(&s), "Stopped");
    check(!stage_condition(&s, "Progressing"));
    check_int(json_get_int(s.plan.status, "readyReplicas", 0), 1);
    /* Started again, it is no longer said to be stopped. */
    service_set(&s, "Deployment", "status", "{}");
    service_spec(&s, "");
    service_run(&s);
    check_text(stage_condition(&s, "Available"), "False NoReadyReplicas");
}

TEST(a_failure_takes_availability_away_only_when_nothing_serves)
{
    struct stage s;
    service_init(&s, "");
    service_run(&s);
    service_set(&s, "Deployment", "status.readyReplicas", "1");
    service_run(&s);
    service_spec(&s, "'resources': {'cpu': 'much'}");
    service_run(&s);
    check_text(service_phase(&s), "Failed");
    check_text(stage_condition(&s, "Available"), "True InferenceReady");
    check_int(json_get_int(s.plan.status, "readyReplicas", 0), 1);
    service_set(&s, "Deployment", "status", "{}");
    service_run(&s);
    check(!stage_condition(&s, "Available"));
}

TEST(priorities_have_numbers)
{
    static const struct {
        const char *name;
        int64_t value;
    } priorities[] = { { "critical", 1000000 },
        { "high", 100000 },
        { "normal", 10000 },
        { "low", 1000 },
        { "batch", 100 } };
    struct stage s;
    for (size_t i = 0; i < lengthof(priorities); i++) {
        service_init(&s, arena_printf(test_arena(), "'priority': '%s'", priorities[i].name));
        service_run(&s);
        check_int(json_get_int(s.plan.status, "effectivePriority", 0), priorities[i].value);
        check_text(
            json_get_text(stage_child(&s, "Deployment"), "spec.template.spec.priorityClassName"),
            arena_printf(test_arena(), "llmkube-%s", priorities[i].name));
    }
}
