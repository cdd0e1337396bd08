/* A schema, an object and an old object, a line each: rules of any schema compile or do not, and
 * objects of any shape are checked by them. */

#include "cel/rules.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str rest = { (const char *)data, size };
    struct json parts[3] = { { 0 } };
    for (size_t i = 0; i < 3 && rest.ptr; i++)
        if (!json_parse(&a, str_cut(&rest, '\n'), &parts[i], NULL))
            return 0;
    struct cel_problems problems = { 0 }, refused = { 0 }, warned = { 0 };
    struct cel_rules_input input = { parts[1], parts[2] };
    const struct cel_rules *rules = cel_rules_compile(&a, parts[0], NULL, &problems);
    if (json_present(parts[1]))
        cel_rules_check(rules, &a, &input, &refused, &warned);
    assert(cel_rules_any(rules) || !refused.count);
    for (const struct cel_problem *p = refused.first; p; p = p->next)
        assert(*p->path && *p->message && *p->reason);
    return 0;
}
