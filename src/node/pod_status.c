/* The status of a pod in the API, in the kubelet's form and words. */

#include "base/time.h"
#include "http/loop.h"
#include "node/pod_internal.h"

#define LIMITED "leeboard.dev/Limited"
#define RUNNABLE "leeboard.dev/ProgramFound"

static struct json state_of(struct arena *a, const struct container *c)
{
    if (c->running)
        return json_fields(
            a, { "running.startedAt", json_str(time_format(a, c->state.started_ms)) });
    if (c->ended && !c->waiting)
        return container_terminated(a, c);
    bool early = c->kind == CONTAINER_MAIN && !c->pod->initialized && c->pod->count > 0 &&
                 c->pod->containers[0].kind != CONTAINER_MAIN;
    const char *reason = c->waiting ? c->waiting : early ? "PodInitializing" : "ContainerCreating";
    const char *message = c->waiting ? c->waiting_message : c->pod->blocked;
    return json_fields(a,
        { "waiting.reason", json_str(reason) },
        { "waiting.message", json_str_or_absent(message) });
}

/* While it waits for the next run, lastState is the run that has just ended. */
static struct json last_of(struct arena *a, const struct container *c)
{
    if (c->ended && c->waiting)
        return container_terminated(a, c);
    return json_present(c->last) ? c->last : json_empty_map();
}

static struct json status_of(struct arena *a, const struct container *c)
{
    bool ready = c->kind == CONTAINER_INIT ? c->ended && !c->running && c->state.exit_code == 0
                                           : c->running && c->ready;
    const char *image = json_get_text(c->spec, "image");
    return json_map(a,
        { "name", json_str(c->name) },
        { "image", json_str(image) },
        { "imageID", json_str("") },
        { "containerID", json_if(c->run >= 0, json_str(container_id(a, c))) },
        { "ready", json_bool(ready) },
        { "started", json_bool(c->running && c->started) },
        { "restartCount", json_int(c->run > 0 ? c->run : 0) },
        { "state", state_of(a, c) },
        { "lastState", last_of(a, c) });
}

static struct json statuses_of(struct arena *a, const struct pod *p, bool main)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < p->count; i++)
        if ((p->containers[i].kind == CONTAINER_MAIN) == main)
            json_push(&b, status_of(a, &p->containers[i]));
    return json_list_end(&b);
}

static const char *phase_of(const struct pod *p)
{
    bool any_run = false, failed = false, running = false;
    for (size_t i = 0; i < p->count; i++) {
        const struct container *c = &p->containers[i];
        running = running || c->running;
        any_run = any_run || (c->kind == CONTAINER_MAIN && c->run >= 0);
        failed = failed || (c->kind != CONTAINER_SIDECAR && c->ended && c->state.exit_code != 0);
    }
    const char *before = json_get_text(p->object, "status.phase");
    if (text_eq(before, "Succeeded") || text_eq(before, "Failed"))
        return before;
    if (p->finished && !running)
        return failed || p->expired ? "Failed" : "Succeeded";
    return any_run ? "Running" : "Pending";
}

/* Names of the containers for which the condition holds: [a b]. NULL: none. */
static const char *names_where(struct arena *a, const struct pod *p, bool main)
{
    const char *names = NULL;
    for (size_t i = 0; i < p->count; i++) {
        const struct container *c = &p->containers[i];
        bool good = c->kind == CONTAINER_INIT ? c->ended && !c->running && !c->state.exit_code
                                              : c->running && (main ? c->ready : c->started);
        if ((main ? c->kind != CONTAINER_INIT : c->kind != CONTAINER_MAIN) && !good)
            names = arena_printf(a, "%s%s%s", names ? names : "", names ? " " : "", c->name);
    }
    return names;
}

struct condition {
    const char *type;
    bool holds;
    const char *reason, *message;
};

static struct json condition_of(struct arena *a, const struct pod *p, const struct condition *c)
{
    const char *status = c->holds ? "True" : "False";
    struct json old = json_find(json_get(p->object, "status.conditions"), "type", c->type);
    bool same = text_eq(json_get_text(old, "status"), status);
    const char *since = same ? json_get_text(old, "lastTransitionTime") : NULL;
    return json_map(a,
        { "type", json_str(c->type) },
        { "status", json_str(status) },
        { "reason", json_str(c->reason) },
        { "message", json_str(c->message) },
        { "observedGeneration", json_get(p->object, "metadata.generation") },
        { "lastTransitionTime",
            json_str(since ? since : time_format(a, env_wall_ms(loop_env(p->host->loop)))) });
}

