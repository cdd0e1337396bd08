#include "apiserver/rules/fill.h"
#include "tests/test.h"

TEST(fill_sets_what_is_not_there_and_makes_no_parents)
{
    static const struct fill table[] = {
        { "a", FILL_INT(1) },
        { "b", FILL_MAP },
        { "b.c", FILL_STR("x") },
        { "list.*.d", FILL_BOOL(true) },
        { "none.e", FILL_INT(2) },
        { 0 },
    };
    check_json(fill_table(test_arena(), test_json("{'a': 0, 'list': [{}, {'d': false}]}"), table),
        "{'a': 0, 'b': {'c': 'x'}, 'list': [{'d': true}, {'d': false}]}");
    check_json(fill_path(test_arena(), test_json("{'a': ''}"), "a", json_str("x")), "{'a': 'x'}");
}

static struct json doubled(struct arena *a, struct json v)
{
    (void)a;
    return json_int(v.integer * 2);
}

TEST(fill_changes_every_item)
{
    check_json(
        fill_each(test_arena(), test_json("{'x': [1, 2]}"), "x.*", doubled), "{'x': [2, 4]}");
    check_json(fill_each(test_arena(), test_json("{'y': 1}"), "x.*", doubled), "{'y': 1}");
}
