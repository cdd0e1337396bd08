#pragma once

/* A connection with HTTP on it: what the pool of the client and the server have in common. It moves
 * bytes between conn and wire without letting either run ahead, sends pings, and ends things in
 * order. */

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
    /* After each turn: streams came or went, there is more or less capacity. May free the link. */
    void (*changed)(void *ctx);
    /* The connection is over and every stream was told. err NULL: properly. Frees the link. */
    void (*gone)(void *ctx, const struct error *err);
};

/* Takes conn. */
struct link *link_new(struct loop *loop, struct conn *conn, const struct link_options *options,
    const struct link_handlers *handlers, void *ctx) must_check;
/* Cuts; streams are forgotten without a word. Not from a callback of a stream. */
void link_free(struct link *l);
struct wire *link_wire(struct link *l);
struct conn *link_conn(struct link *l);
/* Bytes that came before the link was made, on a server that had to look at them. */
void link_feed(struct link *l, struct str bytes);
/* Cuts soon, from anywhere: streams are told this error, then gone(). */
void link_fail(struct link *l, enum error_code code, const char *text);
/* When a byte last moved, in either direction. */
int64_t link_active_ms(const struct link *l);
