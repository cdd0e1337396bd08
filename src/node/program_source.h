#pragma once

/* Where programs that images run come from. */

#include "base/json.h"
#include "node/gpus.h"

/* For a program that is not on this machine, by the words of its command: what to install or where
 * it is released, and, for servers that use a GPU, which GPUs were found. "" if it is not known. */
const char *program_source(struct arena *a, struct json words, const struct gpus *gpus);
