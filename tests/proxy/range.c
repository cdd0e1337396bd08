#include "proxy/range.h"

#include <arpa/inet.h>

#include "tests/test.h"

static bool has(const char *range, const char *address)
{
    struct range r;
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    check(range_parse(range, &r));
    if (inet_pton(AF_INET, address, &four.sin_addr) == 1)
        return range_has(&r, (struct sockaddr *)&four);
    check_int(inet_pton(AF_INET6, address, &six.sin6_addr), 1);
    return range_has(&r, (struct sockaddr *)&six);
}

TEST(a_range_has_the_addresses_of_its_prefix)
{
    check(has("10.0.0.0/8", "10.255.0.1") && !has("10.0.0.0/8", "11.0.0.1"));
    check(has("192.0.2.128/25", "192.0.2.129") && !has("192.0.2.128/25", "192.0.2.127"));
    check(has("0.0.0.0/0", "203.0.113.9") && !has("0.0.0.0/0", "fd00::1"));
    check(has("192.0.2.7/32", "192.0.2.7") && !has("192.0.2.7/32", "192.0.2.6"));
    check(has("fd00::/8", "fdff::1") && !has("fd00::/8", "fe80::1"));
    check(has("10.0.0.0/8", "::ffff:10.1.2.3")); /* a socket of both families */
}

TEST(what_is_no_range_is_refused)
{
    static const char *const bad[] = {
        "", "10.0.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "fd00::/129", "x/8", "fd00::/"
    };
    struct range r;
    for (size_t i = 0; i < lengthof(bad); i++)
        check(!range_parse(bad[i], &r));
}
