#include "jose/key.h"

#include <limits.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/rsa.h>

#include "base/base64.h"

static const struct jose_algorithm algorithms[] = {
    { "RS256", JOSE_RSA, "SHA256", NULL, 0 },
    { "RS384", JOSE_RSA, "SHA384", NULL, 0 },
    { "RS512", JOSE_RSA, "SHA512", NULL, 0 },
    { "PS256", JOSE_PSS, "SHA256", NULL, 0 },
    { "PS384", JOSE_PSS, "SHA384", NULL, 0 },
    { "PS512", JOSE_PSS, "SHA512", NULL, 0 },
    { "ES256", JOSE_EC, "SHA256", "P-256", 32 },
    { "ES384", JOSE_EC, "SHA384", "P-384", 48 },
    { "ES512", JOSE_EC, "SHA512", "P-521", 66 },
    { "EdDSA", JOSE_ED, NULL, "Ed25519", 0 },
};

const struct jose_algorithm *jose_algorithm(const char *name)
{
    for (size_t i = 0; i < lengthof(algorithms); i++)
        if (text_eq(algorithms[i].name, name))
            return &algorithms[i];
    return NULL;
}

/* ---- reading ---- */

static bool read_part(struct arena *a, struct str text, struct json *ret, struct error *err)
{
    struct str bytes;
    if (!base64_decode_url(a, text, &bytes))
        return fail(err, ERR_INVALID, "a part is not base64url");
    if (!json_parse(a, bytes, ret, err))
        return false;
    return json_is(*ret, JSON_MAP) || fail(err, ERR_INVALID, "a part is not a JSON object");
}

bool jwt_parse(struct arena *a, struct str text, struct jwt *ret, struct error *err)
{
    struct str rest = text;
    if (text.len > JWT_BYTES_MAX)
        return fail(err, ERR_TOO_LARGE, "the token is larger than %zu bytes", JWT_BYTES_MAX);
    struct str header = str_cut(&rest, '.'), payload = str_cut(&rest, '.');
    if (!rest.ptr || memchr(rest.ptr, '.', rest.len))
        return fail(err, ERR_INVALID, "a token has three parts");
    *ret = (struct jwt){ .signed_part = { text.ptr, header.len + 1 + payload.len } };
    if (!read_part(a, header, &ret->header, err) || !read_part(a, payload, &ret->claims, err))
        return false;
    if (!base64_decode_url(a, rest, &ret->signature))
        return fail(err, ERR_INVALID, "the signature is not base64url");
    ret->algorithm = json_text(json_member(ret->header, "alg"));
    ret->kid = json_text(json_member(ret->header, "kid"));
    return ret->algorithm || fail(err, ERR_INVALID, "the header has no alg");
}

bool jwt_knows(const struct jwt *t)
{
    return jose_algorithm(t->algorithm) != NULL;
}

/* ---- verifying ---- */

static bool fits(const struct jwk *k, const struct jose_algorithm *alg)
{
    static const char *const types[] = {
        [JOSE_RSA] = "RSA", [JOSE_PSS] = "RSA", [JOSE_EC] = "EC", [JOSE_ED] = "OKP"
    };
    return text_eq(k->type, types[alg->family]) && (!alg->curve || text_eq(k->curve, alg->curve)) &&
           (!k->algorithm || text_eq(k->algorithm, alg->name));
}

/* JOSE concatenates r and s, but OpenSSL needs DER. Free with OPENSSL_free(). */
static unsigned char *to_der(const struct jose_algorithm *alg, struct str raw, int *ret_bytes)
{
    unsigned char *der = NULL;
    if (raw.len != 2 * alg->part_bytes)
        return NULL;
    const unsigned char *at = (const unsigned char *)raw.ptr;
    int part = (int)alg->part_bytes;
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(at, part, NULL), *s = BN_bin2bn(at + part, part, NULL);
    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        *ret_bytes = i2d_ECDSA_SIG(sig, &der);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(sig);
    return der;
}

static bool set_padding(EVP_PKEY_CTX *ctx, const struct jose_algorithm *alg)
{
    if (alg->family == JOSE_RSA)
        return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PADDING) == 1;
    if (alg->family != JOSE_PSS)
        return true;
    return EVP_PKEY_CTX_set_rsa_padding(ctx, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(ctx, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static bool is_proved(const struct jwk *k, const struct jose_algorithm *alg, const struct jwt *t)
{
    struct str signature = t->signature;
    unsigned char *der = NULL;
    int bytes = 0;
    if (alg->family == JOSE_EC) {
        der = to_der(alg, signature, &bytes);
        if (!der || bytes <= 0)
            return false;
        signature = (struct str){ (const char *)der, (size_t)bytes };
    }
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    EVP_PKEY_CTX *ctx = NULL;
    bool ok = md && EVP_DigestVerifyInit_ex(md, &ctx, alg->digest, NULL, NULL, k->key, NULL) == 1 &&
              set_padding(ctx, alg) &&
              EVP_DigestVerify(md,
                  (const unsigned char *)signature.ptr,
                  signature.len,
                  (const unsigned char *)t->signed_part.ptr,
                  t->signed_part.len) == 1;
    EVP_MD_CTX_free(md);
    OPENSSL_free(der);
    ERR_clear_error();
    return ok;
}

bool jwt_verify(const struct jwt *t, const struct jwk_set *keys, struct error *err)
{
    const struct jose_algorithm *alg = jose_algorithm(t->algorithm);
    bool found = false;
    if (!alg)
        return fail(err, ERR_UNSUPPORTED, "unexpected signing method: %s", t->algorithm);
    if (json_present(json_member(t->header, "crit")))
        return fail(err, ERR_UNSUPPORTED, "a critical header is not understood");
    if (text_empty(t->kid))
        return fail(err, ERR_NOT_FOUND, "token header missing kid");
    for (size_t i = 0; i < keys->count; i++) {
        const struct jwk *k = &keys->list[i];
        if (!text_eq(k->kid, t->kid) || !fits(k, alg))
            continue;
        found = true;
        if (is_proved(k, alg, t))
            return true;
    }
    if (!found)
        return fail(err, ERR_NOT_FOUND, "key ID %s not found in JWKS", t->kid);
    return fail(err, ERR_UNAUTHORIZED, "token signature is invalid");
}

/* ---- claims ---- */

bool jwt_time(struct json claims, const char *name, int64_t *ret_s)
{
    struct json v = json_member(claims, name);
    if (json_is(v, JSON_REAL) && v.real > -1e15 && v.real < 1e15) {
        *ret_s = (int64_t)v.real;
        return true;
    }
    *ret_s = v.integer;
    /* Limits times so that they do not overflow as milliseconds. */
    return json_is(v, JSON_INT) && v.integer > -(int64_t)1e15 && v.integer < (int64_t)1e15;
}

bool jwt_is_for(struct json claims, const char *audience)
{
    struct json v = json_member(claims, "aud");
    return text_eq(json_text(v), audience) || json_list_has(v, audience);
}
