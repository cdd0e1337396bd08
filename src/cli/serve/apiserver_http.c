#include "cli/serve/apiserver_http.h"

#include <stdlib.h>

#include "apiserver/access/auth.h"
#include "apiserver/core/server.h"
#include "base/buf.h"
#include "cli/serve/watch_socket.h"
#include "cli/session/session.h"
#include "http/gzip.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"

/* One byte more than the API server accepts, so that it detects a larger body. */
#define BODY_BYTES_MAX (((size_t)3 << 20) + 1)
/* Limit for all request bodies that are being received. */
#define BODIES_BYTES_MAX ((size_t)128 << 20)
/* Smaller answers are not worth compressing. */
#define GZIP_FROM_BYTES ((int64_t)128 << 10)
#define GZIP_HELD_BYTES ((size_t)64 << 20)
#define ARENA_BYTES ((size_t)1 << 20)
#define CONNECTIONS_MAX 4096
#define STREAMS_MAX 1000

struct apiserver_http {
    struct apiserver_http_options options;
    struct http_server *http;
    struct timer flush;
    struct exchange *list; /* all open ones */
    size_t body_bytes;     /* held by all exchanges */
    struct session_host sessions;
};

struct exchange {
    struct apiserver_http *owner;
    struct http_exchange *http;
    struct api_call *call; /* NULL: not opened yet, or ended */
    struct arena arena;
    struct api_request request;
    struct api_user user;
    struct buf body;
    struct gzip *gzip;
    struct buf packed;
    struct session_offer offer;
    struct session *session;     /* NULL: plain HTTP */
    struct watch_socket *socket; /* NULL: plain HTTP */
    bool opened;                 /* the API server got the request */
    bool takes_gzip, live, refused, responded;
    struct exchange *next, **link;
};

static void plan_flush(struct apiserver_http *h)
{
    if (!timer_is_set(&h->flush) && apiserver_is_pending(h->options.server))
        timer_set(loop_env(h->options.loop), &h->flush, 0);
}

static void wake(void *ctx)
{
    plan_flush(ctx);
}

static void on_flush(void *ctx)
{
    struct apiserver_http *h = ctx;
    apiserver_flush(h->options.server);
    plan_flush(h);
}

/* ---- the answer ---- */

#define HEADERS_MAX 72

/* Sends an answer of this layer, not of the API server. */
static void refuse(struct exchange *x, const struct api_answer *answer)
{
    x->refused = true;
    http_exchange_reply(x->http, answer->status, answer->content_type, answer->body);
}

static void begin_session(struct exchange *x, const struct pod_session_request *request)
{
    struct api_answer answer;
    x->session = session_new(&x->owner->sessions, x->http, &x->offer, request, &x->arena, &answer);
    if (!x->session)
        refuse(x, &answer);
}

static bool wants_socket(const struct exchange *x, const struct api_head *head)
{
    return head->watch && x->offer.upgrade &&
           str_eq_nocase(str_of(x->offer.upgrade), STR("websocket"));
}

static void begin_socket(struct exchange *x)
{
    x->socket = watch_socket_new(x->owner->options.loop, x->http, &x->offer, &x->arena);
    x->refused = !x->socket;
}

static void on_head(void *ctx, const struct api_head *head)
{
    struct exchange *x = ctx;
    struct http_header list[HEADERS_MAX];
    size_t count = 0;
    char retry[24];
    if (head->session) {
        begin_session(x, head->session);
        return;
    }
    if (wants_socket(x, head)) {
        begin_socket(x);
        return;
    }
    list[count++] = (struct http_header){ STR("cache-control"), STR("no-cache, private") };
    if (head->content_type)
        list[count++] = (struct http_header){ STR("content-type"), str_of(head->content_type) };
    if (head->etag) {
        list[0].value = STR("public");
        list[count++] = (struct http_header){ STR("etag"), str_of(head->etag) };
        list[count++] = (struct http_header){ STR("vary"), STR("Accept") };
    }
    if (head->retry_after_s > 0) {
        int length = snprintf(retry, sizeof(retry), "%lld", (long long)head->retry_after_s);
        list[count++] = (struct http_header){ STR("retry-after"), { retry, (size_t)length } };
    }
    if (x->takes_gzip && !head->live &&
        (head->body_bytes < 0 || head->body_bytes >= GZIP_FROM_BYTES)) {
        x->gzip = gzip_new();
        buf_init(&x->packed, GZIP_HELD_BYTES);
        list[count++] = (struct http_header){ STR("content-encoding"), STR("gzip") };
        list[count++] = (struct http_header){ STR("vary"), STR("Accept-Encoding") };
    }
    for (const char *const *w = head->warnings; w && *w && count < HEADERS_MAX; w++)
        list[count++] = (struct http_header){ STR("warning"), str_of(*w) };
    x->responded = true;
    x->live = head->live;
    http_exchange_respond(x->http,
        head->status,
        (struct http_headers){ list, count },
        x->gzip ? -1 : head->body_bytes);
}

