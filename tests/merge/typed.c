#include "merge/typed.h"
#include "tests/test.h"

/* A kind with every list and map type. */
static const struct schema *shape(void)
{
    const struct schema *s;
    struct error err;
    struct json v = test_json(
        "{'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {"
        "'n': {'type': 'integer'}, 'text': {'type': 'string'},"
        "'list': {'type': 'array', 'items': {'type': 'integer'}},"
        "'set': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}},"
        "'items': {'type': 'array', 'x-kubernetes-list-type': 'map',"
        " 'x-kubernetes-list-map-keys': ['name'], 'items': {'type': 'object', 'properties': {"
        " 'name': {'type': 'string'}, 'v': {'type': 'integer'}, 'w': {'type': 'integer'}}}},"
        "'ports': {'type': 'array', 'x-kubernetes-list-type': 'map',"
        " 'x-kubernetes-list-map-keys': ['port', 'protocol'], 'items': {'type': 'object',"
        " 'properties': {'port': {'type': 'integer'}, 'protocol': {'type': 'string',"
        " 'default': 'TCP'}}}},"
        "'whole': {'type': 'object', 'x-kubernetes-map-type': 'atomic', 'properties': {"
        " 'a': {'type': 'string'}, 'b': {'type': 'string'}}},"
        "'map': {'type': 'object', 'additionalProperties': {'type': 'string'}},"
        "'nested': {'type': 'object', 'properties': {'deep': {'type': 'object', 'properties': {"
        " 'x': {'type': 'integer'}}}}},"
        "'any': {'x-kubernetes-preserve-unknown-fields': true}}}}}");
    check(schema_from_crd(test_arena(), v, &s, &err));
    return s;
}

static struct json spec(const char *text)
{
    return json_fields(test_arena(), { "spec", test_json(text) });
}

static const char *paths(const struct fieldset *set)
{
    size_t count;
    const struct field_path *all = fieldset_paths(test_arena(), set, &count);
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = arena_printf(test_arena(),
            "%s%s%s",
            text,
            i ? " " : "",
            field_path_text(test_arena(), &all[i]) + strlen(".spec"));
    return text;
}

static const char *set_of(const char *text)
{
    return paths(typed_set(test_arena(), shape(), spec(text)));
}

TEST(a_value_has_the_fields_that_the_server_counts)
{
    check_text(set_of("{'n': 1, 'text': 'x'}"), ".n .text");
    check_text(set_of("{'list': [1, 2]}"), ".list");
    check_text(set_of("{'set': ['b', 'a']}"), ".set[=\"a\"] .set[=\"b\"]");
    check_text(set_of("{'items': [{'name': 'a', 'v': 1}]}"),
        ".items[name=\"a\"] .items[name=\"a\"].name .items[name=\"a\"].v");
    check_text(set_of("{'ports': [{'port': 1}]}"),
        ".ports[port=1,protocol=\"TCP\"] .ports[port=1,protocol=\"TCP\"].port");
    check_text(set_of("{'whole': {'a': 'x'}}"), ".whole");
    check_text(set_of("{'map': {'k': 'v'}}"), ".map.k");
    check_text(set_of("{'map': {}, 'nested': null}"), ".map .nested");
    check_text(set_of("{'nested': {'deep': {}}}"), ".nested.deep");
    check_text(set_of("{'items': [], 'list': []}"), ".list");
    check_text(set_of("{'any': {'x': {'y': [1]}}}"), ".any.x .any.x.y");
    check_text(set_of("{'any': [1]}"), ".any");
    /* Duplicates cannot be told apart. */
    check_text(
        set_of("{'items': [{'name': 'a', 'v': 1}, {'name': 'a', 'w': 2}]}"), ".items[name=\"a\"]");
}

static const char *refusal(const char *text, bool duplicates)
{
    struct error err;
    if (typed_validate(shape(), spec(text), duplicates, &err))
        return "";
    return arena_strdup(test_arena(), err.text);
}

TEST(an_object_of_another_version_is_held_against_its_types_alone)
{
    struct error err;
    check(typed_fits(shape(), spec("{'n': 1, 'x': {'unknown': true}}"), &err));
    check(!typed_fits(shape(), spec("{'n': '1', 'x': 1}"), &err));
    check_text(err.text, ".spec.n: expected numeric (int or float), got string");
}

