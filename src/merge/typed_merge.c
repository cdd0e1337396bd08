/* Merges one value into another. */

#include "merge/typed.h"

struct merge_walk {
    struct arena *arena;
    const struct schema *schema;
};

static struct json merge(
    const struct merge_walk *w, uint16_t type, struct json under, struct json over);

/* ---- lists ---- */

struct list_merge {
    const struct merge_walk *walk;
    const struct schema_type *type;
    struct typed_items under, over;
    bool *taken; /* items of over that are already in the result */
    struct json_builder out;
    uint32_t next_shared; /* the next item of over that is also in under */
};

/* The item of a stored list that an applied one merges with. If there are duplicates, it merges
 * with none of them, as if the stored item were null: a quirk. */
static struct json stored_item(const struct list_merge *m, const struct path_element *e)
{
    uint32_t first, found = typed_items_find(&m->under, e, &first);
    if (!found)
        return json_none;
    return found == 1 ? m->under.items[first] : json_null();
}

static void take_over(struct list_merge *m, uint32_t at)
{
    const struct path_element *e = &m->over.elements[at];
    m->taken[at] = true;
    json_push(&m->out, merge(m->walk, m->type->item, stored_item(m, e), m->over.items[at]));
}

static void find_shared(struct list_merge *m, uint32_t from)
{
    uint32_t first;
    for (; from < m->over.count; from++)
        if (typed_items_find(&m->under, &m->over.elements[from], &first))
            break;
    m->next_shared = from;
}

static bool is_next_shared(const struct list_merge *m, const struct path_element *e)
{
    return m->next_shared < m->over.count &&
           path_element_compare(&m->over.elements[m->next_shared], e) == 0;
}

/* Shared items are in the applied order, stored ones keep their position between them, and new ones
 * are where the applied list has them. */
static struct json merge_items(struct list_merge *m)
{
    find_shared(m, 0);
    for (uint32_t l = 0, r = 0; l < m->under.count || r < m->over.count;) {
        if (l < m->under.count) {
            const struct path_element *e = &m->under.elements[l];
            uint32_t applied;
            bool shared = typed_items_find(&m->over, e, &applied) > 0;
            if (r < m->over.count && shared && applied == r) {
                take_over(m, r);
                l++;
                r++;
                find_shared(m, r);
                continue;
            }
            if (r < m->over.count && shared && m->next_shared < m->over.count &&
                !is_next_shared(m, e)) {
                l++;
                continue;
            }
            if (!shared) {
                json_push(&m->out, m->under.items[l]);
                l++;
                continue;
            }
            if (m->taken[applied])
                l++;
        }
        if (r < m->over.count) {
            bool was_next = is_next_shared(m, &m->over.elements[r]);
            take_over(m, r);
            r++;
            if (was_next)
                find_shared(m, r);
        }
    }
    return json_or_absent(json_list_end(&m->out));
}

static struct json merge_lists(
    const struct merge_walk *w, const struct schema_type *t, struct json under, struct json over)
{
    struct list_merge m = { .walk = w, .type = t };
    bool ok = typed_items(w->arena, w->schema, t, under, &m.under, NULL) &&
              typed_items(w->arena, w->schema, t, over, &m.over, NULL);
    if (!ok)
        return json_present(over) ? over : under; /* not validated: keep all of the newer one */
    m.taken = arena_array(w->arena, m.over.count, sizeof(*m.taken));
    json_builder_init(&m.out, w->arena);
    return merge_items(&m);
}

/* ---- maps ---- */

static struct json merge_maps(
    const struct merge_walk *w, const struct schema_type *t, struct json under, struct json over)
{
    uint32_t l = 0, r = 0;
    uint32_t l_count = under.type == JSON_MAP ? under.count : 0;
    uint32_t r_count = over.type == JSON_MAP ? over.count : 0;
    struct json_builder out;
    json_builder_init(&out, w->arena);
    while (l < l_count || r < r_count) {
        int order = l == l_count ? 1
                    : r == r_count
                        ? -1
                        : schema_compare_names(under.members[l].key, over.members[r].key);
        const char *key = order <= 0 ? under.members[l].key : over.members[r].key;
        struct json left = json_if(order <= 0, under.members[l++].value);
        struct json right = json_if(order >= 0, over.members[r++].value);
        uint16_t type = schema_member_type(w->schema, t, key);
        if (type == SCHEMA_NO_TYPE)
            json_put(&out, key, json_present(right) ? right : left);
        else
            json_put(&out, key, merge(w, type, left, right));
    }
    return json_or_absent(json_map_end(&out));
}

static bool is_nothing(struct json v, enum json_type container)
{
    return v.type != container || v.count == 0;
}

/* Absent if the result is empty. Two empty values are a leaf, so null and {} stay unchanged. */
static struct json merge(
    const struct merge_walk *w, uint16_t type, struct json under, struct json over)
{
    if (!json_present(over) || !json_present(under))
        return json_present(over) ? over : under;
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, over);
    enum json_type container = shape == SHAPE_LIST ? JSON_LIST : JSON_MAP;
    bool leaf =
        typed_is_atomic(t, shape) || (is_nothing(under, container) && is_nothing(over, container));
    if (leaf)
        return over;
    return shape == SHAPE_LIST ? merge_lists(w, t, under, over) : merge_maps(w, t, under, over);
}

struct json typed_merge(
    struct arena *a, const struct schema *s, struct json under, struct json over)
{
    const struct merge_walk w = { .arena = a, .schema = s };
    return merge(&w, s->root, under, over);
}
