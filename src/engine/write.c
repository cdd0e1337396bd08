/* The one write path. Everything that changes the cluster leaves through send(), which asks for
 * leadership immediately before; every answer comes back through answered(), which feeds the cache.
 */

#include "engine/internal.h"

#include "base/log.h"
#include "engine/adopt.h"
#include "engine/status.h"
#include "kube/events.h"
#include "merge/merge.h"

/* A refused child, or one that is fought over, is tried again after this. */
#define WRITE_HELD_MS ((int64_t)5 * 60 * 1000)
#define WRITE_CONTESTED_MS ((int64_t)10 * 60 * 1000)

static struct engine *engine_of(const struct write *w)
{
    return w->run->key->kind->engine;
}

static struct write *write_new(struct run *run, struct cache_resource *r, const char *name)
{
    struct write *w = arena_new(&run->arena, struct write);
    w->run = run;
    w->resource = r;
    w->namespace = r->resource->cluster_scoped ? "" : view_namespace(&run->view);
    w->name = arena_strdup(&run->arena, name);
    w->next = run->writes;
    run->writes = w;
    return w;
}

/* Whoever is writing this object just now; NULL if nobody is. */
static struct write *write_under_way(
    const struct engine *e, const struct cache_resource *r, const char *namespace, const char *name)
{
    for (struct run *run = e->runs; run; run = run->next)
        for (struct write *w = run->writes; w; w = w->next)
            if (w->op && w->resource == r && strcmp(w->name, name) == 0 &&
                strcmp(w->namespace, namespace) == 0)
                return w;
    return NULL;
}

static struct kube_target target(const struct write *w)
{
    return (struct kube_target){
        .resource = w->resource->resource,
        .namespace = *w->namespace ? w->namespace : NULL,
        .name = w->name,
        .subresource = w->subresource,
    };
}

/* Leadership, asked at the last moment. */
static bool may_write(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    if (!e->options.may_write || e->options.may_write(e->options.ctx))
        return true;
    e->counts.stale++;
    run->stopped = true;
    return false;
}

static void sent(struct write *w, struct kube_op *op)
{
    w->op = op;
    w->run->pending++;
    engine_of(w)->counts.writes++;
}

/* ---- answers ---- */

static struct write *follower_of(const struct write *w)
{
    for (struct run *run = engine_of(w)->runs; run; run = run->next)
        for (struct write *f = run->writes; f; f = f->next)
            if (f->follows == w)
                return f;
    return NULL;
}

static void end(struct write *w);

/* Those who need the same object go on; without it, they try for themselves. */
static void release_followers(const struct write *w)
{
    bool there = cache_find(w->resource, w->namespace, w->name) != NULL;
    for (struct write *f; (f = follower_of(w));) {
        f->follows = NULL;
        f->run->again |= !there;
        end(f);
    }
}

static void end(struct write *w)
{
    struct run *run = w->run;
    w->op = NULL;
    release_followers(w);
    assert(run->pending > 0);
    run->pending--;
    run_advance(run);
}

static void say(const struct write *w, const char *what)
{
    log_with(LOG_LEVEL_INFO,
        LOG_FIELDS({ "kind", w->resource->resource->kind },
            { "namespace", w->namespace },
            { "name", w->name },
            { "for",
                arena_printf(&w->run->arena,
                    "%s/%s",
                    w->run->key->kind->kind->resource->kind,
                    w->run->key->name) }),
        "%s",
        what);
}

/* Takes what the server says about an object into the cache, and tells those who depend on it. */
static struct cache_entry *take_in(struct write *w, struct json object)
{
    struct cache_entry *entry;
    struct cache_entry *old = cache_find(w->resource, w->namespace, w->name);
    struct json before = old ? cache_read(&w->run->arena, old) : (struct json){ 0 };
    before = json_copy(&w->run->arena, json_get(before, "metadata.labels"));
    enum cache_change change = cache_put(w->resource, object, CACHE_FROM_ANSWER, &entry);
    if (change != CACHE_SAME)
        engine_object_changed(engine_of(w),
            w->resource,
            w->namespace,
            w->name,
            before,
            json_get(object, "metadata.labels"),
            w->run->key);
    return cache_find(w->resource, w->namespace, w->name);
}

