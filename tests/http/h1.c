#include "http/wire.h"

#include "tests/test.h"

/* A client's wire without a connection: what an answer, in pieces of any size, turns into. */

struct heard {
    struct env env;
    struct timers timers;
    struct wire *wire;
    struct stream *stream;
    char text[512];
    bool over;
};

static int64_t still(void *ctx)
{
    (void)ctx;
    return 1;
}

static void add(struct heard *h, const char *text)
{
    size_t length = strlen(h->text);
    snprintf(h->text + length, sizeof(h->text) - length, "%s", text);
}

static void on_head(void *ctx, const struct wire_head *head)
{
    char text[64];
    snprintf(text, sizeof(text), "%d/%lld:", head->status, (long long)head->body_bytes);
    add(ctx, text);
}

static void on_data(void *ctx, struct str bytes)
{
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)bytes.len, bytes.ptr);
    add(ctx, text);
}

static void on_closed(void *ctx, const struct error *err, bool sent)
{
    struct heard *h = ctx;
    (void)sent;
    h->over = true;
    h->stream = NULL;
    add(h, err ? "!" : ".");
    if (err)
        add(h, err->text);
}

static const struct stream_handlers handlers = {
    .head = on_head,
    .data = on_data,
    .closed = on_closed,
};

static void do_nothing(void *ctx)
{
    (void)ctx;
}

static void set_reading(void *ctx, bool on)
{
    (void)ctx, (void)on;
}

static const struct wire_owner owner = { .kick = do_nothing, .set_reading = set_reading };

static void hear(struct heard *h, const char *method, const char *answer, size_t piece)
{
    *h = (struct heard){ .env = { .mono_ms = still, .timers = &h->timers } };
    h->wire = wire_h1_new(&h->env, &(struct wire_config){ 0 }, &owner, NULL);
    struct wire_head head = {
        .method = str_of(method),
        .target = STR("/"),
        .authority = STR("a"),
    };
    h->stream = wire_open(h->wire, &head, &handlers, h);
    stream_send_whole(h->stream, STR(""));
    while (wire_output(h->wire).len)
        ;
    for (size_t at = 0, all = strlen(answer); at < all && !h->over; at += piece) {
        wire_feed(h->wire, (struct str){ answer + at, all - at < piece ? all - at : piece });
        wire_step(h->wire);
    }
    if (!h->over) {
        wire_eof(h->wire);
        wire_step(h->wire);
    }
    if (h->wire->failed)
        wire_abort(h->wire, h->wire->err);
}

static const struct {
    const char *method, *answer, *heard;
    bool reusable;
} cases[] = {
    { "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200/2:ok.", true },
    { "GET", "HTTP/1.1 204 No Content\r\n\r\n", "204/0:.", true },
    { "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", "304/0:.", true },
    { "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "200/99:.", true },
    { "GET", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200/0:.", true },
    { "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nT: "
        "u\r\n\r\n",
        "200/-1:abcd.",
        true },
    { "GET",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
        "HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx",
        "201/1:x.",
        true },
    { "GET", "HTTP/1.1 200 OK\r\n\r\nto the end", "200/-1:to the end.", false },
    { "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "200/2:ok.",
        false },
    { "GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200/2:ok.", false },
    { "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",
        "200/5:ok!the server closed before it had answered",
        false },
    { "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        "200/-1:abc!the server closed before it had answered",
        false },
    { "GET", "", "!the server closed before it had answered", false },
    { "GET",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "!answer is not proper HTTP: the server "
        "switched protocols unasked",
        false },
};

TEST(http1_answers_are_read_in_pieces_of_any_size)
{
    for (size_t i = 0; i < lengthof(cases); i++)
        for (size_t piece = 1; piece < 200; piece += 13) {
            struct heard h;
            hear(&h, cases[i].method, cases[i].answer, piece);
            check_text(h.text, cases[i].heard);
            check_int(wire_capacity(h.wire) > 0, cases[i].reusable);
            wire_free(h.wire);
            timers_done(&h.timers);
        }
}

TEST(http1_answers_that_are_nonsense_are_errors)
{
    static const char *const nonsense[] = {
        "hello\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0",
        "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
    };
    for (size_t i = 0; i < lengthof(nonsense); i++) {
        struct heard h;
        hear(&h, "GET", nonsense[i], 5);
        check(h.over && strstr(h.text, "!answer is not proper HTTP"));
        check(h.wire->failed);
        wire_free(h.wire);
        timers_done(&h.timers);
    }
}

TEST(http1_connection_is_not_used_after_more_than_the_answer)
{
    struct heard h;
    hear(&h, "GET", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", 500);
    check_text(h.text, "200/2:ok.");
    check_int((int64_t)wire_capacity(h.wire), 0);
    wire_free(h.wire);
}
