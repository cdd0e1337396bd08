"""The built-in kinds of our API server beside those of a real one: the table of kinds, what becomes of objects that are
created, what is refused and for which fields, how they are printed, and strategic merge patches."""
import copy
import glob
import http.client
import json
import os
import random
import re
import subprocess
import time

import differential
import yaml
from lab import ROOT, ApiError, Failure
from test_merge import differences

# Pods come without accounts and their volumes; nothing else differs from a server's own defaults.
LAB = {"controllers": None, "apiserver": ("--disable-admission-plugins=ServiceAccount",)}
NOW = "2026-01-01T00:00:00Z"
# Groups that we do not serve, and kinds of groups that we do.
NOT_SERVED = {"authentication.k8s.io", "authorization.k8s.io", "apiextensions.k8s.io", "Binding", "ComponentStatus"}
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
                        if "." not in name or name.endswith(".k8s.io"):  # no custom kinds
                            self.resources[key] = {**resource, "group": name, "version": version["version"]}

    def raw(self, path, accept):
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
                if o and differential.stored_only(o):
                    continue
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
    if (o.get("status") or {}).get("lastPhaseTransitionTime") and real["status"].get("lastPhaseTransitionTime"):
        o["status"]["lastPhaseTransitionTime"] = real["status"]["lastPhaseTransitionTime"]
    if o.get("kind") == "Job":
        uid = real["metadata"].get("uid")
        text = json.dumps(o).replace(o["metadata"].get("uid") or "no uid", uid or "")
        o = json.loads(text)
    return o


def refusal(answer):
    """What is wrong, as field paths."""
    causes = (answer.get("details") or {}).get("causes")
    return sorted({c.get("field", "") for c in causes}) if answer.get("reason") == "Invalid" and causes else []


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
        if differential.stored_only({"apiVersion": resource["group"] + "/", "kind": kind}):
            del real["columns"]  # name and age
        if found := differences(real, {name: k[name] for name in real}):
            raise Failure(f"{kind}: {found}")
    ours.pop(("", "v1", "Binding"))  # which is created and has no table
    if ours:
        raise Failure(f"the server does not have {list(ours)}")
    tool.close()


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


def compare_cells(lab):
    """Every object that is there, as a row: its own and those that the tests before left."""
    server, tool = Server(lab), Tool()
    found, count, now = [], 0, time.time()
    for (version, kind), resource in server.resources.items():
        if resource["group"] in NOT_SERVED or kind in NOT_SERVED or version == "autoscaling/v1" or differential.stored_only({"apiVersion": version, "kind": kind}):
            continue  # metrics of the newer version are no fields of the older one
        base = "/api/v1" if version == "v1" else f"/apis/{version}"
        table = json.loads(server.raw(f"{base}/{resource['resource']}?includeObject=Object", TABLE))
        now = time.time()
        for row in table.get("rows") or []:
            count += 1
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
            ours = tool.ask("cells", object={**row["object"], "apiVersion": version, "kind": kind}, now=stamp)["cells"]
            ages = re.compile(r"^(\d+[smhdy])+$")
            pairs = [(x, y) for x, y in zip(row["cells"], ours)
                     if x != y and not (ages.match(str(x)) and ages.match(str(y)))]
            if pairs or len(row["cells"]) != len(ours):
                found.append(f"{kind} {row['object']['metadata']['name']}: {pairs} {len(row['cells'])} {len(ours)}")
    tool.close()
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} rows (real / ours):\n" + "\n".join(found))


def compare_conversions(lab):
    server, tool, found, count = Server(lab), Tool(), [], 0
    forms = (("/api/v1/events", "v1", "/apis/events.k8s.io/v1/events", "events.k8s.io/v1", "Event"),
             ("/apis/autoscaling/v2/horizontalpodautoscalers", "autoscaling/v2",
              "/apis/autoscaling/v1/horizontalpodautoscalers", "autoscaling/v1", "HorizontalPodAutoscaler"))
    for one_path, one_version, other_path, other_version, kind in forms:
        one = {o["metadata"]["uid"]: o for o in lab.api("GET", one_path)["items"]}
        other = {o["metadata"]["uid"]: o for o in lab.api("GET", other_path)["items"]}
        for uid in one:
            x = {**one[uid], "apiVersion": one_version, "kind": kind}
            y = {**other[uid], "apiVersion": other_version, "kind": kind}
            if "alpha.kubernetes.io" in json.dumps(y["metadata"].get("annotations")):
                continue  # what v1 has no field for is in annotations, and ours has another
            for left, right in ((x, y), (y, x)):
                count += 1
                made = tool.ask("convert", object=left, version=right["apiVersion"])["object"]
                found += [f"{kind} {right['metadata']['name']} to {right['apiVersion']}: {d}" for d in differences(right, made)]
    tool.close()
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} conversions (real / ours):\n" + "\n".join(found))


