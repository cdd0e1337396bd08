/* Writes of the object itself: its finalizer, its amendment, its status with the events, and
 * evictions. */

#include "engine/write.h"

#include "base/log.h"
#include "engine/status.h"
#include "kube/events.h"
#include "merge/merge.h"

/* ---- finalizer and amendment ---- */

static void patch_answered(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    bool ok = reply->error.code == ERR_NONE;
    if (ok)
        w->run->version = write_version(w, reply);
    if (ok && w->run->terminating) {
        /* The response may be older than the object's end, so the cache does not take it. */
        write_say(w, "let go");
        write_end(w);
        return;
    }
    write_answered(ctx, reply);
}

static void patch_self(struct run *run, const char *what, struct json patch)
{
    struct engine *e = run->key->kind->engine;
    struct write *w = write_new(run, run->key->kind->resource, run->key->name);
    w->plain = what;
    w->before = run->version;
    w->body = patch;
    if (write_allowed(run))
        write_sent(w,
            kube_patch(e->options.client,
                write_target(w),
                KUBE_PATCH_MERGE,
                write_with_preconditions(w, run->uid, run->version),
                (struct kube_write){ .field_manager = e->options.manager },
                WRITE_THEN(patch_answered, w)));
}

void write_finalizer(struct run *run)
{
    struct arena *a = &run->arena;
    const char *finalizer = run->key->kind->kind->finalizer;
    struct json present = json_get(run->view.object, "metadata.finalizers");
    if (!finalizer || json_list_has(present, finalizer) != run->terminating)
        return;
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (item, present)
        if (!text_eq(json_text(*item), finalizer))
            json_push(&list, *item);
    if (!run->terminating)
        json_push(&list, json_str(finalizer));
    patch_self(run, "finalizer", json_fields(a, { "metadata.finalizers", json_list_end(&list) }));
}

/* Whether a merge patch would leave the value unchanged. */
static bool has(struct json v, struct json patch)
{
    json_each_member (m, patch) {
        struct json there = json_member(v, m->key);
        if (json_is(m->value, JSON_MAP)    ? !has(there, m->value)
            : json_is(m->value, JSON_NULL) ? json_present(there)
                                           : !json_equal(there, m->value))
            return false;
    }
    return true;
}

void write_amendment(struct run *run)
{
    struct json patch = run->plan.amendment;
    if (!json_present(patch) || run->terminating || has(run->view.object, patch))
        return;
    if (run->pending)
        run_decide(run, RUN_AGAIN); /* the finalizer's response has a new version to build on */
    else
        patch_self(run, "amended", patch);
}

/* ---- status ---- */

static void add_contested(struct run *run)
{
    for (const struct memo *m = run->key->memos; m; m = m->next)
        if (m->what == TROUBLE_CONTESTED && memo_is_planned(&run->plan, m)) {
            plan_condition(&run->plan, "Contested", true, m->reason, "%s", m->message);
            return;
        }
}

static void add_leftover(struct run *run)
{
    for (const struct memo *m = run->key->memos; m; m = m->next)
        if (m->leftover && m->what == TROUBLE_REFUSED) {
            plan_condition(&run->plan,
                "Leftover",
                true,
                "DeletionRefused",
                "%s %s is not wanted any more, and its deletion is refused: %s",
                m->resource->kind,
                m->name,
                m->message);
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
    write_answered(ctx, reply);
}

struct fitting {
    struct run *run;
    const char *left_out; /* "status.a, status.b"; NULL: nothing */
};

static struct json fit(void *ctx, struct json status)
{
    struct fitting *f = ctx;
    struct arena *a = &f->run->arena;
    const char *left_out;
    struct json object = json_fields(a, { "status", status });
    object = served_fields(a, f->run->key->kind, object, &left_out);
    f->left_out = left_out ? left_out : f->left_out;
    return json_get(object, "status");
}

/* The planned status without fields that an older CRD refuses. A condition reports the missing
 * fields. */
static struct json complete(struct run *run, struct json owned)
{
    struct engine_kind *kind = run->key->kind;
    const struct resource *r = kind->kind->resource;
    struct fitting f = { run, NULL };
    struct status_input in = {
        .live = json_get(run->view.object, "status"),
        .owned = owned,
        .generation = json_get_int(run->view.object, "metadata.generation", 0),
        .now_ms = run->view.now_ms,
        .fit = fit,
        .ctx = &f,
    };
    struct json status = status_complete(&run->arena, &run->plan, &in);
    if (!f.left_out)
        return status;
    if (!kind->short_of_fields)
        log_warn("the CRD %s.%s is older than this program and lacks %s, which is left out; "
                 "`leeboard manifests --crds-only` prints the new one",
            r->plural,
            r->group,
            f.left_out);
    kind->short_of_fields = true;
    plan_condition(&run->plan,
        "CRDOutdated",
        true,
        "FieldsNotDeclared",
        "The CRD %s.%s lacks %s; install the one that `leeboard manifests --crds-only` prints",
        r->plural,
        r->group,
        f.left_out);
    return status_complete(&run->arena, &run->plan, &in);
}

void write_status(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    struct arena *a = &run->arena;
    struct cache_resource *r = run->key->kind->resource;
    struct cache_entry *entry = cache_find(r, run->key->ns, run->key->name);
    if (!run->plan.has_status || !entry || !text_eq(entry->uid, run->uid))
        return;
    struct write *w = write_new(run, r, run->key->name);
    if (entry->upstream) {
        write_adopt(w);
        return;
    }
    add_contested(run);
    add_leftover(run);
    struct json owned = cache_read_owned(a, entry);
    struct json status = complete(run, json_get(owned, "status"));
    w->body = json_fields(a,
        { "apiVersion", json_str(resource_api_version(a, r->resource)) },
        { "kind", json_str(r->resource->kind) },
        { "metadata.name", json_str(w->name) },
        { "metadata.namespace", json_str_or_absent(w->ns) },
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
    if (write_allowed(run))
        write_sent(w,
            kube_apply(e->options.client,
                write_target(w),
                write_with_preconditions(w, run->uid, run->version),
                (struct kube_write){ .field_manager = e->options.manager, .force = true },
                WRITE_THEN(status_answered, w)));
}

/* ---- eviction ---- */

static void evicted(void *ctx, const struct kube_reply *reply)
{
    struct write *w = ctx;
    struct run *run = w->run;
    if (reply->error.code == ERR_NONE) {
        write_say(w, "evicted");
        send_events(run);
    } else if (!error_is_transient(reply->error.code) && reply->error.code != ERR_NOT_FOUND) {
        write_hold(w, memo_get(run->key, w->resource->resource, w->name), reply, 0);
    }
    write_end(w);
}

void write_eviction(struct run *run)
{
    struct engine *e = run->key->kind->engine;
    const struct plan_eviction *wanted = &run->plan.eviction;
    if (!wanted->pod)
        return;
    const struct memo *m = memo_find(run->key, wanted->resource, wanted->pod);
    if (m && m->what == TROUBLE_REFUSED && env_mono_ms(e->env) < m->until_ms)
        return;
    struct write *w = write_new(run, cache_resource_of(&e->cache, wanted->resource), wanted->pod);
    w->deleting = true;
    struct kube_delete how = { .uid = wanted->uid, .grace_seconds = -1 };
    if (write_allowed(run))
        write_sent(w,
            kube_evict(
                e->options.client, w->ns, wanted->pod, &how, (struct kube_then){ evicted, w }));
}
