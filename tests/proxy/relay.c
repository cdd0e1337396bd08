/* One relay between real sockets: clients that speak HTTP keep their connection when a server goes,
 * and everything else is a pipe. */

#include "proxy/relay.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/rig.h"

#define SERVERS_MAX 3
#define GET "GET /one HTTP/1.1\r\nHost: a\r\n\r\n"
#define GET_2 "GET /two HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nahoy"
#define OK_2 "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nyoho"

struct berth {
    struct loop *loop;
    struct relay *relay;
    int client;
    int listeners[SERVERS_MAX];
    struct relay_target servers[SERVERS_MAX];
    size_t first, count; /* of the servers, who may be dialled */
    bool ended, failed;
};

static size_t berth_targets(
    void *ctx, const struct sockaddr *client, struct relay_target *ret_targets)
{
    struct berth *b = ctx;
    (void)client;
    for (size_t i = 0; i < b->count && ret_targets; i++)
        ret_targets[i] = b->servers[b->first + i];
    return b->count;
}

static void berth_ended(void *ctx, struct relay *r, const struct error *err)
{
    struct berth *b = ctx;
    b->ended = true;
    b->failed = err;
    relay_free(r);
    b->relay = NULL;
}

static void berth_open(struct berth *b)
{
    static const struct relay_owner owner = { berth_targets, berth_ended };
    uint16_t port;
    *b = (struct berth){ .loop = loop_new(), .count = 1 };
    for (size_t i = 0; i < SERVERS_MAX; i++) {
        b->listeners[i] = raw_listen(&b->servers[i].port);
        memcpy(b->servers[i].host, "127.0.0.1", 10);
    }
    int listener = raw_listen(&port);
    b->client = raw_connect(port);
    b->relay = relay_new(b->loop, raw_accept(b->loop, listener), AWAIT_MAX_MS, &owner, b);
    close(listener);
}

static void berth_close(struct berth *b)
{
    if (b->relay)
        relay_free(b->relay);
    close(b->client);
    for (size_t i = 0; i < SERVERS_MAX; i++)
        close(b->listeners[i]);
    loop_run(b->loop);
    loop_free(b->loop);
}

/* From here on servers from this one on are there, and the others are to be left. */
static void berth_turn_to(struct berth *b, size_t first)
{
    b->first = first;
    relay_leave(b->relay, true);
}

static bool is_busy(const struct berth *b)
{
    return b->relay && relay_busy(b->relay, "127.0.0.1", 0);
}

/* Says it on one socket and hears it on the other. */
static void pass(struct berth *b, int from, int to, const char *text)
{
    raw_send(from, str_of(text));
    struct buf got = BUF_INIT(1 << 20);
    while (got.len < strlen(text)) {
        const char *part = raw_read_until(b->loop, to, text + strlen(text) - 1);
        check(*part); /* or it has ended */
        buf_add_text(&got, part);
    }
    check_text(buf_text(&got), text);
    buf_done(&got);
}

static int server_of(struct berth *b, size_t i)
{
    return raw_accept(b->loop, b->listeners[i]);
}

static void reset(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
    close(fd);
}

static bool is_reset(struct berth *b, int fd)
{
    char byte;
    ssize_t got;
    await(b, (got = recv(fd, &byte, 1, MSG_DONTWAIT)) >= 0 || errno != EAGAIN);
    return got < 0 && errno == ECONNRESET;
}

/* As much as the other side's kernel and ours take; what that was. */
static size_t fill(struct berth *b, int fd)
{
    static char bytes[65536];
    size_t sent = 0;
    for (int full = 0; full < 50;) { /* turns in a row in which nothing was taken */
        ssize_t count = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
        full = count > 0 ? 0 : full + 1;
        sent += count > 0 ? (size_t)count : 0;
        check(sent < (size_t)64 << 20);
        rig_turn(b->loop);
    }
    return sent;
}

static void empty(struct berth *b, int fd, size_t bytes)
{
    static char to[65536];
    while (bytes) {
        ssize_t count = recv(fd, to, bytes < sizeof(to) ? bytes : sizeof(to), MSG_DONTWAIT);
        check(count != 0);
        bytes -= count > 0 ? (size_t)count : 0;
        if (count < 0)
            rig_turn(b->loop);
    }
}

