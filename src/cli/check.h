#pragma once

/* Finds offline what an API server would refuse in manifests: for Leeboard's kinds, built-in kinds,
 * and kinds whose CRDs are among the manifests. */

#include "cli/input.h"

struct buf;

/* Writes "FILE:LINE: Kind/name: path: what is wrong" for each mistake, with the nearest valid name,
 * and returns their number. Skips kinds of other groups that no manifest defines. */
size_t check_inputs(struct inputs *in, struct buf *out);

/* The candidate nearest to a wrong name; NULL: none is near. candidates is NULL-terminated. */
const char *check_nearest(const char *wrong, const char *const *candidates);

/* "FILE:LINE: Kind/name: message of a server about the i-th object" */
const char *check_explain(const struct inputs *in, size_t i, const char *message);
