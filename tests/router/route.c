#include "router/route.h"

#include "tests/test.h"

static struct router_config *config(const char *text)
{
    struct error err;
    struct arena *a = test_arena();
    struct router_config *c =
        router_config_new(str_of(json_to_text(a, test_json(text))), (struct str){ 0 }, &err);
    if (!c)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return c;
}

static const char *route(struct router_config *c, const char *model, struct http_headers headers)
{
    struct arena *a = test_arena();
    struct route_features f;
    router_route_features_read(a, c, headers, &f);
    f.model = model;
    struct route r = router_route_find(a, c, &f);
    if (r.refusal != ROUTE_FOUND)
        return r.refusal == ROUTE_NONE ? "none" : r.refusal == ROUTE_UNKNOWN ? "unknown" : "closed";
    const char *names = r.rule ? r.rule->name : "-";
    for (size_t i = 0; i < r.count; i++)
        names = arena_printf(a, "%s %s", names, r.backends[i]->name);
    return names;
}

TEST(router_globs_are_those_of_go)
{
    static const struct {
        const char *pattern, *text;
        bool want;
    } cases[] = { { "qwen3-*", "qwen3-coder", true },
        { "qwen3-*", "qwen3-", true },
        { "qwen3-*", "qwen3-a/b", false },
        { "a/b?", "a/bc", true },
        { "a/b?", "a/b", false },
        { "v[1-3]x", "v2x", true },
        { "v[1-3]x", "v4x", false },
        { "w[^a]", "wb", true },
        { "w[^a]", "wa", false },
        { "lit\\*", "lit*", true },
        { "lit\\*", "litx", false },
        { "[", "[", false },
        { "bad[z", "badz", false },
        { "org/*", "org/name", true },
        { "org/*", "org/name/x", false },
        { "\xc3\xa9?", "\xc3\xa9\xc3\xbc", true },
        { "a*b*c", "aXbYbZc", true },
        { "*", "", true },
        { "", "", true },
        { "*a", "ba/a", false } };
    for (size_t i = 0; i < lengthof(cases); i++)
        check_int(router_route_glob(cases[i].pattern, cases[i].text), cases[i].want);
}

TEST(router_first_matching_rule_wins)
{
    struct router_config *c = config(
        "{'backends': [{'name':'a','tier':'local','address':'http://x','capabilities':['vision']},"
        "{'name':'b','tier':'cloud','address':'http://y','displayName':'Big'}],"
        "'rules': [{'name':'v','match':{'models':['v*'],'requiredCapabilities':['vision']},"
        "'route':{'backends':['b','a']}},"
        "{'name':'h','match':{'headers':{'X-Kind':'k'}},'route':{'backends':['b']}},"
        "{'name':'c','match':{'dataClassification':['PII']},'route':{'backends':['b','a']}}],"
        "'defaultRoute':'b','defaultRouteStrategy':'BackendNameMatch'}");
    struct http_headers none = { 0 };
    check_text(route(c, "v1", none), "v a");
    check_text(route(c, "m", HTTP_HEADERS({ STR("x-kind"), STR("k") })), "h b");
    check_text(route(c, "a", none), "- a");
    check_text(route(c, "Big", none), "- b");
    check_text(route(c, "z", none), "- b");
    router_config_unref(c);
}

TEST(router_sensitive_data_never_gets_a_cloud_back_end)
{
    struct router_config *c =
        config("{'backends': [{'name':'a','tier':'local','address':'http://x'},"
               "{'name':'b','tier':'cloud','address':'http://y'}],"
               "'rules': [{'name':'mixed','match':{'models':['m']},'route':{'backends':['b','a']}},"
               "{'name':'far','match':{'models':['f']},'route':{'backends':['b']}}],"
               "'defaultRoute':'b'}");
    struct http_headers pii = HTTP_HEADERS({ STR("x-llmkube-classification"), STR("public, PII") });
    struct http_headers second = HTTP_HEADERS({ STR("x-llmkube-classification"), STR("public") },
        { STR("X-LLMKube-Classification"), STR("phi") });
    check_text(route(c, "m", pii), "mixed a");
    check_text(route(c, "f", pii), "closed");
    check_text(route(c, "z", second), "closed");
    check_text(
        route(c, "z", HTTP_HEADERS({ STR("x-llmkube-classification"), STR("public") })), "- b");
    router_config_unref(c);
}

TEST(router_config_says_what_is_wrong)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "{}", "backends must be non-empty" },
        { "[]", "expected map" },
        { "{'backends':[{'tier':'local','address':'x'}]}", "backends[0]: name is required" },
        { "{'backends':[{'name':'a','tier':'Local','address':'x'}]}",
            "tier must be local or cloud" },
        { "{'backends':[{'name':'a','tier':'local'}]}", "address is required" },
        { "{'backends':[{'name':'a','tier':'local','address':'x','timeout':'5s'}]}", "timeout" },
        { "{'backends':[{'name':'a','tier':'local','address':'x'}],'defaultRoute':'z'}",
            "defaultRoute \"z\" does not name" },
        { "{'backends':[{'name':'a','tier':'local','address':'x'}],'rules':[{'name':'r'}]}",
            "route.backends must be non-empty" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct error err;
        struct str text = str_of(json_to_text(test_arena(), test_json(cases[i].text)));
        check_fails(router_config_new(text, (struct str){ 0 }, &err), err, cases[i].want);
    }
}

TEST(router_by_name_knows_all_names_of_a_back_end_and_no_other)
{
    struct router_config *c =
        config("{'defaultRouteStrategy': 'ByName', 'backends': ["
               "{'name': 'ns/a', 'displayName': 'a', 'tier': 'local', 'address': 'http://x', "
               "'served': ['b', 'org/m']},"
               "{'name': 'ns/b', 'displayName': 'b', 'tier': 'local', 'address': 'http://x'}]}");
    static const struct http_headers none;
    check_text(route(c, "a", none), "- ns/a");
    check_text(route(c, "ns/a", none), "- ns/a");
    check_text(route(c, "org/m", none), "- ns/a");
    check_text(route(c, "b", none), "- ns/b");
    check_text(route(c, "ns/c", none), "unknown");
    check_text(route(c, "", none), "unknown");
    router_config_unref(c);
    c = config("{'defaultRouteStrategy': 'ByName', 'backends': ["
               "{'name': 'ns/a', 'tier': 'local', 'address': 'http://x'}]}");
    check_text(route(c, "", none), "- ns/a");
    check_text(route(c, "other", none), "unknown");
    router_config_unref(c);
}
