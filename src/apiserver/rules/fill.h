#pragma once

/* Default values by path: where a map has no such member, it gets this one.
 *
 *   static const struct fill defaults[] = {
 *       { "spec.replicas", FILL_INT(1) },
 *       { "spec.ports.*.protocol", FILL_STR("TCP") },     every item of the list
 *       { 0 },
 *   };
 *
 * An empty text is no value either, unless the row says so. Maps on the way to the member are not
 * made: what is not there has no defaults. A default of a map itself comes before the defaults
 * inside it. */

#include "base/json.h"

struct fill {
    const char *path; /* NULL after the last */
    struct json value;
    bool empty; /* an empty text is a value: Go has a pointer here */
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
/* One of them. */
struct json fill_path(struct arena *a, struct json v, const char *path, struct json value);
/* What is at a path (with *), changed by a function; what is not there stays so. */
struct json fill_each(struct arena *a, struct json v, const char *path,
    struct json (*change)(struct arena *a, struct json v));
