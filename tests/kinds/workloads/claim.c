#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

static const struct workloads_settings SETTINGS = { .volumes = "/data" };

static void begin(struct stage *s, const char *more)
{
    stage_init(s, &SETTINGS);
    struct json claim = test_json(
        "{'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'c', 'uid': 'u1'}, 'spec': {"
        " 'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}");
    json_each_member (m, test_json(more))
        claim = json_with(test_arena(), claim, m->key, m->value);
    stage_add_json(s, claim);
}

TEST(a_claim_is_bound_to_a_directory_of_its_own)
{
    struct stage s;
    begin(&s, "{'spec.storageClassName': 'fast'}");
    stage_run(&s, &workloads_claim_kind, "c");
    struct json volume = stage_child(&s, "PersistentVolume");
    check_text(json_get_text(volume, "metadata.name"), "pvc-u1");
    check_text(json_get_text(volume, "spec.hostPath.path"), "/data/ns/c");
    check_text(json_get_text(volume, "spec.storageClassName"), "fast");
    check_text(json_get_text(volume, "spec.claimRef.uid"), "u1");
    check_text(json_get_text(s.plan.amendment, "spec.volumeName"), "pvc-u1");
    check_text(json_get_text(s.plan.status, "phase"), "Bound");
    check_text(json_get_text(s.plan.status, "capacity.storage"), "1Gi");
    check_text(json_get_text(s.plan.status, "conditions.0.type"), "leeboard.dev/SizeNotEnforced");
}

TEST(a_claim_for_a_volume_of_others_waits_for_it)
{
    struct stage s;
    begin(&s, "{'spec.storageClassName': ''}");
    stage_run(&s, &workloads_claim_kind, "c");
    check_int(s.plan.child_count, 0);
    check_json(s.plan.status, "{'phase': 'Pending'}");
    begin(&s, "{'spec.volumeName': 'disk'}");
    stage_run(&s, &workloads_claim_kind, "c");
    check_json(s.plan.status, "{'phase': 'Pending'}");
    stage_add(&s,
        "{'kind': 'PersistentVolume', 'metadata': {'name': 'disk'}, 'spec': {"
        " 'accessModes': ['ReadWriteMany'], 'capacity': {'storage': '5Gi'},"
        " 'claimRef': {'namespace': 'ns', 'name': 'c'}}}");
    stage_run(&s, &workloads_claim_kind, "c");
    check_text(json_get_text(s.plan.status, "capacity.storage"), "5Gi");
    check_int(s.plan.child_count, 0);
}

TEST(a_claim_that_goes_stays_while_a_pod_uses_it)
{
    struct stage s;
    begin(&s, "{'metadata.deletionTimestamp': '2026-11-15T16:00:00Z'}");
    stage_add(&s,
        "{'kind': 'Pod', 'metadata': {'name': 'p'}, 'status': {'phase': 'Running'}, 'spec': {"
        " 'volumes': [{'persistentVolumeClaim': {'claimName': 'c'}}]}}");
    stage_run(&s, &workloads_claim_kind, "c");
    check(s.plan.stay);
    check(!stage_has_effect(&s, "volume.remove"));
    stage_edit(&s, &WORKLOADS_POD, "p", "status.phase", "'Succeeded'");
    stage_run(&s, &workloads_claim_kind, "c");
    check(s.plan.stay && stage_has_effect(&s, "volume.remove"));
    stage_fact(&s,
        "volume.remove /data/ns/c",
        "{'error': {'code': 'Io', 'message': 'removing /data/ns/c: Device or resource busy'}}");
    stage_run(&s, &workloads_claim_kind, "c");
    check(s.plan.stay && stage_has_effect(&s, "volume.remove"));
    struct json stays =
        json_find(json_get(s.plan.status, "conditions"), "type", "leeboard.dev/NotRemoved");
    check_text(json_get_text(stays, "message"), "removing /data/ns/c: Device or resource busy");
    check_text(s.plan.events[0].reason, "VolumeFailedDelete");
    check_int(s.plan.outcome, OUTCOME_RECHECK);
    stage_fact(&s, "volume.remove /data/ns/c", "{'result': {}}");
    stage_run(&s, &workloads_claim_kind, "c");
    check(!s.plan.stay);
    stage_edit(&s, &WORKLOADS_CLAIM, "c", "spec.volumeName", "'disk'");
    stage_run(&s, &workloads_claim_kind, "c");
    check(!stage_has_effect(&s, "volume.remove"));
}

