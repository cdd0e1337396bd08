#include "tests/http/rig.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/listen.h"
#include "tests/http/pem.h"

/* A port on which nobody listens. */
static uint16_t closed_port(void)
{
    uint16_t port;
    close(raw_listen(&port));
    return port;
}

/* Fills the queue of a listener that accepts nobody: from then on a connect gets no answer. */
static int black_hole(uint16_t *ret_port, int fillers[8])
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    check(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 0) == 0);
    *ret_port = listen_port(fd);
    at.sin_port = htons(*ret_port);
    for (int i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fillers[i], (struct sockaddr *)&at, sizeof(at));
    }
    return fd;
}

TEST(refused_connection_is_reported_as_not_sent)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, RIG_H1);
    r.origin.port = closed_port();
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(strstr(got.err.text, "Connection refused"));
    check(!got.sent);
    check_int((int64_t)http_client_stats(r.client).connections, 0);
    seen_done(&got);
    rig_close(&r);
}

TEST(connect_that_gets_no_answer_times_out)
{
    struct rig r;
    struct seen got = { 0 };
    int fillers[8];
    rig_open(&r, RIG_H1);
    int hole = black_hole(&r.origin.port, fillers);
    struct http_request request = rig_request(&r, "GET", "/hello");
    request.timeouts.connect_ms = 60;
    rig_send(&r, &request, &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_TIMEOUT);
    check(strstr(got.err.text, "connect 127.0.0.1"));
    check(!got.sent);
    close(hole);
    for (int i = 0; i < 8; i++)
        close(fillers[i]);
    seen_done(&got);
    rig_close(&r);
}

TEST(handshake_that_gets_no_answer_times_out)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, RIG_H1 | RIG_TLS);
    int listener = raw_listen(&r.origin.port); /* the kernel accepts, nobody speaks */
    struct http_request request = rig_request(&r, "GET", "/hello");
    request.timeouts.tls_ms = 60;
    rig_send(&r, &request, &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_TIMEOUT);
    check(strstr(got.err.text, "TLS handshake"));
    check(!got.sent);
    close(listener);
    seen_done(&got);
    rig_close(&r);
}

TEST(name_that_does_not_exist_is_reported)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, RIG_H1);
    r.origin.host = "no-such-name.invalid";
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_UNAVAILABLE);
    check(strstr(got.err.text, "resolve no-such-name.invalid"));
    seen_done(&got);
    rig_close(&r);
}

TEST(name_is_resolved_on_a_thread)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, RIG_H1);
    r.origin.host = "localhost"; /* ::1 comes first on many machines, and nobody listens there */
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    check_text(got.err.text, "");
    check_text(buf_text(&got.body), "hello");
    seen_done(&got);
    rig_close(&r);
}

/* ---- several addresses: the resolver is ours to play ---- */

struct landing {
    bool done;
    struct conn *conn;
    struct error err;
};

static void landed(void *ctx, struct conn *conn, const struct error *err)
{
    struct landing *l = ctx;
    l->done = true;
    l->conn = conn;
    if (err)
        l->err = *err;
}

static void fill(struct addrinfo *one, struct sockaddr_in *at, const char *host, uint16_t port,
    struct addrinfo *next)
{
    *at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port) };
    check_int(inet_pton(AF_INET, host, &at->sin_addr), 1);
    *one = (struct addrinfo){
        .ai_family = AF_INET,
        .ai_addr = (struct sockaddr *)at,
        .ai_addrlen = sizeof(*at),
        .ai_next = next,
    };
}

static void dial_list(struct rig *r, const struct addrinfo *list, struct dial_options *options,
    struct landing *landing)
{
    *landing = (struct landing){ 0 };
    options->host = "several.test";
    options->connect_ms = options->connect_ms ?: 5000;
    options->tls_ms = 5000;
    options->fallback_ms = options->fallback_ms ?: 20;
    struct dial *d = dial_start(r->loop, options, landed, landing);
    dial_found(d, list);
    await(r, landing->done);
}

TEST(next_address_is_tried_when_the_first_refuses)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct sockaddr_in at[2];
    struct addrinfo list[2];
    fill(&list[1], &at[1], "127.0.0.1", r.origin.port, NULL);
    fill(&list[0], &at[0], "127.0.0.1", closed_port(), &list[1]);
    struct landing l;
    dial_list(&r, list, &(struct dial_options){ .fallback_ms = 10000 }, &l);
    check_text(l.err.text, "");
    check_int(((const struct sockaddr_in *)conn_address(l.conn))->sin_port, htons(r.origin.port));
    conn_free(l.conn);
    rig_close(&r);
}

