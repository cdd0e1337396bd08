#include "apiserver/controllers/gc.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/controllers/bootstrap.h"
#include "apiserver/controllers/namespace.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/verbs/remove.h"
#include "base/table.h"

#define STEPS_MAX 256 /* per turn */

/* An object by name. It may have changed by the time it is processed. */
struct gc_object {
    char *table, *ns, *name;
};

/* One owner reference. */
struct gc_edge {
    struct table_node node;
    char *owner; /* uid */
    struct gc_object dependent;
};

struct gc_step {
    struct gc_step *next;
    char *owner;             /* uid that is gone: process its dependents; NULL: not this */
    struct gc_object object; /* process this object */
    char *gone;              /* … because this uid is gone; NULL: another reason */
    char *fill;              /* a namespace that lacks its default objects */
};

struct gc {
    struct apiserver *server;
    struct table edges; /* by owner */
    struct gc_step *first, **end;
    bool namespaces; /* terminating namespaces are to be processed */
    bool waits;      /* some of them wait for objects */
    bool doubts;     /* everything is to be checked */
};

/* ---- ownership graph ---- */

static struct gc_object object_new(const char *table, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    const char *name = json_get_text(object, "metadata.name");
    return (struct gc_object){
        mem_strdup(table), mem_strdup(ns ? ns : ""), mem_strdup(name ? name : "")
    };
}

static void object_done(struct gc_object *o)
{
    free(o->table);
    free(o->ns);
    free(o->name);
}

static bool same_object(const struct gc_object *x, const struct gc_object *y)
{
    return strcmp(x->name, y->name) == 0 && strcmp(x->ns, y->ns) == 0 &&
           strcmp(x->table, y->table) == 0;
}

static struct gc_edge *edge_of(struct table_node *n)
{
    return container_of(n, struct gc_edge, node);
}

static uint64_t hash_of(const struct gc *gc, const char *owner)
{
    return table_hash(&gc->edges, owner, strlen(owner));
}

static struct gc_edge *next_edge(struct table_node *from, const char *owner)
{
    for (struct table_node *n = from; n; n = n->next)
        if (strcmp(edge_of(n)->owner, owner) == 0)
            return edge_of(n);
    return NULL;
}

static struct gc_edge *first_edge(const struct gc *gc, const char *owner)
{
    return next_edge(table_chain(&gc->edges, hash_of(gc, owner)), owner);
}

static void add_edges(struct gc *gc, const struct api_kind *k, struct json object)
{
    json_each (ref, json_get(object, "metadata.ownerReferences")) {
        const char *uid = json_get_text(*ref, "uid");
        if (text_empty(uid))
            continue;
        struct gc_edge *e = mem_new_of(struct gc_edge);
        e->owner = mem_strdup(uid);
        e->dependent = object_new(k->table, object);
        table_add(&gc->edges, &e->node, hash_of(gc, uid));
    }
}

static void edge_free(struct gc_edge *e)
{
    free(e->owner);
    object_done(&e->dependent);
    free(e);
}

static void remove_edges(struct gc *gc, const struct api_kind *k, struct json object)
{
    struct gc_object self = object_new(k->table, object);
    json_each (ref, json_get(object, "metadata.ownerReferences")) {
        const char *uid = json_get_text(*ref, "uid");
        struct gc_edge *e = text_empty(uid) ? NULL : first_edge(gc, uid);
        while (e && !same_object(&e->dependent, &self))
            e = next_edge(e->node.next, uid);
        if (e) {
            table_remove(&gc->edges, &e->node);
            edge_free(e);
        }
    }
    object_done(&self);
}

/* ---- queue ---- */

static void step_free(struct gc_step *step)
{
    free(step->owner);
    free(step->gone);
    free(step->fill);
    object_done(&step->object);
    free(step);
}

static void push(struct gc *gc, struct gc_step step)
{
    struct gc_step *copy = mem_new_of(struct gc_step);
    *copy = step;
    *gc->end = copy;
    gc->end = &copy->next;
}

static void look_at(struct gc *gc, const char *table, struct json object)
{
    push(gc, (struct gc_step){ .object = object_new(table, object) });
}

/* The kind in an owner reference; NULL: unknown. */
static const struct api_kind *kind_of_owner(const struct gc *gc, struct arena *a, struct json ref)
{
    const char *version = json_get_text(ref, "apiVersion"), *kind = json_get_text(ref, "kind");
    if (text_empty(version) || text_empty(kind))
        return NULL;
    struct str rest = str_of(version), group = str_cut(&rest, '/');
    return registry_find_any(gc->server->registry, rest.ptr ? str_dup(a, group) : "", kind);
}

