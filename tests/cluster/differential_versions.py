"""Scripts of test_differential.py about objects that are written in one version and read in another."""
import json

from differential import JSON_PATCH, MERGE, PARTIAL, TABLE

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


@script
def versions_of_custom_kinds(s):
    """Whose owners cannot be told, because another owner's version lacks a field, loses them; an apply fails then."""
    crds, group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "versions.example"
    text = {"type": "string"}

    def version(name, storage, **fields):
        return {"name": name, "served": True, "storage": storage, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"a": text, "b": text, **fields}},
                                             "status": {"type": "object", "properties": {"phase": text}}}}}}
    free = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    s.ask("POST", crds, {"metadata": {"name": "things." + group}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [version("v1", False, one=text, count={"type": "integer", "default": 1}),
                     version("v2", True, two=text, list={"type": "array", "items": text, "x-kubernetes-list-type": "set"}),
                     {"name": "v3", "served": True, "storage": False, "schema": free}]}})
    ns = s.namespace().removeprefix("/api/v1") + "/things"
    p = {v: f"/apis/{group}/{v}{ns}" for v in ("v1", "v2", "v3")}
    for path in p.values():
        s.until(lambda: s.ask("GET", path).status == 200, "the kind to be served")

    def thing(version, name="a", **spec):
        return {"apiVersion": f"{group}/{version}", "kind": "Thing", "metadata": {"name": name}, "spec": spec}
    s.post(p["v1"], thing("v1", a="1", b="1", one="1"))
    s.get(p["v2"] + "/a")
    s.patch(p["v2"] + "/a?fieldManager=m", {"spec": {"b": "2", "two": "2"}})
    s.patch(p["v1"] + "/a", {"metadata": {"labels": {"x": "y"}}, "spec": {"one": "2"}})
    s.patch(p["v3"] + "/a?fieldManager=w", {"spec": {"three": "3", "a": "3"}})
    s.patch(p["v1"] + "/a/status", {"status": {"phase": "x"}})
    s.patch(p["v2"] + "/a/status", {"status": {"phase": "y"}})
    s.apply(p["v1"] + "/a", thing("v1", a="1", b="9"), manager="m")
    s.apply(p["v1"] + "/a", thing("v1", a="1", b="9"), manager="m", force=True)
    s.apply(p["v2"] + "/a", thing("v2", a="1", list=["x", "y"]), manager="m", force=True)
    s.apply(p["v2"] + "/a", thing("v2", list=["y", "z"]), manager="n", force=True)
    s.apply(p["v1"] + "/a", thing("v1", a="1"), manager="n", force=True)
    live = s.get(p["v1"] + "/a")
    s.put(p["v1"] + "/a", {**live.body, "spec": {"a": "7"}})
    s.put(p["v2"] + "/a", thing("v2", two="x", list=["q"]))
    s.put(p["v1"] + "/a", thing("v1", one="x"))
    s.patch(p["v2"] + "/a", [{"op": "replace", "path": "/spec/list", "value": ["r"]}], type=JSON_PATCH)
    for v in p.values():
        s.get(v + "/a")
        s.get(v)
    s.patch(p["v2"] + "/a", {"metadata": {"managedFields": [{}]}})
    s.patch(p["v1"] + "/a", {"spec": {"a": "8"}})
    s.apply(p["v1"] + "/a", thing("v1", a="1"), manager="n", force=True)
    s.delete(p["v2"] + "/a")
    # A version that goes, and is somebody's.
    s.post(p["v3"], {**thing("v3", "b", a="1"), "more": 1})
    s.patch(p["v1"] + "/b?fieldManager=w", {"spec": {"b": "3"}})
    definition = s.ask("GET", crds + "/things." + group).body
    definition["spec"]["versions"] = definition["spec"]["versions"][:2]
    s.ask("PUT", crds + "/things." + group, definition)
    s.until(lambda: s.ask("GET", p["v3"]).status == 404, "the version to go")
    s.until(lambda: not s.ask("PATCH", p["v1"] + "/b?dryRun=All", {"spec": {"b": "x"}}, type=MERGE)["metadata.managedFields"],
            "the version to be forgotten")
    s.patch(p["v1"] + "/b?fieldManager=w", {"spec": {"b": "4"}})
    s.apply(p["v2"] + "/b", thing("v2", "b", a="4"), manager="n", force=True)
    s.get(p["v2"] + "/b")
    s.ask("DELETE", crds + "/things." + group)


