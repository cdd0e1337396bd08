#pragma once

/* Keeps the workload of an MCP server applied while the process runs.
 *
 *   look ──> newer generation exists ─────────────────────────────> watch
 *     ^  ──> absent ──> create ──> own the fields by apply ──┐
 *     │  ──> exists ──> apply with its resourceVersion ──────┴──> Services ──> watch
 *     │              │ conflict, exists, deleted                                │
 *     └──────────────┴──────────────────── disconnected or failed: look again ──┘
 *
 * Each write carries the state that it is based on: the resourceVersion that was read, or a create
 * if there was no object. So a runner of an older generation cannot undo the write of a newer one:
 * it gets a conflict, looks again, and sees the newer generation. A Service has no generation of
 * its own: the Service is read first, then the StatefulSet's generation, and then the Service is
 * written if it differs from the plan. */

#include "base/error.h"

struct deploy;
struct env;
struct kube_client;
struct workload;

struct deploy_handlers {
    /* Called once, when the workload exists: ours, or a newer one. */
    void (*ready)(void *ctx);
    /* For the log; err NULL: no error. */
    void (*said)(void *ctx, const struct error *err, const char *what);
};

/* All arguments must outlive it. */
struct deploy *deploy_new(struct kube_client *client, const struct env *env,
    const struct workload *workload, const struct deploy_handlers *handlers, void *ctx) must_check;
void deploy_start(struct deploy *d);
/* No request is in progress: it waits for the next look. */
bool deploy_is_idle(const struct deploy *d);
void deploy_free(struct deploy *d);
