#pragma once

/* An object as Go would decode it into its struct and encode it again: unknown fields are dropped,
 * zero values are omitted or always present according to the struct's tags, and quantities and
 * times are in canonical form. For kinds whose schema has Go's types (merge/schema.h). */

#include "apiserver/rules/field_errors.h"
#include "merge/schema.h"

/* Each unknown field is reported as a FIELD_INVALID error with its path. An unreadable value is
 * reported as one FIELD_TYPE_INVALID error with Go's message ("json: cannot unmarshal …"); the
 * result has a zero value there. */
struct json decode_object(
    struct arena *a, const struct schema *s, struct json object, struct field_errors *unknown);
/* Integers that overflow Go's type of the field lose their upper bits, as when the server converts
 * maps to objects: after an apply and a strategic merge. */
struct json decode_wrap_numbers(struct arena *a, const struct schema *s, struct json object);
/* A decoded object in its stored form: lists that are always present are null if empty. */
struct json decode_for_store(struct arena *a, const struct schema *s, struct json object);
/* Why a text is not a valid time. */
const char *decode_time_trouble(struct arena *a, const char *text);
