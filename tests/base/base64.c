#include "base/base64.h"
#include "tests/test.h"

TEST(base64_gives_the_vectors_of_rfc_4648)
{
    static const char *const rows[][2] = { { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" } };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct str back;
        check_text(base64_encode(test_arena(), str_of(rows[i][0])), rows[i][1]);
        check(base64_decode(test_arena(), str_of(rows[i][1]), &back));
        check(str_eq(back, str_of(rows[i][0])));
    }
    check_text(base64_encode_url(test_arena(), STR("\xff\xfe\xfd\xfc")), "__79_A");
    check_text(base64_encode(test_arena(), STR("\xff\xfe\xfd\xfc")), "//79/A==");
}

TEST(base64_round_trips_every_length)
{
    char bytes[200];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 37 + 11);
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        struct str in = { bytes, length }, out;
        check(base64_decode(test_arena(), str_of(base64_encode(test_arena(), in)), &out));
        check(str_eq(in, out));
        check(base64_decode_url(test_arena(), str_of(base64_encode_url(test_arena(), in)), &out));
        check(str_eq(in, out));
    }
}

TEST(base64_refuses_what_is_not_the_one_text_of_a_value)
{
    static const char *const bad[] = { "Zg",
        "Zg=",
        "Zg===",
        "Z===",
        "====",
        "Zh==",
        "Zm9=",
        " Zg==",
        "Zg==\n",
        "Zm9v\nYg==",
        "Zg==Zg==",
        "__79",
        "Zm=v",
        "=Zm9",
        "Z" };
    struct str out;
    for (size_t i = 0; i < lengthof(bad); i++)
        if (base64_decode(test_arena(), str_of(bad[i]), &out))
            test_fail(__FILE__, __LINE__, "accepted %s", bad[i]);
    check(!base64_decode_url(test_arena(), STR("Zg=="), &out));
    check(!base64_decode_url(test_arena(), STR("//79"), &out));
    check(!base64_decode_url(test_arena(), STR("Zh"), &out));
    check(base64_decode_url(test_arena(), STR("Zg"), &out));
}
