/* Load for an API server, ours or another, for bench/apiserver: TLS and HTTP/1.1, each connection
 * with one request at a time.
 *
 *   api_load KUBECONFIG send CONNECTIONS COUNT METHOD PATH [BODY]
 *   api_load KUBECONFIG watch WATCHERS COUNT PATH BODY
 *
 * A "%d" in PATH or BODY becomes the number of the request. The second form opens watches of PATH,
 * then posts COUNT bodies there one after the other, and ends when every watcher has had a line for
 * each. Prints one JSON object; microseconds are from sending to the last byte of the answer, or to
 * the line's arrival at a watcher. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "http/client.h"
#include "http/loop.h"
#include "base/url.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define RUN_TIMEOUT_MS 600000
#define COUNT_MAX 10000000

struct load {
    struct loop *loop;
    struct http_client *client;
    struct http_origin origin;
    const char *authorization, *method, *path, *body;
    size_t count, connections, sent, done, refused, watchers, watching, open;
    uint64_t bytes;
    int64_t *sent_us; /* by request */
    uint32_t *took_us;
    size_t took_count;
    struct error failure; /* the first */
};

struct call {
    struct load *load;
    size_t number; /* of the request; of a watcher: lines so far */
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void note(struct load *l, size_t number)
{
    l->took_us[l->took_count++] = (uint32_t)(now_us() - l->sent_us[number]);
}

/* A copy with "%d" replaced; NULL stays. */
static const char *numbered(struct arena *a, const char *text, size_t number)
{
    const char *mark = text ? strstr(text, "%d") : NULL;
    if (!mark)
        return text;
    return arena_printf(a, "%.*s%zu%s", (int)(mark - text), text, number, mark + 2);
}

static void open_call(struct load *l, const char *method, const char *path, const char *body,
    const struct http_call_handlers *handlers, struct call *c)
{
    struct http_header headers[4] = { { STR("accept"), STR("application/json") } };
    size_t count = 1;
    if (l->authorization)
        headers[count++] = (struct http_header){ STR("authorization"), str_of(l->authorization) };
    if (body)
        headers[count++] = (struct http_header){ STR("content-type"), STR("application/json") };
    l->open++;
    (void)!http_call_open(l->client,
        &(struct http_request){
            .origin = &l->origin,
            .method = method,
            .path = path,
            .headers = { headers, count },
            .body = str_of(body ? body : ""),
        },
        handlers,
        c);
}

/* ---- requests ---- */

static void send_next(struct load *l);

static void on_head(void *ctx, const struct http_response *response)
{
    struct call *c = ctx;
    c->load->refused += response->status >= 300;
}

static void on_data(void *ctx, struct str bytes)
{
    struct call *c = ctx;
    c->load->bytes += bytes.len;
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct call *c = ctx;
    struct load *l = c->load;
    (void)sent;
    if (err && !l->failure.code)
        l->failure = *err;
    if (!l->watchers)
        note(l, c->number);
    free(c);
    l->open--;
    l->done++;
    send_next(l);
}

static void send_next(struct load *l)
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    if (l->sent == l->count)
        return;
    struct arena a;
    arena_init(&a, ARENA_LIMIT_DEFAULT);
    struct call *c = mem_new_of(struct call);
    *c = (struct call){ l, l->sent++ };
    const char *path = numbered(&a, l->path, c->number);
    const char *body = numbered(&a, l->body, c->number);
    l->sent_us[c->number] = now_us();
    open_call(l, l->method, path, body, &handlers, c);
    arena_done(&a);
}

/* ---- watches ---- */

static void on_watch_head(void *ctx, const struct http_response *response)
{
    struct call *c = ctx;
    struct load *l = c->load;
    if (response->status != 200)
        fail(&l->failure, ERR_INVALID, "a watch was answered %d", response->status);
    if (++l->watching == l->watchers)
        send_next(l);
}

static void on_watch_data(void *ctx, struct str bytes)
{
    struct call *c = ctx;
    struct load *l = c->load;
    l->bytes += bytes.len;
    const char *at = bytes.ptr, *end = bytes.ptr + bytes.len;
    while (c->number < l->count && (at = memchr(at, '\n', (size_t)(end - at)))) {
        note(l, c->number++);
        at++;
    }
}

static void on_watch_end(void *ctx, const struct error *err, bool sent)
{
    struct call *c = ctx;
    struct load *l = c->load;
    (void)sent;
    if (!l->failure.code)
        fail(&l->failure, ERR_INVALID, "a watch ended: %s", err ? err->text : "by the server");
}

