/* Children: writes those that differ from the plan, and deletes those that are not in it. */

#include "engine/gate.h"
#include "engine/write.h"

#include "base/base64.h"
#include "base/log.h"
#include "merge/merge.h"

static struct engine *run_engine(const struct run *run)
{
    return run->key->kind->engine;
}

/* The value of controller_uid in our children. */
static const char *owner_id(struct run *run, const struct resource *r)
{
    const struct resource *owner = run->key->kind->kind->resource;
    if (!r->cluster_scoped)
        return run->uid;
    return plan_owner_id(
        &run->arena, resource_api_version(&run->arena, owner), owner->kind, run->view.object);
}

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

/* Adds bytes that only the API server sees; each try uses new ones. */
static struct json with_random(struct write *w)
{
    const struct env *env = write_engine(w)->env;
    uint8_t bytes[PLAN_MAX_RANDOM_BYTES];
    struct arena *a = &w->run->arena;
    for (size_t i = 0; i < w->child->random_bytes; i++)
        bytes[i] = (uint8_t)env->random(env->ctx);
    const char *text = base64_encode(a, (struct str){ (char *)bytes, w->child->random_bytes });
    /* The data of a Secret is base64 as well. */
    return json_with(a, w->body, w->child->random, json_str(base64_encode(a, str_of(text))));
}

static void apply(struct write *w, const struct cache_entry *entry)
{
    struct engine *e = write_engine(w);
    struct json body = w->body = w->child->random ? with_random(w) : w->body;
    /* A create does not force: if a manager holds fields of an object that we have not seen, it is
     * a foreign object, and the conflict reports this. */
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

static void remove_object(struct write *w, const struct cache_entry *entry)
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

/* ---- input of the gate ---- */

static enum gate_before before_of(const struct run *run, const struct plan_child *c)
{
    if (!c->after.resource)
        return GATE_BEFORE_READY;
    struct cache_resource *r = cache_resource_of(&run_engine(run)->cache, c->after.resource);
    const char *ns = r->resource->cluster_scoped ? "" : view_namespace(&run->view);
    if (cache_find(r, ns, c->after.name))
        return GATE_BEFORE_READY;
    const struct write *first = write_under_way(r, ns, c->after.name);
    return first && first->run == run ? GATE_BEFORE_COMING : GATE_BEFORE_MISSING;
}

static bool has_exclusive(const struct plan_child *c, struct json object, struct json value)
{
    json_each (item, json_get(object, c->exclusive.list))
        if (json_equal(json_get(*item, c->exclusive.member), value))
            return true;
    return false;
}

/* Another run is writing an object with the same exclusive value. The older object must get it, not
 * the one whose request arrives first. */
static bool clashes(const struct run *run, const struct cache_resource *r,
    const struct plan_child *c, struct json wanted)
{
    if (!c->exclusive.list)
        return false;
    json_each (item, json_get(wanted, c->exclusive.list)) {
        struct json value = json_get(*item, c->exclusive.member);
        const struct write *other = json_present(value) ? r->writes : NULL;
        for (; other; other = other->next_in_flight)
            if (other->run != run && has_exclusive(c, other->body, value))
                return true;
    }
    return false;
}

static struct gate_input gate_input_of(
    struct run *run, const struct plan_child *c, struct json wanted)
{
    struct engine *e = run_engine(run);
    struct cache_resource *r = cache_resource_of(&e->cache, c->resource);
    assert(r); /* children are watched */
    const char *name = json_get_text(wanted, "metadata.name");
    const char *ns = r->resource->cluster_scoped ? "" : view_namespace(&run->view);
    return (struct gate_input){
        .arena = &run->arena,
        .child = c,
        .wanted = wanted,
        .there = cache_find(r, view_namespace(&run->view), name),
        .memo = memo_find(run->key, c->resource, name),
        .now_ms = env_mono_ms(e->env),
        .owner = owner_id(run, c->resource),
        .owner_kind = run->key->kind->kind->resource->kind,
        .owner_settled =
            run->key->ran || json_present(json_get(run->view.object, "status.conditions")),
        .access = r->missing               ? GATE_UNSERVED
                  : engine_is_loaded(e, r) ? GATE_READABLE
                                           : GATE_LOADING,
        .before = before_of(run, c),
        .taken = write_under_way(r, ns, name) != NULL,
        .clashes = clashes(run, r, c, wanted),
    };
}

/* ---- decision of the gate ---- */

static void remember(struct run *run, const struct gate_input *in, const struct gate_decision *d)
{
    if (!d->settled && !d->recount && d->trouble.what == TROUBLE_NONE)
        return;
    struct memo *m =
        memo_get(run->key, in->child->resource, json_get_text(in->wanted, "metadata.name"));
    if (d->settled) {
        memo_calm(m);
        run_decide(run, RUN_AGAIN); /* the planned status still reports the trouble */
    }
    if (d->trouble.what != TROUBLE_NONE) {
        memo_trouble(m, &d->trouble, 0, 0);
        run_decide(run, RUN_AGAIN);
    }
    if (d->recount) {
        m->plan_hash = d->hash;
        m->fights = 0;
        m->fights_since_ms = in->now_ms;
    }
}

static void log_differences(const struct gate_input *in)
{
    struct merge_owned ours = {
        .found = in->there->owned != NULL,
        .exact = in->there->exact,
        .fields = cache_read_owned(in->arena, in->there),
    };
    struct merge_differences d =
        merge_difference(in->arena, in->there->resource->schema, &ours, in->wanted);
    for (size_t i = 0; i < d.count; i++)
        log_debug("%s %s: %s %s",
            in->child->resource->kind,
            in->there->name,
            d.items[i].text,
            merge_change_name(d.items[i].what));
}

/* Another key is creating the same shared object: waits for it to finish. */
static void follow(struct write *w)
{
    struct write *other = write_under_way(w->resource, w->ns, w->name);
    w->follows = other;
    other->followed = true;
    w->run->pending++;
}

static void act(struct write *w, enum gate_action action, const struct cache_entry *there)
{
    switch (action) {
    case GATE_LOOK:
        write_look(w);
        break;
    case GATE_FOLLOW:
        follow(w);
        break;
    case GATE_SHARE:
        create_shared(w);
        break;
    case GATE_CREATE:
    case GATE_APPLY:
        apply(w, there);
        break;
    case GATE_ADOPT:
        write_adopt(w);
        break;
    case GATE_DELETE:
        remove_object(w, there);
        break;
    case GATE_CONTEST:
        write_contest(w);
        break;
    case GATE_SKIP:
    case GATE_LATER:
    case GATE_YIELD:
        assert(!"writes nothing");
    }
}

static void write_child(struct run *run, const struct plan_child *c)
{
    const struct resource *owner = run->key->kind->kind->resource;
    struct json wanted = plan_child_object(
        &run->arena, c, resource_api_version(&run->arena, owner), owner->kind, run->view.object);
    struct gate_input in = gate_input_of(run, c, wanted);
    struct gate_decision d = gate_child(&in);
    remember(run, &in, &d);
    if (d.action == GATE_SKIP)
        run_engine(run)->counts.skipped++;
    run->later |= d.action == GATE_LATER;
    if (d.action == GATE_YIELD)
        run_decide(run, RUN_CONFLICT);
    if (d.action == GATE_SKIP || d.action == GATE_LATER || d.action == GATE_YIELD)
        return;
    if (d.action == GATE_APPLY && log_enabled(LOG_LEVEL_DEBUG))
        log_differences(&in);
    struct write *w = write_new(run,
        cache_resource_of(&run_engine(run)->cache, c->resource),
        json_get_text(wanted, "metadata.name"));
    w->child = c;
    w->body = wanted;
    w->hash = d.hash;
    act(w, d.action, in.there);
}

/* Its deletion was refused not long ago. */
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
    for (size_t i = 0; i < count && run->verdict != RUN_STOPPED; i++)
        if (gate_is_leftover(&run->plan, run->key->kind->kind->watches, children[i]) &&
            !is_kept(run, children[i]))
            remove_object(write_new(run, children[i]->resource, children[i]->name), children[i]);
}

