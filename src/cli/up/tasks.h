#pragma once

/* The processes of pods, from the node's files (node/shim.h): for commands outside the node, and
 * for processes that a killed leeboard left behind. */

#include "base/arena.h"

struct up_task {
    const char *uid; /* of the pod */
    int pid;         /* of the supervisor, which is also the session of all its descendants */
    int program_pid;
};

/* Lists those that run. */
size_t up_tasks(struct arena *a, const char *folder, struct up_task **ret);
/* "llama-server (process 77), …" for those that run; NULL: none. */
const char *up_tasks_text(struct arena *a, const char *folder);
/* Resident bytes of the descendants of a pod's supervisors. */
int64_t up_tasks_bytes(const struct up_task *tasks, size_t count, const char *uid);
