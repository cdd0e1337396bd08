/* The grammar of the language, by recursive descent:
 *
 *   expr   = or ['?' or ':' expr]             unary  = member | '!'… member | '-'… member
 *   or     = and {'||' and}                   member = primary {'.' ['?'] name ['(' args ')']
 *   and    = relation {'&&' relation}                          | '[' ['?'] expr ']'}
 *   relation, calc: left to right             primary = literal | ident | '(' expr ')' | …
 *
 * Parsing stops at the first error. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cel/ast.h"
#include "cel/decl.h"
#include "cel/lex.h"

struct parser {
    struct cel_source *source;
    struct cel_lexer lexer;
    struct cel_token token; /* the next one */
    unsigned depth;
    bool failed;
};

static struct cel_node *parse_expr(struct parser *p);

/* ---- issues ---- */

void cel_issue_add(struct cel_source *s, uint32_t offset, const char *format, ...)
{
    va_list args;
    s->issue_count++;
    if (s->issue_count > CEL_ISSUES_MAX)
        return;
    struct cel_issue *issue = arena_new(s->arena, struct cel_issue), **at = &s->issues;
    va_start(args, format);
    *issue = (struct cel_issue){ .offset = offset, .text = arena_vprintf(s->arena, format, args) };
    va_end(args);
    uint32_t place = offset + 1; /* CEL_NOWHERE sorts first */
    while (*at && (*at)->offset + 1 <= place)
        at = &(*at)->next;
    issue->next = *at;
    *at = issue;
}

/* The line that contains a character; also its number, and the number of characters before it. */
static struct str line_of(
    struct str text, uint32_t offset, unsigned *ret_line, unsigned *ret_column)
{
    size_t start = 0, at = 0;
    *ret_line = 1;
    *ret_column = 0;
    for (uint32_t seen = 0; at < text.len && seen < offset; seen++) {
        uint32_t c;
        size_t bytes = utf8_first((struct str){ text.ptr + at, text.len - at }, &c);
        (*ret_column)++;
        at += bytes ? bytes : 1;
        if (text.ptr[at - 1] == '\n') {
            start = at;
            (*ret_line)++;
            *ret_column = 0;
        }
    }
    size_t end = start;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    return (struct str){ text.ptr + start, end - start };
}

/* The line, and below it dots up to the position; wide dots below wide characters. */
static void add_snippet(struct buf *b, struct str line, unsigned column)
{
    buf_add_text(b, "\n | ");
    for (size_t i = 0; i < line.len; i++)
        buf_add_char(b, line.ptr[i] == '\t' ? ' ' : line.ptr[i]);
    buf_add_text(b, "\n | ");
    for (unsigned n = 0; n <= column; n++) {
        uint32_t c;
        size_t bytes = utf8_first(line, &c);
        if (n == column)
            buf_add_text(b, bytes > 1 ? "\xef\xbc\xbe" : "^");
        else if (line.len)
            buf_add_text(b, bytes > 1 ? "\xef\xbc\x8e" : ".");
        bytes = bytes ? bytes : line.len > 0;
        line = (struct str){ line.ptr + bytes, line.len - bytes };
    }
}

const char *cel_issues_text(const struct cel_source *s)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)4 << 20);
    for (const struct cel_issue *i = s->issues; i; i = i->next) {
        unsigned line, column;
        struct str text = line_of(s->text, i->offset, &line, &column);
        if (i != s->issues)
            buf_add_char(&b, '\n');
        if (i->offset == CEL_NOWHERE) {
            buf_printf(&b, "ERROR: <input>:-1:0: %s", i->text);
            continue;
        }
        buf_printf(&b, "ERROR: <input>:%u:%u: %s", line, column + (s->text.len > 0), i->text);
        if (text.len <= 16384 && s->text.len)
            add_snippet(&b, text, column);
    }
    if (s->issue_count > CEL_ISSUES_MAX)
        buf_printf(&b, "\n%u more errors were truncated", s->issue_count - CEL_ISSUES_MAX);
    return arena_strdup(s->arena, buf_text(&b));
}

/* ---- nodes ---- */

struct cel_node *cel_node_new(struct arena *a, enum cel_node_kind kind, uint32_t offset)
{
    struct cel_node *n = arena_new(a, struct cel_node);
    n->kind = kind;
    n->offset = offset;
    return n;
}

static void nest(struct cel_node *n, const struct cel_node *below)
{
    if (below && below->depth >= n->depth)
        n->depth = below->depth + 1;
}

