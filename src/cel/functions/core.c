/* Sizes, conversions, and the string functions of the language itself. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cel/lib.h"
#include "cel/regex/regex.h"

static struct cel_value cannot_convert(
    struct cel_eval *e, struct cel_value v, const struct cel_function *f)
{
    static const char *const names[][2] = { { "duration", "google.protobuf.Duration" },
        { "timestamp", "google.protobuf.Timestamp" } };
    const char *to = f->name;
    for (size_t i = 0; i < lengthof(names); i++)
        if (text_eq(to, names[i][0]))
            to = names[i][1];
    return cel_error(e, "type conversion error from '%s' to '%s'", cel_value_type_name(v), to);
}

CEL_IMPLEMENT(same)
{
    (void)e;
    return args[0];
}

CEL_IMPLEMENT(size_of)
{
    (void)e;
    return cel_int((int64_t)cel_size(args[0]));
}

CEL_IMPLEMENT(type_of)
{
    (void)e;
    return cel_type_value(
        args[0].kind == CEL_TYPE ? cel_type_of(CEL_TYPE) : cel_type_of(args[0].kind));
}

CEL_IMPLEMENT(to_bool)
{
    static const char *const yes[] = { "1", "t", "T", "true", "TRUE", "True" };
    static const char *const no[] = { "0", "f", "F", "false", "FALSE", "False" };
    for (size_t i = 0; i < lengthof(yes); i++)
        if (str_eq(args[0].text, str_of(yes[i])) || str_eq(args[0].text, str_of(no[i])))
            return cel_bool(str_eq(args[0].text, str_of(yes[i])));
    return cannot_convert(e, args[0], f);
}

CEL_IMPLEMENT(to_bytes)
{
    (void)e;
    return cel_bytes(args[0].text);
}

/* Like strconv.ParseFloat: no spaces around it, and hexadecimal only with an exponent. */
static bool parse_double(struct arena *a, struct str s, double *ret)
{
    const char *text = str_dup(a, s);
    char *end;
    if (!*text || strlen(text) != s.len || strchr("\t\n\v\f\r ", *text))
        return false;
    bool hex = strpbrk(text, "xX") != NULL;
    bool exponent = strpbrk(text, "pP") != NULL;
    if ((hex && !exponent) || strchr(text, '('))
        return false;
    errno = 0;
    *ret = strtod(text, &end);
    bool named = strpbrk(text, "nN") != NULL; /* inf, infinity, nan */
    return !*end && (named || !isinf(*ret));
}

CEL_IMPLEMENT(to_double)
{
    double d;
    if (args[0].kind == CEL_INT)
        return cel_double((double)args[0].integer);
    if (args[0].kind == CEL_UINT)
        return cel_double((double)args[0].natural);
    return parse_double(e->arena, args[0].text, &d) ? cel_double(d) : cannot_convert(e, args[0], f);
}

/* Digits with a sign, like strconv.ParseInt. */
static bool parse_int(struct str s, int64_t *ret)
{
    if (s.len && *s.ptr == '+') {
        s = (struct str){ s.ptr + 1, s.len - 1 };
        if (s.len && *s.ptr == '-')
            return false;
    }
    return str_to_int(s, ret);
}

CEL_IMPLEMENT(to_int)
{
    struct cel_value v = args[0];
    int64_t i;
    switch (v.kind) {
    case CEL_DOUBLE:
        if (isnan(v.real) || v.real <= -0x1p63 || v.real >= 0x1p63)
            return cel_error(e, "integer overflow");
        return cel_int((int64_t)v.real);
    case CEL_UINT:
        return v.natural > INT64_MAX ? cel_error(e, "integer overflow") : cel_int(v.integer);
    case CEL_TIMESTAMP:
        return cel_int(v.instant.seconds);
    case CEL_DURATION:
        return cel_int(v.integer);
    default:
        return parse_int(v.text, &i) ? cel_int(i) : cannot_convert(e, v, f);
    }
}

CEL_IMPLEMENT(to_uint)
{
    struct cel_value v = args[0];
    if (v.kind == CEL_DOUBLE) {
        if (isnan(v.real) || v.real < 0 || v.real >= 0x1p64)
            return cel_error(e, "unsigned integer overflow");
        return cel_uint((uint64_t)v.real);
    }
    if (v.kind == CEL_INT)
        return v.integer < 0 ? cel_error(e, "unsigned integer overflow") : cel_uint(v.natural);
    const char *text = str_dup(e->arena, v.text);
    char *end;
    errno = 0;
    uint64_t u = strtoull(text, &end, 10);
    bool fine = *text >= '0' && *text <= '9' && !*end && !errno && strlen(text) == v.text.len;
    return fine ? cel_uint(u) : cannot_convert(e, v, f);
}

