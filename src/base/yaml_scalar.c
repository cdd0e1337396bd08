#include "base/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"

static const struct {
    const char *text;
    struct json value;
} words[] = {
    { "", { .type = JSON_NULL } },
    { "~", { .type = JSON_NULL } },
    { "null", { .type = JSON_NULL } },
    { "Null", { .type = JSON_NULL } },
    { "NULL", { .type = JSON_NULL } },
    { "true", { .type = JSON_BOOL, .boolean = true } },
    { "True", { .type = JSON_BOOL, .boolean = true } },
    { "TRUE", { .type = JSON_BOOL, .boolean = true } },
    { "false", { .type = JSON_BOOL, .boolean = false } },
    { "False", { .type = JSON_BOOL, .boolean = false } },
    { "FALSE", { .type = JSON_BOOL, .boolean = false } },
};

static size_t span(struct str s, size_t from, const char *characters)
{
    size_t count = 0;
    while (from + count < s.len && s.ptr[from + count] && strchr(characters, s.ptr[from + count]))
        count++;
    return count;
}

#define DECIMAL "0123456789"

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_real(struct str s)
{
    size_t at = s.len && strchr("+-", s.ptr[0]) ? 1 : 0;
    size_t whole = span(s, at, DECIMAL), fraction = 0;
    at += whole;
    if (at < s.len && s.ptr[at] == '.') {
        fraction = span(s, at + 1, DECIMAL);
        at += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
        at++;
        if (at < s.len && (s.ptr[at] == '+' || s.ptr[at] == '-'))
            at++;
        size_t exponent = span(s, at, DECIMAL);
        if (exponent == 0)
            return false;
        at += exponent;
    }
    return at == s.len;
}

/* 0o17 and 0x1F; a number that does not fit into 63 bits is text. */
static bool read_based_int(struct str s, int64_t *ret)
{
    int base = str_starts(s, STR("0o")) ? 8 : str_starts(s, STR("0x")) ? 16 : 0;
    const char *digits = base == 8 ? "01234567" : "0123456789abcdefABCDEF";
    if (!base || s.len < 3 || s.len > 24 || span(s, 2, digits) != s.len - 2)
        return false;
    char text[24];
    memcpy(text, s.ptr + 2, s.len - 2);
    text[s.len - 2] = '\0';
    unsigned long long value = strtoull(text, NULL, base);
    *ret = (int64_t)value;
    return value <= INT64_MAX;
}

static bool is_not_finite(struct str s)
{
    if (s.len && (s.ptr[0] == '+' || s.ptr[0] == '-'))
        s = (struct str){ s.ptr + 1, s.len - 1 };
    return str_eq_nocase(s, STR(".inf")) || str_eq_nocase(s, STR(".nan"));
}

const char *yaml_scalar_plain(struct arena *a, struct str s, struct json *ret)
{
    for (size_t i = 0; i < lengthof(words); i++) {
        if (str_eq(s, str_of(words[i].text))) {
            *ret = words[i].value;
            return NULL;
        }
    }
    int64_t integer;
    struct str digits = s.ptr[0] == '+' ? (struct str){ s.ptr + 1, s.len - 1 } : s;
    bool two_signs = digits.ptr != s.ptr && str_starts(digits, STR("-"));
    if (!two_signs && str_to_int(digits, &integer)) {
        *ret = json_int(integer);
    } else if (read_based_int(s, &integer)) {
        *ret = json_int(integer);
    } else if (is_real(s)) {
        *ret = json_real(strtod(str_dup(a, s), NULL));
        if (!isfinite(ret->real))
            return "the number is too large; quote it if it is text";
    } else if (is_not_finite(s)) {
        return "JSON has no infinity and no NaN; quote it if it is text";
    } else {
        *ret = json_strn(a, s.ptr, s.len);
    }
    return NULL;
}

bool yaml_scalar_old(struct str s, struct json *ret)
{
    static const char *const said[] = { "y", "yes", "on", "n", "no", "off" };
    bool negative = s.len && s.ptr[0] == '-';
    struct str digits = negative ? (struct str){ s.ptr + 1, s.len - 1 } : s;
    for (size_t i = 0; i < lengthof(said); i++) {
        /* yes, Yes and YES, but not yEs. */
        bool mixed = s.len > 1 && s.ptr[1] <= 'Z' && s.ptr[0] > 'Z';
        bool shouted = s.len > 2 && (s.ptr[1] <= 'Z') != (s.ptr[2] <= 'Z');
        if (!str_eq_nocase(s, str_of(said[i])) || mixed || shouted)
            continue;
        *ret = json_bool(i < lengthof(said) / 2);
        return true;
    }
    if (digits.len < 2 || digits.len > 21 || digits.ptr[0] != '0' ||
        span(digits, 0, "01234567") != digits.len)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < digits.len; i++)
        value = value * 8 + (digits.ptr[i] - '0');
    *ret = json_int(negative ? -value : value);
    return true;
}