struct cel_node *cel_node_nest(struct cel_node *n)
{
    if (n->kind == CEL_NODE_FOLD) {
        struct cel_fold *f = n->fold;
        const struct cel_node *below[] = { f->range, f->init, f->condition, f->step, f->result };
        for (size_t i = 0; i < lengthof(below); i++)
            nest(n, below[i]);
        return n;
    }
    nest(n, n->target);
    for (uint32_t i = 0; i < n->count; i++)
        nest(n, n->args[i]);
    return n;
}

struct cel_node *cel_node_call(struct arena *a, uint32_t offset, const char *function,
    struct cel_node *target, struct cel_node **args, uint32_t count)
{
    struct cel_node *n = cel_node_new(a, CEL_NODE_CALL, offset);
    n->name = str_of(function);
    n->target = target;
    n->args = arena_array(a, count, sizeof(*args));
    for (uint32_t i = 0; i < count; i++)
        n->args[i] = args[i];
    n->count = count;
    return cel_node_nest(n);
}

/* ---- tokens ---- */

static bool is_operator(const struct parser *p, const char *text)
{
    return p->token.kind == CEL_TOKEN_OPERATOR && str_eq(p->token.text, str_of(text));
}

static struct cel_token next(struct parser *p)
{
    struct cel_token t = p->token;
    p->token = cel_lex(&p->lexer);
    return t;
}

static bool accept(struct parser *p, const char *text)
{
    if (!is_operator(p, text))
        return false;
    next(p);
    return true;
}

/* Only the first error is reported, with its position; later ones follow from it. */
static struct cel_node *give_up(struct parser *p, uint32_t offset, const char *text)
{
    if (!p->failed && !p->source->issue_count)
        cel_issue_add(p->source, offset, "%s", text);
    p->failed = true;
    return NULL;
}

static struct cel_node *unexpected(struct parser *p)
{
    const struct cel_token *t = &p->token;
    const char *text = t->kind == CEL_TOKEN_END ? "Syntax error: unexpected end of the expression"
                                                : arena_printf(p->source->arena,
                                                      "Syntax error: unexpected '%.*s'",
                                                      (int)(t->text.len < 100 ? t->text.len : 100),
                                                      t->text.ptr);
    return give_up(p, t->offset, text);
}

static bool expect(struct parser *p, const char *text)
{
    if (!p->failed && !accept(p, text))
        unexpected(p);
    return !p->failed;
}

/* ---- literals ---- */

static struct cel_node *literal(struct parser *p, uint32_t offset, struct cel_value value)
{
    struct cel_node *n = cel_node_new(p->source->arena, CEL_NODE_LITERAL, offset);
    n->literal = value;
    return n;
}

static const char *number_read(
    struct arena *a, const struct cel_token *t, bool negative, struct cel_value *ret)
{
    bool hex = str_starts(t->text, STR("0x"));
    const char *text = arena_printf(a,
        "%s%.*s",
        negative ? "-" : "",
        (int)(t->text.len - (hex ? 2 : 0) - (t->kind == CEL_TOKEN_UINT)),
        t->text.ptr + (hex ? 2 : 0));
    errno = 0;
    if (t->kind == CEL_TOKEN_DOUBLE) {
        *ret = cel_double(strtod(text, NULL));
        return isinf(ret->real) ? "invalid double literal" : NULL;
    }
    if (t->kind == CEL_TOKEN_UINT) {
        *ret = cel_uint(strtoull(text, NULL, hex ? 16 : 10));
        return errno ? "invalid uint literal" : NULL;
    }
    *ret = cel_int(strtoll(text, NULL, hex ? 16 : 10));
    return errno ? "invalid int literal" : NULL;
}

static struct cel_node *parse_number(struct parser *p, bool negative, uint32_t offset)
{
    struct cel_token t = next(p);
    struct cel_value value;
    const char *trouble = number_read(p->source->arena, &t, negative, &value);
    if (trouble)
        return give_up(p, t.offset, trouble);
    return literal(p, offset, value);
}

static struct cel_node *parse_text(struct parser *p)
{
    struct cel_token t = next(p);
    struct str text;
    if (!cel_unquote(p->source, &t, &text))
        return give_up(p, t.offset, "invalid string literal");
    return literal(p, t.offset, t.kind == CEL_TOKEN_STRING ? cel_string(text) : cel_bytes(text));
}

/* ---- lists, maps, arguments ---- */

struct nodes {
    struct cel_node **at;
    bool *is_optional;
    uint32_t count, size;
    bool any_optional;
};

