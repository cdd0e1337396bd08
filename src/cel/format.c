#include "cel/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "cel/lib.h"

#define KIND(k) (1u << (k))
#define INTEGERS (KIND(CEL_INT) | KIND(CEL_UINT))
#define PRECISION_MAX 100

static const struct {
    char letter;
    uint32_t kinds;
    const char *wrong;
} clauses[] = {
    { 's',
        INTEGERS | KIND(CEL_LIST) | KIND(CEL_MAP) | KIND(CEL_DOUBLE) | KIND(CEL_BOOL) |
            KIND(CEL_STRING) | KIND(CEL_TIMESTAMP) | KIND(CEL_BYTES) | KIND(CEL_DURATION) |
            KIND(CEL_TYPE) | KIND(CEL_NULL),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps" },
    { 'd', INTEGERS, "decimal clause can only be used on integers" },
    { 'f', KIND(CEL_DOUBLE) | KIND(CEL_STRING), "fixed-point clause can only be used on doubles" },
    { 'e', KIND(CEL_DOUBLE) | KIND(CEL_STRING), "scientific clause can only be used on doubles" },
    { 'b', INTEGERS | KIND(CEL_BOOL), "only integers and bools can be formatted as binary" },
    { 'x',
        INTEGERS | KIND(CEL_STRING) | KIND(CEL_BYTES),
        "only integers, byte buffers, and strings can be formatted as hex" },
    { 'X',
        INTEGERS | KIND(CEL_STRING) | KIND(CEL_BYTES),
        "only integers, byte buffers, and strings can be formatted as hex" },
    { 'o', INTEGERS, "octal clause can only be used on integers" },
};

bool cel_clause_takes(const struct cel_clause *c, enum cel_kind kind)
{
    for (size_t i = 0; i < lengthof(clauses); i++)
        if (clauses[i].letter == c->letter)
            return kind == CEL_DYN || clauses[i].kinds & KIND(kind);
    return false;
}

const char *cel_clause_read(struct arena *a, struct str text, struct cel_clause *ret)
{
    size_t at = 1;
    *ret = (struct cel_clause){ .precision = -1 };
    if (text.len < 2)
        return "unexpected end of string";
    if (text.ptr[at] == '.') {
        int64_t precision = 0;
        for (at++; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9'; at++)
            precision = precision > PRECISION_MAX ? precision : precision * 10 + text.ptr[at] - '0';
        if (at == text.len)
            return "could not parse formatting clause: error while parsing precision: could not "
                   "find end of precision specifier";
        if (at == 2)
            return "could not parse formatting clause: error while parsing precision: error while "
                   "converting precision to integer: strconv.Atoi: parsing \"\": invalid syntax";
        ret->precision = precision > PRECISION_MAX ? PRECISION_MAX : (int)precision;
    }
    for (size_t i = 0; i < lengthof(clauses); i++)
        if (clauses[i].letter == text.ptr[at]) {
            ret->letter = clauses[i].letter;
            ret->wrong = clauses[i].wrong;
            ret->bytes = at + 1;
            return NULL;
        }
    return arena_printf(a,
        "could not parse formatting clause: unrecognized formatting clause \"%c\"",
        text.ptr[at]);
}

/* ---- %s ---- */

static bool add_value(struct cel_eval *e, struct buf *b, struct cel_value v, bool quoted);

static bool add_list(struct cel_eval *e, struct buf *b, struct cel_value v)
{
    buf_add_char(b, '[');
    for (size_t i = 0; i < v.list->count && !buf_overflowed(b); i++) {
        if (i)
            buf_add_text(b, ", ");
        if (!add_value(e, b, cel_list_get(e, v, i), true))
            return false;
    }
    buf_add_char(b, ']');
    return true;
}

struct pair {
    const char *key;
    struct cel_value value;
};

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

/* Entries sorted by the text of their keys. */
static bool add_map(struct cel_eval *e, struct buf *b, struct cel_value v)
{
    struct pair *pairs = arena_array(e->arena, v.map->count + 1, sizeof(*pairs));
    struct cel_value key, value;
    size_t count = 0;
    for (size_t at = 0; cel_map_next(e, v, &at, &key, &value); count++) {
        cleanup(buf_done) struct buf text = BUF_INIT(CEL_TEXT_BYTES_MAX);
        bool fine = add_value(e, &text, key, true);
        pairs[count] = (struct pair){ arena_strdup(e->arena, buf_text(&text)), value };
        buf_done(&text);
        if (!fine)
            return false;
    }
    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    buf_add_char(b, '{');
    for (size_t i = 0; i < count; i++) {
        buf_printf(b, "%s%s:", i ? ", " : "", pairs[i].key);
        if (!add_value(e, b, pairs[i].value, true))
            return false;
    }
    buf_add_char(b, '}');
    return true;
}

/* quoted: inside of a list or map, where values are printed as in an expression. */
static bool add_value(struct cel_eval *e, struct buf *b, struct cel_value v, bool quoted)
{
    struct cel_value text;
    if (v.kind == CEL_LIST)
        return add_list(e, b, v);
    if (v.kind == CEL_MAP)
        return add_map(e, b, v);
    if (v.kind == CEL_NULL) {
        buf_add_text(b, "null");
        return true;
    }
    if (quoted && v.kind == CEL_DOUBLE && isfinite(v.real)) {
        buf_printf(b, "%.6f", v.real);
        return true;
    }
    if (!cel_to_text(e, v, &text) || text.kind == CEL_ERROR)
        return false;
    bool is_time = v.kind == CEL_TIMESTAMP || v.kind == CEL_DURATION;
    if (quoted && is_time)
        buf_add_text(b, v.kind == CEL_TIMESTAMP ? "timestamp(" : "duration(");
    if (quoted && v.kind == CEL_BYTES)
        buf_add_char(b, 'b');
    if (quoted && (is_time || v.kind == CEL_STRING || v.kind == CEL_BYTES || v.kind == CEL_DOUBLE))
        buf_add_text(b, cel_show_quoted(e->arena, text.text));
    else
        buf_add(b, text.text.ptr, text.text.len);
    if (quoted && is_time)
        buf_add_char(b, ')');
    return true;
}

/* ---- numbers ---- */

/* The server's locale is American: 1,234.500000. */
static void add_fixed(struct buf *b, double d, int precision)
{
    char text[512];
    if (!isfinite(d)) {
        buf_add_text(b, isnan(d) ? "NaN" : d > 0 ? "\u221e" : "-\u221e");
        return;
    }
    snprintf(text, sizeof(text), "%.*f", precision < 0 ? 6 : precision, d);
    size_t sign = *text == '-', whole = strspn(text + sign, "0123456789");
    buf_add(b, text, sign);
    for (size_t i = 0; i < whole; i++) {
        buf_add_char(b, text[sign + i]);
        if ((whole - i) % 3 == 1 && i + 1 < whole)
            buf_add_char(b, ',');
    }
    buf_add_text(b, text + sign + whole);
}

static void add_scientific(struct buf *b, double d)
{
    static const char *const superscript[] = { "\u2070",
        "\u00b9",
        "\u00b2",
        "\u00b3",
        "\u2074",
        "\u2075",
        "\u2076",
        "\u2077",
        "\u2078",
        "\u2079" };
    char text[64];
    snprintf(text, sizeof(text), "%.6e", d);
    char *exponent = strchr(text, 'e');
    if (!exponent) {
        add_fixed(b, d, 6);
        return;
    }
    buf_add(b, text, (size_t)(exponent - text));
    buf_add_text(b, "\u00d710");
    if (exponent[1] == '-')
        buf_add_text(b, "\u207b");
    for (const char *at = exponent + 2; *at; at++)
        buf_add_text(b, superscript[*at - '0']);
}

static void add_bits(struct buf *b, struct cel_value v, unsigned shift, bool upper)
{
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    char text[72];
    size_t at = sizeof(text);
    bool negative = v.kind == CEL_INT && v.integer < 0;
    uint64_t rest = negative ? 0 - (uint64_t)v.integer : v.natural;
    do {
        text[--at] = digits[rest & ((1u << shift) - 1)];
        rest >>= shift;
    } while (rest);
    if (negative)
        buf_add_char(b, '-');
    buf_add(b, text + at, sizeof(text) - at);
}

static void add_hex(struct buf *b, struct cel_value v, bool upper)
{
    if (v.kind != CEL_STRING && v.kind != CEL_BYTES) {
        add_bits(b, v, 4, upper);
        return;
    }
    for (size_t i = 0; i < v.text.len; i++)
        buf_printf(b, upper ? "%02X" : "%02x", (unsigned char)v.text.ptr[i]);
}

/* "NaN", "Infinity" and "-Infinity" may be given as text. */
static bool to_real(struct cel_value v, double *ret)
{
    if (v.kind == CEL_DOUBLE) {
        *ret = v.real;
        return true;
    }
    bool negative = str_eq(v.text, STR("-Infinity"));
    *ret = str_eq(v.text, STR("NaN")) ? NAN : negative ? -INFINITY : INFINITY;
    return isnan(*ret) || negative || str_eq(v.text, STR("Infinity"));
}

static bool add_clause(
    struct cel_eval *e, struct buf *b, const struct cel_clause *c, struct cel_value v)
{
    double d;
    switch (c->letter) {
    case 's':
        return add_value(e, b, v, false);
    case 'd':
        buf_add_text(b, cel_show(e->arena, v));
        return true;
    case 'f':
    case 'e':
        if (!to_real(v, &d))
            return false;
        if (c->letter == 'f')
            add_fixed(b, d, c->precision);
        else
            add_scientific(b, d);
        return true;
    case 'b':
        add_bits(b, v.kind == CEL_BOOL ? cel_uint(v.boolean) : v, 1, false);
        return true;
    case 'o':
        add_bits(b, v, 3, false);
        return true;
    default:
        add_hex(b, v, c->letter == 'X');
        return true;
    }
}

struct cel_value cel_format_string(
    struct cel_eval *e, struct cel_value format, struct cel_value args)
{
    cleanup(buf_done) struct buf b = BUF_INIT(CEL_TEXT_BYTES_MAX);
    struct str rest = format.text;
    const char *trouble = NULL;
    for (size_t n = 0; rest.len && !trouble && !buf_overflowed(&b);) {
        size_t pass = 1;
        if (*rest.ptr != '%' || (rest.len > 1 && rest.ptr[1] == '%')) {
            pass = *rest.ptr == '%' ? 2 : 1;
            buf_add_char(&b, *rest.ptr);
        } else if (n >= args.list->count) {
            trouble = arena_printf(e->arena, "index %zu out of range", n);
        } else {
            struct cel_value v = cel_list_get(e, args, n++);
            struct cel_clause c;
            trouble = cel_clause_read(e->arena, rest, &c);
            if (!trouble && (!cel_clause_takes(&c, v.kind) || !add_clause(e, &b, &c, v)))
                trouble = arena_printf(e->arena,
                    "error during formatting: %s, was given %s",
                    c.wrong,
                    cel_value_type_name(v));
            pass = c.bytes;
        }
        rest = (struct str){ rest.ptr + pass, rest.len - pass };
    }
    if (!trouble)
        return cel_string_of_buf(e, &b);
    buf_done(&b);
    return cel_error(e, "%s", trouble);
}
