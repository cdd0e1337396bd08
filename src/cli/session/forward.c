/* Port-forward: carries connections to a pod's ports. With SPDY each connection has a pair of
 * streams, for data and for errors, which the client opens. With WebSocket each port of the request
 * has a pair of channels. */

#include <stdlib.h>

#include "base/buf.h"
#include "cli/session/session.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/loop.h"
#include "http/spdy.h"

#define WAYS_MAX 256                  /* limit of one session */
#define HELD_MAX ((size_t)64 << 10)   /* unread by a pod: then the client is paused, too */
#define HELD_LIMIT ((size_t)16 << 20) /* data read in one turn is added to HELD_MAX */
#define DIAL_MS 30000
#define REQUEST_BYTES 32 /* length of the id that the two streams of a connection share */

/* One connection. */
struct way {
    struct forward *forward;
    struct way *next;
    uint32_t data_id, error_id; /* 0 with SPDY: not opened yet */
    char request[REQUEST_BYTES];
    uint16_t port;
    struct dial *dial;
    struct dial_options dial_options;
    char host[64];
    struct conn *conn;
    struct buf early; /* received before the connection was open */
    bool client_ended, reset;
};

struct forward {
    struct session *session;
    struct arena arena;
    struct pod_session_request request;
    struct spdy *spdy; /* NULL: channels */
    struct way *ways;
    size_t count;
    bool full;   /* the client does not read what was sent */
    int channel; /* of the current message; -1: unknown yet */
};

/* ---- to the client ---- */

static void send_frame(void *ctx, struct str first, struct str second)
{
    struct forward *f = ctx;
    f->full = !session_send(f->session, first, second);
}

static void send_on(struct way *w, uint32_t id, struct str bytes, bool last)
{
    struct forward *f = w->forward;
    char channel = (char)id;
    if (f->spdy)
        spdy_send(f->spdy, id, bytes, last);
    else if (bytes.len)
        send_frame(f, (struct str){ &channel, 1 }, bytes);
}

/* ---- connections ---- */

static struct way *way_new(struct forward *f, uint16_t port)
{
    struct way *w = mem_new_of(struct way);
    *w = (struct way){ .forward = f, .next = f->ways, .port = port };
    buf_init(&w->early, HELD_LIMIT);
    f->ways = w;
    f->count++;
    return w;
}

static void way_free(struct way *w)
{
    struct forward *f = w->forward;
    struct way **link = &f->ways;
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    f->count--;
    if (w->dial)
        dial_cancel(w->dial);
    if (w->conn)
        conn_free(w->conn);
    buf_done(&w->early);
    free(w);
}

static size_t held_by(const struct way *w)
{
    return w->conn ? conn_pending(w->conn) : w->early.len;
}

/* A connection that does not read blocks all: neither protocol can pause a single one. */
static void update_reading(struct forward *f)
{
    bool room = true;
    for (struct way *w = f->ways; w; w = w->next)
        room = room && held_by(w) < HELD_MAX;
    session_set_reading(f->session, room);
}

/* why: the error for the client, or NULL. */
static void way_end(struct way *w, const char *why)
{
    struct forward *f = w->forward;
    if (!w->reset)
        send_on(w, w->data_id, STR(""), true);
    send_on(w, w->error_id, str_of(why ? why : ""), true);
    way_free(w);
    update_reading(f);
    if (!f->spdy && !f->count)
        session_finish(f->session, WEBSOCKET_NORMAL);
}

static void way_fail(struct way *w, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    way_end(w,
        arena_printf(&a,
            "error forwarding port %d to pod %s, uid : %s",
            w->port,
            w->forward->request.pod,
            err->text));
}

static void pod_data(void *ctx, struct str bytes)
{
    struct way *w = ctx;
    struct forward *f = w->forward;
    session_touch(f->session);
    send_on(w, w->data_id, bytes, false);
    for (struct way *each = f->ways; f->full && each; each = each->next)
        if (each->conn)
            conn_set_reading(each->conn, false);
}

