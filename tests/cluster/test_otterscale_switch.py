"""Taking over from OtterScale's model-operator: what it made stays as it is, no pod restarts, its
fields become ours. The objects are those of the recordings, written as its manager writes them: by
plain requests, under its field manager's name."""
import json

import replay  # noqa: F401  also finds golden
from lab import ROOT, wait_for
from otters import FINALIZER, with_others
from promises import Operator, nothing_happens

import golden

LAB = {"controllers": "*"}
FAMILY, MANAGER = "otterscale", "manager"
SCRIPT = "echo a program text of upstream's own\n"
PLURALS = {
    "ModelService": "modelservices", "ModelArtifact": "modelartifacts", "Deployment": "deployments",
    "Service": "services", "ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps",
    "Secret": "secrets", "Role": "roles", "RoleBinding": "rolebindings", "Job": "jobs",
    "ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
    "InferencePool": "inferencepools", "HTTPRoute": "httproutes",
    "DestinationRule": "destinationrules", "PodMonitor": "podmonitors",
    "ServiceMonitor": "servicemonitors", "PersistentVolumeClaim": "persistentvolumeclaims"}
CASES = ("ms-base", "ms-cpu", "ms-env-file", "ms-gaudi", "ms-gpu-override", "ms-minimal", "ms-model",
         "ms-name-dots", "ms-name-59", "ms-nixl", "ms-pd-full", "ms-pool-full", "ms-pool-limits",
         "ms-proxy-full", "ms-replicas-zero", "ms-route-own-ns", "ms-scheduling", "ms-two",
         "ma-full", "ma-minimal")


def config(name):
    with open(f"{ROOT}/src/kinds/otterscale/scripts/{name}") as f:
        return f.read()


def revived(value, uids):
    """A recorded value with what the recording left out."""
    if isinstance(value, dict):
        return {k: uids.get(v, v) if k == "uid" else revived(v, uids) for k, v in value.items()
                if v not in ("<assigned>", ["<assigned>"]) and k != "status"}
    if isinstance(value, list):
        return [revived(v, uids) for v in value]
    return {"<script>": SCRIPT, "devel": "v1.0.1"}.get(value, value)


def creatable(o, uids):
    """A recorded object that the API server takes."""
    o = revived(o, uids)
    o["metadata"].pop("finalizers", None)
    if o["kind"] == "ConfigMap":
        o["data"] = {name: config(name) for name in o["data"]}
    if o["kind"] == "Secret":
        o.pop("data", None)
    if o["kind"] == "Job":
        o["metadata"]["name"] = o["metadata"]["name"].replace("<random>", "xk4b2")
        o["spec"].pop("selector", None)
        o["spec"].pop("manualSelector", None)
        labels = o["spec"]["template"]["metadata"]["labels"]
        for key in [k for k in labels if "controller-uid" in k or "job-name" in k]:
            del labels[key]
    if o["kind"] == "DestinationRule":
        o["apiVersion"] = "networking.istio.io/v1beta1"
    return o


def as_upstream_left_it(lab, case):
    """Applies a case and plays its operator; returns the children."""
    ns, recorded, uids = lab.namespace(case), golden.recorded(FAMILY, case)["applied"], {}
    lab.kubectl("-n", ns, "apply", "-f", golden.cases(FAMILY)[case])
    by = f"?fieldManager={MANAGER}"
    for o in recorded["inputs"]:
        if o["kind"] not in ("ModelService", "ModelArtifact"):
            continue
        path = lab.path(PLURALS[o["kind"]], ns, o["metadata"]["name"])
        live = lab.api("GET", path)
        uids[golden.object_key(o)] = live["metadata"]["uid"]
        if o["kind"] == "ModelService":
            live["metadata"]["finalizers"] = [FINALIZER]
            live = lab.api("PUT", path + by, {**live, "spec": o["spec"]})
        status = json.loads(json.dumps(o["status"]).replace("<time>", "2026-08-20T12:00:00Z")
                            .replace("<random>", "xk4b2"))
        status["observedGeneration"] = live["metadata"]["generation"]
        lab.api("PUT", f"{path}/status{by}", {**live, "status": status})
    children = []
    # A token Secret without its account would be deleted by Kubernetes.
    for o in sorted(recorded["children"], key=lambda o: o["kind"] != "ServiceAccount"):
        o = creatable(o, uids)
        path = lab.path(PLURALS[o["kind"]], o["metadata"].get("namespace"))
        children.append({**lab.api("POST", path + by, o), "kind": o["kind"]})
    return children


