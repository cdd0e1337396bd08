#include "proxy/relay.h"

#include "http/conn.h"
#include "http/dial.h"
#include "http/loop.h"

struct side {
    struct relay *relay;
    struct conn *conn;
    struct side *other;
    bool ended; /* nothing more comes from it */
};

struct relay {
    struct loop *loop;
    void (*ended)(void *ctx, struct relay *r, const struct error *err);
    void *ctx;
    struct side client, server;
    const struct side *last; /* who spoke last, and when */
    int64_t last_ms;
    struct dial *dial;
    struct dial_options dial_options;
    struct side *draining; /* the other one broke; this one still takes what that had said */
    bool whole;            /* both ended properly */
    struct error err;
    size_t next, count;
    struct relay_target targets[];
};

static void start_dial(struct relay *r);

static void end(struct relay *r, const struct error *err)
{
    r->whole = !err;
    r->ended(r->ctx, r, err);
}

static void look_whether_over(struct relay *r)
{
    if (r->draining && !conn_pending(r->draining->conn))
        end(r, &r->err);
    else if (r->client.ended && r->server.ended && !conn_pending(r->client.conn) &&
             !conn_pending(r->server.conn))
        end(r, NULL);
}

/* ---- both sides ---- */

static void side_data(void *ctx, struct str bytes)
{
    struct side *s = ctx;
    struct conn *to = s->other->conn;
    s->relay->last = s;
    s->relay->last_ms = env_mono_ms(loop_env(s->relay->loop));
    conn_send(to, bytes);
    conn_flush(to);
    if (conn_pending(to))
        conn_set_reading(s->conn, false);
}

static void side_room(void *ctx)
{
    struct side *s = ctx;
    if (s->relay->server.conn) {
        conn_set_reading(s->other->conn, true);
        look_whether_over(s->relay);
    }
}

static void side_closed(void *ctx, const struct error *err)
{
    struct side *s = ctx;
    struct relay *r = s->relay;
    s->ended = true;
    if (err)
        r->err = *err;
    if (err && (!r->server.conn || r->draining)) { /* nobody is left to hand anything on to */
        end(r, &r->err);
        return;
    }
    if (err) {
        r->draining = s->other;
        conn_set_reading(s->other->conn, false);
    } else {
        conn_shutdown(s->other->conn);
    }
    look_whether_over(r);
}

static const struct conn_handlers handlers = {
    .data = side_data, .room = side_room, .closed = side_closed
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
    r->server = (struct side){ .relay = r, .conn = conn, .other = &r->client };
    conn_set_handlers(conn, &handlers, &r->server);
    conn_set_reading(r->client.conn, true);
}

static void start_dial(struct relay *r)
{
    if (r->next == r->count) {
        end(r, &r->err);
        return;
    }
    const struct relay_target *to = &r->targets[r->next++];
    r->dial_options.host = to->host;
    r->dial_options.port = to->port;
    r->dial = dial_start(r->loop, &r->dial_options, dialled, r);
}

/* ---- life ---- */

struct relay *relay_new(struct loop *loop, int fd, const struct relay_target *targets, size_t count,
    int64_t connect_ms, void (*ended)(void *ctx, struct relay *r, const struct error *err),
    void *ctx)
{
    assert(count > 0);
    struct relay *r = mem_new(sizeof(*r) + count * sizeof(*targets));
    r->loop = loop;
    r->last_ms = env_mono_ms(loop_env(loop));
    r->ended = ended;
    r->ctx = ctx;
    r->count = count;
    memcpy(r->targets, targets, count * sizeof(*targets));
    r->dial_options = (struct dial_options){
        .connect_ms = connect_ms, .tls_ms = connect_ms, .fallback_ms = connect_ms
    };
    r->client = (struct side){ .relay = r, .other = &r->server };
    r->client.conn = conn_new(loop, fd, &handlers, &r->client);
    conn_set_reading(r->client.conn, false);
    start_dial(r);
    return r;
}

bool relay_busy(const struct relay *r, const char *host, int64_t quiet_ms)
{
    if (!text_eq(r->dial_options.host, host))
        return false;
    return r->dial || r->last == &r->client ||
           env_mono_ms(loop_env(r->loop)) - r->last_ms < quiet_ms;
}

void relay_free(struct relay *r)
{
    void (*let_go)(struct conn * c) = r->whole ? conn_free : conn_abort;
    if (r->dial)
        dial_cancel(r->dial);
    let_go(r->client.conn);
    let_go(r->server.conn);
    free(r);
}
