/* leeboard operator: runs the engine against a cluster. Connects the parts, and shuts them down in
 * order:
 *
 *   signal ──> take no more keys ──> the last answer ──> release the lease ──> exit */

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/metric_process.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/families.h"
#include "cli/engines.h"
#include "cli/serve/engine_service.h"
#include "cli/serve/federation.h"
#include "cli/serve/serve.h"
#include "cli/serve/storage_versions.h"
#include "cli/serve/webhook_service.h"
#include "engine/engine.h"
#include "http/loop.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/events.h"
#include "kube/http_transport.h"
#include "kube/lease.h"
#include "kube/rivals.h"

/* Limit from the signal to the exit, even if something hangs. */
#define OPERATOR_EXIT_MS 4500
/* Uses a third less CPU under load, with no visible delay compared to an API server's latency. Not
 * used during startup with its many short answers, only once ready. */
#define OPERATOR_GATHER_MS 20
#define OPERATOR_SETTLE_MS 100
/* Returns the memory of lists and bursts to the system. */
#define OPERATOR_TRIM_MS 15000
#define OPERATOR_DISCOVERY_BYTES_MAX ((size_t)1 << 20)
#define OPERATOR_STORED_MAX 32

struct app {
    struct cli *cli;
    struct families families;
    struct kube_config config;
    struct loop *loop;
    struct http_transport *transport;
    struct engines *engines;
    struct lease *lease;
    struct rivals *rivals[ENGINES_MAX]; /* one per namespace, or one for all */
    size_t clear_count;                 /* number of those that found no rival */
    struct storage_versions *storage_versions;
    const struct resource *stored[OPERATOR_STORED_MAX]; /* their CRDs are migrated */
    struct serve *serve;
    struct webhook_service *webhooks; /* NULL: none */
    struct federation *federation;    /* NULL: not an edge */
    struct loop_signal *signals[2];
    struct timer deadline, trim, settle;
    bool ending;
    const char *ns; /* comma-separated; NULL: all */
    bool clear;     /* no other operator works on our objects */
    int code;
};

/* ---- shutdown ---- */

static void stop(void *ctx)
{
    struct app *app = ctx;
    loop_stop(app->loop);
}

static void on_deadline(void *ctx)
{
    log_warn("something is still in flight after %d ms; ending all the same", OPERATOR_EXIT_MS);
    stop(ctx);
}

static void on_released(void *ctx)
{
    stop(ctx);
}

static void drained(void *ctx)
{
    struct app *app = ctx;
    if (app->lease)
        lease_release(app->lease);
    else
        loop_stop(app->loop);
}

static void on_signal(void *ctx, int number)
{
    struct app *app = ctx;
    if (app->ending) {
        loop_stop(app->loop);
        return;
    }
    app->ending = true;
    log_info("got %s; finishing what is in flight", strsignal(number));
    timer_set(loop_env(app->loop), &app->deadline, OPERATOR_EXIT_MS);
    engines_drain(app->engines, drained, app);
}

/* ---- leadership ---- */

static void on_gained(void *ctx)
{
    struct app *app = ctx;
    log_info("leading");
    engines_lead(app->engines);
}

static void on_lost(void *ctx, const struct error *why)
{
    struct app *app = ctx;
    log_error("lost the lease, ending at once: %s", why->text);
    app->code = CLI_FAILED;
    loop_stop(app->loop);
}

static void on_holder(void *ctx, const char *holder)
{
    struct app *app = ctx;
    if (!*holder)
        return;
    log_info("standing by for %s", holder);
    engines_start(app->engines);
}

static void on_trouble(void *ctx, const struct error *err)
{
    struct app *app = ctx;
    log_warn("lease: %s", err->text);
    engines_start(app->engines);
}

/* ---- upstream's operators ---- */

static void on_no_rival(void *ctx)
{
    struct app *app = ctx;
    if (app->ending || ++app->clear_count < engines_count(app->engines))
        return;
    app->clear = true;
    if (app->lease)
        lease_start(app->lease);
    else
        engines_lead(app->engines);
}

static void on_rival(void *ctx, const char *who)
{
    struct app *app = ctx;
    log_warn("another operator works on these objects: Lease %s is being renewed. Standing by "
             "until it ends: scale that operator's Deployment to 0",
        who);
    engines_start(app->engines);
}

static void on_rival_appeared(void *ctx, const char *who)
{
    struct app *app = ctx;
    log_error("another operator has begun to work on these objects: Lease %s is being renewed. "
              "Ending at once; scale one of the two to 0",
        who);
    app->code = CLI_FAILED;
    loop_stop(app->loop);
}

