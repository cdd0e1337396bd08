#pragma once

/* What the server of `leeboard up` has before anything runs: our CRDs and priority classes, pods
 * that are stored as they are (up_stale.h), and the manifests. */

#include "cli/ask.h"

/* All kinds of the manifests must be known before the first object is written: after a failure for
 * that reason nothing of them is there. */
bool up_apply(struct ask *q, const char *folder, struct json objects, struct error *err) must_check;
