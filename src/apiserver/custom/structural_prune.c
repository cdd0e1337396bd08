/* Removes unknown fields and meaningless nulls, and applies defaults. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/custom/structural_node.h"

struct pruning {
    struct arena *arena;
    struct field_errors *unknown; /* NULL: not needed */
    bool keep_nulls;
};

static bool is_meta(const char *key)
{
    return strcmp(key, "metadata") == 0 || strcmp(key, "kind") == 0 ||
           strcmp(key, "apiVersion") == 0;
}

static bool prune(struct pruning *p, const struct structural *s, bool skip, struct json *v,
    const struct structural_place *at);

static void report(struct pruning *p, const char *key, const struct structural_place *at)
{
    if (!p->unknown)
        return;
    struct structural_place place = { .up = at, .key = key };
    const char *path = structural_path(p->arena, &place, false);
    field_error_add(p->unknown, FIELD_INVALID, path, json_none, path);
}

/* A null that counts as absent; a default may replace it later. */
static bool is_empty_null(const struct structural *s, struct json v)
{
    return json_is(v, JSON_NULL) && s && !s->nullable && !s->fallback;
}

enum fate { KEEP, DROP, CHANGE };

/* skip: keeps all unknown fields, as with x-kubernetes-preserve-unknown-fields. */
static enum fate prune_member(struct pruning *p, const struct structural *s, bool skip,
    const struct json_member *m, struct json *ret, const struct structural_place *at)
{
    const struct structural *child = s ? structural_field(s, m->key) : NULL;
    bool known = child || (s && (s->additional || s->additional_any));
    if (!child && s)
        child = s->additional;
    bool meta = s && (s->embedded || !at) && is_meta(m->key);
    if (!known && !skip && !meta) {
        report(p, m->key, at);
        return DROP;
    }
    if (!p->keep_nulls && is_empty_null(child, m->value))
        return DROP;
    *ret = m->value;
    struct structural_place place = { .up = at, .key = m->key };
    return known && !meta && prune(p, child, false, ret, &place) ? CHANGE : KEEP;
}

static bool prune_map(struct pruning *p, const struct structural *s, bool skip, struct json *v,
    const struct structural_place *at)
{
    struct json_builder b;
    bool changed = false;
    for (uint32_t i = 0; i < v->count; i++) {
        struct json value = { 0 };
        enum fate fate = prune_member(p, s, skip, &v->members[i], &value, at);
        if (fate != KEEP && !changed) {
            changed = true;
            json_builder_init(&b, p->arena);
            for (uint32_t j = 0; j < i; j++)
                json_put(&b, v->members[j].key, v->members[j].value);
        }
        if (changed && fate != DROP)
            json_put(&b, v->members[i].key, value);
    }
    if (changed)
        *v = json_map_end(&b);
    return changed;
}

static bool prune_list(struct pruning *p, const struct structural *s, bool skip, struct json *v,
    const struct structural_place *at)
{
    struct json *items = NULL;
    const struct structural *below = s ? s->items : NULL;
    if (skip && !below)
        return false;
    for (uint32_t i = 0; i < v->count; i++) {
        struct json item = v->items[i];
        struct structural_place place = { .up = at, .index = i };
        if (!prune(p, below, skip, &item, &place))
            continue;
        if (!items) {
            items = arena_array(p->arena, v->count, sizeof(*items));
            memcpy(items, v->items, v->count * sizeof(*items));
        }
        items[i] = item;
    }
    if (items)
        v->items = items;
    return items != NULL;
}

static bool prune(struct pruning *p, const struct structural *s, bool skip, struct json *v,
    const struct structural_place *at)
{
    skip |= s && s->preserve;
    if (json_is(*v, JSON_MAP))
        return prune_map(p, s, skip, v, at);
    if (json_is(*v, JSON_LIST))
        return prune_list(p, s, skip, v, at);
    return false;
}

static int compare_errors(const void *left, const void *right)
{
    return strcmp(
        ((const struct field_error *)left)->path, ((const struct field_error *)right)->path);
}

static void sort_errors(struct field_errors *e, size_t from)
{
    if (e->count > from + 1)
        qsort(e->items + from, e->count - from, sizeof(*e->items), compare_errors);
}

struct json structural_prune(
    const struct structural *s, struct arena *a, struct json object, struct field_errors *unknown)
{
    struct pruning p = { .arena = a, .unknown = unknown };
    size_t before = unknown ? unknown->count : 0;
    prune(&p, s, false, &object, NULL);
    if (unknown)
        sort_errors(unknown, before);
    before = unknown ? unknown->count : 0;
    object = structural_read_embedded(s, a, object, "", unknown);
    if (unknown)
        sort_errors(unknown, before);
    return object;
}

bool structural_prunes(const struct structural *s, struct arena *a, struct json value, bool root)
{
    struct pruning p = { .arena = a, .keep_nulls = true };
    struct structural_place place = { .key = "" };
    return prune(&p, s, false, &value, root ? NULL : &place);
}

/* ---- defaults ---- */

static bool fill(struct arena *a, const struct structural *s, struct json *v);

static bool is_wrong_null(const struct structural *s, struct json v)
{
    return json_is(v, JSON_NULL) && !s->nullable;
}

/* The value of a member after defaulting. */
static bool fill_member(struct arena *a, const struct structural *s, struct json *v)
{
    bool changed = false;
    if (is_wrong_null(s, *v) && s->fallback) {
        *v = *s->fallback;
        changed = true;
    }
    return fill(a, s, v) || changed;
}

static bool fill_map(struct arena *a, const struct structural *s, struct json *v)
{
    struct json_builder b;
    json_builder_init(&b, a);
    bool changed = false;
    /* Fields and members are both sorted. */
    size_t f = 0;
    uint32_t m = 0;
    while (f < s->field_count || m < v->count) {
        int order = f == s->field_count ? 1
                    : m == v->count     ? -1
                                        : strcmp(s->fields[f].name, v->members[m].key);
        if (order < 0) {
            const struct structural_field *field = &s->fields[f++];
            if (!field->node->fallback)
                continue;
            struct json value = *field->node->fallback;
            fill(a, field->node, &value);
            json_put(&b, field->name, value);
            changed = true;
            continue;
        }
        const struct structural *child = order == 0 ? s->fields[f++].node : s->additional;
        struct json value = v->members[m].value;
        if (child && child->defaults)
            changed |= fill_member(a, child, &value);
        json_put(&b, v->members[m++].key, value);
    }
    if (changed)
        *v = json_map_end(&b);
    return changed;
}

static bool fill_list(struct arena *a, const struct structural *s, struct json *v)
{
    if (!s->items || !s->items->defaults)
        return false;
    struct json *items = arena_array(a, v->count, sizeof(*items));
    bool changed = false;
    for (uint32_t i = 0; i < v->count; i++) {
        items[i] = v->items[i];
        changed |= fill_member(a, s->items, &items[i]);
    }
    if (changed)
        v->items = items;
    return changed;
}

static bool fill(struct arena *a, const struct structural *s, struct json *v)
{
    if (!s->defaults)
        return false;
    if (json_is(*v, JSON_MAP))
        return fill_map(a, s, v);
    if (json_is(*v, JSON_LIST))
        return fill_list(a, s, v);
    return false;
}

struct json structural_fill(const struct structural *s, struct arena *a, struct json object)
{
    fill(a, s, &object);
    return object;
}