TEST(what_does_not_fit_the_schema_is_named_with_its_path)
{
    check_text(refusal("{'n': 1, 'list': null, 'map': null, 'text': null}", false), "");
    check_text(refusal("{'x': 1}", false), ".spec.x: field not declared in schema");
    check_text(
        refusal("{'n': '1'}", false), ".spec.n: expected numeric (int or float), got string");
    check_text(refusal("{'list': [1, 'x']}", false),
        ".spec.list[1]: expected numeric (int or float), got string");
    check_text(refusal("{'map': []}", false), ".spec.map: expected map, got &{[]}");
    check_text(
        refusal("{'set': ['a', 'a']}", false), ".spec.set: duplicate entries for key [=\"a\"]");
    check_text(refusal("{'set': ['a', 'a']}", true), "");
    check_text(refusal("{'items': [{'v': 1}]}", true),
        ".spec.items: element 0: associative list with keys has an element that omits all key "
        "fields [\"name\"] (and doesn't have default values for any key fields)");
    check_text(refusal("{'items': [1]}", false),
        ".spec.items: element 0: associative list with keys may not have non-map elements");
    check_text(refusal("{'set': [{}]}", false),
        ".spec.set: element 0: associative list without keys has an element that's a map type");
    check_text(refusal("{'ports': [{'port': 1}, {'port': 1, 'protocol': 'TCP'}]}", false),
        ".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]");
    check_text(refusal("{'n': 'x', 'x': 1}", false),
        "errors:\n  .spec.n: expected numeric (int or float), got string\n"
        "  .spec.x: field not declared in schema");
}

static void check_merge(const char *under, const char *over, const char *want)
{
    struct json merged = typed_merge(test_arena(), shape(), spec(under), spec(over));
    check_json(json_member(merged, "spec"), want);
}

TEST(merging_follows_the_applied_order_and_keeps_others_in_place)
{
    check_merge("{'n': 1, 'text': 'a'}", "{'n': 2}", "{'n': 2, 'text': 'a'}");
    check_merge("{'list': [1, 2]}", "{'list': [3]}", "{'list': [3]}");
    check_merge("{'whole': {'a': 'x'}}", "{'whole': {'b': 'y'}}", "{'whole': {'b': 'y'}}");
    check_merge("{'map': {'a': '1'}}", "{'map': {'b': '2'}}", "{'map': {'a': '1', 'b': '2'}}");
    check_merge("{'set': ['a', 'b', 'c']}", "{'set': ['c', 'a']}", "{'set': ['b', 'c', 'a']}");
    check_merge("{'set': ['a', 'b', 'c']}", "{'set': ['a', 'c']}", "{'set': ['a', 'b', 'c']}");
    check_merge("{'set': ['b', 'd']}",
        "{'set': ['a', 'b', 'c', 'd', 'e']}",
        "{'set': ['a', 'b', 'c', 'd', 'e']}");
    check_merge("{'items': [{'name': 'a', 'v': 1}, {'name': 'b'}]}",
        "{'items': [{'name': 'c'}, {'name': 'a', 'w': 2}]}",
        "{'items': [{'name': 'c'}, {'name': 'a', 'v': 1, 'w': 2}, {'name': 'b'}]}");
    check_merge("{'ports': [{'port': 1, 'protocol': 'TCP'}]}",
        "{'ports': [{'port': 1}]}",
        "{'ports': [{'port': 1, 'protocol': 'TCP'}]}");
    /* null is an empty map, and a value. */
    check_merge("{'map': {'a': '1'}}", "{'map': null}", "{'map': {'a': '1'}}");
    check_merge("{'map': {}}", "{'map': null}", "{'map': null}");
    check_merge("{'any': 1}", "{'any': {'x': 2}}", "{'any': {'x': 2}}");
    /* Stored duplicates stay, unless they are applied: then only the applied one is left. */
    check_merge("{'set': ['a', 'a', 'b']}", "{'set': ['b']}", "{'set': ['a', 'a', 'b']}");
    check_merge("{'items': [{'name': 'a', 'v': 1}, {'name': 'a', 'v': 2}]}",
        "{'items': [{'name': 'a', 'w': 3}]}",
        "{'items': [{'name': 'a', 'w': 3}]}");
}

