#pragma once

/* Runs a child process with input and output: credential plugins, small helpers.
 *
 *   start ──> end(result)              once, when it has exited and all output was read,
 *                                      or when it could not be started
 *
 * Its stdout is collected up to a limit, and the last 4 KiB of its stderr, because the end explains
 * a failure. After the timeout, or beyond the limit, the process group is killed and the result is
 * an error. */

#include "base/error.h"
#include "base/str.h"

struct loop;
struct process;

struct process_options {
    const char *const *argv;      /* NULL-terminated; argv[0] is looked up in PATH */
    const char *const *extra_env; /* "NAME=value", added to our environment; NULL: none */
    const char *directory;        /* NULL: the current directory */
    struct str input;             /* for stdin, which is then closed; copied */
    bool inherit_stderr;          /* stderr is not collected but goes to ours */
    size_t output_bytes_max;      /* 0: 1 MiB */
    int64_t timeout_ms;           /* 0: 60 s */
};

struct process_result {
    const struct error *err; /* start failure, timeout, too much output; NULL: it ran and exited */
    int exit_code;           /* -1 if it was killed by a signal */
    int signal;              /* 0: none */
    struct str output;
    struct str errors; /* "" with inherit_stderr */
};

/* All options are copied. The result is valid only during end(). */
struct process *process_start(struct loop *loop, const struct process_options *options,
    void (*end)(void *ctx, const struct process_result *result), void *ctx) must_check;
/* Kills it; end() is not called. */
void process_cancel(struct process *p);
