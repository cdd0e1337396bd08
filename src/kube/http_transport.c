#include "kube/http_transport.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/timer.h"
#include "base/url.h"
#include "http/client.h"
#include "http/loop.h"
#include "kube/config.h"
#include "kube/credentials.h"

#define REQUESTS_MAX 32
/* Over HTTP/1.1 each watch needs a connection: the watches of all families, and other requests. */
#define CONNECTIONS_MAX 256
#define HEADERS_MAX 80
/* For a connection: the server's name may have several unreachable addresses. */
#define WAIT_MS 30000

struct kube_call {
    struct kube_call *next, **link; /* in one of the transport's lists */
    struct http_transport *transport;
    struct arena arena; /* a copy of the request */
    struct kube_request request;
    const struct kube_handlers *handlers;
    void *ctx;
    int64_t opened_at_ms;
    struct http_call *http; /* NULL: queued */
    uint64_t epoch;         /* of the credentials used */
    bool repeated;
    bool answered;
    bool counted;       /* uses one of the requests_max slots */
    struct timer timer; /* timeout in the queue */
};

struct http_transport {
    struct loop *loop;
    const struct env *env;
    const struct kube_config *config;
    struct http_client *http;
    struct credentials *credentials;
    const struct tls_context *tls; /* used by the connections; only compared */
    struct arena own;
    struct url server;
    const char *user_agent;
    size_t requests_max, on_wire;
    struct kube_call *waiting, **tail; /* streams first, in the order of open() */
    struct kube_call *sent;
    struct timer pump;
    struct kube_transport face;
    int64_t (*send_within_ms)(void *ctx, const struct kube_request *request);
    void *ctx;
    struct http_transport_stats stats;
    struct http_transport_count counts[HTTP_TRANSPORT_COUNTS_MAX + 1];
};

static void pump(void *ctx);

/* ---- end of a call ---- */

static void leave_wire(struct kube_call *c)
{
    struct http_transport *t = c->transport;
    c->http = NULL;
    if (c->counted) {
        c->counted = false;
        t->on_wire--;
        timer_set(t->env, &t->pump, 0);
    }
}

static void link_call(struct kube_call *c, struct kube_call **at)
{
    struct http_transport *t = c->transport;
    c->link = at;
    c->next = *at;
    *at = c;
    if (c->next)
        c->next->link = &c->next;
    else if (at == t->tail)
        t->tail = &c->next;
}

static void unlink_call(struct kube_call *c)
{
    struct http_transport *t = c->transport;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    else if (t->tail == &c->next)
        t->tail = c->link;
}

static void call_free(struct kube_call *c)
{
    struct http_transport *t = c->transport;
    unlink_call(c);
    timer_stop(t->env, &c->timer);
    arena_done(&c->arena);
    free(c);
}

static void call_end(struct kube_call *c, const struct error *err, bool sent)
{
    const struct kube_handlers *handlers = c->handlers;
    void *ctx = c->ctx;
    struct error copy;
    if (err)
        copy = *err;
    call_free(c);
    handlers->end(ctx, err ? &copy : NULL, sent);
}

static void on_queue_timeout(void *ctx)
{
    struct kube_call *c = ctx;
    struct error err;
    fail(&err, ERR_TIMEOUT, "waited %lld ms to be sent", (long long)c->request.timeout_ms);
    call_end(c, &err, false);
}

static int64_t left_ms(const struct kube_call *c)
{
    int64_t left = c->opened_at_ms + c->request.timeout_ms - env_mono_ms(c->transport->env);
    return left > 0 ? left : 1;
}

/* ---- responses ---- */

/* `299 - "text"`: the text, without its quotes (RFC 9111, 5.5). */
static const char *warning_text(struct arena *a, struct str value)
{
    const char *open = value.len ? memchr(value.ptr, '"', value.len) : NULL;
    const char *close = value.len ? memrchr(value.ptr, '"', value.len) : NULL;
    if (!open || close <= open)
        return value.len ? str_dup(a, value) : NULL;
    return arena_strndup(a, open + 1, (size_t)(close - open - 1));
}

/* There are few methods and statuses; when the table is full, others are not counted. */
static void count(struct http_transport *t, const char *method, int status)
{
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
    size_t m = 0, i = 0;
    while (m < lengthof(methods) && !text_eq(methods[m], method))
        m++;
    assert(m < lengthof(methods));
    while (
        t->counts[i].method && (t->counts[i].method != methods[m] || t->counts[i].status != status))
        i++;
    if (i == HTTP_TRANSPORT_COUNTS_MAX)
        return;
    t->counts[i].method = methods[m];
    t->counts[i].status = status;
    t->counts[i].count++;
}

