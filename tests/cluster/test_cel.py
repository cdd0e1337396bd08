"""src/cel against the real kube-apiserver: what it says to rules when a CustomResourceDefinition is created, and to
objects that are checked by them.

The expressions are in cel_cases.py; cel_rules.json has the rules of kinds that people use (Gateway API, Istio, ToolHive,
LLMKube, …), each with as much of its schema as it looks at. CEL_SEED=N makes other objects for those.
"""
import copy
import json
import os
import random
import re
import subprocess

import cel_cases as cases
from lab import HERE, ROOT, ApiError, Failure, wait_for

LAB = {"controllers": None}
GROUP = "cel.leeboard.dev"
AT = "spec.validation.openAPIV3Schema"
ESTIMATE_MAX = 60_000_000  # of a batch; a whole schema may have 100 million


class Tool:
    """build/*/cel_tool: one JSON line in, one out."""

    def __init__(self):
        path = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/cel_tool"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, schema, new=None, old=None):
        request = {"schema": schema, "object": new, "old": old, "at": AT}
        self.process.stdin.write(json.dumps({k: v for k, v in request.items() if v is not None}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"cel_tool ended on {json.dumps(request)}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Compare:
    """Counts what was compared, and keeps what differed."""

    def __init__(self, lab, name):
        self.lab, self.tool, self.count, self.differences = lab, Tool(), 0, []
        self.name, self.kinds = name, 0  # kinds of different tests do not meet

    def same(self, what, real, ours):
        self.count += 1
        if sorted(real) != sorted(ours):
            self.differences.append(f"{what}\n  real: {sorted(real)}\n  ours: {sorted(ours)}")

    def done(self, least):
        self.tool.close()
        print(f"     {self.count} compared")
        if self.differences:
            raise Failure(f"{len(self.differences)} of {self.count} differ:\n" + "\n".join(self.differences[:40]))
        if self.count < least:
            raise Failure(f"only {self.count} were compared")

    # Kinds

    def crd(self, schema, name):
        plural = name.lower() + "s"
        return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.{GROUP}"},
                "spec": {"group": GROUP, "scope": "Cluster", "names": {"kind": name, "plural": plural},
                         "versions": [{"name": "v1", "served": True, "storage": True,
                                       "schema": {"openAPIV3Schema": schema}}]}}

    def new_kind(self):
        self.kinds += 1
        return f"{self.name}{self.kinds}"

    def refusal(self, schema):
        """What the server has against the rules of a schema."""
        try:
            self.lab.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
                         self.crd(schema, "Probe"))
            return []
        except ApiError as e:
            return causes(e)

    def install(self, schema, kind):
        self.lab.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", self.crd(schema, kind))
        self.await_served(kind)

    def await_served(self, kind):
        def served():
            try:
                return self.lab.api("GET", self.path(kind))
            except ApiError:
                return None
        wait_for(served, 30, f"{kind} to be served")

    def path(self, kind, name="", dry=False):
        return f"/apis/{GROUP}/v1/{kind.lower()}s" + (f"/{name}" if name else "") + ("?dryRun=All" if dry else "")

    def object(self, kind, body, name="o"):
        return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, **copy.deepcopy(body)}

    def create(self, kind, thing):
        try:
            self.lab.api("POST", self.path(kind, dry=True), thing)
            return []
        except ApiError as e:
            return causes(e)


def causes(error):
    """(field, reason, text) of a 422; what else it is, is a difference by itself."""
    if error.code != 422:
        return [("", str(error.code), "")]
    return ours(json.loads(error.body)["details"].get("causes", []))


def ours(problems):
    return sorted({(p["field"], p["reason"], text_of(p)) for p in problems})


def text_of(problem):
    """What of a message must be equal (the contract in differential.py): of a definition nothing; of an object what its
    rules say, which may be computed, but not why one could not be evaluated."""
    text = problem["message"]
    return "" if problem["field"].startswith(AT) else text[max(text.rfind("evaluating rule: "), 0):]


