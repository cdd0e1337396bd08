"""Generated scripts of test_differential.py about definitions: schemas made from a seed, with something wrong in many of
them, what becomes of changes to a definition that stands, and of objects that are created, changed in every way, and kept
when their schema becomes stricter."""
import copy
import http.client
import json
import random

import crd_cases as cases
from differential import APPLY, JSON, JSON_PATCH, MERGE
from differential_rules import CRDS, shown
from differential_seeds import places, spoil

GROUP = "definitions.d.example"
WORDS = ("", "a", "b", "text", "ä", "x y", "1", "10%", "2026-01-02T03:04:05Z", "10.0.0.1", "a" * 12)
PATTERNS = ("^[a-z]*$", "a+", r"^\d+$", "", "(", "(?=a)", "[z-a]", "a{2,1}", r"\pL")
FORMATS = ("date-time", "ipv4", "ipv6", "uri", "email", "byte", "int32", "int64", "double", "duration", "uuid", "hostname", "cidr", "nonsense", "date", "mac")
# What may be put anywhere in a schema, fitting or not.
KEYWORDS = {
    "type": ("string", "integer", "number", "boolean", "object", "array", "null", "nonsense", "", None, 1), "nullable": (True, False, "x", None),
    "default": (None, 1, "x", {}, [], True, {"a": 1}, ["a", "a"], 1.5, -1), "enum": ([], ["a"], [1, 2], [None], ["a", "a"], "x", [{}], [1, "a"]),
    "format": FORMATS, "pattern": PATTERNS, "minLength": (0, 2, -1, 1.5, "x"), "maxLength": (0, 3, -1, 9e20), "minimum": (0, -1.5, 2, "x"), "maximum": (1, 0, -5, 1e300),
    "exclusiveMinimum": (True, False, 1), "exclusiveMaximum": (True, "x"), "multipleOf": (2, 0, -1, 0.1, 0.5), "minItems": (0, 2, -1), "maxItems": (1, 0, -1, "x"),
    "uniqueItems": (True, False), "minProperties": (1, -1), "maxProperties": (1, 0), "required": (["a"], ["a", "a"], [], ["nope"], "x", [1]),
    "items": ({"type": "string"}, {}, [{"type": "string"}], True, {"type": "object", "properties": {"a": {"type": "string"}}}), "additionalItems": (True, {"type": "string"}),
    "properties": ({}, {"a": {"type": "string"}}, {"a": {}}, {"": {"type": "string"}}, {"metadata": {"type": "object"}}, "x"),
    "additionalProperties": (True, False, {}, {"type": "string"}, {"type": "nonsense"}), "patternProperties": ({"a": {"type": "string"}},),
    "allOf": ([{"type": "string"}], [{"minLength": 1}], [], [{}], [{"default": 1}], [{"required": ["a"]}], [{"nullable": True}], "x"),
    "anyOf": ([{"type": "integer"}, {"type": "string"}], [{"required": ["a"]}, {"required": ["b"]}], [{"properties": {"a": {"minLength": 1}}}], [{"items": {"type": "string"}}], [{"x-kubernetes-int-or-string": True}]),
    "oneOf": ([{"required": ["a"]}, {"required": ["b"]}], [{"description": "x"}], [{"additionalProperties": {"type": "string"}}], [{"enum": ["a"]}, {"pattern": "b"}]),
    "not": ({"required": ["a"]}, {"type": "string"}, {}, {"not": {"pattern": "a"}}, {"properties": {"zz": {"type": "string"}}}),
    "$ref": ("#/x", ""), "$schema": ("x",), "id": ("x",), "definitions": ({"a": {"type": "string"}},), "dependencies": ({"a": ["b"]}, {}), "title": ("t", 1), "description": ("d",), "example": (1, {"a": [1]}),
    "externalDocs": ({"url": "x"}, "x"), "x-kubernetes-preserve-unknown-fields": (True, False, "x"), "x-kubernetes-embedded-resource": (True, False), "x-kubernetes-int-or-string": (True, False),
    "x-kubernetes-list-type": ("set", "map", "atomic", "nonsense", ""), "x-kubernetes-list-map-keys": (["a"], ["a", "b"], [], ["nope"], ["a", "a"]), "x-kubernetes-map-type": ("atomic", "granular", "nonsense"),
    "x-kubernetes-validations": ([], [{"rule": "true"}], [{"rule": "self.a"}], [{"rule": "("}], [{"message": "x"}], [{"rule": "true", "fieldPath": ".nope"}], "x"), "unheard": (1,),
}


