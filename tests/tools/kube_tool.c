/* The Kubernetes client on a real wire, for tests/cluster/test_client.py: says what it sees, one
 * JSON object a line.
 *
 *   kube-tool [--kubeconfig F] [--context C] [--service-account DIR] COMMAND …
 *
 *   watch GROUP/VERSION/KIND/PLURAL [NAMESPACE [paged]]   until SIGTERM; SIGUSR1 pokes
 *   poll PATH MS                                          GET it again and again, until SIGTERM
 *   get|delete|create|create-laxly|apply GROUP/VERSION/KIND/PLURAL NAMESPACE NAME [JSON [MANAGER]]
 *   lease NAMESPACE IDENTITY                              until SIGTERM, which releases it
 *   event NAMESPACE NAME TIMES                            until all are written
 *
 * The core group is written as "-". */

#include <signal.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/resource.h"
#include "http/loop.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/events.h"
#include "kube/http_transport.h"
#include "kube/lease.h"
#include "kube/reflector.h"

struct tool {
    struct loop *loop;
    struct arena arena;
    struct kube_config config;
    struct http_transport *http;
    struct kube_client *client;
    struct reflector *reflector;
    struct lease *lease;
    struct event_recorder *events;
    struct timer timer;
    const char *path;
    int64_t every_ms;
    int code;
};

static void say(struct json line)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    json_print(&b, line);
    puts(buf_text(&b));
    fflush(stdout);
}

static struct json code_of(const struct error *err)
{
    return json_if(err && err->code, json_str(error_code_name(err->code)));
}

static struct json text_of(const struct error *err)
{
    return json_if(err && err->code, json_str(err->text));
}

/* ---- watch ---- */

static void say_sink(struct tool *t, const char *what, struct json object, const char *version)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct http_transport_stats s = http_transport_stats(t->http);
    say(json_map(&a,
        { "what", json_str(what) },
        { "name", json_get(object, "metadata.name") },
        { "version", version ? json_str(version) : json_get(object, "metadata.resourceVersion") },
        { "uid", json_get(object, "metadata.uid") },
        { "lists", json_int((int64_t)reflector_stats(t->reflector).lists) },
        { "dialled", json_int((int64_t)s.dialled) }));
}

static void on_begin(void *ctx)
{
    say_sink(ctx, "begin", json_none, NULL);
}

static void on_put(void *ctx, struct json object, bool initial)
{
    say_sink(ctx, initial ? "initial" : "put", object, NULL);
}

static void on_remove(void *ctx, struct json last)
{
    say_sink(ctx, "remove", last, NULL);
}

static void on_replace_end(void *ctx, const char *version)
{
    say_sink(ctx, "end", json_none, version);
}

