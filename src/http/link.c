#include "http/link.h"

#include <stdlib.h>

#include "http/loop.h"

#define LINK_OUT_HIGH ((size_t)32 << 10) /* stop producing above this */
#define LINK_ROUNDS_PER_TURN 8
#define LINK_LINGER_MS 2000 /* for the client to read our last bytes */
#define LINK_FLUSH_MS 10000

struct link {
    const struct env *env;
    struct conn *conn;
    struct wire *wire;
    const struct link_handlers *on;
    void *ctx;
    struct timer turn;
    struct timer ping;
    struct timer linger;
    int64_t ping_idle_ms, ping_timeout_ms;
    int64_t ping_sent_ms; /* 0: none in flight */
    int64_t read_ms, moved_ms;
    uint64_t seen_written;
    bool shut;
    bool input_over;
};

static void kick(void *ctx)
{
    struct link *l = ctx;
    if (!timer_is_set(&l->turn))
        timer_set(l->env, &l->turn, 0);
}

static void gone(struct link *l, const struct error *err)
{
    static const struct error cut = { .code = ERR_UNAVAILABLE, .text = "the connection ended" };
    l->wire->written = conn_written(l->conn);
    wire_abort(l->wire, err ?: &cut);
    l->on->gone(l->ctx, err);
}

/* ---- callbacks of the connection ---- */

static void conn_data(void *ctx, struct str bytes)
{
    struct link *l = ctx;
    l->read_ms = l->moved_ms = env_mono_ms(l->env);
    wire_feed(l->wire, bytes);
    kick(l);
}

static void conn_ended(void *ctx, const struct error *err)
{
    struct link *l = ctx;
    l->input_over = true;
    if (err) {
        gone(l, err);
        return;
    }
    wire_eof(l->wire);
    kick(l);
}

static const struct conn_handlers conn_handlers = {
    .data = conn_data,
    .room = kick,
    .closed = conn_ended,
};

/* ---- callbacks of the wire ---- */

static void wire_request(void *ctx, struct stream *s, const struct wire_head *head)
{
    struct link *l = ctx;
    l->on->request(l->ctx, s, head);
}

static void wire_set_reading(void *ctx, bool on)
{
    struct link *l = ctx;
    conn_set_reading(l->conn, on);
}

static const struct wire_owner wire_owner = {
    .request = wire_request,
    .kick = kick,
    .set_reading = wire_set_reading,
};

/* ---- turns ---- */

/* True if the wire has no more output for now. */
static bool produce(struct link *l)
{
    bool all = false;
    while (!all && conn_pending(l->conn) < LINK_OUT_HIGH) {
        l->wire->queued = conn_queued(l->conn);
        struct str bytes = wire_output(l->wire);
        all = bytes.len == 0;
        if (!all)
            conn_send(l->conn, bytes);
    }
    conn_flush(l->conn);
    l->wire->written = conn_written(l->conn);
    return all;
}

/* All output is sent. A client is done. A server waits a little for the peer to read it and close,
 * because closing with unread input resets the connection (RFC 9112, 9.6). */
static void finish(struct link *l)
{
    if (conn_pending(l->conn) > 0) {
        if (!timer_is_set(&l->linger))
            timer_set(l->env, &l->linger, LINK_FLUSH_MS);
        return;
    }
    if (!l->wire->config.is_server || l->input_over) {
        gone(l, NULL);
        return;
    }
    if (!l->shut) {
        l->shut = true;
        conn_set_reading(l->conn, true);
        conn_shutdown(l->conn);
        timer_set(l->env, &l->linger, LINK_LINGER_MS);
    }
}

static void linger_over(void *ctx)
{
    gone(ctx, NULL);
}

static void turn(void *ctx)
{
    struct link *l = ctx;
    bool all = false;
    l->wire->written = conn_written(l->conn);
    if (!l->shut)
        wire_step(l->wire);
    for (int i = 0; i < LINK_ROUNDS_PER_TURN && !all && !l->shut; i++) {
        all = produce(l);
        if (conn_pending(l->conn) > 0)
            all = true; /* room() will be called */
    }
    if (conn_written(l->conn) != l->seen_written) {
        l->seen_written = conn_written(l->conn);
        l->moved_ms = env_mono_ms(l->env);
    }
    if (!all && !l->shut)
        kick(l);
    if (l->ping_idle_ms && l->wire->stream_count && !timer_is_set(&l->ping))
        timer_set(l->env, &l->ping, l->ping_idle_ms);
    if (l->wire->failed) {
        struct error err = *l->wire->err;
        gone(l, &err);
    } else if (l->wire->finished) {
        finish(l);
    } else {
        l->on->changed(l->ctx);
    }
}

/* Any byte proves that the peer is alive, not only the reply to the ping. */
static void ping_due(void *ctx)
{
    struct link *l = ctx;
    int64_t now_ms = env_mono_ms(l->env);
    int64_t silent_ms = now_ms - l->read_ms;
    if (l->ping_sent_ms && l->read_ms >= l->ping_sent_ms)
        l->ping_sent_ms = 0;
    if (l->wire->stream_count == 0 || l->wire->finished)
        return;
    if (l->ping_sent_ms && now_ms - l->ping_sent_ms >= l->ping_timeout_ms) {
        link_fail(l, ERR_UNAVAILABLE, "the other side answers no ping: the connection is dead");
    } else if (l->ping_sent_ms) {
        timer_set(l->env, &l->ping, l->ping_timeout_ms - (now_ms - l->ping_sent_ms));
    } else if (silent_ms < l->ping_idle_ms) {
        timer_set(l->env, &l->ping, l->ping_idle_ms - silent_ms);
    } else {
        l->ping_sent_ms = now_ms;
        wire_ping(l->wire);
        timer_set(l->env, &l->ping, l->ping_timeout_ms);
    }
}

struct link *link_new(struct loop *loop, struct conn *conn, const struct link_options *options,
    const struct link_handlers *handlers, void *ctx)
{
    struct link *l = mem_new_of(struct link);
    l->env = loop_env(loop);
    l->conn = conn;
    l->on = handlers;
    l->ctx = ctx;
    l->read_ms = l->moved_ms = env_mono_ms(l->env);
    l->ping_idle_ms = options->h2 ? options->ping_idle_ms : 0;
    l->ping_timeout_ms = options->ping_timeout_ms;
    timer_init(&l->turn, turn, l);
    timer_init(&l->ping, ping_due, l);
    timer_init(&l->linger, linger_over, l);
    conn_set_handlers(conn, &conn_handlers, l);
    l->wire = (options->h2 ? wire_h2_new : wire_h1_new)(l->env, &options->wire, &wire_owner, l);
    kick(l);
    return l;
}

void link_free(struct link *l)
{
    if (!l)
        return;
    timer_stop(l->env, &l->turn);
    timer_stop(l->env, &l->ping);
    timer_stop(l->env, &l->linger);
    wire_free(l->wire);
    conn_free(l->conn);
    free(l);
}

struct wire *link_wire(struct link *l)
{
    return l->wire;
}

struct conn *link_conn(struct link *l)
{
    return l->conn;
}

void link_feed(struct link *l, struct str bytes)
{
    conn_data(l, bytes);
}

void link_fail(struct link *l, enum error_code code, const char *text)
{
    wire_fail(l->wire, code, "%s", text);
}

int64_t link_active_ms(const struct link *l)
{
    return l->moved_ms;
}
