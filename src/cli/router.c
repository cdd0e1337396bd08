/* leeboard router: the program that a ModelRouter deploys, in place of LLMKube's router-proxy.
 *
 *   SIGTERM ──> not ready ──> (drain delay) ──> no new connections ──> the last stream ──> exit
 * SIGHUP, or a changed file ──> new config; running requests keep the old one */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/time.h"
#include "cli/cli.h"
#include "http/loop.h"
#include "http/server.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/http_transport.h"
#include "router/audit_sink.h"
#include "router/router.h"

#define CONFIG_BYTES_MAX ((size_t)16 << 20)
#define CONFIG_LOOK_MS 1000
#define OTLP_LAST_MS 2000
#define LOG_FLUSH_BYTES ((size_t)32 << 10)
#define METRICS_BYTES_MAX ((size_t)16 << 20)
#define DRAIN_DELAY_MS 5000 /* until kube-proxy has noticed that the pod is not ready */

static const struct cli_flag flags[] = {
    { "config", 0, "FILE", "/etc/llmkube/router/config.json", "The compiled routing config." },
    { "listen", 0, "ADDRESS", ":8080", "Address of the data plane." },
    { "metrics-bind-address",
        0,
        "ADDRESS",
        ":9090",
        "Address of /metrics; empty, 0 or none turns it off." },
    { "log-format", 0, "FORMAT", "json", "json or text." },
    { "shutdown-timeout", 0, "DURATION", "30s", "How long streams may continue after SIGTERM." },
    { "drain-delay",
        0,
        "DURATION",
        "",
        "How long /readyz fails before the listener closes; 5s in a cluster, else 0s." },
    { "quarantine-duration", 0, "DURATION", "15s", "How long a failed back end gets no requests." },
    { "response-header-timeout",
        0,
        "DURATION",
        "2m0s",
        "Timeout of the first token, if neither the rule nor the back end has one." },
    { "connect-timeout", 0, "DURATION", "10s", "Timeout of a connect." },
    { "idle-timeout",
        0,
        "DURATION",
        "0s",
        "Timeout between two tokens; 0s: that of the first token." },
    { "enable-activation",
        0,
        NULL,
        NULL,
        "Scale up the members of ModelPools that requests wait for; needs a Kubernetes API." },
    { "total-timeout", 0, "DURATION", "0s", "Timeout of a whole request; 0s: none." },
    { 0 },
};

struct app {
    struct cli *cli;
    struct loop *loop;
    struct router *router;
    struct http_server *server, *metrics;
    struct arena arena;
    struct kube_config kube_config;
    struct http_transport *transport;
    struct kube_client *kube; /* NULL: pools are not scaled */
    struct loop_signal *signals[3];
    struct timer look, flush, drain;
    struct buf lines; /* of log and audit, for the next flush */
    bool text;
    int audit_fd;            /* -1: standard output */
    struct audit_sink *otlp; /* instead; NULL: none */
    int64_t shutdown_ms, drain_delay_ms;
    struct stat seen[2]; /* of config.json and policy.json when they were read; zeroed: no file */
    bool ending;
    int code;
};

/* ---- lines ---- */

static void write_all(int fd, struct str text)
{
    while (text.len) {
        ssize_t count = write(fd, text.ptr, text.len);
        if (count <= 0)
            return;
        text = (struct str){ text.ptr + count, text.len - (size_t)count };
    }
}

static void flush_lines(void *ctx)
{
    struct app *app = ctx;
    write_all(STDOUT_FILENO, buf_str(&app->lines));
    buf_reset(&app->lines);
}

static void add_texts(struct buf *to, const char *const *texts)
{
    for (; *texts; texts++)
        buf_add_text(to, *texts);
}

static void begin_line(
    const struct app *app, struct buf *to, const char *level, const char *message)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int64_t now_ms = app->loop ? env_wall_ms(loop_env(app->loop)) : 0;
    const char *time = time_format_micro(&a, now_ms * 1000);
    bool bare = !strpbrk(message, " \"=");
    if (app->text)
        buf_printf(to,
            bare ? "time=%s level=%s msg=%s" : "time=%s level=%s msg=\"%s\"",
            time,
            level,
            message);
    else
        add_texts(to,
            (const char *[]){ "{\"time\":\"",
                time,
                "\",\"level\":\"",
                level,
                "\",\"msg\":\"",
                message,
                "\"",
                NULL });
}

struct word {
    const char *key;
    const char *value; /* NULL: number */
    int64_t number;
};

