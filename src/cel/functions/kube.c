/* Quantities, semantic versions, named formats. */

#include <math.h>

#include "base/base64.h"
#include "base/names.h"
#include "base/quantity.h"
#include "cel/lib.h"

/* ---- quantities ---- */

/* The server's message, which depends only a little on the error. */
static const char *quantity_trouble(struct str s)
{
    size_t at = 0, digits;
    if (s.len == 0)
        return "quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    at = *s.ptr == '+' || *s.ptr == '-';
    for (digits = at; digits < s.len && strchr("0123456789.", s.ptr[digits]);)
        digits++;
    if (digits == s.len || digits == at)
        return "quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    for (at = digits; at < s.len; at++)
        if (!strchr("eEinumkKMGTP0123456789+-", s.ptr[at]))
            return "quantities must match the regular expression "
                   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    return "unable to parse quantity's suffix";
}

static bool parse_quantity(struct str text, struct quantity *ret)
{
    /* Spaces around it are ignored elsewhere, but not here. */
    return str_trim(text).len == text.len && quantity_parse(text, ret, NULL);
}

/* A quantity, and the server's internal form of it: for the server, only an int64 times a power of
 * ten can be an integer. So 1.5Gi is not one. */
struct amount {
    struct quantity exact; /* must be first: cel_value points to it */
    bool is_small;
    int64_t value;
    int32_t scale;
    bool is_sum;
};

static struct cel_value quantity_value_of(struct cel_eval *e, const struct amount *m)
{
    struct amount *copy = arena_new(e->arena, struct amount);
    *copy = *m;
    return (struct cel_value){ .kind = CEL_QUANTITY, .quantity = &copy->exact };
}

static const struct amount *amount_of(struct cel_value v)
{
    return (const struct amount *)v.quantity;
}

bool cel_quantity_is_sum(struct cel_value v)
{
    return amount_of(v)->is_sum;
}

static size_t digits_of(struct str s)
{
    size_t n = 0;
    while (n < s.len && s.ptr[n] >= '0' && s.ptr[n] <= '9')
        n++;
    return n;
}

static struct str without(struct str s, size_t n)
{
    return (struct str){ s.ptr + n, s.len - n };
}

/* The exponent of a suffix, to the base of ten or, for binary ones, two. */
static int32_t suffix_exponent(enum quantity_format format, struct str suffix)
{
    static const char decimal[] = "num kMGTPE", binary[] = "KMGTPE";
    int64_t exponent = 0;
    if (!suffix.len)
        return 0;
    if (format == QUANTITY_BINARY)
        return 10 * (int32_t)(strchr(binary, *suffix.ptr) - binary + 1);
    if (format == QUANTITY_DECIMAL)
        return 3 * (int32_t)(strchr(decimal, *suffix.ptr) - decimal) - 9;
    suffix = without(suffix, 1 + (suffix.len > 1 && suffix.ptr[1] == '+'));
    return str_to_int(suffix, &exponent) && exponent < 1000 && exponent > -1000 ? (int32_t)exponent
                                                                                : -1000;
}

/* Sets the form of a quantity as written. */
static void read_form(struct str text, struct amount *m)
{
    bool negative = *text.ptr == '-';
    text = without(text, negative || *text.ptr == '+');
    while (text.len && *text.ptr == '0')
        text = without(text, 1);
    size_t whole = digits_of(text), part = 0;
    int64_t value = 0, factor = 1;
    for (size_t i = 0; i < whole && whole <= 18; i++)
        value = value * 10 + text.ptr[i] - '0';
    text = without(text, whole);
    if (text.len && *text.ptr == '.') {
        part = digits_of(without(text, 1));
        for (size_t i = 1; i <= part && whole + part <= 18; i++)
            value = value * 10 + text.ptr[i] - '0';
        text = without(text, part + 1);
    }
    whole = whole ? whole : 1;
    int32_t exponent = suffix_exponent(m->exact.format, text);
    int32_t room = 18 - (int32_t)(whole + part);
    if (m->exact.format == QUANTITY_BINARY) {
        room = part ? -1 : 14 - (int32_t)whole - (int32_t)((float)exponent * 3 / 10);
        factor = room >= 0 ? (int64_t)1 << exponent : 1;
        exponent = 0;
    }
    m->scale = exponent - (int32_t)part;
    m->is_small = room >= 0 && m->scale >= -9 && !__builtin_mul_overflow(value, factor, &m->value);
    m->value = negative ? -m->value : m->value;
}

