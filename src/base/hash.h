#pragma once

/* SHA-256, and SHA-1 for a protocol that requires it. Only this file uses OpenSSL's digests. */

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

#define SHA1_BYTES 20
#define SHA256_BYTES 32

/* A digest in progress: init, add…, then end or done. */
struct sha256 {
    void *ctx;
};

void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *bytes, size_t count);
/* Also frees. */
void sha256_end(struct sha256 *h, uint8_t ret[SHA256_BYTES]);
const char *sha256_end_hex(struct sha256 *h, struct arena *a); /* 64 lower-case digits */
/* For a digest that is not finished. A zeroed or finished digest is allowed. */
void sha256_done(struct sha256 *h);

/* Not secure: anybody can make a text with the same digest. */
void sha1_of(struct str s, uint8_t ret[SHA1_BYTES]);
void sha256_of(struct str s, uint8_t ret[SHA256_BYTES]);
/* HMAC (RFC 2104) with SHA-256. */
void hmac_sha256(struct str key, struct str text, uint8_t ret[SHA256_BYTES]);
const char *sha256_hex(struct arena *a, struct str s);
const char *hex_encode(struct arena *a, struct str s); /* lower case */
