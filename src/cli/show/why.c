#include "cli/show/why.h"

#include "base/str.h"
#include "cli/show/object.h"
#include "kinds/pods/pod_trouble.h"

static bool say(struct show_row *row, enum show_state state, const char *phase, const char *detail)
{
    row->state = state;
    row->phase = phase;
    row->detail = detail;
    return true;
}

/* ---- how a container ended ---- */

/* "exit code 3: its last words", "exit code 137 (Killed): …", or "OOMKilled: …" */
static const char *words_of(const struct show_why *w, struct json ended)
{
    const char *id = json_get_text(ended, "containerID");
    const char *how = pod_trouble_exit(w->arena, ended);
    const char *words = pod_trouble_line(w->arena, text_or_empty(ended, "message"));
    if (!*words && id && w->machine)
        words = pod_trouble_line(w->arena, w->machine->log_end(w->machine->ctx, w->arena, id));
    return *words ? arena_printf(w->arena, "%s: %s", how, words) : how;
}

/* The status of every container, init containers first. */
static struct json statuses_of(struct arena *a, struct json pod)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_push_all(&all, json_get(pod, "status.initContainerStatuses"));
    json_push_all(&all, json_get(pod, "status.containerStatuses"));
    return json_list_end(&all);
}

/* ---- what needs attention ---- */

/* The command that prints the complete log of a container. */
static const char *logs_command(
    const struct show_why *w, struct json pod, const char *container, const struct show_row *row)
{
    struct json inits = json_get(pod, "status.initContainerStatuses");
    bool init = json_present(json_find(inits, "name", container));
    bool by_name = text_eq(row->kind, "InferenceService") || text_eq(row->kind, "Deployment");
    bool usual = text_eq(row->ns, "default");
    return arena_printf(w->arena,
        "leeboard logs %s%s%s%s%s",
        by_name ? row->name : text_or_empty(pod, "metadata.name"),
        usual ? "" : " -n ",
        usual ? "" : row->ns,
        init ? " -c " : "",
        init ? container : "");
}

/* A container that waits for something that time alone does not solve. */
static bool container_is_stuck(
    const struct show_why *w, struct json pod, struct json status, struct show_row *row)
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
        struct json ended = json_get(status, "lastState.terminated");
        const char *name = text_or_empty(status, "name");
        const char *why =
            i == 0 && json_present(ended)
                ? arena_printf(
                      w->arena, "%s (%s)", words_of(w, ended), logs_command(w, pod, name, row))
                : text_or_empty(status, "state.waiting.message");
        return say(row, SHOW_FAILED, reasons[i].phase, arena_printf(w->arena, "%s: %s", name, why));
    }
    return false;
}

/* kube-scheduler appends this if a pod would not fit an empty machine either. */
#define NEVER "Preemption is not helpful"

static bool is_unplaceable(const struct show_why *w, struct json pod, struct show_row *row)
{
    const char *message = text_or_empty(condition_of(pod, "PodScheduled"), "message");
    if (!strstr(message, NEVER))
        return false;
    const char *more = strstr(message, " preemption: ");
    size_t length = more ? (size_t)(more - message) : strlen(message);
    return say(row, SHOW_FAILED, "pending", arena_strndup(w->arena, message, length));
}

/* What prevents all containers of a pod from being created, such as a volume. "": nothing, or
 * something temporary. */
static const char *block_of(struct json status)
{
    const char *reason = json_get_text(status, "state.waiting.reason");
    const char *message = text_or_empty(status, "state.waiting.message");
    bool early = text_eq(reason, "ContainerCreating") || text_eq(reason, "PodInitializing");
    return !early || text_starts(message, "waiting for ") ? "" : message;
}

static bool pod_is_stuck(const struct show_why *w, struct json pod, struct show_row *row)
{
    if (is_unplaceable(w, pod, row))
        return true;
    struct json statuses = statuses_of(w->arena, pod);
    json_each (status, statuses)
        if (container_is_stuck(w, pod, *status, row))
            return true;
    json_each (status, statuses)
        if (*block_of(*status) && !strstr(block_of(*status), "unbound"))
            return say(row, SHOW_FAILED, "no volume", block_of(*status));
    return false;
}

/* Pods or ReplicaSets that the server refuses. */
static bool is_refused(struct json workload, struct show_row *row)
{
    const char *message = NULL;
    if (condition_is(workload, "ReplicaFailure", "True"))
        message = text_or_empty(condition_of(workload, "ReplicaFailure"), "message");
    struct json progressing = condition_of(workload, "Progressing");
    if (text_eq(json_get_text(progressing, "reason"), "ReplicaSetCreateError"))
        message = text_or_empty(progressing, "message");
    return message && say(row, SHOW_FAILED, "refused", message);
}

const char *show_why_no_space(const struct show_why *w)
{
    return arena_printf(w->arena,
        "no space left in %s: free some (`leeboard models remove --unused`), or take another disk "
        "with --data",
        w->machine->folder);
}

/* What LLMKube's diagnosis found in the log of a pod that fetches a model. */
static bool is_without_model(const struct show_why *w, struct show_row *row)
{
    struct json found = condition_of(w->object, "ModelTransferHealthy");
    if (!text_eq(json_get_text(found, "status"), "False"))
        return false;
    if (!text_eq(json_get_text(found, "reason"), "ModelTransferOutOfSpace") || !w->machine)
        return say(row, SHOW_FAILED, "no model", text_or_empty(found, "message"));
    return say(row, SHOW_FAILED, "no space", show_why_no_space(w));
}

/* ---- owners of pods ---- */

