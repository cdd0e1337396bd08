"""Scripts of test_differential.py about objects inside of custom objects (x-kubernetes-embedded-resource): what is kept, filled
and refused of their apiVersion, kind and metadata, wherever they stand and however they are written."""
import json

from differential import APPLY, JSON, JSON_PATCH, MERGE
from differential_custom import CRDS, FREE, TEXT, define, definition, fields, listed
from differential_rules import shown

SCRIPTS = []
WHOLE = {"apiVersion": "v1", "kind": "Kind"}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
ANY = {**EMBEDDED, **FREE}
OWNER = {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}
MANAGER = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:a": {}}}
LONG = "x" * 254

# Metadata: good, odd and wrong.
METAS = [
    {}, None, 1, "x", [], True, {"name": "a"}, {"name": ""}, {"name": 1}, {"name": None}, {"name": "A_b c"}, {"name": "a/b"}, {"name": "%"}, {"name": "."}, {"name": ".."}, {"name": "a/%"}, {"name": LONG},
    {"generateName": "."}, {"generateName": "a/"}, {"generateName": "a-"}, {"generateName": ""}, {"generateName": "%/", "name": "/"}, {"namespace": "n"}, {"namespace": "N_"}, {"namespace": "x" * 64}, {"namespace": ""}, {"namespace": {}},
    {"labels": {}}, {"labels": {"a": "b"}}, {"labels": {"a b": "b"}}, {"labels": {"a": "b c"}}, {"labels": {"a": None}}, {"labels": {"a": 1}}, {"labels": "x"}, {"labels": []}, {"labels": None}, {"labels": {"A.b/c": "x"}},
    {"annotations": {"A.b/c": "x y"}}, {"annotations": {"a b": "b"}}, {"annotations": {"a": {}}}, {"annotations": {"a": "x" * 262144}}, {"annotations": {}},
    {"finalizers": []}, {"finalizers": ["a"]}, {"finalizers": ["a.b/c", "a b"]}, {"finalizers": ["orphan", "foregroundDeletion"]}, {"finalizers": [1]}, {"finalizers": [None]}, {"finalizers": {}}, {"finalizers": None},
    {"ownerReferences": [OWNER]}, {"ownerReferences": [{}]}, {"ownerReferences": [{"bad": 1, **OWNER}]}, {"ownerReferences": [{**OWNER, "kind": 1}]}, {"ownerReferences": [{**OWNER, "controller": "x"}]}, {"ownerReferences": [1]},
    {"ownerReferences": [{**OWNER, "controller": True, "name": n} for n in "abc"]}, {"ownerReferences": [{**OWNER, "kind": "Event"}]}, {"ownerReferences": [{**OWNER, "apiVersion": "a/b/c"}]}, {"ownerReferences": [None]}, {"ownerReferences": []},
    {"ownerReferences": [OWNER, OWNER]}, {"ownerReferences": [{**OWNER, "blockOwnerDeletion": False, "controller": None}]}, {"ownerReferences": {}},
    {"managedFields": [MANAGER]}, {"managedFields": [{}]}, {"managedFields": [{**MANAGER, "operation": "X"}]}, {"managedFields": [{**MANAGER, "fieldsType": "X"}]}, {"managedFields": [{**MANAGER, "manager": "x" * 129}]}, {"managedFields": [{**MANAGER, "time": "x"}]},
    {"managedFields": [{**MANAGER, "subresource": "x" * 257}]}, {"managedFields": [{**MANAGER, "fieldsV1": {}}]}, {"managedFields": [{**MANAGER, "bad": 1}]}, {"managedFields": []}, {"managedFields": [{**MANAGER, "fieldsV1": 1}]}, {"managedFields": "x"},
    {"creationTimestamp": None}, {"creationTimestamp": "2026-01-02T03:04:05Z"}, {"creationTimestamp": "2026-01-02T03:04:05.678+01:00"}, {"creationTimestamp": "x"}, {"creationTimestamp": 1}, {"creationTimestamp": ""},
    {"deletionTimestamp": "2026-01-02T03:04:05Z", "deletionGracePeriodSeconds": 0}, {"deletionTimestamp": None}, {"deletionGracePeriodSeconds": 1.0}, {"deletionGracePeriodSeconds": -1}, {"deletionGracePeriodSeconds": "1"},
    {"generation": 0}, {"generation": 5}, {"generation": -5}, {"generation": 1.0}, {"generation": 1.5}, {"generation": "1"}, {"uid": "u"}, {"uid": 1}, {"resourceVersion": "7"}, {"resourceVersion": 7}, {"selfLink": "/x"},
    {"bad": 1}, {"bad": {"worse": 1}, "name": "a"}, {"Name": "a"}, {"Labels": {"a": "b"}, "labels": {"c": "d"}}, {"clusterName": "x"}, {"generation": 1e3}, {"generation": 1e30},
]
# With several faults, of which some answers of the real server tell in no order.
MANY = [
    {"labels": {"": "", "/": "/"}}, {"name": "/", "labels": {"a b": "c d"}, "namespace": "N", "generation": -1}, {"name": 1, "labels": 1, "generation": "x"}, {"annotations": 1, "creationTimestamp": "x"},
    {"creationTimestamp": "x", "uid": 1}, {"annotations": 1, "creationTimestamp": 1, "deletionTimestamp": "x"}, {"labels": {"b": 1, "a": 2}}, {"bad": 1, "Name": 1, "uid": {}, "generation": 1.5},
]
# Whole objects.
OBJECTS = [
    WHOLE, {}, None, 1, [], "x", {"kind": "Kind"}, {"apiVersion": "v1"}, {**WHOLE, "kind": ""}, {**WHOLE, "apiVersion": ""}, {**WHOLE, "kind": None}, {**WHOLE, "apiVersion": None}, {**WHOLE, "kind": 1}, {**WHOLE, "apiVersion": {}},
    {**WHOLE, "apiVersion": "a/b/c"}, {**WHOLE, "apiVersion": "/"}, {**WHOLE, "apiVersion": "/v1"}, {**WHOLE, "apiVersion": "a/"}, {**WHOLE, "apiVersion": "_ /!"}, {**WHOLE, "kind": "1Kind"}, {**WHOLE, "kind": "Ki.nd"}, {**WHOLE, "kind": "K" * 64}, {**WHOLE, "kind": "K_" * 40},
    {**WHOLE, "x": 1, "q": "q"}, {**WHOLE, "q": 1}, {**WHOLE, "metadata": {"bad": 1, "name": "n"}, "spec": {"metadata": {"bad": 1}}}, {"kind": "_", "apiVersion": "", "metadata": {"name": "/"}},
]
PLACES = {
    "any": lambda x: x, "known": lambda x: x, "list": lambda x: [WHOLE, x], "map": lambda x: {"k": x, "a.b/c": WHOLE}, "deep": lambda x: {**WHOLE, "inner": x, "plain": {"last": WHOLE}},
    "named": lambda x: x, "wide": lambda x: {"a": [x], "zz": {"metadata": 1}},
}
SPEC = fields(
    any=ANY, known={**EMBEDDED, "properties": {"q": TEXT}}, list=listed(ANY), map={"type": "object", "additionalProperties": ANY},
    deep={**EMBEDDED, "properties": {"inner": {**EMBEDDED, "properties": {"q": TEXT}}, "plain": fields(last=ANY)}},
    named={**EMBEDDED, "properties": {"apiVersion": TEXT, "kind": {**TEXT, "enum": ["Kind", "Other"]}, "metadata": {**fields(name={**TEXT, "maxLength": 5, "pattern": "^a"}), "required": ["name"]}}},
    wide={**FREE, "properties": {"a": listed({**ANY, "nullable": True})}}, other=TEXT,
    filled={**EMBEDDED, "properties": {"q": TEXT, "kind": {**TEXT, "default": "Filled"}, "metadata": fields(name={**TEXT, "default": "filled"})}},
    given={**EMBEDDED, "properties": {"q": TEXT}, "default": {**WHOLE, "q": "x", "metadata": {"name": "given", "labels": {}, "bad": 1, "creationTimestamp": None}}})
