#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cli/families.h"
#include "engine/engine.h"
#include "engine/view.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/lease.h"
#include "merge/schema.h"

/* Everything from a start to a crash, assembled as in src/cli/serve/operator.c. */
struct sim_life {
    struct sim_operator *op;
    struct sim_network *network;
    struct kube_client *client;
    struct event_recorder *events;
    struct sim_effects *effects;
    struct schemas *schemas;
    struct engine *engine;
    struct lease *lease;
    struct families families;
};

static int64_t operator_mono(void *ctx)
{
    return ((struct sim_operator *)ctx)->sim->now_ms;
}

static int64_t operator_wall(void *ctx)
{
    struct sim_operator *o = ctx;
    return env_wall_ms(&o->sim->env) + o->skew_ms;
}

static uint64_t operator_random(void *ctx)
{
    struct sim_operator *o = ctx;
    o->random = o->random * 6364136223846793005 + 1442695040888963407;
    return o->random ^ (o->random >> 29);
}

static bool may_write(void *ctx)
{
    struct sim_life *life = ctx;
    if (life->op->life != life) {
        sim_fail(life->op->sim, "promise 4, ended: %s wants to write", life->op->name);
        return false;
    }
    return lease_may_write(life->lease);
}

static void passes(void *ctx, const struct kind *kind, const struct view *in, const struct plan *p)
{
    const struct sim_operator *o = ((struct sim_life *)ctx)->op;
    sim_wakes_pass(o->sim->wakes, o, kind, view_namespace(in), view_name(in));
    sim_rivals_planned(o->sim->rivals, in, p);
}

static void gained(void *ctx)
{
    struct sim_life *life = ctx;
    sim_history_add(life->op->sim->history, life->op->name, "leads");
    life->op->led_ms = life->op->sim->now_ms;
    engine_lead(life->engine);
}