static void say(struct app *app, const char *level, const char *message, const struct word *words)
{
    begin_line(app, &app->lines, level, message);
    for (; words && words->key; words++) {
        buf_printf(&app->lines, app->text ? " %s=" : ",\"%s\":", words->key);
        if (!words->value)
            buf_printf(&app->lines, "%lld", (long long)words->number);
        else if (app->text && *words->value && !strpbrk(words->value, " \"=\n"))
            buf_add_text(&app->lines, words->value);
        else
            json_print(&app->lines, json_str(words->value));
    }
    buf_add_text(&app->lines, app->text ? "\n" : "}\n");
    flush_lines(app);
}
#define WORDS(...) ((const struct word[]){ __VA_ARGS__, { 0 } })

/* Writes the lines of one turn of the loop together. */
static void on_audit(void *ctx, struct str line)
{
    struct app *app = ctx;
    if (app->otlp) {
        audit_sink_add(app->otlp, "router.dispatch", line);
        return;
    }
    cleanup(buf_done) struct buf file = BUF_INIT((size_t)1 << 20);
    struct buf *to = app->audit_fd >= 0 ? &file : &app->lines;
    begin_line(app, to, "INFO", "router.dispatch");
    buf_add(to, line.ptr, line.len);
    buf_add_text(to, app->text ? "\n" : "}\n");
    if (app->audit_fd >= 0)
        write_all(app->audit_fd, buf_str(&file));
    else if (app->lines.len > LOG_FLUSH_BYTES)
        flush_lines(app);
    else
        timer_set(loop_env(app->loop), &app->flush, 0);
}

/* ---- config ---- */

/* "policy.json" in the folder of the config: settings that config.json cannot have, because its
 * bytes must equal upstream's. */
static const char *policy_path(struct app *app, struct arena *a)
{
    const char *path = cli_text(app->cli, "config");
    const char *slash = strrchr(path, '/');
    return arena_printf(a, "%.*spolicy.json", slash ? (int)(slash - path + 1) : 0, path);
}

static bool read_file(const char *path, struct buf *to, struct stat *ret_stat, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, ret_stat) != 0) {
        if (fd >= 0)
            close(fd);
        *ret_stat = (struct stat){ 0 };
        return fail(err, ERR_NOT_FOUND, "read router config %s: it cannot be opened", path);
    }
    char part[16384];
    ssize_t count;
    while ((count = read(fd, part, sizeof(part))) > 0)
        buf_add(to, part, (size_t)count);
    close(fd);
    return (count == 0 && !buf_overflowed(to)) ||
           fail(
               err, ERR_INVALID, "read router config %s: it cannot be read, or is too large", path);
}

static struct router_config *load(struct app *app, struct error *err)
{
    const char *path = cli_text(app->cli, "config");
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf text = BUF_INIT(CONFIG_BYTES_MAX);
    cleanup(buf_done) struct buf extra = BUF_INIT(CONFIG_BYTES_MAX);
    if (!read_file(path, &text, &app->seen[0], err) ||
        (!read_file(policy_path(app, &a), &extra, &app->seen[1], err) &&
            err->code != ERR_NOT_FOUND))
        return NULL;
    struct router_config *c = router_config_new(buf_str(&text), buf_str(&extra), err);
    if (!c)
        fail_in(err, "invalid router config %s", path);
    return c;
}

static void say_loaded(struct app *app, const struct router_config *c)
{
    say(app,
        "INFO",
        "router config loaded",
        WORDS({ "backends", NULL, (int64_t)c->backend_count },
            { "rules", NULL, (int64_t)c->rule_count },
            { "defaultRoute", c->default_route ? c->default_route->name : "" }));
    for (size_t i = 0; i < c->backend_count; i++)
        if (c->backends[i].pool_name && !app->kube)
            say(app,
                "WARN",
                "pool is not acted on without --enable-activation",
                WORDS({ "backend", c->backends[i].name }));
}

/* From the environment variables of OpenTelemetry SDKs; NULL: unset. */
static const char *otlp_endpoint(struct arena *a)
{
    const char *logs = getenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT");
    const char *all = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (!text_empty(logs))
        return logs;
    if (text_empty(all))
        return NULL;
    return arena_printf(a, "%s%sv1/logs", all, text_ends(all, "/") ? "" : "/");
}

