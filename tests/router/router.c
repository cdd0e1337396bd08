/* The router between a client and back ends on raw sockets. */

#include "router/router.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/utf8.h"
#include "kube/client.h"
#include "tests/http/rig.h"
#include "tests/jose/vectors.h"
#include "tests/kube/world.h"

struct place {
    struct loop *loop;
    struct router *router;
    struct http_server *server;
    int backends[2]; /* listeners */
    char audit[4096];
    int audits;
};

static void on_audit(void *ctx, struct str line)
{
    struct place *p = ctx;
    size_t count = line.len < sizeof(p->audit) - 1 ? line.len : sizeof(p->audit) - 1;
    memcpy(p->audit, line.ptr, count);
    p->audit[count] = '\0';
    p->audits++;
}

/* %u twice: the ports of the back ends. */
static void place_open_with(struct place *p, const char *config, const struct router_options *more)
{
    uint16_t ports[2];
    *p = (struct place){ .loop = loop_new() };
    for (size_t i = 0; i < 2; i++)
        p->backends[i] = raw_listen(&ports[i]);
    struct error err;
    char *text = arena_printf(test_arena(),
        "{\"backends\":[{\"name\":\"a\",\"tier\":\"local\",\"address\":\"http://127.0.0.1:%u\"%s},"
        "{\"name\":\"b\",\"tier\":\"local\",\"address\":\"http://127.0.0.1:%u\"}],%s}",
        ports[0],
        strstr(config, "MAPPED")    ? ",\"model\":\"inner\""
        : strstr(config, "CHECKED") ? ",\"healthCheck\":{\"path\":\"up\",\"intervalSeconds\":1}"
        : strstr(config, "POOLED")  ? ",\"pool\":{\"name\":\"p\",\"namespace\":\"ns\",\"member\":"
                                      "\"ma\",\"members\":[\"ma\"]}"
        : strstr(config, "SIGNED")
            ? ",\"provider\":\"bedrock\",\"credentialsEnv\":\"ROUTER_TEST_KEY\""
        : strstr(config, "PRICED")
            ? ",\"costPerMillionTokens\":{\"promptUSD\":\"1\",\"completionUSD\":\"3\"}"
            : "",
        ports[1],
        config);
    char *port = strstr(text, "PORTB");
    if (port)
        memcpy(port, arena_printf(test_arena(), "%05u", ports[1]), 5);
    struct router_config *c = router_config_new(str_of(text), (struct str){ 0 }, &err);
    check(c);
    struct router_options o = *more;
    o.loop = p->loop;
    o.audit = on_audit;
    o.ctx = p;
    p->router = router_new(&o, c);
    router_config_unref(c);
    p->server = http_server_new(p->loop,
        &(struct http_server_options){
            .address = "127.0.0.1", .request = router_request, .ctx = p->router },
        &err);
    check(p->server);
}

static void place_open(struct place *p, const char *config)
{
    place_open_with(p, config, &(struct router_options){ 0 });
}

static void place_close(struct place *p)
{
    http_server_free(p->server);
    router_free(p->router);
    for (size_t i = 0; i < 2; i++)
        close(p->backends[i]);
    loop_free(p->loop);
}

static int ask(struct place *p, const char *body, const char *headers)
{
    int fd = raw_connect(http_server_port(p->server));
    raw_send(fd,
        str_of(arena_printf(test_arena(),
            "POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\n%sContent-Length: %zu\r\n\r\n%s",
            headers,
            strlen(body),
            body)));
    return fd;
}

static void answer(int fd, const char *head, const char *body)
{
    raw_send(fd,
        str_of(arena_printf(
            test_arena(), "HTTP/1.1 %sContent-Length: %zu\r\n\r\n%s", head, strlen(body), body)));
}

#define CHAIN "\"rules\":[{\"name\":\"r\",\"match\":{},\"route\":{\"backends\":[\"a\",\"b\"]}}]"
#define JSON_HEAD "200 OK\r\nContent-Type: application/json\r\n"
#define SSE_HEAD                                                                                   \
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

