#include "http/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/url.h"
#include "http/conn.h"
#include "http/loop.h"

#define DIAL_ADDRESSES_MAX 8
#define DIAL_PROXY_HEAD_MAX ((size_t)16 << 10)

struct attempt {
    struct dial *dial;
    struct sockaddr_storage address;
    socklen_t length;
    int fd;    /* -1: not in progress */
    int error; /* of connect() itself; reported by the timer */
    struct loop_watch *watch;
    struct timer timeout;
};

struct dial {
    struct loop *loop;
    const struct env *env;
    struct dial_options o;
    void (*done)(void *ctx, struct conn *conn, const struct error *err);
    void *ctx;
    struct loop_resolve *resolve;
    struct attempt attempts[DIAL_ADDRESSES_MAX];
    size_t count, started, running;
    struct timer fallback; /* starts the next address in parallel */
    struct timer timeout;  /* of the step after connecting */
    struct conn *conn;
    bool proxy_secured, tunnel_asked, secured;
    const char *waits_for;
    struct buf answer; /* of the proxy */
    struct error err;
};

static void start_next(struct dial *d);

/* Takes the socket out of an attempt, which is over. */
static int attempt_take(struct attempt *t)
{
    int fd = t->fd;
    timer_stop(t->dial->env, &t->timeout);
    loop_watch_free(take(t->watch));
    t->fd = -1;
    t->dial->running--;
    return fd;
}

static void attempt_stop(struct attempt *t)
{
    if (t->fd >= 0)
        close(attempt_take(t));
}

static void dial_free(struct dial *d)
{
    if (d->resolve)
        loop_resolve_cancel(d->resolve);
    for (size_t i = 0; i < d->count; i++)
        attempt_stop(&d->attempts[i]);
    timer_stop(d->env, &d->fallback);
    timer_stop(d->env, &d->timeout);
    conn_free(d->conn);
    buf_done(&d->answer);
    free(d);
}

static void finish(struct dial *d, struct conn *conn)
{
    void (*done)(void *ctx, struct conn *conn, const struct error *err) = d->done;
    void *ctx = d->ctx;
    struct error err = d->err;
    if (!conn)
        fail_in(&err, "dial %s:%u", d->o.host, d->o.port);
    dial_free(d);
    done(ctx, conn, conn ? NULL : &err);
}

/* ---- TCP ---- */

