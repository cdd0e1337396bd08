/* A Model names one set of weights. A pass decides: may the source be used, who fetches it, and
 * what is known about it. Pods fetch the weights; the operator copies only local files.
 *
 *   gates      a local source outside the allowed roots, an invalid file list or source
 *   prefetch   if requested, a Job fills the shared cache first               (prefetch.c)
 *   by class   PVC            is the claim bound?
 *              repository     the runtime fetches it
 *              http, s3       the pod fetches it; the operator reads its header
 *              local          the operator copies it                          (model_local.c)
 *   drift      at intervals: has the source changed?                          (model_drift.c) */

#include "kinds/llmkube/measures.h"
#include "kinds/llmkube/model_pass.h"

#include "base/resource.h"
#include "base/time.h"

#define MODEL_PATIENCE_MS ((int64_t)10 * 60 * 1000)

const struct resource LLMKUBE_MODEL = {
    "inference.llmkube.dev", "v1alpha1", "Model", "models", false
};

/* ---- who fetches it ---- */

static void reconcile_pvc(struct model_pass *p)
{
    const struct source *source = &p->m.source;
    struct json claim = view_get(p->in, &RESOURCE_PVC, source->host);
    if (!json_present(claim)) {
        model_end_failed(p,
            "PVCNotFound",
            NULL,
            arena_printf(p->arena,
                "There is no claim \"%s\" in namespace \"%s\": create it, or name another in "
                "spec.source",
                source->host,
                p->m.ns));
        return;
    }
    const char *phase = json_get_text(claim, "status.phase");
    if (!text_eq(phase, "Bound")) {
        model_end_progressing(p,
            "Pending",
            "PVCNotBound",
            NULL,
            arena_printf(p->arena,
                "PVC \"%s\" is %s, waiting for it to be Bound",
                source->host,
                phase ? phase : "Pending"));
        return;
    }
    model_end_ready(p,
        &(struct model_ready){
            .reason = "PVCModelReady",
            .message = arena_printf(p->arena, "Model available on PVC \"%s\"", source->host),
            .cache_key = p->m.key,
            .path = arena_printf(p->arena, "/model-source/%s", source->path),
        });
}

/* The status of a Model that has been Ready with this source. */
static struct model_ready as_before(const struct model_pass *p)
{
    struct model_ready r = {
        .size = json_get_text(p->status, "size"),
        .gguf = json_get(p->status, "gguf"),
    };
    if (p->m.source.origin == SOURCE_HTTP)
        model_baseline_before(p, &r);
    return r;
}

static void reconcile_repository(struct model_pass *p)
{
    struct model_ready r = {
        .reason = "RuntimeResolved",
        .message = "Source is runtime-resolved (e.g., HuggingFace repo ID); runtime will fetch at"
                   " startup",
        .size = "0",
        .staged_files = json_or_absent(model_files(p->arena, &p->m)),
    };
    if (model_prefetched(p)) {
        r.reason = "ModelPrefetched";
        r.message = MODEL_PREFETCHED;
        r.cache_key = p->m.key;
        r.size = json_get_text(p->status, "size");
    }
    model_end_ready(p, &r);
}

static struct json probe_args(const struct model_pass *p)
{
    return json_fields(p->arena,
        { "source", json_str(p->m.source.text) },
        { "secret", json_str(p->m.secret_name) },
        { "namespace", json_str(p->m.ns) });
}

/* A source that answers 503 or 429 is retried with growing delays, but not forever: pods may be
 * more successful. */
static bool is_busy(const struct model_pass *p, struct json fact)
{
    struct json told = model_condition(p, "Progressing");
    int64_t since_ms;
    bool patient = !text_eq(json_get_text(told, "reason"), "SourceBusy") ||
                   !time_parse(json_get_text(told, "lastTransitionTime"), &since_ms) ||
                   p->in->now_ms - since_ms < MODEL_PATIENCE_MS;
    return patient && text_eq(json_get_text(fact, "error.code"), error_code_name(ERR_BUSY));
}

