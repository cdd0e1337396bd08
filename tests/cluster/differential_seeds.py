"""Generated scripts of test_differential.py that are not about what clients should send: objects of every kind with
something wrong in them, and requests whose parameters nobody would choose."""
import copy
import http.client
import random
import urllib.parse

from differential import APPLY, JSON, JSON_PATCH, MERGE, PARTIAL, PARTIAL_LIST, STRATEGIC, TABLE, YAML
from differential_kinds import minimal, resources


# Kinds that controllers change while a script looks, or whose objects the real server makes something of later. It compares the
# data of a ControllerRevision byte by byte, blanks too, and asks for a type of its own in the words of a policy.
APART = ("CustomResourceDefinition", "APIService", "ServiceCIDR", "ControllerRevision", "ValidatingAdmissionPolicy")
VALUES = (None, "", 0, -1, 1, True, 1.5, "x", "X y", [], {}, [None], [1], ["x"], {"x": 1}, {"x": {"y": "z"}}, "1", "1Gi", "-1", "a" * 64,
          9223372036854775808, 1e30, [{}], [{"name": "x"}, {"name": "x"}], {"": ""}, " ", "ü", "true", "2026-01-02T03:04:05Z", "10%")


def places(value, path=()):
    """Every place in an object, as steps from its root."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in items:
        yield path + (step,)
        yield from places(below, path + (step,))


def spoil(rng, body):
    """One thing is put in another's place, taken away, doubled, or added."""
    at = rng.choice([p for p in places(body) if p[:1] != ("metadata",) or rng.random() < 0.1] or [("extra",)])
    parent = body
    for step in at[:-1]:
        parent = parent[step]
    how = rng.choice(["set", "set", "set", "drop", "twice", "add", "rename"])
    if how == "set":
        parent[at[-1]] = copy.deepcopy(rng.choice(VALUES))
    elif how == "drop":
        parent.pop(at[-1], None) if isinstance(parent, dict) else parent.pop(at[-1])
    elif how == "twice" and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[at[-1]]))
    elif how == "rename" and isinstance(parent, dict) and at[-1] in parent:
        parent[str(at[-1]).upper()] = parent.pop(at[-1])
    elif isinstance(parent, dict):
        parent["extra"] = copy.deepcopy(rng.choice(VALUES))


def shape(s, method, path, body, **more):
    """Sends it, and records what kind of answer it is: what is said of a value is in the words of Go, with pointers and
    its own names of types. The real server ends the connection where it fails itself, as on merge keys that are lists."""
    try:
        answer = s.ask(method, path, body, **more)
    except (http.client.HTTPException, ConnectionError):
        s.record("closed", None)
        return
    status = answer.body if isinstance(answer.body, dict) and answer.body.get("kind") == "Status" else {}
    causes = (status.get("details") or {}).get("causes") or []
    s.record(f"{method} {path} {more.get('type', '')} {more.get('accept', '')} {body}"[:600], {
        "status": answer.status, "type": answer.type, "reason": status.get("reason"), "causes": sorted({c.get("field", "") for c in causes})})


def spoiled(seed):
    """Objects of one kind with one, two or three things wrong, sent in every way."""
    def play(s):
        rng = random.Random(seed)
        kinds = [o for o in minimal() if o["kind"] not in APART]
        made = copy.deepcopy(kinds[seed % len(kinds)])
        ns, r = s.namespace().removeprefix("/api/v1"), resources(s)[(made["apiVersion"], made["kind"])]
        path = r["path"] + (ns if r["namespaced"] else "") + "/" + r["name"]
        name = made["metadata"]["name"] = made["metadata"]["name"] if "." in made["metadata"]["name"] else f"spoiled-{seed}"
        s.post(path, made)
        one = f"{path}/{name}"
        for _ in range(25):
            body = copy.deepcopy(made)
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                spoil(rng, body)
            query = "?dryRun=All" + rng.choice(["", "", "&fieldValidation=Strict", "&fieldValidation=Ignore", "&fieldManager=m"])
            how = rng.choice(["post", "post", "put", "merge", "strategic", "apply"])
            if how == "post":
                if made["kind"] == "Event" and not isinstance(body.get("metadata"), dict):
                    body["metadata"] = {}  # the real server names a missing name only once the rest of an Event is right
                if isinstance(body.get("metadata"), dict):
                    body["metadata"]["name"] = "another"
                shape(s, "POST", path + query, body)
            elif how == "put":
                shape(s, "PUT", one + query, body)
            elif how == "apply":
                shape(s, "PATCH", one + query.replace("&fieldManager=m", "") + "&fieldManager=a&force=true", body, type=APPLY)
            else:
                shape(s, "PATCH", one + query, body, type=MERGE if how == "merge" else STRATEGIC)
        s.ask("DELETE", one)
    return play


