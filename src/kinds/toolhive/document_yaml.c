/* YAML as Go's yaml.v3 writes it: four spaces per level, lists indented under their key, no
 * folding. Quoting follows that library's resolver and its emitter's analysis. */

#include "kinds/toolhive/document.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/time.h"
#include "base/utf8.h"
#include "merge/gojson.h"

#define DOCUMENT_BYTES_MAX ((size_t)8 << 20)
#define INDENT 4

/* ---- how a plain text would be parsed ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (text_eq(text, *words))
            return true;
    return false;
}

static bool all_of(const char *text, const char *allowed)
{
    return *text && strspn(text, allowed) == strlen(text);
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_float(const char *text)
{
    const char *digits = "0123456789";
    text += *text == '-' || *text == '+';
    size_t whole = strspn(text, digits), fraction = 0;
    text += whole;
    if (*text == '.') {
        fraction = strspn(++text, digits);
        text += fraction;
    }
    if (!whole && !fraction)
        return false;
    if (*text != 'e' && *text != 'E')
        return !*text;
    text++;
    text += *text == '-' || *text == '+';
    return all_of(text, digits);
}

static bool is_int(const char *text)
{
    text += *text == '-' || *text == '+';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return all_of(text + 2, "0123456789abcdefABCDEF");
    if (text[0] == '0' && (text[1] == 'b' || text[1] == 'B'))
        return all_of(text + 2, "01");
    if (text[0] == '0' && (text[1] == 'o' || text[1] == 'O'))
        return all_of(text + 2, "01234567");
    return all_of(text, "0123456789");
}

/* 1:30 was ninety minutes in YAML 1.1. */
static bool is_base60(const char *text)
{
    text += *text == '-' || *text == '+';
    const char *colon = strchr(text, ':');
    if (!colon || *text < '0' || *text > '9' || !all_of(text, "0123456789_:."))
        return false;
    for (; colon; colon = strchr(colon + 1, ':')) {
        size_t digits = strspn(colon + 1, "0123456789");
        if (digits < 1 || digits > 2 || (digits == 2 && colon[1] > '5'))
            return false;
    }
    return true;
}

/* 2006-1-2 with or without a time after it. */
static bool is_timestamp(const char *text)
{
    if (strspn(text, "0123456789") != 4 || text[4] != '-')
        return false;
    const char *rest = text + 5;
    size_t month = strspn(rest, "0123456789");
    if (month < 1 || month > 2 || rest[month] != '-')
        return false;
    rest += month + 1;
    size_t day = strspn(rest, "0123456789");
    if (day < 1 || day > 2)
        return false;
    rest += day;
    return !*rest || ((*rest == 'T' || *rest == 't' || *rest == ' ') && strchr(rest, ':'));
}

static bool reads_as_text(struct arena *a, const char *text)
{
    static const char *const others[] = { "",
        "~",
        "null",
        "Null",
        "NULL",
        "true",
        "True",
        "TRUE",
        "false",
        "False",
        "FALSE",
        "<<",
        ".nan",
        ".NaN",
        ".NAN",
        ".inf",
        ".Inf",
        ".INF",
        "+.inf",
        "+.Inf",
        "+.INF",
        "-.inf",
        "-.Inf",
        "-.INF",
        "y",
        "Y",
        "yes",
        "Yes",
        "YES",
        "on",
        "On",
        "ON",
        "n",
        "N",
        "no",
        "No",
        "NO",
        "off",
        "Off",
        "OFF",
        NULL };
    if (is_one_of(text, others) || is_base60(text) || is_timestamp(text))
        return false;
    char *plain = arena_strdup(a, text), *to = plain;
    for (const char *c = text; *c; c++)
        if (*c != '_')
            *to++ = *c;
    *to = '\0';
    bool number = strchr("+-.0123456789", *text) && *plain;
    return !(number && (is_int(plain) || is_float(plain)));
}

/* ---- the emitter's analysis ---- */

struct analysis {
    bool plain, single, block;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}

static bool is_indicator(const char *text, const char *c)
{
    bool blank_after = is_blank(c[1]);
    if (c == text)
        return strchr("#,[]{}&*!|>'\"%@`", *c) || (strchr("?:-", *c) && blank_after);
    return (*c == ':' && blank_after) || (*c == '#' && is_blank(c[-1]));
}

