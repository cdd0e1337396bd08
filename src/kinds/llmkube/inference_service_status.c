/* The state of the service: phase, status fields, conditions, and the outcome of the pass. */

#include "kinds/llmkube/isvc.h"

#include "base/time.h"
#include "kinds/llmkube/inference_service.h"

const char *isvc_phase_name(enum isvc_phase phase)
{
    static const char *const names[] = {
        [PHASE_PENDING] = "Pending",
        [PHASE_CREATING] = "Creating",
        [PHASE_PROGRESSING] = "Progressing",
        [PHASE_READY] = "Ready",
        [PHASE_WAITING_FOR_GPU] = "WaitingForGPU",
        [PHASE_STOPPED] = "Stopped",
        [PHASE_SUSPENDED] = "Suspended",
        [PHASE_FAILED] = "Failed",
    };
    return names[phase];
}

/* ---- present conditions ---- */

struct json isvc_condition(const struct isvc *svc, const char *type)
{
    return json_find(json_get(isvc_status(svc), "conditions"), "type", type);
}

void isvc_condition_keep(struct isvc *svc, const char *type)
{
    struct json now = isvc_condition(svc, type);
    const char *reason = json_get_text(now, "reason");
    const char *message = json_get_text(now, "message");
    if (reason)
        plan_condition(svc->out,
            type,
            text_eq(json_get_text(now, "status"), "True"),
            reason,
            "%s",
            message ? message : "");
}

/* ---- phase ---- */

static enum isvc_phase phase_of(const struct isvc *svc)
{
    if (svc->ended)
        return svc->end_phase;
    if (svc->trouble)
        return PHASE_FAILED;
    if (svc->spec.suspend)
        return PHASE_SUSPENDED;
    if (svc->desired == 0)
        return PHASE_STOPPED;
    if (svc->ready == svc->desired)
        return PHASE_READY;
    if (svc->ready > 0)
        return PHASE_PROGRESSING;
    if (text_eq(svc->scheduling.status, "InsufficientGPU"))
        return PHASE_WAITING_FOR_GPU;
    return PHASE_CREATING;
}

/* In the whole cluster, in order of creation. */
static int64_t queue_position(const struct isvc *svc)
{
    return view_queue_position(svc->in,
        &LLMKUBE_INFERENCE_SERVICE,
        "status.phase",
        isvc_phase_name(PHASE_WAITING_FOR_GPU));
}

/* ---- status ---- */

static int64_t effective_priority(const struct isvc *svc)
{
    static const struct {
        const char *name;
        int64_t value;
    } priorities[] = {
        { "critical", 1000000 },
        { "high", 100000 },
        { "normal", 10000 },
        { "low", 1000 },
        { "batch", 100 },
    };
    for (size_t i = 0; i < lengthof(priorities); i++)
        if (text_eq(svc->spec.priority, priorities[i].name))
            return priorities[i].value;
    return 10000;
}

/* After the pass has ended, only an existing address is reported. */
static const char *endpoint_of(const struct isvc *svc)
{
    bool failed = svc->ended || svc->trouble;
    bool there = json_present(view_child(svc->in, &RESOURCE_SERVICE, svc->service));
    return !failed || there ? service_endpoint(svc) : NULL;
}

static struct json status_of(struct isvc *svc, enum isvc_phase phase, int64_t position)
{
    const struct isvc_scheduling *why = &svc->scheduling;
    return json_fields(svc->arena,
        { "phase", json_str(isvc_phase_name(phase)) },
        { "mode", json_str(runtime_mode(svc->raw)) },
        { "modelReady", json_true_or_absent(svc->model_ready) },
        { "readyReplicas", json_int_or_absent(svc->ready) },
        { "desiredReplicas", json_int_or_absent(svc->desired) },
        { "replicas", json_int_or_absent(svc->desired) },
        { "endpoint", json_str(endpoint_of(svc)) },
        { "effectivePriority", json_int(effective_priority(svc)) },
        { "queuePosition", json_int_or_absent(position) },
        { "schedulingStatus", json_str(why->status) },
        { "schedulingMessage", json_str(why->message) },
        { "waitingFor", json_str(why->waiting_for) },
        { "acceleration", svc->acceleration },
        { "gateway", svc->gateway_status });
}