static void set_otlp(struct app *app, bool wanted)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct error err = { .text = "set OTEL_EXPORTER_OTLP_ENDPOINT" };
    const char *endpoint = otlp_endpoint(&a);
    if (wanted && app->text) {
        fail(&err, ERR_INVALID, "it needs --log-format json");
        endpoint = NULL;
    }
    if (!wanted) {
        audit_sink_free(take(app->otlp));
        return;
    }
    if (app->otlp)
        return; /* the environment does not change */
    if (endpoint)
        app->otlp = audit_sink_new(app->loop, endpoint, &err);
    if (!app->otlp)
        say(app,
            "ERROR",
            "audit sink otlp cannot be used; lines go to standard output",
            WORDS({ "error", err.text }));
}

static void set_audit(struct app *app, const struct router_config *c)
{
    set_otlp(app, text_eq(c->audit_sink, "otlp"));
    if (app->audit_fd >= 0)
        close(app->audit_fd);
    app->audit_fd = -1;
    if (text_eq(c->audit_sink, "file") && !text_empty(c->audit_file)) {
        app->audit_fd = open(c->audit_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (app->audit_fd < 0)
            say(app,
                "ERROR",
                "audit file cannot be opened; lines go to standard output",
                WORDS({ "path", c->audit_file }));
    }
}

static void reload(struct app *app)
{
    struct error err;
    struct router_config *c = load(app, &err);
    if (!c) {
        say(app, "ERROR", "reload failed; the old config stays", WORDS({ "error", err.text }));
        return;
    }
    router_set_config(app->router, c);
    set_audit(app, c);
    say_loaded(app, c);
    router_config_unref(c);
}

static bool differs(const struct stat *a, const struct stat *b)
{
    return a->st_ino != b->st_ino || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
           a->st_mtim.tv_nsec != b->st_mtim.tv_nsec || a->st_size != b->st_size;
}

static void on_look(void *ctx)
{
    struct app *app = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct stat now[2];
    bool there = stat(cli_text(app->cli, "config"), &now[0]) == 0;
    if (stat(policy_path(app, &a), &now[1]) != 0)
        now[1] = (struct stat){ 0 };
    if (there && (differs(&now[0], &app->seen[0]) || differs(&now[1], &app->seen[1])))
        reload(app);
    timer_set(loop_env(app->loop), &app->look, CONFIG_LOOK_MS);
}

/* ---- shutdown ---- */

static void on_drained(void *ctx)
{
    struct app *app = ctx;
    bool cut = router_open(app->router) > 0;
    app->code = cut ? CLI_FAILED : CLI_OK;
    if (cut)
        say(app,
            "ERROR",
            "graceful shutdown failed",
            WORDS({ "error", "streams were still open after --shutdown-timeout" }));
    else
        say(app, "INFO", "router-proxy stopped cleanly", NULL);
    loop_stop(app->loop);
}

static void on_deadline(void *ctx)
{
    on_drained(ctx);
}

static void close_listener(void *ctx)
{
    struct app *app = ctx;
    http_server_free(take(app->metrics));
    timer_init(&app->drain, on_deadline, app);
    timer_set(loop_env(app->loop), &app->drain, app->shutdown_ms);
    /* Longer than our own deadline, to detect whether a stream was cut off. */
    http_server_drain(app->server, app->shutdown_ms + 1000, on_drained, app);
}

static void on_signal(void *ctx, int number)
{
    struct app *app = ctx;
    if (number == SIGHUP) {
        reload(app);
        return;
    }
    if (app->ending)
        return;
    app->ending = true;
    say(app, "INFO", "shutdown signal received; draining in-flight requests", NULL);
    router_set_draining(app->router);
    timer_set(loop_env(app->loop), &app->drain, app->drain_delay_ms);
}

/* ---- listeners ---- */

static void on_metrics(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct app *app = ctx;
    if (!str_eq(head->path, STR("/metrics"))) {
        http_exchange_reply(x, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
        return;
    }
    cleanup(buf_done) struct buf text = BUF_INIT(METRICS_BYTES_MAX);
    router_metrics_print(app->router, &text);
    if (app->otlp)
        buf_printf(&text,
            "# HELP leeboard_router_audit_dropped_total Audit records that no collector took.\n"
            "# TYPE leeboard_router_audit_dropped_total counter\n"
            "leeboard_router_audit_dropped_total %llu\n",
            (unsigned long long)audit_sink_dropped(app->otlp));
    http_exchange_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text));
}

