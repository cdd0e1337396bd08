#include "cedar/cedar.h"

#include "base/buf.h"
#include "tests/test.h"

/* alice is in group staff, which is in group all; the file is in folder docs. */
static const struct cedar_uid staff = { STR("Group"), STR("staff") };
static const struct cedar_uid all = { STR("Group"), STR("all") };
static const struct cedar_uid docs = { STR("Folder"), STR("docs") };

static struct cedar_answer ask(const char *text, const char *context)
{
    struct arena *a = test_arena();
    struct error err;
    struct cedar_policies *p = cedar_parse(a, str_of(text), &err);
    if (!p)
        test_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
    struct cedar_entity *entities = arena_array(a, 4, sizeof *entities);
    entities[0] = (struct cedar_entity){ { STR("User"), STR("alice") },
        test_json("{ 'name': 'Alice', 'age': 41, 'tags': [ 'a', 'b' ] }"),
        &staff,
        1 };
    entities[1] = (struct cedar_entity){ staff, { 0 }, &all, 1 };
    entities[2] = (struct cedar_entity){ all, { 0 }, NULL, 0 };
    entities[3] = (struct cedar_entity){
        { STR("File"), STR("plan") }, test_json("{ 'size': 10 }"), &docs, 1
    };
    struct cedar_request r = {
        .principal = { STR("User"), STR("alice") },
        .action = { STR("Action"), STR("read") },
        .resource = { STR("File"), STR("plan") },
        .context = test_json(context ? context : "{}"),
        .entities = entities,
        .entity_count = 4,
    };
    return cedar_authorize(a, p, &r);
}

/* Whether `permit … when { EXPRESSION }` permits; errors of it are text. */
static const char *value_of(const char *expression, const char *context)
{
    struct cedar_answer got = ask(
        arena_printf(test_arena(), "permit(principal, action, resource) when { %s };", expression),
        context);
    return got.error_count ? got.errors[0] : got.allowed ? "true" : "false";
}

TEST(cedar_denies_unless_a_policy_permits_and_forbid_wins)
{
    check(!ask("", NULL).allowed);
    check(ask("permit(principal, action, resource);", NULL).allowed);
    struct cedar_answer both = ask("permit(principal, action, resource);"
                                   "@id(\"no\") forbid(principal, action, resource);",
        NULL);
    check(!both.allowed);
    check_int((int64_t)both.reason_count, 1);
    check_text(both.reasons[0], "no");
}

