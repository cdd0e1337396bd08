#include "cel/type.h"

#include "cel/decl.h"

unsigned cel_types_more(struct cel_types *ts, unsigned count)
{
    unsigned first = ts->count;
    if (ts->count + count > ts->size) {
        unsigned size = (ts->count + count) * 2;
        struct cel_binding *bindings = arena_array(ts->arena, size, sizeof(*bindings));
        for (unsigned i = 0; i < ts->count; i++)
            bindings[i] = ts->bindings[i];
        ts->bindings = bindings;
        ts->size = size;
    }
    ts->count += count;
    return first;
}

const struct cel_type *cel_types_new_param(struct cel_types *ts)
{
    struct cel_type *t = arena_new(ts->arena, struct cel_type);
    *t = (struct cel_type){ .kind = CEL_PARAM, .param = cel_types_more(ts, 1) };
    return t;
}

static void bind(struct cel_types *ts, unsigned param, const struct cel_type *type)
{
    if (ts->undo_count == ts->undo_size) {
        unsigned size = ts->undo_size * 2 + 16;
        struct cel_undo *undo = arena_array(ts->arena, size, sizeof(*undo));
        for (unsigned i = 0; i < ts->undo_count; i++)
            undo[i] = ts->undo[i];
        ts->undo = undo;
        ts->undo_size = size;
    }
    ts->undo[ts->undo_count++] = (struct cel_undo){ param, ts->bindings[param].type };
    ts->bindings[param].type = type;
}

bool cel_type_same(const struct cel_type *a, const struct cel_type *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind)
        return false;
    if (a->kind == CEL_PARAM)
        return a->param == b->param;
    if (a->kind == CEL_OBJECT)
        return a->decl == b->decl;
    return cel_type_same(a->of[0], b->of[0]) && cel_type_same(a->of[1], b->of[1]);
}

static bool is_dyn(const struct cel_type *t)
{
    return t->kind == CEL_DYN;
}

static bool is_dyn_or_error(const struct cel_type *t)
{
    return t->kind == CEL_DYN || t->kind == CEL_ERROR;
}

/* Types that may be null: all object types, and times. */
static bool is_nullable(const struct cel_type *t)
{
    return t->kind == CEL_NULL || t->kind == CEL_OBJECT || t->kind == CEL_OPTIONAL ||
           t->kind == CEL_TIMESTAMP || t->kind == CEL_DURATION ||
           (t->kind >= CEL_QUANTITY && t->kind <= CEL_SEMVER);
}

static bool is_less_specific(const struct cel_type *a, const struct cel_type *b)
{
    if (is_dyn(a) || a->kind == CEL_PARAM)
        return true;
    if (is_dyn(b) || b->kind == CEL_PARAM || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CEL_OPTIONAL:
    case CEL_LIST:
        return is_less_specific(a->of[0], b->of[0]);
    case CEL_MAP:
        return is_less_specific(a->of[0], b->of[0]) && is_less_specific(a->of[1], b->of[1]);
    case CEL_TYPE:
        return true;
    default:
        return cel_type_same(a, b);
    }
}

const struct cel_type *cel_type_join(const struct cel_type *a, const struct cel_type *b)
{
    return is_less_specific(a, b) ? a : b;
}

static bool occurs(
    const struct cel_types *ts, const struct cel_type *param, const struct cel_type *within)
{
    if (cel_type_same(param, within))
        return true;
    if (within->kind == CEL_PARAM) {
        const struct cel_type *bound = ts->bindings[within->param].type;
        return bound && occurs(ts, param, bound);
    }
    return (within->of[0] && occurs(ts, param, within->of[0])) ||
           (within->of[1] && occurs(ts, param, within->of[1]));
}

static bool fits(struct cel_types *ts, const struct cel_type *a, const struct cel_type *b);

