#include "mcp/proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "base/time.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/server.h"
#include "mcp/backend.h"
#include "mcp/derive.h"
#include "mcp/era.h"
#include "mcp/exchange.h"
#include "mcp/rpc.h"
#include "mcp/runconfig.h"
#include "mcp/session.h"

#define BODY_BYTES_DEFAULT ((int64_t)8 << 20)
#define EXCHANGE_ARENA_BYTES ((size_t)256 << 20)
#define CONNECTIONS_MAX 20000
#define HEADER_BYTES_MAX ((size_t)256 << 10)
#define GRACE_HEADER_MS 10000

struct mcp_proxy {
    struct mcp_proxy_options o;
    struct mcp_chain chain;
    struct sessions *sessions;
    struct mcp_backend *backend; /* NULL: not set yet */
    struct http_server *server;
    struct mcp_exchange *exchanges;
    size_t bodies; /* bytes of all open requests */
    bool freeing;
};

const struct mcp_chain *proxy_chain(const struct mcp_proxy *p)
{
    return &p->chain;
}

void proxy_answer_text(struct mcp_exchange *x, int status, const char *text)
{
    mcp_answer_header(x, "x-content-type-options", "nosniff");
    mcp_answer(
        x, status, "text/plain; charset=utf-8", str_of(arena_printf(&x->arena, "%s\n", text)));
    chain_send_answer(x);
}

const char *proxy_backend_url(const struct mcp_exchange *x)
{
    struct mcp_backend *b = x->proxy->backend;
    return b && b->ops->url ? b->ops->url(b, x) : NULL;
}

void proxy_session_begun(struct mcp_exchange *x, struct str id)
{
    if (id.len > SESSION_ID_BYTES_MAX || x->proxy->o.config->stateless)
        return;
    x->session = session_add(x->proxy->sessions, id, id, &x->identity, x->request.raw);
    x->session->users++;
}

/* Exchanges refer to a session only while it exists. */
static void on_session_ended(void *ctx, struct mcp_session *s)
{
    struct mcp_proxy *p = ctx;
    if (p->backend && p->backend->ops->session_ended)
        p->backend->ops->session_ended(p->backend, s);
    for (struct mcp_exchange *x = p->exchanges; x && s->users; x = x->next)
        if (x->session == s) {
            x->session = NULL;
            s->users--;
        }
}

/* ---- dispatch ---- */

static void answer_error(struct mcp_exchange *x, int status, int64_t code, const char *text)
{
    mcp_answer_error(x, status, code, text, json_none);
    chain_send_answer(x);
}

/* False: answered. */
static bool find_session(struct mcp_exchange *x)
{
    struct mcp_proxy *p = x->proxy;
    bool is_initialize = text_eq(x->request.method, "initialize");
    if (!x->session_id.len || is_initialize || x->request.modern || p->o.config->stateless)
        return true;
    if (x->session_id.len <= SESSION_ID_BYTES_MAX)
        x->session = session_find(p->sessions, x->session_id, &x->identity);
    if (x->session) {
        x->session->users++;
        return true;
    }
    answer_error(x, 404, RPC_SESSION_CODE, "Session not found");
    return false;
}

static bool check_stateless(struct mcp_exchange *x)
{
    bool is_post = str_eq(x->method, STR("POST")) || str_eq(x->method, STR("OPTIONS"));
    if (!x->proxy->o.config->stateless || is_post)
        return true;
    mcp_answer_header(x, "allow", "POST, OPTIONS");
    proxy_answer_text(
        x, 405, "method not allowed: server is stateless / stateless MCP revision (POST only)");
    return false;
}

static bool check_well_known(struct mcp_exchange *x)
{
    if (!str_starts(x->path, STR("/.well-known/")))
        return true;
    mcp_answer(x, 404, "application/json", STR("{\"error\":\"not_found\"}"));
    chain_send_answer(x);
    return false;
}

/* Policies refer to paths: a path that a server could read differently is redirected to its clean
 * form. */
