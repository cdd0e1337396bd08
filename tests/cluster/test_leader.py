"""Two leaders by force: one that was stopped past its lease must not write when it goes on."""
import time

from lab import NO_WORKLOADS, wait_for
from promises import Operator, model, service, wait_children

LAB = {"controllers": NO_WORKLOADS}
EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
              {"nonResourceURLs": ["*"], "verbs": ["get"]}]


def leads(op):
    try:
        return op.count("leader_election_master_status") == 1
    except OSError:  # it is just ending
        return False


def writes_of(lab, user, since):
    """What this account wrote, the Lease included."""
    return [f"{e['verb']} {e['requestURI']}" for e in lab.requests(since, verbs=(
        "create", "update", "patch", "delete")) if e["user"]["username"].endswith(f":{user}")]


def test_a_leader_that_slept_past_its_lease_writes_nothing(lab):
    """Broken by a lease_may_write() that is true after the lease was lost, and going on then: "the old
    leader wrote ['patch .../inferenceservices/svc-1/status...', 'patch .../deployments/svc-3..."."""
    ns, flags = lab.namespace("leaders"), ("--leader-elect", "--leader-election-namespace=default")
    first = Operator(lab, *flags, kubeconfig=lab.user("first", EVERYTHING))
    wait_for(lambda: leads(first), 20, "the first to lead")
    second = Operator(lab, *flags, kubeconfig=lab.user("second", EVERYTHING))
    services = [service(f"svc-{i}", image="llama.test/s:1") for i in range(5)]
    lab.apply(ns, [model(), *services])
    for o in services:
        wait_children(lab, ns, o["metadata"]["name"])
    first.settle()
    assert not leads(second) and not writes_of(lab, "second", 0)

    # Stopped with work at hand: it has seen nothing of these changes yet, but will.
    first.pause()
    for o in services:
        lab.patch("inferenceservices", ns, o["metadata"]["name"], {"spec": {"replicas": 2}})
    wait_for(lambda: leads(second), 60, "the second to take over")
    second.settle()

    def replicas():
        return [d["spec"]["replicas"] for d in lab.list("deployments", ns)]
    assert replicas() == [2] * 5, replicas()
    mark = lab.mark()
    for o in services:
        lab.patch("inferenceservices", ns, o["metadata"]["name"], {"spec": {"replicas": 3}})
    first.resume()
    wait_for(lambda: replicas() == [3] * 5, 10, "the second's work")
    time.sleep(3)  # an observation: this is when the first would write
    wrote = writes_of(lab, "first", mark)
    assert not wrote, f"the old leader wrote {wrote}"
    assert writes_of(lab, "second", mark)
    assert not first.running() or not leads(first)
    if not first.running():
        assert first.process.returncode == 1, first.process.returncode
        assert "lost the lease" in first.log(5), first.log(5)
    second.stop()
