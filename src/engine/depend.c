#include "engine/depend.h"

#include <stdlib.h>

#include "base/resource.h"
#include "base/str.h"

struct depend_target {
    struct table_node node; /* its hash is its only content */
    struct depend_link *first;
};

struct depend_link {
    struct depend_target *target;
    struct depend_link *next, **back;
    void *owner;
};

void depends_init(struct depends *d, uint64_t seed0, uint64_t seed1)
{
    table_init(&d->targets, seed0, seed1);
}

void depends_done(struct depends *d)
{
    assert(d->targets.count == 0);
    table_done(&d->targets);
}

static uint64_t mix(const struct depends *d, uint64_t hash, const char *text)
{
    return (hash ^ table_hash(&d->targets, text, strlen(text))) * 0x9e3779b97f4a7c15u;
}

/* Hashes the constant's address as well as its names: each constant is watched separately, and an
 * event for one says nothing about what the cache holds for another. The distance is the same in
 * every run of a program. */
static uint64_t hash_resource(const struct depends *d, const struct resource *r)
{
    uint64_t distance = (uint64_t)((uintptr_t)r - (uintptr_t)&RESOURCE_POD);
    return mix(d, mix(d, distance, r->group), r->plural);
}

uint64_t depend_on_name(
    const struct depends *d, const struct resource *r, const char *ns, const char *name)
{
    return mix(d, mix(d, hash_resource(d, r), ns ? ns : ""), name);
}

/* All objects in a namespace, or in all namespaces. A name cannot contain a space, so lists and
 * names never collide. */
static uint64_t hash_list(const struct depends *d, const struct resource *r, const char *ns)
{
    return mix(d, mix(d, hash_resource(d, r), ns ? ns : " "), " ");
}

/* The objects of that list with a label. */
static uint64_t hash_label(
    const struct depends *d, uint64_t list, const char *key, const char *value)
{
    return mix(d, mix(d, list, key), value);
}

/* Splits `key=value`; false for any other selector. */
static bool split_equality(struct arena *a, const char *selector, char **ret_key, char **ret_value)
{
    struct str rest = str_of(selector);
    struct str key = str_cut(&rest, '=');
    if (!rest.ptr || key.len == 0 || strcspn(selector, ",!() =") != key.len ||
        strpbrk(rest.ptr, ",!()= "))
        return false;
    *ret_key = str_dup(a, key);
    *ret_value = str_dup(a, rest);
    return true;
}

uint64_t depend_on_list(
    const struct depends *d, const struct resource *r, const char *ns, const char *selector)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    char *key, *value;
    uint64_t list = hash_list(d, r, ns);
    if (selector && split_equality(&a, selector, &key, &value))
        return hash_label(d, list, key, value);
    return list;
}

static bool any(const struct table_node *n, const void *key)
{
    (void)n;
    (void)key;
    return true;
}

static struct depend_target *find_target(const struct depends *d, uint64_t hash)
{
    struct table_node *n = table_find(&d->targets, hash, any, NULL);
    return n ? container_of(n, struct depend_target, node) : NULL;
}

void depend_clear(struct depends *d, struct depend_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct depend_link *l = &set->links[i];
        *l->back = l->next;
        if (l->next)
            l->next->back = l->back;
        if (!l->target->first) {
            table_remove(&d->targets, &l->target->node);
            free(l->target);
        }
    }
    free(set->links);
    *set = (struct depend_set){ 0 };
}

static void link_to(struct depends *d, struct depend_link *l, uint64_t hash, void *owner)
{
    struct depend_target *t = find_target(d, hash);
    if (!t) {
        t = mem_new_of(struct depend_target);
        table_add(&d->targets, &t->node, hash);
    }
    *l = (struct depend_link){ .target = t, .owner = owner, .next = t->first, .back = &t->first };
    if (t->first)
        t->first->back = &l->next;
    t->first = l;
}

static int compare_hashes(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool unchanged(const struct depend_set *set, const uint64_t *targets, size_t count)
{
    if (set->count != count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (set->links[i].target->node.hash != targets[i])
            return false;
    return true;
}

void depend_replace(
    struct depends *d, struct depend_set *set, void *owner, uint64_t *targets, size_t count)
{
    if (count)
        qsort(targets, count, sizeof(*targets), compare_hashes);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || targets[kept - 1] != targets[i])
            targets[kept++] = targets[i];
    if (unchanged(set, targets, kept))
        return;
    depend_clear(d, set);
    if (kept == 0)
        return;
    set->links = mem_resize(NULL, kept, sizeof(*set->links));
    set->count = kept;
    for (size_t i = 0; i < kept; i++)
        link_to(d, &set->links[i], targets[i], owner);
}

void depend_each(struct depends *d, uint64_t target, depend_call *call, void *ctx)
{
    struct depend_target *t = find_target(d, target);
    for (struct depend_link *l = t ? t->first : NULL; l; l = l->next)
        call(ctx, l->owner);
}

void depend_each_of_object(struct depends *d, const struct resource *r, const char *ns,
    const char *name, struct json labels, depend_call *call, void *ctx)
{
    depend_each(d, depend_on_name(d, r, ns, name), call, ctx);
    const char *const scopes[] = { ns, NULL };
    for (size_t i = 0; i < lengthof(scopes); i++) {
        uint64_t list = hash_list(d, r, scopes[i]);
        depend_each(d, list, call, ctx);
        json_each_member (label, labels)
            if (label->value.type == JSON_STR)
                depend_each(d, hash_label(d, list, label->key, label->value.string), call, ctx);
    }
}
