#include "apiserver/store/events.h"

#include <stdlib.h>

static size_t change_bytes(const struct store_change *c)
{
    return sizeof(*c) + sizeof(struct store_object) + c->event.object->text.len;
}

static void change_free(struct store *s, struct store_change *c)
{
    s->change_count--;
    s->change_bytes -= change_bytes(c);
    store_object_release(c->event.object);
    store_object_release(c->event.before);
    free(c);
}

void store_events_add(struct store *s, struct store_table *t, const struct store_object *object,
    const struct store_object *before, bool gone)
{
    struct store_change *c = mem_new_of(struct store_change);
    *c = (struct store_change){
        .event = { object->version, object, before, gone },
        .table = t,
        .older = t->newest,
        .last = s->last_change,
        .newer_than = t->version,
        .at_ms = env_mono_ms(s->env),
    };
    *(t->newest ? &t->newest->newer : &t->oldest) = c;
    *(s->last_change ? &s->last_change->next : &s->first_change) = c;
    t->newest = s->last_change = c;
    s->change_count++;
    s->change_bytes += change_bytes(c);
    if (!timer_is_set(&s->aging))
        timer_set(s->env, &s->aging, (int64_t)s->history_ms);
}

struct store_change *store_events_last(const struct store *s)
{
    return s->last_change;
}

void store_events_drop_last(struct store *s)
{
    struct store_change *c = s->last_change;
    s->last_change = c->last;
    *(c->last ? &c->last->next : &s->first_change) = NULL;
    c->table->newest = c->older;
    *(c->older ? &c->older->newer : &c->table->oldest) = NULL;
    change_free(s, c);
}

static void drop_first(struct store *s)
{
    struct store_change *c = s->first_change;
    s->oldest = c->event.version;
    s->first_change = c->next;
    *(c->next ? &c->next->last : &s->last_change) = NULL;
    c->table->oldest = c->newer;
    *(c->newer ? &c->newer->older : &c->table->newest) = NULL;
    change_free(s, c);
}

void store_events_forget(struct store *s)
{
    int64_t now = env_mono_ms(s->env);
    struct store_change *c;
    while ((c = s->first_change) && c->event.version <= s->flushed &&
           (s->change_count > s->history_count || s->change_bytes > s->history_bytes ||
               now - c->at_ms >= (int64_t)s->history_ms))
        drop_first(s);
}

static void age(void *ctx)
{
    struct store *s = ctx;
    store_events_forget(s);
    if (s->first_change) {
        int64_t passed = env_mono_ms(s->env) - s->first_change->at_ms;
        int64_t rest = (int64_t)s->history_ms - passed;
        timer_set(s->env, &s->aging, rest > 1000 ? rest : 1000);
    }
}

void store_events_init(struct store *s)
{
    timer_init(&s->aging, age, s);
    s->oldest = s->compacted = 1;
}

void store_events_done(struct store *s)
{
    timer_stop(s->env, &s->aging);
    while (s->first_change)
        drop_first(s);
}

uint64_t store_oldest(const struct store *s)
{
    return s->oldest;
}

/* ---- watching ---- */

static void watch_link(struct store_watch **list, struct store_watch *w)
{
    w->next = *list;
    w->link = list;
    if (w->next)
        w->next->link = &w->next;
    *list = w;
}

void store_watch_start(struct store_table *t, struct store_watch *w)
{
    watch_link(&t->watches, w);
}

void store_watch_start_all(struct store *s, struct store_watch *w)
{
    watch_link(&s->watches, w);
}

void store_watch_stop(struct store_watch *w)
{
    if (!w->link)
        return;
    *w->link = w->next;
    if (w->next)
        w->next->link = w->link;
    w->link = NULL;
}

static void tell(struct store_watch *w, const struct store_event *event)
{
    for (struct store_watch *next; w; w = next) {
        next = w->next;
        w->event(w->ctx, event);
    }
}

