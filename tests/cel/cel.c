#include "cel/cel.h"

#include "tests/test.h"

/* A little schema, and what expressions say about an object of it. */
static const struct cel_decl *schema(void)
{
    return cel_decl_new(test_arena(),
        test_json("{'type': 'object', 'properties': {"
                  "'i': {'type': 'integer'}, 's': {'type': 'string', 'maxLength': 20},"
                  "'port': {'x-kubernetes-int-or-string': true},"
                  "'list': {'type': 'array', 'maxItems': 5, 'items': {'type': 'integer'}},"
                  "'set': {'type': 'array', 'x-kubernetes-list-type': 'set',"
                  "        'items': {'type': 'string'}},"
                  "'map': {'type': 'object', 'additionalProperties': {'type': 'string'}},"
                  "'a-b': {'type': 'string'}, 'namespace': {'type': 'string'},"
                  "'t': {'type': 'string', 'format': 'date-time'}}}"),
        false);
}

static const char object[] =
    "{'i': 7, 's': 'héllo', 'port': 'http', 'list': [3, 1, 2], 'set': ['x', 'y'],"
    " 'map': {'k': 'v'}, 'a-b': 'dash', 'namespace': 'ns', 't': '2026-11-15T17:00:00Z'}";

static struct cel_outcome run(const char *text)
{
    const struct cel_program *p = NULL;
    const char *trouble = cel_compile(test_arena(), schema(), text, NULL, &p);
    check_text(trouble, NULL);
    return cel_run(p, test_arena(), &(struct cel_input){ .self = test_json(object) });
}

static const char *shown(const char *text)
{
    return cel_show(test_arena(), run(text).value);
}

static const char *trouble_of(const char *text)
{
    const struct cel_program *p;
    return cel_compile(test_arena(), schema(), text, NULL, &p);
}

TEST(cel_computes)
{
    check_text(shown("1 + 2 * 3"), "7");
    check_text(shown("7 / 2 + -7 % 3"), "2");
    check_text(shown("'a' + 'b'"), "ab");
    check_text(shown("[1, 2, 3].map(x, x * 2).filter(x, x > 2)"), "[4, 6]");
    check_text(shown("self.i > 5 ? self.s : 'small'"), "héllo");
    check_text(shown("self.s.size() + size(self.map)"), "6");
    check_text(shown("self.list.sort()"), "[1, 2, 3]");
}

TEST(cel_errors_are_values_that_logic_absorbs)
{
    check_text(shown("1 / 0"), "division by zero");
    check_text(shown("1 / 0 == 1 || true"), "true");
    check_text(shown("1 / 0 == 1 && true"), "division by zero");
    check_text(shown("[0, 1].exists(x, 1 / x == 1)"), "true");
    check_text(shown("9223372036854775807 + 1"), "integer overflow");
    check_text(shown("self.map['nothing']"), "no such key: nothing");
    check_text(shown("self.list[3]"), "index out of bounds: 3");
}

TEST(cel_sees_properties_by_their_escaped_names)
{
    check_text(shown("self.a__dash__b + self.__namespace__ + self.namespace"), "dashnsns");
}

TEST(cel_types_come_from_the_schema)
{
    check_text(shown("type(self.port)"), "string");
    check_text(shown("self.t.getFullYear()"), "2026");
    check_text(shown("self.set == ['y', 'x']"), "true");
    check_text(shown("['y', 'x'] == self.set"), "false");
    check(strstr(trouble_of("self.i == 'a'"), "no matching overload for '_==_' applied to '(int"));
}

TEST(cel_complains_with_line_and_caret)
{
    check_text(trouble_of("self.i == 1 &&\n  self.x == y"),
        "compilation failed: ERROR: <input>:2:7: undefined field 'x'\n"
        " |   self.x == y\n"
        " | ......^\n"
        "ERROR: <input>:2:13: undeclared reference to 'y' (in container '')\n"
        " |   self.x == y\n"
        " | ............^");
    check(strstr(trouble_of("self.i ="), "Syntax error"));
    check(strstr(trouble_of("'a'.matches('(')"), "invalid matches argument"));
    check(strstr(trouble_of("[1, 'a'].size() == 2"), "expected type 'int' but found 'string'"));
}

TEST(cel_costs_what_the_server_counts)
{
    check_int((int64_t)run("self.i > 5").cost, 3);
    check_int((int64_t)run("has(self.i)").cost, 1);
    check_int((int64_t)run("[1, 2].all(x, x > 0)").cost, 11);
    check_int((int64_t)run("self.s.contains('ell')").cost, 3);
}

TEST(cel_stops_at_its_budget)
{
    struct cel_outcome got = run("lists.range(100000).map(x, x + 1).size() > 0");
    check(got.over_budget && got.value.kind == CEL_ERROR);
    check_text(
        cel_show(test_arena(), got.value), "operation cancelled: actual cost limit exceeded");
    got = run("lists.range(9223372036854775807).size() > 0");
    check(got.over_budget);
}

