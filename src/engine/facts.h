#pragma once

/* Effects and what they brought. A kind may not touch the world; it asks for an effect by name and
 * arguments (plan_effect) and finds the result as a fact in a later view (view_fact).
 *
 * Equal questions of several keys are one effect. A fact lives as long as some key's last plan
 * asked for it. It wakes its keys when it says something new: an effect that fails in the same way
 * again, or finds the same again, wakes nobody. */

#include "base/json.h"
#include "base/table.h"

struct env;
struct plan_effect;

struct effect_run; /* one effect under way; owned by the runner */

struct effect_sink {
    void (*progress)(void *ctx, struct json progress);
    /* Once, at the end: a result, or an error. Never inside start(). */
    void (*done)(void *ctx, struct json result, const struct error *err);
};

/* Who does effects: src/fetch in production, the simulator in simulation. */
struct effect_runner {
    struct effect_run *(*start)(void *self, const char *effect, struct json args,
        const struct effect_sink *sink, void *ctx);
    /* No call to the sink any more. */
    void (*cancel)(void *self, struct effect_run *run);
    void *self;
};

/* A fact whose error is transient may be tried again after this; the key's back-off sets the pace.
 */
#define FACTS_TRANSIENT_MS 1000

struct fact;

struct facts {
    const struct env *env;
    const struct effect_runner *runner;
    struct table table;
    /* A fact that this owner asked for says something new. */
    void (*changed)(void *ctx, void *owner);
    void *ctx;
    size_t running;
};

/* What one key asked for; all zero at first. */
struct fact_set {
    struct fact **facts;
    size_t count;
};

void facts_init(struct facts *f, const struct env *env, const struct effect_runner *runner,
    void (*changed)(void *ctx, void *owner), void *ctx);
void facts_done(struct facts *f); /* every set must have been cleared */

/* As view_fact() describes it; lives in the arena. */
struct json facts_read(
    const struct facts *f, struct arena *a, const char *effect, struct json args);
/* These are now the effects that the owner asks for: starts what is new or too old, drops what
 * nothing asks for any more. */
void facts_replace(struct facts *f, struct fact_set *set, void *owner,
    const struct plan_effect *effects, size_t count);
void facts_clear(struct facts *f, struct fact_set *set, void *owner);
