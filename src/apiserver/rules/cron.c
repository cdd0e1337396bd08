#include "apiserver/rules/cron.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"

struct bounds {
    int64_t low, high;
    const char *const *names; /* of low and those after it */
};

static const char *const months[] = {
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", NULL
};
static const char *const days[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat", NULL };

static const struct bounds fields[] = {
    { 0, 59, NULL },
    { 0, 23, NULL },
    { 1, 31, NULL },
    { 1, 12, months },
    { 0, 6, days },
};

static bool read_value(struct str s, const struct bounds *b, int64_t *ret, struct error *err)
{
    for (size_t i = 0; b->names && b->names[i]; i++)
        if (str_eq_nocase(s, str_of(b->names[i]))) {
            *ret = b->low + (int64_t)i;
            return true;
        }
    if (!str_to_int(s, ret))
        return fail(err,
            ERR_INVALID,
            "failed to parse int from %.*s: strconv.Atoi: parsing \"%.*s\": invalid syntax",
            (int)s.len,
            s.ptr,
            (int)s.len,
            s.ptr);
    return *ret >= 0 || fail(err,
                            ERR_INVALID,
                            "negative number (%lld) not allowed: %.*s",
                            (long long)*ret,
                            (int)s.len,
                            s.ptr);
}

/* 3, 1-5, *, ?, each with /2 behind it. */
static bool check_range(struct str s, const struct bounds *b, struct error *err)
{
    struct str rest = s, range = str_cut(&rest, '/'), step = rest, end = range;
    struct str start = str_cut(&end, '-');
    int64_t low = b->low, high = b->high, every = 1;
    bool star = str_eq(start, STR("*")) || str_eq(start, STR("?"));
    if (!star) {
        if (!read_value(start, b, &low, err))
            return false;
        high = step.ptr ? b->high : low;
        if (end.ptr && !read_value(end, b, &high, err))
            return false;
    }
    if (step.ptr && !read_value(step, &(struct bounds){ 0, 0, NULL }, &every, err))
        return false;
    if (low < b->low)
        return fail(err,
            ERR_INVALID,
            "beginning of range (%lld) below minimum (%lld): %.*s",
            (long long)low,
            (long long)b->low,
            (int)s.len,
            s.ptr);
    if (high > b->high)
        return fail(err,
            ERR_INVALID,
            "end of range (%lld) above maximum (%lld): %.*s",
            (long long)high,
            (long long)b->high,
            (int)s.len,
            s.ptr);
    if (low > high)
        return fail(err,
            ERR_INVALID,
            "beginning of range (%lld) beyond end of range (%lld): %.*s",
            (long long)low,
            (long long)high,
            (int)s.len,
            s.ptr);
    return every > 0 || fail(err,
                            ERR_INVALID,
                            "step of range should be a positive number: %.*s",
                            (int)s.len,
                            s.ptr);
}

static bool check_words(const char *schedule, struct error *err)
{
    static const char *const words[] = {
        "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"
    };
    for (size_t i = 0; i < lengthof(words); i++)
        if (text_eq(schedule, words[i]))
            return true;
    if (text_starts(schedule, "@every "))
        return true;
    return fail(err, ERR_INVALID, "unrecognized descriptor: %s", schedule);
}

bool cron_check(const char *schedule, struct error *err)
{
    if (*schedule == '@')
        return check_words(schedule, err);
    struct str parts[6];
    size_t count = 0;
    struct str rest = str_of(schedule);
    while (rest.ptr) {
        struct str part = str_cut(&rest, ' ');
        if (!part.len)
            continue;
        if (count < lengthof(parts))
            parts[count] = part;
        count++;
    }
    if (count != lengthof(fields))
        return fail(
            err, ERR_INVALID, "expected exactly 5 fields, found %zu: [%s]", count, schedule);
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct str list = parts[i];
        while (list.ptr)
            if (!check_range(str_cut(&list, ','), &fields[i], err))
                return false;
    }
    return true;
}

bool cron_is_zone(const char *name)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!*name || *name == '/' || strstr(name, "..") || text_eq(name, "Local"))
        return false;
    return access(arena_printf(&a, "/usr/share/zoneinfo/%s", name), R_OK) == 0;
}
