#include "apiserver/rules/check.h"
#include "tests/test.h"

static const char *checked(const char *object, const struct check *rules)
{
    struct field_errors e;
    field_errors_init(&e, test_arena());
    check_table(&e, test_json(object), "", rules);
    return field_errors_text(&e);
}

TEST(check_words_errors_as_the_api_server)
{
    static const char *const colours[] = { "red", "blue", NULL };
    static const struct check rules[] = {
        { "name", CHECK_REQUIRED },
        { "n", CHECK_MIN, .min = 1 },
        { "colour", CHECK_ENUM, colours },
        { "ports.*.port", CHECK_PORT },
        { "ports.*.target", CHECK_PORT_OR_NAME },
        { "ip", CHECK_IP },
        { "path", CHECK_LOCAL_PATH },
        { 0 },
    };
    check_text(
        checked("{'name': 'x', 'n': 1, 'colour': 'red', 'ports': [{'port': 80}]}", rules), "");
    check_text(checked("{}", rules), "name: Required value");
    check_text(checked("{'name': 'x', 'n': 0, 'colour': 'y'}", rules),
        "[n: Invalid value: 0: must be greater than or equal to 1, colour: Unsupported value: "
        "\"y\": "
        "supported values: \"red\", \"blue\"]");
    check_text(checked("{'name': 'x', 'ports': [{}, {'port': 0, 'target': 'web'}]}", rules),
        "ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive");
    check_text(checked("{'name': 'x', 'ip': '1.2.3', 'path': 'a/../b'}", rules),
        "[ip: Invalid value: \"1.2.3\": must be a valid IP address, (e.g. 10.9.8.7 or "
        "2001:db8::ffff), path: Invalid value: \"a/../b\": must not contain '..']");
}

TEST(check_knows_addresses)
{
    check(check_is_ip("::1") && check_is_ip("10.0.0.1") && !check_is_ip("10.0.0") &&
          !check_is_ip(""));
    check(check_is_cidr("10.0.0.0/8") && check_is_cidr("::/0") && !check_is_cidr("10.0.0.0") &&
          !check_is_cidr("10.0.0.0/33") && !check_is_cidr("x/8"));
}
