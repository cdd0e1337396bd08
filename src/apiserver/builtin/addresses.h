#pragma once

/* Cluster IPs and node ports: which are given, and to whom the next one goes. */

#include "apiserver/core/server.h"

#define NODE_PORT_FIRST 30000
#define NODE_PORT_LAST 32767
#define ADDRESSES_MAX 65536

struct addresses {
    uint32_t network; /* host byte order */
    uint32_t count;   /* of addresses, the network's own among them */
    bool loaded;      /* of the store; without a server there is nothing to load */
    uint64_t ips[ADDRESSES_MAX / 64];
    uint64_t ports[(NODE_PORT_LAST - NODE_PORT_FIRST + 64) / 64];
};

/* "10.96.0.0/16"; of a larger range the first ADDRESSES_MAX are used. */
bool addresses_init(struct addresses *x, const char *cidr, struct error *err) must_check;
/* Reads what the stored Services (kind k) have, once. */
void addresses_load(struct addresses *x, struct apiserver *s, const struct api_kind *k);
/* A Service came, changed or went; absent: there is none. */
void addresses_note(struct addresses *x, struct json old, struct json fresh);

/* ADDRESS_RESERVED: the network's own or its last one, which nobody gets. */
enum address_state { ADDRESS_FREE, ADDRESS_TAKEN, ADDRESS_OUTSIDE, ADDRESS_RESERVED, ADDRESS_BAD };
enum address_state addresses_state(const struct addresses *x, const char *ip);
enum address_state addresses_port_state(const struct addresses *x, int64_t port);
/* A free one, sought from a place that the seed gives; NULL or 0: none is left. */
const char *addresses_choose(const struct addresses *x, struct arena *a, uint64_t seed);
int64_t addresses_choose_port(const struct addresses *x, uint64_t seed);
/* "10.96.0.0/16". */
const char *addresses_range(const struct addresses *x, struct arena *a);
