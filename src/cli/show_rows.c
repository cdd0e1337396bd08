#include "cli/show_rows.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/str.h"
#include "kinds/llmkube/source.h"

static const char *text_or_empty(struct json object, const char *path)
{
    const char *text = json_get_text(object, path);
    return text ? text : "";
}

static struct json condition_of(struct json object, const char *type)
{
    return json_find(json_get(object, "status.conditions"), "type", type);
}

static bool condition_is(struct json object, const char *type, const char *status)
{
    return text_eq(json_get_text(condition_of(object, type), "status"), status);
}

static const char *message_of(struct json object, const char *type)
{
    return text_or_empty(condition_of(object, type), "message");
}

/* ---- what pods tell ---- */

/* The Deployment or whatever else a pod was made for; a ReplicaSet has a hash behind its name. */
static struct str workload_of(struct json pod)
{
    struct json labels = json_get(pod, "metadata.labels");
    const char *hash = json_text(json_member(labels, "pod-template-hash"));
    struct str name = str_of(json_get_text(pod, "metadata.ownerReferences.0.name"));
    size_t tail = hash ? strlen(hash) + 1 : 0;
    if (tail && name.len > tail && str_ends(name, str_of(hash)))
        name.len -= tail;
    return name;
}

bool show_rows_belongs(struct json pod, struct json object)
{
    struct str name = str_of(json_get_text(object, "metadata.name"));
    struct str workload = workload_of(pod);
    bool roles = text_eq(json_get_text(object, "kind"), "ModelService");
    bool role = roles && workload.len > name.len && str_starts(workload, name) &&
                workload.ptr[name.len] == '-';
    return text_eq(json_get_text(pod, "metadata.namespace"),
               json_get_text(object, "metadata.namespace")) &&
           (str_eq(workload, name) || role);
}

/* Where a line calls something an error, from that word on: "ValueError: no such file". */
static struct str error_in(struct str line)
{
    static const char word[] = "error";
    for (size_t i = 0; i + sizeof(word) <= line.len; i++) {
        char after = line.ptr[i + strlen(word)];
        bool begins = i == 0 || line.ptr[i] == 'E' || !isalpha((unsigned char)line.ptr[i - 1]);
        if (strncasecmp(line.ptr + i, word, strlen(word)) != 0 || !begins ||
            (after != ':' && after != ' '))
            continue;
        while (i > 0 && isalnum((unsigned char)line.ptr[i - 1]))
            i--;
        return (struct str){ line.ptr + i, line.len - i };
    }
    return (struct str){ 0 };
}

/* The line that tells most among a program's last ones: the first that has an error, as what comes
 * after it follows from it; or the last. */
static const char *telling_line(struct arena *a, const char *text)
{
    struct str rest = str_of(text), last = { 0 };
    while (rest.ptr) {
        struct str line = str_trim(str_cut(&rest, '\n')), found = error_in(line);
        if (found.len)
            return str_dup(a, found);
        if (line.len)
            last = line;
    }
    return last.len ? str_dup(a, last) : "";
}

/* What the last run of a container left behind. */
static const char *last_words(struct arena *a, struct json status)
{
    struct json ended = json_get(status, "lastState.terminated");
    const char *message = telling_line(a, text_or_empty(ended, "message"));
    long long code = json_get_int(ended, "exitCode", -1);
    if (*message)
        return message;
    return code >= 0 ? arena_printf(a, "exit code %lld", code) : "";
}

/* The command that prints all of what a container said. */
static const char *logs_command(
    struct arena *a, struct json pod, const char *init_container, const struct show_row *row)
{
    bool by_name = text_eq(row->kind, "InferenceService") || text_eq(row->kind, "Deployment");
    bool usual = text_eq(row->namespace, "default");
    return arena_printf(a,
        "leeboard logs %s%s%s%s%s",
        by_name ? row->name : text_or_empty(pod, "metadata.name"),
        usual ? "" : " -n ",
        usual ? "" : row->namespace,
        init_container ? " -c " : "",
        init_container ? init_container : "");
}

/* A container that waits for something that time alone does not bring. */
static bool stuck(
    struct arena *a, struct json pod, struct json status, bool init, struct show_row *row)
{
    static const struct {
        const char *reason, *phase;
    } reasons[] = {
        { "CrashLoopBackOff", "crashing" },
        { "ErrImageNeverPull", "no program" },
        { "CreateContainerConfigError", "no settings" },
        { "CreateContainerError", "no start" },
        { "RunContainerError", "no start" },
        { "ErrImagePull", "no image" },
        { "ImagePullBackOff", "no image" },
    };
    const char *reason = json_get_text(status, "state.waiting.reason");
    for (size_t i = 0; i < lengthof(reasons); i++) {
        if (!text_eq(reason, reasons[i].reason))
            continue;
        const char *name = text_or_empty(status, "name");
        const char *last = i == 0 ? last_words(a, status) : "";
        row->state = SHOW_FAILED;
        row->phase = reasons[i].phase;
        row->detail = arena_printf(
            a, "%s: %s", name, *last ? last : text_or_empty(status, "state.waiting.message"));
        if (i == 0)
            row->detail = arena_printf(
                a, "%s (%s)", row->detail, logs_command(a, pod, init ? name : NULL, row));
        return true;
    }
    return false;
}

