#include "apiserver/controllers/namespace.h"

#include <string.h>

#include "apiserver/controllers/gc.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/verbs/remove.h"

/* Cheap: a terminating namespace contains the word in its text, and only then it is parsed. */
bool namespace_is_ending(struct apiserver *s, const struct store_object *ns)
{
    if (!memmem(ns->text.ptr, ns->text.len, "deletionTimestamp", 17))
        return false;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct api_kind *k = registry_find(s->registry, "", "v1", "namespaces");
    return k && meta_is_deleting(object_read(k, &a, ns));
}

bool namespace_delete(struct write *w, struct json finalizers, struct json *object,
    const struct store_object **ret, bool *ret_gone)
{
    static const char *const immortal[] = { "default", "kube-public", "kube-system" };
    struct arena *a = w->arena;
    struct json o = w->old, meta = meta_of(o);
    for (size_t i = 0; i < lengthof(immortal); i++)
        if (w->call && strcmp(w->name, immortal[i]) == 0)
            return call_fail(w->call,
                status_forbidden(a, w->kind, w->name, "this namespace may not be deleted"));
    bool deleting = meta_is_deleting(o);
    meta = json_with_member(a, meta, "finalizers", finalizers);
    if (!deleting)
        meta =
            json_with_member(a, meta, "deletionTimestamp", json_str(meta_now(w->server->env, a)));
    o = json_with_member(a, o, "metadata", meta);
    o = json_with(a, o, "status.phase", json_str("Terminating"));
    *object = o;
    *ret_gone = write_is_last(o);
    return write_store(w, o, *ret_gone, ret);
}

/* ---- emptying ---- */

/* The limit per turn, so that other requests are served, too. */
#define DELETES_MAX 256

struct emptying {
    struct apiserver *server;
    struct arena *arena;
    const char *ns;
    size_t done;
    size_t left; /* remaining objects: number per resource and per finalizer */
    struct json left_resources, left_finalizers;
};

static void count_one(struct arena *a, struct json *map, const char *key)
{
    *map = json_with_member(a, *map, key, json_int(json_get_int(*map, key, 0) + 1));
}

static void count_left(struct emptying *e, const struct api_kind *k, struct json object)
{
    const struct resource *r = &k->resource;
    e->left++;
    count_one(e->arena, &e->left_resources, arena_printf(e->arena, "%s.%s", r->plural, r->group));
    json_each (f, json_get(object, "metadata.finalizers"))
        count_one(e->arena, &e->left_finalizers, json_text(*f));
}

/* Pods get their grace period if they run on a node. */
static int64_t grace_of(struct apiserver *s, struct json object)
{
    const char *name = json_get_text(object, "spec.nodeName");
    const struct api_kind *k = registry_find(s->registry, "", "v1", "nodes");
    return name && k && store_get(store_table(s->store, k->table), "", name) ? -1 : 0;
}

static void delete_from(struct emptying *e, const struct api_kind *k, const struct store_object *o)
{
    struct write w = {
        .server = e->server,
        .arena = e->arena,
        .kind = k,
        .ns = o->ns,
        .name = o->name,
        .before = o,
        .old = object_read(k, e->arena, o),
    };
    struct delete_options options = { .propagation = PROPAGATION_BACKGROUND };
    struct json object;
    const struct store_object *stored;
    bool gone = false;
    if (meta_is_deleting(w.old)) {
        count_left(e, k, w.old);
        return;
    }
    options.grace_s = grace_of(e->server, w.old);
    e->done++;
    store_object_hold(o);
    if (!delete_object(&w, &options, &object, &stored, &gone) || !gone)
        count_left(e, k, w.old);
    store_object_release(o);
}

/* One version of each resource is enough. */
static bool is_first_version(const struct registry *r, const struct api_kind *k)
{
    return registry_find_any(r, k->resource.group, k->resource.kind) == k;
}

static void empty_kind(struct emptying *e, const struct api_kind *k)
{
    struct store_table *t = store_table(e->server->store, k->table);
    struct store_cursor cursor = { .ns = e->ns };
    const struct store_object *o;
    while (e->done < DELETES_MAX && (o = store_next(t, &cursor))) {
        cursor.after_ns = arena_strdup(e->arena, o->ns);
        cursor.after_name = arena_strdup(e->arena, o->name);
        delete_from(e, k, o);
    }
}

