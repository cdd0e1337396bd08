/* A local source on a cluster: the operator copies it into its own cache directory to get its size,
 * digest and header. (Pods use the file of their node.) A file that is missing, unreadable,
 * truncated or has the wrong digest is checked again every five minutes, and immediately when the
 * spec changes. On one machine it is used in place (model_in_place.c). */

#include "kinds/llmkube/model_pass.h"

/* `length`: of a source that has changed, so that a copy of another length is replaced; -1: any
 * existing copy is valid. */
static struct json copy_args(const struct model_pass *p, int64_t length)
{
    const char *root = p->settings->model_cache_path;
    struct arena *a = p->arena;
    return json_fields(a,
        { "path", json_str(p->m.source.path) },
        { "directory", json_strf(a, "%s/%s", text_empty(root) ? "/models" : root, p->m.key) },
        { "name", json_str(p->m.name) },
        { "sha256", json_str(p->m.sha256) },
        { "size", json_if(length >= 0, json_int(length)) });
}

/* In steps of ten percent: each step is a write. */
static const char *progress_text(const struct model_pass *p, struct json progress)
{
    int64_t bytes = json_get_int(progress, "bytes", 0), total = json_get_int(progress, "total", 0);
    if (bytes <= 0 || total <= 0 || bytes > total)
        return "Started copying local model";
    return arena_printf(p->arena,
        "Started copying local model: %d%% of %s",
        (int)((double)bytes / (double)total * 10) * 10,
        model_size_text(p->arena, total));
}

/* A failure that was reported for this generation stays until the next attempt has ended, so that
 * an attempt does not make the phase flip back and forth. */
static bool failure_stands(struct model_pass *p, struct json fact)
{
    struct json degraded = model_condition(p, "Degraded");
    bool told = text_eq(p->m.phase, "Failed") &&
                text_eq(json_get_text(degraded, "status"), "True") &&
                json_get_int(degraded, "observedGeneration", -1) ==
                    json_get_int(p->m.object, "metadata.generation", 0);
    if (!told || json_get_int(fact, "progress.bytes", 0) > 0)
        return false;
    model_end_failed(
        p, json_get_text(degraded, "reason"), p->m.key, json_get_text(degraded, "message"));
    return true;
}

struct failure {
    const char *reason;
    const char *message;
};

/* In upstream's recorded words where possible: users search for them. */
static struct failure failure_of(struct model_pass *p, struct json error)
{
    const char *code = json_get_text(error, "code"), *path = p->m.source.path;
    const char *message = json_get_text(error, "message");
    struct failure f = { "CopyFailed", message ? message : "the file could not be copied" };
    bool source = text_starts(f.message, path); /* not the cache's directory */
    bool missing = text_eq(code, error_code_name(ERR_NOT_FOUND));
    bool forbidden = text_eq(code, error_code_name(ERR_FORBIDDEN));
    if (model_error_is_transient(error))
        p->retry_cause = f.message;
    if (text_starts(f.message, "spec.sha256 "))
        f.reason = "IntegrityCheckFailed";
    else if (source && strstr(f.message, " is cut short: "))
        f.reason = MODEL_CUT;
    else if (source && missing)
        f.message = arena_printf(
            p->arena, "failed to open local model file: open %s: no such file or directory", path);
    else if (source && forbidden && text_ends(f.message, "denied"))
        f.message = arena_printf(
            p->arena, "failed to open local model file: open %s: permission denied", path);
    return f;
}

/* Starts the copy, and returns what is known about it. */
static struct json ask_for_copy(struct model_pass *p, int64_t length)
{
    struct json args = copy_args(p, length);
    plan_effect(p->out, "model.copy", args, PLAN_WAIT_RECHECK_MS);
    return view_fact(p->in, "model.copy", args);
}

