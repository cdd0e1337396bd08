#include "tests/http/rig.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the pool does when connections end at bad moments. The servers are raw sockets, so that each
 * moment can be chosen. */

struct bad {
    struct rig r;
    int listener;
};

static void bad_open(struct bad *b, int flags, const struct http_client_options *client)
{
    rig_open_with(&b->r, flags, &(struct http_server_options){ 0 }, client);
    b->listener = raw_listen(&b->r.origin.port);
}

static void bad_close(struct bad *b)
{
    close(b->listener);
    rig_close(&b->r);
}

static void answer_one(struct bad *b, int fd)
{
    raw_read_until(b->r.loop, fd, "\r\n\r\n");
    raw_send(fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
}

static void reset_on_close(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
    close(fd);
}

TEST(idle_connection_that_the_server_closed_is_not_used)
{
    struct bad b;
    struct seen first = { 0 }, second = { 0 };
    bad_open(&b, RIG_H1, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/1", &first);
    int fd = raw_accept(b.r.loop, b.listener);
    answer_one(&b, fd);
    await(&b.r, first.ended);
    close(fd); /* the loop has not seen it when the next call is made */
    struct http_request request = rig_request(&b.r, "POST", "/2");
    rig_send(&b.r, &request, &second);
    fd = raw_accept(b.r.loop, b.listener);
    answer_one(&b, fd);
    await(&b.r, second.ended);
    check_text(second.err.text, "");
    check_int((int64_t)http_client_stats(b.r.client).retried, 0);
    close(fd);
    seen_done(&first);
    seen_done(&second);
    bad_close(&b);
}

/* The request is on its way when the server closes: a GET goes again, a POST does not. */
static void close_under(const char *method, bool with_reset, bool goes_again)
{
    struct bad b;
    struct seen first = { 0 }, second = { 0 };
    bad_open(&b, RIG_H1, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/1", &first);
    int fd = raw_accept(b.r.loop, b.listener);
    answer_one(&b, fd);
    await(&b.r, first.ended);
    struct http_request request = rig_request(&b.r, method, "/2");
    rig_send(&b.r, &request, &second);
    raw_read_until(b.r.loop, fd, "\r\n\r\n");
    if (with_reset)
        reset_on_close(fd);
    else
        close(fd);
    if (goes_again) {
        fd = raw_accept(b.r.loop, b.listener);
        answer_one(&b, fd);
        await(&b.r, second.ended);
        check_text(second.err.text, "");
        check_int((int64_t)http_client_stats(b.r.client).retried, 1);
        close(fd);
    } else {
        await(&b.r, second.ended);
        check_int(second.err.code, ERR_UNAVAILABLE);
        check(second.sent);
    }
    seen_done(&first);
    seen_done(&second);
    bad_close(&b);
}

TEST(get_goes_again_when_a_reused_connection_ends_under_it_and_post_does_not)
{
    close_under("GET", false, true);
    close_under("GET", true, true);
    close_under("HEAD", false, true);
    close_under("POST", false, false);
    close_under("POST", true, false);
    close_under("PATCH", false, false);
    close_under("DELETE", false, false);
}

TEST(first_call_of_a_connection_that_ends_is_reported_as_sent)
{
    struct bad b;
    struct seen got = { 0 };
    bad_open(&b, RIG_H1, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/", &got);
    int fd = raw_accept(b.r.loop, b.listener);
    raw_read_until(b.r.loop, fd, "\r\n\r\n");
    close(fd);
    await(&b.r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(got.sent);
    seen_done(&got);
    bad_close(&b);
}

TEST(answer_cut_in_the_middle_is_not_retried)
{
    struct bad b;
    struct seen got = { 0 };
    bad_open(&b, RIG_H1, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/", &got);
    int fd = raw_accept(b.r.loop, b.listener);
    raw_read_until(b.r.loop, fd, "\r\n\r\n");
    raw_send(fd, STR("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    await(&b.r, got.received == 4);
    close(fd);
    await(&b.r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(got.sent);
    seen_done(&got);
    bad_close(&b);
}

TEST(keep_alive_timeout_of_the_server_is_believed)
{
    struct bad b;
    struct seen got = { 0 };
    bad_open(&b, RIG_H1, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/", &got);
    int fd = raw_accept(b.r.loop, b.listener);
    raw_read_until(b.r.loop, fd, "\r\n\r\n");
    raw_send(
        fd, STR("HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1, max=9\r\nContent-Length: 0\r\n\r\n"));
    await(&b.r, got.ended);
    check(raw_closed(b.r.loop, fd)); /* by us, in about half a second; ours alone would be 90 s */
    close(fd);
    seen_done(&got);
    bad_close(&b);
}

TEST(idle_connections_are_closed_and_the_origin_forgotten)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open_with(&r,
        RIG_H2 | RIG_TLS,
        &(struct http_server_options){ 0 },
        &(struct http_client_options){ .idle_connection_ms = 30 });
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    await(&r, http_client_stats(r.client).connections == 0);
    await(&r, http_server_connections(r.server) == 0);
    seen_done(&got);
    rig_close(&r);
}

TEST(retired_connections_finish_their_calls_and_close)
{
    static const int flags[] = { RIG_H1, RIG_H2 };
    for (size_t i = 0; i < lengthof(flags); i++) {
        struct rig r;
        struct seen idle = { 0 }, running = { 0 }, after = { 0 };
        rig_open(&r, flags[i]);
        rig_get(&r, "/hello", &idle);
        await(&r, idle.ended);
        rig_get(&r, "/half", &running);
        await(&r, running.datas == 1);
        http_client_retire(r.client);
        rig_get(&r, "/hello", &after);
        await(&r, after.ended);
        check_int((int64_t)http_client_stats(r.client).dialled, 2);
        check(!running.ended);
        http_call_cancel(running.call);
        await(&r, http_server_connections(r.server) == 1);
        seen_done(&idle);
        seen_done(&running);
        seen_done(&after);
        rig_close(&r);
    }
}

/* ---- HTTP/2: frames by hand ---- */

#define H2_SETTINGS "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
#define H2_SETTINGS_ACK "\x00\x00\x00\x04\x01\x00\x00\x00\x00"
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
/* :status 200 from the static table, on stream 1, 3 or 5; END_HEADERS and END_STREAM */
#define H2_OK_1 "\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88"
#define H2_OK_3 "\x00\x00\x01\x01\x05\x00\x00\x00\x03\x88"
#define H2_GOAWAY_NONE "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
#define H2_GOAWAY_1 "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"
#define H2_GOAWAY_ALL "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00\x00\x00"
#define H2_REFUSED_1 "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07"
#define H2_CANCEL_1 "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x08"

/* Accepts, answers the settings, and waits for the HEADERS of stream 1: with a body to follow
 * (END_HEADERS alone) or without. */
static int h2_accept(struct bad *b, bool body)
{
    int fd = raw_accept(b->r.loop, b->listener);
    raw_send(fd, STR(H2_SETTINGS H2_SETTINGS_ACK));
    raw_read_until_bytes(
        b->r.loop, fd, body ? STR("\x01\x04\x00\x00\x00\x01") : STR("\x01\x05\x00\x00\x00\x01"));
    return fd;
}

static void h2_retry(struct str frames, bool closes, bool goes_again)
{
    struct bad b;
    struct seen got = { 0 };
    bad_open(&b, RIG_H2, &(struct http_client_options){ 0 });
    struct http_request request = rig_request(&b.r, "POST", "/");
    request.body = STR("body");
    rig_send(&b.r, &request, &got);
    int fd = h2_accept(&b, true);
    raw_send(fd, frames);
    if (closes)
        close(fd);
    if (goes_again) {
        int again = h2_accept(&b, true);
        raw_send(again, STR(H2_OK_1));
        await(&b.r, got.ended);
        check_text(got.err.text, "");
        check_int(got.status, 200);
        check_int((int64_t)http_client_stats(b.r.client).retried, 1);
        close(again);
    } else {
        await(&b.r, got.ended);
        check_int(got.err.code, ERR_UNAVAILABLE);
        check(got.sent);
        check_int((int64_t)http_client_stats(b.r.client).retried, 0);
    }
    if (!closes)
        close(fd);
    seen_done(&got);
    bad_close(&b);
}

TEST(goaway_below_the_stream_and_refused_streams_go_again_even_for_post)
{
    h2_retry(STR(H2_GOAWAY_NONE), true, true);
    h2_retry(STR(H2_GOAWAY_NONE), false, true);
    h2_retry(STR(H2_REFUSED_1 H2_GOAWAY_1), false, true);
}

TEST(goaway_above_the_stream_and_other_resets_are_reported)
{
    h2_retry(STR(H2_GOAWAY_1), true, false);
    h2_retry(STR(H2_GOAWAY_ALL), true, false);
    h2_retry(STR(H2_CANCEL_1), false, false);
    h2_retry(STR(""), true, false);
    h2_retry(STR("this is no HTTP/2 at all, but some text"), false, false);
}

TEST(streams_below_a_goaway_go_on_and_new_calls_use_another_connection)
{
    struct bad b;
    struct seen first = { 0 }, second = { 0 };
    bad_open(&b, RIG_H2, &(struct http_client_options){ 0 });
    rig_get(&b.r, "/", &first);
    int fd = h2_accept(&b, false);
    raw_send(fd, STR(H2_GOAWAY_1));
    rig_turn_for(b.r.loop, 30);
    rig_get(&b.r, "/", &second);
    int other = h2_accept(&b, false);
    raw_send(other, STR(H2_OK_1));
    await(&b.r, second.ended);
    check(!first.ended);
    raw_send(fd, STR(H2_OK_1));
    await(&b.r, first.ended);
    check_text(first.err.text, "");
    check(raw_closed(b.r.loop, fd));
    close(fd);
    close(other);
    seen_done(&first);
    seen_done(&second);
    bad_close(&b);
}

TEST(streamed_body_that_was_begun_is_not_sent_twice)
{
    struct bad b;
    struct seen got = { .to_send = 100 };
    bad_open(&b, RIG_H2, &(struct http_client_options){ 0 });
    struct http_request request = rig_request(&b.r, "POST", "/");
    request.body_streamed = true;
    rig_send(&b.r, &request, &got);
    int fd = h2_accept(&b, true);
    await(&b.r, got.more_calls > 0);
    raw_send(fd, STR(H2_REFUSED_1));
    await(&b.r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(!got.sent); /* but the caller may: the server has not touched it */
    close(fd);
    seen_done(&got);
    bad_close(&b);
}

TEST(dead_connection_is_noticed_by_a_ping)
{
    struct bad b;
    struct seen got = { 0 };
    bad_open(
        &b, RIG_H2, &(struct http_client_options){ .ping_idle_ms = 60, .ping_timeout_ms = 60 });
    int64_t before = env_mono_ms(loop_env(b.r.loop));
    rig_get(&b.r, "/", &got);
    int fd = h2_accept(&b, false); /* from here on it swallows everything and says nothing */
    await(&b.r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(strstr(got.err.text, "ping"));
    check(env_mono_ms(loop_env(b.r.loop)) - before >= 100);
    close(fd);
    seen_done(&got);
    bad_close(&b);
}

/* The server is another process, stopped in the middle of a stream: the kernel goes on to
 * acknowledge for it, so that only an answer to a ping can tell. */
TEST(stopped_server_process_is_noticed_by_a_ping)
{
    struct rig child_rig;
    int port_pipe[2];
    check(pipe(port_pipe) == 0);
    pid_t child = fork();
    if (child == 0) {
        rig_open(&child_rig, RIG_H2 | RIG_TLS);
        uint16_t port = http_server_port(child_rig.server);
        (void)!write(port_pipe[1], &port, sizeof(port));
        loop_run(child_rig.loop);
        _exit(0);
    }
    struct rig r;
    struct seen got = { 0 }, again = { 0 };
    rig_open_with(&r,
        RIG_H2 | RIG_TLS,
        &(struct http_server_options){ 0 },
        &(struct http_client_options){ .ping_idle_ms = 200, .ping_timeout_ms = 3000 });
    check(read(port_pipe[0], &r.origin.port, sizeof(r.origin.port)) == sizeof(r.origin.port));
    rig_get(&r, "/half", &got);
    await(&r, got.datas == 1);
    rig_turn_for(r.loop, 700);
    check(!got.ended); /* idle, but pings are answered */
    kill(child, SIGSTOP);
    await(&r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(strstr(got.err.text, "ping"));
    kill(child, SIGCONT);
    rig_get(&r, "/hello", &again);
    await(&r, again.ended);
    check_text(again.err.text, "");
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(port_pipe[0]);
    close(port_pipe[1]);
    seen_done(&got);
    seen_done(&again);
    rig_close(&r);
}
