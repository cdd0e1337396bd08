#pragma once

/* Manifests that the command line names. */

#include "base/json.h"

/* Where an object comes from. */
struct input_origin {
    const char *file; /* or "standard input" */
    struct str text;  /* all of the file */
    size_t document;
    const char *path; /* in the document: "", or "items[2]" of a List */
};

struct inputs {
    struct arena *arena;
    struct json_builder objects;
    struct input_origin *origins; /* of each object */
    size_t count, size;
};

void inputs_init(struct inputs *in, struct arena *a);
/* Adds every object of a file, of a directory's .yaml, .yml and .json files in order of names, or
 * of standard input ("-"); lists are taken apart. A Model's source that is a relative path, or
 * begins with ~, becomes absolute: it is relative to its file. */
bool input_read(struct inputs *in, const char *path, struct error *err) must_check;
/* All of them, as a list. */
struct json inputs_list(const struct inputs *in);
/* "FILE:LINE" of a path in the i-th object. */
const char *input_place(const struct inputs *in, size_t i, const char *path);
