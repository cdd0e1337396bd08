/* Expands macros. Nodes of an expansion have the position of the call. */

#include "cel/ast.h"

struct call;

struct macro {
    const char *name;
    uint32_t args_min, args_max;
    struct cel_node *(*expand)(const struct call *c);
    int arg; /* for expand */
};

struct call {
    struct cel_source *source;
    uint32_t offset;
    struct cel_node *target, **args;
    uint32_t count;
    const struct macro *macro;
};

#define ACCU "@result"

/* ---- nodes ---- */

static struct cel_node *new_literal(const struct call *c, struct cel_value v)
{
    struct cel_node *n = cel_node_new(c->source->arena, CEL_NODE_LITERAL, c->offset);
    n->literal = v;
    return n;
}

static struct cel_node *new_ident(const struct call *c, struct str name)
{
    struct cel_node *n = cel_node_new(c->source->arena, CEL_NODE_IDENT, c->offset);
    n->name = name;
    return n;
}

static struct cel_node *accu(const struct call *c)
{
    return new_ident(c, STR(ACCU));
}

/* A container with at most one element. */
static struct cel_node *new_container(
    const struct call *c, enum cel_node_kind kind, struct cel_node *item)
{
    struct cel_node *n = cel_node_new(c->source->arena, kind, c->offset);
    n->args = arena_array(c->source->arena, 1, sizeof(item));
    n->args[0] = item;
    n->count = item != NULL;
    return cel_node_nest(n);
}

#define new_call(c, function, ...)                                                                 \
    new_call_of((c), (function), (struct cel_node *[]){ __VA_ARGS__, NULL })
static struct cel_node *new_call_of(
    const struct call *c, const char *function, struct cel_node **args)
{
    uint32_t count = 0;
    while (args[count])
        count++;
    return cel_node_call(c->source->arena, c->offset, function, NULL, args, count);
}

static struct cel_node *new_member_call(
    const struct call *c, const char *function, struct cel_node *target, struct cel_node *arg)
{
    return cel_node_call(c->source->arena, c->offset, function, target, &arg, arg != NULL);
}

static struct cel_node *new_fold(const struct call *c, struct cel_fold fold)
{
    struct cel_node *n = cel_node_new(c->source->arena, CEL_NODE_FOLD, c->offset);
    n->fold = arena_new(c->source->arena, struct cel_fold);
    *n->fold = fold;
    return cel_node_nest(n);
}

static struct cel_node *misused(const struct call *c, const struct cel_node *at, const char *text)
{
    cel_issue_add(c->source, at->offset, "%s", text);
    return NULL;
}

/* ---- variables ---- */

static bool takes_accu(const struct call *c, const struct cel_node *n)
{
    bool same = str_eq(n->name, STR(ACCU)) || str_eq(n->name, STR("__result__"));
    if (same)
        misused(c, n, "iteration variable overwrites accumulator variable");
    return same;
}

/* The loop variables: one, or two if `two`. */
static bool read_variables(
    const struct call *c, bool two, const char *complaint, struct cel_fold *ret)
{
    for (uint32_t i = 0; i <= two; i++)
        if (c->args[i]->kind != CEL_NODE_IDENT) {
            misused(c, c->args[i], complaint);
            return false;
        }
    ret->var = c->args[0]->name;
    ret->accu = STR(ACCU);
    ret->range = c->target;
    ret->result = accu(c);
    if (two && str_eq(ret->var, c->args[1]->name)) {
        misused(c,
            c->args[1],
            arena_printf(c->source->arena,
                "duplicate variable name: %.*s",
                (int)ret->var.len,
                ret->var.ptr));
        return false;
    }
    if (two)
        ret->var2 = c->args[1]->name;
    return !takes_accu(c, c->args[0]) && !(two && takes_accu(c, c->args[1]));
}

#define A_NAME "argument must be a simple name"

/* ---- the macros ---- */

static struct cel_node *expand_has(const struct call *c)
{
    const struct cel_node *arg = c->args[0];
    if (arg->kind != CEL_NODE_SELECT || arg->is_test)
        return misused(c, arg, "invalid argument to has() macro");
    struct cel_node *n = cel_node_new(c->source->arena, CEL_NODE_SELECT, c->offset);
    n->target = arg->target;
    n->name = arg->name;
    n->is_test = true;
    return cel_node_nest(n);
}

static struct cel_node *expand_all(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, c->count == 3, A_NAME, &f))
        return NULL;
    f.init = new_literal(c, cel_bool(true));
    f.condition = new_call(c, "@not_strictly_false", accu(c));
    f.step = new_call(c, "_&&_", accu(c), c->args[c->count - 1]);
    return new_fold(c, f);
}

static struct cel_node *expand_exists(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, c->count == 3, A_NAME, &f))
        return NULL;
    f.init = new_literal(c, cel_bool(false));
    f.condition = new_call(c, "@not_strictly_false", new_call(c, "!_", accu(c)));
    f.step = new_call(c, "_||_", accu(c), c->args[c->count - 1]);
    return new_fold(c, f);
}

static struct cel_node *expand_exists_one(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, c->count == 3, A_NAME, &f))
        return NULL;
    f.init = new_literal(c, cel_int(0));
    f.condition = new_literal(c, cel_bool(true));
    struct cel_node *more = new_call(c, "_+_", accu(c), new_literal(c, cel_int(1)));
    f.step = new_call(c, "_?_:_", c->args[c->count - 1], more, accu(c));
    f.result = new_call(c, "_==_", accu(c), new_literal(c, cel_int(1)));
    return new_fold(c, f);
}

