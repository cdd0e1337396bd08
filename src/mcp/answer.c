/* The response path: see exchange.h. Bytes that no step wants to read are streamed. Otherwise each
 * message passes answer() of the steps, innermost first, and is written again. */

#include "mcp/exchange.h"

#include "http/head.h"
#include "http/server.h"
#include "mcp/backend.h"
#include "mcp/rpc.h"

#define EVENT_BYTES_MAX ((size_t)64 << 20)

static void write_out(struct mcp_exchange *x, struct str bytes)
{
    struct http_exchange *to = x->is_detached ? x->sink ? x->sink->http : NULL : x->http;
    if (!bytes.len || !to)
        return;
    if (x->captured.len < x->capture_max) {
        size_t room = x->capture_max - x->captured.len;
        buf_add(&x->captured, bytes.ptr, bytes.len < room ? bytes.len : room);
    }
    x->answer_bytes += (int64_t)bytes.len;
    if (http_exchange_write(to, bytes))
        return;
    struct mcp_exchange *paused = x->is_detached ? x->sink : x;
    if (paused->backend)
        paused->backend->ops->pause(paused->backend, paused);
}

void answer_drained(struct mcp_exchange *x)
{
    if (x->backend && !x->in_messages)
        x->backend->ops->resume(x->backend, x);
}

static void respond(
    struct mcp_exchange *x, int status, struct http_headers headers, int64_t body_bytes)
{
    struct http_header list[160];
    size_t count = 0;
    for (size_t i = 0; i < headers.count && count < lengthof(list); i++)
        if (!head_is_hop_by_hop(headers.list[i].name) &&
            !str_eq_nocase(headers.list[i].name, STR("date")))
            list[count++] = headers.list[i];
    x->responded = true;
    x->status = status;
    if (x->capture_max && !x->captured.limit)
        buf_init(&x->captured, x->capture_max + 1);
    chain_begun(x);
    http_exchange_respond(x->http, status, (struct http_headers){ list, count }, body_bytes);
}

static void finish(struct mcp_exchange *x)
{
    if (x->finished)
        return;
    x->finished = true;
    x->stage = STAGE_DONE;
    if (x->is_detached)
        proxy_release(x);
    else if (x->http)
        http_exchange_finish(x->http);
}

static void cut(struct mcp_exchange *x)
{
    x->finished = true;
    x->stage = STAGE_DONE;
    if (x->is_detached)
        proxy_release(x);
    else if (x->http)
        http_exchange_abort(x->http);
}

void answer_cut(struct mcp_exchange *x)
{
    if (!x->finished)
        cut(x);
}

static struct http_headers copy_headers(struct arena *a, struct http_headers from)
{
    struct http_header *list = arena_array(a, from.count + 1, sizeof(*list));
    for (size_t i = 0; i < from.count; i++)
        list[i] = (struct http_header){
            { str_dup(a, from.list[i].name), from.list[i].name.len },
            { str_dup(a, from.list[i].value), from.list[i].value.len },
        };
    return (struct http_headers){ list, from.count };
}

static bool type_is(struct http_headers headers, const char *type)
{
    struct str value = http_header_find(headers, "content-type");
    struct str first = str_trim(str_cut(&value, ';'));
    return str_eq_nocase(first, str_of(type));
}

void answer_head(
    struct mcp_exchange *x, int status, struct http_headers headers, int64_t body_bytes)
{
    x->is_stream = type_is(headers, "text/event-stream");
    bool is_json = type_is(headers, "application/json");
    x->reading = x->wants_any && (x->is_stream || is_json) && body_bytes != 0;
    if (!x->reading) {
        bool has_no_body = str_eq(x->method, STR("HEAD")) || status == 204 || status == 304;
        respond(x, status, headers, has_no_body ? 0 : body_bytes);
        return;
    }
    buf_init(&x->held, EVENT_BYTES_MAX);
    if (x->is_stream) {
        sse_reader_init(&x->sse, EVENT_BYTES_MAX);
        respond(x, status, headers, -1);
        return;
    }
    x->held_status = status;
    x->held_headers = copy_headers(&x->arena, headers);
}

/* ---- messages ---- */

/* Some clients require the event type, even though "message" is the default. */
static void write_event(struct buf *out, const struct sse_event *event)
{
    if (!event->type.len || str_eq(event->type, STR("message")))
        buf_add_text(out, "event: message\n");
    sse_write(out, event);
}

/* Sends the message after all steps have seen it. */
static void put_message(struct mcp_exchange *x)
{
    struct str raw = x->answer_error.ptr ? x->answer_error : x->reply.raw;
    x->answer_error = (struct str){ 0 };
    if (!x->is_stream) {
        if (!x->responded)
            respond(x, x->held_status, x->held_headers, (int64_t)raw.len);
        write_out(x, raw);
        return;
    }
    struct buf out = BUF_INIT(EVENT_BYTES_MAX * 2);
    struct sse_event event = x->event;
    event.data = raw;
    write_event(&out, &event);
    write_out(x, buf_str(&out));
    buf_done(&out);
}

