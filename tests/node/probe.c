#include "node/probe.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/rig.h"

struct answer {
    struct loop *loop;
    int goods, bads;
    int failures; /* that a probe told */
    char message[200];
};

static void got(void *ctx, bool ok, const char *message)
{
    struct answer *a = ctx;
    *(ok ? &a->goods : &a->bads) += 1;
    snprintf(a->message, sizeof(a->message), "%s", message ? message : "");
}

static void changed(void *ctx, bool ok)
{
    got(ctx, ok, NULL);
}

static void failed(void *ctx, const char *kind, const char *message)
{
    check_text(kind, "Readiness");
    check(!text_empty(message));
    ((struct answer *)ctx)->failures++;
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
    a = ask(&r, "{'smoke': {'port': 1}}", 1000);
    check_text(a.message, "a kind of handler that this node does not have");
}

TEST(action_asks_for_health_by_grpc)
{
    cleanup(rig_close) struct rig r;
    rig_open(&r, RIG_H2);
    const char *handler =
        arena_printf(test_arena(), "{'grpc': {'port': %d, 'service': 'model'}}", r.origin.port);
    check_int(ask(&r, handler, 60000).goods, 1);
    r.hold_body = true;
    check_text(
        ask(&r, handler, 60000).message, "service unhealthy (responded with \"NOT_SERVING\")");
    check_int(ask(&r, "{'grpc': {'port': 1}}", 60000).bads, 1);
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
    int64_t begun_ms = env_mono_ms(loop_env(r.loop));
    struct probe *p =
        probe_new(&place, spec, &(struct probe_watch){ "Readiness", changed, failed, &a });
    await(&a, a.bads);
    check(env_mono_ms(loop_env(r.loop)) >= begun_ms + 1000); /* looks in between do not count */
    check(r.requests >= 2);
    check_int(a.goods, 0);
    check_int(a.failures, 2);
    probe_free(p);
    spec = json_with(test_arena(), spec, "httpGet.path", json_str("/hello"));
    p = probe_new(&place, spec, &(struct probe_watch){ "Readiness", changed, failed, &a });
    int before = r.requests;
    await(&a, a.goods);
    check_int(r.requests, before + 1);
    probe_free(p);
}

TEST(probe_sees_the_first_success_before_its_period_is_over)
{
    cleanup(rig_close) struct rig r;
    rig_open(&r, RIG_H1);
    struct answer a = { .loop = r.loop };
    struct action_place place = { .loop = r.loop, .http = r.client, .address = "127.0.0.1" };
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t length = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    check(getsockname(fd, (struct sockaddr *)&at, &length) == 0);
    struct json spec = test_json(arena_printf(test_arena(),
        "{'tcpSocket': {'port': %d}, 'periodSeconds': 3600, 'failureThreshold': 1}",
        ntohs(at.sin_port)));
    struct probe *p =
        probe_new(&place, spec, &(struct probe_watch){ "Readiness", changed, failed, &a });
    await(&a, a.bads);
    check(listen(fd, 1) == 0);
    await(&a, a.goods);
    probe_free(p);
    close(fd);
}
