#pragma once

/* What expressions cost, in the units of cel-go: a look at a variable or field is one. Before an
 * expression runs, an estimate of the worst case from the bounds in its schema; while it runs, what
 * it really takes. */

#include "cel/eval.h"
#include "cel/lib.h"

enum {
    CEL_COST_NEW_LIST = 10,
    CEL_COST_NEW_MAP = 30,
};

/* Of a call that gave this result. */
uint64_t cel_cost_of_call(struct cel_eval *e, const struct cel_node *n,
    const struct cel_function *f, const struct cel_value *args, size_t count,
    struct cel_value result);

/* The worst case; UINT64_MAX is more than can be counted. */
uint64_t cel_cost_estimate(struct arena *a, const struct cel_decl *self, struct cel_node *root);
