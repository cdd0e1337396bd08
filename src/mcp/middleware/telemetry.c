#include "mcp/middleware/telemetry.h"

#include "base/buf.h"
#include "base/json_bind.h"
#include "base/metric.h"
#include "base/timer.h"
#include "http/server.h"
#include "mcp/middleware/otlp.h"
#include "mcp/middleware/subject.h"

#define SPAN_BYTES_MAX ((size_t)64 << 10)
#define METRICS_BYTES_MAX ((size_t)64 << 20)
#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_PORT 9464 /* the same as ToolHive's */

static const double bounds[] = {
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 0
};

enum { REQUESTS, DURATION, ACTIVE, OPERATION, TOOL_CALLS, DROPPED, TARGET, FAMILIES };

static const struct {
    const char *name, *otlp, *help;
    enum metric_type type;
} families[FAMILIES] = {
    [REQUESTS] = { "toolhive_mcp_requests_total",
        "toolhive_mcp_requests",
        "MCP requests.",
        METRIC_COUNTER },
    [DURATION] = { "toolhive_mcp_request_duration_seconds",
        "toolhive_mcp_request_duration",
        "How long MCP requests took.",
        METRIC_HISTOGRAM },
    [ACTIVE] = { "toolhive_mcp_active_connections",
        "toolhive_mcp_active_connections",
        "MCP requests that are under way.",
        METRIC_GAUGE },
    [OPERATION] = { "mcp_server_operation_duration_seconds",
        "mcp.server.operation.duration",
        "How long operations of the MCP server took.",
        METRIC_HISTOGRAM },
    [TOOL_CALLS] = { "toolhive_mcp_tool_calls_total",
        "toolhive_mcp_tool_calls",
        "Calls of tools.",
        METRIC_COUNTER },
    [DROPPED] = { "leeboard_mcp_dropped_spans_total",
        "leeboard_mcp_dropped_spans",
        "Spans that found no room in the queue.",
        METRIC_COUNTER },
    [TARGET] = { "target_info", NULL, "What is measured.", METRIC_GAUGE },
};

struct telemetry_config {
    const char *endpoint, *service, *version, *ca_file;
    bool traces, metrics, prometheus, insecure, legacy;
    const bool *on_transport;
    int64_t port;
    struct json rate, headers, variables, attributes;
};

static const struct json_bind telemetry_bind[] = {
    BIND(struct telemetry_config, endpoint, "endpoint"),
    BIND(struct telemetry_config, service, "serviceName"),
    BIND(struct telemetry_config, version, "serviceVersion"),
    BIND(struct telemetry_config, traces, "tracingEnabled"),
    BIND(struct telemetry_config, metrics, "metricsEnabled"),
    BIND(struct telemetry_config, rate, "samplingRate"),
    BIND(struct telemetry_config, headers, "headers"),
    BIND(struct telemetry_config, insecure, "insecure"),
    BIND(struct telemetry_config, prometheus, "enablePrometheusMetricsPath"),
    BIND(struct telemetry_config, port, "prometheusPort", .min = 0, .max = 65535),
    BIND(struct telemetry_config, on_transport, "metricsOnTransportPort"),
    BIND(struct telemetry_config, variables, "environmentVariables"),
    BIND(struct telemetry_config, attributes, "customAttributes"),
    BIND(struct telemetry_config, legacy, "useLegacyAttributes"),
    BIND(struct telemetry_config, ca_file, "caCertPath"),
    { 0 },
};

struct telemetry {
    struct telemetry_config c;
    struct mcp_open o;
    double rate; /* share of traces that are kept */
    const char *server, *transport, *active_labels;
    struct metric list[FAMILIES];
    struct metrics metrics;
    struct otlp *otlp;                     /* NULL: no collector */
    struct http_server *server_of_metrics; /* NULL: only on the proxy's port */
};

/* One request. */
struct measured {
    bool sampled;
    char trace[33], span[17], parent[17];
};

/* ---- opening ---- */