/* The process ends and is restarted, as in a cluster. */
static void lost(void *ctx, const struct error *why)
{
    struct sim_life *life = ctx;
    sim_history_add(life->op->sim->history, life->op->name, "leads no more: %s", why->text);
    /* Not from inside the lease, but at the next turn. */
    timer_set(&life->op->env, &life->op->restart, 0);
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static void holder(void *ctx, const char *who)
{
    struct sim_life *life = ctx;
    if (*who)
        engine_start(life->engine);
}

static void trouble(void *ctx, const struct error *err)
{
    struct sim_life *life = ctx;
    (void)err;
    engine_start(life->engine);
}

static const struct lease_handlers lease_handlers = { gained, lost, holder, trouble, nothing };

static void life_start(struct sim_operator *o)
{
    struct sim_life *life = o->life = mem_new_of(struct sim_life);
    o->lives++;
    o->misled = 0;
    sim_wakes_begin(o->sim->wakes, o);
    struct error err;
    life->op = o;
    life->network = sim_network_new(o);
    const struct kube_transport *transport = sim_network_transport(life->network);
    life->client = kube_client_new(transport, &o->env);
    life->events = event_recorder_new(life->client,
        &o->env,
        &(struct event_recorder_options){ .controller = "leeboard", .instance = o->name });
    life->effects = sim_effects_new(o);
    life->schemas = schemas_new();
    json_each (crd, o->sim->crds)
        if (!schemas_add_crd(life->schemas, *crd, &err))
            sim_fail(o->sim, "%s", err.text);
    struct cli no_flags = { 0 };
    if (!families_read(&no_flags, &life->families, &err))
        sim_fail(o->sim, "%s", err.text);
    life->engine = engine_new(&(struct engine_options){
        .env = &o->env,
        .transport = transport,
        .client = life->client,
        .effects = sim_effects_runner(life->effects),
        .events = life->events,
        .schemas = life->schemas,
        .families = life->families.list,
        .family_count = life->families.count,
        .manager = "leeboard",
        .may_write = may_write,
        .passes = passes,
        .ctx = life,
    });
    char identity[40];
    snprintf(identity, sizeof(identity), "%s_%llu", o->name, (unsigned long long)o->sent);
    life->lease = lease_new(life->client,
        &o->env,
        &(struct lease_options){ .ns = "kube-system", .identity = identity },
        &lease_handlers,
        life);
    lease_start(life->lease);
    sim_history_add(o->sim->history, o->name, "starts");
}

/* The engine's own counters. A proxy that sends a request twice returns the second answer. */
void sim_operator_check(const struct sim_operator *o)
{
    if (!o->life)
        return;
    struct engine_counts n = engine_counts(o->life->engine);
    if (n.self_check)
        sim_fail(o->sim, "promise 1, counter: %s stored other fields than it meant", o->name);
    if (n.without_effect > o->misled)
        sim_fail(o->sim, "promise 2, counter: %s wrote without effect", o->name);
    if (n.created_twice > o->misled)
        sim_fail(o->sim, "promise 5, counter: %s created what was there", o->name);
}

static void life_end(struct sim_operator *o)
{
    sim_operator_check(o);
    struct sim_life *life = take(o->life);
    if (!life)
        return;
    lease_free(life->lease);
    engine_free(life->engine);
    sim_effects_free(life->effects);
    event_recorder_free(life->events);
    kube_client_free(life->client);
    sim_network_free(life->network);
    schemas_free(life->schemas);
    free(life);
}

static void restart(void *ctx)
{
    struct sim_operator *o = ctx;
    life_end(o);
    o->dying = false;
    life_start(o);
}

void sim_operator_end(struct sim_operator *o, int64_t after_ms)
{
    sim_history_add(o->sim->history, o->name, "~ will end in order");
    timer_set(&o->env, &o->restart, after_ms);
}

static void die(void *ctx)
{
    life_end(ctx);
}

struct sim_operator *sim_operator_new(struct sim *s, size_t number)
{
    struct sim_operator *o = mem_new_of(struct sim_operator);
    o->sim = s;
    snprintf(o->name, sizeof(o->name), "operator-%zu", number);
    o->random = sim_random(s, SIM_NETWORK);
    o->env = (struct env){ operator_mono, operator_wall, operator_random, o, &o->timers };
    if (s->options.rates.clock_jump)
        o->skew_ms = sim_operator_skew(s);
    timer_init(&o->restart, restart, o);
    timer_init(&o->death, die, o);
    life_start(o);
    return o;
}

void sim_operator_free(struct sim_operator *o)
{
    timer_stop(&o->env, &o->restart);
    timer_stop(&o->env, &o->death);
    life_end(o);
    timers_done(&o->timers);
    free(o);
}

void sim_operator_crash(struct sim_operator *o, int64_t restart_ms)
{
    sim_history_add(
        o->sim->history, o->name, "~ crashes; starts again in %lld ms", (long long)restart_ms);
    /* It may be running right now: anything else that it sends in this turn is dropped. */
    o->dying = true;
    timer_set(&o->env, &o->death, 0);
    timer_set(&o->env, &o->restart, restart_ms + 1);
}

int64_t sim_operator_skew(struct sim *s)
{
    return (int64_t)sim_below(s, SIM_FAULTS, 240000) - 120000;
}

void sim_operator_pause(struct sim_operator *o, int64_t ms)
{
    sim_history_add(o->sim->history, o->name, "~ stands still for %lld ms", (long long)ms);
    o->wakes_ms = o->sim->now_ms + ms;
}

void sim_operator_disconnect(struct sim_operator *o)
{
    if (o->life)
        sim_network_disconnect(o->life->network);
}

void sim_operator_expire(struct sim_operator *o)
{
    if (o->life)
        sim_network_expire(o->life->network);
}

void sim_operator_lag(struct sim_operator *o, const char *part, int64_t lag_ms)
{
    if (o->life)
        sim_network_lag(o->life->network, part, lag_ms);
}

bool sim_operator_leads(const struct sim_operator *o)
{
    return o->life && lease_may_write(o->life->lease);
}

uint64_t sim_operator_wakes(const struct sim_operator *o)
{
    return o->life ? engine_counts(o->life->engine).wakes : 0;
}
