#include "base/time.h"

#include <string.h>

#include "base/str.h"

#define DAY_S ((int64_t)86400)
#define US_PER_S ((int64_t)1000000)

/* A day of the proleptic Gregorian calendar, as used by RFC 3339. */
struct date {
    int64_t year;
    int month, day; /* from 1 */
};

/* Years begin in March here, so that the leap day is the last day of a year; 400 years have 146097
 * days. Day 0 is 1970-01-01, which is day 719468 since March 1 of year 0. */
static int64_t days_of_date(struct date d)
{
    int64_t year = d.year - (d.month <= 2), month = (d.month + 9) % 12;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * month + 2) / 5 + d.day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static struct date date_of_days(int64_t days)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    struct date d = { .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9) };
    d.year = year + era * 400 + (d.month <= 2);
    return d;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

struct civil {
    struct date date;
    int64_t days;
    int hour, minute, second;
};

static struct civil civil_of_seconds(int64_t s)
{
    struct civil c = { .days = floor_div(s, DAY_S) };
    int of_day = (int)(s - c.days * DAY_S);
    c.date = date_of_days(c.days);
    assert(c.date.year >= 0 && c.date.year <= 9999);
    c.hour = of_day / 3600;
    c.minute = of_day / 60 % 60;
    c.second = of_day % 60;
    return c;
}

/* The last count digits of a number. */
static void put_digits(char *at, int count, int64_t number)
{
    for (; count > 0; number /= 10)
        at[--count] = (char)('0' + number % 10);
}

/* Not printf, because every line of the log has a time. */
static char *format_seconds(struct arena *a, int64_t s, const char *shape)
{
    struct civil c = civil_of_seconds(s);
    char *text = arena_strdup(a, shape);
    put_digits(text, 4, c.date.year);
    put_digits(text + 5, 2, c.date.month);
    put_digits(text + 8, 2, c.date.day);
    put_digits(text + 11, 2, c.hour);
    put_digits(text + 14, 2, c.minute);
    put_digits(text + 17, 2, c.second);
    return text;
}

const char *time_format(struct arena *a, int64_t wall_ms)
{
    return format_seconds(a, floor_div(wall_ms, 1000), "0000-00-00T00:00:00Z");
}

const char *time_format_micro(struct arena *a, int64_t wall_us)
{
    int64_t s = floor_div(wall_us, US_PER_S);
    char *text = format_seconds(a, s, "0000-00-00T00:00:00.000000Z");
    put_digits(text + 20, 6, wall_us - s * US_PER_S);
    return text;
}

/* Reads RFC 3339 as Go does, so that this code accepts what a server accepts: an hour of one digit,
 * a comma before the fraction, and an offset of a whole day. */

/* Exactly `digits` digits with a value of at most max. */
static bool read_number(const char **at, int digits, int max, int *ret)
{
    int value = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return value <= max;
}

/* "15", "9". */
static bool read_hour(const char **at, int *ret)
{
    bool one = **at && ((*at)[1] < '0' || (*at)[1] > '9');
    return read_number(at, one ? 1 : 2, 23, ret);
}

static bool read_char(const char **at, char c)
{
    return *(*at)++ == c;
}

static bool date_exists(struct date d)
{
    if (d.month < 1 || d.day < 1)
        return false;
    struct date again = date_of_days(days_of_date(d));
    return again.month == d.month && again.day == d.day;
}

/* "Z", "+02:00"; in seconds. */
static bool read_offset(const char **at, int *ret_s)
{
    *ret_s = 0;
    char sign = *(*at)++;
    if (sign == 'Z')
        return true;
    int hours, minutes;
    if ((sign != '+' && sign != '-') || !read_number(at, 2, 24, &hours) || !read_char(at, ':') ||
        !read_number(at, 2, 60, &minutes))
        return false;
    *ret_s = (hours * 60 + minutes) * (sign == '-' ? -60 : 60);
    return true;
}

/* ".123", cut to microseconds; no fraction is 0. */
static bool read_fraction(const char **at, int *ret_us)
{
    *ret_us = 0;
    if (**at != '.' && **at != ',')
        return true;
    int unit = (int)US_PER_S;
    const char *first = ++*at;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        unit /= 10;
        *ret_us += (**at - '0') * unit;
    }
    return *at > first;
}

