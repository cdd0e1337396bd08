#include "cli/run/talk.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/url.h"
#include "cli/run/stream.h"
#include "http/client.h"

#define ANSWER_BYTES_MAX ((size_t)64 << 20)
/* On a slow machine a long prompt takes a while before the first word. */
#define FIRST_WORD_MS (3600 * (int64_t)1000)

struct message {
    bool ours;
    char *text;
};

struct talk {
    struct talk_options options;
    struct message *messages;
    size_t count, size;
    struct http_call *call;
    int status;
    struct stream stream;
    struct buf answer; /* the text so far; for an error, its body */
    struct error err;
};

static void add_piece(void *ctx, const char *text, bool thought)
{
    struct talk *t = ctx;
    if (!thought)
        buf_add_text(&t->answer, text);
    t->options.piece(t->options.ctx, text, thought);
}

struct talk *talk_new(const struct talk_options *options)
{
    struct talk *t = mem_new_of(struct talk);
    t->options = *options;
    buf_init(&t->answer, ANSWER_BYTES_MAX);
    stream_init(&t->stream, add_piece, t);
    return t;
}

void talk_forget(struct talk *t)
{
    while (t->count)
        free(t->messages[--t->count].text);
}

void talk_free(struct talk *t)
{
    if (!t)
        return;
    if (t->call)
        http_call_cancel(t->call);
    talk_forget(t);
    free(t->messages);
    stream_done(&t->stream);
    buf_done(&t->answer);
    free(t);
}

bool talk_is_busy(const struct talk *t)
{
    return t->call;
}

/* ---- messages ---- */

static void say(struct talk *t, bool ours, const char *text)
{
    if (t->count == t->size) {
        t->size = 2 * t->size + 16;
        t->messages = mem_resize(t->messages, t->size, sizeof(*t->messages));
    }
    t->messages[t->count++] = (struct message){ ours, mem_strdup(text) };
}

/* Removes a question without any answer: repeating it would send it twice. */
static void keep_answer(struct talk *t)
{
    if (t->answer.len)
        say(t, false, buf_text(&t->answer));
    else if (t->count)
        free(t->messages[--t->count].text);
}

static struct json message(struct arena *a, const char *role, const char *text)
{
    return json_map(a, { "role", json_str(role) }, { "content", json_str(text) });
}

static struct json body_of(struct talk *t, struct arena *a)
{
    struct json_builder list;
    json_builder_init(&list, a);
    if (t->options.system)
        json_push(&list, message(a, "system", t->options.system));
    for (size_t i = 0; i < t->count; i++)
        json_push(
            &list, message(a, t->messages[i].ours ? "user" : "assistant", t->messages[i].text));
    return json_map(a,
        { "model", json_str(t->options.model) },
        { "messages", json_list_end(&list) },
        { "max_tokens", json_int_or_absent(t->options.tokens_max) },
        { "stream", json_bool(true) });
}

/* ---- the answer ---- */

static void end(struct talk *t, const struct error *err)
{
    if (err && t->status != 200)
        buf_reset(&t->answer);
    keep_answer(t);
    t->options.ended(t->options.ctx, err, t->stream.cut);
}

static void on_head(void *ctx, const struct http_response *response)
{
    ((struct talk *)ctx)->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    struct talk *t = ctx;
    if (t->status != 200)
        buf_add(&t->answer, bytes.ptr, bytes.len);
    else if (t->err.code == ERR_NONE)
        (void)!stream_feed(&t->stream, bytes, &t->err);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct talk *t = ctx;
    struct error why = t->err;
    (void)sent;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    t->call = NULL;
    if (err && !why.code)
        why = *err;
    else if (t->status != 200)
        fail(&why, error_code_of_http(t->status), "%s", stream_error_text(&a, buf_str(&t->answer)));
    else if (!why.code && !t->stream.done)
        fail(&why, ERR_UNAVAILABLE, "the answer broke off");
    end(t, why.code ? &why : NULL);
}

void talk_ask(struct talk *t, const char *question)
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    cleanup(arena_done) struct arena a = { .limit = 2 * ANSWER_BYTES_MAX };
    struct url url;
    assert(!t->call);
    t->err = (struct error){ 0 };
    t->status = 0;
    buf_reset(&t->answer);
    stream_done(&t->stream);
    stream_init(&t->stream, add_piece, t);
    say(t, true, question);
    if (!url_parse(&a, t->options.url, &url, &t->err)) {
        struct error why = t->err;
        end(t, &why);
        return;
    }
    const char *bearer = t->options.key ? arena_printf(&a, "Bearer %s", t->options.key) : NULL;
    struct http_header headers[] = {
        { STR("content-type"), STR("application/json") },
        { STR("authorization"), str_of(bearer) },
    };
    t->call = http_call_open(t->options.http,
        &(struct http_request){
            .origin = &(struct http_origin){ .host = url.host, .port = (uint16_t)url_port(&url) },
            .method = "POST",
            .path = arena_printf(&a, "%s/chat/completions", url_target(&a, &url)),
            .headers = { headers, bearer ? 2 : 1 },
            .body = str_of(json_to_text(&a, body_of(t, &a))),
            .timeouts = { .first_byte_ms = FIRST_WORD_MS },
        },
        &handlers,
        t);
}

void talk_stop(struct talk *t)
{
    if (!t->call)
        return;
    http_call_cancel(t->call);
    t->call = NULL;
    if (t->status != 200)
        buf_reset(&t->answer);
    keep_answer(t);
}
