"""The built-in kinds of our API server beside those of a real one: the table of kinds, what becomes of objects that are
created, what is refused and in which words, how they are printed, and strategic merge patches."""
import copy
import glob
import json
import os
import subprocess

import yaml
from lab import ROOT, ApiError, Failure
from test_merge import differences

# Pods come without accounts and their volumes; nothing else differs from a server's own defaults.
LAB = {"controllers": None, "apiserver": ("--disable-admission-plugins=ServiceAccount",)}
NOW = "2026-01-01T00:00:00Z"
# Groups that we do not serve, and kinds of groups that we do.
NOT_SERVED = {"apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
              "resource.k8s.io", "flowcontrol.apiserver.k8s.io", "apiextensions.k8s.io", "Binding", "ComponentStatus",
              "IPAddress", "ServiceCIDR"}
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Tool:
    """build/*/builtin_tool: one JSON line in, one out."""

    def __init__(self):
        path = f"{os.environ.get('LEEBOARD_BUILD', ROOT + '/build/release')}/builtin_tool"
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, op, **request):
        line = json.dumps({"op": op, "now": NOW, **request})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"builtin_tool ended on {line}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Server:
    """The real one, with its kinds."""

    def __init__(self, lab):
        self.lab, self.resources = lab, {}
        for base in ("/api", "/apis"):
            document = json.loads(self.raw(base, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"))
            for group in document["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    for resource in version["resources"]:
                        key = f"{name}/{version['version']}" if name else version["version"], resource["responseKind"]["kind"]
                        self.resources[key] = {**resource, "group": name, "version": version["version"]}

    def raw(self, path, accept):
        import http.client
        connection = http.client.HTTPSConnection("127.0.0.1", self.lab.port, context=self.lab.tls, timeout=60)
        connection.request("GET", path, headers={"Authorization": "Bearer admin-token", "Accept": accept})
        text = connection.getresponse().read().decode()
        connection.close()
        return text

    def path(self, o, namespace="default"):
        resource = self.resources[o["apiVersion"], o["kind"]]
        base = "/api/v1" if o["apiVersion"] == "v1" else f"/apis/{o['apiVersion']}"
        where = f"/namespaces/{namespace}" if resource["scope"] == "Namespaced" else ""
        return f"{base}{where}/{resource['resource']}"

    def call(self, method, path, body, content_type="application/json"):
        """(code, answer)"""
        try:
            return 200, self.lab.api(method, path, body, content_type)
        except ApiError as error:
            return error.code, json.loads(error.body)


def corpus(pattern):
    for path in sorted(glob.glob(f"{ROOT}/tests/apiserver/objects/{pattern}.yaml")):
        with open(path) as f:
            for i, o in enumerate(yaml.safe_load_all(f)):
                yield f"{os.path.basename(path)}[{i}]", o


def bare(o):
    """Without what every create decides anew."""
    o = copy.deepcopy(o)
    for field in ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "namespace"):
        o.get("metadata", {}).pop(field, None)
    return o


def settle(o, real):
    """Values that are chosen at random are taken over from the other side."""
    if o.get("kind") == "Service" and o["spec"].get("clusterIP") and "clusterIP" in real.get("spec", {}):
        for field in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            if field in real["spec"] and field in o["spec"]:
                o["spec"][field] = real["spec"][field]
        for mine, other in zip(o["spec"].get("ports", []), real["spec"].get("ports", [])):
            if mine.get("nodePort") and other.get("nodePort"):
                mine["nodePort"] = other["nodePort"]
    if (o.get("status") or {}).get("lastPhaseTransitionTime") == NOW:
        o["status"]["lastPhaseTransitionTime"] = real["status"].get("lastPhaseTransitionTime")
    if o.get("kind") == "Job":
        uid = real["metadata"].get("uid")
        text = json.dumps(o).replace(o["metadata"].get("uid") or "no uid", uid or "")
        o = json.loads(text)
    return o


def refusal(answer):
    """What is wrong, as (field, message) pairs, or the message."""
    causes = (answer.get("details") or {}).get("causes")
    if answer.get("reason") == "Invalid" and causes:
        return sorted({(c.get("field", ""), c["message"]) for c in causes})
    return answer["message"].split("cannot be handled as a ", 1)[-1].split(": ", 1)[-1]


def our_refusal(answer):
    if "invalid" in answer:
        return sorted({(e["field"], e["message"]) for e in answer["invalid"]})
    return answer.get("unreadable") or answer["error"].split(": ", 1)[-1]


def create_difference(server, tool, o, name):
    """What differs between the two when an object is created, as lines; none if nothing does."""
    code, real = server.call("POST", server.path(o) + "?dryRun=All&fieldManager=t", o)
    o = copy.deepcopy(o)
    if server.resources[o["apiVersion"], o["kind"]]["scope"] == "Namespaced":
        o["metadata"].setdefault("namespace", "default")
    o["metadata"]["uid"] = "the-uid"
    ours = tool.ask("create", object=o)
    if code == 200 and "object" in ours:
        mine = settle(ours["object"], real)
        return [f"{name}: {path}: {json.dumps(x)[:300]} / {json.dumps(y)[:300]}"
                for path, x, y in differences(bare(real), bare(mine))]
    theirs = refusal(real) if code != 200 else "accepted"
    mine = our_refusal(ours) if "object" not in ours else "accepted"
    if theirs == mine:
        return []
    if isinstance(theirs, list) and isinstance(mine, list):
        theirs, mine = [t for t in theirs if t not in mine], [m for m in mine if tuple(m) not in map(tuple, theirs)]
    return [f"{name}: {o['kind']} {o['metadata'].get('name')}:\n  real {theirs}\n  ours {mine}"]


def compare_creates(lab, pattern):
    server, tool = Server(lab), Tool()
    found, count = [], 0
    for name, o in corpus(pattern):
        if (o["apiVersion"].split("/")[0] if "/" in o["apiVersion"] else "") in NOT_SERVED:
            continue
        count += 1
        found += create_difference(server, tool, o, name)
    tool.close()
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} objects (real / ours):\n" + "\n".join(found))


def test_the_table_of_kinds_is_the_servers(lab):
    server, tool = Server(lab), Tool()
    ours = {(k["group"], k["version"], k["kind"]): k for k in tool.ask("kinds")["kinds"]}
    for resource in server.resources.values():
        kind = resource["responseKind"]["kind"]
        if resource["group"] in NOT_SERVED or kind in NOT_SERVED:
            continue
        k = ours.pop((resource["group"], resource["version"], kind), None)
        if not k:
            raise Failure(f"no {kind}")
        subresources = {s["subresource"] for s in resource.get("subresources", [])}
        base = f"/apis/{resource['group']}" if resource["group"] else "/api"
        table = json.loads(server.raw(f"{base}/{resource['version']}/{resource['resource']}?limit=1", TABLE))
        real = {"resource": resource["resource"], "singular": resource["singularResource"],
                "namespaced": resource["scope"] == "Namespaced", "shortNames": resource.get("shortNames", []),
                "categories": resource.get("categories", []),
                "verbs": sum(1 << VERBS.index(v) for v in resource["verbs"]), "status": "status" in subresources,
                "scale": "scale" in subresources,
                "columns": [[c["name"], c["type"], c["format"], c["priority"]] for c in table["columnDefinitions"]]}
        if found := differences(real, {name: k[name] for name in real}):
            raise Failure(f"{kind}: {found}")
    if ours:
        raise Failure(f"the server does not have {list(ours)}")
    tool.close()


def test_minimal_objects_are_filled_in_as_by_the_server(lab):
    compare_creates(lab, "minimal")


def test_objects_with_much_in_them_are_filled_in_as_by_the_server(lab):
    compare_creates(lab, "full-*")


def test_invalid_objects_are_refused_in_the_servers_words(lab):
    compare_creates(lab, "invalid-*")


def with_path(o, path, value):
    """Sets (None: removes) what stands at a path with dots."""
    steps = [int(s) if s.isdigit() else s for s in path.split(".")]
    at = o
    for step in steps[:-1]:
        if isinstance(at, dict):
            at = at.setdefault(step, {})
        else:
            at = at[step]
    if value is None:
        at.pop(steps[-1], None)
    else:
        at[steps[-1]] = value


def changed(pattern=""):
    """(name, minimal object, changed object) of every line of changes.yaml."""
    minimal = {}
    for _, o in corpus("minimal"):
        minimal.setdefault(o["kind"], o)
    with open(f"{ROOT}/tests/apiserver/objects/changes.yaml") as f:
        changes = yaml.safe_load(f)
    for kind, lines in changes.items():
        for line in lines:
            name = f"{kind} {json.dumps(line)}"
            if pattern in name:
                o = copy.deepcopy(minimal[kind])
                for path, value in line.items():
                    with_path(o, path, copy.deepcopy(value))
                yield name, minimal[kind], o


def compare_changes(lab, pattern=""):
    server, tool = Server(lab), Tool()
    found, count = [], 0
    for name, _, o in changed(pattern):
        count += 1
        found += create_difference(server, tool, o, name)
    tool.close()
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} objects (real / ours):\n" + "\n".join(found))


