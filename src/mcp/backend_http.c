#include "mcp/backend_http.h"

#include <stdlib.h>

#include "base/url.h"
#include "http/client.h"
#include "http/tls.h"
#include "mcp/backend.h"
#include "mcp/bridge.h"
#include "mcp/exchange.h"
#include "mcp/rpc.h"
#include "mcp/session.h"
#include "mcp/sse_relay.h"

/* Limit of requests that continue after their client has left. */
#define LEFT_MAX 1000
#define ERA_BODY_BYTES_MAX 65536

struct backend_http {
    struct mcp_backend base;
    struct backend_http_options o;
    struct arena arena;
    struct url url;
    struct http_origin origin;
    struct tls_context *own_tls;
    struct call *calls;
    size_t left; /* calls without a client */
    struct bridge *bridge;
    struct sse_relay *relay; /* NULL: streamable HTTP */
    enum { ERA_UNKNOWN, ERA_LEGACY_ONLY, ERA_MODERN_ONLY } era;
    bool speaks_modern; /* the server is known to be modern: its refusals are final */
};

enum call_phase { CALL_SAYS, CALL_INITIALIZES, CALL_FINISHES };

struct call {
    struct backend_http *backend;
    struct mcp_exchange *x; /* NULL: the client left */
    struct http_call *http;
    enum call_phase phase;
    bool healed, headed;
    struct error refused; /* from our own initialize */
    /* The answer may show that the server is of the other era; see judge_era(). */
    bool judged;
    int status;
    struct http_headers headers;
    int64_t body_bytes;
    struct buf body;
    struct sse_stream *stream; /* of a GET to an HTTP+SSE server */
    struct call *next, **link;
};

static void call_free(struct call *c)
{
    if (c->http)
        http_call_cancel(c->http);
    sse_stream_free(take(c->stream));
    if (!c->x)
        c->backend->left--;
    else
        c->x->call = NULL;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    buf_done(&c->body);
    free(c);
}

static const char *target(const struct backend_http *b, struct mcp_exchange *x)
{
    const char *path = str_dup(&x->arena, x->path);
    if (b->o.one_path && *b->url.path && !text_eq(b->url.path, "/"))
        path = b->url.path;
    if (!x->query.ptr)
        return path;
    return arena_printf(
        &x->arena, "%s?%.*s", path, (int)x->query.len, x->query.ptr ? x->query.ptr : "");
}

/* The client's headers, with the backend's id of the session. */
static struct http_headers headers_of(struct call *c, const char *session)
{
    struct mcp_exchange *x = c->x;
    bool reads = x->wants_any || c->backend->relay;
    struct http_headers all = mcp_backend_headers(x);
    struct http_header *list = arena_array(&x->arena, all.count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < all.count; i++) {
        struct str name = all.list[i].name;
        bool is_session = str_eq_nocase(name, STR("mcp-session-id"));
        bool is_encoding = str_eq_nocase(name, STR("accept-encoding")) && reads;
        if (!is_session && !is_encoding)
            list[count++] = all.list[i];
    }
    if (session)
        list[count++] = (struct http_header){ STR("mcp-session-id"), str_of(session) };
    return (struct http_headers){ list, count };
}

static const char *session_for(const struct mcp_exchange *x)
{
    if (text_eq(x->request.method, "initialize"))
        return NULL;
    if (x->session)
        return x->session->backend_id;
    return x->session_id.ptr;
}

static void say(struct call *c, struct str body, const char *session);

/* ---- answers ---- */

static bool is_forgotten(const struct call *c, int status)
{
    const struct mcp_exchange *x = c->x;
    return status == 404 && !c->healed && x && !x->is_signed && x->session &&
           x->session->initialize_bytes && x->request.kind != MCP_NONE;
}

static void on_initialized(struct call *c, const struct http_response *r)
{
    struct str id = http_header_find(r->headers, "mcp-session-id");
    if (r->status != 200 || !id.len)
        fail(&c->refused, ERR_UNAVAILABLE, "initialize was answered with %d", r->status);
    else if (c->x && c->x->session)
        session_set_backend_id(c->x->session, id);
}