/* The owners of a deleted object may have waited for it. */
static void look_at_owners(struct gc *gc, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (ref, json_get(object, "metadata.ownerReferences")) {
        const struct api_kind *k = kind_of_owner(gc, &a, *ref);
        if (!k)
            continue;
        const char *ns = json_get_text(object, "metadata.namespace");
        const char *name = json_get_text(*ref, "name");
        push(gc,
            (struct gc_step){
                .object = { mem_strdup(k->table),
                    mem_strdup(k->resource.cluster_scoped || !ns ? "" : ns),
                    mem_strdup(name ? name : "") },
            });
    }
}

/* Every namespace gets a ServiceAccount and the CA certificate, for pods. */
static void fill_namespace(struct gc *gc, const char *name)
{
    push(gc, (struct gc_step){ .fill = mem_strdup(name ? name : "") });
}

static void run_fill(struct gc *gc, struct arena *a, const char *name)
{
    struct apiserver *s = gc->server;
    const struct api_kind *k = registry_find(s->registry, "", "v1", "namespaces");
    const struct store_object *o = k ? store_get(store_table(s->store, k->table), "", name) : NULL;
    if (!o || namespace_is_ending(s, o))
        return;
    json_each (object, bootstrap_namespace_objects(a, name, s->options.root_ca))
        server_create(s, *object);
}

void gc_written(struct gc *gc, const struct api_kind *k, struct json old, struct json now)
{
    struct json was = json_get(old, "metadata.ownerReferences");
    struct json is = json_get(now, "metadata.ownerReferences");
    bool changed = !json_equal(was, is);
    if (changed && was.count)
        remove_edges(gc, k, old);
    if (changed && is.count)
        add_edges(gc, k, now);
    if (!json_present(old) && api_kind_is_core(k, "Namespace"))
        fill_namespace(gc, json_get_text(now, "metadata.name"));
    if (!json_present(now)) {
        const char *name = json_get_text(old, "metadata.name");
        bool given = (api_kind_is_core(k, "ServiceAccount") && text_eq(name, "default")) ||
                     (api_kind_is_core(k, "ConfigMap") && text_eq(name, "kube-root-ca.crt"));
        if (given)
            fill_namespace(gc, json_get_text(old, "metadata.namespace"));
        const char *uid = json_get_text(old, "metadata.uid");
        if (uid && first_edge(gc, uid))
            push(gc, (struct gc_step){ .owner = mem_strdup(uid) });
        look_at_owners(gc, old);
        gc->namespaces |= gc->waits;
        return;
    }
    bool deleting = meta_is_deleting(now);
    if ((changed && is.count) || (deleting && json_get(now, "metadata.finalizers").count))
        look_at(gc, k->table, now);
    if (api_kind_is_core(k, "Namespace"))
        gc->namespaces |= deleting;
}

/* ---- dependents ---- */

enum owner_state { OWNER_SOLID, OWNER_WAITING, OWNER_GONE };

static bool waits_for_dependents(struct json object)
{
    return meta_is_deleting(object) &&
           json_list_has(json_get(object, "metadata.finalizers"), "foregroundDeletion");
}

static enum owner_state owner_state(
    const struct gc *gc, struct arena *a, struct json ref, const char *ns, const char *gone_uid)
{
    if (gone_uid && text_eq(json_get_text(ref, "uid"), gone_uid))
        return OWNER_GONE; /* its kind may be gone, too */
    const struct api_kind *k = kind_of_owner(gc, a, ref);
    const char *name = json_get_text(ref, "name");
    if (!k || !name)
        return OWNER_SOLID; /* unknown does not mean gone */
    if (!k->resource.cluster_scoped && !*ns)
        return OWNER_SOLID; /* a reference that cannot be resolved */
    const struct store_object *o = store_get(
        store_table(gc->server->store, k->table), k->resource.cluster_scoped ? "" : ns, name);
    struct json owner = json_if(o, object_read(k, a, o));
    if (!text_eq(json_get_text(owner, "metadata.uid"), json_get_text(ref, "uid")))
        return OWNER_GONE;
    return waits_for_dependents(owner) ? OWNER_WAITING : OWNER_SOLID;
}

static void write_owners(struct write *w, struct json references)
{
    const struct store_object *stored;
    struct json object =
        json_with(w->arena, w->old, "metadata.ownerReferences", json_or_absent(references));
    write_track(w, "kube-controller-manager", "", &object);
    if (!write_store(w, object, meta_is_deleting(object) && write_is_last(object), &stored))
        return;
}

