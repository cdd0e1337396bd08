#pragma once

/* A wire of http/wire.h without a connection, for the fuzz targets: any bytes from the other side,
 * in pieces of any size, while streams are read, paused, answered and dropped.
 *
 * The first byte of the input chooses how; the rest is what the other side says. Promises: every
 * stream is told its end exactly once, nothing is told after it, and no more than a window and a
 * read is held for anybody. */

#include "http/wire.h"

#include <stdlib.h>

#define FUZZ_STREAMS_MAX 64
#define FUZZ_HELD_MAX ((size_t)512 << 10)

struct fuzz_world;

struct fuzz_stream {
    struct fuzz_world *world;
    struct stream *stream; /* NULL: over */
    unsigned pieces;
};

struct fuzz_world {
    struct env env;
    struct timers timers;
    int64_t now_ms;
    struct wire *wire;
    bool reading;
    uint8_t manner;
    struct fuzz_stream streams[FUZZ_STREAMS_MAX];
    size_t count;
};

static int64_t fuzz_clock(void *ctx)
{
    return ++((struct fuzz_world *)ctx)->now_ms;
}

static uint64_t fuzz_random(void *ctx)
{
    return (uint64_t)((struct fuzz_world *)ctx)->now_ms * 2654435761u;
}

static void fuzz_head(void *ctx, const struct wire_head *head)
{
    struct fuzz_stream *s = ctx;
    assert(s->stream && s->pieces == 0 && head->status >= 200);
    if (s->world->manner & 4)
        stream_pause(s->stream);
}

static void fuzz_data(void *ctx, struct str bytes)
{
    struct fuzz_stream *s = ctx;
    assert(s->stream && bytes.len);
    s->pieces++;
    if (s->world->manner & 8 && s->stream->head_queued && !s->stream->out_finished &&
        s->world->wire->config.is_server)
        stream_write(s->stream, bytes);
    if (s->world->manner & 16 && s->pieces % 2)
        stream_pause(s->stream);
    if (s->world->manner & 32 && s->pieces % 3 == 0)
        stream_detach(take(s->stream));
}

static void fuzz_end(void *ctx)
{
    struct fuzz_stream *s = ctx;
    assert(s->stream);
    if (!s->stream->head_queued)
        stream_respond(s->stream, 200, (struct http_headers){ 0 }, -1);
    if (!s->stream->out_finished)
        stream_finish(s->stream);
}

static void fuzz_drained(void *ctx)
{
    assert(((struct fuzz_stream *)ctx)->stream);
}

static void fuzz_closed(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct fuzz_stream *s = ctx;
    assert(s->stream);
    assert(!err || err->code);
    s->stream = NULL;
}

static const struct stream_handlers fuzz_handlers = {
    .head = fuzz_head,
    .data = fuzz_data,
    .end = fuzz_end,
    .drained = fuzz_drained,
    .closed = fuzz_closed,
};

/* A place for a stream; NULL if there are many already. */
static inline struct fuzz_stream *fuzz_place(struct fuzz_world *w)
{
    for (size_t i = 0; i < FUZZ_STREAMS_MAX; i++)
        if (!w->streams[i].stream) {
            w->streams[i] = (struct fuzz_stream){ .world = w };
            return &w->streams[i];
        }
    return NULL;
}

static void fuzz_request(void *ctx, struct stream *stream, const struct wire_head *head)
{
    struct fuzz_world *w = ctx;
    struct fuzz_stream *s = fuzz_place(w);
    assert(head->method.len && head->target.len);
    if (!s) {
        stream_detach(stream);
        return;
    }
    s->stream = stream;
    stream->on = &fuzz_handlers;
    stream->ctx = s;
    if (w->manner & 4)
        stream_pause(stream);
    if (w->manner & 2) {
        stream_respond(stream, 200, (struct http_headers){ 0 }, w->manner & 64 ? 5 : -1);
        if (w->manner & 64)
            stream_write(stream, STR("hello"));
        if (w->manner & 64)
            stream_finish(stream);
    }
}

static void fuzz_kick(void *ctx)
{
    (void)ctx;
}

static void fuzz_set_reading(void *ctx, bool on)
{
    ((struct fuzz_world *)ctx)->reading = on;
}

static const struct wire_owner fuzz_owner = {
    .request = fuzz_request,
    .kick = fuzz_kick,
    .set_reading = fuzz_set_reading,
};

static inline void fuzz_open(struct fuzz_world *w, bool is_server, bool h2, uint8_t manner)
{
    struct wire_config config = {
        .is_server = is_server,
        .limits = { 4096, 32 },
        .window_bytes = 65535,
        .streams_max = FUZZ_STREAMS_MAX / 2,
        .body_bytes_max = 20000,
    };
    *w = (struct fuzz_world){ .manner = manner, .reading = true };
    w->env = (struct env){ fuzz_clock, fuzz_clock, fuzz_random, w, &w->timers };
    w->wire = (h2 ? wire_h2_new : wire_h1_new)(&w->env, &config, &fuzz_owner, w);
}

/* What the owner of a wire does after each read. */
static inline void fuzz_turn(struct fuzz_world *w)
{
    wire_step(w->wire);
    for (int i = 0; i < 1000; i++) {
        struct str bytes = wire_output(w->wire);
        if (bytes.len == 0)
            break;
        w->wire->queued = w->wire->written += bytes.len;
    }
    size_t held = 0;
    for (const struct stream *s = w->wire->streams; s; s = s->next)
        held += stream_buffered(s);
    assert(held <= FUZZ_HELD_MAX * FUZZ_STREAMS_MAX);
}

static inline void fuzz_resume_all(struct fuzz_world *w)
{
    for (size_t i = 0; i < FUZZ_STREAMS_MAX; i++)
        if (w->streams[i].stream)
            stream_resume(w->streams[i].stream);
}

/* Client: always has three questions. */
static inline void fuzz_ask(struct fuzz_world *w)
{
    struct wire_head head = {
        .method = w->manner & 64 ? STR("HEAD") : STR("GET"),
        .target = STR("/"),
        .authority = STR("a"),
        .scheme = STR("http"),
    };
    struct fuzz_stream *s;
    while (w->wire->stream_count < 3 && wire_capacity(w->wire) && (s = fuzz_place(w))) {
        s->stream = wire_open(w->wire, &head, &fuzz_handlers, s);
        stream_send_whole(s->stream, STR(""));
    }
}

static inline void fuzz_feed(struct fuzz_world *w, const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 7, 64, 4096 };
    size_t piece = size > 8192 ? 4096 : pieces[w->manner % 4];
    for (size_t at = 0; at < size && !w->wire->failed && !w->wire->finished; at += piece) {
        if (!w->wire->config.is_server)
            fuzz_ask(w);
        fuzz_turn(w);
        struct str bytes = { (const char *)data + at, size - at < piece ? size - at : piece };
        wire_feed(w->wire, bytes);
        fuzz_turn(w);
        for (int i = 0; i < 100 && !w->reading && !w->wire->finished && !w->wire->failed; i++) {
            fuzz_resume_all(w);
            fuzz_turn(w);
        }
        if (at % 5 == 0)
            fuzz_resume_all(w);
    }
}

static inline void fuzz_close(struct fuzz_world *w)
{
    static const struct error err = { .code = ERR_UNAVAILABLE, .text = "over" };
    if (w->manner & 1)
        wire_eof(w->wire);
    fuzz_turn(w);
    wire_abort(w->wire, &err);
    for (size_t i = 0; i < FUZZ_STREAMS_MAX; i++)
        assert(!w->streams[i].stream);
    wire_free(w->wire);
    timers_done(&w->timers);
}