bool time_parse_micro(const char *text, int64_t *ret_us)
{
    const char *at = text;
    struct date d = { 0 };
    int year, hour, minute, second, fraction_us, offset_s;
    /* Every step stops at the end of the text, so none reads beyond it. */
    if (!at || !read_number(&at, 4, 9999, &year) || !read_char(&at, '-') ||
        !read_number(&at, 2, 12, &d.month) || !read_char(&at, '-') ||
        !read_number(&at, 2, 31, &d.day) || !read_char(&at, 'T') || !read_hour(&at, &hour) ||
        !read_char(&at, ':') || !read_number(&at, 2, 59, &minute) || !read_char(&at, ':') ||
        !read_number(&at, 2, 59, &second) || !read_fraction(&at, &fraction_us) ||
        !read_offset(&at, &offset_s) || *at)
        return false;
    d.year = year;
    if (!date_exists(d))
        return false;
    int64_t s = days_of_date(d) * DAY_S + hour * 3600 + minute * 60 + second - offset_s;
    *ret_us = s * US_PER_S + fraction_us;
    return true;
}

bool time_parse(const char *text, int64_t *ret_ms)
{
    int64_t us;
    if (!time_parse_micro(text, &us))
        return false;
    *ret_ms = floor_div(us, 1000);
    return true;
}

/* ---- durations ---- */

static const struct {
    struct str name;
    int64_t ns;
} units[] = {
    /* Longer names first: "ms" is not a minute. */
    { { "ns", 2 }, 1 },
    { { "us", 2 }, 1000 },
    { { "\xc2\xb5s", 3 }, 1000 }, /* micro sign */
    { { "\xce\xbcs", 3 }, 1000 }, /* Greek mu */
    { { "ms", 2 }, TIME_NS_PER_MS },
    { { "s", 1 }, TIME_NS_PER_S },
    { { "m", 1 }, 60 * TIME_NS_PER_S },
    { { "h", 1 }, 3600 * TIME_NS_PER_S },
};

static struct str unit_of(struct str rest)
{
    size_t length = 0;
    while (length < rest.len && rest.ptr[length] != '.' &&
           !(rest.ptr[length] >= '0' && rest.ptr[length] <= '9'))
        length++;
    return (struct str){ rest.ptr, length };
}

static bool read_unit(struct str *rest, int64_t *ret_ns)
{
    struct str name = unit_of(*rest);
    for (size_t i = 0; i < lengthof(units); i++) {
        if (str_eq(name, units[i].name)) {
            *ret_ns = units[i].ns;
            *rest = (struct str){ rest->ptr + name.len, rest->len - name.len };
            return true;
        }
    }
    return false;
}

static bool next_digit(struct str *rest, int *ret)
{
    if (rest->len == 0 || rest->ptr[0] < '0' || rest->ptr[0] > '9')
        return false;
    *ret = rest->ptr[0] - '0';
    *rest = (struct str){ rest->ptr + 1, rest->len - 1 };
    return true;
}

/* ".5" as a fraction and its divisor. Digits that do not fit into 64 bits are ignored. */
static size_t read_decimals(struct str *rest, int64_t *ret_fraction, double *ret_scale)
{
    size_t digits = 0;
    if (rest->len == 0 || rest->ptr[0] != '.')
        return digits;
    *rest = (struct str){ rest->ptr + 1, rest->len - 1 };
    for (int digit; next_digit(rest, &digit); digits++) {
        if (*ret_fraction <= INT64_MAX / 10 - 1) {
            *ret_fraction = *ret_fraction * 10 + digit;
            *ret_scale *= 10;
        }
    }
    return digits;
}

/* Reads one number with its unit: "1.5h". Adds in 128 bits, so that nothing overflows before the
 * check. */
static bool read_term(struct str *rest, __int128 *sum_ns)
{
    const __int128 too_much = (__int128)1 << 64;
    __int128 whole = 0;
    size_t digits = 0;
    for (int digit; next_digit(rest, &digit); digits++) {
        whole = whole * 10 + digit;
        if (whole > too_much)
            return false;
    }
    int64_t fraction = 0, unit;
    double scale = 1;
    digits += read_decimals(rest, &fraction, &scale);
    if (digits == 0 || !read_unit(rest, &unit))
        return false;
    /* In floating point as in Go, so that 0.3333333333333333333h is 20m in both. */
    *sum_ns += whole * unit + (int64_t)((double)fraction * ((double)unit / scale));
    return *sum_ns <= too_much;
}

