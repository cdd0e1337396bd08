#include "apiserver/core/registry.h"

#include <stdlib.h>
#include <string.h>

struct registry {
    const struct api_kind **kinds; /* in discovery order */
    size_t count, size;
    uint64_t generation;
};

struct registry *registry_new(void)
{
    return mem_new_of(struct registry);
}

void registry_free(struct registry *r)
{
    if (!r)
        return;
    free(r->kinds);
    free(r);
}

static int compare_kinds(const struct api_kind *x, const struct api_kind *y)
{
    if (x->group_priority != y->group_priority)
        return x->group_priority > y->group_priority ? -1 : 1;
    int order = strcmp(x->resource.group, y->resource.group);
    if (order)
        return order;
    if (x->version_priority != y->version_priority)
        return x->version_priority > y->version_priority ? -1 : 1;
    order = strcmp(x->resource.version, y->resource.version);
    return order ? order : strcmp(x->resource.plural, y->resource.plural);
}

bool registry_add(struct registry *r, const struct api_kind *k)
{
    if (registry_find(r, k->resource.group, k->resource.version, k->resource.plural))
        return false;
    mem_room(r->kinds, r->count, r->size);
    size_t at = r->count++;
    for (; at > 0 && compare_kinds(r->kinds[at - 1], k) > 0; at--)
        r->kinds[at] = r->kinds[at - 1];
    r->kinds[at] = k;
    r->generation++;
    return true;
}

void registry_remove(struct registry *r, const struct api_kind *k)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->kinds[i] != k)
            continue;
        memmove(&r->kinds[i], &r->kinds[i + 1], (--r->count - i) * sizeof(*r->kinds));
        r->generation++;
        return;
    }
}

const struct api_kind *registry_find(
    const struct registry *r, const char *group, const char *version, const char *plural)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct resource *x = &r->kinds[i]->resource;
        if (*x->plural == *plural && strcmp(x->plural, plural) == 0 &&
            strcmp(x->group, group) == 0 && strcmp(x->version, version) == 0)
            return r->kinds[i];
    }
    return NULL;
}

const struct api_kind *registry_find_kind(
    const struct registry *r, const char *group, const char *version, const char *kind)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct resource *x = &r->kinds[i]->resource;
        if (strcmp(x->kind, kind) == 0 && strcmp(x->group, group) == 0 &&
            strcmp(x->version, version) == 0)
            return r->kinds[i];
    }
    return NULL;
}

const struct api_kind *registry_find_any(
    const struct registry *r, const char *group, const char *kind)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->kinds[i]->resource.kind, kind) == 0 &&
            strcmp(r->kinds[i]->resource.group, group) == 0)
            return r->kinds[i];
    return NULL;
}

const struct api_kind *registry_at(const struct registry *r, size_t index)
{
    return index < r->count ? r->kinds[index] : NULL;
}

uint64_t registry_generation(const struct registry *r)
{
    return r->generation;
}

const struct api_kind *registry_find_table(const struct registry *r, const char *table)
{
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++)
        if (k->table && strcmp(k->table, table) == 0)
            return k;
    return NULL;
}
