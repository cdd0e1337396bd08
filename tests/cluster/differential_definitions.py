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
    return (versions[0].get("schema") or {}).get("openAPIV3Schema") if isinstance(versions, list) else None


CHANGES = [c for c in cases.CRDS if not any("properties.x" in path or path == cases.SCHEMA for path in c)] + cases.CHANGES[1:11]


def told(answer):
    """What is said of a definition or an object."""
    body = answer.body if isinstance(answer.body, dict) else {}
    kept = {} if body.get("kind") == "Status" else {k: v for k, v in body.items() if k not in ("metadata", "status") or k == "status" and "conditions" not in (v or {})}
    said = {**shown(answer), "warnings": sorted(answer.warnings), "body": kept}
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
        answer = told(s.ask("POST", CRDS, good))
        s.record(f"good {json.dumps(good, ensure_ascii=False)}", answer)
        if answer["status"] != 201:
            return  # a pattern that its default does not match, say
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


RULE, TYPE, KEYS = "x-kubernetes-validations", "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
S, I, obj, lst, V, SCHEMA, X, STORED, OTHER = cases.S, cases.I, cases.obj, cases.lst, cases.V, cases.SCHEMA, cases.X, cases.STORED, cases.OTHER
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}
BAD_RULES = [{"rule": "self.nope"}, {"rule": "true", "fieldPath": ".nope"}, {"rule": " "}]
WEBHOOK = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://a.example/x"}}


def webhook(**parts):
    return {"spec.conversion": {"strategy": "Webhook", "webhook": {**WEBHOOK, **parts}}}


def service(**parts):
    return webhook(clientConfig={"service": {"namespace": "n", "name": "s", **parts}})


