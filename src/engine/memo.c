/* What a key remembers about a child in addition to the cache: troubles, and what was learned from
 * responses. Only children with something to remember have a memo. Losing all memos costs one write
 * per child, nothing else. */

#include "engine/internal.h"

#include <stdlib.h>

#include "base/hash.h"

struct memo *memo_find(const struct key *k, const struct resource *r, const char *name)
{
    for (struct memo *m = k->memos; m; m = m->next)
        if (m->resource == r && strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

struct memo *memo_get(struct key *k, const struct resource *r, const char *name)
{
    struct memo *m = memo_find(k, r, name);
    if (m)
        return m;
    m = mem_new_of(struct memo);
    m->resource = r;
    m->name = mem_strdup(name);
    m->next = k->memos;
    k->memos = m;
    return m;
}

static void free_texts(struct memo *m)
{
    free(m->message);
    free(m->reason);
    free(m->cause);
    m->message = m->reason = m->cause = NULL;
}

void memo_trouble(
    struct memo *m, const struct view_trouble *t, uint64_t plan_hash, int64_t until_ms)
{
    free_texts(m);
    m->message = mem_strdup(t->message);
    m->reason = mem_strdup(t->reason);
    m->cause = mem_strdup(t->cause ? t->cause : t->message);
    m->what = t->what;
    m->plan_hash = plan_hash;
    m->until_ms = until_ms;
}

void memo_calm(struct memo *m)
{
    free_texts(m);
    m->what = TROUBLE_NONE;
    m->until_ms = 0;
}

static void free_memo(struct memo *m)
{
    free_texts(m);
    free(m->name);
    free(m);
}

void memos_free(struct key *k)
{
    while (k->memos) {
        struct memo *m = k->memos;
        k->memos = m->next;
        free_memo(m);
    }
}

void memos_calm(struct key *k, const struct resource *r)
{
    for (struct memo *m = k->memos; m; m = m->next)
        if (m->resource == r)
            memo_calm(m);
}

bool memo_is_planned(const struct plan *p, const struct memo *m)
{
    if (m->resource == p->eviction.resource && text_eq(p->eviction.pod, m->name))
        return true;
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].resource == m->resource &&
            text_eq(json_get_text(p->children[i].object, "metadata.name"), m->name))
            return true;
    return false;
}

/* Its deletion failed, and it still exists. */
static bool is_left(const struct key *k, const struct memo *m)
{
    const struct cache_resource *r = cache_resource_of(&k->kind->engine->cache, m->resource);
    return m->leftover && cache_find(r, k->ns, m->name);
}

void memos_keep(struct key *k, const struct plan *p)
{
    for (struct memo **at = &k->memos; *at;) {
        struct memo *m = *at;
        bool planned = memo_is_planned(p, m);
        bool kept = p->keep_children || planned || is_left(k, m);
        m->leftover &= !planned;
        if (!kept && m->unknown)
            memo_calm(m); /* look it up anyway if it is planned again */
        if (kept || m->unknown) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        free_memo(m);
    }
}

uint64_t memo_hash(struct arena *a, struct json v)
{
    uint8_t digest[SHA256_BYTES];
    uint64_t hash;
    sha256_of(str_of(json_to_text(a, v)), digest);
    memcpy(&hash, digest, sizeof(hash));
    return hash;
}