static bool check_path(struct mcp_exchange *x)
{
    char *clean = arena_alloc(&x->arena, x->path.len + 2);
    size_t at = 0;
    struct str rest = x->path;
    bool is_folder = str_ends(x->path, STR("/"));
    while (rest.ptr) {
        struct str part = str_cut(&rest, '/');
        if (!part.len || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            while (at && clean[--at] != '/')
                ;
            continue;
        }
        clean[at++] = '/';
        memcpy(clean + at, part.ptr, part.len);
        at += part.len;
    }
    if (!at || is_folder)
        clean[at++] = '/';
    if (str_eq((struct str){ clean, at }, x->path) || str_eq(x->method, STR("OPTIONS")))
        return true;
    mcp_answer_header(x, "location", clean);
    mcp_answer(x, 307, NULL, (struct str){ 0 });
    chain_send_answer(x);
    return false;
}

void proxy_dispatch(struct mcp_exchange *x)
{
    struct mcp_backend *b = x->proxy->backend;
    if (!check_path(x) || !check_well_known(x) || !check_stateless(x) || !era_check(x))
        return;
    if (!b) {
        answer_error(x, 503, RPC_INTERNAL_CODE, "The MCP server is not there yet; try again");
        return;
    }
    if (!b->ops->owns_sessions && !find_session(x))
        return;
    x->backend = b;
    b->ops->send(b, x);
}

/* ---- requests ---- */

/* Many concurrent bodies must not use all memory: refuses the largest that is still being
 * received. */
static void refuse_largest(struct mcp_proxy *p)
{
    struct mcp_exchange *largest = NULL;
    for (struct mcp_exchange *x = p->exchanges; x; x = x->next)
        if (x->http && x->stage == STAGE_BODY && !x->body_ended && !x->waiting &&
            (!largest || x->body_counted > largest->body_counted))
            largest = x;
    if (!largest)
        return;
    http_exchange_close_after(largest->http);
    mcp_answer_header(largest, "retry-after", "1");
    proxy_answer_text(largest, 503, "Too many large requests at once");
    p->bodies -= largest->body_counted;
    largest->body_counted = 0;
    buf_done(&largest->body);
    buf_init(&largest->body, (size_t)BODY_BYTES_DEFAULT + 1);
}

static void on_data(void *ctx, struct str bytes)
{
    struct mcp_exchange *x = ctx;
    struct mcp_proxy *p = x->proxy;
    if (x->stage == STAGE_DONE && !x->deferred)
        return;
    buf_add(&x->body, bytes.ptr, bytes.len);
    p->bodies += x->body.len - x->body_counted;
    x->body_counted = x->body.len;
    if (p->bodies > p->o.bodies_max)
        refuse_largest(p);
    if ((buf_overflowed(&x->body) || (int64_t)x->body.len > x->body_limit) && !x->waiting &&
        x->stage == STAGE_BODY) {
        http_exchange_close_after(x->http);
        proxy_answer_text(x, 413, "Request Entity Too Large");
    }
}

static void on_end(void *ctx)
{
    struct mcp_exchange *x = ctx;
    x->body_ended = true;
    if (x->deferred)
        chain_send_answer(x);
    else if (x->stage == STAGE_BODY)
        chain_run(x);
}

static void on_drained(void *ctx)
{
    answer_drained(ctx);
}

void proxy_release(struct mcp_exchange *x)
{
    x->finished = true;
    if (x->http)
        return; /* its 202 is still being sent */
    if (x->backend)
        x->backend->ops->cancel(x->backend, x);
    x->backend = NULL;
    for (struct mcp_exchange *o = x->is_sink ? x->proxy->exchanges : NULL; o; o = o->next)
        if (o->sink == x)
            o->sink = NULL;
    chain_end(x);
    if (x->session)
        x->session->users--;
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
    x->proxy->bodies -= x->body_counted;
    buf_done(&x->body);
    buf_done(&x->held);
    buf_done(&x->captured);
    sse_reader_done(&x->sse);
    arena_done(&x->message);
    arena_done(&x->arena);
    free(x);
}

static void on_closed(void *ctx, const struct error *err)
{
    struct mcp_exchange *x = ctx;
    (void)err;
    x->http = NULL;
    if (!x->is_detached || x->finished)
        proxy_release(x);
}

static struct str dup(struct arena *a, struct str s)
{
    return (struct str){ s.ptr ? str_dup(a, s) : NULL, s.len };
}

