#pragma once

/* What an API server would refuse in manifests, found without one: kinds that Leeboard has, those
 * that are built in, and those whose CRDs are among the manifests. */

#include "cli/input.h"

struct buf;

/* Writes "FILE:LINE: Kind/name: path: what is wrong" for each mistake, with the nearest name that
 * would be right, and returns how many there are. A kind of another group that nothing defines is
 * not judged. */
size_t check_inputs(struct inputs *in, struct buf *out);

/* The nearest of some names to a wrong one; NULL: none is near. candidates is NULL-terminated. */
const char *check_nearest(const char *wrong, const char *const *candidates);

/* "FILE:LINE: Kind/name: what a server says of the i-th object" */
const char *check_explain(const struct inputs *in, size_t i, const char *message);
