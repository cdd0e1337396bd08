#include "http/server.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/link.h"
#include "http/listen.h"
#include "http/loop.h"

/* From an accepted socket to requests:
 *
 *   accept ─> [TLS] ─> which protocol? ─> link ─> exchanges
 */

#define SERVER_ACCEPTS_PER_TURN 16
#define SERVER_ACCEPT_PAUSE_MS 100 /* out of descriptors: wait until some are closed */
#define SERVER_SILENT_MS 500       /* minimum time for a connection to begin its request */
#define SERVER_WATCH_MS_MIN 10
#define SERVER_WATCH_MS_MAX 5000

static const struct str h2_preface = { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24 };

struct http_server {
    struct loop *loop;
    const struct env *env;
    struct http_server_options o;
    int fd; /* -1: no longer listening */
    struct loop_watch *watch;
    struct timer accept_again;
    struct client *clients;
    size_t client_count;
    struct http_exchange *exchanges;
    size_t exchange_count;
    bool draining;
    struct timer drain;
    void (*drained)(void *ctx);
    void *drained_ctx;
};

/* One connection. */
struct client {
    struct http_server *server;
    struct client *next, *prev;
    struct conn *conn; /* until there is a link, which takes it */
    struct link *link;
    struct buf first; /* the first bytes, which show the protocol */
    struct timer watchdog;
    int64_t since_ms;
    struct arena arena; /* of peer */
    const struct tls_peer *peer;
    bool secure, asked; /* asked: a request has arrived */
};

struct http_exchange {
    struct http_server *server;
    struct http_exchange *next, *prev;
    struct stream *stream; /* NULL: aborted, closed() is due */
    bool stalled;          /* … because the client sent or read nothing */
    const struct http_exchange_handlers *on;
    void *ctx;
    struct timer later;
};

static void update_accepting(struct http_server *s);

/* ---- exchanges ---- */

static void exchange_free(struct http_exchange *x)
{
    timer_stop(x->server->env, &x->later);
    if (x->prev)
        x->prev->next = x->next;
    else
        x->server->exchanges = x->next;
    if (x->next)
        x->next->prev = x->prev;
    x->server->exchange_count--;
    free(x);
}

static void exchange_closed(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct http_exchange *x = ctx;
    const struct http_exchange_handlers *on = x->on;
    void *on_ctx = x->ctx;
    exchange_free(x);
    if (on)
        on->closed(on_ctx, err);
}

static void exchange_aborted(void *ctx)
{
    struct http_exchange *x = ctx;
    struct error err;
    fail(&err,
        x->stalled ? ERR_TIMEOUT : ERR_CANCELLED,
        x->stalled ? "the client neither sent nor took a byte for too long" : "the answer was cut");
    exchange_closed(x, &err, true);
}

static void exchange_data(void *ctx, struct str bytes)
{
    struct http_exchange *x = ctx;
    if (x->on && x->on->data)
        x->on->data(x->ctx, bytes);
}

static void exchange_end(void *ctx)
{
    struct http_exchange *x = ctx;
    if (x->on && x->on->end)
        x->on->end(x->ctx);
}

static void exchange_drained(void *ctx)
{
    struct http_exchange *x = ctx;
    if (x->on && x->on->drained)
        x->on->drained(x->ctx);
}

static const struct stream_handlers exchange_handlers = {
    .data = exchange_data,
    .end = exchange_end,
    .drained = exchange_drained,
    .closed = exchange_closed,
};

static void got_request(void *ctx, struct stream *stream, const struct wire_head *head)
{
    struct client *c = ctx;
    struct http_server *s = c->server;
    c->asked = true;
    struct http_exchange *x = mem_new_of(struct http_exchange);
    x->server = s;
    x->stream = stream;
    x->next = s->exchanges;
    if (x->next)
        x->next->prev = x;
    s->exchanges = x;
    s->exchange_count++;
    timer_init(&x->later, exchange_aborted, x);
    stream->on = &exchange_handlers;
    stream->ctx = x;
    struct str query = head->target;
    struct str path = str_cut(&query, '?');
    struct http_request_head request = {
        .method = head->method,
        .target = head->target,
        .path = path,
        .query = query,
        .authority = head->authority,
        .headers = head->headers,
        .body_bytes = head->body_bytes,
        .http2 = link_wire(c->link)->is_h2,
        .tls = c->secure,
        .remote = conn_address(link_conn(c->link)),
        .peer = c->peer,
    };
    s->o.request(s->o.ctx, x, &request);
    if (x->stream && !x->on && !stream->head_queued)
        http_exchange_reply(x, 500, NULL, STR(""));
}

