#pragma once

/* A StatefulSet's pass, in parts. */

#include "base/json.h"

struct plan;
struct selector;
struct view;

#define STATEFUL_POD_NAME "statefulset.kubernetes.io/pod-name"
#define STATEFUL_POD_INDEX "apps.kubernetes.io/pod-index"
#define STATEFUL_REVISION "controller-revision-hash"

/* ---- revisions: every template of the set, as a ControllerRevision ---- */

struct stateful_revisions {
    struct json *items; /* lowest number first */
    size_t count;
    const char *current, *update; /* names: of the previous template, and of the desired one */
    struct json current_template, update_template;
    int64_t collisions;  /* status.collisionCount */
    const char *failure; /* why the latest cannot be created; NULL: it can */
};

/* Finds the revisions, and plans that of the template if it is missing or not the latest. */
void stateful_revisions_find(const struct view *in, struct plan *out,
    const struct selector *selector, struct stateful_revisions *ret);
/* Deletes revisions beyond the history limit; `used` are names that pods refer to. */
void stateful_revisions_forget(
    const struct view *in, struct plan *out, const struct stateful_revisions *r, struct json used);

/* ---- claims: one per pod and template; they outlive the pod ---- */

const char *stateful_claim_name(struct arena *a, struct json set, const char *of, int64_t ordinal);
/* The claim of a template. */
struct json stateful_claim(
    struct arena *a, struct json set, struct json claim_template, int64_t ordinal);
/* The owner references that a pod's claim should have by the set's retention policy; those of other
 * clients stay. condemned: the pod is deleted for good. */
struct json stateful_claim_owners(
    struct arena *a, struct json claim, struct json set, struct json pod, bool condemned);

/* ---- ordinals ---- */

/* The number after the last dash of a pod's name; -1: not a pod of this set. */
int64_t stateful_ordinal(const char *set, const char *pod);
/* Whether the set wants a pod of this ordinal. */
bool stateful_wants(struct json set, int64_t ordinal);