/* The first thing that a pod says about why it is not ready. */
static bool explain(struct arena *a, struct json pod, struct show_row *row)
{
    if (condition_is(pod, "PodScheduled", "False")) {
        row->state = SHOW_WAITS;
        row->phase = "pending";
        row->detail = message_of(pod, "PodScheduled");
        return true;
    }
    json_each (status, json_get(pod, "status.initContainerStatuses")) {
        if (stuck(a, pod, *status, true, row))
            return true;
        bool runs = json_present(json_get(*status, "state.running"));
        bool done = json_get_bool(*status, "ready", false);
        if (runs && !done) {
            row->detail = text_eq(json_get_text(*status, "name"), "model-downloader")
                              ? "waits for its model"
                              : arena_printf(a, "runs %s", text_or_empty(*status, "name"));
            return true;
        }
    }
    json_each (status, json_get(pod, "status.containerStatuses")) {
        if (stuck(a, pod, *status, false, row))
            return true;
        if (json_present(json_get(*status, "state.running")))
            row->detail = "runs, not ready yet";
    }
    return *row->detail;
}

static void explain_by_pods(
    struct arena *a, struct json object, struct json pods, struct show_row *row)
{
    json_each (pod, pods)
        if (show_rows_belongs(*pod, object) && !condition_is(*pod, "Ready", "True") &&
            !json_present(json_get(*pod, "metadata.deletionTimestamp")) && explain(a, *pod, row))
            return;
}

/* ---- kinds ---- */

struct pass {
    struct arena *arena;
    struct json object, pods;
    const struct show_fetched *fetched;
};

static void set(struct show_row *row, enum show_state state, const char *phase, const char *detail)
{
    row->state = state;
    row->phase = phase;
    row->detail = detail;
}

static struct show_disk disk_of(const struct pass *p, const struct show_row *row)
{
    const char *key = json_get_text(p->object, "status.cacheKey");
    const char *source = json_get_text(p->object, "spec.source");
    if (!p->fetched || (!key && !source))
        return (struct show_disk){ .whole = true, .partial = -1 };
    return p->fetched->look(
        p->fetched->ctx, row->namespace, key ? key : source_cache_key(p->arena, source));
}

static const char *no_space(struct arena *a, int64_t missing, const char *place)
{
    return arena_printf(a,
        "%lld MiB more are needed in %s: make room, or start with --data on another disk",
        (long long)(missing >> 20) + 1,
        place);
}

static void of_model(const struct pass *p, struct show_row *row)
{
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase"), *size = text_or_empty(o, "status.size");
    struct show_disk disk = disk_of(p, row);
    size = text_eq(size, "0") ? "" : size; /* nobody knows it */
    /* Ready says that pods may fetch it; until they do, it is only known where it is. */
    bool later = text_eq(text_or_empty(condition_of(o, "Available"), "reason"), "WorkloadResolved");
    if (text_eq(phase, "Failed"))
        set(row, SHOW_FAILED, "failed", message_of(o, "Degraded"));
    else if (disk.partial >= 0)
        set(row, SHOW_WORKS, "pulling", "");
    else if (text_eq(phase, "Copying"))
        set(row, SHOW_WORKS, "copying", message_of(o, "Progressing"));
    else if (text_eq(phase, "Ready"))
        set(row, SHOW_READY, later && !disk.whole ? "found" : "ready", size);
    else
        set(row, SHOW_WAITS, "pending", message_of(o, "Progressing"));
    if (disk.partial >= 0) {
        int64_t total = json_get_int(o, "status.sourceContentLength", 0);
        row->bytes = disk.partial;
        row->total = total >= disk.partial ? total : 0;
        int64_t missing = row->total ? row->total - row->bytes - disk.free_bytes : 0;
        if (disk.place && missing > 0)
            set(row, SHOW_FAILED, "no space", no_space(p->arena, missing, disk.place));
    }
}

/* Whether it has pods and none is ready: what is stored of it may be from before a restart. */
static bool pods_are_down(const struct pass *p)
{
    bool any = false;
    json_each (pod, p->pods)
        if (show_rows_belongs(*pod, p->object)) {
            any = true;
            if (condition_is(*pod, "Ready", "True"))
                return false;
        }
    return any;
}

