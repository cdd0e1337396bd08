#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS_MIN 16

void table_init(struct table *t, uint64_t seed0, uint64_t seed1)
{
    *t = (struct table){ .seed = { seed0, seed1 } };
}

void table_done(struct table *t)
{
    free(t->chains);
    *t = (struct table){ .seed = { t->seed[0], t->seed[1] } };
}

/* ---- SipHash-1-3: Aumasson and Bernstein, 2012, with one round a block and three at the end ----
 */

struct sip {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_round(struct sip *s)
{
    s->v0 += s->v1;
    s->v1 = rotate(s->v1, 13) ^ s->v0;
    s->v0 = rotate(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = rotate(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = rotate(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = rotate(s->v1, 17) ^ s->v2;
    s->v2 = rotate(s->v2, 32);
}

static inline void sip_block(struct sip *s, uint64_t block)
{
    s->v3 ^= block;
    sip_round(s);
    s->v0 ^= block;
}

/* The last bytes (at most seven) as a number, low bytes first. */
static inline uint64_t tail(const uint8_t *at, size_t count)
{
    uint32_t four = 0;
    uint16_t two = 0;
    uint64_t last = 0;
    if (count & 1)
        last = at[count - 1];
    if (count & 2) {
        memcpy(&two, at + (count & 4), 2);
        last = last << 16 | two;
    }
    if (count & 4) {
        memcpy(&four, at, 4);
        last = last << 32 | four;
    }
    return last;
}

uint64_t table_hash(const struct table *t, const void *bytes, size_t count)
{
    struct sip s = { t->seed[0] ^ 0x736f6d6570736575,
        t->seed[1] ^ 0x646f72616e646f6d,
        t->seed[0] ^ 0x6c7967656e657261,
        t->seed[1] ^ 0x7465646279746573 };
    const uint8_t *at = bytes;
    uint64_t last = (uint64_t)count << 56;
    for (; count >= 8; count -= 8, at += 8) {
        uint64_t block;
        memcpy(&block, at, 8);
        sip_block(&s, block);
    }
    sip_block(&s, last | tail(at, count));
    s.v2 ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(&s);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- entries ---- */

static struct table_node **chain_of(const struct table *t, uint64_t hash)
{
    return &t->chains[hash & (t->chain_count - 1)];
}

struct table_node *table_find(const struct table *t, uint64_t hash,
    bool (*is)(const struct table_node *n, const void *key), const void *key)
{
    if (t->chain_count == 0)
        return NULL;
    for (struct table_node *n = *chain_of(t, hash); n; n = n->next)
        if (n->hash == hash && is(n, key))
            return n;
    return NULL;
}

static void grow(struct table *t)
{
    struct table old = *t;
    t->chain_count = old.chain_count ? old.chain_count * 2 : CHAINS_MIN;
    t->chains = mem_new(t->chain_count * sizeof(struct table_node *));
    for (size_t i = 0; i < old.chain_count; i++) {
        for (struct table_node *n = old.chains[i], *next; n; n = next) {
            next = n->next;
            n->next = *chain_of(t, n->hash);
            *chain_of(t, n->hash) = n;
        }
    }
    free(old.chains);
}

void table_add(struct table *t, struct table_node *n, uint64_t hash)
{
    if (t->count >= t->chain_count)
        grow(t);
    struct table_node **chain = chain_of(t, hash);
    n->hash = hash;
    n->next = *chain;
    *chain = n;
    t->count++;
    t->changes++;
    t->removed = NULL;
}

void table_remove(struct table *t, struct table_node *n)
{
    assert(t->chain_count > 0);
    struct table_node **at = chain_of(t, n->hash);
    while (*at && *at != n)
        at = &(*at)->next;
    assert(*at == n);
    *at = n->next;
    n->next = NULL;
    t->count--;
    t->changes++;
    t->removed = n;
}

/* ---- walking ---- */

/* Makes the remembered entry current, or the first entry of the next non-empty chain. */
static void advance(struct table_cursor *c)
{
    c->node = c->next;
    while (!c->node && c->chain < c->table->chain_count)
        c->node = c->table->chains[c->chain++];
    c->next = c->node ? c->node->next : NULL;
}

struct table_cursor table_first(struct table *t)
{
    struct table_cursor c = { .table = t, .changes = t->changes };
    advance(&c);
    return c;
}

void table_next(struct table_cursor *c)
{
    struct table *t = c->table;
    assert(t->changes == c->changes || (t->changes == c->changes + 1 && t->removed == c->node));
    c->changes = t->changes;
    advance(c);
}
