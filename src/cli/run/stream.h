#pragma once

/* The answer of an OpenAI-compatible server as it comes in: server-sent events with a piece of the
 * text each. Pure. */

#include "base/arena.h"
#include "base/error.h"
#include "http/sse.h"

struct stream {
    /* thought: what a model that reasons says to itself. */
    void (*piece)(void *ctx, const char *text, bool thought);
    void *ctx;
    struct sse_reader reader;
    bool done; /* the server said that this was all */
    bool cut;  /* the server stopped at a limit of tokens */
};

void stream_init(
    struct stream *s, void (*piece)(void *ctx, const char *text, bool thought), void *ctx);
void stream_done(struct stream *s);
/* Fails with the server's words if it sent an error. */
bool stream_feed(struct stream *s, struct str bytes, struct error *err) must_check;
/* The message of an answer that is an error: OpenAI's form, else the beginning of the text. */
const char *stream_error_text(struct arena *a, struct str body);
