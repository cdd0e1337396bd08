#include "cel/eval.h"

#include <math.h>
#include <stdarg.h>

#include "cel/cost.h"
#include "cel/decl.h"
#include "cel/lib.h"

struct cel_value cel_error(struct cel_eval *e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(e->arena, format, args);
    va_end(args);
    return (struct cel_value){ .kind = CEL_ERROR, .text = str_of(text) };
}

bool cel_spend(struct cel_eval *e, uint64_t cost)
{
    e->cost = cost > UINT64_MAX - e->cost ? UINT64_MAX : e->cost + cost;
    if (e->cost > e->cost_limit || arena_overflowed(e->arena))
        e->stopped = true;
    return !e->stopped;
}

static struct cel_value stopped(struct cel_eval *e)
{
    return cel_error(e, "operation cancelled: actual cost limit exceeded");
}

/* ---- names and parts: a variable, and selections from it ---- */

static struct cel_value lookup(struct cel_eval *e, const struct cel_node *n)
{
    if (n->constant)
        return *n->constant;
    for (const struct cel_variable *v = e->variables; v; v = v->next)
        if (str_eq(v->name, n->name)) {
            if (v->later)
                return cel_variable_now(e, v);
            return v->value;
        }
    return cel_error(e, "no such attribute(s): %.*s", (int)n->name.len, n->name.ptr);
}

static bool to_index(struct cel_eval *e, struct cel_value v, int64_t *ret, struct cel_value *err)
{
    if (v.kind == CEL_INT || (v.kind == CEL_UINT && v.natural <= INT64_MAX)) {
        *ret = v.integer;
        return true;
    }
    if (v.kind == CEL_DOUBLE && floor(v.real) == v.real && fabs(v.real) < 0x1p53) {
        *ret = (int64_t)v.real;
        return true;
    }
    *err = v.kind == CEL_DOUBLE || v.kind == CEL_UINT
               ? cel_error(e, "unsupported index value %s in list", cel_show(e->arena, v))
               : cel_error(e, "unsupported index type '%s' in list", cel_value_type_name(v));
    return false;
}

/* A member or item. With ret_found, it may be missing; otherwise that is an error. */
static struct cel_value part_of(
    struct cel_eval *e, struct cel_value v, struct cel_value key, bool *ret_found)
{
    struct cel_value part = cel_null();
    int64_t index;
    bool found = false;
    if (v.kind == CEL_MAP) {
        found = cel_map_find(e, v, key, &part);
    } else if (v.kind == CEL_LIST) {
        if (!to_index(e, key, &index, &part))
            return part;
        found = index >= 0 && (uint64_t)index < v.list->count;
        if (found)
            part = cel_list_get(e, v, (size_t)index);
    }
    if (ret_found)
        *ret_found = found;
    if (found || ret_found)
        return part;
    const char *text = cel_show(e->arena, key);
    return v.kind == CEL_LIST ? cel_error(e, "index out of bounds: %s", text)
                              : cel_error(e, "no such key: %s", text);
}

/* As in cel-go, a chain of selections and indices is one unit: it costs one for its root and one
 * for each link, and after an optional link everything is optional. */
static bool is_link(const struct cel_node *n)
{
    return (n->kind == CEL_NODE_SELECT) ||
           (n->kind == CEL_NODE_CALL && !n->target &&
               (str_eq(n->name, STR("_[_]")) || str_eq(n->name, STR("_[?_]")) ||
                   str_eq(n->name, STR("_?._"))));
}

static bool is_conditional(const struct cel_node *n)
{
    return n->kind == CEL_NODE_CALL && str_eq(n->name, STR("_?_:_"));
}

static struct cel_value chain(struct cel_eval *e, const struct cel_node *n, bool *ret_optional);

/* The value of a chain's root. A name lookup costs one, but inside of an index or a conditional
 * cel-go forgets to count it. */
static struct cel_value chain_root(struct cel_eval *e, const struct cel_node *n, bool *ret_optional)
{
    struct cel_value v;
    *ret_optional = false;
    if (n->kind == CEL_NODE_IDENT)
        v = lookup(e, n);
    else
        v = cel_evaluate(e, n);
    return v;
}

/* An index, without the cost of looking up a name. */
static struct cel_value evaluate_key(struct cel_eval *e, const struct cel_node *n)
{
    bool optional;
    if (n->kind != CEL_NODE_IDENT && !is_link(n))
        return cel_evaluate(e, n);
    return chain(e, n, &optional);
}

static struct cel_value unwrap(struct cel_value v, bool *ret_optional, bool *ret_none)
{
    *ret_none = false;
    if (v.kind != CEL_OPTIONAL)
        return v;
    *ret_none = !v.optional;
    *ret_optional = true;
    return v.optional ? *v.optional : v;
}

