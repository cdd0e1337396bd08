#pragma once

/* Sends audit records to an OpenTelemetry collector: OTLP over HTTP with JSON, POST to .../v1/logs.
 *
 * Records are sent in batches, after a second or when there are many, with one request at a time.
 * While the collector cannot be reached, records are queued up to a limit; excess ones are dropped
 * and counted. */

#include "base/error.h"
#include "base/str.h"

#define OTLP_PENDING_MAX ((size_t)8 << 20)

struct loop;
struct audit_sink;

/* endpoint: the full URL. NULL with err: it is invalid. */
struct audit_sink *audit_sink_new(
    struct loop *loop, const char *endpoint, struct error *err) must_check;
/* Queued records are lost. NULL is allowed. */
void audit_sink_free(struct audit_sink *o);
/* members: `,"key":value,…` of a JSON object, as the router writes its audit record. */
void audit_sink_add(struct audit_sink *o, const char *message, struct str members);
uint64_t audit_sink_dropped(const struct audit_sink *o);
/* No record is queued or being sent. */
bool audit_sink_idle(const struct audit_sink *o);
/* Sends the queued records now. */
void audit_sink_flush(struct audit_sink *o);
