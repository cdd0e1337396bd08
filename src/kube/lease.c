#include "kube/lease.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/resource.h"
#include "base/time.h"
#include "base/timer.h"
#include "kube/client.h"

#define MANAGER "leeboard"
/* A record may make other processes wait, but not for ever. */
#define RECORD_SECONDS_MAX 3600

struct lease {
    struct kube_client *client;
    const struct env *env;
    const struct lease_handlers *handlers;
    void *ctx;
    struct arena own; /* for the options' strings */
    struct lease_options options;

    enum lease_state state;
    bool releasing;
    bool must_look; /* our copy may be old: read before the next write */
    struct kube_op *op;
    bool op_writes;
    struct timer timer;    /* the next attempt, or the timeout of op */
    struct timer deadline; /* of leadership, or of the release */
    struct error last;     /* why the last attempt failed */

    struct arena seen_arena;
    struct json seen;    /* the Lease as last read or written; absent: unknown or missing */
    int64_t seen_at_ms;  /* when we saw it change */
    char *holder;        /* as last reported; NULL: never */
    int64_t sent_at_ms;  /* of the write in flight */
    int64_t acked_at_ms; /* when the last acknowledged write was sent */
};

static void look(struct lease *l);
static void write_record(struct lease *l);

static const char *holder_of(struct json lease)
{
    const char *holder = json_get_text(lease, "spec.holderIdentity");
    return holder ? holder : "";
}

static bool is_ours(const struct lease *l)
{
    return text_eq(holder_of(l->seen), l->options.identity);
}

static struct kube_target target(const struct lease *l)
{
    return (struct kube_target){ &RESOURCE_LEASE, l->options.ns, l->options.name };
}

int64_t lease_left_ms(const struct lease *l)
{
    int64_t left_ms = l->acked_at_ms + l->options.renew_deadline_ms - env_mono_ms(l->env);
    return l->state == LEASE_LEADING && !l->releasing && left_ms > 0 ? left_ms : 0;
}

bool lease_may_write(const struct lease *l)
{
    return lease_left_ms(l) > 0;
}

/* ---- end ---- */

static void halt(struct lease *l)
{
    if (l->op)
        kube_op_cancel(l->client, take(l->op));
    timer_stop(l->env, &l->timer);
    timer_stop(l->env, &l->deadline);
}

/* The handler may free the lease. */
static void be_lost(struct lease *l, const struct error *why)
{
    struct error err = *why;
    halt(l);
    l->state = LEASE_LOST;
    l->handlers->lost(l->ctx, &err);
}

static void be_released(struct lease *l)
{
    halt(l);
    l->state = LEASE_RELEASED;
    l->handlers->released(l->ctx);
}

static void on_deadline(void *ctx)
{
    struct lease *l = ctx;
    if (l->releasing) {
        be_released(l);
        return;
    }
    struct error err;
    fail(&err,
        ERR_TIMEOUT,
        "lease %s/%s: no renewal was acknowledged for %lld s%s%s",
        l->options.ns,
        l->options.name,
        (long long)(l->options.renew_deadline_ms / 1000),
        l->last.code ? ": " : "",
        l->last.code ? l->last.text : "");
    be_lost(l, &err);
}

/* ---- steps ---- */

static void try_again(struct lease *l)
{
    int64_t wait_ms = l->options.retry_ms;
    timer_set(l->env, &l->timer, wait_ms + env_random_below(l->env, wait_ms / 5 + 1));
}

static void failed(struct lease *l, const struct kube_reply *reply)
{
    l->last = reply->error;
    l->must_look = true;
    try_again(l);
    l->handlers->trouble(l->ctx, &l->last);
}

/* Stores a Lease, and the time of its last change. */
static void observe(struct lease *l, struct json lease)
{
    const char *version = json_get_text(lease, "metadata.resourceVersion");
    bool changed = !json_present(l->seen) || !version ||
                   !text_eq(version, json_get_text(l->seen, "metadata.resourceVersion"));
    if (!changed)
        return;
    arena_done(&l->seen_arena);
    l->seen = json_copy(&l->seen_arena, lease);
    l->seen_at_ms = env_mono_ms(l->env);
    if (text_eq(l->holder, holder_of(lease)))
        return;
    free(l->holder);
    l->holder = mem_strdup(holder_of(lease));
    l->handlers->holder(l->ctx, l->holder);
}

