#include "apiserver/access/token.h"

#include "base/base64.h"
#include "tests/test.h"

TEST(a_token_is_read_back_by_its_key_alone)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json claims = json_map(&a, { "sub", json_str("x") }, { "exp", json_int(5) }), got;
    const char *token = token_sign(&a, STR("a key of at least thirty-two bytes"), claims);
    check(token_verify(&a, STR("a key of at least thirty-two bytes"), str_of(token), &got));
    check(json_equal(got, claims));
    check(!token_verify(&a, STR("another key of thirty-two bytes.."), str_of(token), &got));
    char *changed = arena_strdup(&a, token);
    changed[strlen(changed) - 3] ^= 1;
    check(!token_verify(&a, STR("a key of at least thirty-two bytes"), str_of(changed), &got));
    static const char *const bad[] = { "", ".", "..", "a.b", "a.b.c", "e30.e30.e30" };
    for (size_t i = 0; i < lengthof(bad); i++)
        check(!token_verify(&a, STR("key"), str_of(bad[i]), &got));
}

/* RFC 7515, A.1, with its header and claims: the signature is the one printed there. */
TEST(a_signature_is_that_of_the_standard)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    static const char key[] =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcg"
        "UuTwjAzZr1Z9CAow";
    static const char token[] =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9."
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cn"
        "VlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    struct json claims;
    struct str bytes;
    check(base64_decode_url(&a, str_of(key), &bytes));
    check(token_verify(&a, bytes, str_of(token), &claims));
    check_text(json_get_text(claims, "iss"), "joe");
}