TEST(cel_stops_when_cheap_comparisons_are_too_many)
{
    const struct cel_decl *d = cel_decl_new(test_arena(),
        test_json("{'type': 'object', 'properties': {'l': {'type': 'array', 'items': {'type':"
                  " 'array', 'items': {'type': 'integer'}}}}}"),
        false);
    struct json_builder b;
    json_builder_init(&b, test_arena());
    for (int i = 0; i < 50000; i++)
        json_push(&b, json_int(i));
    struct json l = json_list(test_arena(), json_list_end(&b));
    const struct cel_program *p;
    const char *text = "lists.range(50000).all(x, self.l[0] == self.l[0] || self.l == self.l)";
    check_text(cel_compile(test_arena(), d, text, NULL, &p), NULL);
    struct cel_input input = { .self = json_map(test_arena(), { "l", l }) };
    check(cel_run(p, test_arena(), &input).over_budget);
}

TEST(cel_lists_of_type_map_are_compared_by_key)
{
    const struct cel_decl *d = cel_decl_new(test_arena(),
        test_json("{'type': 'object', 'properties': {'a': {'type': 'array',"
                  "'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'],"
                  "'items': {'type': 'object', 'properties': {'k': {'type': 'string'},"
                  "'v': {'type': 'integer'}}}}}}"),
        false);
    const struct cel_program *p;
    check(!cel_compile(test_arena(), d, "self.a == oldSelf.a", NULL, &p));
    struct cel_input input = { test_json("{'a': [{'k': 'x', 'v': 1}, {'k': 'y', 'v': 2}]}"),
        test_json("{'a': [{'k': 'y', 'v': 2}, {'k': 'x', 'v': 1}]}") };
    check(cel_is_true(cel_run(p, test_arena(), &input).value));
    input.old_self = test_json("{'a': [{'k': 'y', 'v': 2}, {'k': 'x', 'v': 3}]}");
    check(!cel_is_true(cel_run(p, test_arena(), &input).value));
    check(!cel_compile(test_arena(), d, "(self.a + oldSelf.a).map(x, x.v)", NULL, &p));
    check_text(cel_show(test_arena(), cel_run(p, test_arena(), &input).value), "[3, 2]");
}

TEST(cel_estimates_from_the_bounds_of_the_schema)
{
    const struct cel_program *p;
    check(!cel_compile(test_arena(), schema(), "self.list.all(x, x > 0)", NULL, &p));
    check_int((int64_t)p->estimate, 28);
    check(!cel_compile(test_arena(), schema(), "self.set.all(x, x.contains('a'))", NULL, &p));
    check(p->estimate > CEL_ESTIMATE_RULE);
}

TEST(cel_old_self_may_be_missing)
{
    const struct cel_program *p;
    struct cel_options optional = { .optional_old_self = true };
    check(!cel_compile(test_arena(), schema(), "oldSelf.i < self.i", NULL, &p));
    check(p->uses_old_self);
    struct cel_input input = { test_json("{'i': 2}"), test_json("{'i': 1}") };
    check(cel_is_true(cel_run(p, test_arena(), &input).value));
    check(!cel_compile(test_arena(), schema(), "oldSelf.?i.orValue(9)", &optional, &p));
    check_int(cel_run(p, test_arena(), &input).value.integer, 1);
    input.old_self = json_none;
    check_int(cel_run(p, test_arena(), &input).value.integer, 9);
}

TEST(cel_depth_and_length_have_limits)
{
    char deep[2000];
    memset(deep, '(', 600);
    memset(deep + 600, ')', 600);
    deep[1200] = '\0';
    check(strstr(trouble_of(deep), "recursion limit exceeded: 250"));
    char *chain = arena_alloc(test_arena(), 200000);
    for (size_t i = 0; i < 90000; i += 2)
        memcpy(chain + i, "1+", 2);
    check(strstr(trouble_of(chain), "recursion limit exceeded: 250"));
    memset(chain, ' ', 150000);
    check(strstr(trouble_of(chain), "code point size exceeds limit: size: 150000, limit 100000"));
    /* Each doubles what the one before it stands for. */
    const char *nested = "self.?i";
    for (int i = 0; i < 40; i++)
        nested = arena_printf(test_arena(), "%s.optMap(x, x)", nested);
    check(run(nested).over_budget);
}

TEST(cel_syntax_errors_name_the_first_token_that_is_wrong)
{
    check(strstr(trouble_of("f(1"), "1:4: Syntax error: unexpected end of the expression"));
    check(strstr(trouble_of("1 1"), "1:3: Syntax error: unexpected '1'"));
    check(strstr(trouble_of("[1,,2]"), "1:4: Syntax error: unexpected ','"));
    check(strstr(trouble_of("as == 1"), "1:1: reserved identifier: as"));
    check(strstr(trouble_of("1e999 == 1.0"), "1:1: invalid double literal"));
}
