/* GPUQuota: how many GPUs, and how much GPU memory, the InferenceServices in its scope request. */

#include "kinds/llmkube/gpu_quota.h"

#include "base/quantity.h"
#include "base/selector.h"
#include "engine/plan.h"
#include "engine/scrape.h"
#include "engine/view.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

#define GIB ((int64_t)1 << 30)

const struct resource LLMKUBE_GPU_QUOTA = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "GPUQuota",
    .plural = "gpuquotas",
};
const struct resource LLMKUBE_NAMESPACE = {
    .group = "",
    .version = "v1",
    .kind = "Namespace",
    .plural = "namespaces",
    .cluster_scoped = true,
};

/* ---- the request of one service ---- */

struct use {
    int64_t gpus;
    int64_t vram_bytes;
    bool vram_unknown;
};

/* "1g.24gb" is 24 GiB; 0 if the text is not a profile. */
static int64_t profile_gib(const char *profile)
{
    struct str size = str_of(profile);
    int64_t gib;
    str_cut(&size, '.');
    if (!str_ends(size, STR("gb")))
        return 0;
    size.len -= 2;
    return str_to_int(size, &gib) && gib > 0 && gib < 4096 ? gib : 0;
}

static int64_t pod_vram(
    const struct llmkube_settings *s, struct json spec, struct json gpu, int64_t gpus)
{
    const char *mode = json_get_text(spec, "resources.gpuSharing.mode");
    if (text_eq(mode, "partitioned"))
        return profile_gib(json_get_text(spec, "resources.gpuSharing.profile")) * GIB;
    if (text_eq(mode, "shared")) {
        struct quantity bytes;
        int64_t gib = json_get_int(spec, "resources.gpuSharing.memoryLimitGiB", 0);
        const char *memory = json_get_text(gpu, "memory");
        if (gib > 0 && gib < 4096)
            return gib * GIB;
        return memory && quantity_parse(str_of(memory), &bytes, NULL) ? quantity_value(bytes) : 0;
    }
    return gpus * s->gpu_sharing_vram_per_device_gib * GIB;
}

static int64_t replicas_of(struct json spec)
{
    if (json_get_bool(spec, "suspend", false))
        return 0;
    int64_t most = json_get_int(spec, "autoscaling.maxReplicas", 0);
    int64_t replicas = most > 0 ? most : json_get_int(spec, "replicas", 1);
    return replicas < 0 ? 0 : replicas > INT32_MAX ? INT32_MAX : replicas;
}

static struct use use_of(const struct view *in, struct json service)
{
    struct json spec = json_get(service, "spec");
    const char *ns = json_get_text(service, "metadata.namespace");
    const char *name = json_get_text(spec, "modelRef");
    struct json model = { 0 };
    if (name && ns)
        model = view_get_in(in, &LLMKUBE_MODEL, ns, name);
    if (!json_present(model))
        return (struct use){ 0 };
    struct json gpu = json_get(model, "spec.hardware.gpu");
    int64_t gpus = json_get_int(gpu, "count", 0);
    if (!gpus)
        gpus = json_get_int(spec, "resources.gpu", 0);
    if (gpus < 0 || gpus > 1024)
        gpus = 0;
    int64_t replicas = replicas_of(spec);
    int64_t vram = gpus ? pod_vram(in->settings, spec, gpu, gpus) : 0;
    return (struct use){
        .gpus = gpus * replicas,
        .vram_bytes = vram * replicas,
        .vram_unknown = gpus > 0 && replicas > 0 && vram == 0,
    };
}

/* ---- the scope of a quota ---- */

static bool is_in_scope(const struct view *in, struct json quota, const char *ns)
{
    const char *named = json_get_text(quota, "spec.namespaceRef");
    struct json labels = json_get(quota, "spec.selector");
    struct selector selector;
    if (named)
        return text_eq(named, ns);
    if (!json_present(labels) ||
        !selector_from_json(in->arena, labels, "spec.selector", &selector, NULL))
        return false;
    struct json object = view_get_in(in, &LLMKUBE_NAMESPACE, "", ns);
    return json_present(object) && selector_matches(&selector, json_get(object, "metadata.labels"));
}

