#pragma once

/* Validates a CRD. */

#include "apiserver/rules/field_errors.h"

/* crd is in the form of crd_shape.h and crd_fill(). old absent: it is new. */
void crd_check(struct arena *a, struct json crd, struct json old, struct field_errors *errors);

/* One schema; at is its path. given (absent: unknown) is what the client sent, used if the kind has
 * a status. unchanged: the schema was accepted before, so the cost of its rules is not limited. */
struct crd_schema_options {
    const char *at;
    bool has_status, unchanged;
    struct json given;
};
void crd_check_schema(struct arena *a, struct json schema, const struct crd_schema_options *options,
    struct field_errors *errors);