static bool nodes_add(struct parser *p, struct nodes *ns, struct cel_node *n, bool optional)
{
    if (ns->count == ns->size) {
        uint32_t size = ns->size * 2 + 4;
        struct cel_node **at = arena_array(p->source->arena, size, sizeof(*at));
        bool *flags = arena_array(p->source->arena, size, sizeof(*flags));
        for (uint32_t i = 0; i < ns->count; i++) {
            at[i] = ns->at[i];
            flags[i] = ns->is_optional[i];
        }
        *ns = (struct nodes){ at, flags, ns->count, size, ns->any_optional };
    }
    ns->is_optional[ns->count] = optional;
    ns->any_optional = ns->any_optional || optional;
    ns->at[ns->count++] = n;
    return !p->failed;
}

static struct nodes parse_args(struct parser *p)
{
    struct nodes args = { 0 };
    if (accept(p, ")"))
        return args;
    do
        nodes_add(p, &args, parse_expr(p), false);
    while (!p->failed && accept(p, ","));
    expect(p, ")");
    return args;
}

static struct cel_node *container(
    struct parser *p, enum cel_node_kind kind, uint32_t offset, const struct nodes *ns)
{
    struct cel_node *n = cel_node_new(p->source->arena, kind, offset);
    n->args = ns->at;
    n->count = ns->count;
    n->is_optional = ns->any_optional ? ns->is_optional : NULL;
    return p->failed ? NULL : cel_node_nest(n);
}

static struct cel_node *parse_list(struct parser *p)
{
    struct nodes items = { 0 };
    uint32_t offset = next(p).offset;
    bool is_empty = accept(p, ",");
    while (!is_empty && !p->failed && !is_operator(p, "]")) {
        bool optional = accept(p, "?");
        nodes_add(p, &items, parse_expr(p), optional);
        if (p->failed || !accept(p, ","))
            break;
    }
    expect(p, "]");
    return container(p, CEL_NODE_LIST, offset, &items);
}

static struct cel_node *parse_map(struct parser *p)
{
    struct nodes entries = { 0 };
    uint32_t offset = next(p).offset;
    bool is_empty = accept(p, ",");
    while (!is_empty && !p->failed && !is_operator(p, "}")) {
        bool optional = accept(p, "?");
        nodes_add(p, &entries, parse_expr(p), optional);
        if (!expect(p, ":"))
            break;
        nodes_add(p, &entries, parse_expr(p), optional);
        if (p->failed || !accept(p, ","))
            break;
    }
    expect(p, "}");
    return container(p, CEL_NODE_MAP, offset, &entries);
}

/* ---- names, calls, members ---- */

static struct cel_node *call_or_macro(struct parser *p, uint32_t offset, struct str name,
    struct cel_node *target, const struct nodes *args)
{
    if (p->failed)
        return NULL;
    unsigned before = p->source->issue_count;
    struct cel_node *n = cel_macro_expand(p->source, offset, name, target, args->at, args->count);
    p->failed = p->failed || p->source->issue_count > before;
    if (n || p->failed)
        return n;
    n = cel_node_call(p->source->arena, offset, "", target, args->at, args->count);
    n->name = name;
    return n;
}

/* Message types are not supported: it is only parsed, so that the checker can refuse it by name. */
static struct cel_node *parse_message(struct parser *p, const struct cel_node *name)
{
    struct str text = name->name;
    struct cel_node *message = cel_node_new(p->source->arena, CEL_NODE_IDENT, next(p).offset);
    for (const struct cel_node *n = name; n->kind == CEL_NODE_SELECT; n = n->target)
        text = str_of(arena_printf(p->source->arena,
            "%.*s.%.*s",
            (int)n->target->name.len,
            n->target->name.ptr,
            (int)text.len,
            text.ptr));
    bool is_empty = accept(p, ",");
    while (!is_empty && !p->failed && !is_operator(p, "}")) {
        accept(p, "?");
        if (p->token.kind != CEL_TOKEN_IDENT)
            return unexpected(p);
        next(p);
        if (!expect(p, ":") || !parse_expr(p) || !accept(p, ","))
            break;
    }
    message->name = text;
    message->is_message = true;
    return expect(p, "}") ? message : NULL;
}

