/* How a pass over a Model ends: status, conditions, outcome; and whether its accelerator exists. */

#include "kinds/llmkube/model_pass.h"

#include "base/resource.h"

const struct resource MODEL_DEVICE_CLAIM = {
    "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", false
};
const struct resource MODEL_DEVICE_CLAIM_TEMPLATE = {
    "resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates", false
};

/* ---- conditions ---- */

struct json model_condition(const struct model_pass *p, const char *type)
{
    return json_find(json_get(p->status, "conditions"), "type", type);
}

bool model_condition_is(const struct model_pass *p, const char *type, const char *reason)
{
    return text_eq(json_get_text(model_condition(p, type), "reason"), reason);
}

void model_keep_condition(struct model_pass *p, struct json condition)
{
    const char *type = json_get_text(condition, "type");
    const char *reason = json_get_text(condition, "reason");
    const char *message = json_get_text(condition, "message");
    bool status = text_eq(json_get_text(condition, "status"), "True");
    if (type && reason)
        plan_condition(p->out, type, status, reason, "%s", message ? message : "");
}

/* A condition that was reported and no longer holds becomes False. One that was never reported is
 * not added. */
static void close_condition(
    struct model_pass *p, const char *type, const char *reason, const char *message)
{
    if (json_present(model_condition(p, type)))
        plan_condition(p->out, type, false, reason, "%s", message);
}

static void say_progress(struct model_pass *p)
{
    const struct model_progress *said = &p->progress;
    if (said->reason)
        plan_condition(p->out, "Progressing", said->under_way, said->reason, "%s", said->message);
    else
        close_condition(p, "Progressing", "Superseded", "Nothing is under way");
}

/* ---- ends ---- */

void model_end_ready(struct model_pass *p, const struct model_ready *r)
{
    plan_status(p->out,
        json_fields(p->arena,
            { "phase", json_str("Ready") },
            { "acceleratorReady", json_true_or_absent(model_accelerator_ready(p)) },
            { "cacheKey", json_str_or_absent(r->cache_key) },
            { "path", json_str_or_absent(r->path) },
            { "size", json_str_or_absent(r->size) },
            { "sha256", json_str_or_absent(r->sha256) },
            { "gguf", r->gguf },
            { "stagedFiles", r->staged_files },
            { "sourceETag", json_str_or_absent(r->etag) },
            { "sourceContentLength", json_int_or_absent(r->content_length) },
            { "lastRevalidated", json_str_or_absent(r->revalidated) }),
        "lastUpdated");
    plan_condition(p->out, "Available", true, r->reason, "%s", r->message);
    if (json_present(r->drifted))
        model_keep_condition(p, r->drifted);
    say_progress(p);
    close_condition(p, "Degraded", "Superseded", "The Model is Ready");
    if (p->retry_cause)
        plan_retry(p->out, "%s", p->retry_cause);
    else if (p->recheck_ms > 0)
        plan_recheck(p->out, p->recheck_ms);
    else
        plan_done(p->out);
}

void model_end_failed(
    struct model_pass *p, const char *reason, const char *cache_key, const char *message)
{
    plan_status(p->out,
        json_fields(p->arena,
            { "phase", json_str("Failed") },
            { "cacheKey", json_str_or_absent(cache_key) }),
        NULL);
    plan_condition(p->out, "Degraded", true, reason, "%s", message);
    close_condition(p, "Available", reason, message);
    say_progress(p);
    if (p->retry_cause)
        plan_retry(p->out, "%s", p->retry_cause);
    else
        plan_wait(p->out, "%s", message);
}

void model_end_progressing(struct model_pass *p, const char *phase, const char *reason,
    const char *cache_key, const char *message)
{
    plan_status(p->out,
        json_fields(
            p->arena, { "phase", json_str(phase) }, { "cacheKey", json_str_or_absent(cache_key) }),
        NULL);
    plan_condition(p->out, "Progressing", true, reason, "%s", message);
    close_condition(p, "Available", reason, message);
    close_condition(p, "Degraded", "Superseded", "Work is under way");
    if (p->retry_cause)
        plan_retry(p->out, "%s", p->retry_cause);
    else if (text_eq(phase, "Pending"))
        plan_wait(p->out, "%s", message);
    else
        plan_done(p->out);
}

void model_end_asking(struct model_pass *p)
{
    plan_keep_children(p->out);
    plan_done(p->out);
}

/* ---- accelerator ---- */

static bool claims_exist(const struct model_pass *p, struct json claims)
{
    for (uint32_t i = 0; i < claims.count; i++) {
        const char *name = json_get_text(claims.items[i], "resourceClaimName");
        const struct resource *resource = name ? &MODEL_DEVICE_CLAIM : &MODEL_DEVICE_CLAIM_TEMPLATE;
        if (!name)
            name = json_get_text(claims.items[i], "resourceClaimTemplateName");
        if (!view_served(p->in, resource) || !json_present(view_get(p->in, resource, name)))
            return false;
    }
    return true;
}

static const char *accelerator_resource(const struct model_pass *p)
{
    const char *named = json_get_text(p->m.gpu, "resourceName");
    const char *accelerator = p->m.accelerator;
    if (!text_empty(named))
        return named;
    if (text_eq(accelerator, "intel"))
        return text_empty(p->settings->intel_gpu_resource) ? "gpu.intel.com/i915"
                                                           : p->settings->intel_gpu_resource;
    bool render = text_eq(accelerator, "vulkan") || text_eq(accelerator, "rocm");
    return render ? "devic.es/dri-render" : "nvidia.com/gpu";
}

/* Only advice for users: nothing waits for it. True if nodes may not be listed. */
bool model_accelerator_ready(const struct model_pass *p)
{
    const char *accelerator = p->m.accelerator;
    if (text_empty(accelerator) || text_eq(accelerator, "cpu") || text_eq(accelerator, "metal"))
        return true;
    struct json claims = json_get(p->m.gpu, "resourceClaims");
    if (json_is(claims, JSON_LIST) && claims.count)
        return claims_exist(p, claims);
    if (!view_served(p->in, &RESOURCE_NODE))
        return true;
    struct json nodes = view_list(p->in, &RESOURCE_NODE, NULL, NULL);
    const char *resource = accelerator_resource(p);
    for (uint32_t i = 0; json_is(nodes, JSON_LIST) && i < nodes.count; i++) {
        struct json capacity = json_get(nodes.items[i], "status.capacity");
        const char *there = json_text(json_member(capacity, resource));
        if (there && !text_eq(there, "0"))
            return true;
    }
    return false;
}

/* ---- facts ---- */

bool model_error_is_transient(struct json error)
{
    const char *code = json_get_text(error, "code");
    for (enum error_code c = ERR_TIMEOUT; c <= ERR_CANCELLED; c++)
        if (text_eq(code, error_code_name(c)))
            return true;
    return false;
}

const char *model_size_text(struct arena *a, int64_t bytes)
{
    double size = (double)bytes;
    int unit = -1;
    for (; size >= 1024 && unit < 5; unit++)
        size /= 1024;
    if (unit < 0)
        return arena_printf(a, "%lld B", (long long)bytes);
    return arena_printf(a, "%.1f %ciB", size, "KMGTPE"[unit]);
}
