/* The proxy in front of a server that speaks streamable HTTP. */

#include <unistd.h>

#include "mcp/middleware.h"
#include "mcp/session.h"
#include "tests/mcp/quay.h"

#define PLAIN                                                                                      \
    "{'transport': 'streamable-http', 'middleware_configs': ["                                     \
    "{'type': 'bodylimit', 'parameters': {'max_bytes': 600}}, {'type': 'auth'}, "                  \
    "{'type': 'mcp-parser'}, {'type': 'usagemetrics'}, {'type': 'recovery'}]}"
#define INITIALIZE                                                                                 \
    "{'jsonrpc': '2.0', 'id': 0, 'method': 'initialize', 'params': {'protocolVersion': "           \
    "'2025-11-25'}}"
#define PING "{'jsonrpc':'2.0',  'id':1.50,'method':'ping','params':{'x':9007199254740993}}"

TEST(mcp_messages_pass_byte_for_byte)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    int status;
    const char *body = quay_ask(&q, "x-custom: kept\nx-forwarded-for: 1.2.3.4", PING, &status);
    check_int(status, 200);
    check_text(body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"said\":1.50}}");
    check_text(q.seen[0].body,
        "{\"jsonrpc\":\"2.0\",  \"id\":1.50,\"method\":\"ping\",\"params\":{\"x\":"
        "9007199254740993}}");
    check_text(q.seen[0].path, "/mcp");
    check_text(q.seen[0].custom, "kept");
    check_text(q.seen[0].forwarded, "127.0.0.1");
}

TEST(mcp_health_does_not_ask_the_server)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    struct seen got = { 0 };
    quay_send(&q, "GET", "/health", "", "", &got);
    await(&q, got.ended);
    check_int(got.status, 200);
    check(strstr(buf_text(&got.body), "\"status\":\"healthy\""));
    check_int((int64_t)q.seen_count, 0);
    seen_done(&got);
}

TEST(mcp_what_is_no_message_does_not_reach_the_server)
{
    static const struct {
        const char *body, *part;
    } cases[] = {
        { "not json", "-32700" },
        { "{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'} x", "-32700" },
        { "[]", "-32600" },
        { "[{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}]", "-32600" },
        { "{}", "-32600" },
        { "42", "-32600" },
        { "{'jsonrpc': '2.0', 'id': 1, 'method': 7}", "-32600" },
        { "{'jsonrpc': '2.0', 'id': 1, 'method': 'a', 'params': [1]}", "-32600" },
        { "", "-32700" },
    };
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    for (size_t i = 0; i < lengthof(cases); i++) {
        int status;
        const char *body = quay_ask(&q, "content-type: text/plain", cases[i].body, &status);
        check_int(status, 400);
        check(strstr(body, cases[i].part));
    }
    struct seen put = { 0 };
    quay_send(&q, "PUT", "/mcp", "", PING, &put);
    await(&q, put.ended);
    check_int(put.status, 405);
    seen_done(&put);
    check_int((int64_t)q.seen_count, 0);
}

TEST(mcp_a_key_that_occurs_twice_is_sent_once)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    int status;
    quay_ask(&q, "", "{'id': 1, 'method': 'a', 'params': {'name': 'x', 'name': 'y'}}", &status);
    check_text(q.seen[0].body, "{\"id\":1,\"method\":\"a\",\"params\":{\"name\":\"y\"}}");
}

TEST(mcp_bodies_beyond_the_limit_are_refused)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    char big[1024];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    int status;
    quay_ask(&q, "", big, &status);
    check_int(status, 413);
    check_int((int64_t)q.seen_count, 0);
}

TEST(mcp_the_largest_of_many_bodies_is_refused)
{
    cleanup(quay_close) struct quay q;
    quay_open_with(&q, "{'transport': 'streamable-http'}", 10000);
    char part[9000];
    memset(part, ' ', sizeof(part));
    const char *head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       "Content-Length: 9500\r\n\r\n";
    int small = raw_connect(mcp_proxy_port(q.proxy)), large = raw_connect(mcp_proxy_port(q.proxy));
    raw_send(small, str_of(head));
    raw_send(small, (struct str){ part, 4000 });
    await(&q, mcp_proxy_bodies(q.proxy) == 4000);
    raw_send(large, str_of(head));
    raw_send(large, (struct str){ part, sizeof(part) });
    raw_read_until(q.loop, large, "503 ");
    await(&q, mcp_proxy_bodies(q.proxy) == 4000);
    close(small);
    close(large);
    await(&q, mcp_proxy_bodies(q.proxy) == 0);
}

