/* The engine's metrics. They use controller-runtime's names where it has one. In addition, each
 * promise has one counter. */

#include "engine/internal.h"

#include <ctype.h>

#include "base/buf.h"
#include "engine/scrape.h"

struct engine_metrics {
    struct metric reconciles, errors, seconds, depth, adds, retries, unfinished, active;
    struct metric foreign, idle_writes, skipped, echoes, throttled, contested, stale, ambiguous;
    struct metric created_twice, unreadable, refused, objects, version;
};

#define FAMILY(field_, type_, name_, help_)                                                        \
    {                                                                                              \
        offsetof(struct engine_metrics, field_), METRIC_##type_, name_, help_                      \
    }

static const struct {
    size_t offset; /* of its struct metric */
    enum metric_type type;
    const char *name, *help;
} families[] = {
    FAMILY(reconciles, COUNTER, "controller_runtime_reconcile_total",
        "Reconciles by controller and result."),
    FAMILY(errors, COUNTER, "controller_runtime_reconcile_errors_total",
        "Reconciles that the world failed."),
    FAMILY(seconds, HISTOGRAM, "controller_runtime_reconcile_time_seconds",
        "Time from taking a key to its last answer."),
    FAMILY(active, GAUGE, "controller_runtime_active_workers", "Keys in work."),
    FAMILY(depth, GAUGE, "workqueue_depth", "Keys that are ready."),
    FAMILY(adds, COUNTER, "workqueue_adds_total", "Keys that became ready."),
    FAMILY(retries, COUNTER, "workqueue_retries_total", "Keys that were put off."),
    FAMILY(unfinished, GAUGE, "leeboard_effects_running", "Effects under way."),
    FAMILY(objects, GAUGE, "leeboard_cached_objects", "Objects in the cache."),
    FAMILY(version, GAUGE, "leeboard_watched_resource_version",
        "How far each watch is: every change up to this version has been seen."),
    FAMILY(foreign, COUNTER, "leeboard_self_check_mismatches_total",
        "Promise 1: writes whose stored field set was not the computed one. Must stay 0."),
    FAMILY(idle_writes, COUNTER, "leeboard_writes_without_effect_total",
        "Promise 2: writes that left the object as it was. Must stay 0."),
    FAMILY(skipped, COUNTER, "leeboard_writes_skipped_total",
        "Writes that were not needed and not sent."),
    FAMILY(echoes, COUNTER, "leeboard_echoes_dropped_total", "Watch events that said nothing new."),
    FAMILY(throttled, COUNTER, "leeboard_throttled_total",
        "Promise 3: runs that were put off because a key used up its allowance."),
    FAMILY(contested, COUNTER, "leeboard_contested_total",
        "Promise 3: children left to another manager that kept changing them."),
    FAMILY(stale, COUNTER, "leeboard_stale_writes_refused_total",
        "Promise 4: writes held back by lost leadership or by a precondition."),
    FAMILY(ambiguous, COUNTER, "leeboard_ambiguous_writes_total",
        "Promise 5: writes whose outcome had to be looked up."),
    FAMILY(created_twice, COUNTER, "leeboard_created_twice_total",
        "Promise 5: creates that met an existing object. Must stay 0."),
    FAMILY(unreadable, COUNTER, "leeboard_unreadable_objects_total",
        "Promise 6: objects that could not be read and were left alone."),
    FAMILY(refused, COUNTER, "leeboard_refused_writes_total",
        "Writes that the API server will not have."),
};

struct engine_metrics *engine_metrics_new(struct metrics *all)
{
    struct engine_metrics *m = mem_new_of(struct engine_metrics);
    for (size_t i = 0; i < lengthof(families); i++) {
        struct metric *metric = (struct metric *)((char *)m + families[i].offset);
        *metric = (struct metric){
            .name = families[i].name,
            .help = families[i].help,
            .type = families[i].type,
            .bounds = families[i].type == METRIC_HISTOGRAM ? METRIC_SECONDS : NULL,
        };
        metrics_link(all, metric);
    }
    return m;
}

static const char *const results[] = {
    [OUTCOME_NONE] = "requeue",
    [OUTCOME_DONE] = "success",
    [OUTCOME_RECHECK] = "requeue_after",
    [OUTCOME_WAIT] = "requeue_after",
    [OUTCOME_RETRY] = "error",
};

/* controller-runtime's name of a controller: its kind in lower case. */
static const char *controller_of(struct arena *a, const struct engine_kind *k)
{
    char *text = arena_printf(a, "controller=\"%s\"", k->kind->resource->kind);
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return text;
}

void count_reconcile(
    struct engine *e, const struct engine_kind *k, enum outcome outcome, int64_t took_ms)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *controller = controller_of(&a, k);
    const char *both = arena_printf(&a, "%s,result=\"%s\"", controller, results[outcome]);
    metric_add(&e->m->reconciles, both, 1);
    if (outcome == OUTCOME_RETRY)
        metric_add(&e->m->errors, controller, 1);
    metric_observe(&e->m->seconds, controller, (double)took_ms / 1000);
}

static void set_versions(struct engine *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (const struct cache_resource *r = e->cache.first; r; r = r->next)
        if (!r->missing) {
            const char *labels = arena_printf(&a,
                "group=\"%s\",resource=\"%s\",selector=\"%s\"",
                r->resource->group,
                r->resource->plural,
                r->label_selector ? r->label_selector : "");
            metric_set(&e->m->version, labels, (double)r->version);
        }
}

