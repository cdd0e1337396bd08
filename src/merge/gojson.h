#pragma once

/* JSON as Go's encoder writes it, where the very text matters: keys in FieldsV1, annotations that
 * hold an object. It also escapes what HTML could take for markup. */

#include "base/json.h"

char *gojson_text(struct arena *a, struct json v);

/* As Go's %v prints a decoded value, in messages: map[a:1 b:[x y]]. */
char *gojson_shown(struct arena *a, struct json v);

/* As Go's %#v prints it: []interface {}{1, "x"}. */
char *gojson_literal(struct arena *a, struct json v);
