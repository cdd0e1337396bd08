#include "apiserver/rules/patterns.h"

#include "cel/regex/regex.h"

const char *pattern_fault(struct arena *a, const char *pattern)
{
    const struct cel_regex *re;
    return cel_regex_compile(a, str_of(pattern), &re);
}

static bool is_found(const struct cel_regex *re, struct arena *a, struct str text)
{
    struct cel_regex_match match;
    struct cel_regex_scratch scratch = { 0 };
    return cel_regex_search(re, a, &scratch, text, 0, &match) && !scratch.exhausted;
}

bool pattern_found(struct pattern *p, struct str text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (!p->compiled && cel_regex_compile(p->arena, str_of(p->text), &p->compiled))
        return false;
    return is_found(p->compiled, &a, text);
}

bool pattern_matches(const char *pattern, struct str text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct cel_regex *re;
    return !cel_regex_compile(&a, str_of(pattern), &re) && is_found(re, &a, text);
}
