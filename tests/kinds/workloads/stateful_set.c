#include "kinds/workloads/stateful_set.h"

#include "kinds/workloads/workloads.h"
#include "tests/kinds/stage.h"
#include "tests/test.h"

static const struct kind *const KIND = &workloads_stateful_set_kind;

static void begin(struct stage *s, const char *more)
{
    stage_init(s, NULL);
    struct json set = test_json(
        "{'kind': 'StatefulSet', 'metadata': {'name': 'db', 'generation': 1}, 'spec': {"
        " 'replicas': 3, 'serviceName': 'all', 'selector': {'matchLabels': {'app': 'db'}},"
        " 'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 0}},"
        " 'template': {'metadata': {'labels': {'app': 'db'}},"
        "  'spec': {'containers': [{'name': 'main', 'image': 'a:2'}],"
        "   'volumes': [{'name': 'data', 'emptyDir': {}}, {'name': 'tmp', 'emptyDir': {}}]}}}}");
    json_each_member (m, test_json(more))
        set = json_with(test_arena(), set, m->key, m->value);
    stage_add_json(s, set);
}

static void add_revision(struct stage *s, const char *name, const char *image, int64_t number)
{
    struct arena *a = test_arena();
    struct json tmpl = test_json(
        "{'metadata': {'labels': {'app': 'db'}}, '$patch': 'replace', 'spec': {'containers': ["
        " {'name': 'main'}],"
        " 'volumes': [{'name': 'data', 'emptyDir': {}}, {'name': 'tmp', 'emptyDir': {}}]}}");
    struct json containers =
        json_list(a, json_map(a, { "name", json_str("main") }, { "image", json_str(image) }));
    stage_add_json(s,
        json_fields(a,
            { "apiVersion", json_str("apps/v1") },
            { "kind", json_str("ControllerRevision") },
            { "metadata.name", json_str(name) },
            { "metadata.labels.app", json_str("db") },
            { "metadata.ownerReferences",
                test_json("[{'controller': true, 'uid': 'StatefulSet/db'}]") },
            { "data.spec.template", json_with(a, tmpl, "spec.containers", containers) },
            { "revision", json_int(number) }));
}

static void add_pod(struct stage *s, const char *name, const char *revision, const char *phase)
{
    struct arena *a = test_arena();
    struct json pod = test_json(
        "{'kind': 'Pod', 'metadata': {'ownerReferences': ["
        " {'controller': true, 'uid': 'StatefulSet/db'}]}, 'status': {'conditions': [{"
        " 'type': 'Ready', 'status': 'True', 'lastTransitionTime': '2026-11-15T16:59:55Z'}]}}");
    struct json labels = json_map(a,
        { "app", json_str("db") },
        { STATEFUL_REVISION, json_str(revision) },
        { STATEFUL_POD_NAME, json_str(name) },
        { STATEFUL_POD_INDEX, json_str(strrchr(name, '-') + 1) });
    pod = json_with(a, pod, "metadata.name", json_str(name));
    pod = json_with(a, pod, "metadata.labels", labels);
    stage_add_json(s, json_with(a, pod, "status.phase", json_str(phase)));
}

/* "+db-0 -db-2": pods that are made and deleted. */
static const char *moves(const struct stage *s)
{
    const char *text = "";
    for (size_t i = 0; i < s->plan.child_count; i++) {
        const struct plan_child *c = &s->plan.children[i];
        if (c->resource == &WORKLOADS_POD)
            text = arena_printf(test_arena(),
                "%s%s%s%s",
                text,
                *text ? " " : "",
                c->mode == PLAN_ABSENT ? "-"
                : c->mode == PLAN_ONCE ? "+"
                                       : "~",
                json_get_text(c->object, "metadata.name"));
    }
    return text;
}

TEST(a_stateful_set_starts_with_its_first_pod)
{
    struct stage s;
    begin(&s,
        "{'spec.ordinals': {'start': 4}, 'spec.volumeClaimTemplates': [{'metadata': {"
        " 'name': 'data', 'labels': {'size': 'big'}}, 'spec': {'accessModes': ['x']}}]}");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "+db-4");
    struct json pod = stage_child(&s, "Pod"), revision = stage_child(&s, "ControllerRevision");
    check_text(json_get_text(pod, "spec.hostname"), "db-4");
    check_text(json_get_text(pod, "spec.subdomain"), "all");
    check_json(json_get(pod, "spec.volumes"),
        "[{'name': 'data', 'persistentVolumeClaim': {'claimName': 'data-db-4'}},"
        " {'name': 'tmp', 'emptyDir': {}}]");
    struct json labels = json_get(pod, "metadata.labels");
    check_text(json_text(json_member(labels, STATEFUL_POD_INDEX)), "4");
    check(json_equal(json_member(labels, STATEFUL_REVISION), json_get(revision, "metadata.name")));
    check_int(json_get_int(revision, "revision", 0), 1);
    check_text(json_get_text(revision, "data.spec.template.$patch"), "replace");
    struct json claim = stage_child(&s, "PersistentVolumeClaim");
    check_text(json_get_text(claim, "metadata.name"), "data-db-4");
    check_json(json_get(claim, "metadata.labels"), "{'app': 'db', 'size': 'big'}");
    check_int(json_get_int(s.plan.status, "replicas", 0), 1);
    check_int(json_get_int(s.plan.status, "updatedReplicas", 0), 1);
}

