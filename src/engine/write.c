/* One write, from the request to the end of its response. Every change of the cluster is sent after
 * write_allowed(), which checks leadership immediately before. Every response comes back through
 * write_answered(), which updates the cache. */

#include "engine/write.h"

#include "base/log.h"
#include "merge/merge.h"

struct engine *write_engine(const struct write *w)
{
    return w->run->key->kind->engine;
}

struct write *write_new(struct run *run, struct cache_resource *r, const char *name)
{
    struct write *w = arena_new(&run->arena, struct write);
    w->run = run;
    w->resource = r;
    w->ns = r->resource->cluster_scoped ? "" : view_namespace(&run->view);
    w->name = arena_strdup(&run->arena, name);
    w->next = run->writes;
    run->writes = w;
    return w;
}

/* The write of this object that is in flight; NULL if there is none. */
struct write *write_under_way(const struct cache_resource *r, const char *ns, const char *name)
{
    struct write *w = r->writes;
    while (w && (strcmp(w->name, name) != 0 || strcmp(w->ns, ns) != 0))
        w = w->next_in_flight;
    return w;
}

void write_begin(struct write *w, struct kube_op *op)
{
    w->op = op;
    if (w->back)
        return;
    w->back = &w->resource->writes;
    w->next_in_flight = *w->back;
    if (w->next_in_flight)
        w->next_in_flight->back = &w->next_in_flight;
    *w->back = w;
}

static void land(struct write *w)
{
    w->op = NULL;
    if (!w->back)
        return;
    *w->back = w->next_in_flight;
    if (w->next_in_flight)
        w->next_in_flight->back = w->back;
    w->back = NULL;
}

uint64_t write_hash(struct write *w)
{
    if (!w->hash)
        w->hash = memo_hash(&w->run->arena, w->body);
    return w->hash;
}

struct kube_target write_target(const struct write *w)
{
    return (struct kube_target){
        .resource = w->resource->resource,
        .ns = *w->ns ? w->ns : NULL,
        .name = w->name,
        .subresource = w->subresource,
    };
}

/* Checks leadership at the last moment. */
bool write_allowed(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    if (!e->options.may_write || e->options.may_write(e->options.ctx))
        return true;
    e->counts.stale++;
    run_decide(run, RUN_STOPPED);
    return false;
}

void write_sent(struct write *w, struct kube_op *op)
{
    write_begin(w, op);
    w->run->pending++;
    write_engine(w)->counts.writes++;
}

/* The preconditions of a change: this uid and this version. */
struct json write_with_preconditions(struct write *w, const char *uid, uint64_t version)
{
    struct arena *a = &w->run->arena;
    struct json body = json_with(a, w->body, "metadata.uid", json_str(uid));
    return json_with(
        a, body, "metadata.resourceVersion", json_strf(a, "%llu", (unsigned long long)version));
}

/* ---- responses ---- */

static struct write *follower_of(const struct write *w)
{
    for (struct run *run = write_engine(w)->runs; run; run = run->next)
        for (struct write *f = run->writes; f; f = f->next)
            if (f->follows == w)
                return f;
    return NULL;
}

/* Runs that need the same object continue. If it does not exist, they try for themselves. */
static void release_followers(const struct write *w)
{
    if (!w->followed)
        return;
    bool there = cache_find(w->resource, w->ns, w->name) != NULL;
    for (struct write *f; (f = follower_of(w));) {
        f->follows = NULL;
        if (!there)
            run_decide(f->run, RUN_AGAIN);
        write_end(f);
    }
}

void write_end(struct write *w)
{
    struct run *run = w->run;
    land(w);
    release_followers(w);
    assert(run->pending > 0);
    run->pending--;
    run_advance(run);
}

void write_say(const struct write *w, const char *what)
{
    log_with(LOG_LEVEL_INFO,
        LOG_FIELDS({ "kind", w->resource->resource->kind },
            { "namespace", w->ns },
            { "name", w->name },
            { "for",
                arena_printf(&w->run->arena,
                    "%s/%s",
                    w->run->key->kind->kind->resource->kind,
                    w->run->key->name) }),
        "%s",
        what);
}

/* The watch was faster: everything in the response is in the cache already. */
bool write_known(void *ctx, const struct stream_identity *id)
{
    struct write *w = ctx;
    uint64_t version;
    const struct cache_entry *entry = cache_known(w->resource, id, &version);
    if (entry && entry->version == version && text_eq(entry->name, w->name) &&
        text_eq(entry->ns, w->ns))
        w->known = version;
    return w->known;
}

uint64_t write_version(const struct write *w, const struct kube_reply *reply)
{
    return w->known ? w->known : cache_version(reply->body);
}

