#include "proxy/range.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/str.h"

#define MAPPED_BITS 96

static void map_ipv4(uint8_t ret[16], const void *four)
{
    static const uint8_t prefix[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
    memcpy(ret, prefix, sizeof(prefix));
    memcpy(ret + sizeof(prefix), four, 4);
}

bool range_parse(const char *text, struct range *ret)
{
    char address[INET6_ADDRSTRLEN];
    struct in_addr four;
    int64_t bits;
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : 0;
    if (!slash || length >= sizeof(address) || !str_to_int(str_of(slash + 1), &bits) || bits < 0)
        return false;
    memcpy(address, text, length);
    address[length] = 0;
    if (inet_pton(AF_INET, address, &four) == 1 && bits <= 32) {
        map_ipv4(ret->bytes, &four);
        ret->bits = (unsigned)bits + MAPPED_BITS;
        return true;
    }
    ret->bits = (unsigned)bits;
    return inet_pton(AF_INET6, address, ret->bytes) == 1 && bits <= 128;
}

bool range_has(const struct range *r, const struct sockaddr *address)
{
    uint8_t bytes[16];
    if (address->sa_family == AF_INET)
        map_ipv4(bytes, &((const struct sockaddr_in *)(const void *)address)->sin_addr);
    else if (address->sa_family == AF_INET6)
        memcpy(bytes, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else
        return false;
    unsigned whole = r->bits / 8, rest = r->bits % 8;
    uint8_t mask = (uint8_t)(0xff00 >> rest);
    return memcmp(bytes, r->bytes, whole) == 0 &&
           (!rest || (bytes[whole] & mask) == (r->bytes[whole] & mask));
}
