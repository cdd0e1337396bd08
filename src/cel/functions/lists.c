/* List and set functions of Kubernetes and of cel-go's extensions. */

#include <stdlib.h>

#include "cel/lib.h"

CEL_IMPLEMENT(is_sorted)
{
    struct cel_value before, item;
    for (size_t i = 0; i < args[0].list->count; i++, before = item) {
        int order;
        item = cel_list_get(e, args[0], i);
        if (i && cel_order(before, item, &order) && order > 0)
            return cel_bool(false);
    }
    return cel_bool(true);
}

CEL_IMPLEMENT(sum)
{
    /* The result's type follows the last space of the signature; the sum of an empty list is 0. */
    const char *type = strrchr(f->signature, ' ') + 1;
    struct cel_value total = *type == 'i'     ? cel_int(0)
                             : *type == 'u'   ? cel_uint(0)
                             : type[1] == 'o' ? cel_double(0)
                                              : cel_duration(0);
    for (size_t i = 0; i < args[0].list->count && total.kind != CEL_ERROR; i++) {
        struct cel_value item = cel_list_get(e, args[0], i), pair[] = { total, item };
        const struct cel_function *plus = cel_function_next(STR("_+_"), NULL);
        total = item.kind == CEL_ERROR ? item : plus->call(e, plus, pair, 2);
    }
    return total;
}

CEL_IMPLEMENT(extreme)
{
    int wanted = text_eq(f->name, "min") ? -1 : 1, order;
    struct cel_value best = cel_error(e, "%s called on empty list", f->name);
    for (size_t i = 0; i < args[0].list->count; i++) {
        struct cel_value item = cel_list_get(e, args[0], i);
        if (item.kind == CEL_ERROR)
            return item;
        if (i == 0 || (cel_order(item, best, &order) && order == wanted))
            best = item;
    }
    return best;
}

CEL_IMPLEMENT(index_of)
{
    for (size_t i = 0; i < args[0].list->count; i++)
        if (cel_is_true(cel_equal(e, cel_list_get(e, args[0], i), args[1])))
            return cel_int((int64_t)i);
    return cel_int(-1);
}

CEL_IMPLEMENT(last_index_of)
{
    for (size_t i = args[0].list->count; i-- > 0;)
        if (cel_is_true(cel_equal(e, cel_list_get(e, args[0], i), args[1])))
            return cel_int((int64_t)i);
    return cel_int(-1);
}

CEL_IMPLEMENT(slice)
{
    int64_t start = args[1].integer, end = args[2].integer, size = args[0].list->count;
    long long from = start, to = end;
    if (start < 0 || end < 0)
        return cel_error(e, "cannot slice(%lld, %lld), negative indexes not supported", from, to);
    if (start > end)
        return cel_error(e,
            "cannot slice(%lld, %lld), start index must be less than or equal to end index",
            from,
            to);
    if (size < end)
        return cel_error(
            e, "cannot slice(%lld, %lld), list is length %lld", from, to, (long long)size);
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    for (; start < end; start++)
        list = cel_list_append(e->arena, list, cel_list_get(e, args[0], (size_t)start));
    return list;
}

static struct cel_value flatten_into(
    struct cel_eval *e, struct cel_value to, struct cel_value from, int64_t depth)
{
    for (size_t i = 0; i < from.list->count && cel_spend(e, 0); i++) {
        struct cel_value item = cel_list_get(e, from, i);
        to = item.kind == CEL_LIST && depth > 0 ? flatten_into(e, to, item, depth - 1)
                                                : cel_list_append(e->arena, to, item);
    }
    return to;
}

CEL_IMPLEMENT(flatten)
{
    int64_t depth = n == 2 ? args[1].integer : 1;
    if (depth < 0)
        return cel_error(e, "level must be non-negative");
    return flatten_into(e, cel_list_new(e->arena, NULL, 0), args[0], depth);
}

