#include "kube/http_transport.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "http/loop.h"
#include "http/server.h"
#include "kube/config.h"
#include "tests/test.h"

/* A server that wants a certain token, tells what it was sent, and may hold its answers back. */
struct bench {
    struct loop *loop;
    struct http_server *server;
    const char *wanted; /* Authorization; NULL: any */
    bool hold;
    struct http_exchange *held[8]; /* NULL: gone again */
    struct http_exchange *answered;
    int requests, held_count;
    char seen[600]; /* the last request: method, target and some headers */
    struct kube_config config;
    struct http_transport *http;
    struct kube_transport transport;
    int64_t (*send_within_ms)(void *ctx, const struct kube_request *request);
    bool leading;
};

struct got {
    struct kube_call *call;
    int heads, ends;
    int status;
    int64_t retry_after_ms;
    char warning[64], type[64];
    struct buf body;
    struct error err;
    bool sent;
};

static void on_closed(void *ctx, const struct error *err)
{
    struct http_exchange **held = ctx;
    (void)err;
    *held = NULL;
}

static void on_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = { .closed = on_closed };
    static const char *const names[] = {
        "authorization", "user-agent", "accept", "content-type", "impersonate-user"
    };
    struct bench *b = ctx;
    cleanup(buf_done) struct buf seen = BUF_INIT(sizeof(b->seen) - 1);
    b->requests++;
    buf_printf(&seen,
        "%.*s %.*s",
        (int)head->method.len,
        head->method.ptr,
        (int)head->target.len,
        head->target.ptr);
    for (size_t i = 0; i < lengthof(names); i++) {
        struct str v = http_header_find(head->headers, names[i]);
        if (v.ptr)
            buf_printf(&seen, "|%s: %.*s", names[i], (int)v.len, v.ptr);
    }
    snprintf(b->seen, sizeof(b->seen), "%s", buf_text(&seen));
    struct str token = http_header_find(head->headers, "authorization");
    if (b->hold) {
        check(b->held_count < (int)lengthof(b->held));
        http_exchange_take(x, &handlers, &b->held[b->held_count]);
        b->held[b->held_count++] = x;
    } else if (b->wanted && !str_eq(token, str_of(b->wanted))) {
        http_exchange_reply(x, 401, "application/json", STR("{}"));
    } else {
        http_exchange_take(x, &handlers, &b->answered);
        http_exchange_respond(x,
            200,
            HTTP_HEADERS({ STR("content-type"), STR("application/json") },
                { STR("retry-after"), STR("3") },
                { STR("warning"), STR("299 - \"mind the \\\"gap\\\"\"") }),
            2);
        http_exchange_write(x, STR("{}"));
        http_exchange_finish(x);
    }
}

static void bench_init(struct bench *b, const char *prefix)
{
    struct error err;
    *b = (struct bench){ .loop = loop_new() };
    b->server = http_server_new(b->loop,
        &(struct http_server_options){ .address = "127.0.0.1", .request = on_request, .ctx = b },
        &err);
    check(b->server != NULL);
    b->config.server =
        arena_printf(test_arena(), "http://127.0.0.1:%d%s", http_server_port(b->server), prefix);
    b->config.origin = "the test";
}

static void bench_connect(struct bench *b, size_t requests_max)
{
    struct error err;
    struct http_transport_options options = {
        .config = &b->config,
        .requests_max = requests_max,
        .send_within_ms = b->send_within_ms,
        .ctx = b,
    };
    b->http = http_transport_new(b->loop, &options, &err);
    check(b->http != NULL);
    b->transport = *http_transport_kube(b->http);
}

static void bench_done(struct bench *b)
{
    http_transport_free(b->http);
    http_server_free(b->server);
    loop_free(b->loop);
}

