/* The workload of an MCP server on the built-in API server: what is applied, and what happens when
 * runners of different generations meet. */

#include "mcp/deploy.h"

#include <limits.h>
#include <stdlib.h>

#include "kube/client.h"
#include "kube/file.h"
#include "mcp/runconfig.h"
#include "mcp/workload.h"
#include "tests/node/harbor.h"

#define SETS "/apis/apps/v1/namespaces/default/statefulsets"
#define SERVICES "/api/v1/namespaces/default/services"

/* ---- a transport that holds requests back until they are let through ---- */

struct held {
    struct gate *gate;
    struct kube_request request;
    const struct kube_handlers *on;
    void *ctx;
    struct kube_call *inner; /* NULL: held */
};

struct gate {
    struct kube_transport face;
    const struct kube_transport *behind;
    struct held *waiting; /* the deployer asks one thing at a time */
    bool is_open;         /* nothing is held */
    bool busy;            /* let through and not answered */
};

static void held_head(void *ctx, const struct kube_head *head)
{
    struct held *h = ctx;
    h->on->head(h->ctx, head);
}

static void held_data(void *ctx, struct str bytes)
{
    struct held *h = ctx;
    h->on->data(h->ctx, bytes);
}

static void held_end(void *ctx, const struct error *err, bool sent)
{
    struct held *h = ctx;
    h->gate->busy = false;
    h->on->end(h->ctx, err, sent);
    free(h);
}

static void gate_let_through(struct gate *g)
{
    static const struct kube_handlers on = { held_head, held_data, held_end };
    struct held *h = take(g->waiting);
    g->busy = true;
    h->inner = kube_open(g->behind, &h->request, &on, h);
}

static struct kube_call *gate_open(
    void *self, const struct kube_request *request, const struct kube_handlers *on, void *ctx)
{
    struct gate *g = self;
    struct held *h = mem_new_of(struct held);
    struct arena *a = test_arena();
    *h = (struct held){ .gate = g, .request = *request, .on = on, .ctx = ctx };
    h->request.path = arena_strdup(a, request->path);
    h->request.method = arena_strdup(a, request->method);
    h->request.content_type = arena_strdup(a, request->content_type);
    h->request.accept = arena_strdup(a, request->accept);
    h->request.body = (struct str){ str_dup(a, request->body), request->body.len };
    g->waiting = h;
    if (g->is_open)
        gate_let_through(g);
    return (struct kube_call *)h;
}

static void gate_cancel(void *self, struct kube_call *call)
{
    struct gate *g = self;
    struct held *h = (struct held *)call;
    if (h->inner)
        kube_cancel(g->behind, h->inner);
    if (g->waiting == h)
        g->waiting = NULL;
    free(h);
}

/* ---- a runner ---- */

struct hand {
    struct gate gate;
    struct kube_client *client;
    struct runconfig config;
    struct workload workload;
    struct deploy *deploy;
    int ready;
};

static void on_ready(void *ctx)
{
    ((struct hand *)ctx)->ready++;
}

static void on_said(void *ctx, const struct error *err, const char *what)
{
    (void)ctx;
    if (err)
        test_fail(__FILE__, __LINE__, "%s: %s", what, err->text);
}