# What stands in queries: good, bad and nonsense.
QUERIES = {
    "limit": ("1", "2", "0", "-1", "x", "", "1.5", "99999999999999999999"), "continue": ("x", "", "eyJ2IjoibWV0YSJ9", "e30"),
    "labelSelector": ("a=b", "a!=b", "a in (b,c)", "!a", "a", "a==b,c", "a=", "=", "a in", "a in (", "a=b=c", "-a=b", "a=b c", ",", "a,,b", "a>1", "a>x", "A/b/c=d"),
    "fieldSelector": ("metadata.name=a", "metadata.name!=a", "metadata.name=", "metadata.namespace=x", "spec.x=1", "x", "=", "metadata.name=a,metadata.name=b",
                      "metadata.name==b", "metadata.uid=1", "status.phase=x", "data.k=v"),
    "resourceVersion": ("0", "1", "x", "-1", "", "99999999999999999999"), "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "allowWatchBookmarks": ("true", "x"), "timeoutSeconds": ("1", "x", "-1"),
    "dryRun": ("All", "x", "", "All&dryRun=All", "All&dryRun=x"), "fieldManager": ("m", "x" * 129, "a%20b", "%0a", ""),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x", ""), "force": ("true", "false", "x"), "gracePeriodSeconds": ("0", "-1", "x", "5"),
    "propagationPolicy": ("Orphan", "Background", "Foreground", "x", ""), "orphanDependents": ("true", "false", "x"), "pretty": ("true", "x"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("true", "false", "x"), "nonsense": ("1", ""), "shardSelector": ("x", ""),
    "sendInitialEvents": ("true", "false", "x", ""), "includeObject": ("None", "Metadata", "Object", "x", ""), "watch": ("0", "false"),
}
ACCEPTS = (JSON, JSON, JSON, TABLE, PARTIAL, PARTIAL_LIST, YAML, "*/*", "application/*", "text/plain", "nonsense", "", TABLE.replace("v1", "v1beta1"),
           TABLE.replace("v1", "v9"), f"{TABLE}, {YAML}", f"{PARTIAL.replace('v1', 'v9')}, {JSON}", TABLE.replace("json", "yaml"), "application/json;q=0.1,application/yaml", "APPLICATION/JSON")
BODIES = ('{"metadata":{"labels":{"a":"c"}}}', '[{"op":"add","path":"/metadata/labels","value":{"a":"d"}}]', '[{"op":"test","path":"/metadata/name","value":"x"}]', "{}", "[]", "",
          "null", "{", '{"metadata":{"name":"other"}}', '{"metadata":{"uid":"x"}}', '{"metadata":{"resourceVersion":"1"}}', '{"data":{"k":1}}', '{"data":{"$patch":"replace","k":"v"}}',
          '[{"op":"remove","path":"/nothing"}]', '[{"op":"nonsense","path":"/metadata"}]', '[{"op":"add"}]', '{"preconditions":{"uid":"x"}}', '{"preconditions":{"resourceVersion":"1"}}',
          '{"gracePeriodSeconds":-1}', '{"propagationPolicy":"x"}', '{"orphanDependents":true,"propagationPolicy":"Orphan"}', '{"kind":"Scale"}', '{"apiVersion":"apps/v9","kind":"DeleteOptions"}',
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}', '{"spec":{"replicas":3}}', '{"status":{"replicas":1}}', '"x"', "1", '{"apiVersion":1}', '{"kind":[]}',
          '{"metadata":[]}', '{"metadata":"x"}', '{"metadata":{"labels":[]}}', '{"metadata":{"labels":{"a":1}}}', '{"metadata":{"name":1}}', '{"spec":[]}', '{"spec":"x"}', '{"status":[]}',
          '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}}', '{"target":{"name":"n"}}', '{"spec":{"expirationSeconds":1}}', '{"spec":{"audiences":[1]}}',
          '{"apiVersion":"asked.example.com/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"replicas":2}}', '{"apiVersion":"asked.example.com/v1","kind":"Thing","metadata":{"name":"b"},"spec":{"replicas":"x"}}',
          "k8s\x00", "k8s\x00\n\x0f", "k8s\x00\x12\x00", "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x05\n\x03\n\x01z", "a: b", "metadata: {name: a}")