TEST(cedar_scopes_follow_the_hierarchy)
{
    static const struct {
        const char *scope;
        bool permits;
    } cases[] = {
        { "principal == User::\"alice\", action, resource", true },
        { "principal == User::\"bob\", action, resource", false },
        { "principal in Group::\"all\", action, resource", true },
        { "principal in Group::\"none\", action, resource", false },
        { "principal is User, action, resource", true },
        { "principal is Robot, action, resource", false },
        { "principal is User in Group::\"staff\", action, resource", true },
        { "principal, action == Action::\"read\", resource", true },
        { "principal, action in [Action::\"write\", Action::\"read\"], resource", true },
        { "principal, action in [], resource", false },
        { "principal, action, resource in Folder::\"docs\"", true },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_int(ask(arena_printf(test_arena(), "permit(%s);", cases[i].scope), NULL).allowed,
            cases[i].permits);
}

TEST(cedar_expressions_have_these_values)
{
    static const struct {
        const char *expression, *value;
    } cases[] = {
        { "principal.age == 41", "true" },
        { "principal.age + 1 > 41 && 2 * 3 - 1 == 5", "true" },
        { "principal has name && !(principal has email)", "true" },
        { "context has a.b.c && context.a.b.c == 1", "true" },
        { "context has a.x.c", "false" },
        { "context[\"odd key\"] == \"yes\"", "true" },
        { "principal.name like \"A*e\" && !(principal.name like \"b*\")", "true" },
        { "\"a*c\" like \"a\\*c\" && !(\"abc\" like \"a\\*c\")", "true" },
        { "principal.tags.contains(\"a\") && principal.tags.containsAll([\"b\", \"a\"])", "true" },
        { "principal.tags.containsAny([\"x\", \"b\"]) && [].isEmpty()", "true" },
        { "[1, 2, 2] == [2, 1]", "true" },
        { "{a: 1, \"b\": [2]} == {b: [2], a: 1}", "true" },
        { "1 == \"1\"", "false" },
        { "if principal.age < 18 then false else true", "true" },
        { "principal in [Group::\"x\", Group::\"all\"]", "true" },
        { "resource is File in Folder::\"docs\"", "true" },
        { "decimal(\"1.5\").lessThan(decimal(\"1.5001\"))", "true" },
        { "ip(\"10.1.2.3\").isInRange(ip(\"10.0.0.0/8\")) && ip(\"::1\").isLoopback()", "true" },
        { "-9223372036854775808 < 0", "true" },
        { "true || principal.missing", "true" },
        { "\"\\u{41}\\x42\" == \"AB\"", "true" },
        { "User::\"nobody\" has name", "false" },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(value_of(cases[i].expression, "{ 'a': { 'b': { 'c': 1 } }, 'odd key': 'yes' }"),
            cases[i].value);
}

TEST(cedar_conditions_that_fail_do_not_count_and_are_reported)
{
    static const char *const cases[][2] = {
        { "principal.missing", "policy0: attribute `missing` does not exist" },
        { "User::\"nobody\".name == 1", "policy0: entity `User::\"nobody\"` does not exist" },
        { "1 && true", "policy0: type error: expected bool, got long" },
        { "9223372036854775807 + 1 == 0", "policy0: integer overflow" },
        { "\"a\" < 1", "policy0: type error: expected long, got string" },
        { "principal.name", "policy0: type error: expected bool, got string" },
        { "ip(\"1.2.3\") == 1", "policy0: \"1.2.3\" is no address" },
        { "context.half == 1",
            "policy0: type error: expected a Cedar value, got a JSON value that Cedar does not "
            "have (null or a fraction)" },
    };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_text(value_of(cases[i][0], "{ 'half': 0.5 }"), cases[i][1]);
}

TEST(cedar_texts_that_are_no_policies_are_refused_with_their_place)
{
    static const char *const cases[][2] = {
        { "permit(principal, action, resource)", "line 1: the text ends; `;` belongs here" },
        { "permit(principal, action);", "line 1, column 25: unexpected `)`; `,` belongs here" },
        { "allow(principal, action, resource);", "a policy begins with permit or forbid" },
        { "permit(principal, action, resource)\nwhen { 1 + };", "line 2, column 12" },
        { "permit(principal, action, resource) when { \"a };", "closing quote" },
        { "permit(principal, action, resource) when { x.y() };", "`::` belongs here" },
        { "permit(principal, action, resource) when { [1].shout() };", "method" },
        { "permit(principal, action, resource) when { 9223372036854775808 == 1 };", "64 bits" },
        { "permit(principal == ?principal, action, resource);", "unexpected `?`" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct error err;
        check_fails(cedar_parse(test_arena(), str_of(cases[i][0]), &err), err, cases[i][1]);
    }
}

TEST(cedar_depth_and_steps_have_limits)
{
    struct error err;
    struct buf deep = BUF_INIT(100000);
    buf_add_text(&deep, "permit(principal, action, resource) when { ");
    for (int i = 0; i < 5000; i++)
        buf_add_text(&deep, "(");
    check_fails(
        cedar_parse(test_arena(), (struct str){ deep.ptr, deep.len }, &err), err, "levels deep");
    buf_done(&deep);
    struct buf wide = BUF_INIT(1000000);
    buf_add_text(&wide, "permit(principal, action, resource) when { [");
    for (int i = 0; i < 2000; i++)
        buf_printf(&wide, "%d,", i);
    buf_add_text(&wide, "] == [");
    for (int i = 2000; i > 0; i--)
        buf_printf(&wide, "%d,", i);
    buf_add_text(&wide, "] };");
    struct cedar_answer got = ask(buf_text(&wide), NULL);
    check(!got.allowed);
    buf_done(&wide);
}
