#include "http/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "http/loop.h"
#include "http/tls_session.h"

#define CONN_READ_BYTES ((size_t)32768)
#define CONN_READS_PER_TURN 4
#define CONN_LAYERS_MAX 2
#define CONN_QUEUE_MAX ((size_t)4 << 20) /* above: a bug, see conn_pending() */

struct conn {
    const struct env *env;
    int fd;
    struct loop_watch *watch;
    const struct conn_handlers *on;
    void *ctx;
    struct tls_session *layers[CONN_LAYERS_MAX];
    size_t layer_count;
    struct buf between; /* from the inner TLS layer to the outer one */
    struct buf out;
    size_t out_at; /* part of `out` that the kernel has accepted */
    uint64_t written;
    bool reading, full, shut, shut_sent, at_end, closed_told, failure_told;
    int write_failed;   /* its errno */
    struct timer again; /* delivers data held while reading was off; reports errors */
    struct error *err;  /* NULL: none; most connections never have one */
    bool failed;
    int busy; /* callbacks on the stack; memory is kept until they return */
    bool freed;
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
};

static struct error *err_of(struct conn *c)
{
    if (!c->err)
        c->err = mem_new_of(struct error);
    return c->err;
}

static void ready(void *ctx, int events);
static void look_again(void *ctx);
static bool deliver(struct conn *c, size_t level, struct str bytes);

static void watch_update(struct conn *c)
{
    int events = c->full ? LOOP_WRITE : 0;
    if (!c->at_end && !c->closed_told)
        events |= c->reading ? LOOP_READ : LOOP_HANGUP;
    loop_watch_set(c->watch, events);
}

struct conn *conn_new(struct loop *loop, int fd, const struct conn_handlers *handlers, void *ctx)
{
    struct conn *c = mem_new_of(struct conn);
    c->env = loop_env(loop);
    c->fd = fd;
    c->on = handlers;
    c->ctx = ctx;
    c->reading = true;
    buf_init(&c->out, CONN_QUEUE_MAX);
    buf_init(&c->between, CONN_QUEUE_MAX);
    timer_init(&c->again, look_again, c);
    socklen_t size = sizeof(c->address);
    getpeername(fd, &c->address.any, &size);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){ 30 }, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){ 10 }, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){ 3 }, sizeof(int));
    c->watch = loop_watch_new(loop, fd, ready, c);
    watch_update(c);
    return c;
}

void conn_set_handlers(struct conn *c, const struct conn_handlers *handlers, void *ctx)
{
    c->on = handlers;
    c->ctx = ctx;
}

static void release(struct conn *c)
{
    for (size_t i = 0; i < c->layer_count; i++)
        tls_session_free(c->layers[i]);
    buf_done(&c->out);
    buf_done(&c->between);
    free(c->err);
    free(c);
}

static void leave(struct conn *c)
{
    if (--c->busy == 0 && c->freed)
        release(c);
}

void conn_free(struct conn *c)
{
    if (!c)
        return;
    if (!c->failed && !c->shut && c->layer_count)
        conn_shutdown(c);
    c->freed = true;
    timer_stop(c->env, &c->again);
    loop_watch_free(c->watch);
    close(c->fd);
    if (c->busy == 0)
        release(c);
}