static void on_rival_trouble(void *ctx, const struct error *err)
{
    struct app *app = ctx;
    log_warn("cannot look for other operators' Leases: %s", err->text);
    engines_start(app->engines);
}

static bool may_write(void *ctx)
{
    struct app *app = ctx;
    if (!app->clear)
        return false;
    return !app->lease || lease_may_write(app->lease);
}

/* Checked when a write is sent: it may have waited for a slot, a token or a stopped process. */
static int64_t send_within_ms(void *ctx, const struct kube_request *request)
{
    struct app *app = ctx;
    /* Groups without this check: the Lease is needed to become the leader, and events and reviews
     * change no objects. */
    static const char *const free_groups[] = {
        "/apis/coordination.k8s.io/",
        "/apis/events.k8s.io/",
        "/apis/authentication.k8s.io/",
        "/apis/authorization.k8s.io/",
    };
    bool free = !app->lease || text_eq(request->method, "GET");
    for (size_t i = 0; i < lengthof(free_groups); i++)
        free = free || text_starts(request->path, free_groups[i]);
    return free ? INT64_MAX : lease_left_ms(app->lease);
}

/* ---- ToolHive's cluster settings ---- */

static bool has_family(const struct app *app, const char *name)
{
    for (size_t i = 0; i < app->families.count; i++)
        if (text_eq(app->families.list[i].name, name))
            return true;
    return false;
}

/* --namespace, --watch-namespace, or ToolHive's variable. */
static void find_namespaces(struct app *app)
{
    const char *flag = cli_text(app->cli, "watch-namespace"), *variable = getenv("WATCH_NAMESPACE");
    app->ns = cli_text(app->cli, "namespace");
    if (!app->ns)
        app->ns = !text_empty(flag) ? flag : !text_empty(variable) ? variable : NULL;
}

static void start_rivals(struct app *app)
{
    for (size_t i = 0; i < engines_count(app->engines); i++)
        rivals_start(app->rivals[i]);
}

static void on_platform(void *ctx, const struct kube_reply *reply)
{
    struct app *app = ctx;
    app->families.toolhive.openshift = reply->error.code == ERR_NONE;
    if (reply->error.code == ERR_NONE)
        log_info("this is OpenShift: MCP pods get no numeric user and group ids");
    else if (reply->error.code != ERR_NOT_FOUND)
        log_warn("cannot see whether this is OpenShift: %s", reply->error.text);
    if (!app->ending)
        start_rivals(app);
}

/* OpenShift assigns user ids per namespace and refuses pods with others. Nothing starts before this
 * is known. */
static void find_platform(struct app *app)
{
    bool given = cli_given(app->cli, "operator-openshift") || getenv("OPERATOR_OPENSHIFT");
    if (given || !has_family(app, "toolhive"))
        start_rivals(app);
    else
        kube_raw(engines_client(app->engines),
            "/apis/route.openshift.io/v1",
            OPERATOR_DISCOVERY_BYTES_MAX,
            (struct kube_then){ on_platform, app });
}

/* CRDs are cluster-scoped. */
static void look_after_storage_versions(struct app *app)
{
    size_t count = 0;
    if (app->ns || !app->families.toolhive.migrate || !has_family(app, "toolhive"))
        return;
    for (size_t i = 0; toolhive_kinds[i]; i++) {
        assert(count + 1 < lengthof(app->stored));
        app->stored[count++] = toolhive_kinds[i]->resource;
    }
    app->storage_versions = storage_versions_new(&(struct storage_versions_options){
        .client = engines_client(app->engines),
        .env = loop_env(app->loop),
        .resources = app->stored,
        .label = TOOLHIVE_GROUP "/auto-migrate-storage-version",
        .manager = "leeboard",
        .may_write = may_write,
        .ctx = app,
    });
}

/* ---- construction ---- */

static bool load_config(struct app *app, struct error *err)
{
    struct kube_config_options options = {
        .kubeconfig = cli_text(app->cli, "kubeconfig"),
        .context = cli_text(app->cli, "context"),
    };
    kube_config_from_environment(&options);
    return kube_config_load(&app->cli->arena, &options, &app->config, err);
}

static bool make_transport(struct app *app, struct error *err)
{
    app->loop = loop_new();
    app->transport = http_transport_new(app->loop,
        &(struct http_transport_options){
            .config = &app->config,
            .send_within_ms = send_within_ms,
            .ctx = app,
        },
        err);
    return app->transport != NULL;
}

