#pragma once

/* Manifests from the command line. */

#include "base/json.h"

/* The origin of an object. */
struct input_origin {
    const char *file; /* or "standard input" */
    struct str text;  /* the complete file */
    size_t document;
    const char *path; /* path in the document: "", or "items[2]" of a List */
};

struct inputs {
    struct arena *arena;
    struct json_builder objects;
    struct input_origin *origins; /* one per object */
    size_t count, size;
};

void inputs_init(struct inputs *in, struct arena *a);
/* Adds all objects of a file, of a directory's .yaml, .yml and .json files in alphabetical order,
 * or of standard input ("-"); a List is split into its items. A relative source of a Model, or one
 * that begins with ~, becomes absolute: it is relative to its file. */
bool input_read(struct inputs *in, const char *path, struct error *err) must_check;
/* All objects, as a list. */
struct json inputs_list(const struct inputs *in);
/* "FILE:LINE" of a path in the i-th object. */
const char *input_place(const struct inputs *in, size_t i, const char *path);
