"""The controllers of Kubernetes, real ones and ours: the same manifests and the same changes, with
pods that the test plays, end in the same objects."""
import json
import re
import time

from lab import ApiError, Lab, own_lab, wait_for
from promises import Operator

OURS_OFF = "*," + ",".join(f"-{name}-controller" for name in (
    "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
    "horizontal-pod-autoscaler", "ttl-after-finished", "endpoints", "endpointslice",
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


def play_address(lab, ns, pod, number, ready):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    ip = f"10.1.2.{number}"
    lab.patch("pods", ns, f"{pod}/status", {"status": {
        "phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [{
            "type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}]}})


def slices(lab, ns):
    """Endpoints in the order of their addresses, since Kubernetes has none."""
    found = snapshot(lab, ns, ("endpointslices",))["endpointslices"]
    for s in found:
        annotations = s["metadata"].get("annotations", {})
        annotations.pop("endpoints.kubernetes.io/last-change-trigger-time", None)
        if not annotations:
            s["metadata"].pop("annotations", None)
        s["endpoints"] = sorted(s.get("endpoints") or [], key=lambda e: e["addresses"])
        s["ports"] = sorted(s.get("ports") or [], key=lambda e: e["name"])
    return sorted(found, key=lambda s: json.dumps(s, sort_keys=True))


def a_service_finds_its_pods(world, lab, ns):
    ports = [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "raw", "port": 90}]
    lab.create("services", ns, {"metadata": {"name": "svc", "labels": {"team": "a"}},
                                "spec": {"selector": LABELS, "ports": ports}})
    lab.create("services", ns, {"metadata": {"name": "plain"}, "spec": {
        "clusterIP": "None", "publishNotReadyAddresses": True, "selector": LABELS,
        "ports": [{"port": 8080, "appProtocol": "http"}]}})
    lab.create("services", ns, {"metadata": {"name": "nobody"}, "spec": {"ports": [{"port": 1}]}})
    wait_for(lambda: len(lab.list("endpointslices", ns)) == 2, 30, "slices without pods")
    world.look(ns, slices)
    lab.create("nodes", None, {"metadata": {"name": "machine"}})
    for number, port in ((1, 8000), (2, 8000), (3, 9000)):
        lab.create("pods", ns, {"metadata": {"name": f"p{number}", "labels": LABELS}, "spec": {
            "nodeName": "machine", "containers": [{"name": "main", "image": IMAGE, "ports": [
                {"name": "web", "containerPort": port}]}]}})
        play_address(lab, ns, f"p{number}", number, number != 2)

    def endpoints():
        return sum(len(s.get("endpoints") or ()) for s in lab.list("endpointslices", ns))
    wait_for(lambda: endpoints() == 6, 30, "six endpoints")
    wait_for(lambda: len(lab.list("endpointslices", ns)) == 3, 30, "a slice for other ports")
    world.look(ns, slices)
    play_address(lab, ns, "p2", 2, True)
    lab.kubectl("-n", ns, "delete", "pod", "p3", "--grace-period=0", "--force")
    wait_for(lambda: endpoints() == 4, 30, "four endpoints")
    wait_for(lambda: all(e["conditions"]["ready"] for s in lab.list("endpointslices", ns)
                         for e in s.get("endpoints") or ()), 30, "all to be ready")
    world.look(ns, slices)


def job(name, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {
        "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": IMAGE}]}}, **spec}}


def jobs(lab, ns):
    found = snapshot(lab, ns, ("jobs", "pods"))
    uids = {o["metadata"]["uid"]: o["metadata"]["name"] for o in lab.list("jobs", ns)}
    text = json.dumps(found)
    for uid, name in uids.items():
        text = text.replace(uid, f"UID-{name}")
    found = json.loads(text)
    for pod in found["pods"]:
        pod["metadata"].pop("finalizers", None)
    return {kind: sorted(items, key=lambda o: json.dumps(o, sort_keys=True))
            for kind, items in found.items()}


def of_job(lab, ns, name):
    return [p for p in pods(lab, ns) if p["metadata"]["labels"].get("job-name") == name]


def play_job(lab, ns, name, phase, count=1):
    """So many pods of it end like that."""
    wait_for(lambda: sum(p["status"]["phase"] == "Pending" for p in of_job(lab, ns, name)) >= count,
             30, f"{count} pods of {name}")
    waiting = [p for p in of_job(lab, ns, name) if p["status"]["phase"] == "Pending"]
    for pod in waiting[:count]:
        play_pod(lab, ns, pod, phase=phase, ready=False)


def ended(lab, ns, name, how):
    wait_for(lambda: (told(lab, ns, how, "jobs", name) or "").startswith("True"), 30,
             f"{name} to be {how}")


