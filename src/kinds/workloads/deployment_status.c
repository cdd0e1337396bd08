/* A Deployment's status: numbers, and the conditions that `kubectl rollout status` and `kubectl
 * wait` read. */

#include "kinds/workloads/deployment.h"

#include "engine/view.h"
#include "kinds/workloads/workloads.h"

/* An infinite deadline, as the API server understands it. */
#define NO_DEADLINE_S INT32_MAX

static int64_t sum(const struct deployment *d, const char *path)
{
    int64_t total = 0;
    for (size_t i = 0; i < d->r.count; i++)
        total += json_get_int(d->r.sets[i].object, path, 0);
    return total;
}

static struct json numbers(const struct deployment *d)
{
    struct arena *a = d->in->arena;
    struct json latest = json_if(d->r.latest, d->r.latest->object);
    int64_t available = sum(d, "status.availableReplicas"), wanted = 0;
    for (size_t i = 0; i < d->r.count; i++)
        wanted += d->r.sets[i].replicas;
    return json_fields(a,
        { "observedGeneration", json_get(d->in->object, "metadata.generation") },
        { "replicas", json_int_or_absent(sum(d, "status.replicas")) },
        { "updatedReplicas", json_int_or_absent(json_get_int(latest, "status.replicas", 0)) },
        { "readyReplicas", json_int_or_absent(sum(d, "status.readyReplicas")) },
        { "availableReplicas", json_int_or_absent(available) },
        { "unavailableReplicas", json_int_or_absent(wanted > available ? wanted - available : 0) },
        { "terminatingReplicas", json_int(sum(d, "status.terminatingReplicas")) },
        { "collisionCount", json_int_or_absent(d->collisions) });
}

bool deployment_is_complete(const struct deployment *d, struct json status)
{
    return json_get_int(status, "updatedReplicas", 0) == d->r.replicas &&
           json_get_int(status, "replicas", 0) == d->r.replicas &&
           json_get_int(status, "availableReplicas", 0) == d->r.replicas;
}

/* More new pods or fewer old ones than it last reported. */
static bool has_progressed(const struct deployment *d, struct json status)
{
    struct json before = json_get(d->in->object, "status");
    int64_t updated = json_get_int(status, "updatedReplicas", 0);
    int64_t was_updated = json_get_int(before, "updatedReplicas", 0);
    int64_t old = json_get_int(status, "replicas", 0) - updated;
    int64_t was_old = json_get_int(before, "replicas", 0) - was_updated;
    return updated > was_updated || old < was_old ||
           json_get_int(status, "readyReplicas", 0) > json_get_int(before, "readyReplicas", 0) ||
           json_get_int(status, "availableReplicas", 0) >
               json_get_int(before, "availableReplicas", 0);
}

static int64_t deadline_s(const struct deployment *d)
{
    return json_get_int(d->in->object, "spec.progressDeadlineSeconds", NO_DEADLINE_S);
}

static struct json set(const struct deployment *d, struct json list, const char *type,
    const char *status, const char *reason, const char *message)
{
    struct workloads_condition c = { type, status, reason, message };
    return workloads_condition_set(d->in, list, &c, "lastUpdateTime");
}

static struct json progressing(const struct deployment *d, struct json list, const char *status,
    const char *reason, const char *what)
{
    const struct rollout_set *latest = d->r.latest;
    const char *message = arena_printf(d->in->arena,
        "%s \"%s\" %s.",
        latest ? "ReplicaSet" : "Deployment",
        latest ? latest->name : view_name(d->in),
        what);
    return set(d, list, "Progressing", status, reason, message);
}

