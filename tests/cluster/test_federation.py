"""FederatedCluster: a hub says how sites are, an edge reports to it; each writes its own fields alone."""
import datetime

from lab import Operator, wait_for
from promises import model, nothing_happens, service

FEDERATION = "/apis/federation.llmkube.dev/v1alpha1/federatedclusters"


def register(lab, name, **spec):
    lab.api("POST", FEDERATION, {"apiVersion": "federation.llmkube.dev/v1alpha1", "kind": "FederatedCluster",
                                 "metadata": {"name": name}, "spec": spec})


def status(lab, name):
    return lab.api("GET", f"{FEDERATION}/{name}").get("status", {})


def heartbeat(lab, name, ago_s, manager="manager"):
    """As upstream's edge writes it: a merge patch of the status, under the name that its hub has, too."""
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=ago_s)
    lab.api("PATCH", f"{FEDERATION}/{name}/status?fieldManager={manager}", {"status": {
        "lastHeartbeatTime": then.strftime("%Y-%m-%dT%H:%M:%SZ"), "observedVersion": "0.9.19",
        "capacity": {"nodes": 3, "gpusTotal": 8, "gpusAllocatable": 6}}}, "application/merge-patch+json")


def test_a_hub_says_by_the_last_heartbeat_how_a_site_is(lab):
    for name in ("never", "fresh", "late", "gone"):
        register(lab, name, heartbeatIntervalSeconds=600)
    for name, ago_s in (("fresh", 30), ("late", 1900), ("gone", 6100)):
        heartbeat(lab, name, ago_s)
    with Operator(lab) as op:
        phases = {"never": "Unreachable", "fresh": "Connected", "late": "Stale", "gone": "Unreachable"}
        wait_for(lambda: {name: status(lab, name).get("phase") for name in phases} == phases, 20, "the phases")
        heartbeat(lab, "gone", 0)
        wait_for(lambda: status(lab, "gone")["phase"] == "Connected", 20, "the site to be back")
        told = status(lab, "gone")
        assert told["capacity"] == {"nodes": 3, "gpusTotal": 8, "gpusAllocatable": 6}, told
        assert told["observedVersion"] == "0.9.19" and "lastHeartbeatTime" in told, told
        owners = {e["manager"]: e["fieldsV1"] for e in lab.api("GET", f"{FEDERATION}/gone")["metadata"]["managedFields"]
                  if e.get("subresource") == "status"}
        assert set(owners["leeboard"]["f:status"]) == {"f:phase"}, owners
        assert "f:lastHeartbeatTime" in owners["manager"]["f:status"], owners
        assert "f:phase" not in owners["manager"]["f:status"], owners
        nothing_happens(lab, 3)
        register(lab, "brief", heartbeatIntervalSeconds=5)
        heartbeat(lab, "brief", 13)
        wait_for(lambda: status(lab, "brief").get("phase") == "Connected", 20, "a first phase")
        wait_for(lambda: status(lab, "brief")["phase"] == "Stale", 20, "silence to be noticed")
        assert op.running()


def test_an_edge_reports_what_it_has(lab):
    """One cluster plays both parts: the edge writes with another user's rights, which are the status alone."""
    register(lab, "here", heartbeatIntervalSeconds=5)
    scoped = lab.user("edge", [{"apiGroups": ["federation.llmkube.dev"], "verbs": ["patch"],
                                "resources": ["federatedclusters/status"]}])
    lab.create("nodes", None, {"metadata": {"name": "gpu"}})
    lab.patch("nodes", None, "gpu/status", {"status": {
        "capacity": {"nvidia.com/gpu": "4", "cpu": "8"}, "allocatable": {"nvidia.com/gpu": "3", "cpu": "8"}}})
    ns = lab.namespace("edge")
    lab.apply(ns, [model(), service()])
    with Operator(lab, "--federation-role=edge", f"--federation-datacenter-kubeconfig={scoped}",
                  "--federation-cluster-name=here") as edge:
        def reported():
            told = status(lab, "here")
            return told.get("inference", {}).get("servicesTotal") == 1 and told
        told = wait_for(reported, 20, "a report")
        assert told["capacity"] == {"nodes": 1, "gpusTotal": 4, "gpusAllocatable": 3}, told
        assert told["inference"]["models"] == 1 and "phase" not in told, told
        first = told["lastHeartbeatTime"]
        wait_for(lambda: status(lab, "here")["lastHeartbeatTime"] > first, 20, "the next heartbeat")
        assert edge.running()
    lab.delete("nodes", None, "gpu")
