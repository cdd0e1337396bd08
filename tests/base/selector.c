#include "base/selector.h"
#include "tests/test.h"

static bool matches(const char *text, const char *labels)
{
    struct selector s;
    struct error err;
    if (!selector_parse(test_arena(), text, &s, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
    return selector_matches(&s, test_json(labels));
}

TEST(label_selectors_match_as_kubernetes_matches)
{
    static const struct {
        const char *selector, *labels;
        bool matches;
    } rows[] = {
        { "", "{}", true },
        { " ", "{'a': 'b'}", true },
        { "a=b", "{'a': 'b'}", true },
        { "a == b", "{'a': 'b'}", true },
        { "a=b", "{'a': 'c'}", false },
        { "a=b", "{}", false },
        { "a=", "{'a': ''}", true },
        { "a=", "{}", false },
        { "a!=b", "{}", true },
        { "a!=b", "{'a': 'b'}", false },
        { "a!=b", "{'a': 'c'}", true },
        { "a", "{'a': ''}", true },
        { "a", "{'b': ''}", false },
        { "!a", "{'b': ''}", true },
        { "! a", "{'a': 'x'}", false },
        { "a in (b, c)", "{'a': 'c'}", true },
        { "a in (b,c)", "{'a': 'd'}", false },
        { "a in (b,c)", "{}", false },
        { "a in (,c)", "{'a': ''}", true },
        { "a in ()", "{'a': ''}", true },
        { "a notin (b,c)", "{'a': 'd'}", true },
        { "a notin (b,c)", "{'a': 'b'}", false },
        { "a notin (b,c)", "{}", true },
        { "a>4", "{'a': '5'}", true },
        { "a>5", "{'a': '5'}", false },
        { "a<4", "{'a': '-5'}", true },
        { "a<4", "{'a': 'x'}", false },
        { "a<4", "{}", false },
        { "in in (in,notin)", "{'in': 'notin'}", true },
        { "a=b,c!=d,e", "{'a': 'b', 'e': ''}", true },
        { "a=b,c!=d,e", "{'a': 'b', 'c': 'd', 'e': ''}", false },
        { "example.com/a=b", "{'example.com/a': 'b'}", true },
        { "a=b", "null", false },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        if (matches(rows[i].selector, rows[i].labels) != rows[i].matches)
            test_fail(__FILE__, __LINE__, "%s on %s", rows[i].selector, rows[i].labels);
    struct selector s;
    check(selector_parse(test_arena(), NULL, &s, NULL));
    check(selector_matches(&s, json_none));
}

TEST(bad_label_selectors_name_the_place)
{
    static const char *const rows[][2] = {
        { "a=b,", "column 5: expected a label key, found the end" },
        { ",a", "column 1: expected a label key, found ," },
        { "a=b c", "column 5: expected , or the end, found c" },
        { "a in b", "column 6: expected (, found b" },
        { "a in (b", "column 8: expected , or ), found the end" },
        { "a in (b c)", "column 9: expected , or ), found c" },
        { "a ~ b", "column 3: expected one of = == != in notin > < , or the end, found ~" },
        { "!a=b", "column 3: expected , or the end, found =" },
        { "a,-b", "column 3: key \"-b\": name part must consist of" },
        { "x,a=-b", "column 3: value \"-b\": a valid label must be" },
        { "a>x", "column 1: > and < take a whole number" },
        { "!", "column 2: expected a label key, found the end" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct selector s;
        struct error err;
        check_fails(selector_parse(test_arena(), rows[i][0], &s, &err), err, rows[i][1]);
        check(!selector_parse(test_arena(), rows[i][0], &s, NULL));
    }
}

TEST(selectors_have_limits)
{
    char many[5000];
    struct selector s;
    struct error err;
    memset(many, 'a', sizeof(many));
    for (size_t i = 1; i < sizeof(many); i += 2)
        many[i] = ',';
    many[sizeof(many) - 1] = '\0';
    check_fails(selector_parse(test_arena(), many, &s, &err), err, "more than 256 requirements");
    memcpy(many, "a in (", 6);
    check_fails(selector_parse(test_arena(), many, &s, &err), err, "more than 1024 values");
}

static bool json_matches(const char *selector, const char *labels)
{
    struct selector s;
    struct error err;
    if (!selector_from_json(test_arena(), test_json(selector), "spec.selector", &s, &err))
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return selector_matches(&s, test_json(labels));
}

TEST(label_selectors_as_objects)
{
    check(json_matches("{}", "{}"));
    check(!json_matches("null", "{}"));
    check(json_matches("{'matchLabels': {'a': 'b'}}", "{'a': 'b', 'c': 'd'}"));
    check(!json_matches("{'matchLabels': {'a': 'b', 'x': 'y'}}", "{'a': 'b'}"));
    const char *expressions = "{'matchExpressions': ["
                              "{'key': 'a', 'operator': 'In', 'values': ['x', 'b']},"
                              "{'key': 'c', 'operator': 'NotIn', 'values': ['d']},"
                              "{'key': 'e', 'operator': 'Exists'},"
                              "{'key': 'f', 'operator': 'DoesNotExist', 'values': []}]}";
    check(json_matches(expressions, "{'a': 'b', 'e': ''}"));
    check(!json_matches(expressions, "{'a': 'b', 'e': '', 'f': ''}"));
    check(!json_matches(expressions, "{'a': 'b', 'e': '', 'c': 'd'}"));
    check(!json_matches(expressions, "{'a': 'b'}"));
}

TEST(bad_label_selectors_as_objects_name_the_path)
{
    static const char *const rows[][2] = {
        { "[]", "spec.selector: expected object, got " },
        { "{'matchLabels': {'a': 1}}", "spec.selector.matchLabels: expected string as value" },
        { "{'matchLabels': {'-': 'x'}}", "spec.selector.matchLabels: key \"-\"" },
        { "{'matchExpressions': [{'key': 'a', 'operator': 'Exists'}, {'key': 'a', 'operator': "
          "'In'}]}",
            "spec.selector.matchExpressions[1]: values: must be given when operator is In" },
        { "{'matchExpressions': [{'key': 'a', 'operator': 'Exists', 'values': ['b']}]}",
            "spec.selector.matchExpressions[0]: values: may not be given when operator is Exists" },
        { "{'matchExpressions': [{'key': 'a', 'operator': 'Gt'}]}",
            "spec.selector.matchExpressions[0]: operator: expected In, NotIn" },
        { "{'matchExpressions': [{'operator': 'Exists'}]}",
            "spec.selector.matchExpressions[0]: key \"\": name part must be non-empty" },
        { "{'matchExpressions': [5]}", "spec.selector.matchExpressions[0]: operator: expected" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct selector s;
        struct error err;
        check_fails(
            selector_from_json(test_arena(), test_json(rows[i][0]), "spec.selector", &s, &err),
            err,
            rows[i][1]);
    }
}

TEST(field_selectors)
{
    struct selector s;
    struct error err;
    struct json pod = test_json("{'metadata': {'name': 'a,b'}, 'status': {'phase': 'Running'},"
                                " 'spec': {'replicas': 3}}");
    static const struct {
        const char *text;
        bool matches;
    } rows[] = {
        { "", true },
        { "metadata.name=a\\,b", true },
        { "metadata.name==a\\,b,status.phase!=Failed", true },
        { "status.phase!=Running", false },
        { "spec.nodeName=", true },
        { "spec.nodeName!=", false },
        { "spec.replicas=3", true },
        { ",status.phase=Running,", true },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        check(selector_parse_fields(test_arena(), rows[i].text, &s, &err));
        if (selector_matches_fields(&s, pod) != rows[i].matches)
            test_fail(__FILE__, __LINE__, "%s", rows[i].text);
    }
    check_fails(
        selector_parse_fields(test_arena(), "a=b,c", &s, &err), err, "column 5: expected a");
    check_fails(selector_parse_fields(test_arena(), "a=b=c", &s, &err), err, "column 1: a = in");
    check_fails(
        selector_parse_fields(test_arena(), "a=\\x", &s, &err), err, "a \\ must come before");
    check_fails(selector_parse_fields(test_arena(), "=x", &s, &err), err, "expected a field");
}

TEST(selectors_become_text_again)
{
    struct selector s;
    check(selector_parse(
        test_arena(), "b in (z, y),a==x , !gone,there,n!=1,m notin (q,p),k>5,j<3,e=", &s, NULL));
    check_text(selector_to_text(test_arena(), &s),
        "b in (y,z),a=x,!gone,there,n!=1,m notin (p,q),k>5,j<3,e=");
}