const char *yaml_scalar_tagged(struct arena *a, struct str tag, struct str s, struct json *ret)
{
    static const struct {
        const char *name;
        enum json_type type, or_type;
    } tags[] = {
        { YAML_TAG_PREFIX "null", JSON_NULL, JSON_NULL },
        { YAML_TAG_PREFIX "bool", JSON_BOOL, JSON_BOOL },
        { YAML_TAG_PREFIX "int", JSON_INT, JSON_INT },
        { YAML_TAG_PREFIX "float", JSON_REAL, JSON_INT },
    };
    if (str_eq(tag, STR(YAML_TAG_PREFIX "str")) || str_eq(tag, STR("!"))) {
        *ret = json_strn(a, s.ptr, s.len);
        return NULL;
    }
    for (size_t i = 0; i < lengthof(tags); i++) {
        if (!str_eq(tag, str_of(tags[i].name)))
            continue;
        const char *wrong = yaml_scalar_plain(a, s, ret);
        bool fits = json_is(*ret, tags[i].type) || json_is(*ret, tags[i].or_type);
        return wrong ? wrong : fits ? NULL : "the value is not what its tag says";
    }
    return "only the tags !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are known";
}

/* ---- quotes: sections 7.3.1 and 7.3.2 ---- */

/* Removes spaces and line breaks from the start of *s; returns the number of breaks. */
static size_t cut_breaks(struct str *s)
{
    size_t breaks = 0, at = 0;
    for (; at < s->len && strchr(" \t\r\n", s->ptr[at]); at++)
        breaks += s->ptr[at] == '\n' ||
                  (s->ptr[at] == '\r' && !(at + 1 < s->len && s->ptr[at + 1] == '\n'));
    *s = (struct str){ s->ptr + at, s->len - at };
    return breaks;
}

static char *put_times(char *out, char c, size_t times)
{
    memset(out, c, times);
    return out + times;
}

/* Copies spaces, except around a line break: there they are dropped, and the break becomes a space.
 * Several breaks become one fewer. */
static char *put_blanks(char *out, struct str *s)
{
    const char *from = s->ptr;
    size_t breaks = cut_breaks(s), length = (size_t)(s->ptr - from);
    if (breaks == 1)
        return put_times(out, ' ', 1);
    if (breaks)
        return put_times(out, '\n', breaks - 1);
    memcpy(out, from, length);
    return out + length;
}

struct str yaml_scalar_single_quoted(struct arena *a, struct str s)
{
    char *text = arena_alloc(a, s.len + 1), *out = text;
    while (s.len) {
        if (strchr(" \t\r\n", s.ptr[0])) {
            out = put_blanks(out, &s);
            continue;
        }
        size_t taken = s.ptr[0] == '\'' && s.len > 1 ? 2 : 1;
        *out++ = s.ptr[0];
        s = (struct str){ s.ptr + taken, s.len - taken };
    }
    return (struct str){ text, (size_t)(out - text) };
}

static const struct {
    char letter;
    uint8_t digits; /* number of hexadecimal digits that follow */
    uint32_t character;
} escapes[] = { { '0', 0, 0 },
    { 'a', 0, '\a' },
    { 'b', 0, '\b' },
    { 't', 0, '\t' },
    { '\t', 0, '\t' },
    { 'n', 0, '\n' },
    { 'v', 0, '\v' },
    { 'f', 0, '\f' },
    { 'r', 0, '\r' },
    { 'e', 0, 0x1b },
    { ' ', 0, ' ' },
    { '"', 0, '"' },
    { '/', 0, '/' },
    { '\\', 0, '\\' },
    { 'N', 0, 0x85 },
    { '_', 0, 0xa0 },
    { 'L', 0, 0x2028 },
    { 'P', 0, 0x2029 },
    { 'x', 2, 0 },
    { 'u', 4, 0 },
    { 'U', 8, 0 } };

/* Reads what follows a backslash. */
static bool cut_escape(struct str *s, uint32_t *ret)
{
    for (size_t i = 0; s->len && i < lengthof(escapes); i++) {
        if (escapes[i].letter != s->ptr[0])
            continue;
        size_t digits = escapes[i].digits;
        if (span(*s, 1, "0123456789abcdefABCDEF") < digits)
            return false;
        char text[9] = { 0 };
        memcpy(text, s->ptr + 1, digits);
        *ret = digits ? (uint32_t)strtoul(text, NULL, 16) : escapes[i].character;
        *s = (struct str){ s->ptr + 1 + digits, s->len - 1 - digits };
        return true;
    }
    return false;
}

