#include "proxy/relay.h"

#include "base/buf.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/follow.h"
#include "http/loop.h"

/* Limit of a request that may be repeated: more than one read, so that a server's earlier close is
 * seen first. */
#define COPY_MAX ((size_t)160 << 10)
#define REPEATS_MAX 2
#define IDLE_MAX_MS 60000 /* for a client without a server */
/* After that the next request gets a new connection: servers close idle ones, and a request that
 * crosses such a close is lost. No known server closes sooner. */
#define REUSE_MAX_MS 1000

struct side {
    struct conn *conn;
    bool ended; /* its direction is closed */
};

struct relay {
    struct loop *loop;
    const struct relay_owner *owner;
    void *ctx;
    struct side client, server;
    const struct side *last; /* which side sent last, and when */
    int64_t last_ms;
    /* both NULL: a plain pipe */
    struct follow *requests, *answers;
    struct buf held; /* from the client, deferred */
    struct buf copy; /* of the current request, until its answer starts */
    uint64_t mark;   /* bytes sent on the server's connection before it */
    int repeats;
    bool repeat;   /* send the copy to the next server */
    bool answered; /* a byte of the answer was received */
    bool used;     /* an exchange was completed on it */
    bool leave;
    struct timer idle;
    struct dial *dial;
    struct dial_options dial_options;
    struct side *draining; /* the other side failed; this one still gets the rest of its data */
    bool whole;            /* both closed properly */
    struct error err;
    struct relay_target at; /* address of the server */
    size_t next, count;
    struct relay_target targets[RELAY_TARGETS_MAX];
};

static void settle(struct relay *r);
static void start_dial(struct relay *r);

static void end(struct relay *r, const struct error *err)
{
    r->whole = !err;
    r->owner->ended(r->ctx, r, err);
}

/* ---- tracking messages ---- */

static bool is_pipe(const struct relay *r)
{
    return !r->requests;
}

static bool is_between(const struct relay *r)
{
    return !is_pipe(r) && follow_state(r->requests) == FOLLOW_IDLE;
}

static void become_pipe(struct relay *r)
{
    follow_free(take(r->answers));
    follow_free(take(r->requests));
    buf_done(&r->copy);
}

static void drop_server(struct relay *r)
{
    conn_free(take(r->server.conn));
    r->server = (struct side){ 0 };
    r->leave = false;
}

static void keep_copy(struct relay *r, struct str bytes)
{
    if (!r->answered)
        buf_add(&r->copy, bytes.ptr, bytes.len);
    if (r->copy.overflowed && r->copy.ptr) {
        buf_done(&r->copy);
        r->copy.overflowed = true;
    }
}

/* Whether the current request, which its server will not answer, may be sent to another one. If the
 * server had closed before the request, nothing of it was acknowledged; after a reset that is
 * unknown. */
static bool is_repeatable(const struct relay *r, bool reset)
{
    if (is_pipe(r) || is_between(r) || r->answered || buf_overflowed(&r->copy) ||
        r->repeats == REPEATS_MAX)
        return false;
    return !follow_may_act(r->requests) || (!reset && conn_confirmed(r->server.conn) <= r->mark);
}

static void look_whether_exchanged(struct relay *r)
{
    if (is_pipe(r) || follow_state(r->requests) != FOLLOW_ENDED ||
        follow_state(r->answers) != FOLLOW_ENDED)
        return;
    if (follow_is_last(r->requests) || follow_is_last(r->answers)) {
        become_pipe(r);
        return;
    }
    /* llama-server closes the connection after a stream without announcing it. */
    if (follow_is_chunked(r->answers))
        drop_server(r);
    follow_next(r->requests);
    follow_next(r->answers);
    buf_done(&r->copy);
    r->answered = false;
    r->repeats = 0;
    r->used = true;
}

/* ---- bytes ---- */

/* Empty lines before a request that is not the first have no meaning (RFC 9112, 2.2). */
static size_t blank_lines(struct str bytes)
{
    size_t count = 0;
    while (count < bytes.len && (bytes.ptr[count] == '\r' || bytes.ptr[count] == '\n'))
        count++;
    return count;
}

