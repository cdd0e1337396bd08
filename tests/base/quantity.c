#include "base/quantity.h"
#include "tests/test.h"

/* What kube-apiserver 1.36.4 stored for these texts: as a device's capacity in a ResourceSlice, and
 * as requests.cpu in a ResourceQuota (NULL: it takes no negative ones). Read back with a dry run.
 */
static const struct {
    const char *text, *stored, *in_resource_list;
} stored[] = {
    { "0", "0", "0" },
    { "00", "0", "0" },
    { "0.0", "0", "0" },
    { "-0", "0", "0" },
    { "+0", "0", "0" },
    { "0m", "0", "0" },
    { "0Ki", "0", "0" },
    { "0e5", "0", "0" },
    { ".0", "0", "0" },
    { "0.", "0", "0" },
    { "1", "1", "1" },
    { "5", "5", "5" },
    { "7", "7", "7" },
    { "10", "10", "10" },
    { "100", "100", "100" },
    { "1000", "1k", "1k" },
    { "10000", "10k", "10k" },
    { "1500", "1500", "1500" },
    { "1001", "1001", "1001" },
    { "999", "999", "999" },
    { "1023", "1023", "1023" },
    { "1024", "1024", "1024" },
    { "1025", "1025", "1025" },
    { "2048", "2048", "2048" },
    { "1000000", "1M", "1M" },
    { "1048576", "1048576", "1048576" },
    { "123456789", "123456789", "123456789" },
    { "1n", "1n", "1m" },
    { "5n", "5n", "1m" },
    { "999n", "999n", "1m" },
    { "1000n", "1u", "1m" },
    { "1500n", "1500n", "1m" },
    { "1000000n", "1m", "1m" },
    { "1000000000n", "1", "1" },
    { "1u", "1u", "1m" },
    { "1000u", "1m", "1m" },
    { "1500u", "1500u", "2m" },
    { "1000000u", "1", "1" },
    { "1m", "1m", "1m" },
    { "10m", "10m", "10m" },
    { "100m", "100m", "100m" },
    { "250m", "250m", "250m" },
    { "500m", "500m", "500m" },
    { "999m", "999m", "999m" },
    { "1000m", "1", "1" },
    { "1001m", "1001m", "1001m" },
    { "1500m", "1500m", "1500m" },
    { "2000m", "2", "2" },
    { "2500m", "2500m", "2500m" },
    { "10000m", "10", "10" },
    { "1000000m", "1k", "1k" },
    { "1k", "1k", "1k" },
    { "5k", "5k", "5k" },
    { "100k", "100k", "100k" },
    { "1000k", "1M", "1M" },
    { "1500k", "1500k", "1500k" },
    { "1.5k", "1500", "1500" },
    { "0.5k", "500", "500" },
    { "1M", "1M", "1M" },
    { "1000M", "1G", "1G" },
    { "1.5M", "1500k", "1500k" },
    { "0.001M", "1k", "1k" },
    { "1G", "1G", "1G" },
    { "1000G", "1T", "1T" },
    { "2.5G", "2500M", "2500M" },
    { "1T", "1T", "1T" },
    { "1000T", "1P", "1P" },
    { "1P", "1P", "1P" },
    { "1000P", "1E", "1E" },
    { "1E", "1E", "1E" },
    { "8E", "8E", "8E" },
    { "9E", "9E", "9E" },
    { "9.2E", "9200P", "9200P" },
    { "10E", "10E", "10E" },
    { "100E", "100E", "100E" },
    { "0.1E", "100P", "100P" },
    { "9.3E", "9300P", "9300P" },
    { "1Ki", "1Ki", "1Ki" },
    { "2Ki", "2Ki", "2Ki" },
    { "8Ki", "8Ki", "8Ki" },
    { "1000Ki", "1000Ki", "1000Ki" },
    { "1023Ki", "1023Ki", "1023Ki" },
    { "1024Ki", "1Mi", "1Mi" },
    { "1025Ki", "1025Ki", "1025Ki" },
    { "1536Ki", "1536Ki", "1536Ki" },
    { "2048Ki", "2Mi", "2Mi" },
    { "0.5Ki", "512", "512" },
    { "1.5Ki", "1536", "1536" },
    { "0.1Ki", "102400m", "102400m" },
    { "1.1Ki", "1126400m", "1126400m" },
    { "0.25Ki", "256", "256" },
    { "0.0001Ki", "102400u", "103m" },
    { "100Ki", "100Ki", "100Ki" },
    { "1Mi", "1Mi", "1Mi" },
    { "512Mi", "512Mi", "512Mi" },
    { "1000Mi", "1000Mi", "1000Mi" },
    { "1024Mi", "1Gi", "1Gi" },
    { "1500Mi", "1500Mi", "1500Mi" },
    { "2048Mi", "2Gi", "2Gi" },
    { "4096Mi", "4Gi", "4Gi" },
    { "10240Mi", "10Gi", "10Gi" },
    { "0.5Mi", "512Ki", "512Ki" },
    { "1.5Mi", "1536Ki", "1536Ki" },
    { "0.1Mi", "104857600m", "104857600m" },
    { "1.2Mi", "1258291200m", "1258291200m" },
    { "1Gi", "1Gi", "1Gi" },
    { "1.5Gi", "1536Mi", "1536Mi" },
    { "0.5Gi", "512Mi", "512Mi" },
    { "0.25Gi", "256Mi", "256Mi" },
    { "2.5Gi", "2560Mi", "2560Mi" },
    { "0.1Gi", "107374182400m", "107374182400m" },
    { "1.1Gi", "1181116006400m", "1181116006400m" },
    { "7.5Gi", "7680Mi", "7680Mi" },
    { "8Gi", "8Gi", "8Gi" },
    { "16Gi", "16Gi", "16Gi" },
    { "32Gi", "32Gi", "32Gi" },
    { "64Gi", "64Gi", "64Gi" },
    { "100Gi", "100Gi", "100Gi" },
    { "128Gi", "128Gi", "128Gi" },
    { "1000Gi", "1000Gi", "1000Gi" },
    { "1024Gi", "1Ti", "1Ti" },
    { "2048Gi", "2Ti", "2Ti" },
    { "1Ti", "1Ti", "1Ti" },
    { "1.5Ti", "1536Gi", "1536Gi" },
    { "0.5Ti", "512Gi", "512Gi" },
    { "1024Ti", "1Pi", "1Pi" },
    { "1Pi", "1Pi", "1Pi" },
    { "0.5Pi", "512Ti", "512Ti" },
    { "1.5Pi", "1536Ti", "1536Ti" },
    { "1024Pi", "1Ei", "1Ei" },
    { "1Ei", "1Ei", "1Ei" },
    { "7Ei", "7Ei", "7Ei" },
    { "7.5Ei", "7680Pi", "7680Pi" },
    { "8Ei", "9223372036854775807", "9223372036854775807" },
    { "9Ei", "9223372036854775807", "9223372036854775807" },
    { "16Ei", "9223372036854775807", "9223372036854775807" },
    { "100Ei", "9223372036854775807", "9223372036854775807" },
    { "1000000Ei", "9223372036854775807", "9223372036854775807" },
    { "7.9999Ei", "9223256744704315123302400u", "9223256744704315123303m" },
    { "1e0", "1e0", "1e0" },
    { "1e1", "10", "10" },
    { "1e2", "100", "100" },
    { "1e3", "1e3", "1e3" },
    { "2e3", "2e3", "2e3" },
    { "12e6", "12e6", "12e6" },
    { "1e6", "1e6", "1e6" },
    { "1e9", "1e9", "1e9" },
    { "1.5e3", "1500", "1500" },
    { "1.5e9", "1500e6", "1500e6" },
    { "1e-1", "100e-3", "100e-3" },
    { "1e-3", "1e-3", "1e-3" },
    { "1e-9", "1e-9", "1e-3" },
    { "1e-10", "1e-9", "1e-3" },
    { "5e-1", "500e-3", "500e-3" },
    { "25e-2", "250e-3", "250e-3" },
    { "100e-3", "100e-3", "100e-3" },
    { "1e+3", "1e+3", "1e+3" },
    { "1E3", "1E3", "1E3" },
    { "1E+6", "1E+6", "1E+6" },
    { "1E-3", "1E-3", "1E-3" },
    { "1E6", "1E6", "1E6" },
    { "1e03", "1e03", "1e03" },
    { "1e18", "1e18", "1e18" },
    { "1e20", "100e18", "100e18" },
    { "1000e3", "1e6", "1e6" },
    { "1500e6", "1500e6", "1500e6" },
    { "0.1e1", "1", "1" },
    { "123e1", "1230", "1230" },
    { "0.1", "100m", "100m" },
    { "0.5", "500m", "500m" },
    { "0.25", "250m", "250m" },
    { "1.5", "1500m", "1500m" },
    { "2.5", "2500m", "2500m" },
    { "3.14", "3140m", "3140m" },
    { "0.001", "1m", "1m" },
    { "0.0001", "100u", "1m" },
    { "0.000001", "1u", "1m" },
    { "0.000000001", "1n", "1m" },
    { "0.0000000001", "1n", "1m" },
    { "0.9n", "1n", "1m" },
    { "1.1n", "2n", "1m" },
    { "0.00000000123", "2n", "1m" },
    { "1.0", "1", "1" },
    { "1.00", "1", "1" },
    { "1.000", "1", "1" },
    { "1.5000", "1500m", "1500m" },
    { "1.500", "1.500", "1.500" },
    { "1.100", "1.100", "1.100" },
    { "0.100", "100m", "100m" },
    { "10.0", "10", "10" },
    { "100.000", "100", "100" },
    { "12.345", "12.345", "12.345" },
    { "1.2345", "1234500u", "1235m" },
    { ".5", "500m", "500m" },
    { ".25", "250m", "250m" },
    { "5.", "5.", "5." },
    { "1.G", "1.G", "1.G" },
    { "1.Gi", "1.Gi", "1.Gi" },
    { "3.0Gi", "3Gi", "3Gi" },
    { "1.0Ki", "1Ki", "1Ki" },
    { "+1", "+1", "+1" },
    { "+5", "+5", "+5" },
    { "+1000", "1k", "1k" },
    { "+1.5", "1500m", "1500m" },
    { "+1Gi", "+1Gi", "+1Gi" },
    { "-1", "-1", NULL },
    { "-5", "-5", NULL },
    { "-1000", "-1k", NULL },
    { "-1000m", "-1", NULL },
    { "-1.5", "-1500m", NULL },
    { "-1Gi", "-1Gi", NULL },
    { "-1024Mi", "-1Gi", NULL },
    { "-0.1", "-100m", NULL },
    { "-0.9n", "-1n", NULL },
    { "-8Ei", "-9223372036854775807", NULL },
    { "-9Ei", "-9223372036854775807", NULL },
    { "-1500m", "-1500m", NULL },
    { "-1e3", "-1e3", NULL },
    { "-0.5Ki", "-512", NULL },
    { "001", "001", "001" },
    { "010", "010", "010" },
    { "007Ki", "007Ki", "007Ki" },
    { "0001000", "1k", "1k" },
    { "01.5", "1500m", "1500m" },
    { "0008Gi", "8Gi", "8Gi" },
    { "0100m", "0100m", "0100m" },
    { "1000000000000", "1T", "1T" },
    { "123456789012345678", "123456789012345678", "123456789012345678" },
    { "1234567890123456789", "1234567890123456789", "1234567890123456789" },
    { "12345678901234567890", "12345678901234567890", "12345678901234567890" },
    { "999999999999999999", "999999999999999999", "999999999999999999" },
    { "1000000000000000000", "1E", "1E" },
    { "9223372036854775807", "9223372036854775807", "9223372036854775807" },
    { "9223372036854775808", "9223372036854775808", "9223372036854775808" },
    { "18446744073709551616", "18446744073709551616", "18446744073709551616" },
    { "100000000000000000000", "100E", "100E" },
    { "9223372036854775807Ki", "9223372036854775807", "9223372036854775807" },
    { "1.123456789", "1.123456789", "1124m" },
    { "1.1234567891", "1123456790n", "1124m" },
    { "1.123456789Ki", "1150419751936n", "1150420m" },
    { "12345678.123456789", "12345678.123456789", "12345678124m" },
    { "0.123456789012345678", "123456790n", "124m" },
    { "123456789.987654321G", "123456789.987654321G", "123456789.987654321G" },
    { "m", "0", "0" },
    { "Ki", "0", "0" },
    { ".", "0", "0" },
    { "-", "0", "0" },
    { "+", "0", "0" },
    { "k", "0", "0" },
    { "e3", "0", "0" },
    { "E", "0", "0" },
    { "-.", "0", "0" },
    { ".m", "0", "0" },
    { " 1", "1", "1" },
    { "1 ", "1", "1" },
};

