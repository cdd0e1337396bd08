#pragma once

/* Server-side apply of manifests, for the commands that do it. */

#include "cli/ask.h"
#include "cli/input.h"

struct apply_target {
    struct resource resource;
    const char *ns, *name, *path;
};

/* Where an object goes. Fails if the server does not know its kind, or it has no name. */
bool apply_find_target(
    struct ask *q, struct json object, struct apply_target *ret, struct error *err) must_check;
/* *ret_outcome: "created", "changed" or "unchanged". */
bool apply_object(struct ask *q, struct json object, struct apply_target *ret,
    const char **ret_outcome, struct error *err) must_check;
/* The same, and a line on standard output that says which. */
bool apply_and_print(struct ask *q, struct json object, struct error *err) must_check;
/* The objects of all -f of the command line; given is whether there is any. */
bool apply_read_files(
    struct cli *cli, bool *ret_given, struct inputs *ret, struct error *err) must_check;
/* Whether a CRD among the objects makes this one's kind known. */
bool apply_is_brought(struct json objects, struct json object);
/* Asks the server about each object without changing anything. Each mistake is a line with its file
 * and line number: the error is the last one, the others are printed. */
bool apply_check(struct ask *q, struct inputs *in, struct error *err) must_check;
/* Puts "Kind/name: " in front. */
void apply_name_error(struct json object, struct error *err);

extern const struct cli_flag apply_flags[]; /* -f */
