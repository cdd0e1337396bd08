#include "apiserver/store/store.h"

#include <stdlib.h>

#include "apiserver/store/events.h"

#define STORE_HISTORY_MS (5 * 60 * 1000)
#define STORE_HISTORY_COUNT 100000
#define STORE_HISTORY_BYTES ((size_t)64 << 20)
/* The disk is compacted in steps of this many changes, because each step scans an index. */
#define STORE_COMPACT_STEP 1000

struct store_object_impl { /* names and text follow in the same allocation */
    struct store_object object;
    char bytes[];
};

void store_object_hold(const struct store_object *o)
{
    ((struct store_object *)o)->references++;
}

void store_object_release(const struct store_object *o)
{
    if (o && --((struct store_object *)o)->references == 0)
        free((struct store_object *)o);
}

static struct store_object *object_new(const struct store_table *t, const struct store_row *row)
{
    size_t ns_size = strlen(row->ns) + 1, name = strlen(row->name) + 1;
    struct store_object_impl *o = mem_new(sizeof(*o) + ns_size + name + row->text.len + 1);
    memcpy(o->bytes, row->ns, ns_size);
    memcpy(o->bytes + ns_size, row->name, name);
    memcpy(o->bytes + ns_size + name, row->text.ptr, row->text.len);
    o->object = (struct store_object){
        .table = t,
        .version = row->version,
        .ns = o->bytes,
        .name = o->bytes + ns_size,
        .text = { o->bytes + ns_size + name, row->text.len },
        .references = 1,
    };
    return &o->object;
}

/* ---- tables ---- */

