#include "mcp/middleware/token_cache.h"

#include <stdlib.h>

#include "base/timer.h"

void token_cache_init(struct token_cache *c, const struct env *env)
{
    *c = (struct token_cache){ .env = env };
    table_init(&c->table, env->random(env->ctx), env->random(env->ctx));
}

struct token_entry *token_entry_new(struct str token)
{
    struct token_entry *e = mem_new_of(struct token_entry);
    arena_init(&e->arena, ARENA_LIMIT_DEFAULT);
    e->token = (struct str){ str_dup(&e->arena, token), token.len };
    e->references = 1;
    return e;
}

void token_entry_unref(struct token_entry *e)
{
    if (!e || --e->references)
        return;
    arena_done(&e->arena);
    free(e);
}

static void drop(struct token_cache *c, struct token_entry *e)
{
    table_remove(&c->table, &e->node);
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    token_entry_unref(e);
}

void token_cache_clear(struct token_cache *c)
{
    while (c->oldest)
        drop(c, c->oldest);
}

void token_cache_done(struct token_cache *c)
{
    token_cache_clear(c);
    table_done(&c->table);
}

static bool is_token(const struct table_node *n, const void *key)
{
    return str_eq(container_of(n, struct token_entry, node)->token, *(const struct str *)key);
}

static struct token_entry *lookup(struct token_cache *c, struct str token)
{
    uint64_t hash = table_hash(&c->table, token.ptr, token.len);
    struct table_node *n = table_find(&c->table, hash, is_token, &token);
    return n ? container_of(n, struct token_entry, node) : NULL;
}

struct token_entry *token_cache_find(struct token_cache *c, struct str token)
{
    struct token_entry *e = lookup(c, token);
    if (!e)
        return NULL;
    if (env_wall_ms(c->env) >= e->expires_ms ||
        env_mono_ms(c->env) - e->proved_ms >= TOKEN_CACHE_MS) {
        drop(c, e);
        return NULL;
    }
    e->references++;
    return e;
}

void token_cache_add(struct token_cache *c, struct token_entry *e)
{
    struct token_entry *old = lookup(c, e->token);
    if (old)
        drop(c, old);
    e->proved_ms = env_mono_ms(c->env);
    e->references++;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
    table_add(&c->table, &e->node, table_hash(&c->table, e->token.ptr, e->token.len));
    if (c->table.count > TOKEN_CACHE_MAX)
        drop(c, c->oldest);
}
