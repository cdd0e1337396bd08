#include "engine/engine.h"

#include <stdlib.h>

#include "base/log.h"
#include "engine/internal.h"
#include "kube/events.h"
#include "merge/schema.h"

#define ENGINE_RUNS_DEFAULT 16
/* Ready keys that get no turn for this long mean that the engine is stuck. */
#define ENGINE_STUCK_MS ((int64_t)60 * 1000)
/* Keys that get their turn before the loop looks at its sockets again: after a restart thousands
 * are ready at once, and health, lease and watches must not wait for all of them. */
#define ENGINE_TURN_KEYS 32
#define ENGINE_SCHEMA_RETRY_MS 2000
/* Of an OpenAPI document of one group version. */
#define ENGINE_OPENAPI_BYTES_MAX ((size_t)16 << 20)

/* ---- keys ---- */

struct wanted_key {
    const struct engine_kind *kind;
    const char *namespace;
    const char *name;
};

static bool is_key(const struct table_node *n, const void *wanted)
{
    const struct key *k = container_of(n, struct key, node);
    const struct wanted_key *w = wanted;
    return k->kind == w->kind && strcmp(k->name, w->name) == 0 &&
           strcmp(k->namespace, w->namespace) == 0;
}

static uint64_t hash_key(const struct engine *e, const char *namespace, const char *name)
{
    return table_hash(&e->keys, namespace, strlen(namespace)) * 31 +
           table_hash(&e->keys, name, strlen(name));
}

static struct key *key_find(
    struct engine *e, const struct engine_kind *kind, const char *namespace, const char *name)
{
    struct wanted_key wanted = { kind, namespace, name };
    struct table_node *n = table_find(&e->keys, hash_key(e, namespace, name), is_key, &wanted);
    return n ? container_of(n, struct key, node) : NULL;
}

static struct key *key_get(struct engine_kind *kind, const char *namespace, const char *name)
{
    struct engine *e = kind->engine;
    struct key *k = key_find(e, kind, namespace, name);
    if (k)
        return k;
    k = mem_new_of(struct key);
    k->kind = kind;
    k->namespace = mem_strdup(namespace);
    k->name = mem_strdup(name);
    queue_item_init(&e->queue, &k->item);
    table_add(&e->keys, &k->node, hash_key(e, namespace, name));
    return k;
}

static void key_free(struct key *k)
{
    struct engine *e = k->kind->engine;
    if (k->run)
        run_cancel(k->run);
    queue_item_done(&k->item);
    depend_clear(&e->depends, &k->depends);
    facts_clear(&e->facts, &k->facts, k);
    memos_free(k);
    table_remove(&e->keys, &k->node);
    free(k->namespace);
    free(k->name);
    free(k);
}

static struct engine_kind *kind_of(struct engine *e, const struct cache_resource *r)
{
    for (size_t i = 0; i < e->kind_count; i++)
        if (e->kinds[i].resource == r)
            return &e->kinds[i];
    return NULL;
}

/* ---- waking ---- */

static void wake(void *ctx, void *owner)
{
    struct key *k = owner;
    if (k != ctx)
        queue_wake(&k->item);
}

void engine_object_changed(struct engine *e, const struct cache_resource *r, const char *namespace,
    const char *name, struct json before, struct json after, const struct key *except)
{
    void *ctx = (void *)except;
    depend_each_of_object(&e->depends, r->resource, namespace, name, after, wake, ctx);
    if (json_present(before) && !json_equal(before, after))
        depend_each_of_object(&e->depends, r->resource, namespace, name, before, wake, ctx);
}

static void fact_changed(void *ctx, void *owner)
{
    (void)ctx;
    queue_wake(&((struct key *)owner)->item);
}

/* A kind may run when everything that it reads is there to be read. */
static bool kind_ready(const struct engine *e, const struct engine_kind *kind, struct error *err)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        const struct engine_watch *w = &e->watches[i];
        bool needed = w->resource == kind->resource, optional = false;
        const struct kind_watch *of = kind->kind->watches;
        for (; of && of->resource; of++)
            if (of->resource == w->resource->resource) {
                needed = true;
                optional = of->optional;
            }
        bool settled = w->resource->synced || w->resource->missing ||
                       (optional && w->state == REFLECTOR_FORBIDDEN);
        if (needed && !optional && w->reflector && w->resource->missing)
            return fail(err,
                ERR_NOT_FOUND,
                "the CRD %s.%s is not installed",
                w->resource->resource->plural,
                w->resource->resource->group);
        if (needed && !(w->resource->synced || (optional && settled) || !w->reflector))
            return fail(err,
                w->why.code ? w->why.code : ERR_UNAVAILABLE,
                "%s: %s",
                w->resource->resource->plural,
                w->why.code ? w->why.text : "not loaded yet");
    }
    return true;
}

