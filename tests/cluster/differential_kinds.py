"""Scripts of test_differential.py about kinds: every built-in one, custom ones, and how they are discovered."""
import copy

import yaml

from differential import APPLY, JSON_PATCH, PARTIAL, TABLE, YAML, stored_only
from lab import ROOT


def minimal(every=False):
    """One object of each kind; without those that are only stored, unless every one is asked for."""
    with open(f"{ROOT}/tests/apiserver/objects/minimal.yaml", encoding="utf8") as f:
        return [o for o in yaml.safe_load_all(f) if o and (every or not stored_only(o))]


def resources(s):
    """What the server says of itself: (apiVersion, kind) -> the APIResource."""
    found = {}
    groups = s.ask("GET", "/apis").body["groups"]
    for version in ["v1"] + [v["groupVersion"] for g in groups for v in g["versions"]]:
        path = "/api/v1" if version == "v1" else f"/apis/{version}"
        for r in s.ask("GET", path).body["resources"]:
            if "/" not in r["name"]:
                found.setdefault((version, r["kind"]), {**r, "path": path})
    return found


def discovery(s):
    """Of every kind of the corpus, which both serve, what discovery says."""
    for o in minimal(every=True):
        version = o["apiVersion"]
        path = "/api/v1" if version == "v1" else f"/apis/{version}"
        listed = s.ask("GET", path)
        plural = next(r["name"] for r in listed.body["resources"] if r["kind"] == o["kind"] and "/" not in r["name"])
        s.record(f"discovery of {version} {o['kind']}",
                 [r for r in listed.body["resources"] if r["name"] == plural])
        if version != "v1":
            s.record(f"group {version}", s.ask("GET", f"/apis/{version.split('/')[0]}").body["preferredVersion"])


def lifecycle(o):
    """One kind: created, read in every form, changed in every way, deleted."""
    def play(s):
        ns = s.namespace().removeprefix("/api/v1")
        r = resources(s)[(o["apiVersion"], o["kind"])]
        p = r["path"] + (ns if r["namespaced"] else "") + "/" + r["name"]
        body = copy.deepcopy(o)
        name = body["metadata"]["name"] = o["metadata"]["name"] if "." in o["metadata"]["name"] else "lifecycle"
        if o["kind"] == "Event":
            body["regarding" if "/" in o["apiVersion"] else "involvedObject"]["namespace"] = s.ns
        one = f"{p}/{name}"
        s.post(p + "?dryRun=All", body)
        s.post(p, body)
        s.post(p, body)
        s.get(one)
        s.get(one, accept=PARTIAL)
        s.patch(one, {"metadata": {"labels": {"a": "b"}}})
        s.patch(one, [{"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}}], type=JSON_PATCH)
        live = s.ask("GET", one).body
        s.put(one, {**live, "metadata": {**live["metadata"], "annotations": {"x": "z"}}})
        s.put(one, live)
        applied = {"apiVersion": o["apiVersion"], "kind": o["kind"], "metadata": {"name": name, "labels": {"a": "c"}}}
        s.patch(one + "?fieldManager=m", applied, type=APPLY)
        s.patch(one + "?fieldManager=m&force=true", applied, type=APPLY)
        s.patch(one + "?fieldManager=m&force=true", applied, type=APPLY)
        s.patch(one + "?fieldManager=m", {**body, "metadata": {"name": name}}, type=APPLY)
        s.get(p + "?labelSelector=a%3Dc")
        s.delete(one + "?dryRun=All")
        s.patch(one, {"metadata": {"finalizers": ["x.example/hold"]}})
        s.delete(one, {"propagationPolicy": "Background"})
        s.get(one)
        s.patch(one, {"metadata": {"finalizers": None}})
        s.get(one)
    return play


SCHEMA = {"type": "object", "properties": {
    "spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10}, "replicas": {"type": "integer", "default": 1},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "name": {"type": "string", "maxLength": 8, "pattern": "^[a-z]*$"},
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                  "items": {"type": "object", "required": ["name"], "properties": {
                      "name": {"type": "string"}, "count": {"type": "integer", "default": 5}}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True}, "maybe": {"type": "string", "nullable": True}},
        "x-kubernetes-validations": [
            {"rule": "self.size <= self.replicas * 10", "message": "too large"},
            {"rule": "!has(oldSelf.name) || has(self.name)", "messageExpression": "'name stays ' + oldSelf.name"}]},
    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"},
                                                "phase": {"type": "string"}}}}}


