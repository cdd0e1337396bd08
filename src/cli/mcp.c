/* leeboard mcp run: the proxy of one MCP server, which replaces ToolHive's thv-proxyrunner. It
 * reads the RunConfig, keeps the server's workload applied, and serves MCP clients until it gets a
 * signal. */

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cli/mcp/look.h"
#include "cli/up/folder.h"
#include "http/client.h"
#include "http/loop.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/file.h"
#include "kube/http_transport.h"
#include "mcp/backend.h"
#include "mcp/backend_http.h"
#include "mcp/deploy.h"
#include "mcp/hub.h"
#include "mcp/proxy.h"
#include "mcp/runconfig.h"
#include "mcp/sse_relay.h"
#include "mcp/wire.h"
#include "mcp/workload.h"

#define GRACE_MS 5000

struct runner {
    struct cli *cli;
    struct arena *arena;
    struct runconfig config;
    struct loop *loop;
    struct http_client *http;
    struct mcp_proxy *proxy;
    struct loop_signal *signals[3];
    bool ending;
    /* a workload of ours */
    struct kube_config kube;
    struct http_transport *transport;
    struct kube_client *client;
    struct workload workload;
    struct deploy *deploy;
};

static const char *variable(void *ctx, const char *name)
{
    (void)ctx;
    return getenv(name);
}

static void warn(void *ctx, const char *text)
{
    (void)ctx;
    log_warn("%s", text);
}

static void print_line(void *ctx, struct str line)
{
    (void)ctx;
    fwrite(line.ptr, 1, line.len, stdout);
    fputc('\n', stdout);
    fflush(stdout);
}

/* ---- configuration ---- */

/* On one machine, each pod has its own address, and may not support mounts: the node sets the
 * address. */
static void use_node_address(struct runner *r)
{
    struct runconfig *c = &r->config;
    const char *host = getenv("LEEBOARD_LISTEN_HOST");
    bool is_all = text_empty(c->host) || text_eq(c->host, "0.0.0.0") || text_eq(c->host, "::");
    if (is_all && !text_empty(host))
        c->host = host;
}

static bool load(struct runner *r, struct error *err)
{
    const char *warning = NULL, *told = getenv("LEEBOARD_RUNCONFIG");
    const char *const places[] = {
        text_empty(told) ? "/etc/runconfig/runconfig.json" : told,
        "/etc/toolhive/runconfig.json",
        "./runconfig.json",
    };
    for (size_t i = 0; i < lengthof(places); i++) {
        struct str text;
        if (!file_read(r->arena, places[i], RUNCONFIG_BYTES_MAX, &text, err)) {
            if (err->code == ERR_NOT_FOUND)
                continue;
            return false;
        }
        if (!runconfig_read(
                r->arena, text, getenv("THV_MCPSERVER_GENERATION"), &r->config, &warning, err))
            return fail_in(err, "%s", places[i]);
        if (warning)
            log_warn("%s", warning);
        use_node_address(r);
        return true;
    }
    return fail(err,
        ERR_NOT_FOUND,
        "there is no RunConfig: none of %s, %s and %s exists. The operator mounts one; to run by "
        "hand, write ./runconfig.json.",
        places[0],
        places[1],
        places[2]);
}

/* ---- life ---- */

static void on_drained(void *ctx)
{
    struct runner *r = ctx;
    loop_stop(r->loop);
}

static void on_signal(void *ctx, int number)
{
    struct runner *r = ctx;
    if (r->ending) {
        loop_stop(r->loop);
        return;
    }
    r->ending = true;
    log_info("got %s; finishing what is in flight", strsignal(number));
    mcp_proxy_drain(r->proxy, GRACE_MS, on_drained, r);
}

static bool make_backend(struct runner *r, const char *url, struct error *err)
{
    const struct runconfig *c = &r->config;
    const struct sse_relay_options sse = {
        .env = loop_env(r->loop),
        .endpoint_prefix = c->endpoint_prefix,
        .trust_proxy_headers = c->trust_proxy_headers,
    };
    struct mcp_backend *b = backend_http_new(
        &(struct backend_http_options){
            .http = r->http,
            .url = url,
            .one_path = c->remote_url && c->transport == TRANSPORT_STREAMABLE_HTTP,
            .sessions = mcp_proxy_sessions(r->proxy),
            .sse = c->transport == TRANSPORT_SSE ? &sse : NULL,
            .env = c->transport == TRANSPORT_STREAMABLE_HTTP && !c->stateless ? loop_env(r->loop)
                                                                              : NULL,
        },
        err);
    if (!b)
        return false;
    mcp_proxy_set_backend(r->proxy, b);
    return true;
}

/* ---- a server on standard streams ---- */

