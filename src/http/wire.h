#pragma once

/* HTTP on one connection, without the connection: it converts between bytes and streams, each with
 * one message in each direction. HTTP/1 and HTTP/2, client and server, have the same interface; and
 * a test or a fuzzer can feed a wire without a socket.
 *
 *            ┌──────── owner (http/link.h) ────────┐
 *   feed ──> │ wire ──> stream: head data end      │ ──> a call, or an exchange
 *   output <─│ wire <── stream: write finish reset │ <──
 *            └─────────────────────────────────────┘
 *
 * A wire never calls its owner's connection. It calls kick() when it has something to do, and the
 * owner calls wire_step() and wire_output() later. So no object is freed while its own code runs,
 * and every function here may be called from every callback, except wire_feed/step/eof/output/free.
 *
 * The life cycle of a stream. Client: wire_open() ─> head ─> data* ─> closed. Server: request ─>
 * data* ─> end ─> closed, while the response is sent. closed() is called once, as the last
 * callback: the response is complete (err NULL), or not (err; sent says that the peer may have
 * acted on the request). stream_detach() ends the stream for its user: there are no callbacks after
 * it. */

#include "base/buf.h"
#include "base/error.h"
#include "base/timer.h"
#include "http/head.h"

struct stream;
struct wire;

struct stream_handlers {
    void (*head)(void *ctx, const struct wire_head *head); /* client */
    void (*data)(void *ctx, struct str bytes);
    void (*end)(void *ctx); /* server: the request is complete */
    void (*drained)(void *ctx);
    void (*closed)(void *ctx, const struct error *err, bool sent);
};

struct stream {
    struct wire *wire;
    struct stream *next, *prev;
    const struct stream_handlers *on; /* NULL: detached */
    void *ctx;
    int32_t id; /* HTTP/2 */
    /* out */
    struct str whole; /* a body in the caller's memory, sent before out */
    struct buf out;
    size_t out_at;
    int64_t out_left; /* remaining part of the announced length; -1: not announced */
    bool head_queued, out_finished, out_done, out_full, drain_due;
    bool mute;     /* the response to HEAD, 204, 304: the body is discarded */
    uint64_t mark; /* bytes queued on the connection when the head was sent */
    bool marked;
    /* in */
    struct buf held; /* HTTP/2: received while paused */
    bool in_head, in_done, end_told, paused;
    bool is_head_request;
    bool upgraded; /* the bytes belong to another protocol */
    int64_t in_bytes;
    int64_t active_ms; /* when bytes were last sent or received */
};

struct wire_config {
    bool is_server;
    struct http_limits limits;
    size_t window_bytes;
    size_t streams_max;     /* server: as announced */
    int64_t body_bytes_max; /* server */
};

struct wire_owner {
    /* Server: a request began. If the owner does not set on and ctx, the response is 500. */
    void (*request)(void *ctx, struct stream *s, const struct wire_head *head);
    void (*kick)(void *ctx);
    /* Stops or resumes reading from the connection. */
    void (*set_reading)(void *ctx, bool on);
};

struct wire_ops {
    void (*feed)(struct wire *w, struct str bytes);
    void (*eof)(struct wire *w);
    void (*step)(struct wire *w);
    struct str (*output)(struct wire *w);
    struct stream *(*open)(struct wire *w, const struct wire_head *head);
    void (*respond)(struct stream *s, const struct wire_head *head);
    void (*upgrade)(struct stream *s, struct str protocol, struct http_headers headers);
    void (*wake)(struct stream *s);
    void (*dropped)(struct stream *s); /* detached before it was complete: reset or discard it */
    size_t (*capacity)(const struct wire *w);
    void (*ping)(struct wire *w);
    void (*drain)(struct wire *w);
    void (*free)(struct wire *w);
};

