#include "kinds/workloads/workloads.h"

#include <stdlib.h>

#include "base/selector.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"

const struct resource WORKLOADS_DEPLOYMENT = { "apps", "v1", "Deployment", "deployments" };
const struct resource WORKLOADS_REPLICA_SET = { "apps", "v1", "ReplicaSet", "replicasets" };
const struct resource WORKLOADS_REPLICA_SET_CHILD = { "apps", "v1", "ReplicaSet", "replicasets" };
const struct resource WORKLOADS_POD = { "", "v1", "Pod", "pods" };
const struct resource WORKLOADS_SERVICE = { "", "v1", "Service", "services" };
const struct resource WORKLOADS_STATEFUL_SET = { "apps", "v1", "StatefulSet", "statefulsets" };
const struct resource WORKLOADS_REVISION = {
    .group = "apps",
    .version = "v1",
    .kind = "ControllerRevision",
    .plural = "controllerrevisions",
};
#define CLAIM                                                                                      \
    {                                                                                              \
        .group = "", .version = "v1", .kind = "PersistentVolumeClaim",                             \
        .plural = "persistentvolumeclaims"                                                         \
    }
const struct resource WORKLOADS_CLAIM = CLAIM;
const struct resource WORKLOADS_CLAIM_CHILD = CLAIM;
#define VOLUME                                                                                     \
    {                                                                                              \
        .group = "", .version = "v1", .kind = "PersistentVolume", .plural = "persistentvolumes",   \
        .cluster_scoped = true                                                                     \
    }
const struct resource WORKLOADS_VOLUME = VOLUME;
const struct resource WORKLOADS_VOLUME_CHILD = VOLUME;
const struct resource WORKLOADS_JOB = { "batch", "v1", "Job", "jobs" };
const struct resource WORKLOADS_BUDGET = {
    .group = "policy",
    .version = "v1",
    .kind = "PodDisruptionBudget",
    .plural = "poddisruptionbudgets",
};
const struct resource WORKLOADS_AUTOSCALER = {
    .group = "autoscaling",
    .version = "v2",
    .kind = "HorizontalPodAutoscaler",
    .plural = "horizontalpodautoscalers",
};
const struct resource WORKLOADS_SLICE = {
    .group = "discovery.k8s.io",
    .version = "v1",
    .kind = "EndpointSlice",
    .plural = "endpointslices",
};

const struct kind *const workloads_kinds[] = {
    &workloads_deployment_kind,
    &workloads_replica_set_kind,
    &workloads_stateful_set_kind,
    &workloads_service_kind,
    &workloads_job_kind,
    &workloads_budget_kind,
    &workloads_autoscaler_kind,
    &workloads_claim_kind,
    &workloads_volume_kind,
    NULL,
};

/* ---- names ---- */

/* How much of a generateName prefix the API server keeps: with its suffix it fits into a label. */
#define BASE_MAX 58

static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";

static uint32_t fnv(const char *text)
{
    uint32_t h = 2166136261u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 16777619u;
    return h;
}

const char *workloads_hash(struct arena *a, const char *text)
{
    char *digits = arena_printf(a, "%u", fnv(text));
    for (char *c = digits; *c; c++)
        *c = letters[(unsigned char)*c % (sizeof(letters) - 1)];
    return digits;
}

const char *workloads_name(struct arena *a, const char *base, const char *uid, int64_t n)
{
    uint32_t h = fnv(arena_printf(a, "%s %lld", uid, (long long)n));
    char suffix[6] = "";
    for (size_t i = 0; i < 5; i++, h /= sizeof(letters) - 1)
        suffix[i] = letters[h % (sizeof(letters) - 1)];
    return arena_printf(a, "%.*s%s", BASE_MAX, arena_printf(a, "%s-", base), suffix);
}

/* ---- objects ---- */

const char *workloads_controller(struct json object)
{
    json_each (reference, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*reference, "controller", false))
            return json_get_text(*reference, "uid");
    return NULL;
}

int64_t workloads_time_ms(struct json object, const char *path)
{
    int64_t ms;
    return time_parse(json_get_text(object, path), &ms) ? ms : 0;
}

bool workloads_selector(const struct view *in, struct selector *ret)
{
    struct error err;
    return selector_from_json(
        in->arena, json_get(in->object, "spec.selector"), "spec.selector", ret, &err);
}

/* ---- pods ---- */

struct json workloads_pods(const struct view *in, const struct selector *s)
{
    const struct selector_requirement *by = NULL;
    for (size_t i = 0; i < s->count; i++) {
        const struct selector_requirement *r = &s->requirements[i];
        bool single = r->op == SELECTOR_IN && r->values.count == 1;
        if (single && (!by || text_eq(r->key, WORKLOADS_TEMPLATE_HASH)))
            by = r;
    }
    const char *narrow = NULL;
    if (by)
        narrow = arena_printf(in->arena, "%s=%s", by->key, json_text(json_item(by->values, 0)));
    struct json_builder list;
    json_builder_init(&list, in->arena);
    json_each (pod, view_list(in, &WORKLOADS_POD, view_namespace(in), narrow))
        if (selector_matches(s, json_get(*pod, "metadata.labels")))
            json_push(&list, *pod);
    return json_list_end(&list);
}

bool workloads_pod_is_active(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return !text_eq(phase, "Succeeded") && !text_eq(phase, "Failed") &&
           !json_present(json_get(pod, "metadata.deletionTimestamp"));
}