static const struct container *without_program(const struct pod *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (text_eq(p->containers[i].waiting, "ErrImageNeverPull"))
            return &p->containers[i];
    return NULL;
}

/* The gates of spec.readinessGates that are not open; NULL: all are open. */
static const char *closed_gates(struct arena *a, const struct pod *p)
{
    const char *text = NULL;
    json_each (gate, json_get(p->object, "spec.readinessGates")) {
        const char *type = json_get_text(*gate, "conditionType");
        struct json found = json_find(json_get(p->object, "status.conditions"), "type", type);
        const char *status = json_get_text(found, "status");
        if (text_eq(status, "True"))
            continue;
        const char *one =
            !json_present(found)
                ? arena_printf(a,
                      "corresponding condition of pod readiness gate \"%s\" does not exist.",
                      type)
                : arena_printf(a,
                      "the status of pod readiness gate \"%s\" is not \"True\", but %s",
                      type,
                      status);
        text = arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "", one);
    }
    return text;
}

static struct json conditions_of(struct arena *a, const struct pod *p, const char *phase)
{
    bool succeeded = text_eq(phase, "Succeeded"), ended = succeeded || text_eq(phase, "Failed");
    const char *unready = names_where(a, p, true), *uninit = names_where(a, p, false);
    const char *why = ended && succeeded ? "PodCompleted"
                      : ended            ? "PodFailed"
                      : unready          ? "ContainersNotReady"
                                         : NULL;
    const char *what =
        ended || !unready ? NULL : arena_printf(a, "containers with unready status: [%s]", unready);
    bool ready = !ended && !unready;
    const char *closed = closed_gates(a, p);
    bool init = p->initialized || succeeded;
    const char *limits = pod_limits(a, p);
    const struct container *missing = without_program(p);
    const struct condition all[] = {
        { "PodReadyToStartContainers", !p->blocked[0] && !ended, NULL, NULL },
        { "Initialized",
            init,
            init ? succeeded ? "PodCompleted" : NULL : "ContainersNotInitialized",
            init ? NULL
                 : arena_printf(a, "containers with incomplete status: [%s]", uninit ?: "") },
        { "Ready",
            ready && !closed,
            ready && closed ? "ReadinessGatesNotReady" : why,
            ready ? closed : what },
        { "ContainersReady", ready, why, what },
        { "PodScheduled", true, NULL, NULL },
        { LIMITED, true, "NotInEffect", limits },
        { RUNNABLE, false, "NoLocalProgram", missing ? missing->waiting_message : NULL },
    };
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(all); i++) {
        bool ours = text_eq(all[i].type, LIMITED) || text_eq(all[i].type, RUNNABLE);
        if (!ours || all[i].message)
            json_push(&b, condition_of(a, p, &all[i]));
    }
    json_each (old, json_get(p->object, "status.conditions")) {
        bool known = false;
        for (size_t i = 0; i < lengthof(all); i++)
            known = known || text_eq(json_get_text(*old, "type"), all[i].type);
        if (!known)
            json_push(&b, *old); /* another client's */
    }
    return json_list_end(&b);
}

struct json pod_status(struct arena *a, const struct pod *p)
{
    const char *phase = phase_of(p);
    struct json ips = json_list(a, json_map(a, { "ip", json_str(p->ip) }));
    struct json host_ips = json_list(a, json_map(a, { "ip", json_str(p->host->host_ip) }));
    return json_map(a,
        { "phase", json_str(phase) },
        { "reason", json_str(p->expired ? "DeadlineExceeded" : NULL) },
        { "message",
            json_str(p->expired ? "Pod was active on the node longer than the specified deadline"
                                : NULL) },
        { "conditions", conditions_of(a, p, phase) },
        { "initContainerStatuses", json_or_absent(statuses_of(a, p, false)) },
        { "containerStatuses", statuses_of(a, p, true) },
        { "hostIP", json_str(p->host->host_ip) },
        { "hostIPs", host_ips },
        { "podIP", json_str(p->ip) },
        { "podIPs", ips },
        { "startTime", json_str(time_format(a, p->start_ms)) },
        { "qosClass", json_get(p->object, "status.qosClass") },
        { "observedGeneration", json_get(p->object, "metadata.generation") });
}
