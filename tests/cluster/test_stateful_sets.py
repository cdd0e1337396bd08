"""StatefulSets under the real controller and under ours."""
from controllers import (IMAGE, LABELS, compare, is_ready, play_pod, play_until, pods, shown, snapshot,
                         status, template)
from lab import wait_for

KINDS = ("statefulsets", "controllerrevisions", "pods")


def stateful(replicas=3, tag="1", claims=(), **spec):
    templates = [{"metadata": {"name": name, "labels": {"of": "template"}}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        for name in claims]
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": {
        "replicas": replicas, "serviceName": "all", "selector": {"matchLabels": LABELS},
        "template": template(tag), "volumeClaimTemplates": templates, **spec}}


def told(lab, ns, **wanted):
    """Its status is about its spec and says this."""
    s = lab.get("statefulsets", ns, "web")
    now = s.get("status", {})
    return now.get("observedGeneration") == s["metadata"]["generation"] and all(
        now.get(k, 0) == v for k, v in wanted.items())


def names(lab, ns, tag=None):
    return sorted(p["metadata"]["name"] for p in pods(lab, ns, tag))


def await_names(lab, ns, wanted, tag=None):
    wait_for(lambda: names(lab, ns, tag) == wanted, 30, f"the pods {wanted}")


def rolled_out(lab, ns, replicas=3):
    def done():
        s = status(lab, ns, "statefulsets")
        return told(lab, ns, replicas=replicas, readyReplicas=replicas, updatedReplicas=replicas,
                    currentReplicas=replicas, availableReplicas=replicas) and \
            s["currentRevision"] == s["updateRevision"]
    return done


def claims(lab, ns):
    """Whose they are; what they hold is nobody's business here."""
    uids = {o["metadata"]["uid"]: o["metadata"]["name"] for kind in ("statefulsets", "pods")
            for o in lab.list(kind, ns)}
    return [{"name": c["metadata"]["name"], "labels": c["metadata"]["labels"],
             "going": "deletionTimestamp" in c["metadata"], "spec": c["spec"]["accessModes"],
             "owners": [{**shown(o, str), "uid": uids.get(o["uid"])}
                        for o in c["metadata"].get("ownerReferences") or ()]}
            for c in lab.list("persistentvolumeclaims", ns)]


def a_stateful_set_goes_in_order(world, lab, ns):
    lab.apply(ns, stateful(claims=("data", "more-data"), ordinals={"start": 2}))
    await_names(lab, ns, ["web-2"])
    wait_for(lambda: told(lab, ns, replicas=1), 30, "a status")
    world.look(ns, pictures)
    world.look(ns, claims)
    play_until(lab, ns, rolled_out(lab, ns))
    lab.kubectl("-n", ns, "rollout", "status", "statefulset/web", "--timeout=60s")
    world.look(ns, pictures)
    # The highest goes first, and no other while its successor is not ready.
    lab.kubectl("-n", ns, "set", "image", "statefulset/web", f"main={IMAGE}:2")
    await_names(lab, ns, ["web-4"], "2")
    wait_for(lambda: told(lab, ns, replicas=3, readyReplicas=2, updatedReplicas=1), 30, "a status")
    world.look(ns, pictures)
    play_until(lab, ns, rolled_out(lab, ns))
    assert names(lab, ns, "2") == ["web-2", "web-3", "web-4"]
    world.look(ns, pictures)
    lab.kubectl("-n", ns, "rollout", "undo", "statefulset/web")
    await_names(lab, ns, ["web-4"], "1")
    play_until(lab, ns, rolled_out(lab, ns))
    world.look(ns, pictures)
    history = lab.kubectl("-n", ns, "rollout", "history", "statefulset/web").stdout
    assert [line.split()[0] for line in history.splitlines()[2:] if line] == ["2", "3"], history
    # Down to one, the claims stay.
    lab.kubectl("-n", ns, "scale", "statefulset/web", "--replicas=1")
    await_names(lab, ns, ["web-2"])
    wait_for(rolled_out(lab, ns, 1), 30, "a status")
    world.look(ns, pictures)
    world.look(ns, claims)


def pictures(lab, ns):
    """kubectl's own notes differ by the time of a restart and the order of what it was given."""
    found = snapshot(lab, ns, KINDS)
    for o in (*found["statefulsets"], *found["controllerrevisions"]):
        o["metadata"].get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    for pod in found["pods"]:
        pod["spec"]["volumes"].sort(key=lambda v: v["name"])
    return found