static void check_compare(const char *before, const char *after, const char *removed,
    const char *modified, const char *added)
{
    struct typed_comparison c = typed_compare(test_arena(), shape(), spec(before), spec(after));
    check_text(paths(c.removed), removed);
    check_text(paths(c.modified), modified);
    check_text(paths(c.added), added);
}

TEST(comparing_tells_what_was_added_modified_and_removed)
{
    check_compare("{'n': 1, 'text': 'a'}", "{'n': 2, 'list': [1]}", ".text", ".n", ".list");
    check_compare("{'n': 1}", "{'n': 1.0}", "", "", "");
    check_compare("{'list': [1, 2]}", "{'list': [2, 1]}", "", ".list", "");
    check_compare("{'set': ['a', 'b']}", "{'set': ['b', 'c', 'a']}", "", "", ".set[=\"c\"]");
    check_compare("{'n': 1}", "{'n': 1, 'map': {'a': '1'}}", "", "", ".map .map.a");
    check_compare("{'items': [{'name': 'a', 'v': 1}]}",
        "{'items': [{'name': 'b'}]}",
        ".items[name=\"a\"] .items[name=\"a\"].name .items[name=\"a\"].v",
        "",
        ".items[name=\"b\"] .items[name=\"b\"].name");
    check_compare("{'map': null}", "{'map': {'a': '1'}}", "", "", ".map.a");
    check_compare("{'map': null}", "{'map': {}}", "", ".map", "");
    check_compare("{'any': 1}", "{'any': {'x': 1}}", "", ".any", ".any.x");
    check_compare("{'set': ['a', 'a']}", "{'set': ['a']}", ".set[=\"a\"]", "", ".set[=\"a\"]");
    check_compare("{'set': ['a']}", "{'set': ['a', 'a']}", ".set[=\"a\"]", "", ".set[=\"a\"]");
    check_compare("{'items': [{'name': 'a', 'v': 1}, {'name': 'a'}]}",
        "{'items': [{'name': 'a', 'v': 2}, {'name': 'a'}]}",
        "",
        ".items[name=\"a\"]",
        "");
}

TEST(comparing_agrees_with_the_sets_of_both_sides)
{
    static const char *const values[] = {
        "{'n': 1}",
        "{'set': ['a', 'b'], 'map': {'x': '1'}}",
        "{'items': [{'name': 'a', 'v': 1}, {'name': 'b'}], 'nested': {'deep': {'x': 1}}}",
        "{'items': [{'name': 'b', 'w': 1}], 'whole': {'a': 'x'}, 'n': 2}",
        "{'any': {'x': 1}, 'list': []}",
    };
    struct arena *a = test_arena();
    const struct schema *s = shape();
    for (size_t i = 0; i < lengthof(values); i++)
        for (size_t j = 0; j < lengthof(values); j++) {
            struct json x = spec(values[i]), y = spec(values[j]);
            struct typed_comparison c = typed_compare(a, s, x, y);
            const struct fieldset *was = typed_set(a, s, x), *is = typed_set(a, s, y);
            const struct fieldset *came = fieldset_difference(a, is, was);
            check(fieldset_is_empty(fieldset_difference(a, came, c.added)));
            check(fieldset_is_empty(
                fieldset_difference(a, fieldset_difference(a, was, is), c.removed)));
            check(fieldset_is_empty(fieldset_intersection(a, c.added, c.removed)));
        }
}

static void check_remove(const char *value, const char *texts, const char *want)
{
    const struct fieldset *set = fieldset_empty();
    struct str rest = str_of(texts);
    while (rest.ptr) {
        const char *text =
            arena_printf(test_arena(), ".spec%s", str_dup(test_arena(), str_cut(&rest, ' ')));
        set = fieldset_union(test_arena(), set, fieldset_of_texts(test_arena(), &text, 1));
    }
    struct json v = typed_remove(test_arena(), shape(), spec(value), set);
    check_json(json_member(v, "spec"), want);
}

