/* Tokens and key sets: the bytes are a token, a key set, or both with a line end in between. No
 * token that is made up is proved. */

#include "fuzz/fuzz.h"
#include "jose/jose.h"
#include "tests/jose/vectors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    static struct jwk_set *known;
    struct str rest = { (const char *)data, size };
    struct error err;
    struct jwt t;
    int64_t at;
    if (!known)
        known = jwk_set_new(str_of(vector_keys), &err);
    assert(known);
    struct str token = str_cut(&rest, '\n');
    struct jwk_set *keys = jwk_set_new(rest, &err);
    assert(keys || err.text[0]);
    if (jwt_parse(&a, token, &t, &err)) {
        bool ours = false;
        for (size_t i = 0; i < lengthof(vectors); i++)
            ours = ours || str_eq(token, str_of(vectors[i].token));
        assert(!jwt_verify(&t, known, &err) || ours);
        if (keys)
            (void)!jwt_verify(&t, keys, &err);
        (void)!jwt_time(t.claims, "exp", &at);
        (void)jwt_is_for(t.claims, "a");
    } else {
        assert(err.text[0]);
    }
    jwk_set_free(keys);
    return 0;
}
