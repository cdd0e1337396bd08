#pragma once

/* Patterns of schemas and formats: RE2's language, matched in linear time (cel/regex.h). */

#include "base/arena.h"
#include "base/str.h"

struct cel_regex;

/* NULL, or what is wrong with the pattern in Go's words: "error parsing regexp: …". */
const char *pattern_fault(struct arena *a, const char *pattern);

/* A pattern that is asked often: compiled when it is asked first, in the arena. */
struct pattern {
    const char *text;
    struct arena *arena;
    const struct cel_regex *compiled; /* NULL: not yet */
};
bool pattern_found(struct pattern *p, struct str text);
/* Whether the pattern is found anywhere in the text. One that cannot be read is found nowhere. */
bool pattern_matches(const char *pattern, struct str text);
