#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

#define SET                                                                                        \
    "{'kind': 'ReplicaSet', 'metadata': {'name': 'web', 'generation': 2}, 'spec': {"               \
    " 'replicas': 2, 'selector': {'matchLabels': {'app': 'web'}}, 'template': {"                   \
    "  'metadata': {'labels': {'app': 'web'}}, 'spec': {'containers': [{'name': 'main'}]}}}}"

static void add_pod(struct stage *s, const char *name, const char *more)
{
    struct arena *a = test_arena();
    struct json pod = test_json("{'kind': 'Pod', 'metadata': {'labels': {'app': 'web'},"
                                " 'ownerReferences': [{'controller': true,"
                                "  'uid': 'ReplicaSet/web'}]}, 'status': {'phase': 'Running'}}");
    pod = json_with(a, pod, "metadata.name", json_str(name));
    json_each_member (m, test_json(more))
        pod = json_with(a, pod, m->key, m->value);
    stage_add_json(s, pod);
}

#define READY(when)                                                                                \
    "'status.conditions': [{'type': 'Ready', 'status': 'True',"                                    \
    " 'lastTransitionTime': '2026-11-15T" when "Z'}]"

static size_t count(const struct stage *s, enum plan_child_mode mode)
{
    size_t n = 0;
    for (size_t i = 0; i < s->plan.child_count; i++)
        n += s->plan.children[i].mode == mode;
    return n;
}

TEST(a_replica_set_makes_the_pods_that_are_missing)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(s.plan.child_count, 2);
    const char *first =
        arena_strdup(test_arena(), json_get_text(s.plan.children[0].object, "metadata.name"));
    check(!text_eq(first, json_get_text(s.plan.children[1].object, "metadata.name")));
    check_text(json_get_text(s.plan.children[0].object, "metadata.generateName"), "web-");
    check_json(s.plan.status,
        "{'replicas': 2, 'fullyLabeledReplicas': 2, 'terminatingReplicas': 0,"
        " 'observedGeneration': 2}");
    /* The name is taken while the pod is there, though it ends. */
    add_pod(&s, first, "{'metadata.deletionTimestamp': '2026-11-15T16:00:00Z'}");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(s.plan.child_count, 2);
    check(!json_present(stage_child_named(&s, "Pod", first)));
    check_int(json_get_int(s.plan.status, "terminatingReplicas", -1), 1);
}

TEST(a_replica_set_deletes_the_pods_that_serve_least)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    add_pod(&s, "old", "{'spec.nodeName': 'n', " READY("10:00:00") "}");
    add_pod(&s, "young", "{'spec.nodeName': 'n', " READY("11:00:00") "}");
    add_pod(&s,
        "cheap",
        "{'spec.nodeName': 'n', 'metadata.annotations':"
        " {'controller.kubernetes.io/pod-deletion-cost': '-1'}}");
    add_pod(&s, "pending", "{'status.phase': 'Pending'}");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(count(&s, PLAN_ABSENT), 2);
    check(json_present(stage_child_named(&s, "Pod", "pending")));
    check(json_present(stage_child_named(&s, "Pod", "cheap")));
    check_int(json_get_int(s.plan.status, "readyReplicas", 0), 2);
    stage_edit(&s, &WORKLOADS_REPLICA_SET, "web", "spec.replicas", "1");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check(json_present(stage_child_named(&s, "Pod", "young")));
}

TEST(a_replica_set_adopts_pods_of_nobody_and_leaves_those_of_others)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    add_pod(&s, "stray", "{'metadata.ownerReferences': []}");
    add_pod(&s, "theirs", "{'metadata.ownerReferences': [{'controller': true, 'uid': 'x'}]}");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(s.plan.child_count, 2);
    check_text(json_get_text(s.plan.children[0].object, "metadata.name"), "stray");
    check(s.plan.children[0].orphan);
    check_int(count(&s, PLAN_ONCE), 1);
}

TEST(a_pod_counts_as_available_only_after_the_seconds_that_are_asked)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    stage_edit(&s, &WORKLOADS_REPLICA_SET, "web", "spec.minReadySeconds", "10");
    add_pod(&s, "a", "{" READY("16:59:00") "}");
    add_pod(&s, "b", "{" READY("16:59:55") "}");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(json_get_int(s.plan.status, "readyReplicas", 0), 2);
    check_int(json_get_int(s.plan.status, "availableReplicas", 0), 1);
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_int(s.plan.after_ms, 5000);
}

TEST(a_pod_that_is_refused_is_a_failure_of_its_set)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    stage_trouble(&s, "Pod", TROUBLE_REFUSED, "exceeded quota");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_text(json_get_text(s.plan.status, "conditions.0.type"), "ReplicaFailure");
    check_text(json_get_text(s.plan.status, "conditions.0.message"), "exceeded quota");
    check_text(s.plan.events[0].message, "Error creating: exceeded quota");
    stage_edit(&s,
        &WORKLOADS_REPLICA_SET,
        "web",
        "status.conditions",
        "[{'type': 'ReplicaFailure', 'status': 'True', 'reason': 'FailedCreate'}]");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int((int64_t)s.plan.event_count, 0); /* said once */
    check_int(s.plan.outcome, OUTCOME_WAIT);
}

TEST(very_many_pods_are_made_in_steps)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, SET);
    stage_edit(&s, &WORKLOADS_REPLICA_SET, "web", "spec.replicas", "2000000000");
    stage_run(&s, &workloads_replica_set_kind, "web");
    check_int(s.plan.child_count, PLAN_MAX_EVENTS);
    check_int(s.plan.outcome, OUTCOME_RECHECK);
}