static void on_head(void *ctx, const struct kube_head *head)
{
    struct got *g = ctx;
    g->heads++;
    g->status = head->status;
    g->retry_after_ms = head->retry_after_ms;
    snprintf(g->type, sizeof(g->type), "%s", head->content_type);
    snprintf(g->warning, sizeof(g->warning), "%s", head->warning ? head->warning : "(none)");
}

static void on_data(void *ctx, struct str bytes)
{
    struct got *g = ctx;
    buf_add(&g->body, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct got *g = ctx;
    g->ends++;
    g->sent = sent;
    if (err)
        g->err = *err;
}

static void ask(struct bench *b, struct got *g, const char *method, int64_t timeout_ms)
{
    static const struct kube_handlers handlers = { on_head, on_data, on_end };
    struct kube_request request = {
        .method = method,
        .path = "/api?x=y",
        .timeout_ms = timeout_ms,
        .content_type = text_eq(method, "GET") ? NULL : "application/json",
        .body = text_eq(method, "GET") ? (struct str){ 0 } : STR("{\"a\":1}"),
    };
    *g = (struct got){ .body = BUF_INIT(1000) };
    g->call = kube_open(&b->transport, &request, &handlers, g);
}

/* The condition is looked at between the loop's turns. */
struct condition {
    int *value, least;
};

static bool reached(void *ctx)
{
    struct condition *c = ctx;
    return *c->value >= c->least;
}

static void await(struct bench *b, int *value, int least)
{
    if (!loop_run_until(b->loop, reached, &(struct condition){ value, least }, 60000))
        test_fail(__FILE__, __LINE__, "waited in vain; it is %d, not %d", *value, least);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

TEST(a_request_carries_who_we_are)
{
    struct bench b;
    struct got g;
    const char *as[] = { "Impersonate-User: jane doe", NULL };
    bench_init(&b, "/prefix");
    b.config.token = "secret";
    b.config.impersonate = as;
    bench_connect(&b, 0);
    ask(&b, &g, "POST", 60000);
    check_int(g.ends, 0);
    await(&b, &g.ends, 1);
    check(
        strstr(b.seen, "POST /prefix/api?x=y|authorization: Bearer secret|user-agent: leeboard/"));
    check(strstr(b.seen, "|accept: application/json|content-type: application/json"));
    check(strstr(b.seen, "|impersonate-user: jane doe"));
    check_int(g.status, 200);
    check_int(g.retry_after_ms, 3000);
    check_text(g.type, "application/json");
    check_text(buf_text(&g.body), "{}");
    check_text(g.warning, "mind the \\\"gap\\\"");
    check_int(g.err.code, ERR_NONE);
    buf_done(&g.body);
    bench_done(&b);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    check(f != NULL);
    fputs(text, f);
    fclose(f);
}

TEST(a_refused_token_is_read_again_and_the_request_repeated_once)
{
    struct bench b;
    struct got g;
    char path[] = "/tmp/leeboard-token-XXXXXX";
    int fd = mkstemp(path);
    check(fd >= 0);
    close(fd);
    bench_init(&b, "");
    write_text(path, "old");
    b.config.token_file = path;
    b.wanted = "Bearer new";
    bench_connect(&b, 0);
    ask(&b, &g, "POST", 60000);
    await(&b, &g.ends, 1);
    check_int(g.status, 401);
    check_int(b.requests, 1); /* the same token again would be of no use */
    buf_done(&g.body);
    write_text(path, "new");
    ask(&b, &g, "POST", 60000);
    await(&b, &g.ends, 1);
    check_int(g.status, 200);
    check_int(g.heads, 1); /* the 401 was not shown */
    check_int(b.requests, 3);
    check_int(http_transport_stats(b.http).repeated, 1);
    buf_done(&g.body);
    unlink(path);
    bench_done(&b);
}

TEST(requests_wait_for_a_place_and_streams_do_not)
{
    struct bench b;
    struct got g[4], stream, late;
    bench_init(&b, "");
    b.hold = true;
    bench_connect(&b, 2);
    for (size_t i = 0; i < lengthof(g); i++)
        ask(&b, &g[i], "GET", 60000);
    ask(&b, &stream, "GET", 0);
    await(&b, &b.held_count, 3);
    check_int(http_transport_stats(b.http).queued, 2);
    /* One that waits too long was never sent. */
    ask(&b, &late, "POST", 50);
    await(&b, &late.ends, 1);
    check_int(late.err.code, ERR_TIMEOUT);
    check(!late.sent);
    check_int(b.requests, 3);
    /* A place that becomes free is taken by the next; a cancelled one gives up its own. */
    kube_cancel(&b.transport, g[2].call);
    kube_cancel(&b.transport, g[0].call);
    await(&b, &b.held_count, 4);
    check_int(http_transport_stats(b.http).queued, 0);
    check_int(g[0].ends + g[2].ends, 0);
    for (int i = 0; i < b.held_count; i++)
        if (b.held[i])
            http_exchange_reply(b.held[i], 200, "application/json", STR("{}"));
    await(&b, &g[1].ends, 1);
    await(&b, &g[3].ends, 1);
    await(&b, &stream.ends, 1);
    for (size_t i = 0; i < lengthof(g); i++)
        buf_done(&g[i].body);
    buf_done(&stream.body);
    bench_done(&b);
}

static int64_t while_leading(void *ctx, const struct kube_request *request)
{
    struct bench *b = ctx;
    return b->leading || text_eq(request->method, "GET") ? 5000 : 0;
}

TEST(what_waited_until_it_may_not_be_sent_is_not_sent)
{
    struct bench b;
    struct got g[4];
    bench_init(&b, "");
    b.hold = true;
    b.send_within_ms = while_leading;
    b.leading = true;
    bench_connect(&b, 1);
    ask(&b, &g[0], "POST", 60000);
    ask(&b, &g[1], "POST", 60000);
    ask(&b, &g[2], "POST", 60000);
    ask(&b, &g[3], "GET", 60000);
    await(&b, &b.held_count, 1);
    b.leading = false;
    http_exchange_reply(b.held[0], 200, "application/json", STR("{}"));
    await(&b, &g[2].ends, 1);
    await(&b, &b.held_count, 2);
    check_int(g[0].status, 200);
    check_int(g[1].err.code, ERR_CANCELLED);
    check_int(g[2].err.code, ERR_CANCELLED);
    check(!g[1].sent);
    check_int(b.requests, 2); /* the first, and the one that only reads */
    http_exchange_reply(b.held[1], 404, "application/json", STR("{}"));
    await(&b, &g[3].ends, 1);
    const struct http_transport_count *counts = http_transport_counts(b.http);
    check_text(counts[0].method, "POST");
    check_int(counts[0].status, 200);
    check_int(counts[0].count, 1);
    check_text(counts[1].method, "GET");
    check_int(counts[1].status, 404);
    check(!counts[2].method);
    for (size_t i = 0; i < lengthof(g); i++)
        buf_done(&g[i].body);
    bench_done(&b);
}

TEST(a_server_that_is_not_there_was_sent_nothing)
{
    struct bench b;
    struct got g;
    bench_init(&b, "");
    http_server_free(take(b.server));
    bench_connect(&b, 0);
    ask(&b, &g, "POST", 60000);
    await(&b, &g.ends, 1);
    check_int(g.err.code, ERR_UNAVAILABLE);
    check(!g.sent);
    check_int(g.heads, 0);
    bench_done(&b);
}

TEST(a_request_that_is_not_answered_in_time_may_have_arrived)
{
    bool arrived = false;
    /* On a busy machine even this may need long. */
    for (int64_t ms = 100; !arrived && ms < 60000; ms *= 4) {
        struct bench b;
        struct got g;
        bench_init(&b, "");
        b.hold = true;
        bench_connect(&b, 0);
        ask(&b, &g, "POST", ms);
        await(&b, &g.ends, 1);
        check_int(g.err.code, ERR_TIMEOUT);
        arrived = b.requests == 1;
        check(g.sent || !arrived);
        bench_done(&b);
    }
    check(arrived);
}

#define CREDENTIAL(token)                                                                          \
    "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","             \
    "\"status\":{\"token\":\"" token "\"}}"

TEST(a_plugin_runs_once_for_all_who_wait_and_again_when_it_was_refused)
{
    struct bench b;
    struct got g[3];
    char path[] = "/tmp/leeboard-plugin-XXXXXX";
    int fd = mkstemp(path);
    check(fd >= 0);
    close(fd);
    const char *script = arena_printf(test_arena(),
        "if [ -s %s ]; then echo '" CREDENTIAL("second") "'; else echo run >%s; echo '" CREDENTIAL(
            "first") "'; fi",
        path,
        path);
    const char *args[] = { "-c", script, NULL };
    struct kube_exec_env env[] = { { 0 } };
    struct kube_exec exec = {
        .api_version = "client.authentication.k8s.io/v1",
        .command = "sh",
        .args = args,
        .env = env,
    };
    bench_init(&b, "");
    b.config.exec = &exec;
    b.wanted = "Bearer first";
    bench_connect(&b, 0);
    for (size_t i = 0; i < lengthof(g); i++)
        ask(&b, &g[i], "GET", 60000);
    for (size_t i = 0; i < lengthof(g); i++) {
        await(&b, &g[i].ends, 1);
        check_int(g[i].status, 200);
        buf_done(&g[i].body);
    }
    b.wanted = "Bearer second";
    ask(&b, &g[0], "GET", 60000);
    await(&b, &g[0].ends, 1);
    check_int(g[0].status, 200);
    check_int(b.requests, 5);
    buf_done(&g[0].body);
    unlink(path);
    bench_done(&b);
}

/* Asks again from inside its own bad news. */
struct stubborn {
    struct bench *bench;
    struct got got;
    int ends;
};

static void ask_again(void *ctx, const struct error *err, bool sent);

static void ask_stubbornly(struct stubborn *s)
{
    static const struct kube_handlers handlers = { on_head, on_data, ask_again };
    struct kube_request request = { .method = "GET", .path = "/", .timeout_ms = 60000 };
    s->got.call = kube_open(&s->bench->transport, &request, &handlers, s);
}

static void ask_again(void *ctx, const struct error *err, bool sent)
{
    struct stubborn *s = ctx;
    check(
        err && !sent && strstr(err->text, "exec plugin sh of the test: it ended with code 3: no"));
    if (++s->ends < 3)
        ask_stubbornly(s);
}

TEST(a_plugin_that_fails_fails_those_who_wait)
{
    struct bench b;
    const char *args[] = { "-c", "echo no >&2; exit 3", NULL };
    struct kube_exec_env env[] = { { 0 } };
    struct kube_exec exec = {
        .api_version = "client.authentication.k8s.io/v1",
        .command = "sh",
        .args = args,
        .env = env,
    };
    bench_init(&b, "");
    b.config.exec = &exec;
    bench_connect(&b, 0);
    struct stubborn s = { .bench = &b };
    ask_stubbornly(&s);
    await(&b, &s.ends, 3);
    check_int(b.requests, 0);
    bench_done(&b);
}

TEST(freeing_the_transport_ends_what_is_open_without_a_word)
{
    struct bench b;
    struct got g[2];
    bench_init(&b, "");
    b.hold = true;
    bench_connect(&b, 1);
    ask(&b, &g[0], "GET", 60000);
    ask(&b, &g[1], "GET", 60000);
    await(&b, &b.held_count, 1);
    http_transport_free(take(b.http));
    loop_run_until(b.loop, never, NULL, 20);
    check_int(g[0].ends + g[1].ends, 0);
    bench_done(&b);
}