CEL_IMPLEMENT(to_duration)
{
    int64_t ns;
    if (args[0].kind == CEL_INT) /* declared, but not implemented */
        return cannot_convert(e, args[0], f);
    return time_duration_parse(str_dup(e->arena, args[0].text), &ns)
               ? cel_duration(ns)
               : cannot_convert(e, args[0], f);
}

CEL_IMPLEMENT(to_timestamp)
{
    struct cel_instant t;
    if (args[0].kind == CEL_INT) {
        t = (struct cel_instant){ .seconds = args[0].integer };
        return cel_time_in_range(t) ? cel_timestamp(t) : cel_error(e, "timestamp overflow");
    }
    return cel_time_parse(args[0].text, &t) && cel_time_in_range(t) ? cel_timestamp(t)
                                                                    : cannot_convert(e, args[0], f);
}

bool cel_to_text(struct cel_eval *e, struct cel_value v, struct cel_value *ret)
{
    switch (v.kind) {
    case CEL_STRING:
        *ret = v;
        return true;
    case CEL_BYTES:
        *ret = utf8_valid(v.text)
                   ? cel_string(v.text)
                   : cel_error(e, "invalid UTF-8 in bytes, cannot convert to string");
        return true;
    case CEL_BOOL:
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_TYPE:
        *ret = cel_text(cel_show(e->arena, v));
        return true;
    case CEL_DURATION: {
        double seconds = (double)(v.integer / 1000000000) + (double)(v.integer % 1000000000) / 1e9;
        *ret = cel_text(arena_printf(e->arena, "%ss", cel_show_double(e->arena, seconds, 'f')));
        return true;
    }
    case CEL_TIMESTAMP:
        *ret = cel_text(cel_time_text(e->arena, v.instant));
        return true;
    case CEL_IP:
    case CEL_CIDR:
        *ret = cel_text(cel_ip_text(e->arena, v.ip));
        return true;
    default:
        return false;
    }
}

CEL_IMPLEMENT(to_string)
{
    struct cel_value text;
    return cel_to_text(e, args[0], &text) ? text : cannot_convert(e, args[0], f);
}

static bool has_at(struct str s, struct str part, size_t at)
{
    return part.len <= s.len - at && (part.len == 0 || memcmp(s.ptr + at, part.ptr, part.len) == 0);
}

CEL_IMPLEMENT(string_contains)
{
    struct str s = args[0].text, part = args[1].text;
    (void)e;
    return cel_bool(part.len == 0 || (s.len && memmem(s.ptr, s.len, part.ptr, part.len)));
}

CEL_IMPLEMENT(string_starts_with)
{
    (void)e;
    return cel_bool(has_at(args[0].text, args[1].text, 0));
}

CEL_IMPLEMENT(string_ends_with)
{
    struct str s = args[0].text, part = args[1].text;
    (void)e;
    return cel_bool(part.len <= s.len && has_at(s, part, s.len - part.len));
}

/* A literal pattern was compiled with the expression. */
static const char *regex_of(struct cel_eval *e, struct str pattern, const struct cel_regex **ret)
{
    for (const struct cel_known_regex *k = e->regexes; k; k = k->next)
        if (k->pattern.ptr == pattern.ptr && k->pattern.len == pattern.len) {
            *ret = k->regex;
            return NULL;
        }
    return cel_regex_compile(e->arena, pattern, ret);
}

static bool search(struct cel_eval *e, const struct cel_regex *re, struct str text, size_t from,
    struct cel_regex_match *ret)
{
    bool found = cel_regex_search(re, e->arena, &e->scratch, text, from, ret);
    if (e->scratch.exhausted)
        cel_spend(e, UINT64_MAX);
    return found && !e->stopped;
}

CEL_IMPLEMENT(string_matches)
{
    const struct cel_regex *re;
    struct cel_regex_match m;
    const char *trouble = regex_of(e, args[1].text, &re);
    return trouble ? cel_error(e, "%s", trouble) : cel_bool(search(e, re, args[0].text, 0, &m));
}

CEL_IMPLEMENT(string_find)
{
    const struct cel_regex *re;
    struct cel_regex_match m;
    const char *trouble = regex_of(e, args[1].text, &re);
    if (trouble)
        return cel_error(e, "Illegal regex: %s", trouble);
    if (!search(e, re, args[0].text, 0, &m))
        return cel_text("");
    return cel_string((struct str){ args[0].text.ptr + m.start, m.end - m.start });
}

