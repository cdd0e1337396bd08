#pragma once

/* A Deployment's pass, in parts. */

#include "kinds/workloads/rollout.h"

struct plan;
struct view;

struct deployment {
    const struct view *in;
    struct plan *out;
    struct rollout r;
    struct json orphans; /* names of sets that become ours */
    bool paused;
    bool made;                /* the latest set is new in this plan */
    const char *failure;      /* why the latest set cannot be made; NULL: it can */
    int64_t collisions;       /* status.collisionCount */
    const char *set_revision; /* of the latest set; NULL: there is none */
};

/* The status that comes with these sets. *next_ms: when the deadline of progress is over; 0: there
 * is none. */
struct json deployment_status(const struct deployment *d, int64_t *next_ms);
/* All pods are of the latest template, and there. */
bool deployment_is_complete(const struct deployment *d, struct json status);