static bool read_rate(struct json v, double *ret, struct error *err)
{
    *ret = 0.05;
    if (json_is(v, JSON_REAL))
        *ret = v.real;
    else if (json_is(v, JSON_INT))
        *ret = (double)v.integer;
    else if (!text_empty(json_text(v)) && !str_to_real(str_of(json_text(v)), ret))
        *ret = -1;
    return (*ret >= 0 && *ret <= 1) ||
           fail(err, ERR_INVALID, "parameters.config.samplingRate: expected 0 to 1");
}

static const char *otlp_name(const struct metric *family)
{
    for (size_t i = 0; i < FAMILIES; i++)
        if (text_eq(families[i].name, family->name))
            return families[i].otlp;
    return family->name;
}

static void link_families(struct telemetry *s)
{
    for (size_t i = 0; i < FAMILIES; i++) {
        s->list[i] = (struct metric){ .name = families[i].name,
            .help = families[i].help,
            .type = families[i].type,
            .bounds = families[i].type == METRIC_HISTOGRAM ? bounds : NULL };
        metrics_link(&s->metrics, &s->list[i]);
    }
}

static const char *labels_of(struct arena *a, const char *const (*pairs)[2])
{
    cleanup(buf_done) struct buf b = BUF_INIT(8192);
    for (; (*pairs)[0]; pairs++)
        metric_label(&b, (*pairs)[0], str_of((*pairs)[1] ? (*pairs)[1] : ""));
    return arena_strdup(a, buf_text(&b));
}

/* TOOLHIVE_OTEL_HEADER_X_API_KEY sets the header x-api-key: the operator sets it from a secret. */
static struct json secret_headers(const struct mcp_open *o, struct json headers)
{
    static const char prefix[] = "TOOLHIVE_OTEL_HEADER_";
    if (!json_is(headers, JSON_MAP))
        headers = json_empty_map();
    for (const char *const *v = o->variables; v && *v; v++) {
        struct str value = str_of(*v), name = str_cut(&value, '=');
        if (!str_starts(name, STR("TOOLHIVE_OTEL_HEADER_")) || !value.len)
            continue;
        char *key = str_dup(
            o->arena, (struct str){ name.ptr + sizeof(prefix) - 1, name.len - sizeof(prefix) + 1 });
        for (char *c = key; *c; c++)
            *c = *c == '_' ? '-' : (char)(*c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
        headers = json_with_member(o->arena, headers, key, json_str(value.ptr));
    }
    return headers;
}

static bool open_otlp(struct telemetry *s, const struct mcp_open *o, struct error *err)
{
    const struct telemetry_config *c = &s->c;
    if (text_empty(c->endpoint) || (!c->traces && !c->metrics))
        return true;
    struct json attributes = json_overlay(o->arena,
        c->attributes,
        json_map(o->arena,
            { "service.name", json_str(c->service) },
            { "service.version", json_str_or_absent(c->version) }));
    s->otlp = otlp_new(o,
        &(struct otlp_options){
            .endpoint = c->endpoint,
            .insecure = c->insecure,
            .ca_file = c->ca_file,
            .headers = secret_headers(o, c->headers),
            .attributes = attributes,
            .metrics = c->metrics ? &s->metrics : NULL,
            .metric_name = otlp_name,
        },
        err);
    return s->otlp || fail_in(err, "parameters.config.endpoint");
}

static void on_scrape(void *ctx, struct http_exchange *http, const struct http_request_head *head)
{
    struct telemetry *s = ctx;
    cleanup(buf_done) struct buf text = BUF_INIT(METRICS_BYTES_MAX);
    bool is_read = str_eq(head->method, STR("GET")) || str_eq(head->method, STR("HEAD"));
    if (!str_eq(head->path, STR("/metrics")) || !is_read) {
        http_exchange_reply(http, is_read ? 404 : 405, NULL, (struct str){ 0 });
        return;
    }
    metrics_print(&s->metrics, &text);
    http_exchange_reply(http, 200, METRICS_TYPE, buf_str(&text));
}

/* The default port may be used by another proxy: then only the transport's port serves metrics. */
static bool open_port(struct telemetry *s, const struct mcp_open *o, struct error *err)
{
    const char *host = json_get_text(o->config, "host");
    bool is_all = text_empty(host) || text_eq(host, "0.0.0.0") || text_eq(host, "::");
    if (!s->c.prometheus)
        return true;
    s->server_of_metrics = http_server_new(o->loop,
        &(struct http_server_options){
            .address = is_all                       ? NULL
                       : text_eq(host, "localhost") ? "127.0.0.1"
                                                    : host,
            .port = s->c.port ? (uint16_t)s->c.port : METRICS_PORT,
            .request = on_scrape,
            .ctx = s,
        },
        err);
    if (s->server_of_metrics)
        return true;
    if (s->c.port)
        return fail_in(err, "parameters.config.prometheusPort");
    if (o->warn)
        o->warn(o->ctx,
            arena_printf(o->arena,
                "telemetry: /metrics is on the proxy's port alone: port %d: %s",
                METRICS_PORT,
                err->text));
    return true;
}

static void telemetry_close(void *state)
{
    struct telemetry *s = state;
    otlp_free(s->otlp);
    http_server_free(s->server_of_metrics);
    metrics_done(&s->metrics);
}

static void *telemetry_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct telemetry *s = arena_new(o->arena, struct telemetry);
    s->o = *o;
    s->server = json_get_text(params, "server_name");
    s->transport = json_get_text(params, "transport");
    if (!json_bind(o->arena,
            json_member(params, "config"),
            "parameters.config",
            telemetry_bind,
            &s->c,
            err) ||
        !read_rate(s->c.rate, &s->rate, err))
        return NULL;
    if (text_empty(s->c.service))
        s->c.service = text_empty(s->server) ? "toolhive-mcp-proxy" : s->server;
    link_families(s);
    s->active_labels = labels_of(o->arena,
        (const char *const[][2]){
            { "server", s->server }, { "transport", s->transport }, { NULL, NULL } });
    metric_set(&s->list[TARGET],
        labels_of(o->arena,
            (const char *const[][2]){ { "service_name", s->c.service },
                { "service_version", s->c.version },
                { NULL, NULL } }),
        1);
    if (open_otlp(s, o, err) && open_port(s, o, err))
        return s;
    telemetry_close(s);
    return NULL;
}

