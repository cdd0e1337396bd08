#pragma once

/* The programs of the init containers that bring a model into a pod: scripts/, reduced to what one
 * model needs. No value that a user wrote is in their text, except a checked digest. */

#include "base/json.h"

struct llmkube_settings;
struct model;

/* Fetches the model; one that must not be fetched gets a program that says why and fails. */
const char *storage_fetch_program(
    struct arena *a, const struct llmkube_settings *s, const struct model *m, bool cached);
/* Whether two texts that fetch a model do so with the same digest and refresh policy. True unless
 * both are storage_fetch_program()'s: what upstream's does, its text does not tell. */
bool storage_same_request(const char *program, const char *other);
/* Makes the root of the cache writable for a group; without one (≤ 0), for the downloader alone. */
const char *storage_prepare_program(struct arena *a, int64_t group);