static void check_has(const char *text, const char *part)
{
    test_check_part(text, part, "text", __FILE__, __LINE__);
}

TEST(router_passes_a_request_on_without_the_callers_secrets)
{
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\"");
    int client = ask(&p,
        "{\"model\":\"m\"}",
        "Authorization: Bearer mine\r\nX-Api-Key: mine\r\nCookie: c=mine\r\nX-Other: kept\r\n");
    int server = raw_accept(p.loop, p.backends[0]);
    const char *request = raw_read_until(p.loop, server, "{\"model\":\"m\"}");
    check(!strstr(request, "mine"));
    check_has(request, "kept");
    answer(server, JSON_HEAD, "{\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":4}}");
    check_has(raw_read_until(p.loop, client, "}}"), "200 OK");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"ok\"");
    check_has(p.audit, "\"promptTokens\":3,\"completionTokens\":4");
    close(client);
    close(server);
    place_close(&p);
}

TEST(router_falls_back_and_keeps_the_last_status)
{
    struct place p;
    place_open(&p, CHAIN);
    int client = ask(&p, "{\"model\":\"m\"}", "");
    int one = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, one, "}");
    answer(one, "500 X\r\n", "broken");
    int two = raw_accept(p.loop, p.backends[1]);
    raw_read_until(p.loop, two, "}");
    answer(two, "503 X\r\nRetry-After: 9\r\n", "loading");
    const char *got = raw_read_until(p.loop, client, "loading");
    check_has(got, "503 ");
    check_has(got, "etry-");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"all_backends_failed\"");
    check_has(p.audit, "\"failedBackends\":\"a\"");
    close(client);
    close(one);
    close(two);
    place_close(&p);
}

TEST(router_maps_the_model_both_ways)
{
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\",\"x\":\"MAPPED\"");
    int client = ask(&p, "{\"mod\\u0065l\":\"outer\",\"stream\":true}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    check_has(raw_read_until(p.loop, server, "true}"), ":\"inner\",\"stream\"");
    raw_send(server, STR(SSE_HEAD "13\r\ndata: {\"model\":\"inn\r\n"));
    raw_send(server, STR("6\r\ner\"}\n\n\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"));
    const char *got = raw_read_until(p.loop, client, "0\r\n\r\n");
    check_has(got, "data: {\"model\":\"outer\"}");
    check_has(got, "data: [DONE]");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"ok_stream\"");
    close(client);
    close(server);
    place_close(&p);
}

