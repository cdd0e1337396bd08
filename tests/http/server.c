#include "tests/http/rig.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/pem.h"

static const int each[] = { RIG_H1, RIG_H2, RIG_H1 | RIG_TLS, RIG_H2 | RIG_TLS };

/* What comes back for these bytes, to the end of the connection. */
static const char *talk(struct rig *r, struct str bytes)
{
    int fd = raw_connect(http_server_port(r->server));
    raw_send(fd, bytes);
    const char *answer = raw_read_until(r->loop, fd, NULL);
    close(fd);
    return answer;
}

static void check_starts(const char *text, const char *start)
{
    if (strncmp(text, start, strlen(start)) != 0)
        test_fail(__FILE__, __LINE__, "%s\ndoes not begin with\n%s", text, start);
}

TEST(server_answers_plain_http1)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    const char *got = talk(&r, STR("GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    check_starts(got, "HTTP/1.1 200 OK\r\nx-answer: yes\r\ndate: ");
    check(strstr(got, "GMT\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"));
    rig_close(&r);
}

TEST(server_serves_http10_with_an_end_of_the_connection)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    const char *got = talk(&r, STR("GET /chunks?10 HTTP/1.0\r\n\r\n"));
    check(!strstr(got, "chunked") && strstr(got, "\r\n\r\nabcdefghij"));
    rig_close(&r);
}

TEST(server_takes_absolute_targets_and_asterisk)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    talk(
        &r, STR("GET http://a.test/hello?x HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n"));
    check(strstr(r.seen_head, "path=/hello query=x authority=a.test"));
    talk(&r, STR("OPTIONS * HTTP/1.1\r\nHost: b.test\r\nConnection: close\r\n\r\n"));
    check(strstr(r.seen_head, "OPTIONS path=* query= authority=b.test"));
    rig_close(&r);
}

TEST(server_refuses_what_is_no_proper_request)
{
    static const struct {
        struct str bytes;
        const char *status;
    } cases[] = {
        { STR("nonsense\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /hello HTTP/1.1\r\n\r\n"), "HTTP/1.1 400 " }, /* no Host */
        { STR("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 400 Bad Request\r\n" },
        { STR("GET /%a HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /hello HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"),
            "HTTP/1.1 501 " },
        { STR("GET /hello HTTP/1.1\r\nHost: a\r\nExpect: much\r\n\r\n"), "HTTP/1.1 417 " },
        { STR("GET hello HTTP/1.1\r\nHost: a\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /hello HTTP/3.0\r\nHost: a\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /hello HTTP/2.0\r\nHost: a\r\n\r\n"), "HTTP/1.1 505 " },
        { STR("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"), "HTTP/1.1 501 " },
        { STR("GET /a HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n"), "HTTP/1.1 400 " },
        { STR("GET /a HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), "HTTP/1.1 400 " },
        /* request smuggling, in its usual forms */
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: "
              "chunked\r\n\r\n0\r\n\r\n"),
            "HTTP/1.1 400 " },
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
            "HTTP/1.1 400 " },
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello"),
            "HTTP/1.1 400 " },
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
            "HTTP/1.1 400 " },
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            "HTTP/1.1 400 " },
        { STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n"),
            "HTTP/1.1 413 " },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct rig r;
        rig_open(&r, RIG_H1);
        check_starts(talk(&r, cases[i].bytes), cases[i].status);
        check_int((int64_t)http_server_exchanges(r.server), 0);
        rig_close(&r);
    }
}