def a_stateful_set_stops_at_its_partition(world, lab, ns):
    def with_partition(n):
        return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": n}},
                "podManagementPolicy": "Parallel", "revisionHistoryLimit": 1}
    lab.apply(ns, stateful(**with_partition(2)))
    await_names(lab, ns, ["web-0", "web-1", "web-2"])
    wait_for(lambda: told(lab, ns, replicas=3), 30, "a status")
    world.look(ns, pictures)
    play_until(lab, ns, rolled_out(lab, ns))
    lab.apply(ns, stateful(tag="2", **with_partition(2)))
    await_names(lab, ns, ["web-2"], "2")
    play_until(lab, ns, lambda: told(lab, ns, readyReplicas=3, updatedReplicas=1, currentReplicas=2))
    world.look(ns, pictures)
    # One below the partition comes back as it was.
    lab.delete("pods", ns, "web-0")
    await_names(lab, ns, ["web-0", "web-1"], "1")
    play_until(lab, ns, lambda: told(lab, ns, readyReplicas=3, updatedReplicas=1, currentReplicas=2))
    lab.apply(ns, stateful(tag="2", **with_partition(0)))
    play_until(lab, ns, rolled_out(lab, ns))
    for tag in ("3", "4"):
        lab.apply(ns, stateful(tag=tag, **with_partition(0)))
        await_names(lab, ns, ["web-2"], tag)
        play_until(lab, ns, rolled_out(lab, ns))
    wait_for(lambda: len(lab.list("controllerrevisions", ns)) == 2, 30, "a history of one")
    world.look(ns, pictures)
    lab.kubectl("-n", ns, "scale", "statefulset/web", "--replicas=0")
    await_names(lab, ns, [])
    wait_for(rolled_out(lab, ns, 0), 30, "a status")
    world.look(ns, pictures)


def a_stateful_set_is_updated_by_hand(world, lab, ns):
    by_hand = {"updateStrategy": {"type": "OnDelete"}, "minReadySeconds": 1}
    lab.apply(ns, stateful(replicas=2, **by_hand))
    play_until(lab, ns, rolled_out(lab, ns, 2))
    lab.apply(ns, stateful(replicas=2, tag="2", **by_hand))
    wait_for(lambda: told(lab, ns, currentReplicas=2, updatedReplicas=0), 30, "a status")
    world.look(ns, pictures)
    # One that failed is made anew, of the new template.
    failed = next(p for p in pods(lab, ns) if p["metadata"]["name"] == "web-1")
    play_pod(lab, ns, failed, phase="Failed", ready=False)
    await_names(lab, ns, ["web-1"], "2")
    play_until(lab, ns, lambda: told(lab, ns, currentReplicas=1, updatedReplicas=1, availableReplicas=2))
    world.look(ns, pictures)
    lab.delete("pods", ns, "web-0")
    await_names(lab, ns, ["web-0", "web-1"], "2")
    play_until(lab, ns, lambda: told(lab, ns, updatedReplicas=2, availableReplicas=2))
    world.look(ns, pictures)


def a_stateful_set_takes_its_claims_along(world, lab, ns):
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    spec = {"claims": ("data",), "podManagementPolicy": "Parallel"}
    lab.apply(ns, stateful(**spec))
    play_until(lab, ns, rolled_out(lab, ns))
    world.look(ns, claims)
    lab.apply(ns, stateful(persistentVolumeClaimRetentionPolicy=policy, **spec))
    wait_for(lambda: all(c["owners"] for c in claims(lab, ns)), 30, "owners")
    world.look(ns, claims)
    lab.kubectl("-n", ns, "scale", "statefulset/web", "--replicas=1")
    await_names(lab, ns, ["web-0"])
    wait_for(lambda: len(claims(lab, ns)) == 1, 30, "two claims to go")
    world.look(ns, claims)
    lab.kubectl("-n", ns, "scale", "statefulset/web", "--replicas=2")
    play_until(lab, ns, rolled_out(lab, ns, 2))
    wait_for(lambda: all(c["owners"] for c in claims(lab, ns)), 30, "owners")
    world.look(ns, claims)
    lab.delete("statefulsets", ns, "web")
    wait_for(lambda: not pods(lab, ns) and not claims(lab, ns), 30, "everything to go")


def test_stateful_sets_go_in_order_as_under_kubernetes():
    compare(a_stateful_set_goes_in_order, a_stateful_set_is_updated_by_hand)


def test_stateful_sets_go_by_policy_as_under_kubernetes():
    compare(a_stateful_set_stops_at_its_partition, a_stateful_set_takes_its_claims_along)
