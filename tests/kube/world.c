#include "tests/kube/world.h"

#include <stdlib.h>

static int64_t mono_ms(void *ctx)
{
    return ((struct world *)ctx)->now_ms;
}

static int64_t wall_ms(void *ctx)
{
    return 1794700800000 + ((struct world *)ctx)->now_ms; /* 2026-11-15T00:00:00Z */
}

static uint64_t random64(void *ctx)
{
    struct world *w = ctx;
    w->seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = w->seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void call_free(struct world_call *c)
{
    struct world_call **at = &c->world->calls;
    while (*at && *at != c)
        at = &(*at)->next;
    check(*at == c);
    *at = c->next;
    free(c->method);
    free(c->path);
    free(c->body);
    free(c->content_type);
    free(c);
}

static struct kube_call *open_call(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    struct world *w = self;
    struct world_call *c = mem_new_of(struct world_call);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    *c = (struct world_call){
        .world = w,
        .method = mem_strdup(request->method),
        .path = mem_strdup(request->path),
        .body = mem_strdup(str_dup(&a, request->body)),
        .content_type = mem_strdup(request->content_type ? request->content_type : ""),
        .timeout_ms = request->timeout_ms,
        .idle_ms = request->idle_ms,
        .opened_at_ms = w->now_ms,
        .heard_at_ms = w->now_ms,
        .handlers = handlers,
        .ctx = ctx,
    };
    struct world_call **at = &w->calls;
    while (*at)
        at = &(*at)->next;
    *at = c;
    w->opened++;
    return (struct kube_call *)c;
}

static void cancel_call(void *self, struct kube_call *call)
{
    (void)self;
    call_free((struct world_call *)call);
}

void world_init(struct world *w)
{
    *w = (struct world){ .now_ms = 1000000, .seed = 42 };
    w->env = (struct env){ mono_ms, wall_ms, random64, w, &w->timers };
    w->transport = (struct kube_transport){ open_call, cancel_call, w };
}

void world_done(struct world *w)
{
    check_int(world_open_calls(w), 0);
    check_int(w->timers.count, 0);
    timers_done(&w->timers);
}

static int64_t call_limit_ms(const struct world_call *c)
{
    int64_t total = c->timeout_ms ? c->opened_at_ms + c->timeout_ms : INT64_MAX;
    int64_t idle = c->idle_ms ? c->heard_at_ms + c->idle_ms : INT64_MAX;
    return total < idle ? total : idle;
}

void world_advance(struct world *w, int64_t ms)
{
    int64_t until = w->now_ms + ms;
    for (;;) {
        struct world_call *late = NULL;
        int64_t next = timers_next_ms(&w->timers);
        for (struct world_call *c = w->calls; c; c = c->next)
            if (call_limit_ms(c) < next) {
                next = call_limit_ms(c);
                late = c;
            }
        if (next > until)
            break;
        w->now_ms = next > w->now_ms ? next : w->now_ms;
        if (late)
            world_break(late, ERR_TIMEOUT, true);
        else
            timers_run(&w->timers, w->now_ms);
    }
    w->now_ms = until;
}

void world_stop(struct world *w, int64_t ms)
{
    w->now_ms += ms;
}

struct world_call *world_only(struct world *w)
{
    check_int(world_open_calls(w), 1);
    return w->calls;
}

struct world_call *world_find(struct world *w, const char *part)
{
    for (struct world_call *c = w->calls; c; c = c->next)
        if (strstr(c->path, part) || strstr(c->body, part))
            return c;
    return NULL;
}

size_t world_open_calls(const struct world *w)
{
    size_t count = 0;
    for (const struct world_call *c = w->calls; c; c = c->next)
        count++;
    return count;
}

static bool is_open(struct world *w, const struct world_call *c)
{
    for (const struct world_call *o = w->calls; o; o = o->next)
        if (o == c)
            return true;
    return false;
}

static const char *double_quotes(const char *json)
{
    char *copy = arena_strdup(test_arena(), json);
    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    return copy;
}

void world_head_of(struct world_call *c, const struct kube_head *head)
{
    c->heard_at_ms = c->world->now_ms;
    c->handlers->head(c->ctx, head);
}

void world_head(struct world_call *c, int status)
{
    world_head_of(c, &(struct kube_head){ .status = status, .content_type = "application/json" });
}

void world_bytes(struct world_call *c, struct str bytes)
{
    c->heard_at_ms = c->world->now_ms;
    c->handlers->data(c->ctx, bytes);
}

void world_data(struct world_call *c, const char *json)
{
    world_bytes(c, str_of(double_quotes(json)));
}

static void end(struct world_call *c, const struct error *err, bool sent)
{
    const struct kube_handlers *handlers = c->handlers;
    void *ctx = c->ctx;
    call_free(c);
    handlers->end(ctx, err, sent);
}

void world_end(struct world_call *c)
{
    end(c, NULL, true);
}

void world_answer(struct world_call *c, int status, const char *json)
{
    struct world *w = c->world;
    world_head(c, status);
    if (is_open(w, c))
        world_data(c, json);
    if (is_open(w, c))
        world_end(c);
}

void world_break(struct world_call *c, enum error_code code, bool sent)
{
    struct error err;
    fail(&err, code, "the wire broke");
    end(c, &err, sent);
}
