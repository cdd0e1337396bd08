#include "kube/attach.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/loop.h"
#include "http/websocket.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define HEAD_BYTES_MAX ((size_t)64 << 10)
#define CONNECT_MS 10000
#define OPEN_MS 30000
#define PING_MS 30000
#define NO_CHANNEL (-1)
enum { STDIN_CHANNEL = 0, ERROR_CHANNEL = 3 };

struct kube_attach {
    struct kube_attach_options o;
    const struct kube_attach_handlers *on;
    void *ctx;
    struct arena arena;
    struct url server;
    struct credentials *credentials;
    struct dial *dial;
    struct conn *conn;
    struct timer timer; /* starts; then patience, then pings */
    struct websocket socket;
    struct buf head, status; /* of the answer; of the channel for errors */
    int channel;             /* of the message that comes */
    bool asked, open, over;
};

/* ---- ends ---- */

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
    if (!bytes.len || k->over)
        return;
    if (k->channel == KUBE_STDOUT || k->channel == KUBE_STDERR)
        k->on->output(k->ctx, (enum kube_attach_stream)k->channel, bytes);
    else if (k->channel == ERROR_CHANNEL)
        buf_add(&k->status, bytes.ptr, bytes.len);
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

static void on_timer(void *ctx)
{
    struct kube_attach *k = ctx;
    if (!k->open) {
        end_with(k, ERR_TIMEOUT, "the API server does not answer");
        return;
    }
    /* A silent server keeps the path through proxies open with this. */
    websocket_add_masked_ping(&k->head);
    conn_write(k->conn, buf_str(&k->head));
    buf_reset(&k->head);
    timer_set(loop_env(k->o.loop), &k->timer, PING_MS);
}

/* ---- the upgrade ---- */

/* False: not all of it is there. */
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
        cleanup(arena_done) struct arena a = ARENA_INIT;
        bool forbidden = str_starts(line, STR("HTTP/1.1 403"));
        end_with(k,
            forbidden ? ERR_FORBIDDEN : ERR_UNAVAILABLE,
            arena_printf(&a,
                "%.*s; %.*s",
                (int)line.len,
                line.ptr,
                (int)(k->head.len - length < 300 ? k->head.len - length : 300),
                k->head.ptr + length));
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
    if (!k->open) {
        if (!take_head(k, &bytes))
            return;
        k->open = true;
        websocket_init_client(&k->socket, &handlers, k);
        timer_set(loop_env(k->o.loop), &k->timer, PING_MS);
        k->on->opened(k->ctx);
    }
    if (!k->over)
        websocket_feed(&k->socket, bytes);
}

static void on_room(void *ctx)
{
    (void)ctx;
}

static void on_closed(void *ctx, const struct error *err)
{
    end_with(ctx, ERR_UNAVAILABLE, err ? err->text : "the connection was closed");
}

static void ask(struct kube_attach *k)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct env *env = loop_env(k->o.loop);
    uint64_t key[2] = { env->random(env->ctx), env->random(env->ctx) };
    const char *authorization = credentials_header(k->credentials);
    struct buf b = BUF_INIT(HEAD_BYTES_MAX);
    buf_printf(&b,
        "GET %s/api/v1/namespaces/%s/pods/%s/attach?container=%s&stdin=true&stdout=true&"
        "stderr=true HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n"
        "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n",
        k->server.path,
        k->o.ns,
        k->o.pod,
        k->o.container,
        url_authority(&a, &k->server),
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
    timer_set(loop_env(k->o.loop), &k->timer, OPEN_MS);
    k->dial = dial_start(k->o.loop,
        &(struct dial_options){
            .host = k->server.host,
            .port = (uint16_t)url_port(&k->server),
            .tls = credentials_tls(k->credentials),
            .alpn = "\x08http/1.1",
            .connect_ms = CONNECT_MS,
            .tls_ms = CONNECT_MS,
            .fallback_ms = 250,
        },
        on_dialled,
        k);
}

/* ---- the face ---- */

static void start(void *ctx)
{
    struct kube_attach *k = ctx;
    struct error err = { 0 };
    if (!url_parse(&k->arena, k->o.config->server, &k->server, &err)) {
        end(k, &err);
        return;
    }
    if (k->o.config->proxy_url) {
        end_with(k, ERR_UNSUPPORTED, "this version does not attach through a proxy");
        return;
    }
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

void kube_attach_write(struct kube_attach *k, struct str bytes)
{
    const struct env *env = loop_env(k->o.loop);
    struct buf frame = BUF_INIT(bytes.len + 64);
    const char channel = STDIN_CHANNEL;
    if (!k->open || k->over)
        return;
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
    buf_done(&k->head);
    buf_done(&k->status);
    arena_done(&k->arena);
    free(k);
}
