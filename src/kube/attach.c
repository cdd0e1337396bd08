#include "kube/attach.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/loop.h"
#include "http/spdy.h"
#include "http/tls.h"
#include "http/websocket.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define HEAD_BYTES_MAX ((size_t)64 << 10)
#define CONNECT_MS 10000
#define OPEN_MS 30000
#define PING_MS 30000
#define NO_CHANNEL (-1)
#define SPDY_FRAME_BYTES ((size_t)64 << 10)
enum { STDIN_CHANNEL = 0, ERROR_CHANNEL = 3, CHANNELS = 4 };

struct kube_attach {
    struct kube_attach_options o;
    const struct kube_attach_handlers *on;
    void *ctx;
    struct arena arena;
    struct url server;
    struct credentials *credentials;
    struct dial_options way; /* to the API server */
    struct dial *dial;
    struct conn *conn;
    struct timer timer; /* starts the call; then timeouts, then pings */
    struct websocket socket;
    struct buf head, status; /* of the response; of the error channel */
    int channel;             /* of the incoming message */
    bool is_spdy;            /* is_spdy: requested; spdy: established */
    struct spdy *spdy;
    uint32_t streams[CHANNELS]; /* SPDY stream ids by channel */
    unsigned replies;
    bool asked, upgraded, open, over;
};

/* ---- end ---- */

static void end(struct kube_attach *k, const struct error *err)
{
    struct error copy = *err;
    if (k->over)
        return;
    k->over = true;
    timer_stop(loop_env(k->o.loop), &k->timer);
    k->on->ended(k->ctx, &copy);
}

static void end_with(struct kube_attach *k, enum error_code code, const char *text)
{
    struct error err = { 0 };
    fail(&err, code, "attaching to %s/%s: %s", k->o.ns, k->o.pod, text);
    end(k, &err);
}

/* ---- after the upgrade ---- */

static void take_bytes(struct kube_attach *k, int channel, struct str bytes)
{
    if (!bytes.len || k->over)
        return;
    if (channel == KUBE_STDOUT || channel == KUBE_STDERR)
        k->on->output(k->ctx, (enum kube_attach_stream)channel, bytes);
    else if (channel == ERROR_CHANNEL)
        buf_add(&k->status, bytes.ptr, bytes.len);
}

static void become_open(struct kube_attach *k)
{
    k->open = true;
    timer_set(loop_env(k->o.loop), &k->timer, PING_MS);
    k->on->opened(k->ctx);
}

/* ---- over a WebSocket: the first byte of a message is its channel ---- */

static void on_message(void *ctx, struct str bytes, bool first, bool last)
{
    struct kube_attach *k = ctx;
    (void)last;
    if (first)
        k->channel = NO_CHANNEL;
    if (k->channel == NO_CHANNEL && bytes.len) {
        k->channel = (unsigned char)*bytes.ptr;
        bytes = (struct str){ bytes.ptr + 1, bytes.len - 1 };
    }
    take_bytes(k, k->channel, bytes);
}

static void on_frame(void *ctx, struct str frame)
{
    struct kube_attach *k = ctx;
    conn_write(k->conn, frame);
}

static void on_goodbye(void *ctx)
{
    struct kube_attach *k = ctx;
    end_with(k, ERR_UNAVAILABLE, k->status.len ? buf_text(&k->status) : "the streams have ended");
}

/* ---- over SPDY: one stream per channel ---- */

static void on_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct kube_attach *k = ctx;
    (void)headers;
    spdy_reset(k->spdy, id, SPDY_REFUSED_STREAM);
}

static void on_replied(void *ctx, uint32_t id)
{
    struct kube_attach *k = ctx;
    (void)id;
    if (++k->replies == CHANNELS && !k->over)
        become_open(k);
}

static void on_stream_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct kube_attach *k = ctx;
    for (int i = 0; i < CHANNELS; i++)
        if (k->streams[i] == id)
            take_bytes(k, i, bytes);
    if (last && id == k->streams[ERROR_CHANNEL])
        on_goodbye(k);
}

static void on_stream_reset(void *ctx, uint32_t id)
{
    (void)id;
    on_goodbye(ctx);
}

static void on_stream_frame(void *ctx, struct str first, struct str second)
{
    struct kube_attach *k = ctx;
    conn_send(k->conn, first);
    conn_write(k->conn, second);
}

/* In kubectl's order: servers wait for the error stream first. */
static void open_streams(struct kube_attach *k)
{
    static const struct spdy_handlers handlers = {
        on_opened, on_stream_data, on_stream_reset, on_stream_frame, on_replied
    };
    static const struct {
        int channel;
        const char *name;
    } order[CHANNELS] = { { ERROR_CHANNEL, "error" },
        { STDIN_CHANNEL, "stdin" },
        { KUBE_STDOUT, "stdout" },
        { KUBE_STDERR, "stderr" } };
    k->spdy = spdy_new_client(&handlers, k);
    for (size_t i = 0; i < CHANNELS; i++)
        k->streams[order[i].channel] = spdy_open(k->spdy,
            (struct http_headers){
                &(struct http_header){ STR("streamtype"), str_of(order[i].name) }, 1 });
}

