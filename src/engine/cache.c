#include "engine/cache.h"

#include <stdlib.h>

#include "base/resource.h"
#include "engine/adopt.h"
#include "engine/kind.h"
#include "engine/order.h"
#include "engine/plan.h"
#include "kube/stream.h"
#include "merge/merge.h"

void cache_init(struct cache *c, const char *manager, const char *const *predecessors,
    uint64_t seed0, uint64_t seed1)
{
    *c = (struct cache){
        .manager = manager,
        .predecessors = predecessors,
        .seed = { seed0, seed1 },
    };
    strings_init(&c->strings, seed0, seed1);
    table_init(&c->owners, seed0, seed1);
}

static uint64_t hash_of(const struct cache *c, const char *one, const char *two)
{
    /* The two halves are hashed separately, so that no separator can be forged. */
    uint64_t h = table_hash(&c->owners, one, strlen(one));
    return h * 31 + table_hash(&c->owners, two, strlen(two));
}

struct wanted_name {
    const char *ns;
    const char *name;
};

static bool is_named(const struct table_node *n, const void *key)
{
    const struct cache_entry *e = container_of(n, struct cache_entry, node);
    const struct wanted_name *w = key;
    return strcmp(e->name, w->name) == 0 && strcmp(e->ns, w->ns) == 0;
}

struct cache_entry *cache_find(const struct cache_resource *r, const char *ns, const char *name)
{
    ns = ns && !r->resource->cluster_scoped ? ns : "";
    struct wanted_name wanted = { ns, name };
    struct table_node *n = table_find(&r->table, hash_of(r->cache, ns, name), is_named, &wanted);
    return n ? container_of(n, struct cache_entry, node) : NULL;
}

static void unlink_entry(struct cache_entry *e)
{
    struct cache *c = e->resource->cache;
    table_remove(&e->resource->table, &e->node);
    if (*e->controller_uid)
        table_remove(&c->owners, &e->owner_node);
    if (e->label)
        table_remove(&e->resource->index, &e->index_node);
    c->count--;
}

static void free_entry(struct cache_entry *e)
{
    struct cache *c = e->resource->cache;
    pack_free(&c->strings, e->kept);
    pack_free(&c->strings, e->owned);
    free(e);
}

/* ---- objects that are gone according to a response ---- */

void cache_bury(const struct cache_entry *entry)
{
    struct cache_resource *r = entry->resource;
    size_t size = strlen(entry->uid) + 1;
    struct cache_grave *g = mem_new(sizeof(*g) + size);
    memcpy(g->uid, entry->uid, size);
    g->version = entry->version;
    g->round = r->round;
    g->next = r->graves;
    r->graves = g;
}

static void remove_grave(struct cache_grave **at)
{
    struct cache_grave *g = *at;
    *at = g->next;
    free(g);
}

static struct cache_grave **find_grave(struct cache_resource *r, const char *uid)
{
    struct cache_grave **at = &r->graves;
    while (*at && !text_eq((*at)->uid, uid))
        at = &(*at)->next;
    return at;
}

void cache_grave_done(struct cache_resource *r, const char *uid)
{
    struct cache_grave **at = find_grave(r, uid);
    if (*at)
        remove_grave(at);
}

void cache_graves_clear(struct cache_resource *r, uint64_t version)
{
    for (struct cache_grave **at = &r->graves; *at;)
        if ((*at)->round != r->round && (*at)->version <= version)
            remove_grave(at);
        else
            at = &(*at)->next;
}

void cache_done(struct cache *c)
{
    while (c->first) {
        struct cache_resource *r = c->first;
        orders_free(r);
        while (r->graves)
            remove_grave(&r->graves);
        for (struct table_cursor at = table_first(&r->table); at.node; table_next(&at)) {
            struct cache_entry *e = container_of(at.node, struct cache_entry, node);
            unlink_entry(e);
            free_entry(e);
        }
        table_done(&r->table);
        table_done(&r->index);
        free(r->keep);
        c->first = r->next;
        free(r);
    }
    table_done(&c->owners);
    strings_done(&c->strings);
}

struct cache_resource *cache_resource_of(const struct cache *c, const struct resource *r)
{
    for (struct cache_resource *at = c->first; at; at = at->next)
        if (at->resource == r)
            return at;
    return NULL;
}

