/* The type of a host's address, so that a server that fetches a URL for a client does not fetch it
 * from itself, its neighbours, or its cloud's metadata service. */

#include <arpa/inet.h>
#include <string.h>

#include "base/url.h"

struct range {
    uint8_t prefix[16];
    int bits;
    enum url_address kind;
};

/* IANA's special-purpose registries (RFC 6890 and later), narrower ranges before wider ones. */
static const struct range ipv4_ranges[] = {
    { { 0 }, 8, URL_ADDRESS_UNSPECIFIED },
    { { 10 }, 8, URL_ADDRESS_PRIVATE },
    { { 100, 64 }, 10, URL_ADDRESS_PRIVATE }, /* carrier-grade NAT, RFC 6598 */
    { { 127 }, 8, URL_ADDRESS_LOOPBACK },
    { { 169, 254 }, 16, URL_ADDRESS_LINK_LOCAL },
    { { 172, 16 }, 12, URL_ADDRESS_PRIVATE },
    { { 192, 0, 0 }, 24, URL_ADDRESS_RESERVED },
    { { 192, 0, 2 }, 24, URL_ADDRESS_RESERVED },
    { { 192, 88, 99 }, 24, URL_ADDRESS_RESERVED }, /* 6to4 relays */
    { { 192, 168 }, 16, URL_ADDRESS_PRIVATE },
    { { 198, 18 }, 15, URL_ADDRESS_RESERVED }, /* benchmarks */
    { { 198, 51, 100 }, 24, URL_ADDRESS_RESERVED },
    { { 203, 0, 113 }, 24, URL_ADDRESS_RESERVED },
    { { 224 }, 4, URL_ADDRESS_MULTICAST },
    { { 255, 255, 255, 255 }, 32, URL_ADDRESS_MULTICAST },
    { { 240 }, 4, URL_ADDRESS_RESERVED },
};
static const struct range ipv6_ranges[] = {
    { { 0 }, 128, URL_ADDRESS_UNSPECIFIED },
    { { [15] = 1 }, 128, URL_ADDRESS_LOOPBACK },
    { { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, URL_ADDRESS_PRIVATE }, /* local NAT64 */
    { { 0x01 }, 64, URL_ADDRESS_RESERVED },                              /* discard, 100::/64 */
    { { 0x20, 0x01, 0x0d, 0xb8 }, 32, URL_ADDRESS_RESERVED },
    { { 0x20, 0x01, 0x00, 0x00 }, 32, URL_ADDRESS_RESERVED }, /* Teredo: reaches into NATs */
    { { 0x20, 0x01 }, 23, URL_ADDRESS_RESERVED },
    { { 0x3f, 0xff }, 20, URL_ADDRESS_RESERVED },
    { { 0x5f }, 16, URL_ADDRESS_RESERVED },
    { { 0xfc }, 7, URL_ADDRESS_PRIVATE },
    { { 0xfe, 0x80 }, 10, URL_ADDRESS_LINK_LOCAL },
    { { 0xfe, 0xc0 }, 10, URL_ADDRESS_PRIVATE }, /* site-local, deprecated */
    { { 0xff }, 8, URL_ADDRESS_MULTICAST },
};
/* Prefixes that are followed by an IPv4 address. */
static const struct {
    uint8_t prefix[16];
    int bits;
} ipv4_carriers[] = {
    { { [10] = 0xff, [11] = 0xff }, 96 }, /* mapped */
    { { [8] = 0xff, [9] = 0xff }, 96 },   /* translated, RFC 2765 */
    { { 0x00, 0x64, 0xff, 0x9b }, 96 },   /* NAT64, RFC 6052 */
    { { 0x20, 0x02 }, 16 },               /* 6to4 */
    { { 0 }, 96 },                        /* compatible, deprecated */
};

static bool in_prefix(const uint8_t *address, const uint8_t *prefix, int bits)
{
    if (memcmp(address, prefix, (size_t)(bits / 8)) != 0)
        return false;
    int mask = 0xff00 >> (bits % 8) & 0xff;
    return mask == 0 || ((address[bits / 8] ^ prefix[bits / 8]) & mask) == 0;
}

static enum url_address find(const struct range *ranges, size_t count, const uint8_t *address)
{
    for (size_t i = 0; i < count; i++)
        if (in_prefix(address, ranges[i].prefix, ranges[i].bits))
            return ranges[i].kind;
    return URL_ADDRESS_PUBLIC;
}

enum url_address url_address_kind(const char *host)
{
    uint8_t address[16];
    if (!host)
        return URL_ADDRESS_NONE;
    if (inet_pton(AF_INET, host, address) == 1)
        return find(ipv4_ranges, lengthof(ipv4_ranges), address);
    char text[INET6_ADDRSTRLEN];
    size_t length = strcspn(host, "%");
    if (length >= sizeof(text))
        return URL_ADDRESS_NONE;
    memcpy(text, host, length);
    text[length] = '\0';
    if (inet_pton(AF_INET6, text, address) != 1)
        return URL_ADDRESS_NONE;
    enum url_address kind = find(ipv6_ranges, lengthof(ipv6_ranges), address);
    for (size_t i = 0; kind == URL_ADDRESS_PUBLIC && i < lengthof(ipv4_carriers); i++) {
        int bits = ipv4_carriers[i].bits;
        if (in_prefix(address, ipv4_carriers[i].prefix, bits))
            return find(ipv4_ranges, lengthof(ipv4_ranges), address + bits / 8);
    }
    return kind;
}

bool url_host_is_odd_ipv4(const char *host)
{
    uint8_t address[4];
    struct in_addr parsed;
    /* The C library's old parser accepts octal, hexadecimal and fewer than four parts. A final dot
     * makes a text a name that a resolver still reads as a number. */
    char text[64];
    size_t length = host ? strlen(host) : 0;
    if (length == 0 || length >= sizeof(text))
        return false;
    memcpy(text, host, length + 1);
    if (inet_pton(AF_INET, text, address) == 1)
        return false;
    if (text[length - 1] == '.')
        text[length - 1] = '\0';
    return inet_aton(text, &parsed) != 0;
}

bool url_host_is_private_ip(const char *host)
{
    enum url_address kind = url_address_kind(host);
    return (kind != URL_ADDRESS_NONE && kind != URL_ADDRESS_PUBLIC) || url_host_is_odd_ipv4(host);
}
