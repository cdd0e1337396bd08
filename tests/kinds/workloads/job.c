#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

static const struct kind *const KIND = &workloads_job_kind;

static void begin(struct stage *s, const char *more)
{
    stage_init(s, NULL);
    struct json job = test_json(
        "{'kind': 'Job', 'metadata': {'name': 'j'}, 'spec': {'backoffLimit': 1, 'parallelism': 1,"
        " 'completions': 1, 'selector': {'matchLabels': {'job': 'j'}},"
        " 'template': {'metadata': {'labels': {'job': 'j'}},"
        "  'spec': {'restartPolicy': 'Never', 'containers': [{'name': 'main'}]}}}}");
    json_each_member (m, test_json(more))
        job = json_with(test_arena(), job, m->key, m->value);
    stage_add_json(s, job);
}

static void add_pod(struct stage *s, const char *name, const char *phase)
{
    struct arena *a = test_arena();
    struct json pod = test_json(
        "{'kind': 'Pod', 'metadata': {'labels': {'job': 'j'}, 'ownerReferences': ["
        " {'controller': true, 'uid': 'Job/j'}]}, 'status': {'containerStatuses': ["
        " {'restartCount': 1, 'state': {'terminated': {'finishedAt': '2026-11-15T16:59:55Z'}}}]}}");
    pod = json_with(a, pod, "metadata.name", json_str(name));
    stage_add_json(s, json_with(a, pod, "status.phase", json_str(phase)));
}

static void mark(struct stage *s, const char *name, const char *as)
{
    const char *text = arena_printf(test_arena(), "{'leeboard.dev/counted': '%s'}", as);
    stage_edit(s, &WORKLOADS_POD, name, "metadata.annotations", text);
}

static const char *condition(const struct stage *s, const char *type)
{
    struct json c = json_find(json_get(s->plan.status, "conditions"), "type", type);
    return json_present(c)
               ? arena_printf(
                     test_arena(), "%s %s", json_get_text(c, "status"), json_get_text(c, "reason"))
               : "";
}

static size_t count(const struct stage *s, enum plan_child_mode mode)
{
    size_t n = 0;
    for (size_t i = 0; i < s->plan.child_count; i++)
        n += s->plan.children[i].mode == mode;
    return n;
}

TEST(a_pod_that_is_refused_is_told_by_its_job)
{
    struct stage s;
    begin(&s, "{}");
    stage_trouble(&s, "Pod", TROUBLE_REFUSED, "exceeded quota");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "ReplicaFailure"), "True FailedCreate");
    check_text(s.plan.events[0].message, "Error creating: exceeded quota");
    check_int(s.plan.outcome, OUTCOME_WAIT);
}

TEST(a_job_starts_as_many_pods_as_are_missing)
{
    struct stage s;
    begin(&s, "{'spec.parallelism': 3, 'spec.completions': 5}");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE), 3);
    check_json(s.plan.status,
        "{'active': 3, 'ready': 0, 'terminating': 0, 'startTime': '2026-11-15T17:00:00Z'}");
    add_pod(&s, "a", "Succeeded");
    add_pod(&s, "b", "Succeeded");
    add_pod(&s, "c", "Succeeded");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE), 2);
    check_int(json_get_int(s.plan.status, "succeeded", 0), 3);
}

TEST(a_job_with_enough_successes_is_complete_once_its_pods_are_gone)
{
    struct stage s;
    begin(&s, "{}");
    add_pod(&s, "a", "Succeeded");
    add_pod(&s, "b", "Running");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ABSENT), 0);
    check_text(condition(&s, "SuccessCriteriaMet"), "True CompletionsReached");
    check_text(condition(&s, "Complete"), "");
    mark(&s, "b", "released");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ABSENT), 1);
    stage_edit(&s, &WORKLOADS_POD, "b", "status.phase", "'Succeeded'");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Complete"), "True CompletionsReached");
    check_text(json_get_text(s.plan.status, "completionTime"), "2026-11-15T17:00:00Z");
}

TEST(a_job_without_a_number_is_complete_with_its_last_pod)
{
    struct stage s;
    begin(&s, "{'spec.completions': null, 'spec.parallelism': 2}");
    add_pod(&s, "a", "Succeeded");
    add_pod(&s, "b", "Running");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE) + count(&s, PLAN_ABSENT), 0);
    stage_edit(&s, &WORKLOADS_POD, "b", "status.phase", "'Failed'");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Complete"), "True CompletionsReached");
}

