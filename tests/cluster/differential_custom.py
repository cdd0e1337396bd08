"""Scripts of test_differential.py about custom kinds: definitions that change while there are objects, who owns what in lists of all
types, cells, field selectors, scales and rules about changes."""
import copy

from differential import JSON_PATCH, MERGE, PARTIAL, STRATEGIC, TABLE
from differential_requests import NO_OWNERS, show

SCRIPTS = []
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def fields(**properties):
    return {"type": "object", "properties": properties}


def listed(items, type=None, *keys):
    return {"type": "array", "items": items, **({"x-kubernetes-list-type": type} if type else {}), **({"x-kubernetes-list-map-keys": list(keys)} if keys else {})}


def rules(*list):
    return {"x-kubernetes-validations": list}


def definition(s, plural, spec, status=None, **version):
    group, kind = s.ns + ".example", plural[:-1].capitalize()
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": plural[:-1], "kind": kind, "listKind": kind + "List"}, "versions": [{
            "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": fields(spec=spec, **({"status": status} if status else {}))}, **version}]}}


def define(s, plural, spec, status=None, **version):
    """Returns the path of its objects, and what makes one."""
    made = s.ask("POST", CRDS, definition(s, plural, spec, status, **version))
    assert made.status == 201, made.text
    path = f"/apis/{s.ns}.example/v1{s.namespace().removeprefix('/api/v1')}/{plural}"
    s.until(lambda: s.ask("GET", path).status == 200, plural + " to be served")

    def one(name, meta=None, **parts):
        return {"apiVersion": f"{s.ns}.example/v1", "kind": plural[:-1].capitalize(), "metadata": {"name": name, **(meta or {})}, **parts}
    return path, one


@script
def owners_in_lists(s):
    named = {**fields(name=TEXT, v=TEXT, inner=listed({**fields(k=TEXT, v=TEXT), "required": ["k"]}, "map", "k"), tags=listed(TEXT, "set")), "required": ["name"]}
    p, one = define(s, "gizmos", fields(
        sets=listed(TEXT, "set"), plain=listed(TEXT), atomics=listed(fields(name=TEXT, v=TEXT), "atomic"), maps=listed(named, "map", "name"), ints=listed(NUMBER, "set"),
        two=listed({**fields(host=TEXT, port={**NUMBER, "default": 80}, v=TEXT), "required": ["host"]}, "map", "host", "port"),
        atom={**fields(a=TEXT, b=TEXT), "x-kubernetes-map-type": "atomic"}, gran={**fields(a=TEXT, b=TEXT), "x-kubernetes-map-type": "granular"},
        free=FREE, labels={"type": "object", "additionalProperties": TEXT}, byname={"type": "object", "additionalProperties": fields(a=TEXT, b=TEXT)}))
    s.apply(p + "/a", one("a", spec={
        "sets": ["a", "b"], "plain": ["x"], "atomics": [{"name": "n", "v": "1"}], "maps": [{"name": "m", "v": "1", "inner": [{"k": "i", "v": "1"}], "tags": ["t"]}],
        "two": [{"host": "h", "v": "1"}], "atom": {"a": "1"}, "gran": {"a": "1"}, "free": {"a": {"b": [1, {"c": 2}]}}, "labels": {"l": "1"}, "byname": {"n": {"a": "1"}}, "ints": [1, 2]}),
        manager="one")
    for force, spec in (
            (None, {"sets": ["b", "c"]}), (None, {"plain": ["x"]}), (None, {"plain": ["y"]}), (True, {"plain": ["y"]}), (None, {"atomics": [{"name": "n", "v": "2"}]}),
            (None, {"maps": [{"name": "m", "inner": [{"k": "i", "v": "2"}]}]}), (True, {"maps": [{"name": "m", "inner": [{"k": "i", "v": "2"}, {"k": "j"}]}]}),
            (None, {"maps": [{"name": "m", "tags": ["t", "u"]}, {"name": "o"}]}), (None, {"maps": [{"v": "x"}]}), (None, {"maps": [{"name": "m"}, {"name": "m"}]}),
            (None, {"two": [{"host": "h", "port": 80, "v": "2"}]}), (None, {"two": [{"host": "h", "port": 81, "v": "2"}]}), (None, {"two": [{"host": "h"}, {"host": "h", "port": 80}]}),
            (None, {"atom": {"b": "2"}}), (True, {"atom": {"b": "2"}}), (None, {"gran": {"b": "2"}}), (None, {"gran": {"a": "2"}}), (None, {"free": {"a": {"b": [1]}}}),
            (True, {"free": {"a": {"d": 1}}}), (None, {"labels": {"m": "1"}}), (None, {"byname": {"n": {"b": "1"}, "o": {}}}), (None, {"ints": [2, 3]}), (None, {"ints": [2, 2]}),
            (None, {"sets": None}), (None, {"sets": []}), (None, {"gran": {}}), (None, {"unknown": 1}), (None, {}), (None, {"maps": [{"name": "x"}, {"name": "w"}, {"name": "z"}]})):
        s.apply(p + "/a", one("a", spec=spec), manager="two", force=force)
    s.apply(p + "/a", one("a", spec={"maps": [{"name": "z"}, {"name": "y"}, {"name": "x"}]}), manager="one")
    s.patch(p + "/a?fieldManager=e", {"spec": {"maps": [{"name": "m", "v": "9"}, {"name": "x", "v": "8"}], "sets": ["p", "q"]}})
    s.apply(p + "/a", one("a", spec={"sets": ["q", "r"], "maps": [{"name": "x", "v": "7"}]}), manager="one")
    s.get(p + "/a")


