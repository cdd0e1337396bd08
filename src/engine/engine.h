#pragma once

/* The engine: keeps the cluster as the kinds plan it.
 *
 *     watch events                      answers to our writes
 *          │                                     │
 *          ▼        changed                      ▼
 *        cache ───────────────> depend ───> queue (one item a key)
 *          │                                     │ take
 *          └────────> view ──> kind ──> plan <───┘
 *                                        │
 *                                 gate: differs? ──no──> nothing is sent
 *                                        │ yes
 *                          children in parallel, then status, then events
 *
 * Single-threaded. Clock, chance, transport, effects and leadership come in as options, so the same
 * code runs in production and in the simulator. It logs, and counts for /metrics. */

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
    const char *const *predecessors; /* field managers we take over from, NULL-terminated */
};

struct engine_options {
    const struct env *env;
    const struct kube_transport *transport; /* for watches */
    struct kube_client *client;             /* for everything else */
    const struct effect_runner *effects;
    struct event_recorder *events;
    struct schemas *schemas;
    /* Adds the CRDs of the kinds; called once, when the first of their objects comes. NULL: they
     * are there already. */
    void (*add_crds)(void *ctx, struct schemas *to);
    const struct engine_family *families;
    size_t family_count;
    /* API groups of these and of other families, NULL-terminated; NULL: nothing is said of CRDs
     * there that no kind serves. */
    const char *const *groups;
    /* The CRDs are those of this program: the server is asked for its own description only when it
     * leaves something out. */
    bool own_crds;
    const char *ns;      /* only this one; NULL: all */
    const char *manager; /* field manager, "leeboard" */
    struct json self;    /* our pod, for events about ourselves; absent: none */
    size_t runs_max;     /* keys in work at the same time; 0: 16 */
    /* Asked immediately before each write; NULL: always. */
    bool (*may_write)(void *ctx);
    /* Told of each pass over an object as it begins, with what is planned; NULL: nothing wants to
     * know. */
    void (*passes)(void *ctx, const struct kind *kind, const struct view *in, const struct plan *p);
    void *ctx;
};

struct engine *engine_new(const struct engine_options *options);
/* What is in flight is cancelled. */
void engine_free(struct engine *e);
/* Starts the watches without leading: for a standby that is to take over quickly. */
void engine_start(struct engine *e);
/* From now on keys run. What a standby has loaded is loaded once more, keys wait for it. */
void engine_lead(struct engine *e);
/* Takes no more keys; drained() comes, later, when nothing is in flight any more. */
void engine_drain(struct engine *e, void (*drained)(void *ctx), void *ctx);

/* Readiness: every kind's caches are filled. Otherwise err says what is missing and why. */
bool engine_ready(const struct engine *e, struct error *err);
/* A line for each kind, and for each CRD of options.groups whose objects nothing here serves. */
void engine_ready_print(const struct engine *e, struct buf *to);
/* Health: keys that are ready do get their turn. */
bool engine_healthy(const struct engine *e, struct error *err);
void engine_metrics_print(struct engine *e, struct buf *to);

/* What a kind would see of an object that is not stored yet: for admission. Others come from the
 * cache, and there are no children, facts or troubles. False: the kind is not among ours, or what
 * it reads is not loaded. Valid as long as the arena, and until the loop goes on. */
bool engine_look(struct engine *e, struct arena *a, const struct kind *kind, struct json object,
    struct view *ret, struct error *err) must_check;

/* For tests and the simulator. */
struct engine_counts {
    uint64_t reconciles, writes, skipped, echoes, refused, conflicts, ambiguous;
    uint64_t without_effect; /* writes that left the object as it was: must stay 0 */
    uint64_t self_check;     /* stored field sets that were not the computed ones: must stay 0 */
    uint64_t stale;          /* writes that leadership or a precondition held back */
    uint64_t contested, throttled, unreadable;
    uint64_t wakes;         /* times that a key was told of new input */
    uint64_t created_twice; /* creates that met an object: must stay 0 */
};
struct engine_counts engine_counts(const struct engine *e);
