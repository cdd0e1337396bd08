#pragma once

/* A hash table whose nodes are members of the caller's structs: it never allocates per entry and
 * never owns an entry.
 *
 *   struct pod { struct table_node node; const char *name; };
 *   static bool pod_is(const struct table_node *n, const void *key)
 *   { return text_eq(container_of(n, struct pod, node)->name, key); }
 *
 *   uint64_t h = table_hash(&t, name, strlen(name));
 *   struct table_node *n = table_find(&t, h, pod_is, name);
 *   if (!n) table_add(&t, &pod->node, h);
 *
 *   for (struct table_cursor c = table_first(&t); c.node; table_next(&c))
 *       if (old(container_of(c.node, struct pod, node)))
 *           table_remove(&t, c.node);       … and free it: removing the current one is allowed
 *
 * The number of chains doubles when there are more entries than chains. Adding, or removing another
 * entry than the current one, while iterating is an assertion failure. The hash is SipHash-1-3
 * under the table's seed, so that a client that chooses names cannot make them collide without
 * knowing the seed. */

#include "base/base.h"

struct table_node {
    struct table_node *next;
    uint64_t hash;
};

struct table {
    struct table_node **chains;
    size_t chain_count; /* 0 or a power of two */
    size_t count;
    uint64_t seed[2];
    unsigned changes; /* this and the next member: to detect changes during iteration */
    const struct table_node *removed;
};

/* Seeds come from struct env, so that a simulation is repeatable. */
void table_init(struct table *t, uint64_t seed0, uint64_t seed1);
/* Frees the chains. The caller owns the entries, and frees them before if necessary. */
void table_done(struct table *t);

uint64_t table_hash(const struct table *t, const void *bytes, size_t count);
struct table_node *table_find(const struct table *t, uint64_t hash,
    bool (*is)(const struct table_node *n, const void *key), const void *key);
/* The caller must know that there is no equal entry yet. */
void table_add(struct table *t, struct table_node *n, uint64_t hash);
/* The entry must be in the table. */
void table_remove(struct table *t, struct table_node *n);

/* A walk over all entries, in no particular order. */
struct table_cursor {
    struct table_node *node; /* the current one; NULL: the end */
    struct table_node *next;
    struct table *table;
    size_t chain;
    unsigned changes;
};
struct table_cursor table_first(struct table *t);
void table_next(struct table_cursor *c);

/* The chain with the entries of this hash, among others. For tables with several equal entries. */
static inline struct table_node *table_chain(const struct table *t, uint64_t hash)
{
    return t->chain_count ? t->chains[hash & (t->chain_count - 1)] : NULL;
}
