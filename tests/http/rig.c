#include "tests/http/rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "http/listen.h"
#include "tests/http/pem.h"

/* ---- the server ---- */

struct answer {
    struct rig *rig;
    struct http_exchange *x;
    size_t left;
    char location[128];
    char authorization[64];
    bool streaming;
};

static void answer_closed(void *ctx, const struct error *err)
{
    struct answer *a = ctx;
    a->rig->closed++;
    if (err) {
        a->rig->failed++;
        a->rig->last_err = *err;
    }
    if (a->rig->last == a->x)
        a->rig->last_gone = true;
    free(a);
}

static const char filler[4096] = "abcdefghijklmnopqrstuvwxyz";

static void answer_fill(void *ctx)
{
    struct answer *a = ctx;
    bool room = true;
    while (a->streaming && a->left && room) {
        size_t count = a->left < sizeof(filler) ? a->left : sizeof(filler);
        a->left -= count;
        a->rig->written_bytes += count;
        room = http_exchange_write(a->x, (struct str){ filler, count });
    }
    if (a->streaming && !a->left) {
        a->streaming = false;
        http_exchange_finish(a->x);
    }
}

/* Of /echo: what comes in goes out, and is held back while that is full. */
static void echo_data(void *ctx, struct str bytes)
{
    struct answer *a = ctx;
    a->rig->body_bytes += bytes.len;
    if (!http_exchange_write(a->x, bytes))
        http_exchange_pause(a->x);
}

static void echo_drained(void *ctx)
{
    http_exchange_resume(((struct answer *)ctx)->x);
}

static void echo_end(void *ctx)
{
    http_exchange_finish(((struct answer *)ctx)->x);
}

static void sink_data(void *ctx, struct str bytes)
{
    struct answer *a = ctx;
    a->rig->body_bytes += bytes.len;
    if (a->rig->hold_body)
        http_exchange_pause(a->x);
}

static void sink_end(void *ctx)
{
    struct answer *a = ctx;
    char text[32];
    snprintf(text, sizeof(text), "%zu", a->rig->body_bytes);
    http_exchange_reply(a->x, 200, "text/plain", str_of(text));
}

static const struct http_exchange_handlers plain_handlers = { .closed = answer_closed,
    .drained = answer_fill };
static const struct http_exchange_handlers echo_handlers = {
    .data = echo_data,
    .end = echo_end,
    .drained = echo_drained,
    .closed = answer_closed,
};
static const struct http_exchange_handlers sink_handlers = {
    .data = sink_data,
    .end = sink_end,
    .closed = answer_closed,
};

static void do_hello(struct answer *a)
{
    http_exchange_respond(a->x, 200, HTTP_HEADERS({ STR("x-answer"), STR("yes") }), 5);
    http_exchange_write(a->x, STR("hello"));
    http_exchange_finish(a->x);
}

/* Does not look whether there is room. */
static void do_whole(struct answer *a)
{
    static char text[1 << 20];
    http_exchange_respond(a->x, 200, HTTP_HEADERS({ STR("x-answer"), STR("yes") }), sizeof(text));
    http_exchange_write(a->x, (struct str){ text, sizeof(text) });
    http_exchange_finish(a->x);
}

/* HealthCheckResponse with the status SERVING; NOT_SERVING while bodies are held. */
static void do_health(struct answer *a)
{
    char message[] = { 0, 0, 0, 0, 2, 0x08, a->rig->hold_body ? 2 : 1 };
    http_exchange_respond(
        a->x, 200, HTTP_HEADERS({ STR("content-type"), STR("application/grpc") }), sizeof(message));
    http_exchange_write(a->x, (struct str){ message, sizeof(message) });
    http_exchange_finish(a->x);
}

static void upgrade_end(void *ctx)
{
    struct answer *a = ctx;
    http_exchange_upgrade(a->x, STR("echo"), HTTP_HEADERS({ STR("x-answer"), STR("yes") }));
}

static void upgrade_data(void *ctx, struct str bytes)
{
    struct answer *a = ctx;
    echo_data(ctx, bytes);
    if (memchr(bytes.ptr, '!', bytes.len))
        http_exchange_finish(a->x);
}

