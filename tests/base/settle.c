#include "base/settle.h"

#include "tests/test.h"

static bool same(const char *planned, const char *stored, enum settle how)
{
    return settle_same(test_json(planned), test_json(stored), how);
}

TEST(the_same_may_be_stored_in_other_words)
{
    check(same("{'limits': {'cpu': '1000m'}}", "{'limits': {'cpu': '1'}}", SETTLE_ALL));
    check(!same("{'args': ['1000m']}", "{'args': ['1']}", SETTLE_ALL));
    check(!same("{'a': 1}", "{'a': 1, 'b': 2}", SETTLE_ALL));
    check(same("{'a': 1}", "{'a': 1, 'b': 2}", SETTLE_PLANNED));
    check(!same("{'a': 1, 'b': 2}", "{'a': 1}", SETTLE_PLANNED));
    check(!same("{'a': [1]}", "{'a': [1, 2]}", SETTLE_PLANNED));
    check(same("{'a': [{'x': 1}]}", "{'a': [{'x': 1, 'y': 2}]}", SETTLE_PLANNED));
    check(!same("{'a': [{'x': 1}]}", "{'a': [{'x': 2, 'y': 2}]}", SETTLE_PLANNED));
}

static struct json lists(const char *planned, const char *stored)
{
    return settle_lists(test_arena(), test_json(planned), test_json(stored));
}

TEST(lists_stay_as_they_are_stored_until_they_change)
{
    check_json(
        lists("{'s': {'l': [{'n': 'x'}], 'k': 1}}", "{'s': {'l': [{'n': 'x', 'w': 1}], 'j': 2}}"),
        "{'s': {'l': [{'n': 'x', 'w': 1}], 'k': 1}}");
    check_json(lists("{'s': {'l': [{'n': 'y'}]}}", "{'s': {'l': [{'n': 'x', 'w': 1}]}}"),
        "{'s': {'l': [{'n': 'y'}]}}");
    check_json(lists("{'l': [1]}", "{}"), "{'l': [1]}");
}
