/* Arithmetic, comparisons, membership. Some operators are evaluated in eval.c: their rows are only
 * for the checker. */

#include <math.h>

#include "cel/lib.h"

static struct cel_value int_or_overflow(struct cel_eval *e, bool overflowed, int64_t i)
{
    return overflowed ? cel_error(e, "integer overflow") : cel_int(i);
}

static struct cel_value uint_or_overflow(struct cel_eval *e, bool overflowed, uint64_t u)
{
    return overflowed ? cel_error(e, "unsigned integer overflow") : cel_uint(u);
}

static struct cel_value duration_or_overflow(struct cel_eval *e, bool overflowed, int64_t ns)
{
    return overflowed ? cel_error(e, "integer overflow") : cel_duration(ns);
}

#define NS_PER_S ((int64_t)1000000000)

/* The sum of a time and a duration, or with sign -1 their difference. */
static struct cel_value shift_time(
    struct cel_eval *e, struct cel_instant t, int64_t ns, int64_t sign)
{
    int64_t nanos = t.nanos + sign * (ns % NS_PER_S);
    t.seconds += sign * (ns / NS_PER_S) + (nanos < 0 ? -1 : nanos >= NS_PER_S);
    t.nanos = (int32_t)(nanos < 0 ? nanos + NS_PER_S : nanos % NS_PER_S);
    return cel_time_in_range(t) ? cel_timestamp(t) : cel_error(e, "timestamp overflow");
}

static struct cel_value add_texts(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    char *sum = arena_alloc(e->arena, a.text.len + b.text.len + 1);
    if (a.text.len)
        memcpy(sum, a.text.ptr, a.text.len);
    if (b.text.len)
        memcpy(sum + a.text.len, b.text.ptr, b.text.len);
    a.text = (struct str){ sum, a.text.len + b.text.len };
    return a;
}

CEL_IMPLEMENT(op_add)
{
    struct cel_value a = args[0], b = args[1];
    int64_t i;
    uint64_t u;
    if (a.kind == CEL_TIMESTAMP && b.kind == CEL_DURATION)
        return shift_time(e, a.instant, b.integer, 1);
    if (a.kind == CEL_DURATION && b.kind == CEL_TIMESTAMP)
        return shift_time(e, b.instant, a.integer, 1);
    if (a.kind != b.kind)
        return cel_no_overload(e);
    switch (a.kind) {
    case CEL_INT: {
        bool over = __builtin_add_overflow(a.integer, b.integer, &i);
        return int_or_overflow(e, over, i);
    }
    case CEL_UINT: {
        bool over = __builtin_add_overflow(a.natural, b.natural, &u);
        return uint_or_overflow(e, over, u);
    }
    case CEL_DURATION: {
        bool over = __builtin_add_overflow(a.integer, b.integer, &i);
        return duration_or_overflow(e, over, i);
    }
    case CEL_DOUBLE:
        return cel_double(a.real + b.real);
    case CEL_STRING:
    case CEL_BYTES:
        return add_texts(e, a, b);
    case CEL_LIST:
        return cel_list_add(e, a, b);
    default:
        return cel_no_overload(e);
    }
}

static struct cel_value time_difference(
    struct cel_eval *e, struct cel_instant a, struct cel_instant b)
{
    __int128 ns = ((__int128)a.seconds - b.seconds) * NS_PER_S + a.nanos - b.nanos;
    return duration_or_overflow(e, ns > INT64_MAX || ns < INT64_MIN, (int64_t)ns);
}

CEL_IMPLEMENT(op_subtract)
{
    struct cel_value a = args[0], b = args[1];
    int64_t i;
    uint64_t u;
    if (a.kind == CEL_TIMESTAMP && b.kind == CEL_DURATION)
        return shift_time(e, a.instant, b.integer, -1);
    if (a.kind != b.kind)
        return cel_no_overload(e);
    switch (a.kind) {
    case CEL_INT: {
        bool over = __builtin_sub_overflow(a.integer, b.integer, &i);
        return int_or_overflow(e, over, i);
    }
    case CEL_UINT: {
        bool over = __builtin_sub_overflow(a.natural, b.natural, &u);
        return uint_or_overflow(e, over, u);
    }
    case CEL_DURATION: {
        bool over = __builtin_sub_overflow(a.integer, b.integer, &i);
        return duration_or_overflow(e, over, i);
    }
    case CEL_DOUBLE:
        return cel_double(a.real - b.real);
    case CEL_TIMESTAMP:
        return time_difference(e, a.instant, b.instant);
    default:
        return cel_no_overload(e);
    }
}