TEST(quantities_become_what_the_api_server_stores)
{
    struct arena *a = test_arena();
    for (size_t i = 0; i < lengthof(stored); i++) {
        check_text(quantity_canonical(a, stored[i].text), stored[i].stored);
        if (stored[i].in_resource_list)
            check_text(quantity_canonical_resource(a, stored[i].text), stored[i].in_resource_list);
    }
}

TEST(canonical_forms_are_canonical_and_equal_to_what_was_written)
{
    struct arena *a = test_arena();
    for (size_t i = 0; i < lengthof(stored); i++) {
        struct quantity written, again;
        check_text(quantity_canonical(a, stored[i].stored), stored[i].stored);
        check(quantity_text_equal(stored[i].text, stored[i].stored));
        check(quantity_parse(str_of(stored[i].text), &written, NULL));
        check(quantity_parse(str_of(quantity_to_text(a, written)), &again, NULL));
        check_int(quantity_compare(written, again), 0);
    }
}

/* All of these the same kube-apiserver refused. */
TEST(what_is_not_a_quantity_is_refused)
{
    static const char *const bad[] = { "Ei",
        "Pi",
        "1K",
        "1kb",
        "1i",
        "1mi",
        "1gi",
        "1KI",
        "1B",
        "1GiB",
        "1e",
        "1e+",
        "1e1.5",
        "e",
        "1.2.3",
        "1,5",
        "1_000",
        "--1",
        "+-1",
        "1-1",
        "0x10",
        "1ee3",
        "soon",
        "NaN",
        "inf",
        "1h",
        "1g",
        "1MI",
        "1Zi",
        "1Y",
        "1d",
        "1e+-3",
        "5%",
        "",
        "1 Gi" };
    struct error err;
    struct quantity q;
    for (size_t i = 0; i < lengthof(bad); i++) {
        if (quantity_parse(str_of(bad[i]), &q, &err))
            test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
        check(err.code == ERR_INVALID);
        check_text(quantity_canonical(test_arena(), bad[i]), NULL);
    }
    check_text(quantity_canonical(test_arena(), NULL), NULL);
    check_fails(quantity_parse(STR("1kb"), &q, &err), err, "the suffix kb is none of");
}

