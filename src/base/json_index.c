#include "base/json_index.h"

#include <string.h>

static int compare(const struct json_index *x, uint32_t left, uint32_t right)
{
    int order = json_compare(x->keys[left], x->keys[right]);
    return order ? order : left < right ? -1 : 1;
}

/* Merges two sorted halves; `spare` has room for count / 2 positions. */
static void sort(const struct json_index *x, uint32_t *sorted, uint32_t *spare, uint32_t count)
{
    if (count < 2)
        return;
    uint32_t half = count / 2;
    sort(x, sorted, spare, half);
    sort(x, sorted + half, spare, count - half);
    if (compare(x, sorted[half - 1], sorted[half]) <= 0)
        return;
    memcpy(spare, sorted, half * sizeof(*spare));
    for (uint32_t l = 0, r = half, out = 0; l < half;) {
        bool left = r == count || compare(x, spare[l], sorted[r]) <= 0;
        sorted[out++] = left ? spare[l++] : sorted[r++];
    }
}

struct json_index json_index_of(struct arena *a, struct json list, const char *member)
{
    uint32_t count = list.type == JSON_LIST ? list.count : 0;
    struct json_index x = {
        .keys = arena_array(a, count, sizeof(*x.keys)),
        .sorted = arena_array(a, (size_t)count + count / 2, sizeof(*x.sorted)),
    };
    for (x.count = 0; x.count < count; x.count++) {
        struct json item = list.items[x.count];
        x.keys[x.count] = member && *member ? json_member(item, member) : item;
        x.sorted[x.count] = x.count;
    }
    sort(&x, x.sorted, x.sorted + count, count);
    return x;
}

int64_t json_index_find(const struct json_index *x, struct json key)
{
    uint32_t low = 0, high = x->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (json_compare(x->keys[x->sorted[middle]], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < x->count && json_equal(x->keys[x->sorted[low]], key);
    return found ? (int64_t)x->sorted[low] : -1;
}

bool json_index_again(const struct json_index *x, uint32_t place)
{
    return json_index_find(x, x->keys[place]) < place;
}

/* ---- keys added one by one ---- */

static bool has(const struct json *keys, size_t count, struct json key)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (json_compare(keys[middle], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && json_equal(keys[low], key);
}

static struct json *merge(
    struct arena *a, const struct json *left, const struct json *right, size_t count)
{
    struct json *merged = arena_array(a, 2 * count, sizeof(*merged));
    for (size_t l = 0, r = 0, out = 0; out < 2 * count; out++) {
        bool first = r == count || (l < count && json_compare(left[l], right[r]) <= 0);
        merged[out] = first ? left[l++] : right[r++];
    }
    return merged;
}

bool json_seen_has(const struct json_seen *s, struct json key)
{
    for (size_t i = 0; i < lengthof(s->levels); i++)
        if (s->levels[i] && has(s->levels[i], (size_t)1 << i, key))
            return true;
    return false;
}

bool json_seen_add(struct json_seen *s, struct json key)
{
    if (json_seen_has(s, key))
        return true;
    struct json *fresh = arena_new(s->arena, struct json);
    size_t i = 0;
    *fresh = key;
    for (; s->levels[i]; i++) {
        fresh = merge(s->arena, s->levels[i], fresh, (size_t)1 << i);
        s->levels[i] = NULL;
    }
    s->levels[i] = fresh;
    return false;
}
