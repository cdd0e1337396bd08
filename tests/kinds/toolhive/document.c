#include "kinds/toolhive/document.h"

#include "kinds/toolhive/toolhive.h"
#include "tests/test.h"

static const struct document_field inner[] = {
    { "URL", DOCUMENT_TEXT },
    { "Scopes", DOCUMENT_TEXT, DOCUMENT_LIST },
    { "on", DOCUMENT_BOOL },
    { "count", DOCUMENT_INT, .omitempty = true },
    { 0 },
};

static const struct document_field *by_type(struct json owner)
{
    return text_eq(json_get_text(owner, "type"), "inner") ? inner : NULL;
}

static const struct document_field step[] = {
    { "type", DOCUMENT_TEXT },
    { "parameters", DOCUMENT_POINTER, .choose = by_type },
    { 0 },
};

static const struct document_field outer[] = {
    { "zeta", DOCUMENT_TEXT, .omitempty = true },
    { "alpha", DOCUMENT_TEXT, DOCUMENT_MAP, .omitempty = true },
    { "inner", DOCUMENT_POINTER, .omitempty = true, .of = inner },
    { "value", DOCUMENT_STRUCT, .of = inner },
    { "steps", DOCUMENT_STRUCT, DOCUMENT_LIST, .omitempty = true, .of = step },
    { "raw", DOCUMENT_RAW, .omitempty = true },
    { 0 },
};

TEST(toolhive_document_keeps_struct_order_and_zero_values)
{
    check_text(document_json(test_arena(), inner, test_json("{'count': 0}")),
        "{\n  \"URL\": \"\",\n  \"Scopes\": null,\n  \"on\": false\n}");
    check_text(document_json_compact(test_arena(),
                   outer,
                   test_json("{'alpha': {'b': '2', 'a': '1'}, 'zeta': '', 'inner': {'on': true},"
                             "'value': {'Scopes': []}}")),
        "{\"alpha\":{\"a\":\"1\",\"b\":\"2\"},"
        "\"inner\":{\"URL\":\"\",\"Scopes\":null,\"on\":true},"
        "\"value\":{\"URL\":\"\",\"Scopes\":[],\"on\":false}}");
}

TEST(toolhive_document_escapes_what_html_could_take_for_markup)
{
    check_text(document_json_compact(test_arena(), NULL, test_json("['a<b>&c']")),
        "[\"a\\u003cb\\u003e\\u0026c\"]");
}

TEST(toolhive_document_chooses_fields_by_a_neighbour)
{
    check_text(
        document_json_compact(test_arena(),
            outer,
            test_json("{'steps': [{'type': 'inner', 'parameters': {'count': 3}},"
                      "{'type': 'any', 'parameters': {'b': 1, 'a': []}}, {'type': 'none'}]}")),
        "{\"value\":{\"URL\":\"\",\"Scopes\":null,\"on\":false},"
        "\"steps\":[{\"type\":\"inner\",\"parameters\":"
        "{\"URL\":\"\",\"Scopes\":null,\"on\":false,\"count\":3}},"
        "{\"type\":\"any\",\"parameters\":{\"a\":[],\"b\":1}},"
        "{\"type\":\"none\",\"parameters\":null}]}");
}

TEST(toolhive_document_yaml_has_upstreams_indentation)
{
    check_text(document_yaml(test_arena(),
                   outer,
                   test_json("{'zeta': '{w}_', 'steps': [{'type': 'any', 'parameters': "
                             "{'list': [{'n': 'N', 'deep': {'x': 1}}, [2]], 'none': []}}],"
                             "'alpha': {'a': '0.25', 'b': '1m0s'}}")),
        "zeta: '{w}_'\n"
        "alpha:\n"
        "    a: \"0.25\"\n"
        "    b: 1m0s\n"
        "value:\n"
        "    URL: \"\"\n"
        "    Scopes: null\n"
        "    \"on\": false\n"
        "steps:\n"
        "    - type: any\n"
        "      parameters:\n"
        "        list:\n"
        "            - deep:\n"
        "                x: 1\n"
        "              \"n\": \"N\"\n"
        "            - - 2\n"
        "        none: []\n");
}

