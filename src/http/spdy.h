#pragma once

/* SPDY/3.1 without the connection: what clients of Kubernetes carry the streams of an attach or a
 * port-forward in. Bytes go in, streams that the client opens and their data come out, as they
 * come. A server answers streams, a client opens them.
 *
 * Windows are neither kept to nor announced, which these clients do not do either: a caller that
 * takes the bytes off the connection holds all of its streams back, or none. */

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
    /* The server takes a stream that we opened; NULL for a server. */
    void (*replied)(void *ctx, uint32_t id);
};

struct spdy *spdy_new(const struct spdy_handlers *handlers, void *ctx) must_check;
struct spdy *spdy_new_client(const struct spdy_handlers *handlers, void *ctx) must_check;
void spdy_free(struct spdy *s);
/* False: the other side does not speak SPDY, or says goodbye (ERR_CANCELLED). Handlers may do
 * anything but feed and free. */
bool spdy_feed(struct spdy *s, struct str bytes, struct error *err) must_check;

void spdy_reply(struct spdy *s, uint32_t id);
/* Of a client: opens a stream and returns its id. Names are in lower case; at most SPDY_OPEN_MAX
 * bytes of names and values. */
#define SPDY_OPEN_MAX 512
uint32_t spdy_open(struct spdy *s, struct http_headers headers) must_check;
/* Less than 16 MiB; last: we send no more on it. */
void spdy_send(struct spdy *s, uint32_t id, struct str bytes, bool last);
/* The other side answers it, which nothing hears of; if it is gone, its kernel does. */
void spdy_ping(struct spdy *s);
void spdy_reset(struct spdy *s, uint32_t id, enum spdy_reset why);
