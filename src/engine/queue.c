#include "engine/queue.h"

static void become_ready(struct queue_item *item)
{
    struct queue *q = item->queue;
    item->state = QUEUE_READY;
    item->ready_ms = env_mono_ms(q->env);
    item->next = NULL;
    item->prev = q->last;
    *(q->last ? &q->last->next : &q->first) = item;
    q->last = item;
    q->depth++;
    if (item->counts) {
        item->counts->depth++;
        item->counts->adds++;
    }
    q->on_ready(q->ctx);
}

static void leave_ready(struct queue_item *item)
{
    struct queue *q = item->queue;
    assert(item->state == QUEUE_READY && q->depth > 0);
    *(item->prev ? &item->prev->next : &q->first) = item->next;
    *(item->next ? &item->next->prev : &q->last) = item->prev;
    item->prev = item->next = NULL;
    q->depth--;
    if (item->counts)
        item->counts->depth--;
}

/* Ready now, or as soon as the allowance permits another run. */
static void become_ready_allowed(struct queue_item *item)
{
    struct queue *q = item->queue;
    int64_t debt_ms = item->allowance_ms - env_mono_ms(q->env);
    int64_t wait_ms = debt_ms - (int64_t)(QUEUE_BURST - 1) * QUEUE_REFILL_MS;
    if (wait_ms <= 0) {
        become_ready(item);
        return;
    }
    q->throttled++;
    item->state = QUEUE_DELAYED;
    timer_set(q->env, &item->timer, wait_ms);
}

static void on_time(void *ctx)
{
    struct queue_item *item = ctx;
    assert(item->state == QUEUE_DELAYED);
    become_ready_allowed(item);
}

void queue_init(struct queue *q, const struct env *env, void (*on_ready)(void *ctx), void *ctx)
{
    *q = (struct queue){ .env = env, .on_ready = on_ready, .ctx = ctx };
}

void queue_item_init(struct queue *q, struct queue_item *item)
{
    *item = (struct queue_item){ .queue = q };
    timer_init(&item->timer, on_time, item);
}

void queue_item_done(struct queue_item *item)
{
    if (item->state == QUEUE_READY)
        leave_ready(item);
    timer_stop(item->queue->env, &item->timer);
    item->state = QUEUE_IDLE;
}

void queue_wake(struct queue_item *item)
{
    item->queue->wakes++;
    switch ((enum queue_state)item->state) {
    case QUEUE_IDLE:
        become_ready_allowed(item);
        break;
    case QUEUE_DELAYED:
        timer_stop(item->queue->env, &item->timer);
        become_ready_allowed(item);
        break;
    case QUEUE_RUNNING:
        item->dirty = true;
        break;
    case QUEUE_READY:
        break;
    }
}

struct queue_item *queue_take(struct queue *q)
{
    struct queue_item *item = q->first;
    if (!item)
        return NULL;
    leave_ready(item);
    item->state = QUEUE_RUNNING;
    item->dirty = false;
    int64_t now_ms = env_mono_ms(q->env);
    int64_t from_ms = item->allowance_ms > now_ms ? item->allowance_ms : now_ms;
    item->allowance_ms = from_ms + QUEUE_REFILL_MS;
    return item;
}

void queue_after(struct queue_item *item, int64_t after_ms)
{
    assert(item->state == QUEUE_IDLE);
    item->state = QUEUE_DELAYED;
    timer_set(item->queue->env, &item->timer, after_ms);
}

static void delay(struct queue_item *item, int64_t after_ms)
{
    assert(item->state == QUEUE_RUNNING);
    item->state = QUEUE_IDLE;
    if (item->dirty)
        become_ready_allowed(item);
    else if (after_ms >= 0)
        queue_after(item, after_ms);
}

void queue_done(struct queue_item *item)
{
    item->tries = 0;
    delay(item, -1);
}

void queue_recheck(struct queue_item *item, int64_t after_ms)
{
    item->tries = 0;
    delay(item, after_ms);
}

void queue_retry(struct queue_item *item, int64_t floor_ms)
{
    struct queue *q = item->queue;
    int64_t wait_ms = env_backoff_ms(q->env, QUEUE_RETRY_MIN_MS, QUEUE_RETRY_MAX_MS, item->tries);
    if (item->tries < 32)
        item->tries++;
    if (item->counts)
        item->counts->retries++;
    delay(item, wait_ms > floor_ms ? wait_ms : floor_ms);
}
