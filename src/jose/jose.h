#pragma once

/* Signed tokens and the keys that verify them: JWS in its compact form (RFC 7515), JWT claims (RFC
 * 7519), JSON Web Key Sets (RFC 7517, 7518, 8037).
 *
 *   jwt_parse() ──> jwt_verify(keys) ──> claims: jwt_time(), jwt_is_for()
 *
 * Supported: RS256/384/512, PS256/384/512, ES256/384/512 and EdDSA (Ed25519). Shared secrets
 * (HS256) and `none` are refused, because keys of a JWKS are public. A key is used only for its
 * purpose: its kty, crv, alg and use must fit the token's algorithm. */

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

struct jwk_set;

#define JWT_BYTES_MAX ((size_t)64 << 10)
#define JWK_COUNT_MAX 256

/* Skips keys of other types and uses. A set without any usable key is valid. */
struct jwk_set *jwk_set_new(struct str text, struct error *err) must_check;
void jwk_set_free(struct jwk_set *s); /* takes NULL */
size_t jwk_set_count(const struct jwk_set *s);
bool jwk_set_has(const struct jwk_set *s, const char *kid);

struct jwt {
    struct json header, claims;
    const char *algorithm;
    const char *kid;        /* NULL: none */
    struct str signed_part; /* header.payload, in the text */
    struct str signature;   /* decoded */
};

/* Parses without verifying. False: not a JWS in compact form with a JSON object inside. The result
 * points into text and the arena. */
bool jwt_parse(struct arena *a, struct str text, struct jwt *ret, struct error *err) must_check;
/* Whether the algorithm is supported. */
bool jwt_knows(const struct jwt *t);
/* ERR_NOT_FOUND: no key of that kid (and type). ERR_UNAUTHORIZED: the signature is wrong.
 * ERR_UNSUPPORTED: algorithm or critical header. */
bool jwt_verify(const struct jwt *t, const struct jwk_set *keys, struct error *err) must_check;

/* A time claim in seconds. False: missing or not a number. */
bool jwt_time(struct json claims, const char *name, int64_t *ret_s) must_check;
/* Whether the claim "aud", a text or a list, contains this audience. */
bool jwt_is_for(struct json claims, const char *audience);

/* Signs a token with RS256, which the header must name. key_pem is an RSA key. */
bool jwt_sign(struct arena *a, struct json header, struct json claims, struct str key_pem,
    const char **ret, struct error *err) must_check;
