#pragma once

/* Taking over from an upstream operator: its objects stay, only the ownership of their fields moves
 * to us. Upstream wrote by plain updates, so its fields are in an Update entry under its manager
 * name; server-side apply alone would leave them there for ever, and a field that we no longer want
 * would never go away (facts: "moving from Update to Apply"). */

#include "base/json.h"

struct schema;

/* Whether an entry of one of these managers (NULL-terminated) is there. subresource "" or "status".
 */
bool adopt_wanted(struct json object, const char *const *managers, const char *subresource);
/* The fields that those entries own. */
struct json adopt_fields(struct arena *a, const struct schema *s, struct json object,
    const char *const *managers, const char *subresource);
/* The JSON patch that hands them to `manager` as applied fields; it replaces resourceVersion too,
 * so it fails when anybody wrote in between. */
struct json adopt_patch(struct arena *a, struct json object, const char *const *managers,
    const char *subresource, const char *manager);
