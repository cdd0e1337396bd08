#pragma once

/* The Pod Security Standards: which pods a level of a version of Kubernetes has something against,
 * in the words of the API server. Facts: k8s.io/pod-security-admission v0.36.4. */

#include "apiserver/builtin/pod/policy.h"

/* Both are NULL if the pod may be. */
struct pod_verdict {
    const char *reasons; /* "hostPort, privileged" */
    const char *details; /* the same, each with who does what in parentheses */
};
struct pod_verdict pod_standard_judge(
    struct arena *a, struct pod_standard s, struct json meta, struct json spec);
