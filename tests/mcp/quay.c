#include "tests/mcp/quay.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "mcp/backend_http.h"

/* ---- the server: answers by the words in the request ---- */

struct visit {
    struct quay *quay;
    struct http_exchange *http;
    struct quay_request *request;
    struct buf body;
    bool answered;
};

static void keep(char *to, size_t size, struct str from)
{
    size_t n = from.len < size - 1 ? from.len : size - 1;
    memcpy(to, from.ptr ? from.ptr : "", n);
    to[n] = '\0';
}

static void reply(
    struct visit *v, int status, const char *type, const char *session, const char *body)
{
    struct http_header list[2];
    size_t count = 0;
    if (type)
        list[count++] = (struct http_header){ STR("content-type"), str_of(type) };
    if (session)
        list[count++] = (struct http_header){ STR("mcp-session-id"), str_of(session) };
    v->answered = true;
    http_exchange_respond(
        v->http, status, (struct http_headers){ list, count }, (int64_t)strlen(body));
    http_exchange_write(v->http, str_of(body));
    http_exchange_finish(v->http);
}

static void answer(struct visit *v)
{
    struct quay *q = v->quay;
    const struct quay_request *r = v->request;
    char session[32];
    if (strstr(r->body, "\"initialize\"")) {
        snprintf(session, sizeof(session), "session-%d", ++q->sessions);
        reply(v, 200, "application/json", session, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{}}");
    } else if (q->forgetful) {
        q->forgetful = false;
        reply(v, 404, "application/json", NULL, "{}");
    } else if (strstr(r->body, "\"hold\"")) {
        q->waiting++;
    } else if (strstr(r->body, "\"events\"")) {
        reply(v,
            200,
            "text/event-stream",
            NULL,
            "id: 7\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"note\"}\n\n"
            "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1}}\n\n");
    } else if (strstr(r->body, "\"id\"")) {
        const char *text = arena_printf(test_arena(),
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":%s}",
            q->result ? q->result : "{\"said\":1.50}");
        reply(v, 200, "application/json", NULL, text);
    } else {
        reply(v, *r->body ? 202 : 200, NULL, NULL, "");
    }
}

static void visit_data(void *ctx, struct str bytes)
{
    struct visit *v = ctx;
    buf_add(&v->body, bytes.ptr, bytes.len);
}

static void visit_end(void *ctx)
{
    struct visit *v = ctx;
    keep(v->request->body, sizeof(v->request->body), buf_str(&v->body));
    answer(v);
}

static void visit_closed(void *ctx, const struct error *err)
{
    struct visit *v = ctx;
    (void)err;
    v->quay->gone += !v->answered;
    buf_done(&v->body);
    free(v);
}

static void keep_head(struct quay_request *r, const struct http_request_head *head)
{
    struct str token = http_header_find(head->headers, "authorization");
    keep(r->method, sizeof(r->method), head->method);
    keep(r->path, sizeof(r->path), head->target);
    keep(r->session, sizeof(r->session), http_header_find(head->headers, "mcp-session-id"));
    keep(r->forwarded, sizeof(r->forwarded), http_header_find(head->headers, "x-forwarded-for"));
    keep(r->custom, sizeof(r->custom), http_header_find(head->headers, "x-custom"));
    struct str signature = http_header_find(head->headers, "x-toolhive-signature");
    struct str timestamp = http_header_find(head->headers, "x-toolhive-timestamp");
    keep(r->signature, sizeof(r->signature), signature);
    keep(r->timestamp, sizeof(r->timestamp), timestamp);
    keep(r->authorization, sizeof(r->authorization), token);
}

static void on_request(void *ctx, struct http_exchange *http, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = {
        visit_data, visit_end, NULL, visit_closed
    };
    struct quay *q = ctx;
    struct visit *v = mem_new_of(struct visit);
    check(q->seen_count < QUAY_SEEN_MAX);
    struct quay_request *r = &q->seen[q->seen_count++];
    *v = (struct visit){ .quay = q, .http = http, .request = r };
    buf_init(&v->body, 1 << 24);
    keep_head(r, head);
    http_exchange_take(http, &handlers, v);
}

/* ---- the service ---- */

static void answer_service(struct visit *v)
{
    struct str path = str_of(v->request->path);
    path = str_cut(&path, '?');
    for (const struct quay_service *s = v->quay->services; s && s->path; s++) {
        if (!str_eq(path, str_of(s->path)))
            continue;
        if (s->body)
            reply(v, s->status, "application/json", NULL, s->body);
        return;
    }
    reply(v, 404, NULL, NULL, "");
}

static void service_end(void *ctx)
{
    struct visit *v = ctx;
    keep(v->request->body, sizeof(v->request->body), buf_str(&v->body));
    answer_service(v);
}

static void on_service(void *ctx, struct http_exchange *http, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = {
        visit_data, service_end, NULL, visit_closed
    };
    struct quay *q = ctx;
    struct visit *v = mem_new_of(struct visit);
    check(q->asked_count < QUAY_SEEN_MAX);
    *v = (struct visit){ .quay = q, .http = http, .request = &q->asked[q->asked_count++] };
    buf_init(&v->body, 1 << 24);
    keep_head(v->request, head);
    http_exchange_take(http, &handlers, v);
}