struct wire {
    const struct wire_ops *ops;
    const struct env *env;
    struct wire_config config;
    const struct wire_owner *owner;
    void *owner_ctx;
    struct stream *streams;
    size_t stream_count;
    size_t out_bytes; /* of all streams, not yet sent */
    struct head_builder head;
    uint64_t queued, written; /* of the connection; updated by the owner */
    bool is_h2;
    bool drain_due;        /* for some stream */
    bool resume_due;       /* HTTP/2: held data of some stream may be delivered */
    bool settling;         /* HTTP/2: the peer has not announced its stream limit yet */
    bool closing;          /* accepts no new streams */
    bool finished;         /* the connection ends when all output is sent */
    bool failed;           /* broken, see err: the connection cannot be used */
    struct error *err;     /* NULL: none so far */
    int64_t head_since_ms; /* start of the incomplete head; 0: none */
    int64_t idle_limit_ms; /* HTTP/1: the server's keep-alive timeout; 0: unknown */
};

struct wire *wire_h1_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx) must_check;
struct wire *wire_h2_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx) must_check;

/* Feeds bytes from the peer; then its end. */
void wire_feed(struct wire *w, struct str bytes);
void wire_eof(struct wire *w);
/* Delivers data that waited for a resume. */
void wire_step(struct wire *w);
/* The next bytes to send, valid until the next call; empty: none now. */
struct str wire_output(struct wire *w);
/* Client: the number of streams that may be opened now. */
size_t wire_capacity(const struct wire *w);
/* Client: begins a request. head.body_bytes -1: streamed, of unknown length. */
struct stream *wire_open(struct wire *w, const struct wire_head *head,
    const struct stream_handlers *on, void *ctx) must_check;
/* HTTP/2: sends a ping. */
void wire_ping(struct wire *w);
/* Server: accepts no new requests after those in flight; then finished. */
void wire_drain(struct wire *w);
/* Closes every stream with this error; the connection is gone. */
void wire_abort(struct wire *w, const struct error *err);
/* Frees all streams without callbacks; call wire_abort() first if they are needed. */
void wire_free(struct wire *w);

/* Server: body_bytes -1: unknown. */
void stream_respond(struct stream *s, int status, struct http_headers headers, int64_t body_bytes);
/* Server, HTTP/1 only, after the end of the request: sends 101, then bytes in both directions until
 * finish or detach. */
void stream_upgrade(struct stream *s, struct str protocol, struct http_headers headers);
bool stream_write(struct stream *s, struct str bytes); /* false: wait for drained() */
void stream_finish(struct stream *s);
/* Client: sends the whole body, which must stay valid until the stream is closed or detached. */
void stream_send_whole(struct stream *s, struct str body);
/* Client: calls drained() soon, for the first write. */
void stream_ask_more(struct stream *s);
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);
void stream_detach(struct stream *s);
size_t stream_buffered(const struct stream *s);

/* ---- for h1.c and h2.c ---- */

#define STREAM_OUT_HIGH ((size_t)32 << 10)
#define STREAM_OUT_LOW ((size_t)8 << 10)
/* For all streams of a connection. A client that sends requests without reading responses is
 * cut. */
#define WIRE_OUT_MAX ((size_t)64 << 20)

void wire_init(struct wire *w, const struct wire_ops *ops, const struct env *env,
    const struct wire_config *config, const struct wire_owner *owner, void *ctx);
void wire_done(struct wire *w);
void wire_kick(struct wire *w);
/* The connection is broken: stores the first error. */
void wire_fail(struct wire *w, enum error_code code, const char *format, ...) printf_like(3, 4);
struct stream *stream_new(struct wire *w);
void stream_free(struct stream *s);
/* Calls closed() and frees the stream. */
void stream_close(struct stream *s, const struct error *err, bool sent);
/* The next body bytes to send, and a function that marks them as sent. */
struct str stream_out(const struct stream *s);
void stream_out_eat(struct stream *s, size_t count);
/* The head is being sent: the mark later shows whether it was. */
void stream_mark(struct stream *s);
bool stream_was_sent(const struct stream *s);
