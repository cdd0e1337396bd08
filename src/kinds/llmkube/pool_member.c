/* An InferenceService in a ModelPool: it has pods only while it owns the pool's slot. The pool's
 * status names the owner; the service changes its own spec.replicas. */

#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/isvc.h"
#include "kinds/llmkube/model_pool.h"

#define SWAP_RECHECK_MS 3000

/* How the other members use the slot. */
enum slot { SLOT_FREE, SLOT_ASKED_FOR, SLOT_TAKEN };

static enum slot taken_by(const struct isvc *svc, const char *name)
{
    struct json other = view_get(svc->in, &LLMKUBE_INFERENCE_SERVICE, name);
    const char *label = inference_service_label(svc->arena, name);
    const char *selector = arena_printf(svc->arena, "inference.llmkube.dev/service=%s", label);
    if (text_eq(json_get_text(other, "status.phase"), "Ready") ||
        view_list(svc->in, &RESOURCE_POD, svc->ns, selector).count > 0)
        return SLOT_TAKEN;
    return json_get_int(other, "spec.replicas", 1) > 0 ? SLOT_ASKED_FOR : SLOT_FREE;
}

static enum slot slot_of_others(const struct isvc *svc, struct json pool)
{
    enum slot most = SLOT_FREE;
    json_each (member, json_get(pool, "spec.members")) {
        const char *name = json_get_text(*member, "inferenceServiceRef.name");
        if (text_empty(name) || text_eq(name, svc->name))
            continue;
        enum slot taken = taken_by(svc, name);
        most = taken > most ? taken : most;
    }
    return most;
}

static void set_replicas(struct isvc *svc, int64_t replicas)
{
    if (svc->spec.replicas != replicas)
        plan_amend(svc->out, json_fields(svc->arena, { "spec.replicas", json_int(replicas) }));
    svc->spec.replicas = replicas;
}

static bool is_serving(const struct isvc *svc)
{
    return text_eq(json_get_text(isvc_status(svc), "phase"), "Ready");
}

/* A member that is serving keeps its pods, whatever the others request. Otherwise it gets none
 * until the others have none: two models do not fit. */
static void own(struct isvc *svc, enum slot others)
{
    if (is_serving(svc) || others == SLOT_FREE) {
        set_replicas(svc, 1);
    } else if (others == SLOT_TAKEN) {
        set_replicas(svc, 0);
    } else {
        /* The others release the slot soon, so the request need not change for that moment. */
        svc->spec.replicas = 0;
        svc->waits_for_slot = true;
    }
}

/* Another member owns the slot, or waits for it. A member that is serving is never interrupted. */
static void give_way(struct isvc *svc)
{
    struct isvc_idle idle = { .known = true };
    if (svc->spec.replicas == 0)
        return;
    if (is_serving(svc))
        idle = rollout_idle(svc);
    if (!idle.known) {
        isvc_condition_keep(svc, "SwapDeferred");
        isvc_recheck(svc, SWAP_RECHECK_MS);
    } else if (idle.reason) {
        bool busy = text_eq(idle.reason, "PodsBusy");
        plan_condition(svc->out,
            "SwapDeferred",
            true,
            busy ? "PodsBusy" : "IdleCheckFailed",
            "%s keeps the slot of its pool: %s",
            svc->name,
            busy ? "it serves requests" : idle.message);
        isvc_recheck(svc, SWAP_RECHECK_MS);
    } else {
        set_replicas(svc, 0);
    }
}

void pool_member_follow(struct isvc *svc)
{
    struct json pool = model_pool_of(svc->in, svc->name);
    const char *pending = json_get_text(pool, "status.pendingMember");
    const char *resident = json_get_text(pool, "status.residentMember");
    const char *owner = text_empty(pending) ? resident : pending;
    if (text_empty(owner) || text_eq(json_get_text(pool, "status.phase"), "Degraded"))
        return;
    if (text_eq(owner, svc->name))
        own(svc, slot_of_others(svc, pool));
    else if (!text_empty(pending) || text_eq(resident, svc->name))
        give_way(svc);
    else if (!json_get_int(svc->live, "spec.replicas", 0)) {
        /* A request. It gets no pods until the pool has seen it. */
        svc->waits_for_slot = svc->spec.replicas > 0;
        svc->spec.replicas = 0;
    }
}