/* The object of events about ourselves: our pod. */
static struct json self(struct app *app)
{
    const char *pod = getenv("POD_NAME");
    if (text_empty(pod))
        return json_none;
    const char *ns = getenv("POD_NAMESPACE");
    return json_fields(&app->cli->arena,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Pod") },
        { "metadata.name", json_str(pod) },
        { "metadata.namespace", json_str(text_empty(ns) ? app->config.ns : ns) });
}

static bool make_engines(struct app *app, struct error *err)
{
    app->engines = engines_new(
        &(struct engine_service_options){
            .loop = app->loop,
            .transport = http_transport_kube(app->transport),
            .families = &app->families,
            .instance = engine_service_instance(&app->cli->arena),
            .self = self(app),
            .may_write = may_write,
            .ctx = app,
        },
        app->ns,
        err);
    return app->engines != NULL;
}

static const char *lease_namespace(struct app *app)
{
    const char *ns = cli_text(app->cli, "leader-election-namespace");
    if (text_empty(ns))
        ns = getenv("POD_NAMESPACE");
    return text_empty(ns) ? app->config.ns : ns;
}

static void make_lease(struct app *app)
{
    static const struct lease_handlers handlers = {
        .gained = on_gained,
        .lost = on_lost,
        .holder = on_holder,
        .trouble = on_trouble,
        .released = on_released,
    };
    const struct env *env = loop_env(app->loop);
    struct arena *a = &app->cli->arena;
    app->lease = lease_new(engines_client(app->engines),
        env,
        &(struct lease_options){
            .ns = lease_namespace(app),
            .name = cli_text(app->cli, "leader-election-id"),
            .identity = arena_printf(a,
                "%s_%016llx",
                engine_service_instance(a),
                (unsigned long long)env->random(env->ctx)),
        },
        &handlers,
        app);
}

/* The Leases of the operators that the families replace. */
static const struct {
    const char *family, *lease;
} upstream_leases[] = {
    { "llmkube", LEASE_NAME_DEFAULT },
    { "otterscale", "model-operator-leader-election" },
    { "toolhive", "toolhive-operator-leader-election" },
};

static void make_rivals(struct app *app)
{
    static const struct rivals_handlers handlers = {
        .clear = on_no_rival,
        .waiting = on_rival,
        .appeared = on_rival_appeared,
        .trouble = on_rival_trouble,
    };
    struct rivals_options options = {
        .own_namespace = app->lease ? lease_namespace(app) : NULL,
        .own_name = cli_text(app->cli, "leader-election-id"),
    };
    size_t count = 0;
    for (size_t i = 0; i < lengthof(upstream_leases); i++)
        for (size_t k = 0; k < app->families.count; k++)
            if (text_eq(app->families.list[k].name, upstream_leases[i].family))
                options.names[count++] = upstream_leases[i].lease;
    for (size_t i = 0; i < engines_count(app->engines); i++) {
        options.ns = engines_namespace(app->engines, i);
        app->rivals[i] =
            rivals_new(engines_client(app->engines), loop_env(app->loop), &options, &handlers, app);
    }
}

static void more_metrics(void *ctx, struct buf *to)
{
    struct app *app = ctx;
    struct http_transport_stats t = http_transport_stats(app->transport);
    buf_printf(to,
        "# HELP leader_election_master_status Whether this process leads.\n"
        "# TYPE leader_election_master_status gauge\n"
        "leader_election_master_status{name=\"%s\"} %d\n"
        "# HELP leeboard_api_connections Connections to the API server.\n"
        "# TYPE leeboard_api_connections gauge\n"
        "leeboard_api_connections %zu\n"
        "# HELP leeboard_events_pending Events that wait to be written.\n"
        "# TYPE leeboard_events_pending gauge\n"
        "leeboard_events_pending %zu\n",
        cli_text(app->cli, "leader-election-id"),
        may_write(app),
        t.connections,
        engines_events_pending(app->engines));
    webhook_service_metrics_print(app->webhooks, to);
    metric_process_print(to);
    buf_add_text(to,
        "# HELP leeboard_build_info The version that runs.\n"
        "# TYPE leeboard_build_info gauge\n"
        "leeboard_build_info{version=\"" LEEBOARD_VERSION "\"} 1\n");
    buf_add_text(to,
        "# HELP rest_client_requests_total Requests to the API server by status and method.\n"
        "# TYPE rest_client_requests_total counter\n");
    const struct http_transport_count *c = http_transport_counts(app->transport);
    for (; c->method; c++)
        buf_printf(to,
            "rest_client_requests_total{code=\"%d\",method=\"%s\"} %llu\n",
            c->status,
            c->method,
            (unsigned long long)c->count);
}

