/* HorizontalPodAutoscaler: one machine has no pod metrics, so it scales nothing, and reports
 * that. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

static struct json target_of(const struct view *in)
{
    static const struct resource *const known[] = {
        &WORKLOADS_DEPLOYMENT,
        &WORKLOADS_REPLICA_SET,
        &WORKLOADS_STATEFUL_SET,
    };
    struct json to = json_get(in->object, "spec.scaleTargetRef");
    for (size_t i = 0; i < lengthof(known); i++)
        if (text_eq(json_get_text(to, "kind"), known[i]->kind))
            return view_get(in, known[i], json_get_text(to, "name"));
    return json_none;
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct workloads_condition idle = {
        "ScalingActive",
        "False",
        "FailedGetResourceMetric",
        "nothing measures pods on this machine: the replicas stay as many as the target says",
    };
    struct json list = json_get(in->object, "status.conditions");
    plan_status(out,
        json_fields(in->arena,
            { "observedGeneration", json_get(in->object, "metadata.generation") },
            { "currentReplicas",
                json_int_or_absent(json_get_int(target_of(in), "status.replicas", 0)) },
            { "desiredReplicas", json_int(0) },
            { "conditions", workloads_condition_set(in, list, &idle, NULL) }),
        NULL);
    plan_event(out, true, idle.reason, "%s", idle.message);
    plan_done(out);
}

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_DEPLOYMENT },
    { .resource = &WORKLOADS_REPLICA_SET },
    { .resource = &WORKLOADS_STATEFUL_SET },
    { 0 },
};

const struct kind workloads_autoscaler_kind = {
    .resource = &WORKLOADS_AUTOSCALER,
    .watches = watches,
    .reconcile = reconcile,
};
