#pragma once

/* How many pods each ReplicaSet of a Deployment should have now: pure numbers. */

#include "base/json.h"

struct rollout_set {
    struct json object; /* the stored object; absent: to be created */
    const char *name;
    int64_t replicas; /* desired; initially that of the object */
    int64_t available, actual;
    int64_t created_ms;
    int64_t revision;
    int64_t most; /* annotation max-replicas; 0: none */
    bool scaled;  /* its size annotations need an update */
};

struct rollout {
    int64_t replicas; /* of the Deployment */
    int64_t surge, unavailable;
    int64_t told;             /* status.replicas of the Deployment */
    struct rollout_set *sets; /* oldest first */
    size_t count;
    struct rollout_set *latest; /* of the template; NULL: none, and not to be created now */
};

/* maxSurge and maxUnavailable as numbers. In a rolling update they are not both 0, or nothing could
 * progress. */
void rollout_bounds(struct rollout *r, struct json strategy);
/* The Deployment's size changed: distributes it over the sets in proportion to their sizes. */
void rollout_scale(struct rollout *r);
/* Moves a rolling update as far as the available pods allow. */
void rollout_advance(struct rollout *r);
/* Scales the old sets to 0. */
void rollout_stop_old(struct rollout *r);
