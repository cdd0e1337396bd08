#pragma once

/* SPDY/3.1 as a server speaks it, without the connection: what clients of Kubernetes carry the
 * connections of a port-forward in. Bytes go in, streams that the client opens and their data come
 * out, as they come.
 *
 * Windows are neither kept to nor announced, which these clients do not do either: whoever takes
 * the bytes off the connection holds all of its streams back, or none. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct spdy;

enum spdy_reset { SPDY_PROTOCOL_ERROR = 1, SPDY_REFUSED_STREAM = 3, SPDY_CANCEL = 5 };

struct spdy_handlers {
    /* The client opened a stream, which is to be answered with spdy_reply() or spdy_reset(). Names
     * are in lower case. */
    void (*opened)(void *ctx, uint32_t id, struct http_headers headers);
    /* last: the client sends no more on it. Of any stream: ids are not checked. */
    void (*data)(void *ctx, uint32_t id, struct str bytes, bool last);
    void (*reset)(void *ctx, uint32_t id);
    /* A frame to be sent, in two parts, of which the second may be empty. */
    void (*send)(void *ctx, struct str first, struct str second);
};

struct spdy *spdy_new(const struct spdy_handlers *handlers, void *ctx) must_check;
void spdy_free(struct spdy *s);
/* False: the client does not speak SPDY, or says goodbye (ERR_CANCELLED). Handlers may do anything
 * but feed and free. */
bool spdy_feed(struct spdy *s, struct str bytes, struct error *err) must_check;

void spdy_reply(struct spdy *s, uint32_t id);
/* Less than 16 MiB; last: we send no more on it. */
void spdy_send(struct spdy *s, uint32_t id, struct str bytes, bool last);
void spdy_reset(struct spdy *s, uint32_t id, enum spdy_reset why);
