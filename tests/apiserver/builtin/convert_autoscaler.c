#include "tests/apiserver/desk.h"

#define SCALERS(version) "/apis/autoscaling/" version "/namespaces/default/horizontalpodautoscalers"

TEST(reading_and_writing_an_autoscaler_as_v1_loses_nothing)
{
    static const char made[] =
        "{'metadata':{'name':'a'},'spec':{'maxReplicas':3,'scaleTargetRef':{'apiVersion':'apps/v1',"
        "'kind':'Deployment','name':'d'},'behavior':{'scaleDown':{'selectPolicy':'Disabled'}},"
        "'metrics':[{'type':'Resource','resource':{'name':'cpu','target':{'type':'Utilization',"
        "'averageUtilization':60}}},{'type':'Pods','pods':{'metric':{'name':'m'},'target':{'type':"
        "'AverageValue','averageValue':'7'}}}]}}";
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    desk_do(&d, "POST", SCALERS("v2"), made);
    struct json before = desk_do(&d, "GET", SCALERS("v2") "/a", NULL);
    struct json old = desk_do(&d, "GET", SCALERS("v1") "/a", NULL);
    check_json(json_get(old, "spec.targetCPUUtilizationPercentage"), "60");
    check(!json_present(json_get(old, "spec.metrics")));
    old = json_with(test_arena(), old, "spec.targetCPUUtilizationPercentage", json_int(70));
    desk_do(&d, "PUT", SCALERS("v1") "/a", json_to_text(test_arena(), old));
    struct json after = desk_do(&d, "GET", SCALERS("v2") "/a", NULL);
    check_json(json_get(after, "spec.behavior"),
        json_to_text(test_arena(), json_get(before, "spec.behavior")));
    check_int(json_get(after, "spec.metrics").count, 2);
    check_text(json_get_text(after, "spec.metrics.0.pods.metric.name"), "m");
    check_json(json_get(after, "spec.metrics.1.resource.target.averageUtilization"), "70");
    check(!json_present(json_get(after, "metadata.annotations")));
    desk_done(&d);
}
