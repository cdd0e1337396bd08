/* Lists: collects the objects, then sends their texts in parts. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/continue.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/object.h"
#include "apiserver/core/select.h"
#include "apiserver/core/table.h"

/* The unsent rest. Objects are held, not copied, so a list costs one pointer per item. */
struct list_stream {
    const struct api_kind *kind;
    struct accept accept;
    enum table_include include;
    const struct store_object **objects;
    size_t count, size, at;
    struct buf piece;
    struct str head; /* the head of nearly all objects' texts */
    struct str tail;
    int64_t bytes; /* of the whole response; -1: unknown */
    bool ends;     /* the tail is sent */
};

void list_stream_free(struct list_stream *l)
{
    if (!l)
        return;
    for (size_t i = l->at; i < l->count; i++)
        store_object_release(l->objects[i]);
    buf_done(&l->piece);
    free(l->objects);
    free(l);
}

int64_t list_stream_bytes(const struct list_stream *l)
{
    return l->bytes;
}

/* ---- collecting ---- */

static void add_object(struct list_stream *l, const struct store_object *o)
{
    mem_room(l->objects, l->count, l->size);
    store_object_hold(o);
    l->objects[l->count++] = o;
}

/* The start of a list, its version, and its end. */
struct range {
    uint64_t version;
    bool exact; /* as of exactly that version */
    struct list_place after;
    int64_t limit;
    /* found: */
    bool more;
    int64_t remaining; /* -1: unknown */
};

static bool collect(
    struct api_call *c, const struct selection *s, struct range *r, struct list_stream *l)
{
    const struct store_table *t = store_table(c->server->store, c->kind->table);
    struct store_cursor cursor = {
        .ns = s->ns,
        .after_ns = r->after.ns,
        .after_name = r->after.name,
    };
    struct arena scratch;
    arena_init(&scratch, ARENA_LIMIT_DEFAULT);
    r->remaining = s->parses || s->name ? -1 : 0;
    bool ok = true;
    for (;;) {
        struct error err;
        const struct store_object *o = NULL;
        if (!r->exact)
            o = store_next(t, &cursor);
        else if (!(ok = store_next_at(t, &cursor, r->version, &o, &err)))
            call_fail(c, status_expired("The resourceVersion for the provided list is too old."));
        if (!o || !(ok = call_check_version(c, o, false)))
            break;
        bool full = r->limit > 0 && (int64_t)l->count >= r->limit;
        /* Objects after the page are not checked against the selector. */
        if (full && r->remaining < 0) {
            r->more = true;
            break;
        }
        bool match = select_matches(s, &scratch, o);
        if (scratch.used > LIST_PIECE_BYTES)
            arena_reset(&scratch);
        if (match && full)
            r->remaining++;
        else if (match)
            add_object(l, o);
        r->more |= match && full;
    }
    arena_done(&scratch);
    return ok;
}

/* ---- sending ---- */

/* Whether an object's text needs no conversion, because it has the usual head. */
static bool is_usual(const struct list_stream *l, const struct store_object *o)
{
    return !l->kind->refill && o->text.len > l->head.len && o->text.ptr[l->head.len] == ',' &&
           memcmp(o->text.ptr, l->head.ptr, l->head.len) == 0;
}

static void print_item(
    struct list_stream *l, struct arena *a, const struct store_object *o, int64_t wall_ms)
{
    if (l->accept.form == ACCEPT_OBJECT && is_usual(l, o)) {
        size_t cut = l->kind->custom ? 0 : l->head.len;
        buf_add(&l->piece, "{", cut > 0);
        buf_add(&l->piece, o->text.ptr + cut + (cut > 0), o->text.len - cut - (cut > 0));
        return;
    }
    bool same, plain = object_is_plain(l->kind, o, &same);
    size_t head = object_head_bytes(o->text);
    if (l->accept.form != ACCEPT_OBJECT || !plain) {
        struct json object = object_read_as(l->kind, a, o, l->accept.form == ACCEPT_OBJECT);
        if (l->accept.form == ACCEPT_TABLE)
            object = table_row(a, l->kind, &l->accept, l->include, object, wall_ms);
        else if (l->accept.form != ACCEPT_OBJECT)
            object = partial_of_object(a, l->kind, &l->accept, object);
        else if (!l->kind->custom)
            object = json_with_member(
                a, json_with_member(a, object, "apiVersion", json_none), "kind", json_none);
        json_print(&l->piece, object);
        return;
    }
    if (l->kind->custom && same) {
        buf_add(&l->piece, o->text.ptr, o->text.len);
        return;
    }
    buf_add_char(&l->piece, '{');
    if (l->kind->custom)
        buf_printf(&l->piece,
            "\"apiVersion\":\"%s\",\"kind\":\"%s\",",
            object_api_version(a, l->kind),
            l->kind->resource.kind);
    buf_add(&l->piece, o->text.ptr + head + 1, o->text.len - head - 1);
}

