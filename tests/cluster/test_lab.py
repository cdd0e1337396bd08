"""The harness itself: a control plane that really decides, counts and ends."""
import os

from lab import NO_WORKLOADS, ApiError, Lab, own_lab, wait_for

PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


def deployment(name):
    pod = {"metadata": {"labels": {"app": name}},
           "spec": {"containers": [{"name": "c", "image": "none"}]}}
    return {"metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod}}


def test_a_user_may_do_what_its_rules_say_and_no_more(lab):
    ns = lab.namespace("lab-user")
    config = lab.user("reader", [PODS], ns)
    seen = lab.kubectl("--kubeconfig", config, "-n", ns, "get", "pods")
    assert "No resources found" in seen.stderr, seen
    refused = lab.kubectl("--kubeconfig", config, "-n", ns, "get", "secrets", check=False)
    assert "forbidden" in refused.stderr and "reader" in refused.stderr, refused


def test_writes_are_counted_by_agent_verb_and_resource(lab):
    ns, mark = lab.namespace("lab-count"), lab.mark()
    lab.create("configmaps", ns, {"metadata": {"name": "one"}})
    lab.patch("configmaps", ns, "one", {"data": {"a": "b"}})
    lab.delete("configmaps", ns, "one")
    ours = lab.writes(mark, agent="leeboard-lab")
    assert ours == {f"{verb} configmaps": 1 for verb in ("create", "patch", "delete")}, ours
    assert not lab.writes(mark, agent="somebody-else")


def test_a_played_status_stays(lab):
    ns = lab.namespace("lab-played")
    lab.create("deployments", ns, deployment("d"))
    lab.play_ready(ns)
    assert lab.get("deployments", ns, "d")["status"]["readyReplicas"] == 1
    assert not lab.list("replicasets", ns)


def test_a_missing_object_is_none_and_other_refusals_are_errors(lab):
    assert lab.get("configmaps", "default", "nothing") is None
    try:
        lab.create("configmaps", "nowhere", {"metadata": {"name": "x"}})
    except ApiError as e:
        assert e.code == 404, e
    else:
        raise AssertionError("an object was created in a namespace that is not there")


@own_lab(controllers="*")
def test_with_all_controllers_a_deployment_gets_a_replicaset(lab):
    lab.create("deployments", "default", deployment("d"))
    wait_for(lambda: lab.list("replicasets", "default"), 20, "a ReplicaSet")


def test_stopping_leaves_neither_process_nor_folder():
    lab = Lab(controllers=NO_WORKLOADS)
    processes, folder = [p for _, p in lab.processes], lab.dir
    assert len(processes) == 3
    lab.stop()
    assert all(p.returncode is not None for p in processes) and not os.path.exists(folder)
