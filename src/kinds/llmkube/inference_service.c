/* The InferenceService kind: a Model served by pods of one runtime, or by an agent on a Mac. This
 * file has the order of the steps; the parts are in the files listed in isvc.h. */

#include "kinds/llmkube/inference_service.h"

#include "base/names.h"
#include "kinds/llmkube/gpu_quota.h"
#include "kinds/llmkube/isvc.h"
#include "kinds/llmkube/measures.h"
#include "kinds/llmkube/model_pool.h"

#include <stdarg.h>

const struct resource LLMKUBE_INFERENCE_SERVICE = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "InferenceService",
    .plural = "inferenceservices",
};

/* ---- ending the pass ---- */

static void printf_like(3, 0)
    end(struct isvc *svc, enum isvc_phase phase, const char *format, va_list args)
{
    svc->ended = true;
    svc->end_phase = phase;
    svc->end_message = arena_vprintf(svc->arena, format, args);
    plan_keep_children(svc->out);
}

bool isvc_fail(struct isvc *svc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end(svc, PHASE_FAILED, format, args);
    va_end(args);
    return false;
}

bool isvc_pend(struct isvc *svc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    end(svc, PHASE_PENDING, format, args);
    va_end(args);
    return false;
}

void isvc_recheck(struct isvc *svc, int64_t after_ms)
{
    if (!svc->recheck_ms || after_ms < svc->recheck_ms)
        svc->recheck_ms = after_ms;
}

/* ---- labels ---- */

struct json isvc_selector(const struct isvc *svc)
{
    return json_map(svc->arena,
        { "app", json_str(svc->child) },
        { "inference.llmkube.dev/service", json_str(svc->child) });
}

struct json isvc_labels(const struct isvc *svc)
{
    const char *model = svc->spec.model_ref;
    if (strlen(model) > NAME_LABEL_MAX)
        model = name_shorten(svc->arena, model, NAME_LABEL_MAX);
    return json_overlay(svc->arena,
        isvc_selector(svc),
        json_map(svc->arena,
            { "inference.llmkube.dev/model", json_str(model) },
            { "inference.llmkube.dev/runtime", json_str(svc->runtime->name) }));
}

/* ---- children ---- */

static void note_trouble(struct isvc *svc, const struct resource *r, const char *name)
{
    struct view_trouble trouble = view_trouble(svc->in, r, name);
    bool stops = trouble.what == TROUBLE_FOREIGN || trouble.what == TROUBLE_REFUSED;
    if (stops && !svc->trouble)
        svc->trouble =
            arena_printf(svc->arena, "Failed to create %s: %s", r->kind, trouble.message);
}

void isvc_child(struct isvc *svc, const struct resource *r, struct json object)
{
    plan_child(svc->out, r, object);
    note_trouble(svc, r, json_get_text(object, "metadata.name"));
}

/* ---- steps ---- */

/* Why the Model is not ready, including its own reason; upstream's messages have neither. */
static const char *model_waited_for(struct arena *a, struct json model)
{
    const char *phase = json_get_text(model, "status.phase");
    struct json why = json_find(json_get(model, "status.conditions"), "type", "Ready");
    bool told = text_eq(json_get_text(why, "status"), "False");
    return arena_printf(a,
        "Waiting for Model \"%s\" in namespace \"%s\", whose phase is %s%s%s",
        json_get_text(model, "metadata.name"),
        json_get_text(model, "metadata.namespace"),
        text_empty(phase) ? "not known yet" : phase,
        told ? ": " : "",
        told ? json_get_text(why, "message") : "");
}

#define NAMES_MAX 10

/* The names of existing Models, for a user who misspelled one. Not on a cluster: there every new
 * Model would change the status of each waiting service. */
static const char *models_there(const struct isvc *svc)
{
    if (!svc->settings->one_machine)
        return "";
    struct json models = view_list(svc->in, &LLMKUBE_MODEL, svc->ns, NULL);
    const char *names = "";
    for (uint32_t i = 0; json_is(models, JSON_LIST) && i < models.count && i <= NAMES_MAX; i++) {
        const char *name = json_get_text(models.items[i], "metadata.name");
        names =
            arena_printf(svc->arena, "%s%s%s", names, i ? ", " : "", i < NAMES_MAX ? name : "…");
    }
    return *names ? arena_printf(svc->arena, " (there is %s)", names) : " (there is none)";
}

