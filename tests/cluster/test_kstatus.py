"""What tools that know no kind of ours make of our objects: the rules of kstatus, which Flux and others follow, say of
each kind whether it is there, on its way, or needs somebody."""
import json

import otters
from lab import wait_for
from promises import LLMKUBE, Operator, condition, model, service

LAB = {"controllers": None}
TOOLHIVE = "toolhive.stacklok.dev/v1beta1"
# (plural, object, what it comes to)
ROUTER = {"backends": [{"name": "home", "external": {"url": "http://127.0.0.1:9", "provider": "openai", "model": "m"}}]}


def of(api, kind, name, **spec):
    return {"apiVersion": api.removeprefix("/apis/"), "kind": kind, "metadata": {"name": name}, "spec": spec}


OBJECTS = (
    ("models", model(), "Current"),
    ("models", model("lost", source="/nowhere/none.gguf"), "Failed"),
    ("inferenceservices", service(), "InProgress"),
    ("inferenceservices", service("stopped", replicas=0), "Current"),
    ("inferenceservices", service("orphan", modelRef="nobody"), "Failed"),
    ("inferenceservices", service("waits", modelRef="lost"), "InProgress"),
    ("modelrouters", of(LLMKUBE, "ModelRouter", "r", **ROUTER), "InProgress"),
    ("modelpools", of(LLMKUBE, "ModelPool", "p",
                      members=[{"inferenceServiceRef": {"name": n}} for n in "ab"]), "Failed"),
    ("modelservices", otters.model_service(), "InProgress"),
    ("modelservices", otters.model_service("bad", model={
        "name": "acme/owl", "image": "i.test/owl:1", "imagePullSecrets": [{}]}), "Failed"),
    ("modelartifacts", otters.artifact(), "InProgress"),
    ("mcpservers", of(TOOLHIVE, "MCPServer", "weather", image="i.test/weather:1"), "InProgress"),
    ("mcpservers", of(TOOLHIVE, "MCPServer", "bad", image="i.test/weather:1", podTemplateSpec={"spec": 7}), "Failed"),
    ("mcpgroups", of(TOOLHIVE, "MCPGroup", "tools"), "Current"),
    ("mcpserverentries", of(TOOLHIVE, "MCPServerEntry", "direct", remoteUrl="https://entry.acme.test/mcp",
                            transport="streamable-http", groupRef={"name": "tools"}), "Current"),
    ("mcpserverentries", of(TOOLHIVE, "MCPServerEntry", "alone", remoteUrl="https://entry.acme.test/mcp",
                            transport="streamable-http", groupRef={"name": "nobody"}), "Failed"),
)


def kstatus(o):
    """As the library does for a kind that it does not know."""
    status = o.get("status") or {}
    if o["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if status.get("observedGeneration", o["metadata"]["generation"]) != o["metadata"]["generation"]:
        return "InProgress"
    true = {c["type"]: c["status"] == "True" for c in status.get("conditions", ())}
    if true.get("Reconciling"):
        return "InProgress"
    if true.get("Stalled"):
        return "Failed"
    return "Current" if true.get("Ready", True) else "InProgress"


def events_of(lab, ns, name, reason):
    items = lab.api("GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")["items"]
    return [e for e in items if e["regarding"]["name"] == name and e["reason"] == reason and e["type"] == "Warning"]


def test_every_kind_is_current_in_progress_or_failed(lab):
    ns = lab.namespace("kstatus")
    with Operator(lab) as op:
        lab.apply(ns, [o for _, o, _ in OBJECTS])
        for plural, o, wanted in OBJECTS:
            name, seen = o["metadata"]["name"], []

            def reached():
                found = lab.get(plural, ns, name)
                ready = condition(found, "Ready")
                seen[:] = [json.dumps(found.get("status"))]
                return ready and ready["message"] and \
                    ready["observedGeneration"] == found["metadata"]["generation"] and kstatus(found) == wanted
            try:
                wait_for(reached, 15, f"{plural}/{name} to be {wanted}")
            except AssertionError as e:
                raise AssertionError(f"{e}; {seen}") from None
        waits = condition(lab.get("inferenceservices", ns, "waits"), "Ready")["message"]
        lost = condition(lab.get("models", ns, "lost"), "Ready")["message"]
        assert f'Model "lost" in namespace "{ns}"' in waits and lost in waits, waits
        orphan = condition(lab.get("inferenceservices", ns, "orphan"), "Ready")
        assert 'Model "nobody"' in orphan["message"] and ns in orphan["message"], orphan
        assert len(events_of(lab, ns, "orphan", orphan["reason"])) == 1, orphan
        op.settle()


def crashing(name, labels):
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, {
        "phase": "Running", "containerStatuses": [{
            "name": "c", "image": "i", "imageID": "", "ready": False, "restartCount": 3,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 3, "reason": "Error", "message": "error: no such file"}}}]}


def test_pods_that_crash_are_told_on_every_kind_that_has_pods(lab):
    ns = lab.namespace("crashing")
    owners = (("inferenceservices", service(), {"inference.llmkube.dev/service": "svc"}),
              ("modelservices", otters.model_service(), {"llm-d.ai/model": "owl"}),
              ("mcpservers", of(TOOLHIVE, "MCPServer", "weather", image="i.test/weather:1"),
               {"toolhive": "true", "toolhive-name": "weather", "app": "mcpserver"}),
              ("embeddingservers", of(TOOLHIVE, "EmbeddingServer", "vectors", image="i.test/vectors:1"),
               {"app.kubernetes.io/component": "embedding-server", "app.kubernetes.io/instance": "vectors",
                "app.kubernetes.io/managed-by": "toolhive-operator"}),
              ("mcpregistries", of(TOOLHIVE, "MCPRegistry", "catalogue", configYAML="sources: []"),
               {"app.kubernetes.io/component": "registry-api", "app.kubernetes.io/name": "catalogue-api"}))
    with Operator(lab) as op:
        lab.apply(ns, [model(), *(o for _, o, _ in owners)])
        lab.create("serviceaccounts", ns, {"metadata": {"name": "default"}})
        for plural, o, labels in owners:
            name = o["metadata"]["name"]
            pod, status = crashing(f"{name}-0", labels)
            lab.create("pods", ns, pod)
            lab.api("PATCH", lab.path("pods", ns, f"{name}-0/status"), {"status": status},
                    "application/merge-patch+json")

            def told():
                found = lab.get(plural, ns, name)
                healthy = condition(found, "PodsHealthy")
                return healthy and "exit code 3: error: no such file" in healthy["message"] and \
                    kstatus(found) == "Failed"
            wait_for(told, 15, f"the crash on {plural}/{name}")
            wait_for(lambda: events_of(lab, ns, name, "CrashLoopBackOff"), 5, "a Warning event")
        op.settle()
        for _, o, _ in owners:
            assert len(events_of(lab, ns, o["metadata"]["name"], "CrashLoopBackOff")) == 1, o
