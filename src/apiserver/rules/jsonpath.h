#pragma once

/* The part of JSONPath that printer columns use.
 *
 *   .spec.replicas  .metadata.labels.a\.b  ['key']  [0]  [-1]  [*]  .*  [?(@.type=="Ready")]
 *
 * Filters compare a path below the item (or the item, @) with a text, a number or true/false by ==,
 * !=, <, <=, >, >=, or test whether it exists. */

#include "base/json.h"

/* The first value at a path; absent if there is none, or if the path is invalid. */
struct json jsonpath_first(struct arena *a, const char *path, struct json value);
