#pragma once

/* The families of kinds that this program knows, with their settings from the command line. */

#include "cli/cli.h"
#include "engine/engine.h"
#include "kinds/llmkube/settings.h"

#define FAMILIES_MAX 4

struct families {
    struct llmkube_settings llmkube;
    struct engine_family list[FAMILIES_MAX];
    size_t count;
};

/* From the flags that were given. */
bool families_read(struct cli *cli, struct families *ret, struct error *err) must_check;
