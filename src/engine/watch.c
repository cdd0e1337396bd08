/* Stores the watch events in the cache and wakes the keys whose plans depend on them. */

#include "engine/internal.h"

#include "base/log.h"
#include "kube/events.h"

static const char *namespace_of(struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    return ns ? ns : "";
}

/* The labels that the cache holds for an object, to find the lists that selected it by label. */
static struct json cached_labels(struct arena *a, const struct cache_entry *entry)
{
    return json_if(entry, json_copy(a, json_get(cache_read(a, entry), "metadata.labels")));
}

/* unreadable: why only a part of the object was read; NULL: all of it was read. */
static void take_in(
    struct engine_watch *w, struct json object, const char *unreadable, bool initial)
{
    struct engine *e = w->engine;
    struct cache_resource *r = w->resource;
    const char *ns = namespace_of(object);
    const char *name = json_get_text(object, "metadata.name");
    uint64_t version = cache_version(object);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct cache_entry *entry = cache_find(r, ns, name);
    if (entry && entry->version >= version)
        entry = NULL; /* an echo of our write, which changes nothing */
    struct json before = cached_labels(&a, entry);
    bool came = !entry || !text_eq(entry->uid, json_get_text(object, "metadata.uid"));
    engine_need_schema(e, r);
    enum cache_change change = unreadable ? cache_put_unreadable(r, object, unreadable, &entry)
                                          : cache_put(r, object, CACHE_FROM_WATCH, &entry);
    if (!initial && version > r->version)
        r->version = version;
    if (change == CACHE_SAME) {
        e->counts.echoes += !initial;
        return;
    }
    struct key *except = write_hold_event(r, ns, name, version);
    struct engine_kind *kind = engine_kind_of(e, r);
    if (kind) {
        struct key *k = key_get(kind, ns, name);
        if (k != except)
            queue_wake(&k->item);
    }
    if (came)
        owner_wake(e, entry, object, except);
    struct json labels = json_get(object, "metadata.labels");
    engine_object_changed(e, r, ns, name, before, labels, except);
}

static void on_put(void *ctx, struct json object, bool initial)
{
    take_in(ctx, object, NULL, initial);
}

static bool is_known(void *ctx, const struct stream_identity *id)
{
    struct engine_watch *w = ctx;
    struct cache_resource *r = w->resource;
    uint64_t version;
    if (!cache_known(r, id, &version))
        return false;
    if (version > r->version)
        r->version = version;
    w->engine->counts.echoes++;
    return true;
}

void watch_object_gone(struct engine *e, struct cache_entry *entry)
{
    struct cache_resource *r = entry->resource;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *ns = arena_strdup(&a, entry->ns);
    const char *name = arena_strdup(&a, entry->name);
    const char *owner = arena_strdup(&a, entry->controller_uid);
    struct json labels = cached_labels(&a, entry);
    cache_delete(r, entry);
    struct engine_kind *kind = engine_kind_of(e, r);
    struct key *k = kind ? key_find(e, kind, ns, name) : NULL;
    if (k)
        key_free(k);
    if (kind)
        owner_gone(kind, ns, name);
    if (r->child && r->resource->cluster_scoped)
        owner_child_gone(e, owner);
    engine_object_changed(e, r, ns, name, json_none, labels, NULL);
}

static void on_remove(void *ctx, struct json last)
{
    struct engine_watch *w = ctx;
    struct cache_resource *r = w->resource;
    uint64_t version = cache_version(last);
    if (version > r->version)
        r->version = version;
    const char *name = json_get_text(last, "metadata.name");
    cache_grave_done(r, json_get_text(last, "metadata.uid"));
    struct cache_entry *entry = cache_find(r, namespace_of(last), name);
    /* A new object with the same name is a different object. */
    if (entry && text_eq(entry->uid, json_get_text(last, "metadata.uid")))
        watch_object_gone(w->engine, entry);
}

static void on_replace_begin(void *ctx)
{
    struct engine_watch *w = ctx;
    w->resource->round++;
    if (!w->there) {
        w->there = true;
        engine_start_watches(w->engine);
    }
}

/* Removes objects that the list did not contain, up to its version. Objects that a response
 * reported later will also come through the watch. */
static void remove_unseen(struct engine *e, struct cache_resource *r, uint64_t version)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    size_t count;
    struct cache_entry **all = cache_list(&a, r, NULL, NULL, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->round != r->round && all[i]->version <= version)
            watch_object_gone(e, all[i]);
    cache_graves_clear(r, version);
}

void watch_reload(struct engine_watch *w)
{
    w->resource->round++;
    w->resource->synced = false; /* so that objects that are not read yet do not count as gone */
    remove_unseen(w->engine, w->resource, UINT64_MAX);
    reflector_reload(w->reflector);
}

static void advance_version(struct cache_resource *r, const char *text)
{
    int64_t version;
    if (str_to_int(str_of(text), &version) && (uint64_t)version > r->version)
        r->version = (uint64_t)version;
}