static struct json controller_of(struct json object)
{
    json_each (owner, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*owner, "controller", false))
            return *owner;
    return json_get(object, "metadata.ownerReferences.0");
}

/* The workload that a pod was created for; a ReplicaSet has a hash at the end of its name. */
static struct str workload_of(struct json pod, struct json owner)
{
    struct json labels = json_get(pod, "metadata.labels");
    const char *hash = json_text(json_member(labels, "pod-template-hash"));
    struct str name = str_of(json_get_text(owner, "name"));
    size_t tail = hash ? strlen(hash) + 1 : 0;
    if (tail && name.len > tail && str_ends(name, str_of(hash)))
        name.len -= tail;
    return name;
}

struct str show_why_workload(struct json pod)
{
    struct json owner = controller_of(pod);
    return json_present(owner) ? workload_of(pod, owner) : STR("");
}

/* Whether workloads of that name belong to an object, or, if the object is a workload, its pods. */
static bool is_named_for(struct str workload, struct json object)
{
    struct str name = str_of(json_get_text(object, "metadata.name"));
    bool roles = text_eq(json_get_text(object, "kind"), "ModelService");
    bool role = roles && workload.len > name.len && str_starts(workload, name) &&
                workload.ptr[name.len] == '-';
    bool router = text_eq(json_get_text(object, "kind"), "ModelRouter") &&
                  str_starts(workload, name) && str_ends(workload, STR("-router-proxy"));
    return str_eq(workload, name) || role || router;
}

static bool is_beside(struct json one, struct json other)
{
    return text_eq(
        json_get_text(one, "metadata.namespace"), json_get_text(other, "metadata.namespace"));
}

bool show_why_belongs(struct json pod, struct json object)
{
    static const struct {
        const char *kind, *controller;
    } made_by[] = {
        { "Deployment", "ReplicaSet" }, { "StatefulSet", "StatefulSet" }, { "Job", "Job" }
    };
    const char *kind = json_get_text(object, "kind");
    struct json owner = controller_of(pod);
    const char *owner_kind = json_get_text(owner, "kind");
    for (size_t i = 0; i < lengthof(made_by); i++)
        if (text_eq(kind, made_by[i].kind) && owner_kind &&
            !text_eq(owner_kind, made_by[i].controller))
            return false;
    if (text_eq(kind, "Pod"))
        return is_beside(pod, object) &&
               text_eq(json_get_text(pod, "metadata.name"), json_get_text(object, "metadata.name"));
    return is_beside(pod, object) && is_named_for(workload_of(pod, owner), object);
}

static bool is_of(const struct show_why *w, struct json pod)
{
    return text_eq(json_get_text(pod, "kind"), "Pod") &&
           !json_present(json_get(pod, "metadata.deletionTimestamp")) &&
           show_why_belongs(pod, w->object);
}

/* Whether it is a workload of the object. */
static bool serves(const struct show_why *w, struct json other)
{
    const char *name = json_get_text(other, "metadata.name");
    const char *owner = json_get_text(controller_of(other), "kind");
    return !text_eq(json_get_text(other, "kind"), "Pod") && is_beside(other, w->object) &&
           text_eq(owner, json_get_text(w->object, "kind")) &&
           is_named_for(str_of(name), w->object);
}

/* ---- results ---- */

bool show_why_stuck(const struct show_why *w, struct show_row *row)
{
    if (is_refused(w->object, row))
        return true;
    json_each (other, w->others)
        if (serves(w, *other) && is_refused(*other, row))
            return true;
    json_each (pod, w->others)
        if (is_of(w, *pod) && !condition_is(*pod, "Ready", "True") && pod_is_stuck(w, *pod, row))
            return true;
    return false;
}

/* Takes the first progress that a pod reports. */
static bool tell_progress(const struct show_why *w, struct json pod, struct show_row *row)
{
    if (condition_is(pod, "PodScheduled", "False"))
        return say(row,
            SHOW_WAITS,
            "pending",
            text_or_empty(condition_of(pod, "PodScheduled"), "message"));
    json_each (status, json_get(pod, "status.initContainerStatuses")) {
        const char *name = text_or_empty(*status, "name");
        bool runs = json_present(json_get(*status, "state.running"));
        if (runs && !json_get_bool(*status, "ready", false)) {
            row->detail = text_eq(name, "model-downloader")
                              ? "waits for its model"
                              : arena_printf(w->arena, "runs %s", name);
            return true;
        }
    }
    json_each (status, statuses_of(w->arena, pod)) {
        if (*block_of(*status))
            return say(row, SHOW_WAITS, "pending", block_of(*status));
        if (json_present(json_get(*status, "state.running")))
            row->detail = "runs, not ready yet";
    }
    return *row->detail;
}

bool show_why(const struct show_why *w, struct show_row *row)
{
    if (is_without_model(w, row) || show_why_stuck(w, row))
        return true;
    json_each (pod, w->others)
        if (is_of(w, *pod) && !condition_is(*pod, "Ready", "True") && tell_progress(w, *pod, row))
            return true;
    return false;
}

const char *show_why_ended(const struct show_why *w)
{
    const char *latest = "", *words = NULL;
    json_each (pod, w->others) {
        if (!is_of(w, *pod))
            continue;
        json_each (status, statuses_of(w->arena, *pod)) {
            struct json ended = json_get(*status, "state.terminated");
            const char *at = text_or_empty(ended, "finishedAt");
            if (json_get_int(ended, "exitCode", 0) == 0 || strcmp(at, latest) < 0)
                continue;
            latest = at;
            words = arena_printf(
                w->arena, "%s: %s", text_or_empty(*status, "name"), words_of(w, ended));
        }
    }
    return words;
}
