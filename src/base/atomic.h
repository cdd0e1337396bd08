#pragma once

/* Parts of a pod that people give: what server-side apply holds as one value, and lists that it
 * tells apart by a key. */

#include "base/json.h"

/* With the API server's defaults written out where they count as ours. */
struct json atomic_fill(struct arena *a, struct json v);
/* The items of both lists; of those with the same text under key only the last, which is the one
 * that a kubelet takes. Absent if there is none. Either may be absent. */
struct json atomic_join(struct arena *a, struct json first, struct json second, const char *key);