static struct cel_node *parse_name(struct parser *p)
{
    bool dotted = is_operator(p, ".");
    if (dotted)
        next(p);
    if (p->token.kind != CEL_TOKEN_IDENT)
        return unexpected(p);
    struct cel_token t = next(p);
    if (cel_name_is_reserved(t.text))
        return give_up(p,
            t.offset,
            arena_printf(
                p->source->arena, "reserved identifier: %.*s", (int)t.text.len, t.text.ptr));
    if (dotted)
        t.text = str_of(arena_printf(p->source->arena, ".%.*s", (int)t.text.len, t.text.ptr));
    if (is_operator(p, "(")) {
        uint32_t open = next(p).offset;
        struct nodes args = parse_args(p);
        return call_or_macro(p, open, t.text, NULL, &args);
    }
    struct cel_node *n = cel_node_new(p->source->arena, CEL_NODE_IDENT, t.offset);
    n->name = t.text;
    return n;
}

static bool is_negative_number(const struct parser *p)
{
    struct parser ahead = *p;
    next(&ahead);
    return is_operator(p, "-") &&
           (ahead.token.kind == CEL_TOKEN_INT || ahead.token.kind == CEL_TOKEN_DOUBLE);
}

static struct cel_node *parse_primary(struct parser *p)
{
    switch (p->token.kind) {
    case CEL_TOKEN_INT:
    case CEL_TOKEN_UINT:
    case CEL_TOKEN_DOUBLE:
        return parse_number(p, false, p->token.offset);
    case CEL_TOKEN_STRING:
    case CEL_TOKEN_BYTES:
        return parse_text(p);
    case CEL_TOKEN_IDENT:
        return parse_name(p);
    case CEL_TOKEN_OPERATOR:
        break;
    default:
        return unexpected(p);
    }
    if (is_operator(p, "."))
        return parse_name(p);
    if (is_operator(p, "["))
        return parse_list(p);
    if (is_operator(p, "{"))
        return parse_map(p);
    uint32_t offset = p->token.offset;
    if (is_negative_number(p)) {
        next(p);
        return parse_number(p, true, offset);
    }
    if (accept(p, "true"))
        return literal(p, offset, cel_bool(true));
    if (accept(p, "false"))
        return literal(p, offset, cel_bool(false));
    if (accept(p, "null"))
        return literal(p, offset, cel_null());
    if (!accept(p, "("))
        return unexpected(p);
    struct cel_node *n = parse_expr(p);
    return expect(p, ")") ? n : NULL;
}

static struct cel_node *parse_select(struct parser *p, struct cel_node *target)
{
    uint32_t dot = next(p).offset;
    bool optional = accept(p, "?");
    if (p->token.kind != CEL_TOKEN_IDENT)
        return unexpected(p);
    struct cel_token name = next(p);
    if (is_operator(p, "(") && !optional) {
        uint32_t open = next(p).offset;
        struct nodes args = parse_args(p);
        return call_or_macro(p, open, name.text, target, &args);
    }
    if (optional) {
        struct cel_node *args[] = { target, literal(p, name.offset, cel_string(name.text)) };
        return cel_node_call(p->source->arena, dot, "_?._", NULL, args, 2);
    }
    struct cel_node *n = cel_node_new(p->source->arena, CEL_NODE_SELECT, dot);
    n->name = name.text;
    n->target = target;
    return cel_node_nest(n);
}

static bool is_qualified_name(const struct cel_node *n)
{
    while (n->kind == CEL_NODE_SELECT && !n->is_test)
        n = n->target;
    return n->kind == CEL_NODE_IDENT && !n->is_message;
}

/* Each link of a chain adds one level to the tree. */
static bool too_deep(struct parser *p, unsigned links)
{
    if (!p->failed && p->depth + links > CEL_DEPTH_MAX)
        give_up(p,
            CEL_NOWHERE,
            arena_printf(
                p->source->arena, "expression recursion limit exceeded: %d", CEL_DEPTH_MAX));
    return p->failed;
}

static struct cel_node *parse_member(struct parser *p)
{
    bool is_named = p->token.kind == CEL_TOKEN_IDENT || is_operator(p, ".");
    struct cel_node *n = parse_primary(p);
    for (unsigned links = 0; !p->failed; links++) {
        if (too_deep(p, links)) {
            return NULL;
        } else if (is_operator(p, ".")) {
            n = parse_select(p, n);
        } else if (is_operator(p, "[")) {
            uint32_t offset = next(p).offset;
            bool optional = accept(p, "?");
            struct cel_node *args[] = { n, parse_expr(p) };
            if (!expect(p, "]"))
                return NULL;
            n = cel_node_call(p->source->arena, offset, optional ? "_[?_]" : "_[_]", NULL, args, 2);
        } else if (is_operator(p, "{") && is_named && is_qualified_name(n)) {
            n = parse_message(p, n);
        } else {
            return n;
        }
    }
    return NULL;
}

