#pragma once

/* Keeps the workload of an MCP server applied, for as long as the process runs.
 *
 *   look ──> newer generation there ──────────────────────────────> watch
 *     ^  ──> absent ──> create ──> own the fields by apply ──┐
 *     │  ──> there ───> apply with its resourceVersion ──────┴──> Services ──> watch
 *     │              │ conflict, exists, gone                                   │
 *     └──────────────┴──────────────────────── lost, or it failed: look again ──┘
 *
 * A write carries what it was decided on: the resourceVersion that was read, or that there was
 * nothing (a create). So a runner of an older generation cannot undo what a newer one has done in
 * between: it conflicts, looks again, and then sees the newer generation. A Service has no
 * generation of its own: it is read first, then the StatefulSet's generation, and then written if
 * it is not as it should be. */

#include "base/error.h"

struct deploy;
struct env;
struct kube_client;
struct workload;

struct deploy_handlers {
    /* The workload is there: ours, or a newer one. Once. */
    void (*ready)(void *ctx);
    /* For the log; err NULL: as planned. */
    void (*said)(void *ctx, const struct error *err, const char *what);
};

/* Everything outlives it. */
struct deploy *deploy_new(struct kube_client *client, const struct env *env,
    const struct workload *workload, const struct deploy_handlers *handlers, void *ctx) must_check;
void deploy_start(struct deploy *d);
/* Nothing is under way: it waits for the next look. */
bool deploy_is_idle(const struct deploy *d);
void deploy_free(struct deploy *d);
