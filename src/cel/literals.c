/* Errors in literals that can be found without values: durations, times and regular expressions in
 * quotes, formats that do not fit their arguments, lists of mixed types. */

#include "cel/ast.h"
#include "cel/format.h"
#include "cel/lib.h"
#include "cel/regex/regex.h"
#include "cel/type.h"

struct walk {
    struct cel_source *source;
    const struct cel_types *types;
};

static bool is_call(const struct cel_node *n, const char *name)
{
    return n->kind == CEL_NODE_CALL && str_eq(n->name, str_of(name));
}

/* Tries to convert a literal. */
static bool converts(struct walk *w, const struct cel_node *n)
{
    struct cel_eval e = { .arena = w->source->arena };
    const struct cel_function *f = n->overload_count == 1 ? n->overloads[0] : NULL;
    return !f || f->call(&e, f, &n->args[0]->literal, 1).kind != CEL_ERROR;
}

static void check_argument(struct walk *w, const struct cel_node *n)
{
    if (!n->count || n->args[0]->kind != CEL_NODE_LITERAL)
        return;
    const struct cel_node *arg = n->args[0];
    const struct cel_regex *re;
    if ((is_call(n, "duration") || is_call(n, "timestamp")) && !converts(w, n))
        cel_issue_add(w->source,
            arg->offset,
            "invalid %s argument",
            is_call(n, "duration") ? "duration" : "timestamp");
    if (is_call(n, "matches") && arg->literal.kind == CEL_STRING &&
        cel_regex_compile(w->source->arena, arg->literal.text, &re))
        cel_issue_add(w->source, arg->offset, "invalid matches argument");
}

/* ---- formats ---- */

static const char *wrong_type(struct walk *w, const struct cel_clause *c, const struct cel_node *n)
{
    if (cel_clause_takes(c, n->type->kind))
        return NULL;
    return arena_printf(w->source->arena,
        "error during formatting: %s, was given %s",
        c->wrong,
        n->type->kind == CEL_OBJECT ? cel_type_text(w->types, n->type)
                                    : cel_kind_name(n->type->kind));
}

static void check_format(struct walk *w, const struct cel_node *n)
{
    bool is_literal = n->target && n->target->kind == CEL_NODE_LITERAL && n->count == 1 &&
                      n->args[0]->kind == CEL_NODE_LIST && n->target->literal.kind == CEL_STRING;
    if (!is_call(n, "format") || !is_literal)
        return;
    struct str rest = n->target->literal.text;
    const struct cel_node *args = n->args[0];
    uint32_t used = 0;
    while (rest.len) {
        size_t pass = 1;
        if (*rest.ptr == '%' && rest.len > 1 && rest.ptr[1] == '%') {
            pass = 2;
        } else if (*rest.ptr == '%') {
            struct cel_clause c;
            const struct cel_node *at = n;
            const char *trouble =
                rest.len > 1 && used >= args->count
                    ? arena_printf(w->source->arena, "index %u out of range", used)
                    : cel_clause_read(w->source->arena, rest, &c);
            if (!trouble && (trouble = wrong_type(w, &c, args->args[used])))
                at = args->args[used];
            if (trouble) {
                cel_issue_add(w->source, at->offset, "%s", trouble);
                return;
            }
            used++;
            pass = c.bytes;
        }
        rest = (struct str){ rest.ptr + pass, rest.len - pass };
    }
    if (args->count > used)
        cel_issue_add(w->source,
            n->offset,
            "too many arguments supplied to string.format (expected %u, got %u)",
            used,
            args->count);
}

/* ---- mixed lists and maps ---- */

static const struct cel_type *type_of(const struct cel_node *n, uint32_t i)
{
    const struct cel_type *t = n->args[i]->type;
    return n->is_optional && n->is_optional[i] && t->kind == CEL_OPTIONAL ? t->of[0] : t;
}

/* step: 1 for a list, 2 for the keys or the values of a map. */
static void check_same(struct walk *w, const struct cel_node *n, uint32_t first, uint32_t step)
{
    for (uint32_t i = first + step; i < n->count; i += step)
        if (!cel_type_same(type_of(n, first), type_of(n, i))) {
            cel_issue_add(w->source,
                n->args[i]->offset,
                "expected type '%s' but found '%s'",
                cel_type_text(w->types, type_of(n, first)),
                cel_type_text(w->types, type_of(n, i)));
            if (step == 1)
                return;
        }
}

static void visit(struct walk *w, struct cel_node *n, bool in_format)
{
    if (!n || n->is_seen)
        return;
    n->is_seen = true;
    switch (n->kind) {
    case CEL_NODE_LITERAL:
        return;
    case CEL_NODE_FOLD:
        visit(w, n->fold->range, in_format);
        visit(w, n->fold->init, in_format);
        visit(w, n->fold->condition, in_format);
        visit(w, n->fold->step, in_format);
        visit(w, n->fold->result, in_format);
        return;
    case CEL_NODE_CALL:
        check_argument(w, n);
        check_format(w, n);
        in_format = in_format || is_call(n, "format");
        break;
    case CEL_NODE_LIST:
        if (!in_format)
            check_same(w, n, 0, 1);
        break;
    case CEL_NODE_MAP:
        if (!in_format) {
            check_same(w, n, 0, 2);
            check_same(w, n, 1, 2);
        }
        break;
    default:
        break;
    }
    visit(w, n->target, in_format);
    for (uint32_t i = 0; i < n->count; i++)
        visit(w, n->args[i], in_format);
}

void cel_check_literals(struct cel_source *s, const struct cel_types *ts, struct cel_node *root)
{
    visit(&(struct walk){ s, ts }, root, false);
}
