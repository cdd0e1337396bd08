#include "http/wire.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void wire_init(struct wire *w, const struct wire_ops *ops, const struct env *env,
    const struct wire_config *config, const struct wire_owner *owner, void *ctx)
{
    w->ops = ops;
    w->env = env;
    w->config = *config;
    w->owner = owner;
    w->owner_ctx = ctx;
    head_init(&w->head, &config->limits);
}

void wire_done(struct wire *w)
{
    while (w->streams)
        stream_free(w->streams);
    head_done(&w->head);
    free(w->err);
}

void wire_kick(struct wire *w)
{
    w->owner->kick(w->owner_ctx);
}

void wire_fail(struct wire *w, enum error_code code, const char *format, ...)
{
    if (w->failed)
        return;
    w->failed = w->closing = true;
    va_list args;
    va_start(args, format);
    if (!w->err)
        w->err = mem_new_of(struct error);
    w->err->code = code;
    vsnprintf(w->err->text, sizeof(w->err->text), format, args);
    va_end(args);
    wire_kick(w);
}

void wire_feed(struct wire *w, struct str bytes)
{
    if (!w->failed && !w->finished)
        w->ops->feed(w, bytes);
}

void wire_eof(struct wire *w)
{
    w->closing = true;
    if (!w->failed)
        w->ops->eof(w);
}

/* Not called where room appears: that is deep inside the output, which a callback could disturb. */
static void tell_drained(struct wire *w)
{
    struct stream *s = w->drain_due ? w->streams : NULL;
    w->drain_due = false;
    while (s) {
        bool due = s->drain_due && s->on && s->on->drained;
        s->drain_due = false;
        if (due)
            s->on->drained(s->ctx);
        s = due ? w->streams : s->next; /* the callback may free streams */
    }
}

void wire_step(struct wire *w)
{
    tell_drained(w);
    if (!w->failed)
        w->ops->step(w);
}

struct str wire_output(struct wire *w)
{
    return w->failed ? (struct str){ NULL, 0 } : w->ops->output(w);
}

size_t wire_capacity(const struct wire *w)
{
    return w->closing || w->failed || w->finished ? 0 : w->ops->capacity(w);
}

struct stream *wire_open(
    struct wire *w, const struct wire_head *head, const struct stream_handlers *on, void *ctx)
{
    assert(!w->config.is_server && wire_capacity(w) > 0);
    struct stream *s = w->ops->open(w, head);
    s->on = on;
    s->ctx = ctx;
    wire_kick(w);
    return s;
}

void wire_ping(struct wire *w)
{
    if (w->ops->ping && !w->failed) {
        w->ops->ping(w);
        wire_kick(w);
    }
}

void wire_drain(struct wire *w)
{
    if (!w->failed)
        w->ops->drain(w);
    wire_kick(w);
}

/* A complete response is delivered even while paused, because there is nothing left to hold
 * back. */
static void close_complete(struct wire *w, struct stream *s)
{
    struct buf held = s->held;
    buf_init(&s->held, held.limit);
    if (held.len && s->on && s->on->data)
        s->on->data(s->ctx, buf_str(&held));
    buf_done(&held);
    if (w->streams == s) /* otherwise the callback detached it */
        stream_close(s, NULL, true);
}

void wire_abort(struct wire *w, const struct error *err)
{
    w->closing = w->failed = true;
    if (!w->err) {
        w->err = mem_new_of(struct error);
        *w->err = *err;
    }
    while (w->streams) {
        struct stream *s = w->streams;
        if (s->in_done && !w->config.is_server)
            close_complete(w, s);
        else
            stream_close(s, err, stream_was_sent(s));
    }
}

void wire_free(struct wire *w)
{
    if (w)
        w->ops->free(w);
}

/* ---- streams ---- */

struct stream *stream_new(struct wire *w)
{
    struct stream *s = mem_new_of(struct stream);
    s->wire = w;
    s->next = w->streams;
    if (s->next)
        s->next->prev = s;
    w->streams = s;
    w->stream_count++;
    s->out_left = -1;
    s->active_ms = env_mono_ms(w->env);
    /* Both are limited by the amount requested from the producer, and by the window. */
    buf_init(&s->out, SIZE_MAX / 2);
    buf_init(&s->held, SIZE_MAX / 2);
    return s;
}

void stream_free(struct stream *s)
{
    struct wire *w = s->wire;
    if (s->prev)
        s->prev->next = s->next;
    else
        w->streams = s->next;
    if (s->next)
        s->next->prev = s->prev;
    w->stream_count--;
    w->out_bytes -= s->out.len - s->out_at;
    buf_done(&s->out);
    buf_done(&s->held);
    free(s);
}

