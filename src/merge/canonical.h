#pragma once

/* Whether two values say the same: quantities as numbers, times as instants, base64 as bytes. Lists
 * compare in order; members that only one side has are a difference, except
 * for an empty text or list in a struct of the server's, which it leaves out. */

#include "merge/schema.h"

/* The values of one scalar type. */
bool canonical_scalar_equal(enum schema_format format, struct json x, struct json y);
/* Values of any type. */
bool canonical_equal(const struct schema *s, uint16_t type, struct json x, struct json y);
/* A value that the server, being written in Go, does not store where it may leave it out: null,
 * false, 0, "", {} and []. */
bool canonical_is_zero(struct json v);