static void delete_leftovers(struct run *run)
{
    delete_leftovers_of(run, run->uid);
    for (const struct kind_watch *w = run->key->kind->kind->watches; w && w->resource; w++)
        if (w->child && w->resource->cluster_scoped) {
            delete_leftovers_of(run, owner_id(run, w->resource));
            return; /* all of them have the same owner */
        }
}

/* Deletes the object itself. */
static void delete_self(struct run *run)
{
    const struct key *k = run->key;
    struct cache_entry *entry = cache_find(k->kind->resource, k->ns, k->name);
    if (entry && text_eq(entry->uid, run->uid))
        remove_object(write_new(run, k->kind->resource, k->name), entry);
}

void write_children(struct run *run)
{
    if (run->plan.end) {
        run->plan.has_status = false;
        delete_self(run);
        return;
    }
    for (size_t i = 0; i < run->plan.child_count && run->verdict != RUN_STOPPED; i++)
        write_child(run, &run->plan.children[i]);
    if (!run->plan.keep_children)
        delete_leftovers(run);
}

void write_later(struct run *run)
{
    for (size_t i = 0; i < run->plan.child_count && run->verdict != RUN_STOPPED; i++)
        if (run->plan.children[i].after.resource)
            write_child(run, &run->plan.children[i]);
}

static void last_looked(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    bool came = cache_find(w->resource, w->ns, w->name) != NULL; /* since the request was sent */
    if (came || reply->error.code == ERR_NONE) {
        run_decide(run, RUN_CONFLICT); /* the watch will deliver it */
    } else if (!write_is_gone(w, reply)) {
        run_decide(run, RUN_FAILED);
        run->error = reply->error;
    }
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
    for (size_t i = 0; i < kept && run->verdict != RUN_STOPPED; i++)
        write_child(run, &p->children[i]);
    const struct kind_watch *w = run->key->kind->kind->watches;
    while (w->resource && !(w->child && w->resource->cluster_scoped))
        w++;
    if (w->resource)
        delete_leftovers_of(run, owner_id(run, w->resource));
}
