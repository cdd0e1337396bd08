#include <stdlib.h>

#include "base/arena.h"
#include "base/timer.h"
#include "http/client.h"
#include "http/sse.h"
#include "mcp/exchange.h"
#include "mcp/rpc.h"
#include "mcp/session.h"
#include "mcp/wire.h"

#define POSTS_MAX 20000

struct wire_http {
    struct mcp_wire base;
    struct wire_http_options o;
    struct arena arena;
    struct http_headers headers; /* of the client that started it */
    const struct wire_handlers *on;
    void *ctx;
    char *session; /* of a legacy server; NULL: none */
    struct post *posts;
    size_t post_count;
    uint64_t hellos;
    struct timer timer;
};

/* One message and the response to it. */
struct post {
    struct wire_http *wire;
    struct post *next, **link;
    struct http_call *http;
    struct wire_tag *tag; /* NULL: none, or not wanted any more */
    uint64_t hello;       /* number of a handshake; 0: not a handshake */
    bool is_events, forgotten;
    bool busy, gone; /* a message is being delivered; free this afterwards */
    int status;
    struct sse_reader sse;
    struct buf body;
};

static void post_free(struct post *p)
{
    if (p->http)
        http_call_cancel(take(p->http));
    if (p->tag && p->tag->state == p)
        p->tag->state = NULL;
    p->tag = NULL;
    p->gone = p->busy;
    if (p->busy)
        return;
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    p->wire->post_count--;
    sse_reader_done(&p->sse);
    buf_done(&p->body);
    free(p);
}

/* ---- responses ---- */

static bool type_is_events(struct http_headers headers)
{
    struct str value = http_header_find(headers, "content-type");
    return str_eq_nocase(str_trim(str_cut(&value, ';')), STR("text/event-stream"));
}

static void on_head(void *ctx, const struct http_response *r)
{
    struct post *p = ctx;
    struct wire_http *w = p->wire;
    struct str session = http_header_find(r->headers, "mcp-session-id");
    p->status = r->status;
    p->is_events = type_is_events(r->headers);
    p->forgotten = r->status == 404 && w->session && p->tag && !p->hello;
    if (!p->hello || r->status / 100 != 2 || !session.len || session.len > SESSION_ID_BYTES_MAX)
        return;
    free(w->session);
    w->session = mem_new(session.len + 1);
    memcpy(w->session, session.ptr, session.len);
}

/* False: line() has freed it. */
static bool hand_out(struct post *p, struct str text)
{
    struct wire_http *w = p->wire;
    if (!str_trim(text).len)
        return true;
    p->busy = true;
    w->on->line(w->ctx, p->tag, text);
    p->busy = false;
    if (!p->gone)
        return true;
    post_free(p);
    return false;
}

static void on_data(void *ctx, struct str bytes)
{
    struct post *p = ctx;
    struct sse_event event;
    if (!p->is_events || p->status / 100 != 2) {
        buf_add(&p->body, bytes.ptr, bytes.len);
        return;
    }
    while (sse_read(&p->sse, &bytes, &event)) {
        if (!hand_out(p, event.data))
            return;
    }
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct post *p = ctx;
    struct wire_http *w = p->wire;
    struct error why = { 0 };
    bool forgotten = p->forgotten;
    (void)sent;
    p->http = NULL;
    if (err)
        why = *err;
    else if (p->status / 100 != 2)
        fail(&why, ERR_UNAVAILABLE, "it was answered with %d", p->status);
    if (!forgotten && !p->is_events && p->body.len) {
        if (!hand_out(p, buf_str(&p->body)))
            return;
    }
    struct wire_tag *tag = p->tag;
    bool is_hello = p->hello && p->hello == w->hellos;
    post_free(p);
    if (forgotten) {
        free(take(w->session));
        w->on->forgot(w->ctx, tag);
    } else if (tag || is_hello) {
        w->on->ended(w->ctx, tag, why.code ? &why : NULL);
    }
}

/* ---- requests ---- */

static bool is_ours(struct str name)
{
    static const char *const ours[] = { "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        "accept",
        "accept-encoding",
        "content-type",
        "origin" };
    for (size_t i = 0; i < lengthof(ours); i++)
        if (str_eq_nocase(name, str_of(ours[i])))
            return true;
    return false;
}

static struct http_headers copied(struct arena *a, struct http_headers from)
{
    struct http_header *list = arena_array(a, from.count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < from.count; i++)
        if (!is_ours(from.list[i].name))
            list[count++] = (struct http_header){
                { str_dup(a, from.list[i].name), from.list[i].name.len },
                { str_dup(a, from.list[i].value), from.list[i].value.len },
            };
    return (struct http_headers){ list, count };
}

