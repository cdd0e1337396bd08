#include "kinds/llmkube/model_pool.h"

#include "base/json.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"

#define MEMBERS_MAX 64
#define SWAP_RECHECK_MS 3000

const struct resource LLMKUBE_MODEL_POOL = {
    .group = "inference.llmkube.dev",
    .version = "v1alpha1",
    .kind = "ModelPool",
    .plural = "modelpools",
};

struct member {
    const char *name;
    struct json service; /* absent: there is none */
    const char *phase;
    bool requested;
    bool metal;
};

struct pool {
    const struct view *in;
    struct plan *out;
    struct arena *arena;
    struct member members[MEMBERS_MAX];
    size_t count;
    const char *fallback;           /* spec.default */
    const char *resident, *pending; /* from the previous status; NULL: none */
    const struct member *owner;
};

struct json model_pool_of(const struct view *in, const char *service)
{
    json_each (pool, view_list(in, &LLMKUBE_MODEL_POOL, view_namespace(in), NULL))
        json_each (member, json_get(*pool, "spec.members"))
            if (text_eq(json_get_text(*member, "inferenceServiceRef.name"), service))
                return *pool;
    return json_none;
}

/* ---- members ---- */

static const struct member *member_of(const struct pool *p, const char *name)
{
    for (size_t i = 0; name && i < p->count; i++)
        if (text_eq(p->members[i].name, name))
            return &p->members[i];
    return NULL;
}

static bool is_metal(const struct view *in, struct json service)
{
    const char *name = json_get_text(service, "spec.modelRef");
    struct json model = { 0 };
    if (!text_empty(name))
        model = view_get(in, &LLMKUBE_MODEL, name);
    return text_eq(json_get_text(model, "spec.hardware.accelerator"), "metal");
}

static void read_members(struct pool *p)
{
    json_each (item, json_get(p->in->object, "spec.members")) {
        const char *name = json_get_text(*item, "inferenceServiceRef.name");
        if (text_empty(name) || p->count == MEMBERS_MAX || member_of(p, name))
            continue;
        struct json service = view_get(p->in, &LLMKUBE_INFERENCE_SERVICE, name);
        p->members[p->count++] = (struct member){
            .name = name,
            .service = service,
            .phase = json_get_text(service, "status.phase"),
            .requested = json_get_int(service, "spec.replicas", 1) >= 1,
            .metal = json_present(service) && is_metal(p->in, service),
        };
    }
}

static bool is_ready(const struct member *m)
{
    return m && text_eq(m->phase, "Ready");
}

/* ---- who owns the slot ---- */

static const struct member *first_requested(const struct pool *p, const struct member *except)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->members[i].requested && &p->members[i] != except)
            return &p->members[i];
    return NULL;
}

static const struct member *owner_of(const struct pool *p)
{
    const struct member *pending = member_of(p, p->pending);
    const struct member *resident = member_of(p, p->resident);
    const struct member *fallback = member_of(p, p->fallback);
    if (resident) {
        /* A member that is requested by its replicas gets the slot; otherwise the owner stays. */
        const struct member *other = first_requested(p, resident);
        if (pending && pending != resident)
            return pending;
        return other ? other : resident;
    }
    if (pending)
        return pending;
    const struct member *first = first_requested(p, NULL);
    return !first || (fallback && fallback->requested) ? fallback : first;
}

/* ---- status ---- */

static struct json members_status(const struct pool *p, const struct member *resident)
{
    struct json_builder b;
    json_builder_init(&b, p->arena);
    for (size_t i = 0; i < p->count; i++)
        json_push(&b,
            json_fields(p->arena,
                { "name", json_str(p->members[i].name) },
                { "phase", json_str_or_absent(p->members[i].phase) },
                { "resident", json_true_or_absent(&p->members[i] == resident) }));
    return json_list_end(&b);
}

static void plan_pool_status(struct pool *p, const char *phase, const char *resident,
    const char *pending, const struct member *shown)
{
    plan_status(p->out,
        json_fields(p->arena,
            { "phase", json_str(phase) },
            { "residentMember", json_str(resident) },
            { "pendingMember", json_str(pending) },
            { "members", members_status(p, shown) },
            { "observedGeneration", json_get(p->in->object, "metadata.generation") }),
        NULL);
}

/* "[a b]": the members that are absent or metal; NULL: none. */
static const char *bad_members(const struct pool *p, bool metal)
{
    const char *text = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const struct member *m = &p->members[i];
        if (metal ? m->metal : !json_present(m->service))
            text = text ? arena_printf(p->arena, "%s %s", text, m->name) : m->name;
    }
    return text ? arena_printf(p->arena, "[%s]", text) : NULL;
}