static void read_remote(struct mcp_exchange *x, const struct sockaddr *remote)
{
    if (remote && remote->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)remote;
        inet_ntop(AF_INET, &in->sin_addr, x->remote, sizeof(x->remote));
        x->remote_port = ntohs(in->sin_port);
    } else if (remote && remote->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)remote;
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(&in->sin6_addr);
        inet_ntop(is_v4 ? AF_INET : AF_INET6,
            in->sin6_addr.s6_addr + (is_v4 ? 12 : 0),
            x->remote,
            sizeof(x->remote));
        x->remote_port = ntohs(in->sin6_port);
    }
}

static void read_head(struct mcp_exchange *x, const struct http_request_head *head)
{
    struct arena *a = &x->arena;
    struct http_header *list = arena_array(a, head->headers.count + 1, sizeof(*list));
    for (size_t i = 0; i < head->headers.count; i++)
        list[i] = (struct http_header){ dup(a, head->headers.list[i].name),
            dup(a, head->headers.list[i].value) };
    x->headers = (struct http_headers){ list, head->headers.count };
    x->method = dup(a, head->method);
    x->path = dup(a, head->path);
    x->query = dup(a, head->query);
    x->authority = dup(a, head->authority);
    x->tls = head->tls;
    x->body_bytes = head->body_bytes;
    x->session_id = http_header_find(x->headers, "mcp-session-id");
    read_remote(x, head->remote);
}

static void take_exchange(
    struct mcp_proxy *p, struct http_exchange *http, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = {
        on_data, on_end, on_drained, on_closed
    };
    const struct env *env = loop_env(p->o.loop);
    struct mcp_exchange *x = mem_new_of(struct mcp_exchange);
    *x = (struct mcp_exchange){
        .proxy = p,
        .http = http,
        .next = p->exchanges,
        .link = &p->exchanges,
        .started_ms = env_mono_ms(env),
        .started_wall_ms = env_wall_ms(env),
    };
    arena_init(&x->arena, EXCHANGE_ARENA_BYTES);
    if (x->next)
        x->next->link = &x->next;
    p->exchanges = x;
    read_head(x, head);
    buf_init(&x->body, (size_t)BODY_BYTES_DEFAULT + 1);
    mcp_set_body_limit(x, BODY_BYTES_DEFAULT);
    http_exchange_take(http, &handlers, x);
    chain_begin(x);
}

static void ignore(void *ctx, const struct error *err)
{
    (void)ctx;
    (void)err;
}

static void reply_health(
    struct mcp_proxy *p, struct http_exchange *http, const struct http_request_head *head)
{
    if (!str_eq(head->method, STR("GET")) && !str_eq(head->method, STR("HEAD"))) {
        static const struct http_header headers[] = {
            { STR("content-type"), STR("text/plain; charset=utf-8") },
            { STR("x-content-type-options"), STR("nosniff") },
        };
        static const struct http_exchange_handlers none = { .closed = ignore };
        struct str text = STR("Method not allowed\n");
        http_exchange_take(http, &none, NULL);
        http_exchange_respond(http, 405, (struct http_headers){ headers, 2 }, (int64_t)text.len);
        http_exchange_write(http, text);
        http_exchange_finish(http);
        return;
    }
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *body = arena_printf(&a,
        "{\"status\":\"%s\",\"timestamp\":\"%s\",\"transport\":\"%s\"}\n",
        p->backend ? "healthy" : "degraded",
        time_format(&a, env_wall_ms(loop_env(p->o.loop))),
        runconfig_transport_name(p->o.config->transport));
    http_exchange_reply(http, 200, "application/json", str_of(body));
}

static void on_request(void *ctx, struct http_exchange *http, const struct http_request_head *head)
{
    struct mcp_proxy *p = ctx;
    if (str_eq(head->path, STR("/health")))
        reply_health(p, http, head);
    else
        take_exchange(p, http, head);
}

/* ---- life ---- */

static bool is_loopback(const char *host)
{
    return text_eq(host, "127.0.0.1") || text_eq(host, "localhost") || text_eq(host, "::1");
}

static bool has_step(struct json list, const char *type)
{
    return json_present(json_find(list, "type", type));
}