TEST(what_the_api_server_takes_and_we_refuse_says_why)
{
    struct error err;
    struct quantity q;
    check_fails(quantity_parse(STR("1e1000001"), &q, &err), err, "the exponent is beyond");
    check_fails(quantity_parse(STR("1e99999999999999999999"), &q, &err), err, "the exponent is");
    check_fails(quantity_parse(STR("1234567890123456789012345678901234567"), &q, &err),
        err,
        "too many digits");
    check_fails(quantity_parse(STR("0.12345678901234567891Ki"), &q, &err), err, "too many digits");
    /* Zeros and what is smaller than a nano do not count. */
    check_text(quantity_canonical(test_arena(), "1234567890123456789012345678901234560000"),
        "1234567890123456789012345678901234560k");
}

static struct quantity quantity(const char *text)
{
    struct quantity q;
    check(quantity_parse(str_of(text), &q, NULL));
    return q;
}

TEST(quantities_have_one_order_whatever_their_suffixes)
{
    static const char *const rising[] = { "-1e100",
        "-8Ei",
        "-1E",
        "-1Ki",
        "-1",
        "-1m",
        "-1n",
        "0",
        "1n",
        "1001n",
        "1m",
        "1.000000001m",
        "0.5",
        "999m",
        "1",
        "1.5",
        "1k",
        "1Ki",
        "1M",
        "1Mi",
        "1G",
        "1Gi",
        "1.5Gi",
        "2G",
        "1T",
        "1Ti",
        "1P",
        "1Pi",
        "1E",
        "1Ei",
        "9223372036854775806",
        "8Ei",
        "9223372036854775808",
        "10E",
        "1000E",
        "1e30",
        "123456789012345678901234567890123456",
        "1e36",
        "1e100",
        "1e1000000" };
    for (size_t i = 0; i < lengthof(rising); i++)
        for (size_t k = 0; k < lengthof(rising); k++) {
            int got = quantity_compare(quantity(rising[i]), quantity(rising[k]));
            int want = (i > k) - (i < k);
            if (got != want)
                test_fail(__FILE__, __LINE__, "%s <=> %s is %d", rising[i], rising[k], got);
        }
    check(quantity_text_equal("1000m", "1"));
    check(quantity_text_equal("1Gi", "1073741824"));
    check(quantity_text_equal("1.5Gi", "1536Mi"));
    check(!quantity_text_equal("1G", "1Gi"));
    check(quantity_text_equal("soon", "soon"));
    check(!quantity_text_equal("soon", "1"));
    check(!quantity_text_equal(NULL, "1"));
    check(quantity_text_equal(NULL, NULL));
}