@script
def status_without_a_subresource(s):
    """It is a field like any other, and has owners; a version may have the subresource, and another not."""
    crds, group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "plain.example"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {
        part: {"type": "object", "properties": {f: {"type": "string"} for f in "ab"}} for part in ("spec", "status")}}}
    s.ask("POST", crds, {"metadata": {"name": "notes." + group}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": "notes", "singular": "note", "kind": "Note", "listKind": "NoteList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema},
                     {"name": "v2", "served": True, "storage": False, "schema": schema, "subresources": {"status": {}}}]}})
    ns = s.namespace().removeprefix("/api/v1") + "/notes"
    p = {v: f"/apis/{group}/{v}{ns}" for v in ("v1", "v2")}
    for path in p.values():
        s.until(lambda: s.ask("GET", path).status == 200, "the kind to be served")

    def note(version, **parts):
        return {"apiVersion": f"{group}/{version}", "kind": "Note", "metadata": {"name": "n"}, **parts}
    s.post(p["v1"], note("v1", spec={"a": "1"}, status={"a": "1", "b": "1"}))
    s.patch(p["v1"] + "/n?fieldManager=m", {"status": {"a": "2"}})
    s.apply(p["v1"] + "/n", note("v1", spec={"a": "1"}, status={"b": "3"}), manager="n")
    s.apply(p["v1"] + "/n", note("v1", spec={"a": "1"}, status={"b": "3"}), manager="n", force=True)
    s.patch(p["v1"] + "/n/status", {"status": {"a": "4"}})
    s.patch(p["v2"] + "/n?fieldManager=o", {"status": {"a": "5"}, "spec": {"b": "5"}})
    s.patch(p["v2"] + "/n/status?fieldManager=o", {"status": {"a": "6"}, "spec": {"b": "6"}})
    s.apply(p["v2"] + "/n", note("v2", spec={"a": "1"}, status={"b": "7"}), manager="n", force=True)
    s.get(p["v1"] + "/n")
    s.ask("DELETE", crds + "/notes." + group)


@script
def versions_of_events(s):
    ns = s.namespace()
    core, other = ns + "/events", "/apis/events.k8s.io/v1" + ns.removeprefix("/api/v1") + "/events"
    pod = {"kind": "Pod", "namespace": s.ns, "name": "x"}
    s.post(core, {"metadata": {"name": "a"}, "involvedObject": pod, "reason": "R", "message": "m", "type": "Normal", "count": 1})
    s.patch(other + "/a?fieldManager=m", {"note": "n"})
    s.patch(other + "/a?fieldManager=m", {"metadata": {"labels": {"a": "b"}}})
    s.patch(core + "/a", {"count": 2, "metadata": {"labels": {"c": "d"}}})
    s.patch(other + "/a?fieldManager=m", {"series": {"count": 3, "lastObservedTime": "2026-01-02T03:04:05.000000Z"}})
    old = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a", "labels": {"a": "c"}}, "involvedObject": pod}
    new = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a", "labels": {"c": "c"}}, "regarding": pod}
    s.apply(core + "/a", old, manager="q")
    s.apply(core + "/a", old, manager="q", force=True)
    s.apply(other + "/a", new, manager="q", force=True)
    s.patch(core + "/a", {"count": 3})
    s.get(other + "/a")
    s.get(core + "/a")


REF = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
METRICS = [
    {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 70}}},
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}},
    {"type": "Pods", "pods": {"metric": {"name": "<rps>", "selector": {"matchLabels": {"name": "b", "a": "c"}}}, "target": {"type": "AverageValue", "averageValue": "1000"}}},
    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "x", "apiVersion": "v1"}, "metric": {"name": "q"}, "target": {"type": "Value", "value": "2"}}},
    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "x"}, "metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}}},
    {"type": "External", "external": {"metric": {"name": "e", "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["z", "b"]}]}},
                                      "target": {"type": "AverageValue", "averageValue": "30"}}},
    {"type": "External", "external": {"metric": {"name": "f"}, "target": {"type": "Value", "value": "30"}}},
    {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 6}}}]
BEHAVIOR = {"scaleUp": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 30}]}, "scaleDown": {"selectPolicy": "Disabled", "tolerance": "0.1"}}
STATUS = {"currentReplicas": 1, "desiredReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R"}], "currentMetrics": [
    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "10m"}}},
    {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 8}}},
    {"type": "Pods", "pods": {"metric": {"name": "rps"}, "current": {"averageValue": "1"}}},
    {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "x"}, "metric": {"name": "q"}, "current": {"value": "1"}}},
    {"type": "External", "external": {"metric": {"name": "e"}, "current": {"averageValue": "2"}}},
    {"type": "ContainerResource", "containerResource": {"name": "memory", "container": "c", "current": {"averageValue": "1"}}}]}
TRAVELS = "autoscaling.alpha.kubernetes.io/"


def autoscaler(version, name, annotations=None, **spec):
    return {"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 3, "scaleTargetRef": REF, **spec},
            "metadata": {"name": name, **({"annotations": {TRAVELS + k: v if isinstance(v, str) else json.dumps(v) for k, v in annotations.items()}}
                                          if annotations else {})}}