/* Stores the server's object in the cache, and wakes the keys that depend on it. */
static struct cache_entry *take_in(struct write *w, struct json object)
{
    struct cache_entry *entry;
    struct cache_entry *old = cache_find(w->resource, w->ns, w->name);
    if (!json_present(object) || (old && old->version >= cache_version(object)))
        return old;
    struct json before = json_if(old, cache_read(&w->run->arena, old));
    before = json_copy(&w->run->arena, json_get(before, "metadata.labels"));
    engine_need_schema(write_engine(w), w->resource);
    enum cache_change change = cache_put(w->resource, object, CACHE_FROM_ANSWER, &entry);
    if (change != CACHE_SAME)
        engine_object_changed(write_engine(w),
            w->resource,
            w->ns,
            w->name,
            before,
            json_get(object, "metadata.labels"),
            w->run->key);
    return cache_find(w->resource, w->ns, w->name);
}

static void complain(const struct write *w, const char *what, const char *more)
{
    write_engine(w)->counts.self_check++;
    log_warn("self-check of %s %s: %s%s", w->resource->resource->kind, w->name, what, more);
}

/* Compares the stored object with what we sent. If the gate would treat them as equal, all is well.
 * Otherwise the stored field set distinguishes an error of ours from values that the server
 * rewrote; rewritten values are learned. */
static void check_answer(struct write *w, const struct kube_reply *reply, struct cache_entry *entry)
{
    struct engine *e = write_engine(w);
    struct arena *a = &w->run->arena;
    const struct schema *schema = w->resource->schema;
    const char *subresource = w->subresource ? w->subresource : "";
    const struct fieldset *set;
    const char *path = NULL;
    struct error err;
    struct merge_owned owned = { 0 };
    struct json answer = reply->body;
    if (entry && entry->version == write_version(w, reply))
        owned = (struct merge_owned){
            .found = entry->owned != NULL,
            .exact = entry->exact,
            .fields = cache_read_owned(a, entry),
        };
    else
        merge_owned(a, schema, answer, e->options.manager, subresource, &owned);
    if (owned.found && merge_equal(schema, &owned, w->body))
        return;
    if ((w->known && !json_parse(a, reply->text, &answer, &err)) ||
        !merge_set_of(a, schema, w->body, &set, &err))
        complain(w, err.text, "");
    else if (!merge_set_equal_entry(a, set, answer, e->options.manager, subresource, &path))
        complain(w, "stored fields differ at ", path);
    if (!w->child || !entry)
        return;
    struct memo *m = memo_get(w->run->key, w->resource->resource, w->name);
    m->learnt = true;
    m->learnt_hash = write_hash(w);
    m->owned_hash = memo_hash(a, owned.fields);
}

/* Created by the first key that needs it, then left alone. */
static bool is_shared(const struct write *w)
{
    return w->child && w->child->mode == PLAN_SHARED;
}

/* We deleted it ourselves: creating it again does not count as a conflict, and it is not deleted
 * again before the watch reports the deletion. The planned status may still report that it cannot
 * be deleted. */
static void note_deleted(struct write *w)
{
    struct cache_entry *entry = cache_find(w->resource, w->ns, w->name);
    if (entry && entry->version == w->before && w->resource != w->run->key->kind->resource)
        entry->deleting = true;
    struct memo *m = memo_find(w->run->key, w->resource->resource, w->name);
    if (m)
        m->fights = 0;
    if (!m || !m->leftover)
        return;
    m->leftover = false;
    memo_calm(m);
    run_decide(w->run, RUN_AGAIN);
}

