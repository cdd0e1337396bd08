/* Parser of expressions. One function for each level of the grammar, from the loosest binding to
 * the tightest:
 *
 *   if-then-else · || · && · relation · + - · * · ! - · member · primary */

#include "cedar/internal.h"

#include <string.h>

/* Deeper trees are refused, because evaluation is recursive. */
#define DEPTH_MAX 100
#define ITEMS_MAX 4096

struct parser {
    struct arena *a;
    struct lexer *l;
    struct error *err;
    int depth;
};

static const struct node *expression(struct parser *p);
static const struct node *unary(struct parser *p);

static const struct node *refuse(struct parser *p, const char *what)
{
    lexer_fail(p->l, p->err, what);
    return NULL;
}

static struct node *node_new(struct parser *p, enum node_type type, size_t count)
{
    struct node *n = arena_new(p->a, struct node);
    n->type = type;
    n->count = count;
    n->arguments = arena_array(p->a, count, sizeof *n->arguments);
    return n;
}

static const struct node *node_of(
    struct parser *p, enum node_type type, const struct node *x, const struct node *y)
{
    if (!x || !y)
        return NULL;
    struct node *n = node_new(p, type, 2);
    n->arguments[0] = x;
    n->arguments[1] = y;
    return n;
}

static const struct node *literal(struct parser *p, struct value v)
{
    struct node *n = node_new(p, NODE_LITERAL, 0);
    n->value = v;
    return n;
}

/* ---- names ---- */

bool parse_path(struct arena *a, struct lexer *l, struct str *ret, struct error *err)
{
    const char *path = "";
    for (;;) {
        if (l->now.type != TOKEN_NAME)
            return lexer_fail(l, err, "a name belongs here");
        path = arena_printf(
            a, "%s%s%.*s", path, *path ? "::" : "", (int)l->now.text.len, l->now.text.ptr);
        if (!lexer_next(l, err))
            return false;
        if (!lexer_at(l, "::") || !str_trim(l->rest).len || str_trim(l->rest).ptr[0] == '"') {
            *ret = str_of(path);
            return true;
        }
        if (!lexer_next(l, err))
            return false;
    }
}

static bool read_string(struct parser *p, bool pattern, struct str *ret)
{
    if (p->l->now.type != TOKEN_STRING)
        return lexer_fail(p->l, p->err, "a string belongs here");
    if (!lexer_unescape(p->a, p->l->now.text, pattern, ret))
        return lexer_fail(p->l, p->err, "the string has an escape that the language does not know");
    return lexer_next(p->l, p->err);
}

bool parse_uid(struct arena *a, struct lexer *l, struct cedar_uid *ret, struct error *err)
{
    struct parser p = { a, l, err, 0 };
    return parse_path(a, l, &ret->type, err) && lexer_expect(l, "::", err) &&
           read_string(&p, false, &ret->id);
}

/* ---- primaries ---- */

/* Items up to a closing mark. keys: NULL, or each item has a key and a colon before it. */
static const struct node *items(
    struct parser *p, enum node_type type, const char *close, bool keyed)
{
    const struct node **list = NULL;
    struct str *keys = NULL;
    size_t count = 0, size = 0, keys_size = 0;
    while (!lexer_at(p->l, close)) {
        if (count == ITEMS_MAX)
            return refuse(p, "a list may have 4096 items");
        arena_room(p->a, list, count, size);
        arena_room(p->a, keys, count, keys_size);
        if (keyed) {
            bool name = p->l->now.type == TOKEN_NAME;
            keys[count] = p->l->now.text;
            if (!(name ? lexer_next(p->l, p->err) : read_string(p, false, &keys[count])) ||
                !lexer_expect(p->l, ":", p->err))
                return NULL;
        }
        if (!(list[count++] = expression(p)))
            return NULL;
        if (lexer_at(p->l, close))
            break;
        if (!lexer_expect(p->l, ",", p->err))
            return NULL;
    }
    if (!lexer_next(p->l, p->err))
        return NULL;
    struct node *n = node_new(p, type, 0);
    n->arguments = list;
    n->keys = keys;
    n->count = count;
    return n;
}

