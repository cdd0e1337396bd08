#pragma once

/* Recently verified tokens, so that not every call verifies a signature. An entry is removed when
 * its token expires, after TOKEN_CACHE_MS, and when there are too many. Entries are
 * reference-counted: an exchange that uses the identity holds a reference. */

#include "base/table.h"
#include "mcp/middleware.h"

#define TOKEN_CACHE_MAX 4096
#define TOKEN_CACHE_MS ((int64_t)5 * 60 * 1000)

struct token_entry {
    struct table_node node;
    struct token_entry *older, *newer;
    struct arena arena;
    struct mcp_identity identity; /* lives in the arena */
    struct str token;
    int64_t expires_ms; /* on the wall clock */
    int64_t proved_ms;  /* on the monotonic clock */
    size_t references;
};

struct token_cache {
    struct table table;
    struct token_entry *oldest, *newest;
    const struct env *env;
};

void token_cache_init(struct token_cache *c, const struct env *env);
void token_cache_done(struct token_cache *c);
/* Removes all entries; those with references are freed with the last one. */
void token_cache_clear(struct token_cache *c);
/* NULL: unknown or expired. Otherwise with a reference. */
struct token_entry *token_cache_find(struct token_cache *c, struct str token);
/* A new entry with a reference. The caller sets identity and expires_ms. */
struct token_entry *token_entry_new(struct str token);
void token_cache_add(struct token_cache *c, struct token_entry *e);
void token_entry_unref(struct token_entry *e); /* NULL is allowed */