static const char *certificate_path(struct app *app, const char *flag)
{
    const char *directory = cli_text(app->cli, "metrics-cert-path");
    if (text_empty(directory))
        return NULL;
    return arena_printf(&app->cli->arena, "%s/%s", directory, cli_text(app->cli, flag));
}

static void trim(void *ctx)
{
    struct app *app = ctx;
    malloc_trim(0);
    timer_set(loop_env(app->loop), &app->trim, OPERATOR_TRIM_MS);
}

static void settle(void *ctx)
{
    struct app *app = ctx;
    struct error why;
    if (engines_ready(app->engines, &why))
        loop_gather(app->loop, OPERATOR_GATHER_MS);
    else
        timer_set(loop_env(app->loop), &app->settle, OPERATOR_SETTLE_MS);
}

static bool start_webhooks(struct app *app, struct error *err)
{
    return webhook_service_new(
        &(struct webhook_service_options){
            .cli = app->cli,
            .loop = app->loop,
            .engines = app->engines,
            .client = engines_client(app->engines),
            .ns = lease_namespace(app),
            .may_write = may_write,
            .ctx = app,
        },
        &app->webhooks,
        err);
}

static bool start_federation(struct app *app, struct error *err)
{
    if (app->families.llmkube.federation_is_edge && engines_count(app->engines) > 1)
        return fail(err,
            ERR_INVALID,
            "--federation-role=edge reports one namespace, or all, not several: change "
            "--namespace");
    return federation_new(
        &(struct federation_options){
            .arena = &app->cli->arena,
            .loop = app->loop,
            .engine = engines_of(app->engines, NULL),
            .settings = &app->families.llmkube,
            .may_write = may_write,
            .ctx = app,
        },
        &app->federation,
        err);
}

static bool start(struct app *app, struct error *err)
{
    const struct env *env = loop_env(app->loop);
    app->serve = serve_new(
        &(struct serve_options){
            .loop = app->loop,
            .engines = app->engines,
            .health_address = cli_text(app->cli, "health-probe-bind-address"),
            .metrics_address = cli_text(app->cli, "metrics-bind-address"),
            .secure = cli_on(app->cli, "metrics-secure"),
            .client = engines_client(app->engines),
            .certificate_file = certificate_path(app, "metrics-cert-name"),
            .key_file = certificate_path(app, "metrics-cert-key"),
            .more_metrics = more_metrics,
            .ctx = app,
        },
        err);
    if (!app->serve)
        return false;
    app->signals[0] = loop_signal_new(app->loop, SIGTERM, on_signal, app);
    app->signals[1] = loop_signal_new(app->loop, SIGINT, on_signal, app);
    timer_init(&app->deadline, on_deadline, app);
    timer_init(&app->trim, trim, app);
    timer_set(env, &app->trim, OPERATOR_TRIM_MS);
    timer_init(&app->settle, settle, app);
    timer_set(env, &app->settle, OPERATOR_SETTLE_MS);
    if (cli_on(app->cli, "leader-elect"))
        make_lease(app);
    make_rivals(app);
    look_after_storage_versions(app);
    find_platform(app);
    return start_webhooks(app, err) && start_federation(app, err);
}

static void free_all(struct app *app)
{
    serve_free(app->serve);
    webhook_service_free(app->webhooks);
    federation_free(app->federation);
    for (size_t i = 0; i < lengthof(app->signals); i++)
        if (app->signals[i])
            loop_signal_free(app->signals[i]);
    storage_versions_free(app->storage_versions);
    for (size_t i = 0; i < lengthof(app->rivals); i++)
        rivals_free(app->rivals[i]);
    lease_free(app->lease);
    engines_free(app->engines);
    http_transport_free(app->transport);
    if (app->loop) {
        timer_stop(loop_env(app->loop), &app->deadline);
        timer_stop(loop_env(app->loop), &app->trim);
        timer_stop(loop_env(app->loop), &app->settle);
        loop_free(app->loop);
    }
}

static const char *const not_yet[] = {
    "enable-http2",
    "zap-devel",
    "zap-stacktrace-level",
    "zap-time-encoding",
    NULL,
};

/* Converts the log flags of upstream's managers to ours. zap uses numbers for debug levels; its
 * levels above error become error. */
