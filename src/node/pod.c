#include "node/pod.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "base/resource.h"
#include "base/time.h"
#include "http/loop.h"
#include "kube/objects.h"
#include "node/names.h"
#include "node/pod_internal.h"
#include "node/volumes.h"

#define HEARD_MS 100 /* time for all proxies to learn that it is no endpoint any more */
#define BLOCKED_AGAIN_MS 2000
#define RESERVE_MS 10000 /* of a long grace period, reserved for the containers to end */

static const struct env *env_of(const struct pod *p)
{
    return loop_env(p->host->loop);
}

struct pod_view pod_view(const struct pod *p)
{
    return (struct pod_view){ .pod = p->object,
        .objects = p->host->objects,
        .pod_ip = p->ip,
        .host_ip = p->host->host_ip,
        .node_name = p->host->node_name,
        .allocatable = p->host->allocatable,
        .tokens = p->tokens };
}

void pod_event(const struct pod *p, const struct container *c, bool warning, const char *reason,
    const char *format, ...)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    va_list args;
    va_start(args, format);
    const char *note = arena_vprintf(&a, format, args), *field = NULL;
    va_end(args);
    if (c)
        field = arena_printf(&a,
            "spec.%s{%s}",
            c->kind == CONTAINER_MAIN ? "containers" : "initContainers",
            c->name);
    p->host->event(p->host->ctx, p, field, warning, reason, note);
}

/* ---- running the containers ---- */

static void try_again(struct pod *p, int64_t after_ms)
{
    const struct env *env = env_of(p);
    if (!timer_is_set(&p->wake) || p->wake.at_ms > env_mono_ms(env) + after_ms)
        timer_set(env, &p->wake, after_ms);
}

static void start(struct container *c)
{
    int64_t after_ms;
    if (!container_start(c, &after_ms))
        try_again(c->pod, after_ms);
}

static bool restarts(const struct container *c)
{
    const char *policy = json_get_text(c->pod->object, "spec.restartPolicy");
    const char *own = json_get_text(c->spec, "restartPolicy");
    if (own)
        policy = own;
    if (c->kind == CONTAINER_INIT && !own)
        return c->state.exit_code != 0 && !text_eq(policy, "Never");
    return text_eq(policy, "Never")       ? false
           : text_eq(policy, "OnFailure") ? c->state.exit_code != 0
                                          : true;
}

/* Whether it ran and will not run again. */
static bool is_over(const struct container *c)
{
    return c->ended && !c->running && !restarts(c);
}

static void keep_running(struct container *c)
{
    if (!c->running && !is_over(c))
        start(c);
}

/* Runs init containers in order. False: some have not completed. */
static bool run_init(struct pod *p)
{
    for (size_t i = 0; i < p->count && p->containers[i].kind != CONTAINER_MAIN; i++) {
        struct container *c = &p->containers[i];
        if (p->initialized && c->kind == CONTAINER_INIT)
            continue;
        keep_running(c);
        bool through = c->kind == CONTAINER_SIDECAR ? c->running && c->started
                                                    : is_over(c) && c->state.exit_code == 0;
        if (!through && !p->initialized)
            return false;
    }
    return true;
}

/* Whether the pod is finished: an init container failed for good, or all containers are done. */
static bool has_finished(const struct pod *p)
{
    bool mains_over = true;
    for (size_t i = 0; i < p->count; i++) {
        const struct container *c = &p->containers[i];
        if (c->kind == CONTAINER_INIT && is_over(c) && c->state.exit_code != 0)
            return true;
        mains_over = mains_over && (c->kind != CONTAINER_MAIN || is_over(c));
    }
    return mains_over;
}

static bool nothing_runs(const struct pod *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->containers[i].running)
            return false;
    return true;
}

/* Stops sidecars after the other containers. */
static void stop_all(struct pod *p, int64_t grace_ms)
{
    bool others = false;
    for (size_t i = 0; i < p->count; i++)
        if (p->containers[i].kind != CONTAINER_SIDECAR) {
            container_stop(&p->containers[i], grace_ms, NULL);
            others = others || p->containers[i].running;
        }
    for (size_t i = 0; i < p->count && !others; i++)
        container_stop(&p->containers[i], grace_ms, NULL);
}

/* Without mounts only our own programs read the hosts file. */
static bool has_hosts(const struct pod *p)
{
    bool ours = p->host->runtime->mounts;
    for (size_t i = 0; i < p->count && !ours; i++)
        ours = container_is_ours(&p->containers[i]);
    return ours;
}

