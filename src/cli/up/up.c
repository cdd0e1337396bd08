/* leeboard up: API server, engine, controllers and node of one machine in one process.
 *
 *   folder ─> server ─> CRDs and manifests applied ─> engine and node ─> …
 *   signal ─> pods end within their grace periods ─> the engine's last write ─> the server's last
 * answer */

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/apply.h"
#include "cli/serve/api_service.h"
#include "cli/serve/apiserver_http.h"
#include "cli/serve/engine_service.h"
#include "cli/serve/local_transport.h"
#include "cli/serve/notify.h"
#include "cli/show/show.h"
#include "cli/up/apply.h"
#include "cli/up/detach.h"
#include "cli/up/endpoint.h"
#include "cli/up/expose.h"
#include "cli/up/folder.h"
#include "cli/up/hello.h"
#include "cli/up/objects.h"
#include "engine/engine.h"
#include "http/loop.h"
#include "kube/file.h"
#include "kube/pod_log.h"
#include "kube/pod_session.h"
#include "node/image_map.h"
#include "node/node.h"
#include "node/process_runtime.h"
#include "proxy/proxy.h"

/* Addresses of Services: loopback addresses, reachable only on this machine. The addresses of pods
 * are below. */
#define SERVICE_CIDR "127.96.0.0/16"
#define EXIT_MS 3000
#define ECHO_MS 500
#define SETTLE_MS 50
#define SETTLE_TURNS_MAX 20
#define TRIM_MS 15000
#define IMAGES_BYTES_MAX ((size_t)1 << 20)

static const int signal_numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

struct up {
    struct cli *cli;
    const char *folder;
    struct families families;
    struct inputs objects; /* of -f */
    struct expose expose;
    struct loop *loop;
    struct api_service *api;
    struct local_transport *local;
    struct engine_service engine;
    struct image_map *images;
    struct process_runtime *runtime;
    struct node *node;
    struct proxy *proxy;
    /* of the node; the server gets it before the node exists */
    struct pod_log_source logs;
    struct pod_session_source sessions;
    struct show *show;
    struct endpoint *endpoint; /* NULL: not requested, or the default address is in use */
    const char *no_endpoint;   /* why there is none; NULL: not requested */
    struct up_hello *hello;
    struct loop_signal *signals[lengthof(signal_numbers)];
    struct timer trim, deadline, settle;
    uint64_t runs_seen; /* of the engine, while settling */
    int settle_turns;
    int64_t begun_ms, signalled_ms;
    int old_stderr; /* -1: not redirected */
    bool running, ending, stopping;
};

static void say(struct up *up, const char *line)
{
    if (up->show)
        show_print(up->show, "%s", line);
}

/* ---- shutdown ---- */

static void stop(void *ctx)
{
    struct up *up = ctx;
    loop_stop(up->loop);
}

static void drained(void *ctx)
{
    struct up *up = ctx;
    apiserver_http_drain(api_service_http(up->api), EXIT_MS, stop, up);
}

/* The end of pods is reported in several steps, of one or more turns each: ReplicaSet, Deployment,
 * InferenceService. Waits until all are stored, for the last lines of the display and the next
 * start. */
static void settle(void *ctx)
{
    struct up *up = ctx;
    uint64_t runs = engine_counts(up->engine.engine).reconciles;
    bool quiet = runs == up->runs_seen;
    up->runs_seen = runs;
    if (quiet || ++up->settle_turns > SETTLE_TURNS_MAX)
        engine_drain(up->engine.engine, drained, up);
    else
        timer_set(loop_env(up->loop), &up->settle, SETTLE_MS);
}

static void pods_ended(void *ctx)
{
    struct up *up = ctx;
    up->runs_seen = UINT64_MAX;
    settle(up);
}

static void end_pods(struct up *up)
{
    up->ending = true;
    notify("STOPPING=1");
    say(up,
        isatty(STDOUT_FILENO) ? "ending: pods get their grace period; Ctrl-C once more kills them"
                              : "ending: pods get their grace period; a second signal kills them");
    if (up->show)
        show_ending(up->show);
    node_stop(up->node, pods_ended, up);
}

static void kill_pods(struct up *up)
{
    up->stopping = true;
    say(up, "killing the pods that have not ended yet");
    node_kill(up->node);
    timer_set(loop_env(up->loop), &up->deadline, EXIT_MS);
}

/* First signal: pods end within their grace periods. Second one, or SIGQUIT: they are killed. Third
 * one: exit, and leave the rest. Terminals, make and the like often send the same signal twice. */