bool list_stream_send(struct api_call *c)
{
    struct list_stream *l = c->list;
    struct arena scratch;
    arena_init(&scratch, ARENA_LIMIT_DEFAULT);
    int64_t wall_ms = env_wall_ms(c->server->env);
    bool room = true;
    while (room && !l->ends) {
        l->piece.len = 0;
        while (l->at < l->count && l->piece.len < LIST_PIECE_BYTES) {
            if (l->at)
                buf_add_char(&l->piece, ',');
            print_item(l, &scratch, l->objects[l->at], wall_ms);
            store_object_release(l->objects[l->at++]);
        }
        l->ends = l->at == l->count;
        if (l->ends)
            buf_add(&l->piece, l->tail.ptr, l->tail.len);
        arena_reset(&scratch);
        room = api_call_send(c, buf_str(&l->piece));
    }
    arena_done(&scratch);
    return room;
}

/* ---- response ---- */

/* The length of all items if nothing needs parsing; else -1. */
static int64_t plain_bytes(const struct list_stream *l)
{
    int64_t bytes = l->count ? (int64_t)l->count - 1 : 0;
    size_t cut = l->kind->custom ? 0 : l->head.len;
    for (size_t i = 0; i < l->count; i++) {
        if (!is_usual(l, l->objects[i]))
            return -1;
        bytes += (int64_t)(l->objects[i]->text.len - cut);
    }
    return bytes;
}

static struct json list_metadata(struct api_call *c, const struct selection *s,
    const struct range *r, const struct list_stream *l)
{
    struct arena *a = &c->arena;
    const char *cont = l->kind->custom && l->accept.form == ACCEPT_OBJECT ? "" : NULL;
    if (r->more) {
        const struct store_object *last = l->objects[l->count - 1];
        cont = continue_print(
            a, r->version, (struct list_place){ last->ns, last->name }, s->ns == NULL);
    }
    return json_map(a,
        { "resourceVersion", json_strf(a, "%llu", (unsigned long long)r->version) },
        { "continue", json_str(cont) },
        { "remainingItemCount", json_if(r->more && r->remaining > 0, json_int(r->remaining)) });
}

static void answer_list(
    struct api_call *c, const struct selection *s, const struct range *r, struct list_stream *l)
{
    struct arena *a = &c->arena;
    const char *kind = l->kind->list_kind, *version = object_api_version(a, l->kind);
    const char *columns = "";
    if (l->accept.form == ACCEPT_TABLE) {
        kind = "Table";
        columns = arena_printf(
            a, "\"columnDefinitions\":%s,", json_to_text(a, table_columns(a, l->kind)));
    } else if (l->accept.form != ACCEPT_OBJECT) {
        kind = "PartialObjectMetadataList";
    }
    if (l->accept.form != ACCEPT_OBJECT)
        version = l->accept.api_version;
    bool null = !l->count && l->accept.form != ACCEPT_OBJECT &&
                (l->accept.form != ACCEPT_TABLE || table_rows_are_null(l->kind));
    const char *head = arena_printf(a,
        "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":%s,%s\"%s\":%s",
        kind,
        version,
        json_to_text(a, list_metadata(c, s, r, l)),
        columns,
        l->accept.form == ACCEPT_TABLE ? "rows" : "items",
        null ? "null" : "[");
    call_text(c, 200, l->accept.content_type, str_of(head));
    l->head = str_of(arena_printf(a,
        "{\"apiVersion\":\"%s\",\"kind\":\"%s\"",
        object_api_version(a, l->kind),
        l->kind->resource.kind));
    l->tail = null ? STR("}\n") : STR("]}\n");
    int64_t items = l->accept.form == ACCEPT_OBJECT ? plain_bytes(l) : -1;
    l->bytes = items < 0 ? -1 : items + (int64_t)(strlen(head) + l->tail.len);
}

/* Chooses the version of the list: the newest, unless exactly an older one is requested. */
static bool choose_version(struct api_call *c, const struct list_options *o, struct range *r)
{
    uint64_t current = store_version(c->server->store);
    *r = (struct range){ .version = current, .limit = o->limit };
    if (o->version > current)
        return call_fail(c, status_too_large_version(&c->arena, o->version, current));
    bool exact = text_eq(o->match, "Exact") || (text_empty(o->match) && o->limit > 0);
    if (o->version > 0 && exact && text_empty(o->cont)) {
        r->version = o->version;
        r->exact = true;
    }
    if (text_eq(o->version_text, "0"))
        r->limit = 0; /* any version is allowed, and the server has all objects in memory */
    return text_empty(o->cont) || continue_read(c, o, current, &r->version, &r->exact, &r->after);
}

void rest_list(struct api_call *c)
{
    struct list_options o;
    struct selection s;
    struct range r;
    if (!options_read_list(c, false, &o) || !select_init(c, &o, &s) ||
        !options_read_version(c, false, &o) || !choose_version(c, &o, &r))
        return;
    budget_seal(&c->budget);
    struct list_stream *l = mem_new_of(struct list_stream);
    l->kind = c->kind;
    l->accept = c->accept;
    buf_init(&l->piece, (size_t)256 << 20);
    if (!collect(c, &s, &r, l) || !call_check_form(c, true)) {
        list_stream_free(l);
        return;
    }
    l->include = c->include;
    answer_list(c, &s, &r, l);
    c->list = l;
}
