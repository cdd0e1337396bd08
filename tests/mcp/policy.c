/* Filters, authorization and the audit log of the MCP proxy. */

#include "mcp/middleware.h"
#include "tests/mcp/quay.h"

#define TOOLS                                                                                      \
    "{\"tools\":[{\"name\":\"echo\",\"annotations\":{\"readOnlyHint\":true}},"                     \
    "{\"name\":\"add\",\"title\":\"Add\",\"description\":\"old\"},{\"name\":\"delete_all\"}],"     \
    "\"nextCursor\":\"c\"}"
#define LIST "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/list'}"
#define CALL(name, arguments)                                                                      \
    "{'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': '" name                \
    "', 'arguments': " arguments "}}"
#define JSON "content-type: application/json"

/* ---- filters ---- */

#define FILTER                                                                                     \
    "{'filter_tools': ['echo', 'plus'], 'tools_override': {'add': {'name': 'plus', "               \
    "'description': 'new'}}}"
#define FILTERED                                                                                   \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'tool-filter', "             \
    "'parameters': " FILTER "}, {'type': 'tool-call-filter', 'parameters': " FILTER "}]}"

TEST(mcp_lists_of_tools_are_filtered_and_renamed)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, FILTERED);
    q.result = TOOLS;
    int status;
    const char *body = quay_ask(&q, JSON, LIST, &status);
    check_int(status, 200);
    check(strstr(body, "\"nextCursor\":\"c\""));
    check(strstr(body, "\"echo\""));
    check(strstr(body, "\"description\":\"new\",\"name\":\"plus\",\"title\":\"Add\""));
    check(!strstr(body, "delete_all"));
}

TEST(mcp_calls_of_renamed_tools_reach_the_server_under_the_old_name)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, FILTERED);
    int status;
    quay_ask(&q, JSON, CALL("plus", "{'a':  1}"), &status);
    check_int(status, 200);
    check(strstr(q.seen[0].body, "\"name\": \"add\""));
    check(strstr(q.seen[0].body, "{\"a\":  1}"));
    static const char *const refused[] = { CALL("add", "{}"), CALL("delete_all", "{}") };
    for (size_t i = 0; i < lengthof(refused); i++) {
        const char *body = quay_ask(&q, JSON, refused[i], &status);
        check_int(status, 200);
        check(strstr(body, "\"code\":-32602,\"message\":\"tool not found\""));
    }
    quay_ask(&q, "accept: text/event-stream", CALL("add", "{}"), &status);
    check_int(status, 400);
    check_int((int64_t)q.seen_count, 1);
}

/* ---- Cedar ---- */

#define CEDAR(policies)                                                                            \
    "{'transport': 'streamable-http', 'name': 'desk', 'middleware_configs': [{'type': 'auth'}, "   \
    "{'type': 'authorization', 'parameters': {'config_data': {'type': 'cedarv1', 'cedar': "        \
    "{'policies': [" policies "], 'entities_json': ''}}}}]}"
#define ECHO_ONLY                                                                                  \
    "'permit(principal, action == Action::\\\"call_tool\\\", resource == Tool::\\\"echo\\\");'"
#define TOOL(condition)                                                                            \
    "'permit(principal, action == Action::\\\"call_tool\\\", resource) when { " condition " };'"

static int ask(struct quay *q, const char *headers, const char *body)
{
    int status;
    quay_ask(q, headers, body, &status);
    return status;
}

TEST(mcp_cedar_denies_what_no_policy_permits)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CEDAR(ECHO_ONLY));
    int status;
    const char *body = quay_ask(&q, JSON, CALL("delete_all", "{}"), &status);
    check_int(status, 403);
    check_text(body,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":403,\"message\":\"Unauthorized\"}}");
    check_int(ask(&q, JSON, "{'id': 1, 'method': 'tasks/list'}"), 403);
    check_int(ask(&q, JSON, "{'method': 'notifications/no-such'}"), 403);
    check_int(ask(&q, JSON, "{'id': 1, 'method': 'resources/read', 'params': {'uri': 'a'}}"), 403);
    check_int(ask(&q, JSON, "{'id': 1, 'method': 'tools/call', 'params': {}}"), 403);
    check_int(ask(&q, "content-type: text/plain", CALL("echo", "{}")), 400);
    check_int((int64_t)q.seen_count, 0);
    check_int(ask(&q, JSON, CALL("echo", "{}")), 200);
    check_int(ask(&q, JSON, "{'id': 1, 'method': 'ping'}"), 200);
    check_int((int64_t)q.seen_count, 2);
}

