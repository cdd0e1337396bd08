#include <stdlib.h>

#include "base/json.h"
#include "base/json_bind.h"
#include "tests/test.h"

TEST(fields_become_a_tree_without_absent_values)
{
    struct arena *a = test_arena();
    struct json v = json_fields(a,
        { "metadata.name", json_str("x") },
        { "spec.replicas", json_int(3) },
        { "metadata.labels", json_map(a, { "app.kubernetes.io/name", json_str("y") }) },
        { "spec.empty.below", json_str(NULL) },
        { "metadata-like", json_bool(true) },
        { "spec.args", json_list(a, json_str("a"), json_none, json_str("b")) });
    check_json(v,
        "{'metadata': {'name': 'x', 'labels': {'app.kubernetes.io/name': 'y'}},"
        " 'metadata-like': true, 'spec': {'replicas': 3, 'args': ['a', 'b']}}");
    check_text(json_get_text(v, "spec.args.1"), "b");
    check(!json_present(json_get(v, "spec.args.2")));
    check(!json_present(json_get(v, "spec.nothing.here")));
}

TEST(maps_are_sorted_and_keep_the_last_of_two_equal_keys)
{
    struct json v = test_json("{'b': 1, 'a': 2, 'b': 3}");
    check_text(json_to_text(test_arena(), v), "{\"a\":2,\"b\":3}");
    struct json_builder b;
    json_builder_init(&b, test_arena());
    for (int i = 99; i >= 0; i--)
        json_put(&b, arena_printf(test_arena(), "key%02d", i), json_int(i));
    v = json_map_end(&b);
    check_int(v.count, 100);
    for (uint32_t i = 0; i < v.count; i++)
        check_int(v.members[i].value.integer, i);
    check_int(json_get_int(v, "key42", -1), 42);
    check_int(json_get_int(v, "key4", -1), -1);
}

TEST(maps_under_equal_keys_become_one_when_they_are_joined)
{
    struct json v;
    struct error err;
    struct str text =
        STR("{\"z\":1,\"a\":{\"x\":1,\"m\":{\"p\":1}},\"a\":{\"y\":2,\"m\":{\"q\":2}},"
            "\"l\":[1,2],\"l\":[3],\"a\":{\"x\":3}}");
    check(json_parse_joined(test_arena(), text, &v, &err));
    check_json(v, "{'a': {'m': {'p': 1, 'q': 2}, 'x': 3, 'y': 2}, 'l': [3], 'z': 1}");
}

TEST(maps_are_printed_as_they_were_given_until_they_change)
{
    struct arena *a = test_arena();
    struct json v;
    struct json_givens givens;
    struct error err;
    struct str text = STR("{\"b\":[{\"d\":1,\"c\":2,\"d\":3}],\"a\":{\"f\":1,\"e\":2}}");
    check(json_parse_given(a, text, &v, &givens, &err));
    check_text(json_to_text(a, v), "{\"a\":{\"e\":2,\"f\":1},\"b\":[{\"c\":2,\"d\":3}]}");
    check_text(json_given_to_text(a, v, &givens), text.ptr);
    v = json_with_member(a, v, "new", json_int(1));
    check_text(json_given_to_text(a, v, &givens),
        "{\"a\":{\"f\":1,\"e\":2},\"b\":[{\"d\":1,\"c\":2,\"d\":3}],\"new\":1}");
    json_given_forget(&givens, json_member(v, "b"), true);
    check_text(json_given_to_text(a, v, &givens),
        "{\"a\":{\"f\":1,\"e\":2},\"b\":[{\"c\":2,\"d\":3}],\"new\":1}");
}

TEST(numbers_keep_their_value)
{
    struct json v = test_json("[9007199254740993, -1, 0.1, 1e300, 18446744073709551615, 1.0]");
    check_text(
        json_to_text(test_arena(), v), "[9007199254740993,-1,0.1,1e+300,18446744073709552000,1]");
    check(json_equal(json_int(1), json_real(1.0)));
    check(!json_equal(json_int(1), json_str("1")));
}

TEST(text_is_escaped)
{
    struct json v = json_str("a\"\\\n\x01\u00e4");
    check_text(json_to_text(test_arena(), v), "\"a\\\"\\\\\\n\\u0001\u00e4\"");
}

