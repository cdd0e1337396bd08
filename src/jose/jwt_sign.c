#include "jose/jose.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/base64.h"

#define SIGNATURE_BYTES_MAX 1024

static bool sign(EVP_PKEY *key, struct str text, unsigned char *to, size_t *count)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestSign(ctx, to, count, (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    return ok;
}

bool jwt_sign(struct arena *a, struct json header, struct json claims, struct str key_pem,
    const char **ret, struct error *err)
{
    BIO *in = BIO_new_mem_buf(key_pem.ptr, (int)key_pem.len);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    const char *text = arena_printf(a,
        "%s.%s",
        base64_encode_url(a, str_of(json_to_text(a, header))),
        base64_encode_url(a, str_of(json_to_text(a, claims))));
    unsigned char bytes[SIGNATURE_BYTES_MAX];
    size_t count = sizeof(bytes);
    bool fits = key && EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA &&
                (size_t)EVP_PKEY_get_size(key) <= sizeof(bytes);
    bool ok = fits && sign(key, str_of(text), bytes, &count);
    EVP_PKEY_free(key);
    ERR_clear_error();
    if (!ok)
        return fail(err, ERR_INVALID, "the private key is no RSA key in PEM that can sign");
    *ret = arena_printf(
        a, "%s.%s", text, base64_encode_url(a, (struct str){ (const char *)bytes, count }));
    return true;
}
