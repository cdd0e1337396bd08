#pragma once

/* What the files of the engine share. No other file includes it. */

#include "base/arena.h"
#include "base/resource.h"
#include "engine/cache.h"
#include "engine/depend.h"
#include "engine/engine.h"
#include "engine/facts.h"
#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/queue.h"
#include "engine/view.h"
#include "kube/client.h"
#include "kube/reflector.h"

struct order;
struct schemas;

#define ENGINE_UNSERVED_MAX 64

struct engine_kind {
    struct engine *engine;
    const struct kind *kind;
    const struct engine_family *family;
    struct cache_resource *resource;
    const struct schema *installed; /* by the CRD in the cluster; NULL: not known, assume our own */
    bool short_of_fields;           /* a status field was dropped or refused since then */
    bool ready;                     /* result of the last engine_wake_parked() */
    struct queue_counts counts;
    size_t running; /* number of running keys */
};

struct engine_watch {
    struct engine *engine;
    struct cache_resource *resource;
    struct reflector *reflector; /* NULL: not watched (cluster scope with --namespace) */
    enum reflector_state state;
    struct error why; /* why the state is not fine */
    bool told;        /* … and it was logged */
    bool started;
    bool there;        /* a list was returned: served, perhaps still loading */
    bool custom;       /* defined by a CRD */
    bool needs_schema; /* a custom kind of another family whose schema is not known yet */
    struct kube_op *schema_op;
    struct timer schema_wait;
    struct timer look; /* looks for objects of a new CRD */
    unsigned looks;
    uint64_t crd; /* hash of its uid and generation; 0: not seen */
};

/* Why a child could not be written, or what was learned about it. */
struct memo {
    struct memo *next;
    const struct resource *resource;
    char *name;
    enum trouble what;
    char *message, *reason, *cause; /* as in struct view_trouble */
    uint64_t plan_hash;             /* of the desired object that this is about */
    int64_t until_ms;               /* REFUSED, CONTESTED: no retry before */
    uint64_t learnt_hash;           /* of a desired object … */
    uint64_t owned_hash;            /* … that the server stores like this: treated as equal */
    bool learnt;                    /* both hashes are valid */
    bool leftover;                  /* no longer planned, and its deletion was refused */
    bool unknown;    /* the result of the last write is unknown: look before the next one */
    unsigned fights; /* how often the same plan had to be written again */
    int64_t fights_since_ms;
};

struct key {
    struct table_node node;
    struct engine_kind *kind;
    struct queue_item item;
    struct depend_set depends;
    struct fact_set facts;
    struct memo *memos;
    struct run *run; /* while it runs */
    bool ran;        /* since this process started */
    bool parked;     /* its kind cannot run yet */
    char *ns;
    char *name;
};

struct write {
    struct run *run;
    struct cache_resource *resource;
    const char *ns;
    const char *name;
    const char *subresource;        /* NULL, "status" */
    const struct plan_child *child; /* NULL: status, deletion */
    struct json body;
    uint64_t hash;   /* of the body; 0: not computed, see write_hash() */
    uint64_t before; /* the version that the write is based on; 0: creating */
    bool deleting;
    bool adopting;
    const char *plain; /* how the log calls a patch that is not an apply; NULL: it is an apply */
    uint64_t event_version; /* version of a watch event that came while we waited; 0: none */
    const char *sought;     /* uid that a look is for; NULL: nothing was known then */
    uint64_t known; /* version of a response that the watch delivered first; 0: it did not */
    struct kube_op *op;
    /* Another key is creating the same shared object: nothing is sent, and this write waits for
     * it. */
    const struct write *follows;
    bool followed;                        /* this write waited for another one */
    struct write *next;                   /* of the run */
    struct write *next_in_flight, **back; /* of the resource; back NULL: not in flight */
};

enum run_stage { RUN_FINALIZER, RUN_CHILDREN, RUN_STATUS, RUN_EVICTION };

