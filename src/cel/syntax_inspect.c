/* What cel-go says when it makes a tree of what its parser could read: of names that are reserved,
 * of numbers and strings out of range, of macros. The nodes that are made on the way are only for
 * the macros to look at. */

#include "cel/decl.h"
#include "cel/syntax.h"

struct inspector {
    struct cel_source *source;
};

static struct cel_node *inspect(struct inspector *i, const struct cel_branch *b);

/* Something that could not be read. */
static struct cel_node *nothing(struct inspector *i, uint32_t offset)
{
    return cel_node_new(i->source->arena, CEL_NODE_LITERAL, offset);
}

static const struct cel_branch *rule_in(const struct cel_branch *b, int rule, unsigned skip)
{
    for (const struct cel_branch *c = b ? b->first : NULL; c; c = c->next)
        if (c->rule == rule && skip-- == 0)
            return c;
    return NULL;
}

static const struct cel_branch *token_in(const struct cel_branch *b, const char *text)
{
    for (const struct cel_branch *c = b ? b->first : NULL; c; c = c->next)
        if (c->rule < 0 && !c->is_extra && str_eq(c->token.text, str_of(text)))
            return c;
    return NULL;
}

static bool is_name(const struct cel_branch *b)
{
    return b->rule < 0 && !b->is_extra &&
           (b->token.kind == CEL_TOKEN_IDENT || str_eq(b->token.text, STR("<missing IDENTIFIER>")));
}

static const struct cel_branch *name_in(const struct cel_branch *b)
{
    const struct cel_branch *c = b ? b->first : NULL;
    while (c && !is_name(c))
        c = c->next;
    return c;
}

static uint32_t count_tokens(const struct cel_branch *b)
{
    uint32_t count = 0;
    for (const struct cel_branch *c = b->first; c; c = c->next)
        count += c->rule < 0 && !c->is_extra;
    return count;
}

/* All rules of a kind below a branch, one after the other. */
static struct cel_node **inspect_all(
    struct inspector *i, const struct cel_branch *b, int rule, uint32_t *ret_count)
{
    uint32_t count = 0, n = 0;
    while (rule_in(b, rule, count))
        count++;
    struct cel_node **nodes = arena_array(i->source->arena, count + 1, sizeof(*nodes));
    for (const struct cel_branch *c = b ? b->first : NULL; c; c = c->next)
        if (c->rule == rule)
            nodes[n++] = inspect(i, c);
    *ret_count = count;
    return nodes;
}

static struct cel_node *new_call(struct inspector *i, const struct cel_branch *open,
    struct str name, struct cel_node *target, const struct cel_branch *list)
{
    uint32_t count, offset = open ? open->offset : 0;
    struct cel_node **args = inspect_all(i, list, CEL_RULE_EXPR, &count);
    unsigned before = i->source->issue_count;
    struct cel_node *n = cel_macro_expand(i->source, offset, name, target, args, count);
    if (i->source->issue_count > before)
        return nothing(i, i->source->issue_offset);
    return n ? n : cel_node_call(i->source->arena, offset, "", target, args, count);
}

/* A call of an operator. It stands where the operator does; of several, where the middle one. */
static struct cel_node *inspect_parts(struct inspector *i, const struct cel_branch *b, int rule)
{
    uint32_t count, offset = b->offset, middle = count_tokens(b) / 2;
    struct cel_node **args = inspect_all(i, b, rule, &count);
    middle = b->rule == CEL_RULE_EXPR ? 0 : middle;
    for (const struct cel_branch *c = b->first; c; c = c->next)
        if (c->rule < 0 && !c->is_extra && middle-- == 0)
            offset = c->offset;
    return cel_node_call(i->source->arena, offset, "", NULL, args, count);
}

