#pragma once

/* Splits a stream of bytes into lines: the framing of MCP over standard streams, where each message
 * is one line of JSON. */

#include "base/buf.h"

struct lines {
    struct buf rest; /* an incomplete line */
};

static inline void lines_init(struct lines *l, size_t line_bytes_max)
{
    buf_init(&l->rest, line_bytes_max);
}
static inline void lines_done(struct lines *l)
{
    buf_done(&l->rest);
}
/* Calls line() for each line, without "\n" or "\r\n"; blank lines are skipped. line() must not free
 * the reader. False: a line exceeds the limit. */
bool lines_feed(struct lines *l, struct str bytes, void (*line)(void *ctx, struct str line),
    void *ctx) must_check;
