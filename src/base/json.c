#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
    [JSON_ABSENT] = "nothing",
    [JSON_NULL] = "null",
    [JSON_BOOL] = "boolean",
    [JSON_INT] = "integer",
    [JSON_REAL] = "number",
    [JSON_STR] = "string",
    [JSON_LIST] = "list",
    [JSON_MAP] = "object",
};

const char *json_type_name(struct json v)
{
    assert(v.type < lengthof(type_names));
    return type_names[v.type];
}

struct json json_str(const char *text)
{
    if (!text)
        return json_none;
    size_t length = strlen(text);
    assert(length <= UINT32_MAX);
    return (struct json){ .type = JSON_STR, .count = (uint32_t)length, .string = text };
}

struct json json_str_or_absent(const char *text)
{
    return text_empty(text) ? json_none : json_str(text);
}

struct json json_strn(struct arena *a, const char *text, size_t length)
{
    assert(length <= UINT32_MAX);
    return (struct json){
        .type = JSON_STR,
        .count = (uint32_t)length,
        .string = arena_strndup(a, text, length),
    };
}

struct json json_strf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = arena_vprintf(a, format, args);
    va_end(args);
    return json_str(text);
}

struct json json_int(int64_t value)
{
    return (struct json){ .type = JSON_INT, .integer = value };
}

struct json json_int_or_absent(int64_t value)
{
    return json_if(value, json_int(value));
}

struct json json_real(double value)
{
    return (struct json){ .type = JSON_REAL, .real = value };
}

struct json json_bool(bool value)
{
    return (struct json){ .type = JSON_BOOL, .boolean = value };
}

struct json json_true_or_absent(bool value)
{
    return json_if(value, json_bool(true));
}

struct json json_null(void)
{
    return (struct json){ .type = JSON_NULL };
}

struct json json_empty_map(void)
{
    return (struct json){ .type = JSON_MAP };
}

struct json json_empty_list(void)
{
    return (struct json){ .type = JSON_LIST };
}

struct json json_or_absent(struct json container)
{
    bool empty = (container.type == JSON_LIST || container.type == JSON_MAP) && !container.count;
    return empty ? json_none : container;
}

/* The position of key in a sorted map, or the position at which it would be inserted. */
static uint32_t member_position(struct json map, struct str key, bool *ret_found)
{
    uint32_t low = 0, high = map.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *there = map.members[middle].key;
        int order = strncmp(there, key.ptr, key.len);
        if (order == 0 && there[key.len] != '\0')
            order = 1;
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = false;
    return low;
}

struct json json_member_n(struct json map, struct str key)
{
    bool found;
    if (map.type != JSON_MAP)
        return json_none;
    uint32_t at = member_position(map, key, &found);
    return json_if(found, map.members[at].value);
}

struct json json_member(struct json map, const char *key)
{
    return json_member_n(map, str_of(key));
}

struct json json_item(struct json list, size_t index)
{
    bool inside = list.type == JSON_LIST && index < list.count;
    return json_if(inside, list.items[index]);
}

struct json json_get(struct json v, const char *path)
{
    struct str rest = str_of(path);
    while (rest.ptr && v.type != JSON_ABSENT) {
        struct str step = str_cut(&rest, '.');
        int64_t index;
        if (v.type == JSON_LIST)
            v = json_if(str_to_int(step, &index) && index >= 0, json_item(v, (size_t)index));
        else
            v = json_member_n(v, step);
    }
    return v;
}

const char *json_text(struct json v)
{
    return v.type == JSON_STR ? v.string : NULL;
}

const char *json_get_text(struct json v, const char *path)
{
    return json_text(json_get(v, path));
}

int64_t json_get_int(struct json v, const char *path, int64_t otherwise)
{
    v = json_get(v, path);
    return v.type == JSON_INT ? v.integer : otherwise;
}

bool json_get_bool(struct json v, const char *path, bool otherwise)
{
    v = json_get(v, path);
    return v.type == JSON_BOOL ? v.boolean : otherwise;
}

struct json json_find(struct json list, const char *key, const char *text)
{
    budget_work(list.count);
    json_each (item, list)
        if (text_eq(json_text(json_member(*item, key)), text))
            return *item;
    return json_none;
}

bool json_list_has(struct json list, const char *text)
{
    budget_work(list.count);
    json_each (item, list)
        if (text_eq(json_text(*item), text))
            return true;
    return false;
}

static int compare_numbers(struct json a, struct json b)
{
    if (a.type == JSON_INT && b.type == JSON_INT)
        return (a.integer > b.integer) - (a.integer < b.integer);
    double x = a.type == JSON_INT ? (double)a.integer : a.real;
    double y = b.type == JSON_INT ? (double)b.integer : b.real;
    return (x > y) - (x < y);
}

static int compare_lists(struct json a, struct json b)
{
    for (uint32_t i = 0; i < a.count && i < b.count; i++) {
        int order = json_compare(a.items[i], b.items[i]);
        if (order)
            return order;
    }
    return (a.count > b.count) - (a.count < b.count);
}

static int compare_maps(struct json a, struct json b)
{
    for (uint32_t i = 0; i < a.count && i < b.count; i++) {
        int order = strcmp(a.members[i].key, b.members[i].key);
        if (!order)
            order = json_compare(a.members[i].value, b.members[i].value);
        if (order)
            return order;
    }
    return (a.count > b.count) - (a.count < b.count);
}

/* Integers and reals are compared with each other. */
static int rank(struct json v)
{
    return v.type == JSON_REAL ? JSON_INT : v.type;
}

int json_compare(struct json a, struct json b)
{
    if (rank(a) != rank(b))
        return rank(a) < rank(b) ? -1 : 1;
    switch ((enum json_type)a.type) {
    case JSON_BOOL:
        return (int)a.boolean - (int)b.boolean;
    case JSON_INT:
    case JSON_REAL:
        return compare_numbers(a, b);
    case JSON_STR:
        return strcmp(a.string, b.string);
    case JSON_LIST:
        return a.items == b.items && a.count == b.count ? 0 : compare_lists(a, b);
    case JSON_MAP:
        return a.members == b.members && a.count == b.count ? 0 : compare_maps(a, b);
    case JSON_ABSENT:
    case JSON_NULL:
        break;
    }
    return 0;
}

bool json_equal(struct json a, struct json b)
{
    budget_work(1 + (a.type >= JSON_LIST ? a.count : 0));
    if (rank(a) != rank(b) || (a.type >= JSON_STR && a.count != b.count))
        return false;
    return json_compare(a, b) == 0;
}
