#include "http/pool.h"

#include <stdlib.h>
#include <string.h>

struct dialling {
    struct origin *origin;
    struct dialling *next;
    struct dial *dial;
};

static void dispatch(void *ctx);

/* ---- origins ---- */

static bool same_origin(const struct http_origin *a, const struct http_origin *b)
{
    return text_eq(a->host, b->host) && a->port == b->port && a->tls == b->tls &&
           a->version == b->version && text_eq(a->proxy_url, b->proxy_url) &&
           a->proxy_tls == b->proxy_tls && a->address_allowed == b->address_allowed &&
           a->address_ctx == b->address_ctx;
}

static struct origin *origin_new(struct http_client *c, const struct http_origin *key)
{
    static const char *const alpn[] = {
        [HTTP_ANY] = "\x02h2\x08http/1.1",
        [HTTP_1_ONLY] = "\x08http/1.1",
        [HTTP_2_ONLY] = "\x02h2",
    };
    struct origin *o = mem_new_of(struct origin);
    o->client = c;
    arena_init(&o->arena, ARENA_LIMIT_DEFAULT);
    timer_init(&o->turn, dispatch, o);
    o->key = *key;
    o->key.host = arena_strdup(&o->arena, key->host);
    o->key.proxy_url = arena_strdup(&o->arena, key->proxy_url);
    tls_context_ref(key->tls);
    tls_context_ref(key->proxy_tls);
    o->dial = (struct dial_options){
        .host = o->key.host,
        .port = key->port,
        .tls = key->tls,
        .alpn = alpn[key->version],
        .allowed = key->address_allowed,
        .allowed_ctx = key->address_ctx,
        .fallback_ms = c->o.fallback_ms,
    };
    const char *host =
        arena_printf(&o->arena, strchr(o->key.host, ':') ? "[%s]" : "%s", o->key.host);
    o->authority = key->port == (key->tls ? 443 : 80)
                       ? host
                       : arena_printf(&o->arena, "%s:%u", host, key->port);
    if (key->proxy_url &&
        !dial_read_proxy(&o->arena, o->key.proxy_url, o->key.proxy_tls, &o->dial, &o->err))
        o->dial.proxy_host = NULL; /* calls fail with o->err */
    o->next = c->origins;
    c->origins = o;
    return o;
}

static void origin_free(struct origin *o)
{
    struct origin **at = &o->client->origins;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    timer_stop(o->client->env, &o->turn);
    tls_context_unref(o->key.tls);
    tls_context_unref(o->key.proxy_tls);
    tls_context_unref(o->dial.proxy_tls);
    arena_done(&o->arena);
    free(o);
}

static void origin_free_if_unused(struct origin *o)
{
    if (!o->calls && !o->connections && !o->dials)
        origin_free(o);
}

struct origin *pool_origin(struct http_client *c, const struct http_origin *key)
{
    for (struct origin *o = c->origins; o; o = o->next)
        if (same_origin(&o->key, key))
            return o;
    return origin_new(c, key);
}

/* ---- calls that wait ---- */

void pool_wait(struct http_call *call, bool in_front)
{
    struct origin *o = call->origin;
    assert(!call->waits);
    call->waits = true;
    call->next_waiting = in_front ? o->waiting : NULL;
    if (in_front)
        o->waiting = call;
    else if (o->waiting)
        o->waiting_last->next_waiting = call;
    else
        o->waiting = call;
    if (!call->next_waiting)
        o->waiting_last = call;
    o->waiting_count++;
    timer_set(o->client->env, &o->turn, 0);
}

void pool_unwait(struct http_call *call)
{
    struct origin *o = call->origin;
    struct http_call **at = &o->waiting, *before = NULL;
    while (*at != call) {
        before = *at;
        at = &(*at)->next_waiting;
    }
    *at = call->next_waiting;
    if (o->waiting_last == call)
        o->waiting_last = before;
    call->waits = false;
    o->waiting_count--;
}

void pool_leave(struct http_call *call)
{
    struct origin *o = call->origin;
    o->calls--;
    if (o->calls == 0 && !timer_is_set(&o->turn))
        timer_set(o->client->env, &o->turn, 0);
}

/* Fails all calls that wait now, but not those that their end() may add. */
static void fail_waiting(struct origin *o, const struct error *err)
{
    struct error copy = *err;
    for (size_t count = o->waiting_count; count > 0 && o->waiting; count--)
        call_end(o->waiting, &copy, false);
}

/* ---- connections ---- */

static void pooled_free(struct pooled *p)
{
    struct origin *o = p->origin;
    struct pooled **at = &o->connections;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    o->connection_count--;
    timer_stop(o->client->env, &p->idle);
    link_free(p->link);
    free(p);
}

static void pooled_idle(void *ctx)
{
    struct pooled *p = ctx;
    struct origin *o = p->origin;
    pooled_free(p);
    origin_free_if_unused(o);
}

/* A little less than the server's timeout, so that our side closes first. */
static int64_t idle_limit_ms(const struct pooled *p)
{
    int64_t ours = p->origin->client->o.idle_connection_ms;
    int64_t theirs = link_wire(p->link)->idle_limit_ms;
    theirs = theirs > 2000 ? theirs - 1000 : theirs / 2;
    return theirs && theirs < ours ? theirs : ours;
}