TEST(a_job_waits_after_a_failure_and_gives_up_after_too_many)
{
    struct stage s;
    begin(&s, "{}");
    add_pod(&s, "a", "Failed");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE), 0);
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_int(s.plan.after_ms, 5000);
    s.world.now_ms += 5000;
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE), 1);
    add_pod(&s, "b", "Failed");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Failed"), "True BackoffLimitExceeded");
    check_text(condition(&s, "FailureTarget"), "True BackoffLimitExceeded");
}

TEST(a_job_has_its_time_and_counts_restarts)
{
    struct stage s;
    begin(
        &s, "{'spec.activeDeadlineSeconds': 60, 'status': {'startTime': '2026-11-15T16:59:30Z'}}");
    add_pod(&s, "a", "Running");
    stage_run(&s, KIND, "j");
    check_int(s.plan.after_ms, 30000);
    s.world.now_ms += 30000;
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "FailureTarget"), "True DeadlineExceeded");
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    stage_apply_status(&s, KIND, "j");
    mark(&s, "a", "failed");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ABSENT), 1);
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    begin(&s, "{'spec.template.spec.restartPolicy': 'OnFailure'}");
    add_pod(&s, "a", "Running");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "FailureTarget"), "True BackoffLimitExceeded");
}

TEST(what_was_counted_stays_counted)
{
    struct stage s;
    begin(&s, "{'spec.completions': 3, 'status': {'succeeded': 2, 'failed': 1}}");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "succeeded", 0), 2);
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
}

TEST(a_pod_that_ended_is_counted_once_and_for_all)
{
    struct stage s;
    begin(&s, "{'spec.backoffLimit': 9, 'status': {'failed': 1}}");
    add_pod(&s, "a", "Failed");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 2);
    struct json notes = json_get(stage_child(&s, "Pod"), "metadata.annotations");
    check_text(json_text(json_member(notes, "leeboard.dev/counted")), "failed");
    mark(&s, "a", "failed");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    check_int(s.plan.child_count, 0);
}

TEST(a_pod_that_is_told_to_go_counts_unless_only_failed_ones_are_replaced)
{
    struct stage s;
    begin(&s, "{}");
    add_pod(&s, "a", "Running");
    stage_edit(&s, &WORKLOADS_POD, "a", "metadata.deletionTimestamp", "'2026-11-15T16:59:00Z'");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    check_int(json_get_int(s.plan.status, "terminating", 0), 1);
    stage_apply_status(&s, KIND, "j");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    stage_edit(&s, &WORKLOADS_JOB, "j", "status", "{}");
    stage_edit(&s, &WORKLOADS_JOB, "j", "spec.podReplacementPolicy", "'Failed'");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 0);
    check_int(s.plan.child_count, 0);
}

TEST(a_suspended_job_has_no_pods_and_no_start)
{
    struct stage s;
    begin(&s, "{'spec.suspend': true, 'status': {'startTime': '2026-11-15T16:59:30Z'}}");
    add_pod(&s, "a", "Running");
    mark(&s, "a", "released");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ABSENT), 1);
    check_text(condition(&s, "Suspended"), "True JobSuspended");
    check(!json_present(json_get(s.plan.status, "startTime")));
}

TEST(a_job_that_has_ended_goes_after_its_time)
{
    struct stage s;
    begin(&s,
        "{'spec.ttlSecondsAfterFinished': 10, 'status': {'succeeded': 1, 'conditions': ["
        " {'type': 'Complete', 'status': 'True', 'lastTransitionTime': '2026-11-15T16:59:55Z'}]}}");
    stage_run(&s, KIND, "j");
    check_int(s.plan.after_ms, 5000);
    check(!s.plan.end);
    s.world.now_ms += 5000;
    stage_run(&s, KIND, "j");
    check(s.plan.end);
}
static void begin_indexed(struct stage *s, const char *more)
{
    begin(s, "{'spec.completionMode': 'Indexed', 'spec.completions': 4, 'spec.parallelism': 3}");
    json_each_member (m, test_json(more))
        stage_edit(s, &WORKLOADS_JOB, "j", m->key, json_to_text(test_arena(), m->value));
}

static void add_indexed(
    struct stage *s, const char *name, const char *phase, const char *index, const char *failures)
{
    add_pod(s, name, phase);
    stage_edit(s,
        &WORKLOADS_POD,
        name,
        "metadata.annotations",
        arena_printf(test_arena(),
            "{'batch.kubernetes.io/job-completion-index': '%s',"
            " 'batch.kubernetes.io/job-index-failure-count': '%s'}",
            index,
            failures));
}

