/* Which GPUs a service gets: how many devices, under which resource name, shared or not. */

#include "kinds/llmkube/args.h"

#include "base/json_bind.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"

#define RENDER_NODE "devic.es/dri-render" /* /dev/dri by a generic device plugin */
#define MIG_PREFIX "nvidia.com/mig-"
#define COUNT_MAX 128 /* the CRDs allow 8 */

/* What the two specs request. */
struct asked {
    int64_t count;
    const char *vendor, *runtime, *resource_name, *toleration_key;
    struct json claims;
};

struct sharing {
    int64_t count;
    const char *mode, *profile;
};

static const struct json_bind asked_bind[] = {
    BIND(struct asked, count, "count", .max = COUNT_MAX),
    BIND(struct asked, vendor, "vendor"),
    BIND(struct asked, runtime, "runtime"),
    BIND(struct asked, resource_name, "resourceName"),
    BIND(struct asked, toleration_key, "tolerationKey"),
    BIND(struct asked, claims, "resourceClaims"),
    { 0 },
};

static const struct json_bind sharing_bind[] = {
    BIND(struct sharing, count, "resources.gpu", .max = COUNT_MAX),
    BIND(struct sharing, mode, "resources.gpuSharing.mode"),
    BIND(struct sharing, profile, "resources.gpuSharing.profile"),
    { 0 },
};

/* ---- resource names ---- */

static const struct vendor_resource {
    const char *vendor;
    const char *stack; /* hardware.gpu.runtime; NULL: any */
    const char *resource;
} vendor_resources[] = {
    { "amd", "vulkan", RENDER_NODE },
    { "amd", "rocm", RENDER_NODE },
    { "amd", NULL, "amd.com/gpu" },
    { "intel", NULL, "gpu.intel.com/i915" },
};

static const char *resource_of(const struct asked *asked)
{
    if (!text_empty(asked->resource_name))
        return asked->resource_name;
    for (size_t i = 0; i < lengthof(vendor_resources); i++) {
        const struct vendor_resource *v = &vendor_resources[i];
        if (text_eq(v->vendor, asked->vendor) && (!v->stack || text_eq(v->stack, asked->runtime)))
            return v->resource;
    }
    return "nvidia.com/gpu";
}

/* ---- sharing ---- */

static bool refuse(struct error *err, const char *format, ...) printf_like(2, 3);
static bool refuse(struct error *err, const char *format, ...)
{
    va_list list;
    char why[400];
    va_start(list, format);
    vsnprintf(why, sizeof(why), format, list);
    va_end(list);
    return fail(err, ERR_INVALID, "Invalid gpuSharing: %s", why);
}

/* "1g.24gb" */
static bool is_mig_profile(const char *text)
{
    struct str size = str_of(text);
    struct str slices = str_cut(&size, '.');
    int64_t number;
    if (!str_ends(slices, STR("g")) || !str_ends(size, STR("gb")))
        return false;
    slices.len -= 1;
    size.len -= 2;
    return slices.len && size.len && slices.ptr[0] != '-' && size.ptr[0] != '-' &&
           str_to_int(slices, &number) && str_to_int(size, &number);
}

static bool read_partition(struct arena *a, const struct asked *asked, const char *profile,
    struct gpu *ret, struct error *err)
{
    if (!text_eq(ret->vendor, "nvidia"))
        return refuse(err,
            "gpuSharing mode partitioned is not supported for GPU vendor \"%s\" (NVIDIA MIG only "
            "today)",
            ret->vendor);
    if (!text_empty(asked->resource_name))
        return refuse(err,
            "gpuSharing mode partitioned takes its resource from the profile; remove "
            "hardware.gpu.resourceName \"%s\" from the Model, or use mode exclusive",
            asked->resource_name);
    if (!is_mig_profile(profile))
        return refuse(err,
            "gpuSharing.profile \"%s\" is not a valid MIG profile (expected e.g. \"1g.24gb\")",
            profile ? profile : "");
    ret->resource_name = arena_printf(a, MIG_PREFIX "%s", profile);
    return true;
}

/* Pods that share a device request the same resource as those that do not, so only a separate pool
 * of nodes can keep them apart. AMD's integrated GPUs are always shared. */
static bool read_pool(const struct llmkube_settings *s, struct gpu *ret, struct error *err)
{
    if (text_eq(ret->vendor, "amd"))
        return true;
    ret->node_selector = json_or_absent(s->gpu_sharing_shared_pool_selector);
    if (json_present(ret->node_selector))
        return true;
    return refuse(err,
        "gpuSharing mode shared requires a configured shared pool: set "
        "gpuSharing.pools.shared.nodeSelector in the chart (operator flag "
        "--gpu-sharing-shared-pool-selector), or use mode exclusive");
}

static bool read_sharing(struct arena *a, const struct llmkube_settings *s,
    const struct asked *asked, const struct sharing *sharing, struct gpu *ret, struct error *err)
{
    const char *mode = sharing->mode;
    if (text_empty(mode) || text_eq(mode, "exclusive"))
        return true;
    if (ret->count != 1)
        return refuse(err,
            "gpuSharing mode \"%s\" requires exactly 1 GPU, got %lld (tensor parallelism needs "
            "mode exclusive)",
            mode,
            (long long)ret->count);
    if (json_present(ret->claims))
        return refuse(err,
            "gpuSharing mode \"%s\" and hardware.gpu.resourceClaims of the Model exclude each "
            "other: the claims already say which device is used",
            mode);
    if (text_eq(mode, "partitioned"))
        return read_partition(a, asked, sharing->profile, ret, err);
    if (text_eq(mode, "shared"))
        return read_pool(s, ret, err);
    return refuse(err, "gpuSharing mode \"%s\" is not known", mode);
}

/* ---- the whole ---- */

bool gpu_read(struct arena *a, const struct llmkube_settings *s, const struct model *m,
    struct json service_spec, struct gpu *ret, struct error *err)
{
    struct asked asked = { 0 };
    struct sharing sharing = { 0 };
    const struct runtime *runtime = runtime_find(json_get_text(service_spec, "runtime"));
    if (!json_bind(a, m->gpu, "spec.hardware.gpu", asked_bind, &asked, err))
        return fail_in(err, "Model %s", m->name);
    if (!json_bind(a, service_spec, "spec", sharing_bind, &sharing, err) ||
        !args_check(runtime->rules, service_spec, err))
        return false;
    int64_t count = asked.count ? asked.count : sharing.count;
    struct json claims = json_or_absent(asked.claims);
    bool claimed = json_is(claims, JSON_LIST);
    *ret = (struct gpu){
        .count = count,
        .present = count > 0 || claimed,
        .claims = json_if(claimed, claims),
        .resource_name = resource_of(&asked),
        .vendor = text_empty(asked.vendor) ? "nvidia" : asked.vendor,
        .runtime = asked.runtime,
    };
    if (!read_sharing(a, s, &asked, &sharing, ret, err))
        return false;
    ret->toleration_key =
        text_empty(asked.toleration_key) ? ret->resource_name : asked.toleration_key;
    return !runtime->fits || runtime->fits(service_spec, ret, err);
}
