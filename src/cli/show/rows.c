#include "cli/show/rows.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/show/object.h"
#include "cli/show/why.h"
#include "kinds/llmkube/source.h"

#define CLAIM_STAYS "leeboard.dev/NotRemoved"

static const char *message_of(struct json object, const char *type)
{
    return text_or_empty(condition_of(object, type), "message");
}

/* Ready has more detail than upstream's conditions. */
static const char *cause_of(struct json object, const char *type)
{
    bool told = condition_is(object, "Ready", "False") && *message_of(object, "Ready");
    return message_of(object, told ? "Ready" : type);
}

/* ---- kinds ---- */

static void set(struct show_row *row, enum show_state state, const char *phase, const char *detail)
{
    row->state = state;
    row->phase = phase;
    row->detail = detail;
}

static struct show_disk disk_of(const struct show_why *p, const struct show_row *row)
{
    const char *key = json_get_text(p->object, "status.cacheKey");
    const char *source = json_get_text(p->object, "spec.source");
    if (!p->machine || (!key && !source))
        return (struct show_disk){ .whole = true, .partial = -1 };
    return p->machine->model(
        p->machine->ctx, row->ns, key ? key : source_cache_key(p->arena, source));
}

static void of_model(const struct show_why *p, struct show_row *row)
{
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase"), *size = text_or_empty(o, "status.size");
    struct show_disk disk = disk_of(p, row);
    size = text_eq(size, "0") ? "" : size; /* unknown */
    /* Ready means that pods may fetch it; until they do, only its location is known. */
    bool later = text_eq(text_or_empty(condition_of(o, "Available"), "reason"), "WorkloadResolved");
    if (text_eq(phase, "Failed"))
        set(row, SHOW_FAILED, "failed", message_of(o, "Degraded"));
    else if (disk.partial >= 0)
        set(row, SHOW_WORKS, "pulling", "");
    else if (text_eq(text_or_empty(condition_of(o, "SourceDrifted"), "reason"), "SourceUnusable"))
        set(row, SHOW_FAILED, "no file", message_of(o, "SourceDrifted"));
    else if (text_eq(phase, "Ready"))
        set(row, SHOW_READY, later && !disk.whole ? "found" : "ready", size);
    else if (text_eq(text_or_empty(condition_of(o, "Progressing"), "reason"), "PrefetchStarted"))
        set(row, SHOW_WORKS, "pulling", "");
    else
        set(row, SHOW_WAITS, "pending", message_of(o, "Progressing"));
    if (disk.partial >= 0) {
        int64_t total = json_get_int(o, "status.sourceContentLength", 0);
        row->bytes = disk.partial;
        total = total ? total : disk.total;
        row->total = total >= disk.partial ? total : 0;
    }
}

/* Whether it has pods and none is ready: the stored status may be from before a restart. */
static bool pods_are_down(const struct show_why *p)
{
    bool any = false;
    json_each (pod, p->others)
        if (text_eq(json_get_text(*pod, "kind"), "Pod") && show_why_belongs(*pod, p->object)) {
            any = true;
            if (condition_is(*pod, "Ready", "True"))
                return false;
        }
    return any;
}

/* The object is ready, but its latest change does not start. */
static void look_behind(const struct show_why *p, struct show_row *row)
{
    if (show_why_stuck(p, row))
        row->detail = arena_printf(p->arena, "what is new of it: %s", row->detail);
}

static void put_count(const struct show_why *p, struct show_row *row, int64_t ready, int64_t wanted)
{
    row->detail = arena_printf(p->arena,
        "%lld/%lld%s%s",
        (long long)ready,
        (long long)wanted,
        *row->detail ? "  " : "",
        row->detail);
}

static void of_inference_service(const struct show_why *p, struct show_row *row)
{
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase");
    int64_t wanted = json_get_int(o, "status.desiredReplicas", 0);
    bool down = text_eq(phase, "Ready") && pods_are_down(p);
    if (text_eq(phase, "Ready") && !down) {
        set(row, SHOW_READY, "ready", text_or_empty(o, "status.endpoint"));
        look_behind(p, row);
    } else if (text_eq(phase, "Failed"))
        set(row, SHOW_FAILED, "failed", cause_of(o, "Degraded"));
    else if (text_eq(phase, "Stopped") || text_eq(phase, "Suspended"))
        set(row, SHOW_READY, text_eq(phase, "Stopped") ? "stopped" : "suspended", "");
    else if (text_eq(phase, "WaitingForGPU")) {
        set(row, SHOW_WAITS, "waiting", message_of(o, "GPUAvailable"));
        show_why_stuck(p, row);
    } else if (down || text_eq(phase, "Creating") || text_eq(phase, "Progressing")) {
        set(row, SHOW_WORKS, "starting", "");
        show_why(p, row);
    } else
        set(row, SHOW_WAITS, "pending", cause_of(o, "Progressing"));
    if (wanted > 1)
        put_count(p, row, json_get_int(o, "status.readyReplicas", 0), wanted);
}

