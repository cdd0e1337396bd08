#pragma once

/* OpenAPI v2, which kubectl reads for lists of objects and if there is no v3. It can express less
 * than the schema of a CRD, and clients request it in a binary format, gnostic's
 * openapi.v2.Document. */

#include "base/buf.h"
#include "base/json.h"

#define OPENAPI_V2_BINARY "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* The part of a CRD's schema that v2 can express: no alternatives, no defaults, and no details of
 * values that may be null or have unknown fields, which kubectl would treat as complete. */
struct json openapi_v2_schema(struct arena *a, struct json schema);
/* Encodes a whole document in the binary format. */
void openapi_v2_encode(struct buf *b, struct json document);
