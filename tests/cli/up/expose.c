#include "cli/up/expose.h"

#include "tests/test.h"

TEST(addresses_to_expose_are_this_machines_and_beyond_loopback_there_is_a_warning)
{
    struct expose e;
    struct error err;
    check(expose_read(test_arena(), "127.0.0.1,127.0.0.9", &e, &err));
    check_json(e.list, "['127.0.0.1', '127.0.0.9']");
    check_text(e.addresses[1], "127.0.0.9");
    check(!e.addresses[2] && !e.warning);
    check_fails(expose_read(test_arena(), "0.0.0.0", &e, &err), err, "0.0.0.0 is all addresses");
    check_fails(expose_read(test_arena(), "192.0.2.254", &e, &err), err, "it has 127.0.0.1");
    check_fails(expose_read(test_arena(), "localhost", &e, &err), err, "no address of this");
    check_fails(expose_read(test_arena(), "127.0.0.1,", &e, &err), err, "no address of this");
    check_fails(
        expose_read(test_arena(), "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5", &e, &err),
        err,
        "at most 4 addresses");
}