/* True: all steps have seen it. */
static bool run_answers(struct mcp_exchange *x)
{
    const struct mcp_chain *c = proxy_chain(x->proxy);
    while (x->step > 0) {
        size_t i = x->step - 1;
        if (x->wants[i]) {
            enum mcp_verdict v = c->links[i].step->answer(c->links[i].state, x, &x->slots[i]);
            if (v == MCP_LATER) {
                x->waiting = true;
                if (x->backend)
                    x->backend->ops->pause(x->backend, x);
                return false;
            }
            if (v == MCP_ANSWER)
                return true;
        }
        x->step--;
    }
    return true;
}

/* A stream may last for days: the memory of a message is freed after it, including the slots of
 * steps. */
static void keep_slots(struct mcp_exchange *x)
{
    size_t bytes = proxy_chain(x->proxy)->count * sizeof(*x->slots);
    if (!x->kept_slots)
        x->kept_slots = arena_alloc(&x->arena, bytes + 1);
    memcpy(x->kept_slots, x->slots, bytes);
}

static void end_message(struct mcp_exchange *x)
{
    put_message(x);
    x->in_messages = false;
    if (!x->is_stream)
        return;
    memcpy(x->slots, x->kept_slots, proxy_chain(x->proxy)->count * sizeof(*x->slots));
    x->reply = (struct mcp_message){ 0 };
    x->event = (struct sse_event){ 0 };
    arena_done(&x->message);
}

/* Starts with a message; true if it is already complete. */
static bool take_message(struct mcp_exchange *x, struct str raw)
{
    struct error err;
    x->in_messages = true;
    if (x->is_stream)
        keep_slots(x);
    if (rpc_read(mcp_arena(x), raw, &x->reply, &err) != RPC_OK) {
        /* No step can check it, so no client gets it. */
        x->reply = (struct mcp_message){ 0 };
        x->answer_error = rpc_error(mcp_arena(x),
            x->request.id_raw,
            RPC_INTERNAL_CODE,
            "The server's answer is not a JSON-RPC message",
            json_none);
        end_message(x);
        return true;
    }
    x->step = proxy_chain(x->proxy)->count;
    if (!run_answers(x))
        return false;
    end_message(x);
    return true;
}

/* Events that are not messages: an HTTP+SSE server's address, a ping. */
static bool is_no_message(const struct sse_event *event)
{
    return !event->data.len || (event->type.len && !str_eq(event->type, STR("message")));
}

static void read_events(struct mcp_exchange *x, struct str bytes)
{
    struct sse_event event;
    while (!x->finished && sse_read(&x->sse, &bytes, &event)) {
        if (is_no_message(&event)) {
            struct buf out = BUF_INIT(EVENT_BYTES_MAX);
            sse_write(&out, &event);
            write_out(x, buf_str(&out));
            buf_done(&out);
            continue;
        }
        x->message.limit = EVENT_BYTES_MAX * 4;
        x->event = (struct sse_event){
            .type = { str_dup(&x->message, event.type), event.type.len },
            .id = { str_dup(&x->message, event.id), event.has_id ? event.id.len : 0 },
            .has_id = event.has_id,
            .retry_ms = event.retry_ms,
        };
        struct str data = { str_dup(&x->message, event.data), event.data.len };
        if (!take_message(x, data)) {
            buf_add(&x->held, bytes.ptr, bytes.len);
            return;
        }
    }
    if (sse_failed(&x->sse))
        cut(x);
}

void answer_data(struct mcp_exchange *x, struct str bytes)
{
    if (x->finished)
        return;
    if (!x->reading)
        write_out(x, bytes);
    else if (!x->is_stream || x->in_messages)
        buf_add(&x->held, bytes.ptr, bytes.len);
    else
        read_events(x, bytes);
    if (x->reading && buf_overflowed(&x->held))
        cut(x);
}

static void fail_gateway(struct mcp_exchange *x, const struct error *err)
{
    const char *text = arena_printf(&x->arena, "The MCP server cannot be reached: %s", err->text);
    x->in_messages = false;
    mcp_answer_error(x, 502, RPC_INTERNAL_CODE, text, json_none);
    chain_send_answer(x);
}

static void end_now(struct mcp_exchange *x)
{
    if (x->finished)
        return;
    if (x->backend_failed) {
        cut(x);
        return;
    }
    if (x->reading && !x->is_stream && !x->responded) {
        struct str body = { arena_strndup(&x->arena, x->held.ptr ? x->held.ptr : "", x->held.len),
            x->held.len };
        if (!take_message(x, body))
            return;
    }
    finish(x);
}

