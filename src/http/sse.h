#pragma once

/* Server-sent events (WHATWG HTML, 9.2): an incremental reader and a writer.
 *
 *   while (sse_read(&reader, &bytes, &event))      consumes *bytes; false: all consumed, or failed
 *       handle(&event);
 *   if (sse_failed(&reader)) …
 *
 * Lines may end in CR, LF or CRLF, and a byte order mark at the beginning is skipped. An event that
 * is not completed by a blank line is never delivered. A reader holds no memory between complete
 * events. */

#include "base/buf.h"
#include "base/str.h"

struct sse_event {
    struct str type;  /* "message" unless the event says otherwise */
    struct str data;  /* lines joined by \n */
    struct str id;    /* the last id of the stream; empty: none */
    bool has_id;      /* the id is in this event */
    int64_t retry_ms; /* -1: not given */
};

struct sse_reader {
    size_t limit; /* for one event and for one line */
    struct buf line, data, type, id;
    struct str first; /* the only data line so far, still in the input */
    size_t data_lines;
    int64_t retry_ms;
    bool has_id;
    bool handed_out; /* the last event was delivered; the next call clears it */
    bool after_cr, begun, failed;
    uint8_t bom; /* bytes of it that were read */
};

void sse_reader_init(struct sse_reader *r, size_t event_bytes_max);
void sse_reader_done(struct sse_reader *r);
/* The next complete event, valid until the next call. An event beyond the limit is an error and
 * ends the reading. */
bool sse_read(struct sse_reader *r, struct str *bytes, struct sse_event *ret) must_check;
static inline bool sse_failed(const struct sse_reader *r)
{
    return r->failed;
}
/* True if an event is incomplete: a stream that ends now was cut. */
bool sse_inside_event(const struct sse_reader *r);

/* An event without an id and with the default type has only data lines. retry_ms <= 0 is omitted.
 * Line ends in type and id are dropped, because they would begin another field. */
void sse_write(struct buf *to, const struct sse_event *event);
/* Writes a line that readers ignore, to keep a connection alive. */
void sse_write_comment(struct buf *to, struct str text);