CEL_IMPLEMENT(to_quantity)
{
    struct amount m = { 0 };
    if (!parse_quantity(args[0].text, &m.exact))
        return cel_error(e, "%s", quantity_trouble(args[0].text));
    read_form(args[0].text, &m);
    return quantity_value_of(e, &m);
}

CEL_IMPLEMENT(is_quantity)
{
    struct quantity q;
    (void)e;
    return cel_bool(parse_quantity(args[0].text, &q));
}

/* Multiplies by a power of ten; false if the result does not fit. */
static bool scale_up(int64_t *value, int32_t scale)
{
    for (; scale > 0 && *value; scale--)
        if (__builtin_mul_overflow(*value, (int64_t)10, value))
            return false;
    return true;
}

/* The value as an integer, if it is one and fits. */
static bool as_integer(const struct amount *m, int64_t *ret)
{
    *ret = m->value;
    return m->is_small && m->scale >= 0 && scale_up(ret, m->scale);
}

CEL_IMPLEMENT(quantity_sign)
{
    (void)e;
    return cel_int((args[0].quantity->value > 0) - (args[0].quantity->value < 0));
}

CEL_IMPLEMENT(quantity_is_integer)
{
    int64_t i;
    (void)e;
    return cel_bool(as_integer(amount_of(args[0]), &i));
}

CEL_IMPLEMENT(quantity_as_integer)
{
    int64_t i;
    return as_integer(amount_of(args[0]), &i) ? cel_int(i)
                                              : cel_error(e, "cannot convert value to integer");
}

CEL_IMPLEMENT(quantity_as_float)
{
    const struct quantity *q = args[0].quantity;
    (void)e;
    /* Dividing by an integer power of ten is exact; multiplying by its inverse is not. */
    return cel_double(q->exponent < 0 ? (double)q->value / pow(10, -q->exponent)
                                      : (double)q->value * pow(10, q->exponent));
}

/* Converts two numbers to the smaller exponent. False if that takes too many digits. */
static bool align(struct quantity *a, struct quantity *b)
{
    for (struct quantity *high = a->exponent > b->exponent ? a : b, *low = high == a ? b : a;
         high->exponent > low->exponent;
         high->exponent--)
        if (high->value && __builtin_mul_overflow(high->value, (__int128)10, &high->value))
            return false;
    return true;
}

/* The form of a sum. */
static void add_form(struct amount *a, struct amount b)
{
    a->is_small = a->is_small && b.is_small;
    if (!a->is_small || !b.value)
        return;
    if (!a->value)
        a->scale = b.scale;
    int32_t low = a->scale < b.scale ? a->scale : b.scale;
    a->is_small = scale_up(&a->value, a->scale - low) && scale_up(&b.value, b.scale - low) &&
                  !__builtin_add_overflow(a->value, b.value, &a->value);
    a->scale = low;
}

