#include "base/yaml.h"
#include "base/buf.h"
#include "tests/test.h"

static struct json documents(const char *text)
{
    struct json list;
    struct error err;
    if (!yaml_parse_all(test_arena(), str_of(text), "x.yaml", &list, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return list;
}

static struct json yaml(const char *text)
{
    struct json list = documents(text);
    check_int(list.count, 1);
    return json_item(list, 0);
}

static void check_refused(const char *text, const char *message)
{
    struct json list;
    struct error err = { 0 };
    if (yaml_parse_all(test_arena(), str_of(text), "x.yaml", &list, &err))
        test_fail(__FILE__, __LINE__, "accepted %s", text);
    if (!text_eq(err.text, message))
        test_fail(__FILE__, __LINE__, "%s\nis not\n%s", err.text, message);
}

TEST(a_manifest_becomes_json)
{
    check_json(yaml("apiVersion: v1\n"
                    "kind: Pod # comment\n"
                    "metadata:\n"
                    "  name: \"a\"\n"
                    "  labels: {x: 'it''s', y: \"\\u00e4\\n\"}\n"
                    "spec:\n"
                    "  containers:\n"
                    "  - name: c\n"
                    "    args: [--port, '8080']\n"
                    "    script: |\n"
                    "      one\n"
                    "        two\n"
                    "    folded: >-\n"
                    "      a\n"
                    "      b\n"
                    "  - null\n"),
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'a',"
        " 'labels': {'x': 'it\\u0027s', 'y': '\\u00e4\\n'}},"
        " 'spec': {'containers': [{'name': 'c', 'args': ['--port', '8080'],"
        " 'script': 'one\\n  two\\n', 'folded': 'a b'}, null]}}");
}

TEST(json_is_yaml)
{
    check_json(yaml("{\n\t\"a\": [1, 2.5, true, null, \"\\ud83d\\ude00\\/\"],\n\t\"b\":{}}\n"),
        "{'a': [1, 2.5, true, null, '\\ud83d\\ude00/'], 'b': {}}");
}

TEST(plain_scalars_follow_the_core_schema_of_yaml_1_2)
{
    check_json(yaml("[1, -1, +1, 017, 0o17, 0x1F, 1.5, .5, 5., 1e3, -1.5E-3, 9223372036854775807,"
                    " 9223372036854775808]"),
        "[1, -1, 1, 17, 15, 31, 1.5, 0.5, 5, 1000, -0.0015, 9223372036854775807,"
        " 9223372036854775808]");
    check_json(yaml("[true, True, TRUE, false, False, FALSE, null, Null, NULL, ~]"),
        "[true, true, true, false, false, false, null, null, null, null]");
    check_json(yaml("[yes, no, on, off, y, n, tRUE, 1_000, 1:30, 2026-11-15, 10.0.0.1, 100m, 0b1,"
                    " +, -x, 1e, 0x, 0xg, +-1, 1.2.3, .]"),
        "['yes', 'no', 'on', 'off', 'y', 'n', 'tRUE', '1_000', '1:30', '2026-11-15', '10.0.0.1',"
        " '100m', '0b1', '+', '-x', '1e', '0x', '0xg', '+-1', '1.2.3', '.']");
    check_json(yaml("['1', \"true\", !!str 1, !!int '1', !!float 1, ! 1]"),
        "['1', 'true', '1', 1, 1, '1']");
    check_json(yaml("{8080: a, true: b, ~: c, 1.50: d}"),
        "{'8080': 'a', 'true': 'b', '~': 'c', '1.50': 'd'}");
}

TEST(old_scalars_follow_yaml_1_1)
{
    struct json list, twice;
    struct error err;
    const char *text = "[y, Y, yes, Yes, YES, on, ON, n, No, off, OFF, 0644, -017, 08, 0, yEs, oFF,"
                       " 'yes', true, 1.5, x]";
    check(yaml_parse_old(test_arena(), str_of(text), "x.yaml", &list, &twice, &err));
    check(twice.count == 0);
    check_json(json_item(list, 0),
        "[true, true, true, true, true, true, true, false, false, false, false, 420, -15, 8, 0,"
        " 'yEs', 'oFF', 'yes', true, 1.5, 'x']");
}

TEST(the_last_of_old_keys_that_stand_twice_counts)
{
    struct json list, twice;
    struct error err;
    const char *text = "a: 1\nm:\n  x: 1\n  x: 2\na: 2\nm: {y: 1, y: 3}\no: {1: a, 1: b, y: c}\n"
                       "a: 3\n";
    check(yaml_parse_old(test_arena(), str_of(text), "x.yaml", &list, &twice, &err));
    check_json(json_item(list, 0), "{'a': 3, 'm': {'true': 3}, 'o': {'1': 'b', 'true': 'c'}}");
    check_json(twice,
        "['line 4: key \\u0022x\\u0022 already set in map',"
        " 'line 5: key \\u0022a\\u0022 already set in map',"
        " 'line 6: key true already set in map',"
        " 'line 6: key \\u0022m\\u0022 already set in map',"
        " 'line 7: key 1 already set in map',"
        " 'line 8: key \\u0022a\\u0022 already set in map']");
}

TEST(single_quotes_fold_lines_and_double_themselves)
{
    check_json(
        yaml("['', '''', 'a''b', ' a ', 'a\n b', 'a  \n\n\t  b ', '\n a', 'a\n ', 'a\r\n b']"),
        "['', '\\u0027', 'a\\u0027b', ' a ', 'a b', 'a\\nb ', ' a', 'a ', 'a b']");
    check_json(yaml("\xef\xbb\xbf# \u00e4\n'k''1': 'v'\n"), "{'k\\u00271': 'v'}");
}

TEST(double_quotes_have_escapes_and_continued_lines)
{
    check_json(
        yaml("[\"\\x41\\u00e4\\U0001F600\\e\\_\\N\\L\\P\\t\\\t\\ \\/\", \"a\\\n  \\n\\\\\\\n b\","
             " \"A\\\n\n\n c\", \"a \\\n  b\", \"a  \n b \", \"\\\\\"]"),
        "['A\\u00e4\\ud83d\\ude00\\u001b\\u00a0\\u0085\\u2028\\u2029\\t\\t /', 'a\\n\\\\b',"
        " 'A\\n\\nc', 'a b', 'a b ', '\\\\']");
}

TEST(blocks_are_folded_and_chomped)
{
    static const char *const rows[][2] = {
        { "k: |\n", "" },
        { "k: |+\n\n\n", "\n\n" },
        { "k: >\n\n", "" },
        { "k: |\n  a\n   b\n\n  c\n\n", "a\n b\n\nc\n" },
        { "k: |-\n  a\n\n", "a" },
        { "k: |+ # with a comment | here\n  a\n\n", "a\n\n" },
        { "k: |\n  a", "a" },
        { "k: |\r\n  a\r\n  b\r\n", "a\nb\n" },
        { "k: >\n  a\n  b\n\n  c\n   d\n  e\n", "a b\nc\n d\ne\n" },
        { "k: >+\n  a\n  b c\n    \n   d\n  e: f\n  \n   d\n", "a b c\n  \n d\ne: f\n\n d\n" },
        { "k: >-\n\n\n  a\n\n\n  b\n", "\n\na\n\nb" },
        { "k: |2\n    a\n   b\n", "  a\n b\n" },
        { "k: >2\n    a\n", "  a\n" },
        { "k: |2", "" },
        { "k: |2\n   a", " a" },
        { "k: >-2 # why\n  a\n\n   b\n", "a\n\n b" },
        { "k: >2+\n   # a\n  - b\n\n   c\n\n", " # a\n- b\n\n c\n\n" },
        { "k: !!str |1\n  a\n b\n", " a\nb\n" },
        { "k: !!str |-\n    a\n", "a" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(json_get_text(yaml(rows[i][0]), "k"), rows[i][1]);
    check_json(yaml("- |\n  a\n- >\n b\n c\n- k: |\n    d\n  l: e\n"),
        "['a\\n', 'b c\\n', {'k': 'd\\n', 'l': 'e'}]");
}

TEST(a_stream_has_many_documents_and_empty_ones_do_not_count)
{
    check_json(
        documents("a: 1\n---\n# nothing\n---\nb: 2\n...\n---\n- 3\n"), "[{'a': 1}, {'b': 2}, [3]]");
    check_json(documents(""), "[]");
    check_json(documents("# only a comment\n"), "[]");
    check_json(documents("---\n---\n"), "[]");
    check_json(documents("--- ''\n"), "['']");
    check_json(documents("\xef\xbb\xbf"
                         "a: 1\n"),
        "[{'a': 1}]");
    check_json(documents("a: 1\r\nb: |\r\n  x\r\n"), "[{'a': 1, 'b': 'x\\n'}]");
}

TEST(anchors_aliases_and_merge_keys)
{
    check_json(yaml("a: &x {p: 1, q: 2}\nb: *x\nc: {<<: *x, q: 3}\nd: {q: 4, <<: *x}\n"),
        "{'a': {'p': 1, 'q': 2}, 'b': {'p': 1, 'q': 2}, 'c': {'p': 1, 'q': 3},"
        " 'd': {'p': 1, 'q': 4}}");
    check_json(yaml("- &x {p: 1}\n- &y {p: 2, q: 2}\n- <<: [*x, *y]\n"),
        "[{'p': 1}, {'p': 2, 'q': 2}, {'p': 1, 'q': 2}]");
    check_json(yaml("- &x 1\n- &x 2\n- *x\n"), "[1, 2, 2]");
    check_json(yaml("&k key: 1\nother: *k\n"), "{'key': 1, 'other': 'key'}");
    check_json(yaml("{'<<': 1}"), "{'<<': 1}");
    check_refused("a: *x\n", "x.yaml:1:5: there is no anchor &x before this");
    check_refused("a: &x 1\n---\nb: *x\n", "x.yaml:3:5: there is no anchor &x before this");
    check_refused("&x [*x]\n", "x.yaml:1:6: there is no anchor &x before this");
    check_refused("<<: 1\n", "x.yaml:1:1: << takes a map or a list of maps");
    check_refused("<<: [1]\n", "x.yaml:1:1: << takes a map or a list of maps");
}

TEST(errors_name_file_line_and_column)
{
    check_refused("a: 1\nb:\n  c: 2\n  d: 3\n  c: 4\n",
        "x.yaml:5:3: the key \"c\" is there twice; first in line 3");
    check_refused("{a: 1, 'a': 2}", "x.yaml:1:9: the key \"a\" is there twice; first in line 1");
    check_refused("a: [1\n", "x.yaml:2:1: flow sequence without a closing bracket");
    check_refused("a: b\n\tc: d\n", "x.yaml:1:4: invalid multiline plain key");
    check_refused("a: \"\\q\"\n", "x.yaml:1:5: invalid escape 'q' in double-quoted string");
    check_refused("[1, 2]: x\n", "x.yaml:1:1: a key must be text, not a list or a map");
    check_refused(
        "a: .inf\n", "x.yaml:1:4: JSON has no infinity and no NaN; quote it if it is text");
    check_refused("a: 1e999\n", "x.yaml:1:4: the number is too large; quote it if it is text");
    check_refused("a: !!binary aGk=\n",
        "x.yaml:1:13: only the tags !!str, !!int, !!float, !!bool, !!null, !!seq and !!map are "
        "known");
    check_refused("a: !!int x\n", "x.yaml:1:10: the value is not what its tag says");
    check_refused("a: !x {}\n", "x.yaml:1:7: unknown tag !x");
    check_refused("a: \"\\0\"\n", "x.yaml:1:5: text holds a NUL character");
    check_refused("a: \"\\ud83d\"\n", "x.yaml:1:5: double-quoted scalar has invalid UTF8 escape");
    check_refused("a: 1\nb: \xff\n", "x.yaml:2:4: not UTF-8");
    check_refused("a: \x01\n", "x.yaml:1:4: a control character (0x01)");
    check_refused("{\"a\":1}\n{\"b\":2}\n", "x.yaml:2:1: missing document start");
}

TEST(nine_lines_do_not_become_a_billion_values)
{
    check_refused("a: &a [x,x,x,x,x,x,x,x,x]\n"
                  "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                  "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                  "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                  "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                  "f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
                  "g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"
                  "h: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n",
        "x.yaml:7:15: more than 2000000 values with all aliases");
}

static const char *repeated(const char *head, const char *part, int times)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    buf_add_text(&b, head);
    for (int i = 0; i < times; i++)
        buf_add_text(&b, part);
    return str_dup(test_arena(), buf_str(&b));
}

TEST(yaml_has_limits_of_depth_and_size)
{
    struct json list;
    struct error err;
    struct arena *a = test_arena();
    check_fails(yaml_parse_all(a, str_of(repeated("", "[", 100000)), "x", &list, &err),
        err,
        "nested deeper than 200 levels");
    check_fails(yaml_parse_all(a, str_of(repeated("", "- ", 100000)), "x", &list, &err),
        err,
        "nested deeper than 200 levels");
    const char *deep = repeated("a: &a ", "[", 150);
    deep = repeated(deep, "]", 150);
    deep = repeated(deep, "\nb: ", 1);
    deep = repeated(deep, "[", 100);
    deep = repeated(deep, "*a", 1);
    deep = repeated(deep, "]", 100);
    check_fails(yaml_parse_all(a, str_of(deep), "x", &list, &err), err, "nested deeper than 200");
    const char *large = repeated("", "- abcdefghijklmno\n", 1 << 20);
    check(!yaml_parse_all(a, str_of(large), "x", &list, &err));
    check_text(err.text, "x: more than 16777216 bytes");
    check(err.code == ERR_TOO_LARGE);
    check_fails(yaml_parse_all(a, str_of(repeated("a: |\n  x", "\n", 10000)), "x", &list, &err),
        err,
        "too many blank lines in a row");
    check(yaml_parse_all(a, str_of(repeated("a: |\n  x", "\n", 2000)), "x", &list, &err));
    const char *anchors = "";
    for (int i = 0; i <= 1000; i++)
        anchors = arena_printf(a, "- &a%d x\n%s", i, i % 50 ? anchors : repeated(anchors, "", 1));
    check_fails(
        yaml_parse_all(a, str_of(anchors), "x", &list, &err), err, "more than 1000 anchors");
}

static const char *printed(struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    yaml_print(&b, v);
    check(!buf_overflowed(&b));
    return str_dup(test_arena(), buf_str(&b));
}

TEST(yaml_is_printed_as_kubectl_prints_it)
{
    struct json v = test_json(
        "{'apiVersion': 'apps/v1', 'kind': 'Deployment', 'metadata': {'labels': {'app': 'x',"
        " 'on': 'yes', 'n': '1'}, 'annotations': {}}, 'spec': {'replicas': 1, 'ratio': 0.5,"
        " 'paused': false, 'nothing': null, 'list': [], 'containers': [{'name': 'c', 'image':"
        " 'nginx:1.2', 'args': ['--port=8080', '-c', '{\\u0022a\\u0022: 1}', 'a: b', '# c', '']},"
        " [['x', 'y'], {'z': 1}]], 'cpu': '100m', 'ip': '10.0.0.1', 'path': '/models/a b.gguf',"
        " 'script': 'set -e\\n  echo \\u0022x\\u0022\\n\\nexit\\n', 'tail': 'a\\nb',"
        " 'more': 'a\\n\\n', 'lead': ' a\\nb', 'tab': 'a\\tb', 'quote': 'it\\u0027s',"
        " 'date': '2026-11-15T17:00:00Z', 'colon': 'a:', 'null': '~'}}");
    check_text(printed(v),
        "apiVersion: apps/v1\n"
        "kind: Deployment\n"
        "metadata:\n"
        "  annotations: {}\n"
        "  labels:\n"
        "    app: x\n"
        "    \"n\": \"1\"\n"
        "    \"on\": \"yes\"\n"
        "spec:\n"
        "  colon: \"a:\"\n"
        "  containers:\n"
        "  - args:\n"
        "    - --port=8080\n"
        "    - -c\n"
        "    - '{\"a\": 1}'\n"
        "    - \"a: b\"\n"
        "    - \"# c\"\n"
        "    - \"\"\n"
        "    image: nginx:1.2\n"
        "    name: c\n"
        "  - - - x\n"
        "      - \"y\"\n"
        "    - z: 1\n"
        "  cpu: 100m\n"
        "  date: \"2026-11-15T17:00:00Z\"\n"
        "  ip: \"10.0.0.1\"\n"
        "  lead: \" a\\nb\"\n"
        "  list: []\n"
        "  more: |+\n"
        "    a\n"
        "\n"
        "  nothing: null\n"
        "  \"null\": \"~\"\n"
        "  path: /models/a b.gguf\n"
        "  paused: false\n"
        "  quote: it's\n"
        "  ratio: 0.5\n"
        "  replicas: 1\n"
        "  script: |\n"
        "    set -e\n"
        "      echo \"x\"\n"
        "\n"
        "    exit\n"
        "  tab: \"a\\tb\"\n"
        "  tail: |-\n"
        "    a\n"
        "    b\n");
    check(json_equal(yaml(printed(v)), v));
    check_text(printed(json_empty_map()), "{}\n");
    check_text(printed(json_str("a\nb")), "\"a\\nb\"\n");
}

/* A small generator with a fixed seed: the same values in every run. */
static uint32_t chance(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static const char *random_text(uint64_t *state)
{
    static const char *const parts[] = { "a",
        "b c",
        " ",
        "\n",
        "\t",
        ":",
        ": ",
        " #",
        "-",
        "- ",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "~",
        "null",
        "yes",
        "1",
        "0",
        ".",
        "e",
        "+",
        "x",
        "_",
        "\u00e4",
        "\u20ac",
        "\U0001f600",
        "\x01",
        "\x7f",
        "\u2028",
        "\ufeff",
        "\r",
        "---",
        "...",
        "<<",
        "=",
        "?",
        "\n\n",
        "  \n",
        "T",
        "Z",
        "\xc2\x85" };
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 16);
    for (uint32_t left = chance(state, 6); left > 0; left--)
        buf_add_text(&b, parts[chance(state, lengthof(parts))]);
    if (chance(state, 400) == 0)
        for (int i = 0; i < 1500; i++)
            buf_add_char(&b, 'k');
    return str_dup(test_arena(), buf_str(&b));
}

static struct json random_value(uint64_t *state, int depth)
{
    static const double reals[] = { 0.5, -1e300, 1e-7, 3.0, 1e15, 123456.789 };
    struct json_builder b;
    json_builder_init(&b, test_arena());
    uint32_t count = chance(state, 4);
    switch (chance(state, depth > 5 ? 6 : 9)) {
    case 0:
        return json_null();
    case 1:
        return json_bool(chance(state, 2));
    case 2:
        return json_int((int64_t)chance(state, 100000) - 50000);
    case 3:
        return json_real(reals[chance(state, lengthof(reals))]);
    case 6:
        for (; count > 0; count--)
            json_push(&b, random_value(state, depth + 1));
        return json_list_end(&b);
    case 7:
    case 8:
        for (; count > 0; count--)
            json_put(&b, random_text(state), random_value(state, depth + 1));
        return json_map_end(&b);
    default:
        return json_str(random_text(state));
    }
}

TEST(whatever_is_printed_as_yaml_reads_back_equal)
{
    uint64_t state = 42;
    for (int i = 0; i < 20000; i++) {
        struct json v = random_value(&state, 0);
        const char *text = printed(v);
        struct json list;
        struct error err;
        if (!yaml_parse_all(test_arena(), str_of(text), "x", &list, &err))
            test_fail(__FILE__, __LINE__, "%s in\n%s", err.text, text);
        if (list.count != 1 || !json_equal(json_item(list, 0), v))
            test_fail(__FILE__, __LINE__, "%s\nprints as\n%s", json_to_text(test_arena(), v), text);
        if (i % 100 == 0)
            arena_done(test_arena());
    }
}

/* It counts from the list or map that the block stands in, however deep that is. */
TEST(yaml_block_indentation_counts_from_the_parent)
{
    check_json(yaml("a:\n   - b: |1\n       c\n      d\n     e: >3\n           f\n"),
        "{'a': [{'b': ' c\\nd\\n', 'e': '   f\\n'}]}");
    check_json(yaml("- - |2\n     a\n    b\n- x\n"), "[[' a\\nb\\n'], 'x']");
    check_json(yaml("a:\n- |2\n   b\n- c\n"), "{'a': [' b\\n', 'c']}");
    check_json(yaml("--- |2\n   a\n"), "' a\\n'");
}
