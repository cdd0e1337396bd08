#pragma once

/* The paths of an OpenAPI v3 document: the requests that a kind supports. Clients read the
 * parameters (dryRun, fieldValidation, …) and the kind of a path from it. */

#include "apiserver/describe/openapi_schema.h"

/* Adds all paths of a kind, and the schemas that they refer to. */
void openapi_paths_add(
    struct openapi_schemas *o, struct json_builder *paths, const struct api_kind *k);
/* A path that returns a document for GET. */
struct openapi_page {
    const char *path, *tag, *id;
    const char *schema; /* its name */
    const char *type;   /* its only media type; NULL: all three */
};
void openapi_paths_add_page(
    struct openapi_schemas *o, struct json_builder *paths, const struct openapi_page *page);
/* "rbacAuthorization" for rbac.authorization.k8s.io, "core" for "". */
const char *openapi_group_tag(struct arena *a, const char *group);
/* With the first letter in upper case. */
const char *openapi_capital(struct arena *a, const char *text);
