#include "engine/order.h"

#include <stdlib.h>

#include "base/time.h"
#include "engine/cache.h"

struct place {
    int64_t created_ms;
    const struct cache_entry *entry;
};

struct order {
    struct order *next; /* of the resource */
    const char *path;
    const char *value;
    struct place *places;
    size_t count, size;
};

static int compare(const struct place *x, const struct place *y)
{
    if (x->created_ms != y->created_ms)
        return x->created_ms < y->created_ms ? -1 : 1;
    int by = strcmp(x->entry->ns, y->entry->ns);
    return by ? by : strcmp(x->entry->name, y->entry->name);
}

/* The index of the place, or the index at which it would be inserted. */
static size_t find(const struct order *o, const struct place *wanted)
{
    size_t low = 0, high = o->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&o->places[middle], wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* True if the object belongs in this order; false for entry NULL. */
static bool place_of(const struct order *o, const struct cache_entry *entry, struct place *ret)
{
    *ret = (struct place){ .entry = entry };
    if (!entry)
        return false;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object = cache_read(&a, entry);
    if (!time_parse(json_get_text(object, "metadata.creationTimestamp"), &ret->created_ms))
        ret->created_ms = 0;
    return text_eq(json_get_text(object, o->path), o->value);
}

static void tell_from(const struct order *o, const struct cache_resource *r, size_t at)
{
    for (; r->cache->moved && at < o->count; at++)
        r->cache->moved(r->cache->moved_ctx, o->places[at].entry);
}

static void insert(struct order *o, size_t at, struct place p)
{
    mem_room(o->places, o->count, o->size);
    memmove(o->places + at + 1, o->places + at, (o->count - at) * sizeof(p));
    o->places[at] = p;
    o->count++;
}

static void take_out(struct order *o, size_t at)
{
    o->count--;
    memmove(o->places + at, o->places + at + 1, (o->count - at) * sizeof(*o->places));
}

static void change(struct order *o, const struct cache_resource *r,
    const struct cache_entry *before, const struct cache_entry *after)
{
    struct place old, fresh;
    bool was = place_of(o, before, &old), is = place_of(o, after, &fresh);
    if (was) {
        size_t at = find(o, &old);
        assert(at < o->count && o->places[at].entry == before);
        if (is && compare(&old, &fresh) == 0) {
            o->places[at] = fresh;
            return;
        }
        take_out(o, at);
        tell_from(o, r, at);
    }
    if (is) {
        size_t at = find(o, &fresh);
        insert(o, at, fresh);
        tell_from(o, r, at + 1);
    }
}

void orders_change(
    struct cache_resource *r, const struct cache_entry *before, const struct cache_entry *after)
{
    for (struct order *o = r->orders; o; o = o->next)
        change(o, r, before, after);
}

static int compare_places(const void *x, const void *y)
{
    return compare(x, y);
}

struct order *order_get(struct cache_resource *r, const char *path, const char *value)
{
    for (struct order *o = r->orders; o; o = o->next)
        if (text_eq(o->path, path) && text_eq(o->value, value))
            return o;
    struct order *o = mem_new_of(struct order);
    *o = (struct order){ .next = r->orders, .path = path, .value = value };
    r->orders = o;
    for (struct table_cursor at = table_first(&r->table); at.node; table_next(&at)) {
        struct place p;
        if (place_of(o, container_of(at.node, struct cache_entry, node), &p))
            insert(o, o->count, p);
    }
    if (o->count)
        qsort(o->places, o->count, sizeof(*o->places), compare_places);
    return o;
}

int64_t order_position(const struct order *o, const struct cache_entry *entry)
{
    struct place mine;
    place_of(o, entry, &mine);
    return (int64_t)find(o, &mine) + 1;
}

void orders_free(struct cache_resource *r)
{
    while (r->orders) {
        struct order *next = r->orders->next;
        free(r->orders->places);
        free(r->orders);
        r->orders = next;
    }
}
