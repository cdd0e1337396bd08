#pragma once

/* The status of a CustomResourceDefinition: names that were accepted, and conditions. */

#include "base/json.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"

bool crd_status_is(struct json crd, const char *condition); /* it is "True" */
/* With the condition set; when it was so before, lastTransitionTime stays. */
struct json crd_status_with(struct arena *a, struct json crd, const char *condition, bool value,
    const char *reason, const char *message, const char *now);

/* Accepts the names of spec that no other definition of the group has: others are those. */
struct json crd_status_accept(
    struct arena *a, struct json crd, struct json others, const char *now);
/* Groups of the Kubernetes project need its approval, which an annotation says. */
bool crd_status_is_protected(const char *group);
struct json crd_status_approve(struct arena *a, struct json crd, const char *now);
/* After the names were accepted. */
struct json crd_status_establish(struct arena *a, struct json crd, const char *now);