static bool split(const char *text, char *host, size_t size, uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (!colon || !str_to_int(str_of(colon + 1), &port) || port < 0 || port > 65535)
        return false;
    struct str name = { text, (size_t)(colon - text) };
    if (name.len > 1 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
        name = (struct str){ name.ptr + 1, name.len - 2 };
    if (name.len >= size)
        return false;
    memcpy(host, name.ptr, name.len);
    host[name.len] = '\0';
    *ret_port = (uint16_t)port;
    return true;
}

static bool is_wildcard(const char *host)
{
    return !*host || text_eq(host, "0.0.0.0") || text_eq(host, "::");
}

static bool is_off(const char *address)
{
    return text_empty(address) || text_eq(address, "0") ||
           str_eq_nocase(str_of(address), STR("none"));
}

static bool clash(const char *a, const char *b)
{
    char one[128], two[128];
    uint16_t p, q;
    if (!split(a, one, sizeof(one), &p) || !split(b, two, sizeof(two), &q) || p != q || p == 0)
        return false;
    return is_wildcard(one) || is_wildcard(two) || text_eq(one, two);
}

static struct http_server *serve(struct app *app, const char *address,
    void (*handler)(void *, struct http_exchange *, const struct http_request_head *), void *ctx,
    struct error *err)
{
    char host[128];
    uint16_t port;
    const char *own = getenv("LEEBOARD_LISTEN_HOST"); /* of a pod on a single machine */
    if (!split(address, host, sizeof(host), &port)) {
        fail(err, ERR_INVALID, "%s is not HOST:PORT or :PORT", address);
        return NULL;
    }
    if (is_wildcard(host) && !text_empty(own))
        snprintf(host, sizeof(host), "%s", own);
    return http_server_new(app->loop,
        &(struct http_server_options){
            .address = *host ? host : NULL,
            .port = port,
            .request = handler,
            .ctx = ctx,
            .connections_max = 100000,
            .body_bytes_max = ROUTER_BODY_BYTES_MAX * 2,
            .limits = { .header_bytes_max = (size_t)1 << 20, .header_count_max = 1024 },
        },
        err);
}

static bool listen_all(struct app *app)
{
    const char *metrics = cli_text(app->cli, "metrics-bind-address");
    const char *listen = cli_text(app->cli, "listen");
    struct error err;
    if (is_off(metrics)) {
        say(app,
            "INFO",
            "metrics server disabled",
            WORDS({ "metrics-bind-address", metrics ?: "" }));
    } else {
        app->metrics = serve(app, metrics, on_metrics, app, &err);
        if (app->metrics)
            say(app, "INFO", "metrics server listening", WORDS({ "address", metrics }));
        else
            say(app,
                "ERROR",
                "metrics server failed to bind; continuing without metrics",
                WORDS({ "address", metrics }, { "error", err.text }));
    }
    app->server = serve(app, listen, router_request, app->router, &err);
    if (app->server)
        say(app, "INFO", "router-proxy listening", WORDS({ "address", listen }));
    else
        say(app, "ERROR", "server failed", WORDS({ "error", err.text }));
    return app->server != NULL;
}

/* ---- the command ---- */

static bool duration_ms(struct app *app, const char *flag, int64_t *ret)
{
    int64_t ns;
    if (!time_duration_parse(cli_text(app->cli, flag), &ns))
        return false;
    *ret = ns / TIME_NS_PER_MS;
    return true;
}

static int bad_duration(const struct app *app, const char *flag)
{
    return cli_usage(
        app->cli, "--%s=%s: write a duration such as 15s or 1m30s", flag, cli_text(app->cli, flag));
}

static void run(struct app *app)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    for (size_t i = 0; i < lengthof(numbers); i++)
        app->signals[i] = loop_signal_new(app->loop, numbers[i], on_signal, app);
    timer_init(&app->look, on_look, app);
    timer_init(&app->drain, close_listener, app);
    timer_set(loop_env(app->loop), &app->look, CONFIG_LOOK_MS);
    loop_run(app->loop);
    for (size_t i = 0; i < lengthof(numbers); i++)
        loop_signal_free(app->signals[i]);
    timer_stop(loop_env(app->loop), &app->look);
    timer_stop(loop_env(app->loop), &app->drain);
}

/* Connects to the API server that scales the members of pools: by a kubeconfig, or the pod's
 * service account. */
static bool open_kube(struct app *app, struct error *err)
{
    struct kube_config_options options = { 0 };
    kube_config_from_environment(&options);
    if (!kube_config_load(&app->arena, &options, &app->kube_config, err))
        return false;
    app->transport = http_transport_new(
        app->loop, &(struct http_transport_options){ .config = &app->kube_config }, err);
    if (!app->transport)
        return false;
    app->kube = kube_client_new(http_transport_kube(app->transport), loop_env(app->loop));
    return true;
}

