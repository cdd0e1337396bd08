/* Watches: each watcher has a queue of events, which is filled when the store is flushed and sent
 * as fast as the client reads. Its objects are held, not copied. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/select.h"

/* About one TLS record. */
#define WATCH_BATCH_BYTES ((size_t)15 << 10)

enum watch_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };

static const char *const type_names[] = { "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR" };

struct watch_item {
    enum watch_type type;
    const struct store_object *object; /* held; NULL: text */
    char *text; /* owned: bookmarks, errors, and objects that left the selection */
};

struct watch_stream {
    struct api_call *call;
    const void *connection; /* as in struct api_request */
    struct store_watch watch;
    struct selection selection;
    struct arena scratch; /* for parsing while selecting */
    struct watch_item *items;
    size_t first, count, size; /* a ring buffer */
    size_t bytes;              /* of waiting live events */
    uint64_t after;            /* all events up to this version are queued or sent */
    bool bookmarks;
    bool ends; /* when the queue is empty */
    bool held; /* by the pace */
    int64_t sent_ms;
    bool first_out; /* something was sent: the table has its columns */
    struct timer timeout;
    struct watch_stream *next, **link;
};

/* ---- the queue ---- */

static void push(struct watch_stream *w, struct watch_item item)
{
    if (w->count == w->size) {
        size_t size = w->size ? w->size * 2 : 16;
        struct watch_item *items = mem_resize(NULL, size, sizeof(*items));
        for (size_t i = 0; i < w->count; i++)
            items[i] = w->items[(w->first + i) % w->size];
        free(w->items);
        w->items = items;
        w->size = size;
        w->first = 0;
    }
    w->items[(w->first + w->count++) % w->size] = item;
    server_ready(w->call->server, w->call);
}

static void push_object(
    struct watch_stream *w, enum watch_type type, const struct store_object *object)
{
    store_object_hold(object);
    push(w, (struct watch_item){ .type = type, .object = object });
}

static void push_value(struct watch_stream *w, enum watch_type type, struct json value)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    object_print(&b, value);
    push(w, (struct watch_item){ .type = type, .text = mem_strdup(buf_text(&b)) });
}

static size_t item_bytes(const struct watch_item *item)
{
    return item->object ? item->object->text.len : strlen(item->text);
}

static void drop_first(struct watch_stream *w)
{
    struct watch_item *item = &w->items[w->first];
    size_t bytes = item_bytes(item);
    w->bytes -= bytes < w->bytes ? bytes : w->bytes;
    store_object_release(item->object);
    free(item->text);
    w->first = (w->first + 1) % w->size;
    w->count--;
}

void watch_stream_free(struct api_call *c)
{
    struct watch_stream *w = take(c->watch);
    if (!w)
        return;
    store_watch_stop(&w->watch);
    timer_stop(c->server->env, &w->timeout);
    while (w->count)
        drop_first(w);
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    c->server->watcher_count--;
    arena_done(&w->scratch);
    free(w->items);
    free(w);
}

/* ---- events of the store ---- */

/* An object that left the client's selection is sent in the last state that the client knew, with
 * the version of the change. */
static void push_left(struct watch_stream *w, const struct store_event *e)
{
    struct json object = object_read(w->selection.kind, &w->scratch, e->before);
    object = json_with(&w->scratch,
        object,
        "metadata.resourceVersion",
        json_strf(&w->scratch, "%llu", (unsigned long long)e->version));
    push_value(w, WATCH_DELETED, object);
}