/* Checks that pods can use the Model. */
static bool read_model(
    struct isvc *svc, const char *name, const char *missing, const char *waiting, struct model *ret)
{
    struct json object = view_get(svc->in, &LLMKUBE_MODEL, name);
    if (!json_present(object)) {
        svc->detail = arena_printf(svc->arena,
            "Model \"%s\" is not in namespace \"%s\"%s; create it, or name another",
            name,
            svc->ns,
            models_there(svc));
        return isvc_fail(svc, "%s", missing);
    }
    struct error err;
    if (!model_read(svc->arena, object, ret, &err))
        return isvc_fail(svc, "Model %s cannot be read: %s", name, err.text);
    if (!text_eq(ret->phase, "Ready")) {
        svc->detail = model_waited_for(svc->arena, object);
        return isvc_pend(svc, "%s", waiting);
    }
    if (ret->source.origin == SOURCE_LOCAL && !source_allowed(svc->settings, &ret->source))
        return isvc_fail(svc, "%s", source_refusal(svc->arena, svc->settings, &ret->source));
    return true;
}

static bool speculates(const struct isvc *svc)
{
    const char *type = svc->spec.speculative_type;
    return !text_empty(type) && !text_eq(type, "none") && !text_eq(type, "disabled");
}

static bool read_models(struct isvc *svc)
{
    const char *draft = svc->spec.draft_model_ref;
    if (!read_model(svc,
            svc->spec.model_ref,
            "Model not found",
            "Waiting for Model to be Ready",
            &svc->model))
        return false;
    svc->has_draft = speculates(svc) && !text_empty(draft);
    if (svc->has_draft &&
        !read_model(svc,
            draft,
            arena_printf(svc->arena, "Draft model \"%s\" not found", draft),
            arena_printf(svc->arena, "Draft model \"%s\" is not Ready yet", draft),
            &svc->draft))
        return false;
    svc->model_ready = true;
    svc->metal = model_is_metal(&svc->model);
    svc->stages = svc->runtime->stages_model && !svc->spec.skip_model_init && !svc->metal;
    svc->desired = autoscaler_desired(svc);
    return true;
}

/* The weights of a draft may be one of the Model's own files. */
static bool check_draft_file(struct isvc *svc)
{
    const char *file = svc->spec.draft_model;
    bool staged = svc->stages && speculates(svc) && !text_empty(file);
    if (!staged || json_list_has(svc->model.files, file))
        return true;
    return isvc_fail(svc,
        "spec.speculativeDecoding.draftModel: \"%s\" is not among spec.files of Model %s; add it "
        "there, or name another Model in draftModelRef",
        file,
        svc->model.name);
}

static bool uses_cache(const struct isvc *svc, const struct model *m)
{
    return svc->stages && !text_empty(svc->settings->model_cache_path) &&
           !model_is_in_place(svc->settings, m) && !text_empty(m->cache_key) &&
           m->source.origin != SOURCE_PVC && !text_eq(svc->spec.persistence, "Ephemeral");
}

static bool use_named_claim(struct isvc *svc)
{
    const char *claim = svc->spec.claim_name;
    svc->claim = claim;
    if (json_present(view_get(svc->in, &RESOURCE_PVC, claim)))
        return true;
    plan_event(svc->out,
        true,
        "ModelCachePVCNotFound",
        "spec.modelCache.claimName names claim \"%s\", which is not in namespace \"%s\"; create it",
        claim,
        svc->ns);
    return isvc_fail(svc,
        "Failed to ensure model cache PVC: model cache PVC \"%s\" (spec.modelCache.claimName) not "
        "found in namespace \"%s\": the claim is user-owned and must be created before use",
        claim,
        svc->ns);
}

/* The user's own volumes may name a cache claim, as those of llamacpp-router do. */
static bool mounts(const struct isvc *svc, const char *claim)
{
    json_each (volume, json_get(svc->raw, "extraVolumes"))
        if (text_eq(json_get_text(*volume, "persistentVolumeClaim.claimName"), claim))
            return true;
    return false;
}

