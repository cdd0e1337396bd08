#pragma once

/* The logs of all containers that run on this machine, each line with the name of what it is for in
 * front, as docker compose shows them. */

#include "cli/ask.h"

struct logs_all_options {
    struct ask *ask;
    const char *folder; /* of the data */
    const char *ns;     /* NULL: of all namespaces */
    bool follow;        /* also of containers that begin later, until nothing runs any more */
    const char *tail;   /* so many lines of each; NULL: all */
};

bool logs_all(const struct logs_all_options *options, struct error *err) must_check;
