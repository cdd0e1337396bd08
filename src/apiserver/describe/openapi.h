#pragma once

/* OpenAPI documents, made from the registry and the schemas: what `kubectl explain` and client-side
 * checks read. Built-in kinds have no descriptions; those of custom kinds are their CRD's. */

#include "apiserver/core/server.h"

/* "/openapi/v3": the index, with digests; "/openapi/v3/apis/apps/v1", "/openapi/v3/api/v1";
 * "/openapi/v2": all in one, without paths. Absent: there is no such document. */
struct json openapi_document(struct apiserver *s, struct arena *a, const char *path);
/* A digest of what a document is made from, so that an index needs no documents; group NULL: of all
 * kinds. In capitals, as clients see it. */
const char *openapi_digest(
    struct apiserver *s, struct arena *a, const char *group, const char *version);
