/* Children: those that differ from the plan are written, those that it does not name are deleted.
 */

#include "engine/write.h"

#include "base/base64.h"

static void create_shared(struct write *w)
{
    struct engine *e = write_engine(w);
    struct kube_target collection = write_target(w);
    collection.name = NULL;
    if (write_allowed(w->run))
        write_sent(w,
            kube_create(e->options.client,
                collection,
                w->body,
                (struct kube_write){ .field_manager = e->options.manager },
                WRITE_THEN(write_answered, w)));
}

/* Bytes that only the API server gets to see; those of another try are others. */
static struct json with_random(struct write *w)
{
    const struct env *env = write_engine(w)->env;
    uint8_t bytes[PLAN_MAX_RANDOM_BYTES];
    struct arena *a = &w->run->arena;
    for (size_t i = 0; i < w->child->random_bytes; i++)
        bytes[i] = (uint8_t)env->random(env->ctx);
    const char *text = base64_encode(a, (struct str){ (char *)bytes, w->child->random_bytes });
    /* Data of a Secret is base64 itself. */
    return json_with(a, w->body, w->child->random, json_str(base64_encode(a, str_of(text))));
}

static void apply(struct write *w, const struct cache_entry *entry)
{
    struct engine *e = write_engine(w);
    struct json body = w->body = w->child->random ? with_random(w) : w->body;
    /* Creating does not force: whoever holds fields of an object that we have not seen is a
     * stranger, and the conflict says so. */
    struct kube_write how = { .field_manager = e->options.manager, .force = entry != NULL };
    if (entry) {
        w->before = entry->version;
        body =
            write_with_preconditions(w, arena_strdup(&w->run->arena, entry->uid), entry->version);
    }
    if (write_allowed(w->run))
        write_sent(w,
            kube_apply(
                e->options.client, write_target(w), body, how, WRITE_THEN(write_answered, w)));
}

static void delete (struct write *w, const struct cache_entry *entry)
{
    struct arena *a = &w->run->arena;
    w->deleting = true;
    w->before = entry->version;
    struct kube_delete how = {
        .uid = entry->uid,
        .resource_version = arena_printf(a, "%llu", (unsigned long long)entry->version),
        .propagation = "Background",
        .grace_seconds = -1,
    };
    if (write_allowed(w->run))
        write_sent(w,
            kube_delete(write_engine(w)->options.client,
                write_target(w),
                &how,
                (struct kube_then){ write_answered, w }));
}

/* What it needs is not there yet; if it is on its way, this is looked at again once it is there. */
static bool comes_later(struct run *run, const struct plan_child *c)
{
    if (!c->after)
        return false;
    struct engine *e = run->key->kind->engine;
    struct cache_resource *r = cache_resource_of(&e->cache, c[-1].resource);
    const char *name = json_get_text(c[-1].object, "metadata.name");
    const char *namespace = r->resource->cluster_scoped ? "" : view_namespace(&run->view);
    if (cache_find(r, namespace, name))
        return false;
    const struct write *first = write_under_way(r, namespace, name);
    run->later |= first && first->run == run;
    return true;
}

static bool asks_for_node_port(struct json service, int64_t number)
{
    json_each (port, json_get(service, "spec.ports"))
        if (json_get_int(*port, "nodePort", 0) == number)
            return true;
    return false;
}

/* A node port that a write under way asks for as well: the earlier one is to get it, not the one
 * that the server happens to hear first. */
static bool waits_for_node_port(const struct write *w)
{
    json_each (port, json_get(w->body, "spec.ports")) {
        int64_t number = json_get_int(*port, "nodePort", 0);
        const struct write *other = number ? w->resource->writes : NULL;
        for (; other; other = other->next_in_flight)
            if (other->run != w->run && asks_for_node_port(other->body, number))
                return true;
    }
    return false;
}

/* What our workload made. */
static void remove_child(struct run *run, const struct plan_child *c)
{
    struct engine *e = run->key->kind->engine;
    struct cache_resource *r = cache_resource_of(&e->cache, c->resource);
    const char *name = json_get_text(c->object, "metadata.name");
    struct cache_entry *entry = cache_find(r, view_namespace(&run->view), name);
    if (entry && !entry->deleting)
        delete (write_new(run, r, name), entry);
}