static struct analysis analyze(const char *text, size_t length)
{
    struct analysis r = { true, true, true };
    bool special = false, tab = false, breaks = false, break_space = false, space_break = false;
    r.plain = !text_starts(text, "---") && !text_starts(text, "...");
    for (const char *c = text; c < text + length; c++) {
        if (is_indicator(text, c))
            r.plain = false;
        tab = tab || *c == '\t';
        special = special || (((uint8_t)*c < 0x20 && *c != '\t' && *c != '\n') || *c == 0x7f);
        breaks = breaks || *c == '\n';
        break_space = break_space || (c > text && c[-1] == '\n' && *c == ' ');
        space_break = space_break || (c > text && c[-1] == ' ' && *c == '\n');
    }
    bool edge = length && (strchr(" \n", text[0]) || strchr(" \n", text[length - 1]));
    if (edge || breaks)
        r.plain = false;
    if (length && text[length - 1] == ' ')
        r.block = false;
    if (break_space || space_break || tab || special)
        r.plain = r.single = false;
    if (space_break || special)
        r.block = false;
    return r;
}

/* ---- scalars ---- */

static void pad(struct buf *b, int count)
{
    for (int i = 0; i < count; i++)
        buf_add_char(b, ' ');
}

static void add_single(struct buf *b, const char *text)
{
    buf_add_char(b, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_add_char(b, '\'');
        buf_add_char(b, *text);
    }
    buf_add_char(b, '\'');
}

static void add_double(struct buf *b, const char *text, size_t length)
{
    static const char *const names[] = { ['\0'] = "0",
        ['\a'] = "a",
        ['\b'] = "b",
        ['\t'] = "t",
        ['\n'] = "n",
        ['\v'] = "v",
        ['\f'] = "f",
        ['\r'] = "r",
        [0x1b] = "e",
        ['"'] = "\"",
        ['\\'] = "\\" };
    buf_add_char(b, '"');
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c < lengthof(names) && names[c])
            buf_printf(b, "\\%s", names[c]);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(b, "\\x%02X", c);
        else
            buf_add_char(b, (char)c);
    }
    buf_add_char(b, '"');
}

/* | with a chomping indicator that depends on the end of the text. */
static void add_literal(struct buf *b, const char *text, size_t length, int indent)
{
    buf_add_char(b, '|');
    if (*text == ' ' || *text == '\n')
        buf_printf(b, "%d", INDENT);
    bool ends = text[length - 1] == '\n';
    if (!ends)
        buf_add_char(b, '-');
    else if (length == 1 || text[length - 2] == '\n')
        buf_add_char(b, '+');
    struct str rest = { text, ends ? length - 1 : length };
    while (rest.ptr) {
        struct str row = str_cut(&rest, '\n');
        buf_add_char(b, '\n');
        if (row.len) {
            pad(b, indent);
            buf_add(b, row.ptr, row.len);
        }
    }
}

void document_yaml_text(struct buf *b, const char *text, size_t length, int indent, bool key)
{
    struct arena scratch;
    arena_init(&scratch, ARENA_LIMIT_DEFAULT);
    bool plain = reads_as_text(&scratch, text);
    arena_done(&scratch);
    struct analysis r = analyze(text, length);
    if (memchr(text, '\n', length) && !key && r.block)
        add_literal(b, text, length, indent);
    else if (memchr(text, '\n', length) || !plain)
        add_double(b, text, length);
    else if (r.plain)
        buf_add(b, text, length);
    else if (r.single)
        add_single(b, text);
    else
        add_double(b, text, length);
}

/* ---- structure ---- */

/* The next level: multiples of INDENT, except that a list item is only indented by its dash. */
static int deeper(int indent)
{
    return INDENT * ((indent + INDENT) / INDENT);
}

struct yaml {
    struct buf *to;
    struct arena *a;
};

enum place { AFTER_KEY, AFTER_DASH, AT_TOP };

static void write_node(struct yaml *y, const struct document_field *fields, struct json v,
    bool list, bool map, int indent, enum place place);

