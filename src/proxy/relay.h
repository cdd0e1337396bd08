#pragma once

/* One connection through the proxy: bytes go from a client to a server and back.
 *
 *   accepted ──> dial the targets, one after the other ──> both ways, until both have ended
 *
 * Nothing is read before a server is there, and from neither side while the other has not taken
 * what came before. When one side ends its direction, the other is told and may go on sending. When
 * one side breaks, or no target answers, the other sees a reset.
 *
 * Where a client speaks HTTP/1.x, the ends of messages are followed (http/follow.h), and the client
 * has its connection for longer than a server may last: between two exchanges it goes on with
 * another one when its own is to leave or has closed. A request whose server broke before it said
 * anything is said to another one, if that does no harm: it cannot have been acted on, or acting on
 * it twice is the same. One request is under way at a time; what a client sends beyond it waits,
 * one read at most. Anything else (TLS, HTTP/2, upgraded connections, servers that speak first) is
 * a pipe, as is all that follows the first byte that was not understood. */

#include "base/error.h"

struct loop;
struct relay;
struct sockaddr;

#define RELAY_TARGETS_MAX 8 /* that one connection is offered to */

struct relay_target {
    char host[46]; /* numeric */
    uint16_t port;
};

struct relay_owner {
    /* Who may be dialled now, best first: how many, RELAY_TARGETS_MAX at most. ret_targets NULL:
     * only whether there is one. */
    size_t (*targets)(void *ctx, const struct sockaddr *client, struct relay_target *ret_targets);
    /* Once, from the loop or from relay_leave(); frees the relay. err: no target answered, or a
     * side broke. */
    void (*ended)(void *ctx, struct relay *r, const struct error *err);
};

/* Takes fd. There must be a target. */
struct relay *relay_new(struct loop *loop, int fd, int64_t connect_ms,
    const struct relay_owner *owner, void *ctx) must_check;
/* The server that it has or dials; NULL: none now. */
const struct relay_target *relay_server(const struct relay *r);
/* Whether its server is to be left, for there are others: at the next opportunity. */
void relay_leave(struct relay *r, bool leave);
/* Whether this host is, or may be, at work for the client: it was asked and has not answered in
 * full; or where that cannot be known, bytes moved within the last quiet_ms. */
bool relay_busy(const struct relay *r, const char *host, int64_t quiet_ms);
/* Cuts it. */
void relay_free(struct relay *r);