/* ---- /metrics ---- */

static bool telemetry_serve(void *state, struct mcp_exchange *x)
{
    struct telemetry *s = state;
    if (!s->c.prometheus || !str_eq(mcp_path(x), STR("/metrics")))
        return false;
    if (s->c.on_transport && !*s->c.on_transport) {
        mcp_answer(x, 404, NULL, (struct str){ 0 });
        return true;
    }
    if (!str_eq(mcp_method(x), STR("GET")) && !str_eq(mcp_method(x), STR("HEAD"))) {
        mcp_answer(x, 405, NULL, (struct str){ 0 });
        return true;
    }
    cleanup(buf_done) struct buf text = BUF_INIT(METRICS_BYTES_MAX);
    metrics_print(&s->metrics, &text);
    mcp_answer(x, 200, METRICS_TYPE, buf_str(&text));
    return true;
}

/* ---- spans ---- */

static void random_hex(const struct env *env, char *to, size_t digits)
{
    static const char hex[] = "0123456789abcdef";
    uint64_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        if (i % 16 == 0)
            bits = env->random(env->ctx) | 1; /* never all zero */
        to[i] = hex[bits >> 60];
        bits <<= 4;
    }
    to[digits] = '\0';
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!strchr("0123456789abcdef", s.ptr[i]) || !s.ptr[i])
            return false;
    return true;
}

