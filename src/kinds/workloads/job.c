/* Job: pods until enough of them have succeeded, or too many have failed.
 *
 * A finished pod is counted once: it gets a mark together with the count, and numbers only grow, so
 * a pod that is deleted later stays counted. Kubernetes keeps such pods with a finalizer until
 * then; here a pod that finishes and disappears between two passes is created again instead. */

#include "kinds/workloads/job.h"

#include <stdlib.h>

#include "base/selector.h"
#include "base/time.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/workloads/workloads.h"

#define STEP_MAX PLAN_MAX_EVENTS
#define STEP_AGAIN_MS 10
#define NAMES_SPARE 1000
/* After a failed pod the next one is delayed, twice as long each time. */
#define BACKOFF_MS ((int64_t)10 * 1000)
#define BACKOFF_MAX_MS ((int64_t)10 * 60 * 1000)

#define CONTROLLER "kubernetes.io/job-controller"
/* On a pod: counted as "succeeded" or "failed", or released without being counted. */
#define COUNTED "leeboard.dev/counted"
#define LET_GO "released"

struct job {
    const struct view *in;
    struct plan *out;
    struct json *pods;
    size_t pod_count;
    struct json conditions;
    const char *started; /* status.startTime */
    bool indexed, per_index;
    bool only_failed;    /* a pod is replaced once it has finished, not when it is terminating */
    int64_t completions; /* -1: not set */
    struct job_indexes done, lost, busy;
    const char *verdict; /* why the policy ends the Job; NULL: it does not */
    const char *refusal; /* why a pod cannot be created; NULL: it can */
    int64_t active, ready, terminating, succeeded, failed, restarts;
    int64_t failures, failed_at_ms; /* since the last success, and the last of them */
    int64_t names;                  /* tried for pods so far */
    int64_t next_ms;                /* run again after this; 0: not needed */
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

/* Whether one more change fits into this pass. */
static bool has_room(struct job *j)
{
    if (j->out->child_count < STEP_MAX)
        return true;
    look_again(j, STEP_AGAIN_MS);
    return false;
}

/* ---- pods ---- */

static const char *note(struct json pod, const char *annotation)
{
    return json_text(json_member(json_get(pod, "metadata.annotations"), annotation));
}

static int64_t number(struct json pod, const char *annotation, int64_t otherwise)
{
    int64_t value;
    const char *text = note(pod, annotation);
    return text && str_to_int(str_of(text), &value) && value >= 0 ? value : otherwise;
}

static bool is_going(struct json pod)
{
    return json_present(json_get(pod, "metadata.deletionTimestamp"));
}

static bool has_phase(struct json pod, const char *phase)
{
    return text_eq(json_get_text(pod, "status.phase"), phase);
}

static bool has_failed(const struct job *j, struct json pod)
{
    return has_phase(pod, "Failed") ||
           (is_going(pod) && !j->only_failed && !has_phase(pod, "Succeeded"));
}

static enum job_verdict verdict_of(const struct job *j, struct json pod, const char **ret_message)
{
    return has_phase(pod, "Failed") ? job_verdict_of(j->in, pod, ret_message) : JOB_COUNT;
}

static int64_t finished_ms(struct json pod)
{
    int64_t last = 0, told_ms = workloads_time_ms(pod, "metadata.deletionTimestamp");
    json_each (c, json_get(pod, "status.containerStatuses"))
        last = most(last, workloads_time_ms(*c, "state.terminated.finishedAt"));
    if (!last && told_ms)
        last = told_ms - json_get_int(pod, "metadata.deletionGracePeriodSeconds", 0) * 1000;
    struct json ready = json_find(json_get(pod, "status.conditions"), "type", "Ready");
    return last ? last : workloads_time_ms(ready, "lastTransitionTime");
}

static void mark(struct job *j, struct json pod, const char *as)
{
    struct arena *a = j->in->arena;
    const char *name = json_get_text(pod, "metadata.name");
    struct json ours = view_owned(j->in, &WORKLOADS_POD, name);
    ours = json_is(ours, JSON_MAP) ? ours : json_empty_map();
    ours = json_with(a, ours, "metadata.name", json_str(name));
    struct json notes = json_get(ours, "metadata.annotations");
    notes = json_overlay(a, notes, json_map(a, { COUNTED, json_str(as) }));
    plan_child(j->out, &WORKLOADS_POD, json_with(a, ours, "metadata.annotations", notes));
}

/* Marks a running pod, and deletes it once it is marked; true: it is terminating. */
static bool retire(struct job *j, struct json pod, const char *as)
{
    const char *name = json_get_text(pod, "metadata.name");
    if (!has_room(j))
        return false;
    if (!note(pod, COUNTED)) {
        mark(j, pod, as);
        look_again(j, STEP_AGAIN_MS);
        return false;
    }
    plan_absent(j->out, &WORKLOADS_POD, name);
    plan_event(j->out, false, "SuccessfulDelete", "Deleted pod: %s", name);
    j->active--;
    j->ready -= workloads_pod_is_ready(pod);
    j->terminating += json_get_text(pod, "spec.nodeName") != NULL;
    return true;
}

/* ---- present state ---- */

/* The failure that counts for an index: that of the pod with the most failures before it. */
static struct json last_failed(const struct job *j, int64_t index)
{
    struct json last = { 0 };
    int64_t before = -1;
    for (size_t i = 0; i < j->pod_count; i++) {
        struct json pod = j->pods[i];
        int64_t failures = number(pod, JOB_INDEX_FAILURES, 0) + number(pod, JOB_INDEX_IGNORED, 0);
        if (number(pod, JOB_INDEX, -1) == index && has_failed(j, pod) && failures > before) {
            last = pod;
            before = failures;
        }
    }
    return last;
}

static void look_at_failed(struct job *j, struct json pod)
{
    const char *message = NULL;
    enum job_verdict v = verdict_of(j, pod, &message);
    int64_t index = number(pod, JOB_INDEX, -1);
    int64_t limit = json_get_int(j->in->object, "spec.backoffLimitPerIndex", 0);
    if (v == JOB_FAIL && !j->verdict)
        j->verdict = message;
    bool last_try = v != JOB_IGNORE && number(pod, JOB_INDEX_FAILURES, 0) >= limit;
    if (j->per_index && index >= 0 && index < j->completions && (v == JOB_FAIL_INDEX || last_try))
        job_indexes_add(&j->lost, index);
}

static void look_at_running(struct job *j, struct json pod)
{
    int64_t index = number(pod, JOB_INDEX, -1);
    if (is_going(pod)) {
        j->terminating++;
        if (j->only_failed && index >= 0)
            job_indexes_add(&j->busy, index);
        return;
    }
    if (index >= 0)
        job_indexes_add(&j->busy, index);
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
    struct json all = workloads_pods(j->in, selector);
    j->pods = arena_array(j->in->arena, all.count + 1, sizeof(*j->pods));
    int64_t succeeded_at_ms = 0;
    json_each (pod, all) {
        if (!text_eq(workloads_controller(*pod), uid))
            continue;
        int64_t index = number(*pod, JOB_INDEX, -1);
        bool succeeded = has_phase(*pod, "Succeeded");
        j->pods[j->pod_count++] = *pod;
        if (succeeded)
            succeeded_at_ms = most(succeeded_at_ms, finished_ms(*pod));
        if (succeeded && j->indexed && index >= 0 && index < j->completions)
            job_indexes_add(&j->done, index);
        if (has_failed(j, *pod))
            look_at_failed(j, *pod);
        if (!succeeded && !has_phase(*pod, "Failed"))
            look_at_running(j, *pod);
    }
    for (size_t i = 0; i < j->pod_count; i++) {
        int64_t at_ms = has_failed(j, j->pods[i]) ? finished_ms(j->pods[i]) : 0;
        if (at_ms > succeeded_at_ms) {
            j->failures++;
            j->failed_at_ms = most(j->failed_at_ms, at_ms);
        }
    }
}

/* The last failure of an index that is retried is counted when the retry begins. */
static bool is_held(const struct job *j, struct json pod)
{
    int64_t index = number(pod, JOB_INDEX, -1);
    return j->per_index && !job_indexes_has(&j->lost, index) && !job_indexes_has(&j->busy, index) &&
           !job_indexes_has(&j->done, index) &&
           json_equal(
               json_get(last_failed(j, index), "metadata.name"), json_get(pod, "metadata.name"));
}

/* What a pod counts as; NULL: not counted. */
static const char *counts_as(const struct job *j, struct json pod)
{
    const char *message;
    if (has_phase(pod, "Succeeded"))
        return j->indexed ? NULL : "succeeded";
    return has_failed(j, pod) && verdict_of(j, pod, &message) != JOB_IGNORE && !is_held(j, pod)
               ? "failed"
               : NULL;
}

/* Adds and marks newly finished pods. After a crash, a mark without its count is found in the
 * present state, and so is a terminating pod, which takes no mark. */
static void count(struct job *j)
{
    int64_t there[2] = { 0 }, sum[2] = { json_get_int(j->in->object, "status.succeeded", 0),
        json_get_int(j->in->object, "status.failed", 0) };
    for (size_t i = 0; i < j->pod_count; i++) {
        const char *as = counts_as(j, j->pods[i]), *marked = note(j->pods[i], COUNTED);
        bool failed = text_eq(as, "failed"), fresh = !marked && !is_going(j->pods[i]);
        if (!as || text_eq(marked, LET_GO) || (fresh && !has_room(j)))
            continue;
        there[failed]++;
        sum[failed] += fresh;
        if (fresh)
            mark(j, j->pods[i], as);
    }
    j->succeeded = j->indexed ? job_indexes_total(&j->done) : most(sum[0], there[0]);
    j->failed = most(sum[1], there[1]);
}

/* ---- creating and stopping pods ---- */

static void stop_pods(struct job *j, const char *as)
{
    for (size_t i = 0; i < j->pod_count; i++)
        if (workloads_pod_is_active(j->pods[i]))
            retire(j, j->pods[i], as);
}

/* Stops pods with a duplicate index or one that no longer exists, and excess pods. */
static void stop_some(struct job *j, int64_t wanted)
{
    struct json *active = arena_array(j->in->arena, j->pod_count + 1, sizeof(*active));
    struct job_indexes seen = { .arena = j->in->arena };
    size_t count = 0;
    int64_t left = j->active;
    for (size_t i = 0; i < j->pod_count; i++) {
        struct json pod = j->pods[i];
        int64_t index = number(pod, JOB_INDEX, -1);
        if (!workloads_pod_is_active(pod))
            continue;
        bool wrong =
            j->indexed && (index < 0 || index >= j->completions || job_indexes_has(&seen, index));
        if (wrong) {
            left--;
            retire(j, pod, LET_GO);
            continue;
        }
        if (index >= 0)
            job_indexes_add(&seen, index);
        active[count++] = pod;
    }
    workloads_pods_sort(active, count);
    for (size_t i = 0; i < count && left > wanted; i++, left--)
        retire(j, active[i], LET_GO);
}

/* Adds the fields of an index to a pod. */
static struct json with_index(const struct job *j, struct json pod, int64_t index)
{
    static const char *const lists[] = { "spec.containers", "spec.initContainers" };
    struct arena *a = j->in->arena;
    struct json text = json_strf(a, "%lld", (long long)index);
    struct json own = json_map(a, { JOB_INDEX, text });
    struct json notes = own, last = last_failed(j, index);
    if (j->per_index) {
        const char *message;
        bool ignored = json_present(last) && verdict_of(j, last, &message) == JOB_IGNORE;
        int64_t failures = number(last, JOB_INDEX_FAILURES, 0) + (json_present(last) && !ignored);
        int64_t passed_over = number(last, JOB_INDEX_IGNORED, 0) + ignored;
        notes = json_with_member(
            a, notes, JOB_INDEX_FAILURES, json_strf(a, "%lld", (long long)failures));
        if (passed_over)
            notes = json_with_member(
                a, notes, JOB_INDEX_IGNORED, json_strf(a, "%lld", (long long)passed_over));
    }
    notes = json_overlay(a, json_get(pod, "metadata.annotations"), notes);
    pod = json_with(a, pod, "metadata.annotations", notes);
    pod = json_with(
        a, pod, "metadata.labels", json_overlay(a, json_get(pod, "metadata.labels"), own));
    pod = json_with(
        a, pod, "spec.hostname", json_strf(a, "%s-%lld", view_name(j->in), (long long)index));
    struct json variable = json_fields(a,
        { "name", json_str("JOB_COMPLETION_INDEX") },
        { "valueFrom.fieldRef.fieldPath", json_str("metadata.labels['" JOB_INDEX "']") });
    for (size_t i = 0; i < lengthof(lists); i++) {
        struct json_builder containers;
        json_builder_init(&containers, a);
        json_each (c, json_get(pod, lists[i])) {
            struct json_builder env;
            json_builder_init(&env, a);
            json_push_all(&env, json_get(*c, "env"));
            if (!json_present(
                    json_find(json_get(*c, "env"), "name", json_get_text(variable, "name"))))
                json_push(&env, variable);
            json_push(&containers, json_with_member(a, *c, "env", json_list_end(&env)));
        }
        if (json_present(json_get(pod, lists[i])))
            pod = json_with(a, pod, lists[i], json_list_end(&containers));
    }
    return pod;
}

/* Creates one more pod, for an index or (-1) none; false: create no other for now. */
static bool make_pod(struct job *j, int64_t index)
{
    struct arena *a = j->in->arena;
    const char *base = view_name(j->in), *uid = json_get_text(j->in->object, "metadata.uid");
    const char *name = NULL;
    if (!has_room(j))
        return false;
    if (index >= 0)
        base = arena_printf(a, "%s-%lld", base, (long long)index);
    int64_t last = (int64_t)j->pod_count + STEP_MAX + NAMES_SPARE;
    for (int64_t n = index >= 0 ? 0 : j->names; n < last && !name; n++) {
        name = workloads_name(a, base, uid, n);
        if (json_present(view_get(j->in, &WORKLOADS_POD, name)))
            name = NULL;
        j->names = n + 1;
    }
    if (!name)
        return false;
    struct json pod = workloads_pod_of(a, json_get(j->in->object, "spec.template"), name);
    pod = json_with(a, pod, "metadata.generateName", json_strf(a, "%s-", base));
    plan_once(j->out, &WORKLOADS_POD, index >= 0 ? with_index(j, pod, index) : pod);
    plan_disposable(j->out);
    struct view_trouble t = view_trouble(j->in, &WORKLOADS_POD, name);
    if (t.what == TROUBLE_REFUSED) {
        j->refusal = t.message;
        return false;
    }
    plan_event(j->out, false, "SuccessfulCreate", "Created pod: %s", name);
    j->active++;
    return true;
}

/* How long no pod may be created after a failure; 0: it may be created now. */
static int64_t backoff_ms(const struct job *j, int64_t failures, int64_t failed_at_ms)
{
    if (!failures || !failed_at_ms)
        return 0;
    int64_t wait_ms = BACKOFF_MS;
    for (int64_t i = 1; i < failures && wait_ms < BACKOFF_MAX_MS; i++)
        wait_ms *= 2;
    wait_ms = wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS;
    return most(failed_at_ms + wait_ms - j->in->now_ms, 0);
}

static int64_t index_backoff_ms(const struct job *j, int64_t index)
{
    struct json last = last_failed(j, index);
    int64_t failures = number(last, JOB_INDEX_FAILURES, 0) + number(last, JOB_INDEX_IGNORED, 0);
    return j->per_index && json_present(last) ? backoff_ms(j, failures + 1, finished_ms(last)) : 0;
}

static void make_indexed(struct job *j, int64_t missing)
{
    const struct job_indexes *const taken[] = { &j->done, &j->lost, &j->busy };
    for (int64_t index = 0; index < j->completions && missing > 0; index++) {
        int64_t from;
        do {
            from = index;
            for (size_t i = 0; i < lengthof(taken); i++)
                index = job_indexes_next_free(taken[i], index);
        } while (index != from);
        if (index >= j->completions)
            return;
        int64_t wait_ms = index_backoff_ms(j, index);
        if (wait_ms)
            look_again(j, wait_ms);
        else if (!make_pod(j, index))
            return;
        else
            missing--;
        if (!wait_ms && j->per_index && json_present(last_failed(j, index)))
            look_again(j, STEP_AGAIN_MS); /* now that failure counts */
    }
}

static void make_pods(struct job *j, int64_t missing)
{
    int64_t wait_ms = j->per_index ? 0 : backoff_ms(j, j->failures, j->failed_at_ms);
    if (missing <= 0)
        return;
    if (wait_ms)
        look_again(j, wait_ms);
    else if (j->indexed)
        make_indexed(j, missing);
    else
        while (missing-- > 0 && make_pod(j, -1))
            ;
}

/* ---- how it ends ---- */

struct ending {
    bool succeeded;
    const char *reason, *message;
};

static bool is_late(struct job *j)
{
    int64_t deadline_s = json_get_int(j->in->object, "spec.activeDeadlineSeconds", 0), start_ms;
    if (!deadline_s || json_get_bool(j->in->object, "spec.suspend", false) ||
        !time_parse(j->started, &start_ms))
        return false;
    int64_t left_ms = start_ms + deadline_s * 1000 - j->in->now_ms;
    if (left_ms > 0)
        look_again(j, left_ms);
    return left_ms <= 0;
}

static bool has_failed_too_often(const struct job *j)
{
    int64_t limit = json_get_int(j->in->object, "spec.backoffLimit", 6);
    const char *restart = json_get_text(j->in->object, "spec.template.spec.restartPolicy");
    return j->failed > limit ||
           (text_eq(restart, "OnFailure") && j->restarts > 0 && j->restarts >= limit);
}

static bool has_succeeded(const struct job *j)
{
    return j->completions >= 0 ? j->succeeded >= j->completions
                               : j->succeeded > 0 && j->active == 0;
}

/* From what was reported before, or else from the present state; false: the Job continues. */
static bool ending_of(struct job *j, struct ending *ret)
{
    static const char *const told[] = { "SuccessCriteriaMet", "FailureTarget" };
    for (size_t i = 0; i < lengthof(told); i++)
        if (holds(j, told[i])) {
            struct json c = json_find(j->conditions, "type", told[i]);
            *ret =
                (struct ending){ i == 0, json_get_text(c, "reason"), json_get_text(c, "message") };
            return true;
        }
    int64_t lost = job_indexes_total(&j->lost);
    int64_t most_lost = json_get_int(j->in->object, "spec.maxFailedIndexes", INT64_MAX);
    const char *met = job_success_of(j->in, &j->done);
    if (j->verdict)
        *ret = (struct ending){ false, "PodFailurePolicy", j->verdict };
    else if (has_failed_too_often(j) && !has_succeeded(j))
        *ret = (struct ending){
            false, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        };
    else if (!has_succeeded(j) && is_late(j))
        *ret = (struct ending){
            false, "DeadlineExceeded", "Job was active longer than specified deadline"
        };
    else if (lost > most_lost)
        *ret = (struct ending){ false,
            "MaxFailedIndexesExceeded",
            "Job has exceeded the specified maximal number of failed indexes" };
    else if (lost && lost + j->succeeded >= j->completions)
        *ret = (struct ending){ false, "FailedIndexes", "Job has failed indexes" };
    else if (met)
        *ret = (struct ending){ true, "SuccessPolicy", met };
    else if (has_succeeded(j))
        *ret = (struct ending){
            true, "CompletionsReached", "Reached expected number of succeeded pods"
        };
    return ret->reason != NULL;
}

/* Reports what will happen first, and the end itself once no pod is left. */
static bool end(struct job *j)
{
    struct ending e = { 0 };
    if (!ending_of(j, &e))
        return false;
    set(j, e.succeeded ? "SuccessCriteriaMet" : "FailureTarget", true, e.reason, e.message);
    if (j->active + j->terminating > 0) {
        for (size_t i = 0; !e.succeeded && i < j->pod_count; i++)
            if (workloads_pod_is_active(j->pods[i]) && !note(j->pods[i], COUNTED) && has_room(j)) {
                mark(j, j->pods[i], "failed"); /* because it has to stop for this */
                look_again(j, STEP_AGAIN_MS);
                j->failed++;
            } else if (workloads_pod_is_active(j->pods[i]))
                retire(j, j->pods[i], "failed");
        if (e.succeeded)
            stop_pods(j, LET_GO);
        return true;
    }
    set(j, e.succeeded ? "Complete" : "Failed", true, e.reason, e.message);
    plan_event(j->out,
        !e.succeeded,
        e.succeeded ? "Completed" : e.reason,
        "%s",
        e.succeeded ? "Job completed" : e.message);
    return true;
}

/* ---- the pass ---- */

static int64_t wanted_pods(const struct job *j)
{
    int64_t parallel = json_get_int(j->in->object, "spec.parallelism", 1);
    if (j->completions < 0)
        return j->succeeded > 0 && j->active < parallel ? j->active : parallel;
    int64_t missing = j->completions - j->succeeded - job_indexes_total(&j->lost);
    return missing < parallel ? missing : parallel;
}

static void job_sync(struct job *j)
{
    bool rests = json_get_bool(j->in->object, "spec.suspend", false);
    const char *now = time_format(j->in->arena, j->in->now_ms);
    if (!rests && (!j->started || holds(j, "Suspended")))
        j->started = now;
    count(j);
    if (end(j))
        return;
    if (rests) {
        stop_pods(j, LET_GO);
        j->started = NULL;
        set(j, "Suspended", true, "JobSuspended", "Job suspended");
        return;
    }
    if (holds(j, "Suspended"))
        set(j, "Suspended", false, "JobResumed", "Job resumed");
    int64_t wanted = wanted_pods(j);
    stop_some(j, wanted);
    make_pods(j, wanted - j->active - (j->only_failed ? j->terminating : 0));
}

static void tell(const struct job *j)
{
    struct json complete = json_find(j->conditions, "type", "Complete");
    const char *lost = job_indexes_text(&j->lost);
    plan_status(j->out,
        json_fields(j->in->arena,
            { "active", json_int_or_absent(j->active) },
            { "ready", json_int(j->ready) },
            { "terminating", json_int(j->terminating) },
            { "succeeded", json_int_or_absent(j->succeeded) },
            { "failed", json_int_or_absent(j->failed) },
            { "completedIndexes", json_str_or_absent(job_indexes_text(&j->done)) },
            { "failedIndexes", json_str(j->per_index ? lost : NULL) },
            { "startTime", json_str(j->started) },
            { "completionTime", json_get(complete, "lastTransitionTime") },
            { "conditions", json_or_absent(j->conditions) }),
        NULL);
}

/* Deletes a finished Job after the time that it sets. */
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

static void begin(struct job *j)
{
    struct json spec = json_get(j->in->object, "spec"), status = json_get(j->in->object, "status");
    struct arena *a = j->in->arena;
    j->conditions = json_get(status, "conditions");
    j->started = json_get_text(status, "startTime");
    j->completions = json_get_int(spec, "completions", -1);
    j->indexed = text_eq(json_get_text(spec, "completionMode"), "Indexed");
    j->per_index = j->indexed && json_present(json_get(spec, "backoffLimitPerIndex"));
    j->only_failed = text_eq(json_get_text(spec, "podReplacementPolicy"), "Failed") ||
                     json_present(json_get(spec, "podFailurePolicy"));
    j->done =
        job_indexes_parse(a, json_get_text(status, "completedIndexes"), most(j->completions, 0));
    j->lost = job_indexes_parse(a, json_get_text(status, "failedIndexes"), most(j->completions, 0));
    j->busy = (struct job_indexes){ .arena = a };
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct job j = { .in = in, .out = out };
    struct selector selector;
    const char *manager = json_get_text(in->object, "spec.managedBy");
    plan_keep_children(out);
    if (manager && !text_eq(manager, CONTROLLER)) {
        plan_done(out); /* another controller runs it */
        return;
    }
    if (!workloads_selector(in, &selector)) {
        plan_wait(out, "its selector cannot be read");
        return;
    }
    begin(&j);
    find_pods(&j, &selector);
    if (!holds(&j, "Complete") && !holds(&j, "Failed")) {
        job_sync(&j);
    } else {
        j.succeeded = json_get_int(in->object, "status.succeeded", 0);
        j.failed = json_get_int(in->object, "status.failed", 0);
    }
    if (holds(&j, "Complete") || holds(&j, "Failed"))
        expire(&j);
    j.conditions = workloads_refusal(in, out, j.conditions, j.refusal);
    tell(&j);
    if (j.refusal && !j.next_ms)
        plan_wait(out, "%s", j.refusal);
    else if (j.next_ms)
        plan_recheck(out, j.next_ms);
    else
        plan_done(out);
}

static const char *const pod_fields[] = {
    "metadata.labels",
    "metadata.annotations",
    "metadata.deletionGracePeriodSeconds",
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