LEVELS = ("", "&fieldValidation=Strict", "&fieldValidation=Ignore")


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def ask(s, method, path, body, type=JSON):
    """Only what objects are made of, and what is said of them."""
    answer = s.ask(method, path, body, type=type)
    good = answer.status < 300
    said = shown(answer)
    owned = sorted(json.dumps(entry.get("fieldsV1"), sort_keys=True) for entry in answer["metadata.managedFields"] or ()) if good else None
    s.record(f"{method} {path.split('/')[-1]} {json.dumps(body)[:400]}", {
        **said, "warnings": sorted(answer.warnings), "spec": answer["spec"] if good else None, "status of": answer["status"] if good else None, "owned": owned})


@script
def embedded_metadata(s):
    """Each kind of metadata, created where only its class of schema stands."""
    p, one = define(s, "embeds", SPEC)
    for i, meta in enumerate(METAS + MANY):
        for place in ("any", "named", "map"):
            ask(s, "POST", f"{p}?dryRun=All{LEVELS[i % 3]}", one("a", spec={place: PLACES[place]({**WHOLE, "metadata": meta})}))
    for i, meta in enumerate([{"bad": 1, "ownerReferences": [{**OWNER, "bad": 1}]}, {"bad": 1, "name": 1}]):
        for level in LEVELS:
            spec = {place: put({**WHOLE, "metadata": meta, "zz": 1}) for place, put in PLACES.items() if i == 0 or place == "list"}
            ask(s, "POST", f"{p}?dryRun=All{level}", one("a", spec={**spec, "zz": 1}))


