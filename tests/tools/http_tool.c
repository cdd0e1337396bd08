/* The HTTP stack on a real wire, for tests/cluster/test_http.py.
 *
 *   http_tool get [OPTIONS] URL            calls, then one JSON object about them all
 *     --count N --parallel N --method M --body BYTES --streamed --h1 --h2 --ca FILE --proxy URL
 *     --read BYTES-PER-SECOND   --idle MS   --pause MS (between calls, with --parallel 1)
 *     --hold                    says "held" when every call has its first byte, "still held" at
 *                               ten times as many pieces, and stays until SIGTERM
 *   http_tool serve [--cert FILE --key FILE]       until SIGTERM; prints its port
 *     /hello   /echo   /sink (the count of what came)   /big?BYTES
 *     /drip (a line every 100 ms for ever)
 */

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/url.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"

struct tool {
    struct loop *loop;
    struct arena arena;
    struct http_client *client;
    struct http_server *server;
    /* get */
    struct http_origin origin;
    struct url url;
    const char *method, *ca, *proxy;
    int64_t count, parallel, body, read_rate, idle_ms, pause_ms;
    bool streamed, hold;
    int64_t started, running, ok, failed, sent_failures, bytes, first_bytes, pieces, http2;
    size_t most_buffered;
    int last_status;
    struct error last_err;
    struct timer next, slow;
    struct loop_signal *signal;
    /* serve */
    const char *cert, *key;
};

struct job {
    struct tool *tool;
    struct http_call *call;
    int64_t left; /* of a streamed body */
    bool begun;
    bool paused;
};

static const char filler[16384] = "leeboard";

static int64_t resident_kb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long total = 0, resident = 0;
    if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    if (f)
        fclose(f);
    return (int64_t)resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void say(struct tool *t, const char *state)
{
    struct http_client_stats stats = http_client_stats(t->client);
    struct json line = json_fields(&t->arena,
        { "state", json_str(state) },
        { "ok", json_int(t->ok) },
        { "failed", json_int(t->failed) },
        { "sentFailures", json_int(t->sent_failures) },
        { "status", json_int(t->last_status) },
        { "bytes", json_int(t->bytes) },
        { "http2", json_int(t->http2) },
        { "dialled", json_int((int64_t)stats.dialled) },
        { "retried", json_int((int64_t)stats.retried) },
        { "connections", json_int((int64_t)stats.connections) },
        { "mostBuffered", json_int((int64_t)t->most_buffered) },
        { "residentKb", json_int(resident_kb()) },
        { "error", json_str(t->last_err.text) });
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    json_print(&b, line);
    puts(buf_text(&b));
    fflush(stdout);
}

/* ---- get ---- */

static void start_some(void *ctx);

static void got_head(void *ctx, const struct http_response *response)
{
    struct job *job = ctx;
    job->tool->last_status = response->status;
    job->tool->http2 += response->http2;
}

static void got_data(void *ctx, struct str bytes)
{
    struct job *job = ctx;
    struct tool *t = job->tool;
    size_t buffered = http_client_stats(t->client).buffered_bytes;
    t->most_buffered = buffered > t->most_buffered ? buffered : t->most_buffered;
    t->bytes += (int64_t)bytes.len;
    if (!job->begun && ++t->first_bytes == t->count && t->hold)
        say(t, "held");
    job->begun = true;
    if (++t->pieces == 10 * t->count && t->hold)
        say(t, "still held");
    if (t->read_rate && !job->paused) {
        job->paused = true;
        http_call_pause(job->call);
        t->slow.ctx = job; /* with one call at a time */
        timer_set(loop_env(t->loop), &t->slow, (int64_t)bytes.len * 1000 / t->read_rate + 1);
    }
}

static void read_on(void *ctx)
{
    struct job *job = ctx;
    job->paused = false;
    http_call_resume(job->call);
}

static void got_end(void *ctx, const struct error *err, bool sent)
{
    struct job *job = ctx;
    struct tool *t = job->tool;
    timer_stop(loop_env(t->loop), &t->slow);
    t->running--;
    if (err) {
        t->failed++;
        t->sent_failures += sent;
        t->last_err = *err;
    } else {
        t->ok++;
    }
    free(job);
    timer_set(loop_env(t->loop), &t->next, t->pause_ms);
}

static void write_more(void *ctx)
{
    struct job *job = ctx;
    bool room = true;
    while (room && job->left > 0) {
        size_t count = job->left < (int64_t)sizeof(filler) ? (size_t)job->left : sizeof(filler);
        job->left -= (int64_t)count;
        room = http_call_write(job->call, (struct str){ filler, count });
    }
    if (job->left == 0) {
        job->left = -1;
        http_call_finish(job->call);
    }
}

