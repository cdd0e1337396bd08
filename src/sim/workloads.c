#include "sim/sim.h"

#include <stdlib.h>

#include "base/time.h"

/* The cluster's own controllers, as far as operators see them: some time after a Deployment changed
 * its pods are ready, a claim is bound, a Job is through. */

struct job {
    struct job *next, **link;
    struct sim_workloads *workloads;
    struct timer timer;
    const struct rule *rule;
    char *namespace, *name;
};

struct sim_workloads {
    struct sim *sim;
    struct job *jobs;
};

static struct json deployment_status(struct arena *a, struct json object, const char *now)
{
    int64_t replicas = json_get_int(object, "spec.replicas", 1);
    struct json ready = json_fields(a,
        { "type", json_str("Available") },
        { "status", json_str("True") },
        { "reason", json_str("MinimumReplicasAvailable") },
        { "message", json_str("Deployment has minimum availability.") },
        { "lastUpdateTime", json_str(now) },
        { "lastTransitionTime", json_str(now) });
    return json_fields(a,
        { "observedGeneration", json_int(json_get_int(object, "metadata.generation", 0)) },
        { "replicas", json_int(replicas) },
        { "updatedReplicas", json_int(replicas) },
        { "readyReplicas", json_int(replicas) },
        { "availableReplicas", json_int(replicas) },
        { "unavailableReplicas", json_int(0) },
        { "conditions", json_list(a, ready) });
}

/* Its pods crash: none is ready. */
static struct json crash_status(struct arena *a, struct json object, const char *now)
{
    int64_t replicas = json_get_int(object, "spec.replicas", 1);
    struct json unready = json_fields(a,
        { "type", json_str("Available") },
        { "status", json_str("False") },
        { "reason", json_str("MinimumReplicasUnavailable") },
        { "message", json_str("Deployment does not have minimum availability.") },
        { "lastUpdateTime", json_str(now) },
        { "lastTransitionTime", json_str(now) });
    return json_fields(a,
        { "observedGeneration", json_int(json_get_int(object, "metadata.generation", 0)) },
        { "replicas", json_int(replicas) },
        { "updatedReplicas", json_int(replicas) },
        { "readyReplicas", json_int(0) },
        { "availableReplicas", json_int(0) },
        { "unavailableReplicas", json_int(replicas) },
        { "conditions", json_list(a, unready) });
}

static struct json claim_status(struct arena *a, struct json object, const char *now)
{
    (void)now;
    return json_fields(a,
        { "phase", json_str("Bound") },
        { "accessModes", json_get(object, "spec.accessModes") },
        { "capacity", json_get(object, "spec.resources.requests") });
}

static struct json job_status(struct arena *a, struct json object, const char *now)
{
    (void)object;
    struct json_builder conditions;
    json_builder_init(&conditions, a);
    static const char *const types[] = { "SuccessCriteriaMet", "Complete" };
    for (size_t i = 0; i < lengthof(types); i++)
        json_push(&conditions,
            json_fields(a,
                { "type", json_str(types[i]) },
                { "status", json_str("True") },
                { "lastProbeTime", json_str(now) },
                { "lastTransitionTime", json_str(now) }));
    return json_fields(a,
        { "startTime", json_str(now) },
        { "completionTime", json_str(now) },
        { "succeeded", json_int(1) },
        { "ready", json_int(0) },
        { "conditions", json_list_end(&conditions) });
}

/* done: a path that is there, with this meaning, once the status says so for this generation. */
static const struct rule {
    const char *table, *path;
    struct json (*status)(struct arena *a, struct json object, const char *now);
    const char *done;
} rules[] = {
    { "apps/deployments", "/apis/apps/v1", deployment_status, "status.observedGeneration" },
    { "/persistentvolumeclaims", "/api/v1", claim_status, "status.capacity" },
    { "batch/jobs", "/apis/batch/v1", job_status, "status.succeeded" },
};

static bool is_done(const struct rule *r, struct json object)
{
    struct json done = json_get(object, r->done);
    if (r->status != deployment_status)
        return json_present(done);
    return json_is(done, JSON_INT) &&
           done.integer == json_get_int(object, "metadata.generation", 0) &&
           json_get_int(object, "status.readyReplicas", 0) ==
               json_get_int(object, "spec.replicas", 1);
}

/* Nobody uses the claim any more: what protects it is taken off. */
static void let_go(struct sim *s, struct arena *a, const char *path, struct json object)
{
    if (!json_list_has(json_get(object, "metadata.finalizers"), "kubernetes.io/pvc-protection"))
        return;
    struct error err;
    struct json body;
    if (!json_parse(a, STR("{\"metadata\":{\"finalizers\":null}}"), &body, &err))
        sim_fail(s, "%s", err.text);
    sim_ask(s, "workloads", "PATCH", path, "application/merge-patch+json", body, NULL, NULL);
}

static void job_free(struct job *j)
{
    timer_stop(&j->workloads->sim->env, &j->timer);
    *j->link = j->next;
    if (j->next)
        j->next->link = j->link;
    free(j->namespace);
    free(j->name);
    free(j);
}

static void act(void *ctx)
{
    struct job *j = ctx;
    struct sim *s = j->workloads->sim;
    const struct rule *r = j->rule;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct store_object *o =
        store_get(store_table(s->store, r->table), j->namespace, j->name);
    struct json object;
    struct error err;
    if (!o || !json_parse(&a, o->text, &object, &err))
        object = (struct json){ 0 };
    const char *plural = strchr(r->table, '/') + 1;
    const char *path =
        arena_printf(&a, "%s/namespaces/%s/%s/%s", r->path, j->namespace, plural, j->name);
    if (json_present(json_get(object, "metadata.deletionTimestamp"))) {
        let_go(s, &a, path, object);
    } else if (json_present(object) && !is_done(r, object)) {
        path = arena_printf(&a, "%s/status", path);
        bool fails = r->status == deployment_status && !s->quiet &&
                     sim_chance(s, SIM_FAULTS, s->options.rates.pods_fail);
        struct json status =
            (fails ? crash_status : r->status)(&a, object, time_format(&a, env_wall_ms(&s->env)));
        int code = sim_ask(s,
            "workloads",
            "PATCH",
            path,
            "application/merge-patch+json",
            json_fields(&a, { "status", status }),
            NULL,
            NULL);
        if (code != 200 && code != 404)
            sim_fail(s, "the stand-in for workloads: PATCH %s is answered %d", path, code);
    }
    job_free(j);
}

struct sim_workloads *sim_workloads_new(struct sim *s)
{
    struct sim_workloads *w = mem_new_of(struct sim_workloads);
    w->sim = s;
    return w;
}

void sim_workloads_changed(struct sim_workloads *w, const struct store_event *event)
{
    const char *table = store_table_name(event->object->table);
    for (size_t i = 0; !event->gone && i < lengthof(rules); i++) {
        if (!text_eq(rules[i].table, table) || sim_is_poison(event->object->name))
            continue;
        struct job *j = mem_new_of(struct job);
        j->workloads = w;
        j->rule = &rules[i];
        j->namespace = mem_strdup(event->object->namespace);
        j->name = mem_strdup(event->object->name);
        j->next = w->jobs;
        j->link = &w->jobs;
        if (j->next)
            j->next->link = &j->next;
        w->jobs = j;
        timer_init(&j->timer, act, j);
        timer_set(&w->sim->env, &j->timer, 50 + sim_below(w->sim, SIM_WORKLOADS, 4000));
    }
}

void sim_workloads_free(struct sim_workloads *w)
{
    while (w->jobs)
        job_free(w->jobs);
    free(w);
}
