/* Templates of Go's text/template: only checks whether they parse, and which fields they read. The
 * gateway refuses its whole configuration because of one broken template, so a broken one must not
 * get into it. */

#include "kinds/toolhive/composite_tool.h"

#include "base/buf.h"

#define NESTING_MAX 50
#define VARIABLES_MAX 64
#define FIELD_BYTES_MAX 1024

enum token_type {
    TOKEN_ERROR,
    TOKEN_EOF,
    TOKEN_TEXT,
    TOKEN_OPEN,  /* {{ */
    TOKEN_CLOSE, /* }} */
    TOKEN_SPACE,
    TOKEN_LEFT,
    TOKEN_RIGHT,
    TOKEN_PIPE,
    TOKEN_ASSIGN,
    TOKEN_CHAR, /* without a meaning of its own */
    TOKEN_BOOL,
    TOKEN_NUMBER,
    TOKEN_CHARACTER,
    TOKEN_STRING,
    TOKEN_NAME,
    TOKEN_FIELD,
    TOKEN_VARIABLE,
    TOKEN_KEYWORD, /* prints as <nil>, like the two after it */
    TOKEN_DOT,
    TOKEN_NIL,
};

struct token {
    enum token_type type;
    struct str text;
    int line;
};

struct tmpl {
    struct arena *a;
    const char *start, *at;
    int line;
    bool inside;
    int parens;
    struct token token; /* the next one, if peek() was called */
    bool peeked;
    const char *trouble; /* of a TOKEN_ERROR */
    int loops, depth;
    struct str variables[VARIABLES_MAX];
    size_t variable_count;
    const struct template_refs *refs;
    struct error *err;
};

/* ---- tokens ---- */

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c & 0x80);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool closes(const char *at)
{
    return text_starts(at, "}}") || (is_blank(at[0]) && text_starts(at + 1, "-}}"));
}

static bool ends_word(const char *at)
{
    return !*at || is_blank(*at) || strchr(".,|:()", *at) || text_starts(at, "}}");
}

static struct token token(struct tmpl *t, enum token_type type, const char *from)
{
    return (struct token){ type, { from, (size_t)(t->at - from) }, t->line };
}

static struct token trouble(struct tmpl *t, const char *format, ...) printf_like(2, 3);
static struct token trouble(struct tmpl *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->trouble = arena_vprintf(t->a, format, args);
    va_end(args);
    return token(t, TOKEN_ERROR, t->at);
}

static const char *bad_character(struct tmpl *t, char c)
{
    return arena_printf(t->a, "bad character U+%04X '%c'", (unsigned)(uint8_t)c, c);
}

static struct token lex_word(struct tmpl *t)
{
    static const char *const keywords[] = {
        "block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"
    };
    const char *from = t->at;
    while (is_word(*t->at))
        t->at++;
    if (!ends_word(t->at))
        return trouble(t, "%s", bad_character(t, *t->at));
    struct token word = token(t, TOKEN_NAME, from);
    for (size_t i = 0; i < lengthof(keywords); i++)
        if (str_eq(word.text, str_of(keywords[i])))
            word.type = TOKEN_KEYWORD;
    if (str_eq(word.text, str_of("nil")))
        word.type = TOKEN_NIL;
    if (str_eq(word.text, str_of("true")) || str_eq(word.text, str_of("false")))
        word.type = TOKEN_BOOL;
    return word;
}

/* .name, $name, or the dot or dollar alone. */
static struct token lex_name(struct tmpl *t, enum token_type type, enum token_type alone)
{
    const char *from = t->at++;
    if (ends_word(t->at))
        return token(t, alone, from);
    while (is_word(*t->at))
        t->at++;
    if (!ends_word(t->at))
        return trouble(t, "%s", bad_character(t, *t->at));
    return token(t, type, from);
}