/* Whether one of its pods is not ready: an MCPServer's status covers only its proxy. */
static bool pod_is_down(const struct show_why *p)
{
    json_each (pod, p->others)
        if (text_eq(json_get_text(*pod, "kind"), "Pod") &&
            !json_present(json_get(*pod, "metadata.deletionTimestamp")) &&
            show_why_belongs(*pod, p->object) && !condition_is(*pod, "Ready", "True"))
            return true;
    return false;
}

/* A proxy and its backend. */
static void of_proxy(const struct show_why *p, struct show_row *row)
{
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase"), *url = text_or_empty(o, "status.url");
    if (text_eq(phase, "Stopped"))
        set(row, SHOW_READY, "stopped", "");
    else if (text_eq(phase, "Ready") && !pod_is_down(p))
        set(row, SHOW_READY, "ready", *url ? url : text_or_empty(o, "status.endpoint"));
    else if (text_eq(phase, "Failed"))
        set(row, SHOW_FAILED, "failed", text_or_empty(o, "status.message"));
    else {
        set(row, SHOW_WORKS, "starting", "");
        show_why(p, row);
    }
    if (!*row->detail && row->state == SHOW_FAILED)
        row->detail = message_of(o, "Available");
}

static void of_workload(const struct show_why *p, struct show_row *row)
{
    int64_t wanted = json_get_int(p->object, "spec.replicas", 1);
    int64_t ready = json_get_int(p->object, "status.readyReplicas", 0);
    bool seen = json_get_int(p->object, "status.observedGeneration", 0) >=
                json_get_int(p->object, "metadata.generation", 0);
    if (seen && ready >= wanted) {
        set(row, SHOW_READY, "ready", "");
        look_behind(p, row);
    } else {
        set(row, SHOW_WORKS, "starting", "");
        show_why(p, row);
    }
    put_count(p, row, ready, wanted);
}

static void of_job(const struct show_why *p, struct show_row *row)
{
    struct json o = p->object;
    int64_t done = json_get_int(o, "status.succeeded", 0);
    int64_t failed = json_get_int(o, "status.failed", 0);
    const char *words = failed ? show_why_ended(p) : NULL;
    set(row, SHOW_WORKS, "running", "");
    if (condition_is(o, "Complete", "True"))
        set(row, SHOW_READY, "done", "");
    else if (condition_is(o, "Failed", "True"))
        set(row, SHOW_FAILED, "failed", message_of(o, "Failed"));
    else if (condition_is(o, "Suspended", "True"))
        set(row, SHOW_READY, "suspended", "");
    else if (!show_why(p, row) && failed)
        set(row, SHOW_WORKS, "trying again", "");
    if (words && row->state != SHOW_READY)
        row->detail = arena_printf(p->arena,
            "%s%s%lld failed, the last one: %s",
            row->detail,
            *row->detail ? "  " : "",
            (long long)failed,
            words);
    put_count(p, row, done, json_get_int(o, "spec.completions", 1));
}

/* A pod without a workload. */
static void of_pod(const struct show_why *p, struct show_row *row)
{
    const char *phase = text_or_empty(p->object, "status.phase");
    struct show_why self = *p;
    self.others = json_list(p->arena, p->object);
    if (text_eq(phase, "Succeeded"))
        set(row, SHOW_READY, "done", "");
    else if (condition_is(p->object, "Ready", "True"))
        set(row, SHOW_READY, "ready", "");
    else if (text_eq(phase, "Failed")) {
        const char *words = show_why_ended(&self);
        set(row, SHOW_FAILED, "failed", words ? words : text_or_empty(p->object, "status.message"));
    } else {
        set(row, SHOW_WORKS, "starting", "");
        show_why(&self, row);
    }
}

/* Shown only while its directory cannot be removed. */
static void of_claim(const struct show_why *p, struct show_row *row)
{
    set(row,
        SHOW_FAILED,
        "not removed",
        arena_printf(p->arena,
            "%s. Check what is in there; it is tried again every minute",
            message_of(p->object, CLAIM_STAYS)));
}

/* Kinds that the server stores but no controller here handles. */
static void of_unrun(const struct show_why *p, struct show_row *row)
{
    bool cron = text_eq(row->kind, "CronJob");
    (void)p;
    set(row,
        SHOW_FAILED,
        "not run",
        cron ? "nothing starts CronJobs on one machine: make its Jobs with `kubectl create job "
               "--from=cronjob/NAME`, from the machine's own cron if need be"
             : "nothing starts DaemonSets on one machine: make it a Deployment");
}

