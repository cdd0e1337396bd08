#pragma once

/* The HTTP server: HTTP/1.1 and HTTP/2 (ALPN, or prior knowledge without TLS) on one listener.
 *
 * For each request the server calls the handler with the head. The handler takes the exchange by
 * setting its callbacks, and responds at once or hours later:
 *
 *   request ──> data* ──> end     the request's body, if any. end is also called without a
 *                                 body, but not after the response is finished
 *   respond, write*, finish       the response, which may begin and end before the body does
 *   closed                        once, always and last: then the exchange is freed
 *
 * closed() says whether the whole response was sent (err NULL), or the client left, was too slow,
 * or the server was freed. So "the client left" is closed() before http_exchange_finish(). A
 * response that cannot be completed is cut with http_exchange_abort(), so that the client sees that
 * it is incomplete.
 *
 * An HTTP/1.1 exchange can switch to another protocol: after http_exchange_upgrade(), data() and
 * write carry its bytes until finish, abort, or closed() when the client has left. Then only the
 * limits of the connection apply; timeouts are up to the caller.
 *
 * Both directions have back-pressure: http_exchange_pause() holds the client back;
 * http_exchange_write() reports when there is no room, and drained() when there is room again. */

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
    struct str target; /* as received: path and query */
    struct str path;   /* up to '?', still encoded */
    struct str query;  /* after '?'; .ptr NULL: no '?' */
    struct str authority;
    struct http_headers headers;
    int64_t body_bytes; /* 0: no body; -1: unknown */
    bool http2;
    bool tls;
    const struct sockaddr *remote;
    const struct tls_peer *peer; /* NULL: the client sent no certificate */
};

struct http_exchange_handlers {
    void (*data)(void *ctx, struct str bytes); /* NULL: the body is discarded */
    void (*end)(void *ctx);                    /* may be NULL */
    void (*drained)(void *ctx);                /* may be NULL */
    void (*closed)(void *ctx, const struct error *err);
};

/* Zero means the default at the end of each comment. */
struct http_server_options {
    const char *address; /* numeric; NULL: all, v6 and v4 */
    uint16_t port;       /* 0: any free port; see http_server_port() */
    struct tls_context *tls;
    /* head is valid only during the call. If the handler does not take the exchange, the response
     * is 500. */
    void (*request)(
        void *ctx, struct http_exchange *exchange, const struct http_request_head *head);
    void *ctx;
    struct http_limits limits;
    /* 1024. Beyond this, the oldest connection without a request is closed. If all have sent
     * requests, new connections wait in the kernel's queue. */
    size_t connections_max;
    size_t streams_max;      /* HTTP/2, per connection; 128 */
    size_t window_bytes;     /* HTTP/2, per stream; 64 KiB */
    int64_t body_bytes_max;  /* of a request; longer requests get 413 or are cut; 64 MiB */
    int64_t header_ms;       /* TLS handshake, then from the first byte to the whole head; 10 s */
    int64_t idle_ms;         /* for a connection without a request; 120 s */
    int64_t stall_ms;        /* without progress of a request body or a response; 60 s */
    int64_t ping_idle_ms;    /* as in http/client.h; 30 s */
    int64_t ping_timeout_ms; /* 15 s */
};

struct http_server *http_server_new(
    struct loop *loop, const struct http_server_options *options, struct error *err) must_check;
/* Cuts everything at once; each exchange gets its closed(). Must not be called from a callback of
 * an exchange. */
void http_server_free(struct http_server *s);
uint16_t http_server_port(const struct http_server *s);
/* For rotated certificates: new connections use this context. */
void http_server_set_tls(struct http_server *s, struct tls_context *tls);
/* Accepts no new connections and no new requests; active exchanges continue. drained() is called
 * after the last one, or after grace_ms (then the rest is cut), but never from inside this call. */
void http_server_drain(
    struct http_server *s, int64_t grace_ms, void (*drained)(void *ctx), void *ctx);
/* Number of open connections and exchanges. */
size_t http_server_connections(const struct http_server *s);
size_t http_server_exchanges(const struct http_server *s);

/* Takes the exchange; call only from inside request(). */
void http_exchange_take(
    struct http_exchange *x, const struct http_exchange_handlers *handlers, void *ctx);
/* body_bytes -1: unknown. With 0 nothing may be written, but finish is still required. */
void http_exchange_respond(
    struct http_exchange *x, int status, struct http_headers headers, int64_t body_bytes);
/* Sends 101, for an HTTP/1.1 request whose end() was called; then write as after respond. */
void http_exchange_upgrade(
    struct http_exchange *x, struct str protocol, struct http_headers headers);
/* Takes all bytes. False means: wait for drained() before writing again. */
bool http_exchange_write(struct http_exchange *x, struct str bytes);
/* The response is complete. Its length must be as announced; otherwise call abort. */
void http_exchange_finish(struct http_exchange *x);
/* respond, write and finish in one call; content_type NULL: none. Without a previous
 * http_exchange_take() no handlers are needed. */
void http_exchange_reply(
    struct http_exchange *x, int status, const char *content_type, struct str body);
/* Cuts the answer. closed() follows. */
/* The connection accepts no more requests after this one. */
void http_exchange_close_after(struct http_exchange *x);
void http_exchange_abort(struct http_exchange *x);
void http_exchange_pause(struct http_exchange *x);
void http_exchange_resume(struct http_exchange *x);
