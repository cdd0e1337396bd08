/* Computes which fields differ between two values. */

#include "merge/typed.h"

enum { REMOVED, MODIFIED, ADDED, CHANGES };

/* The result for one pair of values: whether its own path changed, and what changed below it. */
struct change {
    bool self[CHANGES];
    const struct fieldset *below[CHANGES]; /* NULL: nothing */
};

struct compare_walk {
    struct arena *arena;
    const struct schema *schema;
};

struct change_builders {
    struct fieldset_builder of[CHANGES];
};

static void builders_init(struct change_builders *b, struct arena *a)
{
    for (int i = 0; i < CHANGES; i++)
        fieldset_builder_init(&b->of[i], a);
}

static void builders_add(
    struct change_builders *b, const struct path_element *e, const struct change *c)
{
    for (int i = 0; i < CHANGES; i++)
        fieldset_add(&b->of[i], *e, c->self[i], c->below[i]);
}

static void builders_end(struct change_builders *b, struct change *ret)
{
    for (int i = 0; i < CHANGES; i++)
        ret->below[i] = b->of[i].count ? fieldset_end(&b->of[i]) : NULL;
}

static struct change compare(
    const struct compare_walk *w, uint16_t type, struct json before, struct json after);

/* ---- lists ---- */

static bool same_items(const struct typed_items *x, const struct typed_items *y, uint32_t i,
    uint32_t j, uint32_t i_count, uint32_t j_count)
{
    if (i_count != j_count)
        return false;
    for (uint32_t n = 0; n < i_count; n++)
        if (!json_equal(x->items[x->sorted[i + n]], y->items[y->sorted[j + n]]))
            return false;
    return true;
}

/* The changes of all items with the same element, x_count before and y_count after. Duplicates
 * count as one: they were changed, added or removed. */
static struct change compare_run(const struct compare_walk *w, const struct schema_type *t,
    const struct typed_items *x, const struct typed_items *y, uint32_t i, uint32_t j,
    uint32_t x_count, uint32_t y_count)
{
    struct change c = { 0 };
    struct json before = json_if(x_count, x->items[x->sorted[i]]);
    struct json after = json_if(y_count, y->items[y->sorted[j]]);
    if (x_count <= 1 && y_count <= 1)
        return compare(w, t->item, before, after);
    if (x_count > 1 && y_count > 1) {
        c.self[MODIFIED] = !same_items(x, y, i, j, x_count, y_count);
        return c;
    }
    if (x_count > 1) {
        if (y_count)
            c = compare(w, t->item, json_none, after);
        c.self[REMOVED] = true;
    } else {
        if (x_count)
            c = compare(w, t->item, before, json_none);
        c.self[ADDED] = true;
    }
    return c;
}

static uint32_t run_length(const struct typed_items *items, uint32_t from)
{
    uint32_t end = from;
    while (end < items->count && path_element_compare(&items->elements[items->sorted[from]],
                                     &items->elements[items->sorted[end]]) == 0)
        end++;
    return end - from;
}

static void compare_lists(const struct compare_walk *w, const struct schema_type *t,
    struct json before, struct json after, struct change *ret)
{
    struct typed_items x, y;
    struct change_builders b;
    builders_init(&b, w->arena);
    if (!typed_items(w->arena, w->schema, t, before, &x, NULL) ||
        !typed_items(w->arena, w->schema, t, after, &y, NULL)) {
        ret->self[MODIFIED] = true; /* not validated: all of it */
        return;
    }
    for (uint32_t i = 0, j = 0; i < x.count || j < y.count;) {
        const struct path_element *e = i < x.count ? &x.elements[x.sorted[i]] : NULL;
        const struct path_element *f = j < y.count ? &y.elements[y.sorted[j]] : NULL;
        int order = !e ? 1 : !f ? -1 : path_element_compare(e, f);
        uint32_t x_count = order <= 0 ? run_length(&x, i) : 0;
        uint32_t y_count = order >= 0 ? run_length(&y, j) : 0;
        struct change c = compare_run(w, t, &x, &y, i, j, x_count, y_count);
        builders_add(&b, order <= 0 ? e : f, &c);
        i += x_count;
        j += y_count;
    }
    builders_end(&b, ret);
}

