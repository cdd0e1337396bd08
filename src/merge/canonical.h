#pragma once

/* Whether two values say the same: quantities as numbers, times as instants, base64 as bytes. Lists
 * compare in order; members that only one side has are a difference, except in a struct of the
 * server's for an empty text, list or map, which it leaves out, and for what it fills in. */

#include "merge/schema.h"

/* The values of one scalar type. */
bool canonical_scalar_equal(enum schema_format format, struct json x, struct json y);
/* Values of any type. */
bool canonical_equal(const struct schema *s, uint16_t type, struct json x, struct json y);
/* A value that the server, being written in Go, does not store where it may leave it out: null,
 * false, 0, "", {} and []. */
bool canonical_is_zero(struct json v);
/* This is what the server fills in for nothing in this member of a struct of its own. */
bool canonical_is_default(
    const struct schema *s, const struct schema_type *t, const char *member, struct json v);