/* Held against what we meant: the field set that is stored, and values that the server rewrote. */
static void check_answer(struct write *w, const struct kube_reply *reply, struct cache_entry *entry)
{
    struct engine *e = engine_of(w);
    struct arena *a = &w->run->arena;
    const struct schema *schema = w->resource->schema;
    const char *subresource = w->subresource ? w->subresource : "";
    const struct fieldset *set;
    const char *path = NULL;
    struct error err;
    if (!merge_set_of(a, schema, w->body, &set, &err)) {
        e->counts.self_check++;
        log_warn("self-check of %s %s: %s", w->resource->resource->kind, w->name, err.text);
    } else if (!merge_set_equal_entry(
                   a, set, reply->body, e->options.manager, subresource, &path)) {
        e->counts.self_check++;
        log_warn("self-check of %s %s: stored fields differ at %s",
            w->resource->resource->kind,
            w->name,
            path);
    }
    struct merge_owned owned;
    merge_owned(a, schema, reply->body, e->options.manager, subresource, &owned);
    if (!w->child || !entry || merge_equal(schema, &owned, w->body))
        return;
    struct memo *m = memo_get(w->run->key, w->resource->resource, w->name);
    m->learnt = true;
    m->learnt_hash = w->hash;
    m->owned_hash = memo_hash(a, owned.fields);
}

/* Made by whoever of its users comes first, then left alone. */
static bool is_shared(const struct write *w)
{
    return w->child && w->child->mode == PLAN_SHARED;
}

static void succeeded(struct write *w, const struct kube_reply *reply)
{
    struct engine *e = engine_of(w);
    uint64_t version = cache_version(reply->body);
    if (w->deleting) {
        say(w, "deleted");
        return;
    }
    if (w->before && version == w->before) {
        e->counts.without_effect++;
        log_warn("a write of %s %s changed nothing", w->resource->resource->kind, w->name);
    }
    if (!w->before && !w->adopting && reply->status != 201) {
        e->counts.created_twice++;
        log_warn("creating %s %s met an object", w->resource->resource->kind, w->name);
    }
    struct cache_entry *entry = take_in(w, reply->body);
    struct memo *m = memo_find(w->run->key, w->resource->resource, w->name);
    if (m && m->what != TROUBLE_NONE) {
        /* The status that was planned still tells of it. */
        memo_calm(m);
        w->run->again = true;
    }
    if (w->adopting)
        w->run->again = true;
    else if (!is_shared(w) && !w->plain)
        check_answer(w, reply, entry);
    if (w->event_version && w->event_version != version)
        queue_wake(&w->run->key->item); /* not our echo: somebody wrote as well */
    else if (w->event_version)
        e->counts.echoes++;
    if (w->subresource)
        w->run->status_told = true;
    say(w,
        w->adopting      ? "took over"
        : w->plain       ? "finalizer"
        : w->subresource ? "status"
        : w->before      ? "applied"
                         : "created");
}

static void looked(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    if (reply->error.code == ERR_NONE)
        take_in(w, reply->body);
    /* Whatever it was: decide anew from what is known now. */
    end(w);
}

/* After a conflict or an unknown outcome: see what is there before the next decision. why: what the
 * log should tell, or NULL. */
static void look(struct write *w, const struct error *why)
{
    struct run *run = w->run;
    if (is_shared(w))
        run->again = true; /* somebody else of its users made it: nothing to wait for */
    else
        run->conflict = true;
    if (why)
        run->error = *why;
    struct kube_target what = target(w);
    what.subresource = NULL;
    w->op = kube_get(engine_of(w)->options.client, what, (struct kube_then){ looked, w });
}