static void start_watches(struct load *l, struct arena *a)
{
    static const struct http_call_handlers handlers = {
        on_watch_head, on_watch_data, on_watch_end, NULL
    };
    const char *path = arena_printf(a, "%s?watch=1", l->path);
    for (size_t i = 0; i < l->watchers; i++) {
        struct call *c = arena_new(a, struct call);
        c->load = l;
        open_call(l, "GET", path, NULL, &handlers, c);
    }
}

/* ---- the run ---- */

static bool all_done(void *ctx)
{
    struct load *l = ctx;
    size_t wanted = l->count * (l->watchers ? l->watchers : 1);
    return l->failure.code || (l->took_count >= wanted && l->done == l->count);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void print_result(struct load *l, int64_t took_us)
{
    size_t n = l->took_count;
    qsort(l->took_us, n, sizeof(*l->took_us), by_size);
    printf("{\"count\": %zu, \"refused\": %zu, \"seconds\": %.6f, \"bytes\": %llu, "
           "\"p50_us\": %u, \"p99_us\": %u}\n",
        n,
        l->refused,
        (double)took_us / 1e6,
        (unsigned long long)l->bytes,
        l->took_us[n / 2],
        l->took_us[n * 99 / 100]);
}

static bool run_load(struct load *l, struct arena *a, struct error *err)
{
    l->sent_us = arena_array(a, l->count, sizeof(*l->sent_us));
    l->took_us = arena_array(a, l->count * (l->watchers ? l->watchers : 1), sizeof(*l->took_us));
    int64_t start_us = now_us();
    if (l->watchers)
        start_watches(l, a);
    for (size_t i = 0; !l->watchers && i < l->connections; i++)
        send_next(l);
    bool ended = loop_run_until(l->loop, all_done, l, RUN_TIMEOUT_MS);
    if (l->failure.code) {
        *err = l->failure;
        return false;
    }
    if (!ended)
        return fail(err, ERR_TIMEOUT, "%zu of %zu answers came", l->done, l->count);
    print_result(l, now_us() - (l->watchers ? l->sent_us[0] : start_us));
    return true;
}

static void nothing(void *ctx)
{
    (void)ctx;
}

static bool run(struct load *l, const char *kubeconfig, struct error *err)
{
    struct arena a;
    arena_init(&a, (size_t)4 << 30);
    struct kube_config config;
    struct url server;
    l->loop = loop_new();
    bool ok = kube_config_load(
                  &a, &(struct kube_config_options){ .kubeconfig = kubeconfig }, &config, err) &&
              url_parse(&a, config.server, &server, err);
    if (ok) {
        struct credentials *who =
            credentials_new(l->loop, loop_env(l->loop), &config, nothing, NULL);
        ok = credentials_ready(who) && !credentials_error(who);
        if (!ok)
            fail(err, ERR_INVALID, "%s has no usable credentials", kubeconfig);
        l->authorization = credentials_header(who);
        l->origin = (struct http_origin){
            .host = server.host,
            .port = (uint16_t)url_port(&server),
            .tls = credentials_tls(who),
            .version = HTTP_1_ONLY,
        };
        l->client = http_client_new(
            l->loop, &(struct http_client_options){ .connections_max = l->connections });
        ok = ok && run_load(l, &a, err);
        http_client_free(l->client);
        credentials_free(who);
    }
    loop_free(l->loop);
    arena_done(&a);
    return ok;
}

static bool read_arguments(struct load *l, int count, char **arguments)
{
    int64_t width, requests;
    if (count < 6 || !str_to_int(str_of(arguments[3]), &width) || width < 1 || width > 4096 ||
        !str_to_int(str_of(arguments[4]), &requests) || requests < 1 || requests > COUNT_MAX)
        return false;
    l->count = (size_t)requests;
    l->connections = (size_t)width;
    if (strcmp(arguments[2], "send") == 0 && count <= 8 && count > 6) {
        l->method = arguments[5];
        l->path = arguments[6];
        l->body = count == 8 ? arguments[7] : NULL;
        return true;
    }
    l->watchers = (size_t)width;
    l->connections = l->watchers + 1;
    l->method = "POST";
    l->path = arguments[5];
    l->body = count == 7 ? arguments[6] : NULL;
    return strcmp(arguments[2], "watch") == 0 && l->body;
}

int main(int count, char **arguments)
{
    struct load l = { 0 };
    struct error err = { 0 };
    if (!read_arguments(&l, count, arguments)) {
        fprintf(stderr,
            "usage: api_load KUBECONFIG send CONNECTIONS COUNT METHOD PATH [BODY]\n"
            "       api_load KUBECONFIG watch WATCHERS COUNT PATH BODY\n");
        return 2;
    }
    if (run(&l, arguments[1], &err))
        return 0;
    fprintf(stderr, "api_load: %s\n", err.text);
    return 1;
}