static struct cache_resource *add_resource(struct cache *c, const struct kind_watch *watch)
{
    struct cache_resource *r = mem_new_of(struct cache_resource);
    r->cache = c;
    r->resource = watch->resource;
    r->label_selector = watch->label_selector;
    r->optional = true;
    table_init(&r->table, c->seed[0], c->seed[1]);
    table_init(&r->index, c->seed[0], c->seed[1]);
    r->keep = mem_new(sizeof(*r->keep));
    struct cache_resource **end = &c->first;
    while (*end)
        end = &(*end)->next;
    *end = r;
    return r;
}

static bool covers(const char *path, const char *below)
{
    size_t length = strlen(path);
    return strncmp(path, below, length) == 0 && (below[length] == '.' || below[length] == '\0');
}

/* Keeps a path. A path inside another kept path is kept with it. */
static void add_keep(struct cache_resource *r, const char *path)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->keep_count; i++) {
        if (covers(r->keep[i], path))
            return;
        if (!covers(path, r->keep[i]))
            r->keep[kept++] = r->keep[i];
    }
    r->keep = mem_resize(r->keep, kept + 2, sizeof(*r->keep));
    r->keep[kept++] = path;
    r->keep[kept] = NULL;
    r->keep_count = kept;
}

struct cache_resource *cache_watch(struct cache *c, const struct kind_watch *watch)
{
    struct cache_resource *r = cache_resource_of(c, watch->resource);
    if (!r)
        r = add_resource(c, watch);
    else if (!text_eq(r->label_selector, watch->label_selector))
        r->label_selector = NULL;
    for (size_t i = 0; watch->keep && watch->keep[i]; i++)
        add_keep(r, watch->keep[i]);
    if (watch->index_label) {
        assert(!r->index_label || text_eq(r->index_label, watch->index_label));
        r->index_label = watch->index_label;
    }
    r->child |= watch->child;
    r->optional &= watch->optional;
    return r;
}

static uint64_t version_of(const char *text)
{
    int64_t version;
    return text && str_to_int(str_of(text), &version) && version > 0 ? (uint64_t)version : 0;
}

uint64_t cache_version(struct json object)
{
    return version_of(json_get_text(object, "metadata.resourceVersion"));
}

struct cache_entry *cache_known(
    const struct cache_resource *r, const struct stream_identity *id, uint64_t *ret_version)
{
    struct cache_entry *e = cache_find(r, id->ns, id->name);
    *ret_version = version_of(id->version);
    return e && *ret_version && e->version >= *ret_version ? e : NULL;
}

/* The controller: by uid, or by PLAN_OWNER_ANNOTATION where an owner reference is not possible. */
static const char *controller_of(const struct cache_resource *r, struct json object)
{
    if (r->resource->cluster_scoped)
        return json_text(
            json_member(json_get(object, "metadata.annotations"), PLAN_OWNER_ANNOTATION));
    json_each (reference, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*reference, "controller", false))
            return json_get_text(*reference, "uid");
    return NULL;
}

/* The fields of the object that we own, or that our predecessor owned. */
static struct json owned_fields(
    struct arena *a, const struct cache_resource *r, struct json object, struct cache_entry *e)
{
    const struct cache *c = r->cache;
    if (!r->schema || !(r->child || r->own_kind))
        return json_none;
    e->upstream = !r->keeps_apart && adopt_wanted(object, c->predecessors, r->subresource);
    struct merge_owned owned;
    merge_owned(a, r->schema, object, c->manager, r->subresource, &owned);
    e->exact = owned.found && owned.exact;
    if (owned.found)
        return owned.fields;
    return json_if(
        e->upstream, adopt_fields(a, r->schema, object, c->predecessors, r->subresource));
}

/* Kept for every object, in addition to the members of the entry. */
static const char *const always[] = { "metadata.deletionTimestamp", "metadata.ownerReferences" };

static const char *kept_path(const struct cache_resource *r, size_t i)
{
    return i < lengthof(always) ? always[i] : r->keep[i - lengthof(always)];
}

/* The object reduced to the fields that are kept. Fields that are in `owned` are not stored twice:
 * the data of a ConfigMap, a status, an owner reference. */
