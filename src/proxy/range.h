#pragma once

/* Ranges of addresses in CIDR form: "10.0.0.0/8", "fd00::/8". */

#include <sys/socket.h>

#include "base/base.h"

struct range {
    uint8_t bytes[16]; /* IPv4 in the form ::ffff:0:0/96 */
    unsigned bits;
};

bool range_parse(const char *text, struct range *ret) must_check;
/* False for an address that is neither IPv4 nor IPv6. */
bool range_has(const struct range *r, const struct sockaddr *address);
