/* The step `awssts`: which role claims lead to, and what is read of an answer of STS. Signatures
 * are checked from outside, by aws.py. */

#include "mcp/middleware/aws_role.h"
#include "mcp/middleware/aws_sts.h"
#include "tests/test.h"

#define ROLE(name) "arn:aws:iam::123456789012:role/" name
#define RULE(key, value, role, priority)                                                           \
    "{'" key "': " value ", 'role_arn': '" ROLE(role) "', 'priority': " #priority "}"

static struct aws_roles *roles_of(const char *config, struct error *err)
{
    return aws_roles_new(test_arena(), test_json(config), err);
}

TEST(mcp_a_role_is_chosen_by_claims)
{
    static const struct {
        const char *config, *claims, *want;
    } cases[] = {
        { "{'fallback_role_arn': '" ROLE("f") "'}", "{}", ROLE("f") },
        { "{'role_mappings': [" RULE("claim", "'x'", "x", 0) "]}",
            "{'groups': ['y', 'x']}",
            ROLE("x") },
        { "{'role_mappings': [" RULE("claim", "'x'", "x", 0) "]}", "{'groups': ['y']}", NULL },
        { "{'role_mappings': [" RULE("claim", "'x'", "x", 0) "]}", "{'groups': 'x'}", NULL },
        { "{'role_mappings': [" RULE("claim", "'x'", "x", 0) "]}",
            "{'groups': {'x': 1}}",
            ROLE("x") },
        { "{'role_claim': 'r', 'role_mappings': [" RULE("claim", "'x'", "x", 0) "]}",
            "{'r': ['x']}",
            ROLE("x") },
        /* The lowest priority, then the first. */
        { "{'role_mappings': [" RULE("claim", "'x'", "a", 2) "," RULE(
              "claim", "'y'", "b", 1) "," RULE("claim", "'y'", "c", 1) "]}",
            "{'groups': ['x', 'y']}",
            ROLE("b") },
        { "{'role_mappings': [" RULE("matcher",
              "'claims.level >= 2 && claims[\\\"realm\\\"].roles.exists(r, "
              "r.startsWith(\\\"ad\\\"))'",
              "m",
              0) "]}",
            "{'level': 2, 'realm': {'roles': ['u', 'admin']}}",
            ROLE("m") },
        /* What fails does not match. */
        { "{'fallback_role_arn': '" ROLE("f") "', 'role_mappings': [" RULE(
              "matcher", "'claims.no.such == 1'", "m", 0) "]}",
            "{'sub': 'a'}",
            ROLE("f") },
        { "{'fallback_role_arn': '" ROLE("f") "', 'role_mappings': [" RULE(
              "matcher", "'claims.sub'", "m", 0) "]}",
            "{'sub': 'a'}",
            ROLE("f") },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct error err = { 0 };
        struct aws_roles *r = roles_of(cases[i].config, &err);
        if (!r)
            test_fail(__FILE__, __LINE__, "%s: %s", cases[i].config, err.text);
        check_text(aws_roles_choose(r, test_arena(), test_json(cases[i].claims)), cases[i].want);
    }
}

TEST(mcp_rules_for_roles_that_cannot_work_are_refused)
{
    static const struct {
        const char *config, *part;
    } cases[] = {
        { "{}", "needs fallback_role_arn or role_mappings" },
        { "{'fallback_role_arn': 'arn:aws:iam::12:role/a'}", "fallback_role_arn: \"arn:aws" },
        { "{'role_mappings': [{'role_arn': '" ROLE("a") "'}]}", "role_mappings[0]: needs either" },
        { "{'role_mappings': [{'claim': 'a', 'role_arn': 'arn:aws:s3:::b'}]}",
            "role_mappings[0]: role_arn" },
        { "{'role_mappings': [" RULE("matcher", "'claims.'", "a", 0) "]}",
            "matcher: compilation failed" },
        { "{'role_mappings': [" RULE("matcher", "'self == 1'", "a", 0) "]}",
            "undeclared reference to 'self'" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct error err = { 0 };
        check_fails(roles_of(cases[i].config, &err) != NULL, err, cases[i].part);
    }
}

TEST(mcp_keys_are_read_whole_or_not_at_all)
{
    static const struct {
        const char *xml;
        bool good;
    } cases[] = {
        { "<A><Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>s/+=</SecretAccessKey>"
          "<SessionToken>t</SessionToken><Expiration>2026-11-19T04:00:00Z</Expiration></"
          "Credentials>",
            true },
        { "<A><AccessKeyId>i</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t"
          "</SessionToken><Expiration>2026-11-19T04:00:00Z</Expiration>",
            false },
        { "<Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>&lt;</SecretAccessKey>"
          "<SessionToken>t</SessionToken><Expiration>2026-11-19T04:00:00Z</Expiration>",
            false },
        { "<Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
          "<SessionToken>t</SessionToken><Expiration>soon</Expiration>",
            false },
        { "<Credentials><AccessKeyId>i</AccessKeyId><SecretAccessKey>s</"
          "SecretAccessKey><SessionToken",
            false },
        { "", false },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct aws_keys keys;
        check(aws_read_keys(test_arena(), str_of(cases[i].xml), &keys) == cases[i].good);
        if (cases[i].good) {
            check_text(keys.secret, "s/+=");
            check_int(keys.expires_ms, 1795060800000);
        }
    }
}