static struct json reduce(struct arena *a, const struct cache_resource *r, struct json object,
    struct json owned, bool *ret_shared)
{
    size_t count = lengthof(always) + r->keep_count;
    struct json_field *fields = arena_array(a, count + 1, sizeof(*fields));
    *ret_shared = false;
    for (size_t i = 0; i < count; i++) {
        const char *path = kept_path(r, i);
        struct json v = json_get(object, path);
        bool shared = json_present(v) && json_equal(v, json_get(owned, path));
        *ret_shared |= shared;
        fields[i] = (struct json_field){ path, shared ? (struct json){ 0 } : v };
    }
    fields[count] = (struct json_field){ 0 };
    return json_or_absent(json_fields_from(a, fields));
}

static const char *copy_text(char **to, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*to, text, size);
    *to += size;
    return copy;
}

static struct cache_entry *new_entry(
    struct arena *a, struct cache_resource *r, struct json object, const char *unreadable)
{
    struct cache *c = r->cache;
    const char *ns = json_get_text(object, "metadata.namespace");
    const char *uid = json_get_text(object, "metadata.uid");
    const char *name = json_get_text(object, "metadata.name");
    const char *controller = controller_of(r, object);
    const char *label = NULL;
    if (r->index_label)
        label = json_text(json_member(json_get(object, "metadata.labels"), r->index_label));
    ns = ns ? ns : "";
    uid = uid ? uid : "";
    controller = controller ? controller : "";
    size_t bytes = strlen(ns) + strlen(name) + strlen(uid) + strlen(controller) + 4 +
                   (label ? strlen(label) + 1 : 0) + (unreadable ? strlen(unreadable) + 1 : 0);
    struct cache_entry *e = mem_new(sizeof(*e) + bytes);
    char *at = e->texts;
    e->resource = r;
    e->ns = copy_text(&at, ns);
    e->name = copy_text(&at, name);
    e->uid = copy_text(&at, uid);
    e->controller_uid = copy_text(&at, controller);
    e->label = label ? copy_text(&at, label) : NULL;
    e->unreadable = unreadable ? copy_text(&at, unreadable) : NULL;
    e->deleting = json_present(json_get(object, "metadata.deletionTimestamp"));
    struct json owned = owned_fields(a, r, object, e);
    struct json kept = reduce(a, r, object, owned, &e->shared);
    e->kept = json_present(kept) ? pack_new(&c->strings, kept) : NULL;
    e->owned = json_present(owned) ? pack_new(&c->strings, owned) : NULL;
    return e;
}

static void link_entry(struct cache_entry *e)
{
    struct cache_resource *r = e->resource;
    struct cache *c = r->cache;
    table_add(&r->table, &e->node, hash_of(c, e->ns, e->name));
    if (*e->controller_uid)
        table_add(&c->owners, &e->owner_node, hash_of(c, e->controller_uid, ""));
    if (e->label)
        table_add(&r->index, &e->index_node, hash_of(c, e->ns, e->label));
    c->count++;
}

static bool packs_equal(const struct pack *a, const struct pack *b)
{
    return a == b || (a && b && pack_equal(a, b));
}

static enum cache_change put(struct cache_resource *r, struct json object, const char *unreadable,
    enum cache_origin origin, struct cache_entry **ret_entry)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    const char *name = json_get_text(object, "metadata.name");
    uint64_t version = cache_version(object);
    *ret_entry = NULL;
    if (!name || !version)
        return CACHE_SAME;
    struct cache_entry *old = cache_find(r, ns, name);
    *ret_entry = old;
    if (old && old->version >= version) {
        old->round = r->round;
        return CACHE_SAME;
    }
    /* The watch has passed this version: what it reported since then, perhaps a deletion, is newer.
     * If an older object is still cached, an event was lost. */
    if (origin == CACHE_FROM_ANSWER && version <= r->version && !old)
        return CACHE_SAME;
    struct cache_grave *grave = *find_grave(r, json_get_text(object, "metadata.uid"));
    if (grave) {
        grave->round = r->round;
        return CACHE_SAME;
    }
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct cache_entry *e = new_entry(&a, r, object, unreadable);
    e->version = version;
    e->round = r->round;
    *ret_entry = e;
    orders_change(r, old, e);
    if (!old) {
        link_entry(e);
        return CACHE_NEW;
    }
    bool same = strcmp(old->uid, e->uid) == 0 && packs_equal(old->kept, e->kept) &&
                packs_equal(old->owned, e->owned) && old->upstream == e->upstream &&
                old->exact == e->exact && text_eq(old->unreadable, e->unreadable);
    unlink_entry(old);
    free_entry(old);
    link_entry(e);
    return same ? CACHE_SAME : CACHE_CHANGED;
}