/* The config with the service's address, single quotes turned into double ones. */
static struct json read_config(struct quay *q, const char *text)
{
    struct buf b = BUF_INIT(1 << 20);
    for (const char *at; (at = strstr(text, "@SERVICE@")); text = at + strlen("@SERVICE@")) {
        buf_add(&b, text, (size_t)(at - text));
        buf_printf(&b, "http://127.0.0.1:%u", http_server_port(q->service));
    }
    buf_add_text(&b, text);
    struct json c = test_json(buf_text(&b));
    buf_done(&b);
    return c;
}

/* ---- the proxy ---- */

static const char *const variables[] = {
    "OTHER=1", "TOOLHIVE_OTEL_HEADER_AUTHORIZATION=Bearer hush", "TOOLHIVE_OTEL_HEADER_NONE=", NULL
};

static const char *no_variable(void *ctx, const char *name)
{
    (void)ctx;
    static const char *const set[] = { "TOOLHIVE_SECRET_KEY",
        "THV_SESSION_REDIS_PASSWORD",
        "TOOLHIVE_OIDC_CLIENT_SECRET",
        "TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET" };
    for (size_t i = 0; i < lengthof(set); i++)
        if (text_eq(name, set[i]))
            return "hush";
    return NULL;
}

static void warn(void *ctx, const char *text)
{
    struct quay *q = ctx;
    size_t at = strlen(q->warned);
    keep(q->warned + at, sizeof(q->warned) - at, str_of(arena_printf(&q->arena, "%s\n", text)));
}

static void print_line(void *ctx, struct str line)
{
    struct quay *q = ctx;
    keep(q->lines, sizeof(q->lines), line);
}

uint16_t quay_free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof(at);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
    check(getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

void quay_open_with(struct quay *q, const char *config, size_t bodies_max)
{
    struct error err;
    const char *warning;
    *q = (struct quay){ .loop = loop_new() };
    arena_init(&q->arena, ARENA_LIMIT_DEFAULT);
    q->server = http_server_new(q->loop,
        &(struct http_server_options){ .address = "127.0.0.1", .request = on_request, .ctx = q },
        &err);
    check(q->server);
    q->service = http_server_new(q->loop,
        &(struct http_server_options){ .address = "127.0.0.1", .request = on_service, .ctx = q },
        &err);
    check(q->service);
    q->client = http_client_new(q->loop, &(struct http_client_options){ 0 });
    q->back = http_client_new(q->loop, &(struct http_client_options){ 0 });
    struct json c = json_overlay(&q->arena,
        read_config(q, config),
        json_map(&q->arena,
            { "host", json_str("127.0.0.1") },
            { "remote_url",
                json_strf(&q->arena, "http://127.0.0.1:%u/mcp", http_server_port(q->server)) }));
    if (!runconfig_read(
            &q->arena, str_of(json_to_text(&q->arena, c)), NULL, &q->config, &warning, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    q->proxy = mcp_proxy_new(
        &(struct mcp_proxy_options){
            .loop = q->loop,
            .arena = &q->arena,
            .config = &q->config,
            .http = q->back,
            .variable = no_variable,
            .variables = variables,
            .print_line = print_line,
            .warn = warn,
            .ctx = q,
            .bodies_max = bodies_max,
        },
        &err);
    if (!q->proxy)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    struct mcp_backend *b = backend_http_new(
        &(struct backend_http_options){
            .http = q->back,
            .url = q->config.remote_url,
            .one_path = true,
            .sessions = mcp_proxy_sessions(q->proxy),
        },
        &err);
    check(b);
    mcp_proxy_set_backend(q->proxy, b);
    check(mcp_proxy_listen(q->proxy, &err));
    q->origin = (struct http_origin){ .host = "127.0.0.1", .port = mcp_proxy_port(q->proxy) };
}

void quay_open(struct quay *q, const char *config)
{
    quay_open_with(q, config, 0);
}

void quay_close(struct quay *q)
{
    http_client_free(q->client);
    mcp_proxy_free(q->proxy);
    http_client_free(q->back);
    http_server_free(q->server);
    http_server_free(q->service);
    loop_run(q->loop);
    loop_free(q->loop);
    arena_done(&q->arena);
}

/* ---- the client ---- */

void quay_send(struct quay *q, const char *method, const char *path, const char *headers,
    const char *body, struct seen *seen)
{
    struct http_header list[8];
    size_t count = 0;
    struct str rest = str_of(headers);
    while (rest.ptr && rest.len && count < lengthof(list)) {
        struct str line = str_cut(&rest, '\n');
        struct str name = str_cut(&line, ':');
        list[count++] = (struct http_header){ name, str_trim(line) };
    }
    char *text = arena_strdup(test_arena(), body);
    for (char *c = text; c && *c; c++)
        *c = *c == '\'' ? '"' : *c;
    struct rig rig = { .loop = q->loop, .client = q->client };
    rig_send(&rig,
        &(struct http_request){
            .origin = &q->origin,
            .method = method,
            .path = path,
            .headers = { list, count },
            .body = str_of(text),
        },
        seen);
}

void quay_post(struct quay *q, const char *headers, const char *body, struct seen *seen)
{
    quay_send(q, "POST", "/mcp", headers, body, seen);
}

const char *quay_ask(struct quay *q, const char *headers, const char *body, int *ret_status)
{
    struct seen got = { 0 };
    quay_post(q, headers, body, &got);
    await(q, got.ended);
    *ret_status = got.status;
    const char *text = arena_strdup(test_arena(), buf_text(&got.body));
    seen_done(&got);
    return text;
}
