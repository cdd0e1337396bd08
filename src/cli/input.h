#pragma once

/* Manifests from files, directories and standard input. */

#include "base/json.h"

/* All objects of a path: a file of YAML or JSON documents, a directory (its *.yaml, *.yml and
 * *.json, sorted, not below), or "-". Lists are taken apart, empty documents dropped. Appends to
 * the list. */
bool input_read(
    struct arena *a, const char *path, struct json_builder *to, struct error *err) must_check;
