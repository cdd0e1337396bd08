#pragma once

/* What a CustomResourceDefinition must be. */

#include "apiserver/rules/field_errors.h"

/* crd is in the form that crd_shape.h and crd_fill() give it; old absent: it is new. */
void crd_check(struct arena *a, struct json crd, struct json old, struct field_errors *errors);

/* One schema; at is its path. given (absent: not known) is what the client sent, which is looked at
 * if the kind has a status. unchanged: it was accepted before, so its rules may cost what they
 * cost. */
struct crd_schema_options {
    const char *at;
    bool has_status, unchanged;
    struct json given;
};
void crd_check_schema(struct arena *a, struct json schema, const struct crd_schema_options *options,
    struct field_errors *errors);
