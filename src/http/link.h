#pragma once

/* An HTTP connection, as used by both the client's pool and the server. It moves bytes between conn
 * and wire so that neither buffers too much, sends pings, and shuts down in the right order. */

#include "http/conn.h"
#include "http/wire.h"

struct link;

struct link_options {
    struct wire_config wire;
    bool h2;
    int64_t ping_idle_ms, ping_timeout_ms;
};

struct link_handlers {
    void (*request)(void *ctx, struct stream *s, const struct wire_head *head); /* server */
    /* Called after each turn: the number of streams or the capacity may have changed. May free the
     * link. */
    void (*changed)(void *ctx);
    /* The connection is over, and every stream was closed. err NULL: it ended properly. Frees the
     * link. */
    void (*gone)(void *ctx, const struct error *err);
};

/* Takes over conn. */
struct link *link_new(struct loop *loop, struct conn *conn, const struct link_options *options,
    const struct link_handlers *handlers, void *ctx) must_check;
/* Cuts the connection; streams are freed without a callback. Must not be called from a callback of
 * a stream. */
void link_free(struct link *l);
struct wire *link_wire(struct link *l);
struct conn *link_conn(struct link *l);
/* Feeds bytes that a server read before the link was created, to detect the protocol. */
void link_feed(struct link *l, struct str bytes);
/* Cuts the connection soon; may be called from anywhere. Streams are closed with this error, then
 * gone() is called. */
void link_fail(struct link *l, enum error_code code, const char *text);
/* When the last byte was sent or received. */
int64_t link_active_ms(const struct link *l);
