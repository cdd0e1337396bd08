#pragma once

/* The objects of an API server: by table, namespace and name, with one counter of versions over all
 * of them, and the last changes for those who watch.
 *
 * Everything is held in memory as the JSON text that a client gets, so reading is copying. A disk
 * (store_sqlite.h) may be behind it; then what was written counts when store_flush() says so:
 *
 *   store_write() …, store_write() …      seen by reads at once, on the disk not yet
 *   store_flush()                         one commit for all of them; then watchers are told
 *
 * so a caller that answers a client, a reader too, waits for the flush. When a flush fails,
 * everything since the last one is undone and its versions are not given again.
 *
 * There is one caller at a time and nothing happens between a read and the write that follows it:
 * preconditions are the caller's, who needs no lock for them. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timer.h"

struct store;
struct store_table; /* lives as long as the store */

/* Immutable and counted: a caller that keeps one past the next write holds it. */
struct store_object {
    const struct store_table *table;
    uint64_t version;
    const char *ns; /* "" for cluster-scoped ones */
    const char *name;
    struct str text; /* compact JSON with metadata.resourceVersion in it; NUL behind it */
    uint32_t references;
};
void store_object_hold(const struct store_object *o);
void store_object_release(const struct store_object *o); /* takes NULL */

struct store_event {
    uint64_t version;
    const struct store_object *object; /* the new state; when gone, the last one */
    const struct store_object *before; /* NULL: it was created */
    bool gone;
};

/* ---- the disk behind it ---- */

struct store_row {
    const char *table, *ns, *name;
    uint64_t version;
    bool gone;
    struct str text;
};

struct store_disk {
    /* Sets *since, the version from which on its history is whole, then hands out all changes that
     * the disk still has, by version, then sets *last, the last version given. */
    bool (*load)(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
        uint64_t *since, uint64_t *last, struct error *err);
    /* Into the transaction that is open; opens one. */
    bool (*write)(void *self, const struct store_row *row, struct error *err);
    bool (*commit)(void *self, struct error *err);
    void (*rollback)(void *self);
    /* Forgets changes up to this version, except the last one of each object that is there. */
    bool (*compact)(void *self, uint64_t up_to, struct error *err);
    void *self;
};

/* Zero means the default that is beside. */
struct store_options {
    const struct store_disk *disk; /* NULL: memory alone */
    uint64_t history_ms;           /* changes older than this are forgotten; 5 minutes */
    size_t history_count;          /* and beyond this number; 100,000 */
    size_t history_bytes;          /* and beyond these bytes of texts; 64 MiB */
};

/* env's clock ages the history. */
struct store *store_new(
    const struct env *env, const struct store_options *options, struct error *err) must_check;
void store_free(struct store *s); /* nothing watches any more */

/* The table of this name ("apps/deployments", "/pods"), made when it is asked for first. */
struct store_table *store_table(struct store *s, const char *name);
const char *store_table_name(const struct store_table *t);
size_t store_table_count(const struct store_table *t);
/* Every table that was ever asked for or loaded, in order of name. */
struct store_table *store_table_next(struct store *s, const struct store_table *after);

/* ---- reading ---- */

/* The version of the newest change; 1 in a new store. */
uint64_t store_version(const struct store *s);
/* Versions below this one cannot be watched from any more. */
uint64_t store_oldest(const struct store *s);
/* Valid until the next write; NULL: not there. */
const struct store_object *store_get(const struct store_table *t, const char *ns, const char *name);

/* In order of namespace and name:
 *
 *   struct store_cursor c = { .namespace = NULL for all };
 *   while ((o = store_next(t, &c))) …
 *
 * The table may change between two calls: what is there then is met, nothing twice. */
struct store_cursor {
    const char *ns;         /* NULL: all */
    const char *after_ns;   /* the place that was reached; both NULL: the beginning */
    const char *after_name; /* borrowed: of the last object met, held by the caller if need be */
    /* the store's own: where that was, while nothing came or went since */
    size_t index;
    uint64_t shape;
};
const struct store_object *store_next(const struct store_table *t, struct store_cursor *c);
/* The same as it was at an older version, for lists that are read in pieces. Fails with ERR_GONE if
 * that version is below store_oldest(); *ret NULL: no more. */
bool store_next_at(const struct store_table *t, struct store_cursor *c, uint64_t version,
    const struct store_object **ret, struct error *err) must_check;

/* ---- writing ---- */

/* The version that the next write will have: it belongs into the text. */
uint64_t store_next_version(const struct store *s);
/* Creates, replaces or, with gone, removes; the text is copied and is the last state then. Returns
 * the object as stored. Fails when the disk does; the caller then answers with the error, and goes
 * on: the store is as it was. */
const struct store_object *store_write(struct store *s, struct store_table *t, const char *ns,
    const char *name, struct str text, bool gone, struct error *err) must_check;
bool store_is_dirty(const struct store *s);
bool store_flush(struct store *s, struct error *err) must_check;
/* Told of each change that a failed flush undid, newest first; NULL: nobody. It must not write. */
void store_set_undone(
    struct store *s, void (*undone)(void *ctx, const struct store_event *event), void *ctx);
/* Whether this table has changes that are not flushed. */
bool store_table_is_dirty(const struct store *s, const struct store_table *t);

/* ---- watching ---- */

struct store_watch {
    void (*event)(void *ctx, const struct store_event *event);
    void *ctx;
    /* the store's own */
    struct store_watch *next, **link;
};
/* What is flushed from now on. event() may stop its own watch, and must not write. */
void store_watch_start(struct store_table *t, struct store_watch *w);
/* The same for all tables, those to come too. */
void store_watch_start_all(struct store *s, struct store_watch *w);
void store_watch_stop(struct store_watch *w); /* also one that was never started */
/* Hands out the flushed changes of a table after this version, oldest first. ERR_GONE if they are
 * no longer known. */
bool store_history(const struct store_table *t, uint64_t after,
    void (*event)(void *ctx, const struct store_event *event), void *ctx,
    struct error *err) must_check;