static bool has_expired(const struct lease *l)
{
    int64_t seconds = json_get_int(l->seen, "spec.leaseDurationSeconds", 0);
    if (seconds < 1 || seconds > RECORD_SECONDS_MAX)
        seconds = l->options.duration_ms / 1000;
    return env_mono_ms(l->env) - l->seen_at_ms >= seconds * 1000;
}

/* The current holder is known. */
static void decide(struct lease *l)
{
    bool free_to_take = !*holder_of(l->seen) || has_expired(l);
    if (l->releasing) {
        if (is_ours(l))
            write_record(l);
        else
            be_released(l);
    } else if (is_ours(l)) {
        write_record(l);
    } else if (l->state == LEASE_LEADING) {
        struct error err;
        fail(&err,
            ERR_CONFLICT,
            "lease %s/%s was taken by %s",
            l->options.ns,
            l->options.name,
            holder_of(l->seen));
        be_lost(l, &err);
    } else if (free_to_take) {
        write_record(l);
    } else {
        try_again(l);
    }
}

static void on_looked(void *ctx, const struct kube_reply *reply)
{
    struct lease *l = ctx;
    l->op = NULL;
    if (reply->error.code == ERR_NOT_FOUND) {
        l->must_look = false;
        l->seen = json_none;
        if (l->releasing)
            be_released(l);
        else
            write_record(l);
    } else if (reply->error.code) {
        failed(l, reply);
    } else {
        l->must_look = false;
        observe(l, reply->body);
        decide(l);
    }
}

static void on_written(void *ctx, const struct kube_reply *reply)
{
    struct lease *l = ctx;
    l->op = NULL;
    enum error_code code = reply->error.code;
    if (code == ERR_CONFLICT || code == ERR_EXISTS || code == ERR_NOT_FOUND) {
        /* Another process was faster, or the Lease was deleted: read it again, without reporting
         * trouble. */
        l->last = reply->error;
        look(l);
        return;
    }
    if (code) {
        failed(l, reply);
        return;
    }
    observe(l, reply->body);
    if (l->releasing) {
        be_released(l);
        return;
    }
    l->acked_at_ms = l->sent_at_ms;
    int64_t left_ms = l->acked_at_ms + l->options.renew_deadline_ms - env_mono_ms(l->env);
    if (left_ms <= 0) {
        /* The response came too late to count. In standby this does not matter. */
        if (l->state == LEASE_LEADING)
            on_deadline(l);
        else
            try_again(l);
        return;
    }
    l->last = (struct error){ 0 };
    timer_set(l->env, &l->deadline, left_ms);
    try_again(l);
    if (l->state == LEASE_STANDBY) {
        l->state = LEASE_LEADING;
        l->handlers->gained(l->ctx);
    }
}

/* A request without a quick response is as good as lost; the deadline must leave time for another
 * one. */
static void start_op(struct lease *l, struct kube_op *op, bool writes)
{
    l->op = op;
    l->op_writes = writes;
    timer_set(l->env, &l->timer, l->options.renew_deadline_ms / 2);
}

static void look(struct lease *l)
{
    start_op(l, kube_get(l->client, target(l), (struct kube_then){ on_looked, l }), false);
}

static struct json record(struct lease *l, struct arena *a)
{
    bool renews = is_ours(l);
    int64_t transitions = json_get_int(l->seen, "spec.leaseTransitions", 0);
    const char *now = time_format_micro(a, env_wall_ms(l->env) * 1000);
    const char *since = json_get_text(l->seen, "spec.acquireTime");
    struct json object = json_present(l->seen)
                             ? l->seen
                             : json_fields(a,
                                   { "apiVersion", json_str("coordination.k8s.io/v1") },
                                   { "kind", json_str("Lease") },
                                   { "metadata.name", json_str(l->options.name) },
                                   { "metadata.namespace", json_str(l->options.ns) });
    bool changes_hands = json_present(l->seen) && !renews;
    struct json spec = json_map(a,
        { "holderIdentity", json_str(l->releasing ? "" : l->options.identity) },
        { "leaseDurationSeconds", json_int(l->releasing ? 1 : l->options.duration_ms / 1000) },
        { "acquireTime", json_str(renews && since && !l->releasing ? since : now) },
        { "renewTime", json_str(now) },
        { "leaseTransitions", json_int(transitions + changes_hands) });
    spec = json_overlay(a, json_member(object, "spec"), spec);
    return json_with_member(a, object, "spec", spec);
}