/* W3C trace context: 00-TRACE-SPAN-FLAGS. Without a valid header a new trace is started. */
static bool read_parent(struct str text, struct measured *m, bool *ret_sampled)
{
    struct str version = str_cut(&text, '-'), trace = str_cut(&text, '-');
    struct str span = str_cut(&text, '-'), flags = text;
    if (version.len != 2 || trace.len != 32 || span.len != 16 || flags.len < 2 || !is_hex(trace) ||
        !is_hex(span) || !is_hex((struct str){ flags.ptr, 2 }))
        return false;
    memcpy(m->trace, trace.ptr, 32);
    memcpy(m->parent, span.ptr, 16);
    *ret_sampled = strchr("13579bdf", flags.ptr[1]) != NULL;
    return true;
}

static void begin_span(struct telemetry *s, struct mcp_exchange *x, struct measured *m)
{
    const struct env *env = s->o.env;
    bool sampled = (double)env_random_below(env, 1000000) < s->rate * 1000000;
    if (!read_parent(http_header_find(mcp_headers(x), "traceparent"), m, &sampled))
        random_hex(env, m->trace, 32);
    random_hex(env, m->span, 16);
    m->sampled = sampled && s->c.traces;
    mcp_backend_header(x,
        "traceparent",
        arena_printf(mcp_arena(x), "00-%s-%s-%s", m->trace, m->span, sampled ? "01" : "00"));
}

static bool is_secret(const char *key)
{
    static const char *const words[] = {
        "password", "token", "secret", "key", "auth", "credential", "private"
    };
    for (size_t i = 0; i < lengthof(words); i++)
        if (strcasestr(key, words[i]))
            return true;
    return false;
}

static void put_arguments(struct buf *b, struct json arguments)
{
    json_each_member (m, arguments) {
        cleanup(buf_done) struct buf value = BUF_INIT((size_t)16 << 20);
        if (json_text(m->value))
            buf_add_text(&value, json_text(m->value));
        else
            json_print(&value, m->value);
        size_t length = value.len > 100 ? 100 : value.len;
        buf_printf(b, "%s%s=", b->len ? ", " : "", m->key);
        if (is_secret(m->key))
            buf_add_text(b, "[REDACTED]");
        else
            buf_printf(b, "%.*s%s", (int)length, buf_text(&value), value.len > 100 ? "..." : "");
        if (b->len > 200)
            return;
    }
}

static void put_http(const struct telemetry *s, struct buf *b, struct mcp_exchange *x)
{
    struct str agent = http_header_find(mcp_headers(x), "user-agent");
    otlp_text(b, "http.request.method", mcp_method(x));
    otlp_text(b, "url.path", mcp_path(x));
    otlp_text(b, "server.address", mcp_authority(x));
    otlp_text(b, "user_agent.original", agent);
    otlp_text(b, "client.address", str_of(mcp_remote_address(x)));
    otlp_number(b, "client.port", mcp_remote_port(x));
    otlp_number(b, "http.response.status_code", mcp_status(x));
    otlp_number(b, "http.response.body.size", mcp_answer_bytes(x));
    if (!s->c.legacy)
        return;
    otlp_text(b, "http.method", mcp_method(x));
    otlp_text(b, "http.target", mcp_path(x));
    otlp_text(b, "http.host", mcp_authority(x));
    otlp_text(b, "http.user_agent", agent);
    otlp_number(b, "http.status_code", mcp_status(x));
    otlp_number(b, "http.response_content_length", mcp_answer_bytes(x));
}

static void put_call(const struct telemetry *s, struct buf *b, const struct mcp_message *m)
{
    cleanup(buf_done) struct buf arguments = BUF_INIT((size_t)1 << 20);
    struct str name = str_of(m->resource ? m->resource : "");
    bool is_tool = text_eq(m->method, "tools/call");
    if (text_eq(m->method, "prompts/get"))
        otlp_text(b, "gen_ai.prompt.name", name);
    if (text_starts(m->method, "resources/") && name.len)
        otlp_text(b, "mcp.resource.uri", name);
    if (!is_tool)
        return;
    put_arguments(&arguments, m->arguments);
    otlp_text(b, "gen_ai.operation.name", STR("execute_tool"));
    otlp_text(b, "gen_ai.tool.name", name);
    if (arguments.len)
        otlp_text(b, "gen_ai.tool.call.arguments", buf_str(&arguments));
    if (s->c.legacy) {
        otlp_text(b, "mcp.tool.name", name);
        if (arguments.len)
            otlp_text(b, "mcp.tool.arguments", buf_str(&arguments));
    }
}