static void write_child(struct run *run, const struct plan_child *c)
{
    struct engine *e = run->key->kind->engine;
    if (c->mode == PLAN_REMOVED) {
        remove_child(run, c);
        return;
    }
    struct json wanted = gate_complete(run, c);
    struct cache_resource *r = cache_resource_of(&e->cache, c->resource);
    const char *name = json_get_text(wanted, "metadata.name");
    const struct memo *m = memo_find(run->key, c->resource, name);
    if (m && m->unknown) {
        struct write *looks = write_new(run, r, name);
        looks->child = c;
        write_look(looks);
        return;
    }
    struct gate_decision d = gate_child(run, c, wanted);
    if (d.action == GATE_SKIP) {
        e->counts.skipped++;
        return;
    }
    if (d.action == GATE_CREATE && comes_later(run, c))
        return;
    struct cache_entry *entry = cache_find(r, view_namespace(&run->view), name);
    struct write *w = write_new(run, r, name);
    w->child = c;
    w->body = wanted;
    w->hash = d.hash;
    struct write *other = entry ? NULL : write_under_way(r, w->namespace, name);
    if ((other && c->mode != PLAN_SHARED) || waits_for_node_port(w)) {
        run->conflict = true; /* another key makes it: by its answer we shall see whose it is */
        return;
    }
    w->follows = other;
    if (other) {
        other->followed = true;
        run->pending++;
        return;
    }
    if (d.action == GATE_DELETE)
        delete (w, entry);
    else if (d.action == GATE_ADOPT)
        write_adopt(w);
    else if (d.action == GATE_CONTEST)
        write_contest(w);
    else if (c->mode == PLAN_SHARED)
        create_shared(w);
    else
        apply(w, entry);
}

/* Its deletion was refused, not long ago. */
static bool is_kept(const struct run *run, const struct cache_entry *entry)
{
    const struct memo *m = memo_find(run->key, entry->resource->resource, entry->name);
    return m && m->leftover && env_mono_ms(run->key->kind->engine->env) < m->until_ms;
}

static void delete_leftovers_of(struct run *run, const char *owner)
{
    struct engine *e = run->key->kind->engine;
    size_t count;
    struct cache_entry **children = cache_children(&run->arena, &e->cache, owner, &count);
    for (size_t i = 0; i < count && !run->stopped; i++)
        if (gate_is_leftover(run, children[i]) && !is_kept(run, children[i]))
            delete (write_new(run, children[i]->resource, children[i]->name), children[i]);
}

static void delete_leftovers(struct run *run)
{
    delete_leftovers_of(run, run->uid);
    for (const struct kind_watch *w = run->key->kind->kind->watches; w && w->resource; w++)
        if (w->child && w->resource->cluster_scoped) {
            delete_leftovers_of(run, gate_owner_of(run, w->resource));
            return; /* the same owner for all of them */
        }
}

/* The object itself. */
static void delete_self(struct run *run)
{
    const struct key *k = run->key;
    struct cache_entry *entry = cache_find(k->kind->resource, k->namespace, k->name);
    if (entry && text_eq(entry->uid, run->uid))
        delete (write_new(run, k->kind->resource, k->name), entry);
}

void write_children(struct run *run)
{
    if (run->plan.end) {
        run->plan.has_status = false;
        delete_self(run);
        return;
    }
    for (size_t i = 0; i < run->plan.child_count && !run->stopped; i++)
        write_child(run, &run->plan.children[i]);
    if (!run->plan.keep_children)
        delete_leftovers(run);
}

void write_later(struct run *run)
{
    for (size_t i = 0; i < run->plan.child_count && !run->stopped; i++)
        if (run->plan.children[i].after)
            write_child(run, &run->plan.children[i]);
}

static void last_looked(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    bool came = cache_find(w->resource, w->namespace, w->name) != NULL; /* since we asked */
    run->conflict = came || reply->error.code == ERR_NONE; /* the watch will bring it */
    run->failed = !run->conflict && !write_is_gone(w, reply);
    if (run->failed)
        run->error = reply->error;
    write_end(w);
}

void write_last_look(struct run *run)
{
    struct write *w = write_new(run, run->key->kind->resource, run->key->name);
    w->op = kube_get(
        write_engine(w)->options.client, write_target(w), (struct kube_then){ last_looked, w });
    run->pending++;
}

void write_farewell(struct run *run)
{
    struct plan *p = &run->plan;
    size_t kept = 0;
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].mode == PLAN_REMOVED) {
            p->children[kept++] = p->children[i];
        } else if (p->children[i].resource->cluster_scoped && p->children[i].mode != PLAN_SHARED) {
            p->children[kept] = p->children[i];
            p->children[kept++].mode = PLAN_ABSENT;
        }
    p->child_count = kept;
    p->has_status = false;
    p->eviction.pod = NULL;
    for (size_t i = 0; i < kept && !run->stopped; i++)
        write_child(run, &p->children[i]);
    const struct kind_watch *w = run->key->kind->kind->watches;
    while (w->resource && !(w->child && w->resource->cluster_scoped))
        w++;
    if (w->resource)
        delete_leftovers_of(run, gate_owner_of(run, w->resource));
}
