#pragma once

/* What `kubectl explain` says of the fields that objects of every kind have. The prose of the real
 * server's schemas is left out; this is what most people look up first. */

#include "base/json.h"

/* The schema of ObjectMeta, described. */
struct json openapi_describe_meta(struct arena *a, struct json schema);
/* The schema of a kind, in which those of the three fields that say nothing are described. */
struct json openapi_describe_object(struct arena *a, struct json schema);
