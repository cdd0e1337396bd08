#pragma once

/* Prepares the server of `leeboard up` before anything runs: applies our CRDs and priority classes,
 * corrects the stored status of pods (up_stale.h), and applies the manifests. */

#include "cli/ask.h"
#include "cli/input.h"

/* All manifests must pass the server's validation before the first one is written: after a
 * validation failure none of them is stored. */
bool up_apply(struct ask *q, const char *folder, struct inputs *in, struct error *err) must_check;
