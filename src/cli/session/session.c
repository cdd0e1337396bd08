#include "cli/session/session.h"

#include <stdlib.h>

#include "apiserver/core/answer.h"
#include "http/loop.h"
#include "http/server.h"

#define SESSIONS_MAX 256
#define IDLE_MS ((int64_t)4 * 3600 * 1000) /* the same as a kubelet's streams */
#define GOODBYE_MS 10000                   /* for a client to read our close message */
/* A client that is not read, because the pod does not read its input, may disconnect unnoticed: the
 * client's kernel answers this ping with a reset. */
#define PING_MS 5000

struct session_protocol {
    bool forward; /* for port-forward, or for exec and attach */
    const char *upgrade, *name;
    bool spdy, has_close;
    const struct session_body *body;
};

/* In order of preference. */
static const struct session_protocol protocols[] = {
    { false, "websocket", "v5.channel.k8s.io", false, true, &session_exec },
    { false, "websocket", "v4.channel.k8s.io", false, false, &session_exec },
    { false, "SPDY/3.1", "v4.channel.k8s.io", true, false, &session_exec },
    { true, "websocket", "SPDY/3.1+portforward.k8s.io", true, false, &session_forward },
    { true, "websocket", "v4.channel.k8s.io", false, false, &session_forward },
    { true, "SPDY/3.1", "portforward.k8s.io", true, false, &session_forward },
};

struct session {
    struct session_host *host;
    struct http_exchange *http;
    const struct session_protocol *protocol;
    struct websocket socket;
    void *body;
    struct timer timer; /* for the next ping, or the end after a close */
    int64_t active_ms;
    bool finished;
    bool out_full;                        /* the client does not read what was sent */
    bool answered;                        /* an answer was sent while reading input */
    unsigned holds;                       /* why reading is paused: bits of HOLD_ */
    char pong[2 + WEBSOCKET_CONTROL_MAX]; /* for the last ping, once there is room */
    size_t pong_bytes;
};

enum { HOLD_INPUT = 1, HOLD_ANSWERS = 2 };

static const struct env *env_of(const struct session *s)
{
    return loop_env(s->host->loop);
}

static bool is_websocket(const struct session *s)
{
    return text_eq(s->protocol->upgrade, "websocket");
}

static void hold(struct session *s, unsigned reason, bool on)
{
    s->holds = on ? s->holds | reason : s->holds & ~reason;
    if (s->holds)
        http_exchange_pause(s->http);
    else
        http_exchange_resume(s->http);
}

/* ---- output ---- */

static bool write_out(struct session *s, struct str bytes)
{
    s->answered = true;
    s->out_full = !http_exchange_write(s->http, bytes);
    return !s->out_full;
}

bool session_send(struct session *s, struct str first, struct str second)
{
    cleanup(buf_done) struct buf frame = BUF_INIT((size_t)1 << 20);
    if (s->finished)
        return true;
    if (is_websocket(s)) {
        websocket_add_message(&frame, first, second);
        assert(!buf_overflowed(&frame));
        return write_out(s, buf_str(&frame));
    }
    write_out(s, first);
    return write_out(s, second);
}

static void end_exchange(struct session *s)
{
    s->finished = true;
    http_exchange_finish(s->http);
    timer_set(env_of(s), &s->timer, GOODBYE_MS);
}

void session_finish(struct session *s, enum websocket_code code)
{
    cleanup(buf_done) struct buf frame = BUF_INIT(WEBSOCKET_CONTROL_MAX);
    if (s->finished)
        return;
    websocket_add_close(&frame, code);
    if (is_websocket(s))
        http_exchange_write(s->http, buf_str(&frame));
    end_exchange(s);
}

static void ping(struct session *s)
{
    cleanup(buf_done) struct buf frame = BUF_INIT(WEBSOCKET_CONTROL_MAX);
    websocket_add_ping(&frame);
    if (is_websocket(s))
        write_out(s, buf_str(&frame));
    else
        s->protocol->body->ping(s->body);
}

static void timer_fired(void *ctx)
{
    struct session *s = ctx;
    if (s->finished) {
        http_exchange_abort(s->http);
        return;
    }
    if (env_mono_ms(env_of(s)) - s->active_ms >= IDLE_MS) {
        session_finish(s, WEBSOCKET_GOING_AWAY);
        return;
    }
    if (!s->out_full) /* otherwise unread data is pending, which serves the same purpose */
        ping(s);
    timer_set(env_of(s), &s->timer, PING_MS);
}

void session_touch(struct session *s)
{
    s->active_ms = env_mono_ms(env_of(s));
}

/* ---- input ---- */

/* Stops reading from a client that sends requests but does not read: answers would pile up. */
static void socket_data(void *ctx, struct str bytes, bool first, bool last)
{
    struct session *s = ctx;
    if (s->finished)
        return;
    s->answered = false;
    s->protocol->body->data(s->body, bytes, first, last);
    if (s->answered && s->out_full)
        hold(s, HOLD_ANSWERS, true);
}

/* It is enough to answer the last of several pings (RFC 6455, 5.5.3). */
static void socket_send(void *ctx, struct str frame)
{
    struct session *s = ctx;
    if (s->finished)
        return;
    if (!s->out_full || s->socket.is_closed) {
        write_out(s, frame);
        return;
    }
    memcpy(s->pong, frame.ptr, frame.len);
    s->pong_bytes = frame.len;
}

static void socket_closed(void *ctx)
{
    struct session *s = ctx;
    if (!s->finished)
        end_exchange(s);
}

static const struct websocket_handlers socket_handlers = {
    socket_data, socket_send, socket_closed
};

void session_feed(struct session *s, struct str bytes)
{
    if (is_websocket(s))
        websocket_feed(&s->socket, bytes);
    else
        socket_data(s, bytes, false, false);
}

