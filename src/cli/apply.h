#pragma once

/* Server-side apply of manifests, for the commands that use it. */

#include "cli/ask.h"
#include "cli/input.h"

struct apply_target {
    struct resource resource;
    const char *ns, *name, *path;
};

/* Finds the resource and path of an object. Fails if the server does not know its kind, or if it
 * has no name. */
bool apply_find_target(
    struct ask *q, struct json object, struct apply_target *ret, struct error *err) must_check;
/* *ret_outcome: "created", "changed" or "unchanged". */
bool apply_object(struct ask *q, struct json object, struct apply_target *ret,
    const char **ret_outcome, struct error *err) must_check;
/* The same, and prints a line with the outcome. */
bool apply_and_print(struct ask *q, struct json object, struct error *err) must_check;
/* Reads the objects of all -f of the command line; *ret_given: whether there was any. */
bool apply_read_files(
    struct cli *cli, bool *ret_given, struct inputs *ret, struct error *err) must_check;
/* Whether a CRD among the objects defines this object's kind. */
bool apply_is_brought(struct json objects, struct json object);
/* Validates each object at the server without changing anything. Each mistake is a line with its
 * file and line number: err is the last one, the others are printed. */
bool apply_check(struct ask *q, struct inputs *in, struct error *err) must_check;
/* Prepends "Kind/name: ". */
void apply_name_error(struct json object, struct error *err);

extern const struct cli_flag apply_flags[]; /* -f */