static const struct http_exchange_handlers upgrade_handlers = {
    .data = upgrade_data,
    .end = upgrade_end,
    .drained = echo_drained,
    .closed = answer_closed,
};

static void do_echo(struct answer *a)
{
    http_exchange_respond(a->x, 200, (struct http_headers){ 0 }, -1);
}

static void do_big(struct answer *a)
{
    http_exchange_respond(a->x, 200, (struct http_headers){ 0 }, (int64_t)a->left);
    a->streaming = true;
    answer_fill(a);
}

static void do_chunks(struct answer *a)
{
    http_exchange_respond(a->x, 200, (struct http_headers){ 0 }, -1);
    a->streaming = true;
    answer_fill(a);
}

static void do_half(struct answer *a)
{
    http_exchange_respond(a->x, 200, (struct http_headers){ 0 }, -1);
    http_exchange_write(a->x, STR("half"));
}

static void do_abort(struct answer *a)
{
    do_half(a);
    http_exchange_abort(a->x);
}

static void do_nothing(struct answer *a)
{
    (void)a;
}

static void do_empty(struct answer *a)
{
    http_exchange_reply(a->x, 204, NULL, STR(""));
}

static void do_wide(struct answer *a) /* a head of a->left bytes */
{
    char *value = mem_new(a->left + 1);
    memset(value, 'w', a->left);
    struct http_header h = { STR("x-wide"), { value, a->left } };
    http_exchange_respond(a->x, 200, (struct http_headers){ &h, 1 }, 0);
    http_exchange_finish(a->x);
    free(value);
}

static void do_split(struct answer *a)
{
    http_exchange_respond(a->x, 200, HTTP_HEADERS({ STR("x-a"), STR("1\r\nx-b: 2") }), 0);
    http_exchange_finish(a->x);
}

static void do_guard(struct answer *a)
{
    bool known = text_eq(a->authorization, "Basic bWU6c2VjcmV0");
    http_exchange_reply(a->x, known ? 204 : 401, NULL, STR(""));
}

static void do_redirect(struct answer *a)
{
    http_exchange_respond(a->x, 302, HTTP_HEADERS({ STR("location"), str_of(a->location) }), 0);
    http_exchange_finish(a->x);
}

static const struct {
    const char *path;
    void (*answer)(struct answer *a);
    const struct http_exchange_handlers *handlers;
} routes[] = {
    { "/hello", do_hello, &plain_handlers }, /* 200 hello */
    { "/grpc.health.v1.Health/Check", do_health, &plain_handlers },
    { "/echo", do_echo, &echo_handlers },          /* the body back, streamed */
    { "/upgrade", do_nothing, &upgrade_handlers }, /* 101, then what comes, up to a "!" */
    { "/sink", do_nothing, &sink_handlers },       /* counts the body, answers with the count */
    { "/whole", do_whole, &plain_handlers },       /* a MiB, written at once */
    { "/big", do_big, &plain_handlers },           /* ?N bytes, announced */
    { "/chunks", do_chunks, &plain_handlers },     /* ?N bytes, not announced */
    { "/half", do_half, &plain_handlers },         /* begins and never ends */
    { "/abort", do_abort, &plain_handlers },       /* begins and is cut */
    { "/hang", do_nothing, &plain_handlers },      /* never answers */
    { "/empty", do_empty, &plain_handlers },       /* 204 */
    { "/wide", do_wide, &plain_handlers },         /* a header of ?N bytes */
    { "/split", do_split, &plain_handlers },       /* a header that would split the answer */
    { "/redirect", do_redirect, &plain_handlers }, /* 302 to the URL that is its query */
    { "/guard", do_guard, &plain_handlers },       /* 204 to me:secret, else 401 */
};

static void inspect(struct rig *r, const struct http_request_head *head)
{
    const struct sockaddr_in *remote = (const struct sockaddr_in *)head->remote;
    snprintf(r->seen_head,
        sizeof(r->seen_head),
        "%.*s path=%.*s query=%.*s authority=%.*s x=%.*s body=%lld h2=%d tls=%d peer=%s/%s "
        "remote=%s",
        (int)head->method.len,
        head->method.ptr,
        (int)head->path.len,
        head->path.ptr,
        (int)head->query.len,
        head->query.ptr ?: "",
        (int)head->authority.len,
        head->authority.ptr ?: "",
        (int)http_header_find(head->headers, "x-test").len,
        http_header_find(head->headers, "x-test").ptr ?: "",
        (long long)head->body_bytes,
        head->http2,
        head->tls,
        head->peer ? head->peer->common_name : "-",
        head->peer && head->peer->organizations[0] ? head->peer->organizations[0] : "-",
        remote->sin_family == AF_INET ? inet_ntoa(remote->sin_addr) : "?");
}

