/* The cells of Pods, Jobs, autoscalers, Nodes and Events, which are more complex. */

#include "apiserver/builtin/cells/cells.h"
#include "apiserver/core/table.h"
#include "base/buf.h"
#include "base/time.h"

/* ---- Pods ---- */

struct pod_summary {
    const char *reason;
    int64_t restarts, ready, total;
    const char *last_restart; /* RFC 3339; NULL: none */
};

static bool restarts_always(struct json pod, const char *name)
{
    struct json c = json_find(json_get(pod, "spec.initContainers"), "name", name);
    return text_eq(json_get_text(c, "restartPolicy"), "Always");
}

static void note_restarts(struct pod_summary *s, struct json status)
{
    const char *when = json_get_text(status, "lastState.terminated.finishedAt");
    s->restarts += json_get_int(status, "restartCount", 0);
    if (when && (!s->last_restart || strcmp(when, s->last_restart) > 0))
        s->last_restart = when; /* all have the same format, so texts can be compared */
}

static const char *ended(struct arena *a, struct json terminated, const char *before)
{
    const char *reason = json_get_text(terminated, "reason");
    int64_t signal = json_get_int(terminated, "signal", 0);
    if (!text_empty(reason))
        return arena_printf(a, "%s%s", before, reason);
    return arena_printf(a,
        "%s%s:%lld",
        before,
        signal ? "Signal" : "ExitCode",
        (long long)(signal ? signal : json_get_int(terminated, "exitCode", 0)));
}

static bool has_condition(struct json o, const char *type)
{
    struct json c = json_find(json_get(o, "status.conditions"), "type", type);
    return text_eq(json_get_text(c, "status"), "True");
}

/* True if init containers are still running. */
static bool sum_init(
    struct arena *a, struct json pod, struct pod_summary *s, struct pod_summary *sidecars)
{
    struct json statuses = json_get(pod, "status.initContainerStatuses");
    for (size_t i = 0; i < statuses.count; i++) {
        struct json c = statuses.items[i], terminated = json_get(c, "state.terminated");
        const char *waiting = json_get_text(c, "state.waiting.reason");
        bool sidecar = restarts_always(pod, cells_text(c, "name", ""));
        note_restarts(s, c);
        if (sidecar)
            note_restarts(sidecars, c);
        if (json_present(terminated) && !json_get_int(terminated, "exitCode", 0))
            continue;
        if (sidecar && json_get_bool(c, "started", false)) {
            s->ready += json_get_bool(c, "ready", false);
            continue;
        }
        if (json_present(terminated))
            s->reason = ended(a, terminated, "Init:");
        else if (!text_empty(waiting) && !text_eq(waiting, "PodInitializing"))
            s->reason = arena_printf(a, "Init:%s", waiting);
        else
            s->reason = arena_printf(
                a, "Init:%zu/%u", i, (unsigned)json_get(pod, "spec.initContainers").count);
        return true;
    }
    return false;
}

static void sum_main(struct arena *a, struct json pod, struct pod_summary *s)
{
    struct json statuses = json_get(pod, "status.containerStatuses");
    bool running = false;
    const char *error = NULL;
    for (size_t i = statuses.count; i-- > 0;) {
        struct json c = statuses.items[i], terminated = json_get(c, "state.terminated");
        const char *waiting = json_get_text(c, "state.waiting.reason");
        note_restarts(s, c);
        if (!text_empty(waiting)) {
            s->reason = waiting;
        } else if (json_present(terminated)) {
            s->reason = ended(a, terminated, "");
            if (json_get_int(terminated, "exitCode", 0))
                error = s->reason;
        } else if (json_get_bool(c, "ready", false) && json_present(json_get(c, "state.running"))) {
            running = true;
            s->ready++;
        }
    }
    if (!text_eq(s->reason, "Completed"))
        return;
    if (running && has_condition(pod, "Ready"))
        s->reason = "Running";
    else if (error || running)
        s->reason = error ? error : "NotReady";
}

static struct pod_summary summary_of(struct arena *a, struct json pod)
{
    const char *status_reason = cells_text(pod, "status.reason", NULL);
    const char *phase = cells_text(pod, "status.phase", "");
    struct pod_summary s = { .reason = status_reason ? status_reason : phase }, sidecars = { 0 };
    struct json scheduled = json_find(json_get(pod, "status.conditions"), "type", "PodScheduled");
    if (text_eq(json_get_text(scheduled, "reason"), "SchedulingGated"))
        s.reason = "SchedulingGated";
    s.total = json_get(pod, "spec.containers").count;
    json_each (c, json_get(pod, "spec.initContainers"))
        s.total += text_eq(json_get_text(*c, "restartPolicy"), "Always");
    if (!sum_init(a, pod, &s, &sidecars) || has_condition(pod, "Initialized")) {
        s.restarts = sidecars.restarts;
        s.last_restart = sidecars.last_restart;
        sum_main(a, pod, &s);
    }
    if (json_present(json_get(pod, "metadata.deletionTimestamp"))) {
        if (text_eq(status_reason, "NodeLost"))
            s.reason = "Unknown";
        else if (!text_eq(phase, "Succeeded") && !text_eq(phase, "Failed"))
            s.reason = "Terminating";
    }
    return s;
}