/* A CRD older than this program refuses a whole status for one field that it does not know. Such
 * fields are left out from then on. True if this was a new one. */
static bool learn_undeclared(struct write *w, const char *message)
{
    static const char head[] = ".status.", tail[] = ": field not declared in schema";
    static const char allowed[] = ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    struct engine_kind *kind = w->run->key->kind;
    const char *at = strstr(message, head);
    if (!at || kind->undeclared_count == ENGINE_UNDECLARED_MAX)
        return false;
    at += strlen(head);
    size_t length = strspn(at, allowed);
    if (!length || !text_starts(at + length, tail))
        return false;
    char *path = mem_strdup(arena_strndup(&w->run->arena, at, length));
    kind->undeclared[kind->undeclared_count++] = path;
    log_warn("the CRD %s.%s is older than this program and lacks status.%s, which is left out; "
             "`leeboard manifests --crds-only` prints the new one",
        w->resource->resource->plural,
        w->resource->resource->group,
        path);
    return true;
}

static void leave_out_undeclared(struct run *run)
{
    const struct engine_kind *kind = run->key->kind;
    struct plan *p = &run->plan;
    for (size_t i = 0; i < kind->undeclared_count; i++) {
        if (text_eq(kind->undeclared[i], p->stamp))
            p->stamp = NULL;
        p->status = json_with(&run->arena, p->status, kind->undeclared[i], (struct json){ 0 });
    }
}

static void refused(struct write *w, const struct kube_reply *reply)
{
    struct run *run = w->run;
    engine_of(w)->counts.refused++;
    if (w->subresource && learn_undeclared(w, reply->error.text)) {
        run->again = true;
        return;
    }
    log_with(LOG_LEVEL_WARN,
        LOG_FIELDS({ "kind", w->resource->resource->kind },
            { "namespace", w->namespace },
            { "name", w->name }),
        "refused: %s",
        reply->error.text);
    if (run->going)
        return; /* said; nobody waits for it */
    if (!w->child) {
        /* A status or a deletion that the server will not have: nothing that a retry could heal. */
        run->floor_ms = WRITE_HELD_MS;
        run->failed = true;
        return;
    }
    struct memo *m = memo_get(run->key, w->resource->resource, w->name);
    memo_trouble(m,
        TROUBLE_REFUSED,
        reply->error.text,
        w->hash,
        env_mono_ms(engine_of(w)->env) + WRITE_HELD_MS);
    run->again = true;
}

static void answered(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    struct engine *e = engine_of(w);
    enum error_code code = reply->error.code;
    if (code == ERR_NONE) {
        succeeded(w, reply);
    } else if (code == ERR_NOT_FOUND && (w->deleting || w->subresource)) {
        run->stopped = w->subresource != NULL; /* gone: the watch will say so */
    } else if (reply->outcome_unknown) {
        e->counts.ambiguous++;
        look(w, &reply->error);
        return;
    } else if (code == ERR_CONFLICT || code == ERR_EXISTS || code == ERR_GONE) {
        e->counts.conflicts++;
        e->counts.stale += w->before != 0;
        look(w, NULL);
        return;
    } else if (error_is_transient(code) || code == ERR_UNAUTHORIZED || code == ERR_CANCELLED) {
        run->failed = true;
        run->error = reply->error;
        run->floor_ms = reply->error.retry_after_ms;
    } else {
        refused(w, reply);
    }
    end(w);
}

/* ---- children ---- */

/* Preconditions of a change: this very object, in this very version. */
static struct json with_preconditions(struct write *w, const char *uid, uint64_t version)
{
    struct arena *a = &w->run->arena;
    struct json body = json_with(a, w->body, "metadata.uid", json_str(uid));
    return json_with(
        a, body, "metadata.resourceVersion", json_strf(a, "%llu", (unsigned long long)version));
}

