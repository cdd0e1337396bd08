"""The controllers of Kubernetes, real ones and ours: the same manifests and the same changes, with
pods that the test plays, end in the same objects."""
import json
import re
import time

from lab import ApiError, Lab, wait_for
from promises import Operator

OURS_OFF = "*," + ",".join(f"-{name}-controller" for name in (
    "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
    "horizontal-pod-autoscaler", "ttl-after-finished", "endpoints", "endpointslice",
    "persistentvolume-binder"))
IMAGE = "registry.invalid/app"
LABELS = {"app": "web"}
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
KINDS = ("deployments", "replicasets", "pods")
# Who wrote it, when and by which name it is known; blockOwnerDeletion needs more rights than ours.
PRIVATE = ("managedFields", "uid", "resourceVersion", "creationTimestamp", "blockOwnerDeletion")


def template(tag="1", **more):
    container = {"name": "main", "image": f"{IMAGE}:{tag}", **more}
    return {"metadata": {"labels": LABELS}, "spec": {"containers": [container]}}


def deployment(name="web", replicas=3, tag="1", **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": LABELS},
                     "template": template(tag), **spec}}


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

    def names(text):
        for h, number in hashes.items():
            text = text.replace(h, number)
        text = re.sub(r"kube-api-access-\w{5}", "kube-api-access", text)
        return TIMES.sub("TIME", text)
    all_of = {}
    for kind in kinds:
        items = [shown(o, names) for o in lab.list(kind, ns)]
        for o in items:
            o["metadata"].pop("annotations" if kind == "pods" and not o["metadata"].get(
                "annotations") else "", None)
            # Between two passes of another controller it may have any number.
            o["metadata"].pop("generation", None)
            o.get("status", {}).pop("observedGeneration", None)
            if o["metadata"].get("generateName"):
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
        if self.theirs is None:
            self.pictures.append(snapshot(self.lab, ns, kinds))
            return
        wanted, last = self.theirs[len(self.pictures)], []

        def same():
            last[:] = differences(wanted, snapshot(self.lab, ns, kinds))
            return not last
        try:
            wait_for(same, 30, "the same picture")
        except AssertionError:
            raise AssertionError(f"picture {len(self.pictures)} of {ns}:\n" + "\n".join(last)) from None
        self.pictures.append(wanted)


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


def seen(lab, ns):
    """The Deployment and all its sets have been looked at by their controllers."""
    of = [lab.get("deployments", ns, "web"), *lab.list("replicasets", ns)]
    return all(o.get("status", {}).get("observedGeneration") == o["metadata"]["generation"] for o in of)


def rolled_out(lab, ns, replicas=3):
    def done():
        s = status(lab, ns)
        return (seen(lab, ns) and s.get("replicas") == s.get("updatedReplicas") == replicas and
                s.get("availableReplicas") == replicas and not s.get("terminatingReplicas") and
                not s.get("unavailableReplicas") and
                told(lab, ns, "Progressing") == "True NewReplicaSetAvailable")
    return done


# Scenarios