def with_rules(rules, schema=cases.SCHEMA):
    return {**schema, "x-kubernetes-validations": rules}


def batches(compare, rules):
    """Rules that the server accepts, in groups that it accepts too."""
    batch, cost = [], 0
    for rule in rules:
        said = compare.tool.ask(with_rules([rule]))
        if said["install"]:
            continue
        estimate = int(said["rules"][0]["estimate"])
        if batch and (len(batch) == 40 or cost + estimate > ESTIMATE_MAX):
            yield batch
            batch, cost = [], 0
        batch.append(rule)
        cost += estimate
    yield batch


def test_what_is_said_of_rules(lab):
    """Every expression alone in a CustomResourceDefinition: accepted, or refused in the same words."""
    compare = Compare(lab, "Said")
    rules = [{"rule": r} for r in cases.RULES + cases.REFUSED + cases.UNREADABLE]
    rules += [{"rule": "1 == 2", "messageExpression": r} for r in cases.TEXTS + cases.REFUSED]
    for rule in rules:
        schema = with_rules([rule])
        compare.same(json.dumps(rule), compare.refusal(schema), ours(compare.tool.ask(schema)["install"]))
    compare.done(600)


def test_what_expressions_give(lab):
    compare = Compare(lab, "Give")
    rules = [{"rule": r} for r in cases.RULES]
    rules += [{"rule": f"1 == 2 && {len(r)} > 0", "messageExpression": r} for r in cases.TEXTS]
    for batch in batches(compare, rules):
        kind, schema = compare.new_kind(), with_rules(batch)
        compare.install(schema, kind)
        thing = compare.object(kind, cases.OBJECT)
        real, said = compare.create(kind, thing), ours(compare.tool.ask(schema, thing)["errors"])
        for rule in batch:  # one by one, so that a difference names its rule
            text = rule["rule"] if "messageExpression" not in rule else None
            if text is not None:
                mark = re.compile(r"(failed rule|evaluating rule|for rule): " + re.escape(text) + "$")
                compare.same(text, [c for c in real if mark.search(c[2])], [c for c in said if mark.search(c[2])])
        compare.same("a batch of rules", real, said)
        compare.count += sum("messageExpression" in r for r in batch)
    compare.done(400)


# Where rules stand, and what else there is to say about them


def nested(spec):
    return {"type": "object", "properties": {"spec": spec}}


TEXT = {"type": "string", "maxLength": 20}


def rule(text, **more):
    return {"rule": text, **more}


