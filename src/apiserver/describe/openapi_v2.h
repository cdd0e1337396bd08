#pragma once

/* OpenAPI version 2, which kubectl reads for lists of objects and where it has no version 3: it can
 * say less than the schema of a CRD, and clients ask for it in a binary form, gnostic's
 * openapi.v2.Document. */

#include "base/buf.h"
#include "base/json.h"

#define OPENAPI_V2_BINARY "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* What version 2 can say of a CRD's schema: no alternatives, no defaults, and nothing about the
 * inside of what may be null or hold anything, which kubectl would take for all there may be. */
struct json openapi_v2_schema(struct arena *a, struct json schema);
/* A whole document in the binary form. */
void openapi_v2_encode(struct buf *b, struct json document);