TEST(mcp_cedar_holds_on_every_path)
{
    static const char *const paths[] = {
        "/sse", "/x/sse", "/messages", "/health/x", "/mcp?a=/sse"
    };
    cleanup(quay_close) struct quay q;
    quay_open(&q, CEDAR(ECHO_ONLY));
    for (size_t i = 0; i < lengthof(paths); i++) {
        struct seen got = { 0 };
        quay_send(&q, "POST", paths[i], JSON, CALL("delete_all", "{}"), &got);
        await(&q, got.ended);
        check_int(got.status, 403);
        seen_done(&got);
    }
    check_int((int64_t)q.seen_count, 0);
}

TEST(mcp_cedar_is_not_misled_by_the_case_of_keys)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CEDAR(ECHO_ONLY));
    static const char *const bodies[] = {
        "{'id': 1, 'method': 'tools/call', 'params': {'name': 'echo', 'Name': 'delete_all'}}",
        "{'id': 1, 'method': 'ping', 'Method': 'tools/call', 'params': {'name': 'delete_all'}}",
        "{'id': 1, 'method': 'tools/call', 'params': {'name': 'echo'}, 'PARAMS': {}}",
        "{'id': 1, 'method': 'tools/call', 'params': {'name': 'echo', 'name': 'delete_all'}}",
    };
    for (size_t i = 0; i < lengthof(bodies); i++)
        check_int(ask(&q, JSON, bodies[i]), 403);
    check_int((int64_t)q.seen_count, 0);
}

TEST(mcp_cedar_filters_lists)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, CEDAR(TOOL("resource has readOnlyHint && resource.readOnlyHint")));
    q.result = TOOLS;
    int status;
    check_int(ask(&q, JSON, CALL("echo", "{}")), 403);
    const char *body = quay_ask(&q, JSON, LIST, &status);
    check(strstr(body, "\"echo\"") && strstr(body, "nextCursor"));
    check(!strstr(body, "delete_all") && !strstr(body, "\"add\""));
    /* What the list said of the tool counts for calls, too. */
    check_int(ask(&q, JSON, CALL("echo", "{}")), 200);
    q.result = "{\"prompts\":[{\"name\":\"p\"}]}";
    body = quay_ask(&q, JSON, "{'id': 1, 'method': 'prompts/list'}", &status);
    check(strstr(body, "\"prompts\":[]"));
}

TEST(mcp_whole_numbers_are_longs_and_old_policies_see_decimals)
{
    static const struct {
        const char *policy, *call;
        int status;
    } cases[] = {
        { CEDAR(TOOL("context.arg_n < 10")), CALL("t", "{'n': 9}"), 200 },
        { CEDAR(TOOL("context.arg_n < 10")), CALL("t", "{'n': 10}"), 403 },
        { CEDAR(TOOL("context.arg_n < 10")), CALL("t", "{'n': 1.5}"), 403 },
        { CEDAR(TOOL("context.arg_n.lessThan(decimal(\\\"10.0\\\"))")),
            CALL("t", "{'n': 9}"),
            200 },
        { CEDAR(TOOL("context.arg_n.lessThan(decimal(\\\"10.0\\\"))")),
            CALL("t", "{'n': 9.5}"),
            200 },
        { CEDAR(TOOL("context.arg_n.lessThan(decimal(\\\"10.0\\\"))")),
            CALL("t", "{'n': 11}"),
            403 },
        { CEDAR(
              TOOL("true") ", 'forbid(principal, action, resource) when { context.arg_n == 5 };'"),
            CALL("t", "{'n': 5}"),
            403 },
        { CEDAR(TOOL("context.arg_list_present")), CALL("t", "{'list': [1]}"), 200 },
        { CEDAR(TOOL("resource in MCP::\\\"desk\\\"")), CALL("t", "{}"), 200 },
        { CEDAR(TOOL("context.claim_iss == \\\"toolhive-local\\\"")), CALL("t", "{}"), 200 },
        { CEDAR(TOOL("principal.claim_nobody == 1")), CALL("t", "{}"), 403 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        cleanup(quay_close) struct quay q;
        quay_open(&q, cases[i].policy);
        check_int(ask(&q, JSON, cases[i].call), cases[i].status);
    }
}

/* ---- policy decision point ---- */

TEST(mcp_a_decision_point_that_cannot_be_reached_denies)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth'}, {'type': "
        "'authorization', 'parameters': {'config_data': {'type': 'httpv1', 'pdp': {'http': {'url': "
        "'http://127.0.0.1:1'}, 'claim_mapping': 'standard'}}}}]}");
    check_int(ask(&q, JSON, CALL("echo", "{}")), 403);
    q.result = TOOLS;
    int status;
    check(strstr(quay_ask(&q, JSON, LIST, &status), "\"tools\":[]"));
}

