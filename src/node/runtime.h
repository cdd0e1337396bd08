#pragma once

/* The interface between pods (pod.h) and what runs their containers. process_runtime.h implements
 * it with local processes; a container engine could be another implementation.
 *
 *   start ──> running ──> ended()         called once, from the loop, however the task ended
 *   adopt ──> running or ended            what an earlier process started
 *
 * Each task has its own directory, from which a later process can adopt it. */

#include "base/error.h"
#include "node/root.h"

struct runtime_task; /* one run of a container, or a command in one */

/* The user of a program; ignored unless node_runtime.users is set. */
struct runtime_user {
    uint32_t user, group;
    const uint32_t *groups; /* supplementary groups */
    size_t group_count;
};

struct runtime_spec {
    const char *directory;   /* absolute, only for this task; created if missing */
    const char *const *argv; /* ended by NULL */
    const char *const *envp; /* "NAME=value", ended by NULL */
    const char *cwd;         /* as the container sees it; NULL: its directory */
    const char *log;         /* absolute; NULL: output is discarded */
    /* The program's stdin, stdout and stderr, which the caller closes after the start; the program
     * dies with this process. NULL: no input, and output goes to the log. */
    const int *stdio;
    bool terminal; /* stdio[0] is a terminal and becomes the program's controlling terminal */
    bool input;    /* without stdio: the program reads what is written to input() */
    const struct root_mount *mounts; /* sorted by path */
    size_t mount_count;
    const char *const *cgroup;       /* cgroup.procs files to enter; NULL: none */
    const struct runtime_user *user; /* NULL: this process's user */
    bool no_new_privs;               /* set-user-ID files and the like have no effect */
};

enum runtime_phase { RUNTIME_RUNNING, RUNTIME_EXITED };

struct runtime_state {
    enum runtime_phase phase;
    int pid; /* of the program while it runs */
    int64_t started_ms;
    /* After the end: */
    int exit_code, signal;
    int64_t finished_ms;
    bool lost; /* how it ended is unknown: its supervisor was killed, or the machine restarted */
};

struct runtime_watch {
    void (*ended)(void *ctx);
    void *ctx;
};

struct node_runtime {
    /* NULL: it could not be started, err says why, and no trace of it is left. */
    struct runtime_task *(*start)(
        void *self, const struct runtime_spec *spec, struct runtime_watch watch, struct error *err);
    /* The task that runs, or ran, in a directory; NULL: none. ended() is called for an ended one,
     * too. */
    struct runtime_task *(*adopt)(void *self, const char *directory, struct runtime_watch watch);
    /* Runs a command in a running container: own directory, the container's file system. */
    struct runtime_task *(*exec)(void *self, struct runtime_task *in,
        const struct runtime_spec *spec, struct runtime_watch watch, struct error *err);
    /* Asks the program to end, or kills it and all its descendants. */
    void (*stop)(void *self, struct runtime_task *task, bool kill);
    /* A non-blocking descriptor for its input, owned by the caller; -1: err. Closing it does not
     * end the input; end_input() does. */
    int (*input)(void *self, struct runtime_task *task, struct error *err);
    void (*end_input)(void *self, struct runtime_task *task);
    struct runtime_state (*state)(void *self, const struct runtime_task *task);
    /* Forgets a task without stopping it; no callback follows. */
    void (*release)(void *self, struct runtime_task *task);
    /* Whether mount paths exist inside; otherwise pods get the real paths (paths.h). */
    bool mounts;
    bool users; /* whether programs can run as another user */
    void *self;
};
