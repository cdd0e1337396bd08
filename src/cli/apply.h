#pragma once

/* Server-side apply of manifests, for the commands that do it. */

#include "cli/ask.h"

struct apply_target {
    struct resource resource;
    const char *namespace, *name, *path;
};

/* Where an object goes. Fails if the server does not know its kind, or it has no name. */
bool apply_find_target(
    struct ask *q, struct json object, struct apply_target *ret, struct error *err) must_check;
/* *ret_outcome: "created", "changed" or "unchanged". */
bool apply_object(struct ask *q, struct json object, struct apply_target *ret,
    const char **ret_outcome, struct error *err) must_check;
/* The objects of all -f of the command line; given is whether there is any. */
bool apply_read_files(
    struct cli *cli, bool *ret_given, struct json *ret, struct error *err) must_check;
/* Puts "Kind/name: " in front. */
void apply_name_error(struct json object, struct error *err);

extern const struct cli_flag apply_flags[]; /* -f */
