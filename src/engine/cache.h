#pragma once

/* The engine's memory of the cluster: of each watched object only what some kind reads, and which
 * of its fields are ours. Objects are immutable packs; a change replaces the pack.
 *
 *   cache
 *     └─ cache_resource     one a watched resource: what to keep, the schema, how far the watch is
 *          └─ cache_entry   one an object
 *
 * Two sources feed it: the watch, and the answers to our own writes, so that a decision never rests
 * on a state older than our own last write. An answer counts only while the watch has not passed
 * its version, or if it is newer than the object that is there; a watch event counts only if it is
 * newer than what is there. Versions are compared as numbers, which Kubernetes permits within one
 * resource. */

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
    const char *controller_uid; /* of cluster scope: plan_owner_id(); "" if nobody controls it */
    const char *label;          /* value of the resource's indexed label; NULL: not there */
    const char *unreadable;     /* why the object could not be read; NULL: it could */
    struct pack *kept;          /* what kinds read; NULL: nothing besides */
    struct pack *owned;         /* fields of ours; of a kind of ours: its status; NULL: none */
    uint64_t version;
    uint32_t round; /* of the last relist that has seen it */
    bool deleting;  /* has a deletionTimestamp, or is a child that we told to go */
    bool exact;     /* `owned` is just what an apply of ours stored */
    bool shared;    /* what kinds read is partly in `owned`, and not in `kept` again */
    bool upstream;  /* carries fields of a manager that we take over from */
    char texts[];
};

/* An object that an answer told to be gone: what the watch still says of it is older. */
struct cache_grave {
    struct cache_grave *next;
    uint64_t version; /* the last that was known */
    uint32_t round;   /* of the last relist that has seen it */
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
    const char *subresource;    /* whose fields `owned` holds: "", or "status" for our kinds */
    bool child;
    bool own_kind;
    bool keeps_apart; /* a kind of ours that takes nothing over: kind.shares_status */
    bool optional;
    bool synced;      /* the first list is complete */
    bool missing;     /* the API server does not offer it */
    uint64_t version; /* the watch has delivered everything up to here */
    uint32_t round;
    struct table table;
    struct table index;
    struct order *orders; /* NULL: nothing asked for one */
    struct cache_grave *graves;
    struct write *writes; /* of its objects, in flight: write_begin() */
    struct cache_resource *next;
};

struct cache {
    struct strings strings;
    struct table owners;
    struct cache_resource *first;
    const char *manager;             /* our field manager */
    const char *const *predecessors; /* managers we take over from, NULL-terminated */
    uint64_t seed[2];
    size_t count;
    /* The place of an object in an order is another one now; must not change the cache. NULL:
     * nothing wants to know. */
    void (*moved)(void *ctx, const struct cache_entry *entry);
    void *moved_ctx;
};

void cache_init(struct cache *c, const char *manager, const char *const *predecessors,
    uint64_t seed0, uint64_t seed1);
void cache_done(struct cache *c);

/* Finds or adds. Watches of several kinds on one resource are united. */
struct cache_resource *cache_watch(struct cache *c, const struct kind_watch *watch);
struct cache_resource *cache_resource_of(const struct cache *c, const struct resource *r);

enum cache_change {
    CACHE_SAME, /* nothing that anybody reads changed, or the event is older than what is there */
    CACHE_NEW,
    CACHE_CHANGED,
    CACHE_GONE,
};

/* Where an object comes from. */
enum cache_origin { CACHE_FROM_WATCH, CACHE_FROM_ANSWER };

/* Takes an object in. An object without name or version is refused with CACHE_SAME. ret_entry is
 * set unless the result is CACHE_SAME and there is none. */
enum cache_change cache_put(struct cache_resource *r, struct json object, enum cache_origin origin,
    struct cache_entry **ret_entry);
/* The same of an object of which only this could be read, and why not the rest. */
enum cache_change cache_put_unreadable(
    struct cache_resource *r, struct json object, const char *why, struct cache_entry **ret_entry);
/* It is gone. The entry is freed: callers that need it look before. */
enum cache_change cache_delete(struct cache_resource *r, struct cache_entry *entry);

/* Before cache_delete(), when an answer says that it is gone: cache_put() refuses this uid from now
 * on, until the watch says so too (cache_grave_done) or a list (cache_graves_clear) that has this
 * version does not name it in the present round. */
void cache_bury(const struct cache_entry *entry);
void cache_grave_done(struct cache_resource *r, const char *uid);
void cache_graves_clear(struct cache_resource *r, uint64_t version);

struct cache_entry *cache_find(const struct cache_resource *r, const char *ns, const char *name);
/* The entry, if it is in this version or a later one; else NULL. */
struct cache_entry *cache_known(
    const struct cache_resource *r, const struct stream_identity *id, uint64_t *ret_version);
struct json cache_read(struct arena *a, const struct cache_entry *entry);
struct json cache_read_owned(struct arena *a, const struct cache_entry *entry); /* absent: none */

/* All that match, sorted by namespace and name. namespace NULL: all. label: a value of the indexed
 * label, or NULL: all. */
struct cache_entry **cache_list(struct arena *a, const struct cache_resource *r, const char *ns,
    const char *label, size_t *ret_count);
/* All whose controller has this uid. */
struct cache_entry **cache_children(
    struct arena *a, const struct cache *c, const char *uid, size_t *ret_count);

/* resourceVersion as a number; 0 if it is none. */
uint64_t cache_version(struct json object);