/* Reads what has come; how much it was in all. */
static size_t drain(int fd, size_t *total)
{
    char bytes[16384];
    ssize_t count;
    while ((count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        *total += (size_t)count;
    return *total;
}

TEST(router_keeps_nothing_of_events_that_went_by)
{
    enum { NAME = 500, ROUNDS = 40, EVENTS = 100 };
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\",\"x\":\"MAPPED\"");
    char name[NAME + 1] = "";
    memset(name, 'n', NAME);
    int client =
        ask(&p, arena_printf(test_arena(), "{\"model\":\"%s\",\"stream\":true}", name), "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "true}");
    raw_send(server, STR(SSE_HEAD));
    size_t total = 0, early = 0;
    for (size_t round = 1; round <= ROUNDS; round++) {
        for (size_t i = 0; i < EVENTS; i++)
            raw_send(server, STR("19\r\ndata: {\"model\":\"inner\"}\n\n\r\n"));
        await(&p, drain(client, &total) >= round * EVENTS * NAME);
        if (round == 5)
            early = mallinfo2().uordblks;
    }
    check(mallinfo2().uordblks < early + ((size_t)256 << 10));
    close(client);
    close(server);
    place_close(&p);
}

TEST(router_by_name_sends_a_served_name_as_it_is_and_maps_others)
{
    static const char *const asked[] = { "a", "inner" };
    for (size_t i = 0; i < lengthof(asked); i++) {
        struct place p;
        place_open(&p,
            "\"defaultRouteStrategy\":\"ByName\",\"backends\":[{\"name\":\"a\",\"tier\":"
            "\"local\",\"address\":\"http://127.0.0.1:PORTB\",\"model\":\"first\","
            "\"served\":[\"first\",\"inner\"]}]");
        int client = ask(&p, arena_printf(test_arena(), "{\"model\":\"%s\"}", asked[i]), "");
        int server = raw_accept(p.loop, p.backends[1]);
        const char *want = i ? "{\"model\":\"inner\"}" : "{\"model\":\"first\"}";
        raw_read_until(p.loop, server, want);
        answer(server, JSON_HEAD, want);
        check_has(raw_read_until(p.loop, client, "}"),
            arena_printf(test_arena(), "{\"model\":\"%s\"}", asked[i]));
        close(client);
        close(server);
        place_close(&p);
    }
}

TEST(router_by_name_answers_in_the_form_of_openai)
{
    static const struct {
        const char *body, *status, *has;
    } cases[] = {
        { "{\"model\":\"c\"}", "404", "\"The model \\\"c\\\" does not exist. There are: a, b\"" },
        { "{}", "400", "\"code\":\"model_required\"" },
        { "{", "400", "\"type\":\"invalid_request_error\"" },
    };
    struct place p;
    place_open(&p, "\"defaultRouteStrategy\":\"ByName\"");
    for (size_t i = 0; i < lengthof(cases); i++) {
        int client = ask(&p, cases[i].body, "");
        const char *answer = raw_read_until(p.loop, client, "\"}}");
        check_has(answer, cases[i].status);
        check_has(answer, cases[i].has);
        close(client);
    }
    place_close(&p);
}

TEST(router_shows_that_a_stream_was_cut)
{
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\"");
    int client = ask(&p, "{\"model\":\"m\",\"stream\":true}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "true}");
    raw_send(server, STR(SSE_HEAD "9\r\ndata: 1\n\n\r\n"));
    check_has(raw_read_until(p.loop, client, "data: 1"), "no-cache");
    close(server);
    const char *rest = raw_read_until(p.loop, client, "0\r\n\r\n"); /* never comes */
    check_has(rest, "event: error");
    check(!strstr(rest, "\r\n0\r\n\r\n"));
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"upstream_cut\"");
    close(client);
    place_close(&p);
}

TEST(router_clock_for_the_first_token_moves_on)
{
    struct place p;
    place_open_with(&p, CHAIN, &(struct router_options){ .first_token_ms = 50 });
    int client = ask(&p, "{\"model\":\"m\"}", "");
    int one = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, one, "}");
    int two = raw_accept(p.loop, p.backends[1]);
    raw_read_until(p.loop, two, "}");
    answer(two, JSON_HEAD, "{\"from\":2}");
    check_has(raw_read_until(p.loop, client, "}"), "{\"from\":2}");
    check(raw_closed(p.loop, one));
    close(client);
    close(one);
    close(two);
    place_close(&p);
}

TEST(router_closes_the_back_end_when_the_client_leaves)
{
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\"");
    int client = ask(&p, "{\"model\":\"m\"}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "}");
    close(client);
    check(raw_closed(p.loop, server));
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"client_closed\"");
    close(server);
    place_close(&p);
}

TEST(router_streams_a_long_body_and_refuses_broken_json)
{
    struct place p;
    place_open(&p, CHAIN);
    size_t size = (size_t)300 << 10;
    char *body = arena_alloc(test_arena(), size + 64);
    memset(body, 'x', size);
    memcpy(body, "{\"model\":\"m\",\"p\":\"", 18);
    memcpy(body + size, "END\"}", 5);
    int client = ask(&p, body, "");
    int server = raw_accept(p.loop, p.backends[0]);
    check_has(raw_read_until(p.loop, server, "END\"}"), "END");
    answer(server, JSON_HEAD, "{}");
    check_has(raw_read_until(p.loop, client, "{}"), "200");
    int broken = ask(&p, "{\"model\":\"m\"} trailing", "");
    check_has(raw_read_until(p.loop, broken, "}}"), "400 ");
    await(&p, p.audits == 2);
    close(client);
    close(server);
    close(broken);
    place_close(&p);
}

