#pragma once

/* The status that a plan asks for, completed with what only the live object knows: since when a
 * condition holds, and when the status last changed. */

#include "base/json.h"

struct plan;

struct status_input {
    struct json live;   /* status as it is */
    struct json owned;  /* of it the fields that are ours, or absent */
    int64_t generation; /* of the object */
    int64_t now_ms;     /* wall clock */
    /* Takes out of a status what the cluster has no place for; NULL: nothing. */
    struct json (*fit)(void *ctx, struct json status);
    void *ctx;
};

/* lastTransitionTime moves only when a condition's status does; the stamp only when anything else
 * in the status does. */
struct json status_complete(struct arena *a, const struct plan *p, const struct status_input *in);
