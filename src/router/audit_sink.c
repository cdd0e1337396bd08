#include "router/audit_sink.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/url.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/tls.h"

#define FLUSH_MS 1000
#define FLUSH_BYTES ((size_t)256 << 10)
#define SEND_MS 10000
#define SEVERITY_INFO 9

struct audit_sink {
    const struct env *env;
    struct arena arena;
    struct url url;
    struct http_origin origin;
    struct http_client *client;
    struct tls_context *tls;
    struct buf waiting, sent; /* records, each with a trailing comma */
    struct http_call *call;
    int status;
    struct timer timer;
    uint64_t dropped;
};

static void send_now(void *ctx);

struct audit_sink *audit_sink_new(struct loop *loop, const char *endpoint, struct error *err)
{
    struct audit_sink *o = mem_new_of(struct audit_sink);
    o->env = loop_env(loop);
    arena_init(&o->arena, ARENA_LIMIT_DEFAULT);
    buf_init(&o->waiting, OTLP_PENDING_MAX);
    buf_init(&o->sent, OTLP_PENDING_MAX);
    timer_init(&o->timer, send_now, o);
    bool fine = url_parse(&o->arena, arena_strdup(&o->arena, endpoint), &o->url, err);
    bool secure = fine && text_eq(o->url.scheme, "https");
    if (fine && ((!secure && !text_eq(o->url.scheme, "http")) || text_empty(o->url.host)))
        fine = fail(err, ERR_INVALID, "%s is no http:// or https:// URL", endpoint);
    if (secure) {
        o->tls =
            tls_client_new(&(struct tls_client_options){ .ca_file = getenv("SSL_CERT_FILE") }, err);
        fine = o->tls != NULL;
    }
    if (!fine) {
        audit_sink_free(o);
        return NULL;
    }
    o->origin = (struct http_origin){
        .host = o->url.host, .port = (uint16_t)url_port(&o->url), .tls = o->tls
    };
    o->client = http_client_new(loop, &(struct http_client_options){ .connections_max = 1 });
    return o;
}

void audit_sink_free(struct audit_sink *o)
{
    if (!o)
        return;
    timer_stop(o->env, &o->timer);
    if (o->call)
        http_call_cancel(o->call);
    if (o->client)
        http_client_free(o->client);
    tls_context_unref(o->tls);
    buf_done(&o->waiting);
    buf_done(&o->sent);
    arena_done(&o->arena);
    free(o);
}

/* ---- records ---- */

static struct json attribute(struct arena *a, const char *key, struct json value)
{
    struct json typed;
    if (json_is(value, JSON_INT)) /* the JSON of protobuf has 64-bit integers as strings */
        typed = json_fields(a, { "intValue", json_strf(a, "%lld", (long long)value.integer) });
    else
        typed = json_fields(a, { "stringValue", json_str(json_text(value) ?: "") });
    return json_fields(a, { "key", json_str(key) }, { "value", typed });
}

void audit_sink_add(struct audit_sink *o, const char *message, struct str members)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json fields;
    struct json_builder list;
    struct error err;
    const char *text = arena_printf(&a, "{%.*s}", (int)members.len - 1, members.ptr + 1);
    json_builder_init(&list, &a);
    if (members.len < 2 || !json_parse(&a, str_of(text), &fields, &err)) {
        o->dropped++;
        return;
    }
    json_each_member (m, fields)
        json_push(&list, attribute(&a, m->key, m->value));
    struct json record = json_fields(&a,
        { "timeUnixNano", json_strf(&a, "%lld000000", (long long)env_wall_ms(o->env)) },
        { "severityNumber", json_int(SEVERITY_INFO) },
        { "severityText", json_str("INFO") },
        { "body.stringValue", json_str(message) },
        { "attributes", json_list_end(&list) });
    const char *line = json_to_text(&a, record);
    if (o->waiting.len + strlen(line) + 1 > OTLP_PENDING_MAX) {
        o->dropped++;
        return;
    }
    buf_printf(&o->waiting, "%s,", line);
    if (!o->call && o->waiting.len > FLUSH_BYTES)
        timer_set(o->env, &o->timer, 0);
    else if (!o->call && !timer_is_set(&o->timer))
        timer_set(o->env, &o->timer, FLUSH_MS);
}

/* ---- sending ---- */

static void on_head(void *ctx, const struct http_response *response)
{
    struct audit_sink *o = ctx;
    o->status = response->status;
}

static void on_data(void *ctx, struct str bytes)
{
    (void)ctx;
    (void)bytes;
}

/* Resends the same records if the collector is unavailable or busy; records that it refuses are
 * lost. */
static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct audit_sink *o = ctx;
    (void)sent;
    o->call = NULL;
    bool again = err || o->status == 429 || o->status >= 500;
    if (!again && o->status >= 300)
        o->dropped++;
    if (!again)
        buf_reset(&o->sent);
    if (o->sent.len || o->waiting.len)
        timer_set(o->env, &o->timer, FLUSH_MS);
}

static const struct http_call_handlers handlers = {
    .head = on_head, .data = on_data, .end = on_end
};

static void send_now(void *ctx)
{
    struct audit_sink *o = ctx;
    static const char before[] =
        "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
        "{\"stringValue\":\"leeboard-router\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":"
        "\"leeboard.router\"},\"logRecords\":[";
    if (o->call || (!o->sent.len && !o->waiting.len))
        return;
    if (!o->sent.len) {
        struct buf empty = o->sent;
        o->sent = o->waiting;
        o->waiting = empty;
    }
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf body = BUF_INIT(2 * OTLP_PENDING_MAX);
    buf_add_text(&body, before);
    buf_add(&body, o->sent.ptr, o->sent.len - 1); /* without the trailing comma */
    buf_add_text(&body, "]}]}]}");
    o->status = 0;
    o->call = http_call_open(o->client,
        &(struct http_request){ .origin = &o->origin,
            .method = "POST",
            .path = text_empty(o->url.path) ? "/" : o->url.path,
            .authority = url_authority(&a, &o->url),
            .headers = HTTP_HEADERS({ STR("content-type"), STR("application/json") }),
            .body = buf_str(&body),
            .timeouts = { .wait_ms = SEND_MS, .total_ms = SEND_MS } },
        &handlers,
        o);
}

void audit_sink_flush(struct audit_sink *o)
{
    send_now(o);
}

bool audit_sink_idle(const struct audit_sink *o)
{
    return !o->call && !o->sent.len && !o->waiting.len;
}

uint64_t audit_sink_dropped(const struct audit_sink *o)
{
    return o->dropped;
}
