/* Job: pods until enough of them have succeeded, or too many have failed.
 *
 * Numbers only grow: a finished pod that somebody deletes has been counted. Kubernetes holds such
 * pods by a finalizer until then; here a pod that ends and is deleted between two looks is made
 * again instead. */

#include "kinds/workloads/workloads.h"

#include "base/selector.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"

#define STEP_MAX PLAN_MAX_EVENTS
#define STEP_AGAIN_MS 10
#define NAMES_SPARE 1000
/* After a failed pod the next one waits, twice as long each time. */
#define BACKOFF_MS ((int64_t)10 * 1000)
#define BACKOFF_MAX_MS ((int64_t)10 * 60 * 1000)

struct job {
    const struct view *in;
    struct plan *out;
    struct json pods;
    struct json conditions;
    const char *started; /* status.startTime */
    int64_t active, ready, terminating, succeeded, failed, restarts;
    int64_t failed_at_ms; /* of the last one */
    int64_t next_ms;      /* look again after this; 0: no need */
};

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool holds(const struct job *j, const char *type)
{
    return text_eq(json_get_text(json_find(j->conditions, "type", type), "status"), "True");
}

static void set(struct job *j, const char *type, bool status, const char *reason, const char *text)
{
    struct workloads_condition c = { type, status ? "True" : "False", reason, text };
    j->conditions = workloads_condition_set(j->in, j->conditions, &c, "lastProbeTime");
}

static void look_again(struct job *j, int64_t after_ms)
{
    if (!j->next_ms || after_ms < j->next_ms)
        j->next_ms = most(after_ms, 1);
}

/* ---- what is there ---- */

static int64_t finished_ms(struct json pod)
{
    int64_t last = 0;
    json_each (c, json_get(pod, "status.containerStatuses"))
        last = most(last, workloads_time_ms(*c, "state.terminated.finishedAt"));
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    return last ? last : workloads_time_ms(ready, "lastTransitionTime");
}

static void count_pod(struct job *j, struct json pod)
{
    const char *phase = json_get_text(pod, "status.phase");
    bool failed = text_eq(phase, "Failed"), succeeded = text_eq(phase, "Succeeded");
    j->failed += failed;
    j->succeeded += succeeded;
    if (failed)
        j->failed_at_ms = most(j->failed_at_ms, finished_ms(pod));
    if (failed || succeeded)
        return;
    if (json_present(json_get(pod, "metadata.deletionTimestamp"))) {
        j->terminating++;
        return;
    }
    j->active++;
    j->ready += workloads_pod_is_ready(pod);
    json_each (c, json_get(pod, "status.containerStatuses"))
        j->restarts += json_get_int(*c, "restartCount", 0);
    json_each (c, json_get(pod, "status.initContainerStatuses"))
        j->restarts += json_get_int(*c, "restartCount", 0);
}

static void find_pods(struct job *j, const struct selector *selector)
{
    const char *uid = json_get_text(j->in->object, "metadata.uid");
    struct json_builder ours;
    json_builder_init(&ours, j->in->arena);
    json_each (pod, workloads_pods(j->in, selector))
        if (text_eq(workloads_controller(*pod), uid)) {
            json_push(&ours, *pod);
            count_pod(j, *pod);
        }
    j->pods = json_list_end(&ours);
    j->succeeded = most(j->succeeded, json_get_int(j->in->object, "status.succeeded", 0));
    j->failed = most(j->failed, json_get_int(j->in->object, "status.failed", 0));
}

/* ---- pods ---- */

static void stop_pods(struct job *j)
{
    json_each (pod, j->pods) {
        if (!workloads_pod_is_active(*pod))
            continue;
        if (j->out->child_count == STEP_MAX) {
            look_again(j, STEP_AGAIN_MS);
            return;
        }
        const char *name = json_get_text(*pod, "metadata.name");
        plan_absent(j->out, &WORKLOADS_POD, name);
        plan_event(j->out, false, "SuccessfulDelete", "Deleted pod: %s", name);
    }
}

static void stop_some(struct job *j, int64_t wanted)
{
    json_each (pod, j->pods) {
        if (j->active <= wanted || j->out->child_count == STEP_MAX)
            return;
        if (!workloads_pod_is_active(*pod))
            continue;
        plan_absent(j->out, &WORKLOADS_POD, json_get_text(*pod, "metadata.name"));
        j->active--;
        j->ready -= workloads_pod_is_ready(*pod);
    }
}