static struct token lex_quoted(struct tmpl *t, char end)
{
    const char *from = t->at++;
    for (; *t->at && *t->at != end; t->at++) {
        bool raw = end == '`';
        if (*t->at == '\\' && !raw && t->at[1])
            t->at++;
        if (*t->at == '\n') {
            if (!raw)
                break;
            t->line++;
        }
    }
    if (*t->at != end)
        return trouble(t,
            "%s",
            end == '"'   ? "unterminated quoted string"
            : end == '`' ? "unterminated raw quoted string"
                         : "unterminated character constant");
    t->at++;
    return token(t, end == '\'' ? TOKEN_CHARACTER : TOKEN_STRING, from);
}

static struct token lex_number(struct tmpl *t)
{
    const char *from = t->at;
    t->at += *t->at == '+' || *t->at == '-';
    while (is_word(*t->at) || *t->at == '.' ||
           ((*t->at == '+' || *t->at == '-') && strchr("eEpP", t->at[-1])))
        t->at++;
    struct token number = token(t, TOKEN_NUMBER, from);
    if (t->at == from + 1 && (*from == '+' || *from == '-'))
        return trouble(t, "bad number syntax: \"%.*s\"", (int)number.text.len, number.text.ptr);
    return number;
}

static struct token lex_inside(struct tmpl *t)
{
    if (closes(t->at)) {
        const char *from = t->at;
        bool trims = *t->at != '}';
        if (t->parens)
            return trouble(t, "unclosed left paren");
        t->at += trims ? 4 : 2;
        struct token close = token(t, TOKEN_CLOSE, from);
        t->inside = false;
        return close;
    }
    const char *from = t->at;
    char c = *t->at;
    if (!c)
        return trouble(t, "unclosed action");
    if (is_blank(c)) {
        for (; is_blank(*t->at) && !closes(t->at); t->at++)
            t->line += *t->at == '\n';
        return token(t, TOKEN_SPACE, from);
    }
    if (c == '"' || c == '`' || c == '\'')
        return lex_quoted(t, c);
    if (c == '.' && t->at[1] && !(t->at[1] >= '0' && t->at[1] <= '9'))
        return lex_name(t, TOKEN_FIELD, TOKEN_DOT);
    if (c == '$')
        return lex_name(t, TOKEN_VARIABLE, TOKEN_VARIABLE);
    if (c == '.' || c == '+' || c == '-' || (c >= '0' && c <= '9'))
        return lex_number(t);
    if (is_word(c))
        return lex_word(t);
    t->at++;
    if (c == ':' && *t->at != '=')
        return trouble(t, "expected :=");
    t->at += c == ':';
    if (c == '(' || c == ')')
        t->parens += c == '(' ? 1 : -1;
    if (t->parens < 0)
        return trouble(t, "unexpected right paren");
    return token(t,
        c == '('               ? TOKEN_LEFT
        : c == ')'             ? TOKEN_RIGHT
        : c == '|'             ? TOKEN_PIPE
        : c == ':' || c == '=' ? TOKEN_ASSIGN
                               : TOKEN_CHAR,
        from);
}

static bool skip_comment(struct tmpl *t, const char *at)
{
    const char *open = at + (text_starts(at, "{{- ") ? 4 : 2);
    if (!text_starts(open, "/*"))
        return false;
    const char *end = strstr(open, "*/");
    if (!end) {
        t->trouble = "unclosed comment";
        return false;
    }
    for (const char *c = at; c < end; c++)
        t->line += *c == '\n';
    end += 2;
    if (!closes(end)) {
        t->trouble = "comment ends before closing delimiter";
        return false;
    }
    t->at = end + (*end == '}' ? 2 : 4);
    return true;
}

static struct token lex(struct tmpl *t)
{
    if (t->inside)
        return lex_inside(t);
    for (;;) {
        const char *from = t->at, *open = strstr(from, "{{");
        if (!open)
            open = from + strlen(from);
        for (const char *c = from; c < open; c++)
            t->line += *c == '\n';
        if (!*open) {
            t->at = open;
            return token(t, TOKEN_EOF, open);
        }
        t->at = open;
        if (skip_comment(t, open))
            continue;
        if (t->trouble)
            return token(t, TOKEN_ERROR, open);
        t->at += text_starts(open, "{{-") && is_blank(open[3]) ? 3 : 2;
        t->inside = true;
        t->parens = 0;
        return token(t, TOKEN_OPEN, open);
    }
}

