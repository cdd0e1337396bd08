#include "base/quantity.h"

#include <string.h>

#define NANO (-9)
#define MILLI (-3)
/* Two more decimal digits still fit into 128 bits. */
#define DIGITS_MAX 36
/* A fraction times 2⁶⁰ still fits. */
#define BINARY_FRACTION_DIGITS_MAX 19

typedef __int128 wide;
typedef unsigned __int128 uwide;

static const struct suffix {
    const char *text;
    enum quantity_format format;
    int exponent; /* of ten or two */
} suffixes[] = {
    { "n", QUANTITY_DECIMAL, -9 },
    { "u", QUANTITY_DECIMAL, -6 },
    { "m", QUANTITY_DECIMAL, -3 },
    { "", QUANTITY_DECIMAL, 0 },
    { "k", QUANTITY_DECIMAL, 3 },
    { "M", QUANTITY_DECIMAL, 6 },
    { "G", QUANTITY_DECIMAL, 9 },
    { "T", QUANTITY_DECIMAL, 12 },
    { "P", QUANTITY_DECIMAL, 15 },
    { "E", QUANTITY_DECIMAL, 18 },
    { "Ki", QUANTITY_BINARY, 10 },
    { "Mi", QUANTITY_BINARY, 20 },
    { "Gi", QUANTITY_BINARY, 30 },
    { "Ti", QUANTITY_BINARY, 40 },
    { "Pi", QUANTITY_BINARY, 50 },
    { "Ei", QUANTITY_BINARY, 60 },
};

/* The parts of a text. */
struct parts {
    bool negative;
    bool empty;       /* has no digits at all */
    struct str whole; /* without leading zeros */
    struct str fraction;
    struct suffix suffix;
};

static struct str take_digits(struct str *rest)
{
    size_t count = 0;
    while (count < rest->len && rest->ptr[count] >= '0' && rest->ptr[count] <= '9')
        count++;
    struct str digits = { rest->ptr, count };
    *rest = (struct str){ rest->ptr + count, rest->len - count };
    return digits;
}

static bool take_char(struct str *rest, char c)
{
    if (rest->len == 0 || rest->ptr[0] != c)
        return false;
    *rest = (struct str){ rest->ptr + 1, rest->len - 1 };
    return true;
}

static bool fail_exponent(struct error *err)
{
    return fail(err, ERR_INVALID, "the exponent is beyond ±%d", QUANTITY_EXPONENT_MAX);
}

static bool read_suffix(struct str text, struct suffix *ret, struct error *err)
{
    for (size_t i = 0; i < lengthof(suffixes); i++) {
        if (str_eq(text, str_of(suffixes[i].text))) {
            *ret = suffixes[i];
            return true;
        }
    }
    struct str digits = text;
    int64_t exponent;
    if (!take_char(&digits, 'e') && !take_char(&digits, 'E'))
        return fail(err,
            ERR_INVALID,
            "the suffix %.*s is none of n u m k M G T P E Ki Mi Gi Ti Pi Ei or an exponent like e3",
            (int)(text.len < 40 ? text.len : 40),
            text.ptr);
    if ((take_char(&digits, '+') && str_starts(digits, STR("-"))) || !str_to_int(digits, &exponent))
        return fail(err, ERR_INVALID, "the exponent is not a number");
    if (exponent > QUANTITY_EXPONENT_MAX || exponent < -QUANTITY_EXPONENT_MAX)
        return fail_exponent(err);
    *ret = (struct suffix){ .format = QUANTITY_EXPONENT, .exponent = (int)exponent };
    return true;
}

/* The API server has a fast path for numbers that fit into 64 bits, judged by the number of digits
 * (ParseQuantity in k8s.io/apimachinery 0.36). Two oddities come from it: a number without digits
 * is 0 on the fast path and an error elsewhere, and some texts stay unchanged. */
