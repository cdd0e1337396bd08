#pragma once

/* Parses the streamed answer of an OpenAI-compatible server: server-sent events, each with a piece
 * of the text. Pure. */

#include "base/arena.h"
#include "base/error.h"
#include "http/sse.h"

struct stream {
    /* thought: part of a reasoning model's thoughts, not of its answer */
    void (*piece)(void *ctx, const char *text, bool thought);
    void *ctx;
    struct sse_reader reader;
    bool done; /* the server reported the end of the answer */
    bool cut;  /* the server stopped at a token limit */
};

void stream_init(
    struct stream *s, void (*piece)(void *ctx, const char *text, bool thought), void *ctx);
void stream_done(struct stream *s);
/* Fails with the server's message if it sent an error. */
bool stream_feed(struct stream *s, struct str bytes, struct error *err) must_check;
/* The message of an error answer in OpenAI's format, or else the beginning of its text. */
const char *stream_error_text(struct arena *a, struct str body);
