#include "cel/lex.h"

#include "base/buf.h"
#include "base/utf8.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The byte at a distance; NUL after the end. */
static char peek(const struct cel_lexer *l, size_t distance)
{
    struct str s = l->source->text;
    return l->at + distance < s.len ? s.ptr[l->at + distance] : '\0';
}

static struct str rest_of(const struct cel_lexer *l)
{
    struct str s = l->source->text;
    return (struct str){ s.ptr + l->at, s.len - l->at };
}

static void pass(struct cel_lexer *l, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        l->character += ((unsigned char)peek(l, i) & 0xc0) != 0x80;
    l->at += bytes;
}

static void pass_blanks(struct cel_lexer *l)
{
    for (;;) {
        size_t n = 0;
        if (str_starts(rest_of(l), STR("//")))
            while (l->at + n < l->source->text.len && peek(l, n) != '\n')
                n++;
        else
            while (peek(l, n) && strchr("\t \r\n\f", peek(l, n)))
                n++;
        if (!n)
            return;
        pass(l, n);
    }
}

/* ---- numbers ---- */

static size_t digits(const struct cel_lexer *l, size_t from)
{
    size_t n = from;
    while (is_digit(peek(l, n)))
        n++;
    return n;
}

static size_t exponent(const struct cel_lexer *l, size_t from)
{
    size_t n = from;
    if (peek(l, n) != 'e' && peek(l, n) != 'E')
        return from;
    n++;
    if (peek(l, n) == '+' || peek(l, n) == '-')
        n++;
    return is_digit(peek(l, n)) ? digits(l, n) : from;
}

static size_t number_length(const struct cel_lexer *l, enum cel_token_kind *ret)
{
    size_t n = digits(l, 0);
    *ret = CEL_TOKEN_INT;
    if (n == 1 && peek(l, 0) == '0' && peek(l, 1) == 'x' && is_hex(peek(l, 2))) {
        n = 2;
        while (is_hex(peek(l, n)))
            n++;
    } else {
        size_t whole = n;
        if (peek(l, n) == '.' && is_digit(peek(l, n + 1)))
            n = digits(l, n + 1);
        n = exponent(l, n);
        if (n > whole) {
            *ret = CEL_TOKEN_DOUBLE;
            return n;
        }
    }
    if (n && (peek(l, n) == 'u' || peek(l, n) == 'U')) {
        *ret = CEL_TOKEN_UINT;
        n++;
    }
    return n;
}

/* ---- strings ---- */

static size_t hex_run(struct str s, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (from + i >= s.len || !is_hex(s.ptr[from + i]))
            return 0;
    return from + count;
}

/* The length of an escape at the beginning, with its backslash; 0 if there is none. */
static size_t escape_length(struct str s)
{
    if (s.len < 2)
        return 0;
    char c = s.ptr[1];
    if (c && strchr("abfnrtv\"'\\?`", c))
        return 2;
    if (c == 'x' || c == 'X')
        return hex_run(s, 2, 2);
    if (c == 'u' || c == 'U')
        return hex_run(s, 2, c == 'u' ? 4 : 8);
    bool octal = c >= '0' && c <= '3' && s.len >= 4 && s.ptr[2] >= '0' && s.ptr[2] <= '7' &&
                 s.ptr[3] >= '0' && s.ptr[3] <= '7';
    return octal ? 4 : 0;
}

/* The length of a string with its quotes; 0 if it is unterminated. */
static size_t string_length(struct str s, bool raw)
{
    char quote = s.len ? s.ptr[0] : '\0';
    bool is_long = s.len >= 3 && s.ptr[1] == quote && s.ptr[2] == quote;
    size_t at = is_long ? 3 : 1;
    while (at < s.len) {
        struct str rest = { s.ptr + at, s.len - at };
        if (is_long && rest.len >= 3 && rest.ptr[0] == quote && rest.ptr[1] == quote &&
            rest.ptr[2] == quote)
            return at + 3;
        if (!is_long && *rest.ptr == quote)
            return at + 1;
        if (!is_long && (*rest.ptr == '\n' || *rest.ptr == '\r'))
            break;
        size_t step = *rest.ptr == '\\' && !raw ? escape_length(rest) : 1;
        if (!step)
            break;
        at += step;
    }
    /* Three quotes without an end are an empty string and the beginning of another. */
    return is_long ? 2 : 0;
}

/* b and r, in this order, may precede the quotes. */
static size_t literal_length(const struct cel_lexer *l, enum cel_token_kind *ret)
{
    size_t n = peek(l, 0) == 'b' || peek(l, 0) == 'B';
    bool raw = peek(l, n) == 'r' || peek(l, n) == 'R';
    *ret = n ? CEL_TOKEN_BYTES : CEL_TOKEN_STRING;
    n += raw;
    if (peek(l, n) != '"' && peek(l, n) != '\'')
        return 0;
    struct str rest = rest_of(l);
    size_t length = string_length((struct str){ rest.ptr + n, rest.len - n }, raw);
    return length ? n + length : 0;
}