static void note_session(struct call *c, const struct http_response *r)
{
    struct mcp_exchange *x = c->x;
    struct str id = http_header_find(r->headers, "mcp-session-id");
    if (text_eq(x->request.method, "initialize") && r->status == 200 && id.len)
        proxy_session_begun(x, id);
    if (str_eq(x->method, STR("DELETE")) && x->session && r->status / 100 == 2)
        session_remove(c->backend->o.sessions, x->session);
}

/* ---- the server's era ---- */

/* Whether the server may be of the other era. The body of its answer decides. */
static bool may_be_other_era(const struct call *c, const struct http_response *r)
{
    const struct mcp_exchange *x = c->x;
    const char *method = x->request.method;
    bool is_hello = text_eq(method, "initialize") || text_eq(method, "server/discover");
    if (!c->backend->bridge || x->is_signed || x->request.kind != MCP_REQUEST ||
        c->backend->era != ERA_UNKNOWN || r->body_bytes > ERA_BODY_BYTES_MAX ||
        (x->request.modern && c->backend->speaks_modern))
        return false;
    if (x->request.modern && (r->status == 400 || r->status == 404 || r->status == 405))
        return true;
    return is_hello && (r->status == 200 || r->status == 400 || r->status == 404);
}

static void keep_head(struct call *c, const struct http_response *r)
{
    struct arena *a = &c->x->arena;
    struct http_header *list = arena_array(a, r->headers.count + 1, sizeof(*list));
    for (size_t i = 0; i < r->headers.count; i++)
        list[i] = (struct http_header){
            { str_dup(a, r->headers.list[i].name), r->headers.list[i].name.len },
            { str_dup(a, r->headers.list[i].value), r->headers.list[i].value.len },
        };
    c->judged = true;
    c->status = r->status;
    c->body_bytes = r->body_bytes;
    c->headers = (struct http_headers){ list, r->headers.count };
    buf_init(&c->body, (size_t)64 << 20);
}

/* The code of the JSON-RPC error in an answer; 0: none. */
static int64_t error_code(struct arena *a, struct str body)
{
    struct json v;
    struct error err;
    struct str rest = body;
    while (rest.ptr && !str_starts(str_trim(body), STR("{"))) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, STR("data:")))
            body = (struct str){ line.ptr + 5, line.len - 5 };
    }
    return json_parse(a, str_trim(body), &v, &err) ? json_get_int(v, "error.code", 0) : 0;
}

static bool judge_era(struct call *c)
{
    struct mcp_exchange *x = c->x;
    int64_t code = error_code(&x->arena, buf_str(&c->body));
    bool is_modern_code = code <= RPC_HEADER_CODE && code >= -32099;
    const char *method = x->request.method;
    bool is_discovered = text_eq(method, "server/discover") && c->status == 200 && !code;
    if (x->request.modern && (is_modern_code || is_discovered))
        c->backend->speaks_modern = true;
    if (text_eq(method, "initialize")) {
        if (is_modern_code || code == RPC_METHOD_CODE ||
            (code == RPC_PARAMS_CODE && c->status != 200))
            c->backend->era = ERA_MODERN_ONLY;
    } else if (text_eq(method, "server/discover")) {
        if (code ? !is_modern_code : c->status != 200)
            c->backend->era = ERA_LEGACY_ONLY;
    } else if (!is_modern_code && code != RPC_PARAMS_CODE && code != RPC_METHOD_CODE) {
        c->backend->era = ERA_LEGACY_ONLY;
    }
    return c->backend->era != ERA_UNKNOWN;
}