static struct cel_node *inspect_literal(struct inspector *i, const struct cel_branch *b)
{
    const struct cel_branch *t = b->first;
    struct cel_node *n = nothing(i, b->offset);
    bool negative = t && str_eq(t->token.text, STR("-"));
    const char *trouble = NULL;
    t = negative ? t->next : t;
    if (!t || t->is_extra)
        return n;
    if (t->token.kind == CEL_TOKEN_STRING || t->token.kind == CEL_TOKEN_BYTES)
        (void)cel_unquote(i->source, &t->token, &(struct str){ 0 });
    else if (t->token.kind != CEL_TOKEN_OPERATOR)
        trouble = cel_number_read(i->source->arena, &t->token, negative, &n->literal);
    if (trouble)
        cel_issue_add(i->source, b->offset, "%s", trouble);
    return n;
}

/* A name, a call, or a message of a type. */
static struct cel_node *inspect_name(struct inspector *i, const struct cel_branch *b)
{
    const struct cel_branch *name = name_in(b);
    if (!name)
        return nothing(i, b->offset);
    struct str text = name->token.text;
    if (cel_name_is_reserved(text)) {
        cel_issue_add(i->source, b->offset, "reserved identifier: %.*s", (int)text.len, text.ptr);
        return nothing(i, b->offset);
    }
    if (token_in(b, "."))
        text = str_of(arena_printf(i->source->arena, ".%.*s", (int)text.len, text.ptr));
    if (b->alt == 2)
        return new_call(i, token_in(b, "("), text, NULL, rule_in(b, CEL_RULE_EXPRS, 0));
    struct cel_node *n = cel_node_new(i->source->arena, CEL_NODE_IDENT, name->offset);
    n->name = text;
    return n;
}

/* False: a syntax that is not switched on, or none. */
static bool is_plain_name(struct inspector *i, const struct cel_branch *name, uint32_t offset)
{
    if (name->alt == 1)
        return true;
    cel_issue_add(i->source,
        offset,
        "%s",
        name->alt == 2 ? "unsupported syntax: '`'" : "unsupported ident kind");
    return false;
}

static struct cel_node *inspect_message(struct inspector *i, const struct cel_branch *b)
{
    const struct cel_branch *list = rule_in(b, CEL_RULE_FIELDS, 0), *value;
    const struct cel_branch *field;
    for (unsigned n = 0; (field = rule_in(list, CEL_RULE_FIELD, n)) != NULL; n++) {
        const struct cel_branch *name = rule_in(field, CEL_RULE_NAME, 0);
        if ((value = rule_in(list, CEL_RULE_EXPR, n)) == NULL)
            break;
        if (name && is_plain_name(i, name, list->offset))
            inspect(i, value);
    }
    const struct cel_branch *open = token_in(b, "{");
    return cel_node_new(i->source->arena, CEL_NODE_MAP, open ? open->offset : b->offset);
}

static struct cel_node *inspect_entries(struct inspector *i, const struct cel_branch *b)
{
    const struct cel_branch *list = rule_in(b, CEL_RULE_ENTRIES, 0), *key, *value;
    for (unsigned n = 0; (key = rule_in(list, CEL_RULE_ITEM, n)) != NULL; n++) {
        if ((value = rule_in(list, CEL_RULE_EXPR, n)) == NULL)
            break;
        inspect(i, key);
        inspect(i, value);
    }
    return cel_node_new(i->source->arena, CEL_NODE_MAP, b->offset);
}

static struct cel_node *inspect_primary(struct inspector *i, const struct cel_branch *b)
{
    switch (b->alt) {
    case 1:
    case 2:
        return inspect_name(i, b);
    case 3:
        return inspect(i, rule_in(b, CEL_RULE_EXPR, 0));
    case 4: {
        struct cel_node *n = cel_node_new(i->source->arena, CEL_NODE_LIST, b->offset);
        n->args = inspect_all(i, rule_in(b, CEL_RULE_ITEMS, 0), CEL_RULE_ITEM, &n->count);
        return n;
    }
    case 5:
        return inspect_entries(i, b);
    case 6:
        return inspect_message(i, b);
    default:
        return inspect(i, rule_in(b, CEL_RULE_LITERAL, 0));
    }
}

