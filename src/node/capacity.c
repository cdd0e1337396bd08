#include "node/capacity.h"

#include <unistd.h>

#include "base/quantity.h"

static const char *const names[CAPACITY_COUNT] = {
    [CAPACITY_CPU] = "cpu",
    [CAPACITY_MEMORY] = "memory",
    [CAPACITY_GPU + GPU_NVIDIA] = "nvidia.com/gpu",
    [CAPACITY_GPU + GPU_AMD] = "amd.com/gpu",
    [CAPACITY_GPU + GPU_INTEL_I915] = "gpu.intel.com/i915",
    [CAPACITY_GPU + GPU_INTEL_XE] = "gpu.intel.com/xe",
    [CAPACITY_GPU + GPU_RENDER] = "devic.es/dri-render",
    [CAPACITY_PODS] = "pods",
};

#define PODS_MAX 110

static int64_t memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (int64_t)pages * size : 0;
}

struct capacity capacity_of_machine(const struct gpus *gpus)
{
    struct capacity c = { { 0 } };
    c.amounts[CAPACITY_CPU] = sysconf(_SC_NPROCESSORS_ONLN) * 1000;
    c.amounts[CAPACITY_MEMORY] = memory_bytes();
    for (int i = 0; i < GPU_KINDS; i++)
        c.amounts[CAPACITY_GPU + i] = gpus->counts[i];
    c.amounts[CAPACITY_PODS] = PODS_MAX;
    return c;
}

const char *capacity_gpu_name(enum gpu_kind kind)
{
    return names[CAPACITY_GPU + kind];
}

enum gpu_kind capacity_gpu_kind(const struct capacity *wanted)
{
    int kind = 0;
    while (kind < GPU_KINDS && !wanted->amounts[CAPACITY_GPU + kind])
        kind++;
    return (enum gpu_kind)kind;
}

static bool is_gpu(int what)
{
    return what >= CAPACITY_GPU && what < CAPACITY_PODS;
}

static const char *amount_text(struct arena *a, int what, int64_t amount)
{
    if (what == CAPACITY_CPU && amount % 1000)
        return arena_printf(a, "%lldm", (long long)amount);
    if (what == CAPACITY_MEMORY)
        return quantity_to_text(a, quantity_of_bytes(amount));
    return arena_printf(a, "%lld", (long long)(what == CAPACITY_CPU ? amount / 1000 : amount));
}

struct json capacity_to_json(struct arena *a, const struct capacity *c)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (int i = 0; i < CAPACITY_COUNT; i++)
        if (c->amounts[i] || i < CAPACITY_GPU)
            json_put(&b, names[i], json_str(amount_text(a, i, c->amounts[i])));
    return json_map_end(&b);
}

static struct capacity of_container(struct json container)
{
    struct capacity c = { { 0 } };
    for (int i = 0; i < CAPACITY_PODS; i++) {
        struct quantity q;
        struct json wanted = json_member(json_get(container, "resources.requests"), names[i]);
        if (!json_present(wanted))
            wanted = json_member(json_get(container, "resources.limits"), names[i]);
        const char *text = json_text(wanted);
        if (json_is(wanted, JSON_INT))
            c.amounts[i] = i == CAPACITY_CPU ? wanted.integer * 1000 : wanted.integer;
        else if (text && quantity_parse(str_of(text), &q, NULL))
            c.amounts[i] = i == CAPACITY_CPU ? quantity_milli_value(q) : quantity_value(q);
    }
    return c;
}

void capacity_add(struct capacity *to, const struct capacity *more)
{
    for (int i = 0; i < CAPACITY_COUNT; i++)
        if (__builtin_add_overflow(to->amounts[i], more->amounts[i], &to->amounts[i]))
            to->amounts[i] = INT64_MAX;
}

static void keep_most(struct capacity *to, const struct capacity *other)
{
    for (int i = 0; i < CAPACITY_COUNT; i++)
        if (other->amounts[i] > to->amounts[i])
            to->amounts[i] = other->amounts[i];
}

struct capacity capacity_of_pod(struct json pod)
{
    struct capacity sidecars = { { 0 } }, most = { { 0 } };
    json_each (c, json_get(pod, "spec.initContainers")) {
        struct capacity one = of_container(*c);
        bool sidecar = text_eq(json_get_text(*c, "restartPolicy"), "Always");
        if (sidecar)
            capacity_add(&sidecars, &one);
        else
            capacity_add(&one, &sidecars); /* it runs beside the earlier sidecars */
        keep_most(&most, sidecar ? &sidecars : &one);
    }
    json_each (c, json_get(pod, "spec.containers")) {
        struct capacity one = of_container(*c);
        capacity_add(&sidecars, &one);
    }
    keep_most(&most, &sidecars);
    most.amounts[CAPACITY_PODS] = 1;
    return most;
}

/* The scheduler's message for a pod that would not fit an empty machine either. */
#define NEVER " preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."

const char *capacity_lacks(struct arena *a, const struct capacity *all, const struct capacity *used,
    const struct capacity *wanted, const char *gpus)
{
    const char *text = NULL;
    bool never = false, lacks_gpu = false;
    for (int i = 0; i < CAPACITY_COUNT; i++) {
        int64_t left = all->amounts[i] - used->amounts[i];
        if (!wanted->amounts[i] || wanted->amounts[i] <= left)
            continue;
        lacks_gpu = lacks_gpu || is_gpu(i);
        never = never || wanted->amounts[i] > all->amounts[i];
        const char *lack =
            i == CAPACITY_PODS ? "Too many pods" : arena_printf(a, "Insufficient %s", names[i]);
        text = arena_printf(a,
            "%s%s1 %s (asked for %s, free %s of %s)",
            text ? text : "0/1 nodes are available: ",
            text ? ", " : "",
            lack,
            amount_text(a, i, wanted->amounts[i]),
            amount_text(a, i, left > 0 ? left : 0),
            amount_text(a, i, all->amounts[i]));
    }
    if (text && lacks_gpu)
        text = arena_printf(a, "%s. GPUs found: %s", text, gpus);
    return text ? arena_printf(a, "%s.%s", text, never ? NEVER : "") : NULL;
}

static bool is_known(const char *name)
{
    for (int i = 0; i < CAPACITY_COUNT; i++)
        if (text_eq(name, names[i]))
            return true;
    return !strchr(name, '/') && !text_starts(name, "hugepages-");
}

const char *capacity_unknown(struct arena *a, struct json pod)
{
    static const char *const lists[] = { "spec.initContainers", "spec.containers" };
    for (size_t k = 0; k < lengthof(lists); k++)
        json_each (c, json_get(pod, lists[k]))
            json_each_member (m, json_get(*c, "resources.limits")) {
                struct quantity q;
                const char *text = json_text(m->value);
                bool none = text ? quantity_parse(str_of(text), &q, NULL) && !q.value
                                 : json_is(m->value, JSON_INT) && !m->value.integer;
                if (!none && !is_known(m->key))
                    return arena_printf(a,
                        "0/1 nodes are available: 1 Insufficient %s (this machine has none)." NEVER,
                        m->key);
            }
    return NULL;
}