void stream_close(struct stream *s, const struct error *err, bool sent)
{
    const struct stream_handlers *on = s->on;
    void *ctx = s->ctx;
    wire_kick(s->wire);
    stream_free(s);
    if (on)
        on->closed(ctx, err, sent);
}

void stream_mark(struct stream *s)
{
    s->marked = true;
    s->mark = s->wire->queued;
}

bool stream_was_sent(const struct stream *s)
{
    return s->marked && s->wire->written > s->mark;
}

void stream_respond(struct stream *s, int status, struct http_headers headers, int64_t body_bytes)
{
    assert(s->wire->config.is_server && !s->head_queued && status >= 200 && status <= 999);
    struct wire_head head = { .status = status, .headers = headers, .body_bytes = body_bytes };
    s->mute = s->is_head_request || status == 204 || status == 304;
    s->head_queued = true;
    s->out_left = body_bytes;
    s->wire->ops->respond(s, &head);
    wire_kick(s->wire);
}

void stream_upgrade(struct stream *s, struct str protocol, struct http_headers headers)
{
    assert(s->wire->ops->upgrade && s->in_done && s->end_told && !s->head_queued);
    s->head_queued = s->upgraded = true;
    s->in_done = false;
    s->wire->ops->upgrade(s, protocol, headers);
    wire_kick(s->wire);
}

struct str stream_out(const struct stream *s)
{
    if (s->whole.len || !s->out.len)
        return s->whole;
    return (struct str){ s->out.ptr + s->out_at, s->out.len - s->out_at };
}

void stream_out_eat(struct stream *s, size_t count)
{
    s->active_ms = env_mono_ms(s->wire->env);
    if (s->whole.len) {
        s->whole = (struct str){ s->whole.ptr + count, s->whole.len - count };
    } else {
        s->out_at += count;
        s->wire->out_bytes -= count;
        if (s->out_at == s->out.len) {
            buf_done(&s->out);
            s->out_at = 0;
        } else if (s->out_at >= STREAM_OUT_HIGH) {
            buf_eat(&s->out, s->out_at);
            s->out_at = 0;
        }
    }
    if (s->out_full && stream_out(s).len <= STREAM_OUT_LOW) {
        s->out_full = false;
        s->drain_due = s->wire->drain_due = true;
        wire_kick(s->wire);
    }
}

bool stream_write(struct stream *s, struct str bytes)
{
    assert(s->head_queued && !s->out_finished);
    if (s->mute || bytes.len == 0)
        return !s->out_full;
    if (s->out_left >= 0) {
        assert((int64_t)bytes.len <= s->out_left); /* more than announced */
        s->out_left -= (int64_t)bytes.len;
    }
    buf_add(&s->out, bytes.ptr, bytes.len);
    s->wire->out_bytes += bytes.len;
    if (s->wire->out_bytes > WIRE_OUT_MAX && s->wire->config.is_server)
        wire_fail(s->wire, ERR_TOO_LARGE, "the client takes no answer and asks for more");
    s->out_full = s->out_full || stream_out(s).len >= STREAM_OUT_HIGH;
    s->wire->ops->wake(s);
    wire_kick(s->wire);
    return !s->out_full;
}

void stream_finish(struct stream *s)
{
    assert(s->head_queued && !s->out_finished);
    assert(s->mute || s->out_left <= 0); /* less than announced */
    s->out_finished = true;
    s->wire->ops->wake(s);
    wire_kick(s->wire);
}

void stream_send_whole(struct stream *s, struct str body)
{
    assert(s->head_queued && !s->out_finished && s->out_left == (int64_t)body.len);
    s->whole = body;
    s->out_finished = true;
    wire_kick(s->wire);
}

void stream_ask_more(struct stream *s)
{
    s->drain_due = s->wire->drain_due = true;
    wire_kick(s->wire);
}

void stream_pause(struct stream *s)
{
    s->paused = true;
    wire_kick(s->wire);
}

void stream_resume(struct stream *s)
{
    s->paused = false;
    s->wire->resume_due = true;
    s->active_ms = env_mono_ms(s->wire->env);
    wire_kick(s->wire);
}

void stream_detach(struct stream *s)
{
    s->on = NULL;
    s->paused = false;
    wire_kick(s->wire);
    s->wire->ops->dropped(s);
}

size_t stream_buffered(const struct stream *s)
{
    return stream_out(s).len + s->held.len;
}
