#include "node/probe.h"

#include "tests/http/rig.h"

struct answer {
    struct loop *loop;
    int goods, bads;
    char message[200];
};

static void got(void *ctx, bool ok, const char *message)
{
    struct answer *a = ctx;
    *(ok ? &a->goods : &a->bads) += 1;
    snprintf(a->message, sizeof(a->message), "%s", message ? message : "");
}

static struct answer ask(struct rig *r, const char *handler, int64_t timeout_ms)
{
    struct answer a = { .loop = r->loop };
    struct action_place place = { .loop = r->loop,
        .http = r->client,
        .address = r->origin.host,
        .container = test_json(arena_printf(
            test_arena(), "{'ports': [{'name': 'web', 'containerPort': %d}]}", r->origin.port)) };
    struct action *action = action_start(&place, test_json(handler), timeout_ms, got, &a);
    check(action && !a.goods && !a.bads);
    await(&a, a.goods + a.bads);
    check_int(a.goods + a.bads, 1);
    return a;
}

TEST(action_asks_by_http_and_tcp)
{
    cleanup(rig_close) struct rig r;
    rig_open(&r, RIG_H1);
    check_int(ask(&r, "{'httpGet': {'path': '/hello', 'port': 'web'}}", 60000).goods, 1);
    struct answer a = ask(&r, "{'httpGet': {'path': 'no-such', 'port': 'web'}}", 60000);
    check_text(a.message, "HTTP probe failed with statuscode: 404");
    check_int(a.bads, 1);
    check_int(ask(&r, "{'tcpSocket': {'port': 'web'}}", 60000).goods, 1);
    check_int(ask(&r, "{'tcpSocket': {'port': 1}}", 60000).bads, 1);
    check_int(ask(&r, "{'httpGet': {'port': 'none'}}", 60000).bads, 1);
    check_int(ask(&r, "{'sleep': {'seconds': 0}}", 1000).goods, 1);
    a = ask(&r, "{'grpc': {'port': 1}}", 1000);
    check_text(a.message, "a kind of handler that this node does not have");
}

TEST(action_that_takes_too_long_has_failed)
{
    cleanup(rig_close) struct rig r;
    rig_open(&r, RIG_H1);
    check_int(ask(&r, "{'sleep': {'seconds': 100}}", 20).bads, 1);
}

TEST(probe_counts_before_it_speaks)
{
    cleanup(rig_close) struct rig r;
    rig_open(&r, RIG_H1);
    struct answer a = { .loop = r.loop };
    struct action_place place = { .loop = r.loop, .http = r.client, .address = r.origin.host };
    struct json spec = test_json(arena_printf(test_arena(),
        "{'httpGet': {'path': '/no-such', 'port': %d}, 'periodSeconds': 1, 'failureThreshold': 2}",
        r.origin.port));
    struct probe *p = probe_new(&place, spec, got, &a);
    await(&a, a.bads);
    check_int(r.requests, 2);
    check_int(a.goods, 0);
    probe_free(p);
    spec = json_with(test_arena(), spec, "httpGet.path", json_str("/hello"));
    p = probe_new(&place, spec, got, &a);
    await(&a, a.goods);
    check_int(r.requests, 3);
    probe_free(p);
}
