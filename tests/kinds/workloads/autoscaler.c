#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

TEST(an_autoscaler_scales_nothing_and_says_so)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s,
        "[{'kind': 'HorizontalPodAutoscaler', 'metadata': {'name': 'h'}, 'spec': {"
        "  'scaleTargetRef': {'kind': 'Deployment', 'name': 'web'}}},"
        " {'kind': 'Deployment', 'metadata': {'name': 'web'}, 'status': {'replicas': 2}}]");
    stage_run(&s, &workloads_autoscaler_kind, "h");
    struct json c = json_item(json_get(s.plan.status, "conditions"), 0);
    check_text(json_get_text(c, "type"), "ScalingActive");
    check_text(json_get_text(c, "status"), "False");
    check_int(json_get_int(s.plan.status, "currentReplicas", 0), 2);
    check_int(s.plan.child_count, 0);
    check(stage_has_event(&s, "FailedGetResourceMetric"));
}
