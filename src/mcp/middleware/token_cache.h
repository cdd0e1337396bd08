#pragma once

/* Tokens that were proved a short while ago, so that a signature is not checked for every call. An
 * entry ends with its token, after TOKEN_CACHE_MS, and when there are too many. It is counted: an
 * exchange that uses its identity holds a reference. */

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
/* Forgets all; what is referred to stays until it is not. */
void token_cache_clear(struct token_cache *c);
/* NULL: it is not there, or over. Otherwise with a reference. */
struct token_entry *token_cache_find(struct token_cache *c, struct str token);
/* A new entry, with a reference, for the caller to fill; identity and expires_ms are the caller's.
 */
struct token_entry *token_entry_new(struct str token);
void token_cache_add(struct token_cache *c, struct token_entry *e);
void token_entry_unref(struct token_entry *e); /* takes NULL */
