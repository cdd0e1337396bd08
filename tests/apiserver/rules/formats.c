#include "apiserver/rules/formats.h"

#include "tests/test.h"

TEST(formats_take_what_the_api_server_takes)
{
    static const struct {
        const char *format, *good, *bad;
    } rows[] = {
        { "bsonobjectid", "507f1f77bcf86cd799439011", "x" },
        { "byte", "YQ==", "YQ" },
        { "cidr", "10.0.0.0/8", "10.0.0.0/33" },
        { "creditcard", "5398228707871527", "5398228707871528" },
        { "date", "2024-02-29", "2023-02-29" },
        { "date-time", "2024-01-01t00:00:00.123+01:00", "2024-01-01T24:00:00Z" },
        { "duration", "3 weeks", "5" },
        { "email", "A <a@b.c>", "a@" },
        { "hexcolor", "#fff", "#ffff" },
        { "hostname", "a-b.example.com", "my-host" },
        { "ipv4", "::ffff:1.2.3.4", "1.2.3.256" },
        { "ipv6", "fe80::1", "1.2.3.4" },
        { "isbn", "978-4-87311-368-5", "123" },
        { "isbn10", "3-836-22119-5", "3836221194" },
        { "isbn13", "9784873113685", "9784873113684" },
        { "k8s-long-name", "a.b", "A" },
        { "k8s-short-name", "a", "a.b" },
        { "mac", "0011.2233.4455", "00:11:22:33:44:5g" },
        { "rgbcolor", "rgb( 1 , 2 , 3 )", "rgb(1,349,275)" },
        { "ssn", "078-05-1120", "078051120" },
        { "uri", "http://u:p@h:80/x#y", "http://a/%zz" },
        { "uuid", "0123456789abcdef0123456789ABCDEF", "x" },
        { "uuid3", "01234567-89ab-3def-0123-456789abcdef", "01234567-89ab-4def-0123-456789abcdef" },
        { "uuid4", "01234567-89ab-4def-8123-456789abcdef", "01234567-89ab-4def-0123-456789abcdef" },
        { "uuid5", "01234567-89ab-5def-8123-456789abcdef", "01234567-89ab-4def-8123-456789abcdef" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        enum format f = format_of(rows[i].format, "string");
        check(f != FORMAT_UNKNOWN);
        check(format_matches(f, str_of(rows[i].good)));
        check(!format_matches(f, str_of(rows[i].bad)));
    }
}

TEST(formats_belong_to_types)
{
    check_int(format_of("int32", "integer"), FORMAT_INT32);
    check_int(format_of("int32", "string"), FORMAT_UNKNOWN);
    check_int(format_of("ipv4", "integer"), FORMAT_UNKNOWN);
    check_int(format_of("ipv4", NULL), FORMAT_IPV4);
    check_int(format_of("unheard-of", "string"), FORMAT_UNKNOWN);
}
