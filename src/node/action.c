#include "node/action.h"

#include "base/tree.h"
#include "base/timer.h"
#include "http/client.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/loop.h"

struct action {
    struct arena arena;
    struct action_place place;
    void (*done)(void *ctx, bool ok, const char *message);
    void *ctx;
    struct timer timer; /* the time limit; or, once there is a verdict, delivers it */
    bool decided, ok;
    const char *message;
    struct http_call *call;
    unsigned char answer[16]; /* of grpc */
    size_t answer_count;
    struct dial *dial;
    struct dial_options dial_options;
    struct runtime_task *task;
    const char *directory;
    bool sleeps;
};

static void let_go(struct action *a)
{
    if (a->call)
        http_call_cancel(take(a->call));
    if (a->dial)
        dial_cancel(take(a->dial));
    if (a->task) {
        const struct node_runtime *r = a->place.runtime;
        r->stop(r->self, a->task, true);
        r->release(r->self, take(a->task));
    }
    if (a->directory)
        tree_remove(take(a->directory), NULL);
    timer_stop(loop_env(a->place.loop), &a->timer);
}

static void action_free(struct action *a)
{
    let_go(a);
    arena_done(&a->arena);
    free(a);
}

void action_cancel(struct action *a)
{
    if (a)
        action_free(a);
}

/* Reported from the loop: the caller may be deep inside another module's callback. */
static void decide(struct action *a, bool ok, const char *message)
{
    if (a->decided)
        return;
    a->decided = true;
    a->ok = ok;
    a->message = message;
    timer_set(loop_env(a->place.loop), &a->timer, 0);
}

static void timer_fired(void *ctx)
{
    struct action *a = ctx;
    if (!a->decided) {
        a->decided = true;
        a->ok = a->sleeps;
        a->message = "it took too long";
    }
    void (*done)(void *ctx, bool ok, const char *message) = a->done;
    void *done_ctx = a->ctx;
    bool ok = a->ok;
    cleanup(arena_done) struct arena keep = ARENA_INIT;
    const char *message = arena_strdup(&keep, a->message);
    action_free(a);
    done(done_ctx, ok, message);
}

/* ---- http ---- */

static void http_head(void *ctx, const struct http_response *response)
{
    struct action *a = ctx;
    bool ok = response->status >= 200 && response->status < 400;
    decide(
        a, ok, arena_printf(&a->arena, "HTTP probe failed with statuscode: %d", response->status));
}

static void http_data(void *ctx, struct str bytes)
{
    (void)ctx, (void)bytes; /* the status is enough */
}

static void http_end(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct action *a = ctx;
    a->call = NULL;
    decide(a, false, arena_strdup(&a->arena, err ? err->text : ""));
}

static uint16_t port_of(const struct action *a, struct json handler)
{
    struct json port = json_get(handler, "port");
    int64_t number = json_is(port, JSON_INT) ? port.integer : 0;
    if (json_is(port, JSON_STR) && !str_to_int(str_of(json_text(port)), &number))
        number =
            json_get_int(json_find(json_get(a->place.container, "ports"), "name", json_text(port)),
                "containerPort",
                0);
    return number > 0 && number < 65536 ? (uint16_t)number : 0;
}

static const char *host_of(const struct action *a, struct json handler)
{
    const char *host = json_get_text(handler, "host");
    return text_empty(host) ? a->place.address : host;
}

