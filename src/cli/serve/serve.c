#include "cli/serve/serve.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/engines.h"
#include "cli/serve/access.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"
#include "http/tls_cert.h"

#define SERVE_METRICS_BYTES_MAX ((size_t)64 << 20)
#define SERVE_CERTIFICATE_DAYS 3650

struct serve {
    struct serve_options options;
    struct http_server *health, *metrics;
    struct access *access; /* NULL: no access control */
    struct tls_context *tls;
};

/* A request for metrics whose access is being checked. */
struct scrape {
    struct serve *serve;
    struct http_exchange *exchange; /* NULL: the client left */
    struct access_question *question;
};

static void reply_text(struct http_exchange *x, int status, const char *text)
{
    http_exchange_reply(x, status, "text/plain; charset=utf-8", str_of(text));
}

static void reply_state(struct http_exchange *x, bool fine, const struct error *err)
{
    reply_text(x, fine ? 200 : 503, fine ? "ok" : err->text);
}

/* In the API server's format: a line for each part, then the overall result. */
static void reply_each(struct serve *s, struct http_exchange *x)
{
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)64 << 10);
    struct error err = { 0 };
    bool fine = engines_ready(s->options.engines, &err);
    engines_ready_print(s->options.engines, &text);
    buf_add_text(&text, fine ? "readyz check passed\n" : "readyz check failed\n");
    reply_text(x, fine ? 200 : 503, buf_text(&text));
}

static void on_health(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct serve *s = ctx;
    struct error err = { 0 };
    if (str_eq(head->path, STR("/healthz")) || str_eq(head->path, STR("/livez")))
        reply_state(x, engines_healthy(s->options.engines, &err), &err);
    else if (str_eq(head->path, STR("/readyz")) && str_eq(head->query, STR("verbose")))
        reply_each(s, x);
    else if (str_eq(head->path, STR("/readyz")))
        reply_state(x, engines_ready(s->options.engines, &err), &err);
    else
        reply_text(x, 404, "there is /healthz and /readyz");
}

static void reply_metrics(struct serve *s, struct http_exchange *x)
{
    cleanup(buf_done) struct buf text = BUF_INIT(SERVE_METRICS_BYTES_MAX);
    engines_metrics_print(s->options.engines, &text);
    if (s->options.more_metrics)
        s->options.more_metrics(s->options.ctx, &text);
    if (buf_overflowed(&text))
        reply_text(x, 500, "there are too many objects to tell of them all");
    else
        http_exchange_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text));
}

static void on_closed(void *ctx, const struct error *err)
{
    (void)err;
    struct scrape *scrape = ctx;
    if (scrape->question)
        access_cancel(scrape->question);
    free(scrape);
}

static void on_access(void *ctx, int status)
{
    struct scrape *scrape = ctx;
    scrape->question = NULL;
    if (status == 200)
        reply_metrics(scrape->serve, scrape->exchange);
    else
        reply_text(scrape->exchange,
            status,
            status == 401   ? "a bearer token is needed"
            : status == 403 ? "not allowed to get /metrics"
                            : "the API server cannot be asked just now");
}

static struct str bearer_token(const struct http_request_head *head)
{
    struct str value = http_header_find(head->headers, "authorization");
    struct str scheme = { value.ptr, value.len < 7 ? value.len : 7 };
    if (!str_eq_nocase(scheme, STR("bearer ")))
        return (struct str){ "", 0 };
    return str_trim((struct str){ value.ptr + 7, value.len - 7 });
}

static void on_metrics(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct serve *s = ctx;
    if (!str_eq(head->path, STR("/metrics"))) {
        reply_text(x, 404, "there is /metrics");
    } else if (!s->access) {
        reply_metrics(s, x);
    } else {
        static const struct http_exchange_handlers handlers = { .closed = on_closed };
        struct scrape *scrape = mem_new_of(struct scrape);
        *scrape = (struct scrape){ .serve = s, .exchange = x };
        http_exchange_take(x, &handlers, scrape);
        scrape->question = access_ask(s->access, bearer_token(head), "/metrics", on_access, scrape);
    }
}

/* ":8081", "127.0.0.1:8081", "[::1]:8081". */
static bool split_address(const char *text, char *host, size_t host_size, uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    int64_t port;
    if (!colon || !str_to_int(str_of(colon + 1), &port) || port < 0 || port > 65535)
        return false;
    struct str name = { text, (size_t)(colon - text) };
    if (name.len > 1 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
        name = (struct str){ name.ptr + 1, name.len - 2 };
    if (name.len >= host_size)
        return false;
    memcpy(host, name.ptr, name.len);
    host[name.len] = '\0';
    *ret_port = (uint16_t)port;
    return true;
}

static bool listen_on(struct serve *s, const char *address,
    void (*handler)(void *, struct http_exchange *, const struct http_request_head *),
    struct tls_context *tls, struct http_server **ret, struct error *err)
{
    char host[128];
    uint16_t port;
    if (text_empty(address) || text_eq(address, "0"))
        return true;
    if (!split_address(address, host, sizeof(host), &port))
        return fail(err, ERR_INVALID, "%s is not HOST:PORT or :PORT", address);
    *ret = http_server_new(s->options.loop,
        &(struct http_server_options){
            .address = *host ? host : NULL,
            .port = port,
            .tls = tls,
            .request = handler,
            .ctx = s,
            .connections_max = 64,
        },
        err);
    return *ret || fail_in(err, "listening on %s", address);
}

static bool make_secure(struct serve *s, struct error *err)
{
    const struct serve_options *o = &s->options;
    if (!o->secure || text_empty(o->metrics_address) || text_eq(o->metrics_address, "0"))
        return true;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct tls_server_options tls = {
        .certificate_file = o->certificate_file,
        .key_file = o->key_file,
    };
    if (!o->certificate_file &&
        !tls_self_signed(&a, "leeboard", SERVE_CERTIFICATE_DAYS, &tls.certificate, &tls.key, err))
        return false;
    s->tls = tls_server_new(&tls, err);
    s->access = access_new(o->client, loop_env(o->loop));
    return s->tls != NULL;
}

struct serve *serve_new(const struct serve_options *options, struct error *err)
{
    struct serve *s = mem_new_of(struct serve);
    s->options = *options;
    if (make_secure(s, err) &&
        listen_on(s, options->health_address, on_health, NULL, &s->health, err) &&
        listen_on(s, options->metrics_address, on_metrics, s->tls, &s->metrics, err))
        return s;
    serve_free(s);
    return NULL;
}

void serve_free(struct serve *s)
{
    if (!s)
        return;
    http_server_free(s->health);
    http_server_free(s->metrics);
    access_free(s->access);
    tls_context_unref(s->tls);
    free(s);
}