static void write_record(struct lease *l)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct kube_then then = { on_written, l };
    struct kube_write how = { .field_manager = MANAGER };
    struct kube_target what = target(l);
    struct json object = record(l, &a);
    l->sent_at_ms = env_mono_ms(l->env);
    if (json_present(l->seen)) {
        start_op(l, kube_update(l->client, what, object, how, then), true);
    } else {
        what.name = NULL;
        start_op(l, kube_create(l->client, what, object, how, then), true);
    }
}

static void on_timer(void *ctx)
{
    struct lease *l = ctx;
    if (l->releasing && l->state != LEASE_LEADING && !l->must_look) {
        be_released(l);
        return;
    }
    /* After a stop (SIGSTOP) all timers are late: nothing may be sent any more. */
    if (l->state == LEASE_LEADING && !l->releasing && !lease_may_write(l)) {
        on_deadline(l);
        return;
    }
    if (l->op) {
        kube_op_cancel(l->client, take(l->op));
        l->must_look = true;
        fail(&l->last,
            ERR_TIMEOUT,
            "lease %s/%s: no answer for %lld ms",
            l->options.ns,
            l->options.name,
            (long long)l->options.renew_deadline_ms / 2);
        l->handlers->trouble(l->ctx, &l->last);
    }
    /* The leader knows the record and only replaces it; other processes read it first. */
    if (l->state == LEASE_LEADING && !l->must_look)
        write_record(l);
    else
        look(l);
}

/* ---- interface ---- */

struct lease *lease_new(struct kube_client *client, const struct env *env,
    const struct lease_options *options, const struct lease_handlers *handlers, void *ctx)
{
    struct lease *l = mem_new_of(struct lease);
    l->client = client;
    l->env = env;
    l->handlers = handlers;
    l->ctx = ctx;
    arena_init(&l->own, ARENA_LIMIT_DEFAULT);
    arena_init(&l->seen_arena, ARENA_LIMIT_DEFAULT);
    l->options = (struct lease_options){
        .ns = arena_strdup(&l->own, options->ns),
        .name = arena_strdup(&l->own, options->name ? options->name : LEASE_NAME_DEFAULT),
        .identity = arena_strdup(&l->own, options->identity),
        .duration_ms = options->duration_ms ? options->duration_ms : 15000,
        .renew_deadline_ms = options->renew_deadline_ms ? options->renew_deadline_ms : 10000,
        .retry_ms = options->retry_ms ? options->retry_ms : 2000,
    };
    assert(!text_empty(l->options.ns) && !text_empty(l->options.identity));
    assert(l->options.duration_ms % 1000 == 0 && l->options.retry_ms > 0);
    assert(l->options.renew_deadline_ms < l->options.duration_ms);
    assert(l->options.retry_ms * 6 / 5 < l->options.renew_deadline_ms);
    timer_init(&l->timer, on_timer, l);
    timer_init(&l->deadline, on_deadline, l);
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    halt(l);
    free(l->holder);
    arena_done(&l->seen_arena);
    arena_done(&l->own);
    free(l);
}

void lease_start(struct lease *l)
{
    assert(l->state == LEASE_STANDBY && !l->releasing && !l->op);
    look(l);
}

void lease_release(struct lease *l)
{
    if (l->state == LEASE_LOST || l->state == LEASE_RELEASED || l->releasing)
        return;
    bool writing = l->op && l->op_writes;
    /* A write in flight may still acquire the lease: then read it before giving up. */
    l->must_look = l->must_look || writing;
    l->must_look = l->must_look && (writing || l->state == LEASE_LEADING);
    l->releasing = true;
    if (l->op)
        kube_op_cancel(l->client, take(l->op));
    timer_set(l->env, &l->deadline, l->options.renew_deadline_ms);
    timer_set(l->env, &l->timer, 0);
}

enum lease_state lease_state(const struct lease *l)
{
    return l->state;
}

int64_t lease_transitions(const struct lease *l)
{
    return json_get_int(l->seen, "spec.leaseTransitions", 0);
}
