#pragma once

/* The scale subresource: a small object that is derived from its parent and written back to it. */

#include "apiserver/verbs/write.h"

#define SCALE_API_VERSION "autoscaling/v1"

/* The kind Scale, with its schema. */
const struct api_kind *scale_kind(struct arena *a);
/* The autoscaling/v1 Scale of a parent. */
struct json scale_of(struct arena *a, const struct api_kind *k, struct json parent);
/* managedFields of that Scale: the owners of replicas. Absent if there are none. */
struct json scale_owners(struct write *w);
/* Writes a changed Scale to its parent (w->old), and answers with the new Scale. applied: its
 * managedFields are already up to date. */
bool scale_store(struct api_call *c, struct write *w, struct json scale, bool applied);
