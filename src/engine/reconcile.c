/* One pass over a key: build the view, run the kind, write the plan, end with the outcome.
 *
 *   run_start ── view ── kind ── plan ──> finalizer ──> children ──> status ──> eviction ──> finish
 *                              refused: plan again, now with the refusal in the view
 *                              another writer was faster, or a request failed: back off
 *   terminating, with our finalizer: delete the cluster-scoped children, then the finalizer
 *   no object, but cluster-scoped children: read it; if it really is gone, delete them */

#include "engine/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/selector.h"
#include "engine/order.h"
#include "engine/pass.h"

/* ---- queries of the view ---- */

static void depend(struct run *run, uint64_t target)
{
    arena_room(&run->arena, run->targets, run->target_count, run->target_size);
    run->targets[run->target_count++] = target;
}

static struct engine *engine_of(const struct run *run)
{
    return run->key->kind->engine;
}

static struct cache_resource *watched(const struct run *run, const struct resource *r)
{
    struct cache_resource *found = cache_resource_of(&engine_of(run)->cache, r);
    assert(found); /* a kind queries only the resources in its watch list */
    return found;
}

/* A run lives longer than the entries that it reads: the cache may change while its writes are in
 * flight, so everything is copied. */
static struct json read_entry(struct run *run, const struct cache_entry *e)
{
    cleanup(arena_done) struct arena scratch = ARENA_INIT;
    return json_if(e, json_copy(&run->arena, cache_read(&scratch, e)));
}

static struct json answer_get(void *ctx, const struct resource *r, const char *ns, const char *name)
{
    struct run *run = ctx;
    ns = r->cluster_scoped ? "" : ns;
    depend(run, depend_on_name(&engine_of(run)->depends, r, ns, name));
    struct cache_entry *e = cache_find(watched(run, r), ns, name);
    return read_entry(run, e);
}

/* The value in `key=value`, if key is the resource's indexed label. */
static const char *indexed_value(const struct cache_resource *r, const char *selector)
{
    if (!selector || !r->index_label)
        return NULL;
    size_t length = strlen(r->index_label);
    bool of_index = strncmp(selector, r->index_label, length) == 0 && selector[length] == '=';
    return of_index && !strpbrk(selector + length + 1, ",=!() ") ? selector + length + 1 : NULL;
}

static struct json answer_list(
    void *ctx, const struct resource *resource, const char *ns, const char *selector)
{
    struct run *run = ctx;
    struct cache_resource *r = watched(run, resource);
    depend(run, depend_on_list(&engine_of(run)->depends, resource, ns, selector));
    const char *value = indexed_value(r, selector);
    struct selector parsed = { 0 };
    struct error err;
    if (selector && !value && !selector_parse(&run->arena, selector, &parsed, &err))
        assert(!"a kind lists by a selector that cannot be read");
    size_t count;
    struct cache_entry **found = cache_list(&run->arena, r, ns, value, &count);
    struct json_builder list;
    json_builder_init(&list, &run->arena);
    cleanup(arena_done) struct arena scratch = ARENA_INIT;
    for (size_t i = 0; i < count; i++) {
        struct json object = cache_read(&scratch, found[i]);
        if (value || selector_matches(&parsed, json_get(object, "metadata.labels")))
            json_push(&list, json_copy(&run->arena, object));
        arena_reset(&scratch);
    }
    return json_list_end(&list);
}

static bool answer_served(void *ctx, const struct resource *r)
{
    struct run *run = ctx;
    depend(run, depend_on_name(&engine_of(run)->depends, r, " ", "served"));
    return !watched(run, r)->missing;
}

static struct json answer_owned(void *ctx, const struct resource *r, const char *name)
{
    struct run *run = ctx;
    const char *ns = view_namespace(&run->view);
    depend(run, depend_on_name(&engine_of(run)->depends, r, ns, name));
    struct cache_entry *e = cache_find(watched(run, r), ns, name);
    if (!e || !text_eq(e->controller_uid, run->uid))
        return json_none;
    return json_copy(&run->arena, cache_read_owned(&run->arena, e));
}

static struct view_trouble answer_trouble(void *ctx, const struct resource *r, const char *name)
{
    struct run *run = ctx;
    const struct memo *m = memo_find(run->key, r, name);
    if (!m)
        return (struct view_trouble){ 0 };
    /* The memo may change while the writes of this run are in flight. */
    return (struct view_trouble){
        .what = m->what,
        .message = arena_strdup(&run->arena, m->message),
        .reason = arena_strdup(&run->arena, m->reason),
        .cause = arena_strdup(&run->arena, m->cause),
    };
}

