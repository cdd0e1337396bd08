#pragma once

/* The store's recent changes: for watchers, for paged lists, and for rolling back a failed commit.
 * Only for store.c and store_events.c. */

#include "apiserver/store/store.h"

/* In two lists: all changes by version, and those of one table. */
struct store_change {
    struct store_event event;
    struct store_table *table;
    struct store_change *older, *newer; /* of the same table */
    struct store_change *next, *last;   /* of all */
    uint64_t newer_than;                /* the previous version of the table */
    int64_t at_ms;
};

/* An object at an older version; object NULL: it did not exist. */
struct store_past {
    const struct store_object *object;
    const char *ns, *name;
    uint64_t version; /* of the change that ended it */
};

struct store_table {
    struct store *store;
    char *name;
    const struct store_object **objects; /* sorted */
    size_t count, size;
    uint64_t shape;   /* incremented when objects move */
    uint64_t version; /* of the newest change */
    struct store_change *oldest, *newest;
    struct store_watch *watches;
    /* The differences between an older version and now, sorted: see store_next_at(). */
    struct {
        uint64_t at, of; /* the older version, and the table's version when it was built */
        struct store_past *items;
        size_t count;
    } overlay;
};

struct store {
    const struct env *env;
    const struct store_disk *disk;
    struct store_table **tables; /* sorted by name */
    size_t table_count;
    uint64_t version, flushed;
    uint64_t oldest;    /* older versions are forgotten */
    uint64_t compacted; /* up to this version they are deleted from the disk, too */
    struct error broken;
    void (*undone)(void *ctx, const struct store_event *event);
    void *undone_ctx;
    struct store_change *first_change, *last_change;
    size_t change_count, change_bytes;
    struct store_watch *watches; /* for all tables */
    struct timer aging;
    uint64_t history_ms;
    size_t history_count, history_bytes;
};

void store_events_init(struct store *s);
void store_events_done(struct store *s);
/* Takes over one reference to each object. */
void store_events_add(struct store *s, struct store_table *t, const struct store_object *object,
    const struct store_object *before, bool gone);
struct store_change *store_events_last(const struct store *s);
void store_events_drop_last(struct store *s);
/* Notifies watchers of the changes after this version. */
void store_events_tell(struct store *s, uint64_t after);
/* Drops changes that are too old or too many, but none that is not flushed. */
void store_events_forget(struct store *s);