void answer_end(struct mcp_exchange *x, const struct error *err)
{
    x->backend = NULL;
    if (x->finished)
        return;
    if (err && !x->responded) {
        fail_gateway(x, err);
        return;
    }
    x->backend_ended = true;
    x->backend_failed = err != NULL;
    if (!x->in_messages)
        end_now(x);
}

void answer_continue(struct mcp_exchange *x, enum mcp_verdict verdict)
{
    if (verdict == MCP_NEXT) {
        x->step--;
        if (!run_answers(x))
            return;
    }
    end_message(x);
    if (x->is_stream && x->held.len) {
        struct buf rest = x->held;
        buf_init(&x->held, EVENT_BYTES_MAX);
        read_events(x, buf_str(&rest));
        buf_done(&rest);
        if (x->in_messages)
            return;
    }
    if (x->backend_ended)
        end_now(x);
    else if (x->backend)
        x->backend->ops->resume(x->backend, x);
}

/* ---- answers made of messages ---- */

bool answer_takes_events(const struct mcp_exchange *x)
{
    for (size_t i = 0; i < x->headers.count; i++) {
        struct str rest = x->headers.list[i].value;
        if (!str_eq_nocase(x->headers.list[i].name, STR("accept")))
            continue;
        while (rest.ptr) {
            struct str type = str_cut(&rest, ',');
            type = str_trim(str_cut(&type, ';'));
            if (str_eq_nocase(type, STR("text/event-stream")) || str_eq(type, STR("*/*")))
                return true;
        }
    }
    return false;
}

static void begin_messages(struct mcp_exchange *x, bool as_events)
{
    static const struct http_header events[] = {
        { STR("content-type"), STR("text/event-stream") },
        { STR("cache-control"), STR("no-cache") },
        { STR("x-accel-buffering"), STR("no") },
    };
    static const struct http_header json[] = { { STR("content-type"), STR("application/json") } };
    /* The modern era requires the header that keeps nginx from buffering. */
    size_t count = !as_events ? 1 : x->request.modern ? 3 : 2;
    struct http_header *list =
        arena_array(&x->arena, count + x->answer_header_count, sizeof(*list));
    x->is_stream = as_events;
    x->reading = true;
    x->held_status = x->message_status ? x->message_status : 200;
    memcpy(list, as_events ? events : json, count * sizeof(*list));
    memcpy(list + count, x->answer_headers, x->answer_header_count * sizeof(*list));
    x->held_headers = (struct http_headers){ list, count + x->answer_header_count };
    buf_init(&x->held, EVENT_BYTES_MAX);
    if (as_events)
        respond(x, 200, x->held_headers, -1);
    sse_reader_init(&x->sse, EVENT_BYTES_MAX);
}

void answer_begin_events(struct mcp_exchange *x)
{
    begin_messages(x, true);
}

void answer_message(struct mcp_exchange *x, struct str message, bool last)
{
    if (x->finished)
        return;
    /* Modern answers with one message need no stream. Older clients get the same as from
     * ToolHive. */
    if (!x->responded && !x->held_status)
        begin_messages(x, answer_takes_events(x) && !(last && x->request.modern));
    if (last)
        x->backend = NULL;
    if (!x->is_stream) {
        if (!last)
            return;
        x->backend_ended = true;
        struct str copy = { str_dup(&x->arena, message), message.len };
        if (take_message(x, copy))
            finish(x);
        return;
    }
    struct buf event = BUF_INIT(EVENT_BYTES_MAX * 2);
    write_event(&event, &(struct sse_event){ .data = message });
    if (x->wants_any)
        answer_data(x, buf_str(&event));
    else
        write_out(x, buf_str(&event));
    buf_done(&event);
    if (last)
        answer_end(x, NULL);
}

void answer_detach(struct mcp_exchange *x, struct mcp_exchange *sink)
{
    x->responded = x->is_stream = x->reading = x->is_detached = true;
    x->sink = sink;
    sink->is_sink = true;
    x->status = 202;
    buf_init(&x->held, EVENT_BYTES_MAX);
    sse_reader_init(&x->sse, EVENT_BYTES_MAX);
    http_exchange_respond(x->http, 202, (struct http_headers){ 0 }, 0);
    http_exchange_finish(x->http);
}

void answer_event(struct mcp_exchange *x, const char *type, const char *data)
{
    struct buf event = BUF_INIT(EVENT_BYTES_MAX);
    sse_write(&event, &(struct sse_event){ .type = str_of(type), .data = str_of(data) });
    write_out(x, buf_str(&event));
    buf_done(&event);
}
