#pragma once

/* The Pod Security Standards: which pods violate a level at a version of Kubernetes, with the API
 * server's messages. Facts: k8s.io/pod-security-admission v0.36.4. */

#include "apiserver/builtin/pod/policy.h"

/* Both are NULL if the pod is allowed. */
struct pod_verdict {
    const char *reasons; /* "hostPort, privileged" */
    const char *details; /* the same, each followed by the violations in parentheses */
};
struct pod_verdict pod_standard_judge(
    struct arena *a, struct pod_standard s, struct json meta, struct json spec);
