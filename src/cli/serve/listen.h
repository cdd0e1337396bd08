#pragma once

/* Listen addresses as people write them: "127.0.0.1:6443", "[::1]:6443", ":6443". */

#include "base/error.h"
#include "base/str.h"

struct listen_address {
    char host[128]; /* without brackets; "" for all addresses */
    uint16_t port;  /* 0: any free one */
};

/* flag: named in the error. */
bool listen_read(
    const char *flag, const char *text, struct listen_address *ret, struct error *err) must_check;
/* Whether only programs of this machine can reach it. */
bool listen_is_local(const struct listen_address *l);
/* Whether a request's Host, with or without a port, is an address, localhost or empty. A web page
 * of another site can make a browser send requests here, but only with that site's name as Host. */
bool listen_is_local_host(struct str authority);
/* The host for clients on this machine, IPv6 without brackets. */
const char *listen_name(const struct listen_address *l);
