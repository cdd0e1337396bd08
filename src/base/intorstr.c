#include "base/intorstr.h"

/* Converts text of digits to the number; other values stay unchanged. */
static struct json plain(struct json v)
{
    int64_t number;
    if (json_is(v, JSON_STR) && str_to_int((struct str){ v.string, v.count }, &number))
        return json_int(number);
    return v;
}

bool intorstr_equal(struct json a, struct json b)
{
    return json_equal(plain(a), plain(b));
}

static bool scale(int64_t percent, int64_t total, bool round_up, int64_t *ret, struct error *err)
{
    __int128 product = (__int128)percent * total, whole = product / 100, rest = product % 100;
    /* Division truncates towards zero. */
    whole += rest > 0 && round_up ? 1 : rest < 0 && !round_up ? -1 : 0;
    if (whole > INT64_MAX || whole < INT64_MIN)
        return fail(err, ERR_INVALID, "the percentage is too large");
    *ret = (int64_t)whole;
    return true;
}

bool intorstr_scaled(struct json v, int64_t total, bool round_up, int64_t *ret, struct error *err)
{
    if (json_is(v, JSON_INT)) {
        *ret = v.integer;
        return true;
    }
    struct str text = { v.string, v.count };
    int64_t percent;
    if (!json_is(v, JSON_STR))
        return fail(err, ERR_INVALID, "expected integer or percentage, got %s", json_type_name(v));
    if (!str_ends(text, STR("%")) || !str_to_int((struct str){ text.ptr, text.len - 1 }, &percent))
        return fail(err, ERR_INVALID, "\"%.40s\" is not a percentage like 25%%", v.string);
    return scale(percent, total, round_up, ret, err);
}
