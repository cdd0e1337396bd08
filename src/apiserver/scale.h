#pragma once

/* The scale subresource: a small object that is made from its parent and written into it. */

#include "apiserver/write.h"

/* An autoscaling/v1 Scale of a parent. */
struct json scale_of(struct arena *a, const struct api_kind *k, struct json parent);
/* Writes a changed Scale into its parent (w->old) and answers with the new one. */
bool scale_store(struct api_call *c, struct write *w, struct json scale);
