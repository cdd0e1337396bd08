/* Optional values. or() and orValue() are evaluated in eval.c, because their argument may not be
 * needed. */

#include "cel/lib.h"

CEL_IMPLEMENT(of)
{
    return cel_optional(e->arena, &args[0]);
}

static bool is_zero(struct cel_value v)
{
    switch (v.kind) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return !v.boolean;
    case CEL_INT:
    case CEL_UINT:
    case CEL_DURATION:
        return v.integer == 0;
    case CEL_DOUBLE:
        return v.real == 0;
    case CEL_STRING:
    case CEL_BYTES:
        return v.text.len == 0;
    case CEL_LIST:
        return v.list->items && v.list->count == 0;
    case CEL_MAP:
        return v.map->entries && v.map->count == 0;
    case CEL_OPTIONAL:
        return !v.optional;
    case CEL_TIMESTAMP: /* Go's zero time: January 1 of the year 1 */
        return v.instant.seconds == -62135596800 && v.instant.nanos == 0;
    default:
        return false;
    }
}

CEL_IMPLEMENT(of_non_zero)
{
    return cel_optional(e->arena, is_zero(args[0]) ? NULL : &args[0]);
}

CEL_IMPLEMENT(none)
{
    (void)args;
    return cel_optional(e->arena, NULL);
}

CEL_IMPLEMENT(value)
{
    return args[0].optional ? *args[0].optional : cel_error(e, "optional.none() dereference");
}

CEL_IMPLEMENT(has_value)
{
    (void)e;
    return cel_bool(args[0].optional);
}

static struct cel_value at_or_none(struct cel_eval *e, struct cel_value list, size_t index)
{
    if (list.list->count == 0)
        return cel_optional(e->arena, NULL);
    struct cel_value item = cel_list_get(e, list, index);
    return item.kind == CEL_ERROR ? item : cel_optional(e->arena, &item);
}

CEL_IMPLEMENT(first)
{
    return at_or_none(e, args[0], 0);
}

CEL_IMPLEMENT(last)
{
    return at_or_none(e, args[0], args[0].list->count - 1);
}

CEL_IMPLEMENT(unwrap)
{
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    for (size_t i = 0; i < args[0].list->count; i++) {
        struct cel_value item = cel_list_get(e, args[0], i);
        if (item.kind != CEL_OPTIONAL)
            return cel_error(e, "value %s is not optional", cel_show(e->arena, item));
        if (item.optional)
            list = cel_list_append(e->arena, list, *item.optional);
    }
    return list;
}

const struct cel_function cel_lib_optionals[] = {
    { "optional.of", "(A) optional(A)", of, CEL_COST_ONE },
    { "optional.ofNonZeroValue", "(A) optional(A)", of_non_zero, CEL_COST_ONE },
    { "optional.none", "() optional(A)", none, CEL_COST_ONE },
    { "value", "optional(A).() A", value, CEL_COST_ONE },
    { "hasValue", "optional(A).() bool", has_value, CEL_COST_ONE },
    { "or", "optional(A).(optional(A)) optional(A)", NULL, CEL_COST_ONE },
    { "orValue", "optional(A).(A) A", NULL, CEL_COST_ONE },
    { "first", "list(A).() optional(A)", first, CEL_COST_ONE },
    { "last", "list(A).() optional(A)", last, CEL_COST_ONE },
    { "optional.unwrap", "(list(optional(A))) list(A)", unwrap, CEL_COST_ONE },
    { "unwrapOpt", "list(optional(A)).() list(A)", unwrap, CEL_COST_ONE },
    { 0 },
};
