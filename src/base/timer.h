#pragma once

/* Timers on an external clock, and the interface to that clock and to randomness.
 *
 * No code below src/cli asks the operating system for the time or for random numbers: they come in
 * as a struct env. The event loop provides real ones; the simulator provides a virtual clock and a
 * seeded generator. */

#include "base/base.h"

struct timer {
    int64_t at_ms; /* on env's monotonic clock */
    size_t slot;   /* position in the heap plus one; 0: not set */
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
/* The time of the next timer; INT64_MAX if none is set. */
int64_t timers_next_ms(const struct timers *t);
/* Fires all timers due at now_ms, ordered by time, then by when they were set. */
void timers_run(struct timers *t, int64_t now_ms);

void timer_init(struct timer *t, void (*fire)(void *ctx), void *ctx);
/* Sets or moves the timer. */
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
/* Uniform in [0, below); 0 for below ≤ 1. */
int64_t env_random_below(const struct env *env, int64_t below);
/* Exponential back-off with jitter: base·2ⁿ, at most max, multiplied by a random factor from a half
 * to one. */
int64_t env_backoff_ms(const struct env *env, int64_t base_ms, int64_t max_ms, unsigned tries);
