#pragma once

/* A slice of bytes, passed by value: for parsers and the data plane, where text is not
 * NUL-terminated. The control plane uses `const char *` from an arena; str_dup() converts. */

#include "base/base.h"
#include <string.h>

struct arena;

struct str {
    const char *ptr;
    size_t len;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })

static inline struct str str_of(const char *text)
{
    return (struct str){ text, text ? strlen(text) : 0 };
}

bool str_eq(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b); /* ASCII only, as in HTTP */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
/* Returns the part before the first `at`, and removes it and the separator from *rest. Without a
 * separator it returns all of it, and *rest becomes empty with ptr NULL, so that `while (rest.ptr)`
 * ends. */
struct str str_cut(struct str *rest, char at);
struct str str_trim(struct str s); /* spaces, tabs, line ends */
char *str_dup(struct arena *a, struct str s);

/* Decimal, the whole slice, no spaces, no overflow. */
bool str_to_int(struct str s, int64_t *ret) must_check;
bool str_to_real(struct str s, double *ret) must_check;

/* For NUL-terminated text; both may be NULL. */
bool text_eq(const char *a, const char *b);
static inline bool text_empty(const char *text)
{
    return !text || !*text;
}
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