CEL_IMPLEMENT(quantity_add)
{
    struct amount sum = *amount_of(args[0]), other = { 0 };
    if (args[1].kind == CEL_INT)
        other = (struct amount){ { .value = args[1].integer }, true, args[1].integer, 0, false };
    else
        other = *amount_of(args[1]);
    if (text_eq(f->name, "sub")) {
        other.exact.value = -other.exact.value;
        other.value = other.value == INT64_MIN ? INT64_MIN : -other.value; /* the same as in Go */
    }
    add_form(&sum, other);
    struct quantity a = sum.exact, b = other.exact;
    if (sum.is_small && other.value == INT64_MIN) {
        a = (struct quantity){ sum.value, sum.scale, a.format };
        b = (struct quantity){ 0 };
    }
    if (!align(&a, &b))
        return cel_error(e, "quantities that are too far apart");
    if (__builtin_add_overflow(a.value, b.value, &a.value))
        return cel_error(e, "a quantity that is too large");
    while (a.value && a.value % 10 == 0) {
        a.value /= 10;
        a.exponent++;
    }
    sum.exact = a;
    sum.is_sum = true;
    return quantity_value_of(e, &sum);
}

/* ---- semantic versions ---- */

static bool only(struct str s, bool digits)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && (digits || !(c == '-' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'))))
            return false;
    }
    return s.len > 0;
}

static const char *quoted(struct arena *a, const char *text, struct str s)
{
    return arena_printf(a, "%s \"%.*s\"", text, (int)s.len, s.ptr);
}

static const char *parse_version_number(struct arena *a, struct str s, size_t which, uint64_t *ret)
{
    static const char *const names[] = { "major", "minor", "patch" };
    static const char *const titles[] = { "Major", "Minor", "Patch" };
    if (!only(s, true))
        return quoted(
            a, arena_printf(a, "Invalid character(s) found in %s number", names[which]), s);
    if (s.len > 1 && *s.ptr == '0')
        return quoted(
            a, arena_printf(a, "%s number must not contain leading zeroes", titles[which]), s);
    uint64_t value = 0;
    for (size_t i = 0; i < s.len; i++)
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (uint64_t)(s.ptr[i] - '0'), &value))
            return arena_printf(
                a, "strconv.ParseUint: parsing \"%.*s\": value out of range", (int)s.len, s.ptr);
    *ret = value;
    return NULL;
}

static const char *check_pre(struct arena *a, struct str s)
{
    while (s.ptr) {
        struct str part = str_cut(&s, '.');
        if (!part.len)
            return "Prerelease is empty";
        if (only(part, true) && part.len > 1 && *part.ptr == '0')
            return quoted(a, "Numeric PreRelease version must not contain leading zeroes", part);
        if (!only(part, false))
            return quoted(a, "Invalid character(s) found in prerelease", part);
    }
    return NULL;
}

static const char *check_build(struct arena *a, struct str s)
{
    while (s.ptr) {
        struct str part = str_cut(&s, '.');
        if (!part.len)
            return "Build meta data is empty";
        if (!only(part, false))
            return quoted(a, "Invalid character(s) found in build meta data", part);
    }
    return NULL;
}

static const char *parse_semver(struct arena *a, struct str s, struct cel_semver *ret)
{
    const char *trouble = NULL;
    struct str parts[2];
    if (!s.len)
        return "Version string empty";
    *ret = (struct cel_semver){ .pre = "" };
    for (size_t i = 0; i < 2; i++) {
        parts[i] = str_cut(&s, '.');
        if (!s.ptr)
            return "No Major.Minor.Patch elements found";
    }
    for (size_t i = 0; i < 2 && !trouble; i++)
        trouble = parse_version_number(a, parts[i], i, &ret->number[i]);
    if (trouble)
        return trouble;
    struct str build = s, pre = str_cut(&build, '+');
    struct str patch = str_cut(&pre, '-');
    trouble = parse_version_number(a, patch, 2, &ret->number[2]);
    if (!trouble && pre.ptr) {
        trouble = check_pre(a, pre);
        ret->pre = str_dup(a, pre);
    }
    return trouble || !build.ptr ? trouble : check_build(a, build);
}