def a_deployment_rolls(world, lab, ns):
    lab.apply(ns, deployment())
    wait_for(lambda: len(pods(lab, ns)) == 3 and seen(lab, ns) and
             status(lab, ns).get("updatedReplicas") == 3, 30, "three pods")
    world.picture(ns)
    play_until(lab, ns, rolled_out(lab, ns))
    lab.kubectl("-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
    world.picture(ns)
    # One more than three, and none less: the new pod is not ready.
    lab.apply(ns, deployment(tag="2"))
    wait_for(lambda: len(pods(lab, ns, "2")) == 1 and seen(lab, ns) and
             status(lab, ns).get("replicas") == 4, 30, "the fourth pod")
    world.picture(ns)
    play_until(lab, ns, rolled_out(lab, ns))
    wait_for(lambda: len(pods(lab, ns)) == 3, 30, "the old pods to go")
    world.picture(ns)
    lab.kubectl("-n", ns, "rollout", "undo", "deployment/web")
    wait_for(lambda: pods(lab, ns, "1"), 30, "the first template's pods")
    play_until(lab, ns, rolled_out(lab, ns))
    lab.kubectl("-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")
    world.picture(ns)
    history = lab.kubectl("-n", ns, "rollout", "history", "deployment/web").stdout
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"], history


def a_deployment_changes_its_size(world, lab, ns):
    lab.apply(ns, deployment(replicas=4, strategy={
        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "25%"}}))
    play_until(lab, ns, rolled_out(lab, ns, 4))
    lab.kubectl("-n", ns, "scale", "deployment/web", "--replicas=2")
    play_until(lab, ns, rolled_out(lab, ns, 2))
    wait_for(lambda: len(pods(lab, ns)) == 2, 30, "two pods")
    world.picture(ns)
    # In the middle of an update both sets grow, by their sizes.
    lab.apply(ns, deployment(replicas=2, tag="2", strategy={
        "type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "25%"}}))
    wait_for(lambda: len(pods(lab, ns, "2")) == 2 and seen(lab, ns) and
             status(lab, ns).get("replicas") == 4, 30, "two pods of the second template")
    lab.kubectl("-n", ns, "scale", "deployment/web", "--replicas=6")
    wait_for(lambda: len(pods(lab, ns)) == 8 and seen(lab, ns) and
             status(lab, ns).get("replicas") == 8, 30, "eight pods")
    world.picture(ns)
    play_until(lab, ns, rolled_out(lab, ns, 6))
    wait_for(lambda: len(pods(lab, ns)) == 6, 30, "six pods")
    world.picture(ns)
    lab.kubectl("-n", ns, "scale", "deployment/web", "--replicas=0")
    wait_for(lambda: not pods(lab, ns) and seen(lab, ns) and not status(lab, ns).get("replicas"),
             30, "no pods")
    world.picture(ns)


def a_deployment_is_recreated(world, lab, ns):
    strategy = {"type": "Recreate"}
    lab.apply(ns, deployment(replicas=2, strategy=strategy))
    play_until(lab, ns, rolled_out(lab, ns, 2))
    world.picture(ns)
    lab.apply(ns, deployment(replicas=2, tag="2", strategy=strategy))
    wait_for(lambda: len(pods(lab, ns, "2")) == 2 and not pods(lab, ns, "1"), 30, "new pods")
    play_until(lab, ns, rolled_out(lab, ns, 2))
    world.picture(ns)


def a_deployment_pauses(world, lab, ns):
    lab.apply(ns, deployment(replicas=1, revisionHistoryLimit=1))
    play_until(lab, ns, rolled_out(lab, ns, 1))
    lab.kubectl("-n", ns, "rollout", "pause", "deployment/web")
    wait_for(lambda: told(lab, ns, "Progressing") == "Unknown DeploymentPaused", 30, "the pause")
    lab.kubectl("-n", ns, "set", "image", "deployment/web", f"main={IMAGE}:2")
    lab.kubectl("-n", ns, "scale", "deployment/web", "--replicas=2")
    wait_for(lambda: len(pods(lab, ns)) == 2 and seen(lab, ns) and
             status(lab, ns).get("replicas") == 2, 30, "a second pod of the first template")
    play_until(lab, ns, lambda: status(lab, ns).get("availableReplicas") == 2)
    world.picture(ns)
    lab.kubectl("-n", ns, "rollout", "resume", "deployment/web")
    wait_for(lambda: pods(lab, ns, "2"), 30, "the second template's pods")
    play_until(lab, ns, rolled_out(lab, ns, 2))
    wait_for(lambda: len(pods(lab, ns)) == 2, 30, "the old pods to go")
    for tag in ("3", "4"):
        lab.kubectl("-n", ns, "set", "image", "deployment/web", f"main={IMAGE}:{tag}")
        wait_for(lambda: pods(lab, ns, tag), 30, "new pods")
        play_until(lab, ns, rolled_out(lab, ns, 2))
        wait_for(lambda: len(pods(lab, ns)) == 2, 30, "the old pods to go")
    wait_for(lambda: len(lab.list("replicasets", ns)) == 2, 30, "a history of one")
    world.picture(ns)


def a_deployment_takes_too_long(world, lab, ns):
    lab.apply(ns, deployment(replicas=1, progressDeadlineSeconds=2))
    wait_for(lambda: told(lab, ns, "Progressing") == "False ProgressDeadlineExceeded", 30,
             "the deadline")
    done = lab.kubectl("-n", ns, "rollout", "status", "deployment/web", check=False)
    assert "exceeded its progress deadline" in done.stderr, done
    world.picture(ns)
    play_until(lab, ns, rolled_out(lab, ns, 1))
    world.picture(ns)


def a_replica_set_keeps_its_pods(world, lab, ns):
    lab.create("replicasets", ns, {"metadata": {"name": "web"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": LABELS}, "template": template()}})
    lab.create("pods", ns, {"metadata": {"name": "stray", "labels": LABELS},
                            "spec": template()["spec"]})

    def settled(count):
        s = status(lab, ns, "replicasets")
        return (len(pods(lab, ns)) == count and s.get("replicas") == count and
                s.get("availableReplicas") == count)
    play_until(lab, ns, lambda: settled(2))
    owned = [p["metadata"].get("ownerReferences") for p in pods(lab, ns)]
    assert all(o and o[0]["controller"] for o in owned), owned
    gone = pods(lab, ns)[0]["metadata"]["name"]
    lab.delete("pods", ns, gone)
    failed = pods(lab, ns)[0]
    play_pod(lab, ns, failed, phase="Failed", ready=False)
    lab.patch("replicasets", ns, "web", {"spec": {"replicas": 3}})
    wait_for(lambda: len(pods(lab, ns)) == 4, 30, "three pods and the failed one")
    for pod in pods(lab, ns):
        if pod["status"]["phase"] == "Pending":
            play_pod(lab, ns, pod)
    wait_for(lambda: status(lab, ns, "replicasets").get("availableReplicas") == 3, 30, "all ready")
    world.picture(ns, ("replicasets",))


def test_deployments_roll_as_under_kubernetes():
    compare(a_deployment_rolls, a_deployment_changes_its_size, a_deployment_is_recreated)


def test_deployments_pause_and_time_out_as_under_kubernetes():
    compare(a_deployment_pauses, a_deployment_takes_too_long, a_replica_set_keeps_its_pods)