static void on_head(void *ctx, const struct http_response *response)
{
    struct kube_call *c = ctx;
    struct http_transport *t = c->transport;
    c->answered = true;
    count(t, c->request.method, response->status);
    bool again =
        response->status == 401 && !c->repeated && credentials_rejected(t->credentials, c->epoch);
    if (again) {
        c->repeated = true;
        t->stats.repeated++;
        http_call_cancel(c->http);
        leave_wire(c);
        unlink_call(c);
        link_call(c, &t->waiting);
        if (c->request.timeout_ms)
            timer_set(t->env, &c->timer, left_ms(c));
        timer_set(t->env, &t->pump, 0);
        return;
    }
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str type = http_header_find(response->headers, "content-type");
    struct kube_head head = {
        .status = response->status,
        .retry_after_ms = http_retry_after_ms(response->headers, env_wall_ms(t->env)),
        .content_type = type.ptr ? str_dup(&a, type) : "",
        .warning = warning_text(&a, http_header_find(response->headers, "warning")),
    };
    c->handlers->head(c->ctx, &head);
}

static void on_data(void *ctx, struct str bytes)
{
    struct kube_call *c = ctx;
    c->handlers->data(c->ctx, bytes);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct kube_call *c = ctx;
    if (!c->answered)
        count(c->transport, c->request.method, 0);
    leave_wire(c);
    call_end(c, err, sent);
}

/* ---- sending ---- */

struct header_list {
    struct http_header list[HEADERS_MAX];
    size_t count;
};

static void add(struct header_list *h, const char *name, const char *value)
{
    assert(h->count < HEADERS_MAX);
    if (value)
        h->list[h->count++] = (struct http_header){ str_of(name), str_of(value) };
}

static void add_impersonation(struct arena *a, struct header_list *h, const char *const *lines)
{
    for (; lines && *lines; lines++) {
        struct str rest = str_of(*lines), name = str_cut(&rest, ':');
        add(h, str_dup(a, name), str_dup(a, str_trim(rest)));
    }
}

/* within_ms: the time until it must be sent. */
static void send_call(struct kube_call *c, int64_t within_ms)
{
    static const struct http_call_handlers handlers = {
        .head = on_head, .data = on_data, .end = on_end
    };
    struct http_transport *t = c->transport;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct header_list h = { 0 };
    add(&h, "user-agent", t->user_agent);
    add(&h, "accept", c->request.accept ? c->request.accept : "application/json");
    add(&h, "content-type", c->request.content_type);
    add(&h, "authorization", credentials_header(t->credentials));
    add_impersonation(&a, &h, t->config->impersonate);
    struct http_origin origin = {
        .host = t->server.host,
        .port = (uint16_t)url_port(&t->server),
        .tls = credentials_tls(t->credentials),
        .proxy_url = t->config->proxy_url,
    };
    struct http_request request = {
        .origin = &origin,
        .method = c->request.method,
        .path = arena_printf(&a, "%s%s", t->server.path, c->request.path),
        .headers = { h.list, h.count },
        .body = c->request.body,
        .timeouts = {
            .total_ms = c->request.timeout_ms ? left_ms(c) : 0,
            .idle_ms = c->request.idle_ms,
            .wait_ms = within_ms < WAIT_MS ? within_ms : WAIT_MS,
        },
    };
    timer_stop(t->env, &c->timer);
    unlink_call(c);
    link_call(c, &t->sent);
    c->answered = false;
    c->epoch = credentials_epoch(t->credentials);
    c->counted = c->request.timeout_ms != 0;
    t->on_wire += c->counted;
    t->stats.requests++;
    c->http = http_call_open(t->http, &request, &handlers, c);
}

/* Existing connections use an old certificate, or trust an old CA. */
static void renew_connections(struct http_transport *t)
{
    const struct tls_context *tls = credentials_tls(t->credentials);
    if (t->tls && t->tls != tls)
        http_client_retire(t->http);
    t->tls = tls;
}

/* Fails all waiting calls with the same error. If a callback retries at once, its call waits for
 * the next round. */
static void fail_queued(struct http_transport *t, const struct error *why)
{
    struct error err = *why;
    size_t count = http_transport_stats(t).queued;
    for (; count > 0 && t->waiting; count--)
        call_end(t->waiting, &err, false);
}

/* The first waiting call, if it has a slot; if not, no call after it has one. */
static struct kube_call *next_to_send(const struct http_transport *t)
{
    struct kube_call *c = t->waiting;
    return c && (!c->request.timeout_ms || t->on_wire < t->requests_max) ? c : NULL;
}