static void name_address(const struct attempt *t, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
    getnameinfo((const struct sockaddr *)&t->address,
        t->length,
        host,
        sizeof(host),
        port,
        sizeof(port),
        NI_NUMERICHOST | NI_NUMERICSERV);
    snprintf(text, size, t->address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static void attempt_failed(struct attempt *t, int number)
{
    char name[64];
    name_address(t, name, sizeof(name));
    fail_errno(&t->dial->err, number, "connect %s", name);
    if (t->dial->err.code == ERR_INTERNAL) /* no route, or network down: temporary */
        t->dial->err.code = ERR_UNAVAILABLE;
    attempt_stop(t);
    start_next(t->dial);
}

static void attempt_timeout(void *ctx)
{
    struct attempt *t = ctx;
    attempt_failed(t, t->error ?: ETIMEDOUT);
}

static void fallback_due(void *ctx)
{
    start_next(ctx);
}

/* ---- layers above TCP ---- */

static void layers_failed(void *ctx, const struct error *err)
{
    struct dial *d = ctx;
    if (err)
        d->err = *err;
    else
        fail(&d->err, ERR_UNAVAILABLE, "the other side closed the connection at once");
    finish(d, NULL);
}

static void layers_timeout(struct dial *d)
{
    fail(&d->err, ERR_TIMEOUT, "no %s within %lld ms", d->waits_for, (long long)d->o.tls_ms);
    finish(d, NULL);
}

static void ask_tunnel(struct dial *d)
{
    bool is_ipv6 = strchr(d->o.host, ':');
    char target[300];
    snprintf(target, sizeof(target), is_ipv6 ? "[%s]:%u" : "%s:%u", d->o.host, d->o.port);
    struct buf text = BUF_INIT(DIAL_PROXY_HEAD_MAX);
    buf_printf(&text, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target);
    if (d->o.proxy_authorization)
        buf_printf(&text, "Proxy-Authorization: %s\r\n", d->o.proxy_authorization);
    buf_add_text(&text, "\r\n");
    conn_send(d->conn, buf_str(&text));
    conn_flush(d->conn);
    buf_done(&text);
}

/* The steps, each once, in this order; steps that are not needed are skipped. */
static void next_layer(void *ctx)
{
    struct dial *d = ctx;
    struct dial_options *o = &d->o;
    timer_set(d->env, &d->timeout, o->tls_ms);
    if (o->proxy_host && o->proxy_tls && !d->proxy_secured) {
        d->proxy_secured = true;
        d->waits_for = "TLS handshake of the proxy";
        conn_secure(d->conn, o->proxy_tls, o->proxy_host, NULL);
    } else if (o->proxy_host && !d->tunnel_asked) {
        d->tunnel_asked = true;
        d->waits_for = "answer of the proxy";
        ask_tunnel(d);
    } else if (o->tls && !d->secured) {
        d->secured = true;
        d->waits_for = "TLS handshake";
        conn_secure(d->conn, o->tls, o->host, o->alpn);
    } else {
        finish(d, take(d->conn));
    }
}

static void proxy_answered(void *ctx, struct str bytes)
{
    struct dial *d = ctx;
    buf_add(&d->answer, bytes.ptr, bytes.len);
    const char *end = strstr(buf_text(&d->answer), "\r\n\r\n");
    if (!end && !buf_overflowed(&d->answer))
        return;
    struct str line = buf_str(&d->answer);
    int64_t status = 0;
    bool is_http = line.len > 12 && str_starts(line, STR("HTTP/1.")) &&
                   str_to_int((struct str){ line.ptr + 9, 3 }, &status);
    if (!end || !is_http)
        fail(&d->err, ERR_UNAVAILABLE, "proxy %s: no proper answer to CONNECT", d->o.proxy_host);
    else if (status < 200 || status > 299)
        fail(&d->err,
            status == 407 ? ERR_UNAUTHORIZED : error_code_of_http((int)status) ?: ERR_UNAVAILABLE,
            "proxy %s answered CONNECT with %lld",
            d->o.proxy_host,
            (long long)status);
    else if (end + 4 != d->answer.ptr + d->answer.len)
        fail(&d->err, ERR_UNAVAILABLE, "proxy %s: bytes before any were asked", d->o.proxy_host);
    if (d->err.code) {
        finish(d, NULL);
        return;
    }
    buf_done(&d->answer);
    next_layer(d);
}

static const struct conn_handlers layer_handlers = {
    .secured = next_layer,
    .data = proxy_answered,
    .closed = layers_failed,
};

static void attempt_ready(void *ctx, int events)
{
    (void)events;
    struct attempt *t = ctx;
    struct dial *d = t->dial;
    int number = 0;
    socklen_t size = sizeof(number);
    getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &number, &size);
    if (number) {
        attempt_failed(t, number);
        return;
    }
    int fd = attempt_take(t);
    for (size_t i = 0; i < d->count; i++)
        attempt_stop(&d->attempts[i]);
    timer_stop(d->env, &d->fallback);
    d->err.code = ERR_NONE;
    d->conn = conn_new(d->loop, fd, &layer_handlers, d);
    next_layer(d);
}

static void attempt_start(struct attempt *t)
{
    struct dial *d = t->dial;
    const struct sockaddr *address = (const struct sockaddr *)&t->address;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fail_errno(&d->err, errno, "socket");
        return;
    }
    t->fd = fd;
    d->running++;
    t->watch = loop_watch_new(d->loop, fd, attempt_ready, t);
    timer_set(d->env, &t->timeout, d->o.connect_ms);
    if (connect(fd, address, t->length) < 0 && errno != EINPROGRESS) {
        /* Reported from the loop like any other failure, because this runs inside dial_start(). */
        t->error = errno;
        timer_set(d->env, &t->timeout, 0);
        return;
    }
    loop_watch_set(t->watch, LOOP_WRITE);
}

static void start_next(struct dial *d)
{
    if (d->started < d->count) {
        attempt_start(&d->attempts[d->started++]);
        timer_set(d->env, &d->fallback, d->running ? d->o.fallback_ms : 0);
    } else if (d->running == 0) {
        finish(d, NULL);
    }
}

/* ---- names ---- */

