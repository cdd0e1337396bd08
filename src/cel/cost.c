#include "cel/cost.h"

#include <math.h>

/* Traversing a text costs a tenth of its size; a regular expression is assumed to have one state
 * per four characters. */
#define TEXT 0.1
#define REGEX 0.25

static uint64_t traversal(uint64_t size, double factor)
{
    return (uint64_t)ceil((double)size * factor);
}

/* The size of all texts in a value, in tenths; one for everything else. */
static uint64_t deep_traversal(struct cel_eval *e, struct cel_value v)
{
    uint64_t cost = 0;
    struct cel_value key, value;
    switch (v.kind) {
    case CEL_STRING:
    case CEL_BYTES:
        return (uint64_t)((double)v.text.len * TEXT);
    case CEL_LIST:
        for (size_t i = 0; i < v.list->count; i++)
            cost += deep_traversal(e, cel_list_get(e, v, i));
        return cost;
    case CEL_MAP:
        for (size_t at = 0; cel_map_next(e, v, &at, &key, &value);)
            cost += deep_traversal(e, key) + deep_traversal(e, value);
        return cost;
    default:
        return 1;
    }
}

static uint64_t list_call(double factor, uint64_t size)
{
    double cost = (double)size * factor; /* may be negative: flatten(-1) */
    if (cost < 0)
        return cost > -11 ? (uint64_t)(11 + cost) : 0;
    return (cost < 0x1p63 ? (uint64_t)cost : UINT64_MAX / 2) + 1 + CEL_COST_NEW_LIST;
}

/* `x in [constants]` is a table lookup. */
static bool is_table_lookup(const struct cel_node *n)
{
    const struct cel_value *list = n->args[1]->folded;
    if (!list || n->overload_count != 1)
        return false;
    for (size_t i = 0; i < list->list->count; i++) {
        enum cel_kind kind = list->list->items->at[i].kind;
        if (kind < CEL_BOOL || kind > CEL_STRING)
            return false;
    }
    return true;
}

static uint64_t list_cost(const struct cel_function *f, const struct cel_value *args, size_t count,
    struct cel_value result)
{
    uint64_t first = cel_size(args[0]);
    enum cel_cost cost = f->cost;
    if (cost == CEL_COST_SLICE || cost == CEL_COST_RANGE || cost == CEL_COST_REVERSE)
        return list_call(1, cel_size(result));
    if (cost == CEL_COST_FLATTEN)
        return list_call(count == 2 ? (double)args[1].integer : 1, first);
    struct cel_value keys =
        cost == CEL_COST_SORT_BY || cost == CEL_COST_SORT_BY_TEXT ? args[1] : args[0];
    uint64_t size = keys.list->count;
    bool texts =
        size && keys.list->items &&
        (keys.list->items->at[0].kind == CEL_STRING || keys.list->items->at[0].kind == CEL_BYTES);
    if (cost == CEL_COST_SORT_TEXT || cost == CEL_COST_SORT_BY_TEXT)
        texts = size > 0;
    return list_call(texts ? 2 + TEXT : 2, size * size);
}

static uint64_t network_cost(const struct cel_function *f, uint64_t network, uint64_t other)
{
    uint64_t cost = traversal(network * 2, TEXT);
    if (f->cost == CEL_COST_CONTAINS_CIDR || f->cost == CEL_COST_CONTAINS_CIDR_TEXT)
        cost += traversal(network, TEXT) + 1;
    if (f->cost == CEL_COST_CONTAINS_IP_TEXT || f->cost == CEL_COST_CONTAINS_CIDR_TEXT)
        cost += traversal(other, TEXT);
    return cost;
}

static uint64_t equal_cost(const struct cel_function *f, const struct cel_value *args)
{
    bool opaque = args[0].kind >= CEL_QUANTITY && args[0].kind <= CEL_SEMVER;
    if (opaque && f->name[1] == '=')
        return 1;
    uint64_t a = cel_size(args[0]), b = cel_size(args[1]);
    return traversal(a < b ? a : b, TEXT);
}

uint64_t cel_cost_of_call(struct cel_eval *e, const struct cel_node *n,
    const struct cel_function *f, const struct cel_value *args, size_t count,
    struct cel_value result)
{
    uint64_t first = count > 0 ? cel_size(args[0]) : 0, second = count > 1 ? cel_size(args[1]) : 0;
    switch (f->cost) {
    case CEL_COST_TRAVERSAL:
    case CEL_COST_TRANSFORM:
    case CEL_COST_AFFIX:
    case CEL_COST_TO_BYTES:
    case CEL_COST_FROM_BYTES:
    case CEL_COST_QUOTE:
    case CEL_COST_FORMAT_STRING:
        return traversal(first, TEXT);
    case CEL_COST_TRAVERSAL_TWICE:
    case CEL_COST_REPLACE:
    case CEL_COST_SPLIT:
        return traversal(first, 2 * TEXT);
    case CEL_COST_JOIN:
        return traversal(cel_size(result), 2 * TEXT);
    case CEL_COST_EQUAL:
    case CEL_COST_ORDER:
        return n->overload_count > 1 ? 1 : equal_cost(f, args);
    case CEL_COST_ADD_TEXT:
        return traversal(first + second, TEXT);
    case CEL_COST_IN_LIST:
        return is_table_lookup(n) ? 0 : n->overload_count > 1 ? 1 : second;
    case CEL_COST_MATCHES:
    case CEL_COST_FIND:
        return traversal(first + 1, TEXT) * traversal(second, REGEX);
    case CEL_COST_VALIDATE:
        return traversal(second + 1, TEXT) * traversal(args[0].format->regex_size, REGEX);
    case CEL_COST_CONTAINS:
        return traversal(first, TEXT) * traversal(second, TEXT);
    case CEL_COST_LIST_WALK:
        return deep_traversal(e, args[0]);
    case CEL_COST_CONTAINS_IP:
    case CEL_COST_CONTAINS_IP_TEXT:
    case CEL_COST_CONTAINS_CIDR:
    case CEL_COST_CONTAINS_CIDR_TEXT:
        return network_cost(f, first, second);
    case CEL_COST_SETS:
        return 1 + first * second;
    case CEL_COST_SETS_TWICE:
        return 1 + first * second * 2;
    case CEL_COST_SLICE:
    case CEL_COST_FLATTEN:
    case CEL_COST_RANGE:
    case CEL_COST_REVERSE:
    case CEL_COST_DISTINCT:
    case CEL_COST_SORT:
    case CEL_COST_SORT_TEXT:
    case CEL_COST_SORT_BY:
    case CEL_COST_SORT_BY_TEXT:
        return list_cost(f, args, count, result);
    default:
        return 1;
    }
}
