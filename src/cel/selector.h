#pragma once

/* Selectors of devices (resource.k8s.io): expressions of one variable, device, as a scheduler will
 * evaluate them. Here they are compiled only, so that what is wrong with one is said to its author.
 */

#include "base/arena.h"

#define CEL_SELECTOR_BYTES_MAX 10240
#define CEL_SELECTOR_COST_MAX 1000000

/* NULL, or why it cannot be compiled, in the API server's words. *ret_cost is its estimate. */
const char *cel_selector_compile(struct arena *a, const char *text, uint64_t *ret_cost);