TEST(a_volume_tells_whose_it_is)
{
    struct stage s;
    begin(&s, "{}");
    stage_add(&s,
        "{'kind': 'PersistentVolume', 'metadata': {'name': 'v'}, 'spec': {"
        " 'claimRef': {'namespace': 'ns', 'name': 'c', 'uid': 'u1'}}}");
    stage_run(&s, &workloads_volume_kind, "v");
    check_json(s.plan.status, "{'phase': 'Bound'}");
    stage_edit(&s, &WORKLOADS_VOLUME, "v", "spec.claimRef.uid", "'u0'");
    stage_run(&s, &workloads_volume_kind, "v");
    check_json(s.plan.status, "{'phase': 'Released'}");
    stage_edit(&s, &WORKLOADS_VOLUME, "v", "spec.claimRef", NULL);
    stage_run(&s, &workloads_volume_kind, "v");
    check_json(s.plan.status, "{'phase': 'Available'}");
}

TEST(a_claim_of_a_stateful_set_goes_with_whom_its_policy_names)
{
    struct stage s;
    stage_init(&s, &SETTINGS);
    stage_add(&s,
        "[{'kind': 'PersistentVolumeClaim', 'metadata': {'name': 'my-data-my-db-1', 'uid': 'u1'},"
        "  'spec': {}},"
        " {'kind': 'StatefulSet', 'metadata': {'name': 'my-db'}, 'spec': {'replicas': 2,"
        "  'persistentVolumeClaimRetentionPolicy': {'whenDeleted': 'Delete', 'whenScaled':"
        "  'Delete'}, 'volumeClaimTemplates': [{'metadata': {'name': 'my-data'}}]}},"
        " {'kind': 'Pod', 'metadata': {'name': 'my-db-1', 'ownerReferences': ["
        "  {'controller': true, 'uid': 'StatefulSet/my-db'}]}}]");
    stage_run(&s, &workloads_claim_kind, "my-data-my-db-1");
    struct json owners = json_get(s.plan.amendment, "metadata.ownerReferences");
    check_text(json_get_text(owners, "0.kind"), "StatefulSet");
    stage_edit(&s, &WORKLOADS_STATEFUL_SET, "my-db", "spec.replicas", "1");
    stage_run(&s, &workloads_claim_kind, "my-data-my-db-1");
    owners = json_get(s.plan.amendment, "metadata.ownerReferences");
    check_text(json_get_text(owners, "0.kind"), "Pod");
}

TEST(a_claim_for_a_block_device_waits_and_says_why)
{
    struct stage s;
    begin(&s, "{'spec.volumeMode': 'Block'}");
    stage_run(&s, &workloads_claim_kind, "c");
    check_int(s.plan.child_count, 0);
    check_json(s.plan.status, "{'phase': 'Pending'}");
    check(stage_has_event(&s, "ProvisioningFailed"));
}

TEST(a_volume_of_nobody_is_for_the_claim_that_names_it)
{
    struct stage s;
    begin(&s, "{'spec.volumeName': 'disk'}");
    stage_add(&s, "{'kind': 'PersistentVolume', 'metadata': {'name': 'disk'}, 'spec': {}}");
    stage_run(&s, &workloads_volume_kind, "disk");
    check_text(json_get_text(s.plan.amendment, "spec.claimRef.name"), "c");
    check_text(json_get_text(s.plan.amendment, "spec.claimRef.uid"), "u1");
    check_json(s.plan.status, "{'phase': 'Available'}");
    stage_edit(&s, &WORKLOADS_CLAIM, "c", "spec.volumeName", "'other'");
    stage_run(&s, &workloads_volume_kind, "disk");
    check(!json_present(s.plan.amendment));
}