TEST(an_indexed_job_gives_each_pod_its_number)
{
    struct stage s;
    begin_indexed(&s, "{'status': {'completedIndexes': '0,2', 'succeeded': 2}}");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_ONCE), 2);
    struct json pod = stage_child(&s, "Pod");
    check_text(json_get_text(pod, "spec.hostname"), "j-1");
    check_text(json_get_text(pod, "metadata.generateName"), "j-1-");
    check_text(json_text(json_member(
                   json_get(pod, "metadata.labels"), "batch.kubernetes.io/job-completion-index")),
        "1");
    check_text(json_get_text(pod, "spec.containers.0.env.0.name"), "JOB_COMPLETION_INDEX");
    check_text(json_get_text(s.plan.status, "completedIndexes"), "0,2");
}

TEST(an_indexed_job_lets_go_of_pods_with_a_wrong_number)
{
    struct stage s;
    begin_indexed(&s, "{}");
    add_indexed(&s, "a", "Succeeded", "1", "0");
    add_indexed(&s, "b", "Running", "3", "0");
    add_indexed(&s, "c-twice", "Running", "3", "0");
    add_indexed(&s, "d-beyond", "Running", "4", "0");
    stage_run(&s, KIND, "j");
    check_int(count(&s, PLAN_OWNED), 2);
    check(json_present(stage_child_named(&s, "Pod", "c-twice")));
    check(json_present(stage_child_named(&s, "Pod", "d-beyond")));
    check_text(json_get_text(s.plan.status, "completedIndexes"), "1");
}

TEST(an_index_has_so_many_tries)
{
    struct stage s;
    begin_indexed(&s, "{'spec.backoffLimitPerIndex': 1, 'spec.backoffLimit': 2147483647}");
    add_indexed(&s, "a", "Failed", "0", "0");
    add_indexed(&s, "b", "Failed", "1", "1");
    stage_run(&s, KIND, "j");
    check_int(json_get_int(s.plan.status, "failed", 0), 1);
    check_text(json_get_text(s.plan.status, "failedIndexes"), "1");
    check_int(count(&s, PLAN_ONCE), 2);
    s.world.now_ms += 5000;
    stage_run(&s, KIND, "j");
    struct json again = { 0 };
    for (size_t i = 0; i < s.plan.child_count; i++)
        if (text_eq(json_get_text(s.plan.children[i].object, "spec.hostname"), "j-0"))
            again = s.plan.children[i].object;
    check_text(json_text(json_member(json_get(again, "metadata.annotations"),
                   "batch.kubernetes.io/job-index-failure-count")),
        "1");
    stage_edit(&s, &WORKLOADS_JOB, "j", "spec.maxFailedIndexes", "0");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Failed"), "True MaxFailedIndexesExceeded");
}

TEST(a_job_may_be_content_with_some_indexes)
{
    struct stage s;
    begin_indexed(&s,
        "{'spec.successPolicy': {'rules': [{'succeededIndexes': '0,3'},"
        " {'succeededIndexes': '1-2', 'succeededCount': 1}, {'succeededCount': 3}]}}");
    add_indexed(&s, "a", "Succeeded", "0", "0");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "SuccessCriteriaMet"), "");
    add_indexed(&s, "b", "Succeeded", "2", "0");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Complete"), "True SuccessPolicy");
}

TEST(a_job_judges_failures_by_its_rules)
{
    struct stage s;
    begin(&s,
        "{'spec.backoffLimit': 0, 'spec.podFailurePolicy': {'rules': ["
        " {'action': 'Ignore', 'onPodConditions': [{'type': 'Lost'}]},"
        " {'action': 'FailJob', 'onExitCodes': {'operator': 'In', 'values': [3]}}]}}");
    add_pod(&s, "a", "Failed");
    stage_edit(
        &s, &WORKLOADS_POD, "a", "status.conditions", "[{'type': 'Lost', 'status': 'True'}]");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "FailureTarget"), "");
    check_int(s.plan.child_count, 0);
    add_pod(&s, "b", "Failed");
    stage_edit(&s,
        &WORKLOADS_POD,
        "b",
        "status.initContainerStatuses",
        "[{'name': 'init', 'state': {'terminated': {'exitCode': 3}}}]");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Failed"), "True PodFailurePolicy");
    check_text(json_get_text(json_item(json_get(s.plan.status, "conditions"), 0), "message"),
        "Container init for pod ns/b failed with exit code 3 matching FailJob rule at index 1");
}

TEST(a_job_of_another_controller_is_left_alone)
{
    struct stage s;
    begin(&s, "{'spec.managedBy': 'example.org/queue'}");
    stage_run(&s, KIND, "j");
    check(!s.plan.has_status);
    check_int(s.plan.child_count, 0);
}
