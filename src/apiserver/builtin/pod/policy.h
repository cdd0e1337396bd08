#pragma once

/* Which of the Pod Security Standards (privileged, baseline, restricted; as of a version of
 * Kubernetes) a namespace asks for with its labels. */

#include "apiserver/rules/field_errors.h"

enum pod_level { POD_PRIVILEGED, POD_BASELINE, POD_RESTRICTED };

#define POD_VERSION_LATEST (-1)

struct pod_standard {
    enum pod_level level;
    int64_t minor; /* of v1.MINOR; or POD_VERSION_LATEST */
};

/* What a namespace asks for. Audits are checked for their form alone: nobody keeps them. */
struct pod_policy {
    struct pod_standard enforce, warn;
};

/* What all labels about this begin with. */
#define POD_SECURITY_PREFIX "pod-security.kubernetes.io/"

/* Labels that say no level or version go into errors and count as the real server counts them. */
struct pod_policy pod_policy_read(struct json labels, struct field_errors *errors);
/* "restricted:latest" */
const char *pod_standard_text(struct arena *a, struct pod_standard s);
