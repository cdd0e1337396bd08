#include "cel/cel.h"

#include "cel/ast.h"
#include "cel/cost.h"
#include "cel/eval.h"
#include "cel/lib.h"

struct planner {
    struct cel_program *program;
    struct arena *arena;
    const char *trouble;
};

static bool is_constant(const struct cel_node *n)
{
    return n->kind == CEL_NODE_LITERAL || n->folded || (n->kind == CEL_NODE_IDENT && n->constant);
}

static bool converts_type(const struct cel_node *n)
{
    static const char *const names[] = {
        "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"
    };
    for (size_t i = 0; i < lengthof(names); i++)
        if (n->kind == CEL_NODE_CALL && !n->target && n->count == 1 &&
            str_eq(n->name, str_of(names[i])))
            return true;
    return false;
}

/* Lists, maps and conversions of constants are constants, as in cel-go: they cost nothing, and one
 * that fails is a compile error. */
static void fold(struct planner *p, struct cel_node *n)
{
    bool in_nothing = n->kind == CEL_NODE_CALL && str_eq(n->name, STR("@in")) &&
                      n->args[1]->kind == CEL_NODE_LIST && !n->args[1]->count;
    if (in_nothing) {
        struct cel_value *no = arena_new(p->arena, struct cel_value);
        *no = cel_bool(false);
        n->folded = no;
        return;
    }
    bool is_container = (n->kind == CEL_NODE_LIST || n->kind == CEL_NODE_MAP) && !n->is_optional;
    if (!is_container && !converts_type(n))
        return;
    for (uint32_t i = 0; i < n->count; i++)
        if (!is_constant(n->args[i]))
            return;
    struct cel_eval e = { .arena = p->arena, .cost_limit = UINT64_MAX };
    struct cel_value *value = arena_new(p->arena, struct cel_value);
    *value = cel_evaluate(&e, n);
    if (value->kind == CEL_ERROR && !p->trouble)
        p->trouble = arena_printf(
            p->arena, "program instantiation failed: %s", str_dup(p->arena, value->text));
    n->folded = value;
}

static void keep_regex(struct planner *p, struct cel_node *n)
{
    bool matches = str_eq(n->name, STR("matches"));
    if (!matches && !str_eq(n->name, STR("find")) && !str_eq(n->name, STR("findAll")))
        return;
    const struct cel_node *arg = n->target ? n->args[0] : n->count == 2 ? n->args[1] : NULL;
    if (!arg || arg->kind != CEL_NODE_LITERAL || arg->literal.kind != CEL_STRING)
        return;
    struct cel_known_regex *known = arena_new(p->arena, struct cel_known_regex);
    *known = (struct cel_known_regex){ p->program->regexes, arg->literal.text, NULL };
    const char *trouble = cel_regex_compile(p->arena, known->pattern, &known->regex);
    if (!trouble)
        p->program->regexes = known;
    else if (!p->trouble)
        p->trouble = arena_printf(p->arena, "program instantiation failed: %s", trouble);
}

static void plan(struct planner *p, struct cel_node *n)
{
    if (!n || n->is_planned)
        return;
    n->is_planned = true;
    if (n->kind == CEL_NODE_LITERAL)
        return;
    if (n->kind == CEL_NODE_FOLD) {
        plan(p, n->fold->range);
        plan(p, n->fold->init);
        plan(p, n->fold->condition);
        plan(p, n->fold->step);
        plan(p, n->fold->result);
        return;
    }
    plan(p, n->kind == CEL_NODE_IDENT ? NULL : n->target);
    for (uint32_t i = 0; i < n->count; i++)
        plan(p, n->args[i]);
    fold(p, n);
    if (n->kind == CEL_NODE_CALL)
        keep_regex(p, n);
}

const char *cel_compile(struct arena *a, const struct cel_decl *self, const char *text,
    const struct cel_options *options, const struct cel_program **ret)
{
    const char *variable = options ? options->variable : NULL;
    struct cel_source source = { .arena = a, .text = str_of(text), .binds = variable };
    bool optional = options && options->optional_old_self;
    struct cel_program *program = arena_new(a, struct cel_program);
    struct cel_node *root = cel_parse(&source);
    assert(self->type);
    if (root)
        cel_check(&source, root, &(struct cel_check_options){ self, optional, variable });
    if (source.issue_count)
        return arena_printf(a, "compilation failed: %s", cel_issues_text(&source));
    if (options && options->wanted != CEL_DYN && options->wanted != root->type->kind)
        return options->wanted == CEL_BOOL ? "cel expression must evaluate to a bool"
                                           : "messageExpression must evaluate to a string";
    *program = (struct cel_program){ .root = root,
        .self = self,
        .type = root->type,
        .uses_old_self = source.uses_old_self,
        .optional_old_self = optional };
    struct planner p = { .program = program, .arena = a };
    plan(&p, root);
    if (p.trouble)
        return p.trouble;
    program->estimate = cel_cost_estimate(a, self, root);
    *ret = program;
    return NULL;
}

struct cel_outcome cel_run(
    const struct cel_program *p, struct arena *a, const struct cel_input *input)
{
    struct cel_eval e = { .arena = a, .cost_limit = CEL_BUDGET_CALL, .regexes = p->regexes };
    struct cel_variable self = { .name = STR("self") }, old = { &self, STR("oldSelf") };
    bool has_old = json_present(input->old_self);
    self.value = cel_value_of_json(a, input->self, p->self);
    e.variables = &self;
    if (has_old)
        old.value = cel_value_of_json(a, input->old_self, p->self);
    if (p->optional_old_self)
        old.value = cel_optional(a, has_old ? &old.value : NULL);
    if (has_old || p->optional_old_self)
        e.variables = &old;
    struct cel_outcome got = { .value = cel_evaluate(&e, p->root) };
    got.cost = e.cost;
    got.over_budget = e.stopped && !e.broken;
    if (e.broken)
        got.value = cel_error(&e, "%s", e.broken);
    return got;
}
