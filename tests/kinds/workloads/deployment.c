#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

#define DEPLOYMENT                                                                                 \
    "{'kind': 'Deployment', 'metadata': {'name': 'web', 'generation': 1,"                          \
    "  'annotations': {'note': 'mine', 'deployment.kubernetes.io/revision': '1'}}, 'spec': {"      \
    " 'replicas': 4, 'progressDeadlineSeconds': 600, 'revisionHistoryLimit': 1,"                   \
    " 'selector': {'matchLabels': {'app': 'web'}}, 'strategy': {'type': 'RollingUpdate',"          \
    "  'rollingUpdate': {'maxSurge': 1, 'maxUnavailable': 1}}, 'template': {"                      \
    "  'metadata': {'labels': {'app': 'web'}}, 'spec': {'containers': [{'image': 'a:1'}]}}}}"

static const struct kind *const KIND = &workloads_deployment_kind;

static void add_set(struct stage *s, const char *name, const char *image, int64_t replicas,
    int64_t available, int64_t revision)
{
    struct arena *a = test_arena();
    struct json set = test_json(
        "{'kind': 'ReplicaSet', 'metadata': {'labels': {'app': 'web'}, 'ownerReferences': ["
        " {'controller': true, 'uid': 'Deployment/web'}]}, 'spec': {'template': {"
        "  'metadata': {'labels': {'app': 'web', 'pod-template-hash': 'x'}}}}}");
    set = json_with(a, set, "metadata.name", json_str(name));
    set = json_with(a,
        set,
        "metadata.annotations",
        json_map(a,
            { "deployment.kubernetes.io/revision", json_strf(a, "%lld", (long long)revision) },
            { "deployment.kubernetes.io/desired-replicas", json_str("4") }));
    struct json container = json_fields(a, { "image", json_str(image) });
    set = json_with(a, set, "spec.template.spec.containers", json_list(a, container));
    set = json_with(a, set, "spec.replicas", json_int(replicas));
    set = json_with(a, set, "status.replicas", json_int(replicas));
    set = json_with(a, set, "status.readyReplicas", json_int(available));
    stage_add_json(s, json_with(a, set, "status.availableReplicas", json_int(available)));
}

static struct json annotation(struct json set, const char *name)
{
    return json_member(json_get(set, "metadata.annotations"),
        arena_printf(test_arena(), "deployment.kubernetes.io/%s", name));
}

static const char *condition(const struct stage *s, const char *type)
{
    struct json c = json_find(json_get(s->plan.status, "conditions"), "type", type);
    return arena_printf(test_arena(),
        "%s %s: %s",
        json_get_text(c, "status"),
        json_get_text(c, "reason"),
        json_get_text(c, "message"));
}

TEST(a_deployment_makes_the_set_of_its_template)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    stage_run(&s, KIND, "web");
    struct json set = stage_child(&s, "ReplicaSet");
    const char *name = json_get_text(set, "metadata.name");
    struct json hash = json_member(json_get(set, "metadata.labels"), "pod-template-hash");
    check(text_starts(name, "web-") && text_eq(name + 4, json_text(hash)));
    check(json_equal(
        hash, json_member(json_get(set, "spec.selector.matchLabels"), "pod-template-hash")));
    check_int(json_get_int(set, "spec.replicas", 0), 4);
    check_text(json_text(annotation(set, "revision")), "1");
    check_text(json_text(annotation(set, "max-replicas")), "5");
    check_text(json_get_text(set, "metadata.annotations.note"), "mine");
    check_text(condition(&s, "Progressing"),
        arena_printf(
            test_arena(), "True NewReplicaSetCreated: Created new replica set \"%s\"", name));
    check_text(condition(&s, "Available"),
        "False MinimumReplicasUnavailable: Deployment does not have minimum availability.");
}

TEST(a_name_that_is_taken_is_a_collision)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    stage_run(&s, KIND, "web");
    const char *name = json_get_text(stage_child(&s, "ReplicaSet"), "metadata.name");
    stage_add_json(&s,
        json_fields(
            test_arena(), { "kind", json_str("ReplicaSet") }, { "metadata.name", json_str(name) }));
    stage_run(&s, KIND, "web");
    check(!text_eq(json_get_text(stage_child(&s, "ReplicaSet"), "metadata.name"), name));
    check_int(json_get_int(s.plan.status, "collisionCount", 0), 1);
}

