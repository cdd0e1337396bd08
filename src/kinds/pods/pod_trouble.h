#pragma once

/* Why pods do not run, if waiting does not fix it, in one readable sentence: from the status that
 * the kubelet and the scheduler write. All kinds with pods report it in a condition. */

#include "base/json.h"

struct pod_trouble {
    /* NULL: none. Kubernetes' own words: CrashLoopBackOff, OOMKilled, ImagePullBackOff,
     * CreateContainerConfigError, Unschedulable, …. */
    const char *reason;
    const char *message;
};

/* The problem of the first pod that has one. Pods that are ready or terminating have none. The pods
 * must have status.conditions, status.containerStatuses and status.initContainerStatuses. */
struct pod_trouble pod_trouble_of(struct arena *a, struct json pods);
/* When the last container that had crashed was restarted, in milliseconds; 0: none is running. */
int64_t pod_trouble_revived_ms(struct json pods);
/* The most informative of the last lines of a program: the first one with an error, because later
 * ones usually follow from it; otherwise the last one. "" if there is none. */
const char *pod_trouble_line(struct arena *a, const char *text);
/* How a container ended: "exit code 3", "exit code 137 (Killed)", "OOMKilled". */
const char *pod_trouble_exit(struct arena *a, struct json terminated);
