/* Finds the owner of a child. A planned child wakes its owner by name. A child that is not planned,
 * because its create request arrived after it was no longer wanted, wakes its owner from here.
 *
 * The garbage collector does not handle cluster-scoped children. If their owner is gone, they get a
 * key without an object: run_start() asks the server whether the owner really is gone, and then
 * deletes the child. */

#include "engine/write.h"

#include "base/str.h"

static struct engine_kind *kind_of(const struct engine *e, struct str group, struct str kind)
{
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct resource *r = e->kinds[i].kind->resource;
        if (str_eq(group, str_of(r->group)) && str_eq(kind, str_of(r->kind)))
            return &e->kinds[i];
    }
    return NULL;
}

/* Another family may watch the same objects through another resource constant. Its events contain
 * nothing new. */
static bool makes(const struct engine_kind *kind, const struct resource *r)
{
    const struct kind_watch *w = kind->kind->watches;
    while (w->resource && !(w->child && w->resource == r))
        w++;
    return w->resource;
}

/* By its owner reference. */
static struct key *controller_of(
    struct engine *e, const struct cache_entry *child, struct json object)
{
    json_each (reference, json_get(object, "metadata.ownerReferences")) {
        struct str version = str_of(json_get_text(*reference, "apiVersion"));
        struct str group = str_cut(&version, '/');
        const struct engine_kind *kind =
            kind_of(e, version.ptr ? group : STR(""), str_of(json_get_text(*reference, "kind")));
        const char *name = json_get_text(*reference, "name");
        bool controls = json_get_bool(*reference, "controller", false);
        if (kind && name && controls && makes(kind, child->resource->resource))
            return key_find(e, kind, child->ns, name);
    }
    return NULL;
}

/* By plan_owner_id(). With `make`, adds a key without an object if there is no key. */
static struct key *owner_in_cluster(struct engine *e, const char *id, bool make)
{
    struct str name = str_of(id);
    struct str group = str_cut(&name, '/'), ns = str_cut(&name, '/');
    struct str kind_name = str_cut(&group, '.');
    struct engine_kind *kind = kind_of(e, group, kind_name);
    if (!kind || !kind->kind->finalizer || !ns.len || !name.len)
        return NULL;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *of = str_dup(&a, ns), *named = str_dup(&a, name);
    return make ? key_get(kind, of, named) : key_find(e, kind, of, named);
}

/* The key will look at everything when it runs, including this child. */
static bool is_due(const struct key *k)
{
    return k->parked || k->item.state == QUEUE_READY || k->item.dirty;
}

void owner_wake(
    struct engine *e, const struct cache_entry *child, struct json object, const struct key *except)
{
    const struct cache_resource *r = child->resource;
    if (!r->child)
        return;
    struct key *k = r->resource->cluster_scoped ? owner_in_cluster(e, child->controller_uid, true)
                                                : controller_of(e, child, object);
    if (k && k != except && !is_due(k))
        queue_wake(&k->item);
}

struct json owner_stand_in(struct arena *a, const struct key *k)
{
    return json_fields(
        a, { "metadata.namespace", json_str(k->ns) }, { "metadata.name", json_str(k->name) });
}

bool owner_is_needed(const struct key *k)
{
    const struct resource *r = k->kind->kind->resource;
    struct cache *cache = &k->kind->engine->cache;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *id = plan_owner_id(&a, resource_api_version(&a, r), r->kind, owner_stand_in(&a, k));
    size_t count = 0;
    cache_children(&a, cache, id, &count);
    return count || cache_find(k->kind->resource, k->ns, k->name);
}

void owner_gone(struct engine_kind *kind, const char *ns, const char *name)
{
    if (!kind->kind->finalizer)
        return;
    struct key *k = key_get(kind, ns, name);
    if (owner_is_needed(k))
        queue_after(&k->item, WRITE_HELD_MS);
    else
        key_free(k);
}

void owner_child_gone(struct engine *e, const char *id)
{
    struct key *k = owner_in_cluster(e, id, false);
    if (k && !k->run && !owner_is_needed(k))
        key_free(k);
}