TEST(a_template_that_comes_back_takes_its_old_set_with_a_new_revision)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    add_set(&s, "web-one", "a:1", 0, 0, 1);
    add_set(&s, "web-two", "a:2", 4, 4, 2);
    stage_run(&s, KIND, "web");
    struct json one = stage_child_named(&s, "ReplicaSet", "web-one");
    check_text(json_text(annotation(one, "revision")), "3");
    check_text(json_text(annotation(one, "revision-history")), "1");
    check_int(json_get_int(one, "spec.replicas", 0), 2);
    check_int(json_get_int(stage_child_named(&s, "ReplicaSet", "web-two"), "spec.replicas", 0), 3);
    check_json(json_get(s.plan.amendment, "metadata.annotations"),
        "{'deployment.kubernetes.io/revision': '3'}");
}

TEST(a_deployment_that_is_through_says_so_and_keeps_its_history_short)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    add_set(&s, "web-a", "a:7", 0, 0, 7);
    add_set(&s, "web-b", "a:8", 0, 0, 8);
    add_set(&s, "web-c", "a:1", 4, 4, 9);
    stage_run(&s, KIND, "web");
    check_text(condition(&s, "Progressing"),
        "True NewReplicaSetAvailable: ReplicaSet \"web-c\" has successfully progressed.");
    check_int(s.plan.child_count, 2);
    check_int(s.plan.children[1].mode, PLAN_ABSENT);
    check_text(json_get_text(s.plan.children[1].object, "metadata.name"), "web-a");
    check_int(s.plan.outcome, OUTCOME_DONE);
}

TEST(a_deployment_without_progress_runs_into_its_deadline)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    add_set(&s, "web-a", "a:1", 4, 0, 1);
    stage_edit(&s,
        &WORKLOADS_DEPLOYMENT,
        "web",
        "status",
        "{'replicas': 4, 'updatedReplicas': 4, 'conditions': [{'type': 'Progressing',"
        " 'status': 'True', 'reason': 'ReplicaSetUpdated',"
        " 'lastTransitionTime': '2026-11-15T16:50:30Z',"
        " 'lastUpdateTime': '2026-11-15T16:50:30Z'}]}");
    stage_run(&s, KIND, "web");
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    check_int(s.plan.after_ms, 30001);
    s.world.now_ms += 30001;
    stage_run(&s, KIND, "web");
    check_text(condition(&s, "Progressing"),
        "False ProgressDeadlineExceeded: ReplicaSet \"web-a\" has timed out progressing.");
    check_int(s.plan.outcome, OUTCOME_DONE);
}

TEST(progress_renews_the_deadline)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    add_set(&s, "web-a", "a:1", 4, 1, 1);
    stage_edit(&s,
        &WORKLOADS_DEPLOYMENT,
        "web",
        "status",
        "{'replicas': 4, 'updatedReplicas': 4, 'conditions': [{'type': 'Progressing',"
        " 'status': 'True', 'reason': 'ReplicaSetUpdated',"
        " 'lastTransitionTime': '2026-11-15T16:50:30Z',"
        " 'lastUpdateTime': '2026-11-15T16:50:30Z'}]}");
    stage_run(&s, KIND, "web");
    check_int(s.plan.after_ms, 600001);
    struct json c = json_find(json_get(s.plan.status, "conditions"), "type", "Progressing");
    check_text(json_get_text(c, "lastUpdateTime"), "2026-11-15T17:00:00Z");
    check_text(json_get_text(c, "lastTransitionTime"), "2026-11-15T16:50:30Z");
}

TEST(a_paused_deployment_makes_no_set_but_changes_its_size)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    stage_edit(&s, &WORKLOADS_DEPLOYMENT, "web", "spec.paused", "true");
    add_set(&s, "web-old", "a:0", 3, 3, 1);
    stage_run(&s, KIND, "web");
    check_int(s.plan.child_count, 1);
    check_int(json_get_int(s.plan.children[0].object, "spec.replicas", 0), 4);
    check_text(condition(&s, "Progressing"), "Unknown DeploymentPaused: Deployment is paused");
}

TEST(recreate_waits_for_the_last_old_pod)
{
    struct stage s;
    stage_init(&s, NULL);
    stage_add(&s, DEPLOYMENT);
    stage_edit(&s, &WORKLOADS_DEPLOYMENT, "web", "spec.strategy", "{'type': 'Recreate'}");
    add_set(&s, "web-old", "a:0", 0, 0, 1);
    stage_add(&s,
        "{'kind': 'Pod', 'metadata': {'name': 'p', 'labels': {'app': 'web'},"
        " 'ownerReferences': [{'controller': true, 'uid': 'ReplicaSet/web-old'}]},"
        " 'status': {'phase': 'Running'}}");
    stage_run(&s, KIND, "web");
    check_int(s.plan.child_count, 0);
    stage_edit(&s, &WORKLOADS_POD, "p", "status.phase", "'Succeeded'");
    stage_run(&s, KIND, "web");
    check_int(s.plan.child_count, 1);
}