/* Bodies whose model comes last must be held whole. */
TEST(router_refuses_the_largest_of_many_bodies)
{
    struct place p;
    place_open_with(&p,
        "\"defaultRouteStrategy\":\"ByName\"",
        &(struct router_options){ .hold_all_bytes = (size_t)60 << 10 });
    size_t size = (size_t)110 << 10, half = (size_t)80 << 10;
    char *body = arena_alloc(test_arena(), size + 1);
    memset(body, ' ', size);
    body[0] = '{';
    memcpy(body + size - 12, "\"model\":\"a\"}", 12);
    const char *head = arena_printf(test_arena(),
        "POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nContent-Length: %zu\r\n\r\n",
        size);
    int small = raw_connect(http_server_port(p.server)), large;
    raw_send(small, str_of(head));
    raw_send(small, (struct str){ body, half });
    await(&p, router_held(p.router) == half - ROUTER_HOLD_BYTES);
    large = raw_connect(http_server_port(p.server));
    raw_send(large, str_of(head));
    raw_send(large, (struct str){ body, size - 12 });
    check_has(raw_read_until(p.loop, large, "}}"), "503 ");
    close(large);
    await(&p, p.audits == 1);
    check_has(p.audit, "too_many_bodies");
    await(&p, router_held(p.router) == half - ROUTER_HOLD_BYTES);
    raw_send(small, (struct str){ body + half, size - half });
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "\"model\":\"a\"");
    answer(server, JSON_HEAD, "{}");
    check_has(raw_read_until(p.loop, small, "{}"), "200 ");
    await(&p, router_held(p.router) == 0);
    close(small);
    close(server);
    place_close(&p);
}

TEST(router_replaces_its_config_at_run_time)
{
    struct place p;
    struct error err;
    place_open(&p, "\"defaultRoute\":\"a\"");
    int old = ask(&p, "{\"model\":\"m\"}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "}");
    struct router_config *c =
        router_config_new(STR("{\"backends\":[{\"name\":\"z\",\"tier\":\"local\",\"address\":"
                              "\"http://127.0.0.1:1\"}]}"),
            (struct str){ 0 },
            &err);
    router_set_config(p.router, c);
    router_config_unref(c);
    int next = ask(&p, "{\"model\":\"m\"}", "");
    check_has(raw_read_until(p.loop, next, "}}"), "no rule matched");
    answer(server, JSON_HEAD, "{\"from\":1}");
    check_has(raw_read_until(p.loop, old, "}"), "{\"from\":1}");
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
    router_metrics_print(p.router, &text);
    check_has(buf_text(&text), "llmkube_router_backend_health{backend=\"z\",router=\"default\"} 1");
    close(old);
    close(next);
    close(server);
    place_close(&p);
}

TEST(router_sends_a_copy_to_the_shadow_and_answers_from_the_first)
{
    struct place p;
    place_open(&p,
        "\"rules\":[{\"name\":\"r\",\"match\":{},"
        "\"route\":{\"strategy\":\"shadow\",\"backends\":[\"a\",\"b\"]}}]");
    int client = ask(&p, "{\"model\":\"m\"}", "");
    int one = raw_accept(p.loop, p.backends[0]);
    int two = raw_accept(p.loop, p.backends[1]);
    raw_read_until(p.loop, one, "{\"model\":\"m\"}");
    raw_read_until(p.loop, two, "{\"model\":\"m\"}");
    answer(two, JSON_HEAD, "{\"from\":2}");
    answer(one, JSON_HEAD, "{\"from\":1}");
    check_has(raw_read_until(p.loop, client, "}"), "{\"from\":1}");
    close(client);
    close(one);
    close(two);
    place_close(&p);
}

TEST(router_asks_again_once_when_a_connection_ends_without_an_answer)
{
    struct place p;
    place_open(&p, "\"defaultRoute\":\"a\"");
    int client = ask(&p, "{\"model\":\"m\"}", "");
    for (int i = 0; i < 2; i++) {
        int server = raw_accept(p.loop, p.backends[0]);
        raw_read_until(p.loop, server, "}");
        close(server);
    }
    check_has(raw_read_until(p.loop, client, "}}"), "502 ");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"failedBackends\":\"a\"");
    close(client);
    place_close(&p);
}

