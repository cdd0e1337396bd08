/* Lists and maps: literals that can grow at their end, and views of JSON under a schema. */

#include "cel/decl.h"
#include "cel/eval.h"
#include "cel/value.h"

static struct cel_value list_value(struct arena *a, struct cel_list list)
{
    struct cel_list *l = arena_new(a, struct cel_list);
    *l = list;
    return (struct cel_value){ .kind = CEL_LIST, .list = l };
}

static struct cel_items *items_new(struct arena *a, uint32_t size)
{
    struct cel_items *items = arena_new(a, struct cel_items);
    items->size = size < 4 ? 4 : size;
    items->at = arena_array(a, items->size, sizeof(*items->at));
    return items;
}

struct cel_value cel_list_new(struct arena *a, const struct cel_value *items, size_t count)
{
    struct cel_items *copy = items_new(a, (uint32_t)count);
    if (count)
        memcpy(copy->at, items, count * sizeof(*items));
    copy->used = (uint32_t)count;
    return list_value(a, (struct cel_list){ .count = (uint32_t)count, .items = copy });
}

struct cel_value cel_list_get(struct cel_eval *e, struct cel_value v, size_t index)
{
    const struct cel_list *l = v.list;
    assert(index < l->count);
    if (l->items)
        return l->items->at[index];
    return cel_value_of_json(e->arena, l->json.items[index], l->decl->items);
}

struct cel_value cel_list_append(struct arena *a, struct cel_value v, struct cel_value item)
{
    const struct cel_list *l = v.list;
    struct cel_items *items = l->items;
    assert(items);
    if (items->used != l->count || items->used == items->size) {
        items = items_new(a, l->count * 2 + 4);
        if (l->count)
            memcpy(items->at, l->items->at, l->count * sizeof(item));
        items->used = l->count;
    }
    items->at[items->used++] = item;
    return list_value(
        a, (struct cel_list){ .count = items->used, .items = items, .decl = l->decl });
}

/* The same list as a literal, with its items in memory. */
static struct cel_value list_literal(struct cel_eval *e, struct cel_value v)
{
    if (v.list->items)
        return v;
    struct cel_items *items = items_new(e->arena, v.list->count);
    for (; items->used < v.list->count; items->used++)
        items->at[items->used] = cel_list_get(e, v, items->used);
    return list_value(
        e->arena, (struct cel_list){ .count = items->used, .items = items, .decl = v.list->decl });
}

/* Whether two items of a list of type map have the same keys. */
static bool same_keys(
    struct cel_eval *e, const struct cel_decl *d, struct cel_value a, struct cel_value b)
{
    struct json keys = json_member(d->schema, "x-kubernetes-list-map-keys");
    if (a.kind != CEL_MAP || b.kind != CEL_MAP)
        return false;
    json_each (key, keys) {
        const char *name = cel_name_escape(e->arena, json_text(*key));
        struct cel_value here, there, text = cel_text(name ? name : json_text(*key));
        bool in_a = cel_map_find(e, a, text, &here), in_b = cel_map_find(e, b, text, &there);
        if (in_a != in_b || (in_a && !cel_is_true(cel_equal(e, here, there))))
            return false;
    }
    return true;
}

