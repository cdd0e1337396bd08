#pragma once

/* The scale subresource: a small object that is made from its parent and written into it. */

#include "apiserver/verbs/write.h"

#define SCALE_API_VERSION "autoscaling/v1"

/* The kind Scale, with its schema. */
const struct api_kind *scale_kind(struct arena *a);
/* An autoscaling/v1 Scale of a parent. */
struct json scale_of(struct arena *a, const struct api_kind *k, struct json parent);
/* managedFields of that Scale: who owns the replicas. Absent if nobody does. */
struct json scale_owners(struct write *w);
/* Writes a changed Scale into its parent (w->old) and answers with the new one. applied: its
 * managedFields are the ones after the change. */
bool scale_store(struct api_call *c, struct write *w, struct json scale, bool applied);