/* Adds to a list or map if the filter, if any, is true. */
static struct cel_node *collect(const struct call *c, struct cel_fold f, enum cel_node_kind kind,
    struct cel_node *filter, struct cel_node *step)
{
    f.init = new_container(c, kind, NULL);
    f.condition = new_literal(c, cel_bool(true));
    f.step = filter ? new_call(c, "_?_:_", filter, step, accu(c)) : step;
    return new_fold(c, f);
}

static struct cel_node *expand_map(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, false, "argument is not an identifier", &f))
        return NULL;
    struct cel_node *item = new_container(c, CEL_NODE_LIST, c->args[c->count - 1]);
    return collect(
        c, f, CEL_NODE_LIST, c->count == 3 ? c->args[1] : NULL, new_call(c, "_+_", accu(c), item));
}

static struct cel_node *expand_filter(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, false, "argument is not an identifier", &f))
        return NULL;
    struct cel_node *item = new_container(c, CEL_NODE_LIST, c->args[0]);
    return collect(c, f, CEL_NODE_LIST, c->args[1], new_call(c, "_+_", accu(c), item));
}

enum { TO_LIST, TO_MAP, TO_MAP_ENTRY };

static struct cel_node *expand_transform(const struct call *c)
{
    struct cel_fold f = { 0 };
    if (!read_variables(c, true, A_NAME, &f))
        return NULL;
    struct cel_node *made = c->args[c->count - 1], *step;
    if (c->macro->arg == TO_LIST)
        step = new_call(c, "_+_", accu(c), new_container(c, CEL_NODE_LIST, made));
    else if (c->macro->arg == TO_MAP)
        step = new_call(c, "cel.@mapInsert", accu(c), new_ident(c, f.var), made);
    else
        step = new_call(c, "cel.@mapInsert", accu(c), made);
    return collect(c,
        f,
        c->macro->arg == TO_LIST ? CEL_NODE_LIST : CEL_NODE_MAP,
        c->count == 4 ? c->args[2] : NULL,
        step);
}

/* Binds a value to a name: a loop that never runs, with the name as its accumulator. */
static struct cel_node *bind(
    const struct call *c, struct str name, struct cel_node *value, struct cel_node *body)
{
    return new_fold(c,
        (struct cel_fold){ .var = STR("#unused"),
            .accu = name,
            .range = new_container(c, CEL_NODE_LIST, NULL),
            .init = value,
            .condition = new_literal(c, cel_bool(false)),
            .step = new_ident(c, name),
            .result = body });
}

static struct cel_node *expand_opt_map(const struct call *c)
{
    bool flat = c->macro->arg;
    if (c->args[0]->kind != CEL_NODE_IDENT)
        return misused(c,
            c->args[0],
            flat ? "optFlatMap() variable name must be a simple identifier"
                 : "optMap() variable name must be a simple identifier");
    struct cel_node *value = new_member_call(c, "value", c->target, NULL);
    struct cel_node *mapped = bind(c, c->args[0]->name, value, c->args[1]);
    return new_call(c,
        "_?_:_",
        new_member_call(c, "hasValue", c->target, NULL),
        flat ? mapped : new_call(c, "optional.of", mapped),
        cel_node_call(c->source->arena, c->offset, "optional.none", NULL, NULL, 0));
}

static struct cel_node *expand_bind(const struct call *c)
{
    bool meant = c->source->binds && c->target->kind == CEL_NODE_IDENT &&
                 str_eq(c->target->name, STR("cel"));
    if (!meant)
        return NULL;
    if (c->args[0]->kind != CEL_NODE_IDENT)
        return misused(c, c->args[0], "cel.bind() variable names must be simple identifiers");
    return bind(c, c->args[0]->name, c->args[1], c->args[2]);
}

static struct cel_node *expand_sort_by(const struct call *c)
{
    static const char input[] = "@__sortBy_input__";
    if (c->target->kind == CEL_NODE_LITERAL || c->target->kind == CEL_NODE_MAP)
        return misused(c,
            c->target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression");
    struct call of_input = *c;
    of_input.target = new_ident(c, str_of(input));
    struct cel_node *keys = expand_map(&of_input);
    if (!keys)
        return NULL;
    struct cel_node *sorted =
        new_member_call(c, "@sortByAssociatedKeys", new_ident(c, str_of(input)), keys);
    return bind(c, str_of(input), c->target, sorted);
}

static const struct macro member_macros[] = {
    { "all", 2, 3, expand_all, 0 },
    { "exists", 2, 3, expand_exists, 0 },
    { "exists_one", 2, 3, expand_exists_one, 0 },
    { "existsOne", 3, 3, expand_exists_one, 0 },
    { "map", 2, 3, expand_map, 0 },
    { "filter", 2, 2, expand_filter, 0 },
    { "transformList", 3, 4, expand_transform, TO_LIST },
    { "transformMap", 3, 4, expand_transform, TO_MAP },
    { "transformMapEntry", 3, 4, expand_transform, TO_MAP_ENTRY },
    { "optMap", 2, 2, expand_opt_map, false },
    { "optFlatMap", 2, 2, expand_opt_map, true },
    { "sortBy", 2, 2, expand_sort_by, 0 },
    { "bind", 3, 3, expand_bind, 0 },
    { 0 },
};

static const struct macro global_macros[] = {
    { "has", 1, 1, expand_has, 0 },
    { 0 },
};

struct cel_node *cel_macro_expand(struct cel_source *s, uint32_t offset, struct str function,
    struct cel_node *target, struct cel_node **args, uint32_t count)
{
    for (const struct macro *m = target ? member_macros : global_macros; m->name; m++)
        if (str_eq(function, str_of(m->name)) && count >= m->args_min && count <= m->args_max)
            return m->expand(&(struct call){ s, offset, target, args, count, m });
    return NULL;
}
