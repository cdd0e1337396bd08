#include "cli/serve.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/str.h"
#include "engine/engine.h"
#include "http/server.h"

#define SERVE_METRICS_BYTES_MAX ((size_t)16 << 20)

struct serve {
    struct serve_options options;
    struct http_server *health, *metrics;
};

static void reply_text(struct http_exchange *x, int status, const char *text)
{
    http_exchange_reply(x, status, "text/plain; charset=utf-8", str_of(text));
}

static void reply_state(struct http_exchange *x, bool fine, const struct error *err)
{
    reply_text(x, fine ? 200 : 503, fine ? "ok" : err->text);
}

static void on_health(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct serve *s = ctx;
    struct error err = { 0 };
    if (str_eq(head->path, STR("/healthz")) || str_eq(head->path, STR("/livez")))
        reply_state(x, engine_healthy(s->options.engine, &err), &err);
    else if (str_eq(head->path, STR("/readyz")))
        reply_state(x, engine_ready(s->options.engine, &err), &err);
    else
        reply_text(x, 404, "there is /healthz and /readyz");
}

static void on_metrics(void *ctx, struct http_exchange *x, const struct http_request_head *head)
{
    struct serve *s = ctx;
    if (!str_eq(head->path, STR("/metrics"))) {
        reply_text(x, 404, "there is /metrics");
        return;
    }
    cleanup(buf_done) struct buf text = BUF_INIT(SERVE_METRICS_BYTES_MAX);
    engine_metrics_print(s->options.engine, &text);
    if (s->options.more_metrics)
        s->options.more_metrics(s->options.ctx, &text);
    http_exchange_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", buf_str(&text));
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
    struct http_server **ret, struct error *err)
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
            .request = handler,
            .ctx = s,
            .connections_max = 64,
        },
        err);
    return *ret || fail_in(err, "listening on %s", address);
}

struct serve *serve_new(const struct serve_options *options, struct error *err)
{
    struct serve *s = mem_new_of(struct serve);
    s->options = *options;
    if (listen_on(s, options->health_address, on_health, &s->health, err) &&
        listen_on(s, options->metrics_address, on_metrics, &s->metrics, err))
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
    free(s);
}