static struct json answer_fact(void *ctx, const char *effect, struct json args)
{
    struct run *run = ctx;
    return facts_read(&engine_of(run)->facts, &run->arena, effect, args);
}

static int64_t answer_queue_position(
    void *ctx, const struct resource *own, const char *path, const char *value)
{
    struct run *run = ctx;
    struct cache_resource *r = watched(run, own);
    assert(r == run->key->kind->resource); /* changes wake only keys of our kind */
    run->order = order_get(r, path, value);
    run->position = order_position(run->order, cache_find(r, run->key->ns, run->key->name));
    return run->position;
}

static const struct view_source source = {
    .get = answer_get,
    .list = answer_list,
    .served = answer_served,
    .owned = answer_owned,
    .trouble = answer_trouble,
    .fact = answer_fact,
    .queue_position = answer_queue_position,
};

/* ---- the run ---- */

static struct run *run_new(struct key *key, struct cache_entry *entry)
{
    struct engine *e = key->kind->engine;
    struct run *run = mem_new_of(struct run);
    run->key = key;
    arena_init(&run->arena, ARENA_LIMIT_DEFAULT);
    run->uid = entry ? arena_strdup(&run->arena, entry->uid) : "";
    run->version = entry ? entry->version : 0;
    run->started_ms = env_mono_ms(e->env);
    run->view = (struct view){
        .arena = &run->arena,
        .object = entry ? read_entry(run, entry) : owner_stand_in(&run->arena, key),
        .unreadable = entry ? arena_strdup(&run->arena, entry->unreadable) : NULL,
        .now_ms = env_wall_ms(e->env),
        .settings = key->kind->family->settings,
        .source = &source,
        .source_ctx = run,
    };
    plan_init(&run->plan, &run->arena);
    run->next = e->runs;
    run->back = &e->runs;
    if (e->runs)
        e->runs->back = &run->next;
    e->runs = run;
    e->run_count++;
    key->kind->running++;
    key->run = run;
    return run;
}

static void run_free(struct run *run)
{
    struct engine *e = engine_of(run);
    *run->back = run->next;
    if (run->next)
        run->next->back = run->back;
    e->run_count--;
    run->key->kind->running--;
    run->key->run = NULL;
    arena_done(&run->arena);
    free(run);
}

/* Children are watched by name whether or not they exist: a foreign child may be deleted later. */
static void depend_on_children(struct run *run)
{
    struct engine *e = engine_of(run);
    const char *ns = view_namespace(&run->view);
    for (size_t i = 0; i < run->plan.child_count; i++) {
        const struct plan_child *c = &run->plan.children[i];
        const char *name = json_get_text(c->object, "metadata.name");
        const char *of = c->resource->cluster_scoped ? "" : ns;
        depend(run, depend_on_name(&e->depends, c->resource, of, name));
    }
    depend_replace(&e->depends, &run->key->depends, run->key, run->targets, run->target_count);
}

/* Cluster-scoped children may have been created after their owner was deleted. A cache without the
 * owner is no proof, because its watch may be behind the children's watch. */
static void run_without_object(struct key *key)
{
    if (!owner_is_needed(key)) {
        key_free(key);
        return;
    }
    struct run *run = run_new(key, NULL);
    run->terminating = true;
    plan_done(&run->plan);
    write_last_look(run);
}

void run_start(struct key *key)
{
    struct engine_kind *kind = key->kind;
    struct engine *e = kind->engine;
    struct cache_entry *entry = cache_find(kind->resource, key->ns, key->name);
    if (!entry) {
        run_without_object(key);
        return;
    }
    if (entry->deleting && !kind->kind->finalizer) {
        queue_done(&key->item);
        return;
    }
    e->counts.reconciles++;
    struct run *run = run_new(key, entry);
    run->terminating = entry->deleting;
    e->counts.unreadable += !pass_plan(kind->kind, kind->resource->schema, &run->view, &run->plan);
    if (e->options.passes)
        e->options.passes(e->options.ctx, kind->kind, &run->view, &run->plan);
    depend_on_children(run);
    memos_keep(key, &run->plan);
    facts_replace(&e->facts, &key->facts, key, run->plan.effects, run->plan.effect_count);
    run->stage = RUN_FINALIZER;
    if (!run->terminating)
        write_finalizer(run);
    write_amendment(run);
    run_advance(run);
}

