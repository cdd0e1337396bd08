"""Custom kinds against the real kube-apiserver: each schema and object of crd_cases.py goes to both, and the object that
comes out, the unknown fields and the causes of a refusal must be the same."""
import json
import os
import re
import subprocess

import crd_cases as cases
from lab import ROOT, ApiError, Failure, wait_for

LAB = {"controllers": None}
GROUP = "rules.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Tool:
    """build/*/crd_tool: one JSON line in, one out."""

    def __init__(self):
        path = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/crd_tool"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, op, **request):
        request = {k: v for k, v in request.items() if v is not None}
        self.process.stdin.write(json.dumps({"op": op, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"crd_tool ended on {json.dumps({'op': op, **request})}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def crd_of(plural, schema, **version):
    kind = plural.capitalize()
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
                     "versions": [{"name": "v1", "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}, **version}]}}


def root(spec_schema):
    return {"type": "object", "properties": {"spec": spec_schema}}


def causes_of(status):
    found = (status.get("details") or {}).get("causes") or []
    return sorted((c.get("field", ""), c.get("reason", ""), c.get("message", "")) for c in found)


def post(lab, path, body, method="POST", content_type="application/json"):
    """(answer, None) or (None, Status)."""
    try:
        return lab.api(method, path, body, content_type), None
    except ApiError as e:
        return None, json.loads(e.body) if e.body.startswith("{") else {"code": e.code, "message": e.body}


def install(lab, plurals):
    """Installs several CRDs and waits until all are served."""
    for plural, schema in plurals.items():
        lab.create("customresourcedefinitions", None, crd_of(plural, schema))
    for plural in plurals:
        def served():
            answer, status = post(lab, f"/apis/{GROUP}/v1/{plural}", None, "GET")
            return answer
        wait_for(served, 30, f"{plural} to be served")


def strict_fields(status):
    return sorted(re.findall(r'unknown field "((?:[^"\\]|\\.)*)"', status.get("message", "")))


def compare(what, real, ours, failures):
    if real != ours:
        failures.append(f"{what}\n  real {json.dumps(real)}\n  ours {json.dumps(ours)}")


def path_of(plural, name=""):
    return f"/apis/{GROUP}/v1/namespaces/default/{plural}" + (f"/{name}" if name else "")


def check_spec(lab, tool, plural, schema, spec, failures):
    what = f"{plural} {json.dumps(spec)}"
    sent = {"apiVersion": f"{GROUP}/v1", "kind": plural.capitalize(), "metadata": {"name": "x", "namespace": "default"},
            "spec": spec}
    ours = tool.ask("object", schema=root(schema), object=sent)
    real, status = post(lab, path_of(plural) + "?dryRun=All", sent)
    if status:
        compare(what, causes_of(status), sorted((c["field"], c["reason"], c["message"]) for c in ours["causes"]),
                failures)
        if status.get("code") != 422:
            failures.append(f"{what}\n  real {status.get('code')} {status.get('message')}")
    else:
        compare(what, real.get("spec"), ours["object"].get("spec"), failures)
        compare(what + " causes", [], ours["causes"], failures)
    _, status = post(lab, path_of(plural) + "?dryRun=All&fieldValidation=Strict", sent)
    compare(what + " unknown", strict_fields(status or {}), ours["unknown"], failures)


def test_objects(lab):
    """What becomes of objects, and what is wrong with them."""
    tool, failures, count = Tool(), [], 0
    only = os.environ.get("CRD_CASES")
    specs = {name: c for name, c in cases.SPECS.items() if not only or re.search(only, name)}
    plurals = {re.sub("[^a-z0-9]", "", name): c for name, c in specs.items()}
    install(lab, {plural: root(schema) for plural, (schema, _) in plurals.items()})
    for plural, (schema, values) in plurals.items():
        for spec in values:
            count += 1
            check_spec(lab, tool, plural, schema, spec, failures)
    tool.close()
    if failures:
        raise Failure(f"{len(failures)} differences in {count} objects:\n" + "\n".join(failures))


def test_updates(lab):
    """A part that stays as it was may stay wrong."""
    tool, failures = Tool(), []
    install(lab, {"ratchets": root(cases.LOOSE)})
    name = {"name": "x", "namespace": "default"}
    first = {"apiVersion": f"{GROUP}/v1", "kind": "Ratchets", "metadata": name, "spec": cases.FIRST}
    lab.api("POST", path_of("ratchets"), first)
    crd = lab.get("customresourcedefinitions", None, f"ratchets.{GROUP}")
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = root(cases.STRICT)
    lab.api("PUT", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ratchets.{GROUP}", crd)

    def strict():
        _, status = post(lab, path_of("ratchets") + "?dryRun=All", {**first, "metadata": {"name": "y"}})
        return status
    wait_for(strict, 30, "the strict schema to be in force")
    live = lab.api("GET", path_of("ratchets", "x"))
    for spec in cases.UPDATES:
        sent = {**live, "spec": spec}
        _, status = post(lab, path_of("ratchets", "x") + "?dryRun=All", sent, "PUT")
        ours = tool.ask("object", schema=root(cases.STRICT), object=sent, old=live)
        compare(json.dumps(spec), causes_of(status or {}),
                sorted((c["field"], c["reason"], c["message"]) for c in ours["causes"]), failures)
    tool.close()
    if failures:
        raise Failure(f"{len(failures)} differences:\n" + "\n".join(failures))


def set_at(value, path, new):
    """Sets or, with None, removes what stands at a dotted path; a last step of x-kubernetes-… has dots of its own."""
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
    tool, failures = Tool(), []
    for changes in cases.CRDS:
        crd, what = changed_crd(changes), json.dumps(changes)[:400]
        real, status = post(lab, CRDS + "?dryRun=All", crd)
        ours = tool.ask("crd", crd={**crd, "metadata": {**crd["metadata"]}})
        if status and status["code"] == 400:
            compare(what, status["message"].split(": ", 1)[1], ours.get("error"), failures)
            continue
        compare(what, causes_of(status or {}), sorted((c["field"], c["reason"], c["message"]) for c in ours["causes"])
                if "causes" in ours else ours, failures)
        if not status:
            compare(what, [real["spec"], real["status"]], [ours["crd"]["spec"], ours["crd"]["status"]], failures)
        _, status = post(lab, CRDS + "?dryRun=All&fieldValidation=Strict", crd)
        compare(what + " unknown", strict_fields(status or {}), ours["unknown"], failures)
    tool.close()
    if failures:
        raise Failure(f"{len(failures)} differences in {len(cases.CRDS)} definitions:\n" + "\n".join(failures))
