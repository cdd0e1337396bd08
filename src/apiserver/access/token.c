#include "apiserver/access/token.h"

#include "base/base64.h"
#include "base/hash.h"

#define BLOCK_BYTES 64

/* RFC 2104. */
static void hmac(struct str key, struct str text, uint8_t ret[SHA256_BYTES])
{
    uint8_t block[BLOCK_BYTES] = { 0 }, inner[SHA256_BYTES];
    if (key.len > BLOCK_BYTES)
        sha256_of(key, block);
    else if (key.len)
        memcpy(block, key.ptr, key.len);
    struct sha256 h;
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        block[i] ^= 0x36;
    sha256_init(&h);
    sha256_add(&h, block, BLOCK_BYTES);
    sha256_add(&h, text.ptr, text.len);
    sha256_end(&h, inner);
    for (size_t i = 0; i < BLOCK_BYTES; i++)
        block[i] ^= 0x36 ^ 0x5c;
    sha256_init(&h);
    sha256_add(&h, block, BLOCK_BYTES);
    sha256_add(&h, inner, SHA256_BYTES);
    sha256_end(&h, ret);
}

const char *token_sign(struct arena *a, struct str key, struct json claims)
{
    uint8_t digest[SHA256_BYTES];
    const char *head = base64_encode_url(a, STR("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"));
    const char *body = base64_encode_url(a, str_of(json_to_text(a, claims)));
    const char *text = arena_printf(a, "%s.%s", head, body);
    hmac(key, str_of(text), digest);
    struct str signature = { (const char *)digest, sizeof(digest) };
    return arena_printf(a, "%s.%s", text, base64_encode_url(a, signature));
}

/* Takes the same time wherever the bytes differ. */
static bool same_bytes(const uint8_t *x, const char *y, size_t count)
{
    uint8_t differ = 0;
    for (size_t i = 0; i < count; i++)
        differ |= x[i] ^ (uint8_t)y[i];
    return differ == 0;
}

bool token_verify(struct arena *a, struct str key, struct str token, struct json *ret_claims)
{
    struct str rest = token, head = str_cut(&rest, '.');
    struct str body = rest.ptr ? str_cut(&rest, '.') : rest;
    struct str text, signature;
    struct json v;
    if (!rest.ptr || !base64_decode_url(a, head, &text) || !json_parse(a, text, &v, NULL) ||
        !text_eq(json_get_text(v, "alg"), "HS256"))
        return false;
    uint8_t digest[SHA256_BYTES];
    hmac(key, (struct str){ token.ptr, head.len + 1 + body.len }, digest);
    return base64_decode_url(a, rest, &signature) && signature.len == SHA256_BYTES &&
           same_bytes(digest, signature.ptr, SHA256_BYTES) && base64_decode_url(a, body, &text) &&
           json_parse(a, text, ret_claims, NULL);
}