static void make_pods(struct job *j, int64_t wanted)
{
    struct arena *a = j->in->arena;
    const char *own = view_name(j->in), *uid = json_get_text(j->in->object, "metadata.uid");
    struct json template = json_get(j->in->object, "spec.template");
    for (int64_t n = 0; j->active < wanted && n < (int64_t)j->pods.count + wanted + NAMES_SPARE;
         n++) {
        const char *name = workloads_name(a, own, uid, n);
        if (json_present(view_get(j->in, &WORKLOADS_POD, name)))
            continue;
        if (j->out->child_count == STEP_MAX) {
            look_again(j, STEP_AGAIN_MS);
            return;
        }
        struct json pod = workloads_pod_of(a, template, name);
        pod = json_with(a, pod, "metadata.generateName", json_strf(a, "%s-", own));
        plan_once(j->out, &WORKLOADS_POD, pod);
        if (view_trouble(j->in, &WORKLOADS_POD, name).what == TROUBLE_REFUSED)
            return;
        plan_event(j->out, false, "SuccessfulCreate", "Created pod: %s", name);
        j->active++;
    }
}

/* ---- how it ends ---- */

/* Why it has failed; NULL: it has not. */
static const char *failure_of(struct job *j, const char **ret_message)
{
    const struct view *in = j->in;
    int64_t limit = json_get_int(in->object, "spec.backoffLimit", 6);
    int64_t deadline_s = json_get_int(in->object, "spec.activeDeadlineSeconds", 0);
    bool restarted =
        text_eq(json_get_text(in->object, "spec.template.spec.restartPolicy"), "OnFailure") &&
        j->restarts > 0 && j->restarts >= limit;
    if (j->failed > limit || restarted) {
        *ret_message = "Job has reached the specified backoff limit";
        return "BackoffLimitExceeded";
    }
    int64_t start_ms;
    if (!deadline_s || !time_parse(j->started, &start_ms))
        return NULL;
    int64_t left_ms = start_ms + deadline_s * 1000 - in->now_ms;
    if (left_ms > 0) {
        look_again(j, left_ms);
        return NULL;
    }
    *ret_message = "Job was active longer than specified deadline";
    return "DeadlineExceeded";
}

static bool has_succeeded(const struct job *j)
{
    struct json completions = json_get(j->in->object, "spec.completions");
    return json_is(completions, JSON_INT) ? j->succeeded >= completions.integer
                                          : j->succeeded > 0 && j->active == 0;
}

/* What is to come is told first; the end itself once no pod is left. */
static bool end(struct job *j)
{
    const char *message = NULL;
    const char *reason = has_succeeded(j) ? NULL : failure_of(j, &message);
    struct json target = json_find(j->conditions, "type", "FailureTarget");
    if (holds(j, "FailureTarget")) {
        reason = json_get_text(target, "reason");
        message = json_get_text(target, "message");
    }
    bool succeeded = !reason && (holds(j, "SuccessCriteriaMet") || has_succeeded(j));
    if (!reason && !succeeded)
        return false;
    if (succeeded) {
        reason = "CompletionsReached";
        message = "Reached expected number of succeeded pods";
    }
    bool first = !holds(j, "FailureTarget");
    set(j, succeeded ? "SuccessCriteriaMet" : "FailureTarget", true, reason, message);
    if (!succeeded && first)
        j->failed += j->active; /* pods that have to stop for it have failed too */
    if (j->active + j->terminating > 0) {
        stop_pods(j);
        return true;
    }
    set(j, succeeded ? "Complete" : "Failed", true, reason, message);
    plan_event(j->out,
        !succeeded,
        succeeded ? "Completed" : reason,
        "%s",
        succeeded ? "Job completed" : message);
    return true;
}

/* ---- the pass ---- */

static int64_t wanted_pods(const struct job *j)
{
    int64_t parallel = json_get_int(j->in->object, "spec.parallelism", 1);
    struct json completions = json_get(j->in->object, "spec.completions");
    if (!json_is(completions, JSON_INT))
        return j->succeeded > 0 && j->active < parallel ? j->active : parallel;
    int64_t missing = completions.integer - j->succeeded;
    return missing < parallel ? missing : parallel;
}