/* The keys of each kind, with the labels of controller-runtime's queues. Here one queue holds all
 * kinds. */
static void set_queues(struct engine *e)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct engine_metrics *m = e->m;
    for (size_t i = 0; i < e->kind_count; i++) {
        const struct engine_kind *k = &e->kinds[i];
        const char *controller = controller_of(&a, k);
        const char *queue =
            arena_printf(&a, "%s,name=%s", controller, controller + strlen("controller="));
        metric_set(&m->active, controller, (double)k->running);
        metric_set(&m->depth, queue, (double)k->counts.depth);
        metric_set(&m->adds, queue, (double)k->counts.adds);
        metric_set(&m->retries, queue, (double)k->counts.retries);
    }
}

static void print_controller(
    struct engine *e, const struct engine_kind *k, const char *name, bool total, struct buf *to)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *controller = controller_of(&a, k);
    if (!total) {
        metric_print_as(&e->m->seconds, controller, name, controller, to);
        return;
    }
    double all = 0, errors = metric_value(&e->m->errors, controller);
    for (size_t i = 0; i < lengthof(results); i++)
        if (i != OUTCOME_WAIT) /* counted with OUTCOME_RECHECK */
            all += metric_value(
                &e->m->reconciles, arena_printf(&a, "%s,result=\"%s\"", controller, results[i]));
    buf_printf(to, "%s{%s,result=\"success\"} %.15g\n", name, controller, all - errors);
    buf_printf(to, "%s{%s,result=\"error\"} %.15g\n", name, controller, errors);
}

/* Prints the metrics once more under the family's name, for dashboards of the upstream operator. */
static void print_by_family(struct engine *e, struct buf *to)
{
    static const char *const parts[][3] = {
        { "total", "counter", "Runs by controller and result." },
        { "duration_seconds", "histogram", "Time from taking a key to its last answer." },
    };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t part = 0; part < lengthof(parts); part++)
        for (size_t i = 0; i < e->kind_count; i++) {
            const struct engine_kind *k = &e->kinds[i];
            if (!k->kind->measure)
                continue;
            const char *name = arena_printf(&a, "%s_reconcile_%s", k->family->name, parts[part][0]);
            if (i == 0 || e->kinds[i - 1].family != k->family)
                buf_printf(
                    to, "# HELP %s %s\n# TYPE %s %s\n", name, parts[part][2], name, parts[part][1]);
            print_controller(e, k, name, part == 0, to);
        }
}

/* ---- what a kind may query while it measures: other objects, by name ---- */

struct asking {
    struct engine *engine;
    struct arena *arena;
};

static struct json find(void *ctx, const struct resource *r, const char *ns, const char *name)
{
    const struct asking *asking = ctx;
    const struct cache_resource *in = cache_resource_of(&asking->engine->cache, r);
    assert(in); /* a kind queries only the resources in its watch list */
    const struct cache_entry *found = cache_find(in, r->cluster_scoped ? "" : ns, name);
    return json_if(found, cache_read(asking->arena, found));
}

static const struct view_source source = { .get = find };

static void measure_kind(struct engine *e, const struct engine_kind *k, struct scrape *s)
{
    cleanup(arena_done) struct arena list = ARENA_INIT;
    size_t count;
    struct cache_entry **all = cache_list(&list, k->resource, NULL, NULL, &count);
    for (size_t i = 0; i < count; i++) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct asking asking = { e, &a };
        struct view view = {
            .arena = &a,
            .object = cache_read(&a, all[i]),
            .now_ms = env_wall_ms(e->env),
            .settings = k->family->settings,
            .source = &source,
            .source_ctx = &asking,
        };
        k->kind->measure(&view, s);
    }
}

static void print_objects(struct engine *e, struct buf *to)
{
    struct scrape *s = scrape_new(to->limit);
    for (size_t i = 0; i < e->kind_count; i++)
        if (e->kinds[i].kind->measure)
            measure_kind(e, &e->kinds[i], s);
    scrape_print(s, to);
    scrape_free(s);
}

void engine_metrics_print(struct engine *e, struct buf *to)
{
    struct engine_metrics *m = e->m;
    struct engine_counts c = engine_counts(e);
    const struct {
        struct metric *metric;
        double value;
    } now[] = {
        { &m->unfinished, (double)e->facts.running },
        { &m->objects, (double)e->cache.count },
        { &m->foreign, (double)c.self_check },
        { &m->idle_writes, (double)c.without_effect },
        { &m->skipped, (double)c.skipped },
        { &m->echoes, (double)c.echoes },
        { &m->throttled, (double)c.throttled },
        { &m->contested, (double)c.contested },
        { &m->stale, (double)c.stale },
        { &m->ambiguous, (double)c.ambiguous },
        { &m->created_twice, (double)c.created_twice },
        { &m->unreadable, (double)c.unreadable },
        { &m->refused, (double)c.refused },
    };
    for (size_t i = 0; i < lengthof(now); i++)
        metric_set(now[i].metric, NULL, now[i].value);
    set_queues(e);
    set_versions(e);
    metrics_print(&e->metrics, to);
    print_by_family(e, to);
    print_objects(e, to);
}
