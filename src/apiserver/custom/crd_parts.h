#pragma once

/* The parts of a CRD version: schema, subresources, columns, selectable fields. If all versions
 * have the same, the server's internal type has them at the top level, and so have error paths. */

#include "apiserver/rules/field_errors.h"

/* A level with such parts: one version, or the top level. */
struct crd_level {
    const char *at, *schema; /* "spec.versions[0]" and "schema", or "spec" and "validation" */
    const char *given_at;    /* the path that the client wrote */
    const char *without;     /* the message for selectable fields without a schema */
    struct json parts;       /* a version, with only the parts at this level */
    bool has_status;
    bool unchanged; /* the schema was accepted before */
};

void crd_parts_check(struct arena *a, const struct crd_level *level, struct field_errors *errors);
