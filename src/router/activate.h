#pragma once

/* Scheduling of ModelPools: the members of a pool share a resource (a GPU), and only one of them
 * runs at a time. A request for another member is held until that member runs.
 *
 *   router_hold_begin() ──> done(HOLD_GRANTED) … router_hold_end()
 *                       └─> done(HOLD_LATE | HOLD_FAILED)
 *
 * The router requests a member by patching spec.replicas of its InferenceService to 1. The
 * ModelPool's controller does the rest, and the member runs when its phase is Ready.
 *
 *   nothing known ──look──> resident ──(its last request ended)──> patch ──> poll ──> resident
 *
 * Fairness: requests for the resident overtake those that wait for another member, for a quarter of
 * the oldest one's budget and at most HOLD_PASS_MS; later ones are queued. No request is aborted in
 * favour of another.
 *
 * The router scales a member back to 0 only if it scaled it up itself, the member is not Ready yet,
 * and all of its clients have disconnected. A client whose budget ran out is likely to retry, so
 * its member continues to load. */

#include "base/metric.h"
#include "base/timer.h"
#include "router/config.h"

#define HOLD_PASS_MS 10000

struct kube_client;
struct pools;
struct pool;

enum hold_outcome {
    HOLD_GRANTED,
    HOLD_LATE,   /* the budget ran out */
    HOLD_FAILED, /* the API server refused, or cannot be reached */
};

/* Part of a request; zeroed: idle. */
struct hold {
    struct pool *pool;
    size_t member;
    struct hold *next, *prev; /* in the queue */
    bool waiting, granted;
    int64_t begun_ms, budget_ms;
    struct timer deadline;
    struct pools *pools;
    void (*done)(void *ctx, enum hold_outcome outcome);
    void *ctx;
};

/* kube must outlive it. */
struct pools *pools_new(const struct env *env, struct kube_client *kube, const char *router);
/* All holds must have ended. */
void pools_free(struct pools *p);
void pools_link(struct pools *p, struct metrics *metrics);

/* Calls done() once, in this call or later, unless router_hold_end() is called first. */
void router_hold_begin(struct pools *p, struct hold *h, const struct router_backend *b,
    int64_t budget_ms, void (*done)(void *ctx, enum hold_outcome outcome), void *ctx);
/* The request does not need the member any more, or its client disconnected. Idle holds are
 * allowed. */
void router_hold_end(struct hold *h);
/* The member refused the connection: check again whether it runs. */
void router_hold_doubt(struct hold *h);