TEST(each_pod_waits_for_those_before_it_unless_they_may_come_at_once)
{
    struct stage s;
    begin(&s, "{'spec.minReadySeconds': 10}");
    add_revision(&s, "db-two", "a:2", 1);
    add_pod(&s, "db-0", "db-two", "Running");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    check_int(s.plan.after_ms, 5000);
    s.world.now_ms += 5000;
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "+db-1");
    begin(&s, "{'spec.podManagementPolicy': 'Parallel'}");
    add_revision(&s, "db-two", "a:2", 1);
    add_pod(&s, "db-1", "db-two", "Pending");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "+db-0 +db-2");
}

TEST(a_set_of_many_pods_is_made_in_steps)
{
    struct stage s;
    begin(&s, "{'spec.podManagementPolicy': 'Parallel', 'spec.replicas': 2000000000}");
    stage_run(&s, KIND, "db");
    check_int(json_get_int(s.plan.status, "replicas", 0), 8);
    check_int(s.plan.outcome, OUTCOME_RECHECK);
}

TEST(the_highest_pod_is_updated_first_down_to_the_partition)
{
    struct stage s;
    begin(&s, "{'status': {'currentRevision': 'db-one'}}");
    add_revision(&s, "db-one", "a:1", 1);
    add_revision(&s, "db-two", "a:2", 2);
    add_pod(&s, "db-0", "db-one", "Running");
    add_pod(&s, "db-1", "db-one", "Running");
    add_pod(&s, "db-2", "db-one", "Running");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "-db-2");
    check_int(json_get_int(s.plan.status, "currentReplicas", 0), 2);
    stage_edit(&s,
        &WORKLOADS_STATEFUL_SET,
        "db",
        "spec.updateStrategy.rollingUpdate",
        "{'maxUnavailable': '50%', 'partition': 0}");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "-db-2 -db-1");
    stage_edit(&s, &WORKLOADS_STATEFUL_SET, "db", "spec.updateStrategy", "{'type': 'OnDelete'}");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    stage_edit(&s,
        &WORKLOADS_STATEFUL_SET,
        "db",
        "spec.updateStrategy",
        "{'type': 'RollingUpdate', 'rollingUpdate': {'partition': 2}}");
    add_pod(&s, "db-2", "db-two", "Running");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    check_text(json_get_text(s.plan.status, "currentRevision"), "db-one");
    add_pod(&s, "db-0", "db-two", "Running");
    add_pod(&s, "db-1", "db-two", "Running");
    stage_run(&s, KIND, "db");
    check_text(json_get_text(s.plan.status, "currentRevision"), "db-two");
    check_int(json_get_int(s.plan.status, "currentReplicas", 0), 3);
}

TEST(a_pod_below_the_partition_comes_back_as_it_was)
{
    struct stage s;
    begin(&s,
        "{'spec.updateStrategy.rollingUpdate.partition': 1, 'spec.replicas': 1,"
        " 'status': {'currentRevision': 'db-one'}}");
    add_revision(&s, "db-one", "a:1", 1);
    add_revision(&s, "db-two", "a:2", 2);
    stage_run(&s, KIND, "db");
    struct json pod = stage_child(&s, "Pod");
    check_text(json_get_text(pod, "spec.containers.0.image"), "a:1");
    check(!json_present(json_get(pod, "$patch")));
}

TEST(a_template_that_comes_back_gets_the_highest_revision)
{
    struct stage s;
    begin(&s, "{'spec.revisionHistoryLimit': 0, 'status': {'currentRevision': 'db-one'}}");
    add_revision(&s, "db-old", "a:0", 3);
    add_revision(&s, "db-one", "a:1", 5);
    add_revision(&s, "db-two", "a:2", 4);
    stage_run(&s, KIND, "db");
    check_int(
        json_get_int(stage_child_named(&s, "ControllerRevision", "db-two"), "revision", 0), 6);
    check_text(json_get_text(s.plan.status, "updateRevision"), "db-two");
    check_int(s.plan.children[s.plan.child_count - 1].mode, PLAN_ABSENT);
    check_text(
        json_get_text(s.plan.children[s.plan.child_count - 1].object, "metadata.name"), "db-old");
}