/* The services of all namespaces in the scope. */
static struct json services_of(const struct view *in, struct json quota)
{
    const char *named = json_get_text(quota, "spec.namespaceRef");
    if (named)
        return view_list(in, &LLMKUBE_INFERENCE_SERVICE, named, NULL);
    struct json_builder b;
    json_builder_init(&b, in->arena);
    json_each (ns, view_list(in, &LLMKUBE_NAMESPACE, NULL, NULL)) {
        const char *name = json_get_text(*ns, "metadata.name");
        if (is_in_scope(in, quota, name))
            json_push_all(&b, view_list(in, &LLMKUBE_INFERENCE_SERVICE, name, NULL));
    }
    return json_list_end(&b);
}

/* ---- what fits ---- */

static bool has_pods(struct json service)
{
    return json_get_int(service, "status.desiredReplicas", 0) > 0;
}

static bool is_same(struct json a, struct json b)
{
    return text_eq(json_get_text(a, "metadata.name"), json_get_text(b, "metadata.name")) &&
           text_eq(json_get_text(a, "metadata.namespace"), json_get_text(b, "metadata.namespace"));
}

static bool comes_first(struct json a, struct json b)
{
    static const char *const paths[] = {
        "metadata.creationTimestamp",
        "metadata.namespace",
        "metadata.name",
    };
    if (has_pods(a) != has_pods(b))
        return has_pods(a);
    for (size_t i = 0; i < lengthof(paths); i++) {
        const char *left = json_get_text(a, paths[i]), *right = json_get_text(b, paths[i]);
        int order = strcmp(left ? left : "", right ? right : "");
        if (order)
            return order < 0;
    }
    return false;
}

static int64_t priority_of(const char *priority)
{
    static const char *const known[] = { "batch", "low", "normal", "high", "critical" };
    for (size_t i = 0; i < lengthof(known); i++)
        if (text_eq(priority, known[i]))
            return (int64_t)i;
    return 2;
}

/* The requests of the other services in the scope of a quota; first_only: those that come before
 * the service. */
static struct use use_of_others(
    const struct view *in, struct json quota, struct json service, bool first_only)
{
    struct use sum = { 0 };
    json_each (other, services_of(in, quota)) {
        if (is_same(*other, service) || (first_only && !comes_first(*other, service)))
            continue;
        struct use use = use_of(in, *other);
        sum.gpus += use.gpus;
        sum.vram_bytes += use.vram_bytes;
    }
    return sum;
}

static const char *refusal_of(const struct view *in, struct json quota, struct json service,
    const struct use *asked, bool first_only)
{
    const char *name = json_get_text(quota, "metadata.name");
    int64_t count = json_get_int(quota, "spec.gpuCount", 0);
    int64_t vram = json_get_int(quota, "spec.vramBytes", 0);
    struct use others = use_of_others(in, quota, service, first_only);
    int64_t gpus = others.gpus, bytes = others.vram_bytes;
    if (gpus + asked->gpus > count)
        return arena_printf(in->arena,
            "GPUQuota \"%s\" denied: would exceed gpuCount %lld (current %lld + requested %lld)",
            name,
            (long long)count,
            (long long)gpus,
            (long long)asked->gpus);
    if (vram > 0 && asked->vram_unknown)
        return arena_printf(in->arena,
            "GPUQuota \"%s\" denied: its vramBytes needs to know the GPU memory of the service: "
            "set gpuSharing.memoryLimitGiB (shared) or a profile (partitioned), or start the "
            "operator with --gpu-sharing-vram-per-device-gib",
            name);
    if (vram > 0 && bytes + asked->vram_bytes > vram)
        return arena_printf(in->arena,
            "GPUQuota \"%s\" denied: would exceed vramBytes %lld (current %lld + requested %lld)",
            name,
            (long long)vram,
            (long long)bytes,
            (long long)asked->vram_bytes);
    const char *least = json_get_text(quota, "spec.minPriority");
    const char *priority = json_get_text(service, "spec.priority");
    if (least && priority_of(priority) < priority_of(least))
        return arena_printf(in->arena,
            "GPUQuota \"%s\" denied: priority %s is below minPriority %s",
            name,
            priority ? priority : "normal",
            least);
    return NULL;
}

