#pragma once

/* A Deployment's pass, in parts. */

#include "kinds/workloads/rollout.h"

struct plan;
struct view;

struct deployment {
    const struct view *in;
    struct plan *out;
    struct rollout r;
    struct json orphans; /* names of ReplicaSets that we adopt */
    bool paused;
    bool made;                /* this plan creates the latest set */
    const char *failure;      /* why the latest set cannot be created; NULL: it can */
    int64_t collisions;       /* status.collisionCount */
    const char *set_revision; /* of the latest set; NULL: there is none */
};

/* The status for these sets. *next_ms: when the progress deadline expires; 0: no deadline. */
struct json deployment_status(const struct deployment *d, int64_t *next_ms);
/* Whether all pods exist and have the latest template. */
bool deployment_is_complete(const struct deployment *d, struct json status);