TEST(removing_leaves_the_rest_and_null_where_nothing_is_left)
{
    check_remove("{'n': 1, 'text': 'a'}", ".n", "{'text': 'a'}");
    check_remove("{'set': ['a', 'b']}", ".set[=\"a\"]", "{'set': ['b']}");
    check_remove("{'set': ['a'], 'n': 1}", ".set[=\"a\"]", "{'set': null, 'n': 1}");
    check_remove("{'items': [{'name': 'a', 'v': 1}, {'name': 'b'}]}",
        ".items[name=\"a\"].v .items[name=\"b\"]",
        "{'items': [{'name': 'a'}]}");
    check_remove("{'ports': [{'port': 1}, {'port': 2}]}",
        ".ports[port=1,protocol=\"TCP\"]",
        "{'ports': [{'port': 2}]}");
    check_remove("{'nested': {'deep': {'x': 1}}, 'n': 1}",
        ".nested.deep.x",
        "{'nested': {'deep': null}, 'n': 1}");
    check_remove("{'whole': {'a': 'x'}, 'n': 1}", ".whole.a", "{'whole': null, 'n': 1}");
}

TEST(extracting_gives_back_what_made_the_set)
{
    static const char *const values[] = {
        "{'n': 1, 'text': 'a', 'list': [2, 1]}",
        "{'set': ['b', 'a'], 'map': {'x': '1'}, 'whole': {'b': 'y'}}",
        "{'items': [{'name': 'b', 'v': 1}, {'name': 'a'}]}",
        "{'ports': [{'port': 2}, {'port': 1, 'protocol': 'UDP'}]}",
        "{'nested': {'deep': {}}, 'any': {'x': [1]}, 'map': null}",
    };
    struct arena *a = test_arena();
    const struct schema *s = shape();
    struct json others = spec("{'n': 9, 'map': {'z': '1'}, 'items': [{'name': 'z'}],"
                              " 'ports': [{'port': 9}], 'nested': {'deep': {'x': 1}}}");
    for (size_t i = 0; i < lengthof(values); i++) {
        struct json v = spec(values[i]);
        const struct fieldset *set = typed_set(a, s, v);
        check(json_equal(typed_extract(a, s, v, set, EXTRACT_KEYS), v));
        /* Also out of an object that others filled, where only their values differ. */
        struct json merged = typed_merge(a, s, others, v);
        struct json got = typed_extract(a, s, merged, set, EXTRACT_KEYS | EXTRACT_GONE);
        check(i == 4 || json_equal(got, v));
        check(fieldset_equal(typed_set(a, s, got), set));
        check(typed_set_is_of(a, s, got, set));
        for (size_t j = 0; j < lengthof(values); j++)
            check(typed_set_is_of(a, s, spec(values[j]), set) == (i == j));
    }
    const struct fieldset *set =
        fieldset_of_texts(a, (const char *const[]){ ".spec.items[name=\"a\"].v" }, 1);
    struct json v = spec("{'items': [{'name': 'a', 'v': 1, 'w': 2}, {'name': 'b'}]}");
    check_json(typed_extract(a, s, v, set, 0), "{'spec': {'items': [{'v': 1}]}}");
    check_json(
        typed_extract(a, s, v, set, EXTRACT_KEYS), "{'spec': {'items': [{'name': 'a', 'v': 1}]}}");
}

TEST(sets_from_before_a_field_became_atomic_are_lifted_to_it)
{
    struct arena *a = test_arena();
    const struct fieldset *set = fieldset_of_texts(a,
        (const char *const[]){ ".spec.whole.a", ".spec.list[0]", ".spec.map.x", ".spec.gone.y" },
        4);
    check_text(paths(typed_set_reconciled(a, shape(), set)), ".list .whole .gone.y .map.x");
    set = fieldset_of_texts(a, (const char *const[]){ ".spec.nested.deep.x", ".spec.map.x" }, 2);
    /* The text of .spec itself is empty here. */
    check_text(paths(typed_set_with_fields(a, shape(), set)),
        " .map .nested .map.x .nested.deep .nested.deep.x");
}
