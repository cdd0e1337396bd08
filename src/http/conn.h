#pragma once

/* A TCP connection with up to two layers of TLS (the second one inside a proxy's), as a stream of
 * bytes.
 *
 * Sending only queues. conn_flush() passes to the kernel what it accepts, and room() is called when
 * the queue has been sent. A producer checks conn_pending() first, so the queue stays short. Reads
 * use a buffer on the stack: an idle connection has no buffer. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "http/tls.h"

struct conn;
struct loop;
struct sockaddr;

struct conn_handlers {
    void (*secured)(void *ctx); /* the handshake of conn_secure() is complete */
    void (*data)(void *ctx, struct str bytes);
    void (*room)(void *ctx);
    /* The input has ended. err NULL: the peer closed properly, and pending output may still be
     * flushed; if that fails, the error is reported then. Otherwise the connection is broken. */
    void (*closed)(void *ctx, const struct error *err);
};

/* Takes over fd, connected or accepted; reads from the start. */
struct conn *conn_new(
    struct loop *loop, int fd, const struct conn_handlers *handlers, void *ctx) must_check;
void conn_set_handlers(struct conn *c, const struct conn_handlers *handlers, void *ctx);
/* Closes at once, with a TLS close_notify if possible. May be called from any callback; there are
 * no callbacks after it. */
void conn_free(struct conn *c);
/* The same with a TCP reset, so that the peer does not treat the received data as complete. */
void conn_abort(struct conn *c);

/* From now on all bytes go through TLS; see tls_session_new(). */
void conn_secure(struct conn *c, struct tls_context *tls, const char *host, const char *alpn);
bool conn_is_h2(const struct conn *c);
const struct tls_peer *conn_peer(const struct conn *c, struct arena *a);
const struct sockaddr *conn_address(const struct conn *c); /* of the peer */

void conn_send(struct conn *c, struct str bytes);
void conn_flush(struct conn *c);
/* Does both, without copying bytes that the kernel accepts at once. */
void conn_write(struct conn *c, struct str bytes);
size_t conn_pending(const struct conn *c);
/* Total bytes queued for the kernel, and total bytes accepted by it. Once `written` exceeds an
 * earlier value of `queued`, some of the data queued after that has been sent. */
uint64_t conn_queued(const struct conn *c);
uint64_t conn_written(const struct conn *c);
/* For a connection that we opened: total bytes acknowledged by the peer's kernel. */
uint64_t conn_confirmed(const struct conn *c);
/* Closes our side after all pending output; the peer can still send. */
void conn_shutdown(struct conn *c);
/* Whether to continue reading. Data that was read but not yet delivered is kept. */
void conn_set_reading(struct conn *c, bool on);
/* False if the peer has closed, or sent unexpected data: then it must not be used for another
 * request. */
bool conn_is_quiet(const struct conn *c);