struct store_table *store_table(struct store *s, const char *name)
{
    size_t low = 0, high = s->table_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(s->tables[middle]->name, name);
        if (order == 0)
            return s->tables[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct store_table *t = mem_new_of(struct store_table);
    t->store = s;
    t->name = mem_strdup(name);
    s->tables = mem_resize(s->tables, s->table_count + 1, sizeof(struct store_table *));
    memmove(s->tables + low + 1, s->tables + low, (s->table_count - low) * sizeof(*s->tables));
    s->tables[low] = t;
    s->table_count++;
    return t;
}

const char *store_table_name(const struct store_table *t)
{
    return t->name;
}

size_t store_table_count(const struct store_table *t)
{
    return t->count;
}

struct store_table *store_table_next(struct store *s, const struct store_table *after)
{
    for (size_t i = 0; i < s->table_count; i++)
        if (!after || strcmp(s->tables[i]->name, after->name) > 0)
            return s->tables[i];
    return NULL;
}

static int compare(const struct store_object *o, const char *ns, const char *name)
{
    int order = strcmp(o->ns, ns);
    return order ? order : strcmp(o->name, name);
}

/* The position of the first object that is not before this name. */
static size_t place_of(const struct store_table *t, const char *ns, const char *name)
{
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(t->objects[middle], ns, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct store_table *t, size_t i, const char *ns, const char *name)
{
    return i < t->count && compare(t->objects[i], ns, name) == 0;
}

const struct store_object *store_get(const struct store_table *t, const char *ns, const char *name)
{
    size_t i = place_of(t, ns, name);
    return is_at(t, i, ns, name) ? t->objects[i] : NULL;
}

const struct store_object *store_next(const struct store_table *t, struct store_cursor *c)
{
    size_t i;
    if (c->shape == t->shape && c->after_name)
        i = c->index + 1;
    else if (c->after_name) {
        i = place_of(t, c->after_ns, c->after_name);
        i += is_at(t, i, c->after_ns, c->after_name);
    } else
        i = c->ns ? place_of(t, c->ns, "") : 0;
    if (i >= t->count || (c->ns && strcmp(t->objects[i]->ns, c->ns) != 0))
        return NULL;
    const struct store_object *o = t->objects[i];
    c->index = i;
    c->shape = t->shape;
    c->after_ns = o->ns;
    c->after_name = o->name;
    return o;
}

/* Sets the object, or removes it with NULL. The table's reference to the old object passes to the
 * caller. */
static const struct store_object *table_set(
    struct store_table *t, const char *ns, const char *name, const struct store_object *object)
{
    size_t i = place_of(t, ns, name);
    if (is_at(t, i, ns, name)) {
        const struct store_object *before = t->objects[i];
        if (object) {
            t->objects[i] = object;
        } else {
            t->count--;
            memmove(t->objects + i, t->objects + i + 1, (t->count - i) * sizeof(*t->objects));
        }
        t->shape++; /* cursors also borrow the names of replaced objects */
        return before;
    }
    if (!object)
        return NULL;
    mem_room(t->objects, t->count, t->size);
    memmove(t->objects + i + 1, t->objects + i, (t->count - i) * sizeof(*t->objects));
    t->objects[i] = object;
    t->count++;
    t->shape++;
    return NULL;
}

/* ---- writing ---- */

uint64_t store_version(const struct store *s)
{
    return s->version;
}

uint64_t store_next_version(const struct store *s)
{
    return s->version + 1;
}

/* Both the table and the history hold the object; the old object goes to the history. */
static const struct store_object *change(
    struct store *s, struct store_table *t, const struct store_row *row, bool remember)
{
    const struct store_object *object = object_new(t, row);
    const struct store_object *before = table_set(t, row->ns, row->name, row->gone ? NULL : object);
    s->version = row->version;
    if (remember) {
        if (!row->gone)
            store_object_hold(object);
        store_events_add(s, t, object, before, row->gone);
    } else {
        store_object_release(before);
        if (row->gone)
            store_object_release(take(object));
    }
    t->version = row->version;
    return object;
}

const struct store_object *store_write(struct store *s, struct store_table *t, const char *ns,
    const char *name, struct str text, bool gone, struct error *err)
{
    struct store_row row = { t->name, ns, name, s->version + 1, gone, text };
    if (s->broken.code) {
        *err = s->broken;
        return NULL;
    }
    if (s->disk && !s->disk->write(s->disk->self, &row, &s->broken)) {
        /* The result of the turn's other writes on the disk is unknown: they all fail. */
        *err = s->broken;
        return NULL;
    }
    return change(s, t, &row, true);
}

bool store_is_dirty(const struct store *s)
{
    return s->broken.code || s->flushed != s->version;
}

/* Rolls back to the last flush; the versions are not reused. */
static void undo(struct store *s)
{
    for (struct store_change *c; (c = store_events_last(s)) && c->event.version > s->flushed;) {
        const struct store_object *o = c->event.object, *before = c->event.before;
        if (before)
            store_object_hold(before);
        store_object_release(table_set(c->table, o->ns, o->name, before));
        c->table->version = c->newer_than;
        if (s->undone)
            s->undone(s->undone_ctx, &c->event);
        store_events_drop_last(s);
    }
    s->flushed = s->version;
    s->broken = (struct error){ 0 };
}

static void compact_disk(struct store *s)
{
    struct error ignored; /* the next step will compact what remains */
    if (s->disk && s->oldest >= s->compacted + STORE_COMPACT_STEP &&
        s->disk->compact(s->disk->self, s->oldest, &ignored))
        s->compacted = s->oldest;
}

bool store_flush(struct store *s, struct error *err)
{
    if (!store_is_dirty(s))
        return true;
    if (s->disk && (s->broken.code || !s->disk->commit(s->disk->self, &s->broken))) {
        s->disk->rollback(s->disk->self);
        *err = s->broken;
        undo(s);
        return false;
    }
    uint64_t from = s->flushed;
    s->flushed = s->version;
    store_events_tell(s, from);
    store_events_forget(s);
    compact_disk(s);
    return true;
}

void store_set_undone(
    struct store *s, void (*undone)(void *ctx, const struct store_event *event), void *ctx)
{
    s->undone = undone;
    s->undone_ctx = ctx;
}

bool store_table_is_dirty(const struct store *s, const struct store_table *t)
{
    return t->version > s->flushed;
}

/* ---- init and free ---- */

static void load_row(void *ctx, const struct store_row *row)
{
    struct store *s = ctx;
    change(s, store_table(s, row->table), row, row->version > s->oldest);
}

static bool load(struct store *s, struct error *err)
{
    uint64_t last = 0;
    if (!s->disk->load(s->disk->self, load_row, s, &s->oldest, &last, err))
        return false;
    if (last > s->version)
        s->version = last;
    s->flushed = s->version;
    s->compacted = s->oldest;
    store_events_forget(s);
    return true;
}

struct store *store_new(
    const struct env *env, const struct store_options *options, struct error *err)
{
    struct store *s = mem_new_of(struct store);
    s->env = env;
    s->disk = options->disk;
    s->history_ms = options->history_ms ? options->history_ms : STORE_HISTORY_MS;
    s->history_count = options->history_count ? options->history_count : STORE_HISTORY_COUNT;
    s->history_bytes = options->history_bytes ? options->history_bytes : STORE_HISTORY_BYTES;
    s->version = 1;
    store_events_init(s);
    if (s->disk && !load(s, err)) {
        store_free(s);
        return NULL;
    }
    s->flushed = s->version;
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    store_events_done(s);
    for (size_t i = 0; i < s->table_count; i++) {
        struct store_table *t = s->tables[i];
        assert(!t->watches);
        for (size_t j = 0; j < t->count; j++)
            store_object_release(t->objects[j]);
        free(t->objects);
        free(t->overlay.items);
        free(t->name);
        free(t);
    }
    free(s->tables);
    free(s);
}