class Patches:
    """Random strategic merge patches of one object."""

    LISTS = {"containers": "name", "initContainers": "name", "env": "name", "ports": "containerPort", "volumes": "name",
             "volumeMounts": "mountPath", "tolerations": None, "imagePullSecrets": "name", "args": None,
             "finalizers": "", "hostAliases": "ip", "topologySpreadConstraints": "topologyKey"}

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def item(self, name):
        n = self.rng.choice("abcd")
        return {"containers": lambda: {"name": n, **self.some({"image": self.rng.choice(("x", "y")), "env": self.list("env"),
                                                              "ports": self.list("ports"), "args": self.list("args"),
                                                              "volumeMounts": self.list("volumeMounts"),
                                                              "resources": {"limits": {"cpu": self.rng.choice("123")}}})},
                "initContainers": lambda: {"name": "i" + n, "image": "x"},
                "env": lambda: {"name": n.upper(), "value": self.rng.choice("xyz")},
                "ports": lambda: {"containerPort": 80 + ord(n), **self.some({"protocol": "UDP", "name": "p" + n})},
                "volumes": lambda: {"name": "v" + n, **self.rng.choice(({"emptyDir": {}}, {"configMap": {"name": n}}))},
                "volumeMounts": lambda: {"mountPath": "/" + n, "name": "va"},
                "tolerations": lambda: {"key": n, "operator": "Exists"},
                "imagePullSecrets": lambda: {"name": n}, "args": lambda: n, "finalizers": lambda: f"x.y/{n}",
                "hostAliases": lambda: {"ip": f"1.1.1.{ord(n)}", "hostnames": [n]},
                "topologySpreadConstraints": lambda: {"topologyKey": n, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
                }[name]()

    def some(self, fields):
        return {k: v for k, v in fields.items() if v is not None and self.rng.random() < 0.5}

    def list(self, name, patch=False):
        items = [self.item(name) for _ in range(self.rng.randrange(4))]
        key, kept = self.LISTS[name], []
        for item in items:  # no key twice
            if all((k[key] != item[key]) if key else k != item for k in kept):
                kept.append(item)
        return kept

    def directives(self, holder, name, live):
        """Into the patch of a map, beside the list."""
        key, chance = self.LISTS[name], self.rng.random()
        if key is None or name not in holder or holder[name] is None:
            return
        if key == "":
            if chance < 0.4 and live:
                gone = self.rng.sample(live, 1)  # and not in the list too: Go's maps decide what comes first
                holder["$deleteFromPrimitiveList/" + name] = gone
                holder[name] = [i for i in holder[name] if i not in gone]
            return
        if chance < 0.2 and live:
            gone = self.rng.choice(live)
            holder[name] = [i for i in holder[name] if i[key] != gone[key]] + [{key: gone[key], "$patch": "delete"}]
        elif chance < 0.3:
            holder[name].append({"$patch": "replace"})
        elif chance < 0.5:
            order = [i[key] for i in holder[name]] + [i[key] for i in live or [] if i[key] not in
                                                      [j[key] for j in holder[name]] and self.rng.random() < 0.7]
            holder["$setElementOrder/" + name] = [{key: k} for k in order]

    def pod(self, live, first):
        spec = {}
        for name in ("volumes", "tolerations", "imagePullSecrets", "hostAliases", "topologySpreadConstraints", "initContainers"):
            if self.rng.random() < 0.4:
                spec[name] = self.list(name)
                if not first:
                    self.directives(spec, name, (live or {}).get(name))
        spec["containers"] = self.list("containers")
        if not first:
            self.directives(spec, "containers", (live or {}).get("containers"))
            for name in ("nodeSelector", "affinity", "priorityClassName", "volumes"):
                if self.rng.random() < 0.1 and "$setElementOrder/" + name not in spec:
                    spec[name] = None
        if self.rng.random() < 0.4:
            spec["nodeSelector"] = self.some({"a": "b", "c": self.rng.choice((None, "d")), "$patch": None})
            if not first and self.rng.random() < 0.2:
                spec["nodeSelector"]["$patch"] = "replace"
        return spec

    def template(self, live, first):
        patch = {"template": {"spec": self.pod(((live or {}).get("template") or {}).get("spec"), first)}}
        if self.rng.random() < 0.4:
            patch["template"]["metadata"] = {"labels": self.some({"a": "b", "c": "d"}), "finalizers": self.list("finalizers")}
            if not first:
                self.directives(patch["template"]["metadata"], "finalizers",
                                ((live or {}).get("template") or {}).get("metadata", {}).get("finalizers"))
        return patch


def compare_patches(lab, sequences, steps):
    """On PodTemplates, whose validation is kept quiet by a server that is only asked to merge: what it refuses as invalid
    does not count."""
    server, tool, done, found = Server(lab), Tool(), 0, []
    base = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": ""},
            "template": {"spec": {"containers": [{"name": "a", "image": "x"}]}}}
    for seed in range(sequences):
        patches, name = Patches(seed), f"patch-{seed}"
        o = copy.deepcopy(base)
        o["metadata"]["name"] = name
        live = server.call("POST", server.path(o), o)[1]
        for _ in range(steps):
            patch = patches.template(live, False)
            code, real = server.call("PATCH", f"{server.path(o)}/{name}", patch, "application/strategic-merge-patch+json")
            if code in (422, 409):
                continue
            ours = tool.ask("patch", live=live, patch=patch)
            done += 1
            if code != 200:
                if "error" not in ours and "unreadable" not in ours:
                    found.append(f"{name}: {real['message']} / accepted\n  {json.dumps(patch)}")
                continue
            filled = tool.ask("update", old=live, object=ours["object"]) if "object" in ours else ours
            if "object" not in filled:
                found.append(f"{name}: accepted / {filled}\n  {json.dumps(patch)}")
                live = real
                continue
            difference = differences(bare(real), bare(filled["object"]))
            if difference:
                found.append(f"{name}: {difference[:3]}\n  {json.dumps(patch)}\n  {json.dumps(live['template'])}")
            live = real
    tool.close()
    if found or done < sequences:
        raise Failure(f"{len(found)} differences in {done} patches (real / ours):\n" + "\n".join(found))
    return done