CEL_IMPLEMENT(op_multiply)
{
    struct cel_value a = args[0], b = args[1];
    int64_t i;
    uint64_t u;
    if (a.kind != b.kind)
        return cel_no_overload(e);
    if (a.kind == CEL_DOUBLE)
        return cel_double(a.real * b.real);
    if (a.kind == CEL_UINT) {
        bool over = __builtin_mul_overflow(a.natural, b.natural, &u);
        return uint_or_overflow(e, over, u);
    }
    if (a.kind != CEL_INT)
        return cel_no_overload(e);
    bool over = __builtin_mul_overflow(a.integer, b.integer, &i);
    return int_or_overflow(e, over, i);
}

CEL_IMPLEMENT(op_divide)
{
    struct cel_value a = args[0], b = args[1];
    if (a.kind != b.kind)
        return cel_no_overload(e);
    if (a.kind == CEL_DOUBLE)
        return cel_double(a.real / b.real);
    if (a.kind != CEL_INT && a.kind != CEL_UINT)
        return cel_no_overload(e);
    if (b.integer == 0)
        return cel_error(e, "division by zero");
    if (a.kind == CEL_UINT)
        return cel_uint(a.natural / b.natural);
    bool over = a.integer == INT64_MIN && b.integer == -1;
    return int_or_overflow(e, over, over ? 0 : a.integer / b.integer);
}

CEL_IMPLEMENT(op_modulo)
{
    struct cel_value a = args[0], b = args[1];
    if (a.kind != b.kind || (a.kind != CEL_INT && a.kind != CEL_UINT))
        return cel_no_overload(e);
    if (b.integer == 0)
        return cel_error(e, "modulus by zero");
    if (a.kind == CEL_UINT)
        return cel_uint(a.natural % b.natural);
    bool over = a.integer == INT64_MIN && b.integer == -1;
    return int_or_overflow(e, over, over ? 0 : a.integer % b.integer);
}

CEL_IMPLEMENT(op_negate)
{
    if (args[0].kind == CEL_DOUBLE)
        return cel_double(-args[0].real);
    if (args[0].kind != CEL_INT)
        return cel_no_overload(e);
    bool over = args[0].integer == INT64_MIN;
    return int_or_overflow(e, over, over ? 0 : -args[0].integer);
}

CEL_IMPLEMENT(op_not)
{
    return args[0].kind == CEL_BOOL ? cel_bool(!args[0].boolean) : cel_no_overload(e);
}

static bool is_computed(struct cel_value left, struct cel_value right)
{
    return left.kind == CEL_QUANTITY && right.kind == CEL_QUANTITY && cel_quantity_is_sum(right);
}

CEL_IMPLEMENT(op_equal)
{
    return is_computed(args[0], args[1]) ? cel_no_overload(e) : cel_equal(e, args[0], args[1]);
}

CEL_IMPLEMENT(op_not_equal)
{
    if (is_computed(args[0], args[1]))
        return cel_bool(true);
    struct cel_value same = cel_equal(e, args[0], args[1]);
    return same.kind == CEL_BOOL ? cel_bool(!same.boolean) : same;
}

static bool is_nan(struct cel_value v)
{
    return v.kind == CEL_DOUBLE && isnan(v.real);
}

/* Its name shows whether it is <, <=, >= or >. */
CEL_IMPLEMENT(op_order)
{
    int order;
    if (!cel_order(args[0], args[1], &order)) {
        if (is_nan(args[0]) || is_nan(args[1]))
            return cel_error(e, "NaN values cannot be ordered");
        return cel_no_overload(e);
    }
    bool or_equal = f->name[2] == '=', less = f->name[1] == '<';
    return cel_bool((order == 0 && or_equal) || (order != 0 && (order < 0) == less));
}

CEL_IMPLEMENT(op_in)
{
    struct cel_value found;
    if (args[1].kind == CEL_LIST)
        return cel_list_contains(e, args[1], args[0]);
    if (args[1].kind != CEL_MAP)
        return cel_no_overload(e);
    bool there = cel_map_find(e, args[1], args[0], &found);
    return there && found.kind == CEL_ERROR ? found : cel_bool(there);
}

#define ARITHMETIC(name, call)                                                                     \
    { name, "(double, double) double", call, CEL_COST_ONE },                                       \
        { name, "(int, int) int", call, CEL_COST_ONE },                                            \
    {                                                                                              \
        name, "(uint, uint) uint", call, CEL_COST_ONE                                              \
    }
