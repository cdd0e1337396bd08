#pragma once

/* A compiled regular expression, as regex.c makes it and match.c runs it. */

#include "cel/regex/regex.h"

struct cel_range {
    uint32_t first, last;
};

/* Sorted ranges that do not touch each other. */
struct cel_set {
    struct cel_range *ranges;
    size_t count, size;
};

enum cel_regex_op {
    CEL_REGEX_SET,    /* one character of a set, then x */
    CEL_REGEX_SPLIT,  /* x, or else y */
    CEL_REGEX_ASSERT, /* a condition between characters, then x */
    CEL_REGEX_JUMP,   /* x */
    CEL_REGEX_MATCH,
};

enum cel_regex_assert {
    CEL_REGEX_TEXT_BEGIN,
    CEL_REGEX_TEXT_END,
    CEL_REGEX_LINE_BEGIN,
    CEL_REGEX_LINE_END,
    CEL_REGEX_WORD_EDGE,
    CEL_REGEX_NO_WORD_EDGE,
};

struct cel_regex_instruction {
    enum cel_regex_op op;
    uint32_t x, y;
    enum cel_regex_assert assert;
    const struct cel_set *set;
};

struct cel_regex {
    const struct cel_regex_instruction *program;
    uint32_t count;
};

/* ---- sets (set.c) ---- */

void cel_set_add(struct arena *a, struct cel_set *s, uint32_t first, uint32_t last);
void cel_set_add_all(struct arena *a, struct cel_set *s, const struct cel_set *other);
/* All other characters. */
void cel_set_invert(struct arena *a, struct cel_set *s);
/* Adds the other case of each letter. */
void cel_set_fold(struct arena *a, struct cel_set *s);
bool cel_set_has(const struct cel_set *s, uint32_t c);
/* Adds a class: 'd', 'w', 's' of Perl; "alpha", … of POSIX; "L", "Nd", "Greek", … of Unicode. False
 * if there is no class of this name. */
bool cel_set_add_perl(struct arena *a, struct cel_set *s, char letter);
bool cel_set_add_posix(struct arena *a, struct cel_set *s, struct str name);
bool cel_set_add_unicode(struct arena *a, struct cel_set *s, struct str name);

#define CEL_CHARACTER_MAX 0x10ffffu
