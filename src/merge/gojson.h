#pragma once

/* JSON as Go's encoder writes it, for cases where the exact text matters: keys in FieldsV1, and
 * annotations that hold an object. It also escapes HTML special characters. */

#include "base/json.h"

char *gojson_text(struct arena *a, struct json v);

/* Like Go's %v of a decoded value, for messages: map[a:1 b:[x y]]. */
char *gojson_shown(struct arena *a, struct json v);

/* Like Go's %#v: []interface {}{1, "x"}. */
char *gojson_literal(struct arena *a, struct json v);
