#include "router/dispatch.h"

#include <stdlib.h>

#include "http/head.h"

/* Detects a kept-alive connection that its server closed while the request was being sent. */
#define STALE_MS 100
/* Time to send the error event before the connection is aborted. */
#define CUT_MS 5

static int64_t now_ms(const struct dispatch *d)
{
    return env_mono_ms(d->router->env);
}

/* ---- to the client ---- */

static void put(struct dispatch *d, struct str bytes)
{
    d->answer_bytes += (int64_t)bytes.len;
    if (!http_exchange_write(d->x, bytes) && d->call && !d->call_paused) {
        d->call_paused = true;
        http_call_pause(d->call);
    }
}

void router_answer_drained(struct dispatch *d)
{
    if (!d->call || !d->call_paused)
        return;
    d->call_paused = false;
    d->last_ms = now_ms(d);
    http_call_resume(d->call);
}

void router_answer_cut(struct dispatch *d, const char *outcome, const char *message)
{
    if (d->call)
        http_call_cancel(take(d->call));
    timer_stop(d->router->env, &d->clock);
    d->cut = true;
    d->outcome = outcome;
    if (d->mode == ANSWER_EVENTS) {
        const char *data = json_to_text(&d->arena,
            json_fields(&d->arena,
                { "type", json_str("error") },
                { "error.type", json_str("upstream_error") },
                { "error.code", json_int(502) },
                { "error.message", json_str(message) }));
        cleanup(buf_done) struct buf event = BUF_INIT(4096);
        /* Ends an unfinished event; otherwise blank lines have no meaning. */
        buf_add_text(&event, sse_inside_event(&d->events) ? "\n\n" : "");
        sse_write(&event, &(struct sse_event){ .type = STR("error"), .data = str_of(data) });
        put(d, buf_str(&event));
    }
    timer_set(d->router->env, &d->later, CUT_MS);
}

void router_answer_done(struct dispatch *d)
{
    timer_stop(d->router->env, &d->clock);
    d->finished = true;
    http_exchange_finish(d->x);
}

/* ---- tokens ---- */

static void note_tokens(struct dispatch *d, const struct json_scan *s)
{
    static const struct {
        const char *path;
        bool completion;
    } fields[] = {
        { "usage.prompt_tokens", false },
        { "usage.completion_tokens", true },
        { "usage.input_tokens", false },
        { "usage.output_tokens", true },
        { "message.usage.input_tokens", false },
        { "message.usage.output_tokens", true },
        { "response.usage.input_tokens", false },
        { "response.usage.output_tokens", true },
    };
    if (s->type != JSON_SCAN_NUMBER || s->depth < 2)
        return;
    for (size_t i = 0; i < lengthof(fields); i++) {
        if (!json_scan_is(s, fields[i].path))
            continue;
        int64_t value = strtoll(s->text, NULL, 10);
        *(fields[i].completion ? &d->completion_tokens : &d->prompt_tokens) = value < 0 ? 0 : value;
    }
}

static bool is_model(const struct json_scan *s)
{
    return json_scan_is(s, "model") || json_scan_is(s, "message.model") ||
           json_scan_is(s, "response.model");
}

/* Scans and forwards to `to`; replaces the value of `model` by the requested one. */
static void map_bytes(struct dispatch *d, struct json_scan *s, struct str bytes, struct buf *to)
{
    const char *from = bytes.ptr;
    enum json_scan_event event;
    do {
        event = json_scan(s, &bytes);
        if (!d->in_model)
            buf_add(to, from, (size_t)(bytes.ptr - from));
        from = bytes.ptr;
        bool model = event != JSON_SCAN_MORE && event != JSON_SCAN_FAILED && is_model(s);
        if (event == JSON_SCAN_BEGIN && model && d->map_model)
            d->in_model = true;
        if (event == JSON_SCAN_VALUE) {
            note_tokens(d, s);
            if (d->in_model) {
                if (s->type == JSON_SCAN_STRING)
                    json_print(to, json_str(d->features.model));
                else
                    buf_add_text(to, s->text);
            }
            d->in_model = false;
        }
    } while (event == JSON_SCAN_BEGIN || event == JSON_SCAN_VALUE);
    if (event == JSON_SCAN_FAILED)
        buf_add(to, bytes.ptr, bytes.len);
}

static void only_count(struct dispatch *d, struct json_scan *s, struct str bytes)
{
    enum json_scan_event event;
    while ((event = json_scan(s, &bytes)) != JSON_SCAN_MORE && event != JSON_SCAN_FAILED)
        if (event == JSON_SCAN_VALUE)
            note_tokens(d, s);
}

/* ---- events ---- */

static bool is_done(struct str data)
{
    return str_eq(str_trim(data), STR("[DONE]"));
}