static void on_event(void *ctx, const struct store_event *e)
{
    struct watch_stream *w = ctx;
    if (e->version <= w->after || w->ends)
        return;
    w->after = e->version;
    bool was = e->before && select_matches(&w->selection, &w->scratch, e->before);
    bool is = !e->gone && select_matches(&w->selection, &w->scratch, e->object);
    if (e->gone && was)
        push_object(w, WATCH_DELETED, e->object);
    else if (is)
        push_object(w, was ? WATCH_MODIFIED : WATCH_ADDED, e->object);
    else if (was)
        push_left(w, e);
    if (w->scratch.used)
        arena_reset(&w->scratch);
    if (!was && !is)
        return;
    w->bytes += e->object->text.len;
    if (w->bytes > w->call->server->options.watch_behind_bytes && w->call->paused) {
        /* Too slow: the client reconnects and requests the missed events. */
        w->ends = true;
        while (w->count)
            drop_first(w);
        server_ready(w->call->server, w->call);
    }
}

static void on_timeout(void *ctx)
{
    struct watch_stream *w = ctx;
    w->ends = true;
    server_ready(w->call->server, w->call);
    server_wake(w->call->server);
}

/* ---- sending ---- */

static void print_object(struct watch_stream *w, struct buf *b, const struct watch_item *item)
{
    struct api_call *c = w->call;
    const struct api_kind *k = w->selection.kind;
    const struct store_object *o = item->object;
    bool same = false, plain = o && object_is_plain(k, o, &same);
    if (c->accept.form == ACCEPT_OBJECT && !o) {
        buf_add_text(b, item->text);
        return;
    }
    if (c->accept.form == ACCEPT_OBJECT && plain) {
        size_t head = same ? 0 : object_head_bytes(o->text);
        if (!same)
            buf_printf(b,
                "{\"apiVersion\":\"%s\",\"kind\":\"%s\"",
                object_api_version(&w->scratch, k),
                k->resource.kind);
        buf_add(b, o->text.ptr + head, o->text.len - head);
        return;
    }
    struct json object = { 0 };
    struct error err;
    if (o)
        object = object_read_as(k, &w->scratch, o, c->accept.form == ACCEPT_OBJECT);
    else if (!json_parse(&w->scratch, str_of(item->text), &object, &err))
        object = json_null();
    if (c->accept.form == ACCEPT_TABLE && item->type != WATCH_ERROR)
        object = table_of_object(&w->scratch,
            k,
            &c->accept,
            c->include,
            object,
            !w->first_out,
            env_wall_ms(c->server->env));
    else if (c->accept.form != ACCEPT_OBJECT && item->type != WATCH_ERROR)
        object = partial_of_object(&w->scratch, k, &c->accept, object);
    json_print(b, object);
}

void watch_batch_forget(struct watch_batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        store_object_release(b->items[i].object);
    b->count = 0;
}

static const struct watch_item *item_at(const struct watch_stream *w, size_t i)
{
    return &w->items[(w->first + i) % w->size];
}

/* Whether the last printed events are the next ones for this watcher. */
static bool is_next(const struct watch_batch *b, const struct watch_stream *w)
{
    bool same = b->count && b->count <= w->count && b->kind == w->selection.kind;
    for (size_t i = 0; same && i < b->count; i++)
        same = b->items[i].object == item_at(w, i)->object &&
               b->items[i].type == (int)item_at(w, i)->type;
    return same;
}

/* The next events as text, which is shared by all watchers with the same events. */
static struct str print_batch(struct watch_stream *w, size_t *ret_count)
{
    struct watch_batch *b = &w->call->server->batch;
    bool plain = w->call->accept.form == ACCEPT_OBJECT;
    *ret_count = b->count;
    if (plain && is_next(b, w))
        return buf_str(&b->text);
    watch_batch_forget(b);
    b->kind = w->selection.kind;
    b->text.len = 0;
    size_t i = 0;
    for (; i < w->count && i < WATCH_BATCH_MAX && b->text.len < WATCH_BATCH_BYTES; i++) {
        const struct watch_item *item = item_at(w, i);
        bool shared = plain && item->object;
        if (i && !shared)
            break;
        buf_printf(&b->text, "{\"type\":\"%s\",\"object\":", type_names[item->type]);
        print_object(w, &b->text, item);
        buf_add_text(&b->text, "}\n");
        if (!shared) {
            i++;
            break;
        }
        store_object_hold(item->object);
        b->items[b->count].object = item->object;
        b->items[b->count++].type = (int)item->type;
    }
    *ret_count = i;
    return buf_str(&b->text);
}