static void on_request(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct rig *r = ctx;
    int64_t number = 0;
    r->requests++;
    inspect(r, head);
    for (size_t i = 0; i < lengthof(routes); i++) {
        if (!str_eq(head->path, str_of(routes[i].path)))
            continue;
        struct answer *a = mem_new_of(struct answer);
        a->rig = r;
        a->x = r->last = x;
        r->last_gone = false;
        if (head->query.ptr && str_to_int(head->query, &number))
            a->left = (size_t)number;
        snprintf(
            a->location, sizeof(a->location), "%.*s", (int)head->query.len, head->query.ptr ?: "");
        struct str authorization = http_header_find(head->headers, "authorization");
        snprintf(a->authorization,
            sizeof(a->authorization),
            "%.*s",
            (int)authorization.len,
            authorization.ptr ?: "");
        http_exchange_take(x, routes[i].handlers, a);
        routes[i].answer(a);
        return;
    }
    if (!str_eq(head->path, STR("/untaken")))
        http_exchange_reply(x, 404, "text/plain", STR("no such path"));
}

/* ---- opening and closing ---- */

void rig_open_with(struct rig *r, int flags, const struct http_server_options *server,
    const struct http_client_options *client)
{
    struct error err = { 0 };
    *r = (struct rig){ .loop = loop_new() };
    if (flags & RIG_TLS) {
        r->server_tls = tls_server_new(
            &(struct tls_server_options){
                .certificate = STR(PEM_SERVER_CERT),
                .key = STR(PEM_SERVER_KEY),
                .client_ca = STR(PEM_CA),
            },
            &err);
        r->client_tls = tls_client_new(&(struct tls_client_options){ .ca = STR(PEM_CA) }, &err);
        check_text(err.text, "");
    }
    struct http_server_options so = *server;
    so.address = "127.0.0.1";
    so.tls = r->server_tls;
    so.request = on_request;
    so.ctx = r;
    r->server = http_server_new(r->loop, &so, &err);
    check_text(err.text, "");
    r->client = http_client_new(r->loop, client);
    r->origin = (struct http_origin){
        .host = "127.0.0.1",
        .port = http_server_port(r->server),
        .tls = r->client_tls,
        .version = flags & RIG_H2 ? HTTP_2_ONLY : HTTP_1_ONLY,
    };
}

void rig_open(struct rig *r, int flags)
{
    rig_open_with(r, flags, &(struct http_server_options){ 0 }, &(struct http_client_options){ 0 });
}

void rig_close(struct rig *r)
{
    http_client_free(r->client);
    http_server_free(r->server);
    tls_context_unref(r->server_tls);
    tls_context_unref(r->client_tls);
    loop_free(r->loop);
}

static bool after_one(void *ctx)
{
    int *count = ctx;
    return (*count)++ > 0;
}