static struct cel_value link_once(struct cel_eval *e, const struct cel_node *n, struct cel_value v,
    struct cel_value key, bool *optional)
{
    bool found, is_test = n->kind == CEL_NODE_SELECT && n->is_test;
    struct cel_value part;
    if (key.kind == CEL_ERROR)
        return key;
    if (is_test) {
        part = part_of(e, v, key, &found);
        cel_spend(e, 1);
        return found && part.kind == CEL_ERROR ? part : cel_bool(found);
    }
    if (!*optional) {
        part = part_of(e, v, key, NULL);
        cel_spend(e, 1);
        return part;
    }
    part = part_of(e, v, key, &found);
    if (part.kind == CEL_ERROR)
        return part;
    cel_spend(e, found);
    return found ? part : (struct cel_value){ .kind = CEL_OPTIONAL };
}

static struct cel_value chain(struct cel_eval *e, const struct cel_node *n, bool *ret_optional)
{
    if (!is_link(n))
        return chain_root(e, n, ret_optional);
    const struct cel_node *operand = n->kind == CEL_NODE_SELECT ? n->target : n->args[0];
    struct cel_value v = chain(e, operand, ret_optional), key;
    bool none;
    if (v.kind == CEL_ERROR)
        return v;
    v = unwrap(v, ret_optional, &none);
    if (none)
        return v;
    if (n->kind == CEL_NODE_SELECT) {
        key = cel_string(n->name);
    } else {
        key = n->args[1]->kind == CEL_NODE_LITERAL ? n->args[1]->literal
                                                   : evaluate_key(e, n->args[1]);
        *ret_optional = *ret_optional || !str_eq(n->name, STR("_[_]"));
    }
    v = link_once(e, n, v, key, ret_optional);
    return v;
}

/* The cost of looking up a chain, except for its links. */
static uint64_t chain_cost(const struct cel_node *n)
{
    if (n->kind == CEL_NODE_SELECT && n->is_test)
        return 0;
    while (is_link(n))
        n = n->kind == CEL_NODE_SELECT ? n->target : n->args[0];
    return is_conditional(n) ? 0 : 1;
}

/* The value of a chain; an optional link makes it an optional. */
static struct cel_value evaluate_chain(struct cel_eval *e, const struct cel_node *n)
{
    bool optional = false, is_test = n->kind == CEL_NODE_SELECT && n->is_test;
    struct cel_value v = chain(e, n, &optional);
    if (v.kind == CEL_ERROR)
        return v;
    if (is_test)
        return v.kind == CEL_OPTIONAL ? cel_bool(v.optional) : v;
    return optional && v.kind != CEL_OPTIONAL ? cel_optional(e->arena, &v) : v;
}

/* ---- calls ---- */

static struct cel_value evaluate_logic(struct cel_eval *e, const struct cel_node *n, bool is_or)
{
    struct cel_value trouble = cel_bool(!is_or);
    for (uint32_t i = 0; i < n->count && !e->stopped; i++) {
        struct cel_value v = cel_evaluate(e, n->args[i]);
        if (v.kind == CEL_BOOL && v.boolean == is_or)
            return v;
        if (v.kind != CEL_BOOL && trouble.kind == CEL_BOOL)
            trouble = v.kind == CEL_ERROR ? v : cel_no_overload(e);
    }
    return trouble;
}

static struct cel_value evaluate_conditional(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value v = cel_evaluate(e, n->args[0]);
    if (v.kind != CEL_BOOL)
        return v.kind == CEL_ERROR ? v : cel_no_overload(e);
    const struct cel_node *branch = n->args[v.boolean ? 1 : 2];
    if (branch->kind == CEL_NODE_IDENT)
        return lookup(e, branch);
    return is_link(branch) ? evaluate_chain(e, branch) : cel_evaluate(e, branch);
}

/* or() and orValue(): the second is evaluated only if the first is empty. */
static struct cel_value evaluate_or(struct cel_eval *e, const struct cel_node *n, bool value)
{
    struct cel_value v = cel_evaluate(e, n->target);
    if (v.kind != CEL_OPTIONAL)
        return v;
    if (!v.optional)
        return cel_evaluate(e, n->args[0]);
    return value ? *v.optional : v;
}

static struct cel_value not_strictly_false(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value v = cel_evaluate(e, n->args[0]);
    cel_spend(e, 1);
    return cel_bool(v.kind != CEL_BOOL || v.boolean);
}

