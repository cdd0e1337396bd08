#pragma once

/* Waits until what `leeboard up` runs is ready, from another process, with the display of `up`. */

#include "cli/ask.h"
#include "cli/show/rows.h"

struct await_options {
    struct ask *ask;
    const char *folder; /* of the data */
    int fd;             /* output for lines */
    bool plain;         /* lines on change, even on a terminal */
    /* Which rows are shown and awaited; NULL: all. */
    bool (*wanted)(void *ctx, const struct show_row *row);
    /* There must be a row of this kind that is not stopped; NULL: no such condition. */
    const char *kind;
    int64_t wait_ms; /* 0: no limit */
    /* Whether the running `leeboard up` has ended, so that waiting is pointless. */
    bool (*ended)(void *ctx);
    void *ctx;
    bool interruptible; /* signals end the wait instead of the process */
};

enum await_outcome {
    AWAIT_READY,
    AWAIT_UNREADY, /* a failure without a change for a while, or a timeout */
    AWAIT_ENDED,
    AWAIT_INTERRUPTED,
};

/* *ret_lines: one for each row that is not ready. */
enum await_outcome await_ready(const struct await_options *options, const char **ret_lines);
