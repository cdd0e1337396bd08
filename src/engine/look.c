/* A view outside of a run. It registers no dependencies and copies nothing, because it is used only
 * until the cache can change. */

#include "engine/internal.h"

#include "base/selector.h"

struct looker {
    struct engine *engine;
    struct arena *arena;
};

static struct cache_resource *watched(const struct looker *l, const struct resource *r)
{
    struct cache_resource *found = cache_resource_of(&l->engine->cache, r);
    assert(found); /* a kind queries only the resources in its watch list */
    return found;
}

static struct json look_get(void *ctx, const struct resource *r, const char *ns, const char *name)
{
    const struct looker *l = ctx;
    struct cache_entry *e = cache_find(watched(l, r), r->cluster_scoped ? "" : ns, name);
    return json_if(e, cache_read(l->arena, e));
}

static struct json look_list(
    void *ctx, const struct resource *r, const char *ns, const char *selector)
{
    const struct looker *l = ctx;
    struct selector parsed = { 0 };
    struct error err;
    if (selector && !selector_parse(l->arena, selector, &parsed, &err))
        assert(!"a kind lists by a selector that cannot be read");
    size_t count;
    struct cache_entry **found = cache_list(l->arena, watched(l, r), ns, NULL, &count);
    struct json_builder list;
    json_builder_init(&list, l->arena);
    for (size_t i = 0; i < count; i++) {
        struct json object = cache_read(l->arena, found[i]);
        if (selector_matches(&parsed, json_get(object, "metadata.labels")))
            json_push(&list, object);
    }
    return json_list_end(&list);
}

static bool look_served(void *ctx, const struct resource *r)
{
    return !watched(ctx, r)->missing;
}

static struct json look_owned(void *ctx, const struct resource *r, const char *name)
{
    (void)ctx, (void)r, (void)name;
    return json_none;
}

static struct view_trouble look_trouble(void *ctx, const struct resource *r, const char *name)
{
    (void)ctx, (void)r, (void)name;
    return (struct view_trouble){ 0 };
}

static struct json look_fact(void *ctx, const char *effect, struct json args)
{
    (void)ctx, (void)effect, (void)args;
    return json_none;
}

static const struct view_source source = {
    .get = look_get,
    .list = look_list,
    .served = look_served,
    .owned = look_owned,
    .trouble = look_trouble,
    .fact = look_fact,
};

bool engine_look(struct engine *e, struct arena *a, const struct kind *kind, struct json object,
    struct view *ret, struct error *err)
{
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct engine_kind *k = &e->kinds[i];
        if (k->kind != kind)
            continue;
        struct looker *l = arena_new(a, struct looker);
        *l = (struct looker){ e, a };
        *ret = (struct view){
            .arena = a,
            .object = object,
            .now_ms = env_wall_ms(e->env),
            .settings = k->family->settings,
            .source = &source,
            .source_ctx = l,
        };
        return engine_kind_ready(e, k, err);
    }
    return fail(err, ERR_NOT_FOUND, "%s is not served here", kind->resource->kind);
}