/* A record with a duplicate key is refused, as by Cedar. */
static const struct node *record(struct parser *p)
{
    const struct node *n = items(p, NODE_RECORD, "}", true);
    for (size_t i = 0; n && i < n->count; i++)
        for (size_t k = 0; k < i; k++)
            if (str_eq(n->keys[i], n->keys[k]))
                return refuse(p, "the record before it has a key twice");
    return n;
}

/* decimal("1.5") and ip("10.0.0.1"): with a literal the value is computed immediately. */
static const struct node *constructor(struct parser *p, struct str name)
{
    bool is_decimal = str_eq(name, STR("decimal"));
    if (!is_decimal && !str_eq(name, STR("ip")))
        return refuse(p, "the functions are decimal and ip; datetime and duration are not there");
    if (!lexer_next(p->l, p->err))
        return NULL;
    const struct node *arguments = items(p, NODE_METHOD, ")", false);
    if (!arguments || arguments->count != 1)
        return arguments ? refuse(p, "the function before it takes one argument") : NULL;
    struct node *n = node_new(p, NODE_METHOD, 1);
    n->arguments[0] = arguments->arguments[0];
    n->name = is_decimal ? STR("decimal()") : STR("ip()");
    return n;
}

static const struct node *named(struct parser *p)
{
    static const char *const variables[] = { "principal", "action", "resource", "context" };
    struct str name = p->l->now.text;
    struct str after = str_trim(p->l->rest);
    bool path = str_starts(after, STR("::")), call = str_starts(after, STR("("));
    bool truth = str_eq(name, STR("true"));
    if (!path && (truth || str_eq(name, STR("false"))))
        return lexer_next(p->l, p->err)
                   ? literal(p, (struct value){ .type = VALUE_BOOL, .boolean = truth })
                   : NULL;
    for (size_t i = 0; !path && !call && i < lengthof(variables); i++)
        if (str_eq(name, str_of(variables[i]))) {
            struct node *n = node_new(p, NODE_VARIABLE, 0);
            n->name = str_of(variables[i]);
            return lexer_next(p->l, p->err) ? n : NULL;
        }
    if (call)
        return lexer_next(p->l, p->err) ? constructor(p, name) : NULL;
    struct value v = { .type = VALUE_ENTITY };
    return parse_uid(p->a, p->l, &v.uid, p->err) ? literal(p, v) : NULL;
}

static const struct node *number(struct parser *p, bool minus)
{
    int64_t n = 0;
    struct str digits = p->l->now.text;
    for (size_t i = 0; i < digits.len; i++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_sub_overflow(n, digits.ptr[i] - '0', &n))
            return refuse(p, "a long has 64 bits");
    if (!minus && n == INT64_MIN)
        return refuse(p, "a long has 64 bits");
    if (!lexer_next(p->l, p->err))
        return NULL;
    return literal(p, (struct value){ .type = VALUE_LONG, .number = minus ? n : -n });
}

static const struct node *primary(struct parser *p)
{
    bool taken;
    if (p->l->now.type == TOKEN_NUMBER)
        return number(p, false);
    if (p->l->now.type == TOKEN_STRING) {
        struct value v = { .type = VALUE_STRING };
        return read_string(p, false, &v.string) ? literal(p, v) : NULL;
    }
    if (p->l->now.type == TOKEN_NAME)
        return named(p);
    if (!lexer_take(p->l, "(", &taken, p->err))
        return NULL;
    if (taken) {
        const struct node *inner = expression(p);
        return inner && lexer_expect(p->l, ")", p->err) ? inner : NULL;
    }
    if (!lexer_take(p->l, "[", &taken, p->err))
        return NULL;
    if (taken)
        return items(p, NODE_SET, "]", false);
    if (!lexer_take(p->l, "{", &taken, p->err))
        return NULL;
    return taken ? record(p) : refuse(p, "an expression belongs here");
}

/* ---- members ---- */

