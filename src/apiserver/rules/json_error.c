#include "apiserver/rules/json_error.h"

#include <string.h>

#include "base/json.h"

struct scan {
    struct arena *arena;
    struct str text;
    size_t at;
    int depth;
    const char *why; /* NULL: fine so far */
};

static bool stop(struct scan *s, const char *where)
{
    if (s->at >= s->text.len) {
        s->why = "unexpected end of JSON input";
        return false;
    }
    unsigned char c = (unsigned char)s->text.ptr[s->at];
    const char *shown =
        c == '\''                               ? "\\'"
        : c == '\\'                             ? "\\\\"
        : c == '\n'                             ? "\\n"
        : c == '\t'                             ? "\\t"
        : c == '\r'                             ? "\\r"
        : c >= 0x80 && (c <= 0xa0 || c == 0xad) ? arena_printf(s->arena, "\\u%04x", c)
        : c < 0x20 || c == 0x7f                 ? arena_printf(s->arena, "\\x%02x", c)
        /* bytes are read as the characters of the same number */
        : c < 0x80 ? arena_printf(s->arena, "%c", c)
                   : arena_printf(s->arena, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
    s->why = arena_printf(s->arena, "invalid character '%s' %s", shown, where);
    return false;
}

static int peek(const struct scan *s)
{
    return s->at < s->text.len ? (unsigned char)s->text.ptr[s->at] : -1;
}

static void skip_blanks(struct scan *s)
{
    while (s->at < s->text.len && strchr(" \t\r\n", s->text.ptr[s->at]) && s->text.ptr[s->at])
        s->at++;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool scan_string(struct scan *s)
{
    for (s->at++;; s->at++) {
        int c = peek(s);
        if (c < 0x20)
            return stop(s, "in string literal");
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c != '\\')
            continue;
        s->at++;
        c = peek(s);
        if (c < 0 || !strchr("\"\\/bfnrtu", c) || !c)
            return stop(s, "in string escape code");
        for (int i = 0; c == 'u' && i < 4; i++) {
            s->at++;
            int digit = peek(s);
            if (digit < 0 || !digit || !strchr("0123456789abcdefABCDEF", digit))
                return stop(s, "in \\u hexadecimal character escape");
        }
    }
}

static bool scan_digits(struct scan *s, const char *where)
{
    if (!is_digit(peek(s)))
        return stop(s, where);
    while (is_digit(peek(s)))
        s->at++;
    return true;
}

static bool scan_number(struct scan *s)
{
    if (peek(s) == '-')
        s->at++;
    if (peek(s) == '0')
        s->at++;
    else if (!scan_digits(s, "in numeric literal"))
        return false;
    if (peek(s) == '.') {
        s->at++;
        if (!scan_digits(s, "after decimal point in numeric literal"))
            return false;
    }
    if (peek(s) != 'e' && peek(s) != 'E')
        return true;
    s->at++;
    if (peek(s) == '+' || peek(s) == '-')
        s->at++;
    return scan_digits(s, "in exponent of numeric literal");
}

static bool scan_word(struct scan *s, const char *word)
{
    for (const char *w = word; *w; w++, s->at++)
        if (peek(s) != *w)
            return stop(s, arena_printf(s->arena, "in literal %s (expecting '%c')", word, *w));
    return true;
}

static bool scan_value(struct scan *s);

static bool scan_container(struct scan *s, char open)
{
    bool map = open == '{';
    char close = map ? '}' : ']';
    s->at++;
    skip_blanks(s);
    if (peek(s) == close) {
        s->at++;
        return true;
    }
    for (;;) {
        skip_blanks(s);
        if (map) {
            if (peek(s) != '"')
                return stop(s, "looking for beginning of object key string");
            if (!scan_string(s))
                return false;
            skip_blanks(s);
            if (peek(s) != ':')
                return stop(s, "after object key");
            s->at++;
        }
        if (!scan_value(s))
            return false;
        skip_blanks(s);
        if (peek(s) == close) {
            s->at++;
            return true;
        }
        if (peek(s) != ',')
            return stop(s, map ? "after object key:value pair" : "after array element");
        s->at++;
    }
}

static bool scan_value(struct scan *s)
{
    skip_blanks(s);
    int c = peek(s);
    if (s->depth == JSON_DEPTH_MAX) {
        s->why = "exceeded max depth";
        return false;
    }
    if (c == '{' || c == '[') {
        s->depth++;
        bool ok = scan_container(s, (char)c);
        s->depth--;
        return ok;
    }
    if (c == '"')
        return scan_string(s);
    if (c == '-' || is_digit(c))
        return scan_number(s);
    if (c == 't' || c == 'f' || c == 'n')
        return scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
    return stop(s, "looking for beginning of value");
}

const char *json_error_text(struct arena *a, struct str text)
{
    struct scan s = { .arena = a, .text = text };
    if (scan_value(&s)) {
        skip_blanks(&s);
        if (s.at < s.text.len)
            stop(&s, "after top-level value");
    }
    return s.why ? s.why : "invalid UTF-8 or a NUL character in a string";
}

const char *json_error_type(struct json v)
{
    static const char *const names[] = {
        [JSON_ABSENT] = "",
        [JSON_NULL] = "null",
        [JSON_BOOL] = "bool",
        [JSON_INT] = "number",
        [JSON_REAL] = "number",
        [JSON_STR] = "string",
        [JSON_LIST] = "array",
        [JSON_MAP] = "object",
    };
    return names[v.type];
}

const char *json_error_restored(struct arena *a, const char *text)
{
    static const char head[] = "json: cannot unmarshal ", tail[] = " of type ";
    static const struct {
        const char *json, *go;
    } kinds[] = {
        { "string", "string" },
        { "number", "int64" },
        { "bool", "bool" },
        { "array", "slice" },
        { "object", "map" },
    };
    const char *type = strstr(text, tail), *from = NULL;
    if (text_starts(text, "illegal base64"))
        return arena_printf(a, "error decoding from json: %s", text);
    if (!text_starts(text, head) || !type)
        return text;
    type += sizeof(tail) - 1;
    const char *value = text + sizeof(head) - 1;
    for (size_t i = 0; i < lengthof(kinds); i++)
        if (text_starts(value, kinds[i].json))
            from = kinds[i].go;
    if (!from)
        return text;
    bool number = text_eq(from, "int64"), whole = text_starts(type, "int");
    bool fraction =
        text_starts(value, "number ") && strcspn(value, ".") < strcspn(value + 7, " ") + 7;
    if (text_starts(type, "[]") || text_starts(type, "map["))
        return arena_printf(a, "cannot restore %s from %s", *type == '[' ? "slice" : "map", from);
    if (fraction && whole)
        return arena_printf(a, "cannot convert float64 to %s", type);
    if (whole || text_eq(type, "bool") || (text_eq(type, "string") && !number))
        return arena_printf(a, "unrecognized type: %s", type);
    return number ? arena_printf(a, "cannot convert int64 to %s", type)
                  : arena_printf(a, "cannot restore struct from: %s", from);
}
