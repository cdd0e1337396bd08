#pragma once

/* The logs of all containers on this machine. Each line is prefixed with the name of its owner, as
 * in docker compose. */

#include "cli/ask.h"

struct logs_all_options {
    struct ask *ask;
    const char *folder; /* of the data */
    const char *ns;     /* NULL: of all namespaces */
    bool follow;        /* also show containers that start later, until nothing runs any more */
    const char *tail;   /* number of lines of each; NULL: all */
};

bool logs_all(const struct logs_all_options *options, struct error *err) must_check;