static void on_bookmark(void *ctx, const char *version)
{
    say_sink(ctx, "bookmark", json_none, version);
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    (void)ctx;
    say(json_map(&a,
        { "what", json_str("bad") },
        { "name", json_str(bad->name) },
        { "error", text_of(bad->err) }));
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    static const char *const names[] = {
        "loading", "watching", "troubled", "not-installed", "forbidden"
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    (void)ctx;
    say(json_map(&a,
        { "what", json_str("state") },
        { "state", json_str(names[state]) },
        { "code", code_of(err) },
        { "error", text_of(err) }));
}

static const struct reflector_sink sink = {
    on_begin, on_put, on_remove, on_replace_end, on_bookmark, on_bad, on_state
};

/* "-/v1/Pod/pods" */
static bool resource_of(struct arena *a, const char *text, struct resource *ret)
{
    struct str rest = str_of(text);
    const char *parts[4] = { 0 };
    for (size_t i = 0; i < lengthof(parts) && rest.ptr; i++)
        parts[i] = str_dup(a, str_cut(&rest, '/'));
    *ret = (struct resource){
        .group = text_eq(parts[0], "-") ? "" : parts[0],
        .version = parts[1],
        .kind = parts[2],
        .plural = parts[3],
    };
    return parts[3] != NULL;
}

static bool run_watch(struct tool *t, char **args)
{
    struct resource *r = arena_new(&t->arena, struct resource);
    if (!args[0] || !resource_of(&t->arena, args[0], r))
        return false;
    struct reflector_options options = {
        .resource = r,
        .ns = args[1] && *args[1] ? args[1] : NULL,
        .paged = args[1] && args[2],
        .page_items = 3,
    };
    t->reflector =
        reflector_new(http_transport_kube(t->http), loop_env(t->loop), &options, &sink, t);
    reflector_start(t->reflector);
    return true;
}

/* ---- single requests ---- */

static void say_reply(const struct kube_reply *reply, struct tool *t)
{
    struct http_transport_stats s = http_transport_stats(t->http);
    say(json_map(reply->arena,
        { "status", json_int(reply->status) },
        { "code", code_of(&reply->error) },
        { "error", text_of(&reply->error) },
        { "reason", json_str_or_absent(reply->reason) },
        { "causes", reply->causes },
        { "warning", json_str(reply->warning) },
        { "repeated", json_int((int64_t)s.repeated) },
        { "body", reply->body }));
}

static void on_polled(void *ctx, const struct kube_reply *reply)
{
    struct tool *t = ctx;
    say_reply(reply, t);
    timer_set(loop_env(t->loop), &t->timer, t->every_ms);
}

static void poll(void *ctx)
{
    struct tool *t = ctx;
    kube_raw(t->client, t->path, (size_t)1 << 20, (struct kube_then){ on_polled, t });
}

static bool run_poll(struct tool *t, char **args)
{
    if (!args[0] || !args[1] || !str_to_int(str_of(args[1]), &t->every_ms))
        return false;
    t->path = args[0];
    poll(t);
    return true;
}

static void on_reply(void *ctx, const struct kube_reply *reply)
{
    struct tool *t = ctx;
    say_reply(reply, t);
    t->code = reply->error.code ? 1 : 0;
    loop_stop(t->loop);
}

static bool run_request(struct tool *t, const char *verb, char **args)
{
    struct resource *r = arena_new(&t->arena, struct resource);
    struct json object = { 0 };
    struct kube_then then = { on_reply, t };
    struct kube_write how = { .field_manager = "kube-tool" };
    if (!args[0] || !args[1] || !args[2] || !resource_of(&t->arena, args[0], r))
        return false;
    if (args[3] && !json_parse(&t->arena, str_of(args[3]), &object, NULL))
        return false;
    struct kube_target what = { r, *args[1] ? args[1] : NULL, args[2] };
    r->cluster_scoped = !*args[1];
    if (text_eq(verb, "get")) {
        kube_get(t->client, what, then);
    } else if (text_eq(verb, "delete")) {
        struct kube_delete wanted = {
            .uid = json_get_text(object, "uid"),
            .resource_version = json_get_text(object, "resourceVersion"),
            .grace_seconds = -1,
        };
        kube_delete(t->client, what, &wanted, then);
    } else if (text_eq(verb, "apply")) {
        how.field_manager = args[3] && args[4] ? args[4] : how.field_manager;
        kube_apply(t->client, what, object, how, then);
    } else {
        what.name = NULL;
        how.strict = text_eq(verb, "create");
        kube_create(t->client, what, object, how, then);
    }
    return true;
}

/* ---- lease ---- */

static void say_lease(struct tool *t, const char *what, const char *more, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    say(json_map(&a,
        { "what", json_str(what) },
        { "holder", json_str(more) },
        { "may_write", json_bool(t->lease && lease_may_write(t->lease)) },
        { "error", text_of(err) }));
}

static void on_gained(void *ctx)
{
    say_lease(ctx, "gained", NULL, NULL);
}

static void on_lost(void *ctx, const struct error *why)
{
    struct tool *t = ctx;
    say_lease(t, "lost", NULL, why);
    loop_stop(t->loop);
}

static void on_holder(void *ctx, const char *holder)
{
    say_lease(ctx, "holder", holder, NULL);
}

static void on_trouble(void *ctx, const struct error *err)
{
    say_lease(ctx, "trouble", NULL, err);
}

static void on_released(void *ctx)
{
    struct tool *t = ctx;
    say_lease(t, "released", NULL, NULL);
    loop_stop(t->loop);
}

static bool run_lease(struct tool *t, char **args)
{
    static const struct lease_handlers handlers = {
        on_gained, on_lost, on_holder, on_trouble, on_released
    };
    if (!args[0] || !args[1])
        return false;
    struct lease_options options = { .ns = args[0], .identity = args[1] };
    t->lease = lease_new(t->client, loop_env(t->loop), &options, &handlers, t);
    lease_start(t->lease);
    return true;
}

/* ---- events ---- */

static void await_events(void *ctx)
{
    struct tool *t = ctx;
    struct event_recorder_stats s = event_recorder_stats(t->events);
    if (event_recorder_pending(t->events)) {
        timer_set(loop_env(t->loop), &t->timer, 10);
        return;
    }
    say(json_map(&t->arena,
        { "written", json_int((int64_t)s.written) },
        { "failed", json_int((int64_t)s.failed) }));
    loop_stop(t->loop);
}

static bool run_event(struct tool *t, char **args)
{
    int64_t times;
    if (!args[0] || !args[1] || !args[2] || !str_to_int(str_of(args[2]), &times))
        return false;
    struct event_recorder_options options = { .controller = "leeboard", .instance = "kube-tool" };
    t->events = event_recorder_new(t->client, loop_env(t->loop), &options);
    struct event event = {
        .regarding = json_fields(&t->arena,
            { "apiVersion", json_str("v1") },
            { "kind", json_str("ConfigMap") },
            { "metadata.name", json_str(args[1]) },
            { "metadata.namespace", json_str_or_absent(args[0]) }),
        .reason = "Tried",
        .action = "Try",
        .note = "a note",
    };
    for (int64_t i = 0; i < times; i++)
        event_record(t->events, &event);
    timer_init(&t->timer, await_events, t);
    timer_set(loop_env(t->loop), &t->timer, 10);
    return true;
}

/* ---- all ---- */

static void on_signal(void *ctx, int number)
{
    struct tool *t = ctx;
    if (number == SIGUSR1 && t->reflector)
        reflector_poke(t->reflector);
    else if (number == SIGTERM && t->lease)
        lease_release(t->lease);
    else if (number == SIGTERM)
        loop_stop(t->loop);
}

static char **read_flags(char **argv, struct kube_config_options *o)
{
    const struct {
        const char *name;
        const char **into;
    } flags[] = {
        { "--kubeconfig", &o->kubeconfig },
        { "--context", &o->context },
        { "--service-account", &o->service_account_dir },
    };
    kube_config_from_environment(o);
    for (argv++; *argv && text_starts(*argv, "--") && argv[1]; argv += 2)
        for (size_t i = 0; i < lengthof(flags); i++)
            if (text_eq(*argv, flags[i].name))
                *flags[i].into = argv[1];
    return argv;
}

static bool run_command(struct tool *t, char **argv)
{
    if (!*argv)
        return false;
    if (text_eq(*argv, "watch"))
        return run_watch(t, argv + 1);
    if (text_eq(*argv, "poll"))
        return run_poll(t, argv + 1);
    if (text_eq(*argv, "lease"))
        return run_lease(t, argv + 1);
    if (text_eq(*argv, "event"))
        return run_event(t, argv + 1);
    return run_request(t, *argv, argv + 1);
}

int main(int argc, char **argv)
{
    struct tool t = { .arena = ARENA_INIT };
    struct kube_config_options options = { 0 };
    struct error err;
    (void)argc;
    char **command = read_flags(argv, &options);
    if (!kube_config_load(&t.arena, &options, &t.config, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    t.loop = loop_new();
    t.http =
        http_transport_new(t.loop, &(struct http_transport_options){ .config = &t.config }, &err);
    t.client = kube_client_new(http_transport_kube(t.http), loop_env(t.loop));
    timer_init(&t.timer, poll, &t);
    struct loop_signal *term = loop_signal_new(t.loop, SIGTERM, on_signal, &t);
    struct loop_signal *poke = loop_signal_new(t.loop, SIGUSR1, on_signal, &t);
    if (run_command(&t, command))
        loop_run(t.loop);
    else
        t.code = 2;
    timer_stop(loop_env(t.loop), &t.timer);
    reflector_free(t.reflector);
    lease_free(t.lease);
    event_recorder_free(t.events);
    kube_client_free(t.client);
    http_transport_free(t.http);
    loop_signal_free(term);
    loop_signal_free(poke);
    loop_free(t.loop);
    arena_done(&t.arena);
    return t.code;
}
