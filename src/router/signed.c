/* Credentials of a request. The client's credentials are not forwarded. A request to Bedrock is
 * signed including its body, so it is not streamed; one to Vertex AI waits for an access token. */

#include "router/dispatch.h"

#include "http/head.h"

#define TOKEN_LOOK_MS 20

/* ---- the client's headers ---- */

static bool is_secret(struct str name)
{
    static const char *const names[] = { "authorization",
        "proxy-authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "x-amz-date",
        "x-amz-security-token",
        "x-amz-content-sha256",
        "accept-encoding",
        "expect",
        "proxy-authenticate" };
    for (size_t i = 0; i < lengthof(names); i++)
        if (str_eq_nocase(name, str_of(names[i])))
            return true;
    return false;
}

struct http_headers router_dispatch_headers(
    struct dispatch *d, const struct http_header *more, size_t more_count)
{
    struct http_header *list = arena_array(&d->arena, d->headers.count + more_count, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < d->headers.count; i++) {
        const struct http_header *h = &d->headers.list[i];
        if (!head_is_hop_by_hop(h->name) && !is_secret(h->name) &&
            !str_eq_nocase(h->name, STR("trailer")))
            list[count++] = *h;
    }
    for (size_t i = 0; i < more_count; i++)
        list[count++] = more[i];
    return (struct http_headers){ list, count };
}

/* ---- signing ---- */

/* Appends the complete body as the back end gets it. */
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