static bool plan_claim(struct isvc *svc)
{
    bool per_service = svc->settings->model_cache_mode == CACHE_PER_SERVICE;
    struct json own = storage_service_claim(svc->arena, svc->settings, svc->child);
    const char *own_name = json_get_text(own, "metadata.name");
    bool named = !text_empty(svc->spec.claim_name);
    bool wanted = uses_cache(svc, &svc->model) ||
                  (svc->has_draft && uses_cache(svc, &svc->draft)) ||
                  (!named && mounts(svc, per_service ? own_name : STORAGE_SHARED_CLAIM));
    /* Fetched weights are not deleted because of an edit, but with the service. */
    if (json_present(view_child(svc->in, &RESOURCE_PVC, own_name)) ||
        (wanted && per_service && !named))
        plan_once(svc->out, &RESOURCE_PVC, own);
    if (named && !wanted)
        plan_event(svc->out,
            true,
            "ModelCacheClaimIgnored",
            "spec.modelCache.claimName has no effect: this service keeps no model cache");
    if (named && wanted)
        return use_named_claim(svc);
    if (!wanted)
        return true;
    if (!per_service)
        plan_shared(svc->out, &RESOURCE_PVC, storage_shared_claim(svc->arena, svc->settings));
    svc->claim = per_service ? own_name : STORAGE_SHARED_CLAIM;
    struct view_trouble trouble = view_trouble(svc->in, &RESOURCE_PVC, svc->claim);
    /* A shared claim has no owner, so it may have been created by another client. */
    if (trouble.what == TROUBLE_REFUSED || (per_service && trouble.what == TROUBLE_FOREIGN))
        return isvc_fail(svc, "Failed to ensure model cache PVC: %s", trouble.message);
    return true;
}

static bool read_gpu(struct isvc *svc)
{
    struct error err;
    return svc->metal ||
           gpu_read(svc->arena, svc->settings, &svc->model, svc->raw, &svc->gpu, &err) ||
           isvc_fail(svc, "%s", err.text);
}

/* Without an admission webhook, a service that exceeds a quota can be stored, so it is held here.
 * It keeps what it already has. */
static bool check_quota(struct isvc *svc)
{
    int64_t running = json_get_int(svc->live, "spec.replicas", 0);
    if (svc->metal || (running > 0 && running >= svc->desired))
        return true;
    const char *refusal = gpu_quota_refusal(svc->in, svc->in->object);
    if (!refusal)
        return true;
    plan_condition(svc->out, "QuotaExceeded", true, "GPUQuotaExceeded", "%s", refusal);
    return isvc_pend(svc, "%s", refusal);
}

static bool plan_workload(struct isvc *svc)
{
    if (svc->metal)
        return true;
    if (!deployment_plan(svc))
        return false;
    service_plan(svc);
    autoscaler_plan(svc);
    return true;
}

static bool (*const steps[])(struct isvc *svc) = {
    read_models,
    plan_claim,
    check_draft_file,
    read_gpu,
    check_quota,
    plan_workload,
};

/* ---- advice ---- */

/* Settings that work, but probably not as intended. */
static void advise(struct isvc *svc)
{
    const struct isvc_spec *spec = &svc->spec;
    bool offloads = spec->moe_cpu_offload || spec->moe_cpu_layers > 0 || spec->no_kv_offload;
    if (offloads && text_empty(spec->memory) && text_empty(spec->host_memory))
        plan_event(svc->out,
            true,
            "MissingMemoryRequest",
            "Weights or KV cache are kept in host memory, but neither spec.resources.memory nor "
            "hostMemory asks for any: the node may run out of it");
    bool fetched_by_runtime = svc->model.source.origin == SOURCE_HF_REPO &&
                              json_or_absent(svc->model.files).type == JSON_ABSENT;
    if (svc->stages && fetched_by_runtime)
        plan_event(svc->out,
            true,
            "MissingSkipModelInit",
            "The Model names a whole repository, which the runtime fetches itself; set "
            "spec.skipModelInit, or the download before it fails");
    if (svc->stages && text_eq(spec->persistence, "Ephemeral") &&
        text_empty(spec->ephemeral_storage))
        plan_event(svc->out,
            true,
            "UnboundedEphemeralCache",
            "modelCache.persistence is Ephemeral and spec.resources.ephemeralStorage is not set: "
            "the weights fill the node's disk without a limit");
}

/* VLLMSpecValid and the like report settings that have no effect or the wrong one. They become True
 * only if they were False before, so a service without problems has no such condition. An agent on
 * a Mac has settings of its own. */
static void plan_findings(struct isvc *svc)
{
    const char *condition = svc->runtime->condition;
    if (!condition || svc->metal)
        return;
    if (!svc->model_ready) {
        isvc_condition_keep(svc, condition);
        return;
    }
    struct runtime_input in = {
        .settings = svc->settings,
        .model = &svc->model,
        .spec = svc->raw,
        .gpu = &svc->gpu,
    };
    struct runtime_finding found = runtime_check(svc->arena, svc->runtime, &in);
    if (found.reason)
        plan_condition(svc->out, condition, false, found.reason, "%s", found.message);
    else if (json_present(isvc_condition(svc, condition)))
        plan_condition(
            svc->out, condition, true, "ConfigValid", "The runtime's settings are valid");
    if (text_eq(found.reason, "CPUOffloadUnverified"))
        plan_event(svc->out, true, found.reason, "%s", found.message);
}