static uint32_t hex_value(const char *digits_at, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        char c = digits_at[i];
        value = value << 4 | (uint32_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static bool unescape(
    struct cel_source *s, const struct cel_token *t, struct str rest, size_t length, struct buf *b)
{
    static const char letters[] = "abfnrtv\"'\\?`", meant[] = "\a\b\f\n\r\t\v\"'\\?`";
    bool bytes = t->kind == CEL_TOKEN_BYTES;
    char c = rest.ptr[1], out[4];
    const char *letter = strchr(letters, c);
    if (letter) {
        buf_add_char(b, meant[letter - letters]);
        return true;
    }
    uint32_t value = c >= '0' && c <= '3'
                         ? (uint32_t)((c - '0') * 64 + (rest.ptr[2] - '0') * 8 + rest.ptr[3] - '0')
                         : hex_value(rest.ptr + 2, length - 2);
    if (bytes && (c == 'u' || c == 'U')) {
        cel_issue_add(s, t->offset, "unable to unescape string");
        return false;
    }
    if (bytes) {
        buf_add_char(b, (char)value);
        return true;
    }
    size_t count = utf8_put(value, out);
    if (!count)
        cel_issue_add(s, t->offset, "invalid unicode code point");
    buf_add(b, out, count);
    return count > 0;
}

bool cel_unquote(struct cel_source *s, const struct cel_token *t, struct str *ret)
{
    struct str v = t->text;
    bool raw = false;
    while (*v.ptr != '"' && *v.ptr != '\'') {
        raw = raw || *v.ptr == 'r' || *v.ptr == 'R';
        v = (struct str){ v.ptr + 1, v.len - 1 };
    }
    size_t quotes = v.len >= 6 && v.ptr[1] == v.ptr[0] && v.ptr[2] == v.ptr[0] ? 3 : 1;
    v = (struct str){ v.ptr + quotes, v.len - 2 * quotes };
    cleanup(buf_done) struct buf b = BUF_INIT(v.len * 2 + 8);
    for (size_t i = 0; i < v.len;) {
        struct str rest = { v.ptr + i, v.len - i };
        size_t length = *rest.ptr == '\\' && !raw ? escape_length(rest) : 0;
        if (length) {
            if (!unescape(s, t, rest, length, &b))
                return false;
            i += length;
        } else if (*rest.ptr == '\r') { /* line breaks are always one \n */
            buf_add_char(&b, '\n');
            i += rest.len > 1 && rest.ptr[1] == '\n' ? 2 : 1;
        } else {
            buf_add_char(&b, v.ptr[i++]);
        }
    }
    *ret = (struct str){ arena_strndup(s->arena, buf_text(&b), b.len), b.len };
    memcpy((char *)ret->ptr, b.len ? b.ptr : "", b.len);
    return true;
}

/* ---- tokens ---- */

static size_t word_length(const struct cel_lexer *l, enum cel_token_kind *ret)
{
    size_t n = 0;
    if (peek(l, 0) == '`') {
        for (n = 1; peek(l, n) && (is_letter(peek(l, n)) || strchr("0123456789.-/ ", peek(l, n)));)
            n++;
        *ret = CEL_TOKEN_ESCAPED_IDENT;
        return n > 1 && peek(l, n) == '`' ? n + 1 : 0;
    }
    while (is_letter(peek(l, n)) || (n && is_digit(peek(l, n))))
        n++;
    struct str word = { rest_of(l).ptr, n };
    static const char *const operators[] = { "in", "true", "false", "null" };
    *ret = CEL_TOKEN_IDENT;
    for (size_t i = 0; i < lengthof(operators); i++)
        if (str_eq(word, str_of(operators[i])))
            *ret = CEL_TOKEN_OPERATOR;
    return n;
}

static size_t operator_length(const struct cel_lexer *l)
{
    static const char *const operators[] = { "==",
        "!=",
        "<=",
        ">=",
        "&&",
        "||",
        "<",
        ">",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        ".",
        ",",
        "-",
        "!",
        "?",
        ":",
        "+",
        "*",
        "/",
        "%" };
    for (size_t i = 0; i < lengthof(operators); i++)
        if (str_starts(rest_of(l), str_of(operators[i])))
            return strlen(operators[i]);
    return 0;
}

/* Up to and including the character after which no token is possible. */
static size_t broken_length(struct str s)
{
    uint32_t c;
    size_t at = utf8_first(s, &c);
    bool quoted = *s.ptr == '"' || *s.ptr == '\'';
    at = at ? at : 1;
    while (*s.ptr == '`' && at < s.len &&
           (is_letter(s.ptr[at]) || is_digit(s.ptr[at]) || strchr(".-/ ", s.ptr[at])))
        at++;
    if (!quoted && !strchr("&|=`", *s.ptr))
        return at;
    for (bool escaped = false; at < s.len;) {
        struct str rest = { s.ptr + at, s.len - at };
        size_t step = utf8_first(rest, &c);
        if (quoted && *rest.ptr == '\\' && !escaped && escape_length(rest))
            step = escape_length(rest);
        else if (quoted && *rest.ptr == '\\' && !escaped)
            escaped = true;
        else if (!quoted || escaped || *rest.ptr == '\n' || *rest.ptr == '\r')
            return at + (step ? step : 1);
        at += step ? step : 1;
    }
    return at;
}

struct cel_token cel_lex(struct cel_lexer *l)
{
    for (;;) {
        pass_blanks(l);
        struct cel_token t = { .offset = l->character };
        struct str rest = rest_of(l);
        if (rest.len == 0)
            return t;
        bool dotted = peek(l, 0) == '.' && is_digit(peek(l, 1));
        size_t n = literal_length(l, &t.kind);
        if (!n && (is_digit(peek(l, 0)) || dotted))
            n = number_length(l, &t.kind);
        if (!n)
            n = word_length(l, &t.kind);
        if (!n) {
            n = operator_length(l);
            t.kind = CEL_TOKEN_OPERATOR;
        }
        if (n) {
            t.text = (struct str){ rest.ptr, n };
            pass(l, n);
            return t;
        }
        n = broken_length(rest);
        cel_issue_add(l->source,
            t.offset,
            "Syntax error: token recognition error at: '%.*s'",
            (int)n,
            rest.ptr);
        pass(l, n);
    }
}