TEST(whole_values_are_rounded_away_from_zero_and_clamped)
{
    check_int(quantity_value(quantity("1.5Gi")), 1610612736);
    check_int(quantity_value(quantity("1m")), 1);
    check_int(quantity_value(quantity("-1m")), -1);
    check_int(quantity_value(quantity("1001m")), 2);
    check_int(quantity_value(quantity("10E")), INT64_MAX);
    check_int(quantity_value(quantity("-10E")), INT64_MIN);
    check_int(quantity_value(quantity("1e1000000")), INT64_MAX);
    check_int(quantity_value(quantity("-9223372036854775808")), INT64_MIN);
    check_int(quantity_value(quantity("9223372036854775807")), INT64_MAX);
    check_int(quantity_milli_value(quantity("250m")), 250);
    check_int(quantity_milli_value(quantity("1u")), 1);
    check_int(quantity_milli_value(quantity("2")), 2000);
}

TEST(bytes_are_written_with_binary_suffixes)
{
    struct arena *a = test_arena();
    check_text(quantity_to_text(a, quantity_of_bytes(0)), "0");
    check_text(quantity_to_text(a, quantity_of_bytes(1000)), "1k");
    check_text(quantity_to_text(a, quantity_of_bytes(5368709120)), "5Gi");
    check_text(quantity_to_text(a, quantity_of_bytes(5368709121)), "5368709121");
    check_text(quantity_to_text(a, quantity_of_bytes(-2048)), "-2Ki");
    check_text(quantity_to_text(a, quantity_of_bytes(INT64_MAX)), "9223372036854775807");
}

TEST(quantities_add_up_as_the_api_server_adds_them)
{
    static const char *const cases[][4] = {
        /* a, b, a + b, a - b */
        { "100m", "1", "1100m", "-900m" },
        { "0", "1Gi", "1Gi", "-1Gi" },
        { "1Gi", "0", "1Gi", "1Gi" },
        { "1Gi", "1", "1073741825", "1073741823" },
        { "512Mi", "512Mi", "1Gi", "0" },
        { "1k", "1Ki", "2024", "-24" },
        { "1e3", "1", "1001", "999" },
        { "1n", "1E", "1000000000000000000000000001n", "-999999999999999999999999999n" },
        { "1n", "1e39", "1e39", "-1e39" },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct quantity x, y;
        check(quantity_parse(str_of(cases[i][0]), &x, NULL));
        check(quantity_parse(str_of(cases[i][1]), &y, NULL));
        check_text(quantity_to_text(&a, quantity_plus(x, y)), cases[i][2]);
        check_text(quantity_to_text(&a, quantity_minus(x, y)), cases[i][3]);
    }
}