TEST(pods_that_are_too_many_go_from_the_highest)
{
    struct stage s;
    begin(&s, "{'spec.replicas': 1}");
    add_revision(&s, "db-two", "a:2", 1);
    add_pod(&s, "db-0", "db-two", "Running");
    add_pod(&s, "db-1", "db-two", "Running");
    add_pod(&s, "db-2", "db-two", "Running");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "-db-2");
    stage_edit(&s, &WORKLOADS_POD, "db-1", "status.phase", "'Pending'");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "-db-2");
    stage_edit(&s, &WORKLOADS_POD, "db-2", "status.phase", "'Pending'");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    stage_edit(&s, &WORKLOADS_STATEFUL_SET, "db", "spec.podManagementPolicy", "'Parallel'");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "-db-2 -db-1");
}

TEST(a_pod_that_ended_is_deleted_and_one_without_its_labels_gets_them_back)
{
    struct stage s;
    begin(&s, "{'spec.replicas': 2}");
    add_revision(&s, "db-two", "a:2", 1);
    add_pod(&s, "db-0", "db-two", "Succeeded");
    add_pod(&s, "db-1", "db-two", "Running");
    stage_edit(&s, &WORKLOADS_POD, "db-1", "metadata.labels", "{'app': 'db'}");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "~db-1 -db-0");
    check_json(json_get(stage_child_named(&s, "Pod", "db-1"), "metadata.labels"),
        "{'apps.kubernetes.io/pod-index': '1', 'statefulset.kubernetes.io/pod-name': 'db-1'}");
}

TEST(a_pod_waits_for_a_claim_that_goes_and_tells_of_one_that_is_refused)
{
    struct stage s;
    begin(&s, "{'spec.volumeClaimTemplates': [{'metadata': {'name': 'data'}}]}");
    stage_add(&s,
        "{'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'data-db-0',"
        " 'ownerReferences': [{'kind': 'Pod', 'name': 'db-0', 'uid': 'one-before'}]}}");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    begin(&s, "{'spec.volumeClaimTemplates': [{'metadata': {'name': 'data'}}]}");
    stage_trouble(&s, "PersistentVolumeClaim", TROUBLE_REFUSED, "spec.resources: Required value");
    stage_run(&s, KIND, "db");
    check_text(moves(&s), "");
    check_text(json_get_text(json_item(json_get(s.plan.status, "conditions"), 0), "message"),
        "spec.resources: Required value");
    check_int(s.plan.outcome, OUTCOME_WAIT);
}

TEST(claims_belong_to_whom_the_policy_names)
{
    struct arena *a = test_arena();
    struct json set = test_json("{'metadata': {'name': 'db', 'uid': 's'}}"), owners;
    struct json pod = test_json("{'metadata': {'name': 'db-0', 'uid': 'p'}}");
    struct json claim = test_json("{'metadata': {'ownerReferences': [{'uid': 'other'}]}}");
    static const struct {
        const char *deleted, *scaled;
        bool condemned;
        const char *owner;
    } cases[] = {
        { "Retain", "Retain", false, NULL },
        { "Retain", "Retain", true, NULL },
        { "Delete", "Retain", false, "s" },
        { "Delete", "Retain", true, "s" },
        { "Retain", "Delete", false, NULL },
        { "Retain", "Delete", true, "p" },
        { "Delete", "Delete", false, "s" },
        { "Delete", "Delete", true, "p" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        set = json_with(a,
            set,
            "spec.persistentVolumeClaimRetentionPolicy",
            json_map(a,
                { "whenDeleted", json_str(cases[i].deleted) },
                { "whenScaled", json_str(cases[i].scaled) }));
        owners = stateful_claim_owners(a, claim, set, pod, cases[i].condemned);
        check_int(owners.count, cases[i].owner ? 2 : 1);
        check_text(json_get_text(owners, "0.uid"), "other");
        check_text(json_get_text(owners, "1.uid"), cases[i].owner);
        claim = json_with(a, claim, "metadata.ownerReferences", owners);
    }
    claim = test_json("{'metadata': {'ownerReferences': [{'uid': 'x', 'controller': true}]}}");
    check_int(stateful_claim_owners(a, claim, set, pod, true).count, 1);
}

TEST(only_names_of_the_set_have_an_ordinal)
{
    check_int(stateful_ordinal("db", "db-12"), 12);
    check_int(stateful_ordinal("db", "db--1"), -1);
    check_int(stateful_ordinal("db", "db-x"), -1);
    check_int(stateful_ordinal("db", "db-"), -1);
    check_int(stateful_ordinal("db", "db-a-1"), -1);
    check_int(stateful_ordinal("db-a", "db-a-1"), 1);
    check_int(stateful_ordinal("db", "db-99999999999"), -1);
}
