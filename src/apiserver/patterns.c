#include "apiserver/patterns.h"

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