def test_changed_objects_are_created_or_refused_as_by_the_server(lab):
    compare_changes(lab)


def update_difference(server, tool, live, o, name):
    """What differs between the two when a stored object is replaced."""
    o, path = copy.deepcopy(o), f"{server.path(live)}/{live['metadata']['name']}"
    o["metadata"] = {**o["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
    code, real = server.call("PUT", path + "?dryRun=All&fieldManager=t", o)
    mine = copy.deepcopy(o)
    mine["metadata"] = {**copy.deepcopy(live["metadata"]), **o["metadata"]}
    ours = tool.ask("update", old=live, object=mine)
    if code == 200 and "object" in ours:
        real, mine = bare(real), bare(settle(ours["object"], real))
        for side in (real, mine):
            side["metadata"] = {}
        return [f"{name}: {path}: {json.dumps(x)[:300]} / {json.dumps(y)[:300]}" for path, x, y in differences(real, mine)]
    theirs = refusal(real) if code != 200 else "accepted"
    mine = our_refusal(ours) if "object" not in ours else "accepted"
    return [] if theirs == mine else [f"{name}:\n  real {theirs}\n  ours {mine}"]


def compare_updates(lab, pattern=""):
    server, tool, live = Server(lab), Tool(), {}
    found, count = [], 0
    for name, minimal, o in changed(pattern):
        key = minimal["kind"]
        if key not in live:
            code, live[key] = server.call("POST", server.path(minimal), minimal)
            if code == 409:
                live[key] = server.call("GET", f"{server.path(minimal)}/{minimal['metadata']['name']}", None)[1]
        if o["metadata"].get("name") != minimal["metadata"]["name"]:
            continue
        count += 1
        found += update_difference(server, tool, live[key], o, name)
    tool.close()
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} changes (real / ours):\n" + "\n".join(found))


def test_updates_are_accepted_or_refused_as_by_the_server(lab):
    compare_updates(lab)