enum cache_change cache_put(struct cache_resource *r, struct json object, enum cache_origin origin,
    struct cache_entry **ret_entry)
{
    return put(r, object, NULL, origin, ret_entry);
}

enum cache_change cache_put_unreadable(
    struct cache_resource *r, struct json object, const char *why, struct cache_entry **ret_entry)
{
    return put(r, object, why, CACHE_FROM_WATCH, ret_entry);
}

enum cache_change cache_delete(struct cache_resource *r, struct cache_entry *entry)
{
    assert(entry && entry->resource == r);
    orders_change(r, entry, NULL);
    unlink_entry(entry);
    free_entry(entry);
    return CACHE_GONE;
}

struct json cache_read(struct arena *a, const struct cache_entry *entry)
{
    const struct cache_resource *r = entry->resource;
    struct json v = entry->kept ? pack_read(a, entry->kept) : json_empty_map();
    struct json identity = json_map(a,
        { "name", json_str(entry->name) },
        { "namespace", json_str_or_absent(entry->ns) },
        { "uid", json_str_or_absent(entry->uid) });
    v = json_with_member(a, v, "metadata", json_overlay(a, json_get(v, "metadata"), identity));
    struct json owned = entry->shared ? pack_read(a, entry->owned) : (struct json){ 0 };
    for (size_t i = 0; entry->shared && i < lengthof(always) + r->keep_count; i++) {
        const char *path = kept_path(r, i);
        struct json ours = json_get(owned, path);
        if (json_present(ours) && !json_present(json_get(v, path)))
            v = json_with(a, v, path, ours);
    }
    return v;
}

struct json cache_read_owned(struct arena *a, const struct cache_entry *entry)
{
    if (!entry->owned)
        return json_none;
    return pack_read(a, entry->owned);
}

static int compare_entries(const void *left, const void *right)
{
    const struct cache_entry *a = *(struct cache_entry *const *)left;
    const struct cache_entry *b = *(struct cache_entry *const *)right;
    int order = strcmp(a->ns, b->ns);
    return order ? order : strcmp(a->name, b->name);
}

/* A growing list of entries in an arena. */
struct found {
    struct arena *arena;
    struct cache_entry **items;
    size_t count, size;
};

static void add_found(struct found *f, struct cache_entry *e)
{
    arena_room(f->arena, f->items, f->count, f->size);
    f->items[f->count++] = e;
}

static struct cache_entry **sorted(struct found *f, size_t *ret_count)
{
    if (f->count > 1)
        qsort(f->items, f->count, sizeof(*f->items), compare_entries);
    *ret_count = f->count;
    return f->items;
}

struct cache_entry **cache_list(struct arena *a, const struct cache_resource *r, const char *ns,
    const char *label, size_t *ret_count)
{
    struct found f = { .arena = a };
    if (label && ns) {
        uint64_t hash = hash_of(r->cache, ns, label);
        for (struct table_node *n = table_chain(&r->index, hash); n; n = n->next) {
            struct cache_entry *e = container_of(n, struct cache_entry, index_node);
            if (n->hash == hash && text_eq(e->label, label) && text_eq(e->ns, ns))
                add_found(&f, e);
        }
        return sorted(&f, ret_count);
    }
    struct table_cursor at = table_first((struct table *)&r->table);
    for (; at.node; table_next(&at)) {
        struct cache_entry *e = container_of(at.node, struct cache_entry, node);
        bool wanted = !ns || strcmp(e->ns, ns) == 0;
        if (wanted && (!label || text_eq(e->label, label)))
            add_found(&f, e);
    }
    return sorted(&f, ret_count);
}

struct cache_entry **cache_children(
    struct arena *a, const struct cache *c, const char *uid, size_t *ret_count)
{
    struct found f = { .arena = a };
    uint64_t hash = hash_of(c, uid, "");
    for (struct table_node *n = table_chain(&c->owners, hash); n; n = n->next) {
        struct cache_entry *e = container_of(n, struct cache_entry, owner_node);
        if (n->hash == hash && text_eq(e->controller_uid, uid))
            add_found(&f, e);
    }
    return sorted(&f, ret_count);
}
