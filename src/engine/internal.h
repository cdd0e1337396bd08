#pragma once

/* What the files of the engine share; nobody else includes it. */

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
    const struct schema *installed; /* by the CRD in the cluster; NULL: not known, as ours */
    bool short_of_fields;           /* something of a status was left out or refused since */
    bool ready;                     /* by the last look of engine_wake_parked() */
    struct queue_counts counts;
    size_t running; /* keys in work */
};

struct engine_watch {
    struct engine *engine;
    struct cache_resource *resource;
    struct reflector *reflector; /* NULL: not watched here (cluster scope under --namespace) */
    enum reflector_state state;
    struct error why; /* of a state that is not fine */
    bool told;        /* … and logged */
    bool started;
    bool there;        /* the server has answered with a list: it is served, perhaps long */
    bool custom;       /* by a CRD */
    bool needs_schema; /* a custom kind of others, whose schema is not known yet */
    struct kube_op *schema_op;
    struct timer schema_wait;
    struct timer look; /* for the objects of a CRD that came */
    unsigned looks;
    uint64_t crd; /* its uid and generation, as a hash; 0: not seen */
};

/* What stands between a key and one of its children, or what was learnt about it. */
struct memo {
    struct memo *next;
    const struct resource *resource;
    char *name;
    enum trouble what;
    char *message, *reason, *cause; /* as in struct view_trouble */
    uint64_t plan_hash;             /* of the wanted object that this is about */
    int64_t until_ms;               /* REFUSED, CONTESTED: no new try before */
    uint64_t learnt_hash;           /* of a wanted object … */
    uint64_t owned_hash;            /* … that the server stores like this: counts as equal */
    bool learnt;                    /* the two are valid */
    bool leftover;                  /* not planned any more, and its deletion is what was refused */
    bool unknown;    /* what became of the last write: to be looked up before the next */
    unsigned fights; /* the same plan had to be written again */
    int64_t fights_since_ms;
};

struct key {
    struct table_node node;
    struct engine_kind *kind;
    struct queue_item item;
    struct depend_set depends;
    struct fact_set facts;
    struct memo *memos;
    struct run *run; /* while it is in work */
    bool ran;        /* in this life */
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
    uint64_t hash;   /* of the body; 0: not worked out, see write_hash() */
    uint64_t before; /* version that we build on; 0: creating */
    bool deleting;
    bool adopting;
    const char *plain; /* a patch of ours that is no apply: what the log calls it; NULL: none */
    uint64_t event_version; /* a watch event that came while we waited; 0: none */
    const char *sought;     /* uid of what a look is for; NULL: nothing was known then */
    uint64_t known;         /* the version of an answer that the watch brought before; 0: not so */
    struct kube_op *op;
    /* Another key is creating the same shared object: nothing is sent, its end is awaited. */
    const struct write *follows;
    bool followed;                        /* and ours is such an end */
    struct write *next;                   /* of the run */
    struct write *next_in_flight, **back; /* of the resource; back NULL: not in flight */
};

enum run_stage { RUN_FINALIZER, RUN_CHILDREN, RUN_STATUS, RUN_EVICTION };

/* How a run ends. The strongest of what happened counts, see run_decide(). */
enum run_verdict {
    RUN_COMPLETE, /* as planned: the plan's outcome says when to run again */
    RUN_AGAIN,    /* something new is in the view: plan again at once */
    RUN_CONFLICT, /* another writer was faster: look again after a back-off */
    RUN_FAILED,   /* the world failed: back off */
    RUN_STOPPED,  /* no leadership, or the object is gone: nothing more to do */
};

/* One pass over a key, from view to the last answer. */
struct run {
    struct key *key;
    struct arena arena;
    struct view view;
    struct plan plan;
    enum run_stage stage;
    enum run_verdict verdict;
    bool terminating; /* the object is deleted: what it leaves behind is cleaned up */
    const char *uid;
    uint64_t version;  /* of the object that was planned for */
    uint64_t *targets; /* what the view was asked for */
    size_t target_count, target_size;
    const struct order *order; /* NULL: not asked for */
    int64_t position;          /* … and what it was told */
    struct write *writes;
    size_t pending;   /* requests in flight */
    bool later;       /* children wait for others that are on their way: write_later() */
    int64_t floor_ms; /* of the back-off */
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
    struct schemas *installed; /* of our kinds, as the server has them */
    struct run *runs;
    size_t run_count;
    struct timer pump;
    const char **predecessors;
    bool started, leading, draining, crds_added;
    void (*drained)(void *ctx);
    void *drained_ctx;
    int64_t taken_ms; /* when a key was last taken */
    struct engine_counts counts;
    struct metrics metrics;
    struct engine_metrics *m;
};