static bool known_method(struct str name, size_t arguments)
{
    static const struct {
        const char *name;
        size_t arguments;
    } methods[] = {
        { "contains", 1 },
        { "containsAll", 1 },
        { "containsAny", 1 },
        { "isEmpty", 0 },
        { "lessThan", 1 },
        { "lessThanOrEqual", 1 },
        { "greaterThan", 1 },
        { "greaterThanOrEqual", 1 },
        { "isIpv4", 0 },
        { "isIpv6", 0 },
        { "isLoopback", 0 },
        { "isMulticast", 0 },
        { "isInRange", 1 },
    };
    for (size_t i = 0; i < lengthof(methods); i++)
        if (str_eq(name, str_of(methods[i].name)))
            return methods[i].arguments == arguments;
    return false;
}

static const struct node *attribute(struct parser *p, const struct node *of, struct str name)
{
    struct node *n = node_new(p, NODE_ATTRIBUTE, 1);
    n->arguments[0] = of;
    n->name = name;
    return n;
}

static const struct node *after_point(struct parser *p, const struct node *of)
{
    struct str name = p->l->now.text;
    if (p->l->now.type != TOKEN_NAME)
        return refuse(p, "an attribute or a method belongs behind a point");
    bool call;
    if (!lexer_next(p->l, p->err) || !lexer_take(p->l, "(", &call, p->err))
        return NULL;
    if (!call)
        return attribute(p, of, name);
    const struct node *given = items(p, NODE_METHOD, ")", false);
    if (!given)
        return NULL;
    if (!known_method(name, given->count))
        return refuse(p, "the method before it is not known, or takes another number of arguments");
    struct node *n = node_new(p, NODE_METHOD, given->count + 1);
    n->name = name;
    n->arguments[0] = of;
    for (size_t i = 0; i < given->count; i++)
        n->arguments[i + 1] = given->arguments[i];
    return n;
}

static const struct node *member(struct parser *p, const struct node *of)
{
    for (int i = 0; of && i < DEPTH_MAX; i++) {
        bool taken;
        if (!lexer_take(p->l, ".", &taken, p->err))
            return NULL;
        if (taken) {
            of = after_point(p, of);
            continue;
        }
        if (!lexer_take(p->l, "[", &taken, p->err))
            return NULL;
        if (!taken)
            return of;
        struct str name;
        if (!read_string(p, false, &name) || !lexer_expect(p->l, "]", p->err))
            return NULL;
        of = attribute(p, of, name);
    }
    return of ? refuse(p, "an expression may be 100 levels deep") : NULL;
}

/* ---- operators ---- */

static const struct node *unary_inner(struct parser *p)
{
    bool minus = lexer_at(p->l, "-"), negation = lexer_at(p->l, "!");
    if (!minus && !negation)
        return member(p, primary(p));
    if (!lexer_next(p->l, p->err))
        return NULL;
    /* A minus before `1.x` applies to the whole expression, not to the number. */
    struct str after = str_trim(p->l->rest);
    bool alone = !str_starts(after, STR(".")) && !str_starts(after, STR("["));
    if (minus && alone && p->l->now.type == TOKEN_NUMBER)
        return number(p, true);
    const struct node *of = unary(p);
    if (!of)
        return NULL;
    struct node *n = node_new(p, minus ? NODE_NEGATE : NODE_NOT, 1);
    n->arguments[0] = of;
    return n;
}

static const struct node *unary(struct parser *p)
{
    if (p->depth >= DEPTH_MAX)
        return refuse(p, "an expression may be 100 levels deep");
    p->depth++;
    const struct node *n = unary_inner(p);
    p->depth--;
    return n;
}

struct op {
    const char *mark;
    enum node_type type;
};

/* Operators of one level are left-associative. The tree may become as deep as the text is long, so
 * there is a limit here, too. */
static const struct node *chain(
    struct parser *p, const struct op *operators, const struct node *(*operand)(struct parser *p))
{
    const struct node *x = operand(p);
    for (int i = 0; x; i++) {
        const struct op *o = operators;
        while (o->mark && !lexer_at(p->l, o->mark))
            o++;
        if (!o->mark)
            return x;
        if (i == 1000)
            return refuse(p, "a chain may have 1000 operators");
        if (!lexer_next(p->l, p->err))
            return NULL;
        x = node_of(p, o->type, x, operand(p));
    }
    return NULL;
}

