#pragma once

/* For commands that use the models of this machine: starts `leeboard up` if needed, and finds the
 * address of the models. */

#include "cli/ask.h"
#include "cli/run/chat.h"

/* Starts `leeboard up --detach` on the folder unless it is running. */
bool start_up(struct cli *cli, const char *folder, struct error *err) must_check;
extern const struct cli_flag start_flags[]; /* of the `leeboard up` that it starts */

/* The URL and name of an InferenceService: at the shared endpoint of all models, or at its own
 * address if there is no such endpoint. service may be absent: then the name is that of another
 * object. */
bool start_find_endpoint(struct cli *cli, const char *folder, struct json service, const char *name,
    struct chat_options *ret, struct error *err) must_check;
