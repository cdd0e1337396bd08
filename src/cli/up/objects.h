#pragma once

/* The user's objects of `leeboard up`: the kinds with a line in its display and in `leeboard ps`,
 * and their pods. */

#include "cli/ask.h"
#include "cli/show/rows.h"

extern const struct resource *const up_resources[]; /* NULL-terminated */

struct up_objects {
    struct json objects; /* of those kinds, and all pods */
    struct show_row *rows;
    size_t count;
};

/* Lists all of them. folder: of the data, to add details from its files; NULL: no details. */
bool up_objects_list(
    struct ask *q, const char *folder, struct up_objects *ret, struct error *err) must_check;
/* The object of a row. */
struct json up_objects_find(const struct up_objects *o, const struct show_row *row);