def crd(plural="widgets", **more):
    kind = plural[:-1].capitalize()
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.d.example"}, "spec": {
                "group": "d.example", "scope": "Namespaced",
                "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "shortNames": [plural[0] + "x"],
                          "categories": ["all"]},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA},
                              "subresources": {"status": {}, "scale": {
                                  "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                                  "labelSelectorPath": ".status.selector"}},
                              "selectableFields": [{"jsonPath": ".spec.mode"}],
                              "additionalPrinterColumns": [
                                  {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how large"},
                                  {"name": "Mode", "type": "string", "jsonPath": ".spec.mode", "priority": 1}]},
                             {"name": "v1beta1", "served": True, "storage": False, "deprecated": True,
                              # One schema for all versions is another form of definition.
                              "schema": {"openAPIV3Schema": {**SCHEMA, "description": "old"}}}], **more}}


def custom(s):
    """A definition and its objects, from the first to the last."""
    ns = s.namespace().removeprefix("/api/v1")
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    s.post(crds + "?dryRun=All", crd())
    s.post(crds, crd())
    s.until(lambda: any(c["type"] == "Established" and c["status"] == "True" for c in
                        s.ask("GET", crds + "/widgets.d.example")["status.conditions"] or []), "the CRD to be established")
    p = f"/apis/d.example/v1{ns}/widgets"
    s.until(lambda: s.ask("GET", p).status == 200, "the kind to be served")
    s.until(lambda: len(s.ask("GET", "/apis/d.example/v1").body.get("resources", [])) == 3, "its discovery")
    s.record("discovery", s.ask("GET", "/apis/d.example/v1").body)
    head = {"apiVersion": "d.example/v1", "kind": "Widget"}

    def widget(called, **spec):
        return {**head, "metadata": {"name": called}, "spec": spec}
    for i, spec in enumerate([
            {"size": 3}, {}, {"size": 0}, {"size": 11}, {"size": "3"}, {"size": 3, "mode": "c"}, {"size": 3, "name": "UP"},
            {"size": 3, "name": "muchtoolong"}, {"size": 3, "tags": ["a", "a"]}, {"size": 3, "tags": ["a", "b"]},
            {"size": 3, "parts": [{"name": "x"}, {"name": "y", "count": 1}]}, {"size": 3, "parts": [{"name": "x"}, {"name": "x"}]},
            {"size": 3, "parts": [{}]}, {"size": 3, "free": {"a": {"b": [1, None, {}]}}}, {"size": 3, "port": 80},
            {"size": 3, "port": "http"}, {"size": 3, "port": 1.5}, {"size": 3, "maybe": None}, {"size": 3, "name": None},
            {"size": 3, "unknown": 1}, {"size": 3, "replicas": 0}, {"size": 3, "replicas": None}]):
        s.post(p, widget(f"w{i}", **spec))
        s.post(f"{p}?dryRun=All&fieldValidation=Strict", widget(f"s{i}", **spec))
    s.post(p, {"metadata": {"name": "headless"}})
    s.post(p, {**widget("other", size=1), "apiVersion": "d.example/v1beta1"})
    s.post(p, {**head, "metadata": {"name": "other"}, "kind": "Gadget"})
    s.post(p, {**widget("status", size=1), "status": {"replicas": 3}})
    s.get(p + "/w0")
    s.get(f"/apis/d.example/v1beta1{ns}/widgets/w0")
    s.get(f"/apis/d.example/v9{ns}/widgets/w0")
    s.get(p + "?fieldSelector=spec.mode%3Da")
    s.get(p + "?fieldSelector=spec.size%3D3")
    s.get(p + "/w0", accept=PARTIAL)
    answer = s.ask("GET", p + "/w0", accept=TABLE)
    for row in answer.body.get("rows", []):
        row["cells"] = row["cells"][:2]
    for column in answer.body.get("columnDefinitions", [])[:1]:
        column["description"] = ""  # their words
    s.record("table of w0", answer.shown())
    s.patch(p + "/w0", {"spec": {"name": "ab"}})
    s.patch(p + "/w0", {"spec": {"name": None}})
    s.patch(p + "/w0", {"spec": {"size": 10, "replicas": 0}})
    s.patch(p + "/w0", {"spec": {"size": 99}})
    s.patch(p + "/w0", {"status": {"phase": "ignored"}})
    s.patch(p + "/w0/status", {"status": {"phase": "Ready", "replicas": 2, "selector": "a=b"}, "spec": {"size": 7}})
    s.patch(p + "/w0/status", {"status": {"phase": 5}})
    s.get(p + "/w0/scale")
    s.get(p + "/w0/nothing")  # not a word about subresources
    s.get(p + "/missing/nothing")
    s.patch(p + "/w0/nothing", {"spec": {"size": 7}})
    s.put(p + "/w0/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w0", "namespace": s.ns},
                            "spec": {"replicas": 4}})
    s.patch(p + "/w0/scale", {"spec": {"replicas": 5}})
    for force in (None, True):  # refused, either way
        s.apply(p + "/w0/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w0"}, "spec": {"replicas": 3}},
                manager="scaler", force=force)
    s.patch(p + "/w0", {"spec": {"size": 4}}, type="application/strategic-merge-patch+json")
    s.apply(p + "/applied", widget("applied", size=2, parts=[{"name": "x"}]))
    s.apply(p + "/applied", widget("applied", size=3, parts=[{"name": "y"}]), manager="second")
    s.apply(p + "/applied", widget("applied", size=3, parts=[{"name": "y"}]), manager="second", force=True)
    s.apply(p + "/applied", widget("applied", size=3))
    live = s.get(p + "/applied")
    s.put(p + "/applied", {**live.body, "spec": {"size": 5}})
    s.put(p + "/applied", widget("applied", size=5))
    s.get(p)
    s.delete(p + "/w0")
    again = s.ask("GET", crds + "/widgets.d.example").body
    again["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = copy.deepcopy(SCHEMA)
    again["spec"]["scope"] = "Cluster"
    s.put(crds + "/widgets.d.example", again)
    for bad in (crd("gadgets", scope="Nowhere"), crd("gadgets", versions=[]), crd("gadgets", group="other.example"),
                {**crd("gadgets"), "metadata": {"name": "wrong"}}):
        s.post(crds, bad)
    s.post(p, {**widget("held", size=1), "metadata": {"name": "held", "finalizers": ["x.example/hold"]}})
    s.delete(crds + "/widgets.d.example")
    s.until(lambda: s.ask("GET", p + "/held")["metadata.deletionTimestamp"], "the object to be asked to go")
    s.post(p, widget("late", size=1))
    s.patch(p + "/held", {"metadata": {"finalizers": None}})
    s.until(lambda: s.ask("GET", crds + "/widgets.d.example").status == 404, "the CRD to be gone")
    s.until(lambda: s.ask("GET", p).status == 404, "the kind to be gone")
    s.get(p)


def claim_changes(s):
    """What of a claim may be changed before it is bound, and what the refusals show. The class is nobody's: no controller writes."""
    p = s.namespace() + "/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, "storageClassName": "nobody-s"}
    changes = [{"resources": {"requests": {"storage": size}}} for size in ("3Gi", "1Gi", "4Gi", None)] + [
        {"accessModes": ["ReadWriteMany"]}, {"storageClassName": "other"}, {"storageClassName": None}, {"volumeMode": "Block"},
        {"selector": {"matchLabels": {"a": "b"}}}, {"volumeAttributesClassName": "gold"}, {"volumeName": "v", "accessModes": []},
        {"resources": {"limits": {"storage": "9Gi"}}}, {"volumeName": "v"}, {"volumeName": "w"}, {"volumeName": None}]
    made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec}
    s.post(p, made)
    for change in changes:
        s.patch(p + "/c", {"spec": change})
    noted = {"volume.beta.kubernetes.io/storage-class": "old"}
    s.post(p, {**made, "metadata": {"name": "d", "annotations": noted}, "spec": {**spec, "storageClassName": None}})
    for name in ("other", "old"):
        s.patch(p + "/d", {"spec": {"storageClassName": name}})