/* ---- audit ---- */

#define AUDITED(config)                                                                            \
    "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'audit', 'parameters': "     \
    "{'config_data': " config ", 'transport_type': 'streamable-http'}}, {'type': 'auth'}, "        \
    "{'type': 'authorization', 'parameters': {'config_data': {'type': 'cedarv1', 'cedar': "        \
    "{'policies': [" ECHO_ONLY "]}}}}]}"

TEST(mcp_each_request_leaves_a_line_in_the_audit_log)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, AUDITED("{'includeRequestData': true, 'includeResponseData': true}"));
    ask(&q, JSON "\nx-forwarded-for: 9.9.9.9", CALL("echo", "{'a': 1}"));
    await(&q, *q.lines);
    struct json line = test_json(q.lines);
    check_text(json_get_text(line, "msg"), "audit_event");
    check_text(json_get_text(line, "level"), "AUDIT");
    check_text(json_get_text(line, "type"), "mcp_tool_call");
    check_text(json_get_text(line, "outcome"), "success");
    check_text(json_get_text(line, "target.name"), "echo");
    check_text(json_get_text(line, "target.type"), "tool");
    check_text(json_get_text(line, "source.value"), "127.0.0.1");
    check_text(json_get_text(line, "data.request.method"), "tools/call");
    check_text(json_get_text(line, "data.response.jsonrpc"), "2.0");
    *q.lines = '\0';
    ask(&q, JSON, CALL("delete_all", "{}"));
    await(&q, *q.lines);
    line = test_json(q.lines);
    check_text(json_get_text(line, "outcome"), "denied");
    check_int(json_get_int(line, "data.response.error.code", 0), 403);
}

TEST(mcp_the_audit_log_names_errors_in_answers_with_status_200)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, AUDITED("{}"));
    q.result = "null,\"error\":{\"code\":-7,\"message\":\"boom\"}";
    ask(&q, JSON, CALL("echo", "{}"));
    await(&q, *q.lines);
    struct json line = test_json(q.lines);
    check_text(json_get_text(line, "outcome"), "application_error");
    check_int(json_get_int(line, "metadata.extra.jsonrpc_error_code", 0), -7);
    check(!json_present(json_member(line, "data")));
}

/* ---- without middleware_configs ---- */

TEST(mcp_a_run_config_without_a_list_is_guarded_by_its_other_fields)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        "{'transport': 'streamable-http', 'tools_filter': ['echo', 'add'], 'authz_config': "
        "{'type': 'cedarv1', 'cedar': {'policies': [" ECHO_ONLY "]}}, 'audit_config': {}}");
    int status;
    check_int(ask(&q, JSON, CALL("echo", "{}")), 200);
    await(&q, *q.lines);
    check_int(ask(&q, JSON, CALL("add", "{}")), 403);
    check(strstr(quay_ask(&q, JSON, CALL("delete_all", "{}"), &status), "tool not found"));
    check_int((int64_t)q.seen_count, 1);
}

TEST(mcp_parameters_without_effect_are_named_at_the_start)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        "{'transport': 'streamable-http', 'middleware_configs': ["
        "{'type': 'bodylimit', 'parameters': {'max_bytes': 900, 'min_bytes': 1}}, "
        "{'type': 'auth', 'parameters': {'oidc_config': null}}, "
        "{'type': 'tool-filter', 'parameters': {'tools_override': {'a': {'name': 'b', 'icon': "
        "'c'}}}}, "
        "{'type': 'authorization', 'parameters': {'config_data': {'version': '1.0', 'type': "
        "'cedarv1', "
        "'cedar': {'policies': [" ECHO_ONLY "], 'schema': 'x'}}}}, "
        "{'type': 'recovery', 'parameters': null}]}");
    check_text(q.warned,
        "middleware bodylimit: parameters.min_bytes is not known to this version and has no "
        "effect\n"
        "middleware tool-filter: parameters.tools_override.a.icon is not known to this version and "
        "has "
        "no effect\n"
        "middleware authorization: parameters.config_data.cedar.schema is not known to this "
        "version "
        "and has no effect\n");
    cleanup(quay_close) struct quay fine;
    quay_open(&fine, FILTERED);
    check_text(fine.warned, "");
}
