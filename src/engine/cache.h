#pragma once

/* The engine's memory of the cluster: for each watched object, the fields that some kind reads and
 * the fields that we own. Objects are immutable packs; a change replaces the pack.
 *
 *   cache
 *     └─ cache_resource     one per resource: what to keep, the schema, how far the watch is
 *          └─ cache_entry   one per object
 *
 * Two sources feed it: the watch, and the responses to our own writes, so that no decision is based
 * on a state older than our last write. A response is stored only if the watch has not passed its
 * version yet, or if it is newer than the cached object. A watch event is stored only if it is
 * newer than the cached object. Versions are compared as numbers, which Kubernetes permits within
 * one resource. */

#include "base/json.h"
#include "base/pack.h"
#include "base/table.h"

struct order;
struct write;
struct resource;
struct schema;
struct kind_watch;
struct stream_identity;

struct cache_entry {
    struct table_node node;       /* in its resource, by namespace and name */
    struct table_node owner_node; /* in the cache, by controller uid; only if it has one */
    struct table_node index_node; /* in its resource, by namespace and indexed label */
    struct cache_resource *resource;
    const char *ns; /* "" for cluster scope */
    const char *name;
    const char *uid;
    const char *controller_uid; /* cluster-scoped: plan_owner_id(); "" without a controller */
    const char *label;          /* value of the resource's indexed label; NULL: not set */
    const char *unreadable;     /* why the object could not be read; NULL: it was read */
    struct pack *kept;          /* the fields that kinds read; NULL: nothing else */
    struct pack *owned; /* the fields that we own; for our own kinds, its status; NULL: none */
    uint64_t version;
    uint32_t round; /* the last relist that has seen it */
    bool deleting;  /* has a deletionTimestamp, or is a child that we deleted */
    bool exact;     /* `owned` is exactly what our apply stored */
    bool shared;    /* some fields that kinds read are only in `owned`, not in `kept` */
    bool upstream;  /* has fields of a manager that we take over from */
    char texts[];
};

/* An object that is gone according to a response. Older watch events about it are ignored. */
struct cache_grave {
    struct cache_grave *next;
    uint64_t version; /* the last known version */
    uint32_t round;   /* the last relist that has seen it */
    char uid[];
};

struct cache_resource {
    struct cache *cache;
    const struct resource *resource;
    const struct schema *schema; /* NULL: not known yet */
    const char **keep;           /* dotted paths, NULL-terminated */
    size_t keep_count;
    const char *label_selector; /* NULL: all objects */
    const char *index_label;    /* NULL: none */
    const char *subresource; /* the one whose fields `owned` holds: "", or "status" for our kinds */
    bool child;
    bool own_kind;
    bool keeps_apart; /* one of our kinds that adopts nothing: kind.shares_status */
    bool optional;
    bool synced;      /* the first list is complete */
    bool missing;     /* the API server does not offer it */
    uint64_t version; /* the watch has delivered everything up to here */
    uint32_t round;
    struct table table;
    struct table index;
    struct order *orders; /* NULL: none was requested */
    struct cache_grave *graves;
    struct write *writes; /* in-flight writes of its objects: write_begin() */
    struct cache_resource *next;
};

struct cache {
    struct strings strings;
    struct table owners;
    struct cache_resource *first;
    const char *manager;             /* our field manager */
    const char *const *predecessors; /* managers that we take over from, NULL-terminated */
    uint64_t seed[2];
    size_t count;
    /* The place of an object in an order has changed. Must not change the cache. May be NULL. */
    void (*moved)(void *ctx, const struct cache_entry *entry);
    void *moved_ctx;
};

void cache_init(struct cache *c, const char *manager, const char *const *predecessors,
    uint64_t seed0, uint64_t seed1);
void cache_done(struct cache *c);

/* Finds or adds the resource. Watches of several kinds on one resource are merged. */
struct cache_resource *cache_watch(struct cache *c, const struct kind_watch *watch);
struct cache_resource *cache_resource_of(const struct cache *c, const struct resource *r);

enum cache_change {
    CACHE_SAME, /* no field that a kind reads changed, or the event is older than the cache */
    CACHE_NEW,
    CACHE_CHANGED,
    CACHE_GONE,
};

/* Where an object comes from. */
enum cache_origin { CACHE_FROM_WATCH, CACHE_FROM_ANSWER };

/* Stores an object. An object without name or version is refused with CACHE_SAME. ret_entry is set
 * unless the result is CACHE_SAME and there is no entry. */
enum cache_change cache_put(struct cache_resource *r, struct json object, enum cache_origin origin,
    struct cache_entry **ret_entry);
/* The same for an object that could only partly be read; `why` says why. */
enum cache_change cache_put_unreadable(
    struct cache_resource *r, struct json object, const char *why, struct cache_entry **ret_entry);
/* The object is gone. Frees the entry, so callers that need it must look before. */
enum cache_change cache_delete(struct cache_resource *r, struct cache_entry *entry);

/* Called before cache_delete() when a response says that the object is gone. From then on
 * cache_put() refuses this uid, until the watch reports the deletion (cache_grave_done), or until a
 * list that has this version does not contain the object in the current round
 * (cache_graves_clear). */
void cache_bury(const struct cache_entry *entry);
void cache_grave_done(struct cache_resource *r, const char *uid);
void cache_graves_clear(struct cache_resource *r, uint64_t version);

struct cache_entry *cache_find(const struct cache_resource *r, const char *ns, const char *name);
/* The entry, if it has this version or a later one; else NULL. */
struct cache_entry *cache_known(
    const struct cache_resource *r, const struct stream_identity *id, uint64_t *ret_version);
struct json cache_read(struct arena *a, const struct cache_entry *entry);
struct json cache_read_owned(struct arena *a, const struct cache_entry *entry); /* absent: none */

/* All matching entries, sorted by namespace and name. namespace NULL: all. label: a value of the
 * indexed label, or NULL for all. */
struct cache_entry **cache_list(struct arena *a, const struct cache_resource *r, const char *ns,
    const char *label, size_t *ret_count);
/* All entries whose controller has this uid. */
struct cache_entry **cache_children(
    struct arena *a, const struct cache *c, const char *uid, size_t *ret_count);

/* resourceVersion as a number; 0 if it is not a number. */
uint64_t cache_version(struct json object);
