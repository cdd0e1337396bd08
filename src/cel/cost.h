#pragma once

/* The cost of expressions, in the units of cel-go: access to a variable or field costs one. The
 * worst case is estimated before an expression runs, from the bounds in its schema; the actual cost
 * is counted while it runs. */

#include "cel/eval.h"
#include "cel/lib.h"

enum {
    CEL_COST_NEW_LIST = 10,
    CEL_COST_NEW_MAP = 30,
};

/* The cost of a call that gave this result. */
uint64_t cel_cost_of_call(struct cel_eval *e, const struct cel_node *n,
    const struct cel_function *f, const struct cel_value *args, size_t count,
    struct cel_value result);

/* The worst case; UINT64_MAX if it is too large to count. */
uint64_t cel_cost_estimate(struct arena *a, const struct cel_decl *self, struct cel_node *root);
