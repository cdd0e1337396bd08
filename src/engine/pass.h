#pragma once

/* What the engine and `render` do alike: one pass of a kind over a view. */

#include "base/base.h"

struct error;
struct kind;
struct plan;
struct schema;
struct view;

/* Plans. An object whose spec our own CRD, `schema`, would refuse (the one in the cluster may have
 * been edited) goes to the kind's unreadable() instead of reconcile(); then false. */
bool pass_plan(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *out);
