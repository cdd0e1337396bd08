#pragma once

/* Patterns in schemas and formats: RE2's syntax, matched in linear time (cel/regex.h). */

#include "base/arena.h"
#include "base/str.h"

struct cel_regex;

/* NULL, or Go's error for an invalid pattern: "error parsing regexp: …". */
const char *pattern_fault(struct arena *a, const char *pattern);

/* A pattern that is used often: compiled on first use, in the arena. */
struct pattern {
    const char *text;
    struct arena *arena;
    const struct cel_regex *compiled; /* NULL: not yet */
};
bool pattern_found(struct pattern *p, struct str text);
/* Whether the pattern matches anywhere in the text. An invalid pattern never matches. */
bool pattern_matches(const char *pattern, struct str text);
