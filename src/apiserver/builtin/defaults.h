#pragma once

/* What an object gets of the cluster if it names nothing itself: the class that is marked as the
 * one for such objects, and where the node of a pod is. */

#include "apiserver/core/registry.h"

/* The class of a kind that is marked by one of these annotations (NULL-terminated), the newest of
 * several; NULL: none is. */
const char *defaults_class(
    const struct api_write *w, const char *group, const char *plural, const char *const marks[]);
/* The PriorityClass of pods that name none; absent: there is none. */
struct json defaults_priority(const struct api_write *w);
/* A pod with the labels that tell the region and the zone of a node. */
struct json defaults_place(struct apiserver *s, struct arena *a, struct json pod, const char *node);