static struct json progress_of(
    const struct deployment *d, struct json list, struct json status, int64_t *next_ms)
{
    struct json now = json_find(list, "type", "Progressing");
    const char *reason = json_get_text(now, "reason");
    bool settled = text_eq(reason, "NewReplicaSetAvailable");
    if (settled &&
        json_get_int(status, "replicas", 0) == json_get_int(status, "updatedReplicas", 0))
        return list;
    if (deployment_is_complete(d, status))
        return progressing(
            d, list, "True", "NewReplicaSetAvailable", "has successfully progressed");
    if (has_progressed(d, status)) {
        /* A different reason, so that it is written with the time at which the deadline starts. */
        struct arena *a = d->in->arena;
        struct json_builder all;
        json_builder_init(&all, a);
        json_push_all(&all, workloads_condition_drop(a, list, "Progressing"));
        if (json_present(now))
            json_push(&all, json_with_member(a, now, "reason", json_str("")));
        list = json_list_end(&all);
        *next_ms = deadline_s(d) * 1000 + 1;
        return progressing(d, list, "True", "ReplicaSetUpdated", "is progressing");
    }
    if (!json_present(now) || settled)
        return list;
    int64_t left_ms =
        workloads_time_ms(now, "lastUpdateTime") + deadline_s(d) * 1000 - d->in->now_ms;
    if (text_eq(reason, "ProgressDeadlineExceeded") || left_ms < 0)
        return progressing(
            d, list, "False", "ProgressDeadlineExceeded", "has timed out progressing");
    *next_ms = left_ms + 1;
    return list;
}

/* What happened to the latest set before anything is counted. */
static struct json found(const struct deployment *d, struct json list)
{
    struct json now = json_find(list, "type", "Progressing");
    const char *reason = json_get_text(now, "reason");
    bool was_paused = text_eq(reason, "DeploymentPaused");
    if (d->paused && !was_paused && !text_eq(reason, "ProgressDeadlineExceeded"))
        list = set(d, list, "Progressing", "Unknown", "DeploymentPaused", "Deployment is paused");
    if (!d->paused && was_paused)
        list = set(d, list, "Progressing", "Unknown", "DeploymentResumed", "Deployment is resumed");
    if (d->failure)
        return set(d, list, "Progressing", "False", "ReplicaSetCreateError", d->failure);
    bool is_found = d->r.latest && !d->paused && !json_present(now);
    if (d->made || is_found)
        return set(d,
            list,
            "Progressing",
            "True",
            d->made ? "NewReplicaSetCreated" : "FoundNewReplicaSet",
            arena_printf(d->in->arena,
                "%s new replica set \"%s\"",
                d->made ? "Created" : "Found",
                d->r.latest->name));
    return list;
}

static struct json failure_of(const struct deployment *d, struct json list)
{
    for (size_t i = 0; i < d->r.count; i++) {
        struct json c =
            json_find(json_get(d->r.sets[i].object, "status.conditions"), "type", "ReplicaFailure");
        if (json_present(c))
            return set(d,
                list,
                "ReplicaFailure",
                json_get_text(c, "status"),
                json_get_text(c, "reason"),
                json_get_text(c, "message"));
    }
    return workloads_condition_drop(d->in->arena, list, "ReplicaFailure");
}

struct json deployment_status(const struct deployment *d, int64_t *next_ms)
{
    struct arena *a = d->in->arena;
    struct json status = numbers(d);
    struct json list = json_get(d->in->object, "status.conditions");
    bool available =
        json_get_int(status, "availableReplicas", 0) >= d->r.replicas - d->r.unavailable;
    list = deadline_s(d) < NO_DEADLINE_S ? found(d, list)
                                         : workloads_condition_drop(a, list, "Progressing");
    list = available ? set(d,
                           list,
                           "Available",
                           "True",
                           "MinimumReplicasAvailable",
                           "Deployment has minimum availability.")
                     : set(d,
                           list,
                           "Available",
                           "False",
                           "MinimumReplicasUnavailable",
                           "Deployment does not have minimum availability.");
    if (deadline_s(d) < NO_DEADLINE_S && !d->paused)
        list = progress_of(d, list, status, next_ms);
    if (!d->paused)
        list = failure_of(d, list);
    return json_with_member(a, status, "conditions", json_or_absent(list));
}