TEST(server_refuses_huge_heads)
{
    struct rig r;
    struct http_server_options so = { .limits = { 2000, 10 } };
    rig_open_with(&r, RIG_H1, &so, &(struct http_client_options){ 0 });
    char long_path[3000], many[3000] = "GET / HTTP/1.1\r\nHost: a\r\n";
    memset(long_path, 'a', sizeof(long_path));
    memcpy(long_path, "GET /", 5);
    check_starts(talk(&r, (struct str){ long_path, sizeof(long_path) }), "HTTP/1.1 431 ");
    size_t length = strlen(many);
    for (int i = 0; i < 20; i++)
        length += (size_t)snprintf(many + length, sizeof(many) - length, "x-%d: y\r\n", i);
    check_starts(talk(&r, (struct str){ many, length }), "HTTP/1.1 431 ");
    check_int(r.requests, 0);
    rig_close(&r);

    for (size_t i = 0; i < lengthof(each); i++) {
        struct seen got = { 0 };
        rig_open_with(&r, each[i], &so, &(struct http_client_options){ 0 });
        struct http_request request = rig_request(&r, "GET", "/hello");
        struct http_header wide = { STR("x-wide"), { long_path + 5, 2500 } };
        request.headers = (struct http_headers){ &wide, 1 };
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_int(got.status, 431);
        check_int(r.requests, 0);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(server_refuses_bodies_that_are_too_long)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen known = { 0 }, unknown = { .to_send = 3000000 };
        struct http_server_options so = { .body_bytes_max = 100000 };
        rig_open_with(&r, each[i], &so, &(struct http_client_options){ 0 });
        struct http_request request = rig_request(&r, "POST", "/sink");
        request.body = (struct str){ arena_alloc(test_arena(), 200000), 200000 };
        rig_send(&r, &request, &known);
        await(&r, known.ended);
        check_int(known.status, 413);
        check_int(r.requests, 0);
        request.body.len = 0;
        request.body_streamed = true;
        rig_send(&r, &request, &unknown);
        await(&r, unknown.ended && r.closed == 1);
        check_int(unknown.status, 413);
        check_int(r.last_err.code, ERR_TOO_LARGE);
        check(r.body_bytes <= 100000);
        seen_done(&known);
        seen_done(&unknown);
        rig_close(&r);
    }
}

TEST(pipelined_requests_are_answered_in_order_and_held_back)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    const char *got = talk(&r,
        STR("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody"
            "GET /empty HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
    check_int(r.requests, 3);
    const char *first = strstr(got, "\r\n\r\nhello"),
               *second = strstr(got, "4\r\nbody\r\n0\r\n\r\n");
    check(first && second && first < second && strstr(second, "HTTP/1.1 204 "));

    /* One that is never answered, and 40 MB of others behind it: they stay in the kernel. */
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd, STR("GET /hang HTTP/1.1\r\nHost: a\r\n\r\n"));
    await(&r, r.requests == 4);
    struct str more = STR("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    size_t total = 0;
    for (int quiet = 0; quiet < 10 && total < 40000000;) {
        ssize_t count = send(fd, more.ptr, more.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        total += count > 0 ? (size_t)count : 0;
        quiet = count < 0 ? quiet + 1 : 0;
        if (count < 0)
            rig_turn(r.loop);
    }
    check(total < 40000000);
    check_int(r.requests, 4);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
    close(fd); /* an end would be behind all those bytes; a reset is not */
    await(&r, r.failed == 1);
    rig_close(&r);
}

TEST(server_notices_that_the_client_left)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/half", &got);
        await(&r, got.datas == 1);
        check(!r.last_gone);
        http_call_cancel(got.call);
        await(&r, r.last_gone);
        check_int(r.last_err.code, ERR_UNAVAILABLE);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(server_notices_a_reset_while_the_body_is_held_back)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    r.hold_body = true;
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd, STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome"));
    await(&r, r.body_bytes == 4);
    rig_turn(r.loop);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
    close(fd);
    await(&r, r.failed == 1);
    rig_close(&r);
}

TEST(request_that_nobody_took_is_answered_500_and_a_split_header_too)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 }, split = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/untaken", &got);
        rig_get(&r, "/split", &split);
        await(&r, got.ended && split.ended);
        check_int(got.status, 500);
        check_int(split.status, 500);
        await(&r, http_server_exchanges(r.server) == 0);
        seen_done(&got);
        seen_done(&split);
        rig_close(&r);
    }
}

TEST(early_answer_does_not_wait_for_the_body)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { .to_send = 50000000 }, after = { 0 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "POST", "/hello");
        request.body_streamed = true;
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_text(buf_text(&got.body), "hello");
        check(got.sent_bytes < 50000000);
        rig_get(&r, "/hello", &after);
        await(&r, after.ended);
        check_text(after.err.text, "");
        seen_done(&got);
        seen_done(&after);
        rig_close(&r);
    }
}

TEST(client_that_expects_continue_gets_it)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd,
        STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
    raw_read_until(r.loop, fd, "HTTP/1.1 100 Continue\r\n\r\n");
    raw_send(fd, STR("body"));
    check_starts(raw_read_until(r.loop, fd, "\r\n\r\n4"), "HTTP/1.1 200 OK");
    close(fd);
    rig_close(&r);
}

/* ---- patience ---- */

