#include "tests/http/rig.h"

#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/http/pem.h"

/* Every test that says "each" runs four times. */
static const int each[] = { RIG_H1, RIG_H2, RIG_H1 | RIG_TLS, RIG_H2 | RIG_TLS };

TEST(call_gets_status_header_and_body_by_each_protocol)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/hello", &got);
        check(!got.ended && got.heads == 0); /* nothing from inside open */
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int(got.status, 200);
        check_text(buf_text(&got.body), "hello");
        check_text(got.header, "yes");
        check_int(got.body_bytes, 5);
        check_int(got.heads, 1);
        check_int(got.http2, each[i] & RIG_H2);
        await(&r, r.closed == 1);
        check_int(r.failed, 0);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(call_tells_the_server_what_it_asks)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "POST", "/inspect/a%20b?c=d");
        request.authority = "example.test";
        request.headers = HTTP_HEADERS({ STR("X-Test"), STR("value") },
            { STR("Connection"), STR("upgrade") },
            { STR("Content-Length"), STR("7") });
        request.body = STR("four");
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int(got.status, 404);
        const char *want = arena_printf(test_arena(),
            "POST path=/inspect/a%%20b query=c=d authority=example.test x=value body=4 h2=%d "
            "tls=%d peer=-/- remote=127.0.0.1",
            each[i] & RIG_H2,
            (each[i] & RIG_TLS) / RIG_TLS);
        check_text(r.seen_head, want);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(call_streams_both_ways_at_once)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { .to_send = 3000000 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "POST", "/echo");
        request.body_streamed = true;
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int((int64_t)got.received, 3000000);
        check_int((int64_t)r.body_bytes, 3000000);
        check(got.more_calls > 10); /* it was held back, and let go on */
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(call_sends_a_large_body_whole_and_one_of_known_length_in_parts)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen whole = { 0 }, parts = { .to_send = 1000000 };
        rig_open(&r, each[i]);
        char *body = arena_alloc(test_arena(), 2000000);
        struct http_request request = rig_request(&r, "PUT", "/sink");
        request.body = (struct str){ body, 2000000 };
        rig_send(&r, &request, &whole);
        await(&r, whole.ended);
        check_text(buf_text(&whole.body), "2000000");
        request.body.len = 0;
        request.body_streamed = true;
        request.body_bytes = 1000000;
        rig_send(&r, &request, &parts);
        await(&r, parts.ended);
        check_text(buf_text(&parts.body), "3000000");
        check(strstr(r.seen_head, "body=1000000"));
        seen_done(&whole);
        seen_done(&parts);
        rig_close(&r);
    }
}

/* The server has 64 MB to say; a reader that does not read must stop it early, and no byte may be
 * lost or doubled when it goes on. */