TEST(relay_goes_to_another_server_between_two_requests)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    pass(&b, b.client, one, POST);
    check(is_busy(&b));
    berth_turn_to(&b, 1); /* in the middle of an exchange: its answer comes whole */
    pass(&b, one, b.client, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nahoy");
    check(is_busy(&b));
    pass(&b, one, b.client, "yoho");
    check(raw_closed(b.loop, one));
    check(!is_busy(&b));
    raw_send(b.client, STR(GET));
    int two = server_of(&b, 1);
    check_text(raw_read_until(b.loop, two, "\r\n\r\n"), GET);
    pass(&b, two, b.client, OK);
    berth_turn_to(&b, 2); /* and at rest: at once */
    check(raw_closed(b.loop, two));
    raw_send(b.client, STR(GET_2));
    int three = server_of(&b, 2);
    check_text(raw_read_until(b.loop, three, "\r\n\r\n"), GET_2);
    pass(&b, three, b.client, OK_2);
    check(!b.ended);
    close(one);
    close(two);
    close(three);
    berth_close(&b);
}

TEST(relay_that_nobody_has_used_changes_servers_at_once)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    berth_turn_to(&b, 1);
    check(raw_closed(b.loop, one));
    int two = server_of(&b, 1); /* it may be one that speaks first */
    pass(&b, two, b.client, "220 ready\r\n");
    berth_turn_to(&b, 2);
    pass(&b, b.client, two, "HELO\r\n"); /* a pipe stays where it is */
    pass(&b, two, b.client, "250 fine\r\n");
    close(one);
    close(two);
    berth_close(&b);
}

TEST(relay_hides_a_server_that_closes_between_two_requests)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    pass(&b, b.client, one, GET);
    pass(&b, one, b.client, OK);
    b.first = 1;
    close(one);
    rig_turn_for(b.loop, 20);
    raw_send(b.client, STR("\r\n" POST)); /* blank lines between requests mean nothing */
    int two = server_of(&b, 1);
    check_text(raw_read_until(b.loop, two, "hello"), POST);
    pass(&b, two, b.client, OK_2);
    /* The two meet half-way: the server closes and the client asks, and nobody has looked yet. */
    b.first = 2;
    close(two);
    raw_send(b.client, STR(POST));
    int three = server_of(&b, 2);
    check_text(raw_read_until(b.loop, three, "hello"), POST);
    pass(&b, three, b.client, OK);
    /* Nobody else is there: then its end is the end. */
    b.count = 0;
    close(three);
    check_text(raw_read_until(b.loop, b.client, NULL), "");
    berth_close(&b);
}

TEST(relay_begins_a_new_connection_where_the_old_one_may_be_closing)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    pass(&b, b.client, one, POST);
    pass(&b, one, b.client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    pass(&b, one, b.client, "1\r\na\r\n0\r\n\r\n");
    check(raw_closed(b.loop, one)); /* after a stream */
    raw_send(b.client, STR(POST));
    int two = server_of(&b, 0);
    check_text(raw_read_until(b.loop, two, "hello"), POST);
    pass(&b, two, b.client, OK);
    pass(&b, b.client, two, POST); /* not after others … */
    pass(&b, two, b.client, OK);
    rig_turn_for(b.loop, 1100); /* … unless it was long ago */
    raw_send(b.client, STR(POST));
    int three = server_of(&b, 0);
    check_text(raw_read_until(b.loop, three, "hello"), POST);
    check(raw_closed(b.loop, two));
    close(one);
    close(two);
    close(three);
    berth_close(&b);
}

TEST(relay_asks_another_server_when_one_dies_before_it_answers)
{
    static const struct {
        const char *request;
        bool repeated;
    } cases[] = {
        { GET, true },
        { "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe", true },
        { "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n",
            true },      /* no server can act on it */
        { POST, false }, /* it may have been acted on */
    };
    for (size_t i = 0; i < lengthof(cases) * 2; i++) {
        struct berth b;
        berth_open(&b);
        b.count = 2;
        int one = server_of(&b, 0);
        pass(&b, b.client, one, cases[i / 2].request);
        if (i % 2)
            reset(one);
        else
            close(one);
        if (cases[i / 2].repeated) {
            int two = server_of(&b, 1); /* not the one that died, though it is still offered */
            const char *all = cases[i / 2].request;
            check_text(raw_read_until(b.loop, two, all + strlen(all) - 2), all);
            pass(&b, two, b.client, "HTTP/1.1 100 Continue\r\n\r\n");
            reset(two); /* an answer has begun: not again */
            check(is_reset(&b, b.client));
        } else if (i % 2) {
            check(is_reset(&b, b.client));
        } else {
            check_text(raw_read_until(b.loop, b.client, NULL), "");
        }
        berth_close(&b);
    }
}

