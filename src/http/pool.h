#pragma once

/* The connections of a client, by origin, and the calls that wait for one.
 *
 *   call ─> origin.waiting ─> a connection with capacity, or a new one
 *
 * While the protocol may be HTTP/2, connections are dialled one at a time; with HTTP/1, one for
 * each waiting call. */

#include "base/arena.h"
#include "http/client.h"
#include "http/dial.h"
#include "http/link.h"
#include "http/loop.h"

struct gunzip;
struct pooled;

struct origin {
    struct http_client *client;
    struct origin *next;
    struct arena arena; /* for the texts in key and dial */
    struct http_origin key;
    struct dial_options dial;
    struct error err; /* set: the origin cannot be dialled at all */
    const char *authority;
    bool is_h1; /* protocol of the last connection */
    struct pooled *connections;
    struct dialling *dials;
    size_t connection_count, dial_count, waiting_count;
    struct http_call *waiting, *waiting_last;
    size_t calls;
    struct timer turn;
};

/* One established connection. */
struct pooled {
    struct origin *origin;
    struct pooled *next;
    struct link *link;
    struct timer idle;
    uint64_t served; /* calls that used it */
};

struct http_client {
    struct loop *loop;
    const struct env *env;
    struct http_client_options o;
    struct origin *origins;
    struct http_call *calls;
    uint64_t dialled, retried;
};

struct http_call {
    struct http_client *client;
    struct http_call *next, *prev; /* in the client */
    struct origin *origin;
    struct http_call *next_waiting;
    bool waits;
    struct pooled *pooled;
    struct stream *stream;
    const struct http_call_handlers *on;
    void *ctx;
    struct arena arena; /* of the request */
    struct http_request request;
    char *name; /* method and path, once the head has arrived; NULL: still in the arena */
    struct timer phase, total, again;
    bool head_seen, paused, body_begun, safe;
    unsigned retries;
    bool complete; /* the stream is complete, but the packed data is not unpacked yet */
    int64_t received;
    struct gunzip *gunzip;
    struct buf packed; /* arrived while paused in the middle of unpacking */
    bool more_inside;  /* … and the unpacker holds more output */
    bool *freed;       /* set if the call is freed while one of its callbacks runs */
};

/* Finds or adds the origin. */
struct origin *pool_origin(struct http_client *c, const struct http_origin *key);
void pool_wait(struct http_call *call, bool in_front);
void pool_unwait(struct http_call *call);
/* The call has left the origin, which may be freed, too. */
void pool_leave(struct http_call *call);
void pool_free(struct http_client *c);

/* ---- functions of call.c for the pool ---- */
void call_assign(struct http_call *call, struct pooled *p);
void call_end(struct http_call *call, const struct error *err, bool sent);
