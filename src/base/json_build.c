/* Building JSON values: field paths, literal maps, lists, loops, and changed copies. */

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

void json_builder_init(struct json_builder *b, struct arena *a)
{
    *b = (struct json_builder){ .arena = a };
}

void json_builder_init_for(struct json_builder *b, struct arena *a, uint32_t count)
{
    json_builder_init(b, a);
    b->members = arena_array(a, count, sizeof(*b->members));
    b->size = count;
}

static struct json_member *grow(struct json_builder *b)
{
    arena_room(b->arena, b->members, b->count, b->size);
    return &b->members[b->count++];
}

void json_push(struct json_builder *b, struct json value)
{
    if (json_present(value))
        grow(b)->value = value;
}

void json_push_all(struct json_builder *b, struct json list)
{
    json_each (item, list)
        json_push(b, *item);
}

void json_put(struct json_builder *b, const char *key, struct json value)
{
    assert(key);
    if (json_present(value))
        *grow(b) = (struct json_member){ .key = key, .value = value };
}

void json_put_all(struct json_builder *b, struct json map)
{
    json_each_member (m, map)
        json_put(b, m->key, m->value);
}

struct json json_list_end(struct json_builder *b)
{
    struct json *items = arena_array(b->arena, b->count, sizeof(*items));
    for (uint32_t i = 0; i < b->count; i++)
        items[i] = b->members[i].value;
    return (struct json){ .type = JSON_LIST, .count = b->count, .items = items };
}

/* Stable for few members, n log n for many; most maps have fewer than twenty and arrive sorted. */
static void sort_members(struct arena *a, struct json_member *members, uint32_t count)
{
    if (count < 2)
        return;
    uint32_t half = count / 2;
    if (count > 16) {
        sort_members(a, members, half);
        sort_members(a, members + half, count - half);
        if (strcmp(members[half - 1].key, members[half].key) <= 0)
            return;
        struct json_member *left = arena_array(a, half, sizeof(*left));
        memcpy(left, members, half * sizeof(*left));
        for (uint32_t l = 0, r = half, out = 0; l < half;) {
            bool from_left = r == count || strcmp(left[l].key, members[r].key) <= 0;
            members[out++] = from_left ? left[l++] : members[r++];
        }
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct json_member moving = members[i];
        uint32_t to = i;
        for (; to > 0 && strcmp(members[to - 1].key, moving.key) > 0; to--)
            members[to] = members[to - 1];
        members[to] = moving;
    }
}

static bool is_sorted(const struct json_builder *b)
{
    for (uint32_t i = 1; i < b->count; i++)
        if (strcmp(b->members[i - 1].key, b->members[i].key) >= 0)
            return false;
    return true;
}

struct json json_map_end(struct json_builder *b)
{
    if (is_sorted(b))
        return (struct json){ .type = JSON_MAP, .count = b->count, .members = b->members };
    sort_members(b->arena, b->members, b->count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        bool again = i + 1 < b->count && strcmp(b->members[i].key, b->members[i + 1].key) == 0;
        if (!again)
            b->members[kept++] = b->members[i];
    }
    return (struct json){ .type = JSON_MAP, .count = kept, .members = b->members };
}

struct json json_list_from(struct arena *a, const struct json *items)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; items->type != 0xff; items++)
        json_push(&b, *items);
    return json_list_end(&b);
}

struct json json_map_from(struct arena *a, const struct json_field *fields)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; fields->path; fields++)
        json_put(&b, fields->path, fields->value);
    struct json map = json_map_end(&b);
    assert(map.count == b.count); /* no duplicate key */
    return map;
}

/* Builds the map of the fields in [first, last), whose paths agree up to `skip` bytes. */
static struct json build_level(
    struct arena *a, struct json_field *first, struct json_field *last, size_t skip)
{
    struct json_builder b;
    json_builder_init(&b, a);
    while (first < last) {
        const char *step = first->path + skip;
        size_t length = strcspn(step, ".");
        assert(length > 0);
        struct json_field *end = first + 1;
        while (end < last && strncmp(end->path + skip, step, length) == 0 &&
               (end->path[skip + length] == '.' || end->path[skip + length] == '\0'))
            end++;
        const char *key = arena_strndup(a, step, length);
        if (step[length] == '\0') {
            assert(end == first + 1); /* neither a duplicate nor a parent of another path */
            json_put(&b, key, first->value);
        } else {
            json_put(&b, key, build_level(a, first, end, skip + length + 1));
        }
        first = end;
    }
    return json_map_end(&b);
}

/* A dot sorts before all other characters, so that a path is next to the paths below it. */
static int compare_paths(const void *left, const void *right)
{
    const unsigned char *l = (const void *)((const struct json_field *)left)->path;
    const unsigned char *r = (const void *)((const struct json_field *)right)->path;
    while (*l && *l == *r)
        l++, r++;
    int x = *l == '.' ? 1 : *l, y = *r == '.' ? 1 : *r;
    return x - y;
}

struct json json_fields_from(struct arena *a, const struct json_field *fields)
{
    size_t count = 0;
    for (const struct json_field *f = fields; f->path; f++)
        count += json_present(f->value);
    struct json_field *kept = arena_array(a, count, sizeof(*kept));
    size_t at = 0;
    for (const struct json_field *f = fields; f->path; f++)
        if (json_present(f->value))
            kept[at++] = *f;
    qsort(kept, count, sizeof(*kept), compare_paths);
    return build_level(a, kept, kept + count, 0);
}

struct json json_with_member(struct arena *a, struct json map, const char *key, struct json value)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, map)
        if (strcmp(m->key, key) != 0)
            json_put(&b, m->key, m->value);
    json_put(&b, key, value);
    return json_map_end(&b);
}

struct json json_with(struct arena *a, struct json v, const char *path, struct json value)
{
    struct str rest = str_of(path);
    struct str step = str_cut(&rest, '.');
    const char *key = str_dup(a, step);
    if (!rest.ptr)
        return json_with_member(a, v, key, value);
    struct json below = json_member(v, key);
    if (!json_present(value) && !json_is(below, JSON_MAP))
        return v;
    return json_with_member(a, v, key, json_with(a, below, rest.ptr, value));
}

struct json json_overlay(struct arena *a, struct json under, struct json over)
{
    if (!json_is(under, JSON_MAP))
        return over;
    if (!json_is(over, JSON_MAP))
        return under;
    struct json_builder b;
    json_builder_init(&b, a);
    json_put_all(&b, under);
    json_put_all(&b, over);
    return json_map_end(&b);
}

struct json json_copy(struct arena *a, struct json v)
{
    if (v.type == JSON_STR)
        return json_strn(a, v.string, v.count);
    if (v.type == JSON_LIST) {
        struct json *items = arena_array(a, v.count, sizeof(*items));
        for (uint32_t i = 0; i < v.count; i++)
            items[i] = json_copy(a, v.items[i]);
        v.items = items;
    } else if (v.type == JSON_MAP) {
        struct json_member *members = arena_array(a, v.count, sizeof(*members));
        for (uint32_t i = 0; i < v.count; i++) {
            members[i].key = arena_strdup(a, v.members[i].key);
            members[i].value = json_copy(a, v.members[i].value);
        }
        v.members = members;
    }
    return v;
}