static void pod_room(void *ctx)
{
    update_reading(((struct way *)ctx)->forward);
}

/* A broken connection is reported as reset, so that a partial answer is not taken for a complete
 * one. It is not reported as a forwarding error, because those end kubectl. */
static void pod_closed(void *ctx, const struct error *err)
{
    struct way *w = ctx;
    w->reset = err != NULL;
    if (err && w->forward->spdy)
        spdy_reset(w->forward->spdy, w->data_id, SPDY_CANCEL);
    way_end(w, NULL);
}

static const struct conn_handlers pod_handlers = {
    .data = pod_data, .room = pod_room, .closed = pod_closed
};

static void dialled(void *ctx, struct conn *conn, const struct error *err)
{
    struct way *w = ctx;
    w->dial = NULL;
    if (!conn) {
        way_fail(w, err);
        return;
    }
    w->conn = conn;
    conn_set_handlers(conn, &pod_handlers, w);
    conn_set_reading(conn, !w->forward->full);
    conn_write(conn, buf_str(&w->early));
    buf_done(&w->early);
    if (w->client_ended)
        conn_shutdown(conn);
    update_reading(w->forward);
}

static void way_start(struct way *w)
{
    struct forward *f = w->forward;
    const struct session_host *host = session_host(f->session);
    struct error err;
    /* Looked up each time: the pod may be deleted and its address reused. */
    const char *address = host->source->address(host->source->self, &f->request, &err);
    if (!address) {
        way_fail(w, &err);
        return;
    }
    snprintf(w->host, sizeof(w->host), "%s", address);
    w->dial_options = (struct dial_options){ .host = w->host,
        .port = w->port,
        .connect_ms = DIAL_MS,
        .tls_ms = DIAL_MS,
        .fallback_ms = DIAL_MS };
    w->dial = dial_start(host->loop, &w->dial_options, dialled, w);
}

/* ---- from the client ---- */

static void way_data(struct way *w, struct str bytes, bool last)
{
    if (w->client_ended)
        return;
    session_touch(w->forward->session);
    if (w->conn)
        conn_write(w->conn, bytes);
    else
        buf_add(&w->early, bytes.ptr, bytes.len);
    w->client_ended = last;
    if (last && w->conn)
        conn_shutdown(w->conn);
    if (held_by(w) >= HELD_MAX)
        session_set_reading(w->forward->session, false);
}

static struct way *way_of(struct forward *f, uint32_t data_id)
{
    struct way *w = f->ways;
    while (w && w->data_id != data_id)
        w = w->next;
    return w;
}

static void stream_opened(void *ctx, uint32_t id, struct http_headers headers)
{
    struct forward *f = ctx;
    struct str type = http_header_find(headers, "streamtype");
    struct str request = http_header_find(headers, "requestid");
    bool is_data = str_eq(type, STR("data"));
    int64_t port;
    struct way *w = f->ways;
    if (!id || (!is_data && !str_eq(type, STR("error"))) || !request.len ||
        request.len >= REQUEST_BYTES || !str_to_int(http_header_find(headers, "port"), &port) ||
        port < 1 || port > UINT16_MAX) {
        spdy_reset(f->spdy, id, SPDY_PROTOCOL_ERROR);
        return;
    }
    while (w && !(w->port == port && str_eq(str_of(w->request), request) &&
                    !(is_data ? w->data_id : w->error_id)))
        w = w->next;
    if (!w && f->count == WAYS_MAX) {
        spdy_reset(f->spdy, id, SPDY_REFUSED_STREAM);
        return;
    }
    spdy_reply(f->spdy, id);
    if (!w) {
        w = way_new(f, (uint16_t)port);
        memcpy(w->request, request.ptr, request.len);
    }
    *(is_data ? &w->data_id : &w->error_id) = id;
    if (w->data_id && w->error_id)
        way_start(w);
}

static void stream_data(void *ctx, uint32_t id, struct str bytes, bool last)
{
    struct way *w = id ? way_of(ctx, id) : NULL;
    if (w)
        way_data(w, bytes, last);
}

