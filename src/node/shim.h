#pragma once

/* The supervisor of one task (a container's program, or a command in one): a small process of its
 * own between us and the program, so that neither depends on our life.
 *
 *   leeboard ──fork──> shim ──fork──> program ──> its children
 *
 *   - It writes DIRECTORY/task (who they are) before the program begins, and DIRECTORY/exit (how it
 *     ended) after the last of the program's descendants is gone: whoever comes later, this
 *     leeboard or the next one, reads there what it missed.
 *   - It is the reaper of everything below it: what the program leaves behind is killed with it.
 *   - It writes output to a log in the format of the container runtime interface, line by line
 *     (TIME stdout|stderr F|P TEXT), and rotates it: LOG, LOG.1, LOG.2, …
 *   - SIGTERM to it is passed to the program, SIGUSR1 kills everything. If it is killed itself, the
 *     program dies with it.
 *   - If the program is to have input, it reads the pipe DIRECTORY/stdin, to which anybody writes.
 *     The shim keeps it open, so that the input ends with SIGUSR2 and the writers, not before.
 *
 * It runs in a forked copy of this process that only makes system calls and allocates nothing. */

#include "base/error.h"
#include "node/root.h"
#include "node/runtime.h"

struct shim_spec {
    const char *directory; /* absolute, there already; for `task`, `exit` */
    char *const *argv;     /* argv[0] without a slash is looked up in PATH of envp */
    char *const *envp;     /* all of it */
    const char *cwd;       /* as the program sees it */
    const char *log;       /* absolute; NULL: output goes nowhere */
    const int *stdio;      /* what the program has as 0, 1 and 2 in place of the log; or NULL */
    bool terminal;         /* stdio[0] is one, for a session of the program's own */
    bool input;            /* from DIRECTORY/stdin; without it, and without stdio: none */
    int64_t log_bytes_max; /* of one file; 0: 10 MiB */
    unsigned log_files;    /* 0: 5 */
    const char *root;      /* an empty directory for root_enter(); NULL: the machine's own tree */
    const struct root_mount *mounts;
    size_t mount_count;
    int join_pid;                    /* into this process's mounts; 0: none */
    const char *const *cgroup;       /* cgroup.procs files to enter, NULL at the end; NULL: none */
    const struct runtime_user *user; /* NULL: ours */
    bool no_new_privs;
    bool dies_with_us; /* ends (SIGTERM, then SIGKILL 1 s later) when this thread ends */
};

/* Who runs, from DIRECTORY/task. Start times are in clock ticks since boot, as /proc has them: with
 * the pid they name a process for ever. */
struct shim_task {
    int pid, program_pid;
    uint64_t start, program_start;
    int64_t started_ms;
};

/* How it ended, from DIRECTORY/exit. */
struct shim_exit {
    int code, signal; /* code is 128 + signal after one */
    int64_t finished_ms;
};

/* Waits until the program runs or could not be started: some milliseconds. After a failure nothing
 * is left of it. The shim is a child of ours that must be waited for. */
bool shim_start(const struct shim_spec *spec, struct shim_task *ret, struct error *err) must_check;
/* A descriptor that does not block, for the input of the program; -1: err. */
int shim_input(const char *directory, struct error *err) must_check;
/* False if there is no such file, or it cannot be read. */
bool shim_task_read(const char *directory, struct shim_task *ret);
bool shim_exit_read(const char *directory, struct shim_exit *ret);
/* When a process began, by /proc; 0: there is none. */
uint64_t shim_process_start(int pid);
