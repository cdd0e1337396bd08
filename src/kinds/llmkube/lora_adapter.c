/* LoRAAdapter: an adapter that is loaded into every pod of a running SGLang server, loaded again
 * after a restart, and unloaded when the object is deleted. */

#include "kinds/llmkube/lora_adapter.h"

#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/runtime.h"

#define RETRY_MS 30000

const struct resource LLMKUBE_LORA_ADAPTER = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "LoRAAdapter",
    .plural = "loraadapters",
};

struct lora {
    const struct view *in;
    struct plan *out;
    struct arena *arena;
    const char *service, *ns; /* of the InferenceService */
    const char *name, *path;
    struct json object; /* the InferenceService */
};

/* The combined result of the calls to all pods. */
struct calls {
    size_t pods, ended, failed;
    bool already;        /* every server reported this */
    const char *message; /* of the first failure */
};

static bool is_ready(struct json pod)
{
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    return text_eq(json_get_text(ready, "status"), "True") &&
           !text_empty(json_get_text(pod, "status.podIP"));
}

/* A server that restarts has lost its adapters, so the call is repeated. */
static struct json call_args(
    const struct lora *l, struct json pod, const char *path, struct json body)
{
    const char *ip = json_get_text(pod, "status.podIP");
    int64_t port = runtime_container_port(&runtime_sglang, json_get(l->object, "spec"));
    return json_map(l->arena,
        { "address",
            json_strf(l->arena, strchr(ip, ':') ? "[%s]:%lld" : "%s:%lld", ip, (long long)port) },
        { "path", json_str(path) },
        { "body", body },
        { "pod", json_get(pod, "metadata.uid") },
        { "starts", json_get(pod, "status.containerStatuses.0.restartCount") });
}

static void add_call(struct lora *l, struct json args, struct calls *c)
{
    struct json fact = view_fact(l->in, "lora.call", args);
    struct json result = json_get(fact, "result");
    const char *error = json_get_text(fact, "error.message");
    plan_effect(l->out, "lora.call", args, json_present(result) ? 0 : RETRY_MS);
    c->ended += json_present(result) || error;
    c->failed += error != NULL;
    c->already = c->already && json_get_bool(result, "already", false);
    if (error && !c->message)
        c->message = error;
}

static struct calls call_all(struct lora *l, const char *path, struct json body)
{
    struct calls c = { .already = true };
    const char *label = inference_service_label(l->arena, l->service);
    const char *selector = arena_printf(l->arena, "inference.llmkube.dev/service=%s", label);
    json_each (pod, view_list(l->in, &RESOURCE_POD, l->ns, selector)) {
        if (!is_ready(*pod) || l->out->effect_count == PLAN_MAX_EFFECTS)
            continue;
        c.pods++;
        add_call(l, call_args(l, *pod, path, body), &c);
    }
    return c;
}

static struct calls unload(struct lora *l)
{
    struct json body = json_map(l->arena, { "lora_name", json_str(l->name) });
    return call_all(l, "/unload_lora_adapter", body);
}

static struct calls load(struct lora *l)
{
    struct json body =
        json_map(l->arena, { "lora_name", json_str(l->name) }, { "lora_path", json_str(l->path) });
    return call_all(l, "/load_lora_adapter", body);
}

/* ---- status ---- */

static void plan_told(
    struct lora *l, bool loaded, const char *reason, const char *message, const char *error)
{
    struct json status = json_get(l->in->object, "status");
    struct json at = json_get(status, "lastLoadedAt"), path = json_get(status, "loadedPath");
    bool was = text_eq(json_text(path), l->path);
    if (loaded && (!was || !json_present(at))) {
        at = json_str(time_format(l->arena, l->in->now_ms));
        path = json_str(l->path);
    }
    plan_status(
        l->out, json_fields(l->arena, { "loadedPath", path }, { "lastLoadedAt", at }), NULL);
    plan_condition(l->out, "Loaded", loaded, reason, "%s", message);
    if (loaded)
        plan_condition(l->out, "Error", false, reason, "no error");
    else
        plan_condition(l->out, "Error", true, reason, "%s", error);
}

/* The adapter cannot be loaded until a user changes something. */
static void plan_refused(
    struct lora *l, const char *reason, const char *message, const char *loaded, const char *error)
{
    plan_condition(l->out, "Available", false, reason, "%s", message);
    plan_told(l, false, reason, loaded, error);
    plan_wait(l->out, "%s", message);
}