static bool write_hosts(struct pod *p, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct pod_view view = pod_view(p);
    if (p->names_known || !has_hosts(p))
        return true;
    p->names_known = names_hosts_write(
        arena_printf(&a, "%s/hosts", p->directory), names_hosts_file(&a, &view), err);
    return p->names_known;
}

/* Records an event only for a lasting problem: a claim is often bound a moment after its pod is
 * created. */
static void note_block(struct pod *p, const struct error *err)
{
    int64_t now_ms = env_mono_ms(env_of(p));
    if (!text_eq(p->blocked, err->text))
        p->blocked_ms = now_ms;
    snprintf(p->blocked, sizeof(p->blocked), "%s", err->text);
    if (err->code == ERR_BUSY || !p->blocked_ms || now_ms - p->blocked_ms < BLOCKED_AGAIN_MS)
        return;
    p->blocked_ms = 0;
    pod_event(p, NULL, true, "FailedMount", "%s", p->blocked);
}

static bool prepare_volumes(struct pod *p)
{
    struct error err;
    struct pod_view view = pod_view(p);
    const char *audience;
    struct arena fresh = ARENA_INIT;
    struct json places;
    if (!volumes_prepare(&fresh, &view, p->directory, &places, &audience, &err) ||
        !write_hosts(p, &err)) {
        note_block(p, &err);
        arena_done(&fresh);
        if (audience)
            p->host->token(p->host->ctx, p, audience);
        try_again(
            p, BLOCKED_AGAIN_MS); /* a directory of the machine may be created without any event */
        return false;
    }
    arena_done(&p->places_arena);
    p->places_arena = fresh;
    p->places = places;
    p->blocked[0] = 0;
    for (size_t i = 0; i < p->count; i++)
        container_resume(&p->containers[i]);
    return true;
}

/* ---- leaving the Services ---- */

/* What EndpointSlices say about it. */
struct listing {
    const struct pod *pod;
    bool listed, wanted; /* wanted: new connections may go to it */
};

static void look_at_slice(void *ctx, struct json slice)
{
    struct listing *l = ctx;
    json_each (endpoint, json_get(slice, "endpoints")) {
        if (!text_eq(json_get_text(*endpoint, "targetRef.uid"), l->pod->uid))
            continue;
        l->listed = true;
        l->wanted = l->wanted || (json_get_bool(*endpoint, "conditions.ready", true) &&
                                     !json_get_bool(*endpoint, "conditions.terminating", false));
    }
}

/* Whether it keeps running for now, so that no routed client is refused. */
static bool is_leaving(struct pod *p)
{
    struct listing l = { .pod = p };
    int64_t now = env_mono_ms(env_of(p));
    if (now >= p->leave_ms)
        return false;
    objects_each(p->host->objects, &RESOURCE_ENDPOINT_SLICE, look_at_slice, &l);
    if (l.listed && !l.wanted && !p->left_ms)
        p->left_ms = now;
    bool heard = !l.listed || (p->left_ms && now - p->left_ms >= HEARD_MS);
    if (heard && (!p->host->in_use || !p->host->in_use(p->host->in_use_ctx, p->ip)))
        return false;
    try_again(p, HEARD_MS);
    return true;
}

static bool has_expired(struct pod *p)
{
    int64_t limit_s = json_get_int(p->object, "spec.activeDeadlineSeconds", 0);
    if (limit_s <= 0)
        return false;
    int64_t left_ms = p->start_ms + limit_s * 1000 - env_wall_ms(env_of(p));
    p->expired = left_ms <= 0;
    if (!p->expired)
        try_again(p, left_ms);
    return p->expired;
}

static void advance(struct pod *p)
{
    if (p->stopping) {
        if (is_leaving(p))
            return;
        p->leave_ms = 0;
        int64_t left = p->stop_at_ms - env_mono_ms(env_of(p));
        stop_all(p, left > 0 ? left : 0);
        p->stopped = nothing_runs(p);
        return;
    }
    if (p->finished || has_finished(p) || has_expired(p)) {
        p->finished = true;
        stop_all(p, json_get_int(p->object, "spec.terminationGracePeriodSeconds", 30) * 1000);
        return;
    }
    if (!prepare_volumes(p))
        return; /* running containers keep running */
    if (!run_init(p))
        return;
    p->initialized = true;
    for (size_t i = 0; i < p->count; i++)
        if (p->containers[i].kind == CONTAINER_MAIN)
            keep_running(&p->containers[i]);
}