void http_exchange_take(
    struct http_exchange *x, const struct http_exchange_handlers *handlers, void *ctx)
{
    assert(handlers->closed);
    x->on = handlers;
    x->ctx = ctx;
}

/* RFC 9110, 6.6.1: a server with a clock sends the time. */
static void add_date(const struct env *env, char text[40], struct http_header *ret)
{
    time_t now = (time_t)(env_wall_ms(env) / 1000);
    struct tm parts;
    gmtime_r(&now, &parts);
    size_t length = strftime(text, 40, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    *ret = (struct http_header){ STR("date"), { text, length } };
}

void http_exchange_respond(
    struct http_exchange *x, int status, struct http_headers headers, int64_t body_bytes)
{
    if (!x->stream)
        return;
    struct http_header *list = mem_resize(NULL, headers.count + 1, sizeof(*list));
    char date[40];
    size_t count = 0;
    if (!head_is_sendable(headers)) { /* a field would split the response: better none */
        status = 500;
        headers.count = 0;
    }
    for (; count < headers.count; count++)
        list[count] = headers.list[count];
    if (!http_header_find(headers, "date").ptr)
        add_date(x->server->env, date, &list[count++]);
    stream_respond(x->stream, status, (struct http_headers){ list, count }, body_bytes);
    free(list);
}

void http_exchange_upgrade(
    struct http_exchange *x, struct str protocol, struct http_headers headers)
{
    if (x->stream)
        stream_upgrade(x->stream, protocol, headers);
}

bool http_exchange_write(struct http_exchange *x, struct str bytes)
{
    return !x->stream || stream_write(x->stream, bytes);
}

void http_exchange_finish(struct http_exchange *x)
{
    if (x->stream)
        stream_finish(x->stream);
}

void http_exchange_reply(
    struct http_exchange *x, int status, const char *content_type, struct str body)
{
    struct http_header type = { STR("content-type"), str_of(content_type) };
    struct http_headers headers = { &type, content_type ? 1 : 0 };
    http_exchange_respond(x, status, headers, (int64_t)body.len);
    http_exchange_write(x, body);
    http_exchange_finish(x);
}

void http_exchange_close_after(struct http_exchange *x)
{
    if (x->stream)
        wire_drain(x->stream->wire);
}

void http_exchange_abort(struct http_exchange *x)
{
    if (!x->stream)
        return;
    stream_detach(take(x->stream));
    timer_set(x->server->env, &x->later, 0);
}

void http_exchange_pause(struct http_exchange *x)
{
    if (x->stream)
        stream_pause(x->stream);
}

void http_exchange_resume(struct http_exchange *x)
{
    if (x->stream)
        stream_resume(x->stream);
}

/* ---- connections ---- */

static void client_free(struct client *c)
{
    struct http_server *s = c->server;
    timer_stop(s->env, &c->watchdog);
    link_free(c->link);
    conn_free(c->conn);
    buf_done(&c->first);
    arena_done(&c->arena);
    if (c->prev)
        c->prev->next = c->next;
    else
        s->clients = c->next;
    if (c->next)
        c->next->prev = c->prev;
    free(c);
    s->client_count--;
    update_accepting(s);
    if (s->draining && s->client_count == 0)
        timer_set(s->env, &s->drain, 0);
}

static void client_gone(void *ctx, const struct error *err)
{
    (void)err; /* the exchanges on it have ended already */
    client_free(ctx);
}

static void client_changed(void *ctx)
{
    (void)ctx; /* the watchdog checks by itself */
}

static const struct link_handlers client_handlers = {
    .request = got_request,
    .changed = client_changed,
    .gone = client_gone,
};

static void start_http(struct client *c, bool h2)
{
    const struct http_server_options *o = &c->server->o;
    struct link_options options = {
        .h2 = h2,
        .wire.is_server = true,
        .wire.limits = o->limits,
        .wire.window_bytes = o->window_bytes,
        .wire.streams_max = o->streams_max,
        .wire.body_bytes_max = o->body_bytes_max,
        .ping_idle_ms = o->ping_idle_ms,
        .ping_timeout_ms = o->ping_timeout_ms,
    };
    c->link = link_new(c->server->loop, take(c->conn), &options, &client_handlers, c);
    if (c->server->draining)
        wire_drain(link_wire(c->link));
}

static void client_secured(void *ctx)
{
    struct client *c = ctx;
    c->secure = true;
    c->peer = conn_peer(c->conn, &c->arena);
    start_http(c, conn_is_h2(c->conn));
}

/* Without TLS the first bytes show the protocol: only HTTP/2 begins with its preface. */
static void client_data(void *ctx, struct str bytes)
{
    struct client *c = ctx;
    buf_add(&c->first, bytes.ptr, bytes.len);
    struct str first = buf_str(&c->first);
    size_t count = first.len < h2_preface.len ? first.len : h2_preface.len;
    bool h2 = memcmp(first.ptr, h2_preface.ptr, count) == 0;
    if (h2 && count < h2_preface.len)
        return;
    start_http(c, h2);
    link_feed(c->link, first);
    buf_done(&c->first);
}

static const struct conn_handlers early_handlers = {
    .secured = client_secured,
    .data = client_data,
    .closed = client_gone,
};

/* ---- timeouts ---- */

static void check_stream(struct client *c, struct stream *s, int64_t now_ms)
{
    bool waits_in = !s->in_done && !s->paused && !s->head_queued;
    bool waits_out = stream_out(s).len > 0;
    struct http_exchange *x = s->ctx;
    if ((waits_in || waits_out) && !s->upgraded && now_ms - s->active_ms >= c->server->o.stall_ms) {
        x->stalled = true;
        http_exchange_abort(x);
    }
}

static const char *out_of_patience(struct client *c, int64_t now_ms)
{
    const struct http_server_options *o = &c->server->o;
    if (!c->link)
        return now_ms - c->since_ms >= o->header_ms ? "no request in time" : NULL;
    struct wire *w = link_wire(c->link);
    if (w->head_since_ms && now_ms - w->head_since_ms >= o->header_ms)
        return "the head of a request took too long";
    if (!w->stream_count && now_ms - link_active_ms(c->link) >= o->idle_ms)
        return "idle for too long";
    if (w->streams && w->streams->upgraded)
        return NULL;
    if (conn_pending(link_conn(c->link)) && now_ms - link_active_ms(c->link) >= o->stall_ms)
        return "the client does not read";
    return NULL;
}

static int64_t watch_ms(const struct http_server_options *o)
{
    int64_t least = o->header_ms < o->idle_ms ? o->header_ms : o->idle_ms;
    least = (least < o->stall_ms ? least : o->stall_ms) / 4;
    return least < SERVER_WATCH_MS_MIN   ? SERVER_WATCH_MS_MIN
           : least > SERVER_WATCH_MS_MAX ? SERVER_WATCH_MS_MAX
                                         : least;
}

static void watchdog(void *ctx)
{
    struct client *c = ctx;
    int64_t now_ms = env_mono_ms(c->server->env);
    const char *why = out_of_patience(c, now_ms);
    timer_set(c->server->env, &c->watchdog, watch_ms(&c->server->o));
    if (why && !c->link) {
        client_free(c);
    } else if (why) {
        link_fail(c->link, ERR_TIMEOUT, why);
    } else if (c->link) {
        struct stream *next;
        for (struct stream *s = link_wire(c->link)->streams; s; s = next) {
            next = s->next;
            check_stream(c, s, now_ms);
        }
    }
}

/* ---- listening ---- */

static void client_new(struct http_server *s, int fd)
{
    struct client *c = mem_new_of(struct client);
    c->server = s;
    c->since_ms = env_mono_ms(s->env);
    c->next = s->clients;
    if (c->next)
        c->next->prev = c;
    s->clients = c;
    s->client_count++;
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&c->first, SIZE_MAX / 2); /* one read */
    timer_init(&c->watchdog, watchdog, c);
    timer_set(s->env, &c->watchdog, watch_ms(&s->o));
    c->conn = conn_new(s->loop, fd, &early_handlers, c);
    if (s->o.tls)
        conn_secure(c->conn, s->o.tls, NULL, NULL);
}

