#pragma once

/* Which key runs next.
 *
 *            wake                     take                  finish
 *   IDLE ───────────> READY ──────────────────> RUNNING ────────────> IDLE, DELAYED or READY
 *     │    later        ▲      (wake while RUNNING marks it dirty: it becomes READY at its end)
 *     └──────> DELAYED ─┘ time, or wake
 *
 * A key runs once at a time and is in the queue once. Ready keys run in the order in which they
 * became ready. Callers wake a key only when an input of it really changed, so waking pulls even a
 * failing key forward; what protects the API server then is the allowance: a key may run
 * QUEUE_BURST times at once and QUEUE_REFILL_MS apart after that, whatever wakes it. */

#include "base/timer.h"

#define QUEUE_BURST 20
#define QUEUE_REFILL_MS 1000
#define QUEUE_RETRY_MIN_MS 500
#define QUEUE_RETRY_MAX_MS ((int64_t)5 * 60 * 1000)

struct queue;

enum queue_state { QUEUE_IDLE, QUEUE_READY, QUEUE_DELAYED, QUEUE_RUNNING };

/* Of all items of one sort, for metrics. */
struct queue_counts {
    size_t depth; /* ready */
    uint64_t adds, retries;
};

/* Embedded in whatever is queued. */
struct queue_item {
    struct queue *queue;
    struct queue_counts *counts;    /* of its sort; NULL: not counted */
    struct queue_item *prev, *next; /* among the ready */
    struct timer timer;
    int64_t ready_ms;     /* since when it is ready */
    int64_t allowance_ms; /* time at which the allowance is full again */
    unsigned tries;       /* failures in a row */
    uint8_t state;
    bool dirty;
};

struct queue {
    const struct env *env;
    struct queue_item *first, *last;
    size_t depth; /* ready */
    /* Told when something became ready. */
    void (*on_ready)(void *ctx);
    void *ctx;
    /* Counters for metrics. */
    uint64_t wakes, throttled;
};

void queue_init(struct queue *q, const struct env *env, void (*on_ready)(void *ctx), void *ctx);
void queue_item_init(struct queue *q, struct queue_item *item);
/* Takes it out, whatever its state; the item may be freed then. */
void queue_item_done(struct queue_item *item);

/* An input changed. */
void queue_wake(struct queue_item *item);
/* The item that has been ready longest, now RUNNING; NULL if none is. */
struct queue_item *queue_take(struct queue *q);
/* An idle one becomes ready after a time, unless it is woken before. */
void queue_after(struct queue_item *item, int64_t after_ms);

/* Each ends a run. */
void queue_done(struct queue_item *item);                      /* success; forget failures */
void queue_recheck(struct queue_item *item, int64_t after_ms); /* success; run again then */
/* Failure: back off, at least floor_ms (what the server asked for). */
void queue_retry(struct queue_item *item, int64_t floor_ms);
