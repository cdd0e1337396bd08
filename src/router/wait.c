/* A request for a member of a ModelPool waits until that member runs. The answer of a stream that
 * waits long is started early, with comments that keep proxies and clients from timing out. Later
 * errors are reported as an error event, because the status was already sent. */

#include "router/dispatch.h"

static void on_keep_alive(void *ctx)
{
    struct dispatch *d = ctx;
    static const struct http_header head[] = { { STR("content-type"), STR("text/event-stream") },
        { STR("cache-control"), STR("no-cache") } };
    if (!d->early) {
        d->early = d->responded = true;
        d->status = 200;
        d->mode = ANSWER_EVENTS;
        http_exchange_respond(d->x, 200, (struct http_headers){ head, lengthof(head) }, -1);
    }
    http_exchange_write(d->x, STR(": waiting for the model\n\n"));
    timer_set(d->router->env, &d->keep_alive, d->router->o.keep_alive_ms);
}

static void on_turn(void *ctx, enum hold_outcome outcome)
{
    struct dispatch *d = ctx;
    timer_stop(d->router->env, &d->keep_alive);
    if (outcome == HOLD_GRANTED) {
        router_dispatch_again(d);
        return;
    }
    const char *name = d->target->backend->name;
    bool late = outcome == HOLD_LATE;
    d->held_in_vain = late;
    router_dispatch_attempt_failed(d,
        TARGET_FAILED,
        false,
        late ? 503 : 502,
        late ? "%s did not get its turn in time" : "%s cannot get its turn in its ModelPool",
        name);
}

void router_wait_init(struct dispatch *d)
{
    timer_init(&d->keep_alive, on_keep_alive, d);
}

bool router_wait_turn(struct dispatch *d)
{
    struct router *r = d->router;
    const struct router_backend *b = d->target->backend;
    if (!r->pools || text_empty(b->pool_name))
        return true;
    int64_t budget_ms = b->swap_budget_ns > 0 ? b->swap_budget_ns / 1000000 : r->o.first_token_ms;
    timer_stop(r->env, &d->clock); /* of the previous attempt */
    if (d->stream)
        timer_set(r->env, &d->keep_alive, r->o.keep_alive_ms);
    router_hold_begin(r->pools, &d->turn, b, budget_ms, on_turn, d);
    return false;
}

void router_wait_end(struct dispatch *d)
{
    timer_stop(d->router->env, &d->keep_alive);
    if (d->turn.pool)
        router_hold_end(&d->turn);
    d->turn.pool = NULL;
}