TEST(next_address_gets_its_chance_while_the_first_is_silent)
{
    struct rig r;
    int fillers[8];
    uint16_t hole_port;
    rig_open(&r, RIG_H1);
    int hole = black_hole(&hole_port, fillers);
    struct sockaddr_in at[2];
    struct addrinfo list[2];
    fill(&list[1], &at[1], "127.0.0.1", r.origin.port, NULL);
    fill(&list[0], &at[0], "127.0.0.1", hole_port, &list[1]);
    struct landing l;
    int64_t before = env_mono_ms(loop_env(r.loop));
    dial_list(&r, list, &(struct dial_options){ .connect_ms = 60000 }, &l);
    check(l.conn && env_mono_ms(loop_env(r.loop)) - before >= 20);
    conn_free(l.conn);
    close(hole);
    for (int i = 0; i < 8; i++)
        close(fillers[i]);
    rig_close(&r);
}

TEST(last_error_is_told_when_every_address_fails)
{
    struct rig r;
    rig_open(&r, RIG_H1);
    struct sockaddr_in at[2];
    struct addrinfo list[2];
    fill(&list[1], &at[1], "127.0.0.1", closed_port(), NULL);
    fill(&list[0], &at[0], "127.0.0.1", closed_port(), &list[1]);
    struct landing l;
    dial_list(&r, list, &(struct dial_options){ 0 }, &l);
    check(!l.conn && strstr(l.err.text, "dial several.test:"));
    check(strstr(l.err.text, "Connection refused"));
    rig_close(&r);
}

static bool only_second(void *ctx, const struct sockaddr *address)
{
    int *asked = ctx;
    (*asked)++;
    return ((const struct sockaddr_in *)address)->sin_addr.s_addr != htonl(0x7f000002);
}

TEST(address_that_is_not_allowed_is_never_dialled)
{
    struct rig r;
    struct landing l;
    int asked = 0;
    rig_open(&r, RIG_H1);
    struct sockaddr_in at[2];
    struct addrinfo list[2];
    fill(&list[1], &at[1], "127.0.0.1", r.origin.port, NULL);
    fill(&list[0], &at[0], "127.0.0.2", r.origin.port, &list[1]);
    struct dial_options options = { .allowed = only_second, .allowed_ctx = &asked };
    dial_list(&r, list, &options, &l);
    check_int(asked, 2);
    check(l.conn != NULL);
    check_int(((const struct sockaddr_in *)conn_address(l.conn))->sin_addr.s_addr,
        htonl(INADDR_LOOPBACK));
    conn_free(l.conn);
    list[0].ai_next = NULL;
    dial_list(&r, list, &options, &l);
    check(!l.conn);
    check_int(l.err.code, ERR_FORBIDDEN);
    check(strstr(l.err.text, "127.0.0.2"));
    rig_close(&r);
}

/* ---- proxies ---- */

