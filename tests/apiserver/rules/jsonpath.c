#include "apiserver/rules/jsonpath.h"

#include "tests/test.h"

TEST(a_jsonpath_leads_to_the_first_value_that_it_names)
{
    static const char object[] =
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x.y/z\":\"v\"}},"
        "\"spec\":{\"n\":3,\"tags\":[\"p\",\"q\"],\"items\":[{\"k\":\"one\",\"v\":1},"
        "{\"k\":\"two\",\"v\":2}]},"
        "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
        "{\"type\":\"Done\",\"status\":\"False\"}]}}";
    static const struct {
        const char *path, *value;
    } cases[] = {
        { ".metadata.name", "\"a\"" },
        { "$.metadata.name", "\"a\"" },
        { ".metadata.labels.x\\.y/z", "\"v\"" },
        { ".metadata.labels['x.y/z']", "\"v\"" },
        { ".spec.tags", "[\"p\",\"q\"]" },
        { ".spec.tags[1]", "\"q\"" },
        { ".spec.tags[-1]", "\"q\"" },
        { ".spec.tags[7]", "null" },
        { ".spec.items[*].k", "\"one\"" },
        { ".spec.items[?(@.v==2)].k", "\"two\"" },
        { ".spec.items[?(@.v>1)].k", "\"two\"" },
        { ".status.conditions[?(@.type==\"Done\")].status", "\"False\"" },
        { ".status.conditions[?(@.type=='Ready')].status", "\"True\"" },
        { ".status.conditions[?(@.type==\"None\")].status", "null" },
        { ".nothing.here", "null" },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json v;
    struct error err;
    check(json_parse(&a, str_of(object), &v, &err));
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(json_to_text(&a, jsonpath_first(&a, cases[i].path, v)), cases[i].value);
}

TEST(a_jsonpath_that_cannot_be_read_leads_nowhere)
{
    static const char *const paths[] = { "a", ".a[", ".a[x]", ".a[?(b==1)]", ".a[?(@.b==x y)]" };
    struct json v = json_fields(test_arena(), { "a", json_list(test_arena(), json_int(1)) });
    for (size_t i = 0; i < lengthof(paths); i++)
        check(!json_present(jsonpath_first(test_arena(), paths[i], v)));
}
