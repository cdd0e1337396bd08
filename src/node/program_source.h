#pragma once

/* Where to get the programs that images run. */

#include "base/json.h"
#include "node/gpus.h"

/* For a program that is not on this machine, by its command: what to install or where it is
 * released, and, for servers that use a GPU, which GPUs were found. "" if unknown. */
const char *program_source(struct arena *a, struct json words, const struct gpus *gpus);
