#pragma once

/* Waits until what `leeboard up` runs is ready, from beside it, with the display of `up`. */

#include "cli/ask.h"
#include "cli/show/rows.h"

struct await_options {
    struct ask *ask;
    const char *folder; /* of the data */
    int fd;             /* where lines go */
    bool plain;         /* lines on change, even on a terminal */
    /* The rows that count and are shown; NULL: all. */
    bool (*wanted)(void *ctx, const struct show_row *row);
    /* One of the rows must be of this kind, and not be stopped; NULL: none must. */
    const char *kind;
    int64_t wait_ms; /* 0: for ever */
    /* Whether the one that runs has ended, so that nothing is to be waited for. */
    bool (*ended)(void *ctx);
    void *ctx;
    bool interruptible; /* by signals, which are then no end of the process */
};

enum await_outcome {
    AWAIT_READY,
    AWAIT_UNREADY, /* something has failed and nothing changed for a while, or time passed */
    AWAIT_ENDED,
    AWAIT_INTERRUPTED,
};

/* *ret_lines: one for each row that is not ready. */
enum await_outcome await_ready(const struct await_options *options, const char **ret_lines);