/* ---- maps ---- */

static void compare_maps(const struct compare_walk *w, const struct schema_type *t,
    struct json before, struct json after, struct change *ret)
{
    struct change_builders b;
    builders_init(&b, w->arena);
    uint32_t i = 0, j = 0;
    uint32_t i_count = before.type == JSON_MAP ? before.count : 0;
    uint32_t j_count = after.type == JSON_MAP ? after.count : 0;
    while (i < i_count || j < j_count) {
        int order = i == i_count ? 1
                    : j == j_count
                        ? -1
                        : schema_compare_names(before.members[i].key, after.members[j].key);
        const char *key = order <= 0 ? before.members[i].key : after.members[j].key;
        struct json left = json_if(order <= 0, before.members[i++].value);
        struct json right = json_if(order >= 0, after.members[j++].value);
        uint16_t type = schema_member_type(w->schema, t, key);
        if (type == SCHEMA_NO_TYPE)
            continue;
        struct change c = compare(w, type, left, right);
        builders_add(&b, &(struct path_element){ .kind = PATH_FIELD, .value = json_str(key) }, &c);
    }
    builders_end(&b, ret);
}

/* ---- both ---- */

static bool is_nothing(struct json v, enum json_type container)
{
    return v.type != container || v.count == 0;
}

static void compare_as(const struct compare_walk *w, const struct schema_type *t,
    enum typed_shape shape, struct json before, struct json after, struct change *ret)
{
    enum json_type container = shape == SHAPE_LIST ? JSON_LIST : JSON_MAP;
    bool leaf = typed_is_atomic(t, shape) ||
                (is_nothing(before, container) && is_nothing(after, container));
    if (leaf && json_present(before) && json_present(after)) {
        ret->self[MODIFIED] |= !json_equal(before, after);
        return;
    }
    ret->self[ADDED] |= !json_present(before);
    ret->self[REMOVED] |= !json_present(after);
    if (leaf)
        return;
    if (shape == SHAPE_LIST)
        compare_lists(w, t, before, after, ret);
    else
        compare_maps(w, t, before, after, ret);
}

static void change_union(struct arena *a, struct change *into, const struct change *other)
{
    for (int i = 0; i < CHANGES; i++) {
        into->self[i] |= other->self[i];
        if (into->below[i] && other->below[i])
            into->below[i] = fieldset_union(a, into->below[i], other->below[i]);
        else if (other->below[i])
            into->below[i] = other->below[i];
    }
}

static struct change compare(
    const struct compare_walk *w, uint16_t type, struct json before, struct json after)
{
    struct change c = { 0 };
    const struct schema_type *t = schema_type(w->schema, type);
    if (before.type == after.type && before.count == after.count && before.type >= JSON_LIST &&
        before.items == after.items)
        return c;
    enum typed_shape shape = typed_shape(t, json_present(after) ? after : before);
    compare_as(w, t, shape, before, after, &c);
    /* A value whose shape has changed is also compared as the old shape. */
    if (json_present(before) && json_present(after) && typed_shape(t, before) != shape) {
        struct change old = { 0 };
        compare_as(w, t, typed_shape(t, before), before, after, &old);
        change_union(w->arena, &c, &old);
    }
    return c;
}

struct typed_comparison typed_compare(
    struct arena *a, const struct schema *s, struct json before, struct json after)
{
    const struct compare_walk w = { .arena = a, .schema = s };
    assert(json_present(before) || json_present(after));
    struct change c = compare(&w, s->root, before, after);
    for (int i = 0; i < CHANGES; i++)
        if (!c.below[i])
            c.below[i] = fieldset_empty();
    return (struct typed_comparison){
        .removed = c.below[REMOVED],
        .modified = c.below[MODIFIED],
        .added = c.below[ADDED],
    };
}
