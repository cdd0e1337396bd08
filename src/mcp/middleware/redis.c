#include "mcp/middleware/redis.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/timer.h"
#include "http/conn.h"
#include "http/dial.h"
#include "http/tls.h"

#define WAITING_MAX 10000
#define REPLY_BYTES_MAX ((size_t)64 << 10)
#define COMMAND_BYTES_MAX ((size_t)1 << 20)

struct redis_call {
    struct redis_call *next;
    void (*done)(void *ctx, int64_t value, const struct error *err); /* NULL: cancelled */
    void *ctx;
    struct buf body; /* the rest of the command after the script */
    size_t items;    /* of body */
    bool is_setup;   /* AUTH or SELECT */
    bool is_whole;   /* sent with the text of the script */
};

struct redis {
    const struct env *env;
    struct loop *loop;
    const char *host, *password, *script, *digest;
    uint16_t port;
    int64_t database;
    struct tls_context *tls; /* NULL: plain */
    struct dial *dial;
    struct conn *conn;
    struct buf in;
    struct redis_call *first, **last; /* in command order */
    size_t count;
    struct timer watch, failing;
    struct error broken;
};

static void put_item(struct buf *b, struct str s)
{
    buf_printf(b, "$%zu\r\n", s.len);
    buf_add(b, s.ptr, s.len);
    buf_add_text(b, "\r\n");
}

/* ---- replies ---- */

static bool cut_line(struct str *text, struct str *ret)
{
    const char *end = text->len ? memmem(text->ptr, text->len, "\r\n", 2) : NULL;
    if (!end)
        return false;
    *ret = (struct str){ text->ptr, (size_t)(end - text->ptr) };
    *text = (struct str){ end + 2, text->len - ret->len - 2 };
    return true;
}

int redis_read_reply(struct str *text, int64_t *ret_value, struct str *ret_error)
{
    struct str rest = *text, line;
    *ret_value = 0;
    *ret_error = (struct str){ 0 };
    if (!cut_line(&rest, &line))
        return text->len > REPLY_BYTES_MAX ? -1 : 0;
    if (!line.len)
        return -1;
    struct str body = { line.ptr + 1, line.len - 1 };
    int64_t length;
    switch (line.ptr[0]) {
    case '+':
        break;
    case '-':
        *ret_error = body;
        break;
    case ':':
        if (!str_to_int(body, ret_value))
            return -1;
        break;
    case '$':
        if (!str_to_int(body, &length) || length < -1 || length > (int64_t)REPLY_BYTES_MAX)
            return -1;
        if (length >= 0) {
            if (rest.len < (size_t)length + 2)
                return 0;
            rest = (struct str){ rest.ptr + length + 2, rest.len - (size_t)length - 2 };
        }
        break;
    default:
        return -1;
    }
    *text = rest;
    return 1;
}

/* ---- calls ---- */

static void call_free(struct redis_call *c)
{
    buf_done(&c->body);
    free(c);
}

static struct redis_call *take_first(struct redis *r)
{
    struct redis_call *c = r->first;
    r->first = c->next;
    r->count--;
    if (!r->first)
        r->last = &r->first;
    return c;
}

static void append(struct redis *r, struct redis_call *c)
{
    c->next = NULL;
    *r->last = c;
    r->last = &c->next;
    r->count++;
}

static void disconnect(struct redis *r)
{
    if (r->dial)
        dial_cancel(take(r->dial));
    if (r->conn)
        conn_free(take(r->conn));
    buf_reset(&r->in);
    timer_stop(r->env, &r->watch);
}

/* All waiting calls get the error. New calls may be made meanwhile: they open a new connection. */
static void break_all(struct redis *r, const struct error *err)
{
    struct error copy = *err;
    disconnect(r);
    struct redis_call *c = r->first;
    r->first = NULL;
    r->last = &r->first;
    r->count = 0;
    while (c) {
        struct redis_call *next = c->next;
        if (c->done)
            c->done(c->ctx, 0, &copy);
        call_free(c);
        c = next;
    }
}

