#include "tests/kinds/llmkube/service_stage.h"

#define UNREADABLE_METRIC "{'type': 'Pods', 'name': 'q', 'targetAverageValue': 'many'}"
#define SCALED "'autoscaling': {'minReplicas': 1, 'maxReplicas': 5}"

static struct json replicas(const struct stage *s)
{
    return json_get(stage_child(s, "Deployment"), "spec.replicas");
}

TEST(replicas_are_handed_over_without_a_wrong_value)
{
    struct stage s;
    service_init(&s, "'replicas': 2, " SCALED);
    service_run(&s);
    check_json(replicas(&s), "2");
    /* Nobody scaled yet: still ours, as it is. */
    service_run(&s);
    check_json(replicas(&s), "2");
    /* The autoscaler did, so the field is no longer among ours. */
    struct json owned = stage_child(&s, "Deployment");
    service_set(&s, "Deployment", "spec.replicas", "4");
    stage_owned(
        &s, "Deployment", "svc", json_with(test_arena(), owned, "spec.replicas", json_none));
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check(!json_present(replicas(&s)));
    check_int(json_get_int(s.plan.status, "desiredReplicas", 0), 4);
}

TEST(what_is_ours_follows_what_is_there)
{
    struct stage s;
    service_init(&s, "'replicas': 1, " SCALED);
    service_run(&s);
    service_set(&s, "Deployment", "spec.replicas", "3");
    stage_run(&s, &llmkube_inference_service_kind, "svc");
    check_json(replicas(&s), "3");
}

TEST(an_autoscaled_service_is_ready_with_as_many_as_the_autoscaler_wants)
{
    struct stage s;
    service_init(&s, "'replicas': 1, " SCALED);
    service_run(&s);
    service_set(&s, "Deployment", "spec.replicas", "3");
    service_set(&s, "Deployment", "status.readyReplicas", "3");
    service_run(&s);
    check_text(service_phase(&s), "Ready");
}

TEST(suspending_stops_an_autoscaled_service_and_it_starts_again)
{
    struct stage s;
    service_init(&s, "'replicas': 3, 'suspend': true, " SCALED);
    service_run(&s);
    check_json(replicas(&s), "0");
    check(!json_present(stage_child(&s, "HorizontalPodAutoscaler")));
    check_text(service_phase(&s), "Suspended");
    check_text(stage_condition(&s, "Suspended"), "True Suspended");
    check_text(stage_condition(&s, "Available"), "False Suspended");
    service_spec(&s, "'replicas': 3, " SCALED);
    service_run(&s);
    check_json(replicas(&s), "3");
    check(json_present(stage_child(&s, "HorizontalPodAutoscaler")));
}

TEST(zero_replicas_stop_an_autoscaled_service)
{
    struct stage s;
    service_init(&s, "'replicas': 2, " SCALED);
    service_run(&s);
    service_spec(&s, "'replicas': 0, " SCALED);
    service_run(&s);
    check_json(replicas(&s), "0");
    check_text(service_phase(&s), "Stopped");
}

TEST(replicas_are_the_specs_again_without_an_autoscaler)
{
    struct stage s;
    service_init(&s, "'replicas': 1, " SCALED);
    service_run(&s);
    service_set(&s, "Deployment", "spec.replicas", "4");
    service_spec(&s, "'replicas': 1");
    service_run(&s);
    check_json(replicas(&s), "1");
    check(!json_present(stage_child(&s, "HorizontalPodAutoscaler")));
}

TEST(metrics_are_those_of_the_spec_or_the_runtimes_own)
{
    struct stage s;
    service_init(&s, SCALED);
    service_run(&s);
    check_text(json_get_text(
                   stage_child(&s, "HorizontalPodAutoscaler"), "spec.metrics.0.pods.metric.name"),
        "llamacpp:requests_processing");
    service_spec(&s,
        "'autoscaling': {'maxReplicas': 5, 'metrics': [{'type': 'Resource', 'name': 'cpu', "
        "'targetAverageUtilization': 70}, {'type': 'Resource', 'name': 'memory'}, {'type': 'Pods', "
        "'name': 'queue', 'targetAverageValue': '0.5'}]}");
    service_run(&s);
    struct json metrics = json_get(stage_child(&s, "HorizontalPodAutoscaler"), "spec.metrics");
    check_int(metrics.count, 2);
    check_int(json_get_int(metrics, "0.resource.target.averageUtilization", 0), 70);
    check_text(json_get_text(metrics, "1.pods.target.averageValue"), "500m");
}

#define NO_UTILISATION "{'type': 'Resource', 'name': 'cpu', 'targetAverageUtilization': 0}"

TEST(an_autoscaler_that_makes_no_sense_is_told_and_the_one_before_stays)
{
    static const char *const bad[] = {
        "'autoscaling': {'minReplicas': 4, 'maxReplicas': 2}",
        "'autoscaling': {'maxReplicas': 2, 'metrics': [{'type': 'Pods', 'name': 'q'}]}",
        "'autoscaling': {'maxReplicas': 2, 'metrics': [" UNREADABLE_METRIC "]}",
        "'autoscaling': {'maxReplicas': 2, 'metrics': [" NO_UTILISATION "]}",
    };
    for (size_t i = 0; i < lengthof(bad); i++) {
        struct stage s;
        service_init(&s, SCALED);
        service_run(&s);
        struct json before = stage_child(&s, "HorizontalPodAutoscaler");
        service_spec(&s, bad[i]);
        service_run(&s);
        check_text(service_phase(&s), "Failed");
        check(strstr(stage_message(&s, "Degraded"), "spec.autoscaling."));
        check(json_equal(stage_child(&s, "HorizontalPodAutoscaler"), before));
        check(json_present(stage_child(&s, "Deployment")));
        service_init(&s, bad[i]);
        service_run(&s);
        check(!json_present(stage_child(&s, "HorizontalPodAutoscaler")));
    }
}