/* An object that is going must not wait for what it can do without. */
static bool may_run(const struct engine *e, const struct key *k)
{
    struct error err;
    struct cache_entry *entry = cache_find(k->kind->resource, k->namespace, k->name);
    if (!entry || !entry->deleting)
        return kind_ready(e, k->kind, &err);
    for (size_t i = 0; i < e->watch_count; i++) {
        const struct engine_watch *w = &e->watches[i];
        const struct cache_resource *r = w->resource;
        bool settled = r->synced || r->missing || w->state == REFLECTOR_FORBIDDEN || !w->reflector;
        const struct kind_watch *of = k->kind->kind->watches;
        for (; of && of->resource; of++)
            if (of->child && of->resource->cluster_scoped && of->resource == r->resource &&
                !settled)
                return false;
    }
    return true;
}

static void pump(void *ctx)
{
    struct engine *e = ctx;
    size_t taken = 0;
    while (e->leading && !e->draining && e->run_count < e->options.runs_max) {
        if (taken++ == ENGINE_TURN_KEYS) {
            engine_pump(e);
            break;
        }
        struct queue_item *item = queue_take(&e->queue);
        if (!item)
            break;
        e->taken_ms = env_mono_ms(e->env);
        struct key *k = container_of(item, struct key, item);
        k->parked = !may_run(e, k);
        if (k->parked)
            queue_done(item); /* wake_parked() wakes it */
        else
            run_start(k);
    }
    if (e->draining && e->drained && e->run_count == 0) {
        void (*done)(void *) = e->drained;
        e->drained = NULL;
        done(e->drained_ctx);
    }
}

void engine_pump(struct engine *e)
{
    if (!timer_is_set(&e->pump))
        timer_set(e->env, &e->pump, 0);
}

static void on_ready(void *ctx)
{
    engine_pump(ctx);
}

/* Those whose kind can run now: waking the others would only use up their allowance. */
static void wake_parked(struct engine *e)
{
    struct error err;
    for (size_t i = 0; i < e->kind_count; i++)
        e->kinds[i].ready = kind_ready(e, &e->kinds[i], &err);
    for (struct table_cursor at = table_first(&e->keys); at.node; table_next(&at)) {
        struct key *k = container_of(at.node, struct key, node);
        if (k->parked && (k->kind->ready || may_run(e, k)))
            queue_wake(&k->item);
    }
}

/* ---- what the watches say ---- */

static const char *namespace_of(struct json object)
{
    const char *namespace = json_get_text(object, "metadata.namespace");
    return namespace ? namespace : "";
}

/* The labels that the cache has of an object, for those who listed it by them. */
static struct json cached_labels(struct arena *a, const struct cache_entry *entry)
{
    return entry ? json_copy(a, json_get(cache_read(a, entry), "metadata.labels"))
                 : (struct json){ 0 };
}

static void on_put(void *ctx, struct json object, bool initial)
{
    struct engine_watch *w = ctx;
    struct engine *e = w->engine;
    struct cache_resource *r = w->resource;
    const char *namespace = namespace_of(object);
    const char *name = json_get_text(object, "metadata.name");
    uint64_t version = cache_version(object);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json before = cached_labels(&a, cache_find(r, namespace, name));
    struct cache_entry *entry;
    enum cache_change change = cache_put(r, object, CACHE_FROM_WATCH, &entry);
    if (!initial && version > r->version)
        r->version = version;
    if (change == CACHE_SAME) {
        e->counts.echoes += !initial;
        return;
    }
    struct key *except = write_hold_event(e, r, namespace, name, version);
    struct engine_kind *kind = kind_of(e, r);
    if (kind) {
        struct key *k = key_get(kind, namespace, name);
        if (k != except)
            queue_wake(&k->item);
    }
    struct json labels = json_get(object, "metadata.labels");
    engine_object_changed(e, r, namespace, name, before, labels, except);
}

static void object_gone(struct engine *e, struct cache_entry *entry)
{
    struct cache_resource *r = entry->resource;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *namespace = arena_strdup(&a, entry->namespace);
    const char *name = arena_strdup(&a, entry->name);
    struct json labels = cached_labels(&a, entry);
    cache_delete(r, entry);
    struct engine_kind *kind = kind_of(e, r);
    struct key *k = kind ? key_find(e, kind, namespace, name) : NULL;
    if (k)
        key_free(k);
    engine_object_changed(e, r, namespace, name, (struct json){ 0 }, labels, NULL);
}

