#pragma once

/* A probe of a container: repeats an action (action.h) with the kubelet's delay, period and
 * thresholds. Until a network probe succeeds for the first time there are extra attempts in
 * between, which count only if they succeed. changed() is called when a threshold is reached: ok
 * after enough consecutive successes, not ok after enough consecutive failures. It is called again
 * only when the verdict changes. The caller frees a failed startup or liveness probe. */

#include "node/action.h"

struct probe;

struct probe_watch {
    const char *kind; /* "Readiness" */
    void (*changed)(void *ctx, bool ok);
    /* Called for each failure that counts, with its message; must not free the probe. */
    void (*failed)(void *ctx, const char *kind, const char *message);
    void *ctx;
};

struct probe *probe_new(
    const struct action_place *place, struct json spec, const struct probe_watch *watch) must_check;
/* NULL is allowed. May be called from changed(). */
void probe_free(struct probe *p);
