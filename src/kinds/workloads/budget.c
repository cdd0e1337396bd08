/* PodDisruptionBudget: how many of its pods may be evicted now. */

#include "base/intorstr.h"
#include "base/selector.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

/* The object that sets the number of such pods: a ReplicaSet's Deployment, a ReplicaSet or a
 * StatefulSet; absent: none. */
static struct json scale_of(const struct view *in, struct json pod)
{
    static const struct {
        const char *kind;
        const struct resource *resource;
    } known[] = {
        { "Deployment", &WORKLOADS_DEPLOYMENT },
        { "ReplicaSet", &WORKLOADS_REPLICA_SET },
        { "StatefulSet", &WORKLOADS_STATEFUL_SET },
    };
    struct json at = pod, found = { 0 };
    for (int depth = 0; depth < 2; depth++) {
        struct json owner = { 0 };
        json_each (reference, json_get(at, "metadata.ownerReferences"))
            if (json_get_bool(*reference, "controller", false))
                owner = *reference;
        for (size_t i = 0; i < lengthof(known); i++)
            if (text_eq(known[i].kind, json_get_text(owner, "kind"))) {
                at = view_get(in, known[i].resource, json_get_text(owner, "name"));
                found = json_present(at) ? at : found;
            }
    }
    return found;
}

/* The sum over all owners of these pods, each counted once. */
static int64_t expected_of(const struct view *in, struct json pods)
{
    struct json_builder seen;
    json_builder_init(&seen, in->arena);
    int64_t sum = 0;
    json_each (pod, pods) {
        struct json scale = scale_of(in, *pod);
        const char *uid = json_get_text(scale, "metadata.uid");
        bool again = false;
        for (uint32_t i = 0; i < seen.count; i++)
            again |= text_eq(json_text(seen.members[i].value), uid);
        if (!uid || again)
            continue;
        json_push(&seen, json_str(uid));
        sum += json_get_int(scale, "spec.replicas", 1);
    }
    return sum;
}

/* How many pods there should be, and how many of them must be healthy. */
static bool wanted(
    const struct view *in, struct json pods, int64_t *ret_expected, int64_t *ret_healthy)
{
    struct error err;
    struct json least = json_get(in->object, "spec.minAvailable");
    struct json most = json_get(in->object, "spec.maxUnavailable");
    int64_t part = 0;
    if (json_is(least, JSON_INT)) {
        *ret_expected = (int64_t)pods.count;
        *ret_healthy = least.integer;
        return true;
    }
    *ret_expected = expected_of(in, pods);
    if (json_present(most)) {
        if (!intorstr_scaled(most, *ret_expected, true, &part, &err))
            return false;
        *ret_healthy = *ret_expected > part ? *ret_expected - part : 0;
        return true;
    }
    *ret_healthy = 0;
    return !json_present(least) || intorstr_scaled(least, *ret_expected, true, ret_healthy, &err);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct selector selector;
    int64_t expected, desired, healthy = 0;
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    struct json pods = workloads_pods(in, &selector);
    struct json_builder all;
    json_builder_init(&all, in->arena);
    json_each (pod, pods) {
        const char *phase = json_get_text(*pod, "status.phase");
        if (text_eq(phase, "Succeeded") || text_eq(phase, "Failed"))
            continue;
        json_push(&all, *pod);
        healthy += workloads_pod_is_ready(*pod) &&
                   !json_present(json_get(*pod, "metadata.deletionTimestamp"));
    }
    pods = json_list_end(&all);
    if (!wanted(in, pods, &expected, &desired)) {
        plan_wait(out, "its minAvailable or maxUnavailable cannot be read");
        return;
    }
    int64_t allowed = expected > 0 && healthy > desired ? healthy - desired : 0;
    plan_status(out,
        json_fields(in->arena,
            { "observedGeneration", json_get(in->object, "metadata.generation") },
            { "currentHealthy", json_int(healthy) },
            { "desiredHealthy", json_int(desired) },
            { "expectedPods", json_int(expected) },
            { "disruptionsAllowed", json_int(allowed) }),
        NULL);
    plan_condition(out,
        "DisruptionAllowed",
        allowed > 0,
        allowed ? "SufficientPods" : "InsufficientPods",
        "%s",
        "");
    plan_done(out);
}

static const char *const pod_fields[] = { "metadata.labels", "status", NULL };

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_POD, .keep = pod_fields },
    { .resource = &WORKLOADS_DEPLOYMENT },
    { .resource = &WORKLOADS_REPLICA_SET },
    { .resource = &WORKLOADS_STATEFUL_SET },
    { 0 },
};

const struct kind workloads_budget_kind = {
    .resource = &WORKLOADS_BUDGET,
    .watches = watches,
    .reconcile = reconcile,
};