static const char *refusal(
    const struct view *in, struct json service, const struct use *asked, bool first_only)
{
    struct json labels = json_get(service, "metadata.labels");
    bool queued = !text_empty(json_text(json_member(labels, "kueue.x-k8s.io/queue-name")));
    if (!asked->gpus || queued)
        return NULL;
    const char *ns = json_get_text(service, "metadata.namespace");
    json_each (quota, view_list(in, &LLMKUBE_GPU_QUOTA, NULL, NULL)) {
        if (!is_in_scope(in, *quota, ns))
            continue;
        const char *why = refusal_of(in, *quota, service, asked, first_only);
        if (why)
            return why;
    }
    return NULL;
}

const char *gpu_quota_refusal(const struct view *in, struct json service)
{
    if (!view_list(in, &LLMKUBE_GPU_QUOTA, NULL, NULL).count)
        return NULL;
    struct use asked = use_of(in, service);
    return refusal(in, service, &asked, true);
}

const char *gpu_quota_denial(const struct view *in, struct json service, struct json old)
{
    struct use asked = use_of(in, service);
    struct use before = json_present(old) ? use_of(in, old) : (struct use){ .gpus = -1 };
    bool known = !asked.vram_unknown || before.vram_unknown;
    bool less_important = priority_of(json_get_text(service, "spec.priority")) <
                          priority_of(json_get_text(old, "spec.priority"));
    if (asked.gpus <= before.gpus && asked.vram_bytes <= before.vram_bytes && known &&
        !less_important)
        return NULL;
    return refusal(in, service, &asked, false);
}

/* ---- the kind ---- */

static void reconcile(const struct view *in, struct plan *out)
{
    struct json was = json_get(in->object, "status");
    struct use sum = { 0 };
    json_each (service, services_of(in, in->object)) {
        struct use use = use_of(in, *service);
        sum.gpus += use.gpus;
        sum.vram_bytes += use.vram_bytes;
    }
    /* A status keeps at least one field: the API server refuses an apply that removes the last. */
    if (json_present(was) || sum.gpus || sum.vram_bytes)
        plan_status(out,
            json_fields(in->arena,
                { "usedGPUCount", json_int(sum.gpus) },
                { "usedVRAMBytes", json_int_or_absent(sum.vram_bytes) },
                { "admissionDenials", json_get(was, "admissionDenials") },
                { "lastDenial", json_get(was, "lastDenial") }),
            NULL);
    plan_done(out);
}

#define FAMILY(name_, help_)                                                                       \
    {                                                                                              \
        "llmkube_gpuquota_" name_, help_, METRIC_GAUGE, .labels = { "quota", "namespace" },        \
    }

static const struct scrape_family used_count =
    FAMILY("used_gpu_count", "GPUs that the services in the scope of a GPUQuota ask for.");
static const struct scrape_family count_limit =
    FAMILY("gpu_count_limit", "GPUs that a GPUQuota allows.");
static const struct scrape_family used_vram =
    FAMILY("used_vram_bytes", "GPU memory that the services in the scope of a GPUQuota ask for.");
static const struct scrape_family vram_limit =
    FAMILY("vram_bytes_limit", "GPU memory that a GPUQuota allows; 0: no limit.");

static void measure(const struct view *in, struct scrape *to)
{
    const char *name = view_name(in), *ns = view_namespace(in);
    const struct {
        const struct scrape_family *family;
        const char *path;
    } rows[] = {
        { &used_count, "status.usedGPUCount" },
        { &count_limit, "spec.gpuCount" },
        { &used_vram, "status.usedVRAMBytes" },
        { &vram_limit, "spec.vramBytes" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        scrape_add(to,
            rows[i].family,
            (double)json_get_int(in->object, rows[i].path, 0),
            SCRAPE_LABELS(name, ns));
}

static const struct kind_watch watches[] = {
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep = (const char *const[]){ "metadata.creationTimestamp",
            "spec.modelRef",
            "spec.replicas",
            "spec.suspend",
            "spec.autoscaling.maxReplicas",
            "spec.resources",
            "spec.priority",
            "status.desiredReplicas",
            NULL },
    },
    { .resource = &LLMKUBE_MODEL, .keep = (const char *const[]){ "spec.hardware.gpu", NULL } },
    {
        .resource = &LLMKUBE_NAMESPACE,
        .optional = true,
        .keep = (const char *const[]){ "metadata.labels", NULL },
    },
    { 0 },
};

const struct kind llmkube_gpu_quota_kind = {
    .resource = &LLMKUBE_GPU_QUOTA,
    .watches = watches,
    .reconcile = reconcile,
    .measure = measure,
};
