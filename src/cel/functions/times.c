/* Times and durations. Zones are UTC and fixed offsets ("+02:00"); names of the tz database, which
 * needs files, are not supported. */

#include <stdio.h>
#include <time.h>

#include "base/time.h"
#include "cel/lib.h"

#define NS_PER_S ((int64_t)1000000000)
/* 0001-01-01T00:00:00Z and the second after 9999-12-31T23:59:59Z. */
#define SECONDS_MIN ((int64_t)-62135596800)
#define SECONDS_END ((int64_t)253402300800)

bool cel_time_in_range(struct cel_instant t)
{
    return t.seconds >= SECONDS_MIN && t.seconds < SECONDS_END;
}

static struct tm civil(int64_t seconds)
{
    struct tm tm;
    time_t t = (time_t)seconds;
    gmtime_r(&t, &tm);
    return tm;
}

const char *cel_time_text(struct arena *a, struct cel_instant t)
{
    struct tm tm = civil(t.seconds);
    char fraction[16] = "";
    if (t.nanos) {
        snprintf(fraction, sizeof(fraction), ".%09d", (int)t.nanos);
        for (size_t n = strlen(fraction); fraction[n - 1] == '0'; n--)
            fraction[n - 1] = '\0';
    }
    return arena_printf(a,
        "%04d-%02d-%02dT%02d:%02d:%02d%sZ",
        tm.tm_year + 1900,
        tm.tm_mon + 1,
        tm.tm_mday,
        tm.tm_hour,
        tm.tm_min,
        tm.tm_sec,
        fraction);
}

/* base/time.h reads everything except fractions of a microsecond. */
bool cel_time_parse(struct str text, struct cel_instant *ret)
{
    char copy[80];
    int64_t us;
    if (text.len >= sizeof(copy) || text.len == 0 || memchr(text.ptr, '\0', text.len))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (!time_parse_micro(copy, &us))
        return false;
    int64_t nanos = 0, unit = NS_PER_S / 10;
    const char *point = strchr(copy, '.');
    for (const char *at = point ? point + 1 : ""; *at >= '0' && *at <= '9'; at++, unit /= 10)
        nanos += (*at - '0') * unit;
    ret->seconds = us / 1000000 - (us % 1000000 < 0);
    ret->nanos = (int32_t)nanos;
    return true;
}

bool cel_date_parse(struct str text, struct cel_instant *ret)
{
    char whole[40];
    if (text.len != 10)
        return false;
    snprintf(whole, sizeof(whole), "%.10sT00:00:00Z", text.ptr);
    return cel_time_parse(str_of(whole), ret);
}

/* ---- durations as OpenAPI accepts them ---- */

static const struct {
    const char *names; /* separated by spaces */
    int64_t ns;
} units[] = {
    { "ns nano nanos nanosecond nanoseconds", 1 },
    { "us µs micro micros microsecond microseconds", 1000 },
    { "ms milli millis millisecond milliseconds", 1000000 },
    { "s sec secs second seconds", NS_PER_S },
    { "m min mins minute minutes", 60 * NS_PER_S },
    { "h hr hrs hour hours", 3600 * NS_PER_S },
    { "d day days", 24 * 3600 * NS_PER_S },
    { "w wk wks week weeks", 7 * 24 * 3600 * NS_PER_S },
};

static int64_t unit_ns(struct str name)
{
    for (size_t i = 0; i < lengthof(units); i++)
        for (struct str rest = str_of(units[i].names); rest.ptr;)
            if (str_eq(str_cut(&rest, ' '), name))
                return units[i].ns;
    return 0;
}