/* A system call is more expensive than an event: after an event, the next ones are sent
 * together. */
static bool hold_back(struct watch_stream *w)
{
    struct apiserver *s = w->call->server;
    int64_t pace_ms = s->options.watch_pace_ms;
    if (!pace_ms || !w->count || w->ends)
        return false;
    int64_t now_ms = env_mono_ms(s->env);
    w->held = w->first_out && now_ms - w->sent_ms < pace_ms && !server_is_writer(s, w->connection);
    if (w->held && !timer_is_set(&s->pace))
        timer_set(s->env, &s->pace, pace_ms);
    if (!w->held)
        w->sent_ms = now_ms;
    return w->held;
}

void watch_release_held(struct apiserver *s)
{
    for (struct watch_stream *w = s->watches; w; w = w->next) {
        if (!w->held)
            continue;
        w->held = false;
        w->sent_ms = INT64_MIN / 2;
        server_ready(s, w->call);
    }
}

void watch_stream_send(struct api_call *c)
{
    struct watch_stream *w = c->watch;
    if (hold_back(w))
        return;
    while (w->count && !c->paused && !c->cancelled) {
        size_t count;
        /* An event has no list, so this ends the stream. */
        if (c->accept.form == ACCEPT_PARTIAL_LIST) {
            w->ends = true;
            drop_first(w);
            continue;
        }
        struct str text = print_batch(w, &count);
        w->first_out = true;
        while (count--)
            drop_first(w);
        api_call_send(c, text);
        if (w->scratch.used)
            arena_reset(&w->scratch);
    }
    if (w->ends && !w->count && !c->cancelled)
        api_call_end(c);
}

/* ---- bookmarks ---- */

static struct json bookmark(struct watch_stream *w, struct arena *a, bool initial_end)
{
    const struct api_kind *k = w->selection.kind;
    struct json annotations = json_map(a, { "k8s.io/initial-events-end", json_str("true") });
    return json_map(a,
        { "kind", json_str(k->resource.kind) },
        { "apiVersion", json_str(object_api_version(a, k)) },
        { "metadata",
            json_map(a,
                { "resourceVersion", json_strf(a, "%llu", (unsigned long long)w->after) },
                { "annotations", json_if(initial_end, annotations) }) });
}

void watch_end_kind(struct apiserver *s, const struct api_kind *k)
{
    for (struct watch_stream *w = s->watches; w; w = w->next) {
        if (w->call->kind != k)
            continue;
        w->ends = true;
        server_ready(s, w->call);
    }
}

void watch_send_bookmarks(struct apiserver *s)
{
    uint64_t version = store_version(s->store);
    for (struct watch_stream *w = s->watches; w; w = w->next) {
        if (!w->bookmarks || w->ends || w->call->paused)
            continue;
        w->after = version > w->after ? version : w->after;
        push_value(w, WATCH_BOOKMARK, bookmark(w, &w->scratch, false));
        arena_reset(&w->scratch);
    }
}

/* ---- start ---- */

/* Queues all existing objects as ADDED events. */
static void push_state(struct watch_stream *w, const struct store_table *t)
{
    struct store_cursor cursor = { .ns = w->selection.ns };
    const struct store_object *o;
    while ((o = store_next(t, &cursor))) {
        if (select_matches(&w->selection, &w->scratch, o))
            push_object(w, WATCH_ADDED, o);
        if (w->scratch.used > LIST_PIECE_BYTES)
            arena_reset(&w->scratch);
    }
}

