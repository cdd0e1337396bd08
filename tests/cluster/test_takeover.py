"""Taking over from LLMKube's manager: what it made stays as it is, and no pod restarts.

The objects are those of the recordings, written as its manager wrote them: by plain requests, under
its field manager's name. Each test has been seen to fail with its mechanism taken out.
"""
import copy

import replay  # noqa: F401  also finds golden

import golden
from lab import wait_for
from promises import Operator

UPSTREAM = "manager"
FLAGS = golden.COMMAND_LINES["*"]
PLURALS = {"Model": "models", "InferenceService": "inferenceservices",
           "Deployment": "deployments", "Service": "services",
           "PersistentVolumeClaim": "persistentvolumeclaims",
           "HorizontalPodAutoscaler": "horizontalpodautoscalers"}
# Templates that differ from upstream's on purpose: differences.yaml says why.
ROLLED = {"isvc-env-duplicate", "isvc-fsgroup", "isvc-gpu-isvc-only", "isvc-skip-init"}
KINDS_OF_CASES = ("isvc-*", "vllm-*", "sglang-*", "tgi-*", "generic-*", "personaplex-*")
TIME = "2026-08-20T12:00:00Z"


def dated(value):
    if isinstance(value, dict):
        return {k: dated(v) for k, v in value.items()}
    if isinstance(value, list):
        return [dated(v) for v in value]
    return TIME if value == "<time>" else value


def plain(o):
    """A recorded object in a form that can be created."""
    o = dated(copy.deepcopy(o))
    o["metadata"].pop("finalizers", None)
    if o["kind"] == "Service":
        for key in ("clusterIP", "clusterIPs"):
            o["spec"].pop(key, None)
        for port in o["spec"]["ports"]:
            port.pop("nodePort", None)
    return o


def write(lab, namespace, o, uids):
    """Creates it, and its status, as upstream's manager does."""
    plural, status = PLURALS[o["kind"]], o.pop("status", None)
    for owner in o["metadata"].get("ownerReferences", ()):
        owner["uid"] = uids[owner["uid"]]
    by = f"?fieldManager={UPSTREAM}"
    o = lab.api("POST", lab.path(plural, namespace) + by, o)
    if status and plural in ("models", "inferenceservices"):
        path = lab.path(plural, namespace, o["metadata"]["name"]) + "/status" + by
        lab.api("PUT", path, {**o, "status": status})
    uids[golden.object_key(o)] = o["metadata"]["uid"]


def write_case(lab, case):
    picture, uids = golden.recorded(golden.FAMILY, case)["ready"], {}
    lab.namespace(case)
    parts = sorted(picture["inputs"], key=lambda o: o["kind"] == "InferenceService")
    for o in parts + picture["children"]:
        if o["kind"] in PLURALS:
            write(lab, case, plain(o), uids)
    lab.play_ready(case)


def cases():
    """Those that need nothing but Models and services, and have pods."""
    for case in golden.cases(golden.FAMILY, KINDS_OF_CASES):
        picture = golden.recorded(golden.FAMILY, case).get("ready", {"inputs": [], "children": []})
        brought = {o["kind"] for o in picture["inputs"]}
        made = {o["kind"] for o in picture["children"]}
        if brought == {"Model", "InferenceService"} and "Deployment" in made <= set(PLURALS) and \
                not any(o["spec"].get("source", "").startswith("file:") for o in picture["inputs"]):
            yield case


def phases(lab):
    return {(plural, o["metadata"]["namespace"], o["metadata"]["name"]): o["status"]["phase"]
            for plural in ("inferenceservices", "models") for o in lab.list(plural)}


def deployments(lab):
    return {(d["metadata"]["namespace"], d["metadata"]["name"]): d for d in lab.list("deployments")}


def managers(o, subresource=None):
    return {m["manager"] for m in o["metadata"]["managedFields"]
            if m.get("subresource") == subresource}


def test_what_upstream_made_is_taken_over_without_a_restart(lab):
    written = list(cases())
    assert len(written) > 60, written
    for case in written:
        write_case(lab, case)
    before, phases_before, mark = deployments(lab), phases(lab), lab.mark()
    with Operator(lab, *FLAGS) as operator:
        def ours():
            return all(UPSTREAM not in managers(d) for d in deployments(lab).values())
        wait_for(ours, 60, "all Deployments to be taken over")
        operator.settle(60)
        after = deployments(lab)
        rolled = {key[0] for key, d in after.items()
                  if d["spec"]["template"] != before[key]["spec"]["template"]}
        assert rolled == ROLLED, f"pods were replaced in {sorted(rolled)}"
        for key, d in after.items():
            assert d["metadata"]["uid"] == before[key]["metadata"]["uid"], key
            assert "leeboard" in managers(d), (key, managers(d))
        for plural in ("inferenceservices", "models"):
            for o in lab.list(plural):
                assert UPSTREAM not in managers(o, "status"), (plural, o["metadata"]["namespace"])
        assert phases(lab) == phases_before
        writes = lab.writes(mark)
        assert not [w for w in writes if w.startswith(("delete", "create"))], writes
        # and then it rests
        mark = lab.mark()
        operator.restart()
        operator.settle(60)
        assert not lab.writes(mark), lab.writes(mark)