static void got_event(struct dispatch *d, const struct sse_event *event, struct buf *to)
{
    bool done = is_done(event->data);
    d->event_count += !done;
    bool counts = !done && memmem(event->data.ptr, event->data.len, "\"usage\"", 7);
    if (done || (!d->map_model && !counts)) {
        if (d->map_model)
            sse_write(to, event);
        return;
    }
    struct json_scan *s = &d->router->event_scan;
    json_scan_init(s);
    d->in_model = false;
    if (!d->map_model) {
        only_count(d, s, event->data);
        return;
    }
    cleanup(buf_done) struct buf data = BUF_INIT(2 * DISPATCH_EVENT_BYTES);
    map_bytes(d, s, event->data, &data);
    struct sse_event mapped = *event;
    mapped.data = buf_str(&data);
    sse_write(to, &mapped);
}

static void pass_events(struct dispatch *d, struct str bytes)
{
    if (!d->map_model)
        put(d, bytes);
    cleanup(buf_done) struct buf out = BUF_INIT(4 * DISPATCH_EVENT_BYTES);
    struct sse_event event;
    bool was_failed = sse_failed(&d->events);
    while (!was_failed && sse_read(&d->events, &bytes, &event))
        got_event(d, &event, &out);
    if (out.len)
        put(d, buf_str(&out));
    if (d->map_model && sse_failed(&d->events))
        router_answer_cut(d, "upstream_cut", "the back end sent an event that is too long");
}

/* ---- handlers of the call ---- */

static enum answer_mode mode_of(const struct dispatch *d, const struct http_response *r)
{
    struct str type = http_header_find(r->headers, "content-type");
    struct str first = type.ptr ? str_trim(str_cut(&type, ';')) : type;
    if (str_eq_nocase(first, STR("text/event-stream")))
        return ANSWER_EVENTS;
    if (!str_eq_nocase(first, STR("application/json")))
        return ANSWER_RAW;
    bool small = r->body_bytes >= 0 && r->body_bytes <= (int64_t)DISPATCH_WHOLE_BYTES / 2;
    return d->map_model && small ? ANSWER_WHOLE : ANSWER_JSON;
}

/* The headers for the client. A redirect of a back end is not for the client. */
static struct http_headers answer_headers(
    struct arena *a, const struct http_response *r, bool packed, bool streams)
{
    struct http_header *list = arena_array(a, r->headers.count + 1, sizeof(*list));
    size_t count = 0;
    for (size_t i = 0; i < r->headers.count; i++) {
        const struct http_header *h = &r->headers.list[i];
        bool ours = head_is_hop_by_hop(h->name) || str_eq_nocase(h->name, STR("authorization")) ||
                    str_eq_nocase(h->name, STR("proxy-authenticate")) ||
                    str_eq_nocase(h->name, STR("trailer")) ||
                    (packed && str_eq_nocase(h->name, STR("content-encoding")));
        if (ours)
            continue;
        list[count].name = (struct str){ str_dup(a, h->name), h->name.len };
        list[count++].value = (struct str){ str_dup(a, h->value), h->value.len };
    }
    if (streams && !http_header_find(r->headers, "cache-control").ptr)
        list[count++] = (struct http_header){ STR("cache-control"), STR("no-cache") };
    return (struct http_headers){ list, count };
}

static void begin_answer(struct dispatch *d, const struct http_response *r)
{
    bool packed = http_header_has_token(r->headers, "content-encoding", "gzip");
    bool events = d->mode == ANSWER_EVENTS;
    bool streams = events || d->stream;
    cleanup(arena_done) struct arena a = ARENA_INIT; /* a stream lives longer than its head */
    if (d->mode == ANSWER_WHOLE) {                   /* sent with its length, once that is known */
        d->headers = answer_headers(&d->arena, r, packed, streams);
        return;
    }
    if (d->early)
        return;
    struct http_headers headers = answer_headers(&a, r, packed, streams);
    bool changes = packed || (d->map_model && d->mode == ANSWER_JSON) || streams;
    d->responded = true;
    http_exchange_respond(d->x, r->status, headers, changes ? -1 : r->body_bytes);
}

static void forget_request(struct dispatch *d)
{
    router_dispatch_forget_body(d);
    if (d->mode == ANSWER_RAW || d->mode == ANSWER_EVENTS) {
        free(take(d->scan));
    } else {
        if (!d->scan)
            d->scan = mem_new_of(struct json_scan);
        json_scan_init(d->scan);
    }
    d->is_json = false;
}

