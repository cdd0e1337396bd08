#include "tests/world.h"

/* 2026-01-01T00:00:00Z, so that times in expected output are stable. */
#define WORLD_EPOCH_MS ((int64_t)1767225600000)

static int64_t mono(void *ctx)
{
    return ((struct world *)ctx)->now_ms;
}

static int64_t wall(void *ctx)
{
    return WORLD_EPOCH_MS + ((struct world *)ctx)->now_ms;
}

static uint64_t chance(void *ctx)
{
    struct world *w = ctx;
    w->seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = w->seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void world_init(struct world *w)
{
    *w = (struct world){ .seed = 1 };
    w->env = (struct env){
        .mono_ms = mono,
        .wall_ms = wall,
        .random = chance,
        .ctx = w,
        .timers = &w->timers,
    };
}

void world_done(struct world *w)
{
    timers_done(&w->timers);
}

void world_advance(struct world *w, int64_t by_ms)
{
    int64_t until_ms = w->now_ms + by_ms;
    while (timers_next_ms(&w->timers) <= until_ms) {
        if (timers_next_ms(&w->timers) > w->now_ms)
            w->now_ms = timers_next_ms(&w->timers);
        timers_run(&w->timers, w->now_ms);
    }
    w->now_ms = until_ms;
}
