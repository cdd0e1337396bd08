#pragma once

/* Server-sent events (WHATWG HTML, 9.2): a reader that takes bytes in any pieces, and a writer.
 *
 *   while (sse_read(&reader, &bytes, &event))      eats *bytes; false: all eaten, or it failed
 *       handle(&event);
 *   if (sse_failed(&reader)) …
 *
 * Lines may end in CR, LF or CRLF, and a byte order mark at the beginning is skipped. An event that
 * the stream does not complete with a blank line is never handed out. Between events a reader that
 * has seen whole events holds no memory. */

#include "base/buf.h"
#include "base/str.h"

struct sse_event {
    struct str type;  /* "message" unless the event says otherwise */
    struct str data;  /* lines joined by \n */
    struct str id;    /* the last id of the stream; empty: none */
    bool has_id;      /* this event gave it */
    int64_t retry_ms; /* -1: not given */
};

struct sse_reader {
    size_t limit; /* of one event and of one line */
    struct buf line, data, type, id;
    struct str first; /* the only data line so far, still in the input */
    size_t data_lines;
    int64_t retry_ms;
    bool has_id;
    bool handed_out; /* the last event was; the next call forgets it */
    bool after_cr, begun, failed;
    uint8_t bom; /* bytes of it that were seen */
};

void sse_reader_init(struct sse_reader *r, size_t event_bytes_max);
void sse_reader_done(struct sse_reader *r);
/* The next whole event, valid until the next call. An event beyond the limit ends the reading. */
bool sse_read(struct sse_reader *r, struct str *bytes, struct sse_event *ret) must_check;
static inline bool sse_failed(const struct sse_reader *r)
{
    return r->failed;
}
/* True if bytes of an unfinished event have been taken: a stream that ends now was cut. */
bool sse_inside_event(const struct sse_reader *r);

/* An event that has neither an id nor a type of its own has only data lines. retry_ms <= 0 is left
 * out. Line ends inside type and id are dropped: they would begin another field. */
void sse_write(struct buf *to, const struct sse_event *event);
/* A line that readers ignore: keeps a connection alive. */
void sse_write_comment(struct buf *to, struct str text);
