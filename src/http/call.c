#include "http/pool.h"

#include <stdlib.h>
#include <string.h>

#include "http/gunzip.h"

/* http/client.h: the life cycle of a call.
 *
 *   waits ─> on a stream ─> head ─> body ─> end
 *     ^          │ not processed: retry
 *     └──────────┘ */

/* For requests that the server did not process: with a server that takes few requests per
 * connection, a call can meet several connections that are just ending. */
#define CALL_RETRIES_MAX 3

static const struct {
    size_t offset;
    int64_t otherwise_ms;
} timeout_defaults[] = {
    { offsetof(struct http_timeouts, wait_ms), 60000 },
    { offsetof(struct http_timeouts, connect_ms), 10000 },
    { offsetof(struct http_timeouts, tls_ms), 10000 },
    { offsetof(struct http_timeouts, first_byte_ms), 60000 },
    { offsetof(struct http_timeouts, idle_ms), HTTP_NO_TIMEOUT },
    { offsetof(struct http_timeouts, total_ms), HTTP_NO_TIMEOUT },
};

struct http_client *http_client_new(struct loop *loop, const struct http_client_options *options)
{
    struct http_client *c = mem_new_of(struct http_client);
    c->loop = loop;
    c->env = loop_env(loop);
    c->o = *options;
    c->o.connections_max = c->o.connections_max ?: 64;
    c->o.window_bytes = c->o.window_bytes ?: (size_t)256 << 10;
    c->o.idle_connection_ms = c->o.idle_connection_ms ?: 90000;
    c->o.ping_idle_ms = c->o.ping_idle_ms ?: 30000;
    c->o.ping_timeout_ms = c->o.ping_timeout_ms ?: 15000;
    c->o.fallback_ms = c->o.fallback_ms ?: 250;
    return c;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    while (c->calls)
        http_call_cancel(c->calls);
    pool_free(c);
    free(c);
}

void http_client_retire(struct http_client *c)
{
    for (struct origin *o = c->origins; o; o = o->next)
        for (struct pooled *p = o->connections; p; p = p->next) {
            link_wire(p->link)->closing = true;
            wire_kick(link_wire(p->link));
        }
}

struct http_client_stats http_client_stats(const struct http_client *c)
{
    struct http_client_stats stats = { .dialled = c->dialled, .retried = c->retried };
    for (const struct origin *o = c->origins; o; o = o->next) {
        stats.connections += o->connection_count;
        stats.dialling += o->dial_count;
    }
    for (const struct http_call *call = c->calls; call; call = call->next) {
        stats.calls++;
        stats.buffered_bytes += call->packed.len;
        stats.buffered_bytes += call->stream ? stream_buffered(call->stream) : 0;
    }
    return stats;
}

/* ---- the end ---- */

static void call_free(struct http_call *call)
{
    struct http_client *c = call->client;
    if (call->freed)
        *call->freed = true;
    if (call->stream)
        stream_detach(call->stream);
    if (call->waits)
        pool_unwait(call);
    pool_leave(call);
    timer_stop(c->env, &call->phase);
    timer_stop(c->env, &call->total);
    timer_stop(c->env, &call->again);
    if (call->prev)
        call->prev->next = call->next;
    else
        c->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
    gunzip_free(call->gunzip);
    buf_done(&call->packed);
    arena_done(&call->arena);
    free(call->name);
    free(call);
}

void call_end(struct http_call *call, const struct error *err, bool sent)
{
    const struct http_call_handlers *on = call->on;
    void *ctx = call->ctx;
    struct error copy;
    if (err) {
        copy = *err;
        fail_in(
            &copy, "%s %s%s", call->request.method, call->origin->authority, call->request.path);
    }
    call_free(call);
    on->end(ctx, err ? &copy : NULL, sent);
}

void http_call_cancel(struct http_call *call)
{
    call_free(call);
}

static bool was_sent(const struct http_call *call)
{
    return call->head_seen || (call->stream && stream_was_sent(call->stream));
}

