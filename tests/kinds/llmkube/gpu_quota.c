#include "kinds/llmkube/gpu_quota.h"

#include "kinds/llmkube/source.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define SOURCE "https://weights.test/m.gguf"

static void init(struct stage *s, const char *quota)
{
    llmkube_stage_init(s);
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'GPUQuota', 'metadata': {'name': 'q', 'namespace': 'admin'}, 'spec': %s}",
            quota));
    stage_add(s, "{'kind': 'Namespace', 'metadata': {'name': 'ns', 'labels': {'team': 'a'}}}");
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'Model', 'metadata': {'name': 'base'}, 'spec': {'source': '" SOURCE "',"
            "'hardware': {'accelerator': 'cuda', 'gpu': {'enabled': true, 'count': 2}}},"
            "'status': {'phase': 'Ready', 'cacheKey': '%s'}}",
            source_cache_key(test_arena(), SOURCE)));
}

static void add_service(struct stage *s, const char *name, int created, const char *more)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'InferenceService', 'metadata': {'name': '%s', 'creationTimestamp': "
            "'2026-01-01T00:00:0%dZ'}, 'spec': {'modelRef': 'base'%s}}",
            name,
            created,
            more));
}

/* "" if the service is made, else why not. */
static const char *held(struct stage *s, const char *name)
{
    stage_run(s, &llmkube_inference_service_kind, name);
    bool made = json_present(stage_child(s, "Deployment"));
    const char *told = stage_message(s, "QuotaExceeded");
    check(made == !told);
    return told ? told : "";
}

TEST(a_service_that_does_not_fit_is_held_with_the_numbers)
{
    struct stage s;
    init(&s, "{'namespaceRef': 'ns', 'gpuCount': 3}");
    add_service(&s, "older", 1, "");
    add_service(&s, "newer", 2, ", 'replicas': 2");
    check_text(held(&s, "older"), "");
    check_text(held(&s, "newer"),
        "GPUQuota \"q\" denied: would exceed gpuCount 3 (current 2 + requested 4)");
    check_text(stage_condition(&s, "Progressing"), "True Pending");
    check(s.plan.keep_children);
    stage_edit(&s, &LLMKUBE_GPU_QUOTA, "q", "spec.gpuCount", "6");
    check_text(held(&s, "newer"), "");
}

TEST(who_has_pods_comes_before_who_is_older)
{
    struct stage s;
    init(&s, "{'selector': {'matchLabels': {'team': 'a'}}, 'gpuCount': 2}");
    add_service(&s, "older", 1, "");
    add_service(&s, "newer", 2, "}, 'status': {'desiredReplicas': 1");
    check(*held(&s, "older"));
    check_text(held(&s, "newer"), "");
    stage_edit(&s, &LLMKUBE_GPU_QUOTA, "q", "spec.selector.matchLabels.team", "'b'");
    check_text(held(&s, "older"), "");
}

TEST(a_quota_of_zero_forbids_gpus_and_nothing_else)
{
    struct stage s;
    init(&s, "{'namespaceRef': 'ns', 'gpuCount': 0}");
    add_service(&s, "gpu", 1, "");
    check(*held(&s, "gpu"));
    stage_edit(&s, &LLMKUBE_INFERENCE_SERVICE, "gpu", "spec.replicas", "0");
    check_text(held(&s, "gpu"), "");
}

TEST(memory_and_priority_are_limits_too)
{
    struct stage s;
    init(&s, "{'namespaceRef': 'ns', 'gpuCount': 9, 'vramBytes': 42949672960}");
    add_service(&s, "svc", 1, "");
    check(strstr(held(&s, "svc"), "vramBytes needs to know"));
    llmkube_stage_settings(&s)->gpu_sharing_vram_per_device_gib = 24;
    check(strstr(held(&s, "svc"), "vramBytes 42949672960 (current 0 + requested 51539607552)"));
    init(&s, "{'namespaceRef': 'ns', 'gpuCount': 9, 'minPriority': 'high'}");
    add_service(&s, "svc", 1, "");
    check(strstr(held(&s, "svc"), "priority normal is below minPriority high"));
}

TEST(a_quota_tells_what_is_asked_for)
{
    struct stage s;
    init(&s, "{'namespaceRef': 'ns', 'gpuCount': 9}");
    stage_run(&s, &llmkube_gpu_quota_kind, "q");
    check(!s.plan.has_status);
    add_service(&s, "one", 1, ", 'replicas': 2");
    add_service(&s, "two", 1, ", 'autoscaling': {'maxReplicas': 3}");
    stage_run(&s, &llmkube_gpu_quota_kind, "q");
    check_int(json_get_int(s.plan.status, "usedGPUCount", 0), 10);
    stage_edit(&s, &LLMKUBE_GPU_QUOTA, "q", "status", "{'usedGPUCount': 10}");
    stage_edit(&s, &LLMKUBE_INFERENCE_SERVICE, "one", "spec.replicas", "0");
    stage_edit(&s, &LLMKUBE_INFERENCE_SERVICE, "two", "spec.suspend", "true");
    stage_run(&s, &llmkube_gpu_quota_kind, "q");
    check_int(json_get_int(s.plan.status, "usedGPUCount", -1), 0);
}
