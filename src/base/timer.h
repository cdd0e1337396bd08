#pragma once

/* Timers on a clock that others drive, and the interface to that clock and to chance.
 *
 * Nothing below src/cli asks the operating system for the time or for random numbers: it comes in
 * as a struct env. The event loop fills it with real ones; the simulator with a virtual clock and a
 * seeded generator. */

#include "base/base.h"

struct timer {
    int64_t at_ms; /* on env's monotonic clock */
    size_t slot;   /* place in the heap plus one; 0: not set */
    uint64_t sequence;
    void (*fire)(void *ctx);
    void *ctx;
};

struct timers {
    struct timer **heap;
    size_t count, size;
    uint64_t sequence;
};

struct env {
    int64_t (*mono_ms)(void *ctx); /* never goes back */
    int64_t (*wall_ms)(void *ctx); /* since 1970 */
    uint64_t (*random)(void *ctx); /* all 64 bits */
    void *ctx;
    struct timers *timers;
};

void timers_done(struct timers *t);
/* When the next one is due; INT64_MAX if none is set. */
int64_t timers_next_ms(const struct timers *t);
/* Fires everything due at now_ms, in order of time, then of setting. */
void timers_run(struct timers *t, int64_t now_ms);

void timer_init(struct timer *t, void (*fire)(void *ctx), void *ctx);
/* Sets or moves it. */
void timer_set(const struct env *env, struct timer *t, int64_t after_ms);
void timer_stop(const struct env *env, struct timer *t);
static inline bool timer_is_set(const struct timer *t)
{
    return t->slot != 0;
}

static inline int64_t env_mono_ms(const struct env *env)
{
    return env->mono_ms(env->ctx);
}
static inline int64_t env_wall_ms(const struct env *env)
{
    return env->wall_ms(env->ctx);
}
/* Evenly in [0, below); 0 for below ≤ 1. */
int64_t env_random_below(const struct env *env, int64_t below);
/* Exponential back-off with jitter: base·2ⁿ, at most max, of which a random half to whole is taken.
 */
int64_t env_backoff_ms(const struct env *env, int64_t base_ms, int64_t max_ms, unsigned tries);