static const struct node *product(struct parser *p)
{
    static const struct op operators[] = { { "*", NODE_MULTIPLY }, { 0 } };
    return chain(p, operators, unary);
}

static const struct node *sum(struct parser *p)
{
    static const struct op operators[] = { { "+", NODE_ADD }, { "-", NODE_SUBTRACT }, { 0 } };
    return chain(p, operators, product);
}

/* `x has a.b.c` is `x has a && x.a has b && x.a.b has c`. */
static const struct node *has(struct parser *p, const struct node *of)
{
    const struct node *all = NULL;
    for (int i = 0; i < DEPTH_MAX; i++) {
        struct node *n = node_new(p, NODE_HAS, 1);
        n->arguments[0] = of;
        n->name = p->l->now.text;
        bool name = p->l->now.type == TOKEN_NAME, more = false;
        if (!(name ? lexer_next(p->l, p->err) : read_string(p, false, &n->name)))
            return NULL;
        all = all ? node_of(p, NODE_AND, all, n) : n;
        if (name && !lexer_take(p->l, ".", &more, p->err))
            return NULL;
        if (!more)
            return all;
        of = attribute(p, of, n->name);
    }
    return refuse(p, "an expression may be 100 levels deep");
}

static const struct node *is(struct parser *p, const struct node *of)
{
    bool in;
    struct node *n = node_new(p, NODE_IS, 2);
    n->arguments[0] = of;
    n->count = 1;
    if (!parse_path(p->a, p->l, &n->name, p->err) || !lexer_take(p->l, "in", &in, p->err))
        return NULL;
    if (in && !(n->arguments[n->count++] = sum(p)))
        return NULL;
    return n;
}

static const struct node *relation(struct parser *p)
{
    static const struct op operators[] = {
        { "==", NODE_EQUAL },
        { "!=", NODE_UNEQUAL },
        { "<=", NODE_LESS_EQUAL },
        { ">=", NODE_GREATER_EQUAL },
        { "<", NODE_LESS },
        { ">", NODE_GREATER },
        { "in", NODE_IN },
        { 0 },
    };
    const struct node *x = sum(p);
    bool taken = false;
    for (const struct op *o = operators; x && o->mark; o++) {
        if (!lexer_take(p->l, o->mark, &taken, p->err))
            return NULL;
        if (taken)
            return node_of(p, o->type, x, sum(p));
    }
    if (!x || !lexer_take(p->l, "has", &taken, p->err))
        return NULL;
    if (taken)
        return has(p, x);
    if (!lexer_take(p->l, "is", &taken, p->err))
        return NULL;
    if (taken)
        return is(p, x);
    if (!lexer_take(p->l, "like", &taken, p->err) || !taken)
        return taken ? NULL : x;
    struct node *n = node_new(p, NODE_LIKE, 1);
    n->arguments[0] = x;
    return read_string(p, true, &n->name) ? n : NULL;
}

static const struct node *conjunction(struct parser *p)
{
    static const struct op operators[] = { { "&&", NODE_AND }, { 0 } };
    return chain(p, operators, relation);
}

static const struct node *disjunction(struct parser *p)
{
    static const struct op operators[] = { { "||", NODE_OR }, { 0 } };
    return chain(p, operators, conjunction);
}

static const struct node *choice(struct parser *p)
{
    struct node *n = node_new(p, NODE_IF, 3);
    if (!(n->arguments[0] = expression(p)) || !lexer_expect(p->l, "then", p->err) ||
        !(n->arguments[1] = expression(p)) || !lexer_expect(p->l, "else", p->err) ||
        !(n->arguments[2] = expression(p)))
        return NULL;
    return n;
}

static const struct node *expression(struct parser *p)
{
    bool taken;
    if (p->depth >= DEPTH_MAX)
        return refuse(p, "an expression may be 100 levels deep");
    p->depth++;
    const struct node *n = NULL;
    if (lexer_take(p->l, "if", &taken, p->err))
        n = taken ? choice(p) : disjunction(p);
    p->depth--;
    return n;
}

const struct node *parse_expression(struct arena *a, struct lexer *l, struct error *err)
{
    struct parser p = { a, l, err, 0 };
    return expression(&p);
}