/* ---- timeouts ---- */

static void total_over(void *ctx)
{
    struct http_call *call = ctx;
    struct error err;
    fail(&err,
        ERR_TIMEOUT,
        "no complete answer within %lld ms",
        (long long)call->request.timeouts.total_ms);
    call_end(call, &err, was_sent(call));
}

/* One timer for three timeouts, which never overlap. */
static void phase_over(void *ctx)
{
    struct http_call *call = ctx;
    const struct http_timeouts *t = &call->request.timeouts;
    struct error err;
    if (!call->stream) {
        fail(&err, ERR_TIMEOUT, "no connection within %lld ms", (long long)t->wait_ms);
        call_end(call, &err, false);
        return;
    }
    int64_t limit_ms = call->head_seen ? t->idle_ms : t->first_byte_ms;
    int64_t silent_ms = env_mono_ms(call->client->env) - call->stream->active_ms;
    if (call->paused)
        silent_ms = 0; /* the delay is ours, not the server's */
    if (silent_ms < limit_ms) {
        timer_set(call->client->env, &call->phase, limit_ms - silent_ms);
        return;
    }
    fail(&err,
        ERR_TIMEOUT,
        call->head_seen ? "the answer stopped for %lld ms" : "no answer within %lld ms",
        (long long)limit_ms);
    call_end(call, &err, was_sent(call));
}

static void phase_begin(struct http_call *call, int64_t limit_ms)
{
    if (limit_ms == HTTP_NO_TIMEOUT)
        timer_stop(call->client->env, &call->phase);
    else
        timer_set(call->client->env, &call->phase, limit_ms);
}

/* ---- callbacks of the stream ---- */

/* After the head there are no retries: only the text that names the request in errors is kept. */
static void forget_request(struct http_call *call)
{
    struct http_request *r = &call->request;
    size_t method = strlen(r->method) + 1, path = strlen(r->path) + 1;
    if (call->stream->whole.len) /* still being sent */
        return;
    call->name = mem_resize(NULL, method + path, 1);
    memcpy(call->name, r->method, method);
    memcpy(call->name + method, r->path, path);
    r->method = call->name;
    r->path = call->name + method;
    r->authority = NULL;
    r->headers = (struct http_headers){ 0 };
    r->body = (struct str){ 0 };
    arena_done(&call->arena);
}

static void stream_head(void *ctx, const struct wire_head *head)
{
    struct http_call *call = ctx;
    struct http_response response = {
        .status = head->status,
        .headers = head->headers,
        .body_bytes = head->body_bytes,
        .http2 = link_wire(call->pooled->link)->is_h2,
        .address = conn_address(link_conn(call->pooled->link)),
    };
    call->head_seen = true;
    forget_request(call);
    phase_begin(call, call->request.timeouts.idle_ms);
    if (call->request.gunzip && http_header_has_token(head->headers, "content-encoding", "gzip"))
        call->gunzip = gunzip_new();
    if (call->on->head)
        call->on->head(call->ctx, &response);
}

/* Delivers body bytes; false if the callback freed the call. */
static bool deliver(struct http_call *call, struct str bytes)
{
    struct error err;
    bool freed = false;
    call->received += (int64_t)bytes.len;
    if (call->request.body_bytes_max && call->received > call->request.body_bytes_max) {
        fail(&err,
            ERR_TOO_LARGE,
            "the answer has more than %lld bytes",
            (long long)call->request.body_bytes_max);
        call_end(call, &err, true);
        return false;
    }
    if (!call->on->data)
        return true;
    call->freed = &freed;
    call->on->data(call->ctx, bytes);
    if (freed)
        return false;
    call->freed = NULL;
    return true;
}

/* The call was paused in the middle of unpacking. */
static bool is_packed(const struct http_call *call)
{
    return call->packed.len || call->more_inside;
}

