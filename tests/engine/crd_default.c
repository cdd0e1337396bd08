#include "engine/crd_default.h"

#include "tests/test.h"

static struct json defaulted(const char *schema, const char *value)
{
    return crd_default(test_arena(), test_json(schema), test_json(value));
}

TEST(defaults_fill_what_is_absent)
{
    const char *schema = "{'properties': {'a': {'default': 1}, 'b': {'default': {'x': 2}},"
                         " 'c': {'properties': {'d': {'default': 3}}}}}";
    check_json(defaulted(schema, "{}"), "{'a': 1, 'b': {'x': 2}}");
    check_json(defaulted(schema, "{'a': 5, 'c': {}}"), "{'a': 5, 'b': {'x': 2}, 'c': {'d': 3}}");
    check_json(defaulted(schema, "{'other': 1}"), "{'a': 1, 'b': {'x': 2}, 'other': 1}");
    check_json(defaulted(schema, "'text'"), "'text'");
}

TEST(defaults_reach_below_their_own_values)
{
    const char *schema = "{'properties': {'a': {'default': {}, 'properties':"
                         " {'b': {'default': 'x'}}}}}";
    check_json(defaulted(schema, "{}"), "{'a': {'b': 'x'}}");
}

TEST(defaults_reach_into_lists_and_maps)
{
    const char *schema = "{'properties': {'l': {'items': {'properties': {'p': {'default': 80}}}},"
                         " 'm': {'additionalProperties': {'properties': {'q': {'default': 1}}}}}}";
    check_json(defaulted(schema, "{'l': [{}, {'p': 1}], 'm': {'k': {}, 'n': {'q': 2}}}"),
        "{'l': [{'p': 80}, {'p': 1}], 'm': {'k': {'q': 1}, 'n': {'q': 2}}}");
}

TEST(null_is_replaced_unless_it_is_allowed)
{
    const char *schema = "{'properties': {'a': {'default': 1},"
                         " 'b': {'default': 1, 'nullable': true}, 'c': {}}}";
    check_json(
        defaulted(schema, "{'a': null, 'b': null, 'c': null}"), "{'a': 1, 'b': null, 'c': null}");
}

TEST(a_schema_is_found_by_version)
{
    struct json crd = test_json("{'spec': {'versions': [{'name': 'v1'},"
                                " {'name': 'v2', 'schema': {'openAPIV3Schema': {'x': 1}}}]}}");
    check_json(crd_schema(crd, "v2"), "{'x': 1}");
    check(!json_present(crd_schema(crd, "v1")) && !json_present(crd_schema(crd, "v3")));
}