static struct cel_value no_overload_for(
    struct cel_eval *e, const struct cel_node *n, const struct cel_value *args, size_t count)
{
    /* Functions with one implementation for all types have a shorter message. */
    static const char *const terse[] = { "contains", "startsWith", "endsWith", "matches" };
    const char *types = "";
    for (size_t i = 0; i < lengthof(terse); i++)
        if (str_eq(n->name, str_of(terse[i])))
            return cel_no_overload(e);
    if (str_eq(n->name, STR("size")))
        return cel_error(e, "no such overload: size");
    for (size_t i = 0; i < count; i++)
        types =
            arena_printf(e->arena, "%s%s%s", types, i ? ", " : "", cel_value_type_name(args[i]));
    return cel_error(e, "no such overload: %.*s(%s)", (int)n->name.len, n->name.ptr, types);
}

static struct cel_value dispatch(
    struct cel_eval *e, const struct cel_node *n, const struct cel_value *args, size_t count)
{
    /* Operators check their operands themselves. */
    bool is_operator = strchr("_-!@", n->name.ptr[0]) != NULL;
    for (uint32_t i = 0; i < n->overload_count; i++) {
        const struct cel_function *f = n->overloads[i];
        if (!is_operator && !cel_signature_fits(f, args, count, n->target != NULL))
            continue;
        struct cel_value v = f->call(e, f, args, count);
        cel_spend(e, cel_cost_of_call(e, n, f, args, count, v));
        return v;
    }
    cel_spend(e, 1);
    return no_overload_for(e, n, args, count);
}

/* Functions whose cost cel-go cannot compute if an argument is an error. */
static bool breaks_on_errors(const struct cel_node *n)
{
    static const char *const names[] = { "@sortByAssociatedKeys", "distinct", "sort" };
    for (size_t i = 0; i < lengthof(names); i++)
        if (str_eq(n->name, str_of(names[i])))
            return true;
    return false;
}

static struct cel_value evaluate_args(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value args[CEL_ARGS_MAX], trouble = cel_null();
    size_t count = 0;
    uint32_t total = n->count + (n->target != NULL);
    for (uint32_t i = 0; i < total && !e->stopped; i++) {
        const struct cel_node *arg = n->target ? (i ? n->args[i - 1] : n->target) : n->args[i];
        args[count] = cel_evaluate(e, arg);
        if (args[count].kind == CEL_ERROR && trouble.kind != CEL_ERROR)
            trouble = args[count];
        if (trouble.kind == CEL_ERROR && total > 2)
            break;
        count++;
    }
    if (e->stopped)
        return stopped(e);
    if (trouble.kind == CEL_ERROR && breaks_on_errors(n)) {
        e->broken = "internal error: interface conversion: *types.Err is not traits.Lister: "
                    "missing method Add";
        e->stopped = true;
        return stopped(e);
    }
    if (trouble.kind == CEL_ERROR) {
        bool compares = n->overloads[0]->cost == CEL_COST_EQUAL && count == 2;
        cel_spend(e, compares ? cel_cost_of_call(e, n, n->overloads[0], args, count, trouble) : 1);
        return trouble;
    }
    return dispatch(e, n, args, count);
}

static struct cel_value evaluate_call(struct cel_eval *e, const struct cel_node *n)
{
    if (is_link(n)) {
        struct cel_value v = evaluate_chain(e, n);
        cel_spend(e, chain_cost(n));
        return v;
    }
    if (str_eq(n->name, STR("_&&_")))
        return evaluate_logic(e, n, false);
    if (str_eq(n->name, STR("_||_")))
        return evaluate_logic(e, n, true);
    if (is_conditional(n))
        return evaluate_conditional(e, n);
    if (str_eq(n->name, STR("@not_strictly_false")))
        return not_strictly_false(e, n);
    if (n->target && n->count == 1 && str_eq(n->name, STR("or")))
        return evaluate_or(e, n, false);
    if (n->target && n->count == 1 && str_eq(n->name, STR("orValue")))
        return evaluate_or(e, n, true);
    return evaluate_args(e, n);
}

/* ---- lists and maps ---- */

/* The value of an element; with `?`, the value of its optional. False: leave it out. */
static bool element(struct cel_eval *e, const struct cel_node *n, uint32_t i, struct cel_value *ret)
{
    *ret = cel_evaluate(e, n->args[i]);
    if (ret->kind == CEL_ERROR || !n->is_optional || !n->is_optional[i])
        return true;
    if (ret->kind != CEL_OPTIONAL) {
        *ret = cel_error(e,
            "cannot initialize optional list element from non-optional value %s",
            cel_show(e->arena, *ret));
        return true;
    }
    if (!ret->optional)
        return false;
    *ret = *ret->optional;
    return true;
}