static void woken(void *ctx)
{
    struct pod *p = ctx;
    advance(p);
    p->host->changed(p->host->ctx, p);
}

void pod_wake(struct pod *p)
{
    timer_set(env_of(p), &p->wake, 0);
}

void pod_names_changed(struct pod *p)
{
    p->names_known = false;
    pod_wake(p);
}

static void stop(struct pod *p, int64_t grace_ms, int64_t leave_ms)
{
    int64_t now = env_mono_ms(env_of(p));
    if (!p->stopping || now + grace_ms < p->stop_at_ms)
        p->stop_at_ms = now + grace_ms;
    if (!p->stopping || now + leave_ms < p->leave_ms)
        p->leave_ms = now + leave_ms;
    p->stopping = true;
    pod_wake(p);
}

void pod_stop(struct pod *p, int64_t grace_ms)
{
    stop(p, grace_ms, 0);
}

bool pod_stopped(const struct pod *p)
{
    return p->stopped;
}

/* ---- life ---- */

/* A pod that has ended stays ended, for this process and all later ones. */
static bool last_word(const struct pod *p)
{
    const char *phase = json_get_text(p->object, "status.phase");
    return text_eq(phase, "Succeeded") || text_eq(phase, "Failed");
}

static void take_object(struct pod *p, struct json object)
{
    struct arena fresh = ARENA_INIT;
    p->object = json_copy(&fresh, object);
    arena_done(&p->arena);
    p->arena = fresh;
    size_t i = 0;
    static const char *const lists[] = { "spec.initContainers", "spec.containers" };
    for (size_t k = 0; k < lengthof(lists); k++)
        json_each (spec, json_get(p->object, lists[k])) {
            struct container *c = &p->containers[i++];
            bool sidecar = k == 0 && text_eq(json_get_text(*spec, "restartPolicy"), "Always");
            if (!c->pod)
                container_init(c,
                    p,
                    *spec,
                    k         ? CONTAINER_MAIN
                    : sidecar ? CONTAINER_SIDECAR
                              : CONTAINER_INIT);
            c->spec = *spec; /* the API server forbids adding or reordering containers */
            c->name = json_get_text(*spec, "name");
        }
    assert(i == p->count);
}

static bool make_folders(struct pod *p)
{
    static const char *const folders[] = { "", "/volumes", "/containers" };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(folders); i++) {
        const char *path = arena_printf(&a, "%s%s", p->directory, folders[i]);
        if (mkdir(path, 0700) && errno != EEXIST)
            return false;
    }
    return chmod(p->directory, 0700) == 0; /* an earlier version gave it more permissions */
}

static void adopt(struct pod *p)
{
    static const char *const lists[] = { "status.initContainerStatuses",
        "status.containerStatuses" };
    for (size_t i = 0; i < p->count; i++) {
        struct container *c = &p->containers[i];
        struct json old = json_get(p->object, lists[c->kind == CONTAINER_MAIN]);
        container_adopt(c, json_find(old, "name", c->name));
    }
    json_each (condition, json_get(p->object, "status.conditions"))
        if (text_eq(json_get_text(*condition, "type"), "Initialized") && p->containers[0].run >= 0)
            p->initialized = text_eq(json_get_text(*condition, "status"), "True");
    if (!time_parse(json_get_text(p->object, "status.startTime"), &p->start_ms))
        p->start_ms = env_wall_ms(env_of(p));
}

struct pod *pod_new(
    const struct pod_host *host, struct json object, const char *ip, struct json gpus)
{
    struct pod *p = mem_new_of(struct pod);
    p->host = host;
    p->ip = mem_strdup(ip);
    p->uid = mem_strdup(json_get_text(object, "metadata.uid"));
    arena_init(&p->gpu_arena, ARENA_LIMIT_DEFAULT);
    arena_init(&p->token_arena, ARENA_LIMIT_DEFAULT);
    p->gpus = json_copy(&p->gpu_arena, gpus);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    p->directory = mem_strdup(arena_printf(&a, "%s/pods/%s", host->directory, p->uid));
    p->count =
        json_get(object, "spec.initContainers").count + json_get(object, "spec.containers").count;
    p->containers = mem_new(p->count * sizeof(*p->containers));
    timer_init(&p->wake, woken, p);
    take_object(p, object);
    if (!make_folders(p))
        snprintf(p->blocked, sizeof(p->blocked), "%s: %s", p->directory, strerror(errno));
    else if (last_word(p))
        p->finished = true;
    p->expired = text_eq(json_get_text(p->object, "status.reason"), "DeadlineExceeded");
    if (!p->blocked[0] && !p->finished)
        prepare_volumes(p);
    adopt(p);
    pod_set(p, p->object);
    return p;
}