static void proxy_pass(int a, int b)
{
    char bytes[4096];
    ssize_t count;
    while ((count = recv(a, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        raw_send(b, (struct str){ bytes, (size_t)count });
}

static void through_proxy(int flags, const char *userinfo)
{
    struct rig r;
    struct seen got = { 0 };
    uint16_t port;
    rig_open(&r, flags);
    int listener = raw_listen(&port);
    r.origin.proxy_url = arena_printf(test_arena(), "http://%s127.0.0.1:%u", userinfo, port);
    rig_get(&r, "/hello", &got);
    int down = raw_accept(r.loop, listener);
    const char *head = raw_read_until(r.loop, down, "\r\n\r\n");
    const char *want = arena_printf(test_arena(),
        "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n",
        r.origin.port,
        r.origin.port,
        *userinfo ? "Proxy-Authorization: Basic YWRhOmxvdmUgaXQ=\r\n" : "");
    check_text(head, want);
    int up = raw_connect(r.origin.port);
    raw_send(down, STR("HTTP/1.1 200 Connection established\r\n\r\n"));
    int64_t until = env_mono_ms(loop_env(r.loop)) + AWAIT_MAX_MS;
    while (!got.ended && env_mono_ms(loop_env(r.loop)) < until) {
        proxy_pass(down, up);
        proxy_pass(up, down);
        rig_turn(r.loop);
    }
    check_text(got.err.text, "");
    check_text(buf_text(&got.body), "hello");
    close(up);
    close(down);
    close(listener);
    seen_done(&got);
    rig_close(&r);
}

TEST(call_goes_through_a_connect_proxy)
{
    through_proxy(RIG_H1, "");
    through_proxy(RIG_H1 | RIG_TLS, "");
    through_proxy(RIG_H2 | RIG_TLS, "ada:love%20it@");
}

TEST(proxy_that_refuses_is_named)
{
    static const struct {
        const char *answer;
        enum error_code code;
        const char *part;
    } cases[] = {
        { "HTTP/1.1 407 Who are you\r\n\r\n", ERR_UNAUTHORIZED, "answered CONNECT with 407" },
        { "HTTP/1.1 502 Bad Gateway\r\n\r\n", ERR_UNAVAILABLE, "answered CONNECT with 502" },
        { "SSH-2.0-OpenSSH\r\n\r\n", ERR_UNAVAILABLE, "no proper answer" },
        { "HTTP/1.1 200 OK\r\n\r\nextra", ERR_UNAVAILABLE, "before any were asked" },
        { "", ERR_UNAVAILABLE, "closed the connection" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct rig r;
        struct seen got = { 0 };
        uint16_t port;
        rig_open(&r, RIG_H1 | RIG_TLS);
        int listener = raw_listen(&port);
        r.origin.proxy_url = arena_printf(test_arena(), "http://127.0.0.1:%u", port);
        rig_get(&r, "/hello", &got);
        int down = raw_accept(r.loop, listener);
        raw_read_until(r.loop, down, "\r\n\r\n");
        raw_send(down, str_of(cases[i].answer));
        if (!*cases[i].answer)
            close(down);
        await(&r, got.ended);
        check_int(got.err.code, cases[i].code);
        check(strstr(got.err.text, cases[i].part));
        check(!got.sent);
        if (*cases[i].answer)
            close(down);
        close(listener);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(silent_proxy_times_out)
{
    struct rig r;
    struct seen got = { 0 };
    uint16_t port;
    rig_open(&r, RIG_H1);
    int listener = raw_listen(&port);
    r.origin.proxy_url = arena_printf(test_arena(), "http://127.0.0.1:%u", port);
    struct http_request request = rig_request(&r, "GET", "/hello");
    request.timeouts.tls_ms = 60;
    rig_send(&r, &request, &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_TIMEOUT);
    check(strstr(got.err.text, "answer of the proxy"));
    close(listener);
    seen_done(&got);
    rig_close(&r);
}

TEST(proxy_url_that_cannot_be_used_is_told)
{
    struct rig r;
    struct seen got = { 0 };
    rig_open(&r, RIG_H1);
    r.origin.proxy_url = "socks5://127.0.0.1:1080";
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    check_int(got.err.code, ERR_UNSUPPORTED);
    check(strstr(got.err.text, "socks5"));
    seen_done(&got);
    rig_close(&r);
}

/* An https:// proxy: TLS to the proxy, and TLS to the server inside it. */
struct tls_proxy {
    struct rig *rig;
    struct conn *down, *up;
    bool asked;
};

static void proxy_from_up(void *ctx, struct str bytes)
{
    struct tls_proxy *p = ctx;
    conn_send(p->down, bytes);
    conn_flush(p->down);
}

static void proxy_over(void *ctx, const struct error *err)
{
    (void)ctx, (void)err;
}

static const struct conn_handlers proxy_up_handlers = { .data = proxy_from_up,
    .closed = proxy_over };

static void proxy_from_down(void *ctx, struct str bytes)
{
    struct tls_proxy *p = ctx;
    if (p->asked) {
        conn_send(p->up, bytes);
        conn_flush(p->up);
        return;
    }
    p->asked = true;
    check(str_starts(bytes, STR("CONNECT 127.0.0.1:")));
    p->up = conn_new(p->rig->loop, raw_connect(p->rig->origin.port), &proxy_up_handlers, p);
    conn_send(p->down, STR("HTTP/1.0 200 fine\r\nX-Proxy: yes\r\n\r\n"));
    conn_flush(p->down);
}

static const struct conn_handlers proxy_down_handlers = { .data = proxy_from_down,
    .closed = proxy_over };

TEST(call_goes_through_a_proxy_with_tls_inside_tls)
{
    static const int flags[] = { RIG_H2 | RIG_TLS, RIG_H1 | RIG_TLS };
    for (size_t i = 0; i < lengthof(flags); i++) {
        struct rig r;
        struct seen got = { 0 };
        uint16_t port;
        rig_open(&r, flags[i]);
        int listener = raw_listen(&port);
        r.origin.proxy_url = arena_printf(test_arena(), "https://localhost:%u", port);
        r.origin.proxy_tls = r.client_tls;
        rig_get(&r, "/chunks?1000000", &got);
        struct tls_proxy p = { .rig = &r };
        p.down = conn_new(r.loop, raw_accept(r.loop, listener), &proxy_down_handlers, &p);
        conn_secure(p.down, r.server_tls, NULL, NULL);
        await(&r, got.ended);
        check_text(got.err.text, "");
        check_int((int64_t)got.received, 1000000);
        conn_free(p.down);
        conn_free(p.up);
        close(listener);
        seen_done(&got);
        rig_close(&r);
    }
}
