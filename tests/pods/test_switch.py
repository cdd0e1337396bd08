"""Switching from the three upstream operators and back while pods run: what upstream left, of the recordings, with programs
in place of upstream's images that answer probes and do nothing else."""
import json

import images
import test_otterscale_switch as otterscale
import test_takeover as llmkube
import test_toolhive_takeover as toolhive
from lab import wait_for
from otters import with_others
from test_pages import play, upstream
from test_pods import HOME, rolled_out, running

import golden

# Each with the operator's Deployment.
FROM = (("llmkube", "llmkube-system", "llmkube-controller-manager"),
        ("toolhive", "toolhive-system", "toolhive-operator"),
        ("otterscale", "otterscale-system", "model-operator-controller-manager"))
CASES = {"llmkube": "isvc-lifetime", "toolhive": "mcps-stdio-minimal", "otterscale": "ms-minimal"}
MANAGERS = {"manager", "thv-operator"}


def with_true_scripts(o):
    """The recordings have no text of upstream's shell scripts."""
    return json.loads(json.dumps(o).replace('"<script>"', '"true"'))


def write_llmkube(lab, case):
    picture, uids = golden.recorded("llmkube", case)["ready"], {}
    lab.namespace(case)
    for o in sorted(picture["inputs"], key=lambda o: o["kind"] == "InferenceService") + picture["children"]:
        llmkube.write(lab, case, llmkube.plain(with_true_scripts(o)), uids)


def parts(lab):
    return [d for case in CASES.values() for d in lab.list("deployments", case)]


def pods(lab):
    return {case: running(lab, case) for case in CASES.values()}


def load_stand_ins(lab):
    names = {c["image"] for d in parts(lab) for key in ("initContainers", "containers")
             for c in d["spec"]["template"]["spec"].get(key, [])}
    files = images.tools()
    stand_in = (["/app/stand-in"], "1000:1000")
    lab.load(images.write(f"{lab.dir}/stand-ins.tar", files, {name: stand_in for name in (*names, "upstream.test/manager:1")}))


def as_upstream_left_it(lab):
    if not lab.list("customresourcedefinitions"):
        lab.install_crds("api")  # else those that the chart left, as the classes
        lab.api("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "llmkube-normal"}, "value": 10000})
    with_others(lab)
    otterscale.SCRIPT = "true\n"
    lab.api("PATCH", "/api/v1/nodes/machine/status", {"status": {"capacity": {"nvidia.com/gpu": "4"}}},
            "application/merge-patch+json")
    write_llmkube(lab, CASES["llmkube"])
    toolhive.Writer(lab).write_case(CASES["toolhive"])
    otterscale.as_upstream_left_it(lab, CASES["otterscale"])
    load_stand_ins(lab)
    for _, namespace, name in FROM:
        upstream(lab, namespace, name)

    def run():
        """All but the endpoint picker, which wants more processors than a small machine has."""
        states = {p["metadata"]["name"]: p["status"]["phase"] for case in CASES.values() for p in lab.list("pods", case)}
        return len(states) == 4 and all(s == "Running" for name, s in states.items() if "-epp-" not in name) or None
    wait_for(run, 180, "upstream's pods to run")


def owners(lab):
    return {(d["metadata"]["name"], m["manager"]) for d in parts(lab) for m in d["metadata"]["managedFields"]}


def test_the_switch_from_all_three_operators_and_back_restarts_no_pod(lab):
    as_upstream_left_it(lab)
    before = pods(lab)
    for _, namespace, name in FROM[1:]:
        lab.kubectl("-n", namespace, "scale", "deployment", name, "--replicas=0")
    play(lab, "switch-llmkube", image="leeboard")
    rolled_out(lab, HOME, "leeboard")
    wait_for(lambda: not {manager for _, manager in owners(lab)} & MANAGERS, 120, "all Deployments to be taken over")
    assert {name for name, manager in owners(lab) if manager == "leeboard"} == {d["metadata"]["name"] for d in parts(lab)}
    mark = lab.mark()
    wait_for(lambda: rests(lab, mark), 120, "the operator to rest")
    assert pods(lab) == before, (pods(lab), before)
    play(lab, "go-back", image="leeboard")
    wait_for(lambda: running(lab, "llmkube-system") and not running(lab, HOME), 60, "the upstream operator to be back")
    assert pods(lab) == before, (pods(lab), before)


def rests(lab, mark, seen={}):
    """Twice the same count of writes of the operator, at least ten looks apart."""
    count = sum(lab.writes(mark).values())
    seen["same"] = seen.get("same", 0) + 1 if seen.get("count") == count else 0
    seen["count"] = count
    return seen["same"] >= 10
