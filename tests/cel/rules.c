#include "cel/rules.h"

#include "tests/test.h"

/* "field reason message" of each problem, one a line. */
static const char *listed(const struct cel_problems *problems)
{
    const char *text = "";
    for (const struct cel_problem *p = problems->first; p; p = p->next)
        text = arena_printf(test_arena(), "%s%s %s %s\n", text, p->path, p->reason, p->message);
    return text;
}

static const struct cel_rules *compiled(const char *schema)
{
    struct cel_problems problems = { 0 };
    const struct cel_rules *rules =
        cel_rules_compile(test_arena(), test_json(schema), NULL, &problems);
    check_text(listed(&problems), "");
    return rules;
}

static const char *refused(const char *schema)
{
    struct cel_problems problems = { 0 };
    struct cel_rules_options options = { .at = "at" };
    cel_rules_compile(test_arena(), test_json(schema), &options, &problems);
    return listed(&problems);
}

static const char *checked(const struct cel_rules *rules, const char *now, const char *old)
{
    struct cel_problems problems = { 0 };
    struct cel_rules_input input = { .object = test_json(now) };
    if (old)
        input.old = test_json(old);
    cel_rules_check(rules, test_arena(), &input, &problems, NULL);
    return listed(&problems);
}

TEST(rules_name_the_path_of_what_they_refuse)
{
    const struct cel_rules *rules = compiled(
        "{'type': 'object', 'properties': {'spec': {'type': 'object', 'properties': {"
        "'l': {'type': 'array', 'maxItems': 5, 'items': {'type': 'integer',"
        "      'x-kubernetes-validations': [{'rule': 'self > 0'}]}},"
        "'m': {'type': 'object', 'maxProperties': 5, 'additionalProperties': {"
        "      'type': 'string', 'maxLength': 5,"
        "      'x-kubernetes-validations': [{'rule': 'self.size() > 0', 'message': 'say it',"
        "                                    'reason': 'FieldValueRequired'}]}}}}},"
        "'x-kubernetes-validations': [{'rule': 'has(self.spec)'}]}");
    check_text(checked(rules, "{'spec': {'l': [1, 2], 'm': {'a': 'b'}}}", NULL), "");
    check_text(checked(rules, "{'spec': {'l': [1, 0], 'm': {'a.b/c': ''}}}", NULL),
        "spec.l[1] FieldValueInvalid Invalid value: 0: failed rule: self > 0\n"
        "spec.m[a.b/c] FieldValueRequired Required value: say it\n");
    check_text(checked(rules, "{}", NULL),
        "<nil> FieldValueInvalid Invalid value: failed rule: has(self.spec)\n");
}

TEST(rules_compare_with_the_old_value_where_there_is_one)
{
    const struct cel_rules *rules = compiled(
        "{'type': 'object', 'properties': {"
        "'n': {'type': 'integer', 'x-kubernetes-validations': [{'rule': 'self >= oldSelf'}]},"
        "'l': {'type': 'array', 'maxItems': 5, 'x-kubernetes-list-type': 'map',"
        "      'x-kubernetes-list-map-keys': ['k'],"
        "      'items': {'type': 'object', 'required': ['k'], 'properties': {"
        "          'k': {'type': 'string', 'maxLength': 5}, 'v': {'type': 'integer',"
        "          'x-kubernetes-validations': [{'rule': 'self == oldSelf'}]}}}}}}");
    check_text(checked(rules, "{'n': 1}", NULL), "");
    check_text(checked(rules, "{'n': 1}", "{}"), "");
    check_text(checked(rules, "{'n': 1}", "{'n': 2}"),
        "n FieldValueInvalid Invalid value: 1: failed rule: self >= oldSelf\n");
    check_text(checked(rules,
                   "{'l': [{'k': 'b', 'v': 2}, {'k': 'a', 'v': 9}]}",
                   "{'l': [{'k': 'a', 'v': 1}, {'k': 'b', 'v': 2}]}"),
        "l[1].v FieldValueInvalid Invalid value: 9: failed rule: self == oldSelf\n");
}

TEST(rules_that_failed_before_on_the_same_value_only_warn)
{
    const struct cel_rules *rules =
        compiled("{'type': 'object', 'properties': {'a': {'type': 'integer',"
                 "'x-kubernetes-validations': [{'rule': 'self < 5'}]}, 'b': {'type': 'integer'}}}");
    struct cel_problems problems = { 0 }, warnings = { 0 };
    struct cel_rules_input input = { test_json("{'a': 9, 'b': 2}"), test_json("{'a': 9}") };
    cel_rules_check(rules, test_arena(), &input, &problems, &warnings);
    check_int((int64_t)problems.count, 0);
    check_int((int64_t)warnings.count, 1);
    check_text(cel_problem_text(test_arena(), warnings.first),
        "a: Invalid value: 9: failed rule: self < 5");
    check_text(checked(rules, "{'a': 8}", "{'a': 9}"),
        "a FieldValueInvalid Invalid value: 8: failed rule: self < 5\n");
}