/* engine.c */
/* Wakes everybody whose plan may depend on it, except one. */
void engine_object_changed(struct engine *e, const struct cache_resource *r, const char *ns,
    const char *name, struct json labels_before, struct json labels_after,
    const struct key *except);

void engine_pump(struct engine *e);
/* What a kind reads is watched once its own CRD is there: a family that nobody installed costs
 * nothing, and needs no rights. */
void engine_start_watches(struct engine *e);
/* NULL: not a kind of ours. */
struct engine_kind *engine_kind_of(const struct engine *e, const struct cache_resource *r);
/* Its objects are in the cache, or we may not read them: then a write tells what is wrong. */
bool engine_is_loaded(const struct engine *e, const struct cache_resource *r);
/* A kind may run when everything that it reads is there to be read. */
bool engine_kind_ready(
    const struct engine *e, const struct engine_kind *kind, struct error *err) must_check;
/* The schema of a resource is there when this returns. */
void engine_need_schema(struct engine *e, struct cache_resource *r);
/* Keys of kinds that may run now. */
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
/* Forgets what it has and lists again. */
void watch_reload(struct engine_watch *w);
/* The object is gone, by the watch or by an answer. Ends the run of its own key. */
void watch_object_gone(struct engine *e, struct cache_entry *entry);

/* owner.c */
/* A child came: whose it is looks at it, whether or not it is planned. */
void owner_wake(struct engine *e, const struct cache_entry *child, struct json object,
    const struct key *except);
/* It went, and its key with it. What it left behind, since nobody may delete that or somebody took
 * its finalizer off, is told to go after a time: most of it is on its way already. */
void owner_gone(struct engine_kind *kind, const char *ns, const char *name);
/* One with this plan_owner_id() went: a key that stood for its owner goes, too. */
void owner_child_gone(struct engine *e, const char *id);
/* It has an object, or children in the cluster's scope. */
bool owner_is_needed(const struct key *k);
/* What is known of an owner that is gone. */
struct json owner_stand_in(struct arena *a, const struct key *k);

/* served.c */
void served_start(struct engine *e);
void served_stop(struct engine *e);
/* A resource's objects are here: gets its schema if that is needed. */
void served_loaded(struct engine_watch *w);
/* A status was refused: the installed CRD may have changed. */
void served_doubt(struct engine_kind *kind);
/* The object without the fields that the installed CRD does not declare; their names, or NULL. */
struct json served_fields(
    struct arena *a, const struct engine_kind *kind, struct json object, const char **ret_left_out);

/* reconcile.c */
void run_start(struct key *key);
/* Goes on to the next stage when nothing is pending; may free the run. */
void run_advance(struct run *run);
/* The key is going: ends what is in flight for it. */
void run_cancel(struct run *run);
/* Notes how it will end, unless something stronger is noted already. */
void run_decide(struct run *run, enum run_verdict verdict);

/* write.c: each adds what it sent to run->pending. */
void write_children(struct run *run);
/* Those children that come after others, now that these are answered. */
void write_later(struct run *run);
void write_status(struct run *run);
/* Puts the kind's finalizer on the object, if it is not there; off, when the object is going. */
void write_finalizer(struct run *run);
/* What the plan amends of the object itself. */
void write_amendment(struct run *run);
/* Asks for the object itself; only if there is none, the run goes on. */
void write_last_look(struct run *run);
/* The cluster-scoped children of an object that is going are told to go. */
void write_farewell(struct run *run);
void write_eviction(struct run *run);
void write_cancel(struct run *run);
/* What it waits for of other runs will not come: the engine ends. */
void write_unfollow(struct run *run);
/* A watch event came for an object that we are writing just now: whose key must wait for our own
 * answer before it is woken; NULL if nobody's. */
struct key *write_hold_event(
    const struct cache_resource *r, const char *ns, const char *name, uint64_t version);

/* memo.c */
struct memo *memo_find(const struct key *k, const struct resource *r, const char *name);
struct memo *memo_get(struct key *k, const struct resource *r, const char *name);
void memo_trouble(
    struct memo *m, const struct view_trouble *t, uint64_t plan_hash, int64_t until_ms);
void memo_calm(struct memo *m);
void memos_free(struct key *k);
/* Troubles with children of this resource are forgotten. */
void memos_calm(struct key *k, const struct resource *r);
bool memo_is_planned(const struct plan *p, const struct memo *m);
/* Forgets those of children that are not planned, unless the plan keeps children, or what became of
 * the last write is not known. */
void memos_keep(struct key *k, const struct plan *p);
uint64_t memo_hash(struct arena *a, struct json v);

/* counters.c */
struct engine_metrics *engine_metrics_new(struct metrics *m);
void count_reconcile(
    struct engine *e, const struct engine_kind *k, enum outcome outcome, int64_t took_ms);
