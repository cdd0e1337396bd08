#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

void sha256_init(struct sha256 *h)
{
    h->ctx = EVP_MD_CTX_new();
    /* Both fail only when out of memory. */
    assert(h->ctx && EVP_DigestInit_ex(h->ctx, EVP_sha256(), NULL) == 1);
}

void sha256_add(struct sha256 *h, const void *bytes, size_t count)
{
    assert(h->ctx && EVP_DigestUpdate(h->ctx, bytes, count) == 1);
}

void sha256_done(struct sha256 *h)
{
    EVP_MD_CTX_free(take(h->ctx));
}

void sha256_end(struct sha256 *h, uint8_t ret[SHA256_BYTES])
{
    assert(h->ctx && EVP_DigestFinal_ex(h->ctx, ret, NULL) == 1);
    sha256_done(h);
}

const char *sha256_end_hex(struct sha256 *h, struct arena *a)
{
    uint8_t digest[SHA256_BYTES];
    sha256_end(h, digest);
    return hex_encode(a, (struct str){ (const char *)digest, sizeof(digest) });
}

void hmac_sha256(struct str key, struct str text, uint8_t ret[SHA256_BYTES])
{
    unsigned length = 0;
    assert(key.len <= INT32_MAX);
    bool ok = HMAC(EVP_sha256(),
        key.len ? key.ptr : "",
        (int)key.len,
        (const unsigned char *)text.ptr,
        text.len,
        ret,
        &length);
    assert(ok && length == SHA256_BYTES);
}

void sha1_of(struct str s, uint8_t ret[SHA1_BYTES])
{
    bool ok = EVP_Digest(s.ptr, s.len, ret, NULL, EVP_sha1(), NULL) == 1;
    assert(ok);
}

void sha256_of(struct str s, uint8_t ret[SHA256_BYTES])
{
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, s.ptr, s.len);
    sha256_end(&h, ret);
}

const char *sha256_hex(struct arena *a, struct str s)
{
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, s.ptr, s.len);
    return sha256_end_hex(&h, a);
}

const char *hex_encode(struct arena *a, struct str s)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_alloc(a, s.len * 2 + 1);
    for (size_t i = 0; i < s.len; i++) {
        text[2 * i] = digits[(uint8_t)s.ptr[i] >> 4];
        text[2 * i + 1] = digits[(uint8_t)s.ptr[i] & 15];
    }
    return text;
}
