"""However an object came to its spec, its children are those of an object that was made so: what an
edit no longer wants is gone, and nothing of it is left in a child."""
import json

import replay  # noqa: F401 - finds golden
from lab import wait_for
from otters import OTHERS, model_service
from promises import Operator, model, service

import golden

LAB = {"controllers": None}
GPU = {"enabled": True, "count": 2}
MODELS = (("gpu", {"hardware": {"accelerator": "cuda", "gpu": GPU}}),
          ("claims", {"hardware": {"accelerator": "cuda", "gpu": {"resourceClaims": [
              {"name": "gpu", "resourceClaimName": "mine"}]}}}))
SERVICES = {
    "gpu": {"modelRef": "gpu"},
    "claims": {"modelRef": "claims"},
    "vllm": {"runtime": "vllm", "vllmConfig": {"maxModelLen": 100}},
    "generic": {"runtime": "generic", "image": "i:1", "args": ["a"], "command": ["/x"]},
    "pod": {"env": [{"name": "A", "value": ""}, {"name": "B", "valueFrom": {
        "fieldRef": {"fieldPath": "metadata.name"}}}], "imagePullSecrets": [{"name": "p"}],
        "extraVolumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "c"}}],
        "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]},
    "place": {"tolerations": [{"key": "k", "operator": "Exists"}], "nodeSelector": {"a": "b"},
              "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                  {"topologyKey": "z"}]}}, "priority": "batch", "runtimeClassName": "r"},
    "security": {"podSecurityContext": {"runAsUser": 1000}, "resources": {"cpu": "1.5"},
                 "securityContext": {"readOnlyRootFilesystem": True}},
    "bare": {"podSecurityContext": {}, "affinity": {}},
    "probes": {"probeOverrides": {"startup": {"tcpSocket": {"port": 8080}},
                                  "liveness": {"exec": {"command": ["x"]}}}},
    "scaled": {"autoscaling": {"maxReplicas": 4, "metrics": [
        {"type": "Resource", "name": "cpu", "targetAverageUtilization": 50}]}},
    "port": {"endpoint": {"type": "NodePort", "port": 9000}, "containerPort": 9999},
    "gateway": {"endpoint": {"gateway": {"enabled": True, "gatewayRef": {"name": "g"}}}},
    "stopped": {"replicas": 0, "revisionHistoryLimit": 0},
    "objective": {"slo": {"objective": "99"}},
}
MODEL_SERVICES = {
    "roles": {"prefill": {"replicas": 2}, "routingProxy": {"secureProxy": True}},
    "pool": {"inferencePool": {"endpointPicker": {"replicas": 3, "port": 9555, "resources": {
        "limits": {"cpu": "1"}}}}, "monitoring": {"podMonitor": {"enabled": True}}},
    "unwatched": {"monitoring": {"podMonitor": {}}, "accelerator": {"type": "cpu"}},
    "route": {"httpRoute": {"gatewayRef": {"name": "g", "namespace": "far"},
                            "hostnames": ["a.example.org"]}},
    "engine": {"engine": {"env": [{"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "6123"}],
                          "args": ["--x"], "port": 8001, "imagePullPolicy": "Always"}},
    "decode": {"decode": {"parallelism": {"tensor": 4}, "annotations": {"x/y": "z"},
                          "nodeSelector": {"a": "b"}, "resources": {"requests": {"cpu": "0.1"}}}},
    "model": {"model": {"name": "a/b", "image": "x/y:2", "mountPath": "/m",
                        "imagePullSecrets": [{"name": "s"}, {"name": "t"}]}},
}
CHILDREN = {
    "inferenceservices": ("deployments", "services", "horizontalpodautoscalers", "backends",
                          "aiservicebackends", "aigatewayroutes", "servicelevelobjectives"),
    "modelservices": ("deployments", "services", "serviceaccounts", "configmaps", "secrets", "roles",
                      "rolebindings", "inferencepools", "httproutes", "destinationrules",
                      "podmonitors", "servicemonitors"),
}


def install_others(lab):
    if not lab.get("customresourcedefinitions", None, "httproutes.gateway.networking.k8s.io"):
        lab.install_crds(OTHERS)


def children(lab, plural, ns):
    """{plural/name: object} of the namespace, without what chance put there."""
    found = {}
    for what in CHILDREN[plural]:
        for o in lab.list(what, ns):
            if o["metadata"].get("ownerReferences"):
                kind = "Service" if what == "services" else what  # lists do not say it
                owner = o["metadata"]["ownerReferences"][0]["uid"]
                text = json.dumps(golden.normal({**o, "kind": kind}, {owner: "owner"}))
                found[f"{what}/{o['metadata']['name']}"] = json.loads(
                    text.replace(ns, "<namespace>"))
    return found


def settled(o):
    """Its status is about its spec of now."""
    seen = [c.get("observedGeneration") for c in (o.get("status") or {}).get("conditions", ())]
    return bool(seen) and all(g == o["metadata"]["generation"] for g in seen)


def differences(wanted, seen):
    return [f"{key} {path}: {golden.shortened(a)} became {golden.shortened(b)}"
            for key in sorted(wanted.keys() | seen.keys())
            for path, a, b in golden.compare_values(wanted.get(key), seen.get(key))]


def check_edits(lab, plural, make, variants, *more):
    """Made so, edited to be so, and edited back: the second like the first, the third as if it had
    never been otherwise. more: what every namespace has besides."""
    made = {f"{v}-{how}": make(**(variants[v] if how != "to" else {}))
            for v in variants for how in ("fresh", "to", "back")}
    plain = f"plain-{plural}"
    made[plain] = make()
    for ns, o in made.items():
        lab.namespace(ns)
        for other in more:
            lab.create("models", ns, other)
        lab.create(plural, ns, o)
    name = made[plain]["metadata"]["name"]

    def all_settled():
        return all(settled(lab.get(plural, ns, name)) for ns in made)
    wait_for(all_settled, 60, "the first statuses")
    for ns in made:
        v, _, how = ns.rpartition("-")
        if how in ("to", "back"):
            o = lab.get(plural, ns, name)
            o["spec"] = make(**(variants[v] if how == "to" else {}))["spec"]
            lab.api("PUT", lab.path(plural, ns, name), o)
    wait_for(all_settled, 60, "the statuses after the edits")
    wrong = {}
    for v in variants:
        for ns, like in ((f"{v}-to", f"{v}-fresh"), (f"{v}-back", plain)):
            found = differences(children(lab, plural, like), children(lab, plural, ns))
            wrong.update({ns: found} if found else {})
    assert not wrong, json.dumps(wrong, indent=1)


def test_children_of_an_edited_inference_service_are_as_if_it_had_been_made_so(lab):
    """Broken by a strategy without the API server's own defaults: "deployments/svc
    spec.strategy.type: "Recreate" became "RollingUpdate"", since the other is then refused."""
    install_others(lab)

    def make(**spec):
        return service(**{"disruption": {"protectStartup": False}, **spec})
    with Operator(lab, "--enable-pyrra-slo"):
        check_edits(lab, "inferenceservices", make, SERVICES, model(),
                    *(model(name, **spec) for name, spec in MODELS))


def test_children_of_an_edited_model_service_are_as_if_it_had_been_made_so(lab):
    install_others(lab)
    with Operator(lab):
        check_edits(lab, "modelservices", model_service, MODEL_SERVICES)
