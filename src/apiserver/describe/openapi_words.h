#pragma once

/* The descriptions in `kubectl explain` for the fields of every kind. The real server's
 * descriptions are left out; these are the ones that users look up first. */

#include "base/json.h"

/* The schema of ObjectMeta with descriptions. */
struct json openapi_describe_meta(struct arena *a, struct json schema);
/* The schema of a kind, with descriptions for the three common fields that have none. */
struct json openapi_describe_object(struct arena *a, struct json schema);