static void put_mcp(
    const struct telemetry *s, struct buf *b, struct mcp_exchange *x, const char *subject)
{
    const struct mcp_message *m = mcp_request(x);
    const char *session = mcp_session_id(x);
    struct str version = http_header_find(mcp_headers(x), "mcp-protocol-version");
    otlp_text(b, "mcp.method.name", str_of(m->method));
    otlp_text(b, "rpc.system.name", STR("jsonrpc"));
    otlp_text(b, "jsonrpc.protocol.version", STR("2.0"));
    otlp_text(b, "mcp.server.name", str_of(s->server ? s->server : ""));
    otlp_text(b, "network.transport", text_eq(s->transport, "stdio") ? STR("pipe") : STR("tcp"));
    if (m->id_raw.ptr)
        otlp_text(b, "jsonrpc.request.id", json_text(m->id) ? str_of(json_text(m->id)) : m->id_raw);
    if (session)
        otlp_text(b, "mcp.session.id", str_of(session));
    if (version.len)
        otlp_text(b, "mcp.protocol.version", version);
    if (text_eq(m->method, "initialize") && subject)
        otlp_text(b, "mcp.client.name", str_of(subject));
    put_call(s, b, m);
    if (!s->c.legacy)
        return;
    otlp_text(b, "mcp.method", str_of(m->method));
    otlp_text(b, "rpc.system", STR("jsonrpc"));
    otlp_text(b, "rpc.service", STR("mcp"));
    otlp_text(b, "mcp.transport", str_of(s->transport ? s->transport : ""));
    if (subject)
        otlp_text(b, "mcp.resource.id", str_of(subject));
}

static void end_span(
    struct telemetry *s, struct mcp_exchange *x, const struct measured *m, const char *subject)
{
    cleanup(buf_done) struct buf b = BUF_INIT(SPAN_BYTES_MAX);
    const struct mcp_message *message = mcp_request(x);
    struct arena *a = mcp_arena(x);
    const char *name =
        !message->method
            ? arena_printf(a, "%s %s", str_dup(a, mcp_method(x)), str_dup(a, mcp_path(x)))
        : subject ? arena_printf(a, "%s %s", message->method, subject)
                  : message->method;
    int64_t begun_ms = mcp_started_wall_ms(x);
    int64_t took_ms = env_mono_ms(s->o.env) - mcp_started_ms(x);
    int status = mcp_status(x);
    buf_printf(&b, "{\"traceId\":\"%s\",\"spanId\":\"%s\"", m->trace, m->span);
    if (*m->parent)
        buf_printf(&b, ",\"parentSpanId\":\"%s\"", m->parent);
    buf_add_text(&b, ",\"name\":");
    json_print(&b, json_str(name));
    buf_printf(&b,
        ",\"kind\":2,\"startTimeUnixNano\":\"%lld000000\",\"endTimeUnixNano\":\"%lld000000\","
        "\"attributes\":[",
        (long long)begun_ms,
        (long long)(begun_ms + took_ms));
    put_http(s, &b, x);
    if (message->method)
        put_mcp(s, &b, x, subject);
    json_each (variable, s->c.variables) {
        const char *text = json_text(*variable);
        const char *value = text_empty(text) ? NULL : s->o.variable(s->o.ctx, text);
        if (!text_empty(text))
            otlp_text(&b, arena_printf(a, "environment.%s", text), str_of(value ? value : ""));
    }
    if (status >= 500)
        buf_printf(&b, "],\"status\":{\"code\":2,\"message\":\"HTTP %d\"}}", status);
    else
        buf_printf(&b, "],\"status\":{\"code\":%d}}", status >= 400 ? 0 : 1);
    if (buf_overflowed(&b) || !otlp_add_span(s->otlp, buf_str(&b)))
        metric_add(&s->list[DROPPED], NULL, 1);
}

