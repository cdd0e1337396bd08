#pragma once

/* The keys of an issuer, found by OIDC discovery or at a given URL. They are fetched on first use,
 * and again when they are old or a token names an unknown key. Fetches are limited: tokens with
 * invented key names cause at most one every KEYS_REFETCH_MS. */

#include "mcp/middleware.h"

struct jwk_set;
struct key_source;
struct key_wait;

#define KEYS_MAX_AGE_MS ((int64_t)15 * 60 * 1000)
#define KEYS_REFETCH_MS ((int64_t)10 * 1000)

struct key_source_options {
    const char *issuer;   /* for discovery */
    const char *jwks_url; /* NULL: discovery */
    const char *ca_file, *token_file;
    bool allow_private, allow_http;
};

struct key_source *key_source_new(const struct mcp_open *o,
    const struct key_source_options *options, struct error *err) must_check;
void key_source_free(struct key_source *s); /* NULL is allowed; no waiter is called any more */
/* True: *ret are the current keys, including this kid if the issuer has it; NULL: they cannot be
 * fetched. False: done() follows, with keys, or with NULL and err. */
bool key_source_get(struct key_source *s, const char *kid, struct key_wait *w,
    const struct jwk_set **ret) must_check;
/* Incremented when keys are replaced: tokens verified with older keys must be verified again. */
uint64_t key_source_generation(const struct key_source *s);

struct key_wait {
    void (*done)(void *ctx, const struct jwk_set *keys, const struct error *err);
    void *ctx;
    struct key_wait *next, **link; /* link NULL: not waiting */
};
void key_wait_cancel(struct key_wait *w);

/* A header "authorization: Bearer …" with the file's current content; false: the file cannot be
 * read. */
bool read_bearer(
    struct arena *a, const char *path, struct http_header *ret, struct error *err) must_check;
/* Whether a URL may be used: https, or http to this machine, or explicitly allowed. */
bool check_url_scheme(
    struct arena *a, const char *url, bool allow_http, struct error *err) must_check;