def live(lab, o):
    meta = o["metadata"]
    return lab.get(PLURALS[o["kind"]], meta.get("namespace"), meta["name"])


def managers(o, subresource=None):
    return {(m["manager"], m["operation"]) for m in o["metadata"]["managedFields"]
            if m.get("subresource") == subresource}


def sets(lab):
    return sorted((s["metadata"]["namespace"], s["metadata"]["name"])
                  for s in lab.list("replicasets"))


def check_taken_over(lab, o):
    now, what = live(lab, o), f"{o['metadata'].get('namespace')} {golden.object_key(o)}"
    assert now and now["metadata"]["uid"] == o["metadata"]["uid"], f"{what} was made anew"
    if o["kind"] in ("Job", "PersistentVolumeClaim"):  # never changed, so never taken over
        return
    assert ("leeboard", "Apply") in managers(now), f"{what}: {managers(now)}"
    assert (MANAGER, "Update") not in managers(now), f"{what}: {managers(now)}"
    if o["kind"] == "Deployment":
        assert now["spec"]["template"] == o["spec"]["template"], \
            f"{what}: {json.dumps(now['spec']['template'])}\nwas\n{json.dumps(o['spec']['template'])}"


def test_what_upstream_made_is_taken_over_without_a_restart(lab):
    with_others(lab)
    children = [o for case in CASES for o in as_upstream_left_it(lab, case)]
    deployments = [o for o in children if o["kind"] == "Deployment"]
    assert len(deployments) >= 40, len(deployments)
    wait_for(lambda: len(sets(lab)) == len(deployments), 60, "a ReplicaSet of each")
    before, mark = sets(lab), lab.mark()
    with Operator(lab) as op:
        def ours():
            return all((MANAGER, "Update") not in managers(live(lab, o)) for o in deployments)
        wait_for(ours, 60, "all Deployments to be taken over")
        op.settle(60)
        for o in children:
            check_taken_over(lab, o)
        for plural in ("modelservices", "modelartifacts"):
            for o in lab.list(plural):
                assert managers(o, "status") == {("leeboard", "Apply")}, managers(o, "status")
        failed = [o["metadata"]["namespace"] for o in lab.list("modelservices")
                  if o["status"]["phase"] == "Failed"]
        assert not failed, failed
        assert sets(lab) == before, "pods were restarted"
        written = lab.writes(mark)
        assert not [w for w in written if w.startswith(("delete", "create"))], written
        written = nothing_happens(lab, 5)
        assert not written, written
        # what upstream left in the cluster goes with its service
        lab.delete("modelservices", "ms-pool-full", "falcon")
        wait_for(lambda: not lab.get("clusterroles", None, "ms-pool-full-falcon-epp"), 15,
                 "the ClusterRole to go")


def test_cluster_roles_of_upstream_go_even_if_their_service_went_before_we_came(lab):
    with_others(lab)
    children = as_upstream_left_it(lab, "ms-pool")
    lab.delete("modelservices", "ms-pool", "falcon")
    cluster = [o for o in children if o["kind"].startswith("ClusterRole")]
    assert len(cluster) == 2
    with Operator(lab):
        wait_for(lambda: not lab.get("modelservices", "ms-pool", "falcon"), 15, "the service to go")
        wait_for(lambda: not any(live(lab, o) for o in cluster), 15, "its ClusterRole to go")