/* The propagation policy for the dependents of an object. */
static enum propagation own_propagation(struct json object, bool waiting_owner, bool has_dependents)
{
    struct json finalizers = json_get(object, "metadata.finalizers");
    if (json_list_has(finalizers, "orphan"))
        return PROPAGATION_ORPHAN;
    if (json_list_has(finalizers, "foregroundDeletion") || (waiting_owner && has_dependents))
        return PROPAGATION_FOREGROUND;
    return PROPAGATION_BACKGROUND;
}

static bool read_write(struct gc *gc, struct arena *a, const struct gc_object *o, struct write *ret)
{
    const struct api_kind *k = registry_find_table(gc->server->registry, o->table);
    if (!k)
        return false;
    *ret = (struct write){
        .server = gc->server,
        .arena = a,
        .kind = k,
        .ns = arena_strdup(a, o->ns),
        .name = arena_strdup(a, o->name),
    };
    return write_read_old(ret);
}

/* An owner waits for this object, whose own dependents also wait: this may be a cycle. It is broken
 * by clearing blockOwnerDeletion in this object's references. Fails if the store refuses. */
static bool open_circle(struct gc *gc, struct write *w, const char *uid)
{
    bool circle = false;
    for (struct gc_edge *e = first_edge(gc, uid); e && !circle; e = next_edge(e->node.next, uid)) {
        struct write dependent;
        circle = read_write(gc, w->arena, &e->dependent, &dependent) &&
                 waits_for_dependents(dependent.old);
    }
    if (!circle)
        return true;
    struct json_builder b;
    json_builder_init(&b, w->arena);
    json_each (ref, json_get(w->old, "metadata.ownerReferences"))
        json_push(&b, json_with_member(w->arena, *ref, "blockOwnerDeletion", json_bool(false)));
    write_owners(w, json_list_end(&b));
    return write_read_old(w);
}

static void check_dependent(struct gc *gc, struct write *w, const char *gone_uid)
{
    struct json references = json_get(w->old, "metadata.ownerReferences");
    struct json_builder solid;
    bool waiting = false;
    json_builder_init(&solid, w->arena);
    json_each (ref, references) {
        enum owner_state state = owner_state(gc, w->arena, *ref, w->ns, gone_uid);
        if (state == OWNER_SOLID)
            json_push(&solid, *ref);
        waiting |= state == OWNER_WAITING;
    }
    struct json kept = json_list_end(&solid);
    if (!references.count || kept.count == references.count)
        return;
    if (kept.count) {
        write_owners(w, kept);
        return;
    }
    if (meta_is_deleting(w->old))
        return;
    const char *uid = json_get_text(w->old, "metadata.uid");
    if (waiting && uid && !open_circle(gc, w, uid))
        return;
    struct delete_options o = {
        .propagation = own_propagation(w->old, waiting, uid && first_edge(gc, uid)),
        .grace_s = -1,
    };
    struct json object;
    const struct store_object *stored;
    bool gone;
    if (!delete_object(w, &o, &object, &stored, &gone))
        return;
}

/* ---- owners ---- */

static void remove_finalizer(struct write *w, const char *name)
{
    struct json_builder b;
    const struct store_object *stored;
    json_builder_init(&b, w->arena);
    json_each (f, json_get(w->old, "metadata.finalizers"))
        if (!text_eq(f->string, name))
            json_push(&b, *f);
    struct json object =
        json_with(w->arena, w->old, "metadata.finalizers", json_or_absent(json_list_end(&b)));
    if (!write_store(w, object, write_is_last(object), &stored))
        return;
}

/* Dependents that block the owner; others are processed separately. */
static bool is_blocked(struct gc *gc, struct arena *a, const char *uid)
{
    for (struct gc_edge *e = first_edge(gc, uid); e; e = next_edge(e->node.next, uid)) {
        struct write w;
        if (!read_write(gc, a, &e->dependent, &w))
            continue;
        struct json ref = json_find(json_get(w.old, "metadata.ownerReferences"), "uid", uid);
        if (json_get_bool(ref, "blockOwnerDeletion", false))
            return true;
    }
    return false;
}

static void look_at_dependents(struct gc *gc, const char *uid, bool gone)
{
    for (struct gc_edge *e = first_edge(gc, uid); e; e = next_edge(e->node.next, uid))
        push(gc,
            (struct gc_step){
                .object = { mem_strdup(e->dependent.table),
                    mem_strdup(e->dependent.ns),
                    mem_strdup(e->dependent.name) },
                .gone = gone ? mem_strdup(uid) : NULL,
            });
}

