/* Metrics and spans. */

#include "mcp/middleware/otlp.h"
#include "tests/mcp/quay.h"

#define CONFIG(more)                                                                               \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'telemetry', 'parameters': " \
    "{'server_name': 's', 'transport': 'streamable-http', 'config': {'endpoint': '@SERVICE@', "    \
    "'tracingEnabled': true, 'metricsEnabled': true, 'samplingRate': '1', "                        \
    "'enablePrometheusMetricsPath': true, 'customAttributes': {'team': 'a'}" more "}}}]}"
#define CALL                                                                                       \
    "{'jsonrpc': '2.0', 'id': 7, 'method': 'tools/call', 'params': {'name': 'echo', 'arguments': " \
    "{'a': 1, 'api_key': 'hush-hush'}}}"

static const struct quay_service collector[] = {
    { "/v1/traces", 200, "{}" }, { "/v1/metrics", 200, "{}" }, { 0 }
};

TEST(mcp_metrics_have_the_names_of_toolhive)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CONFIG(""));
    int status;
    quay_ask(&q, "", CALL, &status);
    struct seen got = { 0 };
    quay_send(&q, "GET", "/metrics", "", "", &got);
    await(&q, got.ended);
    check_int(got.status, 200);
    const char *text = buf_text(&got.body);
    check(strstr(text,
        "toolhive_mcp_requests_total{mcp_method=\"tools/call\",mcp_resource_id=\"echo\","
        "method=\"POST\",server=\"s\",status=\"success\",status_code=\"200\","
        "transport=\"streamable-http\"} 1"));
    check(strstr(text, "toolhive_mcp_request_duration_seconds_bucket{"));
    check(strstr(text, "toolhive_mcp_active_connections{server=\"s\""));
    check(strstr(text, "mcp_server_operation_duration_seconds_count{"));
    check(strstr(
        text, "toolhive_mcp_tool_calls_total{server=\"s\",status=\"success\",tool=\"echo\"} 1"));
    seen_done(&got);
}

TEST(mcp_spans_go_to_the_collector_without_secrets)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CONFIG(", 'useLegacyAttributes': true"));
    q.services = collector;
    int status;
    quay_ask(
        &q, "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", CALL, &status);
    await(&q, q.asked_count == 1);
    check_text(q.asked[0].path, "/v1/traces");
    check(!strstr(q.asked[0].body, "hush-hush"));
    struct json sent = test_json(q.asked[0].body);
    struct json span = json_get(sent, "resourceSpans.0.scopeSpans.0.spans.0");
    check_text(json_get_text(span, "traceId"), "0af7651916cd43dd8448eb211c80319c");
    check_text(json_get_text(span, "parentSpanId"), "b7ad6b7169203331");
    check_text(json_get_text(span, "name"), "tools/call echo");
    struct json tool = json_find(json_get(span, "attributes"), "key", "gen_ai.tool.name");
    check_text(json_get_text(tool, "value.stringValue"), "echo");
    check(json_present(json_find(json_get(span, "attributes"), "key", "mcp.tool.name")));
    struct json resource = json_get(sent, "resourceSpans.0.resource.attributes");
    check_text(json_get_text(json_find(resource, "key", "team"), "value.stringValue"), "a");
}

TEST(mcp_metrics_have_a_port_of_their_own)
{
    /* Port 9464 unless another is named: a free one is named here. */
    for (int on_transport = 0; on_transport < 2; on_transport++) {
        cleanup(quay_close) struct quay q;
        uint16_t port = quay_free_port();
        quay_open(&q,
            arena_printf(test_arena(),
                CONFIG(", 'prometheusPort': %u, 'metricsOnTransportPort': %s"),
                port,
                on_transport ? "true" : "false"));
        struct http_origin own = { .host = "127.0.0.1", .port = port };
        static const struct {
            const char *path;
            int status;
        } asked[] = { { "/metrics", 200 }, { "/mcp", 404 } };
        for (size_t i = 0; i < lengthof(asked); i++) {
            struct http_origin proxy = q.origin;
            struct seen got = { 0 };
            q.origin = own;
            quay_send(&q, "GET", asked[i].path, "", "", &got);
            q.origin = proxy;
            await(&q, got.ended);
            check_int(got.status, asked[i].status);
            seen_done(&got);
        }
        struct seen got = { 0 };
        quay_send(&q, "GET", "/metrics", "", "", &got);
        await(&q, got.ended);
        check_int(got.status, on_transport ? 200 : 404);
        seen_done(&got);
    }
}

TEST(mcp_secrets_in_variables_become_headers_for_the_collector)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CONFIG(", 'headers': {'x-custom': 'plain', 'authorization': 'plain'}"));
    q.services = collector;
    int status;
    quay_ask(&q, "", "{'jsonrpc': '2.0', 'id': 7, 'method': 'ping'}", &status);
    await(&q, q.asked_count == 1);
    check_text(q.asked[0].authorization, "Bearer hush");
    check_text(q.asked[0].custom, "plain");
}

TEST(mcp_a_collector_that_does_not_answer_costs_bounded_memory)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CONFIG(""));
    struct error err;
    struct mcp_open o = {
        .arena = test_arena(), .loop = q.loop, .env = loop_env(q.loop), .http = q.back
    };
    struct otlp *t =
        otlp_new(&o, &(struct otlp_options){ .endpoint = "127.0.0.1:1", .insecure = true }, &err);
    check(t);
    char span[1000];
    memset(span, ' ', sizeof(span));
    size_t taken = 0;
    while (otlp_add_span(t, (struct str){ span, sizeof(span) }))
        taken++;
    check_int((int64_t)taken, (int64_t)(OTLP_QUEUE_BYTES / (sizeof(span) + 1)));
    otlp_free(t);
}