# One fault silences some of the others: what is told together, and what is not.
FAULTS = [
    # A form that is not structural leaves defaults and expressions unread, but not the words.
    {X: {**obj(a={}, b={**I, "default": "x"}, c={**I, "multipleOf": 0, RULE: BAD_RULES[:1]}, d={**I, TYPE: "what"}), RULE: BAD_RULES}},
    {X: {**obj(b={**I, "default": "x"}, c={**I, RULE: BAD_RULES[:1]}, d={**I, TYPE: "what", RULE: BAD_RULES})}},
    {X: {**obj(c={**I, RULE: BAD_RULES[:1]}, d={**I, TYPE: "set", RULE: BAD_RULES[:1]}, e=obj(f={**S, RULE: [{"rule": "self"}]})), RULE: BAD_RULES[:1]}},
    {X: {**obj(c={**I, RULE: [{"rule": "self > 'x'"}]}, d={**S, "nullable": True, "uniqueItems": True})}, SCHEMA + ".nullable": True},
    # A word that no structural schema has leaves the form unread too.
    {X: {**obj(a={}, b={**I, "default": "x"}, c={**S, "pattern": "("}), "$ref": "#/x"}}, {X: {**obj(a={}), "$ref": ""}},
    {X: {**obj(a={}), "$schema": "x"}}, {X: {**S, "$schema": "x"}}, {X: {**S, "$schema": "x", "pattern": "("}}, {X: {**obj(a={}), "dependencies": {}}},
    {X: {**S, "id": "x"}, SCHEMA + ".nullable": True}, {X: {**S, "definitions": {"a": {"type": "what", "uniqueItems": True}}}},
    {X: {"type": "what", "dependencies": {"a": {"type": "what"}, "b": ["c"]}}}, {X: {**S, "not": {"$schema": "x", "type": "null"}}},
    {X: {**S, "allOf": [{"additionalProperties": {"$schema": "x"}}]}}, {X: {**S, "x-kubernetes-preserve-unknown-fields": False, "default": 1}},
    {X: {"type": "array", "items": [S, {"type": "what"}], TYPE: "map"}},
    {X: {"type": "array", "items": [], TYPE: "map"}}, {X: {"type": "array", "items": "x", TYPE: "map"}}, {X: {"type": "array", "items": None, TYPE: "map"}}, {X: {**S, "items": "x"}}, {X: {**S, "items": []}}, {X: {**S, "items": None}},
    # Under allOf and its like.
    {X: {**obj(a=S), "allOf": [{"additionalProperties": False}, {"additionalProperties": True}, {"properties": {"metadata": {"minLength": 1}}}]}},
    {X: {**S, "anyOf": [{RULE: BAD_RULES}]}}, {X: {**S, "not": {"x-kubernetes-map-type": "what", TYPE: "", KEYS: ["a"], "title": "t"}}},
    {SCHEMA + ".anyOf": [{"items": {"minLength": 1}}, {"properties": {"spec": {"properties": {"nope": {}}}, "metadata": {}, "other": {}}}]},
    {SCHEMA + ".not": {"allOf": [{"properties": {"a": {"items": {"not": {}}}}}]}}, {SCHEMA + ".allOf": [{"properties": {"spec": {"items": {}}}}]},
    {X: {**cases.INT_OR_STRING, "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True}},
    {X: {**cases.INT_OR_STRING, "anyOf": [{"type": "integer"}, {"type": "string", "title": "t"}]}},
    # Embedded resources and metadata.
    {X: {"x-kubernetes-embedded-resource": True}}, {X: {**S, "x-kubernetes-embedded-resource": True, "additionalProperties": S}},
    {X: {**EMBEDDED, "properties": {"apiVersion": {}, "kind": I, "metadata": S}}}, {X: {**EMBEDDED, "properties": {"metadata": {**EMBEDDED, **cases.PRESERVE}}}},
    {X: {**EMBEDDED, "properties": {"kind": {**S, "default": "-"}, "apiVersion": {**S, "default": "a/b/c"}, "a": {**S, "default": "x"}}}},
    {X: {**EMBEDDED, "properties": {"kind": {**S, "default": 1}}}},
    {X: {**EMBEDDED, "properties": {"a": {**S, "default": 1}}, "default": {"kind": "_", "a": 1, "b": 2}}},
    {X: {**EMBEDDED, "properties": {"a": S}, "default": {"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "zz": 1}, "a": 1}}},
    {SCHEMA + ".properties.metadata": {"description": "d"}}, {SCHEMA + ".properties.metadata": {**S, "description": "d"}},
    {SCHEMA + ".properties.metadata": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"a": S}}},
    {SCHEMA + ".properties.metadata": obj(name={**I, "default": "x"})}, {SCHEMA + ".properties.kind": {}, SCHEMA + ".properties.apiVersion": I},
    {SCHEMA + ".properties.metadata": {"type": "object", "additionalProperties": {**S, "default": "x"}}}, {SCHEMA + ".type": "array", SCHEMA + ".additionalProperties": {}},
    # Defaults.
    {X: {**lst(S, **{TYPE: "set"}), "default": ["a", "a"]}}, {X: {**obj(a=cases.INT_OR_STRING), "default": {"a": []}}}, {X: {**cases.INT_OR_STRING, "default": 1.5}}, {X: {**obj(a={**I, "default": "x"}), "default": {"a": "y", "b": 1}}},
    {X: {"type": "object", "additionalProperties": {**I, "default": "x"}}}, {X: {**cases.mp(cases.mp(I)), "default": {"a": 1, "b": {"c": "x"}}}}, {X: {**cases.PRESERVE, RULE: BAD_RULES[:1]}},
    {X: {**obj(a={**cases.PRESERVE, RULE: BAD_RULES[:1]}, b=cases.PRESERVE), RULE: BAD_RULES[:1]}}, {X: {**S, "default": 1, RULE: [{"rule": "self == 'x'"}]}},
    {X: {**S, "default": "y", RULE: [{"rule": "self == 'x'"}]}}, {SCHEMA + ".default": {"spec": {"x": 1}, "zz": 1}},
    # Lists.
    {X: lst({**lst(S), TYPE: "set", "nullable": True}, **{TYPE: "set"})}, {X: lst({**obj(a=S), "x-kubernetes-map-type": "granular", TYPE: "set"}, **{TYPE: "set"})},
    {X: lst(obj(a={**obj(), "nullable": True}, b=S), **{TYPE: "map", KEYS: ["a", "a", "b", "c", "c"]})}, {X: lst(S, **{TYPE: "set", KEYS: ["a"]})},
    {X: {**S, TYPE: "map", KEYS: ["a"], "items": {**obj(a=S), "nullable": True}}}, {X: {TYPE: "what", "x-kubernetes-map-type": "what"}},
    {X: lst({**S, "properties": {"a": S}, "nullable": True}, **{TYPE: "map", KEYS: ["a"]})},
    # Versions: what all have alike is told once, above them.
    {"spec.versions": [{**STORED, "additionalPrinterColumns": [{"name": "A"}], "subresources": {"status": {}, "scale": {}}}, {**OTHER, "storage": True}]},
    {"spec.versions": [{**STORED, "selectableFields": [{"jsonPath": "."}]}, {**STORED, "selectableFields": [{"jsonPath": "."}]}]},
    {"spec.versions": [{**STORED, "schema": {"openAPIV3Schema": obj(a={})}}, OTHER]}, {"spec.versions": [{**STORED, "schema": None}, {**OTHER, "selectableFields": [{"jsonPath": ".a"}]}]},
    {"spec.versions": [{**STORED, "selectableFields": [{"jsonPath": ".a"}]}, OTHER]}, {"spec.versions": [{**STORED, "name": "V_", "schema": {"openAPIV3Schema": obj(a={})}}]},
    {"spec.versions": [{**STORED, "schema": {"openAPIV3Schema": {**obj(a=S), "enum": [{}]}}}, {**OTHER, "schema": {"openAPIV3Schema": {**obj(a=S), "enum": [{}]}}, "subresources": {"status": {}}}]},
    {"spec.versions": [{**STORED, "schema": {"openAPIV3Schema": {**obj(a=S), "type": "string"}}, "subresources": {"status": {}}}, {**OTHER, "subresources": {"status": {}}}]},
    {"spec.versions": [{**STORED, "schema": {"openAPIV3Schema": {**obj(a=S), "dependencies": {"a": ["b"], "c": S}, "items": [S]}}, "subresources": {"status": {}}}]},
    {V + "selectableFields": [{"jsonPath": p} for p in (".", "..", ".spec.", ".spec..x", ".spec]", "]", ".spec.x", ".spec.x", ".spec.nope", ".spec.m.key", ".spec.l", "spec[0]", "")],
     SCHEMA + ".properties.spec": obj(x=S, m=cases.mp(S), l=lst(S))},
    {V + "selectableFields": [{"jsonPath": ".metadata.name"}, {"jsonPath": ".metadata"}], SCHEMA + ".properties.metadata": obj(name=S)},
    {V + "selectableFields": [{"jsonPath": f".spec.x{i}"} for i in range(9)] + [{}], SCHEMA + ".properties.spec": obj(**{f"x{i}": S for i in range(9)})},
    {V + "selectableFields": [{"jsonPath": "a"}], SCHEMA + ".$schema": "x"}, {V + "selectableFields": [{"jsonPath": "a"}], X: {"type": "array", "items": [S]}},
    {V + "selectableFields": [{"jsonPath": "a"}], X: {**S, "x-kubernetes-preserve-unknown-fields": False}},
    {V + "subresources": {"status": {}}, SCHEMA + ".allOf": [], SCHEMA + ".properties": {}}, {V + "subresources": {"status": {}}, SCHEMA + ".required": [], SCHEMA + ".nullable": False},
    {V + "subresources": {"status": {}}, SCHEMA + ".enum": [], SCHEMA + ".title": "", SCHEMA + ".description": None},
    {V + "deprecated": True, V + "deprecationWarning": "\n" * 257}, {"metadata.generateName": "gen-", "spec.names.plural": "Bad"},
    # The rest.
    {"spec.preserveUnknownFields": True, X: {**S, "default": "x"}, **webhook()}, {"spec.preserveUnknownFields": True, SCHEMA + ".not": {"default": 1}},
    {"spec.names.kind": "T", "spec.names.listKind": "T", "spec.names.shortNames": ["_"], "spec.names.categories": ["_"]},
    {"spec.group": "foo.k8s.io", "spec.scope": "x", "spec.names": {}, "spec.conversion": {"strategy": ""}},
    webhook(), webhook(clientConfig={"url": "http://u:p@?q#f"}), webhook(clientConfig={"url": ""}), webhook(clientConfig={"url": "HTTPS:x"}),
    webhook(conversionReviewVersions=["v1", "v1", "_", "v2"]), webhook(conversionReviewVersions=["v2"]), webhook(conversionReviewVersions=[], clientConfig=None),
    service(), service(namespace="", path="a/"), service(name="", port=70000, path="//"), service(path="/a//B_/"), service(path="/a", port=0),
]


def by_hand(s):
    for faults in FAULTS:
        made = definition("byhand", obj(spec=obj(x=S)))
        for path, new in faults.items():
            set_at(made, path, new)
        ask(s, json.dumps(faults), "POST", CRDS + "?dryRun=All", made)


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
    yield "definitions_by_hand", by_hand
    yield from ((f"definitions_{seed}", definitions(seed)) for seed in of_definitions)
    yield from ((f"objects_{seed}", objects(seed)) for seed in of_objects)