/* Common spellings: a leading v, leading zeros, missing numbers. */
static const char *normalize(struct arena *a, struct str s, struct str *ret)
{
    struct str parts[3] = { { 0 } };
    size_t count = 0;
    if (str_starts(s, STR("v")))
        s = (struct str){ s.ptr + 1, s.len - 1 };
    for (; s.ptr && count < 3; count++)
        parts[count] = count < 2 ? str_cut(&s, '.') : s;
    for (size_t i = 0; i < count; i++)
        while (parts[i].len > 1 && *parts[i].ptr == '0' && parts[i].ptr[1] >= '0' &&
               parts[i].ptr[1] <= '9')
            parts[i] = (struct str){ parts[i].ptr + 1, parts[i].len - 1 };
    struct str last = parts[count - 1];
    if (count < 3 && (memchr(last.ptr, '+', last.len) || memchr(last.ptr, '-', last.len)))
        return "short version cannot contain PreRelease/Build meta data";
    for (; count < 3; count++)
        parts[count] = STR("0");
    *ret = str_of(arena_printf(a,
        "%.*s.%.*s.%.*s",
        (int)parts[0].len,
        parts[0].ptr,
        (int)parts[1].len,
        parts[1].ptr,
        (int)parts[2].len,
        parts[2].ptr));
    return NULL;
}

static const char *read_semver(
    struct arena *a, const struct cel_value *args, size_t n, struct cel_semver *ret)
{
    struct str text = args[0].text.len ? args[0].text : (struct str){ "", 0 };
    const char *trouble = NULL;
    if (n == 2 && args[1].boolean)
        trouble = normalize(a, text, &text);
    return trouble ? trouble : parse_semver(a, text, ret);
}

CEL_IMPLEMENT(to_semver)
{
    struct cel_semver *v = arena_new(e->arena, struct cel_semver);
    const char *trouble = read_semver(e->arena, args, n, v);
    return trouble ? cel_error(e, "%s", trouble)
                   : (struct cel_value){ .kind = CEL_SEMVER, .semver = v };
}

CEL_IMPLEMENT(is_semver)
{
    struct cel_semver v;
    return cel_bool(!read_semver(e->arena, args, n, &v));
}

/* semver.org 11: numbers are less than words, and compare numerically among themselves. */
static int compare_pre_part(struct str a, struct str b)
{
    bool number_a = only(a, true), number_b = only(b, true);
    if (number_a != number_b)
        return number_a ? -1 : 1;
    if (number_a && a.len != b.len)
        return a.len < b.len ? -1 : 1;
    int order;
    cel_order(cel_string(a), cel_string(b), &order);
    return order;
}

static int compare_semver(const struct cel_semver *a, const struct cel_semver *b)
{
    for (size_t i = 0; i < 3; i++)
        if (a->number[i] != b->number[i])
            return a->number[i] < b->number[i] ? -1 : 1;
    if (!*a->pre || !*b->pre)
        return (*a->pre ? -1 : 0) + (*b->pre ? 1 : 0);
    struct str x = str_of(a->pre), y = str_of(b->pre);
    while (x.ptr && y.ptr) {
        int order = compare_pre_part(str_cut(&x, '.'), str_cut(&y, '.'));
        if (order)
            return order;
    }
    return (x.ptr != NULL) - (y.ptr != NULL);
}

CEL_IMPLEMENT(semver_number)
{
    const char *name = f->name;
    size_t which = text_eq(name, "major") ? 0 : text_eq(name, "minor") ? 1 : 2;
    (void)e;
    return cel_int((int64_t)args[0].semver->number[which]);
}

/* ---- comparison of both ---- */

static int compare(struct cel_value a, struct cel_value b)
{
    return a.kind == CEL_QUANTITY ? quantity_compare(*a.quantity, *b.quantity)
                                  : compare_semver(a.semver, b.semver);
}

CEL_IMPLEMENT(compare_to)
{
    (void)e;
    return cel_int(compare(args[0], args[1]));
}

CEL_IMPLEMENT(is_greater_than)
{
    (void)e;
    return cel_bool(compare(args[0], args[1]) > 0);
}

CEL_IMPLEMENT(is_less_than)
{
    (void)e;
    return cel_bool(compare(args[0], args[1]) < 0);
}

