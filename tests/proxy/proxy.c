/* The proxy on the built-in API server, with real sockets on both sides. */

#include "proxy/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/listen.h"
#include "tests/node/harbor.h"

#define SERVICES "/api/v1/namespaces/default/services"
#define SLICES "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

struct place {
    struct harbor harbor;
    struct loop *loop;
    struct proxy *proxy;
    const char *address; /* of the Service web */
    uint16_t port;
};

static uint16_t free_port(void)
{
    uint16_t port;
    close(raw_listen(&port));
    return port;
}

/* Not the cluster's, so that the same port is free there. */
static const char *const outside[] = { "127.0.0.3", NULL };

static void place_open_with(struct place *p, const char *spec, size_t connections_max)
{
    *p = (struct place){ .port = free_port() };
    harbor_open(&p->harbor);
    p->loop = p->harbor.loop;
    struct json service = harbor_do(&p->harbor,
        "POST",
        SERVICES,
        arena_printf(test_arena(),
            "{'metadata': {'name': 'web'}, 'spec': {'ports': [{'port': %u}]%s}}",
            p->port,
            spec));
    p->address = json_get_text(service, "spec.clusterIP");
    p->proxy = proxy_new(&(struct proxy_options){ .loop = p->loop,
        .transport = &p->harbor.transport,
        .exposed = strstr(spec, "LoadBalancer") ? outside : NULL,
        .connections_max = connections_max,
        .connect_ms = AWAIT_MAX_MS });
    proxy_start(p->proxy);
}

static void place_open(struct place *p)
{
    place_open_with(p, "", 0);
}

static void place_close(struct place *p)
{
    proxy_free(p->proxy);
    harbor_close(&p->harbor);
}

/* A slice with one endpoint on 127.0.0.1; conditions as JSON. */
static void put_slice(
    struct place *p, const char *method, const char *name, uint16_t port, const char *conditions)
{
    harbor_do(&p->harbor,
        method,
        text_eq(method, "POST") ? SLICES : arena_printf(test_arena(), SLICES "/%s", name),
        arena_printf(test_arena(),
            "{'metadata': {'name': '%s', 'labels': {'kubernetes.io/service-name': 'web'}}, "
            "'addressType': 'IPv4', 'ports': [{'name': '', 'port': %u, 'protocol': 'TCP'}], "
            "'endpoints': [{'addresses': ['127.0.0.1'], 'conditions': %s}]}",
            name,
            port,
            conditions));
}