static void write_key(struct yaml *y, const char *key, int indent, bool first, enum place place)
{
    /* The first key of a list item follows the dash. */
    if (!first || place == AFTER_KEY) {
        if (y->to->len)
            buf_add_char(y->to, '\n');
        pad(y->to, indent);
    }
    document_yaml_text(y->to, key, strlen(key), indent, true);
    buf_add_char(y->to, ':');
}

/* strconv's shortest form with an exponent below 1e-4 and from 1e+06. */
static void add_real(struct buf *b, double v)
{
    char digits[40];
    int precision = 0;
    do
        snprintf(digits, sizeof(digits), "%.*e", precision, v);
    while (strtod(digits, NULL) != v && ++precision < 17);
    int exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent >= 6)
        buf_add_text(b, digits);
    else
        buf_printf(b, "%.*f", precision > exponent ? precision - exponent : 0, v);
}

static void write_scalar(struct yaml *y, struct json v, int indent)
{
    buf_add_char(y->to, ' ');
    if (json_is(v, JSON_STR))
        document_yaml_text(y->to, v.string, v.count, deeper(indent), false);
    else if (json_is(v, JSON_LIST))
        buf_add_text(y->to, "[]");
    else if (json_is(v, JSON_MAP))
        buf_add_text(y->to, "{}");
    else if (json_is(v, JSON_REAL))
        add_real(y->to, v.real);
    else
        buf_add_text(y->to, gojson_text(y->a, v));
}

static void write_list(struct yaml *y, const struct document_field *fields, struct json v,
    int indent, enum place place)
{
    bool first = true;
    json_each (item, v) {
        if (!first || place == AFTER_KEY) {
            buf_add_char(y->to, '\n');
            pad(y->to, indent);
        }
        buf_add_char(y->to, '-');
        write_node(y, fields, *item, false, false, indent, AFTER_DASH);
        first = false;
    }
}

static void write_map(struct yaml *y, const struct document_field *fields, struct json v,
    bool is_struct, int indent, enum place place)
{
    bool first = true;
    if (is_struct) {
        for (const struct document_field *f = fields; f->name; f++) {
            struct json value;
            if (!document_field_value(f, v, &value))
                continue;
            write_key(y, f->name, indent, first, place);
            write_node(y,
                f->choose ? f->choose(v) : f->of,
                value,
                f->shape == DOCUMENT_LIST,
                f->shape == DOCUMENT_MAP,
                indent,
                AFTER_KEY);
            first = false;
        }
        return;
    }
    json_each_member (m, v) {
        write_key(y, m->key, indent, first, place);
        write_node(y, fields, m->value, false, false, indent, AFTER_KEY);
        first = false;
    }
}

/* Whether a struct would write no fields at all. */
static bool is_bare(const struct document_field *fields, struct json v)
{
    struct json value;
    for (const struct document_field *f = fields; f->name; f++)
        if (document_field_value(f, v, &value))
            return false;
    return true;
}

static void write_node(struct yaml *y, const struct document_field *fields, struct json v,
    bool list, bool map, int indent, enum place place)
{
    int inner = place == AFTER_DASH ? indent + 2 : place == AT_TOP ? 0 : deeper(indent);
    bool is_struct = json_is(v, JSON_MAP) && fields && !map && !list;
    bool empty = is_struct ? is_bare(fields, v) : v.count == 0;
    if ((!json_is(v, JSON_MAP) && !json_is(v, JSON_LIST)) || empty) {
        write_scalar(y, v, indent);
        return;
    }
    if (place == AFTER_DASH)
        buf_add_char(y->to, ' ');
    if (json_is(v, JSON_LIST))
        write_list(y, fields, v, inner, place);
    else
        write_map(y, fields, v, is_struct, inner, place);
}

const char *document_yaml(struct arena *a, const struct document_field *fields, struct json value)
{
    struct buf b = BUF_INIT(DOCUMENT_BYTES_MAX);
    struct yaml y = { .to = &b, .a = a };
    write_node(&y, fields, value, false, false, 0, AT_TOP);
    buf_add_char(&b, '\n');
    assert(!buf_overflowed(&b));
    const char *text = arena_strndup(a, buf_text(&b), b.len);
    buf_done(&b);
    return text;
}