@script
def definitions_over_time(s):
    """A field goes and one comes with a default, status becomes a subresource and is none again, another version is stored."""
    p, one = define(s, "evolves", fields(a=TEXT, old=TEXT, n=NUMBER), fields(x=TEXT))
    name = f"{CRDS}/evolves.{s.ns}.example"
    s.post(p, one("a", spec={"a": "1", "old": "o", "n": 5}, status={"x": "1"}))
    s.post(p, one("b", spec={"a": "1", "n": 500}, status={"x": "1"}))

    def change(edit, until):
        live = s.ask("GET", name).body
        edit(live["spec"]["versions"])
        s.put(name, live)
        s.until(until, "the change")

    def other_fields(versions):
        spec = versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        del spec["old"]
        spec.update(new={**TEXT, "default": "d"}, n={**NUMBER, "maximum": 10}, deep={**fields(x={**NUMBER, "default": 3}), "default": {}})
    change(other_fields, lambda: s.ask("GET", p + "/a")["spec.new"] == "d" and s.ask("GET", p).status == 200)
    s.get(p)
    s.watch(f"{p}?watch=1&resourceVersion=0&timeoutSeconds=2", 2).read()
    for patch in ({"a": "2"}, {"n": 600}, {"n": 6}, {"n": 11}, {"new": None}, {"deep": None}):
        s.patch(p + "/b", {"spec": patch})

    def is_apart():  # the real server knows the path of a subresource before it serves objects anew
        return s.ask("PATCH", p + "/a?dryRun=All", {"status": {"x": "probe"}}, type=MERGE)["status.x"] != "probe"
    change(lambda v: v[0].update(subresources={"status": {}}), is_apart)
    s.patch(p + "/a", {"status": {"x": "ignored"}})
    s.patch(p + "/a/status", {"status": {"x": "2"}, "spec": {"a": "no"}})
    change(lambda v: v[0].pop("subresources"), lambda: not is_apart())
    s.patch(p + "/a", {"status": {"x": "3"}})

    def another_version(versions):
        new = {**copy.deepcopy(versions[0]), "name": "v2"}
        versions[0]["storage"] = False
        new["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["two"] = {**TEXT, "default": "2"}
        versions.append(new)
    second = p.replace("/v1/", "/v2/", 1)
    change(another_version, lambda: s.ask("GET", second).status == 200)
    s.get(second + "/a")
    s.patch(second + "/a", {"spec": {"a": "7"}})
    s.get(p + "/a")
    change(lambda v: v.pop(0), lambda: True)  # it may be stored
    change(lambda v: v[0].update(served=False), lambda: s.ask("GET", p).status == 404)
    for stored in (["v2"], ["v9"], ["v2"]):
        s.patch(name + "/status", {"status": {"storedVersions": stored}})
        s.patch(name + "?dryRun=All", {"metadata": {"labels": {"a": "b"}}})
    change(lambda v: v.pop(0), lambda: True)
    s.patch(second + "/a", {"spec": {"a": "9"}})
    s.delete(name)


COLUMNS = (("S", "string", ".spec.s"), ("I", "integer", ".spec.i"), ("N", "number", ".spec.n"), ("B", "boolean", ".spec.b"), ("D", "date", ".spec.d"), ("L", "string", ".spec.l"),
           ("L0", "string", ".spec.l[0]"), ("M", "string", ".spec.m"), ("C", "string", '.spec.c[?(@.type=="Ready")].status'), ("CI", "integer", '.spec.c[?(@.type=="Ready")].n'),
           ("IS", "integer", ".spec.s"), ("SI", "string", ".spec.i"), ("DN", "date", ".spec.s"), ("IN", "integer", ".spec.n"), ("Dotted", "string", r".metadata.labels.a\.b/c"),
           ("Gone", "date", ".metadata.deletionTimestamp"), ("None", "integer", ".status.x"), ("SN", "string", ".spec.n"))


@script
def cells_of_all_types(s):
    p, one = define(s, "cells", FREE, additionalPrinterColumns=[{"name": n, "type": t, "jsonPath": j} for n, t, j in COLUMNS])
    for i, spec in enumerate((
            {}, {"s": "text", "i": 5, "n": 1.5, "b": True, "d": "2020-01-01T00:00:00Z", "l": ["x", "y"], "m": {"k": "v", "j": [1, 2.5, None, True]}, "c": [{"type": "Ready", "status": "True", "n": 4}]},
            {"s": 1, "i": "5", "n": 2, "b": "true", "d": "nonsense", "l": "text", "m": "t", "c": []}, {"s": None, "i": 1e3, "n": -0.0, "b": 0, "d": 5, "l": [], "m": [], "c": [{"type": "Ready"}]},
            {"s": True, "i": 9007199254740993, "n": 1e21, "b": None, "d": None, "l": [1, 2], "m": {}, "c": [{}]}, {"s": ["a"], "i": 1.5, "n": "x", "b": [], "d": [], "l": {"a": 1}},
            {"s": "multi\nline ü \"q\"", "i": -3, "n": 0.1, "l": [[1], {"a": "b"}], "m": {"a": None}})):
        s.post(p, one(f"c{i}", {"labels": {"a.b/c": "2"}}, spec=spec))
    show(s, "GET", p, accept=TABLE)
    for path in ("a", ".a[0", "", "{.a}", ".a..b", ".a[?(@.x)]", ".a.*", ".a['b']", ".a[0:2]", ".a[-1]", ".a b"):
        s.post(CRDS + "?dryRun=All", definition(s, "others", FREE, additionalPrinterColumns=[{"name": "a", "type": "string", "jsonPath": path}]))


@script
def selectable_fields(s):
    spec = fields(color=TEXT, size=NUMBER, on={"type": "boolean"}, list=listed(TEXT), nested=fields(deep=TEXT), nul={**TEXT, "nullable": True}, dflt={**TEXT, "default": "red"})
    chosen = [{"jsonPath": ".spec." + f} for f in ("color", "size", "on", "nested.deep", "dflt", "nul")]
    p, one = define(s, "shirts", spec, selectableFields=chosen)
    for i, values in enumerate(({"color": "red", "size": 1, "on": True, "nested": {"deep": "d"}}, {"color": "blue", "size": -2, "on": False}, {}, {"color": "", "nul": None, "dflt": "green"})):
        s.post(p, one(f"s{i}", spec=values))
    for selector in ("color%3Dred", "color%21%3Dred", "color%3D", "size%3D1", "size%3D01", "size%3D", "on%3Dtrue", "on%3D", "nested.deep%3Dd", "dflt%3Dred", "nul%3D", "list%3Da",
                     "color%3Dred,spec.size%3D1"):
        s.get(f"{p}?fieldSelector=spec.{selector}")
    start = s.ask("GET", p)["metadata.resourceVersion"]
    stream = s.watch(f"{p}?watch=1&resourceVersion={start}&fieldSelector=spec.color%3Dred&timeoutSeconds=20", 3)
    s.patch(p + "/s1", {"spec": {"color": "red"}})
    s.patch(p + "/s1", {"spec": {"color": "blue"}})
    s.delete(p + "/s0")
    stream.read()
    for path in (".spec.list", ".spec", ".spec.nope", ".metadata.name", "spec.color", "", ".spec.list[0]", ".spec.nested", ".kind", ".spec['color']"):
        s.post(CRDS + "?dryRun=All", definition(s, "others", spec, selectableFields=[{"jsonPath": path}]))


@script
def scales_of_custom_kinds(s):
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.sel"}
    p, one = define(s, "fleets", fields(replicas=NUMBER, other=TEXT), fields(replicas=NUMBER, sel=TEXT), subresources={"status": {}, "scale": paths})
    for name, parts in (("a", {"spec": {"replicas": 2}}), ("none", {"spec": {}}), ("bare", {})):
        s.post(p, one(name, **parts))
        scale = f"{p}/{name}/scale"
        s.get(scale)
        s.patch(scale, {"spec": {"replicas": 4}})
        s.put(scale, {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": 3}})
        s.patch(scale, [{"op": "replace", "path": "/spec/replicas", "value": 5}], type=JSON_PATCH)
        s.patch(scale, {"spec": {"replicas": 6}}, type=STRATEGIC)
        s.get(f"{p}/{name}")
    s.patch(p + "/a/status", {"status": {"replicas": 1, "sel": "not a selector!!"}})
    live = s.get(p + "/a/scale").body
    for body in ({**live, "spec": {"replicas": -1}}, {**live, "spec": {}}, {**live, "metadata": {**live["metadata"], "name": "b"}}, {**live, "metadata": {**live["metadata"], "resourceVersion": "1"}},
                 {**live, "metadata": {"name": "a", "labels": {"a": "b"}}}, {}, {**live, "metadata": {"name": "a"}, "status": {"replicas": 99}}):
        s.put(p + "/a/scale", body)
    for patch in ({"spec": None}, {"metadata": {"name": "x"}}, {"status": {"replicas": 4}}, {"spec": {"replicas": 0}}, {"spec": {"replicas": -5}}):
        s.patch(p + "/a/scale?fieldManager=p", patch)
    s.apply(p + "/a", one("a", spec={"replicas": 1, "other": "o"}), manager="owner")
    s.apply(p + "/a", one("a", spec={"replicas": 1, "other": "o"}), manager="owner", force=True)
    s.patch(p + "/a/scale", {"spec": {"replicas": 9}})
    s.apply(p + "/a", one("a", spec={"replicas": 1}), manager="owner")
    show(s, "GET", p + "/a/scale", accept=TABLE)
    s.get(p + "/a/scale", accept=PARTIAL)


@script
def rules_about_changes(s):
    short = {**TEXT, "maxLength": 10}
    spec = {**fields(
        im={**TEXT, **rules({"rule": "self == oldSelf", "message": "is fixed"})},
        up={**NUMBER, **rules({"rule": "self >= oldSelf", "messageExpression": "self > 3 ? 'from more' : 'to less'", "reason": "FieldValueForbidden"})},
        opt={**NUMBER, **rules({"rule": "!oldSelf.hasValue() || self > oldSelf.value()", "optionalOldSelf": True, "message": "must grow"})}, a=TEXT, b=TEXT,
        list={**listed({**fields(k=TEXT, v={**NUMBER, **rules({"rule": "self >= oldSelf"})}), "required": ["k"]}, "map", "k"), "maxItems": 10},
        m={"type": "object", "maxProperties": 10, "additionalProperties": {**NUMBER, **rules({"rule": "self != oldSelf", "message": "must differ"})}},
        once={**short, **rules({"rule": "oldSelf == '' || self == oldSelf", "message": "once"})}),
        **rules({"rule": "!has(self.a) || !has(self.b)", "fieldPath": ".a", "reason": "FieldValueDuplicate", "message": "either a or b"},
                {"rule": "!has(self.b) || self.b != 'bad'", "fieldPath": ".b", "reason": "FieldValueRequired", "message": "no"},
                {"rule": "has(oldSelf.im) == has(self.im)", "message": "im may not come or go"}, {"rule": "!has(self.up) || self.up < 100", "messageExpression": "''", "message": "fallback"},
                {"rule": "!has(self.up) || self.up != 51", "messageExpression": "string(self.up / 0)"})}
    p, one = define(s, "oaths", spec, fields(x={**TEXT, **rules({"rule": "self == oldSelf"})}), subresources={"status": {}})
    s.post(p, one("a", spec={"im": "1", "up": 5, "opt": 1, "list": [{"k": "a", "v": 1}], "m": {"x": 1}}))
    for values in ({"im": "2", "up": 5, "opt": 2}, {"im": "1", "up": 4, "opt": 2}, {"im": "1", "up": 5, "opt": 1}, {"up": 5, "opt": 3}, {"im": "1", "a": "1", "b": "bad", "opt": 4},
                   {"im": "1", "up": 100, "opt": 5}, {"im": "1", "up": 51, "opt": 5}, {"im": "1", "list": [{"k": "b", "v": 0}, {"k": "a", "v": 0}], "opt": 6},
                   {"im": "1", "list": [{"k": "b", "v": 0}], "opt": 6}, {"im": "1", "m": {"x": 1, "y": 1}, "opt": 7}, {"im": "1", "opt": 9, "once": ""}, {"im": "1", "opt": 10, "once": "z"},
                   {"im": "1", "opt": 11, "once": "y"}):
        body = one("a", {"resourceVersion": s.ask("GET", p + "/a")["metadata.resourceVersion"]}, spec=values)
        s.put(p + "/a", body)
        s.patch(p + "/a?dryRun=All", {"spec": values})
    for x in ("1", "2"):
        s.patch(p + "/a/status", {"status": {"x": x}})
    for rule in ({"rule": ""}, {"rule": "self"}, {"rule": "true", "fieldPath": "a"}, {"rule": "true", "fieldPath": ".nope"}, {"rule": "true", "fieldPath": ".list[0]"}, {"rule": "true", "reason": "x"},
                 {"rule": "true", "message": "a\nb"}, {"rule": "true", "messageExpression": "1"}, {"rule": "true", "optionalOldSelf": True}, {"rule": "a\nb"}, {"rule": "true", "fieldPath": ".m.x"}):
        s.post(CRDS + "?dryRun=All", definition(s, "others", {**fields(a=TEXT, m={"type": "object", "additionalProperties": TEXT}, list=listed(TEXT)), **rules(rule)}))


@script
def odd_scales_of_custom_kinds(s):
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    p, one = define(s, "flocks", fields(replicas=NUMBER, other=TEXT), fields(replicas=NUMBER), subresources={"status": {}, "scale": paths})
    s.post(p, one("a", spec={"replicas": 1}))
    s.post(p, one("c", spec={"replicas": 1}))
    s.patch(p + "/c", {"metadata": {"managedFields": [{}]}})
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    for change in ({"kind": "Other"}, {"apiVersion": "v1"}, {"apiVersion": "autoscaling/v2"}, {"kind": "ConfigMap", "apiVersion": "v1"}, {"kind": "Flock", "apiVersion": s.ns + ".example/v1"},
                   {"metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}}, {"metadata": {"name": "b"}}, {"spec": 5}, {"spec": {"replicas": "x"}}, {"apiVersion": 5}):
        s.put(p + "/a/scale", {**scale, **change})
    for body in ("{", "[]", "5", ""):
        s.put(p + "/a/scale", body)
    s.put(p + "/a/scale", "x", type="text/plain")
    for patch in ({"kind": "Other"}, {"apiVersion": "v1"}, {"apiVersion": "v9"}, {"metadata": {"name": "x"}}, {"kind": "ConfigMap", "apiVersion": "v1"}, {"spec": 5}, {"kind": 5}):
        s.patch(p + "/a/scale", patch)
    for manager in ("script", "b"):
        s.apply(p + "/a/scale", scale, manager=manager)
        s.apply(p + "/a/scale", {**scale, "spec": {"replicas": 9}}, manager=manager)
    s.apply(p + "/a/scale", {**scale, "spec": {"replicas": 9}}, manager="c", force=True)
    s.apply(p + "/missing/scale", scale)
    s.apply(p + "/a/scale", {**scale, "kind": "X"})
    for owners in NO_OWNERS:
        s.apply(p + "/a?dryRun=All", one("a", {"managedFields": owners}, spec={"other": "x"}), force=True)
        s.apply(p + "/a/scale", {**scale, "metadata": {"name": "a", "managedFields": owners}})
    s.apply(p + "/c/scale", {**scale, "metadata": {"name": "c"}})
    s.get(p + "/a")


@script
def odd_cells_and_items(s):
    """Columns of maps and of large numbers; what entries of metadata do not have."""
    columns = [{"name": name, "type": type, "jsonPath": path} for name, type, path in (
        ("Items", "string", ".spec.m[*]"), ("Values", "string", ".spec.one.*"), ("Integer", "integer", ".spec.n"), ("Number", "number", ".spec.f"), ("Text", "string", ".spec.n"))]
    labels = {"type": "object", "additionalProperties": TEXT}
    p, one = define(s, "oddities", fields(m=labels, one=labels, n={**NUMBER, "format": "int64"}, f={"type": "number"},
                                          inner={**fields(q=TEXT), "x-kubernetes-embedded-resource": True}, free={**FREE, "x-kubernetes-embedded-resource": True}), additionalPrinterColumns=columns)
    for i, number in enumerate((9007199254740993, -9007199254740993, 123456789012345680, 1.5)):
        s.post(p, one(f"a{i}", spec={"m": {"b": "1", "a": "2"}, "one": {"a": "1"}, "n": int(number), "f": number}))
        show(s, "GET", f"{p}/a{i}", accept=TABLE)
    meta = {"managedFields": [{"manager": "x", "bad": 1, "operation": "Update", "apiVersion": "v1"}],
            "ownerReferences": [{"apiVersion": "v1", "kind": "x", "name": "x", "uid": "y", "bad": 1}], "bad": 1}
    for level in ("Strict", "Warn", "Ignore"):
        s.post(f"{p}?dryRun=All&fieldValidation={level}", one("e", meta=meta, spec={"zz": 1}))
        s.post(f"{p}?dryRun=All&fieldValidation={level}", one("e", abad=1, spec={
            "zz": 1, "free": {"kind": "X", "apiVersion": "v1", "metadata": {"bad": 1, "name": "q"}, "u": 1}, "inner": {"kind": "X", "apiVersion": "v1", "u": 2, "metadata": {"bad": 1}}}))


@script
def rules_of_unknown_types(s):
    """What the items of an empty list are, is told by the first call that takes them."""
    for rule in ("sets.equivalent(['a'], [].sortBy(z, z.size()))", "sets.equivalent([b'a'], [].sortBy(z, z.size()))", "[].sortBy(z, z.size()).size() == 0"):
        s.post(CRDS + "?dryRun=All", definition(s, "ruleds", {**fields(a=TEXT), **rules({"rule": rule})}))


# Operations whose values have keys that stand twice: what of them is in the patched text as it was, is read there once more.
TWICE = (
    '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}}', '{"op":"replace","path":"/spec","value":{"text":"a","text":"b","free":{"x":[{"y":1,"y":2}]}}}',
    '{"op":"add","path":"/spec/free","value":{"a":{"b":1,"b":2},"a":{"c":1,"c":2},"z":1,"z":2}}', '{"op":"add","path":"/spec/free","value":{"a":1,"a":2,"b":{"c":1,"c":2}}},{"op":"add","path":"/spec/free/d","value":1}',
    '{"op":"add","path":"/spec/free","value":{"a":1,"a":2,"b":{"c":1,"c":2}}},{"op":"add","path":"/spec/free/b/d","value":1}', '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"copy","from":"/spec/free","path":"/spec/more"}',
    '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"move","from":"/spec/free","path":"/spec/more"}', '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"remove","path":"/spec/free"}',
    '{"op":"test","path":"/spec/text","value":{"a":1,"a":2}}', '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"test","path":"/spec/free","value":{"a":2}}',
    '{"op":"add","path":"/spec/free","value":{"b":{"a":1,"a":2}}},{"op":"test","path":"/spec/free/b/a","value":2}', '{"op":"add","path":"/spec/list","value":[{"v":1,"v":2},{"w":1,"w":2}]},{"op":"add","path":"/spec/list/0","value":{"u":1,"u":2}}',
    '{"op":"add","path":"/metadata/labels","value":{"a":"1","a":"2"}}', '{"op":"add","path":"/metadata/annotations","value":{"a":"1","a":"2"}},{"op":"add","path":"/metadata/zz","value":{"a":"1","a":"2"}}',
    '{"op":"add","path":"/spec/unknown","value":{"a":1,"a":2}}', '{"op":"add","path":"/status","value":{"a":1,"a":2}}', '{"op":"add","op":"add","path":"/spec/free","value":{"a":1,"a":2},"value":{"b":1,"b":2}}',
    '{"op":"add","path":"/spec/free","value":{"a":1,"a":2}},{"op":"add","path":"/spec/more","value":{"a":1,"a":2}}', '{"op":"add","path":"/spec/text","value":"b","x":1}', '{"op":"add","path":"/spec/text","value":1},{"op":"add","path":"/spec/free","value":{"a":1,"a":2}}',
)


@script
def json_patches_with_keys_twice(s):
    p, one = define(s, "doubles", fields(text=TEXT, free=FREE, more=FREE, list=listed(FREE)))
    s.post(p, one("a", spec={"text": "a"}))
    maps = s.namespace() + "/configmaps"
    s.post(maps, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    for mode in ("Strict", "Warn", "Ignore"):
        query = f"/a?dryRun=All&fieldManager=m&fieldValidation={mode}"
        for operations in TWICE:
            s.patch(p + query, f"[{operations}]", type=JSON_PATCH)
            s.patch(maps + query, f"[{operations}]".replace("/spec/text", "/data/k").replace("/spec/free", "/data").replace("/spec", "/metadata/labels"), type=JSON_PATCH)