static void take_frames(struct kube_attach *k, struct str bytes)
{
    struct error err = { 0 };
    if (spdy_feed(k->spdy, bytes, &err))
        return;
    if (err.code == ERR_CANCELLED)
        on_goodbye(k);
    else
        end_with(k, err.code, err.text);
}

static void on_timer(void *ctx)
{
    struct kube_attach *k = ctx;
    if (!k->open) {
        end_with(k, ERR_TIMEOUT, "the API server does not answer");
        return;
    }
    /* A ping keeps the connection through proxies open while the container is silent. */
    if (k->spdy) {
        spdy_ping(k->spdy);
    } else {
        websocket_add_masked_ping(&k->head);
        conn_write(k->conn, buf_str(&k->head));
        buf_reset(&k->head);
    }
    timer_set(loop_env(k->o.loop), &k->timer, PING_MS);
}

/* ---- the upgrade ---- */

static void connect_again(struct kube_attach *k);

/* The response refuses the upgrade. */
static void refused(struct kube_attach *k, struct str line, struct str body)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool forbidden = str_starts(line, STR("HTTP/1.1 403"));
    if (!k->is_spdy) {
        connect_again(k);
        return;
    }
    end_with(k,
        forbidden ? ERR_FORBIDDEN : ERR_UNAVAILABLE,
        arena_printf(&a,
            "%.*s; %.*s",
            (int)line.len,
            line.ptr,
            (int)(body.len < 300 ? body.len : 300),
            body.ptr));
}

/* False if the head is incomplete. */
static bool take_head(struct kube_attach *k, struct str *bytes)
{
    size_t had = k->head.len;
    buf_add(&k->head, bytes->ptr, bytes->len);
    if (buf_overflowed(&k->head)) {
        end_with(k, ERR_TOO_LARGE, "the answer's head is too long");
        return false;
    }
    const char *stop = memmem(k->head.ptr, k->head.len, "\r\n\r\n", 4);
    if (!stop)
        return false;
    size_t length = (size_t)(stop - k->head.ptr) + 4;
    struct str rest = { k->head.ptr, length }, line = str_cut(&rest, '\r');
    if (!str_starts(line, STR("HTTP/1.1 101"))) {
        refused(k, line, (struct str){ k->head.ptr + length, k->head.len - length });
        return false;
    }
    size_t taken = length - had;
    *bytes = (struct str){ bytes->ptr + taken, bytes->len - taken };
    buf_reset(&k->head);
    return true;
}

static void on_data(void *ctx, struct str bytes)
{
    struct kube_attach *k = ctx;
    static const struct websocket_handlers handlers = { on_message, on_frame, on_goodbye };
    if (k->over)
        return;
    if (!k->upgraded) {
        if (!take_head(k, &bytes))
            return;
        k->upgraded = true;
        if (k->is_spdy) {
            open_streams(k);
        } else {
            websocket_init_client(&k->socket, &handlers, k);
            become_open(k);
        }
    }
    if (k->over || !bytes.len)
        return;
    if (k->spdy)
        take_frames(k, bytes);
    else
        websocket_feed(&k->socket, bytes);
}

static void on_room(void *ctx)
{
    (void)ctx;
}

/* Some proxies close the connection on an unknown upgrade. */
static void on_closed(void *ctx, const struct error *err)
{
    struct kube_attach *k = ctx;
    if (!k->upgraded && !k->is_spdy && !k->over)
        connect_again(k);
    else
        end_with(k, ERR_UNAVAILABLE, err ? err->text : "the connection was closed");
}

static void ask(struct kube_attach *k)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct env *env = loop_env(k->o.loop);
    uint64_t key[2] = { env->random(env->ctx), env->random(env->ctx) };
    const char *authorization = credentials_header(k->credentials);
    struct buf b = BUF_INIT(HEAD_BYTES_MAX);
    buf_printf(&b,
        "%s %s/api/v1/namespaces/%s/pods/%s/attach?container=%s&stdin=true&stdout=true&"
        "stderr=true HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n",
        k->is_spdy ? "POST" : "GET",
        k->server.path,
        k->o.ns,
        k->o.pod,
        k->o.container,
        url_authority(&a, &k->server));
    if (k->is_spdy)
        buf_add_text(&b,
            "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n"
            "Content-Length: 0\r\n");
    else
        buf_printf(&b,
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
            "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n",
            base64_encode(&a, (struct str){ (const char *)key, sizeof(key) }));
    if (authorization)
        buf_printf(&b, "Authorization: %s\r\n", authorization);
    for (const char *const *l = k->o.config->impersonate; l && *l; l++)
        buf_printf(&b, "%s\r\n", *l);
    buf_add_text(&b, "\r\n");
    conn_write(k->conn, buf_str(&b));
    buf_done(&b);
}