void pod_free(struct pod *p)
{
    timer_stop(env_of(p), &p->wake);
    for (size_t i = 0; i < p->count; i++)
        container_done(&p->containers[i]);
    arena_done(&p->arena);
    arena_done(&p->places_arena);
    arena_done(&p->token_arena);
    arena_done(&p->gpu_arena);
    free(p->containers);
    free(p->uid);
    free(p->directory);
    free(p->ip);
    free(p);
}

void pod_set(struct pod *p, struct json object)
{
    take_object(p, object);
    int64_t grace_ms = json_get_int(p->object, "metadata.deletionGracePeriodSeconds", 30) * 1000;
    if (json_present(json_get(p->object, "metadata.deletionTimestamp")))
        stop(p, grace_ms, grace_ms / 2 > RESERVE_MS ? grace_ms - RESERVE_MS : grace_ms / 2);
    pod_wake(p);
}

void pod_token(struct pod *p, const char *audience, const char *token)
{
    p->tokens = json_copy(
        &p->token_arena, json_with_member(&p->token_arena, p->tokens, audience, json_str(token)));
    pod_wake(p);
}

struct json pod_object(const struct pod *p)
{
    return p->object;
}

const char *pod_directory(const struct pod *p)
{
    return p->directory;
}

const char *pod_ip(const struct pod *p)
{
    return p->ip;
}

struct json pod_gpus(const struct pod *p)
{
    return p->gpus;
}

/* ---- logs and commands ---- */

static struct container *container_named(const struct pod *p, const char *name)
{
    for (size_t i = 0; i < p->count; i++)
        if (text_eq(p->containers[i].name, name))
            return &p->containers[i];
    return NULL;
}

const char *pod_log(struct arena *a, const struct pod *p, const char *container, bool previous,
    int *ret_run, struct error *err)
{
    const struct container *c = container_named(p, container);
    const char *name = json_get_text(p->object, "metadata.name");
    if (!c) {
        fail(err, ERR_INVALID, "container %s is not valid for pod %s", container ?: "", name);
        return NULL;
    }
    *ret_run = previous ? c->run - 1 : c->run;
    if (*ret_run >= 0)
        return container_log(a, c, *ret_run);
    if (previous)
        fail(err,
            ERR_NOT_FOUND,
            "previous terminated container \"%s\" in pod \"%s\" not found",
            container,
            name);
    else
        fail(err,
            ERR_NOT_FOUND,
            "container \"%s\" in pod \"%s\" is waiting to start: %s",
            container,
            name,
            c->waiting       ? c->waiting
            : p->initialized ? "ContainerCreating"
                             : "PodInitializing");
    return NULL;
}

bool pod_place(struct arena *a, const struct pod *p, const char *container,
    struct action_place *ret, int *ret_run, struct error *err)
{
    struct container *c = container_named(p, container);
    if (!c || !c->running)
        return fail(err, ERR_NOT_FOUND, "container not found (\"%s\")", container);
    *ret = container_place(a, c);
    *ret_run = c->run;
    return true;
}

bool pod_input(const struct pod *p, const char *container, int *ret_fd, struct error *err)
{
    struct container *c = container_named(p, container);
    *ret_fd = -1;
    if (!c || !json_get_bool(c->spec, "stdin", false) || container_input_is_taken(c))
        return true;
    *ret_fd = container_input(c, err);
    return *ret_fd >= 0;
}

void pod_end_input(const struct pod *p, const char *container, int run)
{
    const struct node_runtime *r = p->host->runtime;
    struct container *c = container_named(p, container);
    if (c && c->run == run && c->running && container_input_is_taken(c))
        r->end_input(r->self, c->task);
}

bool pod_runs(const struct pod *p, const char *container, int run)
{
    const struct container *c = container_named(p, container);
    return c && c->run == run && c->running;
}
