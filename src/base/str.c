#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len && str_eq((struct str){ s.ptr, prefix.len }, prefix);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           str_eq((struct str){ s.ptr + s.len - suffix.len, suffix.len }, suffix);
}

struct str str_cut(struct str *rest, char at)
{
    const char *found = rest->len ? memchr(rest->ptr, at, rest->len) : NULL;
    struct str head = *rest;
    if (!found) {
        *rest = (struct str){ NULL, 0 };
        return head;
    }
    head.len = (size_t)(found - rest->ptr);
    *rest = (struct str){ found + 1, rest->len - head.len - 1 };
    return head;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct str str_trim(struct str s)
{
    while (s.len && is_blank(s.ptr[0]))
        s = (struct str){ s.ptr + 1, s.len - 1 };
    while (s.len && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

char *str_dup(struct arena *a, struct str s)
{
    return arena_strndup(a, s.ptr, s.len);
}

bool str_to_int(struct str s, int64_t *ret)
{
    char text[24];
    if (s.len == 0 || s.len >= sizeof(text))
        return false;
    if (!(s.ptr[0] == '-' || (s.ptr[0] >= '0' && s.ptr[0] <= '9')))
        return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end != text + s.len || end == text)
        return false;
    *ret = value;
    return true;
}

bool str_to_real(struct str s, double *ret)
{
    char text[64];
    if (s.len == 0 || s.len >= sizeof(text) || is_blank(s.ptr[0]))
        return false;
    memcpy(text, s.ptr, s.len);
    text[s.len] = '\0';
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno || end != text + s.len || value != value)
        return false;
    *ret = value;
    return true;
}

bool text_eq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_starts(const char *text, const char *prefix)
{
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    return text && str_ends(str_of(text), str_of(suffix));
}