void store_events_tell(struct store *s, uint64_t after)
{
    struct store_change *c = s->last_change;
    while (c && c->last && c->last->event.version > after)
        c = c->last;
    for (; c; c = c->next) {
        if (c->event.version <= after)
            continue;
        tell(c->table->watches, &c->event);
        tell(s->watches, &c->event);
    }
}

bool store_history(const struct store_table *t, uint64_t after,
    void (*event)(void *ctx, const struct store_event *event), void *ctx, struct error *err)
{
    const struct store *s = t->store;
    if (after < s->oldest)
        return fail(err,
            ERR_GONE,
            "too old resource version: %llu (%llu)",
            (unsigned long long)after,
            (unsigned long long)s->oldest);
    const struct store_change *c = t->newest;
    while (c && c->older && c->older->event.version > after)
        c = c->older;
    for (; c && c->event.version <= s->flushed; c = c->newer)
        if (c->event.version > after)
            event(ctx, &c->event);
    return true;
}

/* ---- old versions ---- */

static int compare_past(const void *a, const void *b)
{
    const struct store_past *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);
    if (!order)
        order = strcmp(x->name, y->name);
    return order ? order : (x->version > y->version) - (x->version < y->version);
}

/* For each object that changed since then: its state before the first of these changes. */
static void make_overlay(struct store_table *t, uint64_t at)
{
    if (t->overlay.items && t->overlay.at == at && t->overlay.of == t->version)
        return;
    size_t count = 0, size = 16;
    struct store_past *items = mem_resize(t->overlay.items, size, sizeof(*items));
    for (struct store_change *c = t->newest; c && c->event.version > at; c = c->older) {
        if (count == size)
            items = mem_resize(items, size *= 2, sizeof(*items));
        const struct store_object *o = c->event.object;
        items[count++] = (struct store_past){ c->event.before, o->ns, o->name, o->version };
    }
    qsort(items, count, sizeof(*items), compare_past);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(items[i].name, items[kept - 1].name) != 0 ||
            strcmp(items[i].ns, items[kept - 1].ns) != 0)
            items[kept++] = items[i];
    t->overlay.items = items;
    t->overlay.count = kept;
    t->overlay.at = at;
    t->overlay.of = t->version;
}

/* The first object of the overlay after the cursor that existed then. */
static const struct store_object *past_next(
    const struct store_table *t, const struct store_cursor *c)
{
    struct store_past place = { .ns = "", .name = "" };
    if (c->after_name) {
        place = (struct store_past){ NULL, c->after_ns, c->after_name, UINT64_MAX };
    } else if (c->ns) {
        place.ns = c->ns;
    }
    size_t low = 0, high = t->overlay.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_past(&t->overlay.items[middle], &place) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->overlay.count; low++) {
        const struct store_past *p = &t->overlay.items[low];
        if (c->ns && strcmp(p->ns, c->ns) != 0)
            return NULL;
        if (p->object)
            return p->object;
    }
    return NULL;
}

bool store_next_at(const struct store_table *t, struct store_cursor *c, uint64_t version,
    const struct store_object **ret, struct error *err)
{
    if (version < t->store->oldest)
        return fail(err, ERR_GONE, "the version %llu is compacted", (unsigned long long)version);
    if (version >= t->version) {
        *ret = store_next(t, c);
        return true;
    }
    make_overlay((struct store_table *)t, version);
    struct store_cursor now = *c;
    const struct store_object *kept, *past = past_next(t, c);
    while ((kept = store_next(t, &now)) && kept->version > version)
        ;
    if (kept && past) {
        int order = strcmp(kept->ns, past->ns);
        order = order ? order : strcmp(kept->name, past->name);
        assert(order != 0);
        *ret = order < 0 ? kept : past;
    } else
        *ret = kept ? kept : past;
    if (*ret == kept)
        *c = now;
    else
        *c = (struct store_cursor){ c->ns, (*ret)->ns, (*ret)->name, 0, 0 };
    return true;
}
