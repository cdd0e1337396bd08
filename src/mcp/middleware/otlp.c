#include "mcp/middleware/otlp.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/timer.h"
#include "mcp/middleware/fetch.h"

#define SCOPE "{\"name\":\"github.com/stacklok/toolhive/pkg/telemetry\"}"
#define BODY_BYTES_MAX ((size_t)8 << 20)

struct otlp {
    const struct env *env;
    struct fetch_target *target;
    const char *base; /* path of the endpoint, without a trailing slash */
    struct http_headers headers;
    const char *resource;
    const struct metrics *metrics;
    const char *(*metric_name)(const struct metric *family);
    int64_t started_ms;
    struct buf spans;
    struct timer spans_timer, metrics_timer;
    struct fetch *spans_fetch, *metrics_fetch;
};

/* ---- attributes ---- */

static void put_key(struct buf *b, const char *key)
{
    if (b->len && b->ptr[b->len - 1] == '}')
        buf_add_char(b, ',');
    buf_add_text(b, "{\"key\":");
    json_print(b, json_str(key));
}

void otlp_text(struct buf *b, const char *key, struct str value)
{
    struct json text = { .type = JSON_STR, .count = (uint32_t)value.len, .string = value.ptr };
    put_key(b, key);
    buf_add_text(b, ",\"value\":{\"stringValue\":");
    json_print(b, value.ptr ? text : json_str(""));
    buf_add_text(b, "}}");
}

void otlp_number(struct buf *b, const char *key, int64_t value)
{
    put_key(b, key);
    buf_printf(b, ",\"value\":{\"intValue\":\"%lld\"}}", (long long)value);
}

/* Labels as Prometheus writes them: a="b",c="d" with escapes. */
static void put_labels(struct buf *b, const char *labels)
{
    buf_add_text(b, "\"attributes\":[");
    while (*labels) {
        const char *equals = strchr(labels, '=');
        cleanup(buf_done) struct buf name = BUF_INIT(1024), value = BUF_INIT(4096);
        if (!equals || equals[1] != '"')
            break;
        buf_add(&name, labels, (size_t)(equals - labels));
        const char *c = equals + 2;
        for (; *c && *c != '"'; c++) {
            if (*c == '\\' && c[1])
                c++;
            buf_add_char(&value, *c);
        }
        otlp_text(b, buf_text(&name), str_of(buf_text(&value)));
        labels = *c ? c + 1 : c;
        labels += *labels == ',';
    }
    buf_add_char(b, ']');
}

/* ---- metrics ---- */

static void put_times(const struct otlp *t, struct buf *b)
{
    buf_printf(b,
        ",\"startTimeUnixNano\":\"%lld000000\",\"timeUnixNano\":\"%lld000000\"",
        (long long)t->started_ms,
        (long long)env_wall_ms(t->env));
}

static void put_point(const struct otlp *t, struct buf *b, const struct metric *family,
    const struct metric_series *series)
{
    buf_add_char(b, '{');
    put_labels(b, series->labels);
    put_times(t, b);
    if (family->type != METRIC_HISTOGRAM) {
        buf_printf(b, ",\"asDouble\":%.9g}", series->value);
        return;
    }
    uint64_t total = 0;
    size_t bounds = 0;
    buf_add_text(b, ",\"explicitBounds\":[");
    for (; family->bounds[bounds] > 0; bounds++)
        buf_printf(b, "%s%g", bounds ? "," : "", family->bounds[bounds]);
    buf_add_text(b, "],\"bucketCounts\":[");
    for (size_t i = 0; i <= bounds; i++) {
        total += series->buckets[i];
        buf_printf(b, "%s\"%llu\"", i ? "," : "", (unsigned long long)series->buckets[i]);
    }
    buf_printf(b, "],\"count\":\"%llu\",\"sum\":%.9g}", (unsigned long long)total, series->value);
}

static void put_family(const struct otlp *t, struct buf *b, const struct metric *family)
{
    static const char *const kinds[] = {
        [METRIC_COUNTER] = "sum", [METRIC_GAUGE] = "sum", [METRIC_HISTOGRAM] = "histogram"
    };
    buf_add_text(b, "{\"name\":");
    json_print(b, json_str(t->metric_name(family)));
    buf_add_text(b, ",\"description\":");
    json_print(b, json_str(family->help));
    buf_printf(b,
        "%s,\"%s\":{\"aggregationTemporality\":2%s,\"dataPoints\":[",
        family->type == METRIC_HISTOGRAM ? ",\"unit\":\"s\"" : "",
        kinds[family->type],
        family->type == METRIC_COUNTER ? ",\"isMonotonic\":true" : "");
    for (size_t i = 0; i < family->count; i++) {
        if (i)
            buf_add_char(b, ',');
        put_point(t, b, family, family->series[i]);
    }
    buf_add_text(b, "]}}");
}

/* ---- sending ---- */

static struct fetch *post(struct otlp *t, const char *path, struct buf *body, fetch_done *done)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return fetch_start(t->target,
        &(struct fetch_request){
            .method = "POST",
            .path = arena_printf(&a, "%s%s", t->base, path),
            .headers = t->headers,
            .body = buf_str(body),
        },
        done,
        t);
}

