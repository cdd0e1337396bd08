#pragma once

/* A virtual clock and seeded chance for tests. */

#include "base/timer.h"

struct world {
    struct env env;
    struct timers timers;
    int64_t now_ms;
    uint64_t seed;
};

void world_init(struct world *w);
void world_done(struct world *w);
/* Moves the clock, firing timers at their own times on the way. */
void world_advance(struct world *w, int64_t by_ms);
