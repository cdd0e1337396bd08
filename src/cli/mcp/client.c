#include "cli/mcp/client.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/url.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/sse.h"

#define VERSION "2025-11-25"
#define ANSWER_BYTES_MAX ((size_t)64 << 20)
#define CONNECT_MS 10000
#define TOOL_MS 600000 /* some tools are slow to send the first byte */
#define END_MS 2000

struct mcp_client {
    struct mcp_client_options o;
    struct http_client *http;
    struct url url;
    const char *target;   /* of POSTs; NULL: HTTP+SSE, and the server has not sent it yet */
    const char *session;  /* NULL: the server assigned none */
    bool is_sse, is_open; /* is_open: the handshake is complete */
    int64_t last_id;
    struct http_call *stream; /* of HTTP+SSE: GET */
    struct sse_reader stream_events;
    bool stream_ended;
    /* The current request: */
    struct http_call *call;
    int status;
    bool is_stream, has_ended;
    struct sse_reader events;
    struct buf body;
    struct json answer; /* absent: not received yet */
    struct error err;
};

/* ---- receiving ---- */

static void take_message(struct mcp_client *c, struct str text)
{
    struct json message;
    if (json_present(c->answer) || !json_parse(c->o.arena, text, &message, NULL))
        return;
    bool ours =
        json_get_int(message, "id", -1) == c->last_id && !json_present(json_get(message, "method"));
    if (ours)
        c->answer = message;
}

static void take_events(struct mcp_client *c, struct sse_reader *reader, struct str bytes)
{
    struct sse_event event;
    while (sse_read(reader, &bytes, &event))
        if (c->is_sse && str_eq(event.type, STR("endpoint")))
            c->target = str_dup(c->o.arena, event.data);
        else
            take_message(c, event.data);
}

static void on_head(void *ctx, const struct http_response *response)
{
    struct mcp_client *c = ctx;
    struct str session = http_header_find(response->headers, "mcp-session-id");
    struct str type = http_header_find(response->headers, "content-type");
    c->status = response->status;
    c->is_stream = str_starts(type, STR("text/event-stream"));
    if (session.ptr && !c->session)
        c->session = str_dup(c->o.arena, session);
}

static void on_data(void *ctx, struct str bytes)
{
    struct mcp_client *c = ctx;
    if (c->is_stream)
        take_events(c, &c->events, bytes);
    else
        buf_add(&c->body, bytes.ptr, bytes.len);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct mcp_client *c = ctx;
    (void)sent;
    c->call = NULL;
    c->has_ended = true;
    if (err)
        c->err = *err;
    else if (!c->is_stream)
        take_message(c, buf_str(&c->body));
}

static void on_stream_head(void *ctx, const struct http_response *response)
{
    struct mcp_client *c = ctx;
    if (response->status != 200)
        fail(&c->err, ERR_UNAVAILABLE, "the server answers %d", response->status);
}

static void on_stream_data(void *ctx, struct str bytes)
{
    struct mcp_client *c = ctx;
    take_events(c, &c->stream_events, bytes);
}

static void on_stream_end(void *ctx, const struct error *err, bool sent)
{
    struct mcp_client *c = ctx;
    (void)sent;
    c->stream = NULL;
    c->stream_ended = true;
    if (err)
        c->err = *err;
}

/* ---- one request ---- */

static struct http_call *send(struct mcp_client *c, const char *method, const char *target,
    struct str body, const struct http_call_handlers *handlers)
{
    struct http_header list[6];
    size_t count = 0;
    list[count++] =
        (struct http_header){ STR("accept"), STR("application/json, text/event-stream") };
    if (body.len)
        list[count++] = (struct http_header){ STR("content-type"), STR("application/json") };
    if (c->session)
        list[count++] = (struct http_header){ STR("mcp-session-id"), str_of(c->session) };
    if (c->is_open)
        list[count++] = (struct http_header){ STR("mcp-protocol-version"), STR(VERSION) };
    if (c->o.token)
        list[count++] = (struct http_header){ STR("authorization"),
            str_of(arena_printf(c->o.arena, "Bearer %s", c->o.token)) };
    return http_call_open(c->http,
        &(struct http_request){
            .origin =
                &(struct http_origin){ .host = c->url.host, .port = (uint16_t)url_port(&c->url) },
            .method = method,
            .path = target,
            .headers = { list, count },
            .body = body,
            .body_bytes_max = ANSWER_BYTES_MAX,
            .timeouts = { .wait_ms = CONNECT_MS, .first_byte_ms = TOOL_MS },
        },
        handlers,
        c);
}

static bool is_over(void *ctx)
{
    const struct mcp_client *c = ctx;
    bool refused = c->has_ended && (c->status >= 300 || c->err.code);
    bool answered = json_present(c->answer) && (c->is_sse || c->is_stream || c->has_ended);
    return refused || answered || c->stream_ended || (c->has_ended && !c->is_sse);
}

static bool has_ended(void *ctx)
{
    return ((const struct mcp_client *)ctx)->has_ended;
}