/* Whether a parameter is, or can become, this type. *ret_bound: it was bound before. */
static bool fits_param(
    struct cel_types *ts, const struct cel_type *t, const struct cel_type *param, bool *ret_bound)
{
    *ret_bound = true;
    if (cel_type_same(t, param))
        return true;
    const struct cel_type *bound = ts->bindings[param->param].type;
    if (bound) {
        if (cel_type_same(t, bound))
            return true;
        if (!fits(ts, t, bound))
            return false;
        const struct cel_type *wider = cel_type_join(t, bound);
        if (!occurs(ts, param, wider))
            bind(ts, param->param, wider);
        return true;
    }
    *ret_bound = false;
    if (occurs(ts, param, t))
        return false;
    bind(ts, param->param, t);
    return true;
}

static bool fits(struct cel_types *ts, const struct cel_type *a, const struct cel_type *b)
{
    bool bound;
    if (b->kind == CEL_PARAM) {
        if (fits_param(ts, a, b, &bound))
            return true;
        if (bound)
            return false;
    }
    if (a->kind == CEL_PARAM)
        return fits_param(ts, b, a, &bound);
    if (is_dyn_or_error(a) || is_dyn_or_error(b))
        return true;
    if (a->kind == CEL_NULL)
        return is_nullable(b);
    if (b->kind == CEL_NULL)
        return is_nullable(a);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CEL_TYPE:
        return true;
    case CEL_LIST:
    case CEL_OPTIONAL:
        return fits(ts, a->of[0], b->of[0]);
    case CEL_MAP:
        return fits(ts, a->of[0], b->of[0]) && fits(ts, a->of[1], b->of[1]);
    default:
        return cel_type_same(a, b);
    }
}

bool cel_type_fits_all(struct cel_types *ts, const struct cel_type *const *a,
    const struct cel_type *const *b, size_t count)
{
    unsigned mark = ts->undo_count;
    for (size_t i = 0; i < count; i++)
        if (!fits(ts, a[i], b[i])) {
            while (ts->undo_count > mark) {
                const struct cel_undo *u = &ts->undo[--ts->undo_count];
                ts->bindings[u->param].type = u->was;
            }
            return false;
        }
    ts->undo_count = 0;
    return true;
}

bool cel_type_fits(struct cel_types *ts, const struct cel_type *a, const struct cel_type *b)
{
    return cel_type_fits_all(ts, &a, &b, 1);
}

const struct cel_type *cel_type_resolve(
    struct cel_types *ts, const struct cel_type *t, bool free_to_dyn)
{
    while (t->kind == CEL_PARAM && ts->bindings[t->param].type)
        t = ts->bindings[t->param].type;
    if (t->kind == CEL_PARAM)
        return free_to_dyn ? cel_type_of(CEL_DYN) : t;
    if (!t->of[0])
        return t;
    const struct cel_type *first = cel_type_resolve(ts, t->of[0], free_to_dyn);
    const struct cel_type *second = t->of[1] ? cel_type_resolve(ts, t->of[1], free_to_dyn) : NULL;
    if (first == t->of[0] && second == t->of[1])
        return t;
    return cel_type_new(ts->arena, t->kind, first, second);
}

/* Objects are named by their path from self. */
static const char *object_name(const struct cel_types *ts, const struct cel_decl *d)
{
    if (d == ts->self || !d->parent)
        return "selfType1";
    return arena_printf(ts->arena, "%s.%s", object_name(ts, d->parent), d->step ? d->step : "");
}

const char *cel_type_text(const struct cel_types *ts, const struct cel_type *t)
{
    if (t->name)
        return t->name;
    switch (t->kind) {
    case CEL_ERROR:
        return "!error!";
    case CEL_NULL:
        return "null";
    case CEL_TIMESTAMP:
        return "timestamp";
    case CEL_DURATION:
        return "duration";
    case CEL_PARAM:
        return arena_printf(ts->arena, "_var%u", t->param);
    case CEL_OBJECT:
        return object_name(ts, t->decl);
    case CEL_MAP:
        return arena_printf(
            ts->arena, "map(%s, %s)", cel_type_text(ts, t->of[0]), cel_type_text(ts, t->of[1]));
    default:
        return t->of[0]
                   ? arena_printf(
                         ts->arena, "%s(%s)", cel_kind_name(t->kind), cel_type_text(ts, t->of[0]))
                   : cel_kind_name(t->kind);
    }
}
