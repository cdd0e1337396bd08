#include "base/timer.h"

#include <stdlib.h>

static bool before(const struct timer *a, const struct timer *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->sequence < b->sequence;
}

static void place(struct timers *t, size_t slot, struct timer *timer)
{
    t->heap[slot] = timer;
    timer->slot = slot + 1;
}

static void sift_up(struct timers *t, size_t slot, struct timer *timer)
{
    while (slot > 0 && before(timer, t->heap[(slot - 1) / 2])) {
        place(t, slot, t->heap[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    place(t, slot, timer);
}

static void sift_down(struct timers *t, size_t slot, struct timer *timer)
{
    for (;;) {
        size_t child = slot * 2 + 1;
        if (child >= t->count)
            break;
        if (child + 1 < t->count && before(t->heap[child + 1], t->heap[child]))
            child++;
        if (!before(t->heap[child], timer))
            break;
        place(t, slot, t->heap[child]);
        slot = child;
    }
    place(t, slot, timer);
}

static void take_out(struct timers *t, struct timer *timer)
{
    size_t slot = timer->slot - 1;
    assert(slot < t->count && t->heap[slot] == timer);
    struct timer *last = t->heap[--t->count];
    timer->slot = 0;
    if (last == timer)
        return;
    sift_down(t, slot, last);
    sift_up(t, last->slot - 1, last);
}

void timers_done(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){ 0 };
}

int64_t timers_next_ms(const struct timers *t)
{
    return t->count ? t->heap[0]->at_ms : INT64_MAX;
}

void timers_run(struct timers *t, int64_t now_ms)
{
    /* A timer that is set again for the same time waits for the next round; otherwise this loop
     * would not end. */
    uint64_t last = t->sequence;
    while (t->count && t->heap[0]->at_ms <= now_ms && t->heap[0]->sequence <= last) {
        struct timer *due = t->heap[0];
        take_out(t, due);
        due->fire(due->ctx);
    }
}

void timer_init(struct timer *t, void (*fire)(void *ctx), void *ctx)
{
    *t = (struct timer){ .fire = fire, .ctx = ctx };
}

void timer_set(const struct env *env, struct timer *timer, int64_t after_ms)
{
    struct timers *t = env->timers;
    assert(timer->fire && after_ms >= 0);
    if (timer->slot)
        take_out(t, timer);
    mem_room(t->heap, t->count, t->size);
    int64_t now_ms = env_mono_ms(env);
    timer->at_ms = after_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + after_ms;
    timer->sequence = ++t->sequence;
    sift_up(t, t->count++, timer);
}

void timer_stop(const struct env *env, struct timer *timer)
{
    if (timer->slot)
        take_out(env->timers, timer);
}

int64_t env_random_below(const struct env *env, int64_t below)
{
    return below <= 1 ? 0 : (int64_t)(env->random(env->ctx) % (uint64_t)below);
}

int64_t env_backoff_ms(const struct env *env, int64_t base_ms, int64_t max_ms, unsigned tries)
{
    assert(base_ms > 0 && max_ms >= base_ms);
    int64_t wait_ms = base_ms;
    for (unsigned i = 0; i < tries && wait_ms < max_ms; i++)
        wait_ms = wait_ms > max_ms / 2 ? max_ms : wait_ms * 2;
    return wait_ms / 2 + env_random_below(env, wait_ms - wait_ms / 2 + 1);
}
