#pragma once

/* What the server of `leeboard up` has before anything runs: our CRDs and priority classes, pods
 * that are stored as they are (up_stale.h), and the manifests. */

#include "cli/ask.h"
#include "cli/input.h"

/* All manifests must pass the server's checks before the first object is written: after such a
 * failure nothing of them is there. */
bool up_apply(struct ask *q, const char *folder, struct inputs *in, struct error *err) must_check;