static bool on_data(void *ctx, struct str bytes)
{
    struct exchange *x = ctx;
    if (x->socket)
        return watch_socket_write(x->socket, bytes);
    if (x->refused)
        return true;
    if (!x->gzip)
        return http_exchange_write(x->http, bytes);
    gzip_add(x->gzip, bytes, false, &x->packed);
    bool room = !x->packed.len || http_exchange_write(x->http, buf_str(&x->packed));
    buf_reset(&x->packed);
    return room;
}

static void on_end(void *ctx)
{
    struct exchange *x = ctx;
    x->call = NULL;
    if (x->socket)
        watch_socket_finish(x->socket);
    if (x->socket || x->session || x->refused)
        return;
    if (x->gzip) {
        gzip_add(x->gzip, STR(""), true, &x->packed);
        http_exchange_write(x->http, buf_str(&x->packed));
    }
    http_exchange_finish(x->http);
}

/* ---- the request ---- */

static const char *header_text(struct arena *a, struct http_headers headers, const char *name)
{
    struct str value = http_header_find(headers, name);
    return value.ptr ? str_dup(a, value) : NULL;
}

static struct str bearer_of(struct arena *a, struct http_headers headers)
{
    struct str value = http_header_find(headers, "authorization");
    struct str scheme = { value.ptr, value.len < 7 ? value.len : 7 };
    if (!value.ptr || !str_eq_nocase(scheme, STR("bearer ")))
        return (struct str){ 0 };
    struct str token = str_trim((struct str){ value.ptr + 7, value.len - 7 });
    return (struct str){ str_dup(a, token), token.len };
}

/* All impersonation headers: the API server refuses unknown ones or too many. */
static const struct api_header *impersonation(struct arena *a, struct http_headers headers)
{
    struct api_header *list = NULL;
    size_t count = 0;
    for (size_t i = 0; i < headers.count; i++) {
        struct str name = headers.list[i].name;
        struct str prefix = { name.ptr, name.len < 12 ? name.len : 12 };
        if (!str_eq_nocase(prefix, STR("impersonate-")))
            continue;
        if (!list)
            list = arena_array(a, headers.count - i + 1, sizeof(*list));
        list[count++] = (struct api_header){ str_dup(a, name), str_dup(a, headers.list[i].value) };
    }
    return list;
}

static bool authenticate(
    struct exchange *x, const struct http_request_head *head, struct error *err)
{
    struct auth_credentials credentials = { .bearer = bearer_of(&x->arena, head->headers) };
    if (head->peer) {
        credentials.common_name = arena_strdup(&x->arena, head->peer->common_name);
        credentials.organizations = head->peer->organizations;
        credentials.certificate_der = head->peer->der;
    }
    struct auth *auth = apiserver_auth(x->owner->options.server);
    return auth_authenticate(auth, &x->arena, &credentials, &x->user, err);
}

static void read_head(struct exchange *x, const struct http_request_head *head)
{
    struct arena *a = &x->arena;
    struct http_headers headers = head->headers;
    x->request = (struct api_request){
        .method = str_dup(a, head->method),
        .path = { str_dup(a, head->path), head->path.len },
        .query = { head->query.ptr ? str_dup(a, head->query) : NULL, head->query.len },
        .content_type = header_text(a, headers, "content-type"),
        .accept = header_text(a, headers, "accept"),
        .user_agent = header_text(a, headers, "user-agent"),
        .if_none_match = header_text(a, headers, "if-none-match"),
        .user = &x->user,
        .connection = head->remote,
        .impersonate = impersonation(a, headers),
    };
    if (!head->http2)
        x->offer = session_offer_read(a, headers);
    x->request.upgrade = x->offer.upgrade != NULL;
    x->takes_gzip = http_header_has_token(headers, "accept-encoding", "gzip");
}

static void drop_body(struct exchange *x)
{
    x->owner->body_bytes -= x->body.len;
    buf_done(&x->body);
}

/* Refuses the slowest body, to make room for others. */
static void refuse_slowest(struct apiserver_http *h)
{
    struct exchange *slowest = NULL;
    struct api_answer answer;
    for (struct exchange *x = h->list; x; x = x->next) /* new ones are added at the front */
        slowest = x->body.len ? x : slowest;
    drop_body(slowest);
    answer_status(&slowest->arena,
        &answer,
        429,
        "TooManyRequests",
        "too many large requests at once, please try again later",
        json_none);
    refuse(slowest, &answer);
}

