/* Validates the status of built-in kinds. A status is written through its own subresource, and only
 * the status is validated then. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"

/* Counters that must not be negative, and those with an upper bound and its name in messages, in
 * the order in which the server checks them. */
struct counters {
    const char *kind;
    const char *const *counters;
    const char *const *bounded; /* by status.replicas; NULL: none */
    const char *ready;          /* the bound for availableReplicas */
};

/* clang-format off */
static const char *const deployment[] = { "observedGeneration", "replicas", "updatedReplicas",
    "readyReplicas", "availableReplicas", "unavailableReplicas", "terminatingReplicas",
    "collisionCount", NULL };
static const char *const deployment_bounded[] = { "updatedReplicas", "readyReplicas",
    "availableReplicas", NULL };
static const char *const replica_set[] = { "replicas", "fullyLabeledReplicas", "readyReplicas",
    "availableReplicas", "observedGeneration", "terminatingReplicas", NULL };
static const char *const replica_set_bounded[] = { "fullyLabeledReplicas", "readyReplicas",
    "availableReplicas", NULL };
static const char *const stateful_set[] = { "replicas", "readyReplicas", "currentReplicas",
    "updatedReplicas", "availableReplicas", "observedGeneration", "collisionCount", NULL };
static const char *const stateful_set_bounded[] = { "readyReplicas", "currentReplicas",
    "updatedReplicas", "availableReplicas", NULL };
static const char *const daemon_set[] = { "currentNumberScheduled", "numberMisscheduled",
    "desiredNumberScheduled", "numberReady", "observedGeneration", "updatedNumberScheduled",
    "numberAvailable", "numberUnavailable", "collisionCount", NULL };
static const char *const budget[] = { "disruptionsAllowed", "currentHealthy", "desiredHealthy",
    "expectedPods", NULL };
static const char *const autoscaler[] = { "currentReplicas", "desiredReplicas", NULL };
static const char *const job[] = { "active", "succeeded", "failed", "ready", NULL };

static const struct counters counters[] = {
    { "Deployment", deployment, deployment_bounded, "readyReplicas" },
    { "ReplicaSet", replica_set, replica_set_bounded, "readyReplicas" },
    { "ReplicationController", replica_set, replica_set_bounded, "readyReplicas" },
    { "StatefulSet", stateful_set, stateful_set_bounded, "status.readyReplicas" },
    { "DaemonSet", daemon_set },
    { "PodDisruptionBudget", budget },
    { "HorizontalPodAutoscaler", autoscaler },
    { "Job", job },
};
/* clang-format on */

static void check_counters(struct field_errors *e, struct json status, const struct counters *c)
{
    static const struct check at_least_0 = { "", CHECK_MIN };
    int64_t replicas = json_get_int(status, "replicas", 0),
            available = json_get_int(status, "availableReplicas", 0);
    for (const char *const *name = c->counters; *name; name++)
        check_value(
            e, json_member(status, *name), field_child(e->arena, "status", *name), &at_least_0);
    for (const char *const *name = c->bounded; name && *name; name++)
        if (json_get_int(status, *name, 0) > replicas)
            field_invalid(e,
                field_child(e->arena, "status", *name),
                json_int(json_get_int(status, *name, 0)),
                "cannot be greater than status.replicas");
    if (c->ready && available > json_get_int(status, "readyReplicas", 0))
        field_invalid(e,
            "status.availableReplicas",
            json_int(available),
            arena_printf(e->arena, "cannot be greater than %s", c->ready));
}

/* ---- addresses ---- */

static void check_ingress(const struct api_write *w, struct json object, struct field_errors *e)
{
    static const struct check rules[] = {
        { "status.loadBalancer.ingress.*.ip", CHECK_IP },
        { "status.loadBalancer.ingress.*.hostname", CHECK_SUBDOMAIN },
        { 0 },
    };
    bool service = api_kind_is_core(w->kind, "Service");
    if (service && !text_eq(json_get_text(object, "spec.type"), "LoadBalancer") &&
        json_get(object, "status.loadBalancer.ingress").count)
        field_forbidden(e,
            "status.loadBalancer.ingress",
            "may only be used when `spec.type` is 'LoadBalancer'");
    else
        check_table(e, object, "", rules);
}

static void check_pod_status(struct json object, struct field_errors *e)
{
    static const struct check rules[] = {
        { "status.nominatedNodeName", CHECK_SUBDOMAIN },
        { 0 },
    };
    size_t i = 0;
    check_table(e, object, "", rules);
    json_each (ip, json_get(object, "status.podIPs"))
        check_value(e,
            json_member(*ip, "ip"),
            check_item_path(e->arena, "status", "podIPs", i++),
            &(struct check){ "", CHECK_IP });
}

/* The counters of a Job only increase. */
static void check_job_status(const struct api_write *w, struct json object, struct field_errors *e)
{
    static const char *const growing[] = { "failed", "succeeded" };
    for (size_t i = 0; i < lengthof(growing); i++) {
        const char *path = field_child(e->arena, "status", growing[i]);
        int64_t fresh = json_get_int(object, path, 0);
        if (fresh < json_get_int(w->old, path, 0))
            field_invalid(e,
                path,
                json_int(fresh),
                arena_printf(e->arena, "cannot decrease the %s counter", growing[i]));
    }
}

static void check_phase(struct json object, struct field_errors *e)
{
    const char *phase = json_get_text(object, "status.phase");
    bool ends = json_present(json_get(object, "metadata.deletionTimestamp"));
    if (!text_eq(phase, ends ? "Terminating" : "Active"))
        field_invalid(e,
            "status.Phase",
            json_str(phase ? phase : ""),
            ends ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                 : "may only be 'Active' if `deletionTimestamp` is empty");
}

void builtin_status_check(const struct api_write *w, struct json object, struct field_errors *e)
{
    const char *kind = w->kind->resource.kind;
    for (size_t i = 0; i < lengthof(counters); i++)
        if (text_eq(counters[i].kind, kind))
            check_counters(e, json_member(object, "status"), &counters[i]);
    if (text_eq(kind, "Service") || text_eq(kind, "Ingress"))
        check_ingress(w, object, e);
    else if (text_eq(kind, "Pod"))
        check_pod_status(object, e);
    else if (text_eq(kind, "Job"))
        check_job_status(w, object, e);
    else if (text_eq(kind, "Namespace"))
        check_phase(object, e);
    else if (text_eq(kind, "ResourceQuota"))
        builtin_quota_status_check(object, e);
    else if (text_eq(kind, "Node"))
        builtin_node_status_check(object, e);
}