void rig_turn(struct loop *loop)
{
    loop_run_until(loop, after_one, &(int){ 0 }, 5);
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

void rig_turn_for(struct loop *loop, int64_t ms)
{
    loop_run_until(loop, never, NULL, ms);
}

bool rig_patiently(bool (*attempt)(int flags, int64_t limit_ms), int flags)
{
    for (int64_t limit_ms = 200; limit_ms < AWAIT_MAX_MS / 4; limit_ms *= 4)
        if (attempt(flags, limit_ms))
            return true;
    return false;
}

/* ---- calls ---- */

static void seen_head(void *ctx, const struct http_response *response)
{
    struct seen *s = ctx;
    s->heads++;
    s->status = response->status;
    s->http2 = response->http2;
    s->body_bytes = response->body_bytes;
    struct str value = http_header_find(response->headers, "x-answer");
    snprintf(s->header, sizeof(s->header), "%.*s", (int)value.len, value.ptr ?: "");
    if (s->paused)
        http_call_pause(s->call);
    if (s->cancel_at_head)
        http_call_cancel(s->call);
}

static void seen_data(void *ctx, struct str bytes)
{
    struct seen *s = ctx;
    s->datas++;
    s->received += bytes.len;
    if (s->body.len + bytes.len < s->body.limit)
        buf_add(&s->body, bytes.ptr, bytes.len);
    if (s->pause_always)
        http_call_pause(s->call);
    if (s->cancel_at_data)
        http_call_cancel(s->call);
}

static void seen_end(void *ctx, const struct error *err, bool sent)
{
    struct seen *s = ctx;
    check(!s->ended);
    s->ended = true;
    s->sent = sent;
    if (err)
        s->err = *err;
}

static void seen_more(void *ctx)
{
    struct seen *s = ctx;
    bool room = true;
    s->more_calls++;
    while (room && s->sent_bytes < s->to_send) {
        size_t count = s->to_send - s->sent_bytes;
        count = count < sizeof(filler) ? count : sizeof(filler);
        s->sent_bytes += count;
        room = http_call_write(s->call, (struct str){ filler, count });
    }
    if (s->sent_bytes == s->to_send) {
        s->to_send = SIZE_MAX; /* once */
        http_call_finish(s->call);
    }
}

static const struct http_call_handlers seen_handlers = {
    .head = seen_head,
    .data = seen_data,
    .end = seen_end,
    .more = seen_more,
};

struct http_request rig_request(const struct rig *r, const char *method, const char *path)
{
    return (struct http_request){ .origin = &r->origin, .method = method, .path = path };
}

void rig_send(struct rig *r, const struct http_request *request, struct seen *seen)
{
    buf_init(&seen->body, (size_t)1 << 20);
    seen->call = http_call_open(r->client, request, &seen_handlers, seen);
}

void rig_get(struct rig *r, const char *path, struct seen *seen)
{
    struct http_request request = rig_request(r, "GET", path);
    rig_send(r, &request, seen);
}

void seen_done(struct seen *s)
{
    buf_done(&s->body);
}

/* ---- raw sockets ---- */

int raw_listen(uint16_t *ret_port)
{
    struct error err;
    int fd = listen_tcp("127.0.0.1", 0, &err);
    check(fd >= 0);
    *ret_port = listen_port(fd);
    return fd;
}

int raw_accept(struct loop *loop, int listener)
{
    int64_t until = env_mono_ms(loop_env(loop)) + AWAIT_MAX_MS;
    while (env_mono_ms(loop_env(loop)) < until) {
        int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            return fd;
        rig_turn(loop);
    }
    test_fail(__FILE__, __LINE__, "nobody connected");
}

int raw_connect(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

void raw_send(int fd, struct str bytes)
{
    while (bytes.len) {
        ssize_t count = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN)
            continue;
        if (count < 0)
            return; /* the other side closed: the test will see */
        bytes = (struct str){ bytes.ptr + count, bytes.len - (size_t)count };
    }
}

const char *raw_read_until(struct loop *loop, int fd, const char *part)
{
    return raw_read_until_bytes(loop, fd, str_of(part));
}

const char *raw_read_until_bytes(struct loop *loop, int fd, struct str part)
{
    struct buf text = BUF_INIT((size_t)1 << 20);
    const struct env *env = loop_env(loop);
    int64_t until = env_mono_ms(env) + AWAIT_MAX_MS;
    for (;;) {
        char bytes[4096];
        ssize_t count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (count > 0)
            buf_add(&text, bytes, (size_t)count);
        if (count == 0 || (count < 0 && errno != EAGAIN) ||
            (part.ptr && text.len && memmem(text.ptr, text.len, part.ptr, part.len)))
            break;
        if (env_mono_ms(env) > until)
            test_fail(__FILE__, __LINE__, "no \"%s\" in: %s", part.ptr ?: "end", buf_text(&text));
        if (count < 0)
            rig_turn(loop);
    }
    char *copy = arena_strndup(test_arena(), buf_text(&text), text.len);
    buf_done(&text);
    return copy;
}

bool raw_closed(struct loop *loop, int fd)
{
    raw_read_until(loop, fd, NULL);
    return true;
}