/* Removes this owner from its dependents. */
static void orphan_dependents(struct gc *gc, struct arena *a, const char *uid)
{
    struct gc_edge *e;
    while ((e = first_edge(gc, uid))) {
        struct write w;
        struct json_builder b;
        json_builder_init(&b, a);
        if (!read_write(gc, a, &e->dependent, &w)) {
            table_remove(&gc->edges, &e->node);
            edge_free(e);
            continue;
        }
        json_each (ref, json_get(w.old, "metadata.ownerReferences"))
            if (!text_eq(json_get_text(*ref, "uid"), uid))
                json_push(&b, *ref);
        size_t before = gc->edges.count;
        write_owners(&w, json_list_end(&b));
        if (gc->edges.count == before)
            return; /* the store refused; the finalizer stays */
    }
}

static void check_owner(struct gc *gc, struct write *w)
{
    struct json finalizers = json_get(w->old, "metadata.finalizers");
    const char *uid = json_get_text(w->old, "metadata.uid");
    if (!meta_is_deleting(w->old) || !uid)
        return;
    if (json_list_has(finalizers, "orphan")) {
        orphan_dependents(gc, w->arena, uid);
        if (!first_edge(gc, uid))
            remove_finalizer(w, "orphan");
    } else if (json_list_has(finalizers, "foregroundDeletion")) {
        if (is_blocked(gc, w->arena, uid))
            look_at_dependents(gc, uid, false);
        else
            remove_finalizer(w, "foregroundDeletion");
    }
}

/* ---- one item ---- */

static bool take_step(struct gc *gc)
{
    struct gc_step *step = gc->first;
    if (!step)
        return false;
    gc->first = step->next;
    if (!gc->first)
        gc->end = &gc->first;
    struct arena a;
    struct write w;
    arena_init(&a, ARENA_LIMIT_DEFAULT);
    if (step->fill) {
        run_fill(gc, &a, step->fill);
    } else if (step->owner) {
        look_at_dependents(gc, step->owner, true);
    } else if (read_write(gc, &a, &step->object, &w)) {
        if (meta_is_deleting(w.old))
            check_owner(gc, &w);
        if (write_read_old(&w))
            check_dependent(gc, &w, step->gone);
    }
    arena_done(&a);
    step_free(step);
    return true;
}

/* ---- init and free ---- */

static void learn(struct gc *gc, const struct api_kind *k)
{
    const struct store_table *t = store_table(gc->server->store, k->table);
    struct store_cursor cursor = { 0 };
    const struct store_object *o;
    while ((o = store_next(t, &cursor))) {
        bool matters = api_kind_is_core(k, "Namespace") ||
                       memmem(o->text.ptr, o->text.len, "ownerReferences", 15) ||
                       memmem(o->text.ptr, o->text.len, "deletionTimestamp", 17);
        if (!matters)
            continue;
        cleanup(arena_done) struct arena a = ARENA_INIT;
        gc_written(gc, k, json_none, object_read(k, &a, o));
    }
}

static void learn_all(struct gc *gc)
{
    const struct registry *r = gc->server->registry;
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++)
        if (k->table && registry_find_table(r, k->table) == k)
            learn(gc, k);
}

static void forget(struct gc *gc)
{
    for (struct table_cursor c = table_first(&gc->edges); c.node; table_next(&c)) {
        struct gc_edge *e = edge_of(c.node);
        table_remove(&gc->edges, c.node);
        edge_free(e);
    }
    while (gc->first) {
        struct gc_step *step = gc->first;
        gc->first = step->next;
        step_free(step);
    }
    gc->end = &gc->first;
    gc->doubts = false;
}

void gc_free(struct gc *gc)
{
    if (!gc)
        return;
    forget(gc);
    table_done(&gc->edges);
    free(gc);
}

/* ---- run ---- */

void gc_doubt(struct gc *gc)
{
    gc->doubts = true;
}

static bool is_pending(const void *ctx)
{
    const struct gc *gc = ctx;
    return gc->first || gc->namespaces || gc->doubts;
}

static void run(void *ctx)
{
    struct gc *gc = ctx;
    if (gc->doubts) {
        forget(gc);
        learn_all(gc);
    }
    for (int i = 0; i < STEPS_MAX && take_step(gc); i++)
        ;
    if (gc->namespaces)
        gc->namespaces = namespace_run(gc->server, &gc->waits);
}

struct gc *gc_new(struct apiserver *s)
{
    struct gc *gc = mem_new_of(struct gc);
    gc->server = s;
    gc->end = &gc->first;
    table_init(&gc->edges, s->env->random(s->env->ctx), s->env->random(s->env->ctx));
    learn_all(gc);
    server_add_hook(s, &(struct server_hook){ gc, is_pending, .after_flush = run });
    return gc;
}
