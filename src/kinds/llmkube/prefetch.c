/* spec.prefetch: a Job with the same init containers as a serving pod fills the namespace's shared
 * cache before any service exists. This only helps if services will read that cache; otherwise a
 * condition says so, and the Model continues without it. */

#include "base/names.h"
#include "base/resource.h"
#include "kinds/llmkube/model_pass.h"
#include "kinds/llmkube/storage.h"

/* Why prefetching would be useless; NULL if it would not. */
static const char *obstacle(const struct model_pass *p)
{
    const struct source *source = &p->m.source;
    bool hub = text_starts(source->text, "hf://") || text_starts(source->text, "http");
    bool files = source->file || model_has_files(&p->m);
    if (model_is_metal(&p->m))
        return "the agent on the Metal node fetches models itself";
    if (source->origin != SOURCE_HTTP && !(source->origin == SOURCE_HF_REPO && hub))
        return "only http(s):// and hf:// sources are prefetched";
    if (source->origin == SOURCE_HF_REPO && !files)
        return "the source names a whole repository, which runtimes fetch themselves; list"
               " spec.files to prefetch some of it";
    if (text_empty(p->settings->model_cache_path))
        return "the operator runs without a model cache (--model-cache-path is empty)";
    if (p->settings->model_cache_mode != CACHE_SHARED)
        return "each service has a cache of its own (--model-cache-mode=perService), and no service"
               " would read a shared one";
    return NULL;
}

static struct json job_labels(const struct model_pass *p, bool whole)
{
    struct json model = json_str(name_shorten(p->arena, p->m.name, NAME_LABEL_MAX));
    if (name_is_label_value(p->m.name))
        model = json_str(p->m.name);
    struct json llmkube = json_str("llmkube"), by = json_str("llmkube-controller");
    return json_map(p->arena,
        { "app.kubernetes.io/name", json_if(whole, llmkube) },
        { "app.kubernetes.io/managed-by", json_if(whole, by) },
        { "app.kubernetes.io/component", json_str("model-prefetch") },
        { "inference.llmkube.dev/model", model });
}

/* Upstream's name, if it is a valid one. */
const char *model_prefetch_job(struct arena *a, const char *model)
{
    const char *plain = arena_printf(a, "%s-prefetch", model);
    bool fits = strlen(plain) <= NAME_LABEL_MAX && name_is_dns1123_subdomain(plain);
    return fits ? plain : name_join(a, model, "-prefetch", NAME_LABEL_MAX);
}

static struct json job(const struct model_pass *p, const char *name)
{
    struct arena *a = p->arena;
    struct model m = p->m;
    m.cache_key = m.key;
    struct storage storage = storage_of(
        a, p->settings, &m, &(struct storage_options){ .ns = m.ns, .claim = STORAGE_SHARED_CLAIM });
    int64_t group = p->settings->default_fsgroup;
    struct json done = json_fields(a,
        { "name", json_str("prefetch-done") },
        { "image", json_str(p->settings->init_container_image) },
        { "command",
            json_list(
                a, json_str("sh"), json_str("-c"), json_str("echo 'The model is in the cache'")) });
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.labels", job_labels(p, true) },
        { "spec.backoffLimit", json_int(2) },
        { "spec.ttlSecondsAfterFinished", json_int(24 * 60 * 60) },
        { "spec.template.metadata.labels", job_labels(p, false) },
        { "spec.template.spec.restartPolicy", json_str("Never") },
        { "spec.template.spec.securityContext.fsGroup", json_if(group > 0, json_int(group)) },
        { "spec.template.spec.initContainers", storage.init_containers },
        { "spec.template.spec.containers", json_list(a, done) },
        { "spec.template.spec.volumes", storage.volumes });
}

/* A Job of an earlier source fills another directory of the cache. */
static bool fills(const struct model_pass *p, struct json job)
{
    struct json containers = json_get(job, "spec.template.spec.initContainers");
    struct json env = json_get(json_find(containers, "name", "model-downloader"), "env");
    const char *dir = json_get_text(json_find(env, "name", "CACHE_DIR"), "value");
    return text_eq(dir, arena_printf(p->arena, "/models/%s", p->m.key));
}

static bool job_is(struct json job, const char *type)
{
    struct json condition = json_find(json_get(job, "status.conditions"), "type", type);
    return text_eq(json_get_text(condition, "status"), "True");
}

bool model_prefetched(const struct model_pass *p)
{
    return p->m.prefetch && text_eq(p->m.phase, "Ready") &&
           text_eq(json_get_text(p->status, "cacheKey"), p->m.key) &&
           model_condition_is(p, "Available", "ModelPrefetched");
}

static void end_not_prefetched(struct model_pass *p, const char *reason, const char *message)
{
    p->progress = (struct model_progress){ reason, message, false };
    model_end_failed(p, reason, p->m.key, message);
}

static void end_prefetched(struct model_pass *p)
{
    struct model_ready r = {
        .reason = "ModelPrefetched",
        .message = MODEL_PREFETCHED,
        .cache_key = p->m.key,
        .staged_files = json_or_absent(model_files(p->arena, &p->m)),
    };
    if (p->m.source.origin == SOURCE_HTTP)
        (void)model_revalidate(p, p->m.source.text, &r);
    model_end_ready(p, &r);
}

static void run(struct model_pass *p, const char *name, struct json live)
{
    struct view_trouble trouble = view_trouble(p->in, &RESOURCE_JOB, name);
    if (trouble.what == TROUBLE_NONE)
        trouble = view_trouble(p->in, &RESOURCE_PVC, STORAGE_SHARED_CLAIM);
    if (job_is(live, "Complete")) {
        end_prefetched(p);
    } else if (job_is(live, "Failed")) {
        end_not_prefetched(p,
            "PrefetchFailed",
            arena_printf(p->arena,
                "Job \"%s\" could not fetch the weights; its logs tell why. Delete it to try again",
                name));
    } else if (trouble.what != TROUBLE_NONE) {
        end_not_prefetched(p, "PrefetchInvalid", trouble.message);
    } else {
        model_end_progressing(p,
            "Downloading",
            "PrefetchStarted",
            p->m.key,
            "Started prefetch job downloading model into the shared cache");
    }
}

bool model_prefetch(struct model_pass *p)
{
    if (!p->m.prefetch)
        return false;
    const char *in_vain = obstacle(p);
    if (in_vain) {
        p->progress = (struct model_progress){ "PrefetchInvalid",
            arena_printf(p->arena, "spec.prefetch has no effect: %s", in_vain),
            false };
        return false;
    }
    const char *name = model_prefetch_job(p->arena, p->m.name);
    struct json live = view_child(p->in, &RESOURCE_JOB, name);
    bool ready =
        text_eq(p->m.phase, "Ready") && text_eq(json_get_text(p->status, "cacheKey"), p->m.key);
    bool current = json_present(live) && fills(p, live);
    /* A finished Job stays until its TTL expires, for its log. One of an earlier source is not
     * planned, so it is deleted, and the next pass creates the right one. */
    if (current || (!ready && !json_present(live))) {
        plan_shared(p->out, &RESOURCE_PVC, storage_shared_claim(p->arena, p->settings));
        plan_once(p->out, &RESOURCE_JOB, job(p, name));
    }
    if (!ready)
        run(p, name, json_if(current, live));
    return !ready;
}
