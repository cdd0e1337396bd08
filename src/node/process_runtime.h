#pragma once

/* Runs containers as local processes, each below its own supervisor (shim.h). They are watched
 * through pidfds, which works the same for adopted tasks and for tasks that this process
 * started. */

#include "node/runtime.h"

struct loop;
struct process_runtime;

struct process_runtime_options {
    bool no_mounts; /* even if mounts are possible: containers see the machine's own file system */
    bool dies_with_us;     /* no task outlives this process, and none is adopted */
    int64_t log_bytes_max; /* limit of one log file; 0: 10 MiB */
    unsigned log_files;    /* 0: 5 */
};

struct process_runtime *process_runtime_new(
    struct loop *loop, const struct process_runtime_options *options) must_check;
/* Every task must be released first. */
void process_runtime_free(struct process_runtime *r);
const struct node_runtime *process_runtime_node(struct process_runtime *r);