static void on_signal(void *ctx, int number)
{
    struct up *up = ctx;
    int64_t now = env_mono_ms(loop_env(up->loop));
    bool echo = up->ending && now - up->signalled_ms < ECHO_MS && number != SIGQUIT;
    log_info("got %s", strsignal(number));
    if (echo)
        return;
    up->signalled_ms = now;
    if (!up->running) {
        up->ending = true; /* start() checks it */
    } else if (up->stopping) {
        loop_stop(up->loop);
    } else {
        bool again = up->ending;
        if (!again)
            end_pods(up);
        if (again || number == SIGQUIT)
            kill_pods(up);
    }
}

/* ---- construction ---- */

static bool make_api(struct up *up, struct error *err)
{
    struct arena *a = &up->cli->arena;
    up->api = api_service_new(a,
        &(struct api_service_options){
            .loop = up->loop,
            .folder = up_folder_path(a, up->folder, "server"),
            .listen = cli_text(up->cli, "listen"),
            .service_cidr = SERVICE_CIDR,
            .loopback_endpoints = true,
            .logs = &up->logs,
            .sessions = &up->sessions,
        },
        err);
    if (!up->api ||
        !api_service_write_kubeconfig(up->api, up_folder_path(a, up->folder, "kubeconfig"), err))
        return false;
    up->local = local_transport_new(api_service_server(up->api), loop_env(up->loop), "leeboard");
    return true;
}

static bool is_in_use(void *ctx, const char *ip)
{
    struct up *up = ctx;
    return up->proxy && proxy_busy(up->proxy, ip);
}

/* The path at startup: the file may be replaced later. NULL: unknown. */
static const char *own_program(struct arena *a)
{
    char *path = realpath("/proc/self/exe", NULL);
    const char *copy = arena_strdup(a, path);
    free(path);
    return copy;
}

static bool make_node(struct up *up, struct error *err)
{
    struct arena *a = &up->cli->arena;
    const char *file = cli_text(up->cli, "images");
    struct str text;
    up->images = image_map_new();
    if (!text_empty(file) && (!file_read(a, file, IMAGES_BYTES_MAX, &text, err) ||
                                 !image_map_add(up->images, text, file, err)))
        return false;
    up->runtime = process_runtime_new(up->loop, &(struct process_runtime_options){ 0 });
    up->node = node_new(
        &(struct node_options){
            .loop = up->loop,
            .transport = local_transport_kube(up->local),
            .runtime = process_runtime_node(up->runtime),
            .images = up->images,
            .name = engine_service_instance(a),
            .directory = up_folder_path(a, up->folder, "node"),
            .path = getenv("PATH"),
            .leeboard = own_program(a),
            .host_ports = true,
            .in_use = is_in_use,
            .in_use_ctx = up,
        },
        err);
    if (!up->node)
        return false;
    up->logs = *node_logs(up->node);
    up->sessions = *node_sessions(up->node);
    return true;
}

static void make_proxy(struct up *up)
{
    up->proxy = proxy_new(&(struct proxy_options){
        .loop = up->loop,
        .transport = local_transport_kube(up->local),
        .exposed = up->expose.addresses,
    });
}

/* The default address may be used by an unrelated program. That is no reason to fail, because
 * models also have their own addresses. An explicitly requested address in use is an error. */
static bool make_endpoint(struct up *up, struct error *err)
{
    const char *address = cli_text(up->cli, "endpoint");
    if (text_empty(address) || text_eq(address, "none"))
        return true;
    up->endpoint = endpoint_new(
        &(struct endpoint_options){
            .loop = up->loop,
            .transport = local_transport_kube(up->local),
            .http = up->engine.http,
            .address = address,
            .key_file = cli_text(up->cli, "api-key-file"),
            .open = cli_on(up->cli, "endpoint-without-key"),
        },
        err);
    if (up->endpoint || cli_given(up->cli, "endpoint") || err->code == ERR_INVALID)
        return up->endpoint;
    up->no_endpoint = arena_strdup(&up->cli->arena, err->text);
    return true;
}

static void make_engine(struct up *up)
{
    engine_service_init(&up->engine,
        &(struct engine_service_options){
            .loop = up->loop,
            .transport = local_transport_kube(up->local),
            .families = &up->families,
            .instance = engine_service_instance(&up->cli->arena),
            .own_crds = true, /* applied at each start */
        });
}

/* Returns the memory of lists and bursts to the system. */
static void trim(void *ctx)
{
    struct up *up = ctx;
    malloc_trim(0);
    timer_set(loop_env(up->loop), &up->trim, TRIM_MS);
}

/* ---- output for the user ---- */

static void print_line(void *ctx, const char *line)
{
    say(ctx, line);
}

static void all_ready(void *ctx)
{
    struct up *up = ctx;
    if (up->hello || up->ending)
        return;
    struct arena *a = &up->cli->arena;
    int64_t took_ms = env_mono_ms(loop_env(up->loop)) - up->begun_ms;
    say(up, arena_printf(a, "ready after %.1f s", (double)took_ms / 1000));
    up->hello = up_hello_new(&(struct up_hello_options){
        .env = loop_env(up->loop),
        .client = up->engine.client,
        .http = up->engine.http,
        .question = cli_text(up->cli, "ask"),
        .url =
            up->endpoint && !cli_given(up->cli, "api-key-file") ? endpoint_url(up->endpoint) : NULL,
        .print = print_line,
        .ctx = up,
    });
}