static void of_inference_service(const struct pass *p, struct show_row *row)
{
    struct json o = p->object;
    const char *phase = text_or_empty(o, "status.phase");
    int64_t ready = json_get_int(o, "status.readyReplicas", 0);
    int64_t wanted = json_get_int(o, "status.desiredReplicas", 0);
    bool down = text_eq(phase, "Ready") && pods_are_down(p);
    if (text_eq(phase, "Ready") && !down)
        set(row, SHOW_READY, "ready", text_or_empty(o, "status.endpoint"));
    else if (text_eq(phase, "Failed"))
        set(row, SHOW_FAILED, "failed", message_of(o, "Degraded"));
    else if (text_eq(phase, "Stopped") || text_eq(phase, "Suspended"))
        set(row, SHOW_READY, text_eq(phase, "Stopped") ? "stopped" : "suspended", "");
    else if (text_eq(phase, "WaitingForGPU"))
        set(row, SHOW_WAITS, "waiting", message_of(o, "GPUAvailable"));
    else if (down || text_eq(phase, "Creating") || text_eq(phase, "Progressing")) {
        set(row, SHOW_WORKS, "starting", "");
        explain_by_pods(p->arena, o, p->pods, row);
    } else
        set(row, SHOW_WAITS, "pending", message_of(o, "Progressing"));
    if (wanted > 1)
        row->detail = arena_printf(p->arena,
            "%lld/%lld%s%s",
            (long long)ready,
            (long long)wanted,
            *row->detail ? "  " : "",
            row->detail);
}

static void of_workload(const struct pass *p, struct show_row *row)
{
    int64_t wanted = json_get_int(p->object, "spec.replicas", 1);
    int64_t ready = json_get_int(p->object, "status.readyReplicas", 0);
    bool seen = json_get_int(p->object, "status.observedGeneration", 0) >=
                json_get_int(p->object, "metadata.generation", 0);
    if (seen && ready >= wanted)
        set(row, SHOW_READY, "ready", "");
    else {
        set(row, SHOW_WORKS, "starting", "");
        explain_by_pods(p->arena, p->object, p->pods, row);
    }
    row->detail = arena_printf(p->arena,
        "%lld/%lld%s%s",
        (long long)ready,
        (long long)wanted,
        *row->detail ? "  " : "",
        row->detail);
}

static const char *lower_case(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return copy;
}

/* Whatever has a phase or the usual conditions; without a status there is nothing to wait for. */
static void of_anything(const struct pass *p, struct show_row *row)
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
        explain_by_pods(p->arena, o, p->pods, row);
    }
}

static const struct shown {
    const char *kind;
    void (*row)(const struct pass *p, struct show_row *row);
} kinds[] = {
    /* in the order of the lines */
    { "Model", of_model },
    { "ModelArtifact", of_anything },
    { "InferenceService", of_inference_service },
    { "ModelService", of_anything },
    { "Deployment", of_workload },
    { "StatefulSet", of_workload },
    { NULL, of_anything },
};

static const struct shown *shown_as(const char *kind)
{
    const struct shown *s = kinds;
    while (s->kind && !text_eq(s->kind, kind))
        s++;
    return s;
}

struct show_row show_row_of(
    struct arena *a, struct json object, struct json pods, const struct show_fetched *fetched)
{
    struct show_row row = {
        .kind = text_or_empty(object, "kind"),
        .namespace = text_or_empty(object, "metadata.namespace"),
        .name = text_or_empty(object, "metadata.name"),
    };
    struct pass p = { a, object, pods, fetched };
    if (json_present(json_get(object, "metadata.deletionTimestamp")))
        set(&row, SHOW_WORKS, "leaving", "");
    else
        shown_as(row.kind)->row(&p, &row);
    return row;
}

/* ---- all of them ---- */

static int compare_rows(const void *left, const void *right)
{
    const struct show_row *a = left, *b = right;
    const struct shown *of_a = shown_as(a->kind), *of_b = shown_as(b->kind);
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    int by = strcmp(a->kind, b->kind);
    by = by ? by : strcmp(a->namespace, b->namespace);
    return by ? by : strcmp(a->name, b->name);
}

static bool has_controller(struct json object)
{
    json_each (owner, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*owner, "controller", false))
            return true;
    return false;
}

size_t show_rows(
    struct arena *a, struct json objects, const struct show_fetched *fetched, struct show_row **ret)
{
    struct json_builder pods;
    json_builder_init(&pods, a);
    json_each (o, objects)
        if (text_eq(json_get_text(*o, "kind"), "Pod"))
            json_push(&pods, *o);
    struct json list = json_list_end(&pods);
    struct show_row *rows = arena_array(a, objects.count + 1, sizeof(*rows));
    size_t count = 0;
    json_each (o, objects)
        if (!text_eq(json_get_text(*o, "kind"), "Pod") && !has_controller(*o))
            rows[count++] = show_row_of(a, *o, list, fetched);
    qsort(rows, count, sizeof(*rows), compare_rows);
    *ret = rows;
    return count;
}
