#pragma once

/* The HTTP server: HTTP/1.1 and HTTP/2 (ALPN, or prior knowledge without TLS) on one listener.
 *
 * For each request the handler is called with its head; it takes the exchange by setting handlers
 * and answers then or hours later:
 *
 *   request ──> data* ──> end              the request's body, if any; end even without one, but
 * not after an answer that was finished before respond, write*, finish             the answer,
 * which may begin and end before the body does closed                                 once, last,
 * always: the exchange is gone after it
 *
 * closed() says whether the answer went out whole (err NULL) or the client went away, was too slow,
 * or the server was freed. So "the client left" is closed() before http_exchange_finish().
 * An answer that was begun and cannot be completed is cut with http_exchange_abort(), so that the
 * client sees that it is not whole.
 *
 * An HTTP/1.1 exchange can become something else: after http_exchange_upgrade() data() and write
 * carry bytes of that protocol, until finish, abort, or closed() when the client went away. No
 * limits but those of the connection hold then: how long to be patient is up to the one above.
 *
 * Both directions have back-pressure: http_exchange_pause() holds the client back;
 * http_exchange_write() says when there is no room, and drained() when there is again. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct http_exchange;
struct http_server;
struct loop;
struct sockaddr;
struct tls_context;
struct tls_peer;

struct http_request_head {
    struct str method;
    struct str target; /* as it came: path and query */
    struct str path;   /* up to '?', still encoded */
    struct str query;  /* after it; .ptr NULL: no '?' */
    struct str authority;
    struct http_headers headers;
    int64_t body_bytes; /* 0: none; -1: not known */
    bool http2;
    bool tls;
    const struct sockaddr *remote;
    const struct tls_peer *peer; /* NULL: no certificate was shown */
};

struct http_exchange_handlers {
    void (*data)(void *ctx, struct str bytes); /* NULL: the body is thrown away */
    void (*end)(void *ctx);                    /* NULL: not interested */
    void (*drained)(void *ctx);                /* NULL: not interested */
    void (*closed)(void *ctx, const struct error *err);
};

/* Zero means the default that is beside. */
struct http_server_options {
    const char *address; /* numeric; NULL: all, v6 and v4 */
    uint16_t port;       /* 0: any free one; see http_server_port() */
    struct tls_context *tls;
    /* Everything in head is valid during the call. Not taking the exchange answers 500. */
    void (*request)(
        void *ctx, struct http_exchange *exchange, const struct http_request_head *head);
    void *ctx;
    struct http_limits limits;
    /* 1024. Beyond it the oldest that has not asked anything is closed; if all have, more wait in
     * the kernel's queue. */
    size_t connections_max;
    size_t streams_max;      /* HTTP/2, per connection; 128 */
    size_t window_bytes;     /* HTTP/2, per stream; 64 KiB */
    int64_t body_bytes_max;  /* of a request; 64 MiB; longer ones are answered 413 or cut */
    int64_t header_ms;       /* TLS handshake, then first byte to the whole head; 10 s */
    int64_t idle_ms;         /* a connection without a request; 120 s */
    int64_t stall_ms;        /* no byte of a request body arrives, or of an answer is taken; 60 s */
    int64_t ping_idle_ms;    /* as in http/client.h; 30 s */
    int64_t ping_timeout_ms; /* 15 s */
};

struct http_server *http_server_new(
    struct loop *loop, const struct http_server_options *options, struct error *err) must_check;
/* Cuts everything at once; each exchange gets its closed(). Not from a callback of an exchange. */
void http_server_free(struct http_server *s);
uint16_t http_server_port(const struct http_server *s);
/* For rotated certificates: connections from now on get this one. */
void http_server_set_tls(struct http_server *s, struct tls_context *tls);
/* No new connections and no new requests; running ones go on. drained() comes when the last is
 * through or grace_ms passed (then the rest is cut), and never from inside this call. */
void http_server_drain(
    struct http_server *s, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
/* Connections and exchanges that are open. */
size_t http_server_connections(const struct http_server *s);
size_t http_server_exchanges(const struct http_server *s);

/* Takes the exchange; from inside request() only. */
void http_exchange_take(
    struct http_exchange *x, const struct http_exchange_handlers *handlers, void *ctx);
/* body_bytes -1: not known beforehand. With 0 nothing may be written, but finish is still due. */
void http_exchange_respond(
    struct http_exchange *x, int status, struct http_headers headers, int64_t body_bytes);
/* 101, to a request of HTTP/1.1 whose end() has come; write as after a respond. */
void http_exchange_upgrade(
    struct http_exchange *x, struct str protocol, struct http_headers headers);
/* Takes all bytes; false says: enough for now, wait for drained(). */
bool http_exchange_write(struct http_exchange *x, struct str bytes);
/* All was written, exactly as much as was announced: if that cannot be, abort. */
void http_exchange_finish(struct http_exchange *x);
/* respond, write and finish in one; content_type NULL: none. Without http_exchange_take() before it
 * no handler is needed at all. */
void http_exchange_reply(
    struct http_exchange *x, int status, const char *content_type, struct str body);
/* Cuts the answer. closed() follows. */
/* The connection takes no request after this one. */
void http_exchange_close_after(struct http_exchange *x);
void http_exchange_abort(struct http_exchange *x);
void http_exchange_pause(struct http_exchange *x);
void http_exchange_resume(struct http_exchange *x);