static bool takes_fast_path(const struct parts *p)
{
    size_t digits = (p->whole.len ? p->whole.len : 1) + p->fraction.len;
    if (digits > 18)
        return false;
    if (p->suffix.format == QUANTITY_BINARY)
        return p->fraction.len == 0 && 14 - (int)digits - p->suffix.exponent * 3 / 10 >= 0;
    return p->suffix.exponent - (int)p->fraction.len >= NANO;
}

static bool split(struct str text, struct parts *ret, struct error *err)
{
    text = str_trim(text);
    if (text.len == 0)
        return fail(err, ERR_INVALID, "a quantity is empty");
    *ret = (struct parts){ .negative = text.ptr[0] == '-' };
    if (!take_char(&text, '-'))
        take_char(&text, '+');
    ret->whole = take_digits(&text);
    ret->empty = ret->whole.len == 0;
    while (take_char(&ret->whole, '0'))
        ;
    if (take_char(&text, '.'))
        ret->fraction = take_digits(&text);
    ret->empty = ret->empty && ret->fraction.len == 0;
    if (!read_suffix(text, &ret->suffix, err))
        return false;
    if (ret->empty && !takes_fast_path(ret))
        return fail(err, ERR_INVALID, "the quantity has no digits");
    return true;
}

/* Digits as a number. Digits that do not fit go to `dropped`, which is fine if they are zeros or
 * too small to matter; `lost` says whether any was not zero. */
struct mantissa {
    uwide value;
    int digits;
    int64_t dropped;
    bool lost;
};

static void add_digits(struct mantissa *m, struct str digits)
{
    for (size_t i = 0; i < digits.len; i++) {
        if (m->digits >= DIGITS_MAX) {
            m->dropped++;
            m->lost = m->lost || digits.ptr[i] != '0';
            continue;
        }
        m->value = m->value * 10 + (unsigned)(digits.ptr[i] - '0');
        m->digits += m->value != 0;
    }
}

static struct str without_trailing_zeros(struct str digits)
{
    while (digits.len && digits.ptr[digits.len - 1] == '0')
        digits.len--;
    return digits;
}

static bool fail_digits(struct error *err)
{
    return fail(err, ERR_INVALID, "the number has too many digits");
}

/* value × 10^exponent, rounded away from zero to a multiple of 10^floor. */
static void round_up(uwide *value, int64_t *exponent, int floor, bool lost)
{
    while (*exponent < floor && *value) {
        lost = lost || *value % 10 != 0;
        *value /= 10;
        ++*exponent;
    }
    if (*exponent < floor)
        *exponent = floor;
    *value += lost;
}

static struct quantity normal(uwide value, int64_t exponent, const struct parts *p)
{
    struct quantity q = { .format = p->suffix.format };
    if (value == 0)
        return q;
    while (value % 10 == 0) {
        value /= 10;
        exponent++;
    }
    q.value = p->negative ? -(wide)value : (wide)value;
    q.exponent = (int32_t)exponent;
    return q;
}

static bool decimal_of_parts(const struct parts *p, struct quantity *ret, struct error *err)
{
    struct mantissa m = { 0 };
    add_digits(&m, p->whole);
    add_digits(&m, p->fraction);
    int64_t exponent = p->suffix.exponent - (int64_t)p->fraction.len + m.dropped;
    if (m.lost && exponent > NANO)
        return fail_digits(err);
    round_up(&m.value, &exponent, NANO, m.lost);
    *ret = normal(m.value, exponent, p);
    /* Check again, because trailing zeros of the number have moved into the exponent. */
    return ret->exponent <= QUANTITY_EXPONENT_MAX || fail_exponent(err);
}

