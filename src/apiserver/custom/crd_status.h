#pragma once

/* The status of a CRD: accepted names, and conditions. */

#include "base/json.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

bool crd_status_is(struct json crd, const char *condition); /* whether it is "True" */
/* Sets the condition; lastTransitionTime stays if it had this status before. */
struct json crd_status_with(struct arena *a, struct json crd, const char *condition, bool value,
    const char *reason, const char *message, const char *now);

/* Accepts the names in spec that no other CRD of the group has; `others` are those CRDs. */
struct json crd_status_accept(
    struct arena *a, struct json crd, struct json others, const char *now);
/* Groups of the Kubernetes project need its approval, in an annotation. */
bool crd_status_is_protected(const char *group);
struct json crd_status_approve(struct arena *a, struct json crd, const char *now);
/* Called after the names were accepted. */
struct json crd_status_establish(struct arena *a, struct json crd, const char *now);