static void start_http(struct action *a, struct json handler, int64_t timeout_ms)
{
    static const struct http_call_handlers handlers = { http_head, http_data, http_end, NULL };
    struct json list = json_get(handler, "httpHeaders");
    struct http_header *headers = arena_array(&a->arena, list.count + 2, sizeof(*headers));
    size_t count = 0;
    const char *authority = NULL;
    headers[count++] = (struct http_header){ STR("user-agent"), STR("kube-probe/leeboard") };
    json_each (h, list) {
        const char *name = json_get_text(*h, "name"), *value = json_get_text(*h, "value");
        if (str_eq_nocase(str_of(name), STR("host")))
            authority = value;
        else
            headers[count++] = (struct http_header){ str_of(name), str_of(value ? value : "") };
    }
    const char *path = json_get_text(handler, "path");
    bool secure = text_eq(json_get_text(handler, "scheme"), "HTTPS");
    path = text_empty(path) ? "/" : path;
    struct http_origin origin = { .host = host_of(a, handler),
        .port = port_of(a, handler),
        .tls = secure ? a->place.tls : NULL,
        .version = HTTP_1_ONLY };
    struct http_request request = { .origin = &origin,
        .method = "GET",
        .path = path[0] == '/' ? path : arena_printf(&a->arena, "/%s", path),
        .authority = authority,
        .headers = { headers, count },
        .timeouts = { .total_ms = timeout_ms } };
    a->call = http_call_open(a->place.http, &request, &handlers, a);
}

/* ---- grpc ---- */

/* One message of grpc.health.v1, after one byte of flags and four bytes of length. The request's
 * only field is the service, a string; the answer's is the status, a small number: both are field
 * 1. */
#define GRPC_HEAD 5
#define GRPC_SERVICE_MAX 120 /* so that the length fits one byte */

static void grpc_head(void *ctx, const struct http_response *response)
{
    struct action *a = ctx;
    struct str status = http_header_find(response->headers, "grpc-status");
    struct str why = http_header_find(response->headers, "grpc-message");
    if (response->status != 200)
        decide(a, false, arena_printf(&a->arena, "HTTP status %d", response->status));
    else if (status.len && !str_eq(status, STR("0")))
        decide(a,
            false,
            arena_printf(&a->arena,
                "grpc status %.*s: %.*s",
                (int)status.len,
                status.ptr,
                (int)why.len,
                why.ptr ? why.ptr : ""));
}

static void grpc_data(void *ctx, struct str bytes)
{
    struct action *a = ctx;
    for (size_t i = 0; i < bytes.len && a->answer_count < sizeof(a->answer); i++)
        a->answer[a->answer_count++] = (unsigned char)bytes.ptr[i];
}

static void grpc_end(void *ctx, const struct error *err, bool sent)
{
    static const char *const statuses[] = {
        "UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"
    };
    struct action *a = ctx;
    (void)sent;
    a->call = NULL;
    bool told = a->answer_count == GRPC_HEAD + 2 && a->answer[GRPC_HEAD] == 0x08;
    unsigned status = told ? a->answer[GRPC_HEAD + 1] : 0;
    if (err)
        decide(a, false, arena_strdup(&a->arena, err->text));
    else
        decide(a,
            status == 1,
            arena_printf(&a->arena,
                "service unhealthy (responded with \"%s\")",
                statuses[status < lengthof(statuses) ? status : 0]));
}

static void start_grpc(struct action *a, struct json handler, int64_t timeout_ms)
{
    static const struct http_call_handlers handlers = { grpc_head, grpc_data, grpc_end, NULL };
    static const struct http_header headers[] = {
        { STR("content-type"), STR("application/grpc") },
        { STR("te"), STR("trailers") },
        { STR("user-agent"), STR("kube-probe/leeboard") },
    };
    const char *service = json_get_text(handler, "service");
    size_t length = service ? strlen(service) : 0;
    if (length > GRPC_SERVICE_MAX) {
        decide(a, false, "grpc.service is too long");
        return;
    }
    char *body = arena_alloc(&a->arena, GRPC_HEAD + 2 + GRPC_SERVICE_MAX);
    size_t message = length ? length + 2 : 0;
    body[4] = (char)message;
    body[GRPC_HEAD] = 0x0a;
    body[GRPC_HEAD + 1] = (char)length;
    memcpy(body + GRPC_HEAD + 2, service ? service : "", length);
    struct http_origin origin = {
        .host = a->place.address, .port = port_of(a, handler), .version = HTTP_2_ONLY
    };
    struct http_request request = { .origin = &origin,
        .method = "POST",
        .path = "/grpc.health.v1.Health/Check",
        .headers = { headers, lengthof(headers) },
        .body = { body, GRPC_HEAD + message },
        .timeouts = { .total_ms = timeout_ms } };
    a->call = http_call_open(a->place.http, &request, &handlers, a);
}