PLACES = [  # schemas of spec whose rules are refused, or not
    {"type": "object", "x-kubernetes-validations": [rule("true", message="a\nb")]},
    {"type": "object", "x-kubernetes-validations": [rule("")]},
    {"type": "object", "x-kubernetes-validations": [rule("  ")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", message="  ")]},
    {"type": "object", "x-kubernetes-validations": [rule("true\n&& true")]},
    {"type": "object", "x-kubernetes-validations": [rule("true\n&& true", message="two lines")]},
    {"type": "object", "x-kubernetes-validations": [rule("true\n&& x", message="two lines")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", messageExpression=" ")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", messageExpression="1")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", messageExpression="'a' + x")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", reason="Nonsense")]},
    {"type": "object", "x-kubernetes-validations": [rule("true", reason="FieldValueForbidden")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath=".a")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath=".b")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath="a")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath=" ")]},
    {"type": "object", "properties": {"a b": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath="['a b']")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", fieldPath=".a[0]")]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("true", optionalOldSelf=True)]},
    {"type": "object", "properties": {"a": TEXT},
     "x-kubernetes-validations": [rule("oldSelf.hasValue() || true", optionalOldSelf=True)]},
    {"type": "object", "properties": {"a": TEXT}, "x-kubernetes-validations": [rule("oldSelf.hasValue()")]},
    {"type": "array", "maxItems": 5, "items": {**TEXT, "x-kubernetes-validations": [rule("self == oldSelf")]}},
    {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "set",
     "items": {**TEXT, "x-kubernetes-validations": [rule("self == oldSelf")]}},
    {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
     "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT},
               "x-kubernetes-validations": [rule("self == oldSelf")]}},
    {"type": "object", "maxProperties": 5, "additionalProperties": {
        **TEXT, "x-kubernetes-validations": [rule("self == oldSelf || undeclared")]}},
    {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [rule("self.all(x, x.contains('a'))")]},
    {"type": "array", "items": {"type": "string"},
     "x-kubernetes-validations": [rule("self.all(x, self.all(y, x != y))")]},
    {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 1000},
     "x-kubernetes-validations": [rule("self.all(x, self.exists_one(y, x == y))")]},
    {"type": "array", "items": {"type": "string", "maxLength": 100,
                                "x-kubernetes-validations": [rule("self.matches('^[a-z]+[0-9]*$')")]}},
    {"type": "object", "additionalProperties": {"type": "array", "items": {
        "type": "integer", "x-kubernetes-validations": [rule("self > 1 && self < 100")]}}},
    {"type": "array", "maxItems": 100, "items": {"type": "object", "properties": {
        name: {"type": "array", "maxItems": 300 + ord(name), "items": {"type": "string", "maxLength": 200},
               "x-kubernetes-validations": [rule("self.all(x, self.exists(y, x == y))")]} for name in "abcdefg"}}},
    {"type": "string", "x-kubernetes-validations": [rule("self.contains(self)"), rule("self.replace('', 'x') != self")]},
    {"type": "string", "maxLength": 1000, "x-kubernetes-validations": [
        rule("self.matches(self)"), rule("self.split('').map(x, x + x).join('').size() < 10"),
        rule("self.find('a+').size() > 1"), rule("self.lowerAscii() == self.upperAscii()")]},
    {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-validations": [
        rule("self.all(k, self[k].size() > 1)"), rule("self.map(k, k).join(',').size() > 2")]},
    {"x-kubernetes-int-or-string": True, "x-kubernetes-validations": [rule("string(self).matches('^[0-9]+$')")]},
    {"type": "object", "properties": {"a": {"x-kubernetes-preserve-unknown-fields": True}},
     "x-kubernetes-validations": [rule("self.a == 1")]},
]


def test_where_rules_may_stand(lab):
    compare = Compare(lab, "Stand")
    for spec in PLACES:
        schema = nested(spec)
        compare.same(json.dumps(spec), compare.refusal(schema), ours(compare.tool.ask(schema)["install"]))
    compare.done(len(PLACES))


# Old and new: schema of spec, old spec, new spec

KEYED = {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
         "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": {
             "type": "integer", "x-kubernetes-validations": [rule("self >= oldSelf"), rule("self < 100")]}}}}
