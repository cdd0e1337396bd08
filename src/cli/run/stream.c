#include "cli/run/stream.h"

#include "base/json.h"
#include "base/str.h"

#define EVENT_BYTES_MAX ((size_t)4 << 20)
#define TEXT_SHOWN_MAX 300

void stream_init(
    struct stream *s, void (*piece)(void *ctx, const char *text, bool thought), void *ctx)
{
    *s = (struct stream){ .piece = piece, .ctx = ctx };
    sse_reader_init(&s->reader, EVENT_BYTES_MAX);
}

void stream_done(struct stream *s)
{
    sse_reader_done(&s->reader);
}

static const char *message_of(struct json body)
{
    const char *text = json_get_text(body, "error.message");
    return text ? text : json_get_text(body, "error");
}

const char *stream_error_text(struct arena *a, struct str body)
{
    struct json read;
    body = str_trim(body);
    const char *text = body.len && json_parse(a, body, &read, NULL) ? message_of(read) : NULL;
    if (text)
        return text;
    return body.len
               ? arena_strndup(a, body.ptr, body.len < TEXT_SHOWN_MAX ? body.len : TEXT_SHOWN_MAX)
               : "it says nothing";
}

static void tell(struct stream *s, const char *text, bool thought)
{
    if (!text_empty(text))
        s->piece(s->ctx, text, thought);
}

static bool take_event(struct stream *s, struct str data, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json event;
    if (str_eq(data, STR("[DONE]"))) {
        s->done = true;
        return true;
    }
    if (!json_parse(&a, data, &event, err))
        return fail_in(err, "a piece of the answer cannot be read");
    const char *error = message_of(event);
    if (error)
        return fail(err, ERR_INTERNAL, "%s", error);
    struct json choice = json_get(event, "choices.0");
    const char *thought = json_get_text(choice, "delta.reasoning_content");
    tell(s, thought ? thought : json_get_text(choice, "delta.reasoning"), true);
    tell(s, json_get_text(choice, "delta.content"), false);
    s->cut = s->cut || text_eq(json_get_text(choice, "finish_reason"), "length");
    return true;
}

bool stream_feed(struct stream *s, struct str bytes, struct error *err)
{
    struct sse_event event;
    while (sse_read(&s->reader, &bytes, &event))
        if (!take_event(s, str_trim(event.data), err))
            return false;
    return !sse_failed(&s->reader) ||
           fail(err, ERR_TOO_LARGE, "a piece of the answer is longer than 4 MiB");
}