struct json cell_pod_ready(struct arena *a, struct json pod, int64_t wall_ms)
{
    (void)wall_ms;
    struct pod_summary s = summary_of(a, pod);
    return json_strf(a, "%lld/%lld", (long long)s.ready, (long long)s.total);
}

struct json cell_pod_status(struct arena *a, struct json pod, int64_t wall_ms)
{
    (void)wall_ms;
    return json_str(summary_of(a, pod).reason);
}

struct json cell_pod_restarts(struct arena *a, struct json pod, int64_t wall_ms)
{
    struct pod_summary s = summary_of(a, pod);
    if (s.restarts && s.last_restart)
        return json_strf(
            a, "%lld (%s ago)", (long long)s.restarts, table_age(a, s.last_restart, wall_ms));
    return json_strf(a, "%lld", (long long)s.restarts);
}

struct json cell_pod_gates(struct arena *a, struct json pod, int64_t wall_ms)
{
    (void)wall_ms;
    struct json gates = json_get(pod, "spec.readinessGates");
    unsigned open = 0;
    if (!gates.count)
        return json_str("<none>");
    json_each (gate, gates)
        open += has_condition(pod, cells_text(*gate, "conditionType", ""));
    return json_strf(a, "%u/%u", open, (unsigned)gates.count);
}

/* ---- Jobs ---- */

struct json cell_job_status(struct arena *a, struct json o, int64_t wall_ms)
{
    static const struct {
        const char *condition, *text; /* condition NULL: terminating */
    } rows[] = {
        { "Complete", "Complete" },
        { "Failed", "Failed" },
        { NULL, "Terminating" },
        { "Suspended", "Suspended" },
        { "FailureTarget", "FailureTarget" },
        { "SuccessCriteriaMet", "SuccessCriteriaMet" },
    };
    (void)a;
    (void)wall_ms;
    for (size_t i = 0; i < lengthof(rows); i++)
        if (rows[i].condition ? has_condition(o, rows[i].condition)
                              : json_present(json_get(o, "metadata.deletionTimestamp")))
            return json_str(rows[i].text);
    return json_str("Running");
}

struct json cell_job_completions(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    long long done = json_get_int(o, "status.succeeded", 0),
              at_once = json_get_int(o, "spec.parallelism", 0);
    struct json wanted = json_get(o, "spec.completions");
    if (wanted.type == JSON_INT)
        return json_strf(a, "%lld/%lld", done, (long long)wanted.integer);
    return at_once > 1 ? json_strf(a, "%lld/1 of %lld", done, at_once)
                       : json_strf(a, "%lld/1", done);
}

struct json cell_job_duration(struct arena *a, struct json o, int64_t wall_ms)
{
    const char *start = json_get_text(o, "status.startTime"),
               *end = json_get_text(o, "status.completionTime");
    if (!start)
        return json_str("");
    if (end && !time_parse(end, &wall_ms))
        return json_str("");
    return json_str(table_age(a, start, wall_ms));
}

/* ---- autoscalers ---- */

static const char *or_unknown(struct json v)
{
    return json_text(v) ? json_text(v) : "<unknown>";
}

static const char *percent(struct arena *a, struct json v, const char *otherwise)
{
    return v.type == JSON_INT ? arena_printf(a, "%lld%%", (long long)v.integer) : otherwise;
}

static const char *metric_text(struct arena *a, struct json spec, struct json status)
{
    static const char *const sources[] = {
        "external", "pods", "object", "resource", "containerResource"
    };
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct json source = json_member(spec, sources[i]), target = json_member(source, "target");
        struct json current = json_get(json_member(status, sources[i]), "current");
        if (!json_present(source))
            continue;
        struct json average = json_member(target, "averageValue");
        const char *now = or_unknown(json_member(current, "averageValue"));
        const char *name = cells_text(source, "name", "");
        if (i >= 3 && json_present(average))
            return arena_printf(a, "%s: %s/%s", name, now, json_text(average));
        if (i >= 3)
            return arena_printf(a,
                "%s: %s/%s",
                name,
                percent(a, json_member(current, "averageUtilization"), "<unknown>"),
                percent(a, json_member(target, "averageUtilization"), "<auto>"));
        if (json_present(average))
            return arena_printf(a, "%s/%s%s", now, json_text(average), i == 1 ? "" : " (avg)");
        return arena_printf(a,
            "%s/%s",
            or_unknown(json_member(current, "value")),
            cells_text(target, "value", "<nil>"));
    }
    return "<unknown type>";
}