/* Equal numbers have the same hash, whatever their types. */
static uint32_t hash_value(struct cel_value v)
{
    uint64_t h = 0xcbf29ce484222325u;
    double number = v.kind == CEL_INT      ? (double)v.integer
                    : v.kind == CEL_UINT   ? (double)v.natural
                    : v.kind == CEL_DOUBLE ? v.real
                                           : 0;
    struct str bytes = { (const char *)&number, sizeof(number) };
    if (v.kind == CEL_STRING || v.kind == CEL_BYTES)
        bytes = v.text;
    else if (v.kind == CEL_BOOL)
        bytes = (struct str){ v.boolean ? "t" : "f", 1 };
    for (size_t i = 0; i < bytes.len; i++)
        h = (h ^ (unsigned char)bytes.ptr[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The hash of an item, by the parts that identify it in a list of this type. */
static uint32_t hash_item(struct cel_eval *e, const struct cel_decl *d, struct cel_value item)
{
    uint32_t h = 0;
    if (d->list_type == CEL_LIST_SET)
        return hash_value(item);
    json_each (key, json_member(d->schema, "x-kubernetes-list-map-keys")) {
        const char *name = cel_name_escape(e->arena, json_text(*key));
        struct cel_value v;
        if (item.kind == CEL_MAP &&
            cel_map_find(e, item, cel_text(name ? name : json_text(*key)), &v))
            h = h * 31 + hash_value(v);
    }
    return h;
}

/* Index of the items in a list of type set or map: number + 1, by hash. */
struct places {
    const struct cel_decl *decl;
    uint32_t *at;
    size_t size;
};

/* The slot of an equal item, or the free slot for it. */
static uint32_t *find_place(
    struct cel_eval *e, const struct places *p, struct cel_value list, struct cel_value item)
{
    size_t at = hash_item(e, p->decl, item) % p->size;
    for (; p->at[at]; at = (at + 1) % p->size) {
        struct cel_value have = cel_list_get(e, list, p->at[at] - 1);
        if (p->decl->list_type == CEL_LIST_MAP ? same_keys(e, p->decl, have, item)
                                               : cel_is_true(cel_equal(e, have, item)))
            break;
    }
    return &p->at[at];
}

/* For a list that may grow by `more`. */
static struct places places_of(struct cel_eval *e, struct cel_value list, size_t more)
{
    struct places p = { .decl = list.list->decl, .size = (list.list->count + more) * 2 + 1 };
    p.at = arena_array(e->arena, p.size, sizeof(*p.at));
    for (uint32_t i = 0; i < list.list->count; i++)
        *find_place(e, &p, list, cel_list_get(e, list, i)) = i + 1;
    return p;
}

struct cel_value cel_list_equal_unordered(
    struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    struct places places = places_of(e, a, 0);
    for (size_t i = 0; i < b.list->count; i++) {
        struct cel_value item = cel_list_get(e, b, i);
        uint32_t place = *find_place(e, &places, a, item);
        if (!place)
            return cel_bool(false);
        struct cel_value same = cel_equal(e, cel_list_get(e, a, place - 1), item);
        if (!cel_is_true(same))
            return same;
    }
    return cel_bool(true);
}

/* Sets are united; in lists of type map, items of b replace those with the same key. */
static struct cel_value unite(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    struct cel_value copy = cel_list_new(e->arena, a.list->items->at, a.list->count);
    struct cel_value sum = list_value(e->arena,
        (struct cel_list){
            .count = copy.list->count, .items = copy.list->items, .decl = a.list->decl });
    struct places places = places_of(e, sum, b.list->count);
    for (size_t i = 0; i < b.list->count; i++) {
        struct cel_value item = cel_list_get(e, b, i);
        uint32_t *place = find_place(e, &places, sum, item);
        if (!*place) {
            sum = cel_list_append(e->arena, sum, item);
            *place = sum.list->count;
        } else if (places.decl->list_type == CEL_LIST_MAP) {
            sum.list->items->at[*place - 1] = item;
        }
    }
    return sum;
}

struct cel_value cel_list_add(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    struct cel_value sum = list_literal(e, a);
    if (a.list->decl && a.list->decl->list_type != CEL_LIST_ATOMIC)
        return unite(e, sum, b);
    for (size_t i = 0; i < b.list->count; i++)
        sum = cel_list_append(e->arena, sum, cel_list_get(e, b, i));
    return sum;
}

/* ---- maps ---- */

/* The index slot of a key: that of its entry if it is one of the first `count`, otherwise the free
 * slot for it. */
static uint32_t *index_place(
    struct cel_eval *e, const struct cel_entries *es, uint32_t count, struct cel_value key)
{
    uint32_t places = es->size * 2, at = hash_value(key) % places;
    for (; es->index[at]; at = (at + 1) % places) {
        uint32_t n = es->index[at] - 1;
        if (n < count && cel_is_true(cel_equal(e, es->at[n].key, key)))
            break;
    }
    return &es->index[at];
}

static struct cel_entries *entries_new(
    struct arena *a, const struct cel_entries *old, uint32_t count, uint32_t size)
{
    struct cel_eval e = { .arena = a };
    struct cel_entries *es = arena_new(a, struct cel_entries);
    es->size = size;
    es->at = arena_array(a, size, sizeof(*es->at));
    es->index = arena_array(a, (size_t)size * 2, sizeof(*es->index));
    for (; es->used < count; es->used++) {
        es->at[es->used] = old->at[es->used];
        *index_place(&e, es, 0, es->at[es->used].key) = es->used + 1;
    }
    return es;
}

struct cel_value cel_map_new(struct arena *a)
{
    struct cel_map *m = arena_new(a, struct cel_map);
    m->entries = entries_new(a, NULL, 0, 4);
    return (struct cel_value){ .kind = CEL_MAP, .map = m };
}

struct cel_value cel_map_insert(
    struct arena *a, struct cel_value v, struct cel_value key, struct cel_value value)
{
    struct cel_eval e = { .arena = a };
    struct cel_entries *es = v.map->entries;
    uint32_t count = v.map->count;
    assert(es);
    if (es->used != count || es->used == es->size)
        es = entries_new(a, es, count, count * 2 + 4);
    *index_place(&e, es, 0, key) = es->used + 1;
    es->at[es->used++] = (struct cel_entry){ key, value };
    struct cel_map *m = arena_new(a, struct cel_map);
    *m = (struct cel_map){ .count = es->used, .entries = es };
    return (struct cel_value){ .kind = CEL_MAP, .map = m };
}

struct cel_value *cel_map_slot(struct cel_eval *e, struct cel_value map, struct cel_value key)
{
    const struct cel_map *m = map.map;
    uint32_t place = *index_place(e, m->entries, m->count, key);
    return place ? &m->entries->at[place - 1].value : NULL;
}

static bool find_in_json(
    struct cel_eval *e, const struct cel_map *m, struct cel_value key, struct cel_value *ret)
{
    if (key.kind != CEL_STRING) {
        *ret = cel_error(e, "no such overload");
        return true;
    }
    const struct cel_decl *d = m->decl;
    const char *name = str_dup(e->arena, key.text);
    if (strlen(name) != key.text.len)
        return false; /* a NUL: no JSON key contains one */
    if (d->is_object)
        name = cel_name_unescape(e->arena, key.text);
    struct json v = json_if(name, json_member(m->json, name));
    const struct cel_field *f = name ? cel_decl_field(d, name) : NULL;
    const struct cel_decl *below = f ? f->decl : d->is_object ? NULL : d->items;
    if (!json_present(v) || !below || (d->is_object && json_is(v, JSON_NULL)))
        return false;
    *ret = cel_value_of_json(e->arena, v, below);
    return true;
}

bool cel_map_find(
    struct cel_eval *e, struct cel_value map, struct cel_value key, struct cel_value *ret)
{
    const struct cel_map *m = map.map;
    if (!m->entries)
        return find_in_json(e, m, key, ret);
    const struct cel_value *there = cel_map_slot(e, map, key);
    if (there)
        *ret = *there;
    return there != NULL;
}

bool cel_map_next(struct cel_eval *e, struct cel_value map, size_t *position,
    struct cel_value *ret_key, struct cel_value *ret_value)
{
    const struct cel_map *m = map.map;
    for (; *position < (m->entries ? m->count : m->json.count); (*position)++) {
        if (m->entries) {
            *ret_key = m->entries->at[*position].key;
            *ret_value = m->entries->at[*position].value;
            (*position)++;
            return true;
        }
        const struct json_member *member = &m->json.members[*position];
        const char *key = member->key;
        if (m->decl->is_object) {
            const struct cel_field *f = cel_decl_field(m->decl, key);
            if (!f || json_is(member->value, JSON_NULL))
                continue;
            key = f->name ? f->name : key;
            *ret_value = cel_value_of_json(e->arena, member->value, f->decl);
        } else if (m->decl->items) {
            *ret_value = cel_value_of_json(e->arena, member->value, m->decl->items);
        } else {
            continue;
        }
        *ret_key = cel_text(key);
        (*position)++;
        return true;
    }
    return false;
}