OBJECTS = {"type": "object", "properties": {
    "size": {"type": "integer", "x-kubernetes-validations": [
        rule("self >= oldSelf", message="may not shrink"), rule("self < 10", reason="FieldValueForbidden")]},
    "name": {**TEXT, "x-kubernetes-validations": [rule("self == oldSelf", reason="FieldValueDuplicate")]},
    "must": {**TEXT, "x-kubernetes-validations": [rule("self != ''", reason="FieldValueRequired", message="say it")]},
    "list": KEYED,
    "plain": {"type": "array", "maxItems": 5, "items": {"type": "integer", "x-kubernetes-validations": [
        rule("self % 2 == 0", messageExpression="self == 1 ? 'one' : 'odd'")]}},
    "map": {"type": "object", "maxProperties": 5, "additionalProperties": {
        "type": "string", "maxLength": 9, "x-kubernetes-validations": [rule("self.size() > 1"), rule("self == oldSelf")]}},
    "first": {"type": "integer", "x-kubernetes-validations": [
        rule("oldSelf.orValue(0) < self", optionalOldSelf=True)]},
    "at": {"type": "object", "properties": {"x": TEXT, "y": TEXT}, "x-kubernetes-validations": [
        rule("has(self.x)", fieldPath=".x", reason="FieldValueRequired"), rule("!has(self.y)", fieldPath=".y")]},
    "real": {"type": "number", "x-kubernetes-validations": [rule("self < 1.0")]},
    "flag": {"type": "boolean", "x-kubernetes-validations": [rule("self")]},
    "null": {"type": "string", "nullable": True, "maxLength": 5, "x-kubernetes-validations": [rule("self == 'a'")]},
}, "x-kubernetes-validations": [rule("!has(oldSelf.first) || has(self.first)", message="first stays")]}
CHANGES = [
    (None, {"size": 3, "name": "a", "must": "x", "list": [{"k": "a", "v": 1}], "plain": [2], "map": {"a": "bb"},
            "first": 1, "at": {"x": "1"}, "real": 0.5, "flag": True, "null": None}),
    (None, {"size": 30, "name": "a", "must": "", "list": [{"k": "a", "v": 100}], "plain": [1, 2, 3], "map": {"a.b/c": "b"},
            "first": 0, "at": {"y": "1"}, "real": 1.5, "flag": False, "null": "b"}),
    (None, {"size": 5, "real": 3, "at": {}}),
    ({"size": 3, "name": "a"}, {"size": 2, "name": "b"}),
    ({"size": 3, "name": "a"}, {"size": 4, "name": "a"}),
    ({"size": 3}, {"size": 3, "name": "new"}),
    ({"first": 3}, {}),
    ({"first": 3}, {"first": 3}),
    ({"first": 3}, {"first": 4}),
    ({"list": [{"k": "a", "v": 5}, {"k": "b", "v": 6}]}, {"list": [{"k": "b", "v": 5}, {"k": "a", "v": 6}]}),
    ({"list": [{"k": "a", "v": 5}]}, {"list": [{"k": "c", "v": 1}, {"k": "a", "v": 4}]}),
    ({"map": {"a": "xx", "b": "yy"}}, {"map": {"a": "xz", "c": "zz"}}),
    # Ratcheting: as wrong as before is a warning, newly wrong is an error.
    ({"size": 50}, {"size": 50, "name": "n"}),
    ({"size": 50}, {"size": 51}),
    ({"must": "", "flag": False, "real": 2.5}, {"must": "", "flag": False, "real": 2.5, "size": 1}),
    ({"must": "", "flag": False}, {"must": "", "flag": True}),
    ({"plain": [1, 2]}, {"plain": [1, 2], "size": 1}),
    ({"plain": [1, 2]}, {"plain": [1, 2, 3]}),
    ({"list": [{"k": "a", "v": 200}, {"k": "b", "v": 1}]}, {"list": [{"k": "b", "v": 2}, {"k": "a", "v": 200}]}),
    ({"list": [{"k": "a", "v": 200}]}, {"list": [{"k": "a", "v": 201}]}),
    ({"map": {"a": "x"}}, {"map": {"a": "x", "b": "y"}}),
    ({"at": {}}, {"at": {}, "size": 1}),
    ({"at": {}}, {"at": {"y": "1"}}),
]


def without_rules(schema):
    if isinstance(schema, dict):
        return {k: without_rules(v) for k, v in schema.items() if k != "x-kubernetes-validations"}
    return [without_rules(v) for v in schema] if isinstance(schema, list) else schema