/* The answer is complete. True: the exchange takes another path. */
static bool cross_over(struct call *c)
{
    struct mcp_exchange *x = c->x;
    struct backend_http *b = c->backend;
    if (judge_era(c)) {
        const char *path = target(b, x);
        call_free(c);
        bridge_send(b->bridge, x, path);
        return true;
    }
    struct http_response r = { .status = c->status, .headers = c->headers };
    note_session(c, &r);
    c->judged = false;
    answer_head(x, c->status, c->headers, c->body_bytes);
    if (c->body.len)
        answer_data(x, buf_str(&c->body));
    return false;
}

static bool needs_bridge(const struct backend_http *b, const struct mcp_exchange *x)
{
    return b->era == ERA_MODERN_ONLY || (x->session && x->session->peer);
}

/* ---- the answer ---- */

static void on_head(void *ctx, const struct http_response *r)
{
    struct call *c = ctx;
    if (!c->x)
        return;
    if (c->phase == CALL_INITIALIZES) {
        on_initialized(c, r);
        return;
    }
    if (is_forgotten(c, r->status)) {
        struct mcp_session *s = c->x->session;
        c->healed = true;
        http_call_cancel(take(c->http));
        c->phase = CALL_INITIALIZES;
        say(c, (struct str){ s->initialize, s->initialize_bytes }, NULL);
        return;
    }
    if (may_be_other_era(c, r)) {
        keep_head(c, r);
        return;
    }
    note_session(c, r);
    c->headed = true;
    if (c->backend->relay && r->status == 200 && str_eq(c->x->method, STR("GET")) &&
        str_starts(http_header_find(r->headers, "content-type"), STR("text/event-stream")))
        c->stream = sse_stream_new(c->backend->relay, c->x);
    answer_head(c->x, r->status, r->headers, c->stream ? -1 : r->body_bytes);
}

static void on_data(void *ctx, struct str bytes)
{
    struct call *c = ctx;
    if (c->judged)
        buf_add(&c->body, bytes.ptr, bytes.len);
    else if (c->stream)
        sse_stream_feed(c->stream, bytes);
    else if (c->x && c->phase == CALL_SAYS)
        answer_data(c->x, bytes);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct call *c = ctx;
    struct mcp_exchange *x = c->x;
    (void)sent;
    c->http = NULL;
    if (x && c->phase == CALL_INITIALIZES) {
        const struct error *why = err ? err : c->refused.code ? &c->refused : NULL;
        if (!why && x->session) {
            c->phase = CALL_SAYS;
            say(c, x->request.raw, x->session->backend_id);
            return;
        }
        struct error gone = { 0 };
        fail(&gone, ERR_UNAVAILABLE, "%s", why ? why->text : "the session has ended");
        call_free(c);
        answer_end(x, &gone);
        return;
    }
    if (x && c->judged && !err && cross_over(c))
        return;
    struct error copy;
    if (err)
        copy = *err;
    call_free(c);
    if (x)
        answer_end(x, err ? &copy : NULL);
}

static void say(struct call *c, struct str body, const char *session)
{
    static const struct http_call_handlers handlers = {
        .head = on_head,
        .data = on_data,
        .end = on_end,
    };
    struct mcp_exchange *x = c->x;
    char *method = str_dup(&x->arena, x->method);
    c->http = http_call_open(c->backend->o.http,
        &(struct http_request){
            .origin = &c->backend->origin,
            .method = method,
            .path = target(c->backend, x),
            .authority = url_authority(&x->arena, &c->backend->url),
            .headers = headers_of(c, session),
            .body = body,
            .timeouts = { .first_byte_ms = HTTP_NO_TIMEOUT, .idle_ms = HTTP_NO_TIMEOUT },
        },
        &handlers,
        c);
}

/* ---- the backend ---- */