#define BUDGET(more)                                                                               \
    "\"defaultRoute\":\"a\",\"policy\":{\"budgets\":[{\"name\":\"day\",\"windowSeconds\":"         \
    "86400," more "}]}"

/* One request that the first back end answers, with these tokens. */
static void spend(struct place *p, const char *headers, int prompt, int completion)
{
    int audits = p->audits;
    int client = ask(p, "{\"model\":\"m\",\"max_tokens\":5}", headers);
    int server = raw_accept(p->loop, p->backends[0]);
    raw_read_until(p->loop, server, "5}");
    answer(server,
        JSON_HEAD,
        arena_printf(test_arena(),
            "{\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}",
            prompt,
            completion));
    check_has(raw_read_until(p->loop, client, "}}"), "200 OK");
    await(p, p->audits == audits + 1);
    close(client);
    close(server);
}

static void refused(struct place *p, const char *headers, const char *status)
{
    int audits = p->audits;
    int client = ask(p, "{\"model\":\"m\",\"max_tokens\":5}", headers);
    check_has(raw_read_until(p->loop, client, "}}"), status);
    await(p, p->audits == audits + 1);
    close(client);
}

TEST(router_budget_of_tokens_ends)
{
    struct place p;
    place_open(&p, BUDGET("\"scope\":\"router\",\"maxTokens\":100"));
    spend(&p, "", 40, 30);
    spend(&p, "", 20, 10);
    refused(&p, "", "429 ");
    check_has(p.audit, "\"outcome\":\"budget_exceeded\"");
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
    router_metrics_print(p.router, &text);
    check_has(
        buf_text(&text), "llmkube_router_budget_utilization{router=\"default\",scope=\"day\"} 1\n");
    check_has(buf_text(&text), "leeboard_router_budget_refused_total{budget=\"day\"} 1\n");
    place_close(&p);
}

TEST(router_budget_is_reserved_while_a_request_runs)
{
    struct place p;
    place_open(&p, BUDGET("\"scope\":\"router\",\"maxTokens\":20"));
    int client = ask(&p, "{\"model\":\"m\",\"max_tokens\":5}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "5}");
    int second = ask(&p, "{\"model\":\"m\",\"max_tokens\":50}", "");
    const char *got = raw_read_until(p.loop, second, "}}");
    check_has(got, "429 ");
    check_has(got, "etry-");
    answer(server, "400 X\r\n", "no"); /* costs nothing */
    check_has(raw_read_until(p.loop, client, "no"), "400 ");
    close(client);
    close(second);
    close(server);
    spend(&p, "", 1, 1);
    place_close(&p);
}

TEST(router_budget_of_a_team_is_its_own)
{
    struct place p;
    place_open(&p, BUDGET("\"scope\":\"team\",\"maxTokens\":10"));
    spend(&p, "X-Llmkube-Team: red\r\n", 6, 6);
    refused(&p, "X-Llmkube-Team: red\r\n", "429 ");
    spend(&p, "X-Llmkube-Team: blue\r\n", 1, 1);
    place_close(&p);
}

TEST(router_budget_of_money_counts_the_prices)
{
    struct place p;
    place_open(&p, "\"x\":\"PRICED\"," BUDGET("\"scope\":\"router\",\"maxUSD\":\"0.001\""));
    spend(&p, "", 200, 100); /* 200 × 1 + 100 × 3 µ$ */
    spend(&p, "", 200, 100);
    refused(&p, "", "429 ");
    place_close(&p);
}

static bool metrics_have(struct place *p, const char *part)
{
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
    router_metrics_print(p->router, &text);
    return strstr(buf_text(&text), part);
}