def test_old_and_new(lab):
    """Objects that were stored before there were rules, and are changed when there are."""
    compare, kind, schema = Compare(lab, "Old"), None, nested(OBJECTS)
    kind = compare.new_kind()
    compare.install(without_rules(schema), kind)
    stored = {}
    for i, (old, _) in enumerate(CHANGES):
        if old is not None:
            thing = compare.object(kind, {"spec": old}, f"o{i}")
            stored[i] = lab.api("POST", compare.path(kind), thing)
    name = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind.lower()}s.{GROUP}"
    crd = lab.api("GET", name)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    lab.api("PUT", name, crd)
    bad = compare.object(kind, {"spec": {"size": 99}}, "probe")
    wait_for(lambda: compare.create(kind, bad), 30, "the rules to be in force")
    for i, (old, new) in enumerate(CHANGES):
        if old is None:
            thing = compare.object(kind, {"spec": new}, f"o{i}")
            real, before = compare.create(kind, thing), None
        else:
            before = stored[i]
            thing = {**before, "spec": copy.deepcopy(new)}
            try:
                lab.api("PUT", compare.path(kind, f"o{i}", dry=True), thing)
                real = []
            except ApiError as e:
                real = causes(e)
        compare.same(f"{old} → {new}", real, ours(compare.tool.ask(schema, thing, before)["errors"]))
    compare.done(len(CHANGES))


# The rules of others


def words_of(schema):
    text = json.dumps([r["rule"] for r in schema["x-kubernetes-validations"]])
    return re.findall(r"'([^']*)'", text) + ["", "a", "x-y", "1s", "10ms", "*", "a.example.com", "/a/../b", "http://h"]


def value(rng, schema, words, depth=0):
    """Something that fits the schema, apart from its rules."""
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice([0, 1, 99, "99.5", "50%", "http"])
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object":
        if "properties" in schema:
            return {k: value(rng, v, words, depth + 1) for k, v in schema["properties"].items()
                    if k in schema.get("required", ()) or rng.random() < 0.6}
        if isinstance(schema.get("additionalProperties"), dict):
            return {rng.choice(words) or "k": value(rng, schema["additionalProperties"], words, depth + 1)
                    for _ in range(rng.randint(0, 3))}
        return {}
    if kind == "array":
        items = [value(rng, schema["items"], words, depth + 1) for _ in range(rng.randint(0, 3))]
        unique = {json.dumps([i.get(k) for k in schema["x-kubernetes-list-map-keys"]] if isinstance(i, dict) and
                             "x-kubernetes-list-map-keys" in schema else i): i for i in items}
        return list(unique.values()) if "x-kubernetes-list-type" in schema else items
    if kind == "string":
        texts = {"date-time": ["2026-01-01T00:00:00Z"], "duration": ["1s"], "byte": ["eA=="]}
        text = rng.choice(texts.get(schema.get("format"), words))
        return text[:schema.get("maxLength", 1000)]
    return {"integer": rng.randint(0, 5), "number": rng.choice([0.5, 2, 3.25]), "boolean": rng.random() < 0.5}.get(kind)


def test_rules_that_people_use(lab):
    """Each with random objects that fit its schema."""
    compare, rng = Compare(lab, "Used"), random.Random(int(os.environ.get("CEL_SEED", "1")))
    with open(f"{HERE}/cel_rules.json") as f:
        nodes = [n["schema"] for n in json.load(f)]
    broken = set()
    for start in range(0, len(nodes), 25):
        batch = {f"n{i}": n for i, n in enumerate(nodes[start:start + 25], start)}
        schema = nested({"type": "object", "properties": batch})
        kind = compare.new_kind()
        compare.same(f"rules {start} to {start + 25}", compare.refusal(schema), ours(compare.tool.ask(schema)["install"]))
        compare.install(schema, kind)
        for _ in range(80):
            spec = {k: value(rng, n, words_of(n)) for k, n in batch.items()}
            thing = compare.object(kind, {"spec": spec})
            real = compare.create(kind, thing)
            broken.update(c[2] for c in real)
            compare.same(json.dumps(spec)[:2000], real, ours(compare.tool.ask(schema, thing)["errors"]))
    rules = sum(len(n["x-kubernetes-validations"]) for n in nodes)
    print(f"     {rules} rules, {len(broken)} different refusals")
    compare.done(200)
