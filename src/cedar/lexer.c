#include "cedar/internal.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c, bool first)
{
    return c == '_' || isalpha((unsigned char)c) || (!first && isdigit((unsigned char)c));
}

bool lexer_fail(const struct lexer *l, struct error *err, const char *what)
{
    size_t line = 1, column = 1;
    for (const char *at = l->begin; at < l->now.text.ptr; at++) {
        column = *at == '\n' ? 1 : column + 1;
        line += *at == '\n';
    }
    int shown = (int)(l->now.text.len < 40 ? l->now.text.len : 40);
    if (l->now.type == TOKEN_END)
        return fail(err, ERR_INVALID, "line %zu: the text ends; %s", line, what);
    return fail(err,
        ERR_INVALID,
        "line %zu, column %zu: unexpected `%.*s`; %s",
        line,
        column,
        shown,
        l->now.text.ptr,
        what);
}

static void skip_blanks(struct lexer *l)
{
    while (l->rest.len) {
        if (isspace((unsigned char)l->rest.ptr[0])) {
            l->rest = (struct str){ l->rest.ptr + 1, l->rest.len - 1 };
        } else if (str_starts(l->rest, STR("//"))) {
            const char *end = memchr(l->rest.ptr, '\n', l->rest.len);
            size_t length = end ? (size_t)(end - l->rest.ptr) : l->rest.len;
            l->rest = (struct str){ l->rest.ptr + length, l->rest.len - length };
        } else {
            return;
        }
    }
}

/* The length from the opening quote to the closing one; 0: unterminated. */
static size_t string_length(struct str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (s.ptr[i] == '\\')
            i++;
        else if (s.ptr[i] == '"')
            return i + 1;
    }
    return 0;
}

static size_t mark_length(struct str s)
{
    static const char *const marks[] = { "::",
        "==",
        "!=",
        "<=",
        ">=",
        "&&",
        "||",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ":",
        ".",
        "<",
        ">",
        "!",
        "+",
        "-",
        "*",
        "@",
        "?" };
    for (size_t i = 0; i < lengthof(marks); i++)
        if (str_starts(s, str_of(marks[i])))
            return strlen(marks[i]);
    return 0;
}

bool lexer_next(struct lexer *l, struct error *err)
{
    skip_blanks(l);
    struct str s = l->rest;
    size_t length = 0;
    enum token_type type = TOKEN_MARK;
    if (!s.len) {
        type = TOKEN_END;
    } else if (is_word(s.ptr[0], true)) {
        type = TOKEN_NAME;
        while (length < s.len && is_word(s.ptr[length], false))
            length++;
    } else if (isdigit((unsigned char)s.ptr[0])) {
        type = TOKEN_NUMBER;
        while (length < s.len && isdigit((unsigned char)s.ptr[length]))
            length++;
    } else if (s.ptr[0] == '"') {
        type = TOKEN_STRING;
        length = string_length(s);
    } else {
        length = mark_length(s);
    }
    if (!length && type != TOKEN_END) {
        l->now = (struct token){ TOKEN_MARK, { s.ptr, 1 } };
        return lexer_fail(l,
            err,
            type == TOKEN_STRING ? "a string needs a closing quote"
                                 : "the language has no such character");
    }
    l->now = (struct token){ type, { s.ptr, length } };
    l->rest = (struct str){ s.ptr + length, s.len - length };
    return true;
}

bool lexer_at(const struct lexer *l, const char *text)
{
    bool comparable = l->now.type == TOKEN_NAME || l->now.type == TOKEN_MARK;
    return comparable && str_eq(l->now.text, str_of(text));
}

bool lexer_take(struct lexer *l, const char *text, bool *ret_taken, struct error *err)
{
    *ret_taken = lexer_at(l, text);
    return !*ret_taken || lexer_next(l, err);
}

bool lexer_expect(struct lexer *l, const char *text, struct error *err)
{
    if (lexer_at(l, text))
        return lexer_next(l, err);
    char what[64];
    snprintf(what, sizeof what, "`%s` belongs here", text);
    return lexer_fail(l, err, what);
}

/* ---- strings ---- */

static size_t put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = { 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = more; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)(heads[more] | code);
    return more + 1;
}

static int hex_digit(char c)
{
    const char *at = memchr("0123456789abcdef", tolower((unsigned char)c), 16);
    return at ? (int)(at - (const char *)memchr("0123456789abcdef", '0', 16)) : -1;
}

/* \x7f or \u{1f600}, after the backslash. */
static bool read_code(struct str *s, uint32_t *ret)
{
    bool braces = s->ptr[0] == 'u';
    size_t i = 1, digits = 0;
    *ret = 0;
    if (braces && (s->len < 3 || s->ptr[i++] != '{'))
        return false;
    for (; i < s->len && hex_digit(s->ptr[i]) >= 0 && digits < (braces ? 6u : 2u); i++, digits++)
        *ret = *ret * 16 + (uint32_t)hex_digit(s->ptr[i]);
    if (braces && (i == s->len || s->ptr[i++] != '}'))
        return false;
    *s = (struct str){ s->ptr + i, s->len - i };
    if (braces)
        return digits && *ret <= 0x10ffff && (*ret < 0xd800 || *ret > 0xdfff);
    return digits == 2 && *ret < 0x80;
}

bool lexer_unescape(struct arena *a, struct str quoted, bool pattern, struct str *ret)
{
    static const char plain[] = "n\nr\rt\t\\\\0\0'\'\"\"";
    struct str s = { quoted.ptr + 1, quoted.len - 2 };
    char *out = arena_alloc(a, s.len + 1);
    size_t length = 0;
    while (s.len) {
        char c = s.ptr[0];
        s = (struct str){ s.ptr + 1, s.len - 1 };
        if (c != '\\') {
            out[length++] = pattern && c == '*' ? CEDAR_ANY : c;
            continue;
        }
        if (!s.len)
            return false;
        uint32_t code;
        const char *found = NULL;
        for (size_t i = 0; i + 1 < sizeof plain - 1 && !found; i += 2)
            found = plain[i] == s.ptr[0] ? plain + i : NULL;
        if (s.ptr[0] == 'x' || s.ptr[0] == 'u') {
            if (!read_code(&s, &code))
                return false;
            length += put_utf8(out + length, code);
            continue;
        }
        if (!found && !(pattern && s.ptr[0] == '*'))
            return false;
        out[length++] = found ? found[1] : '*';
        s = (struct str){ s.ptr + 1, s.len - 1 };
    }
    *ret = (struct str){ out, length };
    return true;
}