TEST(router_leaves_out_a_back_end_that_fails_its_checks)
{
    struct place p;
    place_open(&p, "\"x\":\"CHECKED\"," CHAIN);
    int check_fd = raw_accept(p.loop, p.backends[0]);
    check_has(raw_read_until(p.loop, check_fd, "\r\n\r\n"), "GET /up HTTP/1.1");
    close(p.backends[0]); /* from now on refused */
    close(check_fd);
    await(&p, metrics_have(&p, "backend_health{backend=\"a\",router=\"default\"} 0"));
    int client = ask(&p, "{\"model\":\"m\"}", "");
    int two = raw_accept(p.loop, p.backends[1]);
    raw_read_until(p.loop, two, "}");
    answer(two, JSON_HEAD, "{\"from\":2}");
    check_has(raw_read_until(p.loop, client, "}"), "{\"from\":2}");
    await(&p, p.audits == 1);
    check(!strstr(p.audit, "failedBackends")); /* it was not even asked */
    close(client);
    close(two);
    p.backends[0] = dup(p.backends[1]);
    place_close(&p);
}

/* A held stream on a real loop, and an API that says nothing until the test answers. */
TEST(router_keeps_a_held_stream_alive_with_comments)
{
    struct place p;
    struct world w;
    world_init(&w);
    struct kube_client *kube = kube_client_new(&w.transport, &w.env);
    place_open_with(&p,
        "\"x\":\"POOLED\",\"defaultRoute\":\"a\"",
        &(struct router_options){ .kube = kube, .keep_alive_ms = 5 });
    int client = ask(&p, "{\"model\":\"m\",\"stream\":true}", "");
    const char *got = raw_read_until(p.loop, client, ": waiting");
    check_has(got, "200 OK");
    check_has(got, "text/event-stream");
    world_answer(world_only(&w), 200, "{'status': {'phase': 'Ready'}}");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "true}");
    raw_send(server, STR(SSE_HEAD "9\r\ndata: 1\n\n\r\n0\r\n\r\n"));
    check_has(raw_read_until(p.loop, client, "\r\n0\r\n\r\n"), "data: 1");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"outcome\":\"ok_stream\"");
    close(client);
    close(server);
    int other = ask(&p, "{\"model\":\"m\",\"stream\":true}", "");
    server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "true}");
    close(other); /* its turn ends with it */
    check(raw_closed(p.loop, server));
    close(server);
    place_close(&p);
    kube_client_free(kube);
    world_done(&w);
}

#define AUTH(issuer, lists)                                                                        \
    "\"defaultRoute\":\"a\",\"policy\":{\"auth\":{\"jwt\":{\"issuer\":\"" issuer                   \
    "\",\"teamClaim\":\"sub\",\"jwksURI\":\"http://127.0.0.1:PORTB/keys?x\"}" lists "}}"

/* The issuer answers once with its keys. */
static void publish_keys(struct place *p)
{
    int issuer = raw_accept(p->loop, p->backends[1]);
    check_has(raw_read_until(p->loop, issuer, "\r\n\r\n"), "GET /keys?x HTTP/1.1");
    answer(issuer, JSON_HEAD, vector_keys);
    await(p, router_has_keys(p->router));
    close(issuer);
}

static const char *bearer(const char *token)
{
    return arena_printf(test_arena(), "Authorization: Bearer %s\r\n", token);
}

TEST(router_lets_in_whom_a_token_names_and_passes_the_team_on)
{
    struct place p;
    place_open(&p, AUTH("i", ",\"allowlists\":[{\"team\":\"ann\",\"models\":[\"m\"]}]"));
    refused(&p, bearer(vectors[0].token), "503 "); /* no keys yet */
    publish_keys(&p);
    refused(&p, "", "401 ");
    check_has(p.audit, "\"outcome\":\"unauthorized\"");
    refused(&p, bearer("nonsense"), "401 ");
    refused(&p,
        bearer(arena_printf(
            test_arena(), "%.*sAAAA", (int)strlen(vectors[0].token) - 4, vectors[0].token)),
        "401 ");
    int client = ask(&p,
        "{\"model\":\"m\"}",
        arena_printf(test_arena(), "%sX-Llmkube-Team: boss\r\n", bearer(vectors[0].token)));
    int server = raw_accept(p.loop, p.backends[0]);
    const char *request = raw_read_until(p.loop, server, "{\"model\":\"m\"}");
    check_has(request, "x-llmkube-team: ann\r\n");
    check(!strstr(request, "boss") && !strstr(request, "Bearer"));
    answer(server, JSON_HEAD, "{}");
    check_has(raw_read_until(p.loop, client, "{}"), "200 ");
    int other = ask(&p, "{\"model\":\"secret\"}", bearer(vectors[0].token));
    check_has(raw_read_until(p.loop, other, "}}"), "403 ");
    close(other);
    close(client);
    close(server);
    place_close(&p);
}