/* The file's header is read once, before the Model first becomes Ready, and never after: the name
 * in it becomes the file name in the cache, so a later change would download tens of gigabytes
 * again. A failure to read it is ignored: pods may reach what the operator cannot. False: the pass
 * has ended. */
static bool look_at_header(struct model_pass *p, struct model_ready *r)
{
    bool object = p->m.source.origin == SOURCE_S3;
    r->size = "0";
    if (model_has_files(&p->m) || (object && !p->m.secret_name))
        return true;
    struct json args = probe_args(p);
    struct json fact = view_fact(p->in, "model.probe", args);
    struct json result = json_get(fact, "result");
    const char *cut = json_get_text(result, "cut");
    plan_effect(p->out, "model.probe", args, cut ? PLAN_WAIT_RECHECK_MS : 0);
    if (!model_fact_ended(fact)) {
        model_end_asking(p);
        return false;
    }
    if (cut) {
        model_end_failed(p,
            MODEL_CUT,
            p->m.key,
            arena_printf(p->arena, "%s; put the whole file there, or name another source", cut));
        return false;
    }
    if (is_busy(p, fact)) {
        p->retry_cause = json_get_text(fact, "error.message");
        model_end_progressing(p, "Pending", "SourceBusy", p->m.key, p->retry_cause);
        return false;
    }
    int64_t size = json_get_int(result, "size", 0);
    r->gguf = json_get(result, "gguf");
    if (json_present(r->gguf) && size > 0)
        r->size = model_size_text(p->arena, size);
    const char *etag = json_get_text(result, "etag");
    int64_t length = json_get_int(result, "contentLength", 0);
    if (!object && (!text_empty(etag) || length > 0))
        model_baseline(p, r, etag, length, json_get_int(fact, "at", p->in->now_ms));
    return true;
}

/* On one machine the files that pods have fetched are visible. */
static struct json look_at_claims(struct model_pass *p)
{
    struct arena *a = p->arena;
    if (!p->settings->claims)
        return json_none;
    struct json args = json_fields(a,
        { "path", json_strf(a, "%s/%s", p->settings->claims, p->m.ns) },
        { "key", json_str(p->m.key) });
    plan_effect(p->out, "model.staged", args, PLAN_WAIT_RECHECK_MS);
    return view_fact(p->in, "model.staged", args);
}

/* In steps of ten percent, because each step is a write. */
static void tell_download(struct model_pass *p, struct json fact, int64_t total)
{
    struct arena *a = p->arena;
    int64_t bytes = json_get_int(fact, "progress.bytes", 0);
    if (bytes <= 0 || model_fact_ended(fact))
        return;
    const char *message = "A pod fetches the model";
    if (bytes <= total)
        message = arena_printf(a,
            "A pod fetches the model: %d%% of %s",
            (int)((double)bytes / (double)total * 10) * 10,
            model_size_text(a, total));
    p->progress = (struct model_progress){ "Downloading", message, true };
}

/* A download from a source without a length may end early, and so may a machine. */
static bool is_cut_in_claims(struct model_pass *p, struct json fact)
{
    const char *cut = json_get_text(fact, "progress.cut");
    if (cut)
        model_end_failed(p,
            MODEL_CUT,
            p->m.key,
            arena_printf(p->arena,
                "%s; delete the services that use it, then `leeboard models remove %s`, and apply "
                "them again: then it is fetched again",
                cut,
                p->m.name));
    return cut;
}

/* http, https, s3: an init container of the serving pod, or the agent on a Metal node. */
static void reconcile_remote(struct model_pass *p)
{
    bool settled = text_eq(p->m.phase, "Ready");
    struct model_ready r = settled ? as_before(p) : (struct model_ready){ 0 };
    r.reason = "WorkloadResolved";
    r.message = model_is_metal(&p->m)
                    ? "Source is a remote URL; the host metal-agent will fetch the model into its"
                      " model store when the InferenceService is reconciled"
                    : "Source is a remote URL; the InferenceService Pod's init container will fetch"
                      " the model into the per-namespace model cache PVC at startup";
    r.cache_key = p->m.key;
    r.staged_files = json_or_absent(model_files(p->arena, &p->m));
    if (model_prefetched(p)) {
        r.reason = "ModelPrefetched";
        r.message = MODEL_PREFETCHED;
    }
    struct json staged = look_at_claims(p);
    if (is_cut_in_claims(p, staged) || (!settled && !look_at_header(p, &r)))
        return;
    if (p->m.source.origin == SOURCE_HTTP)
        (void)model_revalidate(p, p->m.source.text, &r);
    tell_download(p, staged, r.content_length);
    model_end_ready(p, &r);
}

