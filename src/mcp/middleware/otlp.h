#pragma once

/* Sends spans and metrics to a collector: OTLP over HTTP, as JSON. Spans wait in a bounded queue
 * and are sent every OTLP_SPANS_MS; excess spans are dropped and counted. A collector that does not
 * answer delays no request. */

#include "base/metric.h"
#include "mcp/middleware.h"

#define OTLP_SPANS_MS 5000
#define OTLP_METRICS_MS 60000
#define OTLP_QUEUE_BYTES ((size_t)1 << 20)

struct otlp;

struct otlp_options {
    const char *endpoint; /* host:port or URL */
    bool insecure;        /* http if the endpoint has no scheme */
    const char *ca_file;
    struct json headers;           /* name → value */
    struct json attributes;        /* of the resource: name → value */
    const struct metrics *metrics; /* NULL: metrics are not sent */
    const char *(*metric_name)(
        const struct metric *family); /* the metric's OTLP name; NULL: not sent */
};

struct otlp *otlp_new(
    const struct mcp_open *o, const struct otlp_options *options, struct error *err) must_check;
void otlp_free(struct otlp *t); /* NULL is allowed; queued spans are lost */
/* Queues a span as JSON. False: the queue is full. */
bool otlp_add_span(struct otlp *t, struct str span);
/* Appends { key, value: { stringValue | intValue } } to an unfinished list. */
void otlp_text(struct buf *b, const char *key, struct str value);
void otlp_number(struct buf *b, const char *key, int64_t value);