@script
def embedded_objects(s):
    p, one = define(s, "nests", SPEC)
    for i, value in enumerate(OBJECTS):
        for place, put in PLACES.items():
            ask(s, "POST", f"{p}?dryRun=All{LEVELS[i % 3]}", one("a", spec={place: put(value)}))
    ask(s, "POST", p, one("filled", spec={"filled": {"apiVersion": "v1"}}))
    ask(s, "POST", p, one("given", spec={"given": None}))


@script
def embedded_changes(s):
    """The same by updates, patches and applies, and in a status."""
    p, one = define(s, "changes", SPEC, fields(of=ANY, list=listed({**EMBEDDED, "properties": {"q": TEXT}})), subresources={"status": {}})
    good = {"any": {**WHOLE, "metadata": {"name": "a", "labels": {"a": "b"}}, "x": 1}, "list": [{**WHOLE, "metadata": {"name": "a"}}]}
    ask(s, "POST", p, one("a", spec=good))
    for meta in METAS:
        value = {**WHOLE, "metadata": meta}
        live = s.ask("GET", p + "/a").body
        ask(s, "PUT", p + "/a?dryRun=All", {**live, "spec": {"list": [value]}})
        ask(s, "PATCH", p + "/a?dryRun=All", {"spec": {"any": {"metadata": meta}}}, type=MERGE)
        ask(s, "PATCH", p + "/a?dryRun=All", [{"op": "add", "path": "/spec/list/-", "value": value}], type=JSON_PATCH)
        ask(s, "PATCH", p + "/a?dryRun=All&force=true&fieldManager=m", one("a", spec={"known": value}), type=APPLY)
        ask(s, "PATCH", p + "/b?dryRun=All&force=true&fieldManager=m", one("b", spec={"list": [value]}), type=APPLY)
        ask(s, "PATCH", p + "/a/status?dryRun=All", {"status": {"of": value}}, type=MERGE)
        ask(s, "PUT", p + "/a/status?dryRun=All", {**live, "status": {"list": [value]}})
        ask(s, "PATCH", p + "/a/status?dryRun=All&fieldManager=m", one("a", status={"of": value}), type=APPLY)
    for value in OBJECTS:
        ask(s, "PATCH", p + "/a?dryRun=All", {"spec": {"any": value}}, type=MERGE)
        ask(s, "PATCH", p + "/a?dryRun=All&force=true&fieldManager=m", one("a", spec={"any": value}), type=APPLY)
        ask(s, "PATCH", p + "/a/status?dryRun=All", {"status": {"list": [value]}}, type=MERGE)
    ask(s, "PATCH", p + "/a?fieldManager=m", one("a", spec={"known": {**WHOLE, "metadata": {"name": "k", "creationTimestamp": None, "labels": {}}}}), type=APPLY)
    ask(s, "PATCH", p + "/a", {"spec": {"any": {"metadata": {"labels": {"a": None}, "bad": 1}}}}, type=MERGE)
    ask(s, "GET", p + "/a", None)
    # Only a status may hold what nobody checked; the next change of the rest finds it.
    ask(s, "PATCH", p + "/a/status", {"status": {"of": {"metadata": {"name": "/"}}}}, type=MERGE)
    ask(s, "PATCH", p + "/a", {"spec": {"other": "x"}}, type=MERGE)
    ask(s, "PATCH", p + "/a?fieldManager=m", one("a", spec={"other": "y"}), type=APPLY)
    ask(s, "PATCH", p + "/a/status", {"status": None}, type=MERGE)
    for status in ({"of": None}, {"list": None, "of": WHOLE}, {"list": [None]}, {"of": {**WHOLE, "x": None, "metadata": None}}):
        ask(s, "PATCH", p + "/a/status?fieldManager=n", one("a", status=status), type=APPLY)
        ask(s, "PATCH", p + "/a?fieldManager=n", one("a", spec={"any": status.get("of"), "list": status.get("list")}), type=APPLY)
    ask(s, "GET", p + "/a", None)