void session_drained(struct session *s)
{
    if (s->finished)
        return;
    s->out_full = false;
    if (s->pong_bytes)
        write_out(s, (struct str){ s->pong, s->pong_bytes });
    s->pong_bytes = 0;
    hold(s, HOLD_ANSWERS, false);
    s->protocol->body->drained(s->body);
}

void session_set_reading(struct session *s, bool on)
{
    hold(s, HOLD_INPUT, !on);
}

/* ---- start ---- */

struct session_offer session_offer_read(struct arena *a, struct http_headers headers)
{
    struct str upgrade = http_header_find(headers, "upgrade");
    struct str key = http_header_find(headers, "sec-websocket-key");
    struct str version = http_header_find(headers, "sec-websocket-version");
    struct str origin = http_header_find(headers, "origin");
    const char *names = key.ptr ? "sec-websocket-protocol" : "x-stream-protocol-version";
    const char *protocols_text = "";
    if (!upgrade.ptr || !http_header_has_token(headers, "connection", "upgrade"))
        return (struct session_offer){ 0 };
    for (size_t i = 0; i < headers.count; i++) /* the header may occur several times */
        if (str_eq_nocase(headers.list[i].name, str_of(names)))
            protocols_text = arena_printf(a,
                "%s,%.*s",
                protocols_text,
                (int)headers.list[i].value.len,
                headers.list[i].value.ptr);
    return (struct session_offer){ .upgrade = str_dup(a, upgrade),
        .key = key.ptr ? str_dup(a, key) : NULL,
        .version = version.ptr ? str_dup(a, version) : NULL,
        .origin = origin.ptr ? str_dup(a, origin) : NULL,
        .protocols = protocols_text };
}

static bool is_offered(const struct session_offer *offer, const struct session_protocol *p)
{
    struct str rest = str_of(offer->protocols);
    if (!str_eq_nocase(str_of(offer->upgrade), str_of(p->upgrade)) ||
        (text_eq(p->upgrade, "websocket") && (!offer->key || !text_eq(offer->version, "13"))))
        return false;
    while (rest.ptr)
        if (str_eq(str_trim(str_cut(&rest, ',')), str_of(p->name)))
            return true;
    return false;
}

static const struct session_protocol *choose(const struct session_offer *offer,
    const struct pod_session_request *request, struct arena *a, struct api_answer *ret_answer)
{
    const char *names = "";
    for (size_t i = 0; i < lengthof(protocols); i++) {
        const struct session_protocol *p = &protocols[i];
        if (p->forward != (request->kind == POD_PORT_FORWARD))
            continue;
        if (is_offered(offer, p))
            return p;
        names = arena_printf(a, "%s%s%s (%s)", names, *names ? ", " : "", p->name, p->upgrade);
    }
    answer_status(a,
        ret_answer,
        400,
        "BadRequest",
        arena_printf(a, "the client offers no protocol that this server speaks here: %s", names),
        json_none);
    return NULL;
}

static void upgrade(struct session *s, const struct session_offer *offer, struct arena *a)
{
    struct http_header list[2];
    struct str name = str_of(s->protocol->name);
    if (is_websocket(s)) {
        list[0] = (struct http_header){ STR("sec-websocket-accept"),
            str_of(websocket_accept(a, str_of(offer->key))) };
        list[1] = (struct http_header){ STR("sec-websocket-protocol"), name };
    } else {
        list[0] = (struct http_header){ STR("x-stream-protocol-version"), name };
    }
    http_exchange_upgrade(s->http,
        str_of(s->protocol->upgrade),
        (struct http_headers){ list, is_websocket(s) ? 2 : 1 });
}

struct session *session_new(struct session_host *host, struct http_exchange *http,
    const struct session_offer *offer, const struct pod_session_request *request, struct arena *a,
    struct api_answer *ret_answer)
{
    struct error err;
    const struct session_protocol *protocol = choose(offer, request, a, ret_answer);
    if (request->unreachable && !(protocol && protocol->has_close)) {
        answer_status(a,
            ret_answer,
            500,
            "",
            arena_printf(a, "error dialing backend: %s", request->unreachable),
            json_none);
        return NULL;
    }
    if (!protocol)
        return NULL;
    if (host->count >= SESSIONS_MAX) {
        answer_status(a,
            ret_answer,
            429,
            "TooManyRequests",
            "too many sessions in pods are open, please try again later",
            json_none);
        return NULL;
    }
    struct session *s = mem_new_of(struct session);
    *s = (struct session){ .host = host, .http = http, .protocol = protocol };
    host->count++;
    timer_init(&s->timer, timer_fired, s);
    websocket_init(&s->socket, &socket_handlers, s);
    if (!protocol->body->open(s, request, &err)) {
        const char *text = arena_strdup(a, err.text);
        answer_text(ret_answer, err.code == ERR_INVALID ? 400 : 500, text);
        session_free(s);
        return NULL;
    }
    session_touch(s);
    timer_set(env_of(s), &s->timer, PING_MS);
    upgrade(s, offer, a);
    protocol->body->begin(s->body);
    return s;
}

void session_free(struct session *s)
{
    if (!s)
        return;
    if (s->body)
        s->protocol->body->close(s->body);
    timer_stop(env_of(s), &s->timer);
    s->host->count--;
    free(s);
}

/* ---- calls from exec.c and forward.c ---- */

void session_set_body(struct session *s, void *body)
{
    s->body = body;
}

struct session_host *session_host(const struct session *s)
{
    return s->host;
}

bool session_has_spdy(const struct session *s)
{
    return s->protocol->spdy;
}

bool session_has_close(const struct session *s)
{
    return s->protocol->has_close;
}
