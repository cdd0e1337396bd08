#pragma once

/* Whether two values have the same meaning: quantities compare as numbers, times as instants,
 * base64 as bytes. Lists compare in order. Members that only one side has are a difference, except
 * in the server's own structs for an empty text, list or map, which it omits, and for defaults. */

#include "merge/schema.h"

/* The values of one scalar type. */
bool canonical_scalar_equal(enum schema_format format, struct json x, struct json y);
/* Values of any type. */
bool canonical_equal(const struct schema *s, uint16_t type, struct json x, struct json y);
/* A zero value, which the server, written in Go, does not store if it may omit it: null, false, 0,
 * "", {} and []. */
bool canonical_is_zero(struct json v);
/* Whether this is the server's default for this member of one of its own structs. */
bool canonical_is_default(
    const struct schema *s, const struct schema_type *t, const char *member, struct json v);