static void reconcile_s3(struct model_pass *p)
{
    if (!*p->m.source.path && !model_has_files(&p->m)) {
        model_end_failed(p,
            "InvalidSource",
            NULL,
            arena_printf(p->arena,
                "S3 source names no object: %s (expected s3://bucket/key, or spec.files)",
                p->m.source.text));
        return;
    }
    reconcile_remote(p);
}

static void reconcile_invalid(struct model_pass *p)
{
    model_end_failed(p, "InvalidSource", NULL, p->m.source.problem);
}

/* ---- the kind ---- */

/* Reasons to stop before anything is fetched. */
static bool stopped_at_a_gate(struct model_pass *p)
{
    if (!source_allowed(p->settings, &p->m.source)) {
        model_end_failed(
            p, "SourceNotAllowed", NULL, source_refusal(p->arena, p->settings, &p->m.source));
        return true;
    }
    const char *problem = model_files_problem(p->arena, &p->m);
    if (problem)
        model_end_failed(p, "InvalidFileSet", NULL, problem);
    return problem;
}

static struct model_pass pass_of(const struct view *in, struct plan *out)
{
    return (struct model_pass){
        .in = in,
        .out = out,
        .arena = in->arena,
        .settings = in->settings,
        .status = json_get(in->object, "status"),
    };
}

static void model_unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    struct model_pass p = pass_of(in, out);
    plan_keep_children(out);
    model_end_failed(&p, "InvalidSpec", NULL, arena_strdup(in->arena, err->text));
}

static void model_reconcile(const struct view *in, struct plan *out)
{
    static void (*const by_class[])(struct model_pass * p) = {
        [SOURCE_INVALID] = reconcile_invalid,
        [SOURCE_LOCAL] = model_reconcile_local,
        [SOURCE_PVC] = reconcile_pvc,
        [SOURCE_S3] = reconcile_s3,
        [SOURCE_HTTP] = reconcile_remote,
        [SOURCE_HF_REPO] = reconcile_repository,
    };
    struct model_pass p = pass_of(in, out);
    struct error err;
    if (!model_read(in->arena, in->object, &p.m, &err)) {
        model_unreadable(in, out, &err);
        return;
    }
    if (!stopped_at_a_gate(&p) && !model_prefetch(&p))
        by_class[p.m.source.origin](&p);
}

static const char *const nothing[] = { NULL };

static const struct kind_watch model_watches[] = {
    { .resource = &RESOURCE_PVC, .keep = (const char *const[]){ "status.phase", NULL } },
    { .resource = &RESOURCE_JOB,
        .child = true,
        .label_selector = "app.kubernetes.io/component=model-prefetch",
        .keep = (const char *const[]){ "status.conditions",
            "status.startTime",
            "status.completionTime",
            "spec.template.spec.initContainers",
            NULL } },
    { .resource = &RESOURCE_NODE,
        .optional = true,
        .keep = (const char *const[]){ "status.capacity", "status.allocatable", NULL } },
    { .resource = &MODEL_DEVICE_CLAIM, .optional = true, .keep = nothing },
    { .resource = &MODEL_DEVICE_CLAIM_TEMPLATE, .optional = true, .keep = nothing },
    { 0 },
};

const struct kind llmkube_model_kind = {
    .resource = &LLMKUBE_MODEL,
    .watches = model_watches,
    .reconcile = model_reconcile,
    .unreadable = model_unreadable,
    .measure = measures_model,
};