/* ---- operators ---- */

static struct cel_node *parse_unary(struct parser *p)
{
    uint32_t offset = p->token.offset;
    bool minus = is_operator(p, "-");
    if ((!minus && !is_operator(p, "!")) || is_negative_number(p))
        return parse_member(p);
    const char *sign = minus ? "-" : "!";
    unsigned count = 0;
    while (accept(p, sign))
        count++;
    struct cel_node *n = parse_member(p);
    if (p->failed || count % 2 == 0)
        return n;
    return cel_node_call(p->source->arena, offset, minus ? "-_" : "!_", NULL, &n, 1);
}

static const struct {
    const char *text, *function;
    int level;
} binaries[] = {
    { "<", "_<_", 1 },
    { "<=", "_<=_", 1 },
    { ">=", "_>=_", 1 },
    { ">", "_>_", 1 },
    { "==", "_==_", 1 },
    { "!=", "_!=_", 1 },
    { "in", "@in", 1 },
    { "+", "_+_", 2 },
    { "-", "_-_", 2 },
    { "*", "_*_", 3 },
    { "/", "_/_", 3 },
    { "%", "_%_", 3 },
};

static struct cel_node *parse_binary(struct parser *p, int level)
{
    if (level > 3)
        return parse_unary(p);
    struct cel_node *n = parse_binary(p, level + 1);
    for (unsigned links = 0; !p->failed; links++) {
        size_t i = 0;
        while (i < lengthof(binaries) &&
               (binaries[i].level != level || !is_operator(p, binaries[i].text)))
            i++;
        if (i == lengthof(binaries) || too_deep(p, links))
            return n;
        uint32_t offset = next(p).offset;
        struct cel_node *args[] = { n, parse_binary(p, level + 1) };
        if (p->failed)
            return NULL;
        n = cel_node_call(p->source->arena, offset, binaries[i].function, NULL, args, 2);
    }
    return NULL;
}

/* `a && b && c` is one call with all operands. */
static struct cel_node *parse_logic(struct parser *p, bool is_or)
{
    struct nodes terms = { 0 };
    uint32_t offset = 0;
    struct cel_node *n = is_or ? parse_logic(p, false) : parse_binary(p, 1);
    while (!p->failed && is_operator(p, is_or ? "||" : "&&")) {
        if (!terms.count)
            nodes_add(p, &terms, n, false);
        offset = next(p).offset;
        nodes_add(p, &terms, is_or ? parse_logic(p, false) : parse_binary(p, 1), false);
    }
    if (!terms.count || p->failed)
        return p->failed ? NULL : n;
    return cel_node_call(
        p->source->arena, offset, is_or ? "_||_" : "_&&_", NULL, terms.at, terms.count);
}

static struct cel_node *parse_expr(struct parser *p)
{
    if (p->failed || too_deep(p, 1))
        return NULL;
    p->depth++;
    struct cel_node *n = parse_logic(p, true);
    if (!p->failed && is_operator(p, "?")) {
        uint32_t offset = next(p).offset;
        struct cel_node *args[] = { n, parse_logic(p, true), NULL };
        if (expect(p, ":"))
            args[2] = parse_expr(p);
        n = p->failed ? NULL : cel_node_call(p->source->arena, offset, "_?_:_", NULL, args, 3);
    }
    p->depth--;
    return n && n->depth > CEL_TREE_DEPTH_MAX && too_deep(p, CEL_DEPTH_MAX + 1) ? NULL : n;
}

struct cel_node *cel_parse(struct cel_source *s)
{
    struct parser p = { .source = s, .lexer = { .source = s } };
    size_t characters = 0;
    for (size_t i = 0; i < s->text.len; i++)
        characters += ((unsigned char)s->text.ptr[i] & 0xc0) != 0x80;
    if (characters > CEL_SOURCE_CHARACTERS_MAX) {
        cel_issue_add(s,
            CEL_NOWHERE,
            "expression code point size exceeds limit: size: %zu, limit %d",
            characters,
            CEL_SOURCE_CHARACTERS_MAX);
        return NULL;
    }
    next(&p);
    struct cel_node *n = parse_expr(&p);
    if (!p.failed && p.token.kind != CEL_TOKEN_END)
        unexpected(&p);
    return s->issue_count ? NULL : n;
}