/* Scales nothing, and still remembers the owner of the slot. */
static void plan_degraded(struct pool *p, const char *type, const char *reason, const char *message)
{
    plan_condition(p->out, type, false, reason, "%s", message);
    plan_pool_status(p, "Degraded", p->resident, p->pending, NULL);
    plan_wait(p->out, "%s", message);
}

/* The condition of a member that does not release the slot yet. */
static struct json deferral(const struct pool *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct json conditions = json_get(p->members[i].service, "status.conditions");
        struct json found = json_find(conditions, "type", "SwapDeferred");
        if (&p->members[i] != p->owner && text_eq(json_get_text(found, "status"), "True"))
            return found;
    }
    return json_none;
}

static void plan_conditions(struct pool *p, const struct member *resident)
{
    if (resident)
        plan_condition(p->out,
            "SlotAllocated",
            true,
            "Resident",
            "Member \"%s\" owns the shared GPU slot",
            resident->name);
    else
        plan_condition(p->out, "SlotAllocated", false, "Swapping", "No member resident yet");
    plan_condition(p->out, "MembersValid", true, "AllResolved", "All member references resolve");
    struct json deferred = deferral(p);
    if (json_present(deferred))
        plan_condition(p->out,
            "SwapDeferred",
            true,
            json_get_text(deferred, "reason"),
            "%s",
            json_get_text(deferred, "message"));
    else
        plan_condition(p->out, "SwapDeferred", false, "NotDeferred", "No swap is being deferred");
    plan_condition(
        p->out, "MetalSupported", true, "KubernetesGPU", "All members are k8s GPU-gated");
}

static void plan_swap(struct pool *p)
{
    p->owner = owner_of(p);
    const struct member *before = member_of(p, p->resident);
    bool settled = p->owner && (is_ready(p->owner) || p->owner == before) &&
                   (!p->pending || is_ready(p->owner));
    /* An owner that releases the slot has it until its last pod is gone. */
    const struct member *resident = settled ? p->owner : before;
    if (!settled && before && !before->requested && !is_ready(before))
        resident = NULL;
    const char *phase = !p->owner                       ? "Pending"
                        : settled && is_ready(p->owner) ? "Ready"
                                                        : "Swapping";
    plan_pool_status(p,
        phase,
        resident ? resident->name : NULL,
        settled || !p->owner ? NULL : p->owner->name,
        resident);
    plan_conditions(p, resident);
    if (text_eq(phase, "Swapping"))
        plan_recheck(p->out, SWAP_RECHECK_MS);
    else
        plan_done(p->out);
}

/* ---- the kind ---- */

static const char *text_or_null(struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return text_empty(text) ? NULL : text;
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct pool p = {
        .in = in,
        .out = out,
        .arena = in->arena,
        .fallback = text_or_null(in->object, "spec.default"),
        .resident = text_or_null(in->object, "status.residentMember"),
        .pending = text_or_null(in->object, "status.pendingMember"),
    };
    read_members(&p);
    const char *budget = json_get_text(in->object, "spec.swapBudget");
    int64_t ns;
    const char *missing = bad_members(&p, false), *metal = bad_members(&p, true);
    if (budget && !time_duration_parse(budget, &ns))
        plan_degraded(&p,
            "MembersValid",
            "InvalidSwapBudget",
            arena_printf(in->arena,
                "spec.swapBudget: \"%s\" is not a duration. Use a form such as 300s",
                budget));
    else if (missing)
        plan_degraded(&p,
            "MembersValid",
            "MissingMembers",
            arena_printf(in->arena, "Members without an InferenceService: %s", missing));
    else if (metal)
        plan_degraded(&p,
            "MetalSupported",
            "MetalMembersUnsupported",
            arena_printf(in->arena,
                "Metal-backed members are not supported in v1 (k8s GPU gating only): %s",
                metal));
    else
        plan_swap(&p);
}

static const struct kind_watch watches[] = {
    {
        .resource = &LLMKUBE_INFERENCE_SERVICE,
        .keep =
            (const char *const[]){
                "spec.modelRef", "spec.replicas", "status.phase", "status.conditions", NULL },
    },
    {
        .resource = &LLMKUBE_MODEL,
        .keep = (const char *const[]){ "spec.hardware.accelerator", NULL },
    },
    { 0 },
};

const struct kind llmkube_model_pool_kind = {
    .resource = &LLMKUBE_MODEL_POOL,
    .watches = watches,
    .reconcile = reconcile,
};