TEST(rules_make_messages_and_point_to_fields)
{
    const struct cel_rules *rules = compiled(
        "{'type': 'object', 'properties': {'s': {'type': 'object', 'properties': {"
        "'x': {'type': 'integer'}}, 'x-kubernetes-validations': ["
        "{'rule': 'self.x < 3', 'fieldPath': '.x', 'messageExpression': 'string(self.x + 1)'},"
        "{'rule': 'self.x < 4', 'message': 'plain', 'messageExpression': 'string(1 / self.x)'},"
        "{'rule': '1 / self.x > 5', 'message': 'none'}]}}}");
    check_text(checked(rules, "{'s': {'x': 7}}", NULL),
        "s.x FieldValueInvalid Invalid value: 8\n"
        "s FieldValueInvalid Invalid value: 0\n"
        "s FieldValueInvalid Invalid value: none\n");
    check_text(checked(rules, "{'s': {'x': 0}}", NULL),
        "s FieldValueInvalid Invalid value: \"object\": division by zero evaluating rule: none\n");
}

TEST(rules_are_judged_when_they_are_made)
{
    check_text(refused("{'type': 'object', 'x-kubernetes-validations': [{'rule': 'self.x == 1'}]}"),
        "at.x-kubernetes-validations[0].rule FieldValueInvalid Invalid value: "
        "{\"Rule\":\"self.x == 1\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,"
        "\"FieldPath\":\"\",\"OptionalOldSelf\":null}: compilation failed: ERROR: <input>:1:5: "
        "undefined field 'x'\n | self.x == 1\n | ....^\n");
    check_text(refused("{'type': 'object', 'x-kubernetes-validations': [{'rule': ''}]}"),
        "at.x-kubernetes-validations[0].rule FieldValueRequired Required value: rule is not "
        "specified\n");
    check_text(refused("{'type': 'object', 'properties': {'l': {'type': 'array', 'items': {"
                       "'type': 'integer', 'x-kubernetes-validations': [{'rule':"
                       " 'self == oldSelf'}]}}}}"),
        "at.properties[l].items.x-kubernetes-validations[0].rule FieldValueInvalid Invalid value: "
        "\"self == oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema "
        "within at.properties[l]\n");
    check(strstr(refused("{'type': 'object', 'properties': {'l': {'type': 'array', 'items': {"
                         "'type': 'string'}, 'x-kubernetes-validations': [{'rule':"
                         " 'self.all(x, self.all(y, x == y))'}]}}}"),
        "FieldValueForbidden Forbidden: estimated rule cost exceeds budget by factor of more than "
        "100x"));
}

TEST(rules_end_when_the_budget_of_an_object_does)
{
    struct cel_rules_options lenient = { .no_cost_limits = true };
    struct cel_problems problems = { 0 };
    const struct cel_rules *rules = cel_rules_compile(test_arena(),
        test_json("{'type': 'object', 'properties': {'l': {'type': 'array', 'items': {"
                  "'type': 'integer', 'x-kubernetes-validations': [{'rule':"
                  " 'lists.range(self).size() >= 0'}]}}}}"),
        &lenient,
        &problems);
    check_text(listed(&problems), "");
    const char *text = "9";
    for (int i = 0; i < 150; i++)
        text = arena_printf(test_arena(), "%s, 90000", text);
    text = checked(rules, arena_printf(test_arena(), "{'l': [%s]}", text), NULL);
    const char *last = "running out of cost budget, no further validation rules will be run\n";
    check(text_starts(text, "l[") && text_ends(text, last));
    check(strlen(text) < 400);
    check(text_starts(checked(rules, "{'l': [9, 2000000]}", NULL),
        "l[1] FieldValueInvalid Invalid value: \"integer\": 'operation cancelled"));
}

TEST(rules_of_objects_that_do_not_fit_their_schema_fail_with_a_message)
{
    const struct cel_rules *rules =
        compiled("{'type': 'object', 'properties': {'a': {'type': 'integer'}},"
                 "'x-kubernetes-validations': [{'rule': 'self.a > 0'}]}");
    check_text(checked(rules, "{'a': 'text'}", NULL),
        "<nil> FieldValueInvalid Invalid value: \"object\": invalid data, expected int, got string "
        "evaluating rule: self.a > 0\n");
}
