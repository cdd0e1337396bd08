#pragma once

/* A probe of a container: an action (action.h) again and again, with delay, period and thresholds
 * as the kubelet counts them; until one over the network succeeds for the first time it is also
 * tried in between, which counts only if it succeeds. changed() comes when a threshold is reached:
 * ok after as many successes in a row, not ok after as many failures; again only after the other
 * verdict, or, for a probe that was not ok, never: whoever acts on it frees it. */

#include "node/action.h"

struct probe;

struct probe_watch {
    const char *kind; /* "Readiness" */
    void (*changed)(void *ctx, bool ok);
    /* Each failure that counts, with what was wrong; must not free it. */
    void (*failed)(void *ctx, const char *kind, const char *message);
    void *ctx;
};

struct probe *probe_new(
    const struct action_place *place, struct json spec, const struct probe_watch *watch) must_check;
/* NULL is fine. Also from changed(). */
void probe_free(struct probe *p);