static void plan_missing(struct lora *l)
{
    const char *message = arena_printf(
        l->arena, "InferenceService.inference.llmkube.dev \"%s\" not found", l->service);
    plan_refused(l,
        "InferenceServiceNotFound",
        message,
        "waiting for the referenced InferenceService to exist",
        message);
}

static void plan_mismatch(struct lora *l)
{
    const char *runtime = json_get_text(l->object, "spec.runtime");
    plan_refused(l,
        "RuntimeMismatch",
        arena_printf(l->arena,
            "referenced InferenceService/%s/%s runtime=\"%s\", expected sglang",
            l->ns,
            l->service,
            runtime ? runtime : "llamacpp"),
        "skipped: target runtime is not sglang",
        "load cannot proceed against a non-sglang runtime");
}

static void plan_loading(struct lora *l)
{
    static const char first[] = "the adapter of another path is unloaded first";
    const char *before = json_get_text(l->in->object, "status.loadedPath");
    plan_condition(
        l->out, "Available", true, "ReconcileSuccess", "InferenceService exists and is sglang");
    /* A server keeps the old weights under a name that it has already loaded. */
    if (!text_empty(before) && !text_eq(before, l->path)) {
        struct calls gone = unload(l);
        if (gone.ended < gone.pods) {
            plan_told(l, false, "LoadUnsuccessful", first, first);
            plan_recheck(l->out, RETRY_MS);
            return;
        }
    }
    struct calls c = load(l);
    if (c.pods && c.ended == c.pods && !c.failed) {
        plan_told(l,
            true,
            c.already ? "AlreadyLoaded" : "ReconcileSuccess",
            arena_printf(l->arena, "loaded into %zu pod(s)", c.pods),
            NULL);
        plan_done(l->out);
        return;
    }
    const char *message = c.message ? c.message
                          : c.pods  ? "the server has not answered yet"
                                    : "the InferenceService has no pod that is ready";
    plan_told(l, false, "LoadUnsuccessful", message, message);
    plan_recheck(l->out, RETRY_MS);
}

/* ---- the kind ---- */

/* Best effort: a failure to unload must not block the deletion. */
static void plan_unloading(struct lora *l)
{
    plan_done(l->out);
    if (!text_eq(json_get_text(l->object, "spec.runtime"), "sglang") ||
        text_empty(json_get_text(l->in->object, "status.loadedPath")))
        return;
    struct calls c = unload(l);
    if (c.ended == c.pods)
        return;
    plan_stay(l->out);
    plan_status(l->out, json_get(l->in->object, "status"), NULL);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct json spec = json_get(in->object, "spec");
    const char *ns = json_get_text(spec, "inferenceServiceRef.namespace");
    struct lora l = {
        .in = in,
        .out = out,
        .arena = in->arena,
        .service = json_get_text(spec, "inferenceServiceRef.name"),
        .ns = text_empty(ns) ? view_namespace(in) : ns,
        .name = json_get_text(spec, "name"),
        .path = json_get_text(spec, "path"),
    };
    if (text_empty(l.service) || text_empty(l.name) || text_empty(l.path)) {
        static const char needed[] = "spec needs inferenceServiceRef.name, name and path";
        plan_refused(&l, "ReconcilerError", needed, needed, needed);
        return;
    }
    l.object = view_get_in(in, &LLMKUBE_INFERENCE_SERVICE, l.ns, l.service);
    if (json_present(json_get(in->object, "metadata.deletionTimestamp")))
        plan_unloading(&l);
    else if (!json_present(l.object))
        plan_missing(&l);
    else if (!text_eq(json_get_text(l.object, "spec.runtime"), "sglang"))
        plan_mismatch(&l);
    else
        plan_loading(&l);
}

static const struct kind_watch watches[] = {
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep = (const char *const[]){ "spec.runtime", "spec.containerPort", NULL },
    },
    {
        .resource = &RESOURCE_POD,
        .label_selector = "inference.llmkube.dev/service",
        .index_label = "inference.llmkube.dev/service",
        .keep = (const char *const[]){ "metadata.labels",
            "status.conditions",
            "status.containerStatuses",
            "status.podIP",
            NULL },
    },
    { 0 },
};

const struct kind llmkube_lora_adapter_kind = {
    .resource = &LLMKUBE_LORA_ADAPTER,
    .watches = watches,
    .finalizer = "loraadapter.inference.llmkube.dev/finalizer",
    .reconcile = reconcile,
};