static void make_show(struct up *up)
{
    struct arena *a = &up->cli->arena;
    up->show = show_new(&(struct show_options){
        .loop = up->loop,
        .transport = local_transport_kube(up->local),
        .resources = up_resources,
        .fd = STDOUT_FILENO,
        .folder = up->folder,
        .ready = all_ready,
        .ctx = up,
    });
    say(up,
        arena_printf(a,
            "leeboard " LEEBOARD_VERSION " serves %s; export KUBECONFIG=%s/kubeconfig",
            api_service_url(up->api),
            up->folder));
    bool open = cli_on(up->cli, "endpoint-without-key") && !cli_given(up->cli, "api-key-file");
    if (up->endpoint)
        say(up,
            arena_printf(a,
                "models answer at %s by their names%s",
                endpoint_url(up->endpoint),
                open ? "; warning: every client that can reach the address needs no key" : ""));
    else if (up->no_endpoint)
        say(up, arena_printf(a, "warning: no endpoint for all models: %s", up->no_endpoint));
}

/* Only the display writes to the terminal. */
static bool move_log(struct up *up, struct error *err)
{
    return !isatty(STDERR_FILENO) ||
           up_folder_log(&up->cli->arena, up->folder, false, &up->old_stderr, err);
}

static void restore_log(struct up *up)
{
    if (up->old_stderr < 0)
        return;
    dup2(up->old_stderr, STDERR_FILENO);
    close(up->old_stderr);
}

/* ---- life ---- */

static bool start(struct up *up, struct error *err)
{
    struct arena *a = &up->cli->arena;
    struct ask q;
    if (!up_folder_lock(a, up->folder, err))
        return false;
    up->loop = loop_new();
    up->begun_ms = env_mono_ms(loop_env(up->loop));
    timer_init(&up->trim, trim, up);
    timer_init(&up->deadline, stop, up);
    timer_init(&up->settle, settle, up);
    for (size_t i = 0; i < lengthof(signal_numbers); i++)
        up->signals[i] = loop_signal_new(up->loop, signal_numbers[i], on_signal, up);
    if (!make_api(up, err) || !make_node(up, err))
        return false;
    make_engine(up);
    make_proxy(up);
    if (!make_endpoint(up, err))
        return false;
    ask_over(up->cli, up->loop, local_transport_kube(up->local), "default", &q);
    if (!up_apply(&q, up->folder, &up->objects, err) || !move_log(up, err))
        return false;
    if (up->ending)
        return fail(err, ERR_CANCELLED, "stopped before it had started");
    if (up->endpoint)
        endpoint_start(up->endpoint);
    if (!up_folder_write_endpoint(a,
            up->folder,
            up->endpoint ? endpoint_url(up->endpoint) : NULL,
            cli_text(up->cli, "api-key-file"),
            err))
        return false;
    up->running = true;
    timer_set(loop_env(up->loop), &up->trim, TRIM_MS);
    node_start(up->node); /* first, because users wait for what ran before */
    engine_lead(up->engine.engine);
    proxy_start(up->proxy);
    make_show(up);
    notify("READY=1");
    return true;
}

