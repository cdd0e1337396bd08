/* Back ends that prove who asks: a request to Bedrock is signed with its whole body, so it is not
 * streamed; one to Vertex AI waits for an access token. */

#include "router/dispatch.h"

#define TOKEN_LOOK_MS 20

/* The whole body as the back end gets it. */
static void add_edited(struct dispatch *d, struct buf *to)
{
    int64_t at = 0;
    for (size_t i = 0; i < d->edit_count; i++) {
        buf_add(to, d->hold.ptr + at, (size_t)(d->edits[i].start - at));
        buf_add_text(to, d->edits[i].text);
        at = d->edits[i].end;
    }
    buf_add(to, d->hold.ptr + at, (size_t)(d->came - at));
}

void router_signed_call(struct dispatch *d, struct http_request *request)
{
    cleanup(buf_done) struct buf body = BUF_INIT((size_t)ROUTER_BODY_BYTES_MAX * 2);
    struct http_header list[TARGET_CREDENTIALS_MAX];
    add_edited(d, &body);
    struct str type = http_header_find(d->headers, "content-type");
    size_t count = router_target_sign(d->target,
        &d->arena,
        &(struct target_request){
            .method = request->method,
            .path = request->path,
            .content_type = type,
            .body = buf_str(&body),
        },
        env_wall_ms(d->router->env),
        list);
    request->headers = router_dispatch_headers(d, list, count);
    request->body = buf_str(&body);
    d->streamed = d->can_write = false;
    d->sent = d->came;
    d->call = http_call_open(d->router->client, request, &router_answer_handlers, d);
}

static void again(void *ctx)
{
    struct dispatch *d = ctx;
    if (d->target && !d->finished)
        router_dispatch_again(d);
}

bool router_signed_early(struct dispatch *d)
{
    struct target *t = d->target;
    d->awaits_body = !d->body_ended && router_target_signs(t, &d->arena);
    if (d->awaits_body)
        return true;
    if (!router_target_awaits_token(t, &d->arena))
        return false;
    timer_init(&d->token_look, again, d);
    timer_set(d->router->env, &d->token_look, TOKEN_LOOK_MS);
    return true;
}