static void on_body(void *ctx, struct str bytes)
{
    struct exchange *x = ctx;
    if (x->session) {
        session_feed(x->session, bytes);
        return;
    }
    if (x->socket) {
        watch_socket_feed(x->socket, bytes);
        return;
    }
    if (x->refused || x->opened)
        return;
    size_t room = BODY_BYTES_MAX - x->body.len, count = bytes.len < room ? bytes.len : room;
    buf_add(&x->body, bytes.ptr, count);
    x->owner->body_bytes += count;
    if (x->owner->body_bytes > BODIES_BYTES_MAX)
        refuse_slowest(x->owner);
}

static void open_call(struct exchange *x)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    x->opened = true;
    x->request.body = buf_str(&x->body);
    x->call = apiserver_open(x->owner->options.server, &x->request, &handlers, x);
    drop_body(x);
    plan_flush(x->owner);
}

static void on_request_end(void *ctx)
{
    struct exchange *x = ctx;
    if (!x->refused && !x->opened)
        open_call(x);
}

static void on_drained(void *ctx)
{
    struct exchange *x = ctx;
    if (x->session)
        session_drained(x->session);
    if (x->socket)
        watch_socket_drained(x->socket);
    if (x->call)
        apiserver_resume(x->owner->options.server, x->call);
    plan_flush(x->owner);
}

static void on_closed(void *ctx, const struct error *err)
{
    (void)err;
    struct exchange *x = ctx;
    session_free(x->session);
    watch_socket_free(x->socket);
    if (x->call)
        apiserver_cancel(x->owner->options.server, x->call);
    plan_flush(x->owner);
    *x->link = x->next;
    if (x->next)
        x->next->link = x->link;
    drop_body(x);
    buf_done(&x->packed);
    gzip_free(x->gzip);
    arena_done(&x->arena);
    free(x);
}

static void on_request(void *ctx, struct http_exchange *http, const struct http_request_head *head)
{
    static const struct http_exchange_handlers handlers = {
        .data = on_body, .end = on_request_end, .drained = on_drained, .closed = on_closed
    };
    struct apiserver_http *h = ctx;
    struct exchange *x = mem_new_of(struct exchange);
    *x = (struct exchange){ .owner = h, .http = http, .next = h->list, .link = &h->list };
    if (x->next)
        x->next->link = &x->next;
    h->list = x;
    arena_init(&x->arena, ARENA_BYTES);
    buf_init(&x->body, BODY_BYTES_MAX);
    http_exchange_take(http, &handlers, x);
    read_head(x, head);
    struct error err;
    if (!authenticate(x, head, &err)) {
        struct api_answer answer;
        auth_answer_unauthorized(&x->arena, &answer);
        refuse(x, &answer);
    } else if (head->body_bytes != 0 && apiserver_refuses_head(h->options.server, &x->request)) {
        open_call(x);
    }
}

/* ---- the server ---- */

struct apiserver_http *apiserver_http_new(
    const struct apiserver_http_options *options, struct error *err)
{
    struct apiserver_http *h = mem_new_of(struct apiserver_http);
    h->options = *options;
    h->sessions = (struct session_host){ .loop = options->loop, .source = options->sessions };
    timer_init(&h->flush, on_flush, h);
    apiserver_set_wake(h->options.server, wake, h);
    h->http = http_server_new(options->loop,
        &(struct http_server_options){
            .address = options->address,
            .port = options->port,
            .tls = options->tls,
            .request = on_request,
            .ctx = h,
            .connections_max = CONNECTIONS_MAX,
            .streams_max = STREAMS_MAX,
        },
        err);
    if (h->http) {
        plan_flush(h);
        return h;
    }
    free(h);
    return NULL;
}

void apiserver_http_free(struct apiserver_http *h)
{
    if (!h)
        return;
    http_server_free(h->http);
    timer_stop(loop_env(h->options.loop), &h->flush);
    apiserver_set_wake(h->options.server, NULL, NULL);
    free(h);
}

uint16_t apiserver_http_port(const struct apiserver_http *h)
{
    return http_server_port(h->http);
}

void apiserver_http_drain(
    struct apiserver_http *h, int64_t grace_ms, void (*drained)(void *ctx), void *ctx)
{
    http_server_drain(h->http, grace_ms, drained, ctx);
    for (struct exchange *x = h->list, *next; x; x = next) {
        next = x->next;
        if (x->session)
            session_finish(x->session, WEBSOCKET_GOING_AWAY);
        if (x->socket)
            watch_socket_finish(x->socket);
        if (!x->live || !x->call || !x->responded)
            continue;
        apiserver_cancel(h->options.server, take(x->call));
        http_exchange_finish(x->http);
    }
}
