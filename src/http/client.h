#pragma once

/* The HTTP client: calls on pooled connections, with HTTP/2 if the server supports it and HTTP/1.1
 * otherwise, over TCP or TLS, directly or through a CONNECT proxy.
 *
 *   open ──> head ──> data* ──> end            or, when it fails early,    open ──> end
 *
 * After end() or http_call_cancel() there are no more callbacks, and the call is freed. A call may
 * be cancelled from any callback. No callback runs inside http_call_open() itself. The whole
 * request is copied, including its body. The arguments of a callback are valid only during that
 * callback.
 *
 * A stream is never buffered as a whole. http_call_pause() stops updating the window (HTTP/2) or
 * reading the socket (HTTP/1.1). Data already in flight, at most one window, is kept. It is
 * delivered during the pause only if the connection ends after a complete response. For a streamed
 * request body, more() reports that there is room, and http_call_write() reports when there is
 * none.
 *
 * The client retries these calls on another connection: requests that the server certainly has not
 * processed (a refused stream, a stream above the last one of a GOAWAY, a connection that ended
 * before any byte of the request was sent); and GET and HEAD on a reused connection that ended
 * before any byte of the response (the server's keep-alive timed out: RFC 9110, 9.2.2). There are
 * at most three retries, because the idle connections of a restarting server all end at once. Other
 * failures are reported, with a flag that says whether the request may have reached the server. A
 * call with a streamed body is retried only before the first more().
 *
 * Redirects are not followed. Cookies, caches and credentials are left to the caller. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct http_call;
struct http_client;
struct loop;
struct sockaddr;
struct tls_context;

enum http_version {
    HTTP_ANY,    /* TLS: as negotiated by ALPN; without TLS: HTTP/1.1 */
    HTTP_1_ONLY, /* never offers HTTP/2 */
    HTTP_2_ONLY, /* TLS: ALPN must select h2; without TLS: prior knowledge */
};

/* Zero means the default at the end of each comment. */
struct http_client_options {
    struct http_limits limits;  /* of response heads */
    size_t connections_max;     /* per origin; further calls wait, up to wait_ms; 64 */
    size_t window_bytes;        /* HTTP/2: in flight per stream; 256 KiB */
    int64_t idle_connection_ms; /* a connection without calls is closed after this; 90 s */
    int64_t ping_idle_ms;       /* HTTP/2 with calls: ping after this time without a byte; 30 s */
    int64_t ping_timeout_ms;    /* … and without a byte for this time after it: dead; 15 s */
    int64_t fallback_ms;        /* the next address is tried in parallel after this; 250 ms */
};

/* The destination of a call. Calls with equal origins share connections. */
struct http_origin {
    const char *host; /* name or address, IPv6 without brackets */
    uint16_t port;
    struct tls_context *tls; /* NULL: plain TCP */
    enum http_version version;
    /* "http://user:pw@proxy:3128" or "https://…": uses CONNECT for TLS and plain TCP; NULL: direct.
     * proxy_tls verifies an https:// proxy; NULL: the system's roots. */
    const char *proxy_url;
    struct tls_context *proxy_tls;
    /* Called for every address of the host. Only allowed addresses are dialled, exactly as passed.
     * NULL: all are allowed. Not called with a proxy, because the proxy resolves the host. */
    bool (*address_allowed)(void *ctx, const struct sockaddr *address);
    void *address_ctx;
};

/* Zero means the default at the end of each comment; HTTP_NO_TIMEOUT means none. */
#define HTTP_NO_TIMEOUT INT64_MAX
struct http_timeouts {
    int64_t wait_ms;       /* until connected, over all addresses; 60 s */
    int64_t connect_ms;    /* for resolving, then for each address; 10 s */
    int64_t tls_ms;        /* for a handshake, or a proxy's response; 10 s */
    int64_t first_byte_ms; /* from the end (or last progress) of the request to the head; 60 s */
    int64_t idle_ms;       /* between parts of the body, while not paused; none */
    int64_t total_ms;      /* from open to end; none */
};

struct http_request {
    const struct http_origin *origin;
    const char *method;
    const char *path;      /* "/a%20b?c=d": encoded, with the query */
    const char *authority; /* Host; NULL: host and port of the origin */
    struct http_headers headers;
    struct str body;        /* the whole body; or */
    bool body_streamed;     /* … by http_call_write() and http_call_finish() */
    int64_t body_bytes;     /* length of a streamed body; 0: unknown */
    bool gunzip;            /* request gzip and deliver the unpacked body */
    int64_t body_bytes_max; /* a longer (unpacked) response is an error; 0: no limit */
    struct http_timeouts timeouts;
};

struct http_response {
    int status; /* 200 and up: 1xx are skipped */
    struct http_headers headers;
    int64_t body_bytes; /* Content-Length; -1: unknown; with gunzip: of the packed body */
    bool http2;
    const struct sockaddr *address; /* of the peer: server or proxy */
};

struct http_call_handlers {
    void (*head)(void *ctx, const struct http_response *response);
    void (*data)(void *ctx, struct str bytes);
    /* err is NULL if the response is complete, whatever its status. sent: a byte of the request may
     * have reached the server. With an error, the result is then unknown. */
    void (*end)(void *ctx, const struct error *err, bool sent);
    /* Streamed request body: ready for writing. First called when connected. NULL if the body is
     * not streamed. */
    void (*more)(void *ctx);
};

struct http_client *http_client_new(
    struct loop *loop, const struct http_client_options *options) must_check;
/* Active calls get no end(). Must not be called from a callback of a call. */
void http_client_free(struct http_client *c);
/* Closes idle connections at once, and the others after their last call. For a change of
 * credentials or CA, which must not use an old connection. */
void http_client_retire(struct http_client *c);

struct http_call *http_call_open(struct http_client *c, const struct http_request *request,
    const struct http_call_handlers *handlers, void *ctx) must_check;
/* There will be no end(). Resets the stream, or closes the HTTP/1.1 connection. */
void http_call_cancel(struct http_call *call);
/* No data(), and no end() of a complete response, until resumed. May be called at any time,
 * repeatedly. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);
/* Takes all bytes. False means: wait for more() before writing again. Call only after the first
 * more(). */
bool http_call_write(struct http_call *call, struct str bytes);
void http_call_finish(struct http_call *call);

struct http_client_stats {
    size_t calls;          /* active and waiting calls */
    size_t connections;    /* established */
    size_t dialling;       /* dials in progress */
    uint64_t dialled;      /* dials in total */
    uint64_t retried;      /* times that a call was moved to another connection */
    size_t buffered_bytes; /* held for all calls, in both directions; without kernel and TLS */
};
struct http_client_stats http_client_stats(const struct http_client *c);
