#include "cedar/internal.h"

#include <stdlib.h>
#include <string.h>

static bool spend(struct evaluation *e, int64_t steps)
{
    e->steps -= steps;
    return e->steps >= 0 || fail(e->err, ERR_TOO_LARGE, "the evaluation takes too many steps");
}

static bool wrong_type(struct evaluation *e, const struct value *v, const char *wanted)
{
    return fail(
        e->err, ERR_INVALID, "type error: expected %s, got %s", wanted, value_type_name(v->type));
}

static bool want(struct evaluation *e, const struct value *v, enum value_type type)
{
    return v->type == type || wrong_type(e, v, value_type_name(type));
}

/* ---- entities ---- */

static int compare_str(struct str x, struct str y)
{
    int order = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

static int compare_uid(struct cedar_uid x, struct cedar_uid y)
{
    int order = compare_str(x.type, y.type);
    return order ? order : compare_str(x.id, y.id);
}

const struct cedar_entity *evaluate_entity(struct evaluation *e, struct cedar_uid uid)
{
    size_t low = 0, high = e->request->entity_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = compare_uid(uid, e->by_uid[middle]->uid);
        if (order == 0)
            return e->by_uid[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Walks up the hierarchy and visits each entity once. */
bool evaluate_in(struct evaluation *e, struct cedar_uid x, struct cedar_uid y)
{
    size_t most = e->request->entity_count, count = 0, at = 0;
    const struct cedar_entity *now = evaluate_entity(e, x);
    if (uid_equal(x, y))
        return true;
    if (!now)
        return false;
    const struct cedar_entity **seen = arena_array(e->arena, most, sizeof *seen);
    bool *marked = arena_array(e->arena, most, sizeof *marked);
    seen[count++] = now;
    for (; at < count; at++)
        for (size_t i = 0; i < seen[at]->parent_count; i++) {
            e->steps--;
            if (uid_equal(seen[at]->parents[i], y))
                return true;
            const struct cedar_entity *parent = evaluate_entity(e, seen[at]->parents[i]);
            size_t place = parent ? (size_t)(parent - e->request->entities) : 0;
            if (!parent || marked[place] || e->steps < 0)
                continue;
            marked[place] = true;
            seen[count++] = parent;
        }
    return false;
}

static bool attributes_of(
    struct evaluation *e, const struct value *v, struct value *ret, bool *ret_known)
{
    *ret_known = true;
    if (v->type == VALUE_RECORD) {
        *ret = *v;
        return true;
    }
    if (v->type != VALUE_ENTITY)
        return wrong_type(e, v, "entity or record");
    const struct cedar_entity *entity = evaluate_entity(e, v->uid);
    *ret_known = entity != NULL;
    *ret = (struct value){ .type = VALUE_RECORD };
    if (entity)
        *ret = value_of_json(e->arena, entity->attributes);
    return true;
}

static bool evaluate_attribute(
    struct evaluation *e, const struct node *n, const struct value *of, struct value *ret)
{
    struct value record;
    bool known;
    if (!attributes_of(e, of, &record, &known) || !spend(e, (int64_t)record.count))
        return false;
    if (!known)
        return fail(e->err,
            ERR_NOT_FOUND,
            "entity `%.*s::\"%.*s\"` does not exist",
            (int)of->uid.type.len,
            of->uid.type.ptr,
            (int)of->uid.id.len,
            of->uid.id.ptr);
    const struct value *found = value_member_of(&record, n->name);
    if (!found)
        return fail(e->err,
            ERR_NOT_FOUND,
            "attribute `%.*s` does not exist",
            (int)n->name.len,
            n->name.ptr);
    *ret = *found;
    return found->type != VALUE_BAD || wrong_type(e, found, "a Cedar value");
}

static bool evaluate_has(
    struct evaluation *e, const struct node *n, const struct value *of, struct value *ret)
{
    struct value record;
    bool known;
    if (!attributes_of(e, of, &record, &known) || !spend(e, (int64_t)record.count))
        return false;
    *ret =
        (struct value){ .type = VALUE_BOOL, .boolean = value_member_of(&record, n->name) != NULL };
    return true;
}

/* ---- operators ---- */

/* A star matches anything. After a mismatch, matching restarts at the last star: no recursion. */
static bool matches(struct evaluation *e, struct str text, struct str pattern)
{
    size_t t = 0, p = 0, star = SIZE_MAX, mark = 0;
    while (t < text.len && e->steps-- > 0) {
        if (p < pattern.len && pattern.ptr[p] == CEDAR_ANY) {
            star = p++;
            mark = t;
        } else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == CEDAR_ANY)
        p++;
    return p == pattern.len && t == text.len;
}

static bool evaluate_membership(
    struct evaluation *e, const struct value *x, const struct value *y, struct value *ret)
{
    *ret = (struct value){ .type = VALUE_BOOL };
    if (!want(e, x, VALUE_ENTITY))
        return false;
    if (y->type == VALUE_ENTITY) {
        ret->boolean = evaluate_in(e, x->uid, y->uid);
        return spend(e, 0);
    }
    if (y->type != VALUE_SET)
        return wrong_type(e, y, "entity or set of entities");
    for (size_t i = 0; i < y->count; i++)
        if (!want(e, &y->items[i], VALUE_ENTITY))
            return false;
    for (size_t i = 0; i < y->count && !ret->boolean; i++)
        ret->boolean = evaluate_in(e, x->uid, y->items[i].uid);
    return spend(e, 0);
}

static bool evaluate_arithmetic(struct evaluation *e, const struct node *n, const struct value *x,
    const struct value *y, struct value *ret)
{
    if (!want(e, x, VALUE_LONG) || !want(e, y, VALUE_LONG))
        return false;
    *ret = (struct value){ .type = VALUE_LONG };
    bool over = n->type == NODE_ADD ? __builtin_add_overflow(x->number, y->number, &ret->number)
                : n->type == NODE_SUBTRACT
                    ? __builtin_sub_overflow(x->number, y->number, &ret->number)
                    : __builtin_mul_overflow(x->number, y->number, &ret->number);
    return !over || fail(e->err, ERR_INVALID, "integer overflow");
}

static bool evaluate_order(struct evaluation *e, const struct node *n, const struct value *x,
    const struct value *y, struct value *ret)
{
    if (!want(e, x, VALUE_LONG) || !want(e, y, VALUE_LONG))
        return false;
    bool holds = n->type == NODE_LESS         ? x->number < y->number
                 : n->type == NODE_LESS_EQUAL ? x->number <= y->number
                 : n->type == NODE_GREATER    ? x->number > y->number
                                              : x->number >= y->number;
    *ret = (struct value){ .type = VALUE_BOOL, .boolean = holds };
    return true;
}

static bool evaluate_pair(struct evaluation *e, const struct node *n, const struct value *x,
    const struct value *y, struct value *ret)
{
    switch (n->type) {
    case NODE_EQUAL:
    case NODE_UNEQUAL:
        *ret = (struct value){ .type = VALUE_BOOL,
            .boolean = value_equal(x, y, &e->steps) == (n->type == NODE_EQUAL) };
        return spend(e, 0);
    case NODE_IN:
        return evaluate_membership(e, x, y, ret);
    case NODE_ADD:
    case NODE_SUBTRACT:
    case NODE_MULTIPLY:
        return evaluate_arithmetic(e, n, x, y, ret);
    default:
        return evaluate_order(e, n, x, y, ret);
    }
}

/* `x is T`, `x is T in y`: the second part is evaluated only if the first is true. */
static bool evaluate_is(
    struct evaluation *e, const struct node *n, const struct value *x, struct value *ret)
{
    if (!want(e, x, VALUE_ENTITY))
        return false;
    *ret = (struct value){ .type = VALUE_BOOL, .boolean = str_eq(x->uid.type, n->name) };
    struct value y;
    if (!ret->boolean || n->count == 1)
        return true;
    return evaluate(e, n->arguments[1], &y) && evaluate_membership(e, x, &y, ret);
}

static bool evaluate_single(
    struct evaluation *e, const struct node *n, const struct value *x, struct value *ret)
{
    switch (n->type) {
    case NODE_NOT:
        if (!want(e, x, VALUE_BOOL))
            return false;
        *ret = (struct value){ .type = VALUE_BOOL, .boolean = !x->boolean };
        return true;
    case NODE_NEGATE:
        *ret = (struct value){ .type = VALUE_LONG };
        if (!want(e, x, VALUE_LONG))
            return false;
        return !__builtin_sub_overflow((int64_t)0, x->number, &ret->number) ||
               fail(e->err, ERR_INVALID, "integer overflow");
    case NODE_ATTRIBUTE:
        return evaluate_attribute(e, n, x, ret);
    case NODE_HAS:
        return evaluate_has(e, n, x, ret);
    case NODE_LIKE:
        if (!want(e, x, VALUE_STRING))
            return false;
        *ret = (struct value){ .type = VALUE_BOOL, .boolean = matches(e, x->string, n->name) };
        return spend(e, 0);
    default:
        return evaluate_is(e, n, x, ret);
    }
}

/* && and || stop as soon as the result is known. */
static bool evaluate_logic(struct evaluation *e, const struct node *n, struct value *ret)
{
    if (!evaluate(e, n->arguments[0], ret) || !want(e, ret, VALUE_BOOL))
        return false;
    if (ret->boolean == (n->type == NODE_OR))
        return true;
    return evaluate(e, n->arguments[1], ret) && want(e, ret, VALUE_BOOL);
}

static bool evaluate_many(struct evaluation *e, const struct node *n, struct value *ret)
{
    struct value *values = arena_array(e->arena, n->count, sizeof *values);
    for (size_t i = 0; i < n->count; i++)
        if (!evaluate(e, n->arguments[i], &values[i]))
            return false;
    if (n->type == NODE_METHOD)
        return evaluate_method(e, n, values, ret);
    *ret =
        (struct value){ .type = n->type == NODE_SET ? VALUE_SET : VALUE_RECORD, .count = n->count };
    if (n->type == NODE_SET) {
        ret->items = values;
        return true;
    }
    struct value_member *members = arena_array(e->arena, n->count, sizeof *members);
    for (size_t i = 0; i < n->count; i++)
        members[i] = (struct value_member){ n->keys[i], values[i] };
    ret->members = members;
    return true;
}

static struct value variable(const struct evaluation *e, struct str name)
{
    return name.ptr[0] == 'p'   ? e->principal
           : name.ptr[0] == 'a' ? e->action
           : name.ptr[0] == 'r' ? e->resource
                                : e->context;
}

bool evaluate(struct evaluation *e, const struct node *n, struct value *ret)
{
    struct value x, y;
    if (!spend(e, 1))
        return false;
    switch (n->type) {
    case NODE_LITERAL:
        *ret = n->value;
        return true;
    case NODE_VARIABLE:
        *ret = variable(e, n->name);
        return true;
    case NODE_IF:
        return evaluate(e, n->arguments[0], &x) && want(e, &x, VALUE_BOOL) &&
               evaluate(e, n->arguments[x.boolean ? 1 : 2], ret);
    case NODE_OR:
    case NODE_AND:
        return evaluate_logic(e, n, ret);
    case NODE_SET:
    case NODE_RECORD:
    case NODE_METHOD:
        return evaluate_many(e, n, ret);
    case NODE_NOT:
    case NODE_NEGATE:
    case NODE_ATTRIBUTE:
    case NODE_HAS:
    case NODE_LIKE:
    case NODE_IS:
        return evaluate(e, n->arguments[0], &x) && evaluate_single(e, n, &x, ret);
    default:
        return evaluate(e, n->arguments[0], &x) && evaluate(e, n->arguments[1], &y) &&
               evaluate_pair(e, n, &x, &y, ret);
    }
}
