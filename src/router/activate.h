#pragma once

/* Turns of ModelPools: the members of a pool share a place (a GPU), and one of them is there at a
 * time. A request for another one is held until that one is there.
 *
 *   router_hold_begin() ──> done(HOLD_GRANTED) … router_hold_end()
 *                       └─> done(HOLD_LATE | HOLD_FAILED)
 *
 * The pool is asked for a member by a patch of spec.replicas of its InferenceService to 1; the
 * ModelPool's controller does the rest, and the member is there when its phase is Ready.
 *
 *   nothing known ──look──> resident ──(its last request ended)──> patch ──> poll ──> resident
 *
 * Fairness: requests for the resident pass those that wait for another member for a quarter of the
 * oldest one's budget, HOLD_PASS_MS at most; later ones wait in line. No request is ever cut for
 * another.
 *
 * What is scaled back to 0: only a member that this router scaled up, which is not Ready yet, and
 * whose clients have all left. A client whose budget ended is likely to come again: its member goes
 * on loading. */

#include "base/metric.h"
#include "base/timer.h"
#include "router/config.h"

#define HOLD_PASS_MS 10000

struct kube_client;
struct pools;
struct pool;

enum hold_outcome {
    HOLD_GRANTED,
    HOLD_LATE,   /* the budget ended */
    HOLD_FAILED, /* the API server said no, or cannot be reached */
};

/* Part of a request; zeroed: idle. */
struct hold {
    struct pool *pool;
    size_t member;
    struct hold *next, *prev; /* in line */
    bool waiting, granted;
    int64_t begun_ms, budget_ms;
    struct timer deadline;
    struct pools *pools;
    void (*done)(void *ctx, enum hold_outcome outcome);
    void *ctx;
};

/* kube outlives it. */
struct pools *pools_new(const struct env *env, struct kube_client *kube, const char *router);
/* All holds have ended. */
void pools_free(struct pools *p);
void pools_link(struct pools *p, struct metrics *metrics);

/* done runs once, inside this call or later, unless router_hold_end() came first. */
void router_hold_begin(struct pools *p, struct hold *h, const struct router_backend *b,
    int64_t budget_ms, void (*done)(void *ctx, enum hold_outcome outcome), void *ctx);
/* The request does not need the member any more, or its client left; idle holds are fine. */
void router_hold_end(struct hold *h);
/* The member did not take the connection: whether it is there is looked at anew. */
void router_hold_doubt(struct hold *h);
