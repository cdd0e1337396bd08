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
def status_with_a_default(s):
    """A new object has it, though nobody may write it; Flux tells so that nothing was seen of an object yet."""
    crds, group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "waits.example"
    number, text = {"type": "integer"}, {"type": "string"}
    s.ask("POST", crds, {"metadata": {"name": "waits." + group}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": "waits", "singular": "wait", "kind": "Wait", "listKind": "WaitList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {"a": text}}, "status": {
                "type": "object", "default": {"seen": -1}, "properties": {"seen": number, "phase": text}}}}}}]}})
    p = f"/apis/{group}/v1" + s.namespace().removeprefix("/api/v1") + "/waits"
    s.until(lambda: s.ask("GET", p).status == 200, "the kind to be served")
    wait = {"apiVersion": f"{group}/v1", "kind": "Wait"}
    s.post(p, {**wait, "metadata": {"name": "a"}, "spec": {"a": "b"}})
    s.post(p, {**wait, "metadata": {"name": "b"}, "status": {"seen": 5, "phase": "x"}})
    s.apply(p + "/c", {**wait, "metadata": {"name": "c"}, "status": {"phase": "y"}})
    for name in "abc":
        s.get(f"{p}/{name}")
        s.patch(f"{p}/{name}", {"spec": {"a": "c"}})
        s.patch(f"{p}/{name}/status", {"status": {"phase": "z"}})
        s.patch(f"{p}/{name}/status?fieldManager=m", {"status": None})
        s.get(f"{p}/{name}")
    s.get(p)
    s.ask("DELETE", crds + "/waits." + group)


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


def autoscaler(version, name, **spec):
    return {"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
            "spec": {"maxReplicas": 3, "scaleTargetRef": REF, **spec}}


@script
def versions_of_autoscalers(s):
    """Those that v1 has all fields for."""
    ns = s.namespace().removeprefix("/api/v1") + "/horizontalpodautoscalers"
    v1, v2 = "/apis/autoscaling/v1" + ns, "/apis/autoscaling/v2" + ns
    s.post(v1, autoscaler("v1", "plain"))
    s.get(v2 + "/plain")
    s.get(v1 + "/plain", accept=PARTIAL)
    for percent in (40, None):
        s.patch(v1 + "/plain", {"spec": {"targetCPUUtilizationPercentage": percent}})
    s.patch(v1 + "/plain", [{"op": "replace", "path": "/spec/maxReplicas", "value": 9}], type=JSON_PATCH)
    s.put(v1 + "/plain", s.get(v1 + "/plain").body)
    s.apply(v1 + "/applied", autoscaler("v1", "applied"))
    s.apply(v1 + "/applied", autoscaler("v1", "applied", targetCPUUtilizationPercentage=7))
    s.get(v2 + "/applied")
    for path in (v1, v2):
        s.get(path)
    s.post(v2, autoscaler("v2", "not", targetCPUUtilizationPercentage=7))
    s.delete(v1 + "/not")
    s.delete(v2 + "/plain")