void conn_abort(struct conn *c)
{
    if (c)
        setsockopt(
            c->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
    conn_free(c);
}

/* Errors are reported from the loop, never from inside a call of the owner. */
static void conn_fail(struct conn *c)
{
    c->failed = true;
    if (!c->freed)
        timer_set(c->env, &c->again, 0);
}

static void tell_closed(struct conn *c, const struct error *err)
{
    if (c->freed || c->failure_told || (c->closed_told && !err))
        return;
    c->closed_told = true;
    c->failure_told = err;
    watch_update(c);
    c->on->closed(c->ctx, err);
}

/* ---- out ---- */

/* Output of the inner layer goes through the outer one. */
static void pass_between(struct conn *c)
{
    if (c->between.len == 0)
        return;
    if (!c->failed && !tls_session_write(c->layers[0], buf_str(&c->between), err_of(c)))
        conn_fail(c);
    buf_done(&c->between);
}

void conn_send(struct conn *c, struct str bytes)
{
    if (c->failed || c->write_failed || c->freed)
        return;
    assert(!c->shut);
    if (c->layer_count == 0)
        buf_add(&c->out, bytes.ptr, bytes.len);
    else if (!tls_session_write(c->layers[c->layer_count - 1], bytes, err_of(c)))
        conn_fail(c);
    pass_between(c);
    assert(!buf_overflowed(&c->out));
}

size_t conn_pending(const struct conn *c)
{
    return c->out.len - c->out_at;
}

uint64_t conn_queued(const struct conn *c)
{
    return c->written + conn_pending(c);
}

uint64_t conn_written(const struct conn *c)
{
    return c->written;
}

uint64_t conn_confirmed(const struct conn *c)
{
    struct tcp_info info = { 0 };
    socklen_t size = sizeof(info);
    getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return info.tcpi_bytes_acked ? info.tcpi_bytes_acked - 1 : 0; /* the SYN counts, too */
}

/* A failed write does not close the connection: a response that explains the failure may still be
 * readable. */
static void write_failure(struct conn *c, int number)
{
    c->write_failed = number;
    buf_done(&c->out);
    c->out_at = 0;
    if (!c->reading || c->at_end) {
        fail_errno(err_of(c), number, "write");
        conn_fail(c);
    }
}

void conn_flush(struct conn *c)
{
    while (conn_pending(c) && !c->freed) {
        ssize_t count = send(c->fd, c->out.ptr + c->out_at, conn_pending(c), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno != EAGAIN)
            write_failure(c, errno);
        if (count < 0)
            break;
        c->out_at += (size_t)count;
        c->written += (uint64_t)count;
    }
    c->full = conn_pending(c) > 0;
    if (!c->full) {
        buf_done(&c->out);
        c->out_at = 0;
    }
    if (c->shut && !c->full && !c->shut_sent) {
        c->shut_sent = true;
        shutdown(c->fd, SHUT_WR);
    }
    if (!c->freed)
        watch_update(c);
}

void conn_write(struct conn *c, struct str bytes)
{
    bool direct = c->layer_count == 0 && !conn_pending(c) && !c->failed && !c->write_failed;
    assert(!c->shut);
    ssize_t count = direct ? send(c->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL) : 0;
    size_t taken = count > 0 ? (size_t)count : 0;
    c->written += taken;
    if (taken == bytes.len)
        return;
    conn_send(c, (struct str){ bytes.ptr + taken, bytes.len - taken });
    conn_flush(c); /* also detects errors */
}

void conn_shutdown(struct conn *c)
{
    if (c->shut || c->freed)
        return;
    for (size_t i = c->layer_count; i > 0; i--) {
        tls_session_shutdown(c->layers[i - 1]);
        pass_between(c);
    }
    c->shut = true;
    conn_flush(c);
}

/* ---- in ---- */

static bool handshake(struct conn *c, size_t level)
{
    struct tls_session *tls = c->layers[level];
    if (tls_session_state(tls) != TLS_HANDSHAKE)
        return true;
    bool ok = tls_session_handshake(tls, err_of(c));
    pass_between(c);
    conn_flush(c);
    if (!ok) {
        c->failed = true;
        return false;
    }
    if (tls_session_state(tls) == TLS_OPEN && level + 1 == c->layer_count && c->on->secured)
        c->on->secured(c->ctx);
    return !c->freed;
}

/* Passes bytes to a layer, and its output to the next layer; false to stop. */
static bool deliver(struct conn *c, size_t level, struct str bytes)
{
    if (level == c->layer_count) {
        if (bytes.len)
            c->on->data(c->ctx, bytes);
        return !c->freed;
    }
    struct tls_session *tls = c->layers[level];
    char plain[16384];
    size_t count = 1;
    tls_session_input(tls, bytes);
    if (!handshake(c, level))
        return false;
    /* secured() may have added a layer. */
    while (count > 0 && c->reading) {
        if (!tls_session_read(tls, plain, sizeof(plain), &count, err_of(c))) {
            pass_between(c);
            conn_flush(c);
            c->failed = true;
            return false;
        }
        if ((count || level + 1 < c->layer_count) &&
            !deliver(c, level + 1, (struct str){ plain, count }))
            return false;
    }
    tls_session_hold(tls);
    pass_between(c);
    c->at_end = c->at_end || tls_session_state(tls) == TLS_CLOSED;
    return true;
}

static bool said_goodbye(const struct conn *c)
{
    for (size_t i = 0; i < c->layer_count; i++)
        if (tls_session_state(c->layers[i]) == TLS_CLOSED)
            return true;
    return c->layer_count == 0;
}

/* After the end of input: reports it once all data before it is delivered. */
static void finish_input(struct conn *c)
{
    if (c->failed) {
        tell_closed(c, err_of(c));
    } else if (c->at_end && c->reading) {
        if (!said_goodbye(c) && !(c->err && c->err->code))
            fail(err_of(c), ERR_UNAVAILABLE, "the connection was cut without a TLS goodbye");
        tell_closed(c, c->err && c->err->code ? c->err : NULL);
    }
}

static void read_some(struct conn *c)
{
    char bytes[CONN_READ_BYTES];
    for (int i = 0; i < CONN_READS_PER_TURN && c->reading; i++) {
        ssize_t count = recv(c->fd, bytes, sizeof(bytes), 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count < 0)
            fail_errno(err_of(c), errno, "read");
        if (count <= 0) {
            c->at_end = true;
            return;
        }
        if (!deliver(c, 0, (struct str){ bytes, (size_t)count }) || (size_t)count < sizeof(bytes))
            return;
    }
}

/* While reading is paused, the peer's end of input waits, but a broken connection is reported. */
static void look_for_reset(struct conn *c)
{
    int number = 0;
    socklen_t size = sizeof(number);
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &number, &size);
    number = number ?: c->write_failed; /* a failed write has cleared the socket's error */
    if (number) {
        fail_errno(err_of(c), number, "connection");
        c->failed = true;
    } else {
        loop_watch_set(c->watch, c->full ? LOOP_WRITE : 0);
    }
}

