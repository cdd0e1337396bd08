#pragma once

/* OpenAPI documents, built from the registry and the schemas, for `kubectl explain` and client-side
 * validation. Built-in kinds have no descriptions; custom kinds have those of their CRD. */

#include "apiserver/core/server.h"

/* "/openapi/v3": the index, with digests; "/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1";
 * "/openapi/v2": everything in one document, without paths. Absent: not found. */
struct json openapi_document(struct apiserver *s, struct arena *a, const char *path);
/* A digest of a document's sources, so that the index needs no documents; group NULL: of all kinds.
 * In upper case, as shown to clients. */
const char *openapi_digest(
    struct apiserver *s, struct arena *a, const char *group, const char *version);