/* Until when no pod may be made; 0: now. */
static int64_t backoff_ms(const struct job *j)
{
    if (!j->failed || !j->failed_at_ms)
        return 0;
    int64_t wait_ms = BACKOFF_MS;
    for (int64_t i = 1; i < j->failed && wait_ms < BACKOFF_MAX_MS; i++)
        wait_ms *= 2;
    wait_ms = wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
    return most(j->failed_at_ms + wait_ms - j->in->now_ms, 0);
}

static void suspend(struct job *j)
{
    stop_pods(j);
    j->active = j->ready = 0;
    j->started = NULL;
    set(j, "Suspended", true, "JobSuspended", "Job suspended");
}

static void go_on(struct job *j)
{
    if (json_get_bool(j->in->object, "spec.suspend", false)) {
        suspend(j);
        return;
    }
    const char *now = time_format(j->in->arena, j->in->now_ms);
    if (holds(j, "Suspended")) {
        set(j, "Suspended", false, "JobResumed", "Job resumed");
        j->started = now;
    }
    j->started = j->started ? j->started : now;
    if (end(j))
        return;
    int64_t deadline_s = json_get_int(j->in->object, "spec.activeDeadlineSeconds", 0);
    if (deadline_s && text_eq(j->started, now))
        look_again(j, deadline_s * 1000);
    int64_t wanted = wanted_pods(j), wait_ms = backoff_ms(j);
    stop_some(j, wanted);
    if (j->active < wanted && wait_ms > 0)
        look_again(j, wait_ms);
    else
        make_pods(j, wanted);
}

static void tell(const struct job *j)
{
    struct json complete = json_find(j->conditions, "type", "Complete");
    plan_status(j->out,
        json_fields(j->in->arena,
            { "active", json_int_or_absent(j->active) },
            { "ready", json_int(j->ready) },
            { "terminating", json_int(j->terminating) },
            { "succeeded", json_int_or_absent(j->succeeded) },
            { "failed", json_int_or_absent(j->failed) },
            { "startTime", json_str(j->started) },
            { "completionTime", json_get(complete, "lastTransitionTime") },
            { "conditions", json_or_absent(j->conditions) }),
        NULL);
}

/* A Job that has ended goes after the time that it names. */
static void expire(struct job *j)
{
    struct json ttl = json_get(j->in->object, "spec.ttlSecondsAfterFinished");
    if (!json_is(ttl, JSON_INT))
        return;
    const char *type = holds(j, "Complete") ? "Complete" : "Failed";
    int64_t ended_ms =
        workloads_time_ms(json_find(j->conditions, "type", type), "lastTransitionTime");
    int64_t left_ms = ended_ms + ttl.integer * 1000 - j->in->now_ms;
    if (left_ms > 0)
        look_again(j, left_ms);
    else
        plan_end(j->out);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct job j = {
        .in = in,
        .out = out,
        .conditions = json_get(in->object, "status.conditions"),
        .started = json_get_text(in->object, "status.startTime"),
    };
    struct selector selector;
    plan_keep_children(out);
    if (text_eq(json_get_text(in->object, "spec.completionMode"), "Indexed")) {
        set(&j, "Unsupported", true, "Indexed", "completionMode Indexed is not run here");
        tell(&j);
        plan_done(out);
        return;
    }
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    find_pods(&j, &selector);
    if (!holds(&j, "Complete") && !holds(&j, "Failed"))
        go_on(&j);
    if (holds(&j, "Complete") || holds(&j, "Failed"))
        expire(&j);
    tell(&j);
    if (j.next_ms)
        plan_recheck(out, j.next_ms);
    else
        plan_done(out);
}

static const char *const pod_fields[] = {
    "metadata.labels",
    "spec",
    "status",
    NULL,
};

static const struct kind_watch watches[] = {
    { .resource = &WORKLOADS_POD, .child = true, .keep = pod_fields },
    { 0 },
};

const struct kind workloads_job_kind = {
    .resource = &WORKLOADS_JOB,
    .watches = watches,
    .reconcile = reconcile,
};