/* From the client to the server, one request at most: returns the number of bytes. */
static size_t pass_request(struct relay *r, struct str bytes)
{
    size_t blank = is_between(r) && r->used ? blank_lines(bytes) : 0;
    struct str part = { bytes.ptr + blank, bytes.len - blank };
    if (part.len == 0)
        return blank;
    if (is_between(r))
        r->mark = conn_queued(r->server.conn);
    if (!is_pipe(r)) {
        part.len = follow_feed(r->requests, part);
        keep_copy(r, part);
        if (follow_state(r->requests) == FOLLOW_LOST)
            become_pipe(r);
    }
    conn_write(r->server.conn, part);
    look_whether_exchanged(r);
    return blank + part.len;
}

static void client_data(void *ctx, struct str bytes)
{
    struct relay *r = ctx;
    int64_t now_ms = env_mono_ms(loop_env(r->loop));
    if (is_between(r) && r->used && r->server.conn && now_ms - r->last_ms > REUSE_MAX_MS)
        drop_server(r);
    r->last = &r->client;
    r->last_ms = now_ms;
    bool at_once =
        r->server.conn && !r->held.len && (is_pipe(r) || follow_state(r->requests) != FOLLOW_ENDED);
    size_t count = at_once ? pass_request(r, bytes) : 0;
    buf_add(&r->held, bytes.ptr + count, bytes.len - count);
    settle(r);
}

static void server_data(void *ctx, struct str bytes)
{
    struct relay *r = ctx;
    r->last = &r->server;
    r->last_ms = env_mono_ms(loop_env(r->loop));
    conn_write(r->client.conn, bytes);
    if (!is_pipe(r)) {
        bool awaited = !is_between(r) && follow_state(r->answers) != FOLLOW_ENDED;
        bool all = awaited && follow_feed(r->answers, bytes) == bytes.len;
        r->answered = true;
        buf_done(&r->copy);
        if (!all || follow_state(r->answers) == FOLLOW_LOST)
            become_pipe(r); /* more than the answer, or not HTTP */
        look_whether_exchanged(r);
    }
    settle(r);
}

/* ---- next step ---- */

static void look_whether_over(struct relay *r)
{
    if (r->draining && !conn_pending(r->draining->conn))
        end(r, &r->err);
    else if (r->client.ended && r->server.ended && !conn_pending(r->client.conn) &&
             !conn_pending(r->server.conn))
        end(r, NULL);
}

static void pass_held(struct relay *r)
{
    bool more = true;
    while (more && r->server.conn && r->held.len) {
        more = is_pipe(r) || follow_state(r->requests) != FOLLOW_ENDED;
        if (more)
            buf_eat(&r->held, pass_request(r, buf_str(&r->held)));
    }
    if (r->held.len == 0)
        buf_done(&r->held);
}

static void find_targets(struct relay *r)
{
    r->next = 0;
    r->count = r->owner->targets(r->ctx, conn_address(r->client.conn), r->targets);
    bool same = r->count > 1 && memcmp(&r->targets[0], &r->at, sizeof(r->at)) == 0;
    if (r->repeat && same) { /* try the one that failed second */
        r->targets[0] = r->targets[1];
        r->targets[1] = r->at;
    }
}

/* Does what is possible now. Must be the last call in a callback, because it may end the relay. */
static void settle(struct relay *r)
{
    const struct env *env = loop_env(r->loop);
    if (r->draining) {
        look_whether_over(r);
        return;
    }
    if (r->leave && r->server.conn && is_between(r))
        drop_server(r);
    pass_held(r);
    bool wanted = !r->used || r->held.len || r->repeat;
    bool idle = !r->server.conn && !r->dial && !wanted;
    if (!idle || conn_pending(r->client.conn))
        timer_stop(env, &r->idle);
    else if (!timer_is_set(&r->idle))
        timer_set(env, &r->idle, IDLE_MAX_MS);
    conn_set_reading(r->client.conn,
        !r->held.len && (idle || (r->server.conn && !conn_pending(r->server.conn))));
    if (r->server.conn) {
        conn_set_reading(r->server.conn, !conn_pending(r->client.conn));
        look_whether_over(r);
    } else if (r->client.ended && !conn_pending(r->client.conn)) {
        end(r, NULL);
    } else if (wanted && !r->dial) {
        find_targets(r);
        start_dial(r);
    }
}

static void idle_too_long(void *ctx)
{
    end(ctx, NULL);
}

static void side_room(void *ctx)
{
    settle(ctx);
}

/* ---- closing ---- */