/* The estimate has no bound for it, so the cost is paid in advance. */
CEL_IMPLEMENT(range)
{
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    int64_t count = args[0].integer;
    if (count > 0 && (uint64_t)count > e->cost_limit - e->cost) {
        cel_spend(e, (uint64_t)count);
        return list;
    }
    for (int64_t i = 0; i < count; i++)
        list = cel_list_append(e->arena, list, cel_int(i));
    return list;
}

CEL_IMPLEMENT(reverse)
{
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    for (size_t i = args[0].list->count; i-- > 0;)
        list = cel_list_append(e->arena, list, cel_list_get(e, args[0], i));
    return list;
}

/* Costs the square of its size, which is paid in advance. */
static bool can_afford_square(struct cel_eval *e, struct cel_value list)
{
    uint64_t size = list.list->count;
    if (size * size <= e->cost_limit - e->cost)
        return true;
    cel_spend(e, size * size);
    return false;
}

CEL_IMPLEMENT(distinct)
{
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    if (!can_afford_square(e, args[0]))
        return list;
    for (size_t i = 0; i < args[0].list->count; i++) {
        struct cel_value item = cel_list_get(e, args[0], i);
        if (!cel_is_true(cel_list_contains(e, list, item)))
            list = cel_list_append(e->arena, list, item);
    }
    return list;
}

struct keyed {
    struct cel_value key, item;
    size_t place;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *one = a, *two = b;
    int order = 0;
    if (cel_order(one->key, two->key, &order) && order)
        return order;
    return one->place < two->place ? -1 : 1;
}

CEL_IMPLEMENT(sort)
{
    struct cel_value items = args[0], keys = args[n - 1];
    size_t count = items.list->count;
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    if (!can_afford_square(e, keys))
        return list;
    struct keyed *all = arena_array(e->arena, count + 1, sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct keyed){ cel_list_get(e, keys, i), cel_list_get(e, items, i), i };
        if (all[i].key.kind == CEL_ERROR)
            return all[i].key;
        if (all[i].key.kind != all[0].key.kind)
            return cel_error(e, "list elements must have the same type");
    }
    qsort(all, count, sizeof(*all), compare_keyed);
    for (size_t i = 0; i < count; i++)
        list = cel_list_append(e->arena, list, all[i].item);
    return list;
}

/* ---- sets ---- */

static bool can_afford_product(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    uint64_t product = (uint64_t)a.list->count * b.list->count;
    if (product <= e->cost_limit - e->cost)
        return true;
    cel_spend(e, product);
    return false;
}

static struct cel_value contains_all(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    for (size_t i = 0; i < b.list->count; i++) {
        struct cel_value there = cel_list_contains(e, a, cel_list_get(e, b, i));
        if (!cel_is_true(there))
            return there;
    }
    return cel_bool(true);
}

CEL_IMPLEMENT(sets_contains)
{
    return can_afford_product(e, args[0], args[1]) ? contains_all(e, args[0], args[1])
                                                   : cel_bool(false);
}

CEL_IMPLEMENT(sets_equivalent)
{
    if (!can_afford_product(e, args[0], args[1]))
        return cel_bool(false);
    struct cel_value all = contains_all(e, args[0], args[1]);
    return cel_is_true(all) ? contains_all(e, args[1], args[0]) : all;
}

CEL_IMPLEMENT(sets_intersects)
{
    if (!can_afford_product(e, args[0], args[1]))
        return cel_bool(false);
    for (size_t i = 0; i < args[0].list->count; i++)
        if (cel_is_true(cel_list_contains(e, args[1], cel_list_get(e, args[0], i))))
            return cel_bool(true);
    return cel_bool(false);
}

/* ---- maps built by macros ---- */

static struct cel_value insert(
    struct cel_eval *e, struct cel_value map, struct cel_value key, struct cel_value value)
{
    struct cel_value found;
    if (cel_map_find(e, map, key, &found))
        return cel_error(e, "insert failed: key %s already exists", cel_show(e->arena, key));
    return cel_map_insert(e->arena, map, key, value);
}

