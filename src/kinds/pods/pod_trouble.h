#pragma once

/* What keeps pods from running and does not heal by waiting, in one sentence for people: from the
 * status that the kubelet and the scheduler write. All kinds with pods put it into a condition. */

#include "base/json.h"

struct pod_trouble {
    /* NULL: none. CrashLoopBackOff, OOMKilled, ImagePullBackOff, CreateContainerConfigError,
     * Unschedulable, …: the words of Kubernetes. */
    const char *reason;
    const char *message;
};

/* The trouble of the first pod that has one. Pods that are ready or terminating have none. They
 * need status.conditions, status.containerStatuses and status.initContainerStatuses. */
struct pod_trouble pod_trouble_of(struct arena *a, struct json pods);
/* When the last container that had crashed was started again, in milliseconds; 0: none runs. */
int64_t pod_trouble_revived_ms(struct json pods);
/* Of the last lines of a program the one that says most: the first with an error in it, because
 * what follows it follows from it; otherwise the last. "" if there is none. */
const char *pod_trouble_line(struct arena *a, const char *text);
/* "exit code 3", "exit code 137 (Killed)", "OOMKilled": how a container ended. */
const char *pod_trouble_exit(struct arena *a, struct json terminated);