static void resolve_timeout(struct dial *d)
{
    fail(
        &d->err, ERR_TIMEOUT, "no address for the name within %lld ms", (long long)d->o.connect_ms);
    finish(d, NULL);
}

static void step_timeout(void *ctx)
{
    struct dial *d = ctx;
    if (d->resolve)
        resolve_timeout(d);
    else
        layers_timeout(d);
}

static void add_address(struct dial *d, const struct addrinfo *one)
{
    struct attempt *t = &d->attempts[d->count];
    bool wanted = one->ai_family == AF_INET || one->ai_family == AF_INET6;
    if (!wanted || one->ai_addrlen > sizeof(t->address))
        return;
    memcpy(&t->address, one->ai_addr, one->ai_addrlen);
    t->length = one->ai_addrlen;
    t->dial = d;
    t->fd = -1;
    timer_init(&t->timeout, attempt_timeout, t);
    if (!d->o.proxy_host && d->o.allowed && !d->o.allowed(d->o.allowed_ctx, one->ai_addr)) {
        char name[64];
        name_address(t, name, sizeof(name));
        fail(&d->err, ERR_FORBIDDEN, "address %s is not allowed", name);
        return;
    }
    d->count++;
}

/* Alternates the address families, beginning with the one that the resolver prefers: a broken IPv6
 * then costs one fallback, not one per address (RFC 8305, 4). */
static void use_addresses(struct dial *d, const struct addrinfo *list)
{
    const struct addrinfo *next[2] = { list, list };
    int first = list ? list->ai_family : AF_INET;
    for (size_t turn = 0; (next[0] || next[1]) && d->count < DIAL_ADDRESSES_MAX; turn ^= 1) {
        while (next[turn] && (next[turn]->ai_family == first) != (turn == 0))
            next[turn] = next[turn]->ai_next;
        if (!next[turn])
            continue;
        add_address(d, next[turn]);
        next[turn] = next[turn]->ai_next;
    }
    if (d->count == 0 && !d->err.code)
        fail(&d->err, ERR_NOT_FOUND, "the name has no address");
    start_next(d);
}

static void found(void *ctx, const struct addrinfo *list, const struct error *err)
{
    struct dial *d = ctx;
    d->resolve = NULL;
    timer_stop(d->env, &d->timeout);
    if (!err) {
        use_addresses(d, list);
        return;
    }
    d->err = *err;
    finish(d, NULL);
}

void dial_found(struct dial *d, const struct addrinfo *list)
{
    loop_resolve_cancel(take(d->resolve));
    found(d, list, NULL);
}

bool dial_read_proxy(struct arena *a, const char *text, struct tls_context *tls,
    struct dial_options *ret, struct error *err)
{
    struct url url;
    if (!url_parse(a, text, &url, err))
        return fail_in(err, "proxy");
    bool is_tls = text_eq(url.scheme, "https");
    if (!is_tls && !text_eq(url.scheme, "http"))
        return fail(err, ERR_UNSUPPORTED, "proxy %s://: use http or https", url.scheme);
    ret->proxy_host = url.host;
    ret->proxy_port = (uint16_t)url_port(&url);
    if (is_tls)
        ret->proxy_tls =
            tls_context_ref(tls) ?: tls_client_new(&(struct tls_client_options){ 0 }, err);
    if (is_tls && !ret->proxy_tls)
        return fail_in(err, "proxy");
    return url_basic_auth(a, &url, &ret->proxy_authorization, err) || fail_in(err, "proxy");
}

struct dial *dial_start(struct loop *loop, const struct dial_options *options,
    void (*done)(void *ctx, struct conn *conn, const struct error *err), void *ctx)
{
    struct dial *d = mem_new_of(struct dial);
    d->loop = loop;
    d->env = loop_env(loop);
    d->o = *options;
    d->done = done;
    d->ctx = ctx;
    buf_init(&d->answer, DIAL_PROXY_HEAD_MAX);
    timer_init(&d->fallback, fallback_due, d);
    timer_init(&d->timeout, step_timeout, d);
    timer_set(d->env, &d->timeout, options->connect_ms);
    d->resolve = loop_resolve(loop,
        options->proxy_host ?: options->host,
        options->proxy_host ? options->proxy_port : options->port,
        found,
        d);
    return d;
}

void dial_cancel(struct dial *d)
{
    if (d)
        dial_free(d);
}
