#pragma once

/* The Pod Security Standard (privileged, baseline, restricted, at a version of Kubernetes) that a
 * namespace selects with its labels. */

#include "apiserver/rules/field_errors.h"

enum pod_level { POD_PRIVILEGED, POD_BASELINE, POD_RESTRICTED };

#define POD_VERSION_LATEST (-1)

struct pod_standard {
    enum pod_level level;
    int64_t minor; /* of v1.MINOR, or POD_VERSION_LATEST */
};

/* The policy of a namespace. Audit labels are only validated, because there is no audit log. */
struct pod_policy {
    struct pod_standard enforce, warn;
};

/* The prefix of all these labels. */
#define POD_SECURITY_PREFIX "pod-security.kubernetes.io/"

/* Labels with an invalid level or version are reported in errors, and then treated as in the real
 * server. */
struct pod_policy pod_policy_read(struct json labels, struct field_errors *errors);
/* "restricted:latest" */
const char *pod_standard_text(struct arena *a, struct pod_standard s);
