#include "engine/engine.h"

#include <stdlib.h>

#include "base/buf.h"
#include "engine/internal.h"
#include "merge/schema.h"

#define ENGINE_RUNS_DEFAULT 16
/* If ready keys get no turn for this long, the engine is stuck. */
#define ENGINE_STUCK_MS ((int64_t)60 * 1000)
/* Keys that run before the loop returns to its sockets. After a restart thousands of keys are ready
 * at once, and health checks, lease and watches must not wait for all of them. */
#define ENGINE_TURN_KEYS 32

/* ---- keys ---- */

struct wanted_key {
    const struct engine_kind *kind;
    const char *ns;
    const char *name;
};

static bool is_key(const struct table_node *n, const void *wanted)
{
    const struct key *k = container_of(n, struct key, node);
    const struct wanted_key *w = wanted;
    return k->kind == w->kind && strcmp(k->name, w->name) == 0 && strcmp(k->ns, w->ns) == 0;
}

static uint64_t hash_key(const struct engine *e, const char *ns, const char *name)
{
    return table_hash(&e->keys, ns, strlen(ns)) * 31 + table_hash(&e->keys, name, strlen(name));
}

struct key *key_find(
    struct engine *e, const struct engine_kind *kind, const char *ns, const char *name)
{
    struct wanted_key wanted = { kind, ns, name };
    struct table_node *n = table_find(&e->keys, hash_key(e, ns, name), is_key, &wanted);
    return n ? container_of(n, struct key, node) : NULL;
}

struct key *key_get(struct engine_kind *kind, const char *ns, const char *name)
{
    struct engine *e = kind->engine;
    struct key *k = key_find(e, kind, ns, name);
    if (k)
        return k;
    k = mem_new_of(struct key);
    k->kind = kind;
    k->ns = mem_strdup(ns);
    k->name = mem_strdup(name);
    queue_item_init(&e->queue, &k->item);
    k->item.counts = &kind->counts;
    table_add(&e->keys, &k->node, hash_key(e, ns, name));
    return k;
}

void key_free(struct key *k)
{
    struct engine *e = k->kind->engine;
    if (k->run)
        run_cancel(k->run);
    queue_item_done(&k->item);
    depend_clear(&e->depends, &k->depends);
    facts_clear(&e->facts, &k->facts, k);
    memos_free(k);
    table_remove(&e->keys, &k->node);
    free(k->ns);
    free(k->name);
    free(k);
}

struct engine_kind *engine_kind_of(const struct engine *e, const struct cache_resource *r)
{
    for (size_t i = 0; i < e->kind_count; i++)
        if (e->kinds[i].resource == r)
            return &e->kinds[i];
    return NULL;
}

/* ---- waking ---- */

void engine_wake(void *except, void *owner)
{
    struct key *k = owner;
    if (k != except)
        queue_wake(&k->item);
}

void engine_object_changed(struct engine *e, const struct cache_resource *r, const char *ns,
    const char *name, struct json before, struct json after, const struct key *except)
{
    void *ctx = (void *)except;
    depend_each_of_object(&e->depends, r->resource, ns, name, after, engine_wake, ctx);
    if (json_present(before) && !json_equal(before, after))
        depend_each_of_object(&e->depends, r->resource, ns, name, before, engine_wake, ctx);
}

static void place_changed(void *ctx, const struct cache_entry *entry)
{
    struct engine *e = ctx;
    const struct engine_kind *kind = engine_kind_of(e, entry->resource);
    struct key *k = kind ? key_find(e, kind, entry->ns, entry->name) : NULL;
    if (k)
        queue_wake(&k->item);
}

static void fact_changed(void *ctx, void *owner)
{
    (void)ctx;
    queue_wake(&((struct key *)owner)->item);
}

static const struct engine_watch *watch_of(const struct engine *e, const struct cache_resource *r)
{
    const struct engine_watch *w = e->watches;
    while (w->resource != r)
        w++;
    return w;
}

bool engine_is_loaded(const struct engine *e, const struct cache_resource *r)
{
    return r->synced || watch_of(e, r)->state == REFLECTOR_FORBIDDEN;
}

static bool is_missing(const struct engine_watch *w, struct error *err)
{
    const struct resource *r = w->resource->resource;
    return w->reflector && w->resource->missing &&
           !fail(err, ERR_NOT_FOUND, "the CRD %s.%s is not installed", r->plural, r->group);
}

bool engine_kind_ready(const struct engine *e, const struct engine_kind *kind, struct error *err)
{
    if (is_missing(watch_of(e, kind->resource), err))
        return false; /* the other resources that it reads are watched later */
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
        if (needed && !optional && is_missing(w, err))
            return false;
        if (needed && !(w->resource->synced || (optional && settled) || !w->reflector))
            return fail(err,
                w->why.code ? w->why.code : ERR_UNAVAILABLE,
                "%s: %s",
                w->resource->resource->plural,
                w->why.code ? w->why.text : "not loaded yet");
    }
    return true;
}

