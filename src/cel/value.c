#include "cel/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/quantity.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cel/decl.h"
#include "cel/eval.h"
#include "cel/lib.h"

static const char *const kind_names[CEL_KINDS] = {
    [CEL_DYN] = "dyn",
    [CEL_ERROR] = "error",
    [CEL_PARAM] = "param",
    [CEL_NULL] = "null_type",
    [CEL_BOOL] = "bool",
    [CEL_INT] = "int",
    [CEL_UINT] = "uint",
    [CEL_DOUBLE] = "double",
    [CEL_STRING] = "string",
    [CEL_BYTES] = "bytes",
    [CEL_TIMESTAMP] = "google.protobuf.Timestamp",
    [CEL_DURATION] = "google.protobuf.Duration",
    [CEL_LIST] = "list",
    [CEL_MAP] = "map",
    [CEL_OBJECT] = "map",
    [CEL_TYPE] = "type",
    [CEL_OPTIONAL] = "optional_type",
    [CEL_QUANTITY] = "kubernetes.Quantity",
    [CEL_URL] = "kubernetes.URL",
    [CEL_IP] = "net.IP",
    [CEL_CIDR] = "net.CIDR",
    [CEL_FORMAT] = "kubernetes.NamedFormat",
    [CEL_SEMVER] = "kubernetes.Semver",
    [CEL_UNKNOWN] = "unknown",
};

const char *cel_kind_name(enum cel_kind kind)
{
    return kind_names[kind];
}

const struct cel_type *cel_type_of(enum cel_kind kind)
{
    static const struct cel_type dyn = { .kind = CEL_DYN };
#define PLAIN(k) [k] = {.kind = (k) }
#define HOLDS(k) [k] = { .kind = (k), .of = { &dyn, &dyn } }
    static const struct cel_type types[CEL_KINDS] = { PLAIN(CEL_DYN),
        PLAIN(CEL_ERROR),
        PLAIN(CEL_NULL),
        PLAIN(CEL_BOOL),
        PLAIN(CEL_INT),
        PLAIN(CEL_UINT),
        PLAIN(CEL_DOUBLE),
        PLAIN(CEL_STRING),
        PLAIN(CEL_BYTES),
        PLAIN(CEL_TIMESTAMP),
        PLAIN(CEL_DURATION),
        HOLDS(CEL_LIST),
        HOLDS(CEL_MAP),
        HOLDS(CEL_OPTIONAL),
        PLAIN(CEL_TYPE),
        PLAIN(CEL_QUANTITY),
        PLAIN(CEL_URL),
        PLAIN(CEL_IP),
        PLAIN(CEL_CIDR),
        PLAIN(CEL_FORMAT),
        PLAIN(CEL_SEMVER),
        PLAIN(CEL_UNKNOWN) };
#undef PLAIN
#undef HOLDS
    assert(kind < CEL_KINDS && types[kind].kind == kind);
    return &types[kind];
}

const struct cel_type *cel_type_new(struct arena *a, enum cel_kind kind,
    const struct cel_type *first, const struct cel_type *second)
{
    struct cel_type *t = arena_new(a, struct cel_type);
    *t = (struct cel_type){ .kind = kind, .of = { first, second } };
    return t;
}

struct cel_value cel_text(const char *text)
{
    return cel_string(str_of(text));
}

struct cel_value cel_optional(struct arena *a, const struct cel_value *value)
{
    struct cel_value v = { .kind = CEL_OPTIONAL };
    if (value) {
        struct cel_value *copy = arena_new(a, struct cel_value);
        *copy = *value;
        v.optional = copy;
    }
    return v;
}

/* ---- sizes ---- */

static uint64_t characters(struct str s)
{
    uint64_t count = 0;
    for (size_t i = 0; i < s.len; i++)
        count += ((unsigned char)s.ptr[i] & 0xc0) != 0x80;
    return count;
}

uint64_t cel_size(struct cel_value v)
{
    switch (v.kind) {
    case CEL_STRING:
        return characters(v.text);
    case CEL_BYTES:
        return v.text.len;
    case CEL_LIST:
        return v.list->count;
    case CEL_MAP:
        return v.map->count;
    case CEL_IP:
        return cel_ip_size(v.ip);
    case CEL_CIDR:
        return cel_ip_size(v.ip);
    case CEL_OPTIONAL:
        return v.optional ? cel_size(*v.optional) : 1;
    default:
        return 1;
    }
}

/* ---- equality and order ---- */

bool cel_is_true(struct cel_value v)
{
    return v.kind == CEL_BOOL && v.boolean;
}

