#pragma once

/* One connection through the proxy: bytes go from a client to a server and back.
 *
 *   accepted ──> dial the targets, one after the other ──> both ways, until both have ended
 *
 * Nothing is read before a server is connected, and neither side is read while the other has unread
 * data. When one side closes its direction, this is passed on, and the other may continue to send.
 * When one side fails, or no target answers, the other gets a reset.
 *
 * For HTTP/1.x the ends of messages are tracked (http/follow.h), so a client's connection can
 * outlive its server: between two exchanges it moves to another server when its own was removed or
 * has closed. A request whose server failed before it answered is sent to another one if that is
 * safe: the server cannot have processed it, or it is idempotent. One request is in progress at a
 * time; further data from the client waits, one read at most. Everything else (TLS, HTTP/2,
 * upgraded connections, servers that send first) is a plain pipe, as is everything after the first
 * syntax error. */

#include "base/error.h"

struct loop;
struct relay;
struct sockaddr;

#define RELAY_TARGETS_MAX 8 /* attempts of one connection */

struct relay_target {
    char host[46]; /* numeric */
    uint16_t port;
};

struct relay_owner {
    /* The servers to try now, best first: returns how many, RELAY_TARGETS_MAX at most. ret_targets
     * NULL: only whether there is one. */
    size_t (*targets)(void *ctx, const struct sockaddr *client, struct relay_target *ret_targets);
    /* Called once, from the loop or from relay_leave(); frees the relay. err: no target answered,
     * or a side failed. */
    void (*ended)(void *ctx, struct relay *r, const struct error *err);
};

/* Takes ownership of fd. There must be a target. */
struct relay *relay_new(struct loop *loop, int fd, int64_t connect_ms,
    const struct relay_owner *owner, void *ctx) must_check;
/* The server that it uses or connects to; NULL: none now. */
const struct relay_target *relay_server(const struct relay *r);
/* Whether to leave its server at the next opportunity, because there are others. */
void relay_leave(struct relay *r, bool leave);
/* Whether this host works, or may work, for the client: its answer is incomplete; or, if that is
 * unknown, data was transferred within the last quiet_ms. */
bool relay_busy(const struct relay *r, const char *host, int64_t quiet_ms);
/* Aborts the connection. */
void relay_free(struct relay *r);