BINARY = "application/vnd.kubernetes.protobuf"
TYPES = (MERGE, STRATEGIC, JSON_PATCH, APPLY, JSON, YAML, "text/plain", "", BINARY)
PARTS = ("/status", "/scale", "/nothing", "/eviction", "/binding", "/token", "/log", "/finalize", "/approval")


def define_things(s):
    s.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "things.asked.example.com"}, "spec": {
            "group": "asked.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}, "versions": [{
                "name": "v1", "served": True, "storage": True, "subresources": {
                    "status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "minimum": 0}}},
                    "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}}}]}})
    s.until(lambda: s.ask("GET", "/apis/asked.example.com/v1/things").status == 200, "things to be served")


def asked(seed):
    """Requests for a few objects with parameters, forms of answers and bodies that a seed chose."""
    def play(s):
        rng = random.Random(seed)
        ns = s.namespace()
        inside = ns.removeprefix("/api/v1")
        define_things(s)
        paths = [ns + "/configmaps", "/apis/apps/v1" + inside + "/deployments", ns + "/secrets", ns + "/pods", "/apis/asked.example.com/v1" + inside + "/things",
                 ns + "/serviceaccounts", "/apis/rbac.authorization.k8s.io/v1/clusterroles"]
        pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}}
        for name in ("a", "b"):
            meta = {"name": name, "labels": {"a": name}}
            s.ask("POST", paths[0], {"metadata": meta, "data": {"k": "v"}})
            s.ask("POST", paths[1], {"metadata": meta, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}})
            s.ask("POST", paths[3], {**pod, "metadata": meta})
            s.ask("POST", paths[4], {"apiVersion": "asked.example.com/v1", "kind": "Thing", "metadata": meta, "spec": {"replicas": 1}})
            s.ask("POST", paths[5], {"metadata": meta})
        for _ in range(40):
            method = rng.choice(["GET", "GET", "GET", "PATCH", "PATCH", "POST", "PUT", "DELETE"])
            path = rng.choice(paths)
            if path == paths[6]:  # everybody's
                path += rng.choice(["/missing", "/missing/status", "/view/nothing"])
            else:
                path += rng.choice(["", "", "/a", "/a", "/b", "/missing", "/a" + rng.choice(PARTS), "/missing" + rng.choice(PARTS)])
            query = "&".join(f"{key}={urllib.parse.quote(rng.choice(QUERIES[key]), safe='&=%')}" for key in rng.sample(sorted(QUERIES), rng.choice([0, 1, 1, 2, 3])))
            accept, body, type = rng.choice(ACCEPTS), rng.choice(BODIES), rng.choice(TYPES)
            if type == BINARY and "asked.example.com" in path:
                continue  # the real server ends the connection there
            shape(s, method, f"{path}?{query}", None if method == "GET" else body, accept=accept, type=type)
    return play


def scripts(first, last):
    for seed in range(first, last + 1):
        yield f"spoiled_{seed}", spoiled(seed)
        yield f"asked_{seed}", asked(seed)
