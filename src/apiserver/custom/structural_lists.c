/* Lists of type set and map have no duplicates. */

#include <stdlib.h>
#include <string.h>

#include "apiserver/custom/structural_node.h"

struct lists {
    struct arena *arena;
    const char *prefix;
    struct field_errors *errors;
};

static void check(
    struct lists *l, const struct structural *s, struct json v, const struct structural_place *at);

static const char *path_of(struct lists *l, const struct structural_place *at)
{
    const char *path = structural_path(l->arena, at, true);
    const char *dot = *l->prefix && *path && *path != '[' ? "." : "";
    return arena_printf(l->arena, "%s%s%s", l->prefix, dot, path);
}

/* A duplicate is reported only at its second position. */
struct seen {
    struct json value;
    uint32_t index;
};

static int compare_seen(const void *left, const void *right)
{
    const struct seen *l = left, *r = right;
    int order = json_compare(l->value, r->value);
    return order ? order : (l->index > r->index) - (l->index < r->index);
}

static int compare_index(const void *left, const void *right)
{
    const struct seen *l = left, *r = right;
    return (l->index > r->index) - (l->index < r->index);
}

static void check_unique(
    struct lists *l, const struct json *values, uint32_t count, const struct structural_place *at)
{
    struct seen *seen = arena_array(l->arena, count, sizeof(*seen));
    struct seen *twice = arena_array(l->arena, count, sizeof(*twice));
    uint32_t twice_count = 0;
    for (uint32_t i = 0; i < count; i++)
        seen[i] = (struct seen){ values[i], i };
    qsort(seen, count, sizeof(*seen), compare_seen);
    for (uint32_t i = 1; i < count; i++)
        if (json_equal(seen[i].value, seen[i - 1].value) &&
            (i < 2 || !json_equal(seen[i].value, seen[i - 2].value)))
            twice[twice_count++] = seen[i];
    qsort(twice, twice_count, sizeof(*twice), compare_index);
    for (uint32_t i = 0; i < twice_count; i++) {
        struct structural_place place = { .up = at, .index = twice[i].index };
        field_duplicate(l->errors, path_of(l, &place), twice[i].value);
    }
}

/* The identity of a list-map item: the keys that it has. */
static struct json keys_of(struct arena *a, const struct structural *s, struct json item)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (uint8_t i = 0; i < s->key_count; i++)
        json_put(&b, s->keys[i], json_member(item, s->keys[i]));
    return json_map_end(&b);
}

static void check_list_map(
    struct lists *l, const struct structural *s, struct json v, const struct structural_place *at)
{
    for (uint32_t i = 0; i < v.count; i++) {
        if (json_is(v.items[i], JSON_MAP) || json_is(v.items[i], JSON_NULL))
            continue;
        struct structural_place place = { .up = at, .index = i };
        field_invalid(l->errors,
            path_of(l, &place),
            v.items[i],
            "must be an object for an array of list-type map");
        return;
    }
    struct json *keys = arena_array(l->arena, v.count, sizeof(*keys));
    for (uint32_t i = 0; i < v.count; i++)
        keys[i] = keys_of(l->arena, s, v.items[i]);
    check_unique(l, keys, v.count, at);
}

static void check(
    struct lists *l, const struct structural *s, struct json v, const struct structural_place *at)
{
    if (!s->special)
        return;
    if (json_is(v, JSON_LIST)) {
        if (s->list == STRUCTURAL_LIST_SET && v.count > 1)
            check_unique(l, v.items, v.count, at);
        if (s->list == STRUCTURAL_LIST_MAP)
            check_list_map(l, s, v, at);
        for (uint32_t i = 0; s->items && i < v.count; i++) {
            struct structural_place place = { .up = at, .index = i };
            check(l, s->items, v.items[i], &place);
        }
    }
    json_each_member (m, v) {
        const struct structural *field = structural_field(s, m->key);
        struct structural_place place = { .up = at, .key = m->key, .quoted = !field };
        if (field || s->additional)
            check(l, field ? field : s->additional, m->value, &place);
    }
}

void structural_check_lists(const struct structural *s, struct arena *a, struct json value,
    const char *path, struct field_errors *errors)
{
    struct lists l = { .arena = a, .prefix = path, .errors = errors };
    check(&l, s, value, NULL);
}
