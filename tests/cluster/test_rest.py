"""Where nothing changes, nothing is written: 50 mixed objects at rest."""
import os

import replay  # also finds golden
import source
import yaml
from lab import NO_WORKLOADS, free_port, wait_for
from promises import KINDS, Operator, model, nothing_happens, service

import golden

LAB = {"controllers": NO_WORKLOADS}
QUIET_S = 60

# Recorded cases that between them use every runtime, cache, source and kind of child.
CASES = (
    "generic-all", "gw-isvc", "isvc-cache-cached", "isvc-cache-ephemeral", "isvc-disruption-off",
    "isvc-endpoint-lb", "isvc-endpoint-nodeport", "isvc-env-duplicate", "isvc-env-volumes",
    "isvc-file", "isvc-fsgroup", "isvc-gpu-amd", "isvc-gpu-intel", "isvc-gpu-nvidia",
    "isvc-hf-files", "isvc-hpa-default", "isvc-image", "isvc-lifetime", "isvc-llama-args-gpu",
    "isvc-llama-moe", "isvc-metadata", "isvc-mode-embedding", "isvc-name-63", "isvc-name-dotted",
    "isvc-probes-one", "isvc-replicas-many", "isvc-replicas-zero", "isvc-resources",
    "isvc-s3-files", "isvc-scheduling", "isvc-spec-draftref", "model-file-copied",
    "model-prefetch-http", "personaplex-all",
    "sglang-speculative", "slo-availability", "tgi-all", "vllm-cpu-offload", "err-isvc-model-missing",
    "err-model-file-outside", "zz-isvc-bad-memory", "zz-model-bare-word", "zz-model-file-missing",
)

NEVER_EQUAL = {  # Spellings that the API server stores otherwise than we send them, or fills up.
    "quantities": {"resources": {"cpu": "1000m", "memory": "2048Mi", "hostMemory": "1073741824",
                                 "ephemeralStorage": "0.5Gi"}},
    "more-quantities": {"resources": {"cpu": "0.5", "memory": "1e3Mi"}, "extraVolumes": [
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}}]},
    "field-refs": {"env": [
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu",
                                                           "divisor": "1000m"}}},
        {"name": "EMPTY", "value": ""}, {"name": "BARE"}]},
    "every-map": {
        "podLabels": {"team": "a", "app": "stolen"}, "nodeSelector": {"disk": "fast"},
        "podAnnotations": {"note": "x", "karpenter.sh/do-not-disrupt": "false", "empty": ""},
        "topologySpreadConstraints": [{
            "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "every-map"}}}],
        "extraVolumes": [{"name": "csi", "csi": {"driver": "d.test",
                                                 "volumeAttributes": {"k": "v"}}}]},
    "structures": {
        "podSecurityContext": {"runAsUser": 0, "supplementalGroups": [3, 1]},
        "securityContext": {"capabilities": {"add": ["SYS_NICE"]}, "privileged": False},
        "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "value": "c"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "Exists"}]}]}}},
        "probeOverrides": {"liveness": {"httpGet": {"path": "/live", "port": "http"}}},
        "extraVolumes": [{"name": "p", "projected": {"sources": [{"downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}]}},
            {"name": "s", "secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}}],
        "extraVolumeMounts": [{"name": "p", "mountPath": "/p"}, {"name": "s", "mountPath": "/s"}]},
    "empty": {"podSecurityContext": {}, "securityContext": {}, "affinity": {}, "resources": {}, "env": [],
              "probeOverrides": {}, "disruption": {}, "endpoint": {}, "podLabels": {}},
    "scaled": {"autoscaling": {"minReplicas": 1, "maxReplicas": 3, "metrics": [
        {"type": "Pods", "name": "queue", "targetAverageValue": "1500m"}]}},
}


class World:
    """The folders that the recorded cases expect, and a source of weights."""

    def __init__(self, lab):
        self.folders = {path: f"{lab.dir}{path}" for path in ("/srv", "/models")}
        for folder in ("/srv/models", "/srv/cache", "/models"):
            os.makedirs(f"{lab.dir}{folder}")
        for name in replay.LOCAL_MODELS:
            with open(f"{lab.dir}/srv/models/{name}.gguf", "wb") as f:
                f.write(source.TINY)
        self.server = source.serve(free_port())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def bring(lab, world):
    for case in CASES:
        lab.namespace(case)
        lab.kubectl("-n", case, "apply", "-f", golden.cases(golden.FAMILY)[case], check=False)
    ns = lab.namespace("odd")
    lab.apply(ns, [model(), *(service(name, **spec) for name, spec in NEVER_EQUAL.items()),
                   model("read", source=f"{world.url}/tiny.gguf"),
                   model("junk", source=f"{world.url}/junk.gguf"),
                   model("nothing", source=f"{world.url}/nothing.gguf"),
                   service("reads", modelRef="read", skipModelInit=False)])
    return [o for plural in ("models", "inferenceservices") for o in lab.list(plural)]


def states(lab):
    """{uid: version} of everything that we keep."""
    return {o["metadata"]["uid"]: o["metadata"]["resourceVersion"]
            for plural in KINDS for o in lab.list(plural)}


def test_nothing_is_written_while_nothing_changes(lab):
    """Broken by a gate that finds nothing equal: "broken promises:
    {'leeboard_writes_without_effect_total': 111.0}"."""
    lab.install_crds("tests/golden/crds")
    with World(lab) as world:
        with Operator(lab, *golden.COMMAND_LINES["*"], bind=world.folders) as op:
            objects = bring(lab, world)
            assert len(objects) >= 50, len(objects)
            wait_for(lambda: all(o.get("status") for p in ("models", "inferenceservices")
                                 for o in lab.list(p)), 60, "a status of every object")
            op.settle(60)
            for case in CASES:
                lab.play_ready(case)
            lab.play_ready("odd")
            op.settle(60)

            before, mark = states(lab), lab.mark()
            reconciles = op.count("controller_runtime_reconcile_total")
            written = nothing_happens(lab, QUIET_S, mark)
            assert not written, f"at rest it wrote {written}"
            again = op.count("controller_runtime_reconcile_total") - reconciles
            assert again <= len(objects), f"at rest it ran {again:.0f} times"

            mark = lab.mark()
            op.restart()
            op.settle(60)
            written = nothing_happens(lab, QUIET_S, mark)
            assert not written, f"after a restart it wrote {written}"
            assert states(lab) == before, "something else wrote"

            # The measure itself: a real change is seen, as exactly the writes that it needs.
            mark = lab.mark()
            lab.patch("inferenceservices", "odd", "quantities",
                      {"spec": {"resources": {"cpu": "2000m"}}})
            op.settle(60)
            written = lab.writes(mark)
            assert written == {"patch deployments": 1, "patch inferenceservices/status": 1} or \
                written == {"patch deployments": 1}, written
            mark = lab.mark()
            lab.patch("inferenceservices", "odd", "quantities",
                      {"spec": {"resources": {"cpu": "2"}}})
            op.settle(60)
            written = lab.writes(mark)
            assert "patch deployments" not in written, f"the same quantity, but: {written}"