static void spans_sent(void *ctx, int status, struct str body, const struct error *err)
{
    (void)status;
    (void)body;
    (void)err;
    ((struct otlp *)ctx)->spans_fetch = NULL;
}

static void metrics_sent(void *ctx, int status, struct str body, const struct error *err)
{
    (void)status;
    (void)body;
    (void)err;
    ((struct otlp *)ctx)->metrics_fetch = NULL;
}

static void send_spans(void *ctx)
{
    struct otlp *t = ctx;
    timer_set(t->env, &t->spans_timer, OTLP_SPANS_MS);
    if (!t->spans.len || t->spans_fetch)
        return;
    cleanup(buf_done) struct buf body = BUF_INIT(BODY_BYTES_MAX);
    buf_printf(&body,
        "{\"resourceSpans\":[{\"resource\":%s,\"scopeSpans\":[{\"scope\":" SCOPE ",\"spans\":[",
        t->resource);
    buf_add(&body, t->spans.ptr, t->spans.len);
    buf_add_text(&body, "]}]}]}");
    t->spans_fetch = post(t, "/v1/traces", &body, spans_sent);
    buf_reset(&t->spans);
}

static void send_metrics(void *ctx)
{
    struct otlp *t = ctx;
    bool first = true;
    timer_set(t->env, &t->metrics_timer, OTLP_METRICS_MS);
    if (t->metrics_fetch)
        return;
    cleanup(buf_done) struct buf body = BUF_INIT(BODY_BYTES_MAX);
    buf_printf(&body,
        "{\"resourceMetrics\":[{\"resource\":%s,\"scopeMetrics\":[{\"scope\":" SCOPE
        ",\"metrics\":[",
        t->resource);
    for (const struct metric *m = t->metrics->first; m; m = m->next) {
        if (!m->count || !t->metric_name(m))
            continue;
        if (!first)
            buf_add_char(&body, ',');
        first = false;
        put_family(t, &body, m);
    }
    buf_add_text(&body, "]}]}]}");
    if (!first && !buf_overflowed(&body))
        t->metrics_fetch = post(t, "/v1/metrics", &body, metrics_sent);
}

bool otlp_add_span(struct otlp *t, struct str span)
{
    if (t->spans.len + span.len + 1 > OTLP_QUEUE_BYTES)
        return false;
    if (t->spans.len)
        buf_add_char(&t->spans, ',');
    buf_add(&t->spans, span.ptr, span.len);
    return true;
}

/* ---- life ---- */

static const char *make_resource(struct arena *a, struct json attributes)
{
    struct buf b = BUF_INIT(BODY_BYTES_MAX);
    buf_add_text(&b, "{\"attributes\":[");
    json_each_member (m, attributes)
        if (json_text(m->value))
            otlp_text(&b, m->key, str_of(json_text(m->value)));
    buf_add_text(&b, "]}");
    const char *text = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return text;
}

static struct http_headers make_headers(struct arena *a, struct json map)
{
    struct http_header *list =
        arena_array(a, (json_is(map, JSON_MAP) ? map.count : 0) + 1, sizeof(*list));
    size_t count = 0;
    list[count++] = (struct http_header){ STR("content-type"), STR("application/json") };
    json_each_member (m, map)
        if (json_text(m->value))
            list[count++] = (struct http_header){ str_of(m->key), str_of(json_text(m->value)) };
    return (struct http_headers){ list, count };
}

struct otlp *otlp_new(
    const struct mcp_open *o, const struct otlp_options *options, struct error *err)
{
    const char *endpoint = options->endpoint;
    if (!strstr(endpoint, "://"))
        endpoint =
            arena_printf(o->arena, "%s://%s", options->insecure ? "http" : "https", endpoint);
    struct fetch_target *target = fetch_target_new(
        o, &(struct fetch_options){ .url = endpoint, .ca_file = options->ca_file }, err);
    if (!target)
        return NULL;
    struct str path = str_of(fetch_target_path(target));
    while (str_ends(path, STR("/")))
        path.len--;
    struct otlp *t = mem_new_of(struct otlp);
    *t = (struct otlp){
        .env = o->env,
        .target = target,
        .base = str_dup(o->arena, path),
        .headers = make_headers(o->arena, options->headers),
        .resource = make_resource(o->arena, options->attributes),
        .metrics = options->metrics,
        .metric_name = options->metric_name,
        .started_ms = env_wall_ms(o->env),
    };
    buf_init(&t->spans, OTLP_QUEUE_BYTES);
    timer_init(&t->spans_timer, send_spans, t);
    timer_init(&t->metrics_timer, send_metrics, t);
    timer_set(o->env, &t->spans_timer, OTLP_SPANS_MS);
    if (t->metrics)
        timer_set(o->env, &t->metrics_timer, OTLP_METRICS_MS);
    return t;
}

void otlp_free(struct otlp *t)
{
    if (!t)
        return;
    timer_stop(t->env, &t->spans_timer);
    timer_stop(t->env, &t->metrics_timer);
    fetch_cancel(t->spans_fetch);
    fetch_cancel(t->metrics_fetch);
    fetch_target_free(t->target);
    buf_done(&t->spans);
    free(t);
}