static void on_remove(void *ctx, struct json last)
{
    struct engine_watch *w = ctx;
    struct cache_resource *r = w->resource;
    uint64_t version = cache_version(last);
    if (version > r->version)
        r->version = version;
    const char *name = json_get_text(last, "metadata.name");
    struct cache_entry *entry = cache_find(r, namespace_of(last), name);
    /* A successor of the same name is another object. */
    if (entry && text_eq(entry->uid, json_get_text(last, "metadata.uid")))
        object_gone(w->engine, entry);
}

static void on_replace_begin(void *ctx)
{
    struct engine_watch *w = ctx;
    w->resource->round++;
}

static void remove_unseen(struct engine *e, struct cache_resource *r)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    size_t count;
    struct cache_entry **all = cache_list(&a, r, NULL, NULL, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i]->round != r->round)
            object_gone(e, all[i]);
}

static void advance_version(struct cache_resource *r, const char *text)
{
    int64_t version;
    if (str_to_int(str_of(text), &version) && (uint64_t)version > r->version)
        r->version = (uint64_t)version;
}

/* How the lists of a custom kind of others merge stands in the server's OpenAPI document, which
 * every authenticated client may read. What was loaded before it is known is loaded again. */
static void schema_came(void *ctx, const struct kube_reply *reply)
{
    struct engine_watch *w = ctx;
    struct engine *e = w->engine;
    const struct resource *r = w->resource->resource;
    w->schema_op = NULL;
    struct json found = { 0 };
    struct error err = reply->error;
    json_each_member (m, json_get(reply->body, "components.schemas"))
        json_each (gvk, json_member(m->value, "x-kubernetes-group-version-kind"))
            if (text_eq(json_get_text(*gvk, "group"), r->group) &&
                text_eq(json_get_text(*gvk, "version"), r->version) &&
                text_eq(json_get_text(*gvk, "kind"), r->kind))
                found = m->value;
    if (err.code == ERR_NONE && !json_present(found))
        fail(&err, ERR_NOT_FOUND, "it is not in the OpenAPI document yet");
    struct json version = json_fields(reply->arena,
        { "name", json_str(r->version) },
        { "served", json_bool(true) },
        { "schema.openAPIV3Schema", found });
    struct json crd = json_fields(reply->arena,
        { "spec.group", json_str(r->group) },
        { "spec.names.kind", json_str(r->kind) },
        { "spec.versions", json_list(reply->arena, version) });
    if (err.code != ERR_NONE || !schemas_add_crd(e->options.schemas, crd, &err)) {
        log_debug("no schema of %s.%s: %s", r->plural, r->group, err.text);
        timer_set(e->env, &w->schema_retry, ENGINE_SCHEMA_RETRY_MS);
        return;
    }
    w->needs_schema = false;
    w->resource->schema = schema_of(e->options.schemas, r->group, r->version, r->kind);
    w->resource->round++;
    remove_unseen(e, w->resource);
    reflector_reload(w->reflector);
}

static void fetch_schema(void *ctx)
{
    struct engine_watch *w = ctx;
    const struct resource *r = w->resource->resource;
    if (w->schema_op || timer_is_set(&w->schema_retry))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_printf(&a, "/openapi/v3/apis/%s/%s", r->group, r->version);
    w->schema_op = kube_raw(w->engine->options.client,
        path,
        ENGINE_OPENAPI_BYTES_MAX,
        (struct kube_then){ schema_came, w });
}

/* Some kind whose objects are here reads this resource. */
static bool is_of_use(const struct engine *e, const struct cache_resource *r)
{
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct engine_kind *kind = &e->kinds[i];
        if (kind->resource == r)
            return true;
        const struct kind_watch *w = kind->kind->watches;
        for (; kind->resource->synced && w && w->resource; w++)
            if (w->resource == r->resource)
                return true;
    }
    return false;
}

/* What a kind reads is watched once its own CRD is there: a family that nobody installed costs
 * nothing, and needs no rights. */
static void start_watches(struct engine *e)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (w->started || !w->reflector || !is_of_use(e, w->resource))
            continue;
        w->started = true;
        reflector_start(w->reflector);
    }
}