static const struct http_call_handlers job_handlers = {
    .head = got_head,
    .data = got_data,
    .end = got_end,
    .more = write_more,
};

static void start_one(struct tool *t)
{
    struct job *job = mem_new_of(struct job);
    struct http_request request = {
        .origin = &t->origin,
        .method = t->method,
        .path = url_target(&t->arena, &t->url),
        .body_streamed = t->streamed,
        .timeouts.idle_ms = t->idle_ms,
        .timeouts.total_ms = t->hold || t->read_rate ? HTTP_NO_TIMEOUT : 300000,
    };
    char *body = NULL;
    if (t->body && !t->streamed) {
        body = mem_new((size_t)t->body);
        request.body = (struct str){ body, (size_t)t->body };
    }
    job->tool = t;
    job->left = t->body;
    t->started++;
    t->running++;
    job->call = http_call_open(t->client, &request, &job_handlers, job);
    free(body);
}

static void start_some(void *ctx)
{
    struct tool *t = ctx;
    while (t->started < t->count && t->running < t->parallel)
        start_one(t);
    if (t->running == 0)
        loop_stop(t->loop);
}

static int get(struct tool *t, const char *text)
{
    struct error err = { 0 };
    if (!url_parse(&t->arena, text, &t->url, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    t->origin.host = t->url.host;
    t->origin.port = (uint16_t)url_port(&t->url);
    t->origin.proxy_url = t->proxy;
    if (text_eq(t->url.scheme, "https"))
        t->origin.tls = tls_client_new(&(struct tls_client_options){ .ca_file = t->ca }, &err);
    if (err.code) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    t->client = http_client_new(t->loop, &(struct http_client_options){ 0 });
    timer_init(&t->next, start_some, t);
    timer_init(&t->slow, read_on, NULL);
    timer_set(loop_env(t->loop), &t->next, 0);
    loop_run(t->loop);
    say(t, "done");
    http_client_free(t->client);
    tls_context_unref(t->origin.tls);
    return t->failed ? 1 : 0;
}

/* ---- serve ---- */

struct reply {
    struct tool *tool;
    struct http_exchange *x;
    int64_t left, came;
    struct timer drip;
};

static void reply_closed(void *ctx, const struct error *err)
{
    struct reply *r = ctx;
    timer_stop(loop_env(r->tool->loop), &r->drip);
    printf("closed %s\n", err ? err->text : "ok");
    fflush(stdout);
    free(r);
}

static void reply_fill(void *ctx)
{
    struct reply *r = ctx;
    bool room = true;
    while (room && r->left > 0) {
        size_t count = r->left < (int64_t)sizeof(filler) ? (size_t)r->left : sizeof(filler);
        r->left -= (int64_t)count;
        room = http_exchange_write(r->x, (struct str){ filler, count });
    }
    if (r->left == 0) {
        r->left = -1;
        http_exchange_finish(r->x);
    }
}

static void reply_drip(void *ctx)
{
    struct reply *r = ctx;
    http_exchange_write(r->x, STR("drip\n"));
    timer_set(loop_env(r->tool->loop), &r->drip, 100);
}

static void echo_data(void *ctx, struct str bytes)
{
    struct reply *r = ctx;
    if (!http_exchange_write(r->x, bytes))
        http_exchange_pause(r->x);
}

static void sink_data(void *ctx, struct str bytes)
{
    ((struct reply *)ctx)->came += (int64_t)bytes.len;
}

static void sink_end(void *ctx)
{
    struct reply *r = ctx;
    char text[32];
    snprintf(text, sizeof(text), "%lld", (long long)r->came);
    http_exchange_reply(r->x, 200, "text/plain", str_of(text));
}

static void echo_drained(void *ctx)
{
    http_exchange_resume(((struct reply *)ctx)->x);
}

static void echo_end(void *ctx)
{
    http_exchange_finish(((struct reply *)ctx)->x);
}

static const struct http_exchange_handlers fill_handlers = {
    .drained = reply_fill,
    .closed = reply_closed,
};
static const struct http_exchange_handlers echo_handlers = {
    .data = echo_data,
    .end = echo_end,
    .drained = echo_drained,
    .closed = reply_closed,
};

static const struct http_exchange_handlers sink_handlers = {
    .data = sink_data,
    .end = sink_end,
    .closed = reply_closed,
};

static void on_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct reply *r = mem_new_of(struct reply);
    r->tool = ctx;
    r->x = x;
    r->left = -1;
    timer_init(&r->drip, reply_drip, r);
    bool echo = str_eq(head->path, STR("/echo")), drip = str_eq(head->path, STR("/drip"));
    bool sink = str_eq(head->path, STR("/sink"));
    http_exchange_take(x, sink ? &sink_handlers : echo ? &echo_handlers : &fill_handlers, r);
    if (sink)
        return;
    if (str_eq(head->path, STR("/big")) && str_to_int(head->query, &r->left)) {
        http_exchange_respond(x, 200, (struct http_headers){ 0 }, r->left);
        reply_fill(r);
    } else if (echo || drip) {
        http_exchange_respond(x, 200, (struct http_headers){ 0 }, -1);
        if (drip)
            reply_drip(r);
    } else if (str_eq(head->path, STR("/hello"))) {
        http_exchange_reply(x, 200, "text/plain", head->http2 ? STR("hello 2") : STR("hello 1"));
    } else {
        http_exchange_reply(x, 404, NULL, STR(""));
    }
}

static int serve(struct tool *t)
{
    struct error err = { 0 };
    struct http_server_options options = {
        .address = "127.0.0.1",
        .request = on_request,
        .ctx = t,
        .body_bytes_max = INT64_MAX,
    };
    struct tls_server_options tls = { .certificate_file = t->cert, .key_file = t->key };
    if (t->cert && !(options.tls = tls_server_new(&tls, &err))) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    t->server = http_server_new(t->loop, &options, &err);
    if (!t->server) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    tls_context_unref(options.tls);
    printf("port %u\n", http_server_port(t->server));
    fflush(stdout);
    loop_run(t->loop);
    printf("residentKb %lld\n", (long long)resident_kb());
    http_server_free(t->server);
    return 0;
}

/* ---- the command line ---- */

static void on_signal(void *ctx, int number)
{
    (void)number;
    loop_stop(((struct tool *)ctx)->loop);
}

static const struct {
    const char *name;
    size_t offset;
    enum { TEXT, NUMBER, FLAG } type;
} flags[] = {
    { "--count", offsetof(struct tool, count), NUMBER },
    { "--parallel", offsetof(struct tool, parallel), NUMBER },
    { "--body", offsetof(struct tool, body), NUMBER },
    { "--read", offsetof(struct tool, read_rate), NUMBER },
    { "--idle", offsetof(struct tool, idle_ms), NUMBER },
    { "--pause", offsetof(struct tool, pause_ms), NUMBER },
    { "--method", offsetof(struct tool, method), TEXT },
    { "--ca", offsetof(struct tool, ca), TEXT },
    { "--proxy", offsetof(struct tool, proxy), TEXT },
    { "--cert", offsetof(struct tool, cert), TEXT },
    { "--key", offsetof(struct tool, key), TEXT },
    { "--streamed", offsetof(struct tool, streamed), FLAG },
    { "--hold", offsetof(struct tool, hold), FLAG },
};

static bool read_flag(struct tool *t, char **argv, int *at)
{
    for (size_t i = 0; i < lengthof(flags); i++) {
        if (!text_eq(argv[*at], flags[i].name))
            continue;
        char *member = (char *)t + flags[i].offset;
        if (flags[i].type == FLAG)
            *(bool *)member = true;
        else if (flags[i].type == TEXT)
            *(const char **)member = argv[++*at];
        else
            return str_to_int(str_of(argv[++*at]), (int64_t *)member);
        return true;
    }
    if (text_eq(argv[*at], "--h1"))
        t->origin.version = HTTP_1_ONLY;
    else if (text_eq(argv[*at], "--h2"))
        t->origin.version = HTTP_2_ONLY;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct tool t = { .loop = loop_new(), .method = "GET", .count = 1, .parallel = 1 };
    arena_init(&t.arena, ARENA_LIMIT_DEFAULT);
    t.signal = loop_signal_new(t.loop, SIGTERM, on_signal, &t);
    const char *target = NULL;
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] != '-') {
            target = argv[i];
        } else if (!read_flag(&t, argv, &i)) {
            fprintf(stderr, "%s: unknown or without a value\n", argv[i] ?: "flag");
            return 2;
        }
    }
    int code = argc > 1 && text_eq(argv[1], "serve") ? serve(&t) : target ? get(&t, target) : 2;
    loop_signal_free(t.signal);
    loop_free(t.loop);
    arena_done(&t.arena);
    return code;
}
