#include "cel/selector.h"

#include "tests/test.h"

static const char *trouble_of(const char *text)
{
    uint64_t cost = 0;
    return cel_selector_compile(test_arena(), text, &cost);
}

TEST(cel_a_selector_sees_the_device_and_its_types)
{
    check(!trouble_of("device.driver == 'x'"));
    check(!trouble_of("device.attributes['a'].b"));
    check(!trouble_of("device.capacity['a'].b.compareTo(quantity('1')) > 0"));
    check(!trouble_of("cel.bind(d, device.attributes['a'], d.b == 1)"));
    check_text(trouble_of("device.capacity['a'].b > 1"),
        "compilation failed: ERROR: <input>:1:24: found no matching overload for '_>_' applied to "
        "'(kubernetes.Quantity, int)'\n | device.capacity['a'].b > 1\n | "
        ".......................^");
}

TEST(cel_a_selector_that_is_no_condition_is_refused)
{
    check_text(trouble_of("device"),
        "must evaluate to bool or the unknown type, not kubernetes.DRADevice");
    check_text(trouble_of("device.attributes[?'a'].b"),
        "must evaluate to bool or the unknown type, not optional_type(google.protobuf.Any)");
    check_text(trouble_of("device.attributes"),
        "must evaluate to bool or the unknown type, not map(string, map(string, "
        "google.protobuf.Any))");
}

TEST(cel_a_selector_has_no_other_variable)
{
    check_text(trouble_of("self"),
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'self' (in container "
        "'')\n | self\n | ^");
    check(trouble_of("oldSelf"));
}