/* Sends all calls that may be sent. */
static void pump(void *ctx)
{
    struct http_transport *t = ctx;
    if (!(t->waiting || t->sent) || !credentials_ready(t->credentials))
        return;
    const struct error *err = credentials_error(t->credentials);
    if (err) {
        fail_queued(t, err);
        return;
    }
    renew_connections(t);
    for (struct kube_call *c; (c = next_to_send(t));) {
        int64_t within_ms = t->send_within_ms ? t->send_within_ms(t->ctx, &c->request) : INT64_MAX;
        if (within_ms > 0) {
            send_call(c, within_ms);
            continue;
        }
        struct error late;
        fail(&late, ERR_CANCELLED, "it may not be sent any more");
        call_end(c, &late, false);
        /* The callbacks may have opened or cancelled calls. */
        timer_set(t->env, &t->pump, 0);
        return;
    }
}

/* ---- interface ---- */

static struct kube_call *open_call(
    void *self, const struct kube_request *request, const struct kube_handlers *handlers, void *ctx)
{
    struct http_transport *t = self;
    struct kube_call *c = mem_new_of(struct kube_call);
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    c->transport = t;
    c->handlers = handlers;
    c->ctx = ctx;
    c->opened_at_ms = env_mono_ms(t->env);
    c->request = *request;
    c->request.method = arena_strdup(&c->arena, request->method);
    c->request.path = arena_strdup(&c->arena, request->path);
    c->request.content_type = arena_strdup(&c->arena, request->content_type);
    c->request.accept = arena_strdup(&c->arena, request->accept);
    c->request.body.ptr = str_dup(&c->arena, request->body);
    /* Streams, which need no slot, before all others. */
    link_call(c, c->request.timeout_ms ? t->tail : &t->waiting);
    timer_init(&c->timer, on_queue_timeout, c);
    if (request->timeout_ms)
        timer_set(t->env, &c->timer, request->timeout_ms);
    timer_set(t->env, &t->pump, 0);
    return c;
}

static void cancel_call(void *self, struct kube_call *c)
{
    (void)self;
    if (c->http)
        http_call_cancel(c->http);
    leave_wire(c);
    call_free(c);
}

static const char *default_user_agent(struct arena *a)
{
    struct utsname name = { 0 };
    uname(&name);
    const char *machine = text_eq(name.machine, "x86_64")    ? "amd64"
                          : text_eq(name.machine, "aarch64") ? "arm64"
                                                             : name.machine;
    return arena_printf(a, "leeboard/" LEEBOARD_VERSION " (linux/%s)", machine);
}

struct http_transport *http_transport_new(
    struct loop *loop, const struct http_transport_options *options, struct error *err)
{
    struct http_transport *t = mem_new_of(struct http_transport);
    arena_init(&t->own, ARENA_LIMIT_DEFAULT);
    if (!url_parse(&t->own, options->config->server, &t->server, err)) {
        fail_in(err, "server of %s", options->config->origin);
        arena_done(&t->own);
        free(t);
        return NULL;
    }
    t->loop = loop;
    t->env = loop_env(loop);
    t->config = options->config;
    t->user_agent = options->user_agent ? arena_strdup(&t->own, options->user_agent)
                                        : default_user_agent(&t->own);
    t->requests_max = options->requests_max ? options->requests_max : REQUESTS_MAX;
    t->send_within_ms = options->send_within_ms;
    t->ctx = options->ctx;
    t->tail = &t->waiting;
    t->face = (struct kube_transport){ open_call, cancel_call, t };
    timer_init(&t->pump, pump, t);
    t->http =
        http_client_new(loop, &(struct http_client_options){ .connections_max = CONNECTIONS_MAX });
    t->credentials = credentials_new(loop, t->env, t->config, pump, t);
    return t;
}

void http_transport_free(struct http_transport *t)
{
    if (!t)
        return;
    while (t->waiting || t->sent)
        cancel_call(t, t->waiting ? t->waiting : t->sent);
    timer_stop(t->env, &t->pump);
    http_client_free(t->http);
    credentials_free(t->credentials);
    arena_done(&t->own);
    free(t);
}

const struct kube_transport *http_transport_kube(struct http_transport *t)
{
    return &t->face;
}

struct http_transport_stats http_transport_stats(const struct http_transport *t)
{
    struct http_transport_stats s = t->stats;
    struct http_client_stats http = http_client_stats(t->http);
    for (const struct kube_call *c = t->waiting; c; c = c->next)
        s.queued++;
    s.open = s.queued;
    for (const struct kube_call *c = t->sent; c; c = c->next)
        s.open++;
    s.dialled = http.dialled;
    s.connections = http.connections;
    return s;
}

const struct http_transport_count *http_transport_counts(const struct http_transport *t)
{
    return t->counts;
}