static void push_expired(struct watch_stream *w, uint64_t version)
{
    struct arena *a = &w->scratch;
    struct api_status status = status_expired(arena_printf(a,
        "too old resource version: %llu (%llu)",
        (unsigned long long)version,
        (unsigned long long)store_oldest(w->call->server->store)));
    push_value(w, WATCH_ERROR, status_to_json(a, &status));
    w->ends = true;
}

static void begin(struct watch_stream *w, const struct list_options *o)
{
    struct apiserver *s = w->call->server;
    struct store_table *t = store_table(s->store, w->selection.kind->table);
    struct error err;
    bool state = o->initial_given ? o->initial : o->version == 0;
    w->after = o->version;
    if (state || o->version == 0) {
        if (state)
            push_state(w, t);
        w->after = store_version(s->store);
    } else if (!store_history(t, o->version, on_event, w, &err)) {
        push_expired(w, o->version);
    }
    w->bytes = 0;
    if (o->initial && w->bookmarks)
        push_value(w, WATCH_BOOKMARK, bookmark(w, &w->scratch, true));
    arena_reset(&w->scratch);
    store_watch_start(t, &w->watch);
}

/* The texts of the query must outlive the request: the call's arena does. */
static struct watch_stream *watch_new(
    struct api_call *c, const struct selection *selection, const struct list_options *o)
{
    struct apiserver *s = c->server;
    struct watch_stream *w = mem_new_of(struct watch_stream);
    *w = (struct watch_stream){
        .call = c,
        .connection = c->request->connection,
        .watch = { .event = on_event, .ctx = w },
        .selection = *selection,
        .bookmarks = o->bookmarks,
        .next = s->watches,
        .link = &s->watches,
    };
    arena_init(&w->scratch, ARENA_LIMIT_DEFAULT);
    if (w->next)
        w->next->link = &w->next;
    s->watches = w;
    s->watcher_count++;
    timer_init(&w->timeout, on_timeout, w);
    int64_t timeout_ms = o->timeout_s > 0 && o->timeout_s < INT32_MAX
                             ? o->timeout_s * 1000
                             : 1800000 + env_random_below(s->env, 1800000);
    timer_set(s->env, &w->timeout, timeout_ms);
    return w;
}

bool watch_refuse(struct api_call *c)
{
    return call_fail(c,
        (struct api_status){ 429,
            "TooManyRequests",
            "too many watches are open, please try again later",
            .details = json_map(&c->arena, { "retryAfterSeconds", json_int(1) }),
            .retry_after_s = 1 });
}

/* /watch/RESOURCE/NAME: field selectors must also select that object. */
static bool select_named(struct api_call *c, const struct list_options *o, struct selection *s)
{
    if (!c->name)
        return true;
    if (o->fields.count && !text_eq(s->name, c->name))
        return call_fail_bad(c, "fieldSelector metadata.name doesn't match requested name");
    s->name = c->name;
    return true;
}

/* Events support fewer media types than lists. */
static bool check_media(struct api_call *c)
{
    struct api_answer refusal;
    struct error err;
    if (c->accept.form == ACCEPT_TABLE &&
        !table_include_parse(call_param(c, "includeObject"), &c->include, &err))
        return call_fail_bad(c, "%s", err.text);
    if (accept_streams(&c->arena, &c->accept, &refusal))
        return true;
    call_answer(c, &refusal);
    return false;
}

void rest_watch(struct api_call *c)
{
    struct list_options o;
    struct selection selection;
    struct apiserver *s = c->server;
    if (!options_read_list(c, true, &o) || !select_init(c, &o, &selection) ||
        !select_named(c, &o, &selection) || !options_read_version(c, true, &o) ||
        !call_check_version(c, NULL, true) || !check_media(c))
        return;
    budget_seal(&c->budget);
    if (s->watcher_count >= s->options.watchers_max) {
        watch_refuse(c);
        return;
    }
    call_text(c, 200, c->accept.content_type, (struct str){ NULL, 0 });
    c->watch = watch_new(c, &selection, &o);
    begin(c->watch, &o);
}
