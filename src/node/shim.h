#pragma once

/* The supervisor of one task (a container's program, or a command in one): a small process between
 * leeboard and the program, so that the program survives a restart of leeboard.
 *
 *   leeboard ──fork──> shim ──fork──> program ──> its children
 *
 *   - It writes DIRECTORY/task (the pids) before the program starts, and DIRECTORY/exit (how it
 *     ended) after the last descendant of the program has ended. The same or a later leeboard
 *     reads there what it missed.
 *   - It is the reaper of its descendants: those that the program leaves behind are killed.
 *   - It writes output to a log in the format of the container runtime interface, line by line
 *     (TIME stdout|stderr F|P TEXT), and rotates it: LOG, LOG.1, LOG.2, …
 *   - It passes SIGTERM to the program; SIGUSR1 kills everything. If the shim itself is killed,
 *     the program dies with it.
 *   - If the program has input, it reads the pipe DIRECTORY/stdin, which any client may write to.
 *     The shim keeps it open, so the input ends only after SIGUSR2 and the last writer's close.
 *
 * The shim is a forked copy of this process that only makes system calls and allocates nothing. */

#include "base/error.h"
#include "node/root.h"
#include "node/runtime.h"

struct shim_spec {
    const char *directory; /* absolute, must exist; for `task`, `exit` */
    char *const *argv;     /* argv[0] without a slash is looked up in PATH of envp */
    char *const *envp;     /* the complete environment */
    const char *cwd;       /* as the program sees it */
    const char *log;       /* absolute; NULL: output is discarded */
    const int *stdio;      /* the program's stdin, stdout and stderr instead of the log; or NULL */
    bool terminal;         /* stdio[0] is a terminal; the program gets its own session */
    bool input;            /* from DIRECTORY/stdin; without this and stdio: no input */
    int64_t log_bytes_max; /* limit of one file; 0: 10 MiB */
    unsigned log_files;    /* 0: 5 */
    const char *root; /* an empty directory for root_enter(); NULL: the machine's own file system */
    const struct root_mount *mounts;
    size_t mount_count;
    int join_pid;                    /* enter the mount namespace of this process; 0: none */
    const char *const *cgroup;       /* cgroup.procs files to enter, ended by NULL; NULL: none */
    const struct runtime_user *user; /* NULL: this process's user */
    bool no_new_privs;
    bool dies_with_us; /* ends (SIGTERM, then SIGKILL 1 s later) when this thread ends */
};

/* The processes, from DIRECTORY/task. Start times are in clock ticks since boot, as in /proc;
 * together with the pid they identify a process uniquely. */
struct shim_task {
    int pid, program_pid;
    uint64_t start, program_start;
    int64_t started_ms;
};

/* The result, from DIRECTORY/exit. */
struct shim_exit {
    int code, signal; /* code is 128 + signal if a signal killed it */
    int64_t finished_ms;
};

/* Waits some milliseconds until the program runs or has failed to start. After a failure no trace
 * of it is left. The shim is a child process that the caller must wait for. */
bool shim_start(const struct shim_spec *spec, struct shim_task *ret, struct error *err) must_check;
/* A non-blocking descriptor for the program's input; -1: err. */
int shim_input(const char *directory, struct error *err) must_check;
/* False if the file is missing or unreadable. */
bool shim_task_read(const char *directory, struct shim_task *ret);
bool shim_exit_read(const char *directory, struct shim_exit *ret);
/* When a process started, from /proc; 0: there is no such process. */
uint64_t shim_process_start(int pid);