/* Until its status was in the cache, this key did not get changes before it in the queue. */
static bool has_moved(const struct run *run)
{
    const struct key *k = run->key;
    struct cache_entry *entry = cache_find(k->kind->resource, k->ns, k->name);
    return run->order && entry && order_position(run->order, entry) != run->position;
}

/* The time until a refused or contested write may be retried. No other event triggers the retry. */
static int64_t held_ms(const struct run *run)
{
    int64_t now_ms = env_mono_ms(engine_of(run)->env), least = INT64_MAX;
    for (const struct memo *m = run->key->memos; m; m = m->next)
        if ((m->what == TROUBLE_REFUSED || m->what == TROUBLE_CONTESTED) && m->until_ms > now_ms &&
            m->until_ms - now_ms < least)
            least = m->until_ms - now_ms;
    return least;
}

/* Sleeps until an input changes, or until the time that the plan requested. */
static void rest(struct run *run)
{
    const struct plan *p = &run->plan;
    const struct env *env = engine_of(run)->env;
    bool done = run->verdict != RUN_COMPLETE || p->outcome == OUTCOME_DONE;
    int64_t after_ms = done ? INT64_MAX : p->after_ms, held = held_ms(run);
    after_ms = held < after_ms ? held : after_ms;
    if (run->verdict == RUN_COMPLETE && p->within_ms && p->within_ms < after_ms)
        after_ms = p->within_ms;
    if (after_ms == INT64_MAX)
        queue_done(&run->key->item);
    else
        queue_recheck(&run->key->item, after_ms + env_random_below(env, after_ms / 10 + 1));
}

void run_decide(struct run *run, enum run_verdict verdict)
{
    if (verdict > run->verdict)
        run->verdict = verdict;
}

static void finish(struct run *run)
{
    struct engine *e = engine_of(run);
    struct queue_item *item = &run->key->item;
    struct plan *p = &run->plan;
    int64_t took_ms = env_mono_ms(e->env) - run->started_ms;
    enum run_verdict verdict = run->verdict;
    count_reconcile(e, run->key->kind, verdict == RUN_FAILED ? OUTCOME_RETRY : p->outcome, took_ms);
    if (verdict == RUN_AGAIN || has_moved(run))
        queue_wake(item);
    if (verdict == RUN_FAILED || verdict == RUN_CONFLICT)
        queue_retry(item, run->floor_ms);
    else if (verdict == RUN_COMPLETE && p->outcome == OUTCOME_RETRY)
        queue_retry(item, 0);
    else
        rest(run);
    struct key *key = run->key;
    key->ran = true;
    bool absent = !cache_find(key->kind->resource, key->ns, key->name);
    run_free(run);
    if (absent && item->state == QUEUE_IDLE)
        key_free(key);
    engine_pump(e);
}

/* Continues when nothing is pending. Any stage may have nothing to do. */
void run_advance(struct run *run)
{
    while (run->pending == 0) {
        if (run->verdict != RUN_COMPLETE || run->stage == RUN_EVICTION) {
            bool retries = run->verdict == RUN_FAILED || run->verdict == RUN_CONFLICT;
            if (retries && run->error.code)
                log_with(LOG_LEVEL_WARN,
                    LOG_FIELDS({ "kind", run->key->kind->kind->resource->kind },
                        { "object",
                            arena_printf(&run->arena, "%s/%s", run->key->ns, run->key->name) }),
                    "will try again: %s",
                    run->error.text);
            finish(run);
            return;
        }
        if (run->stage == RUN_FINALIZER) {
            run->stage = RUN_CHILDREN;
            if (run->terminating && !run->plan.stay)
                write_farewell(run);
            else if (!run->terminating)
                write_children(run);
        } else if (run->later) {
            run->later = false;
            write_later(run);
        } else if (run->stage == RUN_CHILDREN) {
            run->stage = RUN_STATUS;
            if (run->terminating && !run->plan.stay)
                write_finalizer(run);
            else
                write_status(run);
        } else {
            run->stage = RUN_EVICTION;
            write_eviction(run);
        }
    }
}

void run_cancel(struct run *run)
{
    write_cancel(run);
    run_free(run);
}
