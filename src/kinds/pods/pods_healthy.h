#pragma once

/* The condition PodsHealthy, which all kinds with pods have, and one Warning event for each change:
 * what keeps the pods from running. It is there from the first trouble on. */

#include "base/json.h"

struct plan;
struct view;

/* What a watch of pods keeps for it, if it needs nothing else. */
#define PODS_HEALTHY_READS                                                                         \
    ((const char *const[]){ "metadata.labels",                                                     \
        "status.conditions",                                                                       \
        "status.initContainerStatuses",                                                            \
        "status.containerStatuses",                                                                \
        NULL })

/* pods: see pod_trouble_of(). The message of the condition if it is false, or NULL. */
const char *pods_plan_healthy(const struct view *in, struct plan *out, struct json pods);