/* ---- hooks ---- */

static enum mcp_verdict telemetry_head(void *state, struct mcp_exchange *x, void **slot)
{
    struct telemetry *s = state;
    struct measured *m = arena_new(mcp_arena(x), struct measured);
    *slot = m;
    metric_add(&s->list[ACTIVE], s->active_labels, 1);
    if (s->otlp && s->c.traces)
        begin_span(s, x, m);
    return MCP_NEXT;
}

static void count(struct telemetry *s, struct mcp_exchange *x, const char *subject)
{
    struct arena *a = mcp_arena(x);
    const struct mcp_message *m = mcp_request(x);
    const char *code = arena_printf(a, "%d", mcp_status(x));
    const char *status = mcp_status(x) >= 400 || !mcp_status(x) ? "error" : "success";
    const char *method = m->method ? m->method : "unknown";
    bool is_tool = text_eq(m->method, "tools/call");
    double seconds = (double)(env_mono_ms(s->o.env) - mcp_started_ms(x)) / 1000;
    const char *labels = labels_of(a,
        (const char *const[][2]){ { "mcp_method", method },
            { "mcp_resource_id", subject },
            { "method", str_dup(a, mcp_method(x)) },
            { "server", s->server },
            { "status", status },
            { "status_code", code },
            { "transport", s->transport },
            { NULL, NULL } });
    metric_add(&s->list[REQUESTS], labels, 1);
    metric_observe(&s->list[DURATION], labels, seconds);
    if (!m->method)
        return;
    const char *pairs[8][2] = { { "jsonrpc_protocol_version", "2.0" },
        { "mcp_method_name", method },
        { "network_transport", text_eq(s->transport, "stdio") ? "pipe" : "tcp" } };
    size_t pair = 3;
    if (is_tool) {
        pairs[pair][0] = "gen_ai_operation_name";
        pairs[pair++][1] = "execute_tool";
        pairs[pair][0] = "gen_ai_tool_name";
        pairs[pair++][1] = subject;
    }
    if (mcp_status(x) >= 500) {
        pairs[pair][0] = "error_type";
        pairs[pair++][1] = code;
    }
    metric_observe(&s->list[OPERATION], labels_of(a, (const char *const(*)[2])pairs), seconds);
    if (is_tool && subject)
        metric_add(&s->list[TOOL_CALLS],
            labels_of(a,
                (const char *const[][2]){ { "server", s->server },
                    { "status", status },
                    { "tool", subject },
                    { NULL, NULL } }),
            1);
}

static void telemetry_end(void *state, struct mcp_exchange *x, void **slot)
{
    struct telemetry *s = state;
    const struct measured *m = *slot;
    if (!m)
        return;
    const char *subject = message_subject(mcp_arena(x), mcp_request(x));
    metric_add(&s->list[ACTIVE], s->active_labels, -1);
    count(s, x, subject);
    if (m->sampled)
        end_span(s, x, m, subject);
}

static const char *const telemetry_parameters[] = { "server_name",
    "transport",
    "config.endpoint",
    "config.serviceName",
    "config.serviceVersion",
    "config.tracingEnabled",
    "config.metricsEnabled",
    "config.samplingRate",
    "config.headers",
    "config.insecure",
    "config.enablePrometheusMetricsPath",
    "config.prometheusPort",
    "config.metricsOnTransportPort",
    "config.environmentVariables",
    "config.customAttributes",
    "config.useLegacyAttributes",
    "config.caCertPath",
    NULL };

const struct mcp_step mcp_step_telemetry = {
    .type = "telemetry",
    .parameters = telemetry_parameters,
    .open = telemetry_open,
    .close = telemetry_close,
    .serve = telemetry_serve,
    .head = telemetry_head,
    .end = telemetry_end,
};