TEST(slow_heads_and_idle_connections_are_closed)
{
    static const struct {
        struct http_server_options options;
        struct str bytes;
        int flags;
    } cases[] = {
        { { .header_ms = 50 }, STR(""), RIG_H1 },
        { { .header_ms = 50 }, STR(""), RIG_H1 | RIG_TLS },
        { { .header_ms = 50 }, STR("PRI * HTTP"), RIG_H1 },
        { { .header_ms = 50 }, STR("GET /hello HT"), RIG_H1 },
        { { .header_ms = 50 }, STR("GET /hello HTTP/1.1\r\nHost: a\r\nX-A"), RIG_H1 },
        { { .idle_ms = 50 }, STR("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n"), RIG_H1 },
        { { .idle_ms = 50 },
            STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
            RIG_H2 },
        { { .stall_ms = 50 },
            STR("POST /sink HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"),
            RIG_H1 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct rig r;
        rig_open_with(&r, cases[i].flags, &cases[i].options, &(struct http_client_options){ 0 });
        int fd = raw_connect(http_server_port(r.server));
        raw_send(fd, cases[i].bytes);
        check(raw_closed(r.loop, fd));
        close(fd);
        await(&r, http_server_connections(r.server) == 0);
        rig_close(&r);
    }
}

/* Whether the client had begun to read when it was cut. */
static bool reader_that_stops_is_cut(int flags, int64_t stall_ms)
{
    struct rig r;
    struct seen got = { .pause_always = true };
    struct http_server_options so = { .stall_ms = stall_ms };
    rig_open_with(&r, flags, &so, &(struct http_client_options){ 0 });
    rig_get(&r, "/chunks?900000000", &got);
    await(&r, r.failed == 1);
    check_int(r.last_err.code, ERR_TIMEOUT);
    check(r.written_bytes < 16000000);
    bool begun = got.datas >= 1;
    seen_done(&got);
    rig_close(&r);
    return begun;
}

TEST(client_that_does_not_read_is_cut)
{
    for (size_t i = 0; i < lengthof(each); i++)
        check(rig_patiently(reader_that_stops_is_cut, each[i]));
}

/* Not so if the machine was too busy for a handshake and a request within the limit. */
static bool slow_handler_is_left_alone(int flags, int64_t limit_ms)
{
    struct rig r;
    struct seen got = { 0 };
    struct http_server_options so = {
        .stall_ms = limit_ms, .header_ms = limit_ms, .idle_ms = limit_ms
    };
    rig_open_with(&r, flags, &so, &(struct http_client_options){ 0 });
    rig_get(&r, "/half", &got);
    await(&r, got.datas == 1 || got.ended);
    rig_turn_for(r.loop, 2 * limit_ms);
    bool alone = !got.ended && !r.last_gone;
    if (alone) {
        http_exchange_finish(r.last);
        await(&r, got.ended);
        check_text(got.err.text, "");
    }
    seen_done(&got);
    rig_close(&r);
    return alone;
}

TEST(handler_that_takes_its_time_is_not_cut)
{
    static const int flags[] = { RIG_H1, RIG_H2 | RIG_TLS };
    for (size_t i = 0; i < lengthof(flags); i++)
        check(rig_patiently(slow_handler_is_left_alone, flags[i]));
}

TEST(connections_beyond_the_limit_wait)
{
    struct rig r;
    struct http_server_options so = { .connections_max = 2 };
    rig_open_with(&r, RIG_H1, &so, &(struct http_client_options){ 0 });
    int fds[3];
    for (size_t i = 0; i < lengthof(fds); i++) {
        fds[i] = raw_connect(http_server_port(r.server));
        raw_send(fds[i], STR("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    await(&r, r.closed == 2);
    rig_turn_for(r.loop, 30);
    check_int((int64_t)http_server_connections(r.server), 2);
    check_int(r.requests, 2);
    close(fds[0]);
    await(&r, r.requests == 3);
    close(fds[1]);
    close(fds[2]);
    rig_close(&r);
}

TEST(connections_that_ask_nothing_make_room)
{
    struct rig r;
    struct http_server_options so = { .connections_max = 3 };
    rig_open_with(&r, RIG_H1, &so, &(struct http_client_options){ 0 });
    int silent[3];
    for (size_t i = 0; i < lengthof(silent); i++)
        silent[i] = raw_connect(http_server_port(r.server));
    await(&r, http_server_connections(r.server) == 3);
    raw_send(silent[2], STR("GET /hello HTT")); /* has not asked either */
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd, STR("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
    check(strstr(raw_read_until(r.loop, fd, "hello"), "200"));
    check(raw_closed(r.loop, silent[0]));
    check_int((int64_t)http_server_connections(r.server), 3);
    for (size_t i = 0; i < lengthof(silent); i++)
        close(silent[i]);
    close(fd);
    rig_close(&r);
}

/* ---- HTTP/2 by hand ---- */

static void add_frame(struct buf *b, int type, int flags, uint32_t stream, struct str payload)
{
    const char head[] = { (char)(payload.len >> 16),
        (char)(payload.len >> 8),
        (char)payload.len,
        (char)type,
        (char)flags,
        (char)(stream >> 24),
        (char)(stream >> 16),
        (char)(stream >> 8),
        (char)stream };
    buf_add(b, head, sizeof(head));
    buf_add(b, payload.ptr, payload.len);
}

static int h2_connect(struct rig *r, struct str settings)
{
    cleanup(buf_done) struct buf b = BUF_INIT(65536);
    int fd = raw_connect(http_server_port(r->server));
    buf_add_text(&b, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    add_frame(&b, 4, 0, 0, settings);
    raw_send(fd, buf_str(&b));
    return fd;
}

/* One large field goes into the table, then a byte stands for it each time. */
TEST(heads_that_unpack_to_megabytes_end_the_connection)
{
    struct rig r;
    rig_open(&r, RIG_H2);
    cleanup(buf_done) struct buf head = BUF_INIT(65536), b = BUF_INIT(65536);
    buf_add(&head,
        "\x82\x86\x84\x41\x01"
        "a"
        "\x40\x01"
        "x"
        "\x7f\x81\x1e",
        12);
    for (int i = 0; i < 127 + 3841; i++)
        buf_add_char(&head, 'y');
    for (int i = 0; i < 12000; i++)
        buf_add_char(&head, '\xbe');
    int fd = h2_connect(&r, STR(""));
    add_frame(&b, 1, 5, 1, buf_str(&head));
    raw_send(fd, buf_str(&b));
    check(raw_closed(r.loop, fd));
    check_int(r.requests, 0);
    close(fd);
    rig_close(&r);
}

/* Its window is closed: nothing of what it asks for can go out. */
TEST(client_that_asks_for_more_than_it_takes_is_cut)
{
    struct rig r;
    rig_open(&r, RIG_H2);
    int fd = h2_connect(&r, (struct str){ "\0\4\0\0\0\0", 6 });
    for (uint32_t i = 0; i < 100; i++) {
        cleanup(buf_done) struct buf b = BUF_INIT(65536);
        add_frame(&b,
            1,
            5,
            2 * i + 1,
            STR("\x82\x86\x41\x01"
                "a"
                "\x44\x06"
                "/whole"));
        raw_send(fd, buf_str(&b));
        rig_turn(r.loop);
    }
    check(raw_closed(r.loop, fd));
    check(r.requests > 50 && r.requests < 100);
    close(fd);
    rig_close(&r);
}

TEST(client_that_resets_streams_all_the_time_is_cut)
{
    struct rig r;
    rig_open(&r, RIG_H2);
    int reset = 0;
    while (reset < 2000 && http_client_stats(r.client).dialled < 2) {
        struct seen got = { 0 };
        int before = r.requests;
        rig_get(&r, "/hang", &got);
        await(&r, r.requests > before || got.ended);
        if (!got.ended)
            http_call_cancel(got.call);
        seen_done(&got);
        reset++;
    }
    check(reset > 300 && reset < 1000);
    rig_close(&r);
}

/* ---- the end ---- */

static void drained(void *ctx)
{
    *(bool *)ctx = true;
}

TEST(drain_lets_answers_finish_and_takes_no_new_ones)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen running = { 0 }, idle = { 0 }, late = { 0 };
        bool done = false;
        rig_open(&r, each[i]);
        rig_get(&r, "/hello", &idle);
        await(&r, idle.ended);
        rig_get(&r, "/half", &running);
        await(&r, running.datas == 1);
        http_server_drain(r.server, 60000, drained, &done);
        check(!done);
        rig_turn_for(r.loop, 50);
        check(!done && !running.ended);
        rig_get(&r, "/hello", &late);
        await(&r, late.ended);
        check(late.err.code == ERR_UNAVAILABLE && !late.sent);
        http_exchange_write(r.last, STR(" and half"));
        http_exchange_finish(r.last);
        await(&r, running.ended);
        check_text(running.err.text, "");
        check_text(buf_text(&running.body), "half and half");
        await(&r, done);
        seen_done(&running);
        seen_done(&idle);
        seen_done(&late);
        rig_close(&r);
    }
}

TEST(drain_cuts_what_does_not_finish)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen running = { 0 };
        bool done = false;
        rig_open(&r, each[i]);
        rig_get(&r, "/half", &running);
        await(&r, running.datas == 1);
        http_server_drain(r.server, 50, drained, &done);
        await(&r, done && running.ended);
        check_int(r.failed, 1);
        check_int(running.err.code, ERR_UNAVAILABLE);
        seen_done(&running);
        rig_close(&r);
    }
}

TEST(server_is_freed_with_exchanges_in_every_state)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen hang = { 0 }, half = { 0 }, upload = { .to_send = 9000000 };
        rig_open(&r, each[i]);
        r.hold_body = true;
        rig_get(&r, "/hang", &hang);
        rig_get(&r, "/half", &half);
        struct http_request request = rig_request(&r, "POST", "/sink");
        request.body_streamed = true;
        rig_send(&r, &request, &upload);
        await(&r, r.requests == 3 && r.body_bytes > 0);
        http_server_free(take(r.server));
        check_int(r.failed, 3);
        await(&r, hang.ended && half.ended && upload.ended);
        seen_done(&hang);
        seen_done(&half);
        seen_done(&upload);
        rig_close(&r);
    }
}

