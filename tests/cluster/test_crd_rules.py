"""Custom kinds on the real kube-apiserver and on ours: every definition, object and update of crd_cases.py goes to both,
and what becomes of it must be the same: the object, whether there are warnings, the fields of the causes of a refusal.

CRD_CASES=PATTERN runs only the schemas whose name matches.
"""
import glob
import http.client
import json
import os
import re

import yaml

import crd_cases as cases
import differential
from differential import Ours, Server
from lab import ROOT, Failure, wait_for

LAB = {"controllers": None}
GROUP = "rules.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Side:
    """One of the two servers."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def ask(self, method, path, body=None):
        """(status, body, warnings)"""
        self.connection = self.connection or self.server.connect()
        headers = {**self.server.headers, "Content-Type": "application/json", "Accept": "application/json",
                   "User-Agent": "leeboard-lab"}
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self.connection = None
            raise
        value = json.loads(text) if text.startswith("{") else text
        return answer.status, value, sorted(answer.headers.get_all("Warning") or [])

    def serves(self, path):
        return self.ask("GET", path)[0] == 200

    def install(self, crds):
        for crd in crds:
            status, body, _ = self.ask("POST", CRDS, crd)
            if status != 201:
                raise Failure(f"{self.server.name}: {crd['metadata']['name']}: {body}")
        for crd in crds:
            spec = crd["spec"]
            for version in spec["versions"]:
                path = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                if version["served"]:
                    wait_for(lambda: self.serves(path), 60, path)


class Both:
    def __init__(self, lab):
        self.ours = Ours()
        self.ours.start()
        self.sides = [Side(Server("real", lab.kubeconfig)), Side(Server("ours", self.ours.kubeconfig))]
        self.failures, self.count = [], 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.ours.__exit__()
        if kind is None and self.failures:
            raise Failure(f"{len(self.failures)} differences in {self.count}:\n" + "\n".join(self.failures))

    def install(self, crds):
        for side in self.sides:
            side.install(crds)

    def compare(self, what, method, path, bodies):
        """bodies: one for both, or one each."""
        bodies = bodies if isinstance(bodies, list) else [bodies, bodies]
        real, ours = (shown(*side.ask(method, path, body)) for side, body in zip(self.sides, bodies))
        self.count += 1
        if real != ours:
            self.failures.append(f"{what}\n  real {json.dumps(real)[:1500]}\n  ours {json.dumps(ours)[:1500]}")


def shown(status, body, warnings):
    """What of an answer must be the same."""
    if not isinstance(body, dict):
        return status, body, bool(warnings)
    if body.get("kind") != "Status":
        for c in isinstance(body.get("status"), dict) and body["status"].get("conditions") or ():
            c.pop("lastTransitionTime", None)
        return status, body.get("spec"), body.get("status"), bool(warnings)
    return status, differential.status_contract(body), bool(warnings)


def crd_of(plural, schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced",
                     "names": {"plural": plural, "kind": plural.capitalize()},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}}]}}


def root(spec_schema):
    return {"type": "object", "properties": {"spec": spec_schema}}


def object_of(plural, spec, name="x"):
    return {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(),
            "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def path_of(plural, name=""):
    return f"/apis/{GROUP}/v1/namespaces/default/{plural}" + (f"/{name}" if name else "")


def set_at(value, path, new):
    """Sets or, with None, removes what stands at a dotted path."""
    steps = path.split(".")
    for step in steps[:-1]:
        value = value[int(step)] if isinstance(value, list) else value.setdefault(step, {})
    if new is None:
        value.pop(steps[-1], None)
    elif isinstance(value, list):
        value[int(steps[-1])] = new
    else:
        value[steps[-1]] = new


def changed_crd(changes):
    crd = crd_of("things", root({"type": "object", "properties": {"x": {"type": "string"}}}))
    for path, value in changes.items():
        set_at(crd, path, value)
    return crd


def test_definitions(lab):
    """Which definitions are accepted, and what is wrong with the others."""
    with Both(lab) as both:
        for changes in cases.CRDS:
            crd, what = changed_crd(changes), json.dumps(changes)[:400]
            both.compare(what, "POST", CRDS + "?dryRun=All", crd)
            both.compare(what + " strict", "POST", CRDS + "?dryRun=All&fieldValidation=Strict", crd)


def test_changes(lab):
    """What of a definition can be changed, and what by the status subresource."""
    with Both(lab) as both:
        crd = changed_crd({})
        both.install([crd])
        live = [side.ask("GET", f"{CRDS}/{crd['metadata']['name']}")[1] for side in both.sides]
        for changes in cases.CHANGES:
            wanted = [json.loads(json.dumps(o)) for o in live]
            for o in wanted:
                for path, value in changes.items():
                    set_at(o, path, value)
                for c in o["status"].get("conditions") or ():
                    c["lastTransitionTime"] = "2026-01-01T00:00:00Z"
            for sub in ("", "/status"):
                both.compare(f"{changes} {sub}", "PUT", f"{CRDS}/{crd['metadata']['name']}{sub}?dryRun=All", wanted)
        for side in both.sides:
            side.ask("DELETE", f"{CRDS}/{crd['metadata']['name']}")


def test_objects(lab):
    """What becomes of objects, and what is wrong with them."""
    only = os.environ.get("CRD_CASES", "")
    specs = {re.sub("[^a-z0-9]", "", name): c for name, c in cases.SPECS.items() if re.search(only, name)}
    with Both(lab) as both:
        both.install([crd_of(plural, root(schema)) for plural, (schema, _) in specs.items()])
        for plural, (_, values) in specs.items():
            for spec in values:
                sent, what = object_of(plural, spec), f"{plural} {json.dumps(spec)}"
                both.compare(what, "POST", path_of(plural) + "?dryRun=All", sent)
                both.compare(what + " strict", "POST", path_of(plural) + "?dryRun=All&fieldValidation=Strict", sent)


def test_updates(lab):
    """A part that stays as it was may stay wrong."""
    with Both(lab) as both:
        both.install([crd_of("ratchets", root(cases.LOOSE))])
        live = []
        for side in both.sides:
            side.ask("POST", path_of("ratchets"), object_of("ratchets", cases.FIRST))
            _, crd, _ = side.ask("GET", f"{CRDS}/ratchets.{GROUP}")
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = root(cases.STRICT)
            side.ask("PUT", f"{CRDS}/ratchets.{GROUP}", crd)
            second = object_of("ratchets", cases.FIRST, "y")
            wait_for(lambda: side.ask("POST", path_of("ratchets") + "?dryRun=All", second)[0] == 422, 60,
                     "the strict schema to be in force")
            live.append(side.ask("GET", path_of("ratchets", "x"))[1])
        for spec in cases.UPDATES:
            both.compare(json.dumps(spec), "PUT", path_of("ratchets", "x") + "?dryRun=All",
                         [{**o, "spec": spec} for o in live])


def test_scale(lab):
    """What stands where the scale subresource looks for numbers."""
    crd = crd_of("scaled", {"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    crd["spec"]["versions"][0]["subresources"] = {"scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".spec.selector"}}
    with Both(lab) as both:
        both.install([crd])
        for spec in cases.SCALED:
            both.compare(json.dumps(spec), "POST", path_of("scaled") + "?dryRun=All", object_of("scaled", spec))


def test_life(lab):
    """Names, conditions, versions and the end of definitions."""
    first, second = crd_of("lives", {"type": "object"}), crd_of("lifes", {"type": "object"})
    first["spec"]["versions"].append({"name": "v1beta1", "served": True, "storage": False, "deprecated": True,
                                      "schema": {"openAPIV3Schema": root({"type": "object"})}})
    second["spec"]["names"].update(singular="lives", shortNames=["lives", "ls"])
    names = [f"{crd['spec']['names']['plural']}.{GROUP}" for crd in (first, second)]
    with Both(lab) as both:
        both.install([first])
        for side in both.sides:
            side.ask("POST", CRDS, second)
            wait_for(lambda: (side.ask("GET", f"{CRDS}/{names[1]}")[1].get("status") or {}).get("conditions"), 60,
                     "conditions")
        for name in names:
            compare_conditions(both, name)
        kept = {**object_of("lives", {"a": 1}), "metadata": {"name": "x", "finalizers": [f"{GROUP}/kept"]}}
        both.compare("create", "POST", path_of("lives"), kept)
        both.compare("other version", "GET", path_of("lives", "x").replace("/v1/", "/v1beta1/"), None)
        for side in both.sides:
            side.ask("DELETE", f"{CRDS}/{names[0]}")
            wait_for(lambda: condition(side, names[0], "Terminating", "reason") == "InstanceDeletionInProgress", 60,
                     "the objects to be deleted")
        compare_conditions(both, names[0])
        for side in both.sides:
            _, live, _ = side.ask("GET", path_of("lives", "x"))
            live["metadata"].pop("finalizers")
            side.ask("PUT", path_of("lives", "x"), live)
            wait_for(lambda: side.ask("GET", f"{CRDS}/{names[0]}")[0] == 404, 120, "the definition to be gone")
            wait_for(lambda: condition(side, names[1], "Established", "status") == "True", 60,
                     "the other to have its name")
        compare_conditions(both, names[1])
        for side in both.sides:
            side.ask("DELETE", f"{CRDS}/{names[1]}")


def condition(side, name, kind, field):
    _, crd, _ = side.ask("GET", f"{CRDS}/{name}")
    found = [c for c in (crd.get("status") or {}).get("conditions") or () if c["type"] == kind]
    return found[0].get(field) if found else None


def compare_conditions(both, name):
    """Without their times."""
    both.count += 1
    statuses = []
    for side in both.sides:
        _, crd, _ = side.ask("GET", f"{CRDS}/{name}")
        for c in crd["status"]["conditions"]:
            c.pop("lastTransitionTime")
        statuses.append({**crd["status"], "finalizers": crd["metadata"].get("finalizers")})
    if statuses[0] != statuses[1]:
        both.failures.append(f"{name}\n  real {json.dumps(statuses[0])}\n  ours {json.dumps(statuses[1])}")


def test_definitions_of_others(lab):
    """Definitions as people ship them, ours among them, are accepted and answer to objects that say nothing."""
    crds = []
    for path in sorted(glob.glob(f"{ROOT}/api/*.yaml") + glob.glob(f"{ROOT}/tests/golden/crds/*.yaml")):
        with open(path, encoding="utf8") as f:
            crds += [d for d in yaml.safe_load_all(f) if d and d["kind"] == "CustomResourceDefinition"]
    crds = list({crd["metadata"]["name"]: crd for crd in crds}.values())
    with Both(lab) as both:
        real, ours = both.sides
        for crd in crds:
            if real.ask("GET", f"{CRDS}/{crd['metadata']['name']}")[0] == 404:
                real.install([crd])
        ours.install(crds)
        for crd in crds:
            spec = crd["spec"]
            for version in spec["versions"]:
                where = "" if spec["scope"] == "Cluster" else "/namespaces/default"
                path = f"/apis/{spec['group']}/{version['name']}{where}/{spec['names']['plural']}?dryRun=All"
                for value in ({}, {"nonsense": 1}, 5):
                    both.compare(f"{path} {value}", "POST", path,
                                 {"apiVersion": f"{spec['group']}/{version['name']}", "kind": spec["names"]["kind"],
                                  "metadata": {"name": "x"}, "spec": value})
