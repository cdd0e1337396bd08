#pragma once

/* The part of JSONPath that printer columns use.
 *
 *   .spec.replicas  .metadata.labels.a\.b  ['key']  [0]  [-1]  [*]  .*  [?(@.type=="Ready")]
 *
 * Filters compare a path below the item (or the item, @) with a text, a number or true/false by ==,
 * !=, <, <=, >, >=, or ask whether it is there. */

#include "base/json.h"

/* The first value that a path leads to; absent if none, or if the path cannot be read. */
struct json jsonpath_first(struct arena *a, const char *path, struct json value);
