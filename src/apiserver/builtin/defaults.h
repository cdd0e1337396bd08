#pragma once

/* Cluster-wide defaults: the class that is marked as default, and the zone of a pod's node. */

#include "apiserver/core/registry.h"

/* The class of a kind that is marked by one of these annotations (NULL-terminated), the newest if
 * there are several; NULL: none. */
const char *defaults_class(
    const struct api_write *w, const char *group, const char *plural, const char *const marks[]);
/* The PriorityClass of pods without one; absent: there is none. */
struct json defaults_priority(const struct api_write *w);
/* A pod with the labels for the region and zone of a node. */
struct json defaults_place(struct apiserver *s, struct arena *a, struct json pod, const char *node);
