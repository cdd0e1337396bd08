"""What upstream made of a case, what we made of it, and whether they are the same.

Two families of kinds were recorded: LLMKube's and OtterScale's. A picture is {"quiet": bool, "children": [object...], "inputs": [object...]}: what lies in the
case's namespace at one moment, split by whether the case brought it. README.md tells how they were
taken.
"""
import base64
import copy
import fnmatch
import functools
import glob
import hashlib
import json
import os
import re
from fractions import Fraction

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
FAMILY = "llmkube"
PICTURES = ("applied", "ready", "updated")  # and "step NAME", in the order of the steps
PARTS = ("children", "inputs")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


# With which flags upstream ran, by case.
REGISTRY = "registry.test"
COMMAND_LINES = {
    "flags-*": (
        "--model-cache-path=/srv/cache", "--model-cache-size=7Gi", "--model-cache-mode=perService",
        "--model-cache-storage-class=fast", "--allowed-remote-hosts=127.0.0.1",
        "--ca-cert-configmap=corp-ca", f"--init-container-image={REGISTRY}/init:3",
        "--default-fsgroup=0", "--dri-render-gid=992", "--emit-scrape-annotations",
        "--runtime-images=" + ",".join(f"{runtime}={REGISTRY}/{image}" for runtime, image in (
            ("llamacpp", "llama:5"), ("vllm", "vllm:6"), ("sglang", "sglang:7"), ("tgi", "tgi:8"))),
        "--gpu-sharing-shared-pool-selector=pool=shared,tier=b",
        "--gpu-sharing-vram-per-device-gib=24", f"--router-proxy-image={REGISTRY}/proxy:9",
        "--default-litellm-url=http://litellm.test:4000"),
    "nocache-*": (
        "--model-cache-path=", "--allowed-host-path-roots=/srv/models",
        "--model-cache-access-mode=ReadWriteMany"),
    "*": (
        "--model-cache-path=/srv/cache", "--allowed-host-path-roots=/srv/models",
        "--allowed-remote-hosts=127.0.0.1", "--enable-pyrra-slo"),
}


OTTERSCALE_LINES = {
    "alt-*": (
        "--provider=none", "--metrics-endpoint-auth=false", "--tracing-enabled",
        "--tracing-otel-endpoint=http://otel.example.org:4317", "--tracing-sampler-arg=0.5",
        "--default-gateway-name=", "--kit-image=", "--default-engine-image=oci.example.org/e:1",
        "--default-epp-image=oci.example.org/p:1",
        "--default-routing-proxy-image=oci.example.org/r:1"),
    "gke-*": ("--provider=gke",),
    "*": (),
}
TOOLHIVE_IMAGES = (
    "--toolhive-runner-image=toolhive/proxyrunner:v0.44.0", "--vmcp-image=toolhive/vmcp:v0.44.0",
    "--toolhive-registry-api-image=toolhive/registry-api:v1.3.0")
TOOLHIVE_LINES = {
    "env-*": (
        *TOOLHIVE_IMAGES, "--toolhive-default-redis-addr=shared.test:6379",
        "--toolhive-default-redis-secret-name=shared-redis",
        "--toolhive-default-redis-secret-key=pw",
        "--toolhive-default-image-pull-secrets=reg-a,reg-b", "--toolhive-proxy-host=127.0.0.1",
        "--operator-openshift", "--toolhive-skip-update-check"),
    "*": TOOLHIVE_IMAGES,
}
FAMILIES = {FAMILY: COMMAND_LINES, "otterscale": OTTERSCALE_LINES, "toolhive": TOOLHIVE_LINES}


def flags_for(case, family=FAMILY):
    lines = FAMILIES[family].items()
    return next(flags for glob_text, flags in lines if fnmatch.fnmatch(case, glob_text))


def pictures(recording):
    """The names of its pictures, in the order in which they were taken."""
    return [name for name in PICTURES if name in recording] + \
        [name for name in recording if name.startswith("step ")]


def object_key(o):
    return f"{o['kind']}/{o['metadata']['name']}"


# Files: one object a line; an object that is as it was in an earlier picture is just its key.

def load(path):
    with open(path) as f:
        recording = json.load(f)
    seen = {}
    for picture in (recording[name] for name in pictures(recording)):
        for part in PARTS:
            picture[part] = [copy.deepcopy(seen[o]) if isinstance(o, str) else o
                             for o in picture[part]]
            seen.update((object_key(o), o) for o in picture[part])
    return recording


def dump(recording, path):
    seen, lines = {}, []
    for name in pictures(recording):
        parts = []
        for part in PARTS:
            objects = []
            for o in recording[name][part]:
                key, text = object_key(o), json.dumps(o, sort_keys=True, separators=(",", ":"))
                objects.append(f"  {json.dumps(key) if seen.get(key) == text else text}")
                seen[key] = text
            parts.append(f'"{part}": [\n' + ",\n".join(objects) + "]" if objects
                         else f'"{part}": []')
        quiet = json.dumps(recording[name]["quiet"])
        lines.append(f'"{name}": {{"quiet": {quiet}, ' + ", ".join(parts) + "}")
    for name in ("rejected", "updateRejected"):
        if name in recording:
            lines.append(f'"{name}": ' + json.dumps(recording[name], indent=1))
    with open(path, "w") as f:
        f.write("{" + ",\n".join([f'"case": {json.dumps(recording["case"])}', *lines]) + "}\n")