static void create_shared(struct write *w)
{
    struct engine *e = engine_of(w);
    struct kube_target collection = target(w);
    collection.name = NULL;
    if (may_write(w->run))
        sent(w,
            kube_create(e->options.client,
                collection,
                w->body,
                (struct kube_write){ .field_manager = e->options.manager },
                (struct kube_then){ answered, w }));
}

static void apply(struct write *w, const struct cache_entry *entry)
{
    struct engine *e = engine_of(w);
    struct json body = w->body;
    /* Creating does not force: whoever holds fields of an object that we have not seen is a
     * stranger, and the conflict says so. */
    struct kube_write how = { .field_manager = e->options.manager, .force = entry != NULL };
    if (entry) {
        w->before = entry->version;
        body = with_preconditions(w, arena_strdup(&w->run->arena, entry->uid), entry->version);
    }
    if (may_write(w->run))
        sent(w,
            kube_apply(e->options.client, target(w), body, how, (struct kube_then){ answered, w }));
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
    if (may_write(w->run))
        sent(w,
            kube_delete(
                engine_of(w)->options.client, target(w), &how, (struct kube_then){ answered, w }));
}

static void adopt_seen(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct engine *e = engine_of(w);
    const char *subresource = w->resource->subresource;
    if (reply->error.code != ERR_NONE ||
        !adopt_wanted(reply->body, e->cache.predecessors, subresource)) {
        w->run->conflict = true;
        end(w);
        return;
    }
    w->run->pending--;
    struct json patch = adopt_patch(
        reply->arena, reply->body, e->cache.predecessors, subresource, e->options.manager);
    if (may_write(w->run))
        sent(w,
            kube_patch(e->options.client,
                target(w),
                KUBE_PATCH_JSON,
                patch,
                (struct kube_write){ .field_manager = e->options.manager },
                (struct kube_then){ answered, w }));
    else
        run_advance(w->run);
}

/* The managedFields of all managers are needed, which the cache does not keep. */
static void adopt(struct write *w)
{
    w->adopting = true;
    w->op = kube_get(engine_of(w)->options.client, target(w), (struct kube_then){ adopt_seen, w });
    w->run->pending++;
}

static void contest_seen(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct engine *e = engine_of(w);
    struct arena *a = &w->run->arena;
    if (reply->error.code == ERR_NONE) {
        struct merge_owned owned;
        merge_owned(a, w->resource->schema, reply->body, e->options.manager, "", &owned);
        struct merge_differences d = merge_difference(a, w->resource->schema, &owned, w->body);
        const char *path = d.count ? d.items[0].text : "a field";
        struct merge_managers who = { 0 };
        if (d.count)
            who = merge_field_managers(a, reply->body, &d.items[0].path);
        const char *other = "somebody";
        for (size_t i = 0; i < who.count; i++)
            if (!text_eq(who.items[i].name, e->options.manager))
                other = who.items[i].name;
        memo_trouble(memo_get(w->run->key, w->resource->resource, w->name),
            TROUBLE_CONTESTED,
            arena_printf(a,
                "%s keeps changing %s of %s %s; Leeboard stopped writing it for now: let one of "
                "the two manage this field",
                other,
                path,
                w->resource->resource->kind,
                w->name),
            w->hash,
            env_mono_ms(e->env) + WRITE_CONTESTED_MS);
        e->counts.contested++;
        w->run->again = true;
    }
    end(w);
}

static void contest(struct write *w)
{
    w->op =
        kube_get(engine_of(w)->options.client, target(w), (struct kube_then){ contest_seen, w });
    w->run->pending++;
}

