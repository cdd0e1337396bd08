#pragma once

/* The condition PodsHealthy, which all kinds with pods have, and one Warning event for each change:
 * why pods do not run. The condition is added with the first problem. */

#include "base/json.h"

struct plan;
struct view;

/* The pod fields that a watch must keep for it. */
#define PODS_HEALTHY_READS                                                                         \
    ((const char *const[]){ "metadata.labels",                                                     \
        "status.conditions",                                                                       \
        "status.initContainerStatuses",                                                            \
        "status.containerStatuses",                                                                \
        NULL })

/* For pods, see pod_trouble_of(). Returns the message of the condition if it is false, or NULL. */
const char *pods_plan_healthy(const struct view *in, struct plan *out, struct json pods);
