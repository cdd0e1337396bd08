#pragma once

/* The engine: keeps the cluster as the kinds plan it.
 *
 *     watch events                      answers to our writes
 *          │                                     │
 *          ▼        changed                      ▼
 *        cache ───────────────> depend ───> queue (one item per key)
 *          │                                     │ take
 *          └────────> view ──> kind ──> plan <───┘
 *                                        │
 *                                 gate: differs? ──no──> nothing is sent
 *                                        │ yes
 *                          children in parallel, then status, then events
 *
 * Single-threaded. Clock, randomness, transport, effects and leadership come in as options, so the
 * same code runs in production and in the simulator. It writes logs and updates /metrics. */

#include "base/error.h"
#include "base/json.h"
#include "base/metric.h"

struct buf;
struct effect_runner;
struct engine;
struct env;
struct event_recorder;
struct kind;
struct kube_client;
struct kube_transport;
struct plan;
struct schemas;
struct view;

/* Kinds that share their settings. */
struct engine_family {
    const char *name;
    const struct kind *const *kinds; /* NULL-terminated */
    const void *settings;
    const char *const *predecessors; /* field managers that we take over from, NULL-terminated */
};

struct engine_options {
    const struct env *env;
    const struct kube_transport *transport; /* for watches */
    struct kube_client *client;             /* for everything else */
    const struct effect_runner *effects;
    struct event_recorder *events;
    struct schemas *schemas;
    /* Adds the CRDs of the kinds. Called once, when the first object of one of them arrives. NULL:
     * the CRDs are installed already. */
    void (*add_crds)(void *ctx, struct schemas *to);
    const struct engine_family *families;
    size_t family_count;
    /* API groups of this and other families, NULL-terminated. CRDs in these groups that no kind
     * serves are reported. NULL: nothing is reported. */
    const char *const *groups;
    /* The CRDs come from this program. The server's OpenAPI document is read only when the server
     * drops a field. */
    bool own_crds;
    const char *ns;      /* the only namespace; NULL: all */
    const char *manager; /* field manager, "leeboard" */
    struct json self;    /* our pod, for events about ourselves; absent: none */
    size_t runs_max;     /* maximum number of keys that run at the same time; 0: 16 */
    /* Called immediately before each write. NULL: writing is always allowed. */
    bool (*may_write)(void *ctx);
    /* Called at the start of each pass over an object, with its plan. May be NULL. */
    void (*passes)(void *ctx, const struct kind *kind, const struct view *in, const struct plan *p);
    void *ctx;
};

struct engine *engine_new(const struct engine_options *options);
/* Cancels everything in flight. */
void engine_free(struct engine *e);
/* Starts the watches without leading, so that a standby can take over quickly. */
void engine_start(struct engine *e);
/* From now on keys run. A standby reloads its caches first, and keys wait for that. */
void engine_lead(struct engine *e);
/* Starts no more keys. Calls drained() later, when nothing is in flight any more. */
void engine_drain(struct engine *e, void (*drained)(void *ctx), void *ctx);

/* Readiness: the caches of every kind are filled. Otherwise err says what is missing and why. */
bool engine_ready(const struct engine *e, struct error *err);
/* Prints a line for each kind, and for each CRD of options.groups whose objects no kind serves. */
void engine_ready_print(const struct engine *e, struct buf *to);
/* Health: keys that are ready get their turn. */
bool engine_healthy(const struct engine *e, struct error *err);
void engine_metrics_print(struct engine *e, struct buf *to);

/* What a kind would see for an object that is not stored yet; used for admission. Other objects
 * come from the cache; there are no children, facts or troubles. Returns false if the kind is not
 * one of ours, or if an object that it reads is not loaded. Valid as long as the arena, and only
 * until the loop continues. */
bool engine_look(struct engine *e, struct arena *a, const struct kind *kind, struct json object,
    struct view *ret, struct error *err) must_check;

/* For tests and the simulator. */
struct engine_counts {
    uint64_t reconciles, writes, skipped, echoes, refused, conflicts, ambiguous;
    uint64_t without_effect; /* writes that did not change the object: must stay 0 */
    uint64_t self_check;     /* stored field sets that differ from the computed ones: must stay 0 */
    uint64_t stale;          /* writes stopped by lost leadership or a failed precondition */
    uint64_t contested, throttled, unreadable;
    uint64_t wakes;         /* times that a key was woken by new input */
    uint64_t created_twice; /* creates of an object that already existed: must stay 0 */
};
struct engine_counts engine_counts(const struct engine *e);
