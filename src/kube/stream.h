#pragma once

/* Splits responses into objects while they arrive, so that memory holds one object and not a page.
 * A watch is one JSON value per line; a list is a JSON object with an array `items`.
 *
 * Chunks may be cut anywhere. An object inside one chunk is passed on without a copy. If an object
 * exceeds the limit, its beginning is passed on, with `cut` set. */

#include "base/buf.h"

/* Returns false to skip the rest of this chunk (the call was cancelled). */
struct stream_target {
    bool (*piece)(void *ctx, struct str text, bool cut);
    void *ctx;
};

/* ---- lines ---- */

struct stream_lines {
    struct buf part; /* the beginning of a line, from earlier chunks */
    bool cut;
};
void stream_lines_init(struct stream_lines *l, size_t line_bytes_max);
void stream_lines_done(struct stream_lines *l);
/* Drops the partial line. */
void stream_lines_reset(struct stream_lines *l);
/* Empty lines are skipped. */
void stream_lines_feed(struct stream_lines *l, struct str chunk, struct stream_target to);

/* ---- items of a list ---- */

struct stream_items {
    struct buf part;     /* the beginning of an item */
    struct buf envelope; /* everything except the items: `{"kind":…,"items":[]}` */
    bool cut;
    bool in_string, escaped;
    bool in_items; /* inside the top-level array `items` */
    int64_t depth;
    char key[8]; /* the last text at the top level, if short */
    size_t key_len;
};
void stream_items_init(struct stream_items *s, size_t item_bytes_max);
void stream_items_done(struct stream_items *s);
void stream_items_reset(struct stream_items *s);
void stream_items_feed(struct stream_items *s, struct str chunk, struct stream_target to);

/* ---- identifying an object that cannot be parsed as a whole ---- */

struct stream_identity {
    const char *event; /* type of a watch event */
    const char *ns, *name, *uid, *version;
};
/* Reads metadata (of `object`, in a watch event) from text that may be incomplete or invalid. */
struct stream_identity stream_identify(struct arena *a, struct str text, bool is_event);
/* The text with {} and [] in place of maps and lists nested deeper than depth_max. */
struct str stream_flatten(struct arena *a, struct str text, int64_t depth_max);
