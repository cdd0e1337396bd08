#pragma once

/* What runs containers: the seam between a pod's life (pod.h) and the machine. Local processes
 * (process_runtime.h) are one side of it; a container engine can be another.
 *
 *   start ──> running ──> ended()         once, from the loop, however the task ended
 *   adopt ──> running or ended            what an earlier process of ours left
 *
 * A task has a directory of its own, which tells a later process of ours everything about it. */

#include "base/error.h"
#include "node/root.h"

struct runtime_task; /* one run of a container, or a command in one */

/* Whose rights a program has; where there are no users (node_runtime.users), ours. */
struct runtime_user {
    uint32_t user, group;
    const uint32_t *groups; /* others that it is in */
    size_t group_count;
};

struct runtime_spec {
    const char *directory;   /* absolute, of this task alone; made if it is not there */
    const char *const *argv; /* ended by NULL */
    const char *const *envp; /* "NAME=value", ended by NULL */
    const char *cwd;         /* as the container sees it; NULL: its directory */
    const char *log;         /* absolute; NULL: output goes nowhere */
    /* The program's input, output and errors, which the caller closes after the start; it dies
     * with us then. NULL: no input, and the log. */
    const int *stdio;
    bool terminal;                   /* stdio[0] is one, and becomes the program's own */
    bool input;                      /* without stdio: it reads what is written to input() */
    const struct root_mount *mounts; /* sorted by path */
    size_t mount_count;
    const char *const *cgroup;       /* cgroup.procs files to enter; NULL: none */
    const struct runtime_user *user; /* NULL: our own */
    bool no_new_privs; /* what it starts gains no rights by set-user-ID and the like */
};

enum runtime_phase { RUNTIME_RUNNING, RUNTIME_EXITED };

struct runtime_state {
    enum runtime_phase phase;
    int pid; /* of the program while it runs */
    int64_t started_ms;
    /* Of an ended one: */
    int exit_code, signal;
    int64_t finished_ms;
    bool lost; /* nobody saw how: its supervisor was killed, or the machine restarted */
};

struct runtime_watch {
    void (*ended)(void *ctx);
    void *ctx;
};

struct node_runtime {
    /* NULL: it could not be started, err says why, and nothing is left of it. */
    struct runtime_task *(*start)(
        void *self, const struct runtime_spec *spec, struct runtime_watch watch, struct error *err);
    /* What runs, or ran, in a directory; NULL: nothing did. ended() comes for an ended one, too. */
    struct runtime_task *(*adopt)(void *self, const char *directory, struct runtime_watch watch);
    /* A command in a running container: its own directory, the container's file system. */
    struct runtime_task *(*exec)(void *self, struct runtime_task *in,
        const struct runtime_spec *spec, struct runtime_watch watch, struct error *err);
    /* Asks the program to end, or kills it with everything below it. */
    void (*stop)(void *self, struct runtime_task *task, bool kill);
    /* A descriptor for its input, which is the caller's and does not block; -1: err. The input goes
     * on when it is closed, until end_input(). */
    int (*input)(void *self, struct runtime_task *task, struct error *err);
    void (*end_input)(void *self, struct runtime_task *task);
    struct runtime_state (*state)(void *self, const struct runtime_task *task);
    /* Forgets a task without stopping it; no call comes any more. */
    void (*release)(void *self, struct runtime_task *task);
    /* Whether mount paths are true inside; else pods must be told the real ones (paths.h). */
    bool mounts;
    bool users; /* whether programs can have another user than ours */
    void *self;
};