def leaf(rng):
    made = {"type": rng.choice(["string", "integer", "number", "boolean"])}
    some = rng.sample(["nullable", "default", "enum", "limits", "format", "pattern"], rng.choice([0, 0, 1, 1, 2]))
    good = {"string": ["a", "b", "text"], "integer": [1, 2, 5], "number": [0.5, 2, 5], "boolean": [True]}[made["type"]]
    if "nullable" in some:
        made["nullable"] = True
    if "default" in some:
        made["default"] = rng.choice(good)
    if "enum" in some:
        made["enum"] = good
    if "limits" in some and made["type"] == "string":
        made.update(minLength=rng.choice([0, 1]), maxLength=rng.choice([4, 10]))
    elif "limits" in some and made["type"] != "boolean":
        made.update(minimum=rng.choice([0, 0.5, -1]), maximum=rng.choice([5, 100]))
    if made["type"] == "string" and "pattern" in some:
        made["pattern"] = rng.choice(PATTERNS[:4])
    if made["type"] == "string" and "format" in some and "default" not in made and "enum" not in made:
        made["format"] = rng.choice(FORMATS)
    return made


def schema_of(rng, depth=0):
    """A good one."""
    kind = rng.choice(["leaf", "leaf", "object", "list", "map", "special"]) if depth < 3 else "leaf"
    if kind == "leaf":
        return leaf(rng)
    if kind == "map":
        return {"type": "object", "additionalProperties": schema_of(rng, depth + 1)}
    if kind == "object":
        made = {"type": "object", "properties": {name: schema_of(rng, depth + 1) for name in rng.sample("abcd", rng.randint(1, 3))}}
        if rng.random() < 0.3:
            made["required"] = [rng.choice(sorted(made["properties"]))]
        if rng.random() < 0.15:
            made["x-kubernetes-preserve-unknown-fields"] = True
        if rng.random() < 0.15:
            made[rng.choice(["anyOf", "oneOf", "allOf"])] = [{"required": [name]} for name in "ab"]
        return made
    if kind == "list":
        how = rng.choice(["", "atomic", "set", "map"])
        if how == "map":
            item = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": schema_of(rng, depth + 1)}}
            return {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
        item = {"type": rng.choice(["string", "integer"])} if how == "set" else schema_of(rng, depth + 1)
        return {"type": "array", "items": item, **({"x-kubernetes-list-type": how} if how else {}), **({"maxItems": 3} if rng.random() < 0.3 else {})}
    return copy.deepcopy(rng.choice([cases.INT_OR_STRING, cases.PRESERVE, cases.EMBEDDED, {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                     {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}}]))


def root_of(rng):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": {name: schema_of(rng) for name in "pqrst"}}, "status": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def schemas(schema):
    """All of a schema's schemas."""
    yield schema
    properties = schema.get("properties")
    for below in list(properties.values() if isinstance(properties, dict) else ()) + [schema.get("items"), schema.get("additionalProperties")]:
        if isinstance(below, dict):
            yield from schemas(below)


def spoil_schema(rng, schema):
    at, word = rng.choice(list(schemas(schema))), rng.choice(sorted(KEYWORDS))
    if rng.random() < 0.15 and at:
        at.pop(rng.choice(sorted(at)))
    else:
        at[word] = copy.deepcopy(rng.choice(KEYWORDS[word]))


def definition(name, schema, **version):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{name}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": {"plural": name, "kind": name.capitalize()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]}}


def set_at(value, path, new):
    """Sets or, with None, removes what stands at a dotted path, if there is a way to it."""
    steps = path.split(".")
    for step in steps[:-1]:
        value = value[int(step)] if isinstance(value, list) and int(step) < len(value) else value.setdefault(step, {}) if isinstance(value, dict) else None
    if isinstance(value, dict):
        value.pop(steps[-1], None) if new is None else value.update({steps[-1]: copy.deepcopy(new)})


def first_schema(definition_):
    """None, if what was changed before has taken it away."""
    versions = (definition_.get("spec") or {}).get("versions") or [{}]
    return (versions[0].get("schema") or {}).get("openAPIV3Schema")


CHANGES = [c for c in cases.CRDS if not any("properties.x" in path or path == cases.SCHEMA for path in c)] + cases.CHANGES[1:11]


def told(answer):
    """What is said of a definition or an object."""
    body = answer.body if isinstance(answer.body, dict) else {}
    kept = {} if body.get("kind") == "Status" else {k: v for k, v in body.items() if k not in ("metadata", "status") or k == "status" and "conditions" not in (v or {})}
    said = {**shown(answer), "warnings": sorted(answer.warnings), "body": kept}
    said["causes"] = [c[:2] if c[0] == "patch" else c for c in said["causes"]]  # which shows the whole object
    # Of two wrong types, the first in the text is named there; apply shows pointers of Go's, in the order of its maps.
    if "typed patch object" in (said["message"] or "") or "cannot unmarshal" in (said["message"] or ""):
        said["message"] = ""
    return said


def ask(s, what, method, path, body, **more):
    """Sends it, and records what is said. The real server ends the connection where it fails itself."""
    try:
        answer = told(s.ask(method, path, body, **more))
    except (http.client.HTTPException, ConnectionError):
        s.record("closed", None)
        return
    s.record(f"{method} {what}", answer)


def definitions(seed, count=30):
    """What is said of definitions, and of changes to one that stands."""
    def play(s):
        rng, name = random.Random(seed), f"made{seed}"
        one = f"{CRDS}/{name}.{GROUP}"
        for _ in range(count):
            made = definition(name, root_of(rng))
            for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
                schema = first_schema(made)
                if rng.random() < 0.7 and schema:
                    spoil_schema(rng, schema)
                else:
                    for path, new in rng.choice(CHANGES).items():
                        set_at(made, path, new)
            query = rng.choice(["", "", "&fieldValidation=Strict", "&fieldValidation=Ignore"])
            ask(s, f"{query} {json.dumps(made, ensure_ascii=False)}", "POST", CRDS + "?dryRun=All" + query, made)
        good = definition(name, root_of(rng), subresources={"status": {}})
        s.record("good", told(s.ask("POST", CRDS, good))["status"])
        s.until(lambda: s.ask("GET", f"/apis/{GROUP}/v1/{name}").status == 200, "the kind to be served")
        for _ in range(count // 3):
            live = s.ask("GET", one).body
            if rng.random() < 0.6:
                spoil_schema(rng, live["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
            else:
                for path, new in rng.choice(CHANGES).items():
                    set_at(live, path, new)
            ask(s, json.dumps(live["spec"], sort_keys=True), "PUT", one + "?dryRun=All", live)
        s.ask("DELETE", one)
    return play


def value(rng, schema, wild):
    if wild and rng.random() < 0.08:
        return copy.deepcopy(rng.choice([None, 1, -1, 2.5, "x", "", [], {}, True, ["a", "a"], {"a": 1}, {"zz": [None]}]))
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice([1, "10%"])
    if "enum" in schema and rng.random() < 0.9:
        return rng.choice(schema["enum"])
    if schema.get("type") == "object" and schema.get("x-kubernetes-embedded-resource"):
        return {"apiVersion": "v1", "kind": "T", "metadata": {"name": "t"}, "x": 1}
    if schema.get("type") == "object":
        made = {k: value(rng, v, wild) for k, v in sorted((schema.get("properties") or {}).items()) if k in schema.get("required", ()) or rng.random() < 0.7}
        if isinstance(schema.get("additionalProperties"), dict):
            made.update({k: value(rng, schema["additionalProperties"], wild) for k in rng.sample(["k", "l/m", "n.o"], rng.randint(0, 2))})
        if rng.random() < 0.15:
            made["extra"] = rng.choice([1, {"b": 2}, None])
        return made
    if schema.get("type") == "array":
        items = [value(rng, schema["items"], wild) for _ in range(rng.randint(0, 3))]
        keyed = schema.get("x-kubernetes-list-type") in ("set", "map") and rng.random() < 0.8
        return list({json.dumps(i.get("k") if isinstance(i, dict) else i): i for i in items}.values()) if keyed else items
    return {"string": rng.choice(WORDS), "integer": rng.choice([0, 1, 2, 5, -1]), "number": rng.choice([0, 0.5, 2, 1e3]), "boolean": rng.random() < 0.5}.get(schema.get("type"), {"a": 1})


def objects(seed, count=24):
    """What becomes of objects of a good kind; and of what is stored when the schema changes."""
    def play(s):
        rng, name = random.Random(seed), f"kept{seed}"
        one, path = f"{CRDS}/{name}.{GROUP}", f"/apis/{GROUP}/v1/{name}"
        schema = root_of(rng)
        s.record(f"kind {json.dumps(schema)}", told(s.ask("POST", CRDS, definition(name, schema)))["status"])
        s.until(lambda: s.ask("GET", path).status == 200, "the kind to be served")

        def thing(of, wild):
            return {"apiVersion": f"{GROUP}/v1", "kind": name.capitalize(), "metadata": {"name": of}, "spec": value(rng, schema["properties"]["spec"], wild)}
        for i in range(4):
            body = thing(f"o{i}", False)
            s.record(f"POST {json.dumps(body['spec'])}", told(s.ask("POST", path, body)))

        def write(wild):
            of = rng.choice(["o0", "o1", "o2", "o3"])
            body, query = thing(of, wild), "?dryRun=All" + rng.choice(["", "", "&fieldValidation=Strict", "&fieldValidation=Ignore"])
            how = rng.choice(["post", "put", "edit", "merge", "json", "apply"])
            live = s.ask("GET", f"{path}/{of}").body
            if how == "post" or live.get("kind") == "Status":
                body["metadata"]["name"], method, to, kind = "new", "POST", path + query, JSON
            elif how == "put":
                body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
                method, to, kind = "PUT", f"{path}/{of}{query}", JSON
            elif how == "edit":  # one thing is other than it was
                body = {**live, "spec": copy.deepcopy(live.get("spec"))}
                spoil(rng, body["spec"] if isinstance(body["spec"], dict) and body["spec"] else body)
                method, to, kind = "PUT", f"{path}/{of}{query}", JSON
            elif how == "merge":
                body, method, to, kind = {"spec": body["spec"]}, "PATCH", f"{path}/{of}{query}", MERGE
            elif how == "json":
                at = rng.choice([p for p in places(live.get("spec"))] or [("p",)])
                pointer = "/spec/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in at)
                body = [{"op": rng.choice(["add", "replace", "remove", "test"]), "path": pointer, "value": rng.choice([1, "x", None, {}, []])}]
                method, to, kind = "PATCH", f"{path}/{of}{query}", JSON_PATCH
            else:
                method, to, kind = "PATCH", f"{path}/{of}{query}&fieldManager=m&force=true", APPLY
            shown_body = {k: v for k, v in body.items() if k != "metadata"} if isinstance(body, dict) else body
            ask(s, f"{to} {json.dumps(shown_body)}", method, to, body, type=kind)
        for i in range(count):
            write(i % 2 == 1)
        stricter = copy.deepcopy(schema)
        stricter["properties"]["probe"] = {"type": "string", "maxLength": 1}
        for at in rng.sample(list(schemas(stricter["properties"]["spec"])), 3):
            at.update(copy.deepcopy(rng.choice([{"maxLength": 1}, {"minimum": 3}, {"enum": ["a", 1]}, {"maxItems": 1}, {"maxProperties": 1}, {"pattern": "^a"}, {"not": {"required": ["a"]}}])))
        live = s.ask("GET", one).body
        live["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = stricter
        answer = told(s.ask("PUT", one, live))
        s.record(f"stricter {json.dumps(stricter)}", answer)
        if answer["status"] == 200:
            probe = {"apiVersion": f"{GROUP}/v1", "kind": name.capitalize(), "metadata": {"name": "probe"}, "probe": "long", "spec": {}}
            s.until(lambda: "probe" in str(told(s.ask("POST", path + "?dryRun=All", probe))["causes"]), "the stricter schema to be in force")
            for i in range(count // 2):
                write(i % 2 == 1)
        s.ask("DELETE", one)
    return play


def scripts(of_definitions, of_objects):
    yield from ((f"definitions_{seed}", definitions(seed)) for seed in of_definitions)
    yield from ((f"objects_{seed}", objects(seed)) for seed in of_objects)