bool time_duration_parse(const char *text, int64_t *ret_ns)
{
    struct str rest = str_of(text);
    bool negative = rest.len && rest.ptr[0] == '-';
    if (rest.len && (rest.ptr[0] == '-' || rest.ptr[0] == '+'))
        rest = (struct str){ rest.ptr + 1, rest.len - 1 };
    __int128 sum = 0;
    if (rest.len == 0)
        return false;
    if (!str_eq(rest, STR("0")))
        while (rest.len)
            if (!read_term(&rest, &sum))
                return false;
    sum = negative ? -sum : sum;
    if (sum > INT64_MAX || sum < INT64_MIN)
        return false;
    *ret_ns = (int64_t)sum;
    return true;
}

/* Quotes a text as Go does: with \x for everything that is not printable ASCII. */
static const char *quoted(struct arena *a, struct str text)
{
    char *out = arena_array(a, text.len * 4 + 3, 1), *at = out;
    *at++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < ' ' || c >= 0x80) {
            at += snprintf(at, 5, "\\x%02x", c);
            continue;
        }
        if (c == '"' || c == '\\')
            *at++ = '\\';
        *at++ = (char)c;
    }
    *at++ = '"';
    *at = 0;
    return out;
}

const char *time_duration_error(struct arena *a, const char *text)
{
    int64_t ns;
    struct str all = str_of(text), rest = all;
    __int128 sum = 0;
    if (time_duration_parse(text, &ns))
        return NULL;
    if (rest.len && (rest.ptr[0] == '-' || rest.ptr[0] == '+'))
        rest = (struct str){ rest.ptr + 1, rest.len - 1 };
    struct str term = rest;
    while (rest.len && read_term(&rest, &sum))
        term = rest;
    /* The invalid term: a number, and the text in the place of its unit. */
    struct str number = { term.ptr, 0 };
    while (number.len < term.len && strchr("0123456789.", term.ptr[number.len]))
        number.len++;
    struct str unit = unit_of((struct str){ term.ptr + number.len, term.len - number.len });
    bool digits = number.len && !str_eq(number, STR("."));
    if (digits && term.len == number.len)
        return arena_printf(a, "missing unit in duration %s", quoted(a, all));
    for (size_t i = 0; i < lengthof(units); i++)
        digits = digits && !str_eq(unit, units[i].name);
    return digits
               ? arena_printf(a, "unknown unit %s in duration %s", quoted(a, unit), quoted(a, all))
               : arena_printf(a, "invalid duration %s", quoted(a, all));
}

/* value / 10^digits without trailing zeros: "1.5". */
static const char *decimal(struct arena *a, uint64_t value, uint64_t unit, int digits)
{
    char fraction[24];
    snprintf(fraction, sizeof(fraction), "%0*llu", digits, (unsigned long long)(value % unit));
    while (digits > 0 && fraction[digits - 1] == '0')
        digits--;
    unsigned long long whole = value / unit;
    return digits ? arena_printf(a, "%llu.%.*s", whole, digits, fraction)
                  : arena_printf(a, "%llu", whole);
}

const char *time_duration_format(struct arena *a, int64_t ns)
{
    const char *sign = ns < 0 ? "-" : "";
    uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    if (n == 0)
        return "0s";
    if (n < 1000)
        return arena_printf(a, "%s%dns", sign, (int)n);
    if (n < (uint64_t)TIME_NS_PER_MS)
        return arena_printf(a, "%s%sµs", sign, decimal(a, n, 1000, 3));
    if (n < (uint64_t)TIME_NS_PER_S)
        return arena_printf(a, "%s%sms", sign, decimal(a, n, (uint64_t)TIME_NS_PER_MS, 6));
    uint64_t minutes = n / (uint64_t)TIME_NS_PER_S / 60;
    uint64_t of_minute = n - minutes * 60 * (uint64_t)TIME_NS_PER_S;
    const char *seconds = decimal(a, of_minute, (uint64_t)TIME_NS_PER_S, 9);
    if (minutes == 0)
        return arena_printf(a, "%s%ss", sign, seconds);
    if (minutes < 60)
        return arena_printf(a, "%s%dm%ss", sign, (int)minutes, seconds);
    return arena_printf(
        a, "%s%lluh%dm%ss", sign, (unsigned long long)minutes / 60, (int)(minutes % 60), seconds);
}
