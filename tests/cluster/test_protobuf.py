"""What Go clients send in protobuf, we read as the JSON that they mean: every object that a real API server holds is
asked for in both forms, and the binary one goes through our decoder."""
import json
import os
import random
import subprocess
import urllib.request

import merge_kinds as kinds
from lab import ROOT, Failure

LAB = {}
TOOL = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/protobuf_tool"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MADE = [("apps/v1", "Deployment", "deployments", kinds.deployment),
        ("apps/v1", "StatefulSet", "statefulsets", kinds.stateful_set),
        ("v1", "Service", "services", kinds.service), ("v1", "ConfigMap", "configmaps", kinds.config_map),
        ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", kinds.autoscaler)]
BY_HAND = [
    ("v1", "Secret", "secrets", {"data": {"a": "AAEC/w==", "b": ""}, "immutable": False}),
    ("v1", "Pod", "pods", {"spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}},
                        "livenessProbe": {"httpGet": {"port": "web", "httpHeaders": [{"name": "a", "value": ""}]}},
                        "lifecycle": {"preStop": {"exec": {"command": ["a", "ü"]}}},
                        "securityContext": {"runAsUser": 0, "runAsNonRoot": False}}],
        "volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "b", "secret": {"secretName": "s",
                    "items": [{"key": "k", "path": "p", "mode": 0}]}}],
        "securityContext": {"supplementalGroups": [1, 2, 3000000000 % 2**31], "sysctls": []},
        "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}], "terminationGracePeriodSeconds": 0}}),
    ("v1", "Event", "events", {"involvedObject": {"kind": "Pod", "namespace": "default", "name": "x"}, "count": 3,
                               "firstTimestamp": "2026-01-02T03:04:05Z", "eventTime": None}),
    ("coordination.k8s.io/v1", "Lease", "leases", {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                                                            "renewTime": "2026-01-02T03:04:05.678901Z"}}),
    ("batch/v1", "Job", "jobs", {"spec": {"backoffLimit": 0, "suspend": False, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}),
    ("batch/v1", "CronJob", "cronjobs", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}}}),
    ("networking.k8s.io/v1", "Ingress", "ingresses", {"spec": {"rules": [{"host": "a.example", "http": {"paths": [
        {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}}),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", {"spec": {"minAvailable": "50%"}}),
    ("rbac.authorization.k8s.io/v1", "Role", "roles", {"rules": [{"apiGroups": [""], "resources": ["pods"],
                                                                  "verbs": ["get"]}]}),
    ("v1", "PersistentVolumeClaim", "persistentvolumeclaims", {"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    ("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", {"addressType": "IPv4", "endpoints": [
        {"addresses": ["10.1.2.3"], "conditions": {"ready": False}}], "ports": [{"name": "", "port": 80}]}),
]


def get_binary(lab, path):
    request = urllib.request.Request(f"https://127.0.0.1:{lab.port}{path}", headers={
        "Authorization": "Bearer admin-token", "Accept": PROTOBUF})
    with urllib.request.urlopen(request, context=lab.tls, timeout=60) as answer:
        assert answer.headers["Content-Type"] == PROTOBUF, answer.headers["Content-Type"]
        return answer.read()


def decode(body):
    done = subprocess.run([TOOL], input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode:
        raise Failure(f"protobuf_tool: {done.stderr.decode()}")
    return json.loads(done.stdout)


def without_nulls(value):
    """Go prints null where an empty list or time is; a client that sends it means nothing by it."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def collections(lab):
    """The paths of all built-in collections, with those kinds that have a binary form."""
    groups = ["/api/v1"] + [f"/apis/{g['preferredVersion']['groupVersion']}" for g in lab.api("GET", "/apis")["groups"]]
    for group in groups:
        for r in lab.api("GET", group)["resources"]:
            if "list" in r["verbs"] and "/" not in r["name"]:
                yield f"{group}/{r['name']}", group, r["namespaced"]


def definition():
    """A CustomResourceDefinition whose schema has all that is something else in the binary form."""
    spec = {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 3, "nullable": True}
    names = {"plural": "binaries", "singular": "binary", "kind": "Binary", "listKind": "BinaryList"}
    properties = {
        "map": spec, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1.5, "multipleOf": 0.5, "exclusiveMaximum": True}},
        "choice": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "none": {"type": "object", "properties": {"a": {"type": "object", "default": {"b": [1, None, {"c": False}]},
                                                        "x-kubernetes-preserve-unknown-fields": True}}},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}], "not": {"enum": [0]}},
        "keyed": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 9, "pattern": "^a"}}},
            "maxItems": 4, "x-kubernetes-validations": [{"rule": "self.size() >= oldSelf.orValue([]).size()", "message": "shrinks",
                                                         "optionalOldSelf": True, "reason": "FieldValueForbidden"}]}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "binaries.x.example"},
            "spec": {"group": "x.example", "scope": "Namespaced", "names": names, "versions": [{
                "name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}},
                "additionalPrinterColumns": [{"name": "A", "type": "integer", "jsonPath": ".spec.a", "priority": 1}],
                "selectableFields": [{"jsonPath": ".choice"}], "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": properties}}}]}}


def test_every_object_is_the_same_in_both_forms(lab):
    lab.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    made = [(v, k, p, make(random.Random(seed), True)) for v, k, p, make in MADE for seed in range(8)]
    for i, (version, kind, plural, body) in enumerate(made + BY_HAND):
        body = {"apiVersion": version, "kind": kind, **body}
        body["metadata"] = {**body.get("metadata", {}), "name": f"made-{i}", "namespace": "default"}
        root = "/api/v1" if version == "v1" else f"/apis/{version}"
        lab.api("POST", f"{root}/namespaces/default/{plural}", body)
    seen = {}
    for path, group, namespaced in collections(lab):
        items = lab.api("GET", path)["items"]
        for item in items:
            meta = item["metadata"]
            where = f"{group}/namespaces/{meta['namespace']}" if namespaced else group
            one = f"{where}/{path.rsplit('/', 1)[1]}/{meta['name']}"
            got, want = decode(get_binary(lab, one)), lab.api("GET", one)
            if got["metadata"].get("resourceVersion") != want["metadata"].get("resourceVersion"):
                continue
            if without_nulls(got) != without_nulls(want):
                raise Failure(f"{one}: {json.dumps(got, sort_keys=True)}\nis not {json.dumps(want, sort_keys=True)}")
            seen[want["kind"]] = seen.get(want["kind"], 0) + 1
    missing = {"CustomResourceDefinition", "APIService", *(k for _, k, *_ in MADE + BY_HAND)} - set(seen)
    if missing or len(seen) < 18:
        raise Failure(f"too few kinds were compared: {seen}, without {missing}")
    print(f"     {sum(seen.values())} objects of {len(seen)} kinds")
