#include "apiserver/builtin/addresses.h"

#include <arpa/inet.h>

#include "apiserver/store/store.h"

static bool read_ip(const char *text, uint32_t *ret)
{
    struct in_addr in;
    if (inet_pton(AF_INET, text, &in) != 1)
        return false;
    *ret = ntohl(in.s_addr);
    return true;
}

static const char *ip_text(struct arena *a, uint32_t ip)
{
    return arena_printf(a, "%u.%u.%u.%u", ip >> 24, (ip >> 16) & 0xff, (ip >> 8) & 0xff, ip & 0xff);
}

bool addresses_init(struct addresses *x, const char *cidr, struct error *err)
{
    *x = (struct addresses){ 0 };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str rest = str_of(cidr), network = str_cut(&rest, '/');
    int64_t bits;
    if (!rest.ptr || !read_ip(str_dup(&a, network), &x->network) || !str_to_int(rest, &bits) ||
        bits < 8 || bits > 30)
        return fail(err,
            ERR_INVALID,
            "service range %s is not an IPv4 range such as 10.96.0.0/16, of at least 4 addresses",
            cidr);
    x->count = UINT32_C(1) << (32 - bits);
    x->network &= ~(x->count - 1);
    if (x->count > ADDRESSES_MAX)
        x->count = ADDRESSES_MAX;
    return true;
}

static bool bit_of(const uint64_t *bits, uint32_t at)
{
    return bits[at / 64] >> (at % 64) & 1;
}

static void set_bit(uint64_t *bits, uint32_t at, bool value)
{
    uint64_t mask = UINT64_C(1) << (at % 64);
    bits[at / 64] = value ? bits[at / 64] | mask : bits[at / 64] & ~mask;
}

static void mark_port(struct addresses *x, int64_t port, bool taken)
{
    if (port >= NODE_PORT_FIRST && port <= NODE_PORT_LAST)
        set_bit(x->ports, (uint32_t)(port - NODE_PORT_FIRST), taken);
}

static void mark(struct addresses *x, struct json service, bool taken)
{
    struct json spec = json_member(service, "spec");
    json_each (ip, json_member(spec, "clusterIPs")) {
        uint32_t value;
        if (ip->type == JSON_STR && read_ip(ip->string, &value) && value - x->network < x->count)
            set_bit(x->ips, value - x->network, taken);
    }
    json_each (port, json_member(spec, "ports"))
        mark_port(x, json_get_int(*port, "nodePort", 0), taken);
    mark_port(x, json_get_int(spec, "healthCheckNodePort", 0), taken);
}

void addresses_note(struct addresses *x, struct json old, struct json fresh)
{
    mark(x, old, false);
    mark(x, fresh, true);
}

void addresses_load(struct addresses *x, struct apiserver *s, const struct api_kind *k)
{
    if (x->loaded || !s)
        return;
    x->loaded = true;
    struct store_table *t = store_table(apiserver_store(s), k->table);
    const struct store_object *o;
    struct store_cursor c = { 0 };
    while ((o = store_next(t, &c))) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct json service;
        struct error err;
        if (json_parse(&a, o->text, &service, &err))
            mark(x, service, true);
    }
}

enum address_state addresses_state(const struct addresses *x, const char *ip)
{
    uint32_t value;
    if (!read_ip(ip, &value))
        return ADDRESS_BAD;
    if (value - x->network >= x->count)
        return ADDRESS_OUTSIDE;
    if (value == x->network || value - x->network == x->count - 1)
        return ADDRESS_RESERVED;
    return bit_of(x->ips, value - x->network) ? ADDRESS_TAKEN : ADDRESS_FREE;
}

enum address_state addresses_port_state(const struct addresses *x, int64_t port)
{
    if (port < NODE_PORT_FIRST || port > NODE_PORT_LAST)
        return ADDRESS_OUTSIDE;
    return bit_of(x->ports, (uint32_t)(port - NODE_PORT_FIRST)) ? ADDRESS_TAKEN : ADDRESS_FREE;
}

const char *addresses_choose(const struct addresses *x, struct arena *a, uint64_t seed)
{
    uint32_t usable = x->count - 2; /* without the first and the last address */
    for (uint32_t i = 0; i < usable; i++) {
        uint32_t at = 1 + (uint32_t)((seed + i) % usable);
        if (!bit_of(x->ips, at))
            return ip_text(a, x->network + at);
    }
    return NULL;
}

int64_t addresses_choose_port(const struct addresses *x, uint64_t seed)
{
    uint32_t count = NODE_PORT_LAST - NODE_PORT_FIRST + 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)((seed + i) % count);
        if (!bit_of(x->ports, at))
            return NODE_PORT_FIRST + at;
    }
    return 0;
}

const char *addresses_range(const struct addresses *x, struct arena *a)
{
    int bits = 32;
    for (uint32_t n = x->count; n > 1; n /= 2)
        bits--;
    return arena_printf(a, "%s/%d", ip_text(a, x->network), bits);
}
