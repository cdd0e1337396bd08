#pragma once

/* Default values by path: a map without the member gets this one.
 *
 *   static const struct fill defaults[] = {
 *       { "spec.replicas", FILL_INT(1) },
 *       { "spec.ports.*.protocol", FILL_STR("TCP") },     every item of the list
 *       { 0 },
 *   };
 *
 * An empty text counts as missing, unless the row says otherwise. Missing parent maps are not
 * created, so their members get no defaults. The default of a map must come before the defaults
 * inside it. */

#include "base/json.h"

struct fill {
    const char *path; /* NULL after the last */
    struct json value;
    bool empty; /* an empty text is a value: a pointer in Go */
};

#define FILL_INT(n)                                                                                \
    {                                                                                              \
        .type = JSON_INT, .integer = (n)                                                           \
    }
#define FILL_STR(text)                                                                             \
    {                                                                                              \
        .type = JSON_STR, .count = sizeof(text) - 1, .string = text                                \
    }
#define FILL_BOOL(b)                                                                               \
    {                                                                                              \
        .type = JSON_BOOL, .boolean = (b)                                                          \
    }
#define FILL_MAP                                                                                   \
    {                                                                                              \
        .type = JSON_MAP                                                                           \
    }

struct json fill_table(struct arena *a, struct json v, const struct fill *table);
/* Applies one default. */
struct json fill_path(struct arena *a, struct json v, const char *path, struct json value);
/* Applies a function to the values at a path (with *); absent values stay absent. */
struct json fill_each(struct arena *a, struct json v, const char *path,
    struct json (*change)(struct arena *a, struct json v));
