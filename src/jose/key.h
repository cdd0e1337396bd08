#pragma once

/* Shared by jwk.c and jwt.c. Besides http and base/hash.c, only this folder uses OpenSSL. */

#include "jose/jose.h"

#include <openssl/evp.h>

enum jose_family { JOSE_RSA, JOSE_PSS, JOSE_EC, JOSE_ED };

struct jose_algorithm {
    const char *name;
    enum jose_family family;
    const char *digest; /* NULL: the algorithm's own */
    const char *curve;  /* crv of the key */
    size_t part_bytes;  /* length of r and of s */
};

/* NULL: not supported. */
const struct jose_algorithm *jose_algorithm(const char *name);

struct jwk {
    const char *kid, *algorithm; /* NULL: none */
    const char *type, *curve;
    EVP_PKEY *key;
};

struct jwk_set {
    struct arena arena;
    struct jwk *list;
    size_t count;
};
