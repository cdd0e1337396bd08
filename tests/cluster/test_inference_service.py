"""What an InferenceService does over time, with real Deployments, ReplicaSets and pods. There are no
nodes: the tests play the scheduler and the kubelet by writing the pods' status."""
import time

from lab import ApiError, wait_for
from promises import Operator, condition, model, service, wait_children, wait_condition

LAB = {"controllers": "*"}


def status(lab, ns, name="svc"):
    return (lab.get("inferenceservices", ns, name) or {}).get("status") or {}


def wait_phase(lab, ns, phase):
    wait_for(lambda: status(lab, ns).get("phase") == phase, 15,
             f"phase {phase}; the status is {status(lab, ns)}")


def change(lab, ns, spec):
    """A whole new spec; waits until it has been looked at."""
    def put():
        live = lab.get("inferenceservices", ns, "svc")
        live["spec"] = service(**spec)["spec"]
        try:
            return lab.api("PUT", lab.path("inferenceservices", ns, "svc"), live)
        except ApiError as error:  # the operator wrote a status meanwhile
            if error.code != 409:
                raise
            return None
    new = wait_for(put, 15, "the spec to be taken")

    def seen():
        suspended = condition(lab.get("inferenceservices", ns, "svc"), "Suspended")
        return suspended and suspended["observedGeneration"] == new["metadata"]["generation"]
    wait_for(seen, 15, "the new spec to be looked at")


def pod_spec(lab, ns):
    return lab.get("deployments", ns, "svc")["spec"]["template"]["spec"]


def pods(lab, ns):
    return [p for p in lab.list("pods", ns) if "deletionTimestamp" not in p["metadata"]]


def play(lab, ns, pod, **changes):
    lab.patch("pods", ns, f"{pod['metadata']['name']}/status", {"status": changes})


def serving(seconds_ago=0):
    """The status of a pod that serves, since some time."""
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))
    ready = [{"type": t, "status": "True", "lastTransitionTime": started}
             for t in ("PodScheduled", "Ready", "ContainersReady")]
    return {"phase": "Running", "startTime": started, "conditions": ready}


