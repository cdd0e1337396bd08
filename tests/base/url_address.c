#include "base/url.h"
#include "tests/test.h"

static const struct {
    const char *host;
    enum url_address kind;
} addresses[] = {
    { "example.com", URL_ADDRESS_NONE },
    { "", URL_ADDRESS_NONE },
    { "1.2.3", URL_ADDRESS_NONE },
    { "8.8.8.8", URL_ADDRESS_PUBLIC },
    { "2606:4700::1", URL_ADDRESS_PUBLIC },
    { "127.0.0.1", URL_ADDRESS_LOOPBACK },
    { "127.255.255.254", URL_ADDRESS_LOOPBACK },
    { "128.0.0.1", URL_ADDRESS_PUBLIC },
    { "::1", URL_ADDRESS_LOOPBACK },
    { "0:0:0:0:0:0:0:1", URL_ADDRESS_LOOPBACK },
    { "169.254.169.254", URL_ADDRESS_LINK_LOCAL },
    { "fe80::1", URL_ADDRESS_LINK_LOCAL },
    { "fe80::1%eth0", URL_ADDRESS_LINK_LOCAL },
    { "febf::1", URL_ADDRESS_LINK_LOCAL },
    { "fec0::1", URL_ADDRESS_PRIVATE },
    { "10.1.2.3", URL_ADDRESS_PRIVATE },
    { "172.15.0.1", URL_ADDRESS_PUBLIC },
    { "172.16.0.1", URL_ADDRESS_PRIVATE },
    { "172.31.255.255", URL_ADDRESS_PRIVATE },
    { "172.32.0.1", URL_ADDRESS_PUBLIC },
    { "192.168.0.1", URL_ADDRESS_PRIVATE },
    { "192.167.0.1", URL_ADDRESS_PUBLIC },
    { "100.63.255.255", URL_ADDRESS_PUBLIC },
    { "100.64.0.1", URL_ADDRESS_PRIVATE },
    { "100.127.255.255", URL_ADDRESS_PRIVATE },
    { "100.128.0.0", URL_ADDRESS_PUBLIC },
    { "fd00::1", URL_ADDRESS_PRIVATE },
    { "fc00::1", URL_ADDRESS_PRIVATE },
    { "192.0.0.8", URL_ADDRESS_RESERVED },
    { "192.0.1.1", URL_ADDRESS_PUBLIC },
    { "192.0.2.1", URL_ADDRESS_RESERVED },
    { "198.18.0.1", URL_ADDRESS_RESERVED },
    { "198.19.255.255", URL_ADDRESS_RESERVED },
    { "198.20.0.0", URL_ADDRESS_PUBLIC },
    { "192.88.99.1", URL_ADDRESS_RESERVED },
    { "198.51.100.7", URL_ADDRESS_RESERVED },
    { "203.0.113.7", URL_ADDRESS_RESERVED },
    { "240.0.0.1", URL_ADDRESS_RESERVED },
    { "2001:db8::1", URL_ADDRESS_RESERVED },
    { "2001::1", URL_ADDRESS_RESERVED },
    { "100::1", URL_ADDRESS_RESERVED },
    { "224.0.0.1", URL_ADDRESS_MULTICAST },
    { "239.255.255.250", URL_ADDRESS_MULTICAST },
    { "255.255.255.255", URL_ADDRESS_MULTICAST },
    { "ff02::1", URL_ADDRESS_MULTICAST },
    { "0.0.0.0", URL_ADDRESS_UNSPECIFIED },
    { "0.1.2.3", URL_ADDRESS_UNSPECIFIED },
    { "::", URL_ADDRESS_UNSPECIFIED },
    /* IPv6 addresses that carry an IPv4 one. */
    { "::ffff:127.0.0.1", URL_ADDRESS_LOOPBACK },
    { "::ffff:7f00:1", URL_ADDRESS_LOOPBACK },
    { "::ffff:8.8.8.8", URL_ADDRESS_PUBLIC },
    { "::ffff:0:10.0.0.1", URL_ADDRESS_PRIVATE },
    { "64:ff9b::169.254.169.254", URL_ADDRESS_LINK_LOCAL },
    { "64:ff9b::8.8.8.8", URL_ADDRESS_PUBLIC },
    { "64:ff9b:1::8.8.8.8", URL_ADDRESS_PRIVATE },
    { "2002:7f00:1::1", URL_ADDRESS_LOOPBACK },
    { "2002:808:808::1", URL_ADDRESS_PUBLIC },
    { "::127.0.0.1", URL_ADDRESS_LOOPBACK },
    { "::10.0.0.1", URL_ADDRESS_PRIVATE },
};

TEST(addresses_are_of_the_kind_that_iana_says)
{
    for (size_t i = 0; i < lengthof(addresses); i++) {
        if (url_address_kind(addresses[i].host) != addresses[i].kind)
            test_fail(__FILE__,
                __LINE__,
                "%s is %d",
                addresses[i].host,
                url_address_kind(addresses[i].host));
        bool local =
            addresses[i].kind != URL_ADDRESS_NONE && addresses[i].kind != URL_ADDRESS_PUBLIC;
        if (!text_eq(addresses[i].host, "1.2.3"))
            check(url_host_is_private_ip(addresses[i].host) == local);
    }
    check(url_address_kind(NULL) == URL_ADDRESS_NONE);
}

TEST(odd_spellings_of_ipv4_are_noticed)
{
    static const char *const odd[] = { "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "010.0.0.1",
        "1.2.3",
        "127.0.0.1.",
        "8.8.8.8." };
    static const char *const even[] = {
        "127.0.0.1", "8.8.8.8", "example.com", "1.2.3.4.5", "::1", "7b", "", "256.1.1.1", "a.1"
    };
    for (size_t i = 0; i < lengthof(odd); i++) {
        if (!url_host_is_odd_ipv4(odd[i]))
            test_fail(__FILE__, __LINE__, "%s", odd[i]);
        check(url_host_is_private_ip(odd[i]));
    }
    for (size_t i = 0; i < lengthof(even); i++)
        if (url_host_is_odd_ipv4(even[i]))
            test_fail(__FILE__, __LINE__, "%s", even[i]);
    check(!url_host_is_odd_ipv4(NULL));
}