static void on_hub_said(void *ctx, const char *what)
{
    (void)ctx;
    log_warn("%s", what);
}

static void make_hub(struct runner *r, struct mcp_wire *wire)
{
    mcp_proxy_set_backend(r->proxy,
        hub_new(&(struct hub_options){
            .env = loop_env(r->loop),
            .sessions = mcp_proxy_sessions(r->proxy),
            .wire = wire,
            .serves_sse = r->config.serves_sse,
            .endpoint_prefix = r->config.endpoint_prefix,
            .said = on_hub_said,
        }));
}

/* ---- the workload ---- */

static void on_deployed(void *ctx)
{
    struct runner *r = ctx;
    log_info("the workload %s is applied", r->config.name);
}

static void on_deploy_said(void *ctx, const struct error *err, const char *what)
{
    (void)ctx;
    if (err)
        log_warn("%s: %s", what, err->text);
    else
        log_debug("%s", what);
}

static bool load_kube(struct runner *r, struct error *err)
{
    struct kube_config_options options = {
        .kubeconfig = cli_text(r->cli, "kubeconfig"),
        .context = cli_text(r->cli, "context"),
        .ns = cli_text(r->cli, "namespace"),
    };
    kube_config_from_environment(&options);
    if (!kube_config_load(r->arena, &options, &r->kube, err))
        return false;
    const char *ns = getenv("POD_NAMESPACE");
    bool from_variable = !r->kube.in_cluster && !options.ns && !text_empty(ns);
    r->workload.ns = from_variable ? ns : r->kube.ns;
    return true;
}

static struct json container_args(struct runner *r)
{
    struct json_builder all;
    if (r->cli->argument_count < 3)
        return r->config.args;
    json_builder_init(&all, r->arena);
    for (size_t i = 2; i < r->cli->argument_count; i++)
        json_push(&all, json_str(r->cli->arguments[i]));
    return json_list_end(&all);
}

static bool deploy(struct runner *r, struct error *err)
{
    static const struct deploy_handlers handlers = { on_deployed, on_deploy_said };
    struct workload *w = &r->workload;
    if (!load_kube(r, err) ||
        !workload_read_patch(r->arena, cli_text(r->cli, "k8s-pod-patch"), &w->pod_patch, err))
        return false;
    w->config = &r->config;
    w->args = container_args(r);
    w->is_openshift = text_eq(getenv("OPERATOR_OPENSHIFT"), "true");
    r->transport =
        http_transport_new(r->loop, &(struct http_transport_options){ .config = &r->kube }, err);
    if (!r->transport)
        return false;
    r->client = kube_client_new(http_transport_kube(r->transport), loop_env(r->loop));
    r->deploy = deploy_new(r->client, loop_env(r->loop), w, &handlers, r);
    deploy_start(r->deploy);
    if (r->config.transport != TRANSPORT_STDIO)
        return make_backend(r, workload_url(r->arena, &r->config), err);
    make_hub(r,
        wire_attach_new(&(struct wire_attach_options){
            .loop = r->loop,
            .client = r->client,
            .config = &r->kube,
            .ns = r->workload.ns,
            .name = r->config.name,
            .said = on_hub_said,
        }));
    return true;
}

/* ---- a server on standard streams, as a child ---- */

/* The variables that the workload's container would get. */
static const char *const *child_variables(struct runner *r)
{
    struct json vars = r->config.env_vars;
    size_t count = json_is(vars, JSON_MAP) ? vars.count : 0, i = 0;
    const char **list = arena_array(r->arena, count + 1, sizeof(*list));
    json_each_member (m, vars) {
        const char *value = json_text(m->value);
        list[i++] = arena_printf(r->arena, "%s=%s", m->key, value ? value : "");
    }
    return list;
}

static bool run_locally(struct runner *r, struct error *err)
{
    if (r->config.transport != TRANSPORT_STDIO || r->config.remote_url)
        return fail(err,
            ERR_UNSUPPORTED,
            "--local: the RunConfig's transport is %s. Only a stdio server can run as a child.",
            runconfig_transport_name(r->config.transport));
    struct json args = container_args(r);
    size_t count = json_is(args, JSON_LIST) ? args.count : 0, i = 0;
    const char **argv = arena_array(r->arena, count + 2, sizeof(*argv));
    argv[i++] = r->config.image;
    json_each (arg, args)
        argv[i++] = json_text(*arg) ? json_text(*arg) : "";
    make_hub(r,
        wire_child_new(&(struct wire_child_options){
            .loop = r->loop,
            .argv = argv,
            .variables = child_variables(r),
        }));
    return true;
}

static bool find_server(struct runner *r, struct error *err)
{
    if (cli_on(r->cli, "local"))
        return run_locally(r, err);
    if (r->config.remote_url)
        return make_backend(r, r->config.remote_url, err);
    return deploy(r, err);
}

