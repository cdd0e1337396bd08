#pragma once

/* The HTTP client: calls on pooled connections, HTTP/2 where the other side speaks it, HTTP/1.1
 * otherwise, over TCP or TLS, directly or through a CONNECT proxy.
 *
 *   open ──> head ──> data* ──> end            or, when it fails early,    open ──> end
 *
 * After end() or http_call_cancel() nothing more is called and the call is gone; cancel may come
 * from any callback. No callback runs inside http_call_open() itself. Everything in the request
 * is copied, the body too; what a callback is given is valid during that callback.
 *
 * A stream is never buffered whole. http_call_pause() holds back the window (HTTP/2) or the socket
 * (HTTP/1.1); what had been on the way is kept, at most the window, and handed out despite the
 * pause only if the connection ends after a complete answer. A streamed request body goes the other
 * way: more() says that there is room, http_call_write() says when there is none.
 *
 * What is retried here, on another connection: what the server certainly has not processed (a
 * refused stream, a stream above the last one of a GOAWAY, a connection that ended before a
 * byte of the request had left); and GET and HEAD on a connection that had served others before
 * and ended before a byte of an answer (a keep-alive that timed out over there: RFC 9110, 9.2.2).
 * Up to three times in all: the idle connections of a server that restarts end all at once.
 * Everything else is reported, with whether the request may have reached the server. A body that is
 * streamed is retried only while none of it was asked for.
 *
 * Redirects are not followed, and cookies, caches and credentials are the caller's business. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct http_call;
struct http_client;
struct loop;
struct sockaddr;
struct tls_context;

enum http_version {
    HTTP_ANY,    /* TLS: what ALPN says; without TLS: HTTP/1.1 */
    HTTP_1_ONLY, /* never offers HTTP/2 */
    HTTP_2_ONLY, /* TLS: ALPN must say h2; without TLS: prior knowledge */
};

/* Zero means the default that is beside. */
struct http_client_options {
    struct http_limits limits;  /* of response heads */
    size_t connections_max;     /* per origin; 64. Calls beyond wait for one, up to wait_ms */
    size_t window_bytes;        /* HTTP/2: on the way per stream; 256 KiB */
    int64_t idle_connection_ms; /* a connection without calls is closed after; 90 s */
    int64_t ping_idle_ms;       /* HTTP/2 with calls, no byte for so long: ping; 30 s */
    int64_t ping_timeout_ms;    /* … and no byte for so long after it: dead; 15 s */
    int64_t fallback_ms;        /* a slow address gets company by the next one after; 250 ms */
};

/* Where a call goes. Calls of equal origins share connections. */
struct http_origin {
    const char *host; /* name or address, IPv6 without brackets */
    uint16_t port;
    struct tls_context *tls; /* NULL: plain TCP */
    enum http_version version;
    /* "http://user:pw@proxy:3128" or "https://…": CONNECT through it, for TLS and plain alike;
     * NULL: direct. proxy_tls verifies an https:// proxy; NULL: the system's roots. */
    const char *proxy_url;
    struct tls_context *proxy_tls;
    /* Asked for every address that host resolves to; only those allowed are dialled, and exactly
     * the address that was asked about. NULL: all. With a proxy it is not asked: the proxy
     * resolves. */
    bool (*address_allowed)(void *ctx, const struct sockaddr *address);
    void *address_ctx;
};

/* Zero means the default that is beside; HTTP_NO_TIMEOUT means none. */
#define HTTP_NO_TIMEOUT INT64_MAX
struct http_timeouts {
    int64_t wait_ms;       /* until there is a connection, all addresses tried; 60 s */
    int64_t connect_ms;    /* resolve; then per address; 10 s */
    int64_t tls_ms;        /* a handshake; a proxy's answer; 10 s */
    int64_t first_byte_ms; /* request gone (or its last progress) to the head; 60 s */
    int64_t idle_ms;       /* between pieces of the body, while not paused; none */
    int64_t total_ms;      /* open to end; none */
};

struct http_request {
    const struct http_origin *origin;
    const char *method;
    const char *path;      /* "/a%20b?c=d": encoded, with its query */
    const char *authority; /* Host; NULL: host and port of the origin */
    struct http_headers headers;
    struct str body;        /* whole; or */
    bool body_streamed;     /* … by http_call_write() and http_call_finish() */
    int64_t body_bytes;     /* of a streamed one, if known; 0: not known */
    bool gunzip;            /* ask for gzip and hand out what it unpacks to */
    int64_t body_bytes_max; /* an answer longer than this (unpacked) is an error; 0: no limit */
    struct http_timeouts timeouts;
};

struct http_response {
    int status; /* 200 and up: 1xx are swallowed */
    struct http_headers headers;
    int64_t body_bytes; /* Content-Length; -1: not known; of the packed body with gunzip */
    bool http2;
    const struct sockaddr *address; /* of the peer: server or proxy */
};

struct http_call_handlers {
    void (*head)(void *ctx, const struct http_response *response);
    void (*data)(void *ctx, struct str bytes);
    /* err is NULL when the answer is complete, whatever its status. sent says that a byte of the
     * request may have reached the server: with an error, the outcome is then unknown. */
    void (*end)(void *ctx, const struct error *err, bool sent);
    /* Streamed request body: write now. First called when the connection is there; NULL otherwise.
     */
    void (*more)(void *ctx);
};

struct http_client *http_client_new(
    struct loop *loop, const struct http_client_options *options) must_check;
/* Calls that still run get no end(). Not from a callback of a call. */
void http_client_free(struct http_client *c);
/* Closes connections that carry no call; those that do are closed after their last one. For a
 * change of credentials or CA that must not meet an old connection. */
void http_client_retire(struct http_client *c);

struct http_call *http_call_open(struct http_client *c, const struct http_request *request,
    const struct http_call_handlers *handlers, void *ctx) must_check;
/* No end() comes. The stream is reset, or the HTTP/1.1 connection closed. */
void http_call_cancel(struct http_call *call);
/* No data() and no end() of a complete answer until resumed; may be called at any time, often. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);
/* Takes all bytes; false says: enough, wait for more(). Only after the first more(). */
bool http_call_write(struct http_call *call, struct str bytes);
void http_call_finish(struct http_call *call);

struct http_client_stats {
    size_t calls;          /* open, waiting ones included */
    size_t connections;    /* established */
    size_t dialling;       /* under way */
    uint64_t dialled;      /* attempts ever */
    uint64_t retried;      /* times that a call was given another connection */
    size_t buffered_bytes; /* held in both directions by all calls, kernel and TLS not counted */
};
struct http_client_stats http_client_stats(const struct http_client *c);