static bool is_number(struct cel_value v)
{
    return v.kind == CEL_INT || v.kind == CEL_UINT || v.kind == CEL_DOUBLE;
}

static int sign_of(double a, double b)
{
    return a < b ? -1 : a > b;
}

/* Compares integers and doubles by their mathematical values, as cel-go does: a double beyond the
 * range of integers is beyond every integer. The caller must handle NaN. */
static int compare_double_int(double d, int64_t i)
{
    if (d < -0x1p63)
        return -1;
    if (d >= 0x1p63)
        return 1;
    return sign_of(d, (double)i);
}

static int compare_double_uint(double d, uint64_t u)
{
    if (d < 0)
        return -1;
    if (d >= 0x1p64)
        return 1;
    return sign_of(d, (double)u);
}

static int compare_numbers(struct cel_value a, struct cel_value b)
{
    if (a.kind == CEL_DOUBLE && b.kind == CEL_DOUBLE)
        return sign_of(a.real, b.real);
    if (a.kind == CEL_DOUBLE)
        return b.kind == CEL_INT ? compare_double_int(a.real, b.integer)
                                 : compare_double_uint(a.real, b.natural);
    if (b.kind == CEL_DOUBLE)
        return -compare_numbers(b, a);
    bool a_below = a.kind == CEL_INT && a.integer < 0, b_below = b.kind == CEL_INT && b.integer < 0;
    if (a_below != b_below)
        return a_below ? -1 : 1;
    if (a_below)
        return a.integer < b.integer ? -1 : a.integer > b.integer;
    return a.natural < b.natural ? -1 : a.natural > b.natural;
}

static int compare_text(struct str a, struct str b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;
    return order ? (order < 0 ? -1 : 1) : (a.len < b.len ? -1 : a.len > b.len);
}

bool cel_order(struct cel_value a, struct cel_value b, int *ret)
{
    if (is_number(a) && is_number(b)) {
        if ((a.kind == CEL_DOUBLE && isnan(a.real)) || (b.kind == CEL_DOUBLE && isnan(b.real)))
            return false;
        *ret = compare_numbers(a, b);
        return true;
    }
    if (a.kind != b.kind)
        return false;
    switch (a.kind) {
    case CEL_BOOL:
        *ret = a.boolean - b.boolean;
        return true;
    case CEL_STRING:
    case CEL_BYTES:
        *ret = compare_text(a.text, b.text);
        return true;
    case CEL_DURATION:
        *ret = a.integer < b.integer ? -1 : a.integer > b.integer;
        return true;
    case CEL_TIMESTAMP:
        *ret = a.instant.seconds != b.instant.seconds
                   ? (a.instant.seconds < b.instant.seconds ? -1 : 1)
                   : (a.instant.nanos < b.instant.nanos ? -1 : a.instant.nanos > b.instant.nanos);
        return true;
    default:
        return false;
    }
}

static struct cel_value equal_lists(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    if (a.list->count != b.list->count)
        return cel_bool(false);
    enum cel_list_type type = a.list->decl ? a.list->decl->list_type : CEL_LIST_ATOMIC;
    if (type != CEL_LIST_ATOMIC)
        return cel_list_equal_unordered(e, a, b);
    for (size_t i = 0; i < a.list->count; i++) {
        struct cel_value same = cel_equal(e, cel_list_get(e, a, i), cel_list_get(e, b, i));
        if (!cel_is_true(same))
            return same;
    }
    return cel_bool(true);
}

static struct cel_value equal_maps(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    struct cel_value key, value, other;
    size_t at = 0;
    if (a.map->count != b.map->count)
        return cel_bool(false);
    while (cel_map_next(e, a, &at, &key, &value)) {
        if (!cel_map_find(e, b, key, &other))
            return cel_bool(false);
        struct cel_value same = cel_equal(e, value, other);
        if (!cel_is_true(same))
            return same;
    }
    /* Members without a schema can only be compared as JSON. */
    if (!a.map->entries && a.map->decl && !b.map->entries)
        json_each_member (m, a.map->json) {
            struct json there = json_member(b.map->json, m->key);
            if (!a.map->decl->items && !cel_decl_field(a.map->decl, m->key) &&
                json_present(there) && !json_equal(m->value, there))
                return cel_bool(false);
        }
    return cel_bool(true);
}

static struct cel_value equal_optionals(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    if (!a.optional || !b.optional)
        return cel_bool(!a.optional && !b.optional);
    return cel_equal(e, *a.optional, *b.optional);
}

