#pragma once

/* The programs of the init containers that bring a model into a pod: scripts/, reduced to the parts
 * that one model needs. Their text contains no value that a user wrote, except for a checked
 * digest. */

#include "base/json.h"

struct llmkube_settings;
struct model;

/* Fetches the model. For a model that must not be fetched, the program prints why and fails. */
const char *storage_fetch_program(
    struct arena *a, const struct llmkube_settings *s, const struct model *m, bool cached);
/* Whether two fetch programs use the same digest and refresh policy. True unless both are from
 * storage_fetch_program(): upstream's program cannot be compared by its text. */
bool storage_same_request(const char *program, const char *other);
/* Makes the root of the cache writable for a group; without one (≤ 0), for the downloader alone. */
const char *storage_prepare_program(struct arena *a, int64_t group);