static void close_kube(struct app *app)
{
    if (app->kube)
        kube_client_free(app->kube);
    if (app->transport)
        http_transport_free(app->transport);
    arena_done(&app->arena);
}

static bool otlp_is_idle(void *ctx)
{
    return audit_sink_idle(ctx);
}

static int start(struct app *app, struct router_options *options)
{
    struct error err;
    const char *metrics = cli_text(app->cli, "metrics-bind-address");
    if (!is_off(metrics) && clash(cli_text(app->cli, "listen"), metrics)) {
        say(app,
            "ERROR",
            "invalid listener configuration",
            WORDS({ "error", "--listen and --metrics-bind-address are the same address" }));
        return CLI_FAILED;
    }
    struct router_config *config = load(app, &err);
    if (!config) {
        say(app,
            "ERROR",
            "load router config",
            WORDS({ "path", cli_text(app->cli, "config") }, { "error", err.text }));
        return CLI_FAILED;
    }
    if (cli_given(app->cli, "enable-activation") && !open_kube(app, &err)) {
        router_config_unref(config);
        say(app, "ERROR", "initialize ModelPool activation", WORDS({ "error", err.text }));
        return CLI_FAILED;
    }
    options->kube = app->kube;
    say_loaded(app, config);
    set_audit(app, config);
    app->router = router_new(options, config);
    router_config_unref(config);
    app->code = CLI_FAILED;
    if (listen_all(app))
        run(app);
    http_server_free(app->metrics);
    http_server_free(app->server);
    timer_stop(loop_env(app->loop), &app->flush);
    flush_lines(app);
    router_free(app->router);
    if (app->otlp) { /* the last records */
        audit_sink_flush(app->otlp);
        loop_run_until(app->loop, otlp_is_idle, app->otlp, OTLP_LAST_MS);
        audit_sink_free(take(app->otlp));
    }
    return app->code;
}

static int command(struct cli *cli)
{
    struct app app = { .cli = cli, .audit_fd = -1, .arena = ARENA_INIT };
    struct router_options o = { .name = getenv("ROUTER_NAME"), .audit = on_audit, .ctx = &app };
    const struct {
        const char *flag;
        int64_t *ret;
    } durations[] = { { "shutdown-timeout", &app.shutdown_ms },
        { "quarantine-duration", &o.quarantine_ms },
        { "response-header-timeout", &o.first_token_ms },
        { "connect-timeout", &o.connect_ms },
        { "idle-timeout", &o.between_tokens_ms },
        { "total-timeout", &o.total_ms } };
    for (size_t i = 0; i < lengthof(durations); i++)
        if (!duration_ms(&app, durations[i].flag, durations[i].ret))
            return bad_duration(&app, durations[i].flag);
    if (cli_given(cli, "drain-delay")) {
        if (!duration_ms(&app, "drain-delay", &app.drain_delay_ms))
            return bad_duration(&app, "drain-delay");
    } else if (getenv("KUBERNETES_SERVICE_HOST") && !getenv("LEEBOARD_LISTEN_HOST")) {
        /* On a single machine the node removes us from our Services first. */
        app.drain_delay_ms = DRAIN_DELAY_MS;
    }
    o.no_quarantine = o.quarantine_ms <= 0;
    if (o.first_token_ms <= 0)
        o.first_token_ms = INT64_MAX / 4; /* 0s: no limit */
    app.text = text_eq(cli_text(cli, "log-format"), "text");
    o.audit_text = app.text;
    buf_init(&app.lines, (size_t)4 << 20);
    app.loop = o.loop = loop_new();
    loop_set_hosts(app.loop, getenv("LEEBOARD_HOSTS"));
    timer_init(&app.flush, flush_lines, &app);
    int code = start(&app, &o);
    flush_lines(&app);
    buf_done(&app.lines);
    if (app.audit_fd >= 0)
        close(app.audit_fd);
    close_kube(&app);
    loop_free(app.loop);
    return code;
}

const struct cli_command cli_router = {
    .name = "router",
    .summary = "Route requests for models to back ends.",
    .text =
        "Reads the config.json that a ModelRouter compiles to and serves the OpenAI and Anthropic\n"
        "paths on --listen. A changed config file is read again; streams are not cut by that.",
    .flags = (const struct cli_flag *const[]){ flags, NULL },
    .run = command,
};