/* Clients that connect and send nothing must not block others. NULL: there are none. */
static struct client *oldest_silent(struct http_server *s)
{
    struct client *oldest = NULL;
    for (struct client *c = s->clients; c; c = c->next)
        oldest = c->asked ? oldest : c; /* new ones are added at the front */
    return oldest;
}

static void pause_accepting(struct http_server *s)
{
    loop_watch_set(s->watch, 0);
    timer_set(s->env, &s->accept_again, SERVER_ACCEPT_PAUSE_MS);
}

/* Closes one connection if possible. False: not yet, or there is none. */
static bool make_room(struct http_server *s)
{
    struct client *c = oldest_silent(s);
    if (!c || env_mono_ms(s->env) - c->since_ms < SERVER_SILENT_MS)
        return false;
    client_free(c);
    return true;
}

static void accept_ready(void *ctx, int events)
{
    (void)events;
    struct http_server *s = ctx;
    for (int i = 0; i < SERVER_ACCEPTS_PER_TURN; i++) {
        bool full = s->client_count >= s->o.connections_max;
        if (full && i > 0)
            break; /* if another client waits, this is called again */
        if (full && !make_room(s)) {
            if (oldest_silent(s))
                pause_accepting(s);
            break;
        }
        int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        bool out_of_files = fd < 0 && (errno == EMFILE || errno == ENFILE);
        if (out_of_files && make_room(s))
            continue;
        if (out_of_files || (fd < 0 && (errno == ENOBUFS || errno == ENOMEM))) {
            pause_accepting(s);
            return;
        }
        if (fd < 0)
            break;
        client_new(s, fd);
    }
    update_accepting(s);
}

