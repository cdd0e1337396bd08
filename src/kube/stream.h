#pragma once

/* Cutting answers into objects while they arrive, so that memory holds one object and not a page:
 * a watch is one JSON value a line, a list is a JSON object with an array `items`.
 *
 * Chunks may be cut anywhere. A piece that is in one chunk is handed on from there, without a
 * copy. A piece larger than the limit is handed on with what fits and `cut` set. */

#include "base/buf.h"

/* Returns false to hear no more of this chunk (the call was cancelled). */
struct stream_target {
    bool (*piece)(void *ctx, struct str text, bool cut);
    void *ctx;
};

/* ---- lines ---- */

struct stream_lines {
    struct buf part; /* a line's beginning, from earlier chunks */
    bool cut;
};
void stream_lines_init(struct stream_lines *l, size_t line_bytes_max);
void stream_lines_done(struct stream_lines *l);
/* Forgets the part. */
void stream_lines_reset(struct stream_lines *l);
/* Empty lines are passed over. */
void stream_lines_feed(struct stream_lines *l, struct str chunk, struct stream_target to);

/* ---- items of a list ---- */

struct stream_items {
    struct buf part;     /* an item's beginning */
    struct buf envelope; /* everything but the items: `{"kind":…,"items":[]}` */
    bool cut;
    bool in_string, escaped;
    bool in_items; /* inside the array of that name at the top */
    int64_t depth;
    char key[8]; /* the last text at the top level, if short */
    size_t key_len;
};
void stream_items_init(struct stream_items *s, size_t item_bytes_max);
void stream_items_done(struct stream_items *s);
void stream_items_reset(struct stream_items *s);
void stream_items_feed(struct stream_items *s, struct str chunk, struct stream_target to);

/* ---- who an object is, when it cannot be read as a whole ---- */

struct stream_identity {
    const char *event; /* type of a watch event */
    const char *ns, *name, *uid, *version;
};
/* Looks at metadata (of `object`, in a watch event) in text that need not be whole nor right. */
struct stream_identity stream_identify(struct arena *a, struct str text, bool is_event);
/* The text with {} and [] for the maps and lists that lie deeper than so many levels. */
struct str stream_flatten(struct arena *a, struct str text, int64_t depth_max);
