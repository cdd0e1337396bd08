#pragma once

/* The paths of an OpenAPI document of version 3: which requests a kind takes. Clients look here for
 * parameters (dryRun, fieldValidation, …) and for the kind that a path is of. */

#include "apiserver/describe/openapi_schema.h"

/* All paths of a kind, and the schemas that they refer to. */
void openapi_paths_add(
    struct openapi_schemas *o, struct json_builder *paths, const struct api_kind *k);
/* One that answers a GET with a document. */
struct openapi_page {
    const char *path, *tag, *id;
    const char *schema; /* its name */
    const char *type;   /* the only form that it has; NULL: all three */
};
void openapi_paths_add_page(
    struct openapi_schemas *o, struct json_builder *paths, const struct openapi_page *page);
/* "rbacAuthorization" for rbac.authorization.k8s.io, "core" for "". */
const char *openapi_group_tag(struct arena *a, const char *group);
/* With a capital first letter. */
const char *openapi_capital(struct arena *a, const char *text);
