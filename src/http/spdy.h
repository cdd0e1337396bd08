#pragma once

/* SPDY/3.1 without the connection. Clients of Kubernetes use it to carry the streams of an attach
 * or a port-forward. Bytes are fed in, and callbacks report the streams that the client opens, and
 * their data. A server accepts streams, a client opens them.
 *
 * Flow-control windows are neither respected nor announced, as in these clients. A caller that
 * stops reading the connection holds back all of its streams. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct spdy;

enum spdy_reset { SPDY_PROTOCOL_ERROR = 1, SPDY_REFUSED_STREAM = 3, SPDY_CANCEL = 5 };

struct spdy_handlers {
    /* The client opened a stream; call spdy_reply() or spdy_reset(). Names are in lower case. */
    void (*opened)(void *ctx, uint32_t id, struct http_headers headers);
    /* last: the client sends no more data on the stream. For any stream: ids are not checked. */
    void (*data)(void *ctx, uint32_t id, struct str bytes, bool last);
    void (*reset)(void *ctx, uint32_t id);
    /* Sends a frame, given in two parts, of which the second may be empty. */
    void (*send)(void *ctx, struct str first, struct str second);
    /* The server accepted a stream that we opened; NULL in a server. */
    void (*replied)(void *ctx, uint32_t id);
};

struct spdy *spdy_new(const struct spdy_handlers *handlers, void *ctx) must_check;
struct spdy *spdy_new_client(const struct spdy_handlers *handlers, void *ctx) must_check;
void spdy_free(struct spdy *s);
/* False if the peer does not speak SPDY, or sent a GOAWAY (ERR_CANCELLED). Handlers may call
 * everything but feed and free. */
bool spdy_feed(struct spdy *s, struct str bytes, struct error *err) must_check;

void spdy_reply(struct spdy *s, uint32_t id);
/* For a client: opens a stream and returns its id. Names are in lower case; at most SPDY_OPEN_MAX
 * bytes of names and values. */
#define SPDY_OPEN_MAX 512
uint32_t spdy_open(struct spdy *s, struct http_headers headers) must_check;
/* Less than 16 MiB. last: this is the end of our data on the stream. */
void spdy_send(struct spdy *s, uint32_t id, struct str bytes, bool last);
/* The peer's reply is not reported. If the peer is gone, the kernel detects it. */
void spdy_ping(struct spdy *s);
void spdy_reset(struct spdy *s, uint32_t id, enum spdy_reset why);
