#pragma once

/* A CRD in the form of the API server's own type, which has no unknown fields, and omits
 * meaningless false, 0, "" and empty lists. */

#include "apiserver/rules/field_errors.h"

/* As in struct api_behaviour: the CRD in that form; the paths of other fields are added to
 * `unknown`. */
struct json crd_shape_prune(struct arena *a, struct json crd, struct field_errors *unknown);
/* A schema from the client in that form, but with empty lists and maps. */
struct json crd_shape_given_schema(struct arena *a, struct json schema);
/* Whether the values have the right types: fails with Go's decoder error. */
bool crd_shape_check(struct arena *a, struct json crd, struct error *err) must_check;

/* A JSONSchemaProps printed like the server's own type, for messages that show a whole value: with
 * Go's names, in the order of the type. */
const char *crd_shape_schema_text(struct arena *a, struct json schema);
/* For `items`, which may be a list; for spec.versions. */
const char *crd_shape_items_text(struct arena *a, struct json items);
const char *crd_shape_versions_text(struct arena *a, struct json versions);