/* ---- the kind ---- */

static void observe(struct isvc *svc)
{
    const char *selector = arena_printf(svc->arena, "inference.llmkube.dev/service=%s", svc->child);
    svc->pods = view_list(svc->in, &RESOURCE_POD, svc->ns, selector);
    svc->ready = json_get_int(svc->live, "status.readyReplicas", 0);
    if (svc->metal)
        metal_observe(svc);
    else if (svc->model_ready && !svc->ended)
        svc->scheduling = diagnosis_scheduling(svc);
    diagnosis_crashes(svc);
    diagnosis_pods(svc);
    svc->acceleration = diagnosis_acceleration(svc);
    rollout_recycle(svc);
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    plan_keep_children(out);
    plan_status(out,
        json_fields(in->arena, { "phase", json_str(isvc_phase_name(PHASE_FAILED)) }),
        "lastUpdated");
    plan_condition(out, "Degraded", true, "Failed", "%s", err->text);
    plan_wait(out, "%s", err->text);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct isvc svc;
    struct error err;
    if (!isvc_read(&svc, in, out, &err)) {
        unreadable(in, out, &err);
        return;
    }
    pool_member_follow(&svc);
    for (size_t i = 0; i < lengthof(steps) && !svc.ended; i++)
        steps[i](&svc);
    if (svc.ended)
        deployment_stop(&svc);
    gateway_plan(&svc);
    slo_plan(&svc);
    if (svc.model_ready)
        advise(&svc);
    plan_findings(&svc);
    observe(&svc);
    isvc_plan_status(&svc);
}

static const struct kind_watch watches[] = {
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep = (const char *const[]){ "metadata.creationTimestamp", "status.phase", NULL },
    },
    { .resource = &LLMKUBE_MODEL, .keep = (const char *const[]){ "spec", "status", NULL } },
    {
        .resource = &RESOURCE_DEPLOYMENT,
        .child = true,
        .keep = (const char *const[]){ "metadata.generation",
            "spec.replicas",
            "spec.template.metadata.annotations",
            "status.observedGeneration",
            "status.readyReplicas",
            "status.replicas",
            "status.updatedReplicas",
            NULL },
    },
    {
        .resource = &RESOURCE_SERVICE,
        .child = true,
        .keep = (const char *const[]){ "spec.clusterIP", NULL },
    },
    { .resource = &RESOURCE_HPA, .child = true },
    { .resource = &LLMKUBE_GPU_QUOTA },
    { .resource = &LLMKUBE_MODEL_POOL },
    {
        .resource = &LLMKUBE_NAMESPACE,
        .optional = true,
        .keep = (const char *const[]){ "metadata.labels", NULL },
    },
    { .resource = &RESOURCE_PVC, .child = true, .lasting = true },
    {
        .resource = &RESOURCE_POD,
        .label_selector = "inference.llmkube.dev/service",
        .index_label = "inference.llmkube.dev/service",
        .keep = (const char *const[]){ "metadata.creationTimestamp",
            "metadata.labels",
            "spec.nodeName",
            "status.conditions",
            "status.containerStatuses",
            "status.initContainerStatuses",
            "status.phase",
            "status.podIP",
            "status.startTime",
            NULL },
    },
    {
        .resource = &RESOURCE_ENDPOINT_SLICE,
        .index_label = "kubernetes.io/service-name",
        .keep =
            (const char *const[]){ "metadata.annotations", "metadata.labels", "endpoints", NULL },
    },
    { .resource = &GATEWAY_BACKEND, .optional = true, .child = true },
    { .resource = &GATEWAY_AI_BACKEND, .optional = true, .child = true },
    { .resource = &GATEWAY_AI_ROUTE, .optional = true, .child = true },
    { .resource = &SLO_OBJECTIVE, .optional = true, .child = true },
    { 0 },
};

/* Members of a ModelPool change their own spec.replicas. */
static const struct kind_grant grants[] = {
    { .group = "inference.llmkube.dev", .what = "inferenceservices", .verbs = "patch" },
    { 0 },
};

const struct kind llmkube_inference_service_kind = {
    .resource = &LLMKUBE_INFERENCE_SERVICE,
    .watches = watches,
    .grants = grants,
    .reconcile = reconcile,
    .unreadable = unreadable,
    .measure = measures_inference_service,
};