TEST(router_takes_no_token_of_another_issuer)
{
    struct place p;
    place_open(&p, AUTH("somebody", ""));
    publish_keys(&p);
    refused(&p, bearer(vectors[0].token), "401 ");
    place_close(&p);
}

#define FORM_BODY(model)                                                                           \
    "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\nRIFF\0.\r\n" \
    "--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" model "\r\n--b1--\r\n"

TEST(router_routes_and_rewrites_the_model_of_a_form)
{
    struct place p;
    place_open(&p,
        "\"x\":\"MAPPED\",\"rules\":[{\"name\":\"w\",\"match\":{\"models\":[\"whisper\"]},"
        "\"route\":{\"backends\":[\"a\"]}}],\"defaultRoute\":\"b\"");
    int client = raw_connect(http_server_port(p.server));
    struct str body = STR(FORM_BODY("whisper"));
    raw_send(client,
        str_of(arena_printf(test_arena(),
            "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: r\r\nContent-Type: "
            "multipart/form-data; boundary=b1\r\nContent-Length: %zu\r\n\r\n",
            body.len)));
    raw_send(client, body);
    int server = raw_accept(p.loop, p.backends[0]);
    const char *head = raw_read_until(p.loop, server, "\r\n\r\n");
    check_has(head, arena_printf(test_arena(), "ength: %zu\r\n", body.len - 2));
    answer(server, JSON_HEAD, "{}");
    check_has(raw_read_until(p.loop, client, "{}"), "200 ");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"model\":\"whisper\"");
    check_has(p.audit, "\"rule\":\"w\"");
    close(client);
    close(server);
    place_close(&p);
}

TEST(router_writes_the_beginning_of_the_body_into_the_audit_line)
{
    struct place p;
    place_open(
        &p, "\"defaultRoute\":\"a\",\"policy\":{\"auditLog\":{\"includeRequestBody\":true}}");
    int client = ask(&p, "{\"model\":\"m\",\"t\":\"\\u00fc\xff\"}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    raw_read_until(p.loop, server, "}");
    answer(server, JSON_HEAD, "{}");
    raw_read_until(p.loop, client, "{}");
    await(&p, p.audits == 1);
    check_has(p.audit, "\"requestBody\":\"{\\\"model\\\":\\\"m\\\",\\\"t\\\":\\\"\\\\u00fc");
    check(!strstr(p.audit, "requestBodyCut"));
    check(utf8_valid(str_of(p.audit)));
    close(client);
    close(server);
    place_close(&p);
}

TEST(router_says_what_a_signature_needs)
{
    struct place p;
    place_open(&p, "\"x\":\"SIGNED\",\"defaultRoute\":\"a\"");
    setenv("ROUTER_TEST_KEY", "AKIAEXAMPLE", 1);
    int client = ask(&p, "{\"model\":\"m\"}", "");
    const char *got = raw_read_until(p.loop, client, "}}");
    check_has(got, "502 ");
    check_has(got, "AWS_BEARER_TOKEN_BEDROCK");
    check(!strstr(got, "AKIA"));
    setenv("ROUTER_TEST_KEY", "a-key", 1);
    int second = ask(&p, "{\"model\":\"m\"}", "");
    int server = raw_accept(p.loop, p.backends[0]);
    check_has(raw_read_until(p.loop, server, "m\"}"), "authorization: Bearer a-key");
    unsetenv("ROUTER_TEST_KEY");
    close(client);
    close(second);
    close(server);
    place_close(&p);
}
