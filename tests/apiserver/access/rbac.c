#include "apiserver/access/rbac.h"

#include "tests/test.h"

static struct json rules(struct arena *a, const char *text)
{
    struct json v;
    struct error err;
    check(json_parse(a, str_of(text), &v, &err));
    return v;
}

TEST(a_rule_allows_what_it_names)
{
    static const struct {
        const char *rule;
        struct auth_request request;
        bool allowed;
    } cases[] = {
        { "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}",
            { "get", NULL, "", "v1", "pods", "", "ns", "x" },
            true },
        { "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}",
            { "get", NULL, "", "v1", "pods", "log", "ns", "x" },
            false },
        { "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"*/log\"]}",
            { "get", NULL, "", "v1", "pods", "log", "ns", "x" },
            true },
        { "{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}",
            { "bind", NULL, "x", "v1", "y", "z", "", "" },
            true },
        { "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"],"
          "\"resourceNames\":[\"a\"]}",
            { "get", NULL, "", "v1", "pods", "", "ns", "a" },
            true },
        { "{\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"],"
          "\"resourceNames\":[\"a\"]}",
            { "list", NULL, "", "v1", "pods", "", "ns", "" },
            false },
        { "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/apis/*\"]}",
            { .verb = "get", .path = "/apis/apps" },
            true },
        { "{\"verbs\":[\"get\"],\"nonResourceURLs\":[\"/apis/*\"]}",
            { .verb = "get", .path = "/apis" },
            false },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(cases); i++)
        check(rbac_rule_allows(rules(&a, cases[i].rule), &cases[i].request) == cases[i].allowed);
}

TEST(rights_that_nobody_holds_are_named_one_by_one)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json held =
        rules(&a, "[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}]");
    check(!rbac_missing(&a, held, held));
    struct json wanted = rules(&a,
        "[{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"secrets\"],\"verbs\":[\"get\",\"list\"]},"
        "{\"apiGroups\":[\"apps\"],\"resources\":[\"*\"],\"verbs\":[\"*\"],"
        "\"resourceNames\":[\"a\",\"b\"]},{\"nonResourceURLs\":[\"/a\"],\"verbs\":[\"get\"]}]");
    check_text(rbac_missing(&a, held, wanted),
        "\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"
        "\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}"
        "\n{APIGroups:[\"apps\"], Resources:[\"*\"], ResourceNames:[\"a\"], Verbs:[\"*\"]}"
        "\n{APIGroups:[\"apps\"], Resources:[\"*\"], ResourceNames:[\"b\"], Verbs:[\"*\"]}"
        "\n{NonResourceURLs:[\"/a\"], Verbs:[\"get\"]}");
    struct json all =
        rules(&a, "[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],\"resources\":[\"*\"]}]");
    check(rbac_missing(&a, all, wanted));
}