def start(lab, ns, hardware=None, **spec):
    lab.namespace(ns)
    lab.apply(ns, [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": "llmkube-normal"}, "value": 10000}])
    lab.apply(ns, [model(**({"hardware": hardware} if hardware else {})), service(**spec)])
    return wait_children(lab, ns)


# What the API server filled in beside our fields must not be in the way of a change.

def test_a_user_may_change_his_mind(lab):
    ns = "mind"
    with Operator(lab) as operator:
        start(lab, ns, env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
              extraVolumes=[{"name": "v", "configMap": {"name": "c"}}],
              extraVolumeMounts=[{"name": "v", "mountPath": "/v"}])
        change(lab, ns, {
            "env": [{"name": "A", "value": "plain"}],
            "extraVolumes": [{"name": "v", "secret": {"secretName": "s"}}],
            "extraVolumeMounts": [{"name": "v", "mountPath": "/v"}],
            "probeOverrides": {"liveness": {"tcpSocket": {"port": 8080}},
                               "readiness": {"exec": {"command": ["true"]}}}})
        pod = wait_for(lambda: (p := pod_spec(lab, ns))["containers"][0]["env"][0].get("value")
                       and p, 15, "the new template")
        assert "configMap" not in pod["volumes"][0] and pod["volumes"][0]["secret"]
        assert "httpGet" not in pod["containers"][0]["livenessProbe"]
        assert "httpGet" not in pod["containers"][0]["readinessProbe"]
        assert not condition(lab.get("inferenceservices", ns, "svc"), "Degraded")
        # a GPU: the other strategy's defaults have to go
        lab.patch("models", ns, "base", {"spec": {"hardware": {
            "accelerator": "cuda", "gpu": {"enabled": True, "count": 1}}}})
        strategy = wait_for(lambda: (d := lab.get("deployments", ns, "svc"))["spec"]["strategy"]
                            ["type"] == "Recreate" and d["spec"]["strategy"], 15, "Recreate")
        assert strategy == {"type": "Recreate"}
        operator.settle()


# Replicas and the autoscaler

def scale(lab, ns, n):
    """As the HPA controller does it."""
    path = lab.path("deployments", ns, "svc") + "/scale?fieldManager=kube-controller-manager"
    live = lab.api("GET", path)
    live["spec"]["replicas"] = n
    lab.api("PUT", path, live)


def replicas(lab, ns):
    return lab.get("deployments", ns, "svc")["spec"]["replicas"]


def test_an_autoscaler_decides_how_many_there_are(lab):
    ns, scaled = "scaled", {"replicas": 2, "autoscaling": {"maxReplicas": 9}}
    with Operator(lab) as operator:
        start(lab, ns, **scaled)
        assert replicas(lab, ns) == 2
        operator.settle()
        scale(lab, ns, 5)
        wait_for(lambda: status(lab, ns).get("desiredReplicas") == 5, 15, "the autoscaler's number")
        change(lab, ns, {**scaled, "contextSize": 4096})
        operator.restart()
        operator.settle()
        assert replicas(lab, ns) == 5
        change(lab, ns, {**scaled, "suspend": True})
        wait_for(lambda: replicas(lab, ns) == 0, 15, "no replicas")
        wait_for(lambda: not lab.get("horizontalpodautoscalers", ns, "svc"), 15, "no autoscaler")
        change(lab, ns, scaled)
        wait_for(lambda: replicas(lab, ns) == 2, 15, "the replicas of the spec")
        wait_for(lambda: lab.get("horizontalpodautoscalers", ns, "svc"), 15, "the autoscaler")


# What pods say

def test_pods_tell_why_nothing_serves(lab):
    ns = "told"
    with Operator(lab):
        start(lab, ns, {"accelerator": "rocm",
                        "gpu": {"enabled": True, "count": 2, "vendor": "amd"}})
        pod = wait_for(lambda: pods(lab, ns), 15, "a pod")[0]
        play(lab, ns, pod, conditions=[{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient amd.com/gpu."}])
        wait_phase(lab, ns, "WaitingForGPU")
        seen = status(lab, ns)
        assert (seen["waitingFor"], seen["queuePosition"]) == ("amd.com/gpu: 2", 1), seen
        play(lab, ns, pod, **serving(), containerStatuses=[{
            "name": "llama-server", "ready": False, "started": False, "restartCount": 1,
            "image": "x", "imageID": "", "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message":
                                         "CUDA driver version is insufficient for CUDA runtime version"}}}])
        wait_condition(lab, "inferenceservices", ns, "svc", "DriverCompatible", "False")
        play(lab, ns, pod, containerStatuses=[{
            "name": "llama-server", "ready": True, "started": True, "restartCount": 2,
            "image": "x", "imageID": "", "state": {"running": {}}}])
        wait_phase(lab, ns, "Ready")
        wait_condition(lab, "inferenceservices", ns, "svc", "DriverCompatible")
        assert "waitingFor" not in status(lab, ns) and "queuePosition" not in status(lab, ns)


def test_a_pod_that_is_too_old_is_replaced(lab):
    ns = "old"
    with Operator(lab) as operator:
        start(lab, ns, replicas=2, maxPodLifetimeSeconds=3600)
        first = wait_for(lambda: len(p := pods(lab, ns)) == 2 and p, 15, "two pods")
        play(lab, ns, first[0], **serving(60))
        play(lab, ns, first[1], **serving(4000))
        names = [p["metadata"]["name"] for p in first]

        def one_is_new():
            now = [p["metadata"]["name"] for p in pods(lab, ns)]
            return len(now) == 2 and names[0] in now and names[1] not in now
        wait_for(one_is_new, 15, "the older pod to be replaced")
        # The other one is not ready yet, and that one is young: nothing more is ended.
        operator.settle()
        assert one_is_new()