static bool binary_of_parts(const struct parts *p, struct quantity *ret, struct error *err)
{
    struct str fraction = without_trailing_zeros(p->fraction);
    struct mantissa whole = { 0 }, part = { 0 };
    add_digits(&whole, p->whole);
    add_digits(&part, fraction);
    if (fraction.len > BINARY_FRACTION_DIGITS_MAX)
        return fail_digits(err);
    if (whole.dropped || whole.value > INT64_MAX) {
        *ret = normal(INT64_MAX, 0, p);
        return true;
    }
    int64_t exponent = -(int64_t)fraction.len;
    uwide value = part.value << p->suffix.exponent;
    round_up(&value, &exponent, NANO, false);
    uwide scale = 1;
    for (int64_t i = exponent; i < 0; i++)
        scale *= 10;
    /* Below 2¹²³; in units of 10^exponent only if nothing is cut off anyway. */
    uwide units = whole.value << p->suffix.exponent;
    if (units + value / scale + (value % scale != 0) > INT64_MAX)
        *ret = normal(INT64_MAX, 0, p);
    else
        *ret = normal(units * scale + value, exponent, p);
    return true;
}

static bool of_parts(const struct parts *p, struct quantity *ret, struct error *err)
{
    return p->suffix.format == QUANTITY_BINARY ? binary_of_parts(p, ret, err)
                                               : decimal_of_parts(p, ret, err);
}

bool quantity_parse(struct str text, struct quantity *ret, struct error *err)
{
    struct parts p;
    return split(text, &p, err) && of_parts(&p, ret, err);
}

/* The quantity in units of 10^unit, rounded away from zero and limited to ±limit. */
static wide in_units(struct quantity q, int unit, wide limit)
{
    uwide value = q.value < 0 ? -(uwide)q.value : (uwide)q.value;
    int64_t exponent = q.exponent;
    round_up(&value, &exponent, unit, false);
    for (; exponent > unit && value && value <= (uwide)limit; exponent--)
        value *= 10;
    if (value > (uwide)limit)
        value = (uwide)limit;
    return q.value < 0 ? -(wide)value : (wide)value;
}

static int order(wide a, wide b)
{
    return (a > b) - (a < b);
}

int quantity_compare(struct quantity a, struct quantity b)
{
    int signs = order(order(a.value, 0), order(b.value, 0));
    if (signs || a.value == 0)
        return signs;
    /* In the smaller of the two units. The two numbers cannot both be cut off at the limit, because
     * the one that has this unit is below it. */
    const wide limit = (wide)1 << 122;
    int unit = a.exponent < b.exponent ? a.exponent : b.exponent;
    return order(in_units(a, unit, limit), in_units(b, unit, limit));
}