/* How a run ends. The strongest verdict wins, see run_decide(). */
enum run_verdict {
    RUN_COMPLETE, /* as planned: the plan's outcome says when to run again */
    RUN_AGAIN,    /* something new is in the view: plan again at once */
    RUN_CONFLICT, /* another writer was faster: look again after a back-off */
    RUN_FAILED,   /* an external failure: back off */
    RUN_STOPPED,  /* leadership lost, or the object is gone: nothing left to do */
};

/* One pass over a key, from the view to the last response. */
struct run {
    struct key *key;
    struct arena arena;
    struct view view;
    struct plan plan;
    enum run_stage stage;
    enum run_verdict verdict;
    bool terminating; /* the object is being deleted: its leftovers are cleaned up */
    const char *uid;
    uint64_t version;  /* of the object that the plan is for */
    uint64_t *targets; /* what the view was queried for */
    size_t target_count, target_size;
    const struct order *order; /* NULL: not queried */
    int64_t position;          /* … and the position that it returned */
    struct write *writes;
    size_t pending;   /* requests in flight */
    bool later;       /* some children wait for others that are being created: write_later() */
    int64_t floor_ms; /* minimum back-off */
    struct error error;
    int64_t started_ms;
    struct run *next, **back; /* of the engine */
};

struct engine {
    struct engine_options options;
    const struct env *env;
    struct cache cache;
    struct depends depends;
    struct facts facts;
    struct queue queue;
    struct table keys;
    struct engine_kind *kinds;
    size_t kind_count;
    struct engine_watch *watches;
    size_t watch_count;
    struct reflector *crds;              /* NULL: no custom kinds */
    char *unserved[ENGINE_UNSERVED_MAX]; /* CRDs of options.groups without a kind */
    size_t unserved_count;
    struct schemas *installed; /* of our kinds, as installed on the server */
    struct run *runs;
    size_t run_count;
    struct timer pump;
    const char **predecessors;
    bool started, leading, draining, crds_added;
    void (*drained)(void *ctx);
    void *drained_ctx;
    int64_t taken_ms; /* when the last key was taken */
    struct engine_counts counts;
    struct metrics metrics;
    struct engine_metrics *m;
};

/* engine.c */
/* Wakes every key whose plan may depend on the object, except one. */
void engine_object_changed(struct engine *e, const struct cache_resource *r, const char *ns,
    const char *name, struct json labels_before, struct json labels_after,
    const struct key *except);

void engine_pump(struct engine *e);
/* The resources that a kind reads are watched only once its own CRD is installed: a family that is
 * not installed costs nothing and needs no rights. */
void engine_start_watches(struct engine *e);
/* NULL: not one of our kinds. */
struct engine_kind *engine_kind_of(const struct engine *e, const struct cache_resource *r);
/* The objects are in the cache, or we may not read them. In the second case a write reports the
 * error. */
bool engine_is_loaded(const struct engine *e, const struct cache_resource *r);
/* A kind may run when everything that it reads is loaded. */
bool engine_kind_ready(
    const struct engine *e, const struct engine_kind *kind, struct error *err) must_check;
/* The schema of a resource is set when this returns. */
void engine_need_schema(struct engine *e, struct cache_resource *r);
/* Wakes the keys of kinds that can run now. */
void engine_wake_parked(struct engine *e);
void engine_wake_kind(const struct engine_kind *kind);
/* For depend_each(): wakes the key `owner` unless it is `except`. */
void engine_wake(void *except, void *owner);

struct key *key_find(
    struct engine *e, const struct engine_kind *kind, const char *ns, const char *name);
struct key *key_get(struct engine_kind *kind, const char *ns, const char *name);
void key_free(struct key *k);

