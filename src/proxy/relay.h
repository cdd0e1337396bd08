#pragma once

/* One connection through the proxy: bytes go from a client to a server and back.
 *
 *   accepted ──> dial the targets, one after the other ──> both ways, until both have ended
 *
 * Nothing is read before a server is there, and from neither side while the other has not taken
 * what came before. When one side ends its direction, the other is told and may go on sending. When
 * one side breaks, or no target answers, the other sees a reset. */

#include "base/error.h"

struct loop;
struct relay;

struct relay_target {
    char host[46]; /* numeric */
    uint16_t port;
};

/* Takes fd. Targets are copied. ended() is called once, from the loop; it frees the relay. err: no
 * target answered, or a side broke. */
struct relay *relay_new(struct loop *loop, int fd, const struct relay_target *targets, size_t count,
    int64_t connect_ms, void (*ended)(void *ctx, struct relay *r, const struct error *err),
    void *ctx) must_check;
/* Whether this host is, or may be, at work for the client: it was asked and has not answered, or
 * bytes moved within the last quiet_ms. */
bool relay_busy(const struct relay *r, const char *host, int64_t quiet_ms);
/* Cuts it. */
void relay_free(struct relay *r);