/* ---- tcp ---- */

static void dialled(void *ctx, struct conn *conn, const struct error *err)
{
    struct action *a = ctx;
    a->dial = NULL;
    if (conn)
        conn_free(conn);
    decide(a, !err, arena_strdup(&a->arena, err ? err->text : ""));
}

static void start_tcp(struct action *a, struct json handler, int64_t timeout_ms)
{
    a->dial_options = (struct dial_options){ .host = host_of(a, handler),
        .port = port_of(a, handler),
        .connect_ms = timeout_ms,
        .tls_ms = timeout_ms,
        .fallback_ms = timeout_ms };
    a->dial = dial_start(a->place.loop, &a->dial_options, dialled, a);
}

/* ---- commands and sleep ---- */

static void command_ended(void *ctx)
{
    struct action *a = ctx;
    const struct node_runtime *r = a->place.runtime;
    int code = r->state(r->self, a->task).exit_code;
    decide(a, code == 0, arena_printf(&a->arena, "command terminated with exit code %d", code));
}

static void start_command(struct action *a, struct json handler, int64_t timeout_ms)
{
    (void)timeout_ms;
    struct json words = json_get(handler, "command");
    const char **argv = arena_array(&a->arena, words.count + 1, sizeof(*argv));
    for (uint32_t i = 0; i < words.count; i++) {
        argv[i] = json_text(words.items[i]);
        if (a->place.translate)
            argv[i] = a->place.translate(a->place.translate_ctx, &a->arena, argv[i]);
    }
    const struct env *env = loop_env(a->place.loop);
    a->directory = arena_printf(&a->arena,
        "%s/exec-%016llx",
        a->place.directory,
        (unsigned long long)env->random(env->ctx));
    struct runtime_spec spec = { .directory = a->directory,
        .argv = argv,
        .envp = a->place.envp,
        .cwd = a->place.cwd,
        .user = a->place.user,
        .no_new_privs = a->place.no_new_privs,
        .cgroup = a->place.cgroup };
    struct error err = { 0 };
    const struct node_runtime *r = a->place.runtime;
    a->task =
        words.count
            ? r->exec(
                  r->self, a->place.task, &spec, (struct runtime_watch){ command_ended, a }, &err)
            : NULL;
    if (!a->task)
        decide(a, false, arena_strdup(&a->arena, err.text));
}

static void start_sleep(struct action *a, struct json handler, int64_t timeout_ms)
{
    int64_t ms = json_get_int(handler, "seconds", 0) * 1000;
    a->sleeps = ms <= timeout_ms;
    timer_set(loop_env(a->place.loop), &a->timer, ms < timeout_ms ? ms : timeout_ms);
}

static const struct {
    const char *field;
    void (*start)(struct action *a, struct json handler, int64_t timeout_ms);
} kinds[] = { { "httpGet", start_http },
    { "grpc", start_grpc },
    { "tcpSocket", start_tcp },
    { "exec", start_command },
    { "sleep", start_sleep } };

bool action_known(struct json handler)
{
    for (size_t i = 0; i < lengthof(kinds); i++)
        if (json_present(json_get(handler, kinds[i].field)))
            return true;
    return false;
}

struct action *action_start(const struct action_place *place, struct json handler,
    int64_t timeout_ms, void (*done)(void *ctx, bool ok, const char *message), void *ctx)
{
    struct action *a = mem_new_of(struct action);
    arena_init(&a->arena, ARENA_LIMIT_DEFAULT);
    a->place = *place;
    a->place.address = arena_strdup(&a->arena, place->address);
    a->place.container = json_copy(&a->arena, place->container);
    a->done = done;
    a->ctx = ctx;
    handler = json_copy(&a->arena, handler);
    timer_init(&a->timer, timer_fired, a);
    timer_set(loop_env(place->loop), &a->timer, timeout_ms);
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct json of_kind = json_get(handler, kinds[i].field);
        if (json_present(of_kind)) {
            kinds[i].start(a, of_kind, timeout_ms);
            return a;
        }
    }
    decide(a, false, "a kind of handler that this node does not have");
    return a;
}
