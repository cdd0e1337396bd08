"""What the tests of OtterScale's kinds share: manifests, their children, the APIs of others."""
from lab import wait_for

API = "model.otterscale.io/v1alpha1"
FINALIZER = "model.otterscale.io/epp-cluster-rbac"
OTHERS = "tests/golden/crds"
TWO_ROLES = {"prefill": {}, "routingProxy": {}}
# A service that has every kind of child.
EVERYTHING = {**TWO_ROLES, "inferencePool": {"endpointPicker": {}},
              "monitoring": {"podMonitor": {"enabled": True}}}


def model_service(name="owl", **spec):
    return {"apiVersion": API, "kind": "ModelService", "metadata": {"name": name}, "spec": {
        "model": {"name": "acme/owl", "image": "oci.example.org/zoo/owl:1"}, "engine": {},
        "accelerator": {"type": "nvidia"}, "decode": {}, **spec}}


def artifact(name="owl", **spec):
    return {"apiVersion": API, "kind": "ModelArtifact", "metadata": {"name": name}, "spec": {
        "source": {"huggingFace": {"model": "acme/owl"}}, "storage": {"size": "1Gi"},
        "target": {"registry": "oci.example.org", "repository": "zoo/owl"}, **spec}}


def children(ns, name="owl", picker="owl-epp"):
    """[(plural, namespace, name)] of a service that has EVERYTHING."""
    own = [("deployments", f"{name}-decode"), ("deployments", f"{name}-prefill"),
           ("serviceaccounts", picker), ("configmaps", f"{picker}-config"), ("deployments", picker),
           ("services", picker), ("secrets", f"{picker}-sa-metrics-reader-secret"),
           ("roles", picker), ("rolebindings", picker), ("inferencepools", name),
           ("httproutes", name), ("destinationrules", picker), ("podmonitors", f"{name}-decode"),
           ("podmonitors", f"{name}-prefill"), ("servicemonitors", picker)]
    return [(plural, ns, child) for plural, child in own] + [
        (plural, None, f"{ns}-{picker}") for plural in ("clusterroles", "clusterrolebindings")]


def wait_children(lab, wanted, timeout=20):
    """Waits until all of them are there; returns them."""
    def missing():
        return [c for c in wanted if not lab.get(*c)]
    wait_for(lambda: not missing(), timeout, f"{missing()}")
    return [lab.get(*c) for c in wanted]


def with_others(lab):
    """The APIs of others, once in a control plane."""
    if not lab.get("customresourcedefinitions", None, "httproutes.gateway.networking.k8s.io"):
        lab.install_crds(OTHERS)
    return lab