static void backend_send(struct mcp_backend *base, struct mcp_exchange *x)
{
    struct backend_http *b = container_of(base, struct backend_http, base);
    bool modern = x->request.modern;
    if (b->bridge && !x->is_signed && (modern ? b->era == ERA_LEGACY_ONLY : needs_bridge(b, x))) {
        bridge_send(b->bridge, x, target(b, x));
        return;
    }
    if (b->relay && sse_relay_is_strange(b->relay, x)) {
        x->backend = NULL;
        mcp_answer_error(x, 404, RPC_SESSION_CODE, "Session not found", json_none);
        chain_send_answer(x);
        return;
    }
    struct call *c = mem_new_of(struct call);
    *c = (struct call){ .backend = b, .x = x, .next = b->calls, .link = &b->calls };
    if (c->next)
        c->next->link = &c->next;
    b->calls = c;
    x->call = c;
    say(c, x->request.raw, session_for(x));
}

static void backend_cancel(struct mcp_backend *base, struct mcp_exchange *x)
{
    struct backend_http *b = container_of(base, struct backend_http, base);
    struct call *c = x->call;
    if (!c)
        return;
    bool goes_on = x->request.kind != MCP_NONE && !x->request.modern && c->phase == CALL_SAYS &&
                   b->left < LEFT_MAX;
    if (!goes_on) {
        call_free(c);
        return;
    }
    c->x = NULL;
    x->call = NULL;
    b->left++;
    http_call_resume(c->http);
}

static void backend_pause(struct mcp_backend *base, struct mcp_exchange *x)
{
    (void)base;
    struct call *c = x->call;
    if (c && c->http)
        http_call_pause(c->http);
}

static void backend_resume(struct mcp_backend *base, struct mcp_exchange *x)
{
    (void)base;
    struct call *c = x->call;
    if (c && c->http)
        http_call_resume(c->http);
}

static const char *backend_url(struct mcp_backend *base, const struct mcp_exchange *x)
{
    struct backend_http *b = container_of(base, struct backend_http, base);
    struct mcp_exchange *of = (struct mcp_exchange *)(uintptr_t)x;
    return arena_printf(
        &of->arena, "%s://%s%s", b->url.scheme, url_authority(&of->arena, &b->url), target(b, of));
}

static void backend_free(struct mcp_backend *base)
{
    struct backend_http *b = container_of(base, struct backend_http, base);
    while (b->calls)
        call_free(b->calls);
    bridge_free(b->bridge);
    sse_relay_free(b->relay);
    tls_context_unref(b->own_tls);
    arena_done(&b->arena);
    free(b);
}

static void backend_session_ended(struct mcp_backend *base, struct mcp_session *s)
{
    struct backend_http *b = container_of(base, struct backend_http, base);
    if (b->bridge)
        bridge_session_ended(b->bridge, s);
}

struct mcp_backend *backend_http_new(const struct backend_http_options *options, struct error *err)
{
    static const struct mcp_backend_ops ops = {
        .send = backend_send,
        .cancel = backend_cancel,
        .pause = backend_pause,
        .resume = backend_resume,
        .url = backend_url,
        .free = backend_free,
        .session_ended = backend_session_ended,
    };
    struct backend_http *b = mem_new_of(struct backend_http);
    b->base.ops = &ops;
    b->o = *options;
    arena_init(&b->arena, ARENA_LIMIT_DEFAULT);
    if (!url_parse(&b->arena, options->url, &b->url, err)) {
        backend_free(&b->base);
        return NULL;
    }
    bool is_tls = text_eq(b->url.scheme, "https");
    if (is_tls && !options->tls) {
        b->own_tls = tls_client_new(&(struct tls_client_options){ 0 }, err);
        if (!b->own_tls) {
            backend_free(&b->base);
            return NULL;
        }
    }
    b->origin = (struct http_origin){
        .host = b->url.host,
        .port = (uint16_t)url_port(&b->url),
        .tls = !is_tls        ? NULL
               : options->tls ? options->tls
                              : b->own_tls,
    };
    if (options->sse)
        b->relay = sse_relay_new(options->sse);
    if (options->env)
        b->bridge = bridge_new(&(struct bridge_options){
            .env = options->env,
            .http = options->http,
            .origin = &b->origin,
            .authority = url_authority(&b->arena, &b->url),
            .sessions = options->sessions,
        });
    return &b->base;
}
