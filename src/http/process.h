#pragma once

/* A child process that is fed, read and waited for: credential plugins, small helpers.
 *
 *   start ──> end(result)              once, when it exited and its output is read to the end,
 *                                      or when it could not be started
 *
 * Its stdout is collected up to a limit, its stderr up to 4 KiB (the end of it is what explains a
 * failure). Past the timeout or the limit the process group is killed and the result is an error.
 */

#include "base/error.h"
#include "base/str.h"

struct loop;
struct process;

struct process_options {
    const char *const *argv;      /* argv[0] is looked up in PATH; NULL-terminated */
    const char *const *extra_env; /* "NAME=value" put over our own environment; NULL: none */
    const char *directory;        /* NULL: ours */
    struct str input;             /* for stdin, which is closed after it; copied */
    bool inherit_stderr;          /* its stderr is ours; otherwise it is collected */
    size_t output_bytes_max;      /* 0: 1 MiB */
    int64_t timeout_ms;           /* 0: 60 s */
};

struct process_result {
    const struct error *err; /* not started, timeout, too much output; NULL: it ran and exited */
    int exit_code;           /* -1 if a signal ended it */
    int signal;              /* 0: none */
    struct str output;
    struct str errors; /* "" with inherit_stderr */
};

/* Everything in options is copied. The result is valid during end() only. */
struct process *process_start(struct loop *loop, const struct process_options *options,
    void (*end)(void *ctx, const struct process_result *result), void *ctx) must_check;
/* Kills it; end() is not called. */
void process_cancel(struct process *p);
