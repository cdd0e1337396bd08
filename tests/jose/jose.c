#include "jose/jose.h"

#include "base/base64.h"
#include "tests/jose/vectors.h"
#include "tests/test.h"

static struct jwk_set *keys(void)
{
    struct error err;
    struct jwk_set *s = jwk_set_new(str_of(vector_keys), &err);
    check(s);
    return s;
}

static struct jwt parsed(const char *text)
{
    struct jwt t;
    struct error err;
    check(jwt_parse(test_arena(), str_of(text), &t, &err));
    return t;
}

TEST(jose_every_algorithm_is_proved)
{
    struct jwk_set *s = keys();
    for (size_t i = 0; i < lengthof(vectors); i++) {
        struct jwt t = parsed(vectors[i].token);
        struct error err;
        check_text(t.algorithm, vectors[i].algorithm);
        check(jwt_knows(&t));
        check(jwt_verify(&t, s, &err));
        check_text(json_text(json_member(t.claims, "sub")), "ann");
    }
    jwk_set_free(s);
}

/* One bit anywhere in what is signed, or in the signature. */
TEST(jose_changed_tokens_are_not_proved)
{
    struct jwk_set *s = keys();
    for (size_t i = 0; i < lengthof(vectors); i++) {
        struct jwt t = parsed(vectors[i].token);
        struct error err;
        char *text = arena_strndup(test_arena(), t.signed_part.ptr, t.signed_part.len);
        text[t.signed_part.len - 3] ^= 1;
        t.signed_part.ptr = text;
        check_fails(jwt_verify(&t, s, &err), err, "signature is invalid");
        t = parsed(vectors[i].token);
        ((char *)t.signature.ptr)[t.signature.len / 2] ^= 4;
        check_fails(jwt_verify(&t, s, &err), err, "signature is invalid");
        t.signature.len--;
        check_fails(jwt_verify(&t, s, &err), err, "signature is invalid");
        t.signature.len = 0;
        check_fails(jwt_verify(&t, s, &err), err, "signature is invalid");
    }
    jwk_set_free(s);
}

TEST(jose_keys_prove_only_what_they_are_for)
{
    struct jwk_set *s = keys();
    struct error err;
    /* Too short, and one for encryption: left out. */
    check_int((int64_t)jwk_set_count(s), 5);
    check(!jwk_set_has(s, "short") && !jwk_set_has(s, "enc"));
    struct jwt t = parsed(vectors[6].token);
    t.kid = "rsa";
    check_fails(jwt_verify(&t, s, &err), err, "not found");
    t.kid = "ES384";
    check_fails(jwt_verify(&t, s, &err), err, "not found");
    t = parsed(vectors[0].token);
    t.algorithm = "RS384";
    check_fails(jwt_verify(&t, s, &err), err, "signature is invalid");
    t.kid = NULL;
    check_fails(jwt_verify(&t, s, &err), err, "missing kid");
    jwk_set_free(s);
}

static const char *token(const char *header, const char *payload)
{
    return arena_printf(test_arena(),
        "%s.%s.",
        base64_encode_url(test_arena(), str_of(header)),
        base64_encode_url(test_arena(), str_of(payload)));
}

TEST(jose_unsigned_tokens_and_shared_secrets_are_refused)
{
    struct jwk_set *s = keys();
    struct error err;
    struct jwt t = parsed(token("{\"alg\":\"none\",\"kid\":\"rsa\"}", "{}"));
    check(!jwt_knows(&t));
    check_fails(jwt_verify(&t, s, &err), err, "unexpected signing method: none");
    t = parsed(vector_shared_secret);
    check_fails(jwt_verify(&t, s, &err), err, "unexpected signing method: HS256");
    t = parsed(token("{\"alg\":\"RS256\",\"kid\":\"rsa\",\"crit\":[\"b64\"]}", "{}"));
    check_fails(jwt_verify(&t, s, &err), err, "critical");
    jwk_set_free(s);
}

TEST(jose_what_is_no_token_is_not_parsed)
{
    static const char *const texts[] = { "",
        ".",
        "..",
        "abc",
        "a.b",
        "a.b.c.d",
        "e30.e30",
        "e30.e30.",
        "eyJhbGciOjF9.e30.",
        "W10.e30.",
        "eyJhbGciOiJSUzI1NiJ9.e30.==",
        "eyJhbGciOiJSUzI1NiJ9.e30=.",
        "eyJhbGciOiJSUzI1NiJ9 .e30." };
    for (size_t i = 0; i < lengthof(texts); i++) {
        struct jwt t;
        check(!jwt_parse(test_arena(), str_of(texts[i]), &t, NULL));
    }
}

TEST(jose_bad_key_sets_are_refused_or_empty)
{
    static const char *const empty[] = { "{\"keys\":[]}",
        "{\"keys\":[1,null,{}]}",
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}]}",
        "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
        /* not on the curve */
        "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAE\",\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}" };
    for (size_t i = 0; i < lengthof(empty); i++) {
        struct error err;
        struct jwk_set *s = jwk_set_new(str_of(empty[i]), &err);
        check(s);
        check_int((int64_t)jwk_set_count(s), 0);
        jwk_set_free(s);
    }
    check(!jwk_set_new(STR("{}"), NULL));
    check(!jwk_set_new(STR("no"), NULL));
}

TEST(jose_times_and_audiences_of_claims)
{
    int64_t at;
    struct json c = test_json("{'exp': 5.9, 'nbf': 'x', 'iat': 1e300, 'aud': ['a', 'b']}");
    check(jwt_time(c, "exp", &at));
    check_int(at, 5);
    check(!jwt_time(c, "nbf", &at) && !jwt_time(c, "iat", &at) && !jwt_time(c, "no", &at));
    check(jwt_is_for(c, "b") && !jwt_is_for(c, "c"));
    check(jwt_is_for(test_json("{'aud': 'a'}"), "a") && !jwt_is_for(test_json("{}"), "a"));
}