def cases(family, names=()):
    """{name: path of its YAML file} of all cases, or of those that match one of the globs."""
    paths = sorted(glob.glob(f"{HERE}/{family}/cases/*.yaml"))
    every = {os.path.basename(path)[:-5]: path for path in paths}
    return {name: path for name, path in every.items()
            if not names or any(fnmatch.fnmatch(name, n) for n in names)}


def recorded(family, name):
    return load(f"{HERE}/{family}/recorded/{name}.json")


# Making pictures alike

def without_chance(value, key=None):
    """Times, uids and program texts: what cannot be the same twice, or is each author's own."""
    if isinstance(value, dict):
        return {k: without_chance(v, k) for k, v in value.items()}
    if isinstance(value, list):
        out = [without_chance(v, key) for v in value]
        if key in ("command", "args"):  # what follows `sh -c` is a program even on one line
            for i in range(1, len(out)):
                if value[i - 1] in ("-c", "-ec", "-lc") and (i == 1 or "sh" in value[i - 2]):
                    out[i] = "<script>"
        return out
    if isinstance(value, str):
        if TIME.fullmatch(value):
            return "<time>"
        if key in ("controller-uid", "batch.kubernetes.io/controller-uid"):
            return "<uid>"
        if key in ("command", "args") and "\n" in value:
            return "<script>"
    return value


def normal(o, owner_names):
    """The object without what the API server or chance put there. owner_names: {uid: kind/name}."""
    o = json.loads(json.dumps(o))
    meta = o["metadata"]
    for key in ("uid", "resourceVersion", "managedFields", "creationTimestamp", "generation"):
        meta.pop(key, None)
    for owner in meta.get("ownerReferences", []):
        owner["uid"] = owner_names.get(owner.get("uid"), "<unknown>")
    if o["kind"] == "Service":
        for key in ("clusterIP", "clusterIPs"):
            if o["spec"].get(key) not in (None, "None", ["None"]):
                o["spec"][key] = "<assigned>"
        for port in o["spec"].get("ports", []):
            if "nodePort" in port:
                port["nodePort"] = 0
    if o["kind"] == "ConfigMap":
        for key, text in o.get("data", {}).items():
            if key.endswith(".yaml"):
                o["data"][key] = hashlib.sha256(text.encode()).hexdigest()
    if "hmac-secret" in o.get("data", {}):  # random
        size = len(base64.b64decode(o["data"]["hmac-secret"]))
        o["data"]["hmac-secret"] = f"<{size} bytes>"
    if o.get("type") == "kubernetes.io/service-account-token":
        o["data"] = {key: "<data>" for key in o.get("data", {})}
    if o["kind"] in ("Deployment", "StatefulSet", "Job", "PersistentVolumeClaim",
                     "HorizontalPodAutoscaler", "Pod"):
        o.pop("status", None)
    return without_chance(o)


def drop_last_applied(o):
    annotations = o["metadata"].get("annotations", {})
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    if not annotations:
        o["metadata"].pop("annotations", None)


GENERATED_BASE_MAX = 58  # the server cuts what stands before the generated end of a name


def without_generated_names(value, objects):
    """value with NAME-<random> for the names of objects that were generated."""
    text = json.dumps(value)
    for o in objects:
        base = o["metadata"].get("generateName", "")[:GENERATED_BASE_MAX]
        if base and o["metadata"]["name"].startswith(base):
            text = text.replace(o["metadata"]["name"], f"{base}<random>")
    return json.loads(text)


# Comparing

SUFFIXES = {"": 1, "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
            **{s: 1000**i for i, s in enumerate("kMGTPE", 1)},
            **{s + "i": 1024**i for i, s in enumerate("KMGTPE", 1)}}


def quantity(value):
    """A number for what Kubernetes reads as a quantity; anything else stays as it is."""
    match = re.fullmatch(r"([+-]?[0-9.]+)(?:([numkKMGTPE]?i?)|[eE]([+-]?\d+))", str(value))
    if match is None or match[2] not in (None, *SUFFIXES):
        return value
    scale = Fraction(10) ** int(match[3]) if match[3] else SUFFIXES[match[2]]
    return Fraction(match[1]) * scale


QUANTITIES = re.compile(
    r"(resources\.(limits|requests)|overhead|capacity)\b|sizeLimit|divisor|storage\.size")


def same(path, a, b):
    return a == b or bool(QUANTITIES.search(path) and quantity(a) == quantity(b))


