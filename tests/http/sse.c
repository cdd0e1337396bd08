#include "http/sse.h"

#include "base/arena.h"
#include "tests/test.h"

/* The events of a stream that arrives in pieces of one size, one line each. */
static const char *read_all(struct str all, size_t piece, size_t limit)
{
    struct buf out = BUF_INIT(1 << 20);
    struct sse_reader r;
    sse_reader_init(&r, limit);
    for (size_t at = 0; at < all.len; at += piece) {
        char copy[4096];
        size_t len = all.len - at < piece ? all.len - at : piece;
        memcpy(copy, all.ptr + at, len); /* the input is gone after each piece */
        struct str bytes = { copy, len };
        struct sse_event e;
        while (sse_read(&r, &bytes, &e))
            buf_printf(&out,
                "%.*s|%.*s|%.*s|%lld;",
                (int)e.type.len,
                e.type.ptr,
                (int)e.data.len,
                e.data.ptr,
                (int)e.id.len,
                e.id.ptr ? e.id.ptr : "",
                (long long)e.retry_ms);
        memset(copy, 'x', sizeof(copy));
    }
    if (sse_failed(&r))
        buf_add_text(&out, "failed");
    else if (sse_inside_event(&r))
        buf_add_text(&out, "inside");
    char *text = arena_strdup(test_arena(), buf_text(&out));
    sse_reader_done(&r);
    buf_done(&out);
    return text;
}

TEST(sse_reads_the_same_events_from_any_pieces)
{
    struct str stream =
        STR("\xef\xbb\xbf: hello\n\ndata: one\n\nevent: add\r\ndata:two\r\ndata: 2\r\n"
            "id: 7\r\n\r\ndata\rdata\r\rretry: 50\ndata:  x\n\nevent: none\n\ndata: cut");
    const char *want = "message|one||-1;add|two\n2|7|-1;message|\n|7|-1;message| x|7|50;inside";
    for (size_t piece = 1; piece <= stream.len; piece++)
        check_text(read_all(stream, piece, 64), want);
}

TEST(sse_ignores_unknown_fields_and_bad_numbers)
{
    check_text(read_all(STR("foo: 1\nretry: 1x\nretry: -1\nid: a\0b\ndata: y\n\n"), 9, 64),
        "message|y||-1;");
    check_text(read_all(STR("\xef\xbb data: y\ndata: z\n\n"), 1, 64), "message|z||-1;");
}

TEST(sse_refuses_an_event_beyond_its_limit)
{
    for (size_t piece = 1; piece < 40; piece++) {
        check_text(read_all(STR("data: a\n\ndata: 0123456789\n\ndata: b\n\n"), piece, 12),
            "message|a||-1;failed");
        check_text(read_all(STR("data: 012345\ndata: 012345\n\n"), piece, 12), "failed");
    }
}

TEST(sse_writes_what_it_reads)
{
    struct buf b = BUF_INIT(4096);
    sse_write(&b, &(struct sse_event){ .data = STR("a\r\nb\rc\n"), .retry_ms = -1 });
    sse_write(&b,
        &(struct sse_event){
            .type = STR("er\nror"), .id = STR("9"), .data = STR(""), .retry_ms = 10 });
    sse_write_comment(&b, STR("ping"));
    check_text(buf_text(&b),
        "data: a\ndata: b\ndata: c\ndata: \n\nevent: error\nid: 9\nretry: 10\ndata: \n\n:ping\n\n");
    check_text(read_all(buf_str(&b), 5, 64), "message|a\nb\nc\n||-1;error||9|10;");
    buf_done(&b);
}

TEST(sse_holds_no_memory_between_whole_events)
{
    struct sse_reader r;
    sse_reader_init(&r, 4096);
    struct str bytes = STR("data: whole\n\n");
    struct sse_event e;
    check(sse_read(&r, &bytes, &e));
    check(!sse_read(&r, &bytes, &e));
    check_int((int64_t)(r.line.size + r.data.size + r.type.size), 0);
    sse_reader_done(&r);
}
