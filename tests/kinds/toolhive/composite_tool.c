#include "kinds/toolhive/composite_tool.h"

#include "kinds/toolhive/vmcp_tables.h"
#include "tests/test.h"

/* The right column is what Go 1.26 says. */
TEST(composite_templates_fail_with_the_words_of_go)
{
    static const struct {
        const char *text, *error;
    } rows[] = {
        { "{{.params.", "unexpected \".\" in operand" },
        { "{{.params.}}", "unexpected <.> in operand" },
        { "{{", "unclosed action" },
        { "{{}}", "missing value for command" },
        { "{{if .x}}", "unexpected EOF" },
        { "{{end}}", "unexpected {{end}}" },
        { "{{.a | nosuch}}", "function \"nosuch\" not defined" },
        { "{{.a b}}", "function \"b\" not defined" },
        { "{{json .a}", "bad character U+007D '}'" },
        { "{{/* x", "unclosed comment" },
        { "{{\"abc}}", "unterminated quoted string" },
        { "{{`raw", "unterminated raw quoted string" },
        { "{{$x}}", "undefined variable \"$x\"" },
        { "{{ (.a }}", "unclosed left paren" },
        { "{{.a)}}", "unexpected right paren" },
        { "{{.a | 1}}", "non executable command in pipeline stage 2" },
        { "{{. | nil}}", "non executable command in pipeline stage 2" },
        { "{{else}}", "unexpected {{else}}" },
        { "{{if}}x{{end}}", "missing value for if" },
        { "{{.a-b}}", "bad character U+002D '-'" },
        { "{{'ab'}}", "malformed character constant: 'ab'" },
        { "{{break}}", "{{break}} outside {{range}}" },
        { "{{if .a}}{{else}}{{else}}{{end}}", "expected end; found {{else}}" },
        { "{{.a := 3}}", "unexpected \":=\" in operand" },
        { "{{|}}", "unexpected \"|\" in command" },
        { "{{ @ }}", "unexpected \"@\" in command" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct error err;
        check(!composite_template_check(test_arena(), rows[i].text, NULL, &err));
        check_text(
            err.text, arena_printf(test_arena(), "template: validation:1: %s", rows[i].error));
    }
    struct error err;
    check(!composite_template_check(test_arena(), "{{\n.a\n| nosuch}}", NULL, &err));
    check_text(err.text, "template: validation:3: function \"nosuch\" not defined");
}

TEST(composite_templates_that_go_takes_are_taken)
{
    static const char *const texts[] = { "",
        "plain }} text",
        "{{.a .b}}",
        "{{range .x}}{{.y}}{{break}}{{end}}",
        "{{1 | json}}",
        "{{template \"x\"}}",
        "{{define \"x\"}}a{{end}}",
        "{{with .x}}{{else with .y}}{{end}}",
        "{{if .x}}a{{else if .y}}b{{else}}c{{end}}",
        "{{eq .a \"x\" | and .b}}",
        "{{- .a -}}",
        "{{/* a }} comment */}}x",
        "{{$x := .a}}{{$x.b}}",
        "{{range $i, $e := .a}}{{$i}}{{$e}}{{end}}",
        "{{(index .a 1).b}}",
        "{{-3}}",
        "{{'a'}}{{nil}}" };
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct error err = { 0 };
        if (!composite_template_check(test_arena(), texts[i], NULL, &err))
            check_text(err.text, texts[i]);
    }
}

static const char *wrong(const char *text)
{
    static struct error err;
    struct json tool;
    if (document_read(test_arena(), composite_tool_fields, test_json(text), "spec", &tool, &err) &&
        composite_tool_check(test_arena(), tool, "spec", &err))
        return "";
    return err.text;
}

#define STEPS(steps) "{'name': 't', 'description': 'd', 'steps': [" steps "]}"

TEST(composite_tools_are_checked_as_the_gateway_checks_them)
{
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x.y'}")), "");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x'}, {'id': 'a', 'tool': 'x'}")),
        "validation failed: spec.steps[1].id \"a\" is duplicated");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x', 'dependsOn': ['b']}")),
        "validation failed: spec.steps[0].dependsOn references unknown step \"b\"");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x', 'dependsOn': ['b']},"
                           "{'id': 'b', 'tool': 'x', 'dependsOn': ['a']}")),
        "validation failed: spec.steps: dependency cycle detected involving step \"a\"");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x y'}")),
        "validation failed: spec.steps[0].tool must be a valid tool name");
    check_text(wrong(STEPS("{'id': 'a', 'type': 'forEach', 'collection': '{{.x}}', 'maxParallel': "
                           "51, 'step': {'tool': 'x'}}")),
        "validation failed: spec.steps[0].maxParallel must be <= 50 (got 51)");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x', 'onError': {'action': 'retry'}}")),
        "validation failed: spec.steps[0].onError.retryCount must be at least 1 when action is "
        "retry");
    check_text(wrong("{'steps': []}"),
        "validation failed: spec.name is required; spec.description is required; spec.steps must "
        "have at least one step");
}

TEST(a_step_that_may_be_skipped_needs_defaults_for_what_is_read_of_it)
{
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x', 'condition': '{{.params.q}}'},"
                           "{'id': 'b', 'tool': 'x', 'arguments': {'q': "
                           "'{{json .steps.a.output.n.m}}'}}")),
        "validation failed: spec.steps[a].defaultResults[n] is required: step \"a\" may be skipped "
        "and field \"n\" is referenced by step b");
    check_text(wrong(STEPS("{'id': 'a', 'tool': 'x', 'condition': '{{.params.q}}',"
                           " 'defaultResults': {'n': 1}},"
                           "{'id': 'b', 'tool': 'x', 'message': '{{.steps.a.output.n}}'}")),
        "");
}

TEST(a_value_of_the_wrong_type_is_named_with_its_path)
{
    check_text(wrong("{'name': 't', 'steps': [], 'output': {'properties': {'a': {'type': 'object',"
                     " 'properties': {'n': {'type': 'integer', 'description': false}}}}}}"),
        "spec.output.properties.a.properties.n.description: expected string, got boolean");
    check_text(wrong("{'name': 't', 'steps': [], 'timeout': 'soon'}"),
        "spec.timeout: \"soon\" is not a duration. Use a form such as 1m30s.");
}