TEST(relay_does_not_repeat_for_ever)
{
    struct berth b;
    berth_open(&b);
    b.count = 2;
    size_t asked = 0;
    raw_send(b.client, STR(GET));
    int64_t until = env_mono_ms(loop_env(b.loop)) + AWAIT_MAX_MS;
    while (!b.ended && env_mono_ms(loop_env(b.loop)) < until) {
        int fd = -1;
        for (size_t i = 0; i < 2 && fd < 0; i++)
            fd = accept4(b.listeners[i], NULL, NULL, SOCK_NONBLOCK);
        if (fd < 0) {
            rig_turn(b.loop);
            continue;
        }
        check_text(raw_read_until(b.loop, fd, "\r\n\r\n"), GET);
        asked++;
        reset(fd);
    }
    check(b.failed);
    check_int((int64_t)asked, 3);
    check(is_reset(&b, b.client));
    berth_close(&b);
}

TEST(relay_sends_a_request_too_long_to_repeat_only_once)
{
    struct berth b;
    berth_open(&b);
    b.count = 2;
    int one = server_of(&b, 0);
    raw_send(b.client, STR("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n"));
    static char body[200000];
    raw_send(b.client, (struct str){ body, sizeof(body) });
    empty(&b, one, sizeof(body));
    reset(one);
    check(is_reset(&b, b.client));
    berth_close(&b);
}

TEST(relay_gives_a_server_one_request_at_a_time)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    raw_send(b.client, STR(GET POST GET_2));
    check_text(raw_read_until(b.loop, one, "\r\n\r\n"), GET);
    berth_turn_to(&b, 1); /* those that wait were never given to it */
    pass(&b, one, b.client, OK);
    check(raw_closed(b.loop, one));
    int two = server_of(&b, 1);
    check_text(raw_read_until(b.loop, two, "hello"), POST);
    pass(&b, two, b.client, OK_2);
    check_text(raw_read_until(b.loop, two, "\r\n\r\n"), GET_2);
    shutdown(b.client, SHUT_WR);
    pass(&b, two, b.client, OK);
    check_text(raw_read_until(b.loop, two, NULL), "");
    close(two);
    check_text(raw_read_until(b.loop, b.client, NULL), "");
    await(&b, b.ended);
    check(!b.failed);
    close(one);
    berth_close(&b);
}