def a_job_ends(world, lab, ns):
    lab.apply(ns, job("once"))
    wait_for(lambda: status(lab, ns, "jobs", "once").get("active") == 1, 30, "a pod")
    world.look(ns, jobs)
    play_job(lab, ns, "once", "Succeeded")
    ended(lab, ns, "once", "Complete")
    lab.kubectl("-n", ns, "wait", "--for=condition=complete", "job/once", "--timeout=60s")
    world.look(ns, jobs)
    lab.apply(ns, job("many", completions=3, parallelism=2))
    play_job(lab, ns, "many", "Succeeded", 2)
    wait_for(lambda: status(lab, ns, "jobs", "many").get("succeeded") == 2 and
             status(lab, ns, "jobs", "many").get("active") == 1, 30, "two of three")
    world.look(ns, jobs)
    play_job(lab, ns, "many", "Succeeded")
    ended(lab, ns, "many", "Complete")
    world.look(ns, jobs)


def a_job_fails(world, lab, ns):
    lab.apply(ns, [job("fails", backoffLimit=0, completions=2, parallelism=2),
                   job("late", activeDeadlineSeconds=2)])
    wait_for(lambda: len(of_job(lab, ns, "fails")) == 2, 30, "two pods")
    play_job(lab, ns, "fails", "Failed")
    ended(lab, ns, "fails", "Failed")
    ended(lab, ns, "late", "Failed")
    wait_for(lambda: len(pods(lab, ns)) == 1, 30, "the others to go")
    for o in world.look(ns, jobs)["jobs"]:
        assert "active" not in o["status"], o


def a_job_rests_and_goes(world, lab, ns):
    lab.apply(ns, job("rests", suspend=True))
    wait_for(lambda: told(lab, ns, "Suspended", "jobs", "rests") == "True JobSuspended", 30, "rest")
    world.look(ns, jobs)
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": False}})
    wait_for(lambda: status(lab, ns, "jobs", "rests").get("active") == 1, 30, "a pod")
    world.look(ns, jobs)
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": True}})
    wait_for(lambda: not pods(lab, ns), 30, "no pod")
    wait_for(lambda: not status(lab, ns, "jobs", "rests").get("active"), 30, "rest")
    lab.patch("jobs", ns, "rests", {"spec": {"suspend": False, "ttlSecondsAfterFinished": 1}})
    play_job(lab, ns, "rests", "Succeeded")
    wait_for(lambda: not lab.get("jobs", ns, "rests"), 30, "the end of the Job")


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                     **spec}}


def test_deployments_roll_as_under_kubernetes():
    compare(a_deployment_rolls, a_deployment_changes_its_size, a_deployment_is_recreated)


def test_deployments_pause_and_time_out_as_under_kubernetes():
    compare(a_deployment_pauses, a_deployment_takes_too_long, a_replica_set_keeps_its_pods)


def test_services_find_their_pods_as_under_kubernetes():
    compare(a_service_finds_its_pods)


def test_jobs_end_as_under_kubernetes():
    compare(a_job_ends, a_job_fails, a_job_rests_and_goes)


@own_lab(controllers=OURS_OFF)
def test_a_claim_gets_a_directory_that_goes_with_it(lab):
    ns = lab.namespace("claims")
    with Operator(lab, "--workloads"):
        lab.apply(ns, [claim("data"), claim("other", storageClassName="")])
        lab.kubectl("-n", ns, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/data",
                    "--timeout=60s")
        o = lab.get("persistentvolumeclaims", ns, "data")
        name = f"pvc-{o['metadata']['uid']}"
        assert o["spec"]["volumeName"] == name, o
        assert o["status"]["capacity"] == {"storage": "1Gi"}, o
        wait_for(lambda: (lab.get("persistentvolumes", None, name).get("status") or {}).get(
            "phase") == "Bound", 30, "the volume to be bound")
        volume = lab.get("persistentvolumes", None, name)
        assert volume["spec"]["hostPath"]["path"].endswith("/claims/data"), volume
        assert status(lab, ns, "persistentvolumeclaims", "other")["phase"] == "Pending"
        # Whoever uses it keeps it.
        lab.create("pods", ns, {"metadata": {"name": "user"}, "spec": {
            "containers": [{"name": "main", "image": IMAGE}], "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}})
        lab.kubectl("-n", ns, "delete", "pvc", "data", "--wait=false")
        lab.apply(ns, claim("later"))
        lab.kubectl("-n", ns, "wait", "--for=jsonpath={.status.phase}=Bound", "pvc/later",
                    "--timeout=60s")
        assert lab.get("persistentvolumes", None, name)["status"]["phase"] == "Bound"
        lab.delete("pods", ns, "user")
        wait_for(lambda: not lab.get("persistentvolumeclaims", ns, "data"), 30, "the claim to go")
        wait_for(lambda: not lab.get("persistentvolumes", None, name), 30, "the volume to go")
