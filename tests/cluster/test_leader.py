"""Two leaders by force: one that was stopped past its lease must not write when it goes on."""
import threading
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


def lease_of(lab, namespace, name, renew):
    """An upstream manager's Lease, renewed now."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    spec = {"holderIdentity": "llmkube-controller-manager-1", "leaseDurationSeconds": 3,
            "renewTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(renew))}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec}
    if lab.get("leases", namespace, name):
        lab.patch("leases", namespace, name, {"spec": spec})
    else:
        lab.api("POST", path, lease)


def test_while_an_upstream_operator_renews_its_lease_anywhere_nothing_is_written(lab):
    """Two operators on the same objects fight. Upstream's Lease is in its own namespace, not in ours."""
    home, ns = lab.namespace("upstream"), lab.namespace("rivals")
    lab.apply(ns, [model(), service("svc", image="llama.test/s:1")])
    stop = threading.Event()

    def renew():
        while not stop.wait(0.5):
            lease_of(lab, home, "882d6afe.llmkube.dev", time.time())
    lease_of(lab, home, "882d6afe.llmkube.dev", time.time())
    renewer = threading.Thread(target=renew)
    renewer.start()
    account = lab.user("newcomer", EVERYTHING)
    try:
        mark = lab.mark()
        op = Operator(lab, kubeconfig=account)
        wait_for(lambda: f"Lease {home}/882d6afe.llmkube.dev, held by llmkube-controller-manager-1" in op.log(20), 10,
                 "the operator to say whose Lease it is")
        wait_for(lambda: sum("leases" in e["requestURI"] for e in lab.requests(mark) if e["user"]["username"].endswith(
            ":newcomer")) > 6, 30, "several looks at the Lease")
        assert not writes_of(lab, "newcomer", mark), writes_of(lab, "newcomer", mark)
    finally:
        stop.set()
        renewer.join()
    wait_children(lab, ns, "svc")  # it has ended: now it is our turn
    lease_of(lab, home, "882d6afe.llmkube.dev", time.time())
    wait_for(lambda: not op.running(), 60, "the operator to end because another one began")
    assert op.process.returncode == 1 and "another operator has begun" in op.log(5), op.log(5)