TEST(toolhive_document_yaml_quotes_as_upstream_does)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "plain text", "a: plain text\n" },
        { "yes", "a: \"yes\"\n" },
        { "12", "a: \"12\"\n" },
        { "1_000", "a: \"1_000\"\n" },
        { "0x1F", "a: \"0x1F\"\n" },
        { "12:30", "a: \"12:30\"\n" },
        { "2026-01-02", "a: \"2026-01-02\"\n" },
        { "a: b", "a: 'a: b'\n" },
        { "http://x:1/y", "a: http://x:1/y\n" },
        { "it's", "a: it's\n" },
        { "'quoted", "a: '''quoted'\n" },
        { "*star", "a: '*star'\n" },
        { "a #b", "a: 'a #b'\n" },
        { " lead", "a: ' lead'\n" },
        { "tab\there", "a: \"tab\\there\"\n" },
        { "- dash", "a: '- dash'\n" },
        { "-dash", "a: -dash\n" },
        { "two\nlines", "a: |-\n    two\n    lines\n" },
        { "two\n\nlines\n", "a: |\n    two\n\n    lines\n" },
        { "caf\u00e9", "a: caf\u00e9\n" },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(
            document_yaml(
                test_arena(), NULL, json_map(test_arena(), { "a", json_str(cases[i].text) })),
            cases[i].want);
}

TEST(toolhive_checksum_is_upstreams)
{
    struct arena *a = test_arena();
    struct json labels = toolhive_document_labels(a, "run-config", "mcp-server", "w");
    /* echo -n 'k''v''toolhive.stacklok.io/component''run-config'… | sha256sum */
    struct json map = toolhive_document_map(a, "w-runconfig", labels, test_json("{'k': 'v'}"));
    check_text(
        json_text(json_member(json_get(map, "metadata.annotations"), TOOLHIVE_CONTENT_CHECKSUM)),
        "c2627a4a8dc7d03031bbff12957c79a4e29351755c08df6110dfb61a487c1127");
}

TEST(toolhive_settings_are_variables_and_flags)
{
    check_text(toolhive_variable(test_arena(), "toolhive-default-redis-addr"),
        "TOOLHIVE_DEFAULT_REDIS_ADDR");
    struct toolhive_settings s = toolhive_settings_default;
    struct error err;
    check(setting_set(test_arena(), toolhive_flags, &s, "vmcp-image", "x:1", &err));
    check_text(s.vmcp_image, "x:1");
    check_fails(
        setting_set(test_arena(), toolhive_flags, &s, "vmcp-image", "", &err), err, "an image");
}

TEST(toolhive_pull_secrets_come_once_each)
{
    struct toolhive_settings s = { .image_pull_secrets = "b, c,a" };
    check_json(toolhive_pull_secrets(test_arena(), test_json("[{'name': 'a'}, {'name': 'a'}]"), &s),
        "[{'name': 'a'}, {'name': 'b'}, {'name': 'c'}]");
}

TEST(toolhive_document_reprints_durations_and_untyped_numbers_as_go_does)
{
    static const struct document_field fields[] = {
        { "wait", DOCUMENT_DURATION, .omitempty = true },
        { "raw", DOCUMENT_RAW, .omitempty = true },
        { "size", DOCUMENT_INT },
        { 0 },
    };
    struct json read;
    struct error err;
    check(document_read(test_arena(),
        fields,
        test_json("{'wait': '90s', 'size': 1234567, 'gone': 1,"
                  "'raw': {'a': 100000, 'b': 1000000, 'c': 12345678901, 'd': 0.5, 'e': 1e-5}}"),
        "spec",
        &read,
        &err));
    check_text(document_yaml(test_arena(), fields, read),
        "wait: 1m30s\nraw:\n    a: 100000\n    b: 1e+06\n    c: 1.2345678901e+10\n    d: 0.5\n"
        "    e: 1e-05\nsize: 1234567\n");
}