TEST(bad_json_names_line_and_column)
{
    struct json v;
    struct error err;
    check_fails(json_parse(test_arena(), STR("{\n \"a\": ]"), &v, &err), err, "line 2 column 7");
    check_fails(json_parse(test_arena(), STR(""), &v, &err), err, "not JSON");
    check_fails(json_parse(test_arena(), STR("\"\\u0000\""), &v, &err), err, "NUL");
    char deep[1000];
    memset(deep, '[', sizeof(deep));
    memset(deep + 500, ']', 500);
    check_fails(
        json_parse(test_arena(), (struct str){ deep, 1000 }, &v, &err), err, "nested deeper");
}

TEST(a_changed_copy_leaves_the_original)
{
    struct arena *a = test_arena();
    struct json v = test_json("{'spec': {'a': 1, 'b': 2}}");
    struct json w = json_with(a, v, "spec.b", json_int(3));
    w = json_with(a, w, "status.phase", json_str("x"));
    w = json_with(a, w, "spec.a", json_none);
    check_json(v, "{'spec': {'a': 1, 'b': 2}}");
    check_json(w, "{'spec': {'b': 3}, 'status': {'phase': 'x'}}");
    check_json(
        json_overlay(a, test_json("{'a': 1, 'b': 1}"), test_json("{'b': 2}")), "{'a': 1, 'b': 2}");
}

struct sample {
    const char *name;
    int64_t count;
    const int64_t *maybe;
    const int64_t *never;
    double share;
    bool on;
    struct json rest;
};

static const struct json_bind sample_bind[] = {
    BIND(struct sample, name, "name", .required = true),
    BIND(struct sample, count, "deep.count", .min = 1, .max = 5),
    BIND(struct sample, maybe, "maybe"),
    BIND(struct sample, never, "never"),
    BIND(struct sample, share, "share"),
    BIND(struct sample, on, "on"),
    BIND(struct sample, rest, "rest"),
    { 0 },
};

TEST(binding_fills_a_struct_and_keeps_defaults)
{
    struct sample s = { .count = 3, .on = true };
    struct error err;
    check(json_bind(test_arena(),
        test_json("{'name': 'n', 'maybe': 0, 'share': 1, 'rest': [1], 'never': null}"),
        "spec",
        sample_bind,
        &s,
        &err));
    check_text(s.name, "n");
    check_int(s.count, 3);
    check(s.maybe && *s.maybe == 0);
    check(!s.never && s.share == 1.0 && s.on);
    check_json(s.rest, "[1]");
}

TEST(binding_names_the_path_of_what_does_not_fit)
{
    struct sample s = { 0 };
    struct error err;
    struct arena *a = test_arena();
    check_fails(
        json_bind(a, test_json("{}"), "spec", sample_bind, &s, &err), err, "spec.name: required");
    check_fails(
        json_bind(
            a, test_json("{'name': 'n', 'deep': {'count': 'x'}}"), "spec", sample_bind, &s, &err),
        err,
        "spec.deep.count: expected integer, got string");
    check_fails(
        json_bind(a, test_json("{'name': 'n', 'deep': {'count': 6}}"), "", sample_bind, &s, &err),
        err,
        "deep.count: must be between 1 and 5, got 6");
    check_fails(json_bind(a, test_json("[]"), "spec", sample_bind, &s, &err),
        err,
        "spec: expected object, got list");
}

TEST(what_is_not_utf8_is_printed_as_the_replacement_character)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    check_text(json_to_text(&a, json_str("a\xff\xc3(é\xe2\x82")),
        "\"a\xef\xbf\xbd\xef\xbf\xbd(é\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(json_if_evaluates_its_value_only_if_the_condition_holds)
{
    int asked = 0;
    check(!json_present(json_if(asked > 0, json_int(++asked))));
    check_int(asked, 0);
    check_int(json_if(true, json_int(++asked)).integer, 1);
    check(!json_present(json_none));
}

TEST(a_growing_array_keeps_its_items)
{
    int *heap = NULL, *mine = NULL;
    size_t count = 0, size = 0, mine_size = 0;
    for (int i = 0; i < 1000; i++) {
        mem_room(heap, count, size);
        arena_room(test_arena(), mine, count, mine_size);
        heap[count] = mine[count] = i;
        count++;
    }
    for (int i = 0; i < 1000; i++)
        check(heap[i] == i && mine[i] == i);
    check(size >= 1000 && mine_size >= 1000);
    free(heap);
}