@script
def embedded_over_time(s):
    """What was stored when the schema said less of it."""
    free = {"any": FREE, "list": listed(FREE), "named": FREE, "given": FREE}
    p, one = define(s, "olds", fields(**free), fields(of=FREE), subresources={"status": {}})
    name = f"{CRDS}/olds.{s.ns}.example"
    names = []
    for i, value in enumerate([*({**WHOLE, "metadata": meta} for meta in METAS + MANY if not isinstance(meta, (str, list, bool, int))), *(o for o in OBJECTS if isinstance(o, dict))]):
        made = s.ask("POST", p, one(f"o{i}", spec={"any": value, "list": [value], "named": value}))
        names += [f"o{i}"] if made.status == 201 else []
        s.ask("PATCH", f"{p}/o{i}/status", {"status": {"of": value}}, type=MERGE)
    live = s.ask("GET", name).body
    version = live["spec"]["versions"][0]
    other = json.loads(json.dumps(version))
    version["schema"]["openAPIV3Schema"] = fields(spec=SPEC, status=fields(of=ANY))
    live["spec"]["versions"].append({**other, "name": "v2", "storage": False, "schema": {"openAPIV3Schema": fields(spec=fields(
        **{**free, "any": {**EMBEDDED, "properties": {"q": TEXT}}, "fresh": {**ANY, "default": {**WHOLE, "metadata": {"name": "fresh", "uid": "", "bad": 1}}}}))}})
    ask(s, "PUT", name, live)
    ask(s, "GET", name, None)
    v2 = p.replace("/v1/", "/v2/")
    s.until(lambda: s.ask("GET", v2).status == 200 and "given" in (s.ask("GET", p + "/o0")["spec"] or {}), "the new schema")
    for of in names:
        ask(s, "GET", f"{p}/{of}", None)
        ask(s, "GET", f"{v2}/{of}", None)
        ask(s, "PATCH", f"{p}/{of}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
        ask(s, "PATCH", f"{v2}/{of}?dryRun=All", {"metadata": {"labels": {"a": "b"}}}, type=MERGE)
        ask(s, "PATCH", f"{p}/{of}/status?dryRun=All", {"status": {"of": {"metadata": {"labels": {"a": "b"}}}}}, type=MERGE)
        ask(s, "PATCH", f"{p}/{of}?dryRun=All&fieldManager=m", one(of, spec={"other": "x"}), type=APPLY)
    for meta in METAS:
        ask(s, "POST", v2 + "?dryRun=All", {**one("new", spec={"any": {**WHOLE, "metadata": meta}}), "apiVersion": f"{s.ns}.example/v2"})


# Parts of a schema with defaults.
DEFAULTS = [{**ANY, "default": {**WHOLE, "metadata": meta}} for meta in METAS] + [{**ANY, "default": value} for value in OBJECTS] + [
    {**fields(e=ANY), "default": {"e": {**WHOLE, "metadata": meta}}} for meta in ({"name": "/"}, {"name": 1}, {"bad": 1}, {"labels": {"a b": "c"}, "name": "%"})] + [
    {**listed(ANY), "default": [{**WHOLE, "metadata": {"name": name}}]} for name in ("a", "/", 1)] + [
    {**EMBEDDED, "properties": {"q": TEXT, "metadata": fields(**{field: {**TEXT, "default": name}})}} for field in ("name", "generateName") for name in ("a", "/", "a-", "..", "", LONG, 1)] + [
    {**EMBEDDED, "properties": {"q": TEXT, "metadata": {**fields(name=TEXT), "default": meta}}} for meta in METAS] + [
    {**EMBEDDED, "properties": {"q": TEXT, word: {**TEXT, "default": text}}} for word in ("kind", "apiVersion") for text in ("a", "A", "_", "a/b", "a/b/c", 1, "")] + [
    {**EMBEDDED, "properties": {"q": TEXT, "in": {**EMBEDDED, "properties": {"q": TEXT, "metadata": {**fields(name={**TEXT, "default": "/"}), "default": {"name": "%", "bad": 1}}}}}}]


@script
def embedded_defaults(s):
    for part in DEFAULTS:
        ask(s, "POST", CRDS + "?dryRun=All", definition(s, "defaults", fields(x=part)))


@script
def metadata_of_custom_objects(s):
    """The same metadata where it is the object's own."""
    p, one = define(s, "roots", fields(a=TEXT))
    for i, meta in enumerate(METAS + MANY):
        body = one("a")
        body["metadata"] = {"name": "a", **meta} if isinstance(meta, dict) else meta
        ask(s, "POST", f"{p}?dryRun=All{LEVELS[i % 3]}", body)