static void ready(void *ctx, int events)
{
    struct conn *c = ctx;
    c->busy++;
    if (events & LOOP_WRITE) {
        conn_flush(c);
        if (!c->full && c->on->room)
            c->on->room(c->ctx);
    }
    if (!c->freed && events & LOOP_READ && c->reading)
        read_some(c);
    else if (!c->freed && events & LOOP_HANGUP && !c->reading)
        look_for_reset(c);
    if (!c->freed && (c->at_end || c->failed))
        finish_input(c);
    if (!c->freed && conn_pending(c) && !c->full)
        conn_flush(c); /* alerts and key updates of TLS */
    leave(c);
}

static void look_again(void *ctx)
{
    struct conn *c = ctx;
    c->busy++;
    if (!c->failed && c->reading && c->layer_count)
        deliver(c, 0, (struct str){ "", 0 });
    if (!c->freed)
        finish_input(c);
    leave(c);
}

void conn_set_reading(struct conn *c, bool on)
{
    if (c->reading == on || c->freed)
        return;
    c->reading = on;
    watch_update(c);
    if (on && (c->layer_count || c->at_end))
        timer_set(c->env, &c->again, 0);
}

bool conn_is_quiet(const struct conn *c)
{
    char byte;
    if (c->at_end || c->failed || c->write_failed)
        return false;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* ---- TLS ---- */

void conn_secure(struct conn *c, struct tls_context *tls, const char *host, const char *alpn)
{
    assert(c->layer_count < CONN_LAYERS_MAX);
    struct buf *out = c->layer_count == 0 ? &c->out : &c->between;
    c->layers[c->layer_count++] = tls_session_new(tls, host, alpn, out);
    timer_set(c->env, &c->again, 0); /* a client sends first */
}

bool conn_is_h2(const struct conn *c)
{
    return c->layer_count > 0 && tls_session_is_h2(c->layers[c->layer_count - 1]);
}

const struct tls_peer *conn_peer(const struct conn *c, struct arena *a)
{
    return c->layer_count ? tls_session_peer(c->layers[c->layer_count - 1], a) : NULL;
}

const struct sockaddr *conn_address(const struct conn *c)
{
    return &c->address.any;
}
