#include "apiserver/rules/fill.h"

#include <string.h>

/* A change at the end of a path: of a missing or of an existing member. */
struct change {
    struct arena *arena;
    struct json value;
    bool empty;                                              /* an empty text is a value */
    struct json (*function)(struct arena *a, struct json v); /* NULL: sets value */
};

static struct json walk(const struct change *c, struct json v, struct str rest);

static struct json walk_items(const struct change *c, struct json list, struct str rest)
{
    if (list.type != JSON_LIST)
        return list;
    struct json *items = NULL;
    for (size_t i = 0; i < list.count; i++) {
        struct json item =
            rest.ptr ? walk(c, list.items[i], rest) : c->function(c->arena, list.items[i]);
        if (memcmp(&item, &list.items[i], sizeof(item)) == 0)
            continue;
        if (!items) {
            items = arena_array(c->arena, list.count, sizeof(*items));
            memcpy(items, list.items, list.count * sizeof(*items));
        }
        items[i] = item;
    }
    if (items)
        list.items = items;
    return list;
}

static struct json walk(const struct change *c, struct json v, struct str rest)
{
    struct str step = str_cut(&rest, '.');
    if (str_eq(step, STR("*")))
        return walk_items(c, v, rest);
    if (v.type != JSON_MAP)
        return v;
    struct json old = json_member_n(v, step), fresh = old;
    bool there = old.type != JSON_ABSENT && old.type != JSON_NULL &&
                 (c->empty || old.type != JSON_STR || old.count); /* Go's "not set" */
    if (rest.ptr)
        fresh = walk(c, old, rest);
    else if (c->function)
        fresh = there ? c->function(c->arena, old) : old;
    else if (!there)
        fresh = c->value;
    if (memcmp(&old, &fresh, sizeof(old)) == 0)
        return v;
    return json_with_member(c->arena, v, str_dup(c->arena, step), fresh);
}

struct json fill_path(struct arena *a, struct json v, const char *path, struct json value)
{
    struct change c = { .arena = a, .value = value };
    return walk(&c, v, str_of(path));
}

struct json fill_table(struct arena *a, struct json v, const struct fill *table)
{
    for (; table->path; table++) {
        struct change c = { .arena = a, .value = table->value, .empty = table->empty };
        v = walk(&c, v, str_of(table->path));
    }
    return v;
}

struct json fill_each(struct arena *a, struct json v, const char *path,
    struct json (*change)(struct arena *a, struct json v))
{
    struct change c = { .arena = a, .function = change };
    return walk(&c, v, str_of(path));
}
