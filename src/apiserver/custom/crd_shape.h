#pragma once

/* A CustomResourceDefinition as the API server's own type holds it: it has no place for fields that
 * it does not know, and none for false, 0, "" and empty lists where they mean nothing. */

#include "apiserver/rules/field_errors.h"

/* As struct api_behaviour has it: the CRD in that form; unknown takes the paths of the others. */
struct json crd_shape_prune(struct arena *a, struct json crd, struct field_errors *unknown);
/* A schema as it was sent in that form, but for empty lists and maps, which are still there. */
struct json crd_shape_given_schema(struct arena *a, struct json schema);
/* Whether the values are of the right types: fails with the words of Go's decoder. */
bool crd_shape_check(struct arena *a, struct json crd, struct error *err) must_check;

/* How the server's own type prints when a message shows all of a value: names of Go, in the order
 * of the type. For a JSONSchemaProps. */
const char *crd_shape_schema_text(struct arena *a, struct json schema);
/* For its items, which may be a list; for spec.versions. */
const char *crd_shape_items_text(struct arena *a, struct json items);
const char *crd_shape_versions_text(struct arena *a, struct json versions);