static struct token peek(struct tmpl *t)
{
    if (!t->peeked)
        t->token = lex(t);
    t->peeked = true;
    return t->token;
}

static struct token next(struct tmpl *t)
{
    struct token seen = peek(t);
    t->peeked = false;
    return seen;
}

static struct token peek_word(struct tmpl *t)
{
    while (peek(t).type == TOKEN_SPACE)
        next(t);
    return peek(t);
}

static struct token next_word(struct tmpl *t)
{
    peek_word(t);
    return next(t);
}

/* ---- errors ---- */

static bool complain(struct tmpl *t, const char *format, ...) printf_like(2, 3);
static bool complain(struct tmpl *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(t->a, format, args);
    va_end(args);
    return fail(t->err, ERR_INVALID, "template: validation:%d: %s", t->token.line, text);
}

static const char *shown(struct tmpl *t, struct token x)
{
    if (x.type == TOKEN_EOF)
        return "EOF";
    const char *text = str_dup(t->a, x.text);
    if (x.type >= TOKEN_KEYWORD)
        return arena_printf(t->a, "<%s>", text);
    return x.text.len > 10 ? arena_printf(t->a, "\"%.10s\"...", text)
                           : arena_printf(t->a, "\"%s\"", text);
}

static bool unexpected(struct tmpl *t, struct token x, const char *where)
{
    if (x.type == TOKEN_ERROR)
        return complain(t, "%s", t->trouble);
    return complain(t, "unexpected %s in %s", shown(t, x), where);
}

static bool is_keyword(struct token x, const char *word)
{
    return x.type == TOKEN_KEYWORD && str_eq(x.text, str_of(word));
}

/* ---- pipelines ---- */

static bool pipeline(struct tmpl *t, const char *where, enum token_type end, bool loop);

static bool check_function(struct tmpl *t, struct token name)
{
    static const char *const known[] = { "and",
        "break",
        "call",
        "continue",
        "eq",
        "fromJson",
        "ge",
        "gt",
        "html",
        "index",
        "js",
        "json",
        "le",
        "len",
        "lt",
        "ne",
        "not",
        "or",
        "print",
        "printf",
        "println",
        "quote",
        "slice",
        "urlquery" };
    for (size_t i = 0; i < lengthof(known); i++)
        if (str_eq(name.text, str_of(known[i])))
            return true;
    return complain(t, "function \"%s\" not defined", str_dup(t->a, name.text));
}

static bool check_variable(struct tmpl *t, struct token name)
{
    if (str_eq(name.text, str_of("$")))
        return true;
    for (size_t i = 0; i < t->variable_count; i++)
        if (str_eq(t->variables[i], name.text))
            return true;
    return complain(t, "undefined variable \"%s\"", str_dup(t->a, name.text));
}

static bool declare(struct tmpl *t, struct token name)
{
    if (t->variable_count == VARIABLES_MAX)
        return complain(t, "more than %d variables", VARIABLES_MAX);
    t->variables[t->variable_count++] = name.text;
    return true;
}

