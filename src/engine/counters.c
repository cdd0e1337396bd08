/* The engine's metrics. controller-runtime's names where it has one; one counter a promise besides.
 */

#include "engine/internal.h"

#include "base/buf.h"

struct engine_metrics {
    struct metric reconciles, errors, seconds, depth, adds, retries, unfinished, active;
    struct metric foreign, idle_writes, skipped, echoes, throttled, contested, stale, ambiguous;
    struct metric created_twice, unreadable, refused, objects;
};

#define FAMILY(field_, type_, name_, help_)                                                        \
    m->field_ = (struct metric){ .name = name_, .help = help_, .type = type_ };                    \
    metrics_link(all, &m->field_)

struct engine_metrics *engine_metrics_new(struct metrics *all)
{
    struct engine_metrics *m = mem_new_of(struct engine_metrics);
    FAMILY(reconciles,
        METRIC_COUNTER,
        "controller_runtime_reconcile_total",
        "Reconciles by controller and result.");
    FAMILY(errors,
        METRIC_COUNTER,
        "controller_runtime_reconcile_errors_total",
        "Reconciles that the world failed.");
    m->seconds = (struct metric){
        .name = "controller_runtime_reconcile_time_seconds",
        .help = "Time from taking a key to its last answer.",
        .type = METRIC_HISTOGRAM,
        .bounds = METRIC_SECONDS,
    };
    metrics_link(all, &m->seconds);
    FAMILY(active, METRIC_GAUGE, "controller_runtime_active_workers", "Keys in work.");
    FAMILY(depth, METRIC_GAUGE, "workqueue_depth", "Keys that are ready.");
    FAMILY(adds, METRIC_COUNTER, "workqueue_adds_total", "Keys that became ready.");
    FAMILY(retries, METRIC_COUNTER, "workqueue_retries_total", "Keys that were put off.");
    FAMILY(unfinished, METRIC_GAUGE, "leeboard_effects_running", "Effects under way.");
    FAMILY(objects, METRIC_GAUGE, "leeboard_cached_objects", "Objects in the cache.");
    FAMILY(foreign,
        METRIC_COUNTER,
        "leeboard_self_check_mismatches_total",
        "Promise 1: writes whose stored field set was not the computed one. Must stay 0.");
    FAMILY(idle_writes,
        METRIC_COUNTER,
        "leeboard_writes_without_effect_total",
        "Promise 2: writes that left the object as it was. Must stay 0.");
    FAMILY(skipped,
        METRIC_COUNTER,
        "leeboard_writes_skipped_total",
        "Writes that were not needed and not sent.");
    FAMILY(echoes,
        METRIC_COUNTER,
        "leeboard_echoes_dropped_total",
        "Watch events that said nothing new.");
    FAMILY(throttled,
        METRIC_COUNTER,
        "leeboard_throttled_total",
        "Promise 3: runs that were put off because a key used up its allowance.");
    FAMILY(contested,
        METRIC_COUNTER,
        "leeboard_contested_total",
        "Promise 3: children left to another manager that kept changing them.");
    FAMILY(stale,
        METRIC_COUNTER,
        "leeboard_stale_writes_refused_total",
        "Promise 4: writes held back by lost leadership or by a precondition.");
    FAMILY(ambiguous,
        METRIC_COUNTER,
        "leeboard_ambiguous_writes_total",
        "Promise 5: writes whose outcome had to be looked up.");
    FAMILY(created_twice,
        METRIC_COUNTER,
        "leeboard_created_twice_total",
        "Promise 5: creates that met an existing object. Must stay 0.");
    FAMILY(unreadable,
        METRIC_COUNTER,
        "leeboard_unreadable_objects_total",
        "Promise 6: objects that could not be read and were left alone.");
    FAMILY(refused,
        METRIC_COUNTER,
        "leeboard_refused_writes_total",
        "Writes that the API server will not have.");
    return m;
}

static const char *const results[] = {
    [OUTCOME_NONE] = "requeue",
    [OUTCOME_DONE] = "success",
    [OUTCOME_RECHECK] = "requeue_after",
    [OUTCOME_WAIT] = "requeue_after",
    [OUTCOME_RETRY] = "error",
};

void count_reconcile(
    struct engine *e, const struct engine_kind *k, enum outcome outcome, int64_t took_ms)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *controller = arena_printf(&a, "controller=\"%s\"", k->kind->resource->plural);
    const char *both = arena_printf(&a, "%s,result=\"%s\"", controller, results[outcome]);
    metric_add(&e->m->reconciles, both, 1);
    if (outcome == OUTCOME_RETRY)
        metric_add(&e->m->errors, controller, 1);
    metric_observe(&e->m->seconds, controller, (double)took_ms / 1000);
}

void engine_metrics_print(struct engine *e, struct buf *to)
{
    struct engine_metrics *m = e->m;
    struct engine_counts c = engine_counts(e);
    const struct {
        struct metric *metric;
        double value;
    } now[] = {
        { &m->active, (double)e->run_count },
        { &m->depth, (double)e->queue.depth },
        { &m->adds, (double)e->queue.adds },
        { &m->retries, (double)e->queue.retries },
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
    metrics_print(&e->metrics, to);
}
