#pragma once

/* How many pods each ReplicaSet of a Deployment should have now: pure numbers. */

#include "base/json.h"

struct rollout_set {
    struct json object; /* as it is there; absent: to be made */
    const char *name;
    int64_t replicas; /* wanted; as it is there at first */
    int64_t available, actual;
    int64_t created_ms;
    int64_t revision;
    int64_t most; /* annotation max-replicas; 0: none */
    bool scaled;  /* its annotations of sizes are to be renewed */
};

struct rollout {
    int64_t replicas; /* of the Deployment */
    int64_t surge, unavailable;
    int64_t told;             /* status.replicas of the Deployment */
    struct rollout_set *sets; /* oldest first */
    size_t count;
    struct rollout_set *latest; /* of the template; NULL: not there, and not to be made now */
};

/* maxSurge and maxUnavailable as numbers: of both being 0 nothing could ever move. */
void rollout_bounds(struct rollout *r, struct json strategy);
/* The Deployment's size changed: spread over the sets by their sizes. */
void rollout_scale(struct rollout *r);
/* As far as a rolling update may go with what is available now. */
void rollout_advance(struct rollout *r);
/* The old ones go to 0. */
void rollout_stop_old(struct rollout *r);