/* Shutdown is almost complete: an impatient user must not interrupt it any more. */
static void hear_nothing_more(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < lengthof(signal_numbers); i++)
        sigaddset(&set, signal_numbers[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void free_all(struct up *up)
{
    if (!up->loop)
        return;
    hear_nothing_more();
    for (size_t i = 0; i < lengthof(up->signals); i++)
        loop_signal_free(up->signals[i]);
    up_hello_free(up->hello);
    endpoint_free(up->endpoint);
    if (up->show)
        show_free(up->show);
    restore_log(up);
    if (up->api)
        api_service_close(up->api); /* also ends followed logs and sessions */
    if (up->proxy)
        proxy_free(up->proxy);
    node_free(up->node);
    if (up->runtime)
        process_runtime_free(up->runtime);
    image_map_free(up->images);
    engine_service_done(&up->engine);
    local_transport_free(up->local);
    api_service_free(up->api);
    timer_stop(loop_env(up->loop), &up->trim);
    timer_stop(loop_env(up->loop), &up->deadline);
    timer_stop(loop_env(up->loop), &up->settle);
    loop_free(up->loop);
}

/* Settings that only the owner of the machine may use: a client that may write here may start any
 * program. */
static void set_families(struct up *up)
{
    struct arena *a = &up->cli->arena;
    if (!cli_given(up->cli, "model-cache-path"))
        up->families.llmkube.model_cache_path = up_folder_path(a, up->folder, "models");
    if (!cli_given(up->cli, "allowed-host-path-roots"))
        up->families.llmkube.allowed_host_path_roots = json_list(a, json_str("/"));
    up->families.llmkube.one_machine = true;
    up->families.toolhive.one_machine = true;
    families_add_workloads(&up->families, up_folder_path(a, up->folder, "volumes"));
    up->families.workloads.balanced = up->expose.list;
}

static int run_here(struct up *up, int pipe)
{
    struct error err;
    bool ok = start(up, &err);
    if (pipe >= 0)
        up_detach_tell(pipe, ok ? NULL : &err);
    if (ok) {
        log_info("leeboard " LEEBOARD_VERSION " serves %s", api_service_url(up->api));
        loop_run(up->loop);
        say(up, "ended");
        log_info("ended");
    }
    free_all(up);
    return ok ? CLI_OK : cli_fail(up->cli, &err);
}

/* A second `leeboard up -f` on the folder changes what the first one runs. */
static int apply_to_running(struct cli *cli, const char *folder, struct inputs *in)
{
    struct ask q;
    struct error err;
    bool ok = ask_open_running(cli, folder, &q, &err) && apply_check(&q, in, &err);
    if (ok)
        fprintf(stderr, "leeboard runs already on %s; the manifests are applied there\n", folder);
    json_each (object, ok ? inputs_list(in) : json_empty_list())
        ok = ok && apply_and_print(&q, *object, &err);
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

static int run(struct cli *cli)
{
    struct up up = { .cli = cli, .old_stderr = -1 };
    struct error err;
    bool given;
    int pipe = -1, code;
    if (!cli_setup_log(cli, &err) || !families_read(cli, &up.families, &err) ||
        !api_service_check_listen(cli_text(cli, "listen"), &err) ||
        !expose_read(&cli->arena, cli_text(cli, "expose"), &up.expose, &err))
        return cli_usage(cli, "%s", err.text);
    if (!up_folder(cli, &up.folder, &err) || !apply_read_files(cli, &given, &up.objects, &err) ||
        !up_folder_make(&cli->arena, up.folder, &err))
        return cli_fail(cli, &err);
    if (given && up_folder_pid(&cli->arena, up.folder))
        return apply_to_running(cli, up.folder, &up.objects);
    if (up.expose.warning)
        fprintf(stderr, "%s\n", up.expose.warning);
    if (cli_on(cli, "detach") && !up_detach(cli, up.folder, &pipe, &code))
        return code;
    set_families(&up);
    api_service_tune_heap();
    setenv("UV_THREADPOOL_SIZE", "2", 0);
    return run_here(&up, pipe);
}

static const struct cli_flag flags[] = {
    { "listen",
        0,
        "ADDRESS:PORT",
        "127.0.0.1:6443",
        "Address of the API server; port 0: any free one." },
    { "endpoint",
        0,
        "ADDRESS:PORT",
        "127.0.0.1:11435",
        "Address of the OpenAI-compatible endpoint for all models; none: no endpoint." },
    { "api-key-file",
        0,
        "FILE",
        NULL,
        "Keys for the endpoint, one on each line. Each request needs one of them." },
    { "endpoint-without-key",
        0,
        NULL,
        "false",
        "Allow --endpoint to be reached from other machines without a key." },
    { "expose",
        0,
        "ADDRESS,...",
        "127.0.0.1",
        "Where node ports and Services of type LoadBalancer are reached." },
    { "images", 0, "FILE", NULL, "More local programs for images; see docs/one-machine.md." },
    { "ask", 0, "TEXT", NULL, "Ask the first InferenceService this when all is ready." },
    { "detach",
        'd',
        NULL,
        "false",
        "Return when all is ready and keep running; the log is DATA/up.log." },
    { "wait", 0, "DURATION", "10m", "How long --detach waits; 0s: not at all." },
    { "log-level", 0, "LEVEL", "warn", "Level of the log: error, warn, info or debug." },
    { "log-format", 0, "FORMAT", "text", "text for people, json for machines." },
    { 0 },
};

const struct cli_command cli_up = {
    .name = "up",
    .summary = "Run manifests on this machine, without a cluster.",
    .text =
        "  leeboard up -f examples/quickstart\n\n"
        "Starts an API server, the controllers and a node that runs pods as local processes, and\n"
        "applies the manifests. Ctrl-C ends all of it; the next `leeboard up` continues with what\n"
        "was applied. `leeboard ps`, `logs`, `apply`, `get`, `delete` and kubectl (with\n"
        "KUBECONFIG=$(leeboard kubeconfig)) work on it meanwhile.\n",
    .flags = (const struct cli_flag *const[]){ apply_flags, up_folder_flags, flags, NULL },
    .shaping = true,
    .run = run,
};