static void write_child(struct run *run, const struct plan_child *c)
{
    struct engine *e = run->key->kind->engine;
    struct json wanted = gate_complete(run, c);
    struct gate_decision d = gate_child(run, c, wanted);
    if (d.action == GATE_SKIP) {
        e->counts.skipped++;
        return;
    }
    struct cache_resource *r = cache_resource_of(&e->cache, c->resource);
    const char *name = json_get_text(wanted, "metadata.name");
    struct cache_entry *entry = cache_find(r, view_namespace(&run->view), name);
    struct write *w = write_new(run, r, name);
    w->child = c;
    w->body = wanted;
    w->hash = d.hash;
    struct write *other = entry ? NULL : write_under_way(e, r, w->namespace, name);
    if (other && c->mode != PLAN_SHARED) {
        run->conflict = true; /* another key makes it: by its answer we shall see whose it is */
        return;
    }
    w->follows = other;
    if (w->follows)
        run->pending++;
    else if (d.action == GATE_DELETE)
        delete (w, entry);
    else if (d.action == GATE_ADOPT)
        adopt(w);
    else if (d.action == GATE_CONTEST)
        contest(w);
    else if (c->mode == PLAN_SHARED)
        create_shared(w);
    else
        apply(w, entry);
}

static void delete_leftovers_of(struct run *run, const char *owner)
{
    struct engine *e = run->key->kind->engine;
    size_t count;
    struct cache_entry **children = cache_children(&run->arena, &e->cache, owner, &count);
    for (size_t i = 0; i < count && !run->stopped; i++)
        if (gate_is_leftover(run, children[i]))
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

void write_children(struct run *run)
{
    for (size_t i = 0; i < run->plan.child_count && !run->stopped; i++)
        write_child(run, &run->plan.children[i]);
    if (!run->plan.keep_children)
        delete_leftovers(run);
}

/* ---- the finalizer ---- */

static void finalizer_answered(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    bool ok = reply->error.code == ERR_NONE;
    if (ok)
        w->run->version = cache_version(reply->body);
    if (ok && w->run->going) {
        say(w, "let go"); /* the answer may be older than its end: the cache does not take it */
        end(w);
        return;
    }
    answered(ctx, reply);
}

void write_finalizer(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    struct arena *a = &run->arena;
    const char *finalizer = run->key->kind->kind->finalizer;
    struct json present = json_get(run->view.object, "metadata.finalizers");
    if (!finalizer || json_list_has(present, finalizer) != run->going)
        return;
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (item, present)
        if (!text_eq(json_text(*item), finalizer))
            json_push(&list, *item);
    if (!run->going)
        json_push(&list, json_str(finalizer));
    struct write *w = write_new(run, run->key->kind->resource, run->key->name);
    w->plain = true;
    w->before = run->version;
    w->body = json_fields(a, { "metadata.finalizers", json_list_end(&list) });
    if (may_write(run))
        sent(w,
            kube_patch(e->options.client,
                target(w),
                KUBE_PATCH_MERGE,
                with_preconditions(w, run->uid, run->version),
                (struct kube_write){ .field_manager = e->options.manager },
                (struct kube_then){ finalizer_answered, w }));
}

void write_farewell(struct run *run)
{
    struct plan *p = &run->plan;
    size_t kept = 0;
    for (size_t i = 0; i < p->child_count; i++)
        if (p->children[i].resource->cluster_scoped && p->children[i].mode != PLAN_SHARED) {
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

/* ---- status ---- */

static void add_contested(struct run *run)
{
    for (const struct memo *m = run->key->memos; m; m = m->next)
        if (m->what == TROUBLE_CONTESTED) {
            plan_condition(&run->plan, "Contested", true, "FieldTaken", "%s", m->message);
            return;
        }
}

static void send_events(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    const struct resource *r = run->key->kind->kind->resource;
    struct arena *a = &run->arena;
    struct json regarding = run->view.object;
    regarding = json_with(a, regarding, "apiVersion", json_str(resource_api_version(a, r)));
    regarding = json_with(a, regarding, "kind", json_str(r->kind));
    for (size_t i = 0; e->options.events && i < run->plan.event_count; i++)
        event_record(e->options.events,
            &(struct event){
                .regarding = regarding,
                .warning = run->plan.events[i].warning,
                .reason = run->plan.events[i].reason,
                .action = "Reconcile",
                .note = run->plan.events[i].message,
            });
}

static void status_answered(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    if (reply->error.code == ERR_NONE)
        send_events(w->run);
    answered(ctx, reply);
}

void write_status(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    struct arena *a = &run->arena;
    struct cache_resource *r = run->key->kind->resource;
    struct cache_entry *entry = cache_find(r, run->key->namespace, run->key->name);
    if (!run->plan.has_status || !entry || !text_eq(entry->uid, run->uid))
        return;
    struct write *w = write_new(run, r, run->key->name);
    if (entry->upstream) {
        adopt(w);
        return;
    }
    add_contested(run);
    leave_out_undeclared(run);
    struct json owned = cache_read_owned(a, entry);
    struct json status = status_complete(a,
        &run->plan,
        &(struct status_input){
            .live = json_get(run->view.object, "status"),
            .owned = json_get(owned, "status"),
            .generation = json_get_int(run->view.object, "metadata.generation", 0),
            .now_ms = run->view.now_ms,
        });
    w->body = json_fields(a,
        { "apiVersion", json_str(resource_api_version(a, r->resource)) },
        { "kind", json_str(r->resource->kind) },
        { "metadata.name", json_str(w->name) },
        { "metadata.namespace", json_str_or_absent(w->namespace) },
        { "status", status });
    struct merge_owned ours = {
        .found = entry->owned != NULL,
        .exact = entry->exact,
        .fields = owned,
    };
    if (merge_equal(r->schema, &ours, w->body)) {
        e->counts.skipped++;
        return;
    }
    w->subresource = "status";
    w->before = run->version;
    if (may_write(run))
        sent(w,
            kube_apply(e->options.client,
                target(w),
                with_preconditions(w, run->uid, run->version),
                (struct kube_write){ .field_manager = e->options.manager, .force = true },
                (struct kube_then){ status_answered, w }));
}

/* ---- eviction ---- */

static void evicted(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    if (reply->error.code == ERR_NONE) {
        say(w, "evicted");
        send_events(run);
    } else if (!error_is_transient(reply->error.code) && reply->error.code != ERR_NOT_FOUND) {
        memo_trouble(memo_get(run->key, &RESOURCE_POD, w->name),
            TROUBLE_REFUSED,
            reply->error.text,
            0,
            env_mono_ms(engine_of(w)->env) + WRITE_HELD_MS);
        run->again = true;
    }
    end(w);
}

void write_eviction(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    const struct plan_eviction *wanted = &run->plan.eviction;
    if (!wanted->pod)
        return;
    const struct memo *m = memo_find(run->key, &RESOURCE_POD, wanted->pod);
    if (m && m->what == TROUBLE_REFUSED && env_mono_ms(e->env) < m->until_ms)
        return;
    struct write *w = write_new(run, cache_resource_of(&e->cache, &RESOURCE_POD), wanted->pod);
    w->deleting = true;
    struct kube_delete how = { .uid = wanted->uid, .grace_seconds = -1 };
    if (may_write(run))
        sent(w,
            kube_evict(e->options.client,
                w->namespace,
                wanted->pod,
                &how,
                (struct kube_then){ evicted, w }));
}

/* ---- in flight ---- */

void write_cancel(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    for (struct write *w = run->writes; w; w = w->next) {
        w->follows = NULL;
        if (!w->op)
            continue;
        kube_op_cancel(e->options.client, w->op);
        w->op = NULL;
        release_followers(w);
    }
    run->pending = 0;
}

struct key *write_hold_event(struct engine *e, const struct cache_resource *r,
    const char *namespace, const char *name, uint64_t version)
{
    struct write *w = write_under_way(e, r, namespace, name);
    if (!w)
        return NULL;
    w->event_version = version;
    return w->run->key;
}