static struct http_headers headers_of(
    struct wire_http *w, struct arena *a, const struct wire_note *note, const struct mcp_message *m)
{
    struct http_headers base = note->x ? mcp_backend_headers(note->x) : w->headers;
    struct http_header *list = arena_array(a, base.count + 8, sizeof(*list));
    bool modern = m->modern, is_hello = text_eq(m->method, "initialize");
    size_t n = 0;
    for (size_t i = 0; i < base.count; i++)
        if (!is_ours(base.list[i].name))
            list[n++] = base.list[i];
    list[n++] = (struct http_header){ STR("content-type"), STR("application/json") };
    list[n++] = (struct http_header){ STR("accept"), STR("application/json, text/event-stream") };
    if (!is_hello)
        list[n++] = (struct http_header){ STR("mcp-protocol-version"),
            modern ? STR(RPC_VERSION_MODERN) : STR(RPC_VERSION_LEGACY) };
    if (modern && m->method)
        list[n++] = (struct http_header){ STR("mcp-method"), str_of(m->method) };
    if (modern && m->resource)
        list[n++] = (struct http_header){ STR("mcp-name"), rpc_header_value(a, m->resource) };
    if (w->session && !is_hello)
        list[n++] = (struct http_header){ STR("mcp-session-id"), str_of(w->session) };
    return (struct http_headers){ list, n };
}

static void http_send(struct mcp_wire *base, struct str message, const struct wire_note *note)
{
    static const struct http_call_handlers handlers = {
        .head = on_head, .data = on_data, .end = on_end
    };
    struct wire_http *w = container_of(base, struct wire_http, base);
    cleanup(arena_done) struct arena a = { .limit = WIRE_LINE_BYTES_MAX * 4 };
    struct mcp_message m;
    struct error err;
    if (w->post_count >= POSTS_MAX || rpc_read(&a, message, &m, &err) != RPC_OK)
        return;
    struct post *p = mem_new_of(struct post);
    *p = (struct post){ .wire = w, .next = w->posts, .link = &w->posts, .tag = note->tag };
    if (p->next)
        p->next->link = &p->next;
    w->posts = p;
    w->post_count++;
    if (p->tag)
        p->tag->state = p;
    if (text_eq(m.method, "initialize") || (text_eq(m.method, "server/discover") && !p->tag))
        p->hello = ++w->hellos;
    buf_init(&p->body, WIRE_LINE_BYTES_MAX);
    sse_reader_init(&p->sse, WIRE_LINE_BYTES_MAX);
    p->http = http_call_open(w->o.http,
        &(struct http_request){
            .origin = w->o.origin,
            .method = "POST",
            .path = w->o.path,
            .authority = w->o.authority,
            .headers = headers_of(w, &a, note, &m),
            .body = message,
            .timeouts = { .first_byte_ms = HTTP_NO_TIMEOUT, .idle_ms = HTTP_NO_TIMEOUT },
        },
        &handlers,
        p);
}

static void http_forget(struct mcp_wire *base, struct wire_tag *tag)
{
    (void)base;
    if (tag->state)
        post_free(tag->state);
}

static void begin(void *ctx)
{
    struct wire_http *w = ctx;
    w->on->up(w->ctx, true);
}

static void http_start(struct mcp_wire *base, const struct wire_handlers *on, void *ctx)
{
    struct wire_http *w = container_of(base, struct wire_http, base);
    w->on = on;
    w->ctx = ctx;
    timer_set(w->o.env, &w->timer, 0);
}

static void http_free(struct mcp_wire *base)
{
    struct wire_http *w = container_of(base, struct wire_http, base);
    timer_stop(w->o.env, &w->timer);
    while (w->posts)
        post_free(w->posts);
    free(w->session);
    arena_done(&w->arena);
    free(w);
}

struct mcp_wire *wire_http_new(const struct wire_http_options *options)
{
    static const struct wire_ops ops = {
        .start = http_start,
        .send = http_send,
        .forget = http_forget,
        .free = http_free,
    };
    struct wire_http *w = mem_new_of(struct wire_http);
    w->base.ops = &ops;
    w->o = *options;
    arena_init(&w->arena, ARENA_LIMIT_DEFAULT);
    w->o.path = arena_strdup(&w->arena, options->path);
    w->o.authority = arena_strdup(&w->arena, options->authority);
    w->headers = copied(&w->arena, options->headers);
    timer_init(&w->timer, begin, w);
    return &w->base;
}