/* Whether a kind whose CRD is installed reads this resource. */
static bool is_of_use(const struct engine *e, const struct cache_resource *r)
{
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct engine_kind *kind = &e->kinds[i];
        if (kind->resource == r)
            return true;
        const struct kind_watch *w = kind->kind->watches;
        for (; watch_of(e, kind->resource)->there && w && w->resource; w++)
            if (w->resource == r->resource)
                return true;
    }
    return false;
}

void engine_start_watches(struct engine *e)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (w->started || !w->reflector || !is_of_use(e, w->resource))
            continue;
        w->started = true;
        reflector_start(w->reflector);
    }
}

/* A terminating object must not wait for resources that it can do without. */
static bool may_run(const struct engine *e, const struct key *k)
{
    struct error err;
    struct cache_entry *entry = cache_find(k->kind->resource, k->ns, k->name);
    if (!entry || !entry->deleting)
        return engine_kind_ready(e, k->kind, &err);
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
            queue_done(item); /* engine_wake_parked() wakes it */
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

/* Only keys of kinds that can run now: waking others would only use up their allowance. */
void engine_wake_parked(struct engine *e)
{
    struct error err;
    for (size_t i = 0; i < e->kind_count; i++)
        e->kinds[i].ready = engine_kind_ready(e, &e->kinds[i], &err);
    for (struct table_cursor at = table_first(&e->keys); at.node; table_next(&at)) {
        struct key *k = container_of(at.node, struct key, node);
        if (k->parked && (k->kind->ready || may_run(e, k)))
            queue_wake(&k->item);
    }
}

void engine_wake_kind(const struct engine_kind *kind)
{
    for (struct table_cursor at = table_first(&kind->engine->keys); at.node; table_next(&at)) {
        struct key *k = container_of(at.node, struct key, node);
        if (k->kind == kind)
            queue_wake(&k->item);
    }
}

/* ---- construction ---- */

void engine_need_schema(struct engine *e, struct cache_resource *r)
{
    const struct resource *of = r->resource;
    if (r->schema)
        return;
    if (r->own_kind && e->options.add_crds && !e->crds_added) {
        e->crds_added = true;
        e->options.add_crds(e->options.ctx, e->options.schemas);
    }
    r->schema = schema_of(e->options.schemas, of->group, of->version, of->kind);
}

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
            kind->resource->keeps_apart = kind->kind->shares_status;
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
        if (!r->own_kind)
            engine_need_schema(e, r);
        if (of->cluster_scoped && e->options.ns) {
            r->missing = true; /* outside of --namespace */
            continue;
        }
        const struct engine_kind *kind = engine_kind_of(e, r);
        const char *ns = kind ? kind->kind->ns : NULL;
        w->reflector = reflector_new(e->options.transport,
            e->env,
            &(struct reflector_options){
                .resource = of,
                .ns = ns ? ns : e->options.ns,
                .label_selector = r->label_selector,
                .field_selector = kind ? kind->kind->field_selector : NULL,
            },
            &watch_sink,
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
    e->cache.moved = place_changed;
    e->cache.moved_ctx = e;
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
    served_stop(e);
    for (size_t i = 0; i < e->watch_count; i++)
        reflector_free(e->watches[i].reflector);
    for (struct run *run = e->runs; run; run = run->next)
        write_unfollow(run);
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
    free(e->kinds);
    free(e->predecessors);
    free(e);
}

void engine_start(struct engine *e)
{
    if (e->started)
        return;
    e->started = true;
    served_start(e);
    engine_start_watches(e);
}

/* A standby's caches may be older than the last write of the previous leader. That leader stopped
 * before we could lead, so a list that starts now contains all of its writes. */
static void load_anew(struct engine *e)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (!w->started)
            continue;
        w->resource->synced = false;
        reflector_reload(w->reflector);
    }
}

void engine_lead(struct engine *e)
{
    e->leading = true;
    e->taken_ms = env_mono_ms(e->env);
    if (e->started)
        load_anew(e);
    else
        engine_start(e);
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
    for (size_t i = 0; i < e->kind_count; i++) {
        struct error why;
        if (engine_kind_ready(e, &e->kinds[i], &why))
            continue;
        if (!missing || why.code != ERR_NOT_FOUND)
            *err = why;
        /* The engine waits for a CRD that is not installed; the other kinds work. */
        if (why.code != ERR_NOT_FOUND)
            return false;
        missing++;
    }
    return missing < e->kind_count;
}

void engine_ready_print(const struct engine *e, struct buf *to)
{
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct resource *r = e->kinds[i].kind->resource;
        struct error why;
        bool fine = engine_kind_ready(e, &e->kinds[i], &why);
        buf_printf(to,
            "[%c]%s%s%s %s\n",
            fine ? '+' : '-',
            r->plural,
            *r->group ? "." : "",
            r->group,
            fine ? "ok" : why.text);
    }
    for (size_t i = 0; i < e->unserved_count; i++)
        buf_printf(to, "[ ]%s not served: see --families\n", e->unserved[i]);
}

bool engine_healthy(const struct engine *e, struct error *err)
{
    int64_t ready_ms = e->queue.first ? e->queue.first->ready_ms : INT64_MAX;
    int64_t since_ms = env_mono_ms(e->env) - (ready_ms > e->taken_ms ? ready_ms : e->taken_ms);
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
    c.wakes = e->queue.wakes;
    return c;
}