static int64_t clamped(struct quantity q, int unit)
{
    wide value = in_units(q, unit, (wide)INT64_MAX + 1);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

int64_t quantity_value(struct quantity q)
{
    return clamped(q, 0);
}

int64_t quantity_milli_value(struct quantity q)
{
    return clamped(q, MILLI);
}

struct quantity quantity_plus(struct quantity a, struct quantity b)
{
    const wide largest = (wide)1000000000000000000 * 1000000000000000000;
    enum quantity_format format = a.value ? a.format : b.format;
    struct quantity high = a.exponent >= b.exponent ? a : b, low = a.exponent >= b.exponent ? b : a;
    if (!a.value || !b.value) {
        high = a.value ? a : b;
        low = (struct quantity){ .exponent = high.exponent };
    }
    for (; high.exponent > low.exponent; high.exponent--) {
        if (high.value > largest / 10 || high.value < -largest / 10)
            break;
        high.value *= 10;
    }
    if (high.exponent == low.exponent)
        high.value += low.value;
    for (; high.value && high.value % 10 == 0; high.exponent++)
        high.value /= 10;
    high.exponent = high.value ? high.exponent : 0;
    high.format = format;
    return high;
}

struct quantity quantity_minus(struct quantity a, struct quantity b)
{
    b.value = -b.value;
    return quantity_plus(a, b);
}

struct quantity quantity_of_bytes(int64_t bytes)
{
    struct parts p = { .negative = bytes < 0, .suffix.format = QUANTITY_BINARY };
    return normal(bytes < 0 ? -(uwide)bytes : (uwide)bytes, 0, &p);
}

static const char *suffix_text(enum quantity_format format, int exponent)
{
    for (size_t i = 0; i < lengthof(suffixes); i++)
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            return suffixes[i].text;
    return NULL;
}

static const char *number_text(struct arena *a, wide value, const char *suffix)
{
    char digits[48], *at = digits + sizeof(digits);
    *--at = '\0';
    for (uwide rest = value < 0 ? -(uwide)value : (uwide)value; rest; rest /= 10)
        *--at = (char)('0' + (int)(rest % 10));
    return arena_printf(a, "%s%s%s", value < 0 ? "-" : "", at, suffix);
}

static const char *decimal_text(struct arena *a, struct quantity q)
{
    wide value = q.value;
    int exponent = q.exponent;
    for (; exponent % 3 != 0; exponent--)
        value *= 10;
    const char *suffix = exponent == 0 ? "" : NULL;
    if (!suffix && q.format != QUANTITY_EXPONENT)
        suffix = suffix_text(QUANTITY_DECIMAL, exponent);
    return number_text(a, value, suffix ? suffix : arena_printf(a, "e%d", exponent));
}

const char *quantity_to_text(struct arena *a, struct quantity q)
{
    if (q.value == 0)
        return "0";
    /* A binary suffix is not used if it would lose digits, or be longer than the number. */
    wide value = in_units(q, 0, INT64_MAX);
    if (q.format != QUANTITY_BINARY || q.exponent < 0 || (value < 1024 && value > -1024)) {
        if (q.format == QUANTITY_BINARY)
            q.format = QUANTITY_DECIMAL;
        return decimal_text(a, q);
    }
    int exponent = 0;
    for (; value % 1024 == 0; exponent += 10)
        value /= 1024;
    return number_text(a, value, exponent ? suffix_text(QUANTITY_BINARY, exponent) : "");
}

/* Whether the API server treats a text as canonical and keeps it. On the fast path it decides this
 * by the last digits. */
static bool kept_as_written(const struct parts *p, int floor)
{
    if (p->whole.len == 0 || !takes_fast_path(p))
        return false;
    size_t digits = p->whole.len + p->fraction.len;
    int last_three = 0;
    for (size_t i = digits < 3 ? 0 : digits - 3; i < digits; i++) {
        char c = i < p->whole.len ? p->whole.ptr[i] : p->fraction.ptr[i - p->whole.len];
        last_three = last_three * 10 + (c - '0');
    }
    if (p->suffix.format == QUANTITY_BINARY)
        return last_three % 8 != 0; /* equals number % 8, because 1000 % 8 is 0 */
    int exponent = p->suffix.exponent - (int)p->fraction.len;
    return exponent >= floor && exponent % 3 == 0 && (last_three != 0 || digits < 3);
}

static const char *canonical(struct arena *a, const char *text, int floor)
{
    struct parts p;
    struct quantity q;
    if (!text || !split(str_of(text), &p, NULL) || !of_parts(&p, &q, NULL))
        return NULL;
    if (kept_as_written(&p, floor))
        return str_dup(a, str_trim(str_of(text)));
    uwide value = p.negative ? -(uwide)q.value : (uwide)q.value;
    int64_t exponent = q.exponent;
    round_up(&value, &exponent, floor, false);
    return quantity_to_text(a, normal(value, exponent, &p));
}

const char *quantity_canonical(struct arena *a, const char *text)
{
    return canonical(a, text, NANO);
}

const char *quantity_canonical_resource(struct arena *a, const char *text)
{
    return canonical(a, text, MILLI);
}

bool quantity_text_equal(const char *a, const char *b)
{
    struct quantity qa, qb;
    if (text_eq(a, b))
        return true;
    return a && b && quantity_parse(str_of(a), &qa, NULL) && quantity_parse(str_of(b), &qb, NULL) &&
           quantity_compare(qa, qb) == 0;
}
