#include "sim/sim.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/time.h"

/* The cluster's own controllers, as seen by operators: some time after a change, a Deployment's
 * pods are ready, a claim is bound, a Job is complete. */

struct job {
    struct job *next, **link;
    struct sim_workloads *workloads;
    struct timer timer;
    const struct rule *rule;
    char *ns, *name;
};

struct sim_workloads {
    struct sim *sim;
    struct job *jobs;
};

/* Either all its pods are ready, or they crash and none is. */
static struct json status_of_deployment(
    struct arena *a, struct json object, const char *now, bool ready)
{
    int64_t replicas = json_get_int(object, "spec.replicas", 1), up = ready ? replicas : 0;
    struct json available = json_fields(a,
        { "type", json_str("Available") },
        { "status", json_str(ready ? "True" : "False") },
        { "reason", json_str(ready ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable") },
        { "message",
            json_str(ready ? "Deployment has minimum availability."
                           : "Deployment does not have minimum availability.") },
        { "lastUpdateTime", json_str(now) },
        { "lastTransitionTime", json_str(now) });
    return json_fields(a,
        { "observedGeneration", json_int(json_get_int(object, "metadata.generation", 0)) },
        { "replicas", json_int(replicas) },
        { "updatedReplicas", json_int(replicas) },
        { "readyReplicas", json_int(up) },
        { "availableReplicas", json_int(up) },
        { "unavailableReplicas", json_int(replicas - up) },
        { "conditions", json_list(a, available) });
}

static struct json deployment_status(struct arena *a, struct json object, const char *now)
{
    return status_of_deployment(a, object, now, true);
}

static struct json crash_status(struct arena *a, struct json object, const char *now)
{
    return status_of_deployment(a, object, now, false);
}

static struct json claim_status(struct arena *a, struct json object, const char *now)
{
    (void)now;
    return json_fields(a,
        { "phase", json_str("Bound") },
        { "accessModes", json_get(object, "spec.accessModes") },
        { "capacity", json_get(object, "spec.resources.requests") });
}

static struct json job_end(struct arena *a, const char *const types[2], const char *now)
{
    struct json_builder conditions;
    json_builder_init(&conditions, a);
    for (size_t i = 0; i < 2; i++)
        json_push(&conditions,
            json_fields(a,
                { "type", json_str(types[i]) },
                { "status", json_str("True") },
                { "reason", json_str("CompletionsReached") },
                { "message", json_str("the Job came to its end") },
                { "lastProbeTime", json_str(now) },
                { "lastTransitionTime", json_str(now) }));
    return json_list_end(&conditions);
}

static struct json job_status(struct arena *a, struct json object, const char *now)
{
    (void)object;
    static const char *const types[] = { "SuccessCriteriaMet", "Complete" };
    return json_fields(a,
        { "startTime", json_str(now) },
        { "completionTime", json_str(now) },
        { "succeeded", json_int(1) },
        { "ready", json_int(0) },
        { "conditions", job_end(a, types, now) });
}

static struct json failed_status(struct arena *a, struct json object, const char *now)
{
    (void)object;
    static const char *const types[] = { "FailureTarget", "Failed" };
    return json_fields(a,
        { "startTime", json_str(now) },
        { "failed", json_int(1) },
        { "ready", json_int(0) },
        { "conditions", job_end(a, types, now) });
}

/* done: a path that exists, with this meaning, once the status is about this generation. */
static const struct rule {
    const char *table, *path;
    struct json (*status)(struct arena *a, struct json object, const char *now);
    struct json (*failed)(struct arena *a, struct json object, const char *now);
    const char *done;
} rules[] = {
    { "apps/deployments",
        "/apis/apps/v1",
        deployment_status,
        crash_status,
        "status.observedGeneration" },
    { "/persistentvolumeclaims", "/api/v1", claim_status, claim_status, "status.capacity" },
    { "batch/jobs", "/apis/batch/v1", job_status, failed_status, "status.conditions" },
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

/* A pod does not start without the Secrets that it names. */
static bool lacks_secret(struct sim *s, const char *ns, struct json v, const char *key)
{
    bool names = text_eq(key, "secretName") || text_eq(key, "secretKeyRef");
    const char *name = json_is(v, JSON_MAP) ? json_get_text(v, "name") : json_text(v);
    if (names && !text_empty(name))
        return !store_get(store_table(s->store, "/secrets"), ns, name);
    json_each_member (m, v)
        if (lacks_secret(s, ns, m->value, m->key))
            return true;
    for (uint32_t i = 0; json_is(v, JSON_LIST) && i < v.count; i++)
        if (lacks_secret(s, ns, v.items[i], NULL))
            return true;
    return false;
}

/* The claim is no longer used: removes the protecting finalizer. */
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

/* Ends the Job's pod: its output is a digest of its arguments. */
static void end_pod(struct sim *s, struct arena *a, struct json job, bool fails, const char *now)
{
    struct json tmpl = json_get(job, "spec.template");
    const char *ns = json_get_text(job, "metadata.namespace");
    const char *name = json_get_text(job, "metadata.name");
    struct json labels = json_with_member(
        a, json_get(tmpl, "metadata.labels"), "batch.kubernetes.io/job-name", json_str(name));
    struct json pod = json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Pod") },
        { "metadata.name", json_str(name) },
        { "metadata.labels", labels },
        { "metadata.ownerReferences",
            json_list(a,
                json_fields(a,
                    { "apiVersion", json_str("batch/v1") },
                    { "kind", json_str("Job") },
                    { "name", json_str(name) },
                    { "uid", json_get(job, "metadata.uid") },
                    { "controller", json_bool(true) })) },
        { "spec", json_get(tmpl, "spec") });
    struct json env = json_get(tmpl, "spec.containers.0.env");
    struct json ended = json_fields(a,
        { "name", json_get(tmpl, "spec.containers.0.name") },
        { "image", json_get(tmpl, "spec.containers.0.image") },
        { "imageID", json_str("") },
        { "ready", json_bool(false) },
        { "restartCount", json_int(0) },
        { "state.terminated.exitCode", json_int(fails) },
        { "state.terminated.finishedAt", json_str(now) },
        { "state.terminated.message",
            fails ? json_str("no space left")
                  : json_strf(a, "sha256:%s", sha256_hex(a, str_of(json_to_text(a, env)))) });
    struct json status = json_fields(a,
        { "phase", json_str(fails ? "Failed" : "Succeeded") },
        { "containerStatuses", json_list(a, ended) });
    const char *in = arena_printf(a, "/api/v1/namespaces/%s/pods", ns);
    const char *at = arena_printf(a, "%s/%s/status", in, name);
    sim_ask(s, "workloads", "POST", in, "application/json", pod, NULL, NULL);
    sim_ask(s,
        "workloads",
        "PATCH",
        at,
        "application/merge-patch+json",
        json_fields(a, { "status", status }),
        NULL,
        NULL);
}

static void job_free(struct job *j)
{
    timer_stop(&j->workloads->sim->env, &j->timer);
    *j->link = j->next;
    if (j->next)
        j->next->link = j->link;
    free(j->ns);
    free(j->name);
    free(j);
}

static void act(void *ctx)
{
    struct job *j = ctx;
    struct sim *s = j->workloads->sim;
    const struct rule *r = j->rule;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct store_object *o = store_get(store_table(s->store, r->table), j->ns, j->name);
    struct json object;
    struct error err;
    if (!o || !json_parse(&a, o->text, &object, &err))
        object = json_none;
    const char *plural = strchr(r->table, '/') + 1;
    const char *path = arena_printf(&a, "%s/namespaces/%s/%s/%s", r->path, j->ns, plural, j->name);
    if (json_present(json_get(object, "metadata.deletionTimestamp"))) {
        let_go(s, &a, path, object);
    } else if (json_present(object) && !is_done(r, object) &&
               !(r->status == job_status && lacks_secret(s, j->ns, object, NULL))) {
        path = arena_printf(&a, "%s/status", path);
        bool fails = !s->quiet && sim_chance(s, SIM_FAULTS, s->options.rates.pods_fail);
        const char *now = time_format(&a, env_wall_ms(&s->env));
        if (r->status == job_status)
            end_pod(s, &a, object, fails, now);
        struct json status = (fails ? r->failed : r->status)(&a, object, now);
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
        j->ns = mem_strdup(event->object->ns);
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