/* All non-overlapping matches. An empty one directly after another is not counted. */
CEL_IMPLEMENT(string_find_all)
{
    const struct cel_regex *re;
    struct str s = args[0].text;
    int64_t most = n == 3 ? args[2].integer : -1;
    const char *trouble = regex_of(e, args[1].text, &re);
    if (trouble)
        return cel_error(e, "Illegal regex: %s", trouble);
    struct cel_value list = cel_list_new(e->arena, NULL, 0);
    struct cel_regex_match m;
    size_t at = 0, last = SIZE_MAX;
    while (at <= s.len && (most < 0 || list.list->count < most) && search(e, re, s, at, &m)) {
        bool empty = m.start == m.end;
        if (!empty || m.start != last)
            list = cel_list_append(
                e->arena, list, cel_string((struct str){ s.ptr + m.start, m.end - m.start }));
        last = m.end;
        at = m.end;
        if (empty) { /* continue after the next character */
            uint32_t c;
            size_t step = utf8_first((struct str){ s.ptr + at, s.len - at }, &c);
            at += step ? step : 1;
        }
    }
    return list;
}

const struct cel_function cel_lib_core[] = {
    /* The first that fits determines the type of a value of unknown type. */
    { "size", "(bytes) int", size_of, CEL_COST_ONE },
    { "size", "bytes.() int", size_of, CEL_COST_ONE },
    { "size", "(list(A)) int", size_of, CEL_COST_ONE },
    { "size", "list(A).() int", size_of, CEL_COST_ONE },
    { "size", "(map(A, B)) int", size_of, CEL_COST_ONE },
    { "size", "map(A, B).() int", size_of, CEL_COST_ONE },
    { "size", "(string) int", size_of, CEL_COST_ONE },
    { "size", "string.() int", size_of, CEL_COST_ONE },
    { "type", "(A) type(A)", type_of, CEL_COST_ONE },
    { "dyn", "(A) dyn", same, CEL_COST_ONE },
    { "bool", "(bool) bool", same, CEL_COST_ONE },
    { "bool", "(string) bool", to_bool, CEL_COST_ONE },
    { "bytes", "(bytes) bytes", same, CEL_COST_ONE },
    { "bytes", "(string) bytes", to_bytes, CEL_COST_TO_BYTES },
    { "double", "(double) double", same, CEL_COST_ONE },
    { "double", "(int) double", to_double, CEL_COST_ONE },
    { "double", "(string) double", to_double, CEL_COST_ONE },
    { "double", "(uint) double", to_double, CEL_COST_ONE },
    { "duration", "(duration) duration", same, CEL_COST_ONE },
    { "duration", "(int) duration", to_duration, CEL_COST_ONE },
    { "duration", "(string) duration", to_duration, CEL_COST_ONE },
    { "int", "(int) int", same, CEL_COST_ONE },
    { "int", "(double) int", to_int, CEL_COST_ONE },
    { "int", "(duration) int", to_int, CEL_COST_ONE },
    { "int", "(string) int", to_int, CEL_COST_ONE },
    { "int", "(timestamp) int", to_int, CEL_COST_ONE },
    { "int", "(uint) int", to_int, CEL_COST_ONE },
    { "string", "(string) string", same, CEL_COST_ONE },
    { "string", "(bool) string", to_string, CEL_COST_ONE },
    { "string", "(bytes) string", to_string, CEL_COST_FROM_BYTES },
    { "string", "(double) string", to_string, CEL_COST_ONE },
    { "string", "(duration) string", to_string, CEL_COST_ONE },
    { "string", "(int) string", to_string, CEL_COST_ONE },
    { "string", "(timestamp) string", to_string, CEL_COST_ONE },
    { "string", "(uint) string", to_string, CEL_COST_ONE },
    { "string", "(ip) string", to_string, CEL_COST_ONE },
    { "string", "(cidr) string", to_string, CEL_COST_ONE },
    { "timestamp", "(timestamp) timestamp", same, CEL_COST_ONE },
    { "timestamp", "(int) timestamp", to_timestamp, CEL_COST_ONE },
    { "timestamp", "(string) timestamp", to_timestamp, CEL_COST_ONE },
    { "uint", "(uint) uint", same, CEL_COST_ONE },
    { "uint", "(double) uint", to_uint, CEL_COST_ONE },
    { "uint", "(int) uint", to_uint, CEL_COST_ONE },
    { "uint", "(string) uint", to_uint, CEL_COST_ONE },
    { "contains", "string.(string) bool", string_contains, CEL_COST_CONTAINS },
    { "startsWith", "string.(string) bool", string_starts_with, CEL_COST_AFFIX },
    { "endsWith", "string.(string) bool", string_ends_with, CEL_COST_AFFIX },
    { "matches", "(string, string) bool", string_matches, CEL_COST_ONE },
    { "matches", "string.(string) bool", string_matches, CEL_COST_MATCHES },
    { "find", "string.(string) string", string_find, CEL_COST_FIND },
    { "findAll", "string.(string) list(string)", string_find_all, CEL_COST_FIND },
    { "findAll", "string.(string, int) list(string)", string_find_all, CEL_COST_FIND },
    { 0 },
};