#define METRICS_SHOWN 2

struct json cell_metrics(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json specs = json_get(o, "spec.metrics"), now = json_get(o, "status.currentMetrics");
    struct json old = json_get(o, "spec.targetCPUUtilizationPercentage");
    if (old.type == JSON_INT)
        return json_strf(a,
            "cpu: %s/%s",
            percent(a, json_get(o, "status.currentCPUUtilizationPercentage"), "<unknown>"),
            percent(a, old, ""));
    if (!specs.count)
        return json_str("<none>");
    cleanup(buf_done) struct buf b = BUF_INIT(1 << 16);
    for (size_t i = 0; i < specs.count && i < METRICS_SHOWN; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", metric_text(a, specs.items[i], json_item(now, i)));
    if (specs.count > METRICS_SHOWN)
        buf_printf(&b, " + %u more...", (unsigned)specs.count - METRICS_SHOWN);
    return json_strf(a, "%s", buf_text(&b));
}

/* ---- Nodes ---- */

struct json cell_node_status(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json ready = json_find(json_get(o, "status.conditions"), "type", "Ready");
    const char *text = !json_present(ready)        ? "Unknown"
                       : has_condition(o, "Ready") ? "Ready"
                                                   : "NotReady";
    bool off = json_get_bool(o, "spec.unschedulable", false);
    return json_strf(a, "%s%s", text, off ? ",SchedulingDisabled" : "");
}

struct json cell_node_roles(struct arena *a, struct json o, int64_t wall_ms)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    (void)wall_ms;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, json_get(o, "metadata.labels"))
        if (text_starts(m->key, prefix) && m->key[sizeof(prefix) - 1])
            json_push(&b, json_str(m->key + sizeof(prefix) - 1));
    struct json roles = json_list_end(&b);
    return roles.count ? cells_joined(a, roles, NULL, ",") : json_str("<none>");
}

static struct json address_of(struct json o, const char *type)
{
    struct json found = json_find(json_get(o, "status.addresses"), "type", type);
    return json_str(cells_text(found, "address", "<none>"));
}

struct json cell_node_internal(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    return address_of(o, "InternalIP");
}

struct json cell_node_external(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    return address_of(o, "ExternalIP");
}

struct json cell_node_kernel(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    const char *made_for = cells_text(o, "status.nodeInfo.architecture", NULL);
    const char *version = cells_text(o, "status.nodeInfo.kernelVersion", "<unknown>");
    return made_for ? json_strf(a, "%s (%s)", version, made_for) : json_str(version);
}

/* ---- Events, in both versions ---- */

static const char *event_text(struct json o, const char *core, const char *other)
{
    return cells_text(o, core, cells_text(o, other, NULL));
}

static const char *first_seen(struct json o)
{
    const char *first = event_text(o, "firstTimestamp", "deprecatedFirstTimestamp");
    return first ? first : json_get_text(o, "eventTime");
}

struct json cell_event_first(struct arena *a, struct json o, int64_t wall_ms)
{
    return json_str(table_age(a, first_seen(o), wall_ms));
}

struct json cell_event_last(struct arena *a, struct json o, int64_t wall_ms)
{
    const char *last = event_text(o, "lastTimestamp", "deprecatedLastTimestamp");
    const char *observed = json_get_text(o, "series.lastObservedTime");
    return json_str(table_age(a, observed ? observed : last ? last : first_seen(o), wall_ms));
}

struct json cell_event_object(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    const char *name = event_text(o, "involvedObject.name", "regarding.name"),
               *kind = event_text(o, "involvedObject.kind", "regarding.kind");
    char *lower = arena_strdup(a, kind ? kind : "");
    for (char *c = lower; *c; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    return name ? json_strf(a, "%s/%s", lower, name) : json_str(lower);
}

struct json cell_event_path(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    const char *path = event_text(o, "involvedObject.fieldPath", "regarding.fieldPath");
    return json_str(path ? path : "");
}

struct json cell_event_source(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    const char *who = event_text(o, "source.component", "deprecatedSource.component"),
               *where = event_text(o, "source.host", "deprecatedSource.host");
    who = who ? who : event_text(o, "reportingComponent", "reportingController");
    where = where ? where : cells_text(o, "reportingInstance", NULL);
    return where ? json_strf(a, "%s, %s", who ? who : "", where) : json_str(who ? who : "");
}

struct json cell_event_message(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    const char *text = event_text(o, "message", "note");
    return json_str(str_dup(a, str_trim(str_of(text ? text : ""))));
}

struct json cell_event_count(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)a;
    (void)wall_ms;
    int64_t count = json_get_int(o, "count", json_get_int(o, "deprecatedCount", 0));
    count = json_get_int(o, "series.count", count);
    return json_int(count ? count : 1);
}