CEL_IMPLEMENT(map_insert)
{
    struct cel_value map = args[0], key, value;
    if (n == 3)
        return insert(e, map, args[1], args[2]);
    for (size_t at = 0; cel_map_next(e, args[1], &at, &key, &value) && map.kind == CEL_MAP;)
        map = insert(e, map, key, value);
    return map;
}

#define FOR_COMPARABLE(name, before, after, call, cost, cost_text)                                 \
    { name, before "int" after, call, cost }, { name, before "uint" after, call, cost },           \
        { name, before "double" after, call, cost }, { name, before "bool" after, call, cost },    \
        { name, before "duration" after, call, cost },                                             \
        { name, before "timestamp" after, call, cost },                                            \
        { name, before "string" after, call, cost_text },                                          \
    {                                                                                              \
        name, before "bytes" after, call, cost_text                                                \
    }
#define EXTREME(name, type)                                                                        \
    {                                                                                              \
        name, "list(" type ").() " type, extreme, CEL_COST_LIST_WALK                               \
    }
#define EXTREMES(name)                                                                             \
    EXTREME(name, "int"), EXTREME(name, "uint"), EXTREME(name, "double"), EXTREME(name, "bool"),   \
        EXTREME(name, "duration"), EXTREME(name, "timestamp"), EXTREME(name, "string"),            \
        EXTREME(name, "bytes")
#define SORT(type, cost)                                                                           \
    {                                                                                              \
        "sort", "list(" type ").() list(" type ")", sort, cost                                     \
    }

const struct cel_function cel_lib_lists[] = {
    FOR_COMPARABLE(
        "isSorted", "list(", ").() bool", is_sorted, CEL_COST_LIST_WALK, CEL_COST_LIST_WALK),
    { "sum", "list(int).() int", sum, CEL_COST_LIST_WALK },
    { "sum", "list(uint).() uint", sum, CEL_COST_LIST_WALK },
    { "sum", "list(double).() double", sum, CEL_COST_LIST_WALK },
    { "sum", "list(duration).() duration", sum, CEL_COST_LIST_WALK },
    EXTREMES("min"),
    EXTREMES("max"),
    { "indexOf", "list(A).(A) int", index_of, CEL_COST_LIST_WALK },
    { "lastIndexOf", "list(A).(A) int", last_index_of, CEL_COST_LIST_WALK },
    { "slice", "list(A).(int, int) list(A)", slice, CEL_COST_SLICE },
    { "flatten", "list(list(A)).() list(A)", flatten, CEL_COST_FLATTEN },
    { "flatten", "list(dyn).(int) list(dyn)", flatten, CEL_COST_FLATTEN },
    SORT("int", CEL_COST_SORT),
    SORT("uint", CEL_COST_SORT),
    SORT("double", CEL_COST_SORT),
    SORT("bool", CEL_COST_SORT),
    SORT("duration", CEL_COST_SORT),
    SORT("timestamp", CEL_COST_SORT),
    SORT("string", CEL_COST_SORT_TEXT),
    SORT("bytes", CEL_COST_SORT_TEXT),
    FOR_COMPARABLE("@sortByAssociatedKeys", "list(A).(list(", ")) list(A)", sort, CEL_COST_SORT_BY,
        CEL_COST_SORT_BY_TEXT),
    { "lists.range", "(int) list(int)", range, CEL_COST_RANGE },
    { "reverse", "list(A).() list(A)", reverse, CEL_COST_REVERSE },
    { "distinct", "list(A).() list(A)", distinct, CEL_COST_DISTINCT },
    { "sets.contains", "(list(A), list(A)) bool", sets_contains, CEL_COST_SETS },
    { "sets.equivalent", "(list(A), list(A)) bool", sets_equivalent, CEL_COST_SETS_TWICE },
    { "sets.intersects", "(list(A), list(A)) bool", sets_intersects, CEL_COST_SETS },
    { "cel.@mapInsert", "(map(A, B), A, B) map(A, B)", map_insert, CEL_COST_ONE },
    { "cel.@mapInsert", "(map(A, B), map(A, B)) map(A, B)", map_insert, CEL_COST_ONE },
    { 0 },
};
