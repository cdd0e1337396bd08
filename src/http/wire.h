#pragma once

/* HTTP on one connection, without the connection: bytes go in, bytes come out, and in between there
 * are streams, each with one message in each direction. HTTP/1 and HTTP/2, client and server, are
 * the same to those above; and a test or a fuzzer can feed one without a socket.
 *
 *            ┌──────── owner (http/link.h) ────────┐
 *   feed ──> │ wire ──> stream: head data end      │ ──> a call, or an exchange
 *   output <─│ wire <── stream: write finish reset │ <──
 *            └─────────────────────────────────────┘
 *
 * A wire never calls its owner's connection; it says kick() when it has something to do, and the
 * owner calls wire_step() and wire_output() later. So nothing is destroyed under its own feet, and
 * every function here may be called from every callback, except wire_feed/step/eof/output/free.
 *
 * The life of a stream. Client: wire_open() ─> head ─> data* ─> closed. Server: request ─> data*
 * ─> end ─> closed, while the answer goes out. closed() comes once and last: the answer is
 * complete (err NULL), or not (err; sent says that the other side may have acted on the request).
 * stream_detach() ends it from above: nothing is called after it. */

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
    const struct stream_handlers *on; /* NULL: nobody is interested any more */
    void *ctx;
    int32_t id; /* HTTP/2 */
    /* out */
    struct str whole; /* a body that lives elsewhere, sent before out */
    struct buf out;
    size_t out_at;
    int64_t out_left; /* of the length that was announced; -1: none was */
    bool head_queued, out_finished, out_done, out_full, drain_due;
    bool mute;     /* the answer to HEAD, 204, 304: a body is thrown away */
    uint64_t mark; /* what was queued on the connection when the head went there */
    bool marked;
    /* in */
    struct buf held; /* HTTP/2: came while paused */
    bool in_head, in_done, end_told, paused;
    bool is_head_request;
    bool upgraded; /* what comes and goes are bytes of another protocol */
    int64_t in_bytes;
    int64_t active_ms; /* when bytes last moved, in either direction */
};

struct wire_config {
    bool is_server;
    struct http_limits limits;
    size_t window_bytes;
    size_t streams_max;     /* server: as announced */
    int64_t body_bytes_max; /* server */
};

struct wire_owner {
    /* Server: a request began. The owner sets on and ctx, or leaves it: then it is answered 500. */
    void (*request)(void *ctx, struct stream *s, const struct wire_head *head);
    void (*kick)(void *ctx);
    /* Reading from the connection should stop or go on. */
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
    void (*dropped)(struct stream *s); /* detached with something left to do: reset or discard */
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
    size_t out_bytes; /* of all streams, not yet taken */
    struct head_builder head;
    uint64_t queued, written; /* the owner's connection, kept up to date by it */
    bool is_h2;
    bool drain_due;        /* of some stream */
    bool resume_due;       /* HTTP/2: what some stream held may be handed out */
    bool settling;         /* HTTP/2: the other side has not said yet how many streams it takes */
    bool closing;          /* takes no new streams */
    bool finished;         /* when its output is gone, so is the connection */
    bool failed;           /* broken, see err: the connection cannot be used */
    struct error *err;     /* NULL: none so far */
    int64_t head_since_ms; /* when a head began that is not complete; 0: none */
    int64_t idle_limit_ms; /* HTTP/1: how long the server said it keeps an idle one; 0: not said */
};

struct wire *wire_h1_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx) must_check;
struct wire *wire_h2_new(const struct env *env, const struct wire_config *config,
    const struct wire_owner *owner, void *ctx) must_check;

/* Bytes from the other side; then its end. */
void wire_feed(struct wire *w, struct str bytes);
void wire_eof(struct wire *w);
/* Hands out what waited for a resume. */
void wire_step(struct wire *w);
/* The next bytes to send, valid until the next call; empty: none now. */
struct str wire_output(struct wire *w);
/* Client: streams that may be opened now. */
size_t wire_capacity(const struct wire *w);
/* Client: begins a request. head.body_bytes -1: it is streamed and its length is not known. */
struct stream *wire_open(struct wire *w, const struct wire_head *head,
    const struct stream_handlers *on, void *ctx) must_check;
/* HTTP/2: asks for a sign of life. */
void wire_ping(struct wire *w);
/* Server: no new requests after those that are on the way; then finished. */
void wire_drain(struct wire *w);
/* Every stream is closed with this error; the connection is gone. */
void wire_abort(struct wire *w, const struct error *err);
/* Streams are forgotten without a word: wire_abort() first if anybody cares. */
void wire_free(struct wire *w);

/* Server: body_bytes -1: not known. */
void stream_respond(struct stream *s, int status, struct http_headers headers, int64_t body_bytes);
/* Server, HTTP/1 only, after the request's end: 101, then bytes both ways until finish or detach.
 */
void stream_upgrade(struct stream *s, struct str protocol, struct http_headers headers);
bool stream_write(struct stream *s, struct str bytes); /* false: enough, wait for drained() */
void stream_finish(struct stream *s);
/* Client: the whole body in one; it stays where it is until the stream is closed or detached. */
void stream_send_whole(struct stream *s, struct str body);
/* Client: calls drained() soon, to begin with. */
void stream_ask_more(struct stream *s);
void stream_pause(struct stream *s);
void stream_resume(struct stream *s);
void stream_detach(struct stream *s);
size_t stream_buffered(const struct stream *s);

/* ---- for h1.c and h2.c ---- */

#define STREAM_OUT_HIGH ((size_t)32 << 10)
#define STREAM_OUT_LOW ((size_t)8 << 10)
/* Of all streams of a connection. A client that asks and asks and takes no answer is cut. */
#define WIRE_OUT_MAX ((size_t)64 << 20)

void wire_init(struct wire *w, const struct wire_ops *ops, const struct env *env,
    const struct wire_config *config, const struct wire_owner *owner, void *ctx);
void wire_done(struct wire *w);
void wire_kick(struct wire *w);
/* The connection is broken: remembers why, the first time. */
void wire_fail(struct wire *w, enum error_code code, const char *format, ...) printf_like(3, 4);
struct stream *stream_new(struct wire *w);
void stream_free(struct stream *s);
/* Tells the one above and frees. */
void stream_close(struct stream *s, const struct error *err, bool sent);
/* The next body bytes to send, and taking them. */
struct str stream_out(const struct stream *s);
void stream_out_eat(struct stream *s, size_t count);
/* The head goes to the connection now: what comes back later tells whether it got there. */
void stream_mark(struct stream *s);
bool stream_was_sent(const struct stream *s);