static void on_dialled(void *ctx, struct conn *conn, const struct error *err)
{
    static const struct conn_handlers handlers = {
        .data = on_data, .room = on_room, .closed = on_closed
    };
    struct kube_attach *k = ctx;
    k->dial = NULL;
    if (err) {
        end_with(k, ERR_UNAVAILABLE, err->text);
        return;
    }
    k->conn = conn;
    conn_set_handlers(conn, &handlers, k);
    ask(k);
}

static void connect_now(struct kube_attach *k)
{
    k->way.tls = credentials_tls(k->credentials);
    timer_set(loop_env(k->o.loop), &k->timer, OPEN_MS);
    k->dial = dial_start(k->o.loop, &k->way, on_dialled, k);
}

/* The WebSocket was refused. */
static void connect_again(struct kube_attach *k)
{
    conn_free(take(k->conn));
    k->is_spdy = true;
    buf_reset(&k->head);
    connect_now(k);
}

static void dial(void *ctx)
{
    struct kube_attach *k = ctx;
    if (k->asked || k->over || !credentials_ready(k->credentials))
        return;
    const struct error *err = credentials_error(k->credentials);
    if (err) {
        end(k, err);
        return;
    }
    k->asked = true;
    timer_init(&k->timer, on_timer, k);
    connect_now(k);
}

/* ---- interface ---- */

static void start(void *ctx)
{
    struct kube_attach *k = ctx;
    struct error err = { 0 };
    const char *proxy = k->o.config->proxy_url;
    if (!url_parse(&k->arena, k->o.config->server, &k->server, &err) ||
        (proxy && !dial_read_proxy(&k->arena, proxy, NULL, &k->way, &err))) {
        end(k, &err);
        return;
    }
    k->way.host = k->server.host;
    k->way.port = (uint16_t)url_port(&k->server);
    k->way.alpn = "\x08http/1.1";
    k->way.connect_ms = k->way.tls_ms = CONNECT_MS;
    k->way.fallback_ms = 250;
    dial(k);
}

struct kube_attach *kube_attach_new(const struct kube_attach_options *options,
    const struct kube_attach_handlers *handlers, void *ctx)
{
    struct kube_attach *k = mem_new_of(struct kube_attach);
    const struct env *env = loop_env(options->loop);
    *k = (struct kube_attach){ .o = *options, .on = handlers, .ctx = ctx, .channel = NO_CHANNEL };
    arena_init(&k->arena, ARENA_LIMIT_DEFAULT);
    k->o.ns = arena_strdup(&k->arena, options->ns);
    k->o.pod = arena_strdup(&k->arena, options->pod);
    k->o.container = arena_strdup(&k->arena, options->container);
    buf_init(&k->head, HEAD_BYTES_MAX);
    buf_init(&k->status, HEAD_BYTES_MAX);
    k->credentials = credentials_new(options->loop, env, options->config, dial, k);
    timer_init(&k->timer, start, k);
    timer_set(env, &k->timer, 0);
    return k;
}

static void write_stream(struct kube_attach *k, struct str bytes)
{
    while (bytes.len) {
        size_t count = bytes.len < SPDY_FRAME_BYTES ? bytes.len : SPDY_FRAME_BYTES;
        spdy_send(k->spdy, k->streams[STDIN_CHANNEL], (struct str){ bytes.ptr, count }, false);
        bytes = (struct str){ bytes.ptr + count, bytes.len - count };
    }
}

void kube_attach_write(struct kube_attach *k, struct str bytes)
{
    const struct env *env = loop_env(k->o.loop);
    struct buf frame = BUF_INIT(bytes.len + 64);
    const char channel = STDIN_CHANNEL;
    if (!k->open || k->over)
        return;
    if (k->spdy) {
        write_stream(k, bytes);
        return;
    }
    websocket_add_masked(
        &frame, (uint32_t)env->random(env->ctx), (struct str){ &channel, 1 }, bytes);
    conn_write(k->conn, buf_str(&frame));
    buf_done(&frame);
}

size_t kube_attach_pending(const struct kube_attach *k)
{
    return k->conn ? conn_pending(k->conn) : 0;
}

void kube_attach_free(struct kube_attach *k)
{
    if (!k)
        return;
    timer_stop(loop_env(k->o.loop), &k->timer);
    if (k->dial)
        dial_cancel(k->dial);
    if (k->conn)
        conn_free(k->conn);
    credentials_free(k->credentials);
    tls_context_unref(k->way.proxy_tls);
    spdy_free(k->spdy);
    buf_done(&k->head);
    buf_done(&k->status);
    arena_done(&k->arena);
    free(k);
}