TEST(slow_reader_holds_the_server_back_and_memory_stays_small)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { .pause_always = true };
        rig_open(&r, each[i]);
        rig_get(&r, "/chunks?64000000", &got);
        await(&r, got.datas == 1);
        size_t before;
        do { /* until nothing moves any more */
            before = r.written_bytes;
            rig_turn_for(r.loop, 25);
        } while (r.written_bytes != before);
        check_int(got.datas, 1);
        check(http_client_stats(r.client).buffered_bytes <= 300000);
        /* The rest is in the kernel's socket buffers (HTTP/1) or in the window (HTTP/2). */
        check(r.written_bytes < 16000000);
        if (each[i] & RIG_H2)
            check(r.written_bytes < 700000);
        got.pause_always = false;
        http_call_resume(got.call);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int((int64_t)got.received, 64000000);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(slow_server_holds_the_upload_back)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { .to_send = 64000000 };
        rig_open(&r, each[i]);
        r.hold_body = true;
        struct http_request request = rig_request(&r, "POST", "/sink");
        request.body_streamed = true;
        rig_send(&r, &request, &got);
        size_t before;
        await(&r, r.body_bytes > 0);
        do {
            before = got.sent_bytes;
            rig_turn_for(r.loop, 25);
        } while (got.sent_bytes != before);
        check(got.sent_bytes < 16000000);
        check(http_client_stats(r.client).buffered_bytes <= 100000);
        r.hold_body = false;
        http_exchange_resume(r.last);
        await(&r, got.ended);
        check_text(buf_text(&got.body), "64000000");
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(pause_before_the_head_holds_the_end_back_too)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/hello", &got);
        http_call_pause(got.call);
        await(&r, got.heads == 1);
        rig_turn_for(r.loop, 50);
        check(!got.ended && got.datas == 0);
        http_call_resume(got.call);
        await(&r, got.ended);
        check_text(buf_text(&got.body), "hello");
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(protocol_is_what_alpn_says_and_http1_without_tls)
{
    static const int flags[] = { RIG_H1, RIG_H1 | RIG_TLS };
    for (size_t i = 0; i < lengthof(flags); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, flags[i]);
        r.origin.version = HTTP_ANY;
        rig_get(&r, "/hello", &got);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int(got.http2, flags[i] & RIG_TLS ? 1 : 0);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(many_calls_share_one_http2_connection)
{
    struct rig r;
    static struct seen got[100];
    memset(got, 0, sizeof(got));
    rig_open(&r, RIG_H2 | RIG_TLS);
    for (size_t i = 0; i < lengthof(got); i++)
        rig_get(&r, "/chunks?100000", &got[i]);
    for (size_t i = 0; i < lengthof(got); i++) {
        await(&r, got[i].ended);
        check_text(got[i].err.text, "");
        check_int((int64_t)got[i].received, 100000);
        seen_done(&got[i]);
    }
    check_int((int64_t)http_client_stats(r.client).dialled, 1);
    check_int((int64_t)http_server_connections(r.server), 1);
    rig_close(&r);
}

TEST(another_http2_connection_is_opened_when_the_streams_of_one_are_used_up)
{
    struct rig r;
    struct seen got[7] = { 0 };
    struct http_server_options so = { .streams_max = 3 };
    rig_open_with(&r, RIG_H2 | RIG_TLS, &so, &(struct http_client_options){ 0 });
    for (size_t i = 0; i < lengthof(got); i++)
        rig_get(&r, "/half", &got[i]);
    for (size_t i = 0; i < lengthof(got); i++)
        await(&r, got[i].datas == 1);
    check_int((int64_t)http_client_stats(r.client).connections, 3);
    for (size_t i = 0; i < lengthof(got); i++) {
        http_call_cancel(got[i].call);
        seen_done(&got[i]);
    }
    await(&r, r.closed == 7);
    rig_close(&r);
}

TEST(http1_connections_are_reused_and_limited)
{
    struct rig r;
    struct seen got[6] = { 0 };
    rig_open_with(&r,
        RIG_H1,
        &(struct http_server_options){ 0 },
        &(struct http_client_options){ .connections_max = 2 });
    for (size_t i = 0; i < lengthof(got); i++)
        rig_get(&r, "/hello", &got[i]);
    for (size_t i = 0; i < lengthof(got); i++) {
        await(&r, got[i].ended);
        check_text(buf_text(&got[i].body), "hello");
        seen_done(&got[i]);
    }
    check(http_client_stats(r.client).dialled <= 2);
    rig_close(&r);
}

TEST(cancel_is_quiet_in_every_state)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen before = { 0 }, waiting = { 0 }, unanswered = { 0 }, running = { 0 };
        struct seen at_head = { .cancel_at_head = true }, at_data = { .cancel_at_data = true };
        struct seen paused = { .pause_always = true }, after = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/hello", &before);
        http_call_cancel(before.call);
        rig_get(&r, "/hello", &waiting);
        rig_turn(r.loop);
        http_call_cancel(waiting.call);
        rig_get(&r, "/hang", &unanswered);
        await(&r, r.requests == 1);
        http_call_cancel(unanswered.call);
        await(&r, r.failed == 1);
        rig_get(&r, "/half", &running);
        await(&r, running.datas == 1);
        http_call_cancel(running.call);
        rig_get(&r, "/half", &at_head);
        await(&r, at_head.heads == 1);
        rig_get(&r, "/half", &at_data);
        await(&r, at_data.datas == 1);
        rig_get(&r, "/chunks?9000000", &paused);
        await(&r, paused.datas == 1);
        http_call_cancel(paused.call);
        await(&r, r.failed == 5);
        rig_get(&r, "/hello", &after);
        await(&r, after.ended);
        check_text(buf_text(&after.body), "hello");
        check(!before.ended && !waiting.ended && !unanswered.ended && !running.ended);
        check(!at_head.ended && !at_data.ended && !paused.ended && before.heads == 0);
        check_int((int64_t)http_client_stats(r.client).calls, 0);
        struct seen *all[] = { &before, &waiting, &unanswered, &running, &at_head, &at_data };
        for (size_t k = 0; k < lengthof(all); k++)
            seen_done(all[k]);
        seen_done(&paused);
        seen_done(&after);
        rig_close(&r);
    }
}