static struct cel_node *inspect_member(struct inspector *i, const struct cel_branch *b)
{
    if (!b->is_repeated)
        return inspect(i, rule_in(b, CEL_RULE_PRIMARY, 0));
    struct arena *a = i->source->arena;
    struct cel_node *target = inspect(i, rule_in(b, CEL_RULE_MEMBER, 0));
    const struct cel_branch *dot = token_in(b, "."), *name;
    if (b->alt == 3) {
        struct cel_node *args[] = { target, inspect(i, rule_in(b, CEL_RULE_EXPR, 0)) };
        return cel_node_call(a, token_in(b, "[")->offset, "_[_]", NULL, args, 2);
    }
    if (b->alt == 2) {
        name = name_in(b);
        return name ? new_call(i,
                          token_in(b, "("),
                          name->token.text,
                          target,
                          rule_in(b, CEL_RULE_EXPRS, 0))
                    : nothing(i, b->offset);
    }
    name = rule_in(b, CEL_RULE_NAME, 0);
    if (!name || !dot)
        return nothing(i, b->offset);
    is_plain_name(i, name, name->offset);
    struct cel_node *n = cel_node_new(a, CEL_NODE_SELECT, dot->offset);
    n->target = target;
    if (token_in(b, "?"))
        return cel_node_call(a, dot->offset, "_?._", NULL, &target, 1);
    n->name = name->first ? name->first->token.text : STR("");
    return n;
}

static struct cel_node *inspect(struct inspector *i, const struct cel_branch *b)
{
    if (!b)
        return nothing(i, CEL_UNREAD);
    switch (b->rule) {
    case CEL_RULE_START:
        return inspect(i, rule_in(b, CEL_RULE_EXPR, 0));
    case CEL_RULE_ITEM:
        return inspect(i, rule_in(b, CEL_RULE_EXPR, 0));
    case CEL_RULE_EXPR:
        if (!token_in(b, "?"))
            return inspect(i, rule_in(b, CEL_RULE_OR, 0));
        inspect(i, rule_in(b, CEL_RULE_OR, 0));
        inspect(i, rule_in(b, CEL_RULE_OR, 1));
        return inspect_parts(i, b, CEL_RULE_EXPR);
    case CEL_RULE_OR:
        return token_in(b, "||") ? inspect_parts(i, b, CEL_RULE_AND)
                                 : inspect(i, rule_in(b, CEL_RULE_AND, 0));
    case CEL_RULE_AND:
        return token_in(b, "&&") ? inspect_parts(i, b, CEL_RULE_RELATION)
                                 : inspect(i, rule_in(b, CEL_RULE_RELATION, 0));
    case CEL_RULE_RELATION:
    case CEL_RULE_CALC:
        if (b->is_repeated)
            return inspect_parts(i, b, b->rule);
        return inspect(i, rule_in(b, b->rule == CEL_RULE_CALC ? CEL_RULE_UNARY : CEL_RULE_CALC, 0));
    case CEL_RULE_UNARY:
        if (b->alt < 2 || count_tokens(b) % 2 == 0)
            return b->alt ? inspect(i, rule_in(b, CEL_RULE_MEMBER, 0)) : nothing(i, b->offset);
        return cel_node_call(i->source->arena,
            b->offset,
            "",
            NULL,
            (struct cel_node *[]){ inspect(i, rule_in(b, CEL_RULE_MEMBER, 0)) },
            1);
    case CEL_RULE_MEMBER:
        return inspect_member(i, b);
    case CEL_RULE_PRIMARY:
        return b->alt ? inspect_primary(i, b) : nothing(i, CEL_UNREAD);
    default:
        return b->alt ? inspect_literal(i, b) : nothing(i, CEL_UNREAD);
    }
}

void cel_syntax_inspect(struct cel_source *s, const struct cel_branch *root)
{
    struct inspector i = { s };
    inspect(&i, root);
}
