/* Removes the members of a set from a value (remove), or everything else (extract). */

#include "merge/typed.h"

struct items_walk {
    struct arena *arena;
    const struct schema *schema;
    unsigned flags; /* enum typed_extract */
};

static const struct fieldset_entry *entry_of_field(const struct fieldset *s, const char *name)
{
    const struct path_element e = path_field(name);
    return fieldset_entry(s, &e);
}

/* ---- remove ---- */

static struct json remove_from(
    const struct items_walk *w, uint16_t type, struct json v, const struct fieldset *set);

static struct json remove_from_list(const struct items_walk *w, const struct schema_type *t,
    struct json v, const struct fieldset *set)
{
    struct json_builder out;
    json_builder_init(&out, w->arena);
    json_each (item, v) {
        struct path_element e;
        const struct fieldset_entry *found = NULL;
        if (typed_item_element(w->arena, w->schema, t, *item, &e, NULL))
            found = fieldset_entry(set, &e);
        if (found && found->member)
            continue;
        bool inside = found && found->below;
        json_push(&out, inside ? remove_from(w, t->item, *item, found->below) : *item);
    }
    return json_list_end(&out);
}

static struct json remove_from_map(const struct items_walk *w, const struct schema_type *t,
    struct json v, const struct fieldset *set)
{
    struct json_builder out;
    json_builder_init(&out, w->arena);
    json_each_member (m, v) {
        const struct fieldset_entry *found = entry_of_field(set, m->key);
        if (found && found->member)
            continue;
        struct json rest = m->value;
        uint16_t type = schema_member_type(w->schema, t, m->key);
        if (found && type != SCHEMA_NO_TYPE)
            rest = remove_from(w, type, rest, found->below);
        json_put(&out, m->key, rest);
    }
    return json_map_end(&out);
}

/* A container that loses everything, or is atomic and loses a part, becomes null: a quirk. */
static struct json remove_from(
    const struct items_walk *w, uint16_t type, struct json v, const struct fieldset *set)
{
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, v);
    if (shape == SHAPE_SCALAR)
        return v;
    if (typed_is_atomic(t, shape) || v.type != (shape == SHAPE_LIST ? JSON_LIST : JSON_MAP))
        return json_null();
    struct json rest =
        shape == SHAPE_LIST ? remove_from_list(w, t, v, set) : remove_from_map(w, t, v, set);
    return rest.count ? rest : json_null();
}

struct json typed_remove(
    struct arena *a, const struct schema *s, struct json v, const struct fieldset *set)
{
    const struct items_walk w = { .arena = a, .schema = s };
    return remove_from(&w, s->root, v, set);
}

/* ---- extract ---- */

static struct json extract_from(
    const struct items_walk *w, uint16_t type, struct json v, const struct fieldset *set);

static struct json extract_entry(
    const struct items_walk *w, uint16_t type, struct json v, const struct fieldset_entry *e)
{
    return extract_from(w, type, v, e->below ? e->below : fieldset_empty());
}

static struct json extract_keys(const struct items_walk *w, const struct schema_type *t,
    struct json item, struct json extracted)
{
    for (uint32_t i = 0; t->list == LIST_MAP && i < t->key_count; i++) {
        const struct schema_key *key = &w->schema->table.keys[t->keys + i];
        const char *name = schema_name(w->schema, key->name);
        struct json there = json_member(item, name);
        bool implied = json_equal(typed_key_default(w->schema, key), there);
        if (json_present(there) && !implied && !json_present(json_member(extracted, name)))
            extracted = json_with_member(w->arena, extracted, name, there);
    }
    return extracted;
}

static struct json extract_from_list(const struct items_walk *w, const struct schema_type *t,
    struct json v, const struct fieldset *set)
{
    struct json_builder out;
    json_builder_init(&out, w->arena);
    json_each (item, v) {
        struct path_element e;
        const struct fieldset_entry *found = NULL;
        if (typed_item_element(w->arena, w->schema, t, *item, &e, NULL))
            found = fieldset_entry(set, &e);
        if (!found)
            continue;
        struct json extracted = extract_entry(w, t->item, *item, found);
        if (w->flags & EXTRACT_KEYS)
            extracted = extract_keys(w, t, *item, extracted);
        json_push(&out, extracted);
    }
    return json_list_end(&out);
}

static struct json extract_from_map(const struct items_walk *w, const struct schema_type *t,
    struct json v, const struct fieldset *set)
{
    struct json_builder out;
    json_builder_init(&out, w->arena);
    /* Fields come first in a set, and are sorted like the members of a map. */
    const struct json_member *m = v.type == JSON_MAP ? v.members : NULL;
    const struct json_member *end = m ? m + v.count : NULL;
    for (uint32_t i = 0; i < set->count && set->entries[i].element.kind == PATH_FIELD; i++) {
        const struct fieldset_entry *e = &set->entries[i];
        const char *name = e->element.value.string;
        int order = 1;
        while (m != end && (order = schema_compare_names(m->key, name)) < 0)
            m++;
        if (m == end || order != 0) {
            if ((w->flags & EXTRACT_GONE) && e->member)
                json_put(&out, name, json_null());
            continue;
        }
        uint16_t type = schema_member_type(w->schema, t, name);
        json_put(
            &out, name, type == SCHEMA_NO_TYPE ? m->value : extract_entry(w, type, m->value, e));
    }
    return json_map_end(&out);
}

static struct json extract_from(
    const struct items_walk *w, uint16_t type, struct json v, const struct fieldset *set)
{
    const struct schema_type *t = schema_type(w->schema, type);
    enum typed_shape shape = typed_shape(t, v);
    if (typed_is_atomic(t, shape) || v.type == JSON_NULL)
        return v;
    return shape == SHAPE_LIST ? extract_from_list(w, t, v, set) : extract_from_map(w, t, v, set);
}

struct json typed_extract(struct arena *a, const struct schema *s, struct json v,
    const struct fieldset *set, unsigned flags)
{
    const struct items_walk w = { .arena = a, .schema = s, .flags = flags };
    return extract_from(&w, s->root, v, set);
}
