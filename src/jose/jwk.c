#include "jose/key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <stdlib.h>

#include "base/base64.h"

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192

static const struct {
    const char *curve, *group;
    size_t bytes;
} curves[] = {
    { "P-256", "prime256v1", 32 },
    { "P-384", "secp384r1", 48 },
    { "P-521", "secp521r1", 66 },
};

static bool member_bytes(struct arena *a, struct json key, const char *name, struct str *ret)
{
    const char *text = json_text(json_member(key, name));
    return text && base64_decode_url(a, str_of(text), ret) && ret->len;
}

static EVP_PKEY *from_params(const char *type, OSSL_PARAM_BLD *build)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (!params || !ctx || EVP_PKEY_fromdata_init(ctx) != 1 ||
        EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    return key;
}

static EVP_PKEY *rsa_key(struct arena *a, struct json v)
{
    struct str n, e;
    if (!member_bytes(a, v, "n", &n) || !member_bytes(a, v, "e", &e) || n.len > RSA_BITS_MAX / 8 ||
        e.len > 8)
        return NULL;
    BIGNUM *modulus = BN_bin2bn((const unsigned char *)n.ptr, (int)n.len, NULL);
    BIGNUM *exponent = BN_bin2bn((const unsigned char *)e.ptr, (int)e.len, NULL);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    if (modulus && exponent && build && BN_num_bits(modulus) >= RSA_BITS_MIN &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, modulus) == 1 &&
        OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, exponent) == 1)
        key = from_params("RSA", build);
    OSSL_PARAM_BLD_free(build);
    BN_free(exponent);
    BN_free(modulus);
    return key;
}

static EVP_PKEY *ec_key(struct arena *a, struct json v, const char *curve)
{
    struct str x, y;
    size_t i = 0;
    while (i < lengthof(curves) && !text_eq(curves[i].curve, curve))
        i++;
    if (i == lengthof(curves) || !member_bytes(a, v, "x", &x) || !member_bytes(a, v, "y", &y) ||
        x.len != curves[i].bytes || y.len != curves[i].bytes)
        return NULL;
    char point[1 + 2 * 66];
    point[0] = POINT_CONVERSION_UNCOMPRESSED;
    memcpy(point + 1, x.ptr, x.len);
    memcpy(point + 1 + x.len, y.ptr, y.len);
    OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
    EVP_PKEY *key = NULL;
    /* OpenSSL refuses a point that is not on the curve. */
    if (build &&
        OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curves[i].group, 0) ==
            1 &&
        OSSL_PARAM_BLD_push_octet_string(
            build, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + x.len + y.len) == 1)
        key = from_params("EC", build);
    OSSL_PARAM_BLD_free(build);
    return key;
}

static EVP_PKEY *ed_key(struct arena *a, struct json v, const char *curve)
{
    struct str x;
    if (!text_eq(curve, "Ed25519") || !member_bytes(a, v, "x", &x))
        return NULL;
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (const unsigned char *)x.ptr, x.len);
}

static bool is_for_signatures(struct json v)
{
    const char *use = json_text(json_member(v, "use"));
    struct json operations = json_member(v, "key_ops");
    if (use && !text_eq(use, "sig"))
        return false;
    return !json_is(operations, JSON_LIST) || json_list_has(operations, "verify");
}

static bool read_key(struct arena *a, struct json v, struct jwk *ret)
{
    const char *type = json_text(json_member(v, "kty")), *curve = json_text(json_member(v, "crv"));
    if (!is_for_signatures(v))
        return false;
    *ret = (struct jwk){
        .kid = json_text(json_member(v, "kid")),
        .algorithm = json_text(json_member(v, "alg")),
        .type = type,
        .curve = curve,
    };
    if (text_eq(type, "RSA"))
        ret->key = rsa_key(a, v);
    else if (text_eq(type, "EC"))
        ret->key = ec_key(a, v, curve);
    else if (text_eq(type, "OKP"))
        ret->key = ed_key(a, v, curve);
    ERR_clear_error();
    return ret->key != NULL;
}

struct jwk_set *jwk_set_new(struct str text, struct error *err)
{
    struct jwk_set *s = mem_new_of(struct jwk_set);
    struct json document;
    arena_init(&s->arena, ARENA_LIMIT_DEFAULT);
    if (!json_parse(&s->arena, text, &document, err)) {
        jwk_set_free(s);
        return NULL;
    }
    struct json keys = json_member(document, "keys");
    if (!json_is(keys, JSON_LIST) || keys.count > JWK_COUNT_MAX) {
        jwk_set_free(s);
        fail(err, ERR_INVALID, "keys: expected a list of at most %d keys", JWK_COUNT_MAX);
        return NULL;
    }
    s->list = arena_array(&s->arena, keys.count + 1, sizeof(*s->list));
    json_each (item, keys)
        s->count += read_key(&s->arena, *item, &s->list[s->count]);
    return s;
}

void jwk_set_free(struct jwk_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++)
        EVP_PKEY_free(s->list[i].key);
    arena_done(&s->arena);
    free(s);
}

size_t jwk_set_count(const struct jwk_set *s)
{
    return s->count;
}

bool jwk_set_has(const struct jwk_set *s, const char *kid)
{
    for (size_t i = 0; kid && i < s->count; i++)
        if (text_eq(s->list[i].kid, kid))
            return true;
    return false;
}
