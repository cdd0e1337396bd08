#pragma once

/* A TCP connection with up to two layers of TLS (the second inside a proxy's), as bytes.
 *
 * Sending only queues; conn_flush() gives to the kernel what it takes, and room() says when a queue
 * that it did not take has gone. A caller that produces looks at conn_pending() first, so the queue
 * stays short. A read goes through a buffer on the stack: an idle connection holds none. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "http/tls.h"

struct conn;
struct loop;
struct sockaddr;

struct conn_handlers {
    void (*secured)(void *ctx); /* the handshake of conn_secure() is through */
    void (*data)(void *ctx, struct str bytes);
    void (*room)(void *ctx);
    /* Nothing more comes in. err NULL: the other side ended properly, and what is pending may still
     * be flushed, which can fail and is told then; otherwise the connection is broken. */
    void (*closed)(void *ctx, const struct error *err);
};

/* Takes fd, connected or accepted; reads from the start. */
struct conn *conn_new(
    struct loop *loop, int fd, const struct conn_handlers *handlers, void *ctx) must_check;
void conn_set_handlers(struct conn *c, const struct conn_handlers *handlers, void *ctx);
/* Closes at once, with a TLS goodbye if possible. From any callback; none comes after it. */
void conn_free(struct conn *c);
/* The same with a reset: the other side must not take what it has for everything. */
void conn_abort(struct conn *c);

/* From here on everything goes through TLS; see tls_session_new(). */
void conn_secure(struct conn *c, struct tls_context *tls, const char *host, const char *alpn);
bool conn_is_h2(const struct conn *c);
const struct tls_peer *conn_peer(const struct conn *c, struct arena *a);
const struct sockaddr *conn_address(const struct conn *c); /* of the other side */

void conn_send(struct conn *c, struct str bytes);
void conn_flush(struct conn *c);
/* Both, without a copy of what the kernel takes at once. */
void conn_write(struct conn *c, struct str bytes);
size_t conn_pending(const struct conn *c);
/* Bytes ever queued for the kernel, and ever taken by it: what was queued at some time has partly
 * left when written passes it. */
uint64_t conn_queued(const struct conn *c);
uint64_t conn_written(const struct conn *c);
/* Of a connection that we opened: bytes that the other side's kernel has ever confirmed. */
uint64_t conn_confirmed(const struct conn *c);
/* After what is pending, ends our side; the other can still send. */
void conn_shutdown(struct conn *c);
/* Whether to read on. What was read and not yet handed out waits. */
void conn_set_reading(struct conn *c, bool on);
/* False if the other side has closed, or sent what nothing asked for: not for a next request. */
bool conn_is_quiet(const struct conn *c);
