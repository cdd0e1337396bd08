#include "cli/serve/watch_socket.h"

#include <stdlib.h>

#include "cli/session/session.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/websocket.h"

#define GOODBYE_MS 10000 /* for a client to read our close message */
#define EVENTS_BYTES_MAX ((size_t)256 << 20)

struct watch_socket {
    struct loop *loop;
    struct http_exchange *http;
    struct websocket socket;
    struct timer goodbye;
    bool finished;
};

/* ---- output ---- */

bool watch_socket_write(struct watch_socket *w, struct str events)
{
    cleanup(buf_done) struct buf frames = BUF_INIT(EVENTS_BYTES_MAX);
    if (w->finished)
        return true;
    while (events.len) {
        const char *end = memchr(events.ptr, '\n', events.len);
        assert(end);
        size_t length = (size_t)(end + 1 - events.ptr);
        websocket_add_text(&frames, (struct str){ events.ptr, length });
        events = (struct str){ events.ptr + length, events.len - length };
    }
    assert(!buf_overflowed(&frames));
    return http_exchange_write(w->http, buf_str(&frames));
}

static void end_exchange(struct watch_socket *w)
{
    w->finished = true;
    http_exchange_finish(w->http);
    timer_set(loop_env(w->loop), &w->goodbye, GOODBYE_MS);
}

void watch_socket_finish(struct watch_socket *w)
{
    cleanup(buf_done) struct buf frame = BUF_INIT(WEBSOCKET_CONTROL_MAX);
    if (w->finished)
        return;
    websocket_add_close(&frame, WEBSOCKET_NORMAL);
    http_exchange_write(w->http, buf_str(&frame));
    end_exchange(w);
}

static void goodbye_over(void *ctx)
{
    struct watch_socket *w = ctx;
    http_exchange_abort(w->http);
}

/* ---- input ---- */

static void socket_data(void *ctx, struct str bytes, bool first, bool last)
{
    (void)ctx, (void)bytes, (void)first, (void)last;
}

/* Stops reading from a client that sends pings but does not read: answers would pile up. */
static void socket_send(void *ctx, struct str frame)
{
    struct watch_socket *w = ctx;
    if (!w->finished && !http_exchange_write(w->http, frame))
        http_exchange_pause(w->http);
}

static void socket_closed(void *ctx)
{
    struct watch_socket *w = ctx;
    if (!w->finished)
        end_exchange(w);
}

void watch_socket_feed(struct watch_socket *w, struct str bytes)
{
    websocket_feed(&w->socket, bytes);
}

void watch_socket_drained(struct watch_socket *w)
{
    http_exchange_resume(w->http);
}

/* ---- start ---- */

/* Refuses as kube-apiserver does: no origin, or several protocols to choose from. */
static bool refuse(struct http_exchange *http, const struct session_offer *offer)
{
    bool bad_version = !text_eq(offer->version, "13"), no_key = text_empty(offer->key);
    bool one_protocol = !strchr(offer->protocols, ',') || !strchr(offer->protocols + 1, ',');
    struct http_header version = { STR("sec-websocket-version"), STR("13") };
    struct str text = no_key        ? STR("mismatch challenge/response")
                      : bad_version ? STR("missing or bad WebSocket Version")
                                    : STR("");
    if (!no_key && !bad_version && offer->origin && one_protocol)
        return false;
    http_exchange_close_after(http);
    http_exchange_respond(http,
        no_key || bad_version || offer->origin ? 400 : 403,
        (struct http_headers){ &version, bad_version && !no_key },
        (int64_t)text.len);
    http_exchange_write(http, text);
    http_exchange_finish(http);
    return true;
}

struct watch_socket *watch_socket_new(struct loop *loop, struct http_exchange *http,
    const struct session_offer *offer, struct arena *a)
{
    static const struct websocket_handlers handlers = { socket_data, socket_send, socket_closed };
    if (refuse(http, offer))
        return NULL;
    struct watch_socket *w = mem_new_of(struct watch_socket);
    *w = (struct watch_socket){ .loop = loop, .http = http };
    websocket_init(&w->socket, &handlers, w);
    timer_init(&w->goodbye, goodbye_over, w);
    struct str protocol = str_of(offer->protocols);
    str_cut(&protocol, ','); /* each has a leading comma */
    protocol = str_trim(protocol);
    struct http_header list[2] = { { STR("sec-websocket-accept"),
                                       str_of(websocket_accept(a, str_of(offer->key))) },
        { STR("sec-websocket-protocol"), protocol } };
    http_exchange_upgrade(
        http, STR("websocket"), (struct http_headers){ list, protocol.len ? 2 : 1 });
    return w;
}

void watch_socket_free(struct watch_socket *w)
{
    if (!w)
        return;
    timer_stop(loop_env(w->loop), &w->goodbye);
    free(w);
}