static void translate_log_flags(struct cli *cli)
{
    for (size_t i = 0; i < cli->count; i++) {
        const char *value = cli->values[i];
        enum log_level level;
        if (text_eq(cli->names[i], "zap-log-level")) {
            bool number = value[0] >= '0' && value[0] <= '9';
            cli->names[i] = "log-level";
            cli->values[i] = number ? "debug" : log_level_parse(value, &level) ? value : "error";
        } else if (text_eq(cli->names[i], "zap-encoder")) {
            cli->names[i] = "log-format";
            cli->values[i] = text_eq(value, "json") ? "json" : "text";
        }
    }
}

static int run(struct cli *cli)
{
    struct app app = { .cli = cli };
    struct error err;
    /* One thread works; a second heap for the few DNS threads would only cost memory. */
    mallopt(M_ARENA_MAX, 1);
    /* Fixed threshold: larger blocks, such as lists, are returned to the system when freed. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    setenv("UV_THREADPOOL_SIZE", "2", 0);
    translate_log_flags(cli);
    if (!cli_setup_log(cli, &err) || !families_read(cli, &app.families, &err) ||
        !families_select(&app.families, cli_text(cli, "families"), &err))
        return cli_usage(cli, "%s", err.text);
    find_namespaces(&app);
    if (cli_on(cli, "workloads"))
        families_add_workloads(&app.families, "/var/lib/leeboard/volumes");
    for (size_t i = 0; not_yet[i]; i++)
        if (cli_given(cli, not_yet[i]) && !text_eq(cli_text(cli, not_yet[i]), "false"))
            log_warn("--%s has no effect in this version", not_yet[i]);
    bool ok = load_config(&app, &err) && make_transport(&app, &err) && make_engines(&app, &err) &&
              start(&app, &err);
    if (ok) {
        log_info("leeboard " LEEBOARD_VERSION " works on %s", app.config.server);
        loop_run(app.loop);
        log_info("ended");
    } else {
        app.code = cli_fail(cli, &err);
    }
    free_all(&app);
    return app.code;
}

static const struct cli_flag flags[] = {
    { "families", 0, "NAME,...", FAMILIES_ALL, "Families of kinds to serve." },
    { "watch-namespace",
        0,
        "NAME,...",
        NULL,
        "The same as --namespace (WATCH_NAMESPACE of ToolHive's operator)." },
    { "leader-elect",
        0,
        NULL,
        "false",
        "Work only while holding the Lease; for several replicas." },
    { "leader-election-id", 0, "NAME", LEASE_NAME_DEFAULT, "Name of the Lease." },
    { "leader-election-namespace",
        0,
        "NAME",
        NULL,
        "Namespace of the Lease; else POD_NAMESPACE, else the context's." },
    { "health-probe-bind-address",
        0,
        "ADDRESS",
        ":8081",
        "Address of /healthz and /readyz; 0: none." },
    { "metrics-bind-address", 0, "ADDRESS", "0", "Address of /metrics; 0: none." },
    { "metrics-secure", 0, NULL, "true", "Serve metrics over HTTPS to clients that RBAC permits." },
    { "metrics-cert-path", 0, "DIR", NULL, "Directory of the metrics certificate." },
    { "metrics-cert-name", 0, "FILE", "tls.crt", "Certificate in --metrics-cert-path." },
    { "metrics-cert-key", 0, "FILE", "tls.key", "Key in --metrics-cert-path." },
    { "workloads", 0, NULL, "false", NULL },
    { "enable-http2", 0, NULL, "false", "HTTP/2 is always on." },
    { "zap-log-level", 0, "LEVEL", NULL, "Log flag of upstream's managers: --log-level." },
    { "zap-encoder", 0, "NAME", NULL, "Log flag of upstream's managers: --log-format." },
    { "zap-devel", 0, NULL, "false", NULL },
    { "zap-stacktrace-level", 0, "LEVEL", NULL, NULL },
    { "zap-time-encoding", 0, "NAME", NULL, NULL },
    { 0 },
};

const struct cli_command cli_operator = {
    .name = "operator",
    .summary =
        "Reconcile a cluster, in place of the operators of LLMKube, ToolHive and OtterScale.",
    .text =
        "Watches Models, InferenceServices, ModelServices and ModelArtifacts and keeps their\n"
        "children as they say. Flags that shape what is made have the names that the operators\n"
        "of LLMKube and OtterScale give them.\n",
    .flags =
        (const struct cli_flag *const[]){
            cli_flags_kube, flags, webhook_flags, cli_flags_log, NULL },
    .shaping = true,
    .run = run,
};
