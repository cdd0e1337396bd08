/* Methods of sets, decimals and addresses, and the two constructors. */

#include "cedar/internal.h"

static bool type_error(struct evaluation *e, const struct value *v, enum value_type wanted)
{
    return fail(e->err,
        ERR_INVALID,
        "type error: expected %s, got %s",
        value_type_name(wanted),
        value_type_name(v->type));
}

static bool of_set(struct evaluation *e, struct str name, const struct value *v, bool *ret)
{
    if (v[0].type != VALUE_SET)
        return type_error(e, &v[0], VALUE_SET);
    if (str_eq(name, STR("isEmpty"))) {
        *ret = v[0].count == 0;
        return true;
    }
    if (str_eq(name, STR("contains"))) {
        *ret = value_contains(&v[0], &v[1], &e->steps);
        return true;
    }
    if (v[1].type != VALUE_SET)
        return type_error(e, &v[1], VALUE_SET);
    bool all = str_eq(name, STR("containsAll"));
    *ret = all;
    for (size_t i = 0; i < v[1].count && *ret == all && e->steps > 0; i++)
        *ret = value_contains(&v[0], &v[1].items[i], &e->steps);
    return true;
}

static bool of_decimal(struct evaluation *e, struct str name, const struct value *v, bool *ret)
{
    for (size_t i = 0; i < 2; i++)
        if (v[i].type != VALUE_DECIMAL)
            return type_error(e, &v[i], VALUE_DECIMAL);
    bool equal = str_ends(name, STR("OrEqual")), less = str_starts(name, STR("less"));
    int64_t x = v[0].number, y = v[1].number;
    *ret = (equal && x == y) || (less ? x < y : x > y);
    return true;
}

static bool of_address(struct evaluation *e, struct str name, const struct value *v, bool *ret)
{
    bool range = str_eq(name, STR("isInRange"));
    for (size_t i = 0; i < 1u + range; i++)
        if (v[i].type != VALUE_IP)
            return type_error(e, &v[i], VALUE_IP);
    *ret = range                             ? ip_in_range(&v[0].ip, &v[1].ip)
           : str_eq(name, STR("isIpv4"))     ? !v[0].ip.v6
           : str_eq(name, STR("isIpv6"))     ? v[0].ip.v6
           : str_eq(name, STR("isLoopback")) ? ip_is_loopback(&v[0].ip)
                                             : ip_is_multicast(&v[0].ip);
    return true;
}

static bool construct(
    struct evaluation *e, struct str name, const struct value *v, struct value *ret)
{
    bool decimal = str_eq(name, STR("decimal()"));
    if (v->type != VALUE_STRING)
        return type_error(e, v, VALUE_STRING);
    if (decimal ? value_decimal(v->string, ret) : value_ip(v->string, ret))
        return true;
    return fail(e->err,
        ERR_INVALID,
        "\"%.*s\" is no %s",
        (int)(v->string.len < 60 ? v->string.len : 60),
        v->string.ptr,
        decimal ? "decimal: write 1 to 4 digits behind a point" : "address");
}

bool evaluate_method(
    struct evaluation *e, const struct node *n, const struct value *arguments, struct value *ret)
{
    struct str name = n->name;
    if (str_ends(name, STR("()")))
        return construct(e, name, arguments, ret);
    *ret = (struct value){ .type = VALUE_BOOL };
    bool ok;
    if (str_starts(name, STR("contains")) || str_eq(name, STR("isEmpty")))
        ok = of_set(e, name, arguments, &ret->boolean);
    else if (str_starts(name, STR("is")))
        ok = of_address(e, name, arguments, &ret->boolean);
    else
        ok = of_decimal(e, name, arguments, &ret->boolean);
    if (ok && e->steps < 0)
        return fail(e->err, ERR_TOO_LARGE, "the evaluation takes too many steps");
    return ok;
}
