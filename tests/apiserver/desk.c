#include "tests/apiserver/desk.h"

#include <stdlib.h>
#include <string.h>

static int64_t mono_ms(void *ctx)
{
    return ((struct desk *)ctx)->now_ms;
}

static int64_t wall_ms(void *ctx)
{
    return 1794700800000 + ((struct desk *)ctx)->now_ms; /* 2026-11-15T00:00:00Z */
}

static uint64_t random64(void *ctx)
{
    struct desk *r = ctx;
    r->seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t z = r->seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void begin(struct desk *r, struct apiserver_options options, struct store_options store)
{
    struct error err = { 0 };
    *r = (struct desk){ .seed = 1 };
    r->env = (struct env){ mono_ms, wall_ms, random64, r, &r->timers };
    r->store = store_new(&r->env, &store, &err);
    check(r->store);
    options.env = &r->env;
    options.store = r->store;
    r->server = apiserver_new(&options, &err);
    check(r->server);
    desk_settle(r);
    desk_do(r, "POST", "/api/v1/namespaces", "{'metadata':{'name':'other'}}");
}

void desk_init_with(struct desk *r, struct apiserver_options options, struct store_options store)
{
    if (!options.kinds)
        options.kinds = desk_kinds;
    begin(r, options, store);
}

void desk_init_store(struct desk *r, struct apiserver_options options, struct store_options store)
{
    begin(r, options, store);
}

void desk_init_builtin(struct desk *r, struct apiserver_options options)
{
    begin(r, options, (struct store_options){ 0 });
}

void desk_init(struct desk *r)
{
    desk_init_with(r, (struct apiserver_options){ 0 }, (struct store_options){ 0 });
}

static void stream_free(struct desk_stream *s)
{
    struct desk_stream **at = &s->desk->streams;
    while (*at && *at != s)
        at = &(*at)->next;
    *at = s->next;
    for (size_t i = 0; i < s->warning_count; i++)
        free((char *)s->warnings[i]);
    buf_done(&s->text);
    free(s);
}

void desk_done(struct desk *r)
{
    apiserver_free(r->server);
    while (r->streams)
        stream_free(r->streams);
    store_free(r->store);
    timers_done(&r->timers);
}

void desk_settle(struct desk *r)
{
    for (int i = 0; i < 100000 && apiserver_is_pending(r->server); i++)
        apiserver_flush(r->server);
    check(!apiserver_is_pending(r->server));
}

void desk_advance(struct desk *r, int64_t ms)
{
    int64_t end = r->now_ms + ms;
    for (;;) {
        int64_t next = timers_next_ms(&r->timers);
        if (next > end)
            break;
        r->now_ms = next > r->now_ms ? next : r->now_ms;
        timers_run(&r->timers, r->now_ms);
        desk_settle(r);
    }
    r->now_ms = end;
}

/* ---- answers ---- */

static void on_head(void *ctx, const struct api_head *head)
{
    struct desk_stream *s = ctx;
    check(!s->status);
    s->status = head->status;
    s->body_bytes = head->body_bytes;
    snprintf(s->content_type, sizeof(s->content_type), "%s", head->content_type);
    for (size_t i = 0; head->warnings && head->warnings[i] && i < lengthof(s->warnings) - 1; i++)
        s->warnings[s->warning_count++] = mem_strdup(head->warnings[i]);
}

static bool on_data(void *ctx, struct str bytes)
{
    struct desk_stream *s = ctx;
    check(s->status);
    buf_add(&s->text, bytes.ptr, bytes.len);
    s->pieces++;
    return !s->blocked;
}

static void on_end(void *ctx)
{
    struct desk_stream *s = ctx;
    check(s->call);
    check(s->body_bytes < 0 || (size_t)s->body_bytes == s->text.len);
    s->call = NULL;
}

struct desk_stream *desk_open(struct desk *r, const char *method, const char *target,
    const char *content_type, const char *accept, struct str body)
{
    static const struct api_handlers handlers = { on_head, on_data, on_end };
    struct desk_stream *s = mem_new_of(struct desk_stream);
    *s = (struct desk_stream){ .desk = r, .text = BUF_INIT((size_t)1 << 30), .next = r->streams };
    r->streams = s;
    struct str query = str_of(target), path = str_cut(&query, '?');
    static const char *const groups[] = { "system:masters", NULL };
    struct api_user user = { .name = "admin", .uid = "", .groups = groups };
    struct api_request request = {
        .method = method,
        .path = path,
        .query = query,
        .content_type = content_type,
        .accept = accept,
        .user_agent = "tester/1.0 (linux)",
        .body = body,
        .user = r->user ? r->user : &user,
        .connection = r->connection,
    };
    s->call = apiserver_open(r->server, &request, &handlers, s);
    return s;
}

struct str desk_quotes(const char *text)
{
    if (!text)
        return (struct str){ NULL, 0 };
    char *copy = arena_strdup(test_arena(), text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return str_of(copy);
}

struct desk_answer desk_ask_as(struct desk *r, const char *method, const char *target,
    const char *content_type, const char *accept, const char *body)
{
    struct desk_stream *s = desk_open(r, method, target, content_type, accept, desk_quotes(body));
    struct error err;
    struct desk_answer ret = { 0 };
    desk_settle(r);
    check(!s->call);
    ret.status = s->status;
    ret.text = arena_strdup(test_arena(), buf_text(&s->text));
    ret.content_type = arena_strdup(test_arena(), s->content_type);
    for (size_t i = 0; i < s->warning_count; i++)
        ret.warnings[i] = arena_strdup(test_arena(), s->warnings[i]);
    if (!json_parse(test_arena(), str_of(ret.text), &ret.body, &err))
        ret.body = json_none;
    stream_free(s);
    return ret;
}

struct desk_answer desk_ask(
    struct desk *r, const char *method, const char *target, const char *body)
{
    return desk_ask_as(r, method, target, body ? "application/json" : NULL, NULL, body);
}

struct json desk_do(struct desk *r, const char *method, const char *target, const char *body)
{
    struct desk_answer got = desk_ask(r, method, target, body);
    if (got.status >= 300)
        test_fail(__FILE__, __LINE__, "%s %s: %d %s", method, target, got.status, got.text);
    return got.body;
}

struct desk_stream *desk_watch(struct desk *r, const char *target)
{
    struct desk_stream *s = desk_open(r, "GET", target, NULL, NULL, (struct str){ NULL, 0 });
    desk_settle(r);
    return s;
}

const char *desk_event(struct desk_stream *w, struct json *ret_object)
{
    desk_settle(w->desk);
    struct str rest = { buf_text(&w->text) + w->read, w->text.len - w->read };
    if (!memchr(rest.ptr, '\n', rest.len))
        return w->call ? "" : "end";
    struct str line = str_cut(&rest, '\n');
    w->read += line.len + 1;
    struct json event;
    struct error err = { 0 };
    if (!json_parse(test_arena(), line, &event, &err))
        test_fail(__FILE__, __LINE__, "an event that is no JSON: %s", err.text);
    struct json object = json_member(event, "object");
    if (ret_object)
        *ret_object = object;
    const char *name = json_get_text(object, "metadata.name");
    const char *reason = json_get_text(object, "reason");
    return arena_printf(test_arena(),
        "%s%s%s",
        json_get_text(event, "type"),
        name || reason ? " " : "",
        name     ? name
        : reason ? reason
                 : "");
}

void desk_cancel(struct desk_stream *w)
{
    if (w->call)
        apiserver_cancel(w->desk->server, w->call);
    w->call = NULL;
    stream_free(w);
}