static void on_replace_end(void *ctx, const char *version)
{
    struct engine_watch *w = ctx;
    struct cache_resource *r = w->resource;
    int64_t listed;
    /* If the server's versions went back, it was restored from a backup: objects that it does not
     * list do not exist. */
    bool goes_on = str_to_int(str_of(version), &listed) && (uint64_t)listed >= r->version;
    remove_unseen(w->engine, r, goes_on ? (uint64_t)listed : UINT64_MAX);
    advance_version(r, version);
    served_loaded(w);
    if (w->resource->synced || w->needs_schema)
        return;
    w->resource->synced = true;
    log_debug("loaded %zu %s", w->resource->table.count, w->resource->resource->plural);
    engine_wake_parked(w->engine);
    engine_pump(w->engine);
}

static void on_bookmark(void *ctx, const char *version)
{
    struct engine_watch *w = ctx;
    advance_version(w->resource, version);
}

static void tell(struct engine *e, struct json regarding, const char *reason, const char *note)
{
    if (!e->options.events || !json_present(regarding))
        return;
    event_record(e->options.events,
        &(struct event){
            .regarding = regarding,
            .warning = true,
            .reason = reason,
            .action = "Reconcile",
            .note = note,
        });
}

static void on_bad(void *ctx, const struct reflector_bad *bad)
{
    struct engine_watch *w = ctx;
    struct engine *e = w->engine;
    e->counts.unreadable++;
    log_with(LOG_LEVEL_WARN,
        LOG_FIELDS({ "kind", w->resource->resource->kind },
            { "namespace", bad->ns },
            { "name", bad->name }),
        "an object cannot be read and is left alone: %s",
        bad->err->text);
    if (!bad->name)
        return;
    struct cache_entry *entry = cache_find(w->resource, bad->ns, bad->name);
    if (entry)
        entry->round = w->resource->round;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (engine_kind_of(e, w->resource) && json_present(bad->object)) {
        /* The status reports the error. */
        struct json rest = json_with_member(&a, bad->object, "spec", json_none);
        take_in(w, rest, bad->err->text, bad->initial);
        return;
    }
    const struct resource *r = w->resource->resource;
    struct json regarding = json_fields(&a,
        { "apiVersion", json_str(resource_api_version(&a, r)) },
        { "kind", json_str(r->kind) },
        { "metadata.name", json_str(bad->name) },
        { "metadata.namespace", json_str(bad->ns) },
        { "metadata.uid", json_str(bad->uid) });
    tell(e, regarding, "Unreadable", bad->err->text);
}

/* ---- state of the watches ---- */

static void served_changed(struct engine_watch *w, bool missing)
{
    struct engine *e = w->engine;
    if (w->resource->missing == missing)
        return;
    w->resource->missing = missing;
    if (missing) {
        w->resource->round++;
        remove_unseen(e, w->resource, UINT64_MAX);
        w->resource->synced = false;
    }
    /* Errors from the time when the API came or went are out of date. */
    for (struct table_cursor at = table_first(&e->keys); at.node; table_next(&at))
        memos_calm(container_of(at.node, struct key, node), w->resource->resource);
    uint64_t target = depend_on_name(&e->depends, w->resource->resource, " ", "served");
    depend_each(&e->depends, target, engine_wake, NULL);
    engine_wake_parked(e);
}

static void say_state(struct engine_watch *w, enum reflector_state state)
{
    const struct resource *r = w->resource->resource;
    if (state == REFLECTOR_WATCHING && w->told)
        log_info("watching %s again", r->plural);
    if (state == REFLECTOR_NOT_INSTALLED && engine_kind_of(w->engine, w->resource))
        log_warn("the CRD %s.%s is not installed; waiting for it", r->plural, r->group);
    else if (state == REFLECTOR_FORBIDDEN || (state == REFLECTOR_TROUBLED && !w->told))
        log_warn("%s", w->why.text);
    if (state == REFLECTOR_FORBIDDEN)
        tell(w->engine, w->engine->options.self, "Forbidden", w->why.text);
    w->told = state == REFLECTOR_TROUBLED || state == REFLECTOR_FORBIDDEN;
}

static void on_state(void *ctx, enum reflector_state state, const struct error *err)
{
    struct engine_watch *w = ctx;
    bool fresh = state != w->state || (err && !text_eq(err->text, w->why.text));
    w->why = err ? *err : (struct error){ 0 };
    if (fresh)
        say_state(w, state);
    w->state = state;
    served_changed(w, state == REFLECTOR_NOT_INSTALLED);
    engine_wake_parked(w->engine);
}

const struct reflector_sink watch_sink = {
    .replace_begin = on_replace_begin,
    .put = on_put,
    .known = is_known,
    .remove = on_remove,
    .replace_end = on_replace_end,
    .bookmark = on_bookmark,
    .bad = on_bad,
    .state = on_state,
};
