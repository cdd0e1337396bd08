#pragma once

/* The engines of one operator: one for all namespaces, or one per watched namespace. Each has its
 * own watches and cache, like a separate operator; they share the process, the Lease and the
 * connections. */

#include "base/error.h"
#include "cli/serve/engine_service.h"

struct buf;

#define ENGINES_MAX 64

struct engines;

/* namespaces: comma-separated names; NULL: all. Ignores options.ns. Starts none of them. */
struct engines *engines_new(
    const struct engine_service_options *options, const char *namespaces, struct error *err);
void engines_free(struct engines *e); /* NULL is allowed */

/* The same call for each engine; see engine.h. */
void engines_start(struct engines *e);
void engines_lead(struct engines *e);
void engines_drain(struct engines *e, void (*drained)(void *ctx), void *ctx);
bool engines_ready(const struct engines *e, struct error *err);
bool engines_healthy(const struct engines *e, struct error *err);
void engines_ready_print(const struct engines *e, struct buf *to);
/* The sum over all engines, of counters and of gauges. */
void engines_metrics_print(struct engines *e, struct buf *to);
size_t engines_events_pending(const struct engines *e);

size_t engines_count(const struct engines *e);
/* The i-th namespace; NULL: all. */
const char *engines_namespace(const struct engines *e, size_t i);
/* The engine of a namespace; the first one if no engine has it. */
struct engine *engines_of(const struct engines *e, const char *ns);
struct kube_client *engines_client(const struct engines *e);
