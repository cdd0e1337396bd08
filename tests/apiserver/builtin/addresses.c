#include "apiserver/builtin/addresses.h"
#include "tests/test.h"

TEST(addresses_are_given_once_and_come_back)
{
    struct addresses *x = arena_new(test_arena(), struct addresses);
    struct error err;
    check(addresses_init(x, "10.0.0.0/29", &err));
    check_text(addresses_range(x, test_arena()), "10.0.0.0/29");
    check_int(addresses_state(x, "10.0.0.0"), ADDRESS_RESERVED);
    check_int(addresses_state(x, "10.0.0.7"), ADDRESS_RESERVED);
    check_int(addresses_state(x, "10.0.0.8"), ADDRESS_OUTSIDE);
    check_int(addresses_state(x, "x"), ADDRESS_BAD);
    struct json given[6];
    for (size_t i = 0; i < lengthof(given); i++) {
        const char *ip = addresses_choose(x, test_arena(), 12345);
        check(ip && addresses_state(x, ip) == ADDRESS_FREE);
        given[i] =
            json_fields(test_arena(), { "spec.clusterIPs", json_list(test_arena(), json_str(ip)) });
        addresses_note(x, json_none, given[i]);
        check_int(addresses_state(x, ip), ADDRESS_TAKEN);
    }
    check(!addresses_choose(x, test_arena(), 1));
    addresses_note(x, given[3], json_none);
    check_text(addresses_choose(x, test_arena(), 1), json_get_text(given[3], "spec.clusterIPs.0"));
}

TEST(addresses_have_node_ports)
{
    struct addresses *x = arena_new(test_arena(), struct addresses);
    struct error err;
    check(addresses_init(x, "10.96.0.0/12", &err));
    check_int(x->count, ADDRESSES_MAX);
    int64_t port = addresses_choose_port(x, 0);
    check_int(port, NODE_PORT_FIRST);
    addresses_note(x,
        json_none,
        test_json("{'spec': {'ports': [{'nodePort': 30000}], 'healthCheckNodePort': 30001}}"));
    check_int(addresses_choose_port(x, 0), 30002);
    check_int(addresses_port_state(x, 30001), ADDRESS_TAKEN);
    check_int(addresses_port_state(x, 80), ADDRESS_OUTSIDE);
    check_fails(addresses_init(x, "10.0.0.0", &err), err, "not an IPv4 range");
    check_fails(addresses_init(x, "10.0.0.0/31", &err), err, "not an IPv4 range");
}