bool cel_opaque_equal(struct cel_value a, struct cel_value b)
{
    switch (a.kind) {
    case CEL_QUANTITY:
    case CEL_SEMVER:
        return compare(a, b) == 0;
    case CEL_URL:
        return text_eq(a.url->text, b.url->text);
    case CEL_IP:
    case CEL_CIDR:
        return a.ip->length == b.ip->length && a.ip->prefix == b.ip->prefix &&
               memcmp(a.ip->bytes, b.ip->bytes, a.ip->length) == 0;
    case CEL_FORMAT:
        return a.format == b.format;
    default:
        return false;
    }
}

/* ---- formats: NULL, or what is wrong with a text ---- */

static const char *check_name(struct arena *a, const char *text, const struct cel_format *f)
{
    struct error err;
    return name_check((enum name_kind)f->arg, text, &err) ? NULL : arena_strdup(a, err.text);
}

/* The prefix of a name may end with a dash, because more will follow. */
static const char *check_prefix(struct arena *a, const char *text, const struct cel_format *f)
{
    size_t length = strlen(text);
    if (length > 1 && text[length - 1] == '-')
        text = arena_printf(a, "%.*sa", (int)length - 2, text);
    return check_name(a, text, f);
}

static const char *check_uri(struct arena *a, const char *text, const struct cel_format *f)
{
    struct cel_url url;
    (void)f;
    return cel_url_parse(a, str_of(text), &url);
}

static const char *check_uuid(struct arena *a, const char *text, const struct cel_format *f)
{
    size_t digits = 0, at = 0;
    (void)a, (void)f;
    for (; text[at]; at++) {
        bool dash = text[at] == '-';
        if (dash ? digits != 8 && digits != 12 && digits != 16 && digits != 20
                 : !strchr("0123456789abcdefABCDEF", text[at]))
            return "does not match the UUID format";
        if (dash && at && text[at - 1] == '-')
            return "does not match the UUID format";
        digits += !dash;
    }
    return digits == 32 ? NULL : "does not match the UUID format";
}

static const char *check_byte(struct arena *a, const char *text, const struct cel_format *f)
{
    struct str bytes;
    (void)f;
    return *text && base64_decode(a, str_of(text), &bytes) ? NULL : "invalid base64";
}

static const char *check_date(struct arena *a, const char *text, const struct cel_format *f)
{
    struct cel_instant t;
    (void)a, (void)f;
    return cel_date_parse(str_of(text), &t) ? NULL : "invalid date";
}

static const char *check_datetime(struct arena *a, const char *text, const struct cel_format *f)
{
    struct cel_instant t;
    (void)a, (void)f;
    return cel_time_parse(str_of(text), &t) ? NULL : "invalid datetime";
}

static const struct cel_format formats[] = {
    { "dns1123Label", check_name, 30, NAME_DNS1123_LABEL },
    { "dns1123Subdomain", check_name, 60, NAME_DNS1123_SUBDOMAIN },
    { "dns1035Label", check_name, 30, NAME_DNS1035_LABEL },
    { "qualifiedName", check_name, 60, NAME_LABEL_KEY },
    { "dns1123LabelPrefix", check_prefix, 30, NAME_DNS1123_LABEL },
    { "dns1123SubdomainPrefix", check_prefix, 60, NAME_DNS1123_SUBDOMAIN },
    { "dns1035LabelPrefix", check_prefix, 30, NAME_DNS1035_LABEL },
    { "labelValue", check_name, 40, NAME_LABEL_VALUE },
    { "uri", check_uri, 1103, 0 },
    { "uuid", check_uuid, 70, 0 },
    { "byte", check_byte, 84, 0 },
    { "date", check_date, 71, 0 },
    { "datetime", check_datetime, 71, 0 },
};

static const struct cel_format *find_format(struct str name)
{
    for (size_t i = 0; i < lengthof(formats); i++)
        if (str_eq(name, str_of(formats[i].name)))
            return &formats[i];
    return NULL;
}