static bool same_type(const struct cel_type *a, const struct cel_type *b)
{
    /* At run time a type is identified by its name alone. */
    return text_eq(cel_kind_name(a->kind), cel_kind_name(b->kind));
}

struct cel_value cel_equal(struct cel_eval *e, struct cel_value a, struct cel_value b)
{
    int order;
    if (a.kind == CEL_ERROR)
        return a;
    if (b.kind == CEL_ERROR)
        return b;
    e->work += 1 + (a.kind == CEL_STRING ? a.text.len / 64 : 0);
    if (e->work > CEL_WORK_MAX) {
        e->stopped = true;
        return cel_error(e, "too many comparisons");
    }
    if (a.kind == CEL_NULL || b.kind == CEL_NULL)
        return cel_bool(a.kind == b.kind);
    if (cel_order(a, b, &order))
        return cel_bool(order == 0);
    if (a.kind == CEL_UNKNOWN && b.kind == CEL_UNKNOWN)
        return cel_bool(json_equal(*a.json, *b.json));
    bool is_view = (a.kind == CEL_LIST && a.list->decl) || (a.kind == CEL_MAP && a.map->decl);
    if (a.kind != b.kind)
        return is_view ? cel_error(e, "no such overload") : cel_bool(false);
    switch (a.kind) {
    case CEL_LIST:
        return equal_lists(e, a, b);
    case CEL_MAP:
        return equal_maps(e, a, b);
    case CEL_TYPE:
        return cel_bool(same_type(a.type, b.type));
    case CEL_OPTIONAL:
        return equal_optionals(e, a, b);
    default:
        return cel_bool(cel_opaque_equal(a, b));
    }
}

/* ---- text ---- */

const char *cel_show_double(struct arena *a, double d, char format)
{
    char text[400];
    if (isnan(d) || isinf(d))
        return isnan(d) ? "NaN" : d > 0 ? "+Inf" : "-Inf";
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, d);
        if (strtod(text, NULL) == d)
            break;
    }
    snprintf(text, sizeof(text), "%.*e", digits - 1, d);
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (format == 'g' && (exponent < -4 || exponent >= 6))
        return arena_strdup(a, text);
    int decimals = digits - 1 - exponent;
    snprintf(text, sizeof(text), "%.*f", decimals > 0 ? decimals : 0, d);
    return arena_strdup(a, text);
}

const char *cel_show_quoted(struct arena *a, struct str s)
{
    static const char plain[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    cleanup(buf_done) struct buf b = BUF_INIT(s.len * 6 + 8);
    uint32_t c;
    buf_add_char(&b, '"');
    for (size_t i = 0, bytes; i < s.len; i += bytes ? bytes : 1) {
        bytes = utf8_first((struct str){ s.ptr + i, s.len - i }, &c);
        const char *special = bytes == 1 && c ? strchr(plain, (int)c) : NULL;
        if (special)
            buf_printf(&b, "\\%c", letters[special - plain]);
        else if (!bytes || c < ' ' || c == 0x7f)
            buf_printf(&b, "\\x%02x", (unsigned char)s.ptr[i]);
        else if (!utf8_printable(c))
            buf_printf(&b, c > 0xffff ? "\\U%08x" : "\\u%04x", c);
        else
            buf_add(&b, s.ptr + i, bytes);
    }
    buf_add_char(&b, '"');
    return arena_strdup(a, buf_text(&b));
}

static const char *show_list(struct arena *a, struct cel_value v)
{
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    buf_add_char(&b, '[');
    for (size_t i = 0; i < v.list->count && v.list->items && !buf_overflowed(&b); i++)
        buf_printf(&b, "%s%s", i ? ", " : "", cel_show(a, v.list->items->at[i]));
    buf_add_char(&b, ']');
    const char *text = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return text;
}

const char *cel_show(struct arena *a, struct cel_value v)
{
    switch (v.kind) {
    case CEL_NULL:
        return "null";
    case CEL_BOOL:
        return v.boolean ? "true" : "false";
    case CEL_INT:
        return arena_printf(a, "%lld", (long long)v.integer);
    case CEL_UINT:
        return arena_printf(a, "%llu", (unsigned long long)v.natural);
    case CEL_DOUBLE:
        return cel_show_double(a, v.real, 'g');
    case CEL_STRING:
    case CEL_ERROR:
        return str_dup(a, v.text);
    case CEL_DURATION:
        return time_duration_format(a, v.integer);
    case CEL_LIST:
        return show_list(a, v);
    case CEL_TYPE:
        return cel_kind_name(v.type->kind);
    default:
        return cel_kind_name(v.kind);
    }
}
