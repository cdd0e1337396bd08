"""Deployments, ReplicaSets and Services under the real controllers and under ours."""
import json
import time

from controllers import (IMAGE, LABELS, OURS_OFF, compare, play_pod, play_until, pods, snapshot, status, template,
                         told)
from lab import own_lab, wait_for
from promises import Operator


def deployment(name="web", replicas=3, tag="1", **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": replicas, "selector": {"matchLabels": LABELS},
                     "template": template(tag), **spec}}


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


def a_deployment_waits_until_pods_have_been_ready_for_long(world, lab, ns):
    """Of five, 30 % more are two more, and 30 % less are one less."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "30%", "maxUnavailable": "30%"}}
    spec = {"replicas": 5, "minReadySeconds": 1, "strategy": strategy}
    lab.apply(ns, deployment(**spec))
    play_until(lab, ns, rolled_out(lab, ns, 5))
    add_budgets(lab, ns)
    wait_for(lambda: all(o.get("status", {}).get("conditions") for o in lab.list("poddisruptionbudgets", ns)),
             30, "a first look at the budgets")
    world.picture(ns, ("poddisruptionbudgets",))
    lab.apply(ns, deployment(tag="2", **spec))
    wait_for(lambda: len(pods(lab, ns, "2")) == 3 and len(pods(lab, ns, "1")) == 4 and seen(lab, ns) and
             status(lab, ns).get("replicas") == 7, 30, "three new pods beside four old ones")
    world.picture(ns)
    play_until(lab, ns, rolled_out(lab, ns, 5))
    lab.kubectl("-n", ns, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    lab.kubectl("-n", ns, "set", "image", "deployment/web", f"main={IMAGE}:3")
    wait_for(lambda: pods(lab, ns, "3"), 30, "the third template's pods")
    play_until(lab, ns, rolled_out(lab, ns, 5))
    lab.kubectl("-n", ns, "rollout", "undo", "deployment/web", "--to-revision=1")
    wait_for(lambda: pods(lab, ns, "1"), 30, "the first template's pods")
    play_until(lab, ns, rolled_out(lab, ns, 5))
    wait_for(lambda: len(pods(lab, ns)) == 5, 30, "five pods")
    world.picture(ns)
    lab.kubectl("-n", ns, "rollout", "restart", "deployment/web")
    wait_for(lambda: len(lab.list("replicasets", ns)) == 4, 30, "another set")
    play_until(lab, ns, rolled_out(lab, ns, 5))
    lab.kubectl("-n", ns, "rollout", "status", "deployment/web", "--timeout=60s")


def add_budgets(lab, ns):
    """For pods that are there: when these change, Kubernetes looks at one of their budgets only."""
    for name, spec in (("least", {"minAvailable": 2}), ("part", {"minAvailable": "50%"}),
                       ("most", {"maxUnavailable": 1}), ("none", {"maxUnavailable": 1})):
        lab.create("poddisruptionbudgets", ns, {"metadata": {"name": name}, "spec": {
            "selector": {"matchLabels": {"app": "nobody"} if name == "none" else LABELS}, **spec}})


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


def test_deployments_roll_as_under_kubernetes():
    compare(a_deployment_rolls, a_deployment_changes_its_size, a_deployment_is_recreated)


def test_deployments_pause_and_time_out_as_under_kubernetes():
    compare(a_deployment_pauses, a_deployment_takes_too_long, a_replica_set_keeps_its_pods,
            a_deployment_waits_until_pods_have_been_ready_for_long)


def test_services_find_their_pods_as_under_kubernetes():
    compare(a_service_finds_its_pods)


@own_lab(controllers=OURS_OFF)
def test_an_autoscaler_says_that_nothing_measures_pods(lab):
    ns = lab.namespace("scaled")
    with Operator(lab, "--workloads"):
        lab.apply(ns, deployment(replicas=2))
        lab.kubectl("-n", ns, "autoscale", "deployment/web", "--min=1", "--max=5", "--cpu=50%")
        lab.kubectl("-n", ns, "wait", "--for=condition=ScalingActive=False", "hpa/web", "--timeout=90s")
        wait_for(lambda: status(lab, ns, "horizontalpodautoscalers").get("currentReplicas") == 2, 30,
                 "the size of its target")