/* watch.c */
extern const struct reflector_sink watch_sink; /* its ctx is an engine_watch */
/* Forgets the loaded objects and lists again. */
void watch_reload(struct engine_watch *w);
/* The object is gone, as reported by the watch or a response. Ends the run of its own key. */
void watch_object_gone(struct engine *e, struct cache_entry *entry);

/* owner.c */
/* A child appeared: wakes its owner, whether or not the child is planned. */
void owner_wake(struct engine *e, const struct cache_entry *child, struct json object,
    const struct key *except);
/* An object is gone, and its key with it. Leftover children (whose deletion is forbidden, or whose
 * owner's finalizer was removed by hand) are deleted after a delay, because most of them are being
 * deleted already. */
void owner_gone(struct engine_kind *kind, const char *ns, const char *name);
/* A child with this plan_owner_id() is gone. A key that exists only for such children goes, too. */
void owner_child_gone(struct engine *e, const char *id);
/* The key has an object, or cluster-scoped children. */
bool owner_is_needed(const struct key *k);
/* The known part of an owner that is gone. */
struct json owner_stand_in(struct arena *a, const struct key *k);

/* served.c */
void served_start(struct engine *e);
void served_stop(struct engine *e);
/* The objects of a resource are loaded: gets its schema if needed. */
void served_loaded(struct engine_watch *w);
/* A status was refused: the installed CRD may have changed. */
void served_doubt(struct engine_kind *kind);
/* The object without the fields that the installed CRD does not declare. The names of those fields
 * are returned, or NULL. */
struct json served_fields(
    struct arena *a, const struct engine_kind *kind, struct json object, const char **ret_left_out);

/* reconcile.c */
void run_start(struct key *key);
/* Continues with the next stage when nothing is pending; may free the run. */
void run_advance(struct run *run);
/* The key is going away: cancels everything in flight for it. */
void run_cancel(struct run *run);
/* Sets the verdict, unless a stronger one is set already. */
void run_decide(struct run *run, enum run_verdict verdict);

/* write.c: each function adds the number of requests that it sent to run->pending. */
void write_children(struct run *run);
/* Writes the children that wait for others, now that those have a response. */
void write_later(struct run *run);
void write_status(struct run *run);
/* Adds the kind's finalizer to the object if it is missing, or removes it when the object is
 * terminating. */
void write_finalizer(struct run *run);
/* Sends the plan's amendment of the object itself. */
void write_amendment(struct run *run);
/* Reads the object itself from the server; the run continues only if it does not exist. */
void write_last_look(struct run *run);
/* Deletes the cluster-scoped children of a terminating object. */
void write_farewell(struct run *run);
void write_eviction(struct run *run);
void write_cancel(struct run *run);
/* The engine ends, so the runs that this one waits for will not finish. */
void write_unfollow(struct run *run);
/* A watch event came for an object that is being written. Returns the key that must wait for the
 * response to its own write before it is woken; NULL if there is none. */
struct key *write_hold_event(
    const struct cache_resource *r, const char *ns, const char *name, uint64_t version);

/* memo.c */
struct memo *memo_find(const struct key *k, const struct resource *r, const char *name);
struct memo *memo_get(struct key *k, const struct resource *r, const char *name);
void memo_trouble(
    struct memo *m, const struct view_trouble *t, uint64_t plan_hash, int64_t until_ms);
void memo_calm(struct memo *m);
void memos_free(struct key *k);
/* Forgets troubles with children of this resource. */
void memos_calm(struct key *k, const struct resource *r);
bool memo_is_planned(const struct plan *p, const struct memo *m);
/* Forgets the memos of children that are not planned, unless the plan keeps children or the result
 * of the last write is unknown. */
void memos_keep(struct key *k, const struct plan *p);
uint64_t memo_hash(struct arena *a, struct json v);

/* counters.c */
struct engine_metrics *engine_metrics_new(struct metrics *m);
void count_reconcile(
    struct engine *e, const struct engine_kind *k, enum outcome outcome, int64_t took_ms);