/* Whether to try another back end instead of passing this on. */
static bool falls_back(struct dispatch *d, const struct http_response *r)
{
    const char *name = d->target->backend->name;
    bool redirect = r->status >= 300 && r->status < 400 && r->status != 304;
    if (r->status < 500 && !redirect)
        return false;
    bool last = d->next >= d->route.count || !d->keeps_copy;
    bool closed = d->route.rule && d->route.rule->fail_closed;
    enum target_failure how = r->status == 503 ? TARGET_SAYS_NO : TARGET_FAILED;
    if (last && !closed && !redirect) { /* the client gets status, body and Retry-After */
        router_target_failed(d->target, how, now_ms(d), d->router->o.quarantine_ms);
        d->outcome = "all_backends_failed";
        return false;
    }
    http_call_cancel(take(d->call));
    router_dispatch_attempt_failed(d, how, !redirect, 502, "%s returned %d", name, r->status);
    return true;
}

static void on_head(void *ctx, const struct http_response *r)
{
    struct dispatch *d = ctx;
    d->head_ms = now_ms(d);
    if (falls_back(d, r))
        return;
    d->answering = true;
    if (r->status < 500)
        router_target_succeeded(d->target);
    d->status = r->status;
    d->mode = mode_of(d, r);
    bool streams = d->stream || d->mode == ANSWER_EVENTS;
    if (!*d->outcome)
        d->outcome = r->status >= 400 ? "upstream_error" : streams ? "ok_stream" : "ok";
    if (r->status >= 400 && r->status < 500)
        d->outcome = streams ? "ok_stream" : "ok";
    if (d->body_ended) {
        forget_request(d);
    } else if (d->mode != ANSWER_RAW) {
        /* The request is still streaming and uses the scanner: the answer is not parsed. */
        d->mode = d->mode == ANSWER_EVENTS ? ANSWER_EVENTS : ANSWER_RAW;
        d->map_model = false;
    }
    if (d->early && (d->mode != ANSWER_EVENTS || r->status != 200)) {
        router_answer_cut(d,
            "upstream_error",
            arena_printf(&d->arena, "%s answered %d", d->target->backend->name, r->status));
        return;
    }
    begin_answer(d, r);
}

static void on_data(void *ctx, struct str bytes)
{
    struct dispatch *d = ctx;
    d->last_ms = now_ms(d);
    if (!d->first_ms) {
        d->first_ms = d->last_ms;
        double took = (double)(d->first_ms - d->attempt_ms);
        double *average = &d->target->first_token_ms;
        *average = *average > 0 ? *average * 0.8 + took * 0.2 : took;
        router_dispatch_look_at_clocks(d);
    }
    switch (d->mode) {
    case ANSWER_EVENTS:
        pass_events(d, bytes);
        break;
    case ANSWER_WHOLE:
        map_bytes(d, d->scan, bytes, &d->whole);
        break;
    case ANSWER_JSON:
        if (d->map_model) {
            cleanup(buf_done) struct buf out = BUF_INIT((size_t)1 << 24);
            map_bytes(d, d->scan, bytes, &out);
            put(d, buf_str(&out));
            break;
        }
        only_count(d, d->scan, bytes);
        put(d, bytes);
        break;
    case ANSWER_RAW:
        put(d, bytes);
        break;
    }
}

static void failed_before_answer(struct dispatch *d, const struct error *err, bool sent)
{
    const char *name = d->target->backend->name;
    int64_t now = now_ms(d);
    router_hold_doubt(&d->turn);
    if (sent && !d->repeated_stale && d->keeps_copy && now - d->attempt_ms < STALE_MS) {
        d->repeated_stale = true;
        router_dispatch_again(d);
        return;
    }
    bool late = err->code == ERR_TIMEOUT;
    enum target_failure how = sent || late ? TARGET_FAILED : TARGET_REFUSED;
    router_dispatch_attempt_failed(d,
        how,
        true,
        late ? 504 : 502,
        late ? "%s did not answer in time" : "%s cannot be reached",
        name);
}

static void on_end(void *ctx, const struct error *err, bool sent)
{
    struct dispatch *d = ctx;
    d->call = NULL;
    if (err && !d->answering) {
        failed_before_answer(d, err, sent);
        return;
    }
    if (err) {
        router_target_failed(d->target, TARGET_FAILED, now_ms(d), d->router->o.quarantine_ms);
        if (d->responded)
            router_answer_cut(
                d, "upstream_cut", "the back end ended its answer before it was complete");
        else
            router_dispatch_refuse(
                d, 502, "upstream_cut", "the answer of the back end was cut", NULL);
        return;
    }
    if (d->mode == ANSWER_WHOLE) {
        d->responded = true;
        http_exchange_respond(d->x, d->status, d->headers, (int64_t)d->whole.len);
        put(d, buf_str(&d->whole));
    }
    router_answer_done(d);
}

const struct http_call_handlers router_answer_handlers = {
    .head = on_head,
    .data = on_data,
    .end = on_end,
    .more = router_dispatch_more,
};