static void post(struct mcp_client *c, struct json message, bool (*done)(void *ctx))
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    buf_done(&c->body);
    buf_init(&c->body, ANSWER_BYTES_MAX);
    sse_reader_done(&c->events);
    sse_reader_init(&c->events, ANSWER_BYTES_MAX);
    c->answer = json_none;
    c->has_ended = c->is_stream = false;
    c->status = 0;
    c->err = (struct error){ 0 };
    c->call = send(c, "POST", c->target, str_of(json_to_text(c->o.arena, message)), &handlers);
    loop_run_until(c->o.loop, done, c, INT32_MAX);
    if (c->call)
        http_call_cancel(take(c->call));
}

static bool fail_answer(struct mcp_client *c, const char *method, struct error *err)
{
    struct json body;
    struct str text = str_trim(buf_str(&c->body));
    const char *words = NULL;
    if (json_parse(c->o.arena, text, &body, NULL))
        words = json_get_text(body, "error.message");
    if (!words)
        words = json_get_text(c->answer, "error.message");
    if (c->err.code)
        return fail(err, c->err.code, "%s: %s", method, c->err.text);
    if (words)
        return fail(err, ERR_INVALID, "%s: the server says: %s", method, words);
    if (c->status == 401)
        return fail(err, ERR_INVALID, "%s: the server wants a token; see --token", method);
    return fail(err,
        ERR_UNAVAILABLE,
        "%s: status %d without an answer: %.*s",
        method,
        c->status,
        (int)text.len,
        text.ptr ? text.ptr : "");
}

bool mcp_client_ask(struct mcp_client *c, const char *method, struct json params, struct json *ret,
    struct error *err)
{
    struct json message = json_map(c->o.arena,
        { "jsonrpc", json_str("2.0") },
        { "id", json_int(++c->last_id) },
        { "method", json_str(method) },
        { "params", params });
    post(c, message, is_over);
    *ret = json_get(c->answer, "result");
    return json_present(*ret) || fail_answer(c, method, err);
}

/* ---- life ---- */

static bool knows_target(void *ctx)
{
    const struct mcp_client *c = ctx;
    return c->target || c->stream_ended || c->err.code;
}

static bool open_stream(struct mcp_client *c, struct error *err)
{
    static const struct http_call_handlers handlers = {
        on_stream_head, on_stream_data, on_stream_end, NULL
    };
    c->stream = send(c, "GET", c->target, (struct str){ 0 }, &handlers);
    c->target = NULL;
    loop_run_until(c->o.loop, knows_target, c, CONNECT_MS);
    if (c->target && c->target[0] == '/')
        return true;
    if (c->err.code)
        return fail(err, c->err.code, "%s: %s", c->o.url, c->err.text);
    return fail(err, ERR_UNAVAILABLE, "%s does not say where messages go", c->o.url);
}

static bool shake_hands(struct mcp_client *c, struct error *err)
{
    struct arena *a = c->o.arena;
    struct json ignored;
    struct json params = json_fields(a,
        { "protocolVersion", json_str(VERSION) },
        { "capabilities", json_empty_map() },
        { "clientInfo.name", json_str("leeboard") },
        { "clientInfo.version", json_str(LEEBOARD_VERSION) });
    if (!mcp_client_ask(c, "initialize", params, &ignored, err))
        return false;
    c->is_open = true;
    post(c,
        json_map(
            a, { "jsonrpc", json_str("2.0") }, { "method", json_str("notifications/initialized") }),
        has_ended);
    return true;
}

struct mcp_client *mcp_client_open(const struct mcp_client_options *options, struct error *err)
{
    struct mcp_client *c = mem_new_of(struct mcp_client);
    c->o = *options;
    buf_init(&c->body, ANSWER_BYTES_MAX);
    sse_reader_init(&c->events, ANSWER_BYTES_MAX);
    sse_reader_init(&c->stream_events, ANSWER_BYTES_MAX);
    c->http = http_client_new(c->o.loop, &(struct http_client_options){ 0 });
    bool ok = url_parse(c->o.arena, c->o.url, &c->url, err) &&
              (text_eq(c->url.scheme, "http") ||
                  fail(err, ERR_UNSUPPORTED, "%s: only http:// is spoken here", c->o.url));
    if (ok) {
        c->target = url_target(c->o.arena, &c->url);
        c->is_sse = str_ends(str_of(c->target), STR("/sse"));
        ok = (!c->is_sse || open_stream(c, err)) && shake_hands(c, err);
    }
    if (ok)
        return c;
    mcp_client_close(c);
    return NULL;
}

void mcp_client_close(struct mcp_client *c)
{
    static const struct http_call_handlers handlers = { on_head, on_data, on_end, NULL };
    if (!c)
        return;
    if (c->session && !c->is_sse) {
        c->has_ended = false;
        c->call = send(c, "DELETE", c->target, (struct str){ 0 }, &handlers);
        loop_run_until(c->o.loop, has_ended, c, END_MS);
    }
    if (c->call)
        http_call_cancel(take(c->call));
    if (c->stream)
        http_call_cancel(take(c->stream));
    http_client_free(c->http);
    sse_reader_done(&c->events);
    sse_reader_done(&c->stream_events);
    buf_done(&c->body);
    free(c);
}