/* The same if two escapes form one character, as in JSON. */
static bool cut_character(struct str *s, bool pairs, uint32_t *ret)
{
    uint32_t low;
    if (!cut_escape(s, ret))
        return false;
    if (!pairs || *ret < 0xd800 || *ret > 0xdbff || !str_starts(*s, STR("\\u")))
        return true;
    *s = (struct str){ s->ptr + 1, s->len - 1 };
    if (!cut_escape(s, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

const char *yaml_scalar_double_quoted(struct arena *a, struct str s, bool pairs, struct str *ret)
{
    /* \L is two bytes that become three. */
    char *text = arena_alloc(a, s.len * 2 + 1), *out = text;
    while (s.len) {
        if (strchr(" \t\r\n", s.ptr[0])) {
            out = put_blanks(out, &s);
            continue;
        }
        bool escaped = s.ptr[0] == '\\';
        char first = s.ptr[0];
        s = (struct str){ s.ptr + 1, s.len - 1 };
        if (!escaped) {
            *out++ = first;
        } else if (s.len && (s.ptr[0] == '\n' || s.ptr[0] == '\r')) {
            /* This break is removed; further ones are kept. */
            out = put_times(out, '\n', cut_breaks(&s) - 1);
        } else {
            uint32_t character;
            size_t length = cut_character(&s, pairs, &character) ? utf8_put(character, out) : 0;
            if (length == 0)
                return "a bad escape in double quotes";
            out += length;
        }
    }
    *ret = (struct str){ text, (size_t)(out - text) };
    return NULL;
}

/* ---- blocks: section 8.1 ---- */

static struct str cut_line(struct str *rest)
{
    size_t length = 0;
    while (length < rest->len && rest->ptr[length] != '\n' && rest->ptr[length] != '\r')
        length++;
    struct str line = { rest->ptr, length };
    size_t breaks =
        length == rest->len                                                               ? 0
        : str_starts((struct str){ rest->ptr + length, rest->len - length }, STR("\r\n")) ? 2
                                                                                          : 1;
    *rest = (struct str){ rest->ptr + length + breaks, rest->len - length - breaks };
    return line;
}

static size_t indent_of(struct str line)
{
    return span(line, 0, " ");
}

/* The first line that is not blank sets the indentation. */
static size_t block_indent(struct str lines)
{
    while (lines.len) {
        struct str line = cut_line(&lines);
        if (indent_of(line) < line.len)
            return indent_of(line);
    }
    return SIZE_MAX;
}

static bool is_text_line(struct str line, size_t indent)
{
    return line.len > indent && line.ptr[indent] != ' ' && line.ptr[indent] != '\t';
}

struct str yaml_scalar_block(
    struct arena *a, struct str lines, const struct yaml_block *block, size_t parent)
{
    char *text = arena_alloc(a, lines.len + 1), *out = text;
    size_t indent = block->indent ? parent + block->indent : block_indent(lines), breaks = 0;
    bool any = false, text_before = false;
    while (lines.len) {
        struct str line = cut_line(&lines);
        bool ended = lines.ptr > line.ptr + line.len;
        if (line.len > indent && indent_of(line) >= indent) {
            /* Between two lines of text, one break is a space, and several become one fewer. */
            bool folds = block->folded && text_before && is_text_line(line, indent);
            out = folds && breaks == 1 ? put_times(out, ' ', 1)
                                       : put_times(out, '\n', breaks - (folds && breaks));
            memcpy(out, line.ptr + indent, line.len - indent);
            out += line.len - indent;
            text_before = is_text_line(line, indent);
            any = true;
            breaks = ended;
        } else if (indent_of(line) < line.len) {
            break;
        } else {
            breaks += ended;
        }
    }
    size_t kept = block->chomp == '+' ? breaks : block->chomp == '-' || !any ? 0 : breaks > 0;
    out = put_times(out, '\n', kept);
    return (struct str){ text, (size_t)(out - text) };
}

bool yaml_scalar_block_header(struct str line, bool folded, struct yaml_block *ret)
{
    for (size_t at = 0; at < line.len; at++) {
        if (line.ptr[at] != (folded ? '>' : '|'))
            continue;
        struct str rest = { line.ptr + at + 1, line.len - at - 1 };
        *ret = (struct yaml_block){ folded, ' ', 0 };
        for (; rest.len; rest = (struct str){ rest.ptr + 1, rest.len - 1 }) {
            char c = rest.ptr[0];
            if ((c == '+' || c == '-') && ret->chomp == ' ')
                ret->chomp = c;
            else if (c >= '1' && c <= '9' && !ret->indent)
                ret->indent = (size_t)(c - '0');
            else
                break;
        }
        size_t blanks = span(rest, 0, " \t\r\n");
        if (blanks == rest.len || (blanks && rest.ptr[blanks] == '#'))
            return true;
    }
    return false;
}