static struct json ready_condition(struct json pod)
{
    return json_find(json_get(pod, "status.conditions"), "type", "Ready");
}

bool workloads_pod_is_ready(struct json pod)
{
    return text_eq(json_get_text(ready_condition(pod), "status"), "True");
}

bool workloads_pod_is_available(
    const struct view *in, struct json pod, int64_t min_ready_s, int64_t *next_ms)
{
    if (!workloads_pod_is_ready(pod))
        return false;
    int64_t since_ms = workloads_time_ms(ready_condition(pod), "lastTransitionTime");
    int64_t left_ms = since_ms + min_ready_s * 1000 - in->now_ms;
    if (min_ready_s == 0 || (since_ms && left_ms <= 0))
        return true;
    if (since_ms && (!*next_ms || left_ms < *next_ms))
        *next_ms = left_ms;
    return false;
}

struct json workloads_pod_of(struct arena *a, struct json tmpl, const char *name)
{
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.labels", json_or_absent(json_get(tmpl, "metadata.labels")) },
        { "metadata.annotations", json_or_absent(json_get(tmpl, "metadata.annotations")) },
        { "metadata.finalizers", json_or_absent(json_get(tmpl, "metadata.finalizers")) },
        { "spec", json_get(tmpl, "spec") });
}

/* ---- order of deletion ---- */

static int64_t cost(struct json pod)
{
    int64_t value = 0;
    const char *text = json_text(json_member(
        json_get(pod, "metadata.annotations"), "controller.kubernetes.io/pod-deletion-cost"));
    return text && str_to_int(str_of(text), &value) ? value : 0;
}

static int64_t phase_rank(struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    return text_eq(phase, "Running") ? 2 : text_eq(phase, "Unknown") ? 1 : 0;
}

static int64_t ready_since(struct json pod)
{
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    return workloads_pod_is_ready(pod) ? workloads_time_ms(ready, "lastTransitionTime") : 0;
}

static int64_t restarts(struct json pod)
{
    int64_t most = 0;
    json_each (c, json_get(pod, "status.containerStatuses")) {
        int64_t count = json_get_int(*c, "restartCount", 0);
        most = count > most ? count : most;
    }
    return most;
}

static int compare_pods(const void *left, const void *right)
{
    struct json a = *(const struct json *)left, b = *(const struct json *)right;
    const int64_t by[][2] = {
        { json_get_text(a, "spec.nodeName") != NULL, json_get_text(b, "spec.nodeName") != NULL },
        { phase_rank(a), phase_rank(b) },
        { workloads_pod_is_ready(a), workloads_pod_is_ready(b) },
        { cost(a), cost(b) },
        { ready_since(b), ready_since(a) },
        { restarts(b), restarts(a) },
        { workloads_time_ms(b, "metadata.creationTimestamp"),
            workloads_time_ms(a, "metadata.creationTimestamp") },
    };
    for (size_t i = 0; i < lengthof(by); i++)
        if (by[i][0] != by[i][1])
            return by[i][0] < by[i][1] ? -1 : 1;
    return json_compare(json_get(b, "metadata.name"), json_get(a, "metadata.name"));
}

void workloads_pods_sort(struct json *pods, size_t count)
{
    if (count > 1)
        qsort(pods, count, sizeof(*pods), compare_pods);
}

/* ---- conditions ---- */

struct json workloads_condition_drop(struct arena *a, struct json list, const char *type)
{
    struct json_builder rest;
    json_builder_init(&rest, a);
    json_each (c, list)
        if (!text_eq(json_get_text(*c, "type"), type))
            json_push(&rest, *c);
    return json_list_end(&rest);
}

struct json workloads_condition_set(const struct view *in, struct json list,
    const struct workloads_condition *c, const char *updated)
{
    struct arena *a = in->arena;
    struct json before = json_find(list, "type", c->type);
    bool same_status = text_eq(json_get_text(before, "status"), c->status);
    if (same_status && text_eq(json_get_text(before, "reason"), c->reason))
        return list;
    struct json now = json_str(time_format(a, in->now_ms));
    struct json since = same_status ? json_get(before, "lastTransitionTime") : now;
    struct json condition = json_fields(a,
        { "type", json_str(c->type) },
        { "status", json_str(c->status) },
        { "reason", json_str_or_absent(c->reason) },
        { "message", json_str_or_absent(c->message) },
        { "lastTransitionTime", since });
    if (updated)
        condition = json_with_member(a, condition, updated, now);
    struct json_builder all;
    json_builder_init(&all, a);
    json_push_all(&all, workloads_condition_drop(a, list, c->type));
    json_push(&all, condition);
    return json_list_end(&all);
}

struct json workloads_refusal(
    const struct view *in, struct plan *out, struct json list, const char *why)
{
    struct workloads_condition c = { "ReplicaFailure", "True", "FailedCreate", why };
    if (!why)
        return workloads_condition_drop(in->arena, list, c.type);
    const char *behind = text_starts(why, "apply ") ? strstr(why, ": ") : NULL;
    c.message = behind ? behind + 2 : why; /* only the server's own message, as in Kubernetes */
    if (!json_present(json_find(list, "type", c.type)) && out->event_count < PLAN_MAX_EVENTS)
        plan_event(out, true, c.reason, "Error creating: %s", c.message);
    return workloads_condition_set(in, list, &c, NULL);
}