static int try_connect(const char *address, uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    inet_pton(AF_INET, address, &to.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    check_int(errno, ECONNREFUSED);
    close(fd);
    return -1;
}

static int connect_now(struct place *p)
{
    await(p, proxy_stats(p->proxy).listening);
    int fd = try_connect(p->address, p->port);
    check(fd >= 0);
    return fd;
}

/* One request through the proxy, answered by whoever got it: which of the listeners that was. */
static size_t ask(struct place *p, const int *listeners, size_t count)
{
    int client = connect_now(p), server = -1;
    size_t who = 0;
    raw_send(client, STR("hello"));
    await(
        p, (server = accept4(listeners[who = (who + 1) % count], NULL, NULL, SOCK_NONBLOCK)) >= 0);
    check_text(raw_read_until(p->loop, server, "hello"), "hello");
    raw_send(server, STR("ahoy"));
    close(server);
    check_text(raw_read_until(p->loop, client, NULL), "ahoy");
    close(client);
    return who;
}

TEST(proxy_gives_connections_to_endpoints_in_turns)
{
    struct place p;
    place_open(&p);
    uint16_t ports[2];
    int servers[] = { raw_listen(&ports[0]), raw_listen(&ports[1]) };
    put_slice(&p, "POST", "one", ports[0], "{}");
    put_slice(&p, "POST", "two", ports[1], "{'ready': true}");
    ask(&p, servers, 2); /* perhaps before the second one was seen */
    size_t first = ask(&p, servers, 2);
    check(ask(&p, servers, 2) != first);
    check_int((int64_t)ask(&p, servers, 2), (int64_t)first);
    await(&p, proxy_stats(p.proxy).connections == 0);
    check_int((int64_t)proxy_stats(p.proxy).accepted, 4);
    check_int((int64_t)proxy_stats(p.proxy).failed, 0);
    close(servers[0]);
    close(servers[1]);
    place_close(&p);
}

TEST(proxy_keeps_a_client_at_its_endpoint_if_the_service_says_so)
{
    struct place p;
    place_open_with(&p, ", 'sessionAffinity': 'ClientIP'", 0);
    uint16_t ports[2];
    int servers[] = { raw_listen(&ports[0]), raw_listen(&ports[1]) };
    put_slice(&p, "POST", "one", ports[0], "{}");
    put_slice(&p, "POST", "two", ports[1], "{}");
    ask(&p, servers, 2);
    size_t first = ask(&p, servers, 2);
    for (int i = 0; i < 5; i++)
        check_int((int64_t)ask(&p, servers, 2), (int64_t)first);
    close(servers[0]);
    close(servers[1]);
    place_close(&p);
}

TEST(proxy_passes_over_an_endpoint_that_refuses)
{
    struct place p;
    place_open(&p);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "dead", free_port(), "{}");
    put_slice(&p, "POST", "live", port, "{}");
    for (int i = 0; i < 4; i++)
        ask(&p, &server, 1);
    /* And where all do, the client sees that it is not an empty answer. */
    close(server);
    int client = connect_now(&p);
    char byte;
    ssize_t got;
    await(&p, (got = recv(client, &byte, 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    check(got < 0 && errno == ECONNRESET);
    check_int((int64_t)proxy_stats(p.proxy).failed, 1);
    close(client);
    place_close(&p);
}

TEST(proxy_refuses_without_endpoints_and_lets_old_connections_go_on)
{
    struct place p;
    place_open(&p);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    int client = connect_now(&p), inner = raw_accept(p.loop, server);
    /* Ending, but still serving, and nobody else is there: better than nobody. */
    put_slice(&p, "PUT", "one", port, "{'ready': false, 'serving': true, 'terminating': true}");
    ask(&p, &server, 1);
    put_slice(&p, "PUT", "one", port, "{'ready': false}");
    await(&p, !proxy_stats(p.proxy).listening);
    check(try_connect(p.address, p.port) < 0);
    raw_send(client, STR("still here"));
    check_text(raw_read_until(p.loop, inner, "here"), "still here");
    raw_send(inner, STR("so am I"));
    check_text(raw_read_until(p.loop, client, "I"), "so am I");
    harbor_do(&p.harbor, "DELETE", SERVICES "/web", NULL);
    put_slice(&p, "PUT", "one", port, "{'ready': true}");
    raw_send(client, STR("and after the Service"));
    check_text(raw_read_until(p.loop, inner, "Service"), "and after the Service");
    check(try_connect(p.address, p.port) < 0);
    close(client);
    check(raw_closed(p.loop, inner));
    close(inner);
    close(server);
    place_close(&p);
}

TEST(proxy_passes_on_the_end_of_one_direction_and_a_break)
{
    struct place p;
    place_open(&p);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    int client = connect_now(&p);
    raw_send(client, STR("question"));
    shutdown(client, SHUT_WR);
    int inner = raw_accept(p.loop, server);
    check_text(raw_read_until(p.loop, inner, NULL), "question");
    raw_send(inner, STR("answer"));
    check_text(raw_read_until(p.loop, client, "answer"), "answer");
    close(inner);
    check_text(raw_read_until(p.loop, client, NULL), "");
    close(client);
    await(&p, proxy_stats(p.proxy).connections == 0);
    check_int((int64_t)proxy_stats(p.proxy).failed, 0);

    client = connect_now(&p);
    inner = raw_accept(p.loop, server);
    raw_send(inner, STR("half"));
    check_text(raw_read_until(p.loop, client, "half"), "half");
    setsockopt(inner, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
    close(inner);
    char byte;
    ssize_t got;
    await(&p, (got = recv(client, &byte, 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    check(got < 0 && errno == ECONNRESET);
    close(client);
    close(server);
    place_close(&p);
}

TEST(proxy_does_not_read_what_the_other_side_does_not_take)
{
    struct place p;
    place_open(&p);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    int client = connect_now(&p), inner = raw_accept(p.loop, server);
    static char bytes[65536];
    size_t sent = 0, received = 0;
    int full = 0;
    while (full < 50) { /* turns in a row in which nothing was taken */
        ssize_t count = send(inner, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
        full = count > 0 ? 0 : full + 1;
        sent += count > 0 ? (size_t)count : 0;
        check(sent < (size_t)64 << 20); /* what the kernel holds is some MiB */
        rig_turn(p.loop);
    }
    close(inner);
    ssize_t count = 1;
    while (count) {
        count = recv(client, bytes, sizeof(bytes), MSG_DONTWAIT);
        received += count > 0 ? (size_t)count : 0;
        check(count >= 0 || errno == EAGAIN);
        rig_turn(p.loop);
    }
    check_int((int64_t)received, (int64_t)sent);
    close(client);
    close(server);
    place_close(&p);
}

TEST(proxy_lets_connections_beyond_its_limit_wait)
{
    struct place p;
    place_open_with(&p, "", 1);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    int first = connect_now(&p), second = connect_now(&p);
    int inner = raw_accept(p.loop, server);
    raw_send(second, STR("me too"));
    rig_turn_for(p.loop, 50);
    check(accept4(server, NULL, NULL, SOCK_NONBLOCK) < 0);
    check_int((int64_t)proxy_stats(p.proxy).connections, 1);
    close(first);
    check(raw_closed(p.loop, inner));
    close(inner);
    inner = raw_accept(p.loop, server);
    check_text(raw_read_until(p.loop, inner, "too"), "me too");
    close(inner);
    close(second);
    close(server);
    place_close(&p);
}

TEST(a_busy_service_leaves_connections_for_another_one)
{
    struct place p;
    place_open_with(&p, "", 8);
    uint16_t port, other_port, other_listen = free_port();
    int server = raw_listen(&port), other_server = raw_listen(&other_port), fds[8];
    put_slice(&p, "POST", "one", port, "{}");
    struct json other = harbor_do(&p.harbor,
        "POST",
        SERVICES,
        arena_printf(test_arena(),
            "{'metadata': {'name': 'other'}, 'spec': {'ports': [{'port': %u}]}}",
            other_listen));
    harbor_do(&p.harbor,
        "POST",
        SLICES,
        arena_printf(test_arena(),
            "{'metadata': {'name': 'other', 'labels': {'kubernetes.io/service-name': 'other'}}, "
            "'addressType': 'IPv4', 'ports': [{'name': '', 'port': %u, 'protocol': 'TCP'}], "
            "'endpoints': [{'addresses': ['127.0.0.1']}]}",
            other_port));
    await(&p, proxy_stats(p.proxy).listening == 2);
    for (size_t i = 0; i < lengthof(fds); i++)
        fds[i] = connect_now(&p);
    rig_turn_for(p.loop, 50);
    check(proxy_stats(p.proxy).connections < 8);
    int client = try_connect(json_get_text(other, "spec.clusterIP"), other_listen);
    raw_send(client, STR("hello"));
    int inner = raw_accept(p.loop, other_server);
    check_text(raw_read_until(p.loop, inner, "hello"), "hello");
    close(inner);
    close(client);
    for (size_t i = 0; i < lengthof(fds); i++)
        close(fds[i]);
    close(server);
    close(other_server);
    place_close(&p);
}

/* The first event of this reason. */
static struct json event_of(struct place *p, const char *reason)
{
    struct json list =
        harbor_do(&p->harbor, "GET", "/apis/events.k8s.io/v1/namespaces/default/events", NULL);
    return json_find(json_get(list, "items"), "reason", reason);
}

/* A node port that nobody on this machine uses, taken by us. */
static int take_node_port(uint16_t *ret)
{
    struct error err;
    for (*ret = (uint16_t)(30000 + getpid() % 2000); *ret < 32767; *ret += 1) {
        int fd = listen_tcp("127.0.0.1", *ret, &err);
        if (fd >= 0)
            return fd;
    }
    test_fail(__FILE__, __LINE__, "no free node port");
}

#define PODS "/api/v1/namespaces/default/pods"

/* A pod at 127.0.0.1, which its node says that it runs. */
static void put_pod(struct place *p, const char *name, uint16_t port, uint16_t host_port)
{
    harbor_do(&p->harbor,
        "POST",
        PODS,
        arena_printf(test_arena(),
            "{'metadata': {'name': '%s'}, 'spec': {'nodeName': 'here', 'containers': [{'name': "
            "'main', 'image': 'x', 'ports': [{'containerPort': %u, 'hostPort': %u}, "
            "{'containerPort': 53, 'hostPort': 53, 'protocol': 'UDP'}]}]}}",
            name,
            port,
            host_port));
    harbor_do(&p->harbor,
        "PATCH",
        arena_printf(test_arena(), PODS "/%s/status", name),
        "{'status': {'phase': 'Running', 'podIP': '127.0.0.1', 'podIPs': [{'ip': '127.0.0.1'}]}}");
}

TEST(a_load_balancer_is_reached_from_outside_by_those_who_may)
{
    struct place p;
    place_open_with(&p, ", 'type': 'LoadBalancer'", 0);
    uint16_t port;
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    await(&p, proxy_stats(p.proxy).listening == 4); /* cluster, twice the node port, balancer */
    p.address = outside[0];
    ask(&p, &server, 1);
    harbor_do(&p.harbor,
        "PATCH",
        SERVICES "/web",
        "{'spec': {'loadBalancerSourceRanges': ['10.0.0.0/8', '192.0.2.0/24']}}");
    /* Whoever may not is told nothing; the change may take a moment to be seen. */
    bool cut = false;
    for (int tries = 0; !cut; tries++) {
        check(tries < 1000);
        int client = connect_now(&p), came = -1;
        await(&p,
            (cut = recv(client, &(char){ 0 }, 1, MSG_DONTWAIT) == 0) ||
                (came = accept4(server, NULL, NULL, SOCK_NONBLOCK)) >= 0);
        if (came >= 0)
            close(came);
        close(client);
    }
    harbor_do(&p.harbor,
        "PATCH",
        SERVICES "/web",
        "{'spec': {'type': 'ClusterIP', 'loadBalancerSourceRanges': null}}");
    await(&p, proxy_stats(p.proxy).listening == 1);
    check_int(try_connect(outside[0], p.port), -1);
    harbor_do(&p.harbor,
        "PATCH",
        SERVICES "/web",
        "{'spec': {'type': 'LoadBalancer', 'loadBalancerClass': 'theirs.example/x'}}");
    await(&p, proxy_stats(p.proxy).listening == 3);
    check_int(try_connect(outside[0], p.port), -1);
    close(server);
    place_close(&p);
}

TEST(proxy_leads_from_host_ports_to_pods)
{
    struct place p;
    place_open(&p);
    uint16_t port, host_port = free_port();
    int server = raw_listen(&port), came = -1;
    put_pod(&p, "direct", port, host_port);
    await(&p, proxy_stats(p.proxy).listening == 1);
    int client = try_connect("127.0.0.1", host_port);
    check(client >= 0);
    raw_send(client, STR("hello"));
    await(&p, (came = accept4(server, NULL, NULL, SOCK_NONBLOCK)) >= 0);
    check_text(raw_read_until(p.loop, came, "hello"), "hello");
    close(came);
    close(client);
    harbor_do(&p.harbor, "DELETE", PODS "/direct", "{'gracePeriodSeconds': 0}");
    await(&p, proxy_stats(p.proxy).listening == 0);
    put_pod(&p, "blocked", port, port); /* the server itself has that port */
    await(&p, json_present(event_of(&p, "CannotListen")));
    check_text(json_get_text(event_of(&p, "CannotListen"), "regarding.kind"), "Pod");
    check_text(json_get_text(event_of(&p, "CannotListen"), "regarding.name"), "blocked");
    close(server);
    place_close(&p);
}

TEST(proxy_says_what_it_cannot_listen_on_and_tries_again)
{
    struct place p;
    uint16_t node_port, port;
    int taken = take_node_port(&node_port);
    place_open(&p);
    harbor_do(&p.harbor,
        "PATCH",
        SERVICES "/web",
        arena_printf(test_arena(),
            "{'spec': {'type': 'NodePort', 'ports': [{'port': %u, 'nodePort': %u}]}}",
            p.port,
            node_port));
    harbor_do(&p.harbor,
        "POST",
        SERVICES,
        "{'metadata': {'name': 'dns'}, 'spec': {'ports': [{'port': 53, 'protocol': 'UDP'}]}}");
    int server = raw_listen(&port);
    put_slice(&p, "POST", "one", port, "{}");
    await(&p, json_present(event_of(&p, "CannotListen")));
    struct json event = event_of(&p, "CannotListen");
    check_text(json_get_text(event, "regarding.name"), "web");
    check(strstr(json_get_text(event, "note"),
        arena_printf(
            test_arena(), "listen on 127.0.0.1 port %u: Address already in use", node_port)));
    await(&p, json_present(event_of(&p, "NotForwarded")));
    check(strstr(json_get_text(event_of(&p, "NotForwarded"), "note"), "protocol UDP"));
    check_int((int64_t)proxy_stats(p.proxy).unbound, 1);
    ask(&p, &server, 1); /* the other address works */
    close(taken);
    await(&p, proxy_stats(p.proxy).listening == 2);
    check_int((int64_t)proxy_stats(p.proxy).unbound, 0);
    p.address = "127.0.0.1";
    p.port = node_port;
    ask(&p, &server, 1);
    close(server);
    place_close(&p);
}
