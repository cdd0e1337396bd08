#pragma once

/* The objects of an API server: by table, namespace and name, with one counter of versions over all
 * of them, and the last changes for watchers.
 *
 * Everything is in memory as the JSON text for clients, so reading is copying. With a disk
 * (store_sqlite.h), writes are durable when store_flush() succeeds:
 *
 *   store_write() …, store_write() …      visible to reads at once, but not on the disk yet
 *   store_flush()                         one commit for all of them; then watchers are notified
 *
 * So responses to clients, also to readers, must wait for the flush. If a flush fails, everything
 * since the last one is rolled back, and its versions are not reused.
 *
 * There is only one caller at a time, and nothing happens between a read and the following write.
 * So callers check preconditions themselves, without locks. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timer.h"

struct store;
struct store_table; /* lives as long as the store */

/* Immutable, with a reference count: to keep one beyond the next write, hold it. */
struct store_object {
    const struct store_table *table;
    uint64_t version;
    const char *ns; /* "" for cluster-scoped ones */
    const char *name;
    struct str text; /* compact JSON with metadata.resourceVersion, followed by a NUL */
    uint32_t references;
};
void store_object_hold(const struct store_object *o);
void store_object_release(const struct store_object *o); /* NULL is allowed */

struct store_event {
    uint64_t version;
    const struct store_object *object; /* the new state; if deleted, the last one */
    const struct store_object *before; /* NULL: it was created */
    bool gone;
};

/* ---- the disk ---- */

struct store_row {
    const char *table, *ns, *name;
    uint64_t version;
    bool gone;
    struct str text;
};

struct store_disk {
    /* Sets *since, the version from which the history is complete; then passes all stored changes
     * to row(), by version; then sets *last, the last used version. */
    bool (*load)(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
        uint64_t *since, uint64_t *last, struct error *err);
    /* Adds to the open transaction; opens one if necessary. */
    bool (*write)(void *self, const struct store_row *row, struct error *err);
    bool (*commit)(void *self, struct error *err);
    void (*rollback)(void *self);
    /* Deletes changes up to this version, except the last one of each existing object. */
    bool (*compact)(void *self, uint64_t up_to, struct error *err);
    void *self;
};

/* Zero means the default at the end of each comment. */
struct store_options {
    const struct store_disk *disk; /* NULL: memory only */
    uint64_t history_ms;           /* changes older than this are forgotten; 5 minutes */
    size_t history_count;          /* and beyond this number; 100,000 */
    size_t history_bytes;          /* and beyond this size of texts; 64 MiB */
};

/* The history expires by env's clock. */
struct store *store_new(
    const struct env *env, const struct store_options *options, struct error *err) must_check;
void store_free(struct store *s); /* all watches must have been stopped */

/* The table of this name ("apps/deployments", "/pods"); created on first use. */
struct store_table *store_table(struct store *s, const char *name);
const char *store_table_name(const struct store_table *t);
size_t store_table_count(const struct store_table *t);
/* All tables that were used or loaded, by name. */
struct store_table *store_table_next(struct store *s, const struct store_table *after);

/* ---- reading ---- */

/* The version of the newest change; 1 in a new store. */
uint64_t store_version(const struct store *s);
/* Watches cannot start at versions below this one. */
uint64_t store_oldest(const struct store *s);
/* Valid until the next write; NULL: not found. */
const struct store_object *store_get(const struct store_table *t, const char *ns, const char *name);

/* In order of namespace and name:
 *
 *   struct store_cursor c = { .namespace = NULL for all };
 *   while ((o = store_next(t, &c))) …
 *
 * The table may change between two calls: existing objects are returned, none twice. */
struct store_cursor {
    const char *ns;         /* NULL: all */
    const char *after_ns;   /* position reached so far; both NULL: the start */
    const char *after_name; /* borrowed from the last object, which must be held */
    /* private: index of that position, valid while no object was added or removed */
    size_t index;
    uint64_t shape;
};
const struct store_object *store_next(const struct store_table *t, struct store_cursor *c);
/* The same for an older version, for paged lists. Fails with ERR_GONE if that version is below
 * store_oldest(); *ret NULL: no more. */
bool store_next_at(const struct store_table *t, struct store_cursor *c, uint64_t version,
    const struct store_object **ret, struct error *err) must_check;

/* ---- writing ---- */

/* The version of the next write, which its text must contain. */
uint64_t store_next_version(const struct store *s);
/* Creates, replaces or, with gone, deletes an object; the text is copied, and is the last state of
 * a deleted object. Returns the stored object. Fails if the disk fails; then the caller reports the
 * error and continues, because the store is unchanged. */
const struct store_object *store_write(struct store *s, struct store_table *t, const char *ns,
    const char *name, struct str text, bool gone, struct error *err) must_check;
bool store_is_dirty(const struct store *s);
bool store_flush(struct store *s, struct error *err) must_check;
/* Called for each change that a failed flush rolled back, newest first; may be NULL. It must not
 * write. */
void store_set_undone(
    struct store *s, void (*undone)(void *ctx, const struct store_event *event), void *ctx);
/* Whether this table has unflushed changes. */
bool store_table_is_dirty(const struct store *s, const struct store_table *t);

/* ---- watching ---- */

struct store_watch {
    void (*event)(void *ctx, const struct store_event *event);
    void *ctx;
    /* private */
    struct store_watch *next, **link;
};
/* Watches changes that are flushed from now on. event() may stop its own watch, but must not
 * write. */
void store_watch_start(struct store_table *t, struct store_watch *w);
/* The same for all tables, including future ones. */
void store_watch_start_all(struct store *s, struct store_watch *w);
void store_watch_stop(struct store_watch *w); /* may be called for a watch that was not started */
/* Returns the flushed changes of a table after this version, oldest first. ERR_GONE if they are not
 * known any more. */
bool store_history(const struct store_table *t, uint64_t after,
    void (*event)(void *ctx, const struct store_event *event), void *ctx,
    struct error *err) must_check;
