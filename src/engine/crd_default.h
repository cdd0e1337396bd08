#pragma once

/* What the API server adds to an object when it stores it: the defaults of the CRD's schema. Used
 * for manifests that no API server has seen. */

#include "base/json.h"

/* The structural schema of one version of a CRD; absent if it has none. */
struct json crd_schema(struct json crd, const char *version);
/* The value with all defaults of the schema that apply. A member that is absent, or null where null
 * is not allowed, gets its default; the same applies to nested objects, lists and maps. An absent
 * parent without a default of its own stays absent. */
struct json crd_default(struct arena *a, struct json schema, struct json value);