static bool start(struct runner *r, struct error *err)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGQUIT };
    r->loop = loop_new();
    loop_set_hosts(r->loop, getenv("LEEBOARD_HOSTS"));
    r->http = http_client_new(r->loop, &(struct http_client_options){ .connections_max = 10000 });
    r->proxy = mcp_proxy_new(
        &(struct mcp_proxy_options){
            .loop = r->loop,
            .arena = r->arena,
            .config = &r->config,
            .http = r->http,
            .variable = variable,
            .variables = (const char *const *)environ,
            .print_line = print_line,
            .warn = warn,
            .ctx = r,
        },
        err);
    if (!r->proxy || !find_server(r, err) || !mcp_proxy_listen(r->proxy, err))
        return false;
    for (size_t i = 0; i < lengthof(numbers); i++)
        r->signals[i] = loop_signal_new(r->loop, numbers[i], on_signal, r);
    return true;
}

static void stop(struct runner *r)
{
    for (size_t i = 0; i < lengthof(r->signals); i++)
        if (r->signals[i])
            loop_signal_free(r->signals[i]);
    mcp_proxy_free(r->proxy);
    deploy_free(r->deploy);
    if (r->client)
        kube_client_free(r->client);
    if (r->transport)
        http_transport_free(r->transport);
    if (r->http)
        http_client_free(r->http);
    if (r->loop)
        loop_free(r->loop);
}

/* ToolHive's variables set the defaults of the log flags. */
static bool setup_log(const struct cli *cli, struct error *err)
{
    if (!cli_setup_log(cli, err))
        return false;
    const char *plain = getenv("UNSTRUCTURED_LOGS"), *debug = getenv("TOOLHIVE_DEBUG");
    bool is_debug = cli_on(cli, "debug") || text_eq(debug, "true") || text_eq(debug, "1");
    if (text_eq(plain, "false") || is_debug)
        log_setup(text_eq(plain, "false") ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT,
            is_debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
    return true;
}

static int run(struct cli *cli)
{
    struct runner r = { .cli = cli, .arena = &cli->arena };
    struct error err;
    int code = CLI_OK;
    if (mcp_look_is(cli))
        return mcp_look(cli);
    mallopt(M_ARENA_MAX, 1);
    setenv("UV_THREADPOOL_SIZE", "2", 0);
    if (cli->argument_count < 2 || !text_eq(cli->arguments[0], "run"))
        return cli_usage(cli,
            "write leeboard mcp run IMAGE [-- ARGS]; or mcp list, mcp tools NAME, "
            "mcp call NAME TOOL [JSON]");
    if (!setup_log(cli, &err))
        return cli_usage(cli, "%s", err.text);
    bool ok = load(&r, &err);
    if (ok) {
        r.config.image = cli->arguments[1];
        ok = start(&r, &err);
    }
    if (ok) {
        log_info("serving %s on %s:%u",
            r.config.remote_url ? r.config.remote_url : r.config.name,
            r.config.host,
            mcp_proxy_port(r.proxy));
        loop_run(r.loop);
        log_info("ended");
    } else {
        code = cli_fail(cli, &err);
    }
    stop(&r);
    return code;
}

static const struct cli_flag flags[] = {
    { "k8s-pod-patch", 0, "JSON", NULL, "PodTemplateSpec that the workload's pods begin with." },
    { "local", 0, NULL, "false", "Run IMAGE as a child of this process, a program on stdio." },
    { "debug", 0, NULL, "false", "As --log-level=debug." },
    { 0 },
};

const struct cli_command cli_mcp = {
    .name = "mcp",
    .summary = "Look at MCP servers and call their tools; run the proxy of one of them.",
    .arguments = "list | tools NAME | call NAME TOOL [JSON] | run IMAGE [-- ARGS]",
    .text =
        "list shows the MCP servers of this machine (or of the server that --kubeconfig names),\n"
        "tools those of one with their arguments, and call prints what a tool answers: exit code\n"
        "1 if the tool says that it failed.\n"
        "\n"
        "run is the proxy in front of one server, in place of ToolHive's thv-proxyrunner. It "
        "reads\n"
        "the RunConfig from /etc/runconfig/runconfig.json, /etc/toolhive/runconfig.json or\n"
        "./runconfig.json, whichever comes first, and serves MCP clients on its host and port.\n"
        "IMAGE takes the place of the RunConfig's image. THV_MCPSERVER_GENERATION takes the\n"
        "place of its mcpserver_generation.\n",
    .flags =
        (const struct cli_flag *const[]){
            mcp_look_flags, flags, cli_flags_kube, up_folder_flags, cli_flags_log, NULL },
    .run = run,
};