static void on_replace_end(void *ctx, const char *version)
{
    struct engine_watch *w = ctx;
    remove_unseen(w->engine, w->resource);
    advance_version(w->resource, version);
    if (w->needs_schema)
        fetch_schema(w);
    if (w->resource->synced || w->needs_schema)
        return;
    w->resource->synced = true;
    start_watches(w->engine);
    log_debug("loaded %zu %s", w->resource->table.count, w->resource->resource->plural);
    wake_parked(w->engine);
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
            { "namespace", bad->namespace },
            { "name", bad->name }),
        "an object cannot be read and is left alone: %s",
        bad->err->text);
    if (!bad->name)
        return;
    struct cache_entry *entry = cache_find(w->resource, bad->namespace, bad->name);
    if (entry)
        entry->round = w->resource->round;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct resource *r = w->resource->resource;
    struct json regarding = json_fields(&a,
        { "apiVersion", json_str(resource_api_version(&a, r)) },
        { "kind", json_str(r->kind) },
        { "metadata.name", json_str(bad->name) },
        { "metadata.namespace", json_str(bad->namespace) },
        { "metadata.uid", json_str(bad->uid) });
    tell(e, regarding, "Unreadable", bad->err->text);
}

/* ---- states of the watches ---- */

static void served_changed(struct engine_watch *w, bool missing)
{
    struct engine *e = w->engine;
    if (w->resource->missing == missing)
        return;
    w->resource->missing = missing;
    if (missing) {
        w->resource->round++;
        remove_unseen(e, w->resource);
        w->resource->synced = false;
    }
    /* What was refused while it came or went says nothing about now. */
    for (struct table_cursor at = table_first(&e->keys); at.node; table_next(&at))
        memos_calm(container_of(at.node, struct key, node), w->resource->resource);
    uint64_t target = depend_on_name(&e->depends, w->resource->resource, " ", "served");
    depend_each(&e->depends, target, wake, NULL);
    wake_parked(e);
}

static void say_state(struct engine_watch *w, enum reflector_state state)
{
    const struct resource *r = w->resource->resource;
    if (state == REFLECTOR_WATCHING && w->told)
        log_info("watching %s again", r->plural);
    if (state == REFLECTOR_NOT_INSTALLED && kind_of(w->engine, w->resource))
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
    bool new = state != w->state || (err && !text_eq(err->text, w->why.text));
    w->why = err ? *err : (struct error){ 0 };
    if (new)
        say_state(w, state);
    w->state = state;
    served_changed(w, state == REFLECTOR_NOT_INSTALLED);
    wake_parked(w->engine);
}

static const struct reflector_sink sink = {
    .replace_begin = on_replace_begin,
    .put = on_put,
    .remove = on_remove,
    .replace_end = on_replace_end,
    .bookmark = on_bookmark,
    .bad = on_bad,
    .state = on_state,
};

/* ---- construction ---- */

static void add_kinds(struct engine *e)
{
    const struct engine_options *o = &e->options;
    for (size_t f = 0; f < o->family_count; f++)
        for (size_t k = 0; o->families[f].kinds[k]; k++)
            e->kind_count++;
    e->kinds = mem_new(e->kind_count * sizeof(*e->kinds));
    size_t at = 0;
    for (size_t f = 0; f < o->family_count; f++)
        for (size_t k = 0; o->families[f].kinds[k]; k++) {
            struct engine_kind *kind = &e->kinds[at++];
            kind->engine = e;
            kind->kind = o->families[f].kinds[k];
            kind->family = &o->families[f];
            static const char *const whole[] = { "metadata.labels",
                "metadata.annotations",
                "metadata.generation",
                "metadata.creationTimestamp",
                "metadata.finalizers",
                "spec",
                "status",
                NULL };
            struct kind_watch own = { .resource = kind->kind->resource, .keep = whole };
            kind->resource = cache_watch(&e->cache, &own);
            kind->resource->own_kind = true;
            kind->resource->subresource = "status";
            for (const struct kind_watch *w = kind->kind->watches; w && w->resource; w++)
                cache_watch(&e->cache, w);
        }
}

static void add_watches(struct engine *e)
{
    for (struct cache_resource *r = e->cache.first; r; r = r->next)
        e->watch_count++;
    e->watches = mem_new(e->watch_count * sizeof(*e->watches));
    size_t at = 0;
    for (struct cache_resource *r = e->cache.first; r; r = r->next) {
        struct engine_watch *w = &e->watches[at++];
        w->engine = e;
        w->resource = r;
        if (!r->subresource)
            r->subresource = "";
        const struct resource *of = r->resource;
        r->schema = schema_of(e->options.schemas, of->group, of->version, of->kind);
        if (of->cluster_scoped && e->options.namespace) {
            r->missing = true; /* not within our bounds */
            continue;
        }
        const struct engine_kind *kind = kind_of(e, r);
        const char *namespace = kind ? kind->kind->namespace : NULL;
        w->reflector = reflector_new(e->options.transport,
            e->env,
            &(struct reflector_options){
                .resource = of,
                .namespace = namespace ? namespace : e->options.namespace,
                .label_selector = r->label_selector,
                .field_selector = kind ? kind->kind->field_selector : NULL,
            },
            &sink,
            w);
    }
}

