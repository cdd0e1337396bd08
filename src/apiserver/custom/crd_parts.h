#pragma once

/* What a version of a CustomResourceDefinition has: schema, subresources, columns, fields to select
 * by. Where all versions have the same, it stands above them in the server's own type, and so in
 * paths. */

#include "apiserver/rules/field_errors.h"

/* A place of such parts: one version, or above all. */
struct crd_level {
    const char *at, *schema; /* "spec.versions[0]" and "schema", or "spec" and "validation" */
    const char *given_at;    /* where the client wrote it */
    const char *without;     /* what is said of fields to select by where there is no schema */
    struct json parts;       /* a version, with what is in this place alone */
    bool has_status;
    bool unchanged; /* the schema was accepted before */
};

void crd_parts_check(struct arena *a, const struct crd_level *level, struct field_errors *errors);
