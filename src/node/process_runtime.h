#pragma once

/* Containers as local processes, each below a supervisor of its own (shim.h). They are watched by
 * file descriptors of the kernel (pidfd), so that one that we adopt is watched like one that we
 * started. */

#include "node/runtime.h"

struct loop;
struct process_runtime;

struct process_runtime_options {
    bool no_mounts;        /* even where we could: everybody sees the machine's own tree */
    bool dies_with_us;     /* nothing outlives this process, and nothing is adopted */
    int64_t log_bytes_max; /* of one log file; 0: 10 MiB */
    unsigned log_files;    /* 0: 5 */
};

struct process_runtime *process_runtime_new(
    struct loop *loop, const struct process_runtime_options *options) must_check;
/* Every task must have been released. */
void process_runtime_free(struct process_runtime *r);
const struct node_runtime *process_runtime_node(struct process_runtime *r);