/* ---- conditions ---- */

static void plan_creating(struct isvc *svc)
{
    plan_condition(svc->out,
        "Progressing",
        true,
        "Creating",
        "Creating inference service (%lld/%lld replicas ready)",
        (long long)svc->ready,
        (long long)svc->desired);
}

static void plan_waiting(struct isvc *svc, int64_t position)
{
    plan_condition(svc->out,
        "Progressing",
        true,
        "WaitingForGPU",
        "No node has a free GPU for it; number %lld of the services that wait for one",
        (long long)position);
    plan_condition(svc->out,
        "GPUAvailable",
        false,
        "InsufficientGPU",
        "No node has this to give: %s. Free some, add nodes, or ask for less",
        svc->scheduling.waiting_for);
}

/* Reports when a service that was available no longer is; a service that starts for the first time
 * has no such condition. */
static void plan_availability(struct isvc *svc, enum isvc_phase phase)
{
    if (phase == PHASE_READY)
        plan_condition(svc->out,
            "Available",
            true,
            "InferenceReady",
            "Inference service is ready and serving requests");
    else if (phase == PHASE_STOPPED && svc->waits_for_slot)
        isvc_condition_keep(svc, "Available");
    else if (phase == PHASE_STOPPED)
        plan_condition(svc->out,
            "Available",
            false,
            "ManuallyScaledToZero",
            "spec.replicas=0; workload scaled to zero");
    else if (phase == PHASE_SUSPENDED)
        plan_condition(svc->out,
            "Available",
            false,
            "Suspended",
            "spec.suspend is true, so no pods run; without it they come back as spec.replicas "
            "says");
    else if (phase == PHASE_FAILED && svc->ready == 0)
        return;
    else if (svc->ready > 0)
        isvc_condition_keep(svc, "Available");
    else if (json_present(isvc_condition(svc, "Available")))
        plan_condition(svc->out,
            "Available",
            false,
            "NoReadyReplicas",
            "None of %lld pods is ready (phase %s): the other conditions and the pods' events tell "
            "why",
            (long long)svc->desired,
            isvc_phase_name(phase));
}

static void plan_conditions(struct isvc *svc, enum isvc_phase phase, int64_t position)
{
    plan_availability(svc, phase);
    if (phase == PHASE_CREATING || phase == PHASE_PROGRESSING)
        plan_creating(svc);
    if (phase == PHASE_PENDING)
        plan_condition(svc->out, "Progressing", true, "Pending", "%s", svc->end_message);
    if (phase == PHASE_WAITING_FOR_GPU)
        plan_waiting(svc, position);
    if (phase == PHASE_FAILED)
        plan_condition(svc->out,
            "Degraded",
            true,
            "Failed",
            "%s",
            svc->ended ? svc->end_message : svc->trouble);
    if (svc->spec.suspend)
        plan_condition(svc->out, "Suspended", true, "Suspended", "spec.suspend is true");
    else
        plan_condition(svc->out, "Suspended", false, "NotSuspended", "Service is not suspended");
}

/* ---- the end ---- */

static void plan_outcome(struct isvc *svc, enum isvc_phase phase)
{
    if (svc->ended)
        plan_wait(svc->out, "%s", svc->detail ? svc->detail : svc->end_message);
    else if (phase == PHASE_FAILED)
        plan_wait(svc->out, "%s", svc->trouble);
    else if (svc->recheck_ms)
        plan_recheck(svc->out, svc->recheck_ms);
    else
        plan_done(svc->out);
}

void isvc_plan_status(struct isvc *svc)
{
    /* Before the Model is known nothing is wanted; running pods continue. */
    if (!svc->model_ready)
        svc->desired = json_get_int(svc->live, "spec.replicas", 0);
    enum isvc_phase phase = phase_of(svc);
    bool serving = phase == PHASE_READY || phase == PHASE_STOPPED || phase == PHASE_SUSPENDED;
    if (serving)
        svc->scheduling = (struct isvc_scheduling){ 0 };
    int64_t position = phase == PHASE_WAITING_FOR_GPU ? queue_position(svc) : 0;
    plan_status(svc->out, status_of(svc, phase, position), "lastUpdated");
    plan_conditions(svc, phase, position);
    plan_outcome(svc, phase);
}