static void update_accepting(struct http_server *s)
{
    if (s->watch && !timer_is_set(&s->accept_again))
        loop_watch_set(
            s->watch, s->client_count < s->o.connections_max || oldest_silent(s) ? LOOP_READ : 0);
}

static void accept_again(void *ctx)
{
    update_accepting(ctx);
}

static void stop_listening(struct http_server *s)
{
    if (s->fd < 0)
        return;
    timer_stop(s->env, &s->accept_again);
    loop_watch_free(take(s->watch));
    close(s->fd);
    s->fd = -1;
}

static void drain_over(void *ctx);

struct http_server *http_server_new(
    struct loop *loop, const struct http_server_options *options, struct error *err)
{
    int fd = listen_tcp(options->address, options->port, err);
    if (fd < 0)
        return NULL;
    listen_raise_files(); /* each connection is a file */
    struct http_server *s = mem_new_of(struct http_server);
    s->loop = loop;
    s->env = loop_env(loop);
    s->fd = fd;
    s->o = *options;
    s->o.connections_max = options->connections_max ?: 1024;
    s->o.streams_max = options->streams_max ?: 128;
    s->o.window_bytes = options->window_bytes ?: (size_t)64 << 10;
    s->o.body_bytes_max = options->body_bytes_max ?: (int64_t)64 << 20;
    s->o.header_ms = options->header_ms ?: 10000;
    s->o.idle_ms = options->idle_ms ?: 120000;
    s->o.stall_ms = options->stall_ms ?: 60000;
    s->o.ping_idle_ms = options->ping_idle_ms ?: 30000;
    s->o.ping_timeout_ms = options->ping_timeout_ms ?: 15000;
    tls_context_ref(s->o.tls);
    timer_init(&s->accept_again, accept_again, s);
    timer_init(&s->drain, drain_over, s);
    s->watch = loop_watch_new(loop, fd, accept_ready, s);
    update_accepting(s);
    return s;
}

static void cut_all(struct http_server *s, const char *why)
{
    struct error err;
    fail(&err, ERR_CANCELLED, "%s", why);
    while (s->clients) {
        if (s->clients->link)
            wire_abort(link_wire(s->clients->link), &err);
        client_free(s->clients);
    }
    while (s->exchanges)
        exchange_closed(s->exchanges, &err, true);
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    stop_listening(s);
    cut_all(s, "the server ended");
    timer_stop(s->env, &s->drain);
    tls_context_unref(s->o.tls);
    free(s);
}

uint16_t http_server_port(const struct http_server *s)
{
    return listen_port(s->fd);
}

void http_server_set_tls(struct http_server *s, struct tls_context *tls)
{
    tls_context_ref(tls);
    tls_context_unref(s->o.tls);
    s->o.tls = tls;
}

static void drain_over(void *ctx)
{
    struct http_server *s = ctx;
    cut_all(s, "the server ended");
    timer_stop(s->env, &s->drain);
    if (s->drained)
        s->drained(s->drained_ctx);
}

void http_server_drain(
    struct http_server *s, int64_t grace_ms, void (*drained)(void *ctx), void *ctx)
{
    assert(!s->draining);
    stop_listening(s);
    s->draining = true;
    s->drained = drained;
    s->drained_ctx = ctx;
    for (struct client *c = s->clients; c; c = c->next)
        if (c->link)
            wire_drain(link_wire(c->link));
    timer_set(s->env, &s->drain, s->client_count ? grace_ms : 0);
}

size_t http_server_connections(const struct http_server *s)
{
    return s->client_count;
}

size_t http_server_exchanges(const struct http_server *s)
{
    return s->exchange_count;
}
