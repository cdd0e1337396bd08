#include "cli/run/stream.h"

#include "base/str.h"
#include "tests/test.h"

static void add(void *ctx, const char *text, bool thought)
{
    buf_printf(ctx, thought ? "(%s)" : "%s", text);
}

TEST(an_answer_is_read_in_pieces_of_any_size)
{
    static const char text[] =
        ": a comment\r\n"
        "data: {\"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": null}}]}\r\n\r\n"
        "data: {\"choices\": [{\"delta\": {\"reasoning_content\": \"hm\"}}]}\n\n"
        "data:{\"choices\": [{\"delta\": {\"content\": \"A\"}}]}\n\n"
        "data: {\"choices\": [{\"delta\": {\"content\": \"hoy\"}, \"finish_reason\": "
        "\"length\"}]}\n"
        "\ndata: [DONE]\n\n";
    for (size_t size = 1; size < sizeof(text); size += 7) {
        struct buf got = BUF_INIT(1000);
        struct stream s;
        struct error err;
        stream_init(&s, add, &got);
        for (size_t at = 0; at < sizeof(text) - 1; at += size) {
            size_t left = sizeof(text) - 1 - at;
            check(stream_feed(&s, (struct str){ text + at, left < size ? left : size }, &err));
        }
        check_text(buf_text(&got), "(hm)Ahoy");
        check(s.done && s.cut);
        stream_done(&s);
        buf_done(&got);
    }
}

TEST(an_error_in_an_answer_is_told_in_the_servers_words)
{
    static const char *const lines[] = {
        "data: {\"error\": {\"message\": \"the context is full\"}}\n\n",
        "event: error\ndata: {\"error\": \"the context is full\"}\n\n",
    };
    for (size_t i = 0; i < lengthof(lines); i++) {
        struct buf got = BUF_INIT(1000);
        struct stream s;
        struct error err;
        stream_init(&s, add, &got);
        check_fails(stream_feed(&s, str_of(lines[i]), &err), err, "the context is full");
        stream_done(&s);
        buf_done(&got);
    }
    struct stream s;
    struct error err;
    stream_init(&s, add, NULL);
    check_fails(stream_feed(&s, STR("data: {nonsense\n\n"), &err), err, "cannot be read");
    stream_done(&s);
    check_text(stream_error_text(test_arena(), STR("{\"error\": {\"message\": \"no\"}}")), "no");
    check_text(stream_error_text(test_arena(), STR("plain words\n")), "plain words");
    check_text(stream_error_text(test_arena(), STR("")), "it says nothing");
}
