#include "base/time.h"
#include "tests/test.h"

#include <time.h>

TEST(instants_are_written_as_rfc_3339)
{
    struct arena *a = test_arena();
    check_text(time_format(a, 0), "1970-01-01T00:00:00Z");
    check_text(time_format(a, 1794762000999), "2026-11-15T17:00:00Z");
    check_text(time_format(a, -1), "1969-12-31T23:59:59Z");
    check_text(time_format(a, 951782400000), "2000-02-29T00:00:00Z");
    check_text(time_format_micro(a, 1794762000123456), "2026-11-15T17:00:00.123456Z");
    check_text(time_format_micro(a, 1794762000000000), "2026-11-15T17:00:00.000000Z");
}

TEST(instants_are_read_with_fractions_and_offsets)
{
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {
        { "1970-01-01T00:00:00Z", 0 },
        { "2026-11-15T17:00:00Z", 1794762000000000 },
        { "2026-11-15T19:30:00+02:30", 1794762000000000 },
        { "2026-11-15T12:00:00-05:00", 1794762000000000 },
        { "2026-11-15T17:00:00.5Z", 1794762000500000 },
        { "2026-11-15T17:00:00.123456789Z", 1794762000123456 },
        { "2026-11-15T17:00:00.000000000000000000000000000001Z", 1794762000000000 },
        { "2026-11-15T17:00:00,5Z", 1794762000500000 },
        { "2026-11-15T9:00:00Z", 1794733200000000 },
        { "2026-11-16T17:00:00+24:00", 1794762000000000 },
        { "1969-12-31T23:59:59.5Z", -500000 },
        { "0000-01-01T00:00:00Z", -62167219200000000 },
        { "9999-12-31T23:59:59Z", 253402300799000000 },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        int64_t us, ms;
        check(time_parse_micro(rows[i].text, &us));
        check_int(us, rows[i].us);
        check(time_parse(rows[i].text, &ms));
    }
    int64_t ms;
    check(time_parse("1969-12-31T23:59:59.5Z", &ms));
    check_int(ms, -500);
}

TEST(what_is_not_an_instant_is_refused)
{
    static const char *const bad[] = { "",
        "2026",
        "2026-11-15",
        "2026-11-15T17:00:00",
        "2026-11-15 17:00:00Z",
        "2026-11-15t17:00:00z",
        "2026-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T23:59:60Z",
        "2026-11-15T17:00:00.Z",
        "2026-11-15T17:00:00Z ",
        "2026-11-15T17:00:00+2:00",
        "2026-11-15T17:00:00+25:00",
        "2026-11-15T17:00:00+02:61",
        "2026-11-15T17:00:00+0200",
        "26-11-15T17:00:00Z",
        "-026-11-15T17:00:00Z",
        "2026-11-15T:00:00Z",
        "2026-11-15T",
        "2026-11-15T1" };
    int64_t ms;
    for (size_t i = 0; i < lengthof(bad); i++)
        if (time_parse(bad[i], &ms))
            test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
    check(!time_parse(NULL, &ms));
}

TEST(every_day_of_400_years_agrees_with_the_c_library)
{
    for (int64_t day = -100000; day < 100000; day += 1) {
        struct tm tm;
        time_t s = (time_t)day * 86400 + (day * 7919) % 86400;
        check(gmtime_r(&s, &tm));
        char want[32];
        strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
        cleanup(arena_done) struct arena a = ARENA_INIT;
        const char *got = time_format(&a, (int64_t)s * 1000);
        int64_t back;
        if (!text_eq(got, want) || !time_parse(got, &back) || back != (int64_t)s * 1000)
            test_fail(__FILE__, __LINE__, "day %lld: %s, not %s", (long long)day, got, want);
    }
}

TEST(durations_are_read_as_go_reads_them)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {
        { "0", 0 },
        { "-0", 0 },
        { "+0", 0 },
        { "0s", 0 },
        { "5s", 5000000000 },
        { "1h30m", 5400000000000 },
        { "300ms", 300000000 },
        { "1.5s", 1500000000 },
        { "-1.5h", -5400000000000 },
        { "+5s", 5000000000 },
        { ".5s", 500000000 },
        { "5.s", 5000000000 },
        { "1h0m0.25s", 3600250000000 },
        { "12us", 12000 },
        { "12\u00b5s", 12000 },
        { "12\u03bcs", 12000 },
        { "1s1s", 2000000000 },
        { "0.3333333333333333333h", 1200000000000 },
        { "9223372036854775807ns", INT64_MAX },
        { "-9223372036854775808ns", INT64_MIN },
        { "0.100000000000000000000h", 360000000000 },
        { "9007199254740993ns", 9007199254740993 },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        int64_t ns;
        check(time_duration_parse(rows[i].text, &ns));
        check_int(ns, rows[i].ns);
    }
    static const char *const bad[] = { "",
        "5",
        "-",
        "+",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "soon",
        "1 s",
        " 1s",
        "1s ",
        "1e3s",
        "--1s",
        "1h-5m",
        "9223372036854775808ns",
        "3000000h",
        "-9223372036854775809ns",
        "99999999999999999999999999999999999999999s" };
    int64_t ns;
    for (size_t i = 0; i < lengthof(bad); i++)
        if (time_duration_parse(bad[i], &ns))
            test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
    check(!time_duration_parse(NULL, &ns));
}

TEST(what_is_wrong_with_a_duration_is_said_in_gos_words)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "invalid", "invalid duration \"invalid\"" },
        { "1", "missing unit in duration \"1\"" },
        { "1s2", "missing unit in duration \"1s2\"" },
        { "-", "invalid duration \"-\"" },
        { ".", "invalid duration \".\"" },
        { "1d", "unknown unit \"d\" in duration \"1d\"" },
        { "1e3s", "unknown unit \"e\" in duration \"1e3s\"" },
        { "1 s", "unknown unit \" s\" in duration \"1 s\"" },
        { "1\n\"\xc3\xbc",
            "unknown unit \"\\x0a\\\"\\xc3\\xbc\" in duration "
            "\"1\\x0a\\\"\\xc3\\xbc\"" },
        { "9999999999h", "invalid duration \"9999999999h\"" },
        { "1.5s", NULL },
        { "0", NULL },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *why = time_duration_error(test_arena(), rows[i].text);
        check(!why == !rows[i].why);
        if (why)
            check_text(why, rows[i].why);
    }
}

TEST(durations_are_written_as_go_writes_them)
{
    static const struct {
        int64_t ns;
        const char *text;
    } rows[] = {
        { 0, "0s" },
        { 1, "1ns" },
        { 1100, "1.1\u00b5s" },
        { 2200000, "2.2ms" },
        { 3300000000, "3.3s" },
        { 60000000000, "1m0s" },
        { 245000000000, "4m5s" },
        { 245001000000, "4m5.001s" },
        { 18367001000000, "5h6m7.001s" },
        { 5400000000000, "1h30m0s" },
        { 480000000001, "8m0.000000001s" },
        { -1500000000, "-1.5s" },
        { INT64_MAX, "2562047h47m16.854775807s" },
        { INT64_MIN, "-2562047h47m16.854775808s" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        int64_t back;
        check_text(time_duration_format(test_arena(), rows[i].ns), rows[i].text);
        check(time_duration_parse(rows[i].text, &back));
        check_int(back, rows[i].ns);
    }
}
