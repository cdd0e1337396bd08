#pragma once

/* Prints rows in aligned columns, for people. */

#include "base/json.h"

/* The width of a text in characters; an invalid byte counts as one. */
size_t columns_width(const char *text);
/* Prints a list of lists of strings, all as long as the first, to standard output. */
void columns_print(struct arena *a, struct json rows);