static void on_watch(void *ctx)
{
    struct redis *r = ctx;
    struct error err;
    fail(&err, ERR_TIMEOUT, "Redis did not answer within %d ms", REDIS_WAIT_MS);
    break_all(r, &err);
}

static void on_failing(void *ctx)
{
    struct redis *r = ctx;
    struct error err = r->broken;
    break_all(r, &err);
}

/* Called inside redis_run(): done() must be called later. */
static void fail_soon(struct redis *r, const struct error *err)
{
    r->broken = *err;
    timer_set(r->env, &r->failing, 0);
}

/* ---- the connection ---- */

static void send_call(struct redis *r, struct redis_call *c)
{
    struct buf out = BUF_INIT(COMMAND_BYTES_MAX * 2);
    if (c->is_setup) {
        buf_printf(&out, "*%zu\r\n", c->items);
    } else {
        buf_printf(&out, "*%zu\r\n", c->items + 2);
        put_item(&out, c->is_whole ? STR("EVAL") : STR("EVALSHA"));
        put_item(&out, str_of(c->is_whole ? r->script : r->digest));
    }
    buf_add(&out, c->body.ptr, c->body.len);
    conn_write(r->conn, buf_str(&out));
    buf_done(&out);
}

static struct redis_call *setup_call(const char *name, const char *value)
{
    struct redis_call *c = mem_new_of(struct redis_call);
    buf_init(&c->body, COMMAND_BYTES_MAX);
    put_item(&c->body, str_of(name));
    put_item(&c->body, str_of(value));
    c->items = 2;
    c->is_setup = true;
    return c;
}

static void arm(struct redis *r)
{
    if (r->first)
        timer_set(r->env, &r->watch, REDIS_WAIT_MS);
    else
        timer_stop(r->env, &r->watch);
}

static void on_reply(struct redis *r, int64_t value, struct str error)
{
    struct redis_call *c = take_first(r);
    struct error err;
    if (str_starts(error, STR("NOSCRIPT")) && !c->is_whole) {
        c->is_whole = true;
        append(r, c);
        send_call(r, c);
        return;
    }
    if (error.ptr) {
        fail(&err, ERR_UNAVAILABLE, "Redis: %.*s", (int)error.len, error.ptr);
        if (c->is_setup) {
            call_free(c);
            break_all(r, &err);
            return;
        }
    }
    if (c->done)
        c->done(c->ctx, value, error.ptr ? &err : NULL);
    call_free(c);
}

static void on_data(void *ctx, struct str bytes)
{
    struct redis *r = ctx;
    struct str error;
    int64_t value;
    buf_add(&r->in, bytes.ptr, bytes.len);
    struct conn *conn = r->conn;
    size_t eaten = 0;
    while (r->conn == conn) {
        struct str text = { r->in.ptr + eaten, r->in.len - eaten };
        int got = redis_read_reply(&text, &value, &error);
        if (!got)
            break;
        if (got < 0 || !r->first) {
            struct error err;
            fail(&err, ERR_UNAVAILABLE, "Redis: the answer is not of its protocol");
            break_all(r, &err);
            return;
        }
        size_t next = r->in.len - text.len;
        on_reply(r, value, error);
        eaten = next;
    }
    if (r->conn != conn)
        return;
    buf_eat(&r->in, eaten);
    arm(r);
}

static void on_closed(void *ctx, const struct error *err)
{
    struct error ended;
    fail(&ended, ERR_UNAVAILABLE, "Redis closed the connection");
    break_all(ctx, err ? err : &ended);
}

static void ignore(void *ctx)
{
    (void)ctx;
}

