#include "kinds/llmkube/measures.h"

#include "base/time.h"
#include "engine/scrape.h"
#include "engine/view.h"
#include "kinds/llmkube/model.h"

static const double download_seconds[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 0 };
static const double ready_seconds[] = { 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 0 };

static const struct scrape_family model_status = {
    "llmkube_model_status",
    "The phase of each Model; always 1.",
    METRIC_GAUGE,
    .labels = { "model", "namespace", "phase" },
};
static const struct scrape_family model_download = {
    "llmkube_model_download_duration_seconds",
    "How long the last prefetch Job of a Model took, while it is there.",
    METRIC_HISTOGRAM,
    download_seconds,
    { "model", "namespace", "source_type" },
};
static const struct scrape_family service_phase = {
    "llmkube_inferenceservice_phase",
    "The phase of each InferenceService; always 1.",
    METRIC_GAUGE,
    .labels = { "inferenceservice", "namespace", "phase" },
};
static const struct scrape_family service_info = {
    "llmkube_inferenceservice_info",
    "Accelerator and runtime of each InferenceService; always 1.",
    METRIC_GAUGE,
    .labels = { "inferenceservice", "namespace", "accelerator", "runtime" },
};
static const struct scrape_family service_replicas = {
    "llmkube_inferenceservice_replicas",
    "How many pods of each InferenceService are ready, and how many are wanted.",
    METRIC_GAUGE,
    .labels = { "inferenceservice", "namespace", "state" },
};
static const struct scrape_family service_ready = {
    "llmkube_inferenceservice_ready_duration_seconds",
    "How long after its creation an InferenceService that is Ready became so.",
    METRIC_HISTOGRAM,
    ready_seconds,
    { "inferenceservice", "namespace" },
};
static const struct scrape_family queue_depth = {
    "llmkube_gpu_queue_depth",
    "InferenceServices that wait for a GPU.",
    METRIC_GAUGE,
    .labels = { "namespace" },
};

/* Seconds between two times; negative if one of them is missing. */
static double seconds_between(struct json from, struct json to)
{
    int64_t from_ms, to_ms;
    if (!json_text(from) || !json_text(to) || !time_parse(json_text(from), &from_ms) ||
        !time_parse(json_text(to), &to_ms))
        return -1;
    return (double)(to_ms - from_ms) / 1000;
}

void measures_model(const struct view *in, struct scrape *to)
{
    const char *name = view_name(in), *ns = view_namespace(in);
    const char *phase = json_get_text(in->object, "status.phase");
    if (!text_empty(phase))
        scrape_add(to, &model_status, 1, SCRAPE_LABELS(name, ns, phase));
    struct json job = view_child(in, &RESOURCE_JOB, model_prefetch_job(in->arena, name));
    double took =
        seconds_between(json_get(job, "status.startTime"), json_get(job, "status.completionTime"));
    if (took >= 0)
        scrape_add(to, &model_download, took, SCRAPE_LABELS(name, ns, "remote"));
}

static const char *text_or(struct json v, const char *path, const char *otherwise)
{
    const char *text = json_get_text(v, path);
    return text_empty(text) ? otherwise : text;
}

static void measure_replicas(
    struct scrape *to, const char *name, const char *ns, struct json status)
{
    double ready = (double)json_get_int(status, "readyReplicas", 0);
    double desired = (double)json_get_int(status, "desiredReplicas", 0);
    scrape_add(to, &service_replicas, ready, SCRAPE_LABELS(name, ns, "ready"));
    scrape_add(to, &service_replicas, desired, SCRAPE_LABELS(name, ns, "desired"));
}

void measures_inference_service(const struct view *in, struct scrape *to)
{
    const char *name = view_name(in), *ns = view_namespace(in);
    struct json status = json_get(in->object, "status");
    const char *phase = json_get_text(status, "phase");
    if (text_empty(phase))
        return; /* not reconciled yet */
    struct json model = view_get(in, &LLMKUBE_MODEL, json_get_text(in->object, "spec.modelRef"));
    const char *accelerator = text_or(model, "spec.hardware.accelerator", "cpu");
    const char *runtime = text_or(in->object, "spec.runtime", "llamacpp");
    scrape_add(to, &service_phase, 1, SCRAPE_LABELS(name, ns, phase));
    scrape_add(to, &service_info, 1, SCRAPE_LABELS(name, ns, accelerator, runtime));
    measure_replicas(to, name, ns, status);
    scrape_add(to, &queue_depth, text_eq(phase, "WaitingForGPU"), SCRAPE_LABELS(ns));
    struct json available = json_find(json_get(status, "conditions"), "type", "Available");
    double took = seconds_between(json_get(in->object, "metadata.creationTimestamp"),
        json_get(available, "lastTransitionTime"));
    if (text_eq(phase, "Ready") && text_eq(json_get_text(available, "status"), "True") && took >= 0)
        scrape_add(to, &service_ready, took, SCRAPE_LABELS(name, ns));
}