TEST(client_is_freed_with_calls_in_every_state)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen waiting = { 0 }, running = { 0 }, paused = { .pause_always = true };
        rig_open(&r, each[i]);
        rig_get(&r, "/half", &running);
        rig_get(&r, "/chunks?9000000", &paused);
        await(&r, running.datas == 1 && paused.datas == 1);
        rig_get(&r, "/hello", &waiting);
        http_client_free(take(r.client));
        await(&r, r.failed == 2);
        check(!running.ended && !waiting.ended);
        seen_done(&waiting);
        seen_done(&running);
        seen_done(&paused);
        rig_close(&r);
    }
}

TEST(answer_that_is_cut_is_an_error)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        rig_get(&r, "/abort", &got);
        await(&r, got.ended);
        check_int(got.err.code, ERR_UNAVAILABLE);
        check(got.sent);
        await(&r, r.closed == 1);
        check_int(r.last_err.code, ERR_CANCELLED);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(head_and_204_have_no_body_and_keep_the_connection)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen head = { 0 }, empty = { 0 }, got = { 0 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "HEAD", "/big?1000");
        rig_send(&r, &request, &head);
        await(&r, head.ended);
        check_text(head.err.text, "");
        check_int((int64_t)head.received, 0);
        rig_get(&r, "/empty", &empty);
        await(&r, empty.ended);
        check_text(empty.err.text, "");
        check_int(empty.status, 204);
        rig_get(&r, "/hello", &got);
        await(&r, got.ended);
        check_int((int64_t)http_client_stats(r.client).dialled, 1);
        seen_done(&head);
        seen_done(&empty);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(answer_longer_than_asked_for_is_refused)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "GET", "/chunks?5000000");
        request.body_bytes_max = 100000;
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_int(got.err.code, ERR_TOO_LARGE);
        check(got.received <= 100000);
        await(&r, r.failed == 1);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(answer_with_a_huge_head_is_refused)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 }, fine = { 0 };
        rig_open_with(&r,
            each[i],
            &(struct http_server_options){ 0 },
            &(struct http_client_options){ .limits.header_bytes_max = 8000 });
        rig_get(&r, "/wide?9000", &got);
        await(&r, got.ended);
        check_int(got.err.code, ERR_TOO_LARGE);
        check_int(got.heads, 0);
        rig_get(&r, "/wide?7000", &fine);
        await(&r, fine.ended);
        check_int(fine.status, 200);
        seen_done(&got);
        seen_done(&fine);
        rig_close(&r);
    }
}

TEST(request_that_would_split_is_refused)
{
    struct rig r;
    struct seen value = { 0 }, path = { 0 };
    rig_open(&r, RIG_H1);
    struct http_request request = rig_request(&r, "GET", "/hello");
    request.headers = HTTP_HEADERS({ STR("x-a"), STR("1\r\nx-b: 2") });
    rig_send(&r, &request, &value);
    check(!value.ended);
    request.headers.count = 0;
    request.path = "/hello HTTP/1.1\r\nx: y";
    rig_send(&r, &request, &path);
    await(&r, value.ended && path.ended);
    check_int(value.err.code, ERR_INVALID);
    check_int(path.err.code, ERR_INVALID);
    check(!value.sent && !path.sent);
    check_int(r.requests, 0);
    seen_done(&value);
    seen_done(&path);
    rig_close(&r);
}

/* ---- timeouts: each phase has its own ---- */

TEST(silence_before_the_head_times_out)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "GET", "/hang");
        request.timeouts.first_byte_ms = 60;
        rig_send(&r, &request, &got);
        await(&r, got.ended);
        check_int(got.err.code, ERR_TIMEOUT);
        check(strstr(got.err.text, "no answer within 60 ms"));
        check(got.sent);
        await(&r, r.failed == 1); /* the server is told */
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(silence_in_the_body_times_out_unless_it_is_our_pause)
{
    for (size_t i = 0; i < lengthof(each); i++) {
        struct rig r;
        struct seen got = { 0 }, paused = { .pause_always = true };
        rig_open(&r, each[i]);
        struct http_request request = rig_request(&r, "GET", "/half");
        request.timeouts.idle_ms = 60;
        rig_send(&r, &request, &got);
        rig_send(&r, &request, &paused);
        await(&r, got.ended);
        check_int(got.err.code, ERR_TIMEOUT);
        check_text(buf_text(&got.body), "half");
        rig_turn_for(r.loop, 100);
        check(!paused.ended);
        http_call_resume(paused.call);
        await(&r, paused.ended);
        check_int(paused.err.code, ERR_TIMEOUT);
        seen_done(&got);
        seen_done(&paused);
        rig_close(&r);
    }
}

