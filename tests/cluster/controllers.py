"""Scenarios for controllers: played under the real ones of Kubernetes, then under ours, they must end
in the same objects. The test plays the pods."""
import json
import re
import time

from lab import ApiError, Lab, wait_for
from promises import Operator

OURS_OFF = "*," + ",".join(f"-{name}-controller" for name in (
    "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
    "horizontal-pod-autoscaler", "disruption", "ttl-after-finished", "endpoints", "endpointslice",
    "persistentvolume-binder", "persistentvolumeclaim-protection", "persistentvolume-protection"))
IMAGE = "registry.invalid/app"
LABELS = {"app": "web"}
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KINDS = ("deployments", "replicasets", "pods")
# Who wrote it, when and by which name it is known; blockOwnerDeletion needs more rights than ours.
PRIVATE = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "blockOwnerDeletion")


def template(tag="1", **more):
    container = {"name": "main", "image": f"{IMAGE}:{tag}", **more}
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}


def play_pod(lab, ns, pod, phase="Running", ready=True):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [{"type": kind, "status": "True" if ready else "False", "lastTransitionTime": now}
                  for kind in ("Ready", "ContainersReady")]
    try:
        lab.patch("pods", ns, f"{pod['metadata']['name']}/status", {"status": {
            "phase": phase, "conditions": conditions, "startTime": now}})
    except ApiError as e:
        assert e.code == 404, e  # its controller was faster


def pods(lab, ns, tag=None):
    return [p for p in lab.list("pods", ns) if "deletionTimestamp" not in p["metadata"] and (
        tag is None or p["spec"]["containers"][0]["image"] == f"{IMAGE}:{tag}")]


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True"
               for c in pod["status"].get("conditions") or ())


def play(lab, ns, tag=None):
    """The kubelet's part: what is there becomes ready."""
    for pod in pods(lab, ns, tag):
        if not is_ready(pod):
            play_pod(lab, ns, pod)


def play_until(lab, ns, done, tag=None):
    def step():
        play(lab, ns, tag)
        return done()
    wait_for(step, 30, "the pods to be played")


# What two worlds are compared by

def shown(o, names):
    """Without what differs between two runs."""
    if isinstance(o, dict):
        return {names(k): shown(v, names) for k, v in o.items()
                if k not in PRIVATE and v not in (None, {})}
    if isinstance(o, list):
        rest = [shown(v, names) for v in o]
        return sorted(rest, key=lambda v: v["type"]) if all(
            isinstance(v, dict) and "type" in v for v in rest) else rest
    return names(o) if isinstance(o, str) else o


def snapshot(lab, ns, kinds=KINDS):
    """Every object of these kinds; hashes are numbered by revision, names by chance are left out."""
    hashes = {}
    for s in sorted(lab.list("replicasets", ns), key=lambda s: int(
            s["metadata"].get("annotations", {}).get("deployment.kubernetes.io/revision", 0))):
        if h := s["metadata"].get("labels", {}).get("pod-template-hash"):
            hashes.setdefault(h, f"HASH{len(hashes)}")
    for r in sorted(lab.list("controllerrevisions", ns), key=lambda r: r["revision"]):
        hashes.setdefault(r["metadata"]["labels"]["controller.kubernetes.io/hash"], f"HASH{len(hashes)}")

    def names(text):
        for h, number in hashes.items():
            text = text.replace(h, number)
        text = re.sub(r"kube-api-access-\w{5}", "kube-api-access", text)
        # Whether a Deployment says the first or the second depends on when its controller came by last.
        text = re.sub("^NewReplicaSetCreated$", "ReplicaSetUpdated", text)
        text = re.sub('^Created new replica set (".*")$', r"ReplicaSet \1 is progressing.", text)
        return TIMES.sub("TIME", text)
    all_of = {}
    for kind in kinds:
        items = [shown(o, names) for o in lab.list(kind, ns)]
        for o in items:
            # Between two passes of another controller it may have any number.
            o["metadata"].pop("generation", None)
            o.get("status", {}).pop("observedGeneration", None)
            owners = o["metadata"].get("ownerReferences") or [{}]
            if o["metadata"].get("generateName") and owners[0].get("kind") != "StatefulSet":
                o["metadata"]["name"] = "CHANCE"
        all_of[kind] = sorted(items, key=lambda o: json.dumps(o, sort_keys=True))
    return all_of


def differences(theirs, ours, path=""):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            yield from differences(theirs.get(key), ours.get(key), f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, pair in enumerate(zip(theirs, ours)):
            yield from differences(*pair, f"{path}[{i}]")
    elif theirs != ours:
        yield f"{path}: theirs {theirs!r}, ours {ours!r}"


class World:
    """One run of a scenario. The real controllers' pictures are kept; ours must become the same."""

    def __init__(self, lab, theirs=None):
        self.lab, self.theirs, self.pictures = lab, theirs, []

    def picture(self, ns, kinds=KINDS):
        return self.look(ns, lambda lab, ns: snapshot(lab, ns, kinds))

    def look(self, ns, how):
        if self.theirs is None:
            self.pictures.append(how(self.lab, ns))
            return self.pictures[-1]
        wanted, last = self.theirs[len(self.pictures)], []

        def same():
            last[:] = differences(wanted, how(self.lab, ns))
            return not last
        try:
            wait_for(same, 30, "the same picture")
        except AssertionError:
            raise AssertionError(f"picture {len(self.pictures)} of {ns}:\n" + "\n".join(last)) from None
        self.pictures.append(wanted)
        return wanted


def compare(*scenarios):
    """Each under the real controllers, then under ours."""
    with Lab(controllers="*") as real:
        theirs = []
        for scenario in scenarios:
            world = World(real)
            scenario(world, real, real.namespace(scenario.__name__.replace("_", "-")))
            theirs.append(world.pictures)
    with Lab(controllers=OURS_OFF) as lab:
        lab.install_crds("api")
        with Operator(lab, "--workloads"):
            for scenario, pictures in zip(scenarios, theirs):
                world = World(lab, pictures)
                scenario(world, lab, lab.namespace(scenario.__name__.replace("_", "-")))


def status(lab, ns, plural="deployments", name="web"):
    return lab.get(plural, ns, name).get("status", {})


def told(lab, ns, kind, plural="deployments", name="web"):
    """"True Reason" of a condition."""
    for c in status(lab, ns, plural, name).get("conditions") or ():
        if c["type"] == kind:
            return f"{c['status']} {c.get('reason')}"
    return None