def test_strategic_merge_patches_are_merged_as_by_the_server(lab):
    compare_patches(lab, 40, 12)


def whole_difference(real, ours, name, method, path, body, our_body=None):
    """The same request to both servers, over the network: codes, fields and bodies."""
    theirs, mine = real.ask(method, path, body), ours.ask(method, path, our_body or body)
    x, y = json.loads(theirs.text), json.loads(mine.text)
    if theirs.status != mine.status:
        return [f"{name}: {theirs.status} {x.get('message')}\n  {mine.status} {y.get('message')}"]
    if theirs.status >= 300:
        if refusal(x) != refusal(y) or x.get("reason") != y.get("reason"):
            return [f"{name}: {x['message']}\n  {y['message']}"]
        return []
    return [f"{name}: {p}: {json.dumps(a)[:300]} / {json.dumps(b)[:300]}"
            for p, a, b in differences(bare(x), bare(settle(y, x)))]


def whole_change(server, real, ours, name, minimal, o):
    """The minimal object, which both servers have, is replaced; nothing is stored."""
    path, bodies = f"{server.path(minimal)}/whole", []
    if o["metadata"].get("name") != minimal["metadata"]["name"]:
        return []
    for session in (real, ours):
        live = session.ask("GET", path)
        if live.status == 404:
            made = {**copy.deepcopy(minimal), "metadata": {"name": "whole"}}
            live = session.ask("POST", server.path(minimal), made)
        body = copy.deepcopy(o)
        version = json.loads(live.text)["metadata"].get("resourceVersion")
        body["metadata"] = {**body["metadata"], "name": "whole", "resourceVersion": version}
        bodies.append(body)
    return whole_difference(real, ours, name, "PUT", path + "?dryRun=All", *bodies)


def with_account(o):
    """A Pod that says what admission would add: it is off on the real server, whose accounts nobody makes here."""
    spec = o.get("spec")
    if o.get("kind") != "Pod" or not isinstance(spec, dict):
        return o
    return {**o, "spec": {"serviceAccountName": "default", "automountServiceAccountToken": False, **spec}}


def compare_whole(lab, pattern=""):
    server, found, count = Server(lab), [], 0
    with differential.Ours("--no-fsync") as process:
        real = differential.Session(differential.Server("real", lab.kubeconfig), "builtin")
        ours = differential.Session(differential.Server("ours", process.kubeconfig), "builtin")
        for account in ("s", "x"):
            ours.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": account}})
        for name, minimal, o in changed(pattern):
            if "A_B" in str(o["spec"].get("serviceAccountName") if isinstance(o.get("spec"), dict) else ""):
                continue  # nobody can have such an account, which is seen before it is seen that the name is none
            count, minimal, o = count + 2, with_account(minimal), with_account(o)
            found += whole_difference(real, ours, name, "POST", server.path(o) + "?dryRun=All", o)
            found += whole_change(server, real, ours, f"changed: {name}", minimal, o)
        if not pattern:
            for name, o in corpus("minimal"):
                count += 1
                found += whole_difference(real, ours, name, "POST", server.path(o) + "?dryRun=All", with_account(o))
    if found or not count:
        raise Failure(f"{len(found)} differences in {count} requests (real / ours):\n" + "\n".join(found))


def test_objects_are_created_changed_and_refused_as_by_the_server(lab):
    compare_whole(lab)


def test_rows_of_tables_are_the_servers(lab):
    server = Server(lab)
    for _, _, o in changed():  # what is valid is stored, under a name of its own, without further ado
        if o["kind"].endswith(("Configuration", "Class", "Quota", "Range")):  # would take part in what follows
            continue
        o["metadata"]["name"] = None
        o["metadata"]["generateName"] = "row-"
        server.call("POST", server.path(o), o)
    compare_cells(lab)


def test_two_forms_of_one_object_are_the_servers(lab):
    compare_conversions(lab)