static struct model_ready copied(struct model_pass *p, struct json fact)
{
    struct json result = json_get(fact, "result");
    bool cached = json_get_bool(result, "cached", false);
    int64_t size = json_get_int(result, "size", 0);
    struct model_ready r = {
        .reason = cached ? "ModelCached" : "ModelReady",
        .message = cached ? "The cache has it already" : "Model downloaded and cached",
        .cache_key = p->m.key,
        .path = json_get_text(result, "path"),
        .size = model_size_text(p->arena, size),
        .sha256 = json_get_text(result, "sha256"),
        .gguf = json_get(result, "gguf"),
    };
    model_baseline(p, &r, NULL, size, json_get_int(fact, "at", p->in->now_ms));
    return r;
}

/* The first copy, or one after a failure. */
static void copy(struct model_pass *p)
{
    struct json fact = ask_for_copy(p, -1);
    if (!model_fact_ended(fact)) {
        if (!failure_stands(p, fact))
            model_end_progressing(p,
                "Copying",
                "CopyStarted",
                p->m.key,
                progress_text(p, json_get(fact, "progress")));
        return;
    }
    if (json_present(json_get(fact, "error"))) {
        struct failure f = failure_of(p, json_get(fact, "error"));
        model_end_failed(p, f.reason, p->m.key, f.message);
        return;
    }
    struct model_ready r = copied(p, fact);
    if (p->m.sha256 && !text_eq(r.sha256, p->m.sha256)) {
        const char *message = arena_printf(p->arena,
            "spec.sha256 is %s, but the copy has %s: correct the one or replace the other",
            p->m.sha256,
            r.sha256 ? r.sha256 : "not known");
        model_end_failed(p, "IntegrityCheckFailed", p->m.key, message);
        return;
    }
    model_end_ready(p, &r);
}

/* A changed source under OnChange: the old copy is served until the new one is complete. */
static void copy_again(struct model_pass *p, int64_t length, struct model_ready *r)
{
    struct json fact = ask_for_copy(p, length);
    if (json_present(json_get(fact, "result"))) {
        *r = copied(p, fact);
        return;
    }
    if (json_present(json_get(fact, "error"))) {
        struct failure f = failure_of(p, json_get(fact, "error"));
        p->progress = (struct model_progress){ f.reason, f.message, false };
        p->recheck_ms = PLAN_WAIT_RECHECK_MS;
    } else {
        const char *text = progress_text(p, json_get(fact, "progress"));
        p->progress = (struct model_progress){ "CopyStarted", text, true };
    }
}

static struct model_ready as_before(struct model_pass *p)
{
    bool cached = model_condition_is(p, "Available", "ModelCached");
    struct model_ready r = {
        .reason = cached ? "ModelCached" : "ModelReady",
        .message = cached ? "The cache has it already" : "Model downloaded and cached",
        .cache_key = p->m.key,
        .path = p->m.path,
        .size = json_get_text(p->status, "size"),
        .sha256 = json_get_text(p->status, "sha256"),
        .gguf = json_get(p->status, "gguf"),
    };
    model_baseline_before(p, &r);
    return r;
}

void model_reconcile_local(struct model_pass *p)
{
    if (model_is_metal(&p->m)) {
        model_end_ready(p,
            &(struct model_ready){
                .reason = "MetalAgentManaged",
                .message = "Source is a local path on the Metal node; the host metal-agent loads"
                           " the model directly",
                .size = "0",
            });
        return;
    }
    if (model_is_in_place(p->settings, &p->m)) {
        model_reconcile_in_place(p);
        return;
    }
    struct model_ready r = as_before(p);
    bool right = !p->m.sha256 || text_eq(r.sha256, p->m.sha256);
    if (!text_eq(p->m.phase, "Ready") || !*p->m.path || !right) {
        copy(p);
        return;
    }
    int64_t length = model_revalidate(p, p->m.source.path, &r);
    if (length >= 0 && text_eq(p->m.refresh_policy, "OnChange"))
        copy_again(p, length, &r);
    model_end_ready(p, &r);
}
