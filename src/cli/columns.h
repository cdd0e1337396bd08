#pragma once

/* Rows of texts in columns, for people. */

#include "base/json.h"

/* Characters of a text; a byte that is none counts as one. */
size_t columns_width(const char *text);
/* A list of lists of texts, all as long as the first, on standard output. */
void columns_print(struct arena *a, struct json rows);