/* Pods first: what they use (policies, accounts, configurations) is kept while they run. */
static void empty_namespace(struct emptying *e)
{
    const struct api_kind *k = registry_find(e->server->registry, "", "v1", "pods");
    if (k)
        empty_kind(e, k);
    if (e->left)
        return;
    for (size_t i = 0; (k = registry_at(e->server->registry, i)); i++)
        if (!k->resource.cluster_scoped && (k->verbs & API_DELETE) &&
            is_first_version(e->server->registry, k))
            empty_kind(e, k);
}

/* The texts of a condition for remaining content. */
struct remains {
    const char *reason, *start, *item;
};

/* The condition; with the counts if there are any. */
static struct json remaining(
    struct arena *a, struct json condition, struct json counts, const struct remains *r)
{
    const char *list = "";
    json_each_member (m, counts)
        list = arena_printf(a,
            "%s%s%s%s %lld resource instances",
            list,
            *list ? ", " : "",
            m->key,
            r->item,
            (long long)m->value.integer);
    if (!*list)
        return condition;
    condition = json_with_member(a, condition, "status", json_str("True"));
    condition = json_with_member(a, condition, "reason", json_str(r->reason));
    return json_with_member(a, condition, "message", json_strf(a, "%s: %s", r->start, list));
}

/* The conditions of a namespace that waits for its content. */
static struct json conditions(struct emptying *e, struct json old)
{
    static const struct {
        const char *type, *reason, *message;
    } rows[] = {
        { "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered" },
        { "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed" },
        { "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization" },
        { "NamespaceContentRemaining", "ContentRemoved", "All content successfully removed" },
        { "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished" },
    };
    static const struct remains of_resources = {
        "SomeResourcesRemain", "Some resources are remaining", " has"
    };
    static const struct remains of_finalizers = {
        "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining", " in"
    };
    struct arena *a = e->arena;
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct json c = json_map(a,
            { "type", json_str(rows[i].type) },
            { "status", json_str("False") },
            { "reason", json_str(rows[i].reason) },
            { "message", json_str(rows[i].message) });
        if (i == 3)
            c = remaining(a, c, e->left_resources, &of_resources);
        else if (i == 4)
            c = remaining(a, c, e->left_finalizers, &of_finalizers);
        struct json was = json_find(old, "type", rows[i].type);
        const char *since = json_get_text(was, "lastTransitionTime");
        if (!since || !text_eq(json_get_text(was, "status"), json_get_text(c, "status")))
            since = meta_now(e->server->env, a);
        json_push(&b, json_with_member(a, c, "lastTransitionTime", json_str(since)));
    }
    return json_list_end(&b);
}

static void finish(struct emptying *e, const struct api_kind *k, const struct store_object *o)
{
    struct arena *a = e->arena;
    struct write w = {
        .server = e->server,
        .arena = a,
        .kind = k,
        .ns = "",
        .name = e->ns,
        .before = o,
        .old = object_read(k, a, o),
    };
    struct json object = w.old, kept = { 0 };
    const struct store_object *stored;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (f, json_get(object, "spec.finalizers"))
        if (!text_eq(f->string, "kubernetes"))
            json_push(&b, *f);
    kept = json_or_absent(json_list_end(&b));
    if (e->left)
        object = json_with(
            a, object, "status.conditions", conditions(e, json_get(object, "status.conditions")));
    else
        object = json_with(a, object, "spec.finalizers", kept);
    bool gone = write_is_last(object);
    store_object_hold(o);
    if (!write_store(&w, object, gone, &stored))
        e->left++;
    store_object_release(o);
}

static size_t run_one(struct apiserver *s, const struct api_kind *k, const struct store_object *o)
{
    struct arena a;
    arena_init(&a, ARENA_LIMIT_DEFAULT);
    struct emptying e = { .server = s, .arena = &a, .ns = arena_strdup(&a, o->name) };
    empty_namespace(&e);
    size_t done = e.done;
    o = store_get(store_table(s->store, k->table), "", e.ns);
    if (!done && o) {
        uint64_t before = store_version(s->store);
        finish(&e, k, o);
        done += store_version(s->store) != before;
    }
    arena_done(&a);
    return done;
}

bool namespace_run(struct apiserver *s, bool *ret_waits)
{
    *ret_waits = false;
    const struct api_kind *k = registry_find(s->registry, "", "v1", "namespaces");
    if (!k)
        return false;
    struct store_table *t = store_table(s->store, k->table);
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    size_t done = 0;
    while ((o = store_next(t, &cursor))) {
        cursor.after_ns = "";
        cursor.after_name = arena_strdup(&a, o->name);
        if (!namespace_is_ending(s, o))
            continue;
        *ret_waits = true;
        done += run_one(s, k, o);
    }
    return done > 0;
}
