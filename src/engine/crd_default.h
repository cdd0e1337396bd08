#pragma once

/* What the API server adds to an object when it stores it: the defaults of a CRD's schema. For
 * manifests that no API server has seen. */

#include "base/json.h"

/* The structural schema of one version of a CustomResourceDefinition; absent if it has none. */
struct json crd_schema(struct json crd, const char *version);
/* The value with every default of the schema that applies: a member that is absent, or null where
 * null is not allowed, gets its default; below it, and in lists and maps, the same again. A parent
 * that is absent and has no default of its own stays absent. */
struct json crd_default(struct arena *a, struct json schema, struct json value);