static struct cel_value evaluate_list(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value *items = arena_array(e->arena, n->count + 1, sizeof(*items));
    size_t count = 0;
    for (uint32_t i = 0; i < n->count && !e->stopped; i++) {
        if (!element(e, n, i, &items[count]))
            continue;
        if (items[count].kind == CEL_ERROR) {
            cel_spend(e, CEL_COST_NEW_LIST);
            return items[count];
        }
        count++;
    }
    cel_spend(e, CEL_COST_NEW_LIST);
    return cel_list_new(e->arena, items, count);
}

static struct cel_value evaluate_map(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value map = cel_map_new(e->arena), value, found;
    for (uint32_t i = 0; i < n->count && !e->stopped; i += 2) {
        struct cel_value key = cel_evaluate(e, n->args[i]);
        if (key.kind == CEL_ERROR)
            return key;
        if (!element(e, n, i + 1, &value))
            continue;
        if (value.kind == CEL_ERROR)
            return value;
        if (!cel_map_find(e, map, key, &found))
            map = cel_map_insert(e->arena, map, key, value);
    }
    cel_spend(e, CEL_COST_NEW_MAP);
    return map;
}

/* ---- loops ---- */

struct loop {
    struct cel_eval *eval;
    const struct cel_fold *fold;
    struct cel_variable accu, var, var2;
};

struct cel_value cel_variable_now(struct cel_eval *e, const struct cel_variable *v)
{
    /* The only mutable state: a variable that gets its value at its first use. */
    struct cel_variable *variable = (struct cel_variable *)v;
    const struct cel_node *later = variable->later;
    const struct cel_variable *here = e->variables;
    e->variables = v->next;
    variable->value = cel_evaluate(e, later);
    variable->later = NULL;
    e->variables = here;
    return variable->value;
}

/* One iteration; false after the last one. */
static bool turn(struct loop *l, struct cel_value first, struct cel_value second)
{
    struct cel_eval *e = l->eval;
    l->var.value = first;
    l->var2.value = second;
    e->variables = l->fold->var2.ptr ? &l->var2 : &l->var;
    struct cel_value more = cel_evaluate(e, l->fold->condition);
    if (more.kind == CEL_BOOL && !more.boolean)
        return false;
    l->accu.value = cel_evaluate(e, l->fold->step);
    l->accu.later = NULL;
    return !e->stopped;
}

static struct cel_value evaluate_fold(struct cel_eval *e, const struct cel_node *n)
{
    const struct cel_fold *f = n->fold;
    const struct cel_variable *outer = e->variables;
    struct cel_value range = cel_evaluate(e, f->range), key, value;
    if (range.kind == CEL_ERROR || e->stopped)
        return range;
    if (range.kind != CEL_LIST && range.kind != CEL_MAP)
        return cel_error(e, "got '%s', expected iterable type", cel_value_type_name(range));
    struct loop l = { .eval = e,
        .fold = f,
        .accu = { .next = outer, .name = f->accu, .later = f->init },
        .var = { .next = &l.accu, .name = f->var },
        .var2 = { .next = &l.var, .name = f->var2 } };
    bool two = f->var2.ptr;
    if (range.kind == CEL_LIST) {
        for (size_t i = 0; i < range.list->count; i++) {
            value = cel_list_get(e, range, i);
            if (!turn(&l, two ? cel_int((int64_t)i) : value, value))
                break;
        }
    } else {
        for (size_t at = 0; cel_map_next(e, range, &at, &key, &value);)
            if (!turn(&l, key, value))
                break;
    }
    e->variables = &l.accu;
    value = cel_evaluate(e, f->result);
    e->variables = outer;
    return value;
}

struct cel_value cel_evaluate(struct cel_eval *e, const struct cel_node *n)
{
    struct cel_value v;
    if (e->stopped)
        return stopped(e);
    if (n->folded)
        return *n->folded;
    switch (n->kind) {
    case CEL_NODE_LITERAL:
        return n->literal;
    case CEL_NODE_IDENT:
        v = lookup(e, n);
        cel_spend(e, n->constant ? 0 : 1);
        break;
    case CEL_NODE_SELECT:
        v = evaluate_chain(e, n);
        cel_spend(e, chain_cost(n));
        break;
    case CEL_NODE_CALL:
        v = evaluate_call(e, n);
        break;
    case CEL_NODE_LIST:
        v = evaluate_list(e, n);
        break;
    case CEL_NODE_MAP:
        v = evaluate_map(e, n);
        break;
    default:
        v = evaluate_fold(e, n);
        break;
    }
    return e->stopped ? stopped(e) : v;
}
