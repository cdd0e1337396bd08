/* Active checks: a GET of healthCheck.path of each back end that has one, at its interval. Two
 * failures in a row, or a refused connection, mark the back end as down; one success marks it as
 * up and ends its quarantine. Checks use the current config, not the older ones of running
 * requests. */

#include <stdlib.h>

#include "router/dispatch.h"

#define BAD_ANSWERS_MAX 2
#define ANSWER_BYTES_MAX ((int64_t)1 << 20)

struct health_check {
    struct router *router;
    struct target *target;
    struct timer timer;
    struct http_call *call;
    int status; /* of the answer; 0: none yet */
    unsigned bad;
};

static void again(struct health_check *h)
{
    timer_set(h->router->env, &h->timer, h->target->backend->health_interval_s * 1000);
}

static void on_head(void *ctx, const struct http_response *response)
{
    struct health_check *h = ctx;
    h->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct health_check *h = ctx;
    h->call = NULL;
    bool fine = !err && h->status >= 200 && h->status < 300;
    bool refused = err && !sent;
    if (fine) {
        h->bad = 0;
        h->target->down = false;
        router_target_succeeded(h->target);
    } else if (++h->bad >= BAD_ANSWERS_MAX || refused) {
        h->target->down = true;
    }
    again(h);
}

static const struct http_call_handlers handlers = {
    .head = on_head, .data = on_data, .end = on_end
};

static void check(void *ctx)
{
    struct health_check *h = ctx;
    struct router *r = h->router;
    struct target *t = h->target;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct http_header credentials[TARGET_CREDENTIALS_MAX];
    size_t count = 0;
    int64_t limit_ms = t->backend->health_timeout_s * 1000;
    const char *path = t->backend->health_path;
    if (*path != '/')
        path = arena_printf(&a, "/%s", path);
    if (!router_target_credentials(t, &a, (struct http_headers){ 0 }, credentials, &count)) {
        t->down = true; /* requests would have no key either */
        again(h);
        return;
    }
    path = router_target_path(&a, t, str_of(path), (struct str){ 0 });
    if (router_target_signs(t, &a))
        count = router_target_sign(t,
            &a,
            &(struct target_request){ .method = "GET", .path = path, .body = STR("") },
            env_wall_ms(r->env),
            credentials);
    h->status = 0;
    h->call = http_call_open(r->client,
        &(struct http_request){ .origin = &t->origin,
            .method = "GET",
            .path = path,
            .authority = t->authority,
            .headers = { credentials, count },
            .body_bytes_max = ANSWER_BYTES_MAX,
            .timeouts = { .wait_ms = limit_ms, .connect_ms = limit_ms, .total_ms = limit_ms } },
        &handlers,
        h);
}

void router_health_start(struct router *r)
{
    size_t count = r->now->config->backend_count;
    r->checks = mem_new((count + 1) * sizeof(*r->checks));
    for (size_t i = 0; i < count; i++) {
        struct target *t = &r->now->targets[i];
        if (text_empty(t->backend->health_path)) {
            t->down = false; /* the previous config may have had checks */
            continue;
        }
        if (t->unusable.code)
            continue;
        struct health_check *h = &r->checks[r->check_count++];
        h->router = r;
        h->target = t;
        timer_init(&h->timer, check, h);
        timer_set(r->env, &h->timer, 0);
    }
}

void router_health_stop(struct router *r)
{
    for (size_t i = 0; i < r->check_count; i++) {
        timer_stop(r->env, &r->checks[i].timer);
        if (r->checks[i].call)
            http_call_cancel(r->checks[i].call);
    }
    free(take(r->checks));
    r->check_count = 0;
}
