"""The merge module against the real kube-apiserver: random sequences of applies by several managers, updates,
patches, status and scale. Before each step the module says what will come out, from the state the server is in;
afterwards object, owners and conflicts must be just that.

What the server fills in by itself is not ours to foresee. Of an applied object, everything that we computed must be
there, and what is there beyond it may only be defaults: fields that no owner has. After updates we compute the owners
from the object that the server made of them.

MERGE_SEEDS=A-B runs those sequences, MERGE_TRACE=1 prints each step.
"""
import copy
import json
import os
import random
import re
import subprocess
from fractions import Fraction

import yaml

import merge_kinds as kinds
from lab import ROOT, ApiError, Failure, wait_for

LAB = {"controllers": None}
APPLY = "application/apply-patch+yaml"
MERGE, JSON_PATCH, STRATEGIC = (f"application/{name}-patch+json" for name in ("merge", "json", "strategic-merge"))
MANAGERS = ["a", "b", "c"]
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"  # kept true by the server, owned by nobody
TRACE = os.environ.get("MERGE_TRACE")


class Tool:
    """build/*/merge_tool: one JSON line in, one out."""

    def __init__(self):
        path = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/merge_tool"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, op, **request):
        request = {k: v for k, v in request.items() if v is not None}
        self.process.stdin.write(json.dumps({"op": op, **request}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"merge_tool ended on {json.dumps({'op': op, **request})}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Kind:
    """versions: of the group, all of which have the same fields; a sequence goes through all of them."""

    def __init__(self, group, versions, kind, plural, config, status=None, scale=None, custom=None):
        self.versions = [f"{group}/{v}" if group else v for v in versions]
        self.kind, self.plural, self.config, self.status = kind, plural, config, status
        self.scale, self.custom = scale, custom

    def path(self, version):
        return f"/{'apis' if '/' in version else 'api'}/{version}/namespaces/default/{self.plural}"


def custom_kind(crd, status=True, scale=None, fixed=None):
    version = crd["spec"]["versions"][0]
    make = kinds.FromSchema(version["schema"]["openAPIV3Schema"])

    def config(rng, full):
        spec = make.part(rng, "spec", full) or {}
        if fixed and full:
            spec.update(fixed)
        return {"spec": spec} if spec else {}
    return Kind(crd["spec"]["group"], [v["name"] for v in crd["spec"]["versions"]], crd["spec"]["names"]["kind"],
                crd["spec"]["names"]["plural"], config, scale=scale, custom=crd,
                status=(lambda rng: make.part(rng, "status", False)) if status else None)


def api_crd(plural):
    with open(f"{ROOT}/api/inference.llmkube.dev_{plural}.yaml") as f:
        return yaml.safe_load(f)


def all_kinds():
    return {
        "shape": custom_kind(kinds.SHAPE, scale=".spec.replicas"),
        "deployment": Kind("apps", ["v1"], "Deployment", "deployments", kinds.deployment, kinds.workload_status,
                           ".spec.replicas"),
        "statefulset": Kind("apps", ["v1"], "StatefulSet", "statefulsets", kinds.stateful_set, kinds.workload_status,
                            ".spec.replicas"),
        "service": Kind("", ["v1"], "Service", "services", kinds.service, kinds.service_status),
        "configmap": Kind("", ["v1"], "ConfigMap", "configmaps", kinds.config_map),
        "hpa": Kind("autoscaling", ["v2"], "HorizontalPodAutoscaler", "horizontalpodautoscalers", kinds.autoscaler,
                    kinds.autoscaler_status),
        "model": custom_kind(api_crd("models"), fixed={"source": "https://example.com/m.gguf"}),
        "inferenceservice": custom_kind(api_crd("inferenceservices"), scale=".spec.replicas",
                                        fixed={"modelRef": "m"}),
    }


# How values compare


def without(value, *path):
    value = copy.deepcopy(value)
    at = value
    for step in path[:-1]:
        at = at.get(step, {})
    at.pop(path[-1], None)
    return value


def bare(value):
    """Without what every write changes."""
    for field in ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "namespace"):
        value = without(value, "metadata", field)
    return value


def without_empty_lists(value):
    """An empty list that is a set or a map has no field that one could own: whether it is there is nobody's doing."""
    if isinstance(value, dict):
        return {k: without_empty_lists(v) for k, v in value.items() if v != []}
    return [without_empty_lists(v) for v in value] if isinstance(value, list) else value


def is_hollow(config, live):
    """Whether an empty map was applied where there is more, which nobody owns. The server then deletes that with the
    next apply of the same, and brings the empty map back with the one after it; we leave it alone."""
    if isinstance(config, dict) and isinstance(live, dict):
        return (not config and bool(live)) or any(is_hollow(v, live.get(k)) for k, v in config.items())
    if isinstance(config, list) and isinstance(live, list):
        return any(is_hollow(x, y) for x in config for y in live)
    return False


def owners(entries):
    return {(e["manager"], e["operation"], e["apiVersion"], e.get("subresource", "")):
            (e.get("time"), e.get("fieldsV1")) for e in entries or []}


def differences(left, right, path=""):
    """(path, left, right) of the places in which two values differ; None is absent."""
    if isinstance(left, dict) and isinstance(right, dict):
        return [d for k in sorted(set(left) | set(right))
                for d in differences(left.get(k), right.get(k), f"{path}.{k}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [d for i, (x, y) in enumerate(zip(left, right)) for d in differences(x, y, f"{path}[{i}]")]
    return [] if left == right and type(left) is type(right) else [(path, left, right)]


def diff(left, right):
    return [f"{path}: {json.dumps(x)} / {json.dumps(y)}" for path, x, y in differences(left, right)]


def amount(value):
    """A quantity as a number, or None."""
    match = re.fullmatch(r"([0-9.]+)(m|Ki|Mi|Gi|k|M|G)?", str(value))
    suffixes = {None: 1, "m": Fraction(1, 1000), "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 10**3, "M": 10**6,
                "G": 10**9}
    return Fraction(match[1]) * suffixes[match[2]] if match else None


class Sequence:
    """One object through its steps."""

    def __init__(self, lab, tool, name, kind, seed):
        self.lab, self.tool, self.kind, self.seed = lab, tool, kind, seed
        self.rng = random.Random(f"{name}-{seed}")
        self.name, self.label = f"{name}-{seed}", f"{name} {seed}"
        self.live, self.log, self.done, self.refused = None, [], 0, 0
        self.version = kind.versions[0]

    # Asking the server

    def call(self, method, path, body, content_type="application/json"):
        """(code, answer)"""
        try:
            return 200, self.lab.api(method, path, body, content_type)
        except ApiError as error:
            return error.code, json.loads(error.body)

    def url(self, sub="", **query):
        tail = "&".join(f"{k}={v}" for k, v in query.items() if v is not None)
        return f"{self.kind.path(self.version)}/{self.name}{'/' + sub if sub else ''}?{tail}"

    def get(self):
        try:
            return self.lab.api("GET", self.url())
        except ApiError:
            return None

    def fail(self, what, *details):
        lines = "\n".join(str(d)[:3000] for d in details)
        steps = "\n".join(f"  {s}" for s in self.log[-12:])
        if os.environ.get("MERGE_DUMP"):
            with open(os.environ["MERGE_DUMP"], "w") as f:
                json.dump({"what": what, "details": details, "steps": self.log, "before": self.live}, f, indent=1)
        raise Failure(f"{self.label}: {what}\n{lines}\nsteps:\n{steps}\nbefore: {json.dumps(self.live)}")

    # Steps

    def head(self, body):
        meta = {"name": self.name, **body.pop("metadata", {})}
        return {"apiVersion": self.version, "kind": self.kind.kind, "metadata": meta, **body}

    def config(self, full):
        body = self.kind.config(self.rng, full)
        body["metadata"] = kinds.metadata(self.rng)
        return self.head(body)

    def run(self, steps):
        for _ in range(steps):
            self.version = self.rng.choice(self.kind.versions)
            if self.live and len(self.kind.versions) > 1:
                self.live = self.get()
            if self.live is None:
                self.rng.choice([self.create, self.apply, self.apply])()
            else:
                self.step()
        if self.live:
            self.lab.api("PATCH", self.url(), {"metadata": {"finalizers": None}}, MERGE)
            self.lab.api("DELETE", self.url())

    def step(self):
        options = [(8, self.apply), (2, self.put), (3, self.merge_patch), (1, self.json_patch), (1, self.reset),
                   (1, self.client_side)]
        if not self.kind.custom:
            options.append((2, self.strategic))
        if self.kind.status:
            options += [(2, self.apply_status), (2, self.patch_status)]
        if self.kind.scale:
            options += [(1, self.apply_scale), (2, self.patch_scale)]
        weights, functions = zip(*options)
        self.rng.choices(functions, weights)[0]()

    def note(self, what, *details):
        self.log.append(" ".join([self.version, what, *(d if isinstance(d, str) else json.dumps(d) for d in details)]))
        if TRACE:
            print(f"{self.label}: {self.log[-1]}", flush=True)

    def settle(self, code, answer, expected, whole=None):
        """The server's answer against what was computed."""
        if code >= 300:
            self.refused += 1
            return False
        after = self.get()
        now = max((e.get("time", "") for e in after["metadata"].get("managedFields", [])), default="")
        got = expected(now, after)
        if "error" in got:
            self.fail("we fail where the server does not", got)
        want, have = after["metadata"].get("managedFields"), self.kept(after, got["object"])
        # The server looks at its clock twice in a first apply.
        strict = [{**e, "time": ""} if e["manager"] == "before-first-apply" else e for e in want or []]
        ours = [{**e, "time": ""} if e["manager"] == "before-first-apply" else e for e in have or []]
        if strict != ours:
            self.fail("owners differ (server / ours)", *diff(owners(want), owners(have)), json.dumps(want),
                      json.dumps(have))
        if whole:
            whole(after, got["object"])
        self.live, self.done = after, self.done + 1
        return True

    def kept(self, after, ours):
        """Our owners, with their old times if the server stored nothing new beside them."""
        entries = ours["metadata"].get("managedFields")
        if not self.live:
            return entries
        stored, live = bare(after), bare(self.live)
        stored["metadata"]["managedFields"] = entries
        live["metadata"]["managedFields"] = self.live["metadata"].get("managedFields")
        return self.tool.ask("keep-times", live=live, object=stored)["object"]["metadata"].get("managedFields")

    def create(self):
        body, manager = self.config(True), self.rng.choice(MANAGERS)
        self.note("create", manager, body)
        code, answer = self.call("POST", f"{self.kind.path(self.version)}?fieldManager={manager}", body)
        self.settle(code, answer, lambda now, after: self.tool.ask(
            "update", object=self.before_storage(after), manager=manager, now=now, custom=bool(self.kind.custom)))

    def before_storage(self, after):
        """A created object as it was when its owners were computed: what is filled in later is missing."""
        out = without(after, "metadata", "managedFields")
        if self.kind.kind == "Service":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                out = without(out, "spec", field)
        return out

    def apply(self, sub=""):
        manager, force = self.rng.choice(MANAGERS + ["kubectl"]), kinds.maybe(self.rng, 0.4)
        config = self.config(self.live is None or kinds.maybe(self.rng, 0.4))
        self.send_apply(manager, force, config)

    def apply_status(self):
        config = self.head({"status": self.kind.status(self.rng)})
        self.send_apply(self.rng.choice(MANAGERS), kinds.maybe(self.rng, 0.5), config, "status")

    def send_apply(self, manager, force, config, sub=""):
        self.note("apply", sub, manager, "force" if force else "", config)
        code, answer = self.call("PATCH", self.url(sub, fieldManager=manager, force=str(force).lower()), config, APPLY)
        before, wanted = self.live, dict(
            live=self.live, config=config, manager=manager, force=force, subresource=sub,
            custom=bool(self.kind.custom))
        if code == 409:
            self.check_conflicts(answer, self.tool.ask("apply", now="2030-01-01T00:00:00Z", **wanted))
            return
        ok = self.settle(code, answer, lambda now, after: self.tool.ask("apply", now=now, **wanted),
                         lambda after, ours: self.check_merged(after, ours, sub))
        if ok:
            self.check_gate(manager, config, sub)
        elif code == 500 and "typed patch object" in str(answer):
            got = self.tool.ask("apply", now="2030-01-01T00:00:00Z", **wanted)
            if "error" not in got or before is not self.live:
                self.fail("the server refuses what we accept", answer, got)

    def check_conflicts(self, answer, got):
        if "conflicts" not in got:
            self.fail("the server sees conflicts, we do not", answer, got)
        theirs = sorted((c["message"].removeprefix("conflict with "), c["field"]) for c in answer["details"]["causes"])
        ours = sorted((c["owner"], c["field"]) for c in got["conflicts"])
        if theirs != ours:
            self.fail("conflicts differ (server / ours)", theirs, ours)
        if answer["message"] != got["error"]:
            self.fail("messages differ (server / ours)", answer["message"], got["error"])
        self.done += 1

    def check_merged(self, after, ours, sub):
        """Everything that we computed is there; what else is there is a default, which nobody owns."""
        part = {"status"} if sub == "status" else set(after) - {"status"}
        want = {k: v for k, v in bare(after).items() if k in part}
        have = {k: v for k, v in bare(ours).items() if k in part}
        have = self.with_defaults(have)
        problems = [(path, x, y) for path, x, y in differences(want, have) if not self.is_expected(path, x, y)]
        if problems:
            self.fail("objects differ (server / ours)", *problems)

    def with_defaults(self, value):
        """What the server makes of every object: metadata passes through a Go struct, keys get their defaults."""
        for meta in (value.get("metadata"), ((value.get("spec") or {}).get("embedded") or {}).get("metadata")):
            for field in [k for k, v in (meta or {}).items() if not v]:
                del meta[field]
        for port in (value.get("spec") or {}).get("ports") or [] if self.kind.kind == "Shape" else []:
            port.setdefault("protocol", "TCP")
        return value

    def is_expected(self, path, theirs, ours):
        """Defaults; and what a Go struct makes of a value: zeros are left out, quantities have one form."""
        if self.kind.kind == "Shape":
            return False
        if ours is None:
            return True
        if self.kind.custom:
            return False
        return (theirs is None and not ours) or (".resources." in path and amount(theirs) == amount(ours) is not None)

    def check_gate(self, manager, config, sub):
        """Skipping a write is right if and only if the server would change nothing."""
        got = self.tool.ask("gate", live=self.live, wanted=config, manager=manager, subresource=sub)
        if not got["setEqual"]:
            self.fail("not the set that the server stored", got, json.dumps(self.live))
        if not got["equal"]:
            # There are a few that the server itself changes again, before it comes to rest.
            self.check_skip(manager, config, sub)
        self.check_skip(manager, self.perturbed(config), sub)

    def check_skip(self, manager, config, sub):
        url = self.url(sub, fieldManager=manager, force="true", dryRun="All")
        code, answer = self.call("PATCH", url, config, APPLY)
        if code >= 300:
            return
        got = self.tool.ask("gate", live=self.live, wanted=config, manager=manager, subresource=sub)
        if "error" in got:
            self.fail("we fail where the server does not", config, got)
        after, before = (without(bare(o), "metadata", "annotations", LAST_APPLIED) for o in (answer, self.live))
        same = self.entry(answer, manager, sub) == self.entry(self.live, manager, sub)
        almost = same and without_empty_lists(after) == without_empty_lists(before)
        same = same and after == before
        if got["equal"] and not almost and is_hollow(config, self.live):
            return
        if bool(got["differences"]) == got["equal"] or (not almost if got["equal"] else same):
            self.fail(f"for {json.dumps(config)} the server would change {'nothing' if same else 'something'}, we say",
                      got, *diff(after, before), json.dumps(self.live))

    @staticmethod
    def entry(thing, manager, sub):
        """What the manager owns by apply. That of others may change even so: three who apply the same empty map, which
        is never stored, take it from each other for ever."""
        return [e["fieldsV1"] for e in thing["metadata"].get("managedFields", [])
                if (e["manager"], e["operation"], e.get("subresource", "")) == (manager, "Apply", sub)]

    def perturbed(self, config):
        """The same in other words, or something a little different."""
        spots, config = [], copy.deepcopy(config)

        def walk(value):
            if isinstance(value, dict):
                for key, below in value.items():
                    if not (value is config and key in ("apiVersion", "kind")) and key not in ("name", "app"):
                        spots.append((value, key))
                    walk(below)
            elif isinstance(value, list):
                spots.extend((value, i) for i in range(len(value)))
                for item in value:
                    walk(item)
        walk({k: v for k, v in config.items() if k != "metadata"})
        walk(config["metadata"])
        spots = [s for s in spots if s[1] not in ("metadata", "spec", "status") or s[0] is not config]
        if not spots or kinds.maybe(self.rng, 0.1):
            return config
        where, key = self.rng.choice(spots)
        value, words = where[key], {"1000m": "1", "1": "1000m", "1024Mi": "1Gi", "1Gi": "1024Mi", "500m": "0.5",
                                    "0.5": "500m", "2048Mi": "2Gi"}
        if isinstance(value, str) and value in words and kinds.maybe(self.rng, 0.7):
            where[key] = words[value]
        elif isinstance(value, list) and len(value) > 1 and kinds.maybe(self.rng):
            value.reverse()
        elif kinds.maybe(self.rng, 0.6):
            del where[key]
        elif isinstance(value, bool):
            where[key] = not value
        elif isinstance(value, int):
            where[key] = value + 1
        elif isinstance(value, str):
            where[key] = value + "z"
        else:
            del where[key]
        return config

    def updated(self, what, method, url, body, content_type, manager, sub="", sent=None):
        """A write that is no apply; sent: the managedFields in it, if it has any."""
        self.note(what, sub, manager, body)
        before = self.live["metadata"].get("managedFields")

        def expected(now, after):
            made = copy.deepcopy(after)
            made["metadata"]["managedFields"] = before if sent is None else sent
            return self.tool.ask("update", live=self.live, object=made, manager=manager, subresource=sub, now=now,
                                 custom=bool(self.kind.custom))
        code, answer = self.call(method, url, body, content_type)
        return self.settle(code, answer, expected)

    def put(self):
        body, manager = copy.deepcopy(self.live), self.rng.choice(MANAGERS)
        self.alter(body)
        if kinds.maybe(self.rng):
            body = without(body, "metadata", "managedFields")
        self.updated("put", "PUT", self.url(fieldManager=manager), body, "application/json", manager)

    def alter(self, body):
        """Overwrites parts of an object with those of a new configuration."""
        other = self.config(True)
        for field in ("labels", "annotations"):
            if field in other["metadata"]:
                body["metadata"][field] = other["metadata"][field]
        for part, value in other.items():
            if part in ("apiVersion", "kind", "metadata"):
                continue
            if not isinstance(value, dict):
                body[part] = value
                continue
            here = body.setdefault(part, {})
            for key in kinds.some(self.rng, value):
                here[key] = value[key]
            for key in kinds.some(self.rng, value)[:1] if kinds.maybe(self.rng, 0.3) else []:
                here.pop(key, None)
        containers = body.get("spec", {}).get("template", {}).get("spec", {}).get("containers", [])
        for container in containers if kinds.maybe(self.rng, 0.2) else []:
            # The server takes duplicates in an update, and has to live with them in applies.
            container["env"] = container.get("env", []) + [{"name": "E1", "value": "again"}] * 2

    def merge_patch(self):
        manager, body = self.rng.choice(MANAGERS), self.kind.config(self.rng, False)
        body["metadata"] = kinds.metadata(self.rng)

        def drop(value):
            for key, below in list(value.items()):
                if isinstance(below, dict) and key != "valueFrom":
                    drop(below)
                elif kinds.maybe(self.rng, 0.15):
                    value[key] = None
        drop(body)
        self.updated("merge", "PATCH", self.url(fieldManager=manager), body, MERGE, manager)

    def client_side(self):
        """What `kubectl apply` does, and leaves an annotation from which a later apply on the server side learns."""
        body, manager = self.config(True), "kubectl-client-side-apply"
        text = json.dumps(body, sort_keys=True, separators=(",", ":")) + "\n"
        body["metadata"].setdefault("annotations", {})[LAST_APPLIED] = text
        self.updated("client-side", "PATCH", self.url(fieldManager=manager), body, MERGE, manager)

    def json_patch(self):
        manager, value = self.rng.choice(MANAGERS), {f"j{self.rng.randint(0, 3)}": "1"}
        body = [{"op": "add", "path": "/metadata/annotations", "value": value}]
        if self.live["metadata"].get("labels") and kinds.maybe(self.rng):
            body.append({"op": "remove", "path": "/metadata/labels"})
        self.updated("json", "PATCH", self.url(fieldManager=manager), body, JSON_PATCH, manager)

    def strategic(self):
        manager, body = self.rng.choice(MANAGERS), self.kind.config(self.rng, False)
        body["metadata"] = kinds.metadata(self.rng)
        self.updated("strategic", "PATCH", self.url(fieldManager=manager), body, STRATEGIC, manager)

    def reset(self):
        """Somebody forgets all owners; the next apply starts from before-first-apply."""
        if kinds.maybe(self.rng, 0.5):
            return
        manager, value = self.rng.choice(MANAGERS), self.rng.choice([[], [{}]])
        body = {"metadata": {"managedFields": value}}
        if kinds.maybe(self.rng):
            body["metadata"]["labels"] = {"reset": "1"}
        if self.kind.custom and not value:
            value = None  # an empty list in the metadata of a custom object is dropped before anybody sees it
        self.updated("reset", "PATCH", self.url(fieldManager=manager), body, MERGE, manager, sent=value)

    def patch_status(self):
        manager, body = self.rng.choice(MANAGERS), {"status": self.kind.status(self.rng)}
        if kinds.maybe(self.rng, 0.2):
            body["metadata"] = {"labels": {"s": "1"}}
        self.updated("status", "PATCH", self.url("status", fieldManager=manager), body, MERGE, manager, "status")

    # Scale: the list of owners goes into the Scale, is changed there, and comes back

    def scaled(self, manager, expected):
        parent = dict(parent=self.live["metadata"].get("managedFields") or [], apiVersion=self.version,
                      apiVersions=self.kind.versions, path=self.kind.scale)

        def owners_after(now, after):
            inside = self.tool.ask("scale-in", **parent)
            scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {
                "name": self.name, "uid": "u", "managedFields": inside.get("managedFields")}, "spec": {}}
            replicas = self.live["spec"].get("replicas")
            if replicas:
                scale["spec"]["replicas"] = replicas
            got = expected(scale, now)
            if "error" in got:
                return got
            entries = got["object"]["metadata"].get("managedFields") or []
            back = self.tool.ask("scale-out", scale=entries, **parent)
            return {"object": {"metadata": {"managedFields": back.get("managedFields")}}}
        return owners_after

    def patch_scale(self):
        manager, replicas = self.rng.choice(MANAGERS), self.rng.randint(0, 3)
        self.note("scale", manager, str(replicas))

        def expected(scale, now):
            made = copy.deepcopy(scale)
            made["spec"] = {"replicas": replicas} if replicas else {}
            return self.tool.ask("update", live=scale, object=made, manager=manager, subresource="scale", now=now)
        code, answer = self.call("PATCH", self.url("scale", fieldManager=manager), {"spec": {"replicas": replicas}},
                                 MERGE)
        self.settle(code, answer, self.scaled(manager, expected))

    def apply_scale(self):
        manager, replicas, force = self.rng.choice(MANAGERS), self.rng.randint(1, 3), kinds.maybe(self.rng)
        self.note("apply scale", manager, str(replicas), "force" if force else "")
        config = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": self.name},
                  "spec": {"replicas": replicas}}

        def expected(scale, now):
            return self.tool.ask("apply", live=scale, config=config, manager=manager, subresource="scale", now=now,
                                 force=force)
        code, answer = self.call("PATCH", self.url("scale", fieldManager=manager, force=str(force).lower()), config,
                                 APPLY)
        if code == 409:
            got = {}

            def conflicts(scale, now):
                got.update(expected(scale, now))
                return got
            self.scaled(manager, conflicts)("2030-01-01T00:00:00Z", None)
            self.check_conflicts(answer, got)
            return
        self.settle(code, answer, self.scaled(manager, expected))


def seeds(count):
    chosen = os.environ.get("MERGE_SEEDS")
    if chosen:
        first, last = re.fullmatch(r"(\d+)(?:-(\d+))?", chosen).groups()
        return range(int(first), int(last or first) + 1)
    return range(count)


def install_shape(lab):
    if lab.get("customresourcedefinitions", None, kinds.SHAPE["metadata"]["name"]):
        return
    lab.create("customresourcedefinitions", None, kinds.SHAPE)

    def served():
        try:
            return lab.api("GET", "/apis/test.leeboard.dev/v1/namespaces/default/shapes")
        except ApiError:
            return None
    wait_for(served, 30, "the Shape kind to be served")


def run_kind(lab, name, count, steps=12):
    install_shape(lab)
    tool, kind, done, refused = Tool(), all_kinds()[name], 0, 0
    if kind.custom:
        got = tool.ask("crd", crd=kind.custom)
        if "error" in got:
            raise Failure(got["error"])
    for seed in seeds(count):
        sequence = Sequence(lab, tool, name, kind, seed)
        sequence.run(steps)
        done, refused = done + sequence.done, refused + sequence.refused
    tool.close()
    print(f"     {name}: {done} steps compared, {refused} refused by the server")
    if done < refused:
        raise Failure(f"the server refused {refused} steps of {done + refused}: this shows nothing")


def test_shapes_of_every_list_and_map_type(lab):
    run_kind(lab, "shape", 110)


def test_deployments(lab):
    run_kind(lab, "deployment", 70)


def test_stateful_sets(lab):
    run_kind(lab, "statefulset", 30)


def test_services(lab):
    run_kind(lab, "service", 30)


def test_config_maps(lab):
    run_kind(lab, "configmap", 30)


def test_autoscalers(lab):
    run_kind(lab, "hpa", 30)


def test_models(lab):
    run_kind(lab, "model", 30)


def test_inference_services(lab):
    run_kind(lab, "inferenceservice", 30)


def new_sequence(lab, name):
    tool = Tool()
    return Sequence(lab, tool, name, all_kinds()[name], f"{name}-by-hand")


def test_more_updaters_than_are_kept(lab):
    s = new_sequence(lab, "configmap")
    s.send_apply("a", False, s.head({"data": {"x": "1"}}))
    for i in range(14):
        ok = s.updated("merge", "PATCH", s.url(fieldManager=f"u{i:02}"), {"data": {f"k{i % 12}": str(i)}}, MERGE,
                       f"u{i:02}")
        if not ok:
            s.fail("refused")
    names = [e["manager"] for e in s.live["metadata"]["managedFields"]]
    if "ancient-changes" not in names or len(names) != 11:
        s.fail("nothing was folded", names)
    s.tool.close()


def test_taking_over_from_an_operator_that_updates(lab):
    """What it wrote becomes ours in one guarded write, and goes when we no longer want it."""
    s = new_sequence(lab, "deployment")
    body = s.head(kinds.deployment(s.rng, True))
    body["spec"].update(replicas=2, paused=True)
    s.lab.api("POST", f"{s.kind.path(s.version)}?fieldManager=manager", body)
    s.live = s.get()
    for _ in range(2):  # the second time there is nothing to do
        wanted = s.tool.ask("take-over", live=s.live, **{"from": "manager"}, manager="leeboard")["patch"]
        if wanted is None:
            break
        patch, owners_now = wanted, wanted[0]["value"]
        code, answer = s.call("PATCH", s.url(fieldManager="leeboard"), patch, JSON_PATCH)
        if code != 200 or answer["metadata"]["managedFields"] != owners_now:
            s.fail("not as we wanted it", code, answer)
        stale, s.live = s.live, s.get()
    patch[1]["value"] = stale["metadata"]["resourceVersion"]
    code, _ = s.call("PATCH", s.url(fieldManager="leeboard"), patch, JSON_PATCH)
    if code != 409:
        s.fail("a stale writer won", code)
    del body["spec"]["paused"]
    s.send_apply("leeboard", False, body)
    if "paused" in s.live["spec"] or [e["manager"] for e in s.live["metadata"]["managedFields"]] != ["leeboard"]:
        s.fail("what we left out is still there", s.live)
    s.tool.close()


def test_the_table_of_builtin_kinds_is_the_servers(lab):
    made = subprocess.run([f"{ROOT}/tools/schema-gen", f"https://127.0.0.1:{lab.port}", "admin-token"], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    with open(f"{ROOT}/src/merge/schema_builtin.c") as f:
        if f.read() != made:
            raise Failure("src/merge/schema_builtin.c is not what tools/schema-gen makes of this server's OpenAPI")
