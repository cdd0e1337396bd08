#pragma once

/* An object as Go would read it into its struct and print it again: unknown fields are gone, zero
 * values are left out or always there as the struct's tags have it, quantities and times are in
 * their canonical form. For kinds whose schema knows Go's types (merge/schema.h). */

#include "apiserver/rules/field_errors.h"
#include "merge/schema.h"

/* Each unknown field becomes a FIELD_INVALID error with its path. A value that cannot be read
 * becomes one FIELD_TYPE_INVALID error, whose message is what Go says ("json: cannot unmarshal …");
 * then what is returned has a zero value there. */
struct json decode_object(
    struct arena *a, const struct schema *s, struct json object, struct field_errors *unknown);
/* Whole numbers that do not fit into Go's type of their field lose their upper bits, as where the
 * server makes objects of maps: after an apply and a strategic merge. */
struct json decode_wrap_numbers(struct arena *a, const struct schema *s, struct json object);
/* A decoded object as it is stored: lists that are always written and empty are null there. */
struct json decode_for_store(struct arena *a, const struct schema *s, struct json object);
/* Why a text is no time. */
const char *decode_time_trouble(struct arena *a, const char *text);