static void succeeded(struct write *w, const struct kube_reply *reply)
{
    struct engine *e = write_engine(w);
    uint64_t version = write_version(w, reply);
    if (w->deleting) {
        write_say(w, "deleted");
        note_deleted(w);
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
    if (m && w->child && m->plan_hash == w->hash)
        m->fights++;
    if (m && m->what != TROUBLE_NONE) {
        /* The planned status still reports the trouble. */
        memo_calm(m);
        run_decide(w->run, RUN_AGAIN);
    }
    if (w->adopting)
        run_decide(w->run, RUN_AGAIN);
    else if (!is_shared(w) && !w->plain)
        check_answer(w, reply, entry);
    if (w->event_version && w->event_version != version)
        queue_wake(&w->run->key->item); /* not our echo: another client wrote, too */
    else if (w->event_version)
        e->counts.echoes++;
    write_say(w,
        w->adopting      ? "took over"
        : w->plain       ? w->plain
        : w->subresource ? "status"
        : w->before      ? "applied"
                         : "created");
}

/* The watch may be far behind. A server that does not know the resource at all returns another
 * message. */
bool write_is_gone(const struct write *w, const struct kube_reply *reply)
{
    return reply->error.code == ERR_NOT_FOUND &&
           text_eq(json_get_text(reply->body, "details.name"), w->name);
}

static void looked(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct engine *e = write_engine(w);
    struct cache_entry *entry = cache_find(w->resource, w->ns, w->name);
    bool own = !w->child && w->resource == w->run->key->kind->resource;
    struct memo *m = w->child ? memo_find(w->run->key, w->resource->resource, w->name) : NULL;
    if (m && (reply->error.code == ERR_NONE || reply->error.code == ERR_NOT_FOUND))
        m->unknown = false;
    if (reply->error.code == ERR_NONE)
        take_in(w, reply->body);
    else if (write_is_gone(w, reply) && entry && text_eq(entry->uid, w->sought)) {
        land(w);
        cache_bury(entry);
        watch_object_gone(e, entry);
        if (own) { /* and its run ends with it */
            engine_pump(e);
            return;
        }
    }
    /* In any case: decide again from the current state. */
    write_end(w);
}

/* After a conflict or an unknown result: reads the object before the next decision. why: an error
 * for the log, or NULL. */
static void look(struct write *w, const struct error *why)
{
    struct run *run = w->run;
    if (is_shared(w))
        run_decide(run, RUN_AGAIN); /* another key created it: nothing to wait for */
    else
        run_decide(run, RUN_CONFLICT);
    if (why)
        run->error = *why;
    struct kube_target what = write_target(w);
    what.subresource = NULL;
    /* A 404 says nothing about an object that was created after the request. */
    const struct cache_entry *entry = cache_find(w->resource, w->ns, w->name);
    w->sought = entry ? arena_strdup(&run->arena, entry->uid) : NULL;
    write_begin(
        w, kube_get(write_engine(w)->options.client, what, (struct kube_then){ looked, w }));
}

void write_look(struct write *w)
{
    w->run->pending++;
    look(w, NULL);
}

void write_hold(struct write *w, struct memo *m, const struct kube_reply *reply, uint64_t plan_hash)
{
    const struct view_trouble refusal = {
        .what = TROUBLE_REFUSED,
        .message = reply->error.text,
        .reason = error_code_name(reply->error.code),
        .cause = reply->cause,
    };
    memo_trouble(m, &refusal, plan_hash, env_mono_ms(write_engine(w)->env) + WRITE_HELD_MS);
    run_decide(w->run, RUN_AGAIN);
}

static void refused(struct write *w, const struct kube_reply *reply)
{
    struct run *run = w->run;
    write_engine(w)->counts.refused++;
    if (w->subresource)
        served_doubt(run->key->kind);
    log_with(LOG_LEVEL_WARN,
        LOG_FIELDS(
            { "kind", w->resource->resource->kind }, { "namespace", w->ns }, { "name", w->name }),
        "refused: %s",
        reply->error.text);
    bool self = w->resource == run->key->kind->resource;
    if (run->terminating && !self && run->version)
        return; /* it was logged; the object does not wait for it */
    if (run->terminating || (!w->child && (self || !w->deleting))) {
        /* The server refuses a write of the object itself, or the object is gone. No status can
         * report this. */
        run->floor_ms = WRITE_HELD_MS;
        run_decide(run, RUN_FAILED);
        return;
    }
    struct memo *m = memo_get(run->key, w->resource->resource, w->name);
    m->leftover = !w->child;
    write_hold(w, m, reply, write_hash(w));
}

void write_answered(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    struct engine *e = write_engine(w);
    enum error_code code = reply->error.code;
    bool of_present = w->deleting || w->subresource; /* else a 404 is about the namespace */
    if (code == ERR_NONE) {
        succeeded(w, reply);
    } else if (of_present && write_is_gone(w, reply)) {
        note_deleted(w);
        if (w->subresource) /* gone: the watch will report it */
            run_decide(run, RUN_STOPPED);
    } else if (reply->outcome_unknown) {
        e->counts.ambiguous++;
        if (w->child)
            memo_get(run->key, w->resource->resource, w->name)->unknown = true;
        look(w, &reply->error);
        return;
    } else if (code == ERR_CONFLICT || code == ERR_EXISTS || code == ERR_GONE) {
        e->counts.conflicts++;
        e->counts.stale += w->before != 0;
        look(w, NULL);
        return;
    } else if (error_is_transient(code) || code == ERR_UNAUTHORIZED || code == ERR_CANCELLED ||
               (code == ERR_NOT_FOUND && of_present)) { /* a proxy that reloads also returns 404 */
        run_decide(run, RUN_FAILED);
        run->error = reply->error;
        run->floor_ms = reply->error.retry_after_ms;
    } else {
        refused(w, reply);
    }
    write_end(w);
}

/* ---- in flight ---- */

void write_unfollow(struct run *run)
{
    for (struct write *w = run->writes; w; w = w->next)
        w->follows = NULL;
}

void write_cancel(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    for (struct write *w = run->writes; w; w = w->next) {
        w->follows = NULL;
        if (!w->op)
            continue;
        kube_op_cancel(e->options.client, w->op);
        land(w);
        release_followers(w);
    }
    run->pending = 0;
}

struct key *write_hold_event(
    const struct cache_resource *r, const char *ns, const char *name, uint64_t version)
{
    struct write *w = write_under_way(r, ns, name);
    if (!w)
        return NULL;
    w->event_version = version;
    return w->run->key;
}