static const char *lower_case(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* Any kind with a phase or the usual conditions; without a status there is nothing to wait for. */
static void of_anything(const struct show_why *p, struct show_row *row)
{
    static const char *const good[] = { "Ready", "Available", "Complete", "Succeeded" };
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase");
    bool fine = !json_present(json_or_absent(json_get(o, "status")));
    const char *why = "";
    for (size_t i = 0; i < lengthof(good); i++) {
        fine = fine || text_eq(phase, good[i]) || condition_is(o, good[i], "True");
        if (condition_is(o, good[i], "False") && !*why)
            why = message_of(o, good[i]);
    }
    bool failed = text_eq(phase, "Failed") || condition_is(o, "Failed", "True");
    if (fine)
        set(row, SHOW_READY, "ready", "");
    else if (failed)
        set(row, SHOW_FAILED, "failed", *why ? why : message_of(o, "Failed"));
    else {
        set(row, SHOW_WORKS, *phase ? lower_case(p->arena, phase) : "starting", why);
        show_why(p, row);
    }
}

static const struct shown {
    const char *kind;
    void (*row)(const struct show_why *p, struct show_row *row);
} kinds[] = {
    /* in display order */
    { "Model", of_model },
    { "ModelArtifact", of_anything },
    { "InferenceService", of_inference_service },
    { "ModelService", of_anything },
    { "ModelRouter", of_proxy },
    { "MCPServer", of_proxy },
    { "MCPRemoteProxy", of_proxy },
    { "VirtualMCPServer", of_proxy },
    { "EmbeddingServer", of_proxy },
    { "Deployment", of_workload },
    { "StatefulSet", of_workload },
    { "Job", of_job },
    { "CronJob", of_unrun },
    { "DaemonSet", of_unrun },
    { "Pod", of_pod },
    { "PersistentVolumeClaim", of_claim },
    { NULL, of_anything },
};

static const struct shown *shown_as(const char *kind)
{
    const struct shown *s = kinds;
    while (s->kind && !text_eq(s->kind, kind))
        s++;
    return s;
}

static struct show_row row_of(const struct show_why *p)
{
    struct show_row row = {
        .kind = text_or_empty(p->object, "kind"),
        .ns = text_or_empty(p->object, "metadata.namespace"),
        .name = text_or_empty(p->object, "metadata.name"),
    };
    if (json_present(json_get(p->object, "metadata.deletionTimestamp")) &&
        !json_present(condition_of(p->object, CLAIM_STAYS)))
        set(&row, SHOW_WORKS, "leaving", "");
    else
        shown_as(row.kind)->row(p, &row);
    bool hopes = row.state == SHOW_WORKS || row.state == SHOW_WAITS;
    if (hopes && p->machine && p->machine->is_full(p->machine->ctx)) {
        set(&row, SHOW_FAILED, "no space", show_why_no_space(p));
        row.bytes = row.total = 0;
    }
    return row;
}

/* ---- all rows ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct show_row *a = left, *b = right;
    const struct shown *of_a = shown_as(a->kind), *of_b = shown_as(b->kind);
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    int by = strcmp(a->kind, b->kind);
    by = by ? by : strcmp(a->ns, b->ns);
    return by ? by : strcmp(a->name, b->name);
}

static bool has_controller(struct json object)
{
    json_each (owner, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*owner, "controller", false))
            return true;
    return false;
}

/* Claims are not shown: there are many, and their pods show their problems. Objects of an
 * MCPServer's proxy have no controller, and are shown in the MCPServer's line. */
static bool is_quiet(struct json object)
{
    struct json labels = json_get(object, "metadata.labels");
    if (text_eq(json_get_text(object, "kind"), "StatefulSet") &&
        text_eq(json_get_text(labels, "toolhive"), "true"))
        return true;
    return text_eq(json_get_text(object, "kind"), "PersistentVolumeClaim") &&
           !json_present(condition_of(object, CLAIM_STAYS));
}

size_t show_rows(
    struct arena *a, struct json objects, const struct show_machine *machine, struct show_row **ret)
{
    struct show_row *rows = arena_array(a, objects.count + 1, sizeof(*rows));
    size_t count = 0;
    json_each (o, objects)
        if (!has_controller(*o) && !is_quiet(*o))
            rows[count++] = row_of(&(struct show_why){ a, *o, objects, machine });
    qsort(rows, count, sizeof(*rows), compare_rows);
    *ret = rows;
    return count;
}
