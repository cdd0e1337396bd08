#pragma once

/* The status that a plan requests, completed with what only the live object knows: since when a
 * condition holds, and when the status last changed. */

#include "base/json.h"

struct plan;

struct status_input {
    struct json live;   /* the current status */
    struct json owned;  /* the fields of it that we own, or absent */
    int64_t generation; /* of the object */
    int64_t now_ms;     /* wall clock */
    /* Removes fields from a status that the installed CRD does not declare; may be NULL. */
    struct json (*fit)(void *ctx, struct json status);
    void *ctx;
};

/* lastTransitionTime changes only with a condition's status; the stamp changes only when another
 * field of the status does. */
struct json status_complete(struct arena *a, const struct plan *p, const struct status_input *in);
