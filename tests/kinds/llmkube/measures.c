#include "kinds/llmkube/measures.h"
#include "base/buf.h"
#include "engine/scrape.h"
#include "kinds/llmkube/inference_service.h"
#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

static const char *measured(struct stage *w, const struct kind *k, const char *name)
{
    struct view in = file_view_of(&w->world, k->resource, "ns", name, w->settings);
    struct scrape *s = scrape_new(65536);
    k->measure(&in, s);
    struct buf b = BUF_INIT(65536);
    scrape_print(s, &b);
    const char *text = arena_strdup(test_arena(), buf_text(&b));
    scrape_free(s);
    buf_done(&b);
    return text;
}

#define check_line(text, line) check(strstr(text, "\n" line "\n"))

TEST(a_service_is_measured_as_upstream_does_it)
{
    struct stage w;
    llmkube_stage_init(&w);
    stage_add_all(&w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
    stage_add_all(&w, stage_yaml("api/inference.llmkube.dev_inferenceservices.yaml"));
    stage_add(&w,
        "[{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata': {'name': "
        "'base', 'namespace': 'ns'}, 'spec': {'source': 'acme/tiny', 'hardware': {'accelerator': "
        "'cuda'}}},"
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'InferenceService', 'metadata': "
        "{'name': 'svc', 'namespace': 'ns', 'creationTimestamp': '2026-11-15T16:00:00Z'}, 'spec': "
        "{'modelRef': 'base', 'runtime': 'vllm'}, 'status': {'phase': 'Ready', 'readyReplicas': 2, "
        "'desiredReplicas': 2, 'conditions': [{'type': 'Available', 'status': 'True', "
        "'lastTransitionTime': '2026-11-15T16:01:30Z'}]}},"
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'InferenceService', 'metadata': "
        "{'name': 'waits', 'namespace': 'ns'}, 'spec': {'modelRef': 'gone'}, 'status': {'phase': "
        "'WaitingForGPU', 'desiredReplicas': 1}},"
        "{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'InferenceService', 'metadata': "
        "{'name': 'new', 'namespace': 'ns'}, 'spec': {'modelRef': 'base'}}]");
    const char *text = measured(&w, &llmkube_inference_service_kind, "svc");
#define SVC "inferenceservice=\"svc\",namespace=\"ns\""
    check_line(text, "llmkube_inferenceservice_phase{" SVC ",phase=\"Ready\"} 1");
    check_line(
        text, "llmkube_inferenceservice_info{" SVC ",accelerator=\"cuda\",runtime=\"vllm\"} 1");
    check_line(text, "llmkube_inferenceservice_replicas{" SVC ",state=\"ready\"} 2");
    check_line(text, "llmkube_inferenceservice_replicas{" SVC ",state=\"desired\"} 2");
    check_line(text, "llmkube_inferenceservice_ready_duration_seconds_sum{" SVC "} 90");
    check_line(
        text, "llmkube_inferenceservice_ready_duration_seconds_bucket{" SVC ",le=\"160\"} 1");
    check(!strstr(text, "le=\"80\""));
    check_line(text, "llmkube_gpu_queue_depth{namespace=\"ns\"} 0");
    text = measured(&w, &llmkube_inference_service_kind, "waits");
    check_line(text, "llmkube_gpu_queue_depth{namespace=\"ns\"} 1");
    check(strstr(text, ",accelerator=\"cpu\",runtime=\"llamacpp\"} 1"));
    check(!strstr(text, "ready_duration"));
    check_text(measured(&w, &llmkube_inference_service_kind, "new"), "");
}

TEST(a_model_is_measured_as_upstream_does_it)
{
    struct stage w;
    llmkube_stage_init(&w);
    stage_add_all(&w, stage_yaml("api/inference.llmkube.dev_models.yaml"));
    stage_add(&w,
        "[{'apiVersion': 'inference.llmkube.dev/v1alpha1', 'kind': 'Model', 'metadata': {'name': "
        "'m', 'namespace': 'ns', 'uid': 'u'}, 'spec': {'source': 'acme/tiny'}, 'status': {'phase': "
        "'Ready'}},"
        "{'apiVersion': 'batch/v1', 'kind': 'Job', 'metadata': {'name': 'm-prefetch', 'namespace': "
        "'ns', 'ownerReferences': [{'uid': 'u', 'controller': true}]}, 'status': {'startTime': "
        "'2026-11-15T16:00:00Z', 'completionTime': '2026-11-15T16:00:03Z'}}]");
    const char *text = measured(&w, &llmkube_model_kind, "m");
    check_line(text, "llmkube_model_status{model=\"m\",namespace=\"ns\",phase=\"Ready\"} 1");
    check_line(text,
        "llmkube_model_download_duration_seconds_sum{model=\"m\",namespace=\"ns\",source_type="
        "\"remote\"} 3");
}
