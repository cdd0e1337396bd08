#pragma once

/* Effects and their results. A kind must not touch the outside world. It requests an effect by name
 * and arguments (plan_effect) and finds the result as a fact in a later view (view_fact).
 *
 * Equal requests of several keys share one effect. A fact lives as long as the last plan of some
 * key requests it. It wakes its keys only when its content changes: an effect that fails again with
 * the same error, or finds the same result, wakes no key. */

#include "base/json.h"
#include "base/table.h"

struct env;
struct plan_effect;

struct effect_run; /* an effect in progress; owned by the runner */

struct effect_sink {
    void (*progress)(void *ctx, struct json progress);
    /* Called once at the end, with a result or an error. Never called inside start(). */
    void (*done)(void *ctx, struct json result, const struct error *err);
};

/* Runs effects: src/fetch in production, the simulator in simulation. */
struct effect_runner {
    struct effect_run *(*start)(void *self, const char *effect, struct json args,
        const struct effect_sink *sink, void *ctx);
    /* After this the sink is not called any more. */
    void (*cancel)(void *self, struct effect_run *run);
    void *self;
};

/* A fact with a transient error may be retried after this time; the key's back-off sets the
 * pace. */
#define FACTS_TRANSIENT_MS 1000

struct fact;

struct facts {
    const struct env *env;
    const struct effect_runner *runner;
    struct table table;
    /* A fact that this owner requested has new content. */
    void (*changed)(void *ctx, void *owner);
    void *ctx;
    size_t running;
};

/* The facts that one key requested; initialized to zero. */
struct fact_set {
    struct fact **facts;
    size_t count;
};

void facts_init(struct facts *f, const struct env *env, const struct effect_runner *runner,
    void (*changed)(void *ctx, void *owner), void *ctx);
void facts_done(struct facts *f); /* every set must have been cleared */

/* As view_fact() describes it; allocated in the arena. */
struct json facts_read(
    const struct facts *f, struct arena *a, const char *effect, struct json args);
/* Sets the effects that the owner requests. Starts those that are new or too old, and drops those
 * that no key requests any more. */
void facts_replace(struct facts *f, struct fact_set *set, void *owner,
    const struct plan_effect *effects, size_t count);
void facts_clear(struct facts *f, struct fact_set *set, void *owner);
