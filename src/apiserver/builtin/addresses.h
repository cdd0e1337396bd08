#pragma once

/* Cluster IPs and node ports: which are taken, and allocation of free ones. */

#include "apiserver/core/server.h"

#define NODE_PORT_FIRST 30000
#define NODE_PORT_LAST 32767
#define ADDRESSES_MAX 65536

struct addresses {
    uint32_t network; /* host byte order */
    uint32_t count;   /* number of addresses, including the network address */
    bool loaded;      /* from the store; without a server there is nothing to load */
    uint64_t ips[ADDRESSES_MAX / 64];
    uint64_t ports[(NODE_PORT_LAST - NODE_PORT_FIRST + 64) / 64];
};

/* "10.96.0.0/16"; of a larger range only the first ADDRESSES_MAX are used. */
bool addresses_init(struct addresses *x, const char *cidr, struct error *err) must_check;
/* Reads the addresses of the stored Services (kind k), once. */
void addresses_load(struct addresses *x, struct apiserver *s, const struct api_kind *k);
/* A Service was created, changed or deleted; absent: it does not exist. */
void addresses_note(struct addresses *x, struct json old, struct json fresh);

/* ADDRESS_RESERVED: the network address or the last address, which are never allocated. */
enum address_state { ADDRESS_FREE, ADDRESS_TAKEN, ADDRESS_OUTSIDE, ADDRESS_RESERVED, ADDRESS_BAD };
enum address_state addresses_state(const struct addresses *x, const char *ip);
enum address_state addresses_port_state(const struct addresses *x, int64_t port);
/* A free one; the search starts at a position given by the seed. NULL or 0: none is left. */
const char *addresses_choose(const struct addresses *x, struct arena *a, uint64_t seed);
int64_t addresses_choose_port(const struct addresses *x, uint64_t seed);
/* "10.96.0.0/16". */
const char *addresses_range(const struct addresses *x, struct arena *a);
