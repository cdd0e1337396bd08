#pragma once

/* Parts of a pod that users provide: fields that server-side apply treats as one value, and lists
 * that it merges by key. */

#include "base/json.h"

/* Adds the API server's defaults where they count as our fields. */
struct json atomic_fill(struct arena *a, struct json v);
/* The items of both lists. If several items have the same text under `key`, only the last one is
 * kept, which is the one that a kubelet uses. Absent if there are no items. Either list may be
 * absent. */
struct json atomic_join(struct arena *a, struct json first, struct json second, const char *key);