TEST(mcp_a_session_that_the_server_forgot_is_begun_again)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    int status;
    quay_ask(&q, "", INITIALIZE, &status);
    check_int(status, 200);
    q.forgetful = true;
    quay_ask(&q, "mcp-session-id: session-1", PING, &status);
    check_int(status, 200);
    check_int((int64_t)q.seen_count, 4);
    check_text(q.seen[1].session, "session-1");
    check_text(q.seen[2].session, "");
    check(strstr(q.seen[2].body, "\"initialize\""));
    check_text(q.seen[3].session, "session-2");
    /* The client still says its own. */
    quay_ask(&q, "mcp-session-id: session-1", PING, &status);
    check_int(status, 200);
    check_text(q.seen[4].session, "session-2");
    quay_ask(&q, "mcp-session-id: nobody", PING, &status);
    check_int(status, 404);
}

TEST(mcp_headers_and_origins_of_the_run_config_count)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        "{'transport': 'streamable-http', 'allowed_origins': ['https://a.test'], "
        "'header_forward': {'add_plaintext_headers': {'X-Custom': 'v7'}, "
        "'add_headers_from_secret': {'X-Key': 'KEY'}}}");
    int status;
    quay_ask(&q, "origin: https://b.test", PING, &status);
    check_int(status, 403);
    quay_ask(&q, "origin: https://A.test/\nx-custom: mine", PING, &status);
    check_int(status, 200);
    check_text(q.seen[0].custom, "v7");
}

#define MODERN(version)                                                                            \
    "{'jsonrpc': '2.0', 'id': 1, 'method': 'hold', 'params': {'_meta': "                           \
    "{'io.modelcontextprotocol/protocolVersion': '" version "', "                                  \
    "'io.modelcontextprotocol/clientCapabilities': {}}}}"

TEST(mcp_a_client_that_leaves_cancels_in_the_modern_era_only)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    struct seen modern = { 0 }, legacy = { 0 };
    quay_post(&q, "", "{'jsonrpc': '2.0', 'id': 1, 'method': 'hold'}", &legacy);
    await(&q, q.waiting == 1);
    quay_post(&q, "mcp-protocol-version: 2026-07-28", MODERN("2026-07-28"), &modern);
    await(&q, q.waiting == 2);
    http_call_cancel(legacy.call);
    http_call_cancel(modern.call);
    await(&q, q.gone == 1);
    rig_turn_for(q.loop, 50);
    check_int(q.gone, 1);
}

TEST(mcp_headers_and_meta_of_the_modern_era_must_agree)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    int status;
    const char *body =
        quay_ask(&q, "mcp-protocol-version: 2025-11-25", MODERN("2026-07-28"), &status);
    check_int(status, 400);
    check(strstr(body, "-32020"));
    body = quay_ask(&q, "", MODERN("2027-01-01"), &status);
    check(strstr(body, "-32022"));
    body = quay_ask(&q, "mcp-protocol-version: 2026-07-28", PING, &status);
    check(strstr(body, "-32602"));
    check_int((int64_t)q.seen_count, 0);
}

TEST(mcp_sessions_belong_to_who_began_them)
{
    cleanup(quay_close) struct quay q;
    quay_open(&q, PLAIN);
    struct sessions *s = mcp_proxy_sessions(q.proxy);
    struct mcp_identity ann = { .subject = "ann", .issuer = "i" }, bob = { .subject = "bob" };
    struct mcp_identity ann_elsewhere = { .subject = "ann", .issuer = "j" };
    session_add(s, STR("s"), STR("s"), &ann, STR("{}"));
    check(session_find(s, STR("s"), &ann));
    check(!session_find(s, STR("s"), &bob));
    check(!session_find(s, STR("s"), &ann_elsewhere));
}

TEST(mcp_run_configs_say_what_is_wrong)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "{'transport': 'carrier-pigeon', 'name': 'a'}", "is not a transport" },
        { "{'transport': 'stdio', 'remote_url': 'http://a'}", "stdio cannot reach" },
        { "{'transport': 'sse', 'remote_url': 'ftp://a'}", "is not http or https" },
        { "{'transport': 'sse', 'name': 'a', 'port': 70000}", "port" },
        { "{'transport': 'sse', 'name': 'a', 'embedded_auth_server_config': {}}",
            "no embedded authorization server" },
        { "{'transport': 'stdio'}", "needs a name" },
        { "[]", "expected an object" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct runconfig c;
        struct error err;
        const char *warning;
        const char *text = json_to_text(test_arena(), test_json(cases[i].text));
        check_fails(runconfig_read(test_arena(), str_of(text), NULL, &c, &warning, &err),
            err,
            cases[i].part);
    }
}

TEST(mcp_the_generation_of_the_environment_wins_if_it_is_one)
{
    static const struct {
        const char *text;
        int64_t want;
        bool warns;
    } cases[] = { { NULL, 5, false },
        { "", 5, false },
        { "7", 7, false },
        { "0", 0, false },
        { "abc", 5, true },
        { "-1", 5, true } };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct runconfig c;
        struct error err;
        const char *warning;
        check(runconfig_read(test_arena(),
            STR("{\"transport\":\"stdio\",\"name\":\"a\",\"mcpserver_generation\":5}"),
            cases[i].text,
            &c,
            &warning,
            &err));
        check_int(c.generation, cases[i].want);
        check_int(warning != NULL, cases[i].warns);
    }
}