static void pooled_changed(void *ctx)
{
    struct pooled *p = ctx;
    struct origin *o = p->origin;
    struct wire *w = link_wire(p->link);
    if (w->stream_count == 0 && w->closing) {
        pooled_free(p);
        timer_set(o->client->env, &o->turn, 0);
        return;
    }
    if (w->stream_count)
        timer_stop(o->client->env, &p->idle);
    else if (!timer_is_set(&p->idle))
        timer_set(o->client->env, &p->idle, idle_limit_ms(p));
    if (o->waiting)
        timer_set(o->client->env, &o->turn, 0);
}

static void pooled_gone(void *ctx, const struct error *err)
{
    (void)err; /* the calls on it have ended already */
    struct pooled *p = ctx;
    struct origin *o = p->origin;
    pooled_free(p);
    timer_set(o->client->env, &o->turn, 0);
}

static const struct link_handlers pooled_handlers = {
    .changed = pooled_changed,
    .gone = pooled_gone,
};

static void pooled_new(struct origin *o, struct conn *conn, bool h2)
{
    struct pooled *p = mem_new_of(struct pooled);
    const struct http_client_options *co = &o->client->o;
    struct link_options options = {
        .h2 = h2,
        .wire.limits = co->limits,
        .wire.window_bytes = co->window_bytes,
        .ping_idle_ms = co->ping_idle_ms,
        .ping_timeout_ms = co->ping_timeout_ms,
    };
    p->origin = o;
    timer_init(&p->idle, pooled_idle, p);
    p->link = link_new(o->client->loop, conn, &options, &pooled_handlers, p);
    p->next = o->connections;
    o->connections = p;
    o->connection_count++;
    o->is_h1 = !h2;
}

/* ---- dialling ---- */

static void dialled(void *ctx, struct conn *conn, const struct error *err)
{
    struct dialling *d = ctx;
    struct origin *o = d->origin;
    struct error refused;
    struct dialling **at = &o->dials;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    o->dial_count--;
    free(d);
    bool h2 = conn && (o->key.tls ? conn_is_h2(conn) : o->key.version == HTTP_2_ONLY);
    if (conn && !h2 && o->key.version == HTTP_2_ONLY) {
        conn_free(take(conn));
        fail(&refused, ERR_UNSUPPORTED, "%s does not speak HTTP/2", o->authority);
        err = &refused;
    }
    if (conn)
        pooled_new(o, conn, h2);
    else
        fail_waiting(o, err);
    timer_set(o->client->env, &o->turn, 0);
}

static void start_dial(struct origin *o, const struct http_timeouts *timeouts)
{
    struct dialling *d = mem_new_of(struct dialling);
    d->origin = o;
    d->next = o->dials;
    o->dials = d;
    o->dial_count++;
    o->client->dialled++;
    struct dial_options options = o->dial;
    options.connect_ms = timeouts->connect_ms;
    options.tls_ms = timeouts->tls_ms;
    d->dial = dial_start(o->client->loop, &options, dialled, d);
}

/* ---- assigning connections ---- */

/* A reused connection may have been closed by the server, and our loop has not noticed yet.
 * Checking here avoids a failed request. */
static bool is_usable(struct pooled *p)
{
    struct wire *w = link_wire(p->link);
    if (wire_capacity(w) == 0)
        return false;
    if (w->stream_count > 0 || p->served == 0 || conn_is_quiet(link_conn(p->link)))
        return true;
    if (!w->is_h2) {
        w->closing = true;
        wire_kick(w);
    }
    return w->is_h2; /* may be a ping or settings; after a GOAWAY the call is retried */
}

static struct pooled *find_connection(struct origin *o, bool *ret_settling)
{
    *ret_settling = false;
    for (struct pooled *p = o->connections; p; p = p->next) {
        if (is_usable(p))
            return p;
        *ret_settling =
            *ret_settling || (link_wire(p->link)->settling && !link_wire(p->link)->closing);
    }
    return NULL;
}

static void dispatch(void *ctx)
{
    struct origin *o = ctx;
    bool settling = false;
    struct pooled *p;
    if (o->err.code)
        fail_waiting(o, &o->err);
    while (o->waiting && (p = find_connection(o, &settling)))
        call_assign(o->waiting, p);
    size_t wanted = o->is_h1 ? o->waiting_count : o->waiting && !settling ? 1 : 0;
    while (o->dial_count < wanted &&
           o->connection_count + o->dial_count < o->client->o.connections_max)
        start_dial(o, &o->waiting->request.timeouts);
    origin_free_if_unused(o);
}

void pool_free(struct http_client *c)
{
    while (c->origins) {
        struct origin *o = c->origins;
        while (o->connections)
            pooled_free(o->connections);
        while (o->dials) {
            struct dialling *d = o->dials;
            o->dials = d->next;
            dial_cancel(d->dial);
            free(d);
        }
        origin_free(o);
    }
}