static void client_closed(void *ctx, const struct error *err)
{
    struct relay *r = ctx;
    r->client.ended = true;
    if (err)
        r->err = *err;
    if (err && (!r->server.conn || r->draining)) { /* there is no side left to send to */
        end(r, &r->err);
        return;
    }
    if (r->server.conn)
        become_pipe(r); /* no further request will come */
    if (err) {
        r->draining = &r->server;
        conn_set_reading(r->server.conn, false);
    } else if (r->server.conn) {
        conn_shutdown(r->server.conn);
    }
    settle(r);
}

static void server_closed(void *ctx, const struct error *err)
{
    struct relay *r = ctx;
    r->server.ended = true;
    if (err)
        r->err = *err;
    bool others = r->owner->targets(r->ctx, conn_address(r->client.conn), NULL) > 0;
    r->repeat = others && is_repeatable(r, err);
    if (r->repeat || (others && is_between(r) && r->used)) {
        r->repeats += r->repeat;
        drop_server(r);
    } else if (err && r->draining) {
        end(r, &r->err);
        return;
    } else if (err) {
        become_pipe(r);
        r->draining = &r->client;
        conn_set_reading(r->client.conn, false);
    } else {
        become_pipe(r);
        conn_shutdown(r->client.conn);
    }
    settle(r);
}

static const struct conn_handlers client_handlers = {
    .data = client_data, .room = side_room, .closed = client_closed
};
static const struct conn_handlers server_handlers = {
    .data = server_data, .room = side_room, .closed = server_closed
};

/* ---- the server's side ---- */

static void dialled(void *ctx, struct conn *conn, const struct error *err)
{
    struct relay *r = ctx;
    r->dial = NULL;
    if (!conn) {
        r->err = *err;
        start_dial(r);
        return;
    }
    r->server = (struct side){ .conn = conn };
    conn_set_handlers(conn, &server_handlers, r);
    if (r->repeat) {
        r->repeat = false;
        r->mark = 0;
        conn_write(conn, buf_str(&r->copy));
    }
    settle(r);
}

static void start_dial(struct relay *r)
{
    if (r->next == r->count) {
        if (!r->err.code)
            fail(&r->err, ERR_UNAVAILABLE, "no server is there");
        end(r, &r->err);
        return;
    }
    r->at = r->targets[r->next++];
    r->dial_options.host = r->at.host;
    r->dial_options.port = r->at.port;
    r->dial = dial_start(r->loop, &r->dial_options, dialled, r);
}

const struct relay_target *relay_server(const struct relay *r)
{
    return r->dial || r->server.conn ? &r->at : NULL;
}

void relay_leave(struct relay *r, bool leave)
{
    r->leave = leave && relay_server(r);
    if (r->leave)
        settle(r);
}

bool relay_busy(const struct relay *r, const char *host, int64_t quiet_ms)
{
    if (!relay_server(r) || !text_eq(relay_server(r)->host, host))
        return false;
    if (!is_pipe(r) && (r->used || !is_between(r)))
        return r->dial || !is_between(r);
    return r->dial || r->last == &r->client ||
           env_mono_ms(loop_env(r->loop)) - r->last_ms < quiet_ms;
}

/* ---- life ---- */

struct relay *relay_new(
    struct loop *loop, int fd, int64_t connect_ms, const struct relay_owner *owner, void *ctx)
{
    struct relay *r = mem_new_of(struct relay);
    r->loop = loop;
    r->last_ms = env_mono_ms(loop_env(loop));
    r->owner = owner;
    r->ctx = ctx;
    r->requests = follow_requests_new();
    r->answers = follow_answers_new(r->requests);
    buf_init(&r->held, SIZE_MAX / 2); /* one read */
    buf_init(&r->copy, COPY_MAX);
    timer_init(&r->idle, idle_too_long, r);
    r->dial_options = (struct dial_options){
        .connect_ms = connect_ms, .tls_ms = connect_ms, .fallback_ms = connect_ms
    };
    r->client.conn = conn_new(loop, fd, &client_handlers, r);
    settle(r);
    return r;
}

void relay_free(struct relay *r)
{
    void (*let_go)(struct conn * c) = r->whole ? conn_free : conn_abort;
    timer_stop(loop_env(r->loop), &r->idle);
    if (r->dial)
        dial_cancel(r->dial);
    let_go(r->client.conn);
    let_go(r->server.conn);
    become_pipe(r);
    buf_done(&r->held);
    free(r);
}