/* The fields after an operand: .a.b.c is one reference. */
static bool operand(struct tmpl *t, struct token *ret_first, bool *ret_there)
{
    struct token x = *ret_first = peek_word(t);
    struct buf field = BUF_INIT(FIELD_BYTES_MAX);
    *ret_there = true;
    switch (x.type) {
    case TOKEN_NAME:
        if (!check_function(t, x))
            return false;
        break;
    case TOKEN_VARIABLE:
        if (!check_variable(t, x))
            return false;
        break;
    case TOKEN_FIELD:
        buf_add(&field, x.text.ptr, x.text.len);
        break;
    case TOKEN_CHARACTER:
        if (x.text.len != 3 && x.text.ptr[1] != '\\' && !(x.text.ptr[1] & 0x80))
            return complain(t, "malformed character constant: %s", str_dup(t->a, x.text));
        break;
    case TOKEN_LEFT:
        next(t);
        if (!pipeline(t, "parenthesized pipeline", TOKEN_RIGHT, false))
            return false;
        goto fields;
    case TOKEN_DOT:
    case TOKEN_NIL:
    case TOKEN_BOOL:
    case TOKEN_NUMBER:
    case TOKEN_STRING:
        break;
    default:
        *ret_there = false;
        return true;
    }
    next(t);
fields:
    while (peek(t).type == TOKEN_FIELD) {
        bool plain = x.type == TOKEN_BOOL || x.type == TOKEN_STRING || x.type == TOKEN_NUMBER ||
                     x.type == TOKEN_NIL || x.type == TOKEN_DOT;
        if (plain) {
            buf_done(&field);
            return complain(t, "unexpected . after term %s", shown(t, x));
        }
        struct token more = next(t);
        buf_add(&field, more.text.ptr, more.text.len);
    }
    if (t->refs && t->refs->fields && field.len && !buf_overflowed(&field) &&
        x.type != TOKEN_VARIABLE)
        json_push(t->refs->fields, json_strn(t->a, buf_text(&field), field.len));
    buf_done(&field);
    return true;
}

static bool command(struct tmpl *t, struct token *ret_first)
{
    size_t count = 0;
    for (;;) {
        struct token first;
        bool there;
        if (!operand(t, &first, &there))
            return false;
        if (there && !count++)
            *ret_first = first;
        struct token x = peek(t);
        if (x.type == TOKEN_SPACE) {
            next(t);
            continue;
        }
        if (x.type == TOKEN_PIPE)
            next(t);
        else if (x.type != TOKEN_CLOSE && x.type != TOKEN_RIGHT)
            return unexpected(t, x, "operand");
        break;
    }
    return count || complain(t, "empty command");
}

/* $x :=, and in range also $i, $x := */
static bool declarations(struct tmpl *t, bool loop)
{
    for (int i = 0; i < (loop ? 2 : 1) && peek_word(t).type == TOKEN_VARIABLE; i++) {
        const struct tmpl before = *t;
        struct token name = next(t), x = peek_word(t);
        if (x.type == TOKEN_ASSIGN) {
            next(t);
            return str_eq(x.text, str_of("=")) ? check_variable(t, name) : declare(t, name);
        }
        if (!loop || x.type != TOKEN_CHAR || *x.text.ptr != ',') {
            *t = before;
            return true;
        }
        next(t);
        if (!declare(t, name))
            return false;
    }
    return true;
}

static bool can_run(struct token first)
{
    return first.type != TOKEN_BOOL && first.type != TOKEN_DOT && first.type != TOKEN_NIL &&
           first.type != TOKEN_NUMBER && first.type != TOKEN_STRING;
}

static bool pipeline(struct tmpl *t, const char *where, enum token_type end, bool loop)
{
    if (++t->depth > NESTING_MAX)
        return complain(t, "nested deeper than %d levels", NESTING_MAX);
    if (!declarations(t, loop))
        return false;
    for (size_t stage = 1;; stage++) {
        struct token x = peek_word(t), first = { 0 };
        if (x.type == end) {
            next(t);
            t->depth--;
            return stage > 1 || complain(t, "missing value for %s", where);
        }
        bool starts = x.type == TOKEN_LEFT || x.type >= TOKEN_DOT ||
                      (x.type >= TOKEN_BOOL && x.type <= TOKEN_VARIABLE);
        if (!starts)
            return unexpected(t, next(t), where);
        if (!command(t, &first))
            return false;
        if (stage > 1 && !can_run(first))
            return complain(t, "non executable command in pipeline stage %zu", stage);
    }
}

/* ---- actions ---- */

enum ending { ENDS_TEXT, ENDS_END, ENDS_ELSE };

static bool items(struct tmpl *t, enum ending *ret);

