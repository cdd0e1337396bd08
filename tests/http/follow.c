#include "http/follow.h"

#include "base/arena.h"
#include "tests/test.h"

/* What one follower makes of a text in pieces of this size: its messages, each in brackets, with
 * "!" after one that is the last; then the rest, with "?" if it was lost. */
static const char *cut(struct follow *f, const char *text, size_t piece)
{
    char out[1024] = "[";
    size_t at = 0, length = strlen(text), written = 1;
    while (at < length) {
        size_t size = length - at < piece ? length - at : piece;
        size_t count = follow_feed(f, (struct str){ text + at, size });
        check(count <= size);
        written +=
            (size_t)snprintf(out + written, sizeof(out) - written, "%.*s", (int)count, text + at);
        at += count;
        if (follow_state(f) == FOLLOW_ENDED) {
            written += (size_t)snprintf(
                out + written, sizeof(out) - written, follow_is_last(f) ? "]!\n[" : "]\n[");
            follow_next(f);
        } else {
            check_int((int64_t)count, (int64_t)size);
        }
    }
    snprintf(out + written, sizeof(out) - written, follow_state(f) == FOLLOW_LOST ? "?" : "");
    return arena_strndup(test_arena(), out, strlen(out));
}

/* In pieces of every size it is the same. */
static const char *cut_requests(const char *text)
{
    const char *first = NULL;
    for (size_t piece = strlen(text); piece; piece--) {
        struct follow *f = follow_requests_new();
        const char *got = cut(f, text, piece);
        follow_free(f);
        first = first ?: got;
        check_text(got, first);
    }
    return first;
}

static const char *cut_answers(const char *request, const char *text)
{
    const char *first = NULL;
    for (size_t piece = strlen(text); piece; piece--) {
        struct follow *asked = follow_requests_new();
        check_int((int64_t)follow_feed(asked, str_of(request)), (int64_t)strlen(request));
        check_int(follow_state(asked), FOLLOW_ENDED);
        struct follow *f = follow_answers_new(asked);
        const char *got = cut(f, text, piece);
        follow_free(f);
        follow_free(asked);
        first = first ?: got;
        check_text(got, first);
    }
    return first;
}

#define GET "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define HEAD "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
#define CHUNKED                                                                                    \
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: "   \
    "b\r\n\r\n"
#define UPGRADE "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

TEST(follow_finds_where_requests_end)
{
    check_text(
        cut_requests(GET POST CHUNKED HEAD), "[" GET "]\n[" POST "]\n[" CHUNKED "]\n[" HEAD "]\n[");
    check_text(cut_requests("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"),
        "[GET / HTTP/1.1\r\nConnection: close\r\n\r\n]!\n[");
    check_text(cut_requests("GET / HTTP/1.0\r\n\r\n"), "[GET / HTTP/1.0\r\n\r\n]!\n[");
    check_text(cut_requests("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET),
        "[GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n]\n[" GET "]\n[");
    /* What is said before an upgrade is agreed to waits like another request. */
    check_text(cut_requests(UPGRADE GET), "[" UPGRADE "]\n[" GET "]\n[");
    check_text(cut_requests("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
        "[CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n]\n[");
    check_text(cut_requests("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell"),
        "[POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell");
}

TEST(follow_is_lost_in_what_is_no_http_1)
{
    check_text(
        cut_requests("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "[PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n?");
    check_text(cut_requests("GET / HTTP/2.0\r\n\r\n"), "[GET / HTTP/2.0\r\n\r\n?");
    check_text(cut_requests("\x16\x03\x01"), "[\x16\x03\x01?");
    check_text(cut_requests("get key\r\n"), "[get key\r\n?");
    check_text(cut_requests("GET key\r\n"), "[GET key\r\n?");
    check_text(cut_requests(GET "hello"), "[" GET "]\n[hello?");
    check_text(cut_requests("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        "[POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx?");
    check_text(cut_answers(GET, "220 ready\r\n"), "[220 ready\r\n?");
}

TEST(follow_finds_where_answers_end)
{
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
#define LAST "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
#define STREAM                                                                                     \
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\nyou\r\n0\r\n\r\n"
#define INTERIM "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    check_text(cut_answers(GET, OK "hello"), "[" OK "hello]\n[");
    check_text(cut_answers(GET, STREAM OK "hello"), "[" STREAM "]\n[" OK "hello]\n[");
    check_text(cut_answers(GET, LAST), "[" LAST "]!\n[");
    check_text(cut_answers(HEAD, OK OK), "[" OK "]\n[" OK "]\n[");
    check_text(cut_answers(POST, INTERIM OK "hello"), "[" INTERIM OK "hello]\n[");
    static const char *const without_body[] = { "204 No Content", "304 Not Modified" };
    for (size_t i = 0; i < lengthof(without_body); i++) {
        const char *text =
            arena_printf(test_arena(), "HTTP/1.1 %s\r\nContent-Length: 5\r\n\r\n", without_body[i]);
        check_text(cut_answers(GET, text), arena_printf(test_arena(), "[%s]\n[", text));
    }
    /* Only the end of the connection ends this one. */
    check_text(
        cut_answers(GET, "HTTP/1.1 200 OK\r\n\r\nhello" OK), "[HTTP/1.1 200 OK\r\n\r\nhello" OK);
    check_text(cut_answers(GET, "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"),
        "[HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx]!\n[");
}

TEST(follow_stops_where_another_protocol_begins)
{
#define SWITCH                                                                                     \
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    check_text(cut_answers(UPGRADE, SWITCH "\x81\x05hello"), "[" SWITCH "\x81\x05hello?");
    check_text(cut_answers(UPGRADE, OK "hello"), "[" OK "hello]\n["); /* it may be declined */
    check_text(cut_answers(GET, "HTTP/1.1 101 So\r\n\r\nx"), "[HTTP/1.1 101 So\r\n\r\nx?");
    static const char connect[] = "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n";
    check_text(cut_answers(connect, "HTTP/1.1 200 OK\r\n\r\nabc"), "[HTTP/1.1 200 OK\r\n\r\nabc?");
    check_text(cut_answers(connect, "HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\nx"),
        "[HTTP/1.1 403 No\r\nContent-Length: 1\r\n\r\nx]\n[");
}

TEST(follow_knows_what_may_be_done_twice)
{
    static const struct {
        const char *text;
        bool may_act;
    } cases[] = {
        { GET, false },
        { HEAD, false },
        { "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", false },
        { "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", false },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r", false },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", true },
        { "PATCH / HTTP/1.1\r\nHost: a\r\n\r\n", true },
        { "", false },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct follow *f = follow_requests_new();
        size_t count = follow_feed(f, str_of(cases[i].text));
        check_int((int64_t)count, (int64_t)strlen(cases[i].text));
        check_int(follow_may_act(f), cases[i].may_act);
        follow_free(f);
    }
}