CEL_IMPLEMENT(format_constant)
{
    (void)e, (void)args;
    return (struct cel_value){ .kind = CEL_FORMAT,
        .format = find_format(str_of(f->name + strlen("format."))) };
}

CEL_IMPLEMENT(format_named)
{
    const struct cel_format *format = find_format(args[0].text);
    struct cel_value v = { .kind = CEL_FORMAT, .format = format };
    return cel_optional(e->arena, format ? &v : NULL);
}

CEL_IMPLEMENT(format_validate)
{
    const struct cel_format *format = args[0].format;
    const char *trouble = format->check(e->arena, str_dup(e->arena, args[1].text), format);
    if (!trouble)
        return cel_optional(e->arena, NULL);
    struct cel_value text = cel_text(trouble), list = cel_list_new(e->arena, &text, 1);
    return cel_optional(e->arena, &list);
}

#define FORMAT(name)                                                                               \
    {                                                                                              \
        "format." name, "() format", format_constant, CEL_COST_ONE                                 \
    }

const struct cel_function cel_lib_kube[] = {
    { "quantity", "(string) quantity", to_quantity, CEL_COST_TRAVERSAL },
    { "isQuantity", "(string) bool", is_quantity, CEL_COST_TRAVERSAL },
    { "sign", "(quantity) int", quantity_sign, CEL_COST_ONE },
    { "isInteger", "quantity.() bool", quantity_is_integer, CEL_COST_ONE },
    { "asInteger", "quantity.() int", quantity_as_integer, CEL_COST_ONE },
    { "asApproximateFloat", "quantity.() double", quantity_as_float, CEL_COST_ONE },
    { "add", "quantity.(quantity) quantity", quantity_add, CEL_COST_ONE },
    { "add", "quantity.(int) quantity", quantity_add, CEL_COST_ONE },
    { "sub", "quantity.(quantity) quantity", quantity_add, CEL_COST_ONE },
    { "sub", "quantity.(int) quantity", quantity_add, CEL_COST_ONE },
    { "isGreaterThan", "quantity.(quantity) bool", is_greater_than, CEL_COST_ONE },
    { "isGreaterThan", "semver.(semver) bool", is_greater_than, CEL_COST_ONE },
    { "isLessThan", "quantity.(quantity) bool", is_less_than, CEL_COST_ONE },
    { "isLessThan", "semver.(semver) bool", is_less_than, CEL_COST_ONE },
    { "compareTo", "quantity.(quantity) int", compare_to, CEL_COST_ONE },
    { "compareTo", "semver.(semver) int", compare_to, CEL_COST_ONE },
    { "semver", "(string) semver", to_semver, CEL_COST_TRAVERSAL },
    { "semver", "(string, bool) semver", to_semver, CEL_COST_TRAVERSAL },
    { "isSemver", "(string) bool", is_semver, CEL_COST_TRAVERSAL },
    { "isSemver", "(string, bool) bool", is_semver, CEL_COST_TRAVERSAL },
    { "major", "semver.() int", semver_number, CEL_COST_ONE },
    { "minor", "semver.() int", semver_number, CEL_COST_ONE },
    { "patch", "semver.() int", semver_number, CEL_COST_ONE },
    FORMAT("dns1123Label"),
    FORMAT("dns1123Subdomain"),
    FORMAT("dns1035Label"),
    FORMAT("qualifiedName"),
    FORMAT("dns1123LabelPrefix"),
    FORMAT("dns1123SubdomainPrefix"),
    FORMAT("dns1035LabelPrefix"),
    FORMAT("labelValue"),
    FORMAT("uri"),
    FORMAT("uuid"),
    FORMAT("byte"),
    FORMAT("date"),
    FORMAT("datetime"),
    { "format.named", "(string) optional(format)", format_named, CEL_COST_ONE },
    { "validate", "format.(string) optional(list(string))", format_validate, CEL_COST_VALIDATE },
    { 0 },
};
