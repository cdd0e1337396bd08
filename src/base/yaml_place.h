#pragma once

/* Finds the line of a field in a YAML text, for messages about values that were read from it. */

#include "base/str.h"

/* The line of a path such as `spec.args[2].name` or `metadata.labels[a/b]` in a document; documents
 * without a value do not count. If the text has only the beginning of the path, the line of that; 0
 * if the text cannot be parsed. */
int yaml_line_of(struct str text, size_t document, const char *path);