TEST(relay_follows_streams_and_answers_without_a_body)
{
    struct berth b;
    berth_open(&b);
    int at = server_of(&b, 0);
    static const char *const exchanges[][2] = {
        { "POST /v1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            OK },
        { GET,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
            "chunked\r\n\r\n"
            "8\r\ndata: a\n\r\n8\r\ndata: b\n\r\n0\r\n\r\n" },
        { "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" },
        { GET, "HTTP/1.1 204 No Content\r\n\r\n" },
        { GET_2, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" },
        { "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", OK }, /* declined */
    };
    for (size_t i = 0; i < lengthof(exchanges); i++) {
        pass(&b, b.client, at, exchanges[i][0]);
        check(is_busy(&b));
        pass(&b, at, b.client, exchanges[i][1]);
        check(!is_busy(&b));
        /* Whether that was seen to be the end is seen by where the next one goes. */
        berth_turn_to(&b, (i + 1) % 2);
        check(raw_closed(b.loop, at));
        close(at);
        raw_send(b.client, STR(GET));
        at = server_of(&b, (i + 1) % 2);
        check_text(raw_read_until(b.loop, at, "\r\n\r\n"), GET);
        pass(&b, at, b.client, OK);
    }
    /* The server says what to do with a body before the client sends it. */
    pass(&b,
        b.client,
        at,
        "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    pass(&b, at, b.client, "HTTP/1.1 100 Continue\r\n\r\n");
    pass(&b, b.client, at, "hi");
    pass(&b, at, b.client, OK);
    check(!is_busy(&b));
    /* … or answers before it has come; the exchange is over when both are. */
    pass(&b, b.client, at, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nhi");
    pass(&b, at, b.client, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
    check(is_busy(&b));
    pass(&b, b.client, at, "ho");
    check(!is_busy(&b));
    close(at);
    berth_close(&b);
}

TEST(relay_ends_where_a_message_says_that_it_is_the_last)
{
    static const char *const exchanges[][2] = {
        { GET, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nahoy" },
        { GET, "HTTP/1.1 200 OK\r\n\r\nuntil the end" },
        { "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nahoy" },
        { "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", OK },
    };
    for (size_t i = 0; i < lengthof(exchanges); i++) {
        struct berth b;
        berth_open(&b);
        int one = server_of(&b, 0);
        pass(&b, b.client, one, exchanges[i][0]);
        pass(&b, one, b.client, exchanges[i][1]);
        close(one);
        check_text(raw_read_until(b.loop, b.client, NULL), "");
        shutdown(b.client, SHUT_WR);
        await(&b, b.ended);
        check(!b.failed);
        berth_close(&b);
    }
}

TEST(relay_is_a_pipe_for_other_protocols)
{
    static const char *const talks[][2] = {
        { "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "
            "websocket\r\n\r\n" },
        { "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n" },
        { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "frames" },
        { "\x16\x03\x01 hello", "\x16\x03\x03 hello" },
        { "SET a 1\r\n", "+OK\r\n" },
        { "GET a\r\n", "$1\r\n1\r\n" },
        { GET, "nonsense" },
    };
    for (size_t i = 0; i < lengthof(talks); i++) {
        struct berth b;
        berth_open(&b);
        int one = server_of(&b, 0);
        pass(&b, b.client, one, talks[i][0]);
        pass(&b, one, b.client, talks[i][1]);
        berth_turn_to(&b, 1);
        pass(&b, one, b.client, GET OK "both");
        pass(&b, b.client, one, OK GET "ways");
        shutdown(b.client, SHUT_WR);
        check_text(raw_read_until(b.loop, one, NULL), "");
        pass(&b, one, b.client, "and on");
        close(one);
        check_text(raw_read_until(b.loop, b.client, NULL), "");
        await(&b, b.ended);
        check(!b.failed);
        berth_close(&b);
    }
    /* What is sent before the upgrade is agreed to is not lost. */
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    raw_send(b.client, str_of(talks[0][0]));
    raw_send(b.client, STR("early"));
    check_text(raw_read_until(b.loop, one, "\r\n\r\n"), talks[0][0]);
    pass(&b, one, b.client, talks[0][1]);
    check_text(raw_read_until(b.loop, one, "early"), "early");
    close(one);
    berth_close(&b);
}

/* The rest of a body, as fast as it is taken. */
static void pass_rest(struct berth *b, int from, int to, size_t bytes)
{
    static char part[1 << 20];
    while (bytes) {
        ssize_t count = send(
            from, part, bytes < sizeof(part) ? bytes : sizeof(part), MSG_NOSIGNAL | MSG_DONTWAIT);
        check(count > 0);
        empty(b, to, (size_t)count);
        bytes -= (size_t)count;
    }
}

TEST(relay_does_not_run_ahead_of_a_slow_side)
{
#define LENGTH "41943040"
    const size_t length = (size_t)40 << 20; /* more than the kernel holds */
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    pass(&b, b.client, one, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " LENGTH "\r\n\r\n");
    size_t sent = fill(&b, b.client);
    check(sent < length);
    empty(&b, one, sent);
    pass_rest(&b, b.client, one, length - sent);
    pass(&b, one, b.client, "HTTP/1.1 200 OK\r\nContent-Length: " LENGTH "\r\n\r\n");
    sent = fill(&b, one);
    check(sent < length);
    berth_turn_to(&b, 1);
    check(is_busy(&b));
    empty(&b, b.client, sent);
    pass_rest(&b, one, b.client, length - sent);
    check(raw_closed(b.loop, one));
    raw_send(b.client, STR(GET));
    int two = server_of(&b, 1);
    check_text(raw_read_until(b.loop, two, "\r\n\r\n"), GET);
    close(one);
    close(two);
    berth_close(&b);
}

TEST(relay_tells_a_server_that_its_client_has_gone)
{
    struct berth b;
    berth_open(&b);
    int one = server_of(&b, 0);
    pass(&b, b.client, one, POST);
    pass(&b, one, b.client, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    shutdown(b.client, SHUT_WR);
    check_text(raw_read_until(b.loop, one, NULL), "");
    pass(&b, one, b.client, "1\r\nb\r\n"); /* it may still listen */
    reset(b.client);
    while (!b.ended) { /* what is said to nobody tells that it is over */
        raw_send(one, STR("1\r\nc\r\n"));
        rig_turn(b.loop);
    }
    close(one);
    b.client = -1;
    berth_close(&b);
}