static const char **all_predecessors(const struct engine_options *o)
{
    size_t count = 0;
    const char **all = mem_new(sizeof(*all));
    for (size_t f = 0; f < o->family_count; f++)
        for (size_t i = 0; o->families[f].predecessors && o->families[f].predecessors[i]; i++) {
            all = mem_resize(all, count + 2, sizeof(*all));
            all[count++] = o->families[f].predecessors[i];
            all[count] = NULL;
        }
    return all;
}

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *e = mem_new_of(struct engine);
    e->options = *options;
    e->env = options->env;
    if (!e->options.runs_max)
        e->options.runs_max = ENGINE_RUNS_DEFAULT;
    uint64_t seed0 = e->env->random(e->env->ctx), seed1 = e->env->random(e->env->ctx);
    e->predecessors = all_predecessors(options);
    cache_init(&e->cache, options->manager, e->predecessors, seed0, seed1);
    depends_init(&e->depends, seed0, seed1);
    facts_init(&e->facts, e->env, options->effects, fact_changed, e);
    queue_init(&e->queue, e->env, on_ready, e);
    table_init(&e->keys, seed0, seed1);
    timer_init(&e->pump, pump, e);
    add_kinds(e);
    add_watches(e);
    e->m = engine_metrics_new(&e->metrics);
    return e;
}

void engine_free(struct engine *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->watch_count; i++) {
        if (e->watches[i].schema_op)
            kube_op_cancel(e->options.client, e->watches[i].schema_op);
        if (timer_is_set(&e->watches[i].schema_retry))
            timer_stop(e->env, &e->watches[i].schema_retry);
        reflector_free(e->watches[i].reflector);
    }
    for (struct table_cursor at = table_first(&e->keys); at.node; table_next(&at))
        key_free(container_of(at.node, struct key, node));
    timer_stop(e->env, &e->pump);
    table_done(&e->keys);
    facts_done(&e->facts);
    depends_done(&e->depends);
    cache_done(&e->cache);
    metrics_done(&e->metrics);
    free(e->m);
    free(e->watches);
    for (size_t i = 0; i < e->kind_count; i++)
        for (size_t j = 0; j < e->kinds[i].undeclared_count; j++)
            free(e->kinds[i].undeclared[j]);
    free(e->kinds);
    free(e->predecessors);
    free(e);
}

void engine_start(struct engine *e)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        w->needs_schema = w->resource->child && w->resource->schema->deduced;
        timer_init(&w->schema_retry, fetch_schema, w);
    }
    start_watches(e);
}

void engine_lead(struct engine *e)
{
    e->leading = true;
    e->taken_ms = env_mono_ms(e->env);
    engine_pump(e);
}

void engine_drain(struct engine *e, void (*done)(void *ctx), void *ctx)
{
    e->draining = true;
    e->drained = done;
    e->drained_ctx = ctx;
    engine_pump(e);
}

bool engine_ready(const struct engine *e, struct error *err)
{
    size_t missing = 0;
    struct error why;
    for (size_t i = 0; i < e->kind_count; i++) {
        if (kind_ready(e, &e->kinds[i], &why))
            continue;
        /* A CRD that is not installed is waited for; the other kinds work. */
        if (missing == 0 || why.code != ERR_NOT_FOUND)
            *err = why;
        if (why.code != ERR_NOT_FOUND)
            return false;
        missing++;
    }
    return missing < e->kind_count;
}

bool engine_healthy(const struct engine *e, struct error *err)
{
    int64_t since_ms = env_mono_ms(e->env) - e->taken_ms;
    bool stuck = e->leading && !e->draining && e->queue.depth && since_ms > ENGINE_STUCK_MS;
    return !stuck || fail(err,
                         ERR_INTERNAL,
                         "%zu keys are ready and none had its turn for %lld s",
                         e->queue.depth,
                         (long long)since_ms / 1000);
}

struct engine_counts engine_counts(const struct engine *e)
{
    struct engine_counts c = e->counts;
    c.throttled = e->queue.throttled;
    return c;
}
