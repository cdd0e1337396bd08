#include "base/hash.h"
#include "tests/test.h"

TEST(sha256_gives_the_digests_of_fips_180)
{
    struct arena *a = test_arena();
    check_text(
        sha256_hex(a, STR("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_text(sha256_hex(a, STR("abc")),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(sha256_may_be_added_to_in_pieces_or_given_up)
{
    struct sha256 h;
    sha256_init(&h);
    for (int i = 0; i < 1000000; i += 1000) {
        char part[1000];
        memset(part, 'a', sizeof(part));
        sha256_add(&h, part, sizeof(part));
    }
    check_text(sha256_end_hex(&h, test_arena()),
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    sha256_done(&h);
    sha256_init(&h);
    sha256_add(&h, "x", 1);
    sha256_done(&h);
}
