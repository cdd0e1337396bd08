#pragma once

/* What the engine and `render` share: one pass of a kind over a view. */

#include "base/base.h"

struct error;
struct kind;
struct plan;
struct schema;
struct view;

/* Plans. An object whose spec is invalid for our own CRD, `schema` (the CRD in the cluster may have
 * been edited), goes to the kind's unreadable() instead of reconcile(); then returns false. */
bool pass_plan(
    const struct kind *kind, const struct schema *schema, const struct view *in, struct plan *out);
