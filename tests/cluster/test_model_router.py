"""ModelRouter on a real API server: what others wrote on its Deployment stays."""
from lab import wait_for
from promises import Operator, model, service, wait_condition

LAB = {"controllers": "*"}
HASH = "inference.llmkube.dev/router-config-hash"
FOREIGN = {"sidecar.istio.io/inject": "true", "kubectl.kubernetes.io/restartedAt": "2026-05-14T10:00:00Z"}


def router(**spec):
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "ModelRouter", "metadata": {"name": "r"},
            "spec": {"backends": [{"name": "home", "inferenceServiceRef": {"name": "svc"}}], **spec}}


def test_annotations_of_others_survive_a_change_of_the_replicas(lab):
    """Broken by sending plain updates of the Deployment instead of applying it."""
    ns = lab.namespace("router-others")
    with Operator(lab) as op:
        lab.apply(ns, [model(), service(), router(proxy={"replicas": 1})])

        def deployment():
            return lab.get("deployments", ns, "r-router-proxy")
        wait_condition(lab, "modelrouters", ns, "r", "BackendsReady")
        lab.api("PATCH", lab.path("deployments", ns, "r-router-proxy") + "?fieldManager=injector", {
            "metadata": {"annotations": FOREIGN},
            "spec": {"template": {"metadata": {"annotations": FOREIGN}}}}, "application/merge-patch+json")
        before = deployment()["spec"]["template"]["metadata"]["annotations"][HASH]
        lab.apply(ns, router(proxy={"replicas": 2}))
        wait_for(lambda: deployment()["spec"]["replicas"] == 2, 20, "the new number of replicas")
        op.settle()
        d = deployment()
        for metadata in (d["metadata"], d["spec"]["template"]["metadata"]):
            assert FOREIGN.items() <= metadata["annotations"].items(), metadata
        assert d["spec"]["template"]["metadata"]["annotations"][HASH] == before, d["spec"]["template"]["metadata"]
        # A new configuration moves our key and no other.
        lab.apply(ns, router(proxy={"replicas": 2}, defaultRoute="home"))

        def moved():
            return deployment()["spec"]["template"]["metadata"]["annotations"][HASH] != before
        wait_for(moved, 20, "the hash of the new configuration")
        t = deployment()["spec"]["template"]["metadata"]["annotations"]
        assert FOREIGN.items() <= t.items(), t
