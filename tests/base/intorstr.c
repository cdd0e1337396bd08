#include "base/intorstr.h"
#include "tests/test.h"

TEST(a_number_and_its_text_are_the_same_port)
{
    check(intorstr_equal(json_int(8080), json_str("8080")));
    check(intorstr_equal(json_str("http"), json_str("http")));
    check(!intorstr_equal(json_int(8080), json_str("http")));
    check(!intorstr_equal(json_int(8080), json_int(80)));
    check(!intorstr_equal(json_int(0), json_none));
    check(intorstr_equal(json_none, json_none));
    check(!intorstr_equal(json_str("25%"), json_int(25)));
}

TEST(percentages_are_scaled)
{
    int64_t got;
    struct error err;
    check(intorstr_scaled(json_int(7), 100, true, &got, &err));
    check_int(got, 7);
    check(intorstr_scaled(json_str("25%"), 10, true, &got, &err));
    check_int(got, 3);
    check(intorstr_scaled(json_str("25%"), 10, false, &got, &err));
    check_int(got, 2);
    check(intorstr_scaled(json_str("100%"), 10, true, &got, &err));
    check_int(got, 10);
    check(intorstr_scaled(json_str("-25%"), 10, false, &got, &err));
    check_int(got, -3);
    check(intorstr_scaled(json_str("0%"), 10, true, &got, &err));
    check_int(got, 0);
    static const char *const bad[] = { "", "%", "25", "25 %", "x%", "2.5%", "25%%" };
    for (size_t i = 0; i < lengthof(bad); i++)
        check_fails(intorstr_scaled(json_str(bad[i]), 10, true, &got, &err),
            err,
            "is not a percentage like 25%");
    check_fails(intorstr_scaled(json_bool(true), 10, true, &got, &err), err, "got boolean");
    check_fails(intorstr_scaled(json_str("9223372036854775807%"), 1000, true, &got, &err),
        err,
        "too large");
}
