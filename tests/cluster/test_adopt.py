"""Taking over from LLMKube: its objects stay as they are, nothing restarts, ownership moves to us.

The objects are those that LLMKube 0.9.19 was recorded to make, written as it writes them: by plain
creates and updates of the field manager `manager`, with the owner's live uid."""
import json

import replay  # noqa: F401 - finds golden
from lab import wait_for
from promises import KINDS, Operator, model, nothing_happens, service, wait_condition

import golden

LAB = {"controllers": "*"}
CASES = ("generic-all", "isvc-env-volumes", "isvc-gpu-nvidia", "isvc-hpa-default", "isvc-metadata",
         "isvc-name-dotted", "isvc-resources", "isvc-scheduling", "tgi-all", "vllm-kv-custom")
MANAGER = "manager"
PLURAL = {kind: plural for plural, kind in KINDS.items()}
SCRIPT = "echo a program text of LLMKube's own"
MADE = ("Deployment", "Service", "HorizontalPodAutoscaler")


def revived(value, uids):
    """A recorded object with what the recording left out."""
    if isinstance(value, dict):
        if value.get("kind") == "Service" and "clusterIP" in value.get("spec", {}):
            value = {**value, "spec": {k: v for k, v in value["spec"].items()
                                       if v not in ("<assigned>", ["<assigned>"])}}
        return {k: uids[v] if k == "uid" else revived(v, uids) for k, v in value.items()
                if not (k == "nodePort" and v == 0)}
    if isinstance(value, list):
        return [revived(v, uids) for v in value]
    return {"<time>": "2026-08-20T12:00:00Z", "<script>": SCRIPT}.get(value, value)


def as_llmkube_left_it(lab, case):
    """Applies a case and plays LLMKube; returns the children."""
    ns, recorded = lab.namespace(case), golden.recorded(golden.FAMILY, case)["applied"]
    lab.kubectl("-n", ns, "apply", "-f", golden.cases(golden.FAMILY)[case])
    uids = {}
    for o in recorded["inputs"]:
        if o["kind"] in ("Model", "InferenceService"):
            path = lab.path(PLURAL[o["kind"]], ns, o["metadata"]["name"])
            live = lab.api("GET", path)
            uids[golden.object_key(o)] = live["metadata"]["uid"]
            lab.api("PUT", f"{path}/status?fieldManager={MANAGER}",
                    {**live, "status": revived(o["status"], uids)})
    children = []
    for o in recorded["children"]:
        path = lab.path(PLURAL[o["kind"]], ns)
        children.append({**lab.api("POST", f"{path}?fieldManager={MANAGER}", revived(o, uids)),
                         "kind": o["kind"]})
    return children


def live(lab, o):
    return {**lab.get(PLURAL[o["kind"]], o["metadata"]["namespace"], o["metadata"]["name"]),
            "kind": o["kind"]}


def managers(o, subresource=None):
    return {(m["manager"], m["operation"]) for m in o["metadata"]["managedFields"]
            if m.get("subresource") == subresource}


def sets(lab, ns):
    return sorted(s["metadata"]["name"] for s in lab.list("replicasets", ns))


def check_taken_over(lab, o):
    now, what = live(lab, o), f"{o['metadata']['namespace']} {golden.object_key(o)}"
    assert now["metadata"]["uid"] == o["metadata"]["uid"], f"{what} was made anew"
    assert ("leeboard", "Apply") in managers(now), f"{what}: {managers(now)}"
    assert not any(name == MANAGER for name, _ in managers(now)), f"{what}: {managers(now)}"
    if o["kind"] == "Deployment":
        assert now["spec"]["template"] == o["spec"]["template"], \
            f"{what}: {json.dumps(now['spec']['template'])}"


def test_objects_of_llmkube_are_taken_over_without_a_restart(lab):
    """Broken by never taking over (adopt_wanted() always false): "generic-all Deployment/svc:
    {('leeboard', 'Apply'), ('manager', 'Update')}"."""
    children = {case: as_llmkube_left_it(lab, case) for case in CASES}
    for case in CASES:
        wait_for(lambda: sets(lab, case), 20, f"the ReplicaSet of {case}")
    before, mark = {case: sets(lab, case) for case in CASES}, lab.mark()
    with Operator(lab, *golden.COMMAND_LINES["*"]) as op:
        op.settle(30)
        for case in CASES:
            for o in children[case]:
                if o["kind"] in MADE:
                    check_taken_over(lab, o)
            for plural in ("models", "inferenceservices"):
                for o in lab.list(plural, case):
                    assert managers(o, "status") == {("leeboard", "Apply")}, \
                        f"{case} {plural}: {managers(o, 'status')}"
        assert {case: sets(lab, case) for case in CASES} == before, "pods were restarted"
        deleted = [w for w in lab.writes(mark) if w.startswith("delete")]
        assert not deleted, deleted
        op.restart()
        mark = lab.mark()
        op.settle(30)
        written = nothing_happens(lab, 3, mark)
        assert not written, f"taken over again: {written}"

        # Now they are ours: a change rolls once, and what nobody wants any more goes away.
        lab.patch("inferenceservices", "isvc-metadata", "svc",
                  {"spec": {"podLabels": {"team": None, "crew": "b"}}})

        def template():
            return lab.get("deployments", "isvc-metadata", "svc")["spec"]["template"]
        wait_for(lambda: template()["metadata"]["labels"].get("crew") == "b", 10, "our change")
        assert "team" not in template()["metadata"]["labels"], template()["metadata"]
        wait_for(lambda: len(sets(lab, "isvc-metadata")) == 2, 10, "one more ReplicaSet")
        op.settle()
        assert len(sets(lab, "isvc-metadata")) == 2
        for c in template()["spec"]["initContainers"]:
            assert SCRIPT not in c["command"], "a real change brings our program along"


def test_an_object_of_somebody_else_is_neither_changed_nor_deleted(lab):
    """A Deployment and a Service of the wanted name that no InferenceService controls."""
    ns = lab.namespace("foreign")
    theirs = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"},
               "spec": {"ports": [{"port": 1}]}},
              {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "svc"}, "spec": {
                  "replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": {
                      "metadata": {"labels": {"a": "b"}},
                      "spec": {"containers": [{"name": "c", "image": "none"}]}}}}]
    lab.apply(ns, theirs)
    before = [live(lab, {**o, "metadata": {"name": "svc", "namespace": ns}})["metadata"]
              ["generation" if o["kind"] == "Deployment" else "resourceVersion"] for o in theirs]
    with Operator(lab) as op:
        lab.apply(ns, [model(), service()])
        said = wait_condition(lab, "inferenceservices", ns, "svc", "Degraded")
        assert "exists and is not controlled by" in said["message"], said
        op.settle()
        after = [live(lab, {**o, "metadata": {"name": "svc", "namespace": ns}})["metadata"]
                 ["generation" if o["kind"] == "Deployment" else "resourceVersion"] for o in theirs]
        assert after == before
        # Out of the way, ours come.
        for plural in ("deployments", "services"):
            lab.delete(plural, ns, "svc")
        wait_condition(lab, "inferenceservices", ns, "svc", "Progressing")
        assert lab.get("services", ns, "svc")["spec"]["ports"][0]["port"] == 8080
