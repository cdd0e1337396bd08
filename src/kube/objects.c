#include "kube/objects.h"

#include "base/resource.h"
#include "base/table.h"
#include "base/timer.h"
#include "kube/reflector.h"

#define KINDS_MAX 8

struct entry {
    struct table_node node;
    char *key; /* "NAMESPACE/NAME" */
    struct arena arena;
    struct json object;
    bool seen; /* since replace_begin */
};

struct collection {
    struct objects *all;
    const struct resource *kind;
    struct reflector *reflector;
    struct table table;
};

struct objects {
    const struct env *env;
    struct objects_watch watch;
    struct collection collections[KINDS_MAX];
    size_t count;
    bool told;
};

static bool entry_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct entry, node)->key, key);
}

static const char *key_of(struct arena *a, const char *ns, const char *name)
{
    return arena_printf(a, "%s/%s", ns ? ns : "", name);
}

static struct entry *find(const struct collection *c, const char *key)
{
    struct table_node *n =
        table_find(&c->table, table_hash(&c->table, key, strlen(key)), entry_is, key);
    return n ? container_of(n, struct entry, node) : NULL;
}

static void tell(struct collection *c, struct json object, bool gone)
{
    const struct objects_watch *w = &c->all->watch;
    w->changed(w->ctx,
        c->kind,
        json_get_text(object, "metadata.namespace"),
        json_get_text(object, "metadata.name"),
        gone ? json_none : object);
}

static void entry_free(struct entry *e)
{
    arena_done(&e->arena);
    free(e->key);
    free(e);
}

static void drop(struct collection *c, struct entry *e)
{
    table_remove(&c->table, &e->node);
    tell(c, e->object, true);
    entry_free(e);
}

static void sink_begin(void *ctx)
{
    struct collection *c = ctx;
    for (struct table_cursor i = table_first(&c->table); i.node; table_next(&i))
        container_of(i.node, struct entry, node)->seen = false;
}

static void sink_put(void *ctx, struct json object, bool initial)
{
    (void)initial;
    struct collection *c = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *key = key_of(
        &a, json_get_text(object, "metadata.namespace"), json_get_text(object, "metadata.name"));
    struct entry *e = find(c, key);
    if (!e) {
        e = mem_new_of(struct entry);
        e->key = mem_strdup(key);
        table_add(&c->table, &e->node, table_hash(&c->table, key, strlen(key)));
    }
    arena_done(&e->arena);
    arena_init(&e->arena, ARENA_LIMIT_DEFAULT);
    e->object = json_copy(&e->arena, object);
    e->seen = true;
    tell(c, e->object, false);
}

static void sink_remove(void *ctx, struct json last)
{
    struct collection *c = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct entry *e = find(c,
        key_of(
            &a, json_get_text(last, "metadata.namespace"), json_get_text(last, "metadata.name")));
    if (e)
        drop(c, e);
}

static struct entry *unseen(struct collection *c)
{
    for (struct table_cursor i = table_first(&c->table); i.node; table_next(&i))
        if (!container_of(i.node, struct entry, node)->seen)
            return container_of(i.node, struct entry, node);
    return NULL;
}

static void sink_end(void *ctx, const char *version)
{
    (void)version;
    struct collection *c = ctx;
    /* Restart after each one, because the callback may query the table. */
    for (struct entry *e; (e = unseen(c));)
        drop(c, e);
}

static void sink_bookmark(void *ctx, const char *version)
{
    (void)ctx, (void)version;
}

static void sink_bad(void *ctx, const struct reflector_bad *bad)
{
    struct collection *c = ctx;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct entry *e = bad->name ? find(c, key_of(&a, bad->ns, bad->name)) : NULL;
    if (e)
        e->seen = true;
}

static void sink_state(void *ctx, enum reflector_state state, const struct error *err)
{
    (void)state, (void)err;
    struct collection *c = ctx;
    struct objects *o = c->all;
    if (o->told || !objects_loaded(o))
        return;
    o->told = true;
    o->watch.loaded(o->watch.ctx);
}

static const struct reflector_sink sink = {
    sink_begin, sink_put, sink_remove, sink_end, sink_bookmark, sink_bad, sink_state
};

struct objects *objects_new(const struct kube_transport *transport, const struct env *env,
    const struct resource *const *kinds, struct objects_watch watch)
{
    struct objects *o = mem_new_of(struct objects);
    o->env = env;
    o->watch = watch;
    for (; kinds[o->count]; o->count++) {
        assert(o->count < KINDS_MAX);
        struct collection *c = &o->collections[o->count];
        c->all = o;
        c->kind = kinds[o->count];
        table_init(&c->table, env->random(env->ctx), env->random(env->ctx));
        c->reflector = reflector_new(
            transport, env, &(struct reflector_options){ .resource = c->kind }, &sink, c);
    }
    return o;
}

void objects_free(struct objects *o)
{
    for (size_t i = 0; o && i < o->count; i++) {
        struct collection *c = &o->collections[i];
        reflector_free(c->reflector);
        for (struct table_cursor n = table_first(&c->table); n.node; table_next(&n)) {
            struct entry *e = container_of(n.node, struct entry, node);
            table_remove(&c->table, n.node);
            entry_free(e);
        }
        table_done(&c->table);
    }
    free(o);
}

void objects_start(struct objects *o)
{
    for (size_t i = 0; i < o->count; i++)
        reflector_start(o->collections[i].reflector);
}

bool objects_loaded(const struct objects *o)
{
    for (size_t i = 0; i < o->count; i++)
        if (!reflector_synced(o->collections[i].reflector))
            return false;
    return true;
}

static const struct collection *collection_of(const struct objects *o, const struct resource *kind)
{
    size_t i = 0;
    while (i < o->count && o->collections[i].kind != kind)
        i++;
    assert(i < o->count); /* the kind must be watched */
    return &o->collections[i];
}

void objects_put(struct objects *o, const struct resource *kind, struct json object)
{
    sink_put((void *)(uintptr_t)collection_of(o, kind), object, false);
}

struct json objects_get(
    const struct objects *o, const struct resource *kind, const char *ns, const char *name)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct entry *e = name ? find(collection_of(o, kind), key_of(&a, ns, name)) : NULL;
    return json_if(e, e->object);
}

void objects_each(const struct objects *o, const struct resource *kind,
    void (*each)(void *ctx, struct json object), void *ctx)
{
    struct table *t = (struct table *)(uintptr_t)&collection_of(o, kind)->table;
    for (struct table_cursor i = table_first(t); i.node; table_next(&i))
        each(ctx, container_of(i.node, struct entry, node)->object);
}
