#include "apiserver/patterns.h"

#if __has_include("cel/regex.h")
#include "cel/regex.h"

const char *pattern_fault(struct arena *a, const char *pattern)
{
    const struct cel_regex *re;
    return cel_regex_compile(a, str_of(pattern), &re);
}

bool pattern_matches(const char *pattern, struct str text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct cel_regex *re;
    struct cel_regex_match match;
    struct cel_regex_scratch scratch = { 0 };
    if (cel_regex_compile(&a, str_of(pattern), &re))
        return false;
    return cel_regex_search(re, &a, &scratch, text, 0, &match) && !scratch.exhausted;
}
#else
/* Until the module is merged: every pattern matches. */
const char *pattern_fault(struct arena *a, const char *pattern)
{
    (void)a, (void)pattern;
    return NULL;
}
bool pattern_matches(const char *pattern, struct str text)
{
    (void)pattern, (void)text;
    return true;
}
#endif