def of_others(s):
    """What samples of others' operators showed: a namespace where there is none, stars in hosts, the order of labels, a Job's labels, halves of characters."""
    p = s.namespace()
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": s.ns, "namespace": "somewhere"}, "rules": []}
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    s.post(roles, role)
    s.put(f"{roles}/{s.ns}", {**role, "metadata": {**role["metadata"], "labels": {"a": "b"}}})
    s.patch(f"{roles}/{s.ns}", {"metadata": {"namespace": "elsewhere", "labels": {"a": "c"}}})
    s.apply(f"{roles}/{s.ns}-applied", {**role, "metadata": {"name": f"{s.ns}-applied", "namespace": "somewhere"}})
    for name in (s.ns, f"{s.ns}-applied"):
        s.delete(f"{roles}/{name}")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {
        "ports": [{"port": 80}], "selector": {"app": "a", "app.kubernetes.io/name": "b", "app-x": "c", "b": "d"}}}
    s.ask("POST", p + "/services", service)
    s.record("selector", s.ask("GET", p + "/services/s", accept=TABLE)["rows.0.cells.6"])
    jobs = f"/apis/batch/v1/namespaces/{s.ns}/jobs"
    for name, labels, of_pods, more in (("a", None, {"x": "y"}, {}), ("b", {"x": "y"}, {"x": "y"}, {}), ("d", None, {}, {}),
                                        ("e", None, {"x": "y"}, {"manualSelector": True, "selector": {"matchLabels": {"x": "y"}}})):
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": {"suspend": True, **more, "template": {
            "metadata": {"labels": of_pods}, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}
        s.post(jobs, job)
        s.patch(f"{jobs}/{name}", {"metadata": {"labels": None}})
    body = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"}, "data": {"k": "%s"}}'
    for name, text in (("m", r"\ud83d\ude00"), ("n", r"\\ud83d"), ("o", r"\u00e4")):
        for type in (APPLY, YAML):
            way = ("PATCH", f"{p}/configmaps/{name}?fieldManager=x") if type == APPLY else ("POST", f"{p}/configmaps?dryRun=All")
            s.record(f"{name} as {type}", s.ask(*way, body % (name, text), type=type).status)


# Namespaces and definitions have scripts of their own; the others are changed by controllers while a script looks.
APART = ("Namespace", "CustomResourceDefinition", "Pod", "Node", "PersistentVolume", "ReplicationController",
         "ValidatingAdmissionPolicy", "PodDisruptionBudget", "PersistentVolumeClaim",
         "ControllerRevision")  # whose data the real server takes for changed whenever it comes as JSON


def scripts():
    seen = set()
    yield "discovery", discovery
    yield "custom", custom
    yield "claim_changes", claim_changes
    yield "of_others", of_others
    for o in minimal():
        name = f"kind_{o['kind']}_{o['apiVersion'].split('/')[-1]}".lower()
        if o["kind"] in APART or name in seen:
            continue
        seen.add(name)
        yield name, lifecycle(o)
