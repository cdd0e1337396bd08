#include "base/yaml_scalar.h"

#include <math.h>
#include <stdlib.h>

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

/* 0o17 and 0x1F; what does not fit 63 bits is text. */
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

/* Blanks and line breaks from *at on; returns how many breaks. */
static size_t skip_breaks(struct str s, size_t *at)
{
    size_t breaks = 0;
    for (; *at < s.len && strchr(" \t\r\n", s.ptr[*at]); ++*at)
        breaks += s.ptr[*at] == '\n' ||
                  (s.ptr[*at] == '\r' && !(*at + 1 < s.len && s.ptr[*at + 1] == '\n'));
    return breaks;
}

struct str yaml_scalar_single_quoted(struct arena *a, struct str s)
{
    char *text = arena_alloc(a, s.len + 1), *out = text;
    for (size_t at = 0; at < s.len;) {
        size_t end = at, breaks = skip_breaks(s, &end);
        if (breaks) {
            /* One break is a blank, more are one less. The blanks around them are gone. */
            for (size_t i = 1; i < breaks; i++)
                *out++ = '\n';
            if (breaks == 1)
                *out++ = ' ';
            at = end;
        } else if (end > at) {
            memcpy(out, s.ptr + at, end - at);
            out += end - at;
            at = end;
        } else {
            *out++ = s.ptr[at];
            at += s.ptr[at] == '\'' ? 2 : 1;
        }
    }
    return (struct str){ text, (size_t)(out - text) };
}