/* Unpacks until the input is used up, the caller pauses, or the call ends (false). */
static bool unpack(struct http_call *call, struct str *in)
{
    char plain[16384];
    size_t count = sizeof(plain);
    struct error err;
    while (!call->paused && (in->len || count == sizeof(plain))) {
        if (!gunzip_some(call->gunzip, in, plain, sizeof(plain), &count, &err)) {
            call_end(call, &err, true);
            return false;
        }
        if (count && !deliver(call, (struct str){ plain, count }))
            return false;
    }
    call->more_inside = count == sizeof(plain);
    return true;
}

static void stream_data(void *ctx, struct str bytes)
{
    struct http_call *call = ctx;
    if (!call->gunzip) {
        (void)deliver(call, bytes);
        return;
    }
    if (call->packed.len == 0 && !call->more_inside && !unpack(call, &bytes))
        return;
    buf_add(&call->packed, bytes.ptr, bytes.len); /* at most one window */
}

static void finish(struct http_call *call)
{
    struct error err;
    bool cut = call->gunzip && !gunzip_is_complete(call->gunzip) && call->received;
    if (cut)
        fail(&err, ERR_UNAVAILABLE, "the gzip body ends too early");
    call_end(call, cut ? &err : NULL, true);
}

/* After a resume: first the packed data, then the end if it has arrived. */
static void look_again(void *ctx)
{
    struct http_call *call = ctx;
    if (call->paused)
        return;
    struct buf packed = call->packed;
    struct str in = buf_str(&packed);
    buf_init(&call->packed, packed.limit);
    bool alive = unpack(call, &in);
    if (alive)
        buf_add(&call->packed, in.ptr, in.len);
    buf_done(&packed);
    if (alive && call->complete && !is_packed(call))
        finish(call);
}

/* The server closed a keep-alive connection while our request was in flight. */
static bool is_stale(const struct http_call *call, const struct error *err)
{
    return call->safe && !call->head_seen && call->pooled->served > 1 &&
           err->code == ERR_UNAVAILABLE;
}

static void stream_closed(void *ctx, const struct error *err, bool sent)
{
    struct http_call *call = ctx;
    call->stream = NULL;
    if (!err && is_packed(call)) {
        call->complete = true;
        return;
    }
    if (!err) {
        finish(call);
        return;
    }
    if (call->retries >= CALL_RETRIES_MAX || call->body_begun || call->head_seen ||
        (sent && !is_stale(call, err))) {
        call_end(call, err, sent);
        return;
    }
    call->retries++;
    call->client->retried++;
    call->pooled = NULL;
    phase_begin(call, call->request.timeouts.wait_ms);
    pool_wait(call, true);
}

static void stream_drained(void *ctx)
{
    struct http_call *call = ctx;
    if (call->request.body_streamed && !call->stream->out_finished) {
        call->body_begun = true;
        call->on->more(call->ctx);
    }
}

static const struct stream_handlers stream_handlers = {
    .head = stream_head,
    .data = stream_data,
    .drained = stream_drained,
    .closed = stream_closed,
};

void call_assign(struct http_call *call, struct pooled *p)
{
    const struct http_request *r = &call->request;
    struct wire_head head = {
        .method = str_of(r->method),
        .target = str_of(r->path),
        .authority = str_of(r->authority ?: call->origin->authority),
        .scheme = call->origin->key.tls ? STR("https") : STR("http"),
        .headers = r->headers,
        .body_bytes = (int64_t)r->body.len,
    };
    if (r->body_streamed)
        head.body_bytes = r->body_bytes ?: -1;
    pool_unwait(call);
    p->served++;
    call->pooled = p;
    call->stream = wire_open(link_wire(p->link), &head, &stream_handlers, call);
    if (call->paused)
        stream_pause(call->stream);
    if (r->body_streamed)
        stream_ask_more(call->stream);
    else
        stream_send_whole(call->stream, r->body);
    phase_begin(call, r->timeouts.first_byte_ms);
}

/* ---- calls by the user ---- */