TEST(address_that_cannot_be_listened_on_is_named)
{
    struct loop *loop = loop_new();
    struct error err;
    struct http_server_options so = { .address = "192.0.2.1", .port = 80 };
    check_fails(http_server_new(loop, &so, &err), err, "listen on 192.0.2.1 port 80");
    so.address = "localhost";
    check_fails(http_server_new(loop, &so, &err), err, "listen on localhost");
    loop_free(loop);
}

#define UPGRADE "GET /upgrade HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"

/* What follows the request at once is the other protocol's already. */
TEST(server_becomes_another_protocol)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd, STR(UPGRADE "GET / HTTP/1.1\r\n"));
    const char *got = raw_read_until(r.loop, fd, "GET / HTTP/1.1\r\n");
    check_text(got,
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
        "x-answer: yes\r\n\r\nGET / HTTP/1.1\r\n");
    raw_send(fd, STR("\r\nbye!"));
    check_text(raw_read_until(r.loop, fd, NULL), "\r\nbye!");
    close(fd);
    await(&r, r.closed == 1);
    check_int(r.failed, 0);
    rig_close(&r);
}

/* Far more than is held anywhere, to somebody who reads only then. */
TEST(server_holds_back_both_ways_after_an_upgrade)
{
    enum { PIECES = 400 };
    static char piece[16 << 10];
    struct rig r;
    size_t sent = 0, got = 0;
    rig_open(&r, RIG_H1);
    memset(piece, 'p', sizeof(piece));
    int fd = raw_connect(http_server_port(r.server));
    raw_send(fd, STR(UPGRADE));
    raw_read_until(r.loop, fd, "\r\n\r\n");
    int idle = 0;
    while (sent < PIECES * sizeof(piece) && idle < 50) {
        ssize_t count = send(fd, piece, sizeof(piece), MSG_DONTWAIT | MSG_NOSIGNAL);
        idle = count > 0 ? 0 : idle + 1;
        sent += count > 0 ? (size_t)count : 0;
        rig_turn(r.loop);
    }
    while (got < sent) {
        ssize_t count = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
        got += count > 0 ? (size_t)count : 0;
        rig_turn(r.loop);
    }
    check_int((int64_t)got, (int64_t)sent);
    check_int((int64_t)r.body_bytes, (int64_t)sent);
    close(fd);
    await(&r, r.closed == 1);
    check_int(r.failed, 1);
    check_text(r.last_err.text, "the client went away");
    rig_close(&r);
}

TEST(the_limit_of_open_files_is_raised_as_far_as_it_may_be)
{
    struct rlimit was, now;
    check(getrlimit(RLIMIT_NOFILE, &was) == 0 && was.rlim_max > 512);
    now = (struct rlimit){ .rlim_cur = 512, .rlim_max = was.rlim_max };
    check(setrlimit(RLIMIT_NOFILE, &now) == 0);
    struct rig r;
    rig_open(&r, RIG_H1);
    rig_close(&r);
    check(getrlimit(RLIMIT_NOFILE, &now) == 0);
    check(now.rlim_cur == was.rlim_max);
    check(setrlimit(RLIMIT_NOFILE, &was) == 0);
}