bool cel_duration_parse_loose(struct str text, int64_t *ret_ns)
{
    char copy[80];
    if (text.len >= sizeof(copy))
        return false;
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    if (time_duration_parse(copy, ret_ns))
        return true;
    const char *at = copy + strspn(copy, " ");
    int64_t number, total = 0;
    if (!*at)
        return false;
    while (*at) {
        size_t digits = strspn(at, "0123456789");
        const char *word = at + digits + strspn(at + digits, " ");
        size_t length = strcspn(word, "0123456789 ");
        int64_t unit = unit_ns((struct str){ word, length }), part;
        if (!digits || !unit || !str_to_int((struct str){ at, digits }, &number) ||
            __builtin_mul_overflow(number, unit, &part) ||
            __builtin_add_overflow(total, part, &total))
            return false;
        at = word + length;
        at += strspn(at, " ");
    }
    *ret_ns = total;
    return true;
}

/* ---- getters ---- */

static bool two_digits(const char *at, int *ret)
{
    if (at[0] < '0' || at[0] > '9' || at[1] < '0' || at[1] > '9')
        return false;
    *ret = (at[0] - '0') * 10 + at[1] - '0';
    return true;
}

/* Seconds east of UTC. */
static bool zone_offset(struct arena *a, struct str zone, int64_t *ret)
{
    const char *text = str_dup(a, zone);
    int hours, minutes;
    *ret = 0;
    if (text_eq(text, "") || text_eq(text, "UTC"))
        return true;
    bool negative = *text == '-';
    text += negative || *text == '+';
    if (strlen(text) != 5 || text[2] != ':' || !two_digits(text, &hours) ||
        !two_digits(text + 3, &minutes))
        return false;
    *ret = (negative ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
    return true;
}

CEL_IMPLEMENT(time_part)
{
    int64_t offset = 0;
    if (n == 2 && !zone_offset(e->arena, args[1].text, &offset))
        return cel_error(e, "unknown time zone %s", str_dup(e->arena, args[1].text));
    struct tm tm = civil(args[0].instant.seconds + offset);
    const struct {
        const char *name;
        int value;
    } parts[] = {
        { "getFullYear", tm.tm_year + 1900 },
        { "getMonth", tm.tm_mon },
        { "getDayOfYear", tm.tm_yday },
        { "getDayOfMonth", tm.tm_mday - 1 },
        { "getDate", tm.tm_mday },
        { "getDayOfWeek", tm.tm_wday },
        { "getHours", tm.tm_hour },
        { "getMinutes", tm.tm_min },
        { "getSeconds", tm.tm_sec },
        { "getMilliseconds", args[0].instant.nanos / 1000000 },
    };
    for (size_t i = 0; i < lengthof(parts); i++)
        if (text_eq(f->name, parts[i].name))
            return cel_int(parts[i].value);
    assert(!"a getter without a value");
    return cel_null();
}

CEL_IMPLEMENT(duration_hours)
{
    (void)e;
    return cel_int(args[0].integer / (3600 * NS_PER_S));
}

CEL_IMPLEMENT(duration_minutes)
{
    (void)e;
    return cel_int(args[0].integer / (60 * NS_PER_S));
}

CEL_IMPLEMENT(duration_seconds)
{
    (void)e;
    return cel_int(args[0].integer / NS_PER_S);
}

CEL_IMPLEMENT(duration_milliseconds)
{
    (void)e;
    return cel_int(args[0].integer / 1000000);
}

#define GETTER(name)                                                                               \
    { name, "timestamp.() int", time_part, CEL_COST_ONE },                                         \
    {                                                                                              \
        name, "timestamp.(string) int", time_part, CEL_COST_ONE                                    \
    }

const struct cel_function cel_lib_times[] = {
    GETTER("getFullYear"),
    GETTER("getMonth"),
    GETTER("getDayOfYear"),
    GETTER("getDayOfMonth"),
    GETTER("getDate"),
    GETTER("getDayOfWeek"),
    GETTER("getHours"),
    GETTER("getMinutes"),
    GETTER("getSeconds"),
    GETTER("getMilliseconds"),
    { "getHours", "duration.() int", duration_hours, CEL_COST_ONE },
    { "getMinutes", "duration.() int", duration_minutes, CEL_COST_ONE },
    { "getSeconds", "duration.() int", duration_seconds, CEL_COST_ONE },
    { "getMilliseconds", "duration.() int", duration_milliseconds, CEL_COST_ONE },
    { 0 },
};
