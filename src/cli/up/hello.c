#include "cli/up/hello.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/client.h"
#include "kinds/llmkube/inference_service.h"
#include "kube/client.h"

#define EXAMPLE "What is a leeboard?"
#define ANSWER_TOKENS 32
#define ANSWER_BYTES_MAX (1 << 20)
#define ANSWER_MS 120000
/* The Service follows right after its pods; adopted objects are ready before all of our parts
 * are. */
#define AGAIN_MS 250
#define AGAIN_MAX 120

struct up_hello {
    struct up_hello_options options;
    struct arena arena;
    struct kube_op *op;
    struct http_call *call;
    const char *endpoint;
    struct timer again;
    int tries, status;
    struct buf answer;
};

static void say(struct up_hello *h, const char *format, ...) printf_like(2, 3);
static void say(struct up_hello *h, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    h->options.print(h->options.ctx, arena_vprintf(&h->arena, format, args));
    va_end(args);
}

/* ---- the first question ---- */

static void on_head(void *ctx, const struct http_response *response)
{
    ((struct up_hello *)ctx)->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    buf_add(&((struct up_hello *)ctx)->answer, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    (void)sent;
    struct up_hello *h = ctx;
    struct json answer;
    h->call = NULL;
    if ((err || h->status == 503) && ++h->tries < AGAIN_MAX) {
        timer_set(h->options.env, &h->again, AGAIN_MS);
        return;
    }
    struct str text = buf_str(&h->answer);
    bool read = !err && json_parse(&h->arena, text, &answer, NULL);
    const char *content = read ? json_get_text(answer, "choices.0.message.content") : NULL;
    if (content)
        say(h, "< %s", str_dup(&h->arena, str_trim(str_of(content))));
    else if (err)
        say(h, "no answer: %s", err->text);
    else
        say(h, "no answer: status %d %.*s", h->status, (int)text.len, text.ptr);
}

static void ask_first(void *ctx)
{
    struct up_hello *h = ctx;
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    static const struct http_header headers[] = {
        { { "content-type", 12 }, { "application/json", 16 } },
    };
    struct arena *a = &h->arena;
    struct url url;
    struct error err;
    if (!url_parse(a, h->endpoint, &url, &err)) {
        say(h, "%s", err.text);
        return;
    }
    struct json message =
        json_map(a, { "role", json_str("user") }, { "content", json_str(h->options.question) });
    struct json body = json_map(
        a, { "messages", json_list(a, message) }, { "max_tokens", json_int(ANSWER_TOKENS) });
    buf_reset(&h->answer);
    h->call = http_call_open(h->options.http,
        &(struct http_request){
            .origin = &(struct http_origin){ .host = url.host, .port = (uint16_t)url_port(&url) },
            .method = "POST",
            .path = url_target(a, &url),
            .headers = { headers, lengthof(headers) },
            .body = str_of(json_to_text(a, body)),
            .body_bytes_max = ANSWER_BYTES_MAX,
            .timeouts = { .first_byte_ms = ANSWER_MS, .total_ms = ANSWER_MS },
        },
        &handlers,
        h);
}

/* ---- the first service ---- */

static void say_how(struct up_hello *h, struct json service, const char *endpoint)
{
    struct arena *a = &h->arena;
    const char *model = "";
    if (h->options.url) {
        endpoint = arena_printf(a, "%s/chat/completions", h->options.url);
        model = arena_printf(a, "\"model\": \"%s\", ", json_get_text(service, "metadata.name"));
    }
    say(h, "curl %s -H 'Content-Type: application/json' \\", endpoint);
    say(h, "  -d '{%s\"messages\": [{\"role\": \"user\", \"content\": \"" EXAMPLE "\"}]}'", model);
}

static void listed(void *ctx, const struct kube_reply *reply)
{
    struct up_hello *h = ctx;
    h->op = NULL;
    json_each (service, json_get(reply->body, "items")) {
        const char *endpoint = json_get_text(*service, "status.endpoint");
        if (!endpoint)
            continue;
        say_how(h, *service, endpoint);
        if (h->options.question) {
            h->endpoint = arena_strdup(&h->arena, endpoint);
            say(h, "> %s", h->options.question);
            ask_first(h);
        }
        return;
    }
}

struct up_hello *up_hello_new(const struct up_hello_options *options)
{
    struct up_hello *h = mem_new_of(struct up_hello);
    h->options = *options;
    arena_init(&h->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&h->answer, ANSWER_BYTES_MAX);
    timer_init(&h->again, ask_first, h);
    h->op = kube_list(options->client,
        &(struct kube_list){ .what = { .resource = &LLMKUBE_INFERENCE_SERVICE } },
        (struct kube_then){ listed, h });
    return h;
}

void up_hello_free(struct up_hello *h)
{
    if (!h)
        return;
    if (h->op)
        kube_op_cancel(h->options.client, h->op);
    if (h->call)
        http_call_cancel(h->call);
    timer_stop(h->options.env, &h->again);
    buf_done(&h->answer);
    arena_done(&h->arena);
    free(h);
}