/* The middleware list of the RunConfig, plus the steps from its other fields: allowed origins,
 * which a proxy on loopback always has, and headers to forward. */
static struct json full_list(struct arena *a, const struct runconfig *c)
{
    struct json origins = c->allowed_origins;
    struct json_builder all;
    json_builder_init(&all, a);
    if ((!json_is(origins, JSON_LIST) || !origins.count) && is_loopback(c->host))
        origins = json_list(a,
            json_strf(a, "http://localhost:%lld", (long long)c->port),
            json_strf(a, "http://127.0.0.1:%lld", (long long)c->port),
            json_strf(a, "http://[::1]:%lld", (long long)c->port));
    if (json_is(origins, JSON_LIST) && origins.count && !has_step(c->middleware, "origin"))
        json_push(&all,
            json_fields(
                a, { "type", json_str("origin") }, { "parameters.allowed_origins", origins }));
    bool is_listed = json_is(c->middleware, JSON_LIST) && c->middleware.count;
    json_push_all(&all, is_listed ? c->middleware : derive_middleware(a, c->document));
    if (json_is(c->header_forward, JSON_MAP) && !has_step(c->middleware, "header-forward"))
        json_push(&all,
            json_fields(
                a, { "type", json_str("header-forward") }, { "parameters", c->header_forward }));
    return json_list_end(&all);
}

struct mcp_proxy *mcp_proxy_new(const struct mcp_proxy_options *options, struct error *err)
{
    struct mcp_proxy *p = mem_new_of(struct mcp_proxy);
    const struct env *env = loop_env(options->loop);
    p->o = *options;
    p->o.bodies_max = options->bodies_max ?: (size_t)256 << 20;
    p->sessions =
        sessions_new(&(struct sessions_options){ .env = env, .ended = on_session_ended, .ctx = p });
    struct mcp_open open = {
        .arena = options->arena,
        .loop = options->loop,
        .env = env,
        .http = options->http,
        .config = options->config->document,
        .variable = options->variable,
        .variables = options->variables,
        .print_line = options->print_line,
        .warn = options->warn,
        .ctx = options->ctx,
    };
    if (chain_open(&p->chain, &open, full_list(options->arena, options->config), err))
        return p;
    mcp_proxy_free(p);
    return NULL;
}

struct sessions *mcp_proxy_sessions(struct mcp_proxy *p)
{
    return p->sessions;
}

void mcp_proxy_set_backend(struct mcp_proxy *p, struct mcp_backend *backend)
{
    assert(!p->backend);
    p->backend = backend;
}

bool mcp_proxy_listen(struct mcp_proxy *p, struct error *err)
{
    const struct runconfig *c = p->o.config;
    bool is_all = text_empty(c->host) || text_eq(c->host, "0.0.0.0") || text_eq(c->host, "::");
    p->server = http_server_new(p->o.loop,
        &(struct http_server_options){
            .address = is_all                          ? NULL
                       : text_eq(c->host, "localhost") ? "127.0.0.1"
                                                       : c->host,
            .port = (uint16_t)c->port,
            .request = on_request,
            .ctx = p,
            .limits = { .header_bytes_max = HEADER_BYTES_MAX },
            .connections_max = CONNECTIONS_MAX,
            .header_ms = GRACE_HEADER_MS,
        },
        err);
    return p->server || fail_in(err, "listening on %s:%lld", c->host, (long long)c->port);
}

size_t mcp_proxy_bodies(const struct mcp_proxy *p)
{
    return p->bodies;
}

uint16_t mcp_proxy_port(const struct mcp_proxy *p)
{
    return http_server_port(p->server);
}

void mcp_proxy_drain(struct mcp_proxy *p, int64_t grace_ms, void (*drained)(void *ctx), void *ctx)
{
    http_server_drain(p->server, grace_ms, drained, ctx);
}

void mcp_proxy_free(struct mcp_proxy *p)
{
    if (!p)
        return;
    http_server_free(p->server);
    while (p->exchanges)
        proxy_release(p->exchanges); /* the detached ones */
    sessions_free(p->sessions);
    if (p->backend)
        p->backend->ops->free(p->backend);
    chain_close(&p->chain);
    free(p);
}