static void copy_headers(struct http_call *call, const struct http_request *r)
{
    struct arena *a = &call->arena;
    size_t count = r->headers.count;
    struct http_header *list = arena_array(a, count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        struct http_header h = r->headers.list[i];
        list[i].name = (struct str){ str_dup(a, h.name), h.name.len };
        list[i].value = (struct str){ str_dup(a, h.value), h.value.len };
    }
    if (r->gunzip && !http_header_find(r->headers, "accept-encoding").ptr)
        list[count++] = (struct http_header){ STR("accept-encoding"), STR("gzip") };
    call->request.headers = (struct http_headers){ list, count };
}

static void copy_request(struct http_call *call, const struct http_request *r)
{
    struct arena *a = &call->arena;
    arena_init(a, ARENA_LIMIT_DEFAULT);
    call->request = *r;
    call->request.origin = NULL;
    call->request.method = arena_strdup(a, r->method);
    call->request.path = arena_strdup(a, r->path);
    call->request.authority = arena_strdup(a, r->authority);
    if (r->body.len) {
        char *body = arena_alloc(a, r->body.len);
        memcpy(body, r->body.ptr, r->body.len);
        call->request.body = (struct str){ body, r->body.len };
    }
    copy_headers(call, r);
    for (size_t i = 0; i < lengthof(timeout_defaults); i++) {
        int64_t *ms = (int64_t *)((char *)&call->request.timeouts + timeout_defaults[i].offset);
        *ms = *ms ?: timeout_defaults[i].otherwise_ms;
    }
}

static bool is_text(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    return *text;
}

/* Reported from the loop, like every other failure. */
static void refuse(void *ctx)
{
    struct http_call *call = ctx;
    struct error err;
    fail(&err, ERR_INVALID, "the method, target or a field has bytes that must not be sent");
    call_end(call, &err, false);
}

struct http_call *http_call_open(struct http_client *c, const struct http_request *request,
    const struct http_call_handlers *handlers, void *ctx)
{
    struct http_call *call = mem_new_of(struct http_call);
    assert(handlers->end && (handlers->more || !request->body_streamed));
    assert(!request->body_streamed || !request->body.len);
    call->client = c;
    call->on = handlers;
    call->ctx = ctx;
    call->next = c->calls;
    if (call->next)
        call->next->prev = call;
    c->calls = call;
    buf_init(&call->packed, SIZE_MAX / 2); /* limited by the window */
    copy_request(call, request);
    call->origin = pool_origin(c, request->origin);
    call->origin->calls++;
    call->safe = text_eq(request->method, "GET") || text_eq(request->method, "HEAD");
    timer_init(&call->total, total_over, call);
    timer_init(&call->again, look_again, call);
    bool ok = is_text(request->method) && is_text(request->path) &&
              (!request->authority || is_text(request->authority)) &&
              head_is_sendable(request->headers);
    timer_init(&call->phase, ok ? phase_over : refuse, call);
    phase_begin(call, ok ? call->request.timeouts.wait_ms : 0);
    if (!ok)
        return call;
    if (call->request.timeouts.total_ms != HTTP_NO_TIMEOUT)
        timer_set(c->env, &call->total, call->request.timeouts.total_ms);
    pool_wait(call, false);
    return call;
}

void http_call_pause(struct http_call *call)
{
    call->paused = true;
    if (call->stream)
        stream_pause(call->stream);
}

void http_call_resume(struct http_call *call)
{
    call->paused = false;
    if (is_packed(call))
        timer_set(call->client->env, &call->again, 0);
    if (call->stream)
        stream_resume(call->stream);
}

bool http_call_write(struct http_call *call, struct str bytes)
{
    assert(call->request.body_streamed && call->body_begun);
    return !call->stream || stream_write(call->stream, bytes);
}

void http_call_finish(struct http_call *call)
{
    assert(call->request.body_streamed && call->body_begun);
    if (call->stream)
        stream_finish(call->stream);
}
