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
    check_int(count(&s, PLAN_ABSENT), 1);
    check_text(condition(&s, "SuccessCriteriaMet"), "True CompletionsReached");
    check_text(condition(&s, "Complete"), "");
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
    check_int(s.plan.child_count, 0);
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
    check_int(s.plan.child_count, 0);
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
    check_int(count(&s, PLAN_ABSENT), 1);
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

TEST(a_suspended_job_has_no_pods_and_no_start)
{
    struct stage s;
    begin(&s, "{'spec.suspend': true, 'status': {'startTime': '2026-11-15T16:59:30Z'}}");
    add_pod(&s, "a", "Running");
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

TEST(an_indexed_job_is_not_run_and_says_so)
{
    struct stage s;
    begin(&s, "{'spec.completionMode': 'Indexed'}");
    stage_run(&s, KIND, "j");
    check_text(condition(&s, "Unsupported"), "True Indexed");
    check_int(s.plan.child_count, 0);
}