static bool block(struct tmpl *t, const char *what, bool loop)
{
    enum ending ending;
    size_t variables = t->variable_count;
    bool else_seen = false;
    if (!pipeline(t, what, TOKEN_CLOSE, loop))
        return false;
    for (;;) {
        t->loops += loop && !else_seen;
        bool ok = items(t, &ending);
        t->loops -= loop && !else_seen;
        if (!ok)
            return false;
        if (ending == ENDS_TEXT)
            return complain(t, "unexpected EOF");
        if (ending == ENDS_END)
            break;
        if (else_seen)
            return complain(t, "expected end; found {{else}}");
        struct token x = peek_word(t);
        if (is_keyword(x, what) && !loop) {
            next(t);
            if (!pipeline(t, what, TOKEN_CLOSE, false))
                return false;
            continue;
        }
        if (next_word(t).type != TOKEN_CLOSE)
            return unexpected(t, x, "else");
        else_seen = true;
    }
    t->variable_count = variables;
    return true;
}

static bool definition(struct tmpl *t, const char *what)
{
    enum ending ending;
    struct token name = next_word(t);
    if (name.type != TOKEN_STRING)
        return unexpected(t, name, arena_printf(t->a, "%s clause", what));
    if (text_eq(what, "template") && peek_word(t).type == TOKEN_CLOSE) {
        next(t);
        return true;
    }
    if (text_eq(what, "define")) {
        struct token x = next_word(t);
        if (x.type != TOKEN_CLOSE)
            return unexpected(t, x, "define clause");
    } else if (!pipeline(t, arena_printf(t->a, "%s clause", what), TOKEN_CLOSE, false)) {
        return false;
    }
    if (text_eq(what, "template"))
        return true;
    if (!items(t, &ending))
        return false;
    return ending == ENDS_END ||
           complain(t, "unexpected %s", ending == ENDS_ELSE ? "{{else}}" : "EOF");
}

static bool jump(struct tmpl *t, const char *what)
{
    struct token x = next_word(t);
    if (x.type != TOKEN_CLOSE)
        return unexpected(t, x, arena_printf(t->a, "{{%s}}", what));
    return t->loops || complain(t, "{{%s}} outside {{range}}", what);
}

static bool action(struct tmpl *t, struct token word)
{
    static const char *const blocks[] = { "if", "with", "range" };
    static const char *const definitions[] = { "define", "block", "template" };
    static const char *const jumps[] = { "break", "continue" };
    for (size_t i = 0; i < lengthof(blocks); i++)
        if (is_keyword(word, blocks[i])) {
            next(t);
            return block(t, blocks[i], i == 2);
        }
    for (size_t i = 0; i < lengthof(definitions); i++)
        if (is_keyword(word, definitions[i])) {
            next(t);
            return definition(t, definitions[i]);
        }
    for (size_t i = 0; i < lengthof(jumps); i++)
        if (is_keyword(word, jumps[i])) {
            next(t);
            return jump(t, jumps[i]);
        }
    return pipeline(t, "command", TOKEN_CLOSE, false);
}

static bool items(struct tmpl *t, enum ending *ret)
{
    if (++t->depth > NESTING_MAX)
        return complain(t, "nested deeper than %d levels", NESTING_MAX);
    for (;;) {
        struct token x = next(t);
        if (x.type == TOKEN_EOF) {
            *ret = ENDS_TEXT;
            break;
        }
        if (x.type != TOKEN_OPEN)
            return unexpected(t, x, "input");
        struct token word = peek_word(t);
        if (is_keyword(word, "end")) {
            next(t);
            struct token close = next_word(t);
            if (close.type != TOKEN_CLOSE)
                return unexpected(t, close, "end");
            *ret = ENDS_END;
            break;
        }
        if (is_keyword(word, "else")) {
            next(t);
            *ret = ENDS_ELSE;
            break;
        }
        if (!action(t, word))
            return false;
    }
    t->depth--;
    return true;
}

bool composite_template_check(
    struct arena *a, const char *text, const struct template_refs *refs, struct error *err)
{
    struct tmpl t = { .a = a, .start = text, .at = text, .line = 1, .refs = refs, .err = err };
    enum ending ending;
    if (!items(&t, &ending))
        return false;
    return ending == ENDS_TEXT ||
           complain(&t, "unexpected %s", ending == ENDS_END ? "{{end}}" : "{{else}}");
}