@script
def versions_of_autoscalers(s):
    """What v1 has no field for travels in annotations."""
    ns = s.namespace().removeprefix("/api/v1") + "/horizontalpodautoscalers"
    v1, v2 = "/apis/autoscaling/v1" + ns, "/apis/autoscaling/v2" + ns
    start = s.ask("GET", v1)["metadata.resourceVersion"]
    s.post(v2, autoscaler("v2", "full", metrics=METRICS, behavior=BEHAVIOR))
    s.patch(v2 + "/full/status", {"status": STATUS})
    for form in ({}, {"accept": PARTIAL}):
        s.get(v1 + "/full", **form)
    s.record("rows", [r["cells"][:-1] for r in s.ask("GET", v1, accept=TABLE).body["rows"]])
    s.patch(v1 + "/full?dryRun=All", {"spec": {"targetCPUUtilizationPercentage": 5}})
    s.patch(v1 + "/full", {"metadata": {"labels": {"a": "b"}}})
    s.get(v2 + "/full")
    live = s.get(v1 + "/full").body
    s.put(v1 + "/full", live)  # as it is
    s.put(v1 + "/full", {**live, "metadata": {"name": "full", "annotations": {TRAVELS + "conditions": "[]", "x": "y"}}})
    s.get(v2 + "/full")
    s.post(v1, autoscaler("v1", "plain"))
    s.get(v2 + "/plain")
    for percent in (40, None):
        s.patch(v1 + "/plain", {"spec": {"targetCPUUtilizationPercentage": percent}})
    s.patch(v1 + "/plain", [{"op": "replace", "path": "/spec/maxReplicas", "value": 9}], type=JSON_PATCH)
    s.apply(v1 + "/applied", autoscaler("v1", "applied"))
    s.apply(v1 + "/applied", autoscaler("v1", "applied", targetCPUUtilizationPercentage=7))
    s.apply(v2 + "/applied", autoscaler("v2", "applied", metrics=METRICS, behavior=BEHAVIOR), force=True)
    s.apply(v1 + "/applied", autoscaler("v1", "applied"), manager="other", force=True)
    s.apply(v1 + "/applied", autoscaler("v1", "applied", {"metrics": []}), manager="other")
    s.apply(v1 + "/applied", autoscaler("v1", "applied", {"metrics": []}), manager="other", force=True)
    s.patch(v1 + "/applied/status", {"status": {"currentReplicas": 3, "currentCPUUtilizationPercentage": 9}})
    s.get(v2 + "/applied")
    for path in (v1, v2):
        s.get(path)
        s.watch(f"{path}?watch=true&resourceVersion={start}", 8).read()
    s.post(v2, autoscaler("v2", "not", {"metrics": "x", "other": "y"}))
    s.delete(v1 + "/not")
    s.delete(v2 + "/full")


@script
def annotations_of_autoscalers(s):
    ns = s.namespace().removeprefix("/api/v1") + "/horizontalpodautoscalers"
    v1, v2 = "/apis/autoscaling/v1" + ns, "/apis/autoscaling/v2" + ns

    def resource(**more):
        return [{"type": "Resource", "resource": {"name": "memory", **more}}]
    metrics = ["x", "[]", "null", [None], [{}], [{"type": "Foo"}], [{"type": "Resource"}], resource(), resource(targetAverageUtilization=70),
               resource(targetAverageUtilization="70"), resource(targetAverageUtilization=70, targetAverageValue="1"), resource(targetAverageValue="z"),
               resource(targetAverageValue=3), resource(target={"type": "Utilization", "averageUtilization": 70}), [{"Type": "Resource", "RESOURCE": {"NAME": "x", "targetaverageutilization": 7}}],
               [{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 70}}], [{"type": "Pods", "pods": {"metricName": "m"}}],
               [{"type": "Object", "object": {"target": {"kind": "a", "name": "b"}, "metricName": "m", "targetValue": "1", "averageValue": "2"}}],
               [{"type": "Object", "object": {"target": {"kind": "a", "name": "b"}, "metricName": "m", "averageValue": "2"}}], [{"type": "Object", "object": {"metricName": "%"}}],
               [{"type": "External", "external": {"metricName": "m", "targetValue": "1", "targetAverageValue": "2"}}], [{"type": "External", "external": {"metricName": "m"}}],
               [{**resource(targetAverageUtilization=1)[0], "pods": {"metricName": "m", "targetAverageValue": "1"}}]]
    behaviors = ["x", "{}", {"ScaleUp": {}}, {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 3}]}}, {"scaleDown": None},
                 {"ScaleUp": {"SelectPolicy": "x"}}, {"ScaleUp": {"SelectPolicy": 1}}, {"ScaleUp": {"Tolerance": "x"}}, {"ScaleUp": {"StabilizationWindowSeconds": 9999}}]
    made = [{"metrics": m} for m in metrics] + [{"behavior": b} for b in behaviors] + [{"conditions": [{"type": "a"}], "current-metrics": "[]"}]
    for i, annotations in enumerate(made):
        s.post(v1, autoscaler("v1", f"n{i}", annotations))
        s.get(f"{v2}/n{i}")
    used = [{"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 5}}]
    for annotations in ({"conditions": [{"type": "a", "status": "True"}]}, {"conditions": "x"}, {"current-metrics": used}, {"current-metrics": [{"type": "Pods", "pods": {}}]},
                        {"current-metrics": "[]"}, {"current-metrics": "x"}, {"metrics": resource(targetAverageUtilization=1)}):
        s.patch(v1 + "/n0/status", {**autoscaler("v1", "n0", annotations), "spec": None, "status": {"currentCPUUtilizationPercentage": 3}})
        s.get(v2 + "/n0")