/* Whether any byte came within the time; if the machine was too busy for that, nothing is shown. */
static bool bytes_flow_until(int flags, int64_t total_ms)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, flags);
    struct http_request request = rig_request(&r, "GET", "/chunks?99000000000");
    request.timeouts.total_ms = total_ms;
    rig_send(&r, &request, &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_TIMEOUT);
    bool flowed = got.received > 0;
    if (flowed)
        await(&r, r.failed == 1);
    seen_done(&got);
    rig_close(&r);
    return flowed;
}

TEST(total_time_is_limited_even_while_bytes_flow)
{
    for (size_t i = 0; i < lengthof(each); i++)
        check(rig_patiently(bytes_flow_until, each[i]));
}

TEST(call_does_not_wait_for_a_connection_for_ever)
{
    struct rig r;
    struct seen holder = { 0 }, got = { 0 };
    rig_open_with(&r,
        RIG_H1,
        &(struct http_server_options){ 0 },
        &(struct http_client_options){ .connections_max = 1 });
    rig_get(&r, "/half", &holder);
    await(&r, holder.datas == 1);
    struct http_request request = rig_request(&r, "GET", "/hello");
    request.timeouts.wait_ms = 50;
    rig_send(&r, &request, &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_TIMEOUT);
    check(!got.sent);
    seen_done(&holder);
    seen_done(&got);
    rig_close(&r);
}

/* ---- gzip ---- */

static struct str gzip(struct str plain)
{
    z_stream z = { 0 };
    deflateInit2(&z, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
    size_t size = deflateBound(&z, plain.len);
    char *packed = arena_alloc(test_arena(), size);
    z.next_in = (Bytef *)(uintptr_t)plain.ptr;
    z.avail_in = (uInt)plain.len;
    z.next_out = (Bytef *)packed;
    z.avail_out = (uInt)size;
    check_int(deflate(&z, Z_FINISH), Z_STREAM_END);
    struct str result = { packed, size - z.avail_out };
    deflateEnd(&z);
    return result;
}

/* A server of one packed answer, which may be cut short. */
static void serve_packed(struct loop *loop, int listener, struct str packed, size_t cut)
{
    int fd = raw_accept(loop, listener);
    const char *request = raw_read_until(loop, fd, "\r\n\r\n");
    check(strstr(request, "accept-encoding: gzip\r\n"));
    char head[128];
    int length = snprintf(head,
        sizeof(head),
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
        packed.len - cut);
    raw_send(fd, (struct str){ head, (size_t)length });
    raw_send(fd, (struct str){ packed.ptr, packed.len - cut });
    close(fd);
}

TEST(gzip_is_unpacked_with_pauses_and_limits)
{
    char *plain = arena_alloc(test_arena(), 3000000);
    for (size_t i = 0; i < 3000000; i++)
        plain[i] = (char)('a' + i % 7);
    struct str packed = gzip((struct str){ plain, 3000000 });
    check(packed.len < 30000); /* far more comes out of one read than went in */
    struct rig r;
    rig_open(&r, RIG_H1);
    uint16_t port;
    int listener = raw_listen(&port);
    r.origin.port = port;
    struct http_request request = rig_request(&r, "GET", "/");
    request.gunzip = true;
    struct seen got = { .pause_always = true };
    rig_send(&r, &request, &got);
    serve_packed(r.loop, listener, packed, 0);
    int pauses = 0;
    while (!got.ended) {
        int datas = got.datas;
        await(&r, got.datas > datas || got.ended);
        check(got.datas <= datas + 1); /* one piece per resume */
        rig_turn(r.loop);
        if (!got.ended)
            http_call_resume(got.call);
        pauses++;
    }
    check_text(got.err.text, "");
    check_int((int64_t)got.received, 3000000);
    check(pauses > 100);

    struct seen bomb = { 0 };
    request.body_bytes_max = 100000;
    rig_send(&r, &request, &bomb);
    serve_packed(r.loop, listener, packed, 0);
    await(&r, bomb.ended);
    check_int(bomb.err.code, ERR_TOO_LARGE);

    struct seen cut = { 0 };
    request.body_bytes_max = 0;
    rig_send(&r, &request, &cut);
    serve_packed(r.loop, listener, packed, 10);
    await(&r, cut.ended);
    check_int(cut.err.code, ERR_UNAVAILABLE);
    check(strstr(cut.err.text, "ends too early"));
    close(listener);
    seen_done(&got);
    seen_done(&bomb);
    seen_done(&cut);
    rig_close(&r);
}
