#include "base/buf.h"
#include "base/hash.h"
#include "base/time.h"
#include "base/url.h"
#include "fetch/internal.h"

static void hmac(const uint8_t *key, size_t key_bytes, struct str text, uint8_t ret[SHA256_BYTES])
{
    uint8_t block[64] = { 0 };
    assert(key_bytes <= sizeof(block));
    memcpy(block, key, key_bytes);
    struct sha256 h;
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36;
    sha256_init(&h);
    sha256_add(&h, block, sizeof(block));
    sha256_add(&h, text.ptr, text.len);
    sha256_end(&h, ret);
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] ^= 0x36 ^ 0x5c;
    sha256_init(&h);
    sha256_add(&h, block, sizeof(block));
    sha256_add(&h, ret, SHA256_BYTES);
    sha256_end(&h, ret);
}

const char *s3_url(struct arena *a, const struct s3_credentials *c, const char *source)
{
    assert(strncasecmp(source, "s3://", 5) == 0);
    const char *object = url_encode_path(a, str_of(source + 5));
    const char *endpoint = c->endpoint;
    if (!endpoint)
        endpoint = arena_printf(a, "https://s3.%s.amazonaws.com", c->region);
    return arena_printf(a, "%s/%s", endpoint, object);
}

/* The key of the day: a chain of HMACs over date, region, service and request. */
static void signing_key(
    struct arena *a, const struct s3_credentials *c, const char *day, uint8_t ret[SHA256_BYTES])
{
    const char *first = arena_printf(a, "AWS4%s", c->secret);
    uint8_t folded[SHA256_BYTES];
    size_t bytes = strlen(first);
    if (bytes > 64) {
        sha256_of(str_of(first), folded);
        hmac(folded, sizeof(folded), str_of(day), ret);
    } else {
        hmac((const uint8_t *)first, bytes, str_of(day), ret);
    }
    hmac(ret, SHA256_BYTES, str_of(c->region), ret);
    hmac(ret, SHA256_BYTES, STR("s3"), ret);
    hmac(ret, SHA256_BYTES, STR("aws4_request"), ret);
}

struct json s3_sign(struct arena *a, const struct s3_credentials *c, const char *method,
    const char *url_text, int64_t wall_ms)
{
    /* 2026-11-15T17:00:00Z without the characters that AWS omits. */
    const char *rfc = time_format(a, wall_ms);
    const char *time = arena_printf(
        a, "%.4s%.2s%.2sT%.2s%.2s%.2sZ", rfc, rfc + 5, rfc + 8, rfc + 11, rfc + 14, rfc + 17);
    const char *day = arena_strndup(a, time, 8);
    struct url url;
    struct error err;
    if (!url_parse(a, url_text, &url, &err))
        return json_empty_map();
    const char *empty = sha256_hex(a, STR(""));
    const char *token_line =
        c->session ? arena_printf(a, "x-amz-security-token:%s\n", c->session) : "";
    const char *signed_names = c->session
                                   ? "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"
                                   : "host;x-amz-content-sha256;x-amz-date";
    const char *request = arena_printf(a,
        "%s\n%s\n\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n%s\n%s\n%s",
        method,
        *url.path ? url.path : "/",
        url_authority(a, &url),
        empty,
        time,
        token_line,
        signed_names,
        empty);
    const char *scope = arena_printf(a, "%s/%s/s3/aws4_request", day, c->region);
    const char *to_sign = arena_printf(
        a, "AWS4-HMAC-SHA256\n%s\n%s\n%s", time, scope, sha256_hex(a, str_of(request)));
    uint8_t key[SHA256_BYTES], signature[SHA256_BYTES];
    signing_key(a, c, day, key);
    hmac(key, sizeof(key), str_of(to_sign), signature);
    const char *hex = hex_encode(a, (struct str){ (const char *)signature, sizeof(signature) });
    return json_map(a,
        { "x-amz-date", json_str(time) },
        { "x-amz-content-sha256", json_str(empty) },
        { "x-amz-security-token", json_str(c->session) },
        { "authorization",
            json_strf(a,
                "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                c->key_id,
                scope,
                signed_names,
                hex) });
}
