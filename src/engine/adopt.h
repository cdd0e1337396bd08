#pragma once

/* Taking over objects from an upstream operator: the objects stay, only the ownership of their
 * fields moves to us. Upstream wrote with plain updates, so its fields are in an Update entry under
 * its manager name. Server-side apply alone would leave them there for ever, and a field that we no
 * longer want would never be removed (facts: "moving from Update to Apply"). */

#include "base/json.h"

struct schema;

/* Whether the object has a managedFields entry of one of these managers (NULL-terminated).
 * subresource is "" or "status". */
bool adopt_wanted(struct json object, const char *const *managers, const char *subresource);
/* The fields that those entries own. */
struct json adopt_fields(struct arena *a, const struct schema *s, struct json object,
    const char *const *managers, const char *subresource);
/* The JSON patch that turns those entries into applied fields of `manager`. It also replaces
 * resourceVersion, so it fails if another client wrote in between. */
struct json adopt_patch(struct arena *a, struct json object, const char *const *managers,
    const char *subresource, const char *manager);
