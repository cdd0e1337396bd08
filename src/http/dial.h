#pragma once

/* From a name to an open connection:
 *
 *   resolve ─> check addresses ─> connect, one by one and overlapping ─> [TLS to the proxy ─>]
 *   [CONNECT ─>] [TLS] ─> done(conn)
 *
 * done() is called once, never from inside dial_start(), with a connection that the caller owns, or
 * with err. */

#include "base/error.h"
#include "base/str.h"

struct addrinfo;
struct arena;
struct conn;
struct dial;
struct loop;
struct sockaddr;
struct tls_context;

struct dial_options {
    const char *host;
    uint16_t port;
    struct tls_context *tls; /* NULL: plain */
    const char *alpn;
    /* With a proxy, the proxy is dialled, and allowed() is not called. */
    const char *proxy_host;
    uint16_t proxy_port;
    struct tls_context *proxy_tls;
    const char *proxy_authorization; /* value of the header; NULL: none */
    bool (*allowed)(void *ctx, const struct sockaddr *address);
    void *allowed_ctx;
    int64_t connect_ms, tls_ms, fallback_ms;
};

/* Fills the proxy's fields from its URL: "http://user:pw@proxy:3128" or "https://…". tls verifies
 * an https:// proxy; NULL: the system's roots. The caller must unref ret->proxy_tls. */
bool dial_read_proxy(struct arena *a, const char *url, struct tls_context *tls,
    struct dial_options *ret, struct error *err) must_check;
/* The pointers in options must stay valid until done() or cancel. */
struct dial *dial_start(struct loop *loop, const struct dial_options *options,
    void (*done)(void *ctx, struct conn *conn, const struct error *err), void *ctx) must_check;
void dial_cancel(struct dial *d);
/* Continues with these addresses instead of resolving the host. */
void dial_found(struct dial *d, const struct addrinfo *list);
