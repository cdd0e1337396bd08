#include "router/dispatch.h"

#include <stdlib.h>

#define SHADOWS_MAX 256 /* limit of concurrent copies; beyond it none are sent */

struct shadow {
    struct router *router;
    struct shadow *next, *prev;
    struct http_call *call;
};

static void forget(struct shadow *s)
{
    *(s->prev ? &s->prev->next : &s->router->shadows) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    s->router->shadow_count--;
    free(s);
}

static void on_head(void *ctx, const struct http_response *response)
{
    (void)ctx;
    (void)response;
}

static void on_data(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    (void)err;
    (void)sent;
    forget(ctx);
}

static const struct http_call_handlers handlers = {
    .head = on_head, .data = on_data, .end = on_end
};

/* The body with the back end's own name of the model. */
static struct str body_for(struct dispatch *d, const struct router_backend *b)
{
    if (text_empty(b->model) || !d->has_model || d->place_count != 1)
        return buf_str(&d->hold);
    const struct edit *e = &d->edits[0];
    const char *model = d->form ? b->model : json_to_text(&d->arena, json_str(b->model));
    const char *text = arena_printf(&d->arena,
        "%.*s%s%.*s",
        (int)e->start,
        d->hold.ptr,
        model,
        (int)(d->came - e->end),
        d->hold.ptr + e->end);
    return str_of(text);
}

static void send_one(struct dispatch *d, struct target *t)
{
    struct http_header credentials[TARGET_CREDENTIALS_MAX];
    size_t count;
    if (t->unusable.code ||
        !router_target_credentials(t, &d->arena, d->headers, credentials, &count))
        return;
    struct router *r = d->router;
    struct str body = body_for(d, t->backend);
    const char *path = router_target_path(&d->arena, t, d->path, d->query);
    if (router_target_signs(t, &d->arena))
        count = router_target_sign(t,
            &d->arena,
            &(struct target_request){
                "POST", path, http_header_find(d->headers, "content-type"), body },
            env_wall_ms(r->env),
            credentials);
    struct shadow *s = mem_new_of(struct shadow);
    *s = (struct shadow){ .router = r, .next = r->shadows };
    if (s->next)
        s->next->prev = s;
    r->shadows = s;
    r->shadow_count++;
    s->call = http_call_open(r->client,
        &(struct http_request){ .origin = &t->origin,
            .method = "POST",
            .path = path,
            .authority = t->authority,
            .headers = router_dispatch_headers(d, credentials, count),
            .body = body,
            .timeouts = { .connect_ms = r->o.connect_ms,
                .first_byte_ms = r->o.first_token_ms,
                .idle_ms = r->o.first_token_ms } },
        &handlers,
        s);
}

void router_shadow_send(struct dispatch *d)
{
    bool whole = d->body_ended && d->keeps_copy;
    for (size_t i = 1; i < d->route.count && whole && d->router->shadow_count < SHADOWS_MAX; i++)
        send_one(d, &d->gen->targets[d->route.backends[i]->index]);
}

void router_shadow_stop(struct router *r)
{
    while (r->shadows) {
        http_call_cancel(r->shadows->call);
        forget(r->shadows);
    }
}