def trimmed(a, b):
    """Of two lists, the parts between the common beginning and the common end."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[len(a) - 1 - end] == b[len(b) - 1 - end]:
        end += 1
    return a[start:len(a) - end], b[start:len(b) - end]


class Difference:
    """One leaf of one object that is not what was recorded; None stands for absent."""

    def __init__(self, case, picture, what, path, theirs, ours):
        self.case, self.picture, self.object, self.path = case, picture, what, path
        if isinstance(theirs, list) and isinstance(ours, list):
            theirs, ours = trimmed(theirs, ours)
        self.theirs, self.ours = theirs, ours

    def __str__(self):
        return (f"{self.picture}: {self.object} {self.path}: recorded {shortened(self.theirs)}, "
                f"now {shortened(self.ours)}")


def shortened(value):
    text = "absent" if value is None else json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."


def item_names(items):
    """What tells the items of a list of objects apart: name or type, else the position."""
    names = []
    for i, item in enumerate(items):
        name = str(item.get("name", item.get("type", i)) if isinstance(item, dict) else i)
        names.append(name if name not in names else f"{name}#{i}")
    return names


def below(path, key):
    return f"{path}[{key}]" if "." in key or "/" in key else f"{path}.{key}" if path else key


def compare_values(theirs, ours, path=""):
    """(path, theirs, ours) wherever two values differ; None for what one of them lacks."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from compare_values(theirs.get(key), ours.get(key), below(path, key))
    elif isinstance(theirs, list) and isinstance(ours, list) and \
            any(isinstance(item, dict) for item in theirs + ours):
        names = item_names(theirs), item_names(ours)
        items = [dict(zip(*pair)) for pair in zip(names, (theirs, ours))]
        for name in sorted(items[0].keys() | items[1].keys()):
            yield from compare_values(items[0].get(name), items[1].get(name), f"{path}[{name}]")
        both = [[name for name in side if name in items[0] and name in items[1]] for side in names]
        if both[0] != both[1] and path != "status.conditions":
            yield f"{path}<order>", *both
    elif not same(path, theirs, ours):
        yield path, theirs, ours


REFUSAL = re.compile(r'"([^"]+)" is invalid|unknown field "([^"]+)"')
REFUSED_PATH = re.compile(
    r"(?:^|[\[ ])([\w.\[\]-]+): (?:Invalid|Unsupported|Required|Too|Duplicate)")


def refusals(lines):
    """{object: paths} of kubectl's complaints: the sentences of a schema are its author's own."""
    found = {}
    for line in lines or ():
        for name, field in REFUSAL.findall(line):
            paths = REFUSED_PATH.findall(line) or [field]
            found[name or field] = sorted({p.lstrip(".[") for p in paths})
    return found


def compare(theirs, ours):
    """All differences between two recordings of a case."""
    case = theirs["case"]
    for name in ("rejected", "updateRejected"):
        if name in theirs or name in ours:
            pairs = compare_values(refusals(theirs.get(name)), refusals(ours.get(name)))
            yield from (Difference(case, name, "refusal", *pair) for pair in pairs)
    for picture in dict.fromkeys([*PICTURES, *pictures(theirs), *pictures(ours)]):
        a, b = theirs.get(picture), ours.get(picture)
        if a is None or b is None:
            if a is not b:
                yield Difference(case, picture, "picture", "<taken>", bool(a), bool(b))
            continue
        if a["quiet"] != b["quiet"]:
            yield Difference(case, picture, "picture", "<quiet>", a["quiet"], b["quiet"])
        for part in PARTS:
            left, right = ({object_key(o): o for o in p[part]} for p in (a, b))
            for key in sorted(left.keys() | right.keys()):
                if key not in left or key not in right:
                    yield Difference(case, picture, key, "<exists>", key in left, key in right)
                else:
                    pairs = compare_values(left[key], right[key])
                    yield from (Difference(case, picture, key, *pair) for pair in pairs)


# Accepted differences

@functools.cache
def pattern(glob_text):
    return re.compile(".*".join(map(re.escape, glob_text.split("*"))))


class Accepted:
    """differences.yaml: entries {case, object, path, reason} with * for anything, and optionally
    `picture` and `in` (cluster or render: where it is looked for, both if absent)."""

    KEYS = {"case", "object", "path", "reason", "picture", "in"}

    def __init__(self, family, where):
        self.path = f"{HERE}/{family}/differences.yaml"
        with open(self.path) as f:
            entries = yaml.safe_load(f) or []
        for entry in entries:
            unknown = entry.keys() - self.KEYS
            if unknown or not entry.get("reason") or not entry.get("path"):
                raise SystemExit(f"{self.path}: {entry}: needs path and reason, knows {self.KEYS}")
        self.entries = [e for e in entries if e.get("in", where) == where]
        self.used = [0] * len(self.entries)

    def explains(self, difference):
        """The first entry that names the difference, or None."""
        for i, entry in enumerate(self.entries):
            if all(pattern(entry.get(key, "*")).fullmatch(getattr(difference, key))
                   for key in ("case", "object", "path", "picture")):
                self.used[i] += 1
                return entry
        return None

    def unused(self):
        return [e for e, n in zip(self.entries, self.used) if not n]
