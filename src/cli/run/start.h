#pragma once

/* What commands need that talk to the models of this machine: a `leeboard up` that runs, and the
 * address at which models answer. */

#include "cli/ask.h"
#include "cli/run/chat.h"

/* Starts `leeboard up --detach` on the folder if none runs there. */
bool start_up(struct cli *cli, const char *folder, struct error *err) must_check;
extern const struct cli_flag start_flags[]; /* those of the one that is started */

/* Where an InferenceService answers, by its name at the address for all models; or by its own,
 * if there is no such address. service may be absent: then the name is somebody else's. */
bool start_find_endpoint(struct cli *cli, const char *folder, struct json service, const char *name,
    struct chat_options *ret, struct error *err) must_check;