/* A reset of the data stream: the client wants no more data, but waits for the final status. */
static void stream_reset(void *ctx, uint32_t id)
{
    struct way *w = id ? way_of(ctx, id) : NULL;
    if (!w)
        return;
    w->reset = true;
    way_end(w, NULL);
}

static const struct spdy_handlers spdy_handlers = {
    .opened = stream_opened, .data = stream_data, .reset = stream_reset, .send = send_frame
};

static void forward_data(void *body, struct str bytes, bool first, bool last)
{
    (void)last;
    struct forward *f = body;
    struct error err;
    if (f->spdy) {
        if (!spdy_feed(f->spdy, bytes, &err))
            session_finish(f->session,
                err.code == ERR_CANCELLED ? WEBSOCKET_NORMAL : WEBSOCKET_PROTOCOL_ERROR);
        return;
    }
    if (first)
        f->channel = -1;
    if (f->channel < 0 && bytes.len) {
        f->channel = (unsigned char)*bytes.ptr;
        bytes = (struct str){ bytes.ptr + 1, bytes.len - 1 };
    }
    struct way *w = f->channel >= 0 ? way_of(f, (uint32_t)f->channel) : NULL;
    if (w)
        way_data(w, bytes, false);
}

static void forward_drained(void *body)
{
    struct forward *f = body;
    f->full = false;
    for (struct way *w = f->ways; w; w = w->next)
        if (w->conn)
            conn_set_reading(w->conn, true);
}

static void forward_ping(void *body)
{
    struct forward *f = body;
    spdy_ping(f->spdy);
}

/* ---- life ---- */

static void forward_close(void *body)
{
    struct forward *f = body;
    while (f->ways)
        way_free(f->ways);
    spdy_free(f->spdy);
    arena_done(&f->arena);
    free(f);
}

/* Channels need ports that are listed in the request; the messages are the kubelet's. */
static bool check_ports(const struct pod_session_request *r, struct error *err)
{
    if (!r->port_count)
        return fail(err, ERR_INVALID, "query parameter \"port\" is required");
    for (size_t i = 0; i < r->port_count; i++)
        if (!r->ports[i])
            return fail(err, ERR_INVALID, "port \"0\" must be > 0");
    return true;
}

static bool forward_open(
    struct session *s, const struct pod_session_request *request, struct error *err)
{
    const struct pod_session_source *source = session_host(s)->source;
    if (!source->address(source->self, request, err) ||
        (!session_has_spdy(s) && !check_ports(request, err)))
        return false;
    struct forward *f = mem_new_of(struct forward);
    *f = (struct forward){ .session = s, .request = *request, .channel = -1 };
    arena_init(&f->arena, ARENA_LIMIT_DEFAULT);
    f->request.ns = arena_strdup(&f->arena, request->ns);
    f->request.pod = arena_strdup(&f->arena, request->pod);
    f->request.uid = arena_strdup(&f->arena, request->uid);
    if (session_has_spdy(s))
        f->spdy = spdy_new(&spdy_handlers, f);
    session_set_body(s, f);
    return true;
}

/* Each channel starts with the number of its port. */
static void forward_begin(void *body)
{
    struct forward *f = body;
    for (size_t i = 0; !f->spdy && i < f->request.port_count; i++) {
        uint16_t port = f->request.ports[i];
        char number[2] = { (char)(port & 0xff), (char)(port >> 8) };
        struct way *w = way_new(f, port);
        w->data_id = (uint32_t)(2 * i);
        w->error_id = w->data_id + 1;
        send_on(w, w->data_id, (struct str){ number, 2 }, false);
        send_on(w, w->error_id, (struct str){ number, 2 }, false);
    }
    for (struct way *w = f->ways, *next; w; w = next) {
        next = w->next;
        way_start(w);
    }
}

const struct session_body session_forward = {
    forward_open, forward_begin, forward_data, forward_drained, forward_ping, forward_close
};
