#pragma once

/* The processes of pods, as the node's files tell (node/shim.h): for commands beside the node, and
 * for what a leeboard that was killed left running. */

#include "base/arena.h"

struct up_task {
    const char *uid; /* of the pod */
    int pid;         /* of the supervisor, which is the session of all below it */
    int program_pid;
};

/* Those that run. */
size_t up_tasks(struct arena *a, const char *folder, struct up_task **ret);
/* "llama-server (process 77), …" of those that run; NULL: none does. */
const char *up_tasks_text(struct arena *a, const char *folder);
/* Resident bytes of what runs below the supervisors of a pod. */
int64_t up_tasks_bytes(const struct up_task *tasks, size_t count, const char *uid);
