#pragma once

/* Which key runs next.
 *
 *            wake                     take                  finish
 *   IDLE ───────────> READY ──────────────────> RUNNING ────────────> IDLE, DELAYED or READY
 *     │    later        ▲      (wake while RUNNING marks it dirty: it becomes READY at its end)
 *     └──────> DELAYED ─┘ time, or wake
 *
 * A key never runs twice at the same time and is in the queue at most once. Ready keys run in the
 * order in which they became ready. Callers wake a key only when one of its inputs really changed,
 * so a wake makes even a failing key ready at once. The allowance protects the API server: a key
 * may run QUEUE_BURST times at once and QUEUE_REFILL_MS apart after that, whatever wakes it. */

#include "base/timer.h"

#define QUEUE_BURST 20
#define QUEUE_REFILL_MS 1000
#define QUEUE_RETRY_MIN_MS 500
#define QUEUE_RETRY_MAX_MS ((int64_t)5 * 60 * 1000)

struct queue;

enum queue_state { QUEUE_IDLE, QUEUE_READY, QUEUE_DELAYED, QUEUE_RUNNING };

/* For all items of one type, for metrics. */
struct queue_counts {
    size_t depth; /* ready */
    uint64_t adds, retries;
};

/* Embedded in the queued object. */
struct queue_item {
    struct queue *queue;
    struct queue_counts *counts;    /* of its type; NULL: not counted */
    struct queue_item *prev, *next; /* among the ready */
    struct timer timer;
    int64_t ready_ms;     /* the time at which it became ready */
    int64_t allowance_ms; /* the time at which the allowance is full again */
    unsigned tries;       /* failures in a row */
    uint8_t state;
    bool dirty;
};

struct queue {
    const struct env *env;
    struct queue_item *first, *last;
    size_t depth; /* ready */
    /* Called when an item became ready. */
    void (*on_ready)(void *ctx);
    void *ctx;
    /* Counters for metrics. */
    uint64_t wakes, throttled;
};

void queue_init(struct queue *q, const struct env *env, void (*on_ready)(void *ctx), void *ctx);
void queue_item_init(struct queue *q, struct queue_item *item);
/* Removes the item in any state; then it may be freed. */
void queue_item_done(struct queue_item *item);

/* An input changed. */
void queue_wake(struct queue_item *item);
/* The item that has been ready longest, now RUNNING; NULL if none is. */
struct queue_item *queue_take(struct queue *q);
/* An idle item becomes ready after this time, unless it is woken before. */
void queue_after(struct queue_item *item, int64_t after_ms);

/* Each of these ends a run. */
void queue_done(struct queue_item *item);                      /* success; forget failures */
void queue_recheck(struct queue_item *item, int64_t after_ms); /* success; run again then */
/* Failure: back off, at least floor_ms (the delay that the server requested). */
void queue_retry(struct queue_item *item, int64_t floor_ms);