static void hand_open(struct hand *r, struct harbor *h, const char *config, const char *patch)
{
    static const struct deploy_handlers handlers = { on_ready, on_said };
    struct error err;
    const char *warning;
    const char *text = json_to_text(test_arena(), test_json(config));
    *r = (struct hand){ 0 };
    if (!runconfig_read(test_arena(), str_of(text), NULL, &r->config, &warning, &err) ||
        !workload_read_patch(test_arena(), patch, &r->workload.pod_patch, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    r->workload.config = &r->config;
    r->workload.ns = "default";
    r->workload.args = r->config.args;
    r->gate = (struct gate){
        .face = { gate_open, gate_cancel, &r->gate }, .behind = &h->transport, .is_open = true
    };
    r->client = kube_client_new(&r->gate.face, loop_env(h->loop));
    r->deploy = deploy_new(r->client, loop_env(h->loop), &r->workload, &handlers, r);
    deploy_start(r->deploy);
}

static void hand_close(struct hand *r)
{
    deploy_free(r->deploy);
    kube_client_free(r->client);
}

static bool is_settled(const struct hand *r)
{
    return !r->gate.busy && (r->gate.waiting || deploy_is_idle(r->deploy));
}

/* ---- as recorded ---- */

static struct json recorded(const char *name)
{
    struct str text;
    struct json v;
    struct error err;
    const char *path = arena_printf(test_arena(), "tests/golden/mcp/proxyrunner/%s.json", name);
    check(file_read(test_arena(), path, 1 << 20, &text, &err));
    check(json_parse(test_arena(), text, &v, &err));
    return v;
}

/* New workloads differ from upstream's in this, on purpose. */
static const char *with_message_policy(const char *text)
{
    static const char theirs[] = "\"terminationMessagePolicy\":\"File\"";
    const char *at = strstr(text, theirs);
    return !at ? text
               : arena_printf(test_arena(),
                     "%.*s\"terminationMessagePolicy\":\"FallbackToLogsOnError\"%s",
                     (int)(at - text),
                     text,
                     at + strlen(theirs));
}

static void check_recorded(struct harbor *h, struct json want, const char *path)
{
    struct json got = harbor_do(h, "GET", path, NULL);
    struct json spec = json_get(got, "spec");
    if (text_eq(json_get_text(want, "spec.clusterIP"), "<assigned>"))
        spec = json_overlay(test_arena(),
            spec,
            json_map(test_arena(),
                { "clusterIP", json_str("<assigned>") },
                { "clusterIPs", json_str("<assigned>") }));
    check_json(spec, with_message_policy(json_to_text(test_arena(), json_get(want, "spec"))));
    check_json(json_get(got, "metadata.labels"),
        json_to_text(test_arena(), json_get(want, "metadata.labels")));
    json_each (entry, json_get(got, "metadata.managedFields"))
        if (text_eq(json_get_text(*entry, "manager"), WORKLOAD_MANAGER))
            check_text(json_get_text(*entry, "operation"), "Apply");
}

TEST(mcp_the_workload_is_that_of_the_recordings)
{
    static const struct {
        const char *name, *config;
    } cases[] = {
        { "mcps-stdio-minimal",
            "{'transport': 'stdio', 'env_vars': {'MCP_TRANSPORT': 'stdio'}, 'container_labels': "
            "{'toolhive-transport': 'stdio', 'toolhive-basename': 'weather', 'toolhive-name': "
            "'weather', 'toolhive-port': '8080', 'toolhive': 'true'}" },
        { "mcps-args",
            "{'transport': 'stdio', 'env_vars': {'MCP_TRANSPORT': 'stdio'}, 'cmd_args': "
            "['--verbose', '--city=Oslo', '--', '<tag>&\\'q\\''], 'container_labels': "
            "{'toolhive-transport': 'stdio', 'toolhive-basename': 'weather', 'toolhive-name': "
            "'weather', 'toolhive-port': '8080'}" },
        { "mcps-backendreplicas-0",
            "{'transport': 'sse', 'target_port': 8080, 'scaling_config': {'backend_replicas': 0}, "
            "'env_vars': {'MCP_TRANSPORT': 'sse', 'MCP_PORT': '8080', 'FASTMCP_PORT': '8080'}, "
            "'container_labels': {'toolhive-transport': 'sse', 'toolhive-basename': 'weather', "
            "'toolhive-name': 'weather', 'toolhive-port': '8080'}" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        cleanup(harbor_close) struct harbor h;
        harbor_open(&h);
        struct hand r;
        hand_open(&r,
            &h,
            arena_printf(test_arena(),
                "%s, 'name': 'weather', 'image': 'img.test/acme/weather:2.1', "
                "'mcpserver_generation': 1}",
                cases[i].config),
            "{\"metadata\":{},\"spec\":{\"containers\":[],\"serviceAccountName\":\"weather-sa\"}}");
        await(&h, deploy_is_idle(r.deploy));
        json_each (want, json_get(recorded(cases[i].name), "applied")) {
            bool is_set = text_eq(json_get_text(*want, "kind"), "StatefulSet");
            check_recorded(&h,
                *want,
                arena_printf(test_arena(),
                    "%s/%s",
                    is_set ? SETS : SERVICES,
                    json_get_text(*want, "metadata.name")));
        }
        check_int(r.ready, 1);
        hand_close(&r);
    }
}

TEST(mcp_the_pod_patch_is_kept_where_it_says_something)
{
    struct runconfig c = { .name = "a", .image = "i", .transport = TRANSPORT_STDIO };
    struct workload w = { .config = &c, .ns = "n" };
    struct error err;
    check(workload_read_patch(test_arena(),
        "{\"metadata\":{\"annotations\":{\"p\":\"9090\"},\"labels\":{\"l\":\"1\"}},"
        "\"spec\":{\"securityContext\":{\"runAsUser\":5},\"containers\":[{\"name\":\"side\"},"
        "{\"name\":\"mcp\",\"env\":[{\"name\":\"A\",\"value\":\"1\"}]}]}}",
        &w.pod_patch,
        &err));
    struct json set = workload_stateful_set(test_arena(), &w, json_none);
    check_json(json_get(set, "spec.template.metadata"),
        "{'annotations': {'p': '9090'}, 'labels': {'app': 'a', 'l': '1', 'toolhive': 'true'}}");
    check_int(json_get_int(set, "spec.template.spec.securityContext.runAsUser", 0), 5);
    check_int(json_get_int(set, "spec.template.spec.securityContext.fsGroup", 0), 1000);
    check_text(json_get_text(set, "spec.template.spec.containers.0.name"), "side");
    check_json(json_get(set, "spec.template.spec.containers.1.env"), "[{'name':'A','value':'1'}]");
    check(!json_present(json_get(set, "spec.replicas")));
}

/* ---- generations ---- */

static const char *config_of(int generation, const char *name)
{
    return arena_printf(test_arena(),
        "{'transport': 'stdio', 'name': '%s', 'image': 'img:%d', 'mcpserver_generation': %d}",
        name,
        generation,
        generation);
}

/* With Services, whose port is the generation's. */
static const char *http_config_of(int generation, const char *name)
{
    return arena_printf(test_arena(),
        "{'transport': 'streamable-http', 'target_port': %d, 'name': '%s', 'image': 'img:%d', "
        "'mcpserver_generation': %d}",
        8000 + generation,
        name,
        generation,
        generation);
}

static const char *image_of(struct harbor *h, const char *name)
{
    struct json set = harbor_do(h, "GET", arena_printf(test_arena(), SETS "/%s", name), NULL);
    return json_get_text(set, "spec.template.spec.containers.0.image");
}

static int64_t port_of(struct harbor *h, const char *service)
{
    struct json v = harbor_do(h, "GET", arena_printf(test_arena(), SERVICES "/%s", service), NULL);
    struct json ports = json_get(v, "spec.ports");
    check_int(ports.count, 1);
    return json_get_int(ports, "0.targetPort", 0);
}

/* All orders in which the requests of two can be let through, one after the other: where both have
 * one, a choice. */
struct orders {
    uint8_t choices[64]; /* who is first; those before `fixed` are repeated */
    size_t fixed, count;
    unsigned switches_max; /* times that it goes from one to the other while both could go on */
};

static int choose(struct orders *o, const struct hand both[2], int last, unsigned *switches)
{
    if (!both[0].gate.waiting || !both[1].gate.waiting)
        return both[0].gate.waiting ? 0 : 1;
    if (*switches == o->switches_max && last >= 0)
        return last;
    check(o->count < lengthof(o->choices));
    if (o->count >= o->fixed)
        o->choices[o->count] = 0;
    int who = o->choices[o->count++];
    *switches += last >= 0 && who != last;
    return who;
}

/* False: there were all. */
static bool next_order(struct orders *o)
{
    while (o->count && o->choices[o->count - 1])
        o->count--;
    if (!o->count)
        return false;
    o->choices[o->count - 1] = 1;
    o->fixed = o->count;
    o->count = 0;
    return true;
}

typedef const char *config_function(int generation, const char *name);

static void meet(
    struct harbor *h, config_function *config, const char *name, struct orders *o, bool exists)
{
    struct hand both[2];
    int last = -1;
    unsigned switches = 0;
    if (exists) {
        struct hand first;
        hand_open(&first, h, config(1, name), NULL);
        await(h, deploy_is_idle(first.deploy));
        hand_close(&first);
    }
    for (int i = 0; i < 2; i++) {
        hand_open(&both[i], h, config(2 + i, name), NULL);
        both[i].gate.is_open = false;
    }
    for (;;) {
        await(h, is_settled(&both[0]) && is_settled(&both[1]));
        if (!both[0].gate.waiting && !both[1].gate.waiting)
            break;
        last = choose(o, both, last, &switches);
        gate_let_through(&both[last].gate);
    }
    check(deploy_is_idle(both[0].deploy) && deploy_is_idle(both[1].deploy));
    check_text(image_of(h, name), "img:3");
    if (config == http_config_of) {
        check_int(port_of(h, arena_printf(test_arena(), "mcp-%s", name)), 8003);
        check_int(port_of(h, arena_printf(test_arena(), "mcp-%s-headless", name)), 8003);
    }
    for (int i = 0; i < 2; i++)
        hand_close(&both[i]);
}

static int meet_in_all_orders(config_function *config, unsigned switches_max, bool exists)
{
    struct orders o = { .switches_max = switches_max };
    int count = 0;
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    do
        meet(&h, config, arena_printf(test_arena(), "set-%d", count++), &o, exists);
    while (next_order(&o));
    return count;
}

TEST(mcp_the_newer_generation_wins_in_every_order)
{
    check(meet_in_all_orders(config_of, UINT_MAX, false) > 20);
    check(meet_in_all_orders(config_of, UINT_MAX, true) > 5);
}

TEST(mcp_the_services_of_the_newer_generation_win_too)
{
    check(meet_in_all_orders(http_config_of, 3, false) > 200);
    check(meet_in_all_orders(http_config_of, 3, true) > 50);
}

TEST(mcp_a_newer_generation_is_left_alone_and_others_are_not)
{
    static const struct {
        int ours;
        const char *theirs;
        bool applied;
    } cases[] = {
        { 2, "3", false }, { 2, "2", true }, { 2, "1", true }, { 2, "x", true }, { 0, "3", true }
    };
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    for (size_t i = 0; i < lengthof(cases); i++) {
        const char *name = arena_printf(test_arena(), "set-%zu", i);
        harbor_do(&h,
            "POST",
            SETS,
            arena_printf(test_arena(),
                "{'metadata': {'name': '%s'}, 'spec': {'replicas': 3, 'serviceName': 'x', "
                "'selector': {'matchLabels': {'app': '%s'}}, 'template': {'metadata': {'labels': "
                "{'app': '%s'}, 'annotations': {'" WORKLOAD_GENERATION "': '%s', "
                "'kubectl.kubernetes.io/restartedAt': 'then'}}, 'spec': {'containers': [{'name': "
                "'mcp', 'image': 'theirs'}]}}}}",
                name,
                name,
                name,
                cases[i].theirs));
        struct hand r;
        hand_open(&r, &h, config_of(cases[i].ours, name), NULL);
        r.config.name = name;
        if (cases[i].applied) {
            /* serviceName cannot change: what is there is taken as it is for this test. */
            struct json set =
                harbor_do(&h, "GET", arena_printf(test_arena(), SETS "/%s", name), NULL);
            check(!workload_is_older(&r.workload, set));
            struct json ours = workload_stateful_set(test_arena(), &r.workload, set);
            check_text(json_text(json_member(json_get(ours, "spec.template.metadata.annotations"),
                           "kubectl.kubernetes.io/restartedAt")),
                "then");
        } else {
            await(&h, deploy_is_idle(r.deploy));
            check_text(image_of(&h, name), "theirs");
            check_int(r.ready, 1);
        }
        hand_close(&r);
    }
}

static void await_there(struct harbor *h, const char *path)
{
    int status = 0;
    for (int64_t until = env_mono_ms(loop_env(h->loop)) + AWAIT_MAX_MS; status != 200;) {
        check(env_mono_ms(loop_env(h->loop)) < until);
        harbor_ask(h, "GET", path, NULL, &status);
    }
}

TEST(mcp_a_lost_workload_is_applied_again_and_replicas_are_left_to_others)
{
    cleanup(harbor_close) struct harbor h;
    harbor_open(&h);
    struct hand r, other;
    hand_open(&r, &h, config_of(1, "lost"), NULL);
    hand_open(&other, &h, http_config_of(1, "s"), NULL);
    await(&h, deploy_is_idle(r.deploy) && deploy_is_idle(other.deploy));
    harbor_do(&h, "PATCH", SETS "/lost", "{'spec': {'replicas': 3}}");
    hand_close(&r);
    hand_open(&r, &h, config_of(2, "lost"), NULL);
    await(&h, deploy_is_idle(r.deploy));
    check_int(json_get_int(harbor_do(&h, "GET", SETS "/lost", NULL), "spec.replicas", 0), 3);
    harbor_do(&h, "DELETE", SETS "/lost", NULL);
    harbor_do(&h, "DELETE", SERVICES "/mcp-s", NULL);
    await_there(&h, SETS "/lost");
    await_there(&h, SERVICES "/mcp-s");
    check_text(image_of(&h, "lost"), "img:2");
    check_int(port_of(&h, "mcp-s"), 8001);
    check_int(r.ready, 1);
    hand_close(&r);
    hand_close(&other);
}