static void on_dialled(void *ctx, struct conn *conn, const struct error *err)
{
    static const struct conn_handlers handlers = { ignore, on_data, ignore, on_closed };
    struct redis *r = ctx;
    r->dial = NULL;
    if (err) {
        break_all(r, err);
        return;
    }
    r->conn = conn;
    conn_set_handlers(conn, &handlers, r);
    struct redis_call *waiting = r->first, *next;
    r->first = NULL;
    r->last = &r->first;
    r->count = 0;
    char number[24];
    if (!text_empty(r->password))
        append(r, setup_call("AUTH", r->password));
    if (r->database) {
        snprintf(number, sizeof(number), "%lld", (long long)r->database);
        append(r, setup_call("SELECT", number));
    }
    for (; waiting; waiting = next) {
        next = waiting->next;
        append(r, waiting);
    }
    for (struct redis_call *c = r->first; c; c = c->next)
        send_call(r, c);
    arm(r);
}

static void connect_now(struct redis *r)
{
    r->dial = dial_start(r->loop,
        &(struct dial_options){
            .host = r->host,
            .port = r->port,
            .tls = r->tls,
            .connect_ms = REDIS_WAIT_MS,
            .tls_ms = REDIS_WAIT_MS,
            .fallback_ms = 250,
        },
        on_dialled,
        r);
}

/* ---- interface ---- */

struct redis *redis_new(
    const struct mcp_open *o, const struct redis_options *options, struct error *err)
{
    const char *address = options->address ? options->address : "";
    const char *colon = strrchr(address, ':');
    int64_t port;
    if (!colon || colon == address || !str_to_int(str_of(colon + 1), &port) || port < 1 ||
        port > 65535) {
        fail(err, ERR_INVALID, "\"%s\" is not host:port", address);
        return NULL;
    }
    struct redis *r = mem_new_of(struct redis);
    uint8_t digest[SHA1_BYTES];
    sha1_of(str_of(options->script), digest);
    *r = (struct redis){
        .env = o->env,
        .loop = o->loop,
        .host = arena_strndup(o->arena, address, (size_t)(colon - address)),
        .port = (uint16_t)port,
        .password = options->password,
        .database = options->database,
        .tls = tls_context_ref(options->tls),
        .script = options->script,
        .digest = hex_encode(o->arena, (struct str){ (const char *)digest, sizeof(digest) }),
    };
    r->last = &r->first;
    buf_init(&r->in, REPLY_BYTES_MAX * 4);
    timer_init(&r->watch, on_watch, r);
    timer_init(&r->failing, on_failing, r);
    return r;
}

void redis_free(struct redis *r)
{
    if (!r)
        return;
    disconnect(r);
    timer_stop(r->env, &r->failing);
    while (r->first)
        call_free(take_first(r));
    buf_done(&r->in);
    tls_context_unref(r->tls);
    free(r);
}

struct redis_call *redis_run(struct redis *r, const char *const *keys, size_t key_count,
    const char *const *args, size_t arg_count,
    void (*done)(void *ctx, int64_t value, const struct error *err), void *ctx)
{
    struct redis_call *c = mem_new_of(struct redis_call);
    char number[24];
    c->done = done;
    c->ctx = ctx;
    c->items = 1 + key_count + arg_count;
    buf_init(&c->body, COMMAND_BYTES_MAX);
    snprintf(number, sizeof(number), "%zu", key_count);
    put_item(&c->body, str_of(number));
    for (size_t i = 0; i < key_count; i++)
        put_item(&c->body, str_of(keys[i]));
    for (size_t i = 0; i < arg_count; i++)
        put_item(&c->body, str_of(args[i]));
    bool was_idle = !r->first;
    append(r, c);
    if (r->count > WAITING_MAX) {
        struct error err;
        fail(&err, ERR_BUSY, "more than %d commands wait for Redis", WAITING_MAX);
        fail_soon(r, &err);
    } else if (r->conn) {
        send_call(r, c);
        if (was_idle)
            arm(r);
    } else if (!r->dial) {
        connect_now(r);
    }
    return c;
}

void redis_cancel(struct redis_call *c)
{
    if (c)
        c->done = NULL;
}