#define ORDER(name)                                                                                \
    { name, "(bool, bool) bool", op_order, CEL_COST_ONE },                                         \
        { name, "(int, int) bool", op_order, CEL_COST_ONE },                                       \
        { name, "(int, double) bool", op_order, CEL_COST_ONE },                                    \
        { name, "(int, uint) bool", op_order, CEL_COST_ONE },                                      \
        { name, "(uint, uint) bool", op_order, CEL_COST_ONE },                                     \
        { name, "(uint, double) bool", op_order, CEL_COST_ONE },                                   \
        { name, "(uint, int) bool", op_order, CEL_COST_ONE },                                      \
        { name, "(double, double) bool", op_order, CEL_COST_ONE },                                 \
        { name, "(double, int) bool", op_order, CEL_COST_ONE },                                    \
        { name, "(double, uint) bool", op_order, CEL_COST_ONE },                                   \
        { name, "(string, string) bool", op_order, CEL_COST_ORDER },                               \
        { name, "(bytes, bytes) bool", op_order, CEL_COST_ORDER },                                 \
        { name, "(timestamp, timestamp) bool", op_order, CEL_COST_ONE },                           \
    {                                                                                              \
        name, "(duration, duration) bool", op_order, CEL_COST_ONE                                  \
    }

/* In cel-go's order: the first that fits determines an unknown type. */
const struct cel_function cel_lib_operators[] = {
    { "_+_", "(bytes, bytes) bytes", op_add, CEL_COST_ADD_TEXT },
    { "_+_", "(double, double) double", op_add, CEL_COST_ONE },
    { "_+_", "(duration, duration) duration", op_add, CEL_COST_ONE },
    { "_+_", "(duration, timestamp) timestamp", op_add, CEL_COST_ONE },
    { "_+_", "(timestamp, duration) timestamp", op_add, CEL_COST_ONE },
    { "_+_", "(int, int) int", op_add, CEL_COST_ONE },
    { "_+_", "(list(A), list(A)) list(A)", op_add, CEL_COST_ADD_LIST },
    { "_+_", "(string, string) string", op_add, CEL_COST_ADD_TEXT },
    { "_+_", "(uint, uint) uint", op_add, CEL_COST_ONE },
    { "_-_", "(double, double) double", op_subtract, CEL_COST_ONE },
    { "_-_", "(duration, duration) duration", op_subtract, CEL_COST_ONE },
    { "_-_", "(int, int) int", op_subtract, CEL_COST_ONE },
    { "_-_", "(timestamp, duration) timestamp", op_subtract, CEL_COST_ONE },
    { "_-_", "(timestamp, timestamp) duration", op_subtract, CEL_COST_ONE },
    { "_-_", "(uint, uint) uint", op_subtract, CEL_COST_ONE },
    ARITHMETIC("_*_", op_multiply),
    ARITHMETIC("_/_", op_divide),
    { "_%_", "(int, int) int", op_modulo, CEL_COST_ONE },
    { "_%_", "(uint, uint) uint", op_modulo, CEL_COST_ONE },
    { "-_", "(double) double", op_negate, CEL_COST_ONE },
    { "-_", "(int) int", op_negate, CEL_COST_ONE },
    { "!_", "(bool) bool", op_not, CEL_COST_ONE },
    { "_==_", "(A, A) bool", op_equal, CEL_COST_EQUAL },
    { "_!=_", "(A, A) bool", op_not_equal, CEL_COST_EQUAL },
    ORDER("_<_"),
    ORDER("_<=_"),
    ORDER("_>=_"),
    ORDER("_>_"),
    { "@in", "(A, list(A)) bool", op_in, CEL_COST_IN_LIST },
    { "@in", "(A, map(A, B)) bool", op_in, CEL_COST_ONE },
    { "@not_strictly_false", "(bool) bool", NULL, CEL_COST_ONE },
    { "_?_:_", "(bool, A, A) A", NULL, CEL_COST_CONDITIONAL },
    { "_[_]", "(list(A), int) A", NULL, CEL_COST_INDEX_LIST },
    { "_[_]", "(map(A, B), A) B", NULL, CEL_COST_INDEX_MAP },
    { "_[_]", "(optional(list(A)), int) optional(A)", NULL, CEL_COST_ONE },
    { "_[_]", "(optional(map(A, B)), A) optional(B)", NULL, CEL_COST_ONE },
    { "_[?_]", "(list(A), int) optional(A)", NULL, CEL_COST_ONE },
    { "_[?_]", "(optional(list(A)), int) optional(A)", NULL, CEL_COST_ONE },
    { "_[?_]", "(map(A, B), A) optional(B)", NULL, CEL_COST_ONE },
    { "_[?_]", "(optional(map(A, B)), A) optional(B)", NULL, CEL_COST_ONE },
    { 0 },
};
