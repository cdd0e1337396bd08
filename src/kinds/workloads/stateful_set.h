#pragma once

/* A StatefulSet's pass, in parts. */

#include "base/json.h"

struct plan;
struct selector;
struct view;

#define STATEFUL_POD_NAME "statefulset.kubernetes.io/pod-name"
#define STATEFUL_POD_INDEX "apps.kubernetes.io/pod-index"
#define STATEFUL_REVISION "controller-revision-hash"

/* ---- revisions: every template that it had, as a ControllerRevision ---- */

struct stateful_revisions {
    struct json *items; /* lowest number first */
    size_t count;
    const char *current, *update; /* names: of the template before, and of the one that is wanted */
    struct json current_template, update_template;
    int64_t collisions;  /* status.collisionCount */
    const char *failure; /* why the latest cannot be made; NULL: it can */
};

/* Finds them, and plans that of the template if it is not there or not the latest. */
void stateful_revisions_find(const struct view *in, struct plan *out,
    const struct selector *selector, struct stateful_revisions *ret);
/* Those beyond the history that is to be kept go; `used` are names that pods have. */
void stateful_revisions_forget(
    const struct view *in, struct plan *out, const struct stateful_revisions *r, struct json used);

/* ---- claims: one a pod and template, which outlives the pod ---- */

const char *stateful_claim_name(struct arena *a, struct json set, const char *of, int64_t ordinal);
/* The claim that a template asks for. */
struct json stateful_claim(
    struct arena *a, struct json set, struct json claim_template, int64_t ordinal);
/* Whose the claim of a pod is by the set's retention policy: the owner references it should have;
 * those of others stay. condemned: the pod goes for good. */
struct json stateful_claim_owners(
    struct arena *a, struct json claim, struct json set, struct json pod, bool condemned);

/* ---- ordinals ---- */

/* The number behind the last dash of a pod's name; -1: it is no pod of a set of this name. */
int64_t stateful_ordinal(const char *set, const char *pod);
/* Whether the set wants a pod of this ordinal. */
bool stateful_wants(struct json set, int64_t ordinal);
