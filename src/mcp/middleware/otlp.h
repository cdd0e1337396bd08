#pragma once

/* Sends spans and metrics to a collector: OTLP over HTTP, as JSON. Spans wait in a bounded queue
 * and go out every OTLP_SPANS_MS; what does not fit is dropped and counted. A collector that does
 * not answer costs nobody time. */

#include "base/metric.h"
#include "mcp/middleware.h"

#define OTLP_SPANS_MS 5000
#define OTLP_METRICS_MS 60000
#define OTLP_QUEUE_BYTES ((size_t)1 << 20)

struct otlp;

struct otlp_options {
    const char *endpoint; /* host:port or URL */
    bool insecure;        /* http where the endpoint does not say */
    const char *ca_file;
    struct json headers;           /* name → value */
    struct json attributes;        /* of the resource: name → value */
    const struct metrics *metrics; /* NULL: metrics are not sent */
    const char *(*metric_name)(
        const struct metric *family); /* what OTLP calls it; NULL: not sent */
};

struct otlp *otlp_new(
    const struct mcp_open *o, const struct otlp_options *options, struct error *err) must_check;
void otlp_free(struct otlp *t); /* takes NULL; what waits is lost */
/* A span as JSON. False: there is no room for it. */
bool otlp_add_span(struct otlp *t, struct str span);
/* Adds { key, value: { stringValue | intValue } } to a list in the making. */
void otlp_text(struct buf *b, const char *key, struct str value);
void otlp_number(struct buf *b, const char *key, int64_t value);
