#pragma once

/* Directories of claims go with them. When a volume of reclaim policy Delete is gone from the API,
 * and its directory lies below ours, that is moved out of the way at once, so that a new claim of
 * the same name begins empty, and then removed on a thread.
 *
 * What no volume ever named is left alone: somebody may have put it there. */

#include "base/base.h"

struct kube_transport;
struct loop;
struct reclaim;

/* root: absolute, without a slash at its end; copied. What an earlier process moved and did not
 * remove to the end is removed. */
struct reclaim *reclaim_new(
    struct loop *loop, const struct kube_transport *transport, const char *root) must_check;
/* NULL is fine. What is being removed, is removed to the end by the loop. */
void reclaim_free(struct reclaim *r);
