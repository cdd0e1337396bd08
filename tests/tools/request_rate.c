/* Sends given requests to an API server over our own HTTP stack, as fast as it takes them and with
 * nothing behind them: what the operator's rate of writes is held against (bench/run).
 *
 *   request_rate KUBECONFIG KEYS < FILE
 *
 * A line of the file is a list of steps, a step a list of requests that go out together; the next
 * step waits for their answers. KEYS lines are under way at once, as the engine has keys.
 *
 *   [ [ { "method": …, "path": …, "type": …, "body": text, "until": text }, … ], … ]
 *
 * With "until", the request ends where this text comes in its answer: a stream.
 * Prints { "requests": …, "refused": …, "milliseconds": … }. Fails when one gets no answer. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/timer.h"
#include "http/loop.h"
#include "kube/config.h"
#include "kube/http_transport.h"

#define REQUEST_TIMEOUT_MS 60000
/* For everything. */
#define RUN_TIMEOUT_MS 3600000

struct rate {
    const struct kube_transport *transport;
    struct json *lines;
    size_t line_count, line_next, lines_open;
    size_t requests, refused;
    struct error failure; /* the first */
};

/* A line under way. */
struct row {
    struct rate *rate;
    struct json steps;
    size_t step, pending;
};

struct request {
    struct row *row;
    struct kube_call *call;
    const char *until; /* NULL: its own end */
    size_t matched;    /* bytes of it that the last data ended with */
};

static void start_row(struct rate *r);
static void next_step(struct row *row);

static void request_end(struct request *q)
{
    struct row *row = q->row;
    free(q);
    if (--row->pending == 0)
        next_step(row);
}

static void on_head(void *ctx, const struct kube_head *head)
{
    struct request *q = ctx;
    q->row->rate->refused += head->status >= 300;
}

/* Good for a text whose first character does not come again in it. */
static void on_data(void *ctx, struct str bytes)
{
    struct request *q = ctx;
    for (size_t i = 0; q->until && i < bytes.len; i++) {
        if (bytes.ptr[i] == q->until[q->matched])
            q->matched++;
        else
            q->matched = bytes.ptr[i] == q->until[0];
        if (q->until[q->matched])
            continue;
        kube_cancel(q->row->rate->transport, q->call);
        request_end(q);
        return;
    }
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct request *q = ctx;
    struct rate *r = q->row->rate;
    (void)sent;
    if (err && !r->failure.code)
        r->failure = *err;
    request_end(q);
}

static const struct kube_handlers handlers = { on_head, on_data, on_end };

static void send_request(struct row *row, struct json request)
{
    const char *body = json_get_text(request, "body");
    struct request *q = mem_new_of(struct request);
    q->row = row;
    q->until = json_get_text(request, "until");
    row->pending++;
    row->rate->requests++;
    q->call = kube_open(row->rate->transport,
        &(struct kube_request){
            .method = json_get_text(request, "method"),
            .path = json_get_text(request, "path"),
            .content_type = json_get_text(request, "type"),
            .body = str_of(body ? body : ""),
            .timeout_ms = REQUEST_TIMEOUT_MS,
        },
        &handlers,
        q);
}

static void next_step(struct row *row)
{
    struct rate *r = row->rate;
    if (row->step < row->steps.count) {
        struct json step = row->steps.items[row->step++];
        json_each (request, step)
            send_request(row, *request);
        return;
    }
    free(row);
    r->lines_open--;
    start_row(r);
}

static void start_row(struct rate *r)
{
    if (r->line_next == r->line_count)
        return;
    struct row *row = mem_new_of(struct row);
    *row = (struct row){ .rate = r, .steps = r->lines[r->line_next++] };
    r->lines_open++;
    next_step(row);
}

static bool all_done(void *ctx)
{
    struct rate *r = ctx;
    return r->failure.code || r->lines_open == 0;
}

static bool read_lines(struct arena *a, struct rate *r, struct error *err)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    bool ok = true;
    while (ok && (length = getline(&line, &size, stdin)) > 0) {
        struct json steps;
        ok = json_parse(a, (struct str){ line, (size_t)length }, &steps, err) &&
             (json_is(steps, JSON_LIST) || fail(err, ERR_INVALID, "expected a list of steps"));
        if (!ok) {
            fail_in(err, "line %zu", r->line_count + 1);
            break;
        }
        r->lines = mem_resize(r->lines, r->line_count + 1, sizeof(*r->lines));
        r->lines[r->line_count++] = steps;
    }
    free(line);
    return ok;
}

static bool send_all(struct rate *r, struct loop *loop, size_t keys, struct error *err)
{
    const struct env *env = loop_env(loop);
    int64_t start_ms = env_mono_ms(env);
    for (size_t i = 0; i < keys; i++)
        start_row(r);
    bool ended = loop_run_until(loop, all_done, r, RUN_TIMEOUT_MS);
    if (r->failure.code) {
        *err = r->failure;
        return false;
    }
    if (!ended)
        return fail(err, ERR_INTERNAL, "%zu lines are not done", r->lines_open);
    printf("{\"requests\": %zu, \"refused\": %zu, \"milliseconds\": %lld}\n",
        r->requests,
        r->refused,
        (long long)(env_mono_ms(env) - start_ms));
    return true;
}

static bool run(const char *kubeconfig, size_t keys, struct error *err)
{
    struct arena a;
    arena_init(&a, (size_t)4 << 30);
    struct kube_config_options where = { .kubeconfig = kubeconfig };
    struct kube_config config;
    struct rate r = { 0 };
    struct loop *loop = loop_new();
    struct http_transport *transport = NULL;
    bool ok = kube_config_load(&a, &where, &config, err) && read_lines(&a, &r, err);
    if (ok)
        transport = http_transport_new(loop,
            &(struct http_transport_options){
                .config = &config,
                .user_agent = "request-rate/" LEEBOARD_VERSION,
            },
            err);
    if (transport) {
        r.transport = http_transport_kube(transport);
        ok = send_all(&r, loop, keys, err);
    }
    http_transport_free(transport);
    loop_free(loop);
    free(r.lines);
    arena_done(&a);
    return ok && transport;
}

int main(int count, char **arguments)
{
    struct error err;
    int64_t keys;
    if (count != 3 || !str_to_int(str_of(arguments[2]), &keys) || keys < 1) {
        fprintf(stderr, "usage: request_rate KUBECONFIG KEYS < FILE\n");
        return 2;
    }
    if (run(arguments[1], (size_t)keys, &err))
        return 0;
    fprintf(stderr, "request_rate: %s\n", err.text);
    return 1;
}
