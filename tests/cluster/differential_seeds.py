"""Generated scripts of test_differential.py that are not about what clients should send: objects of every kind with
something wrong in them, and requests whose parameters nobody would choose."""
import copy
import http.client
import os
import random
import re
import urllib.parse

from differential import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, TABLE, YAML
from differential_kinds import minimal, resources

WORDS = os.environ.get("DIFFERENTIAL_WORDS") == "1"

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


def said(cause):
    """Of one thing that is wrong. With DIFFERENTIAL_WORDS=1 also in which words, but for values that Go prints."""
    message = cause.get("message", "").split("\n")[0] if WORDS and cause.get("field") != "patch" else ""
    message = re.sub(r"value: ([{\[].*[}\]]|null): ", "value: …: ", message)
    return f"{cause.get('reason')} {cause.get('field')} {message}".rstrip()


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
        "status": answer.status, "type": answer.type, "reason": status.get("reason"), "causes": sorted({said(c) for c in causes})})


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
}
ACCEPTS = (JSON, JSON, JSON, TABLE, YAML, "*/*", "application/json;as=Table;v=v1beta1;g=meta.k8s.io", "")
BODIES = ('{"metadata":{"labels":{"a":"c"}}}', '[{"op":"add","path":"/metadata/labels","value":{"a":"d"}}]', '[{"op":"test","path":"/metadata/name","value":"x"}]', "{}", "[]", "",
          "null", "{", '{"metadata":{"name":"other"}}', '{"metadata":{"uid":"x"}}', '{"metadata":{"resourceVersion":"1"}}', '{"data":{"k":1}}', '{"data":{"$patch":"replace","k":"v"}}',
          '[{"op":"remove","path":"/nothing"}]', '[{"op":"nonsense","path":"/metadata"}]', '[{"op":"add"}]', '{"preconditions":{"uid":"x"}}', '{"preconditions":{"resourceVersion":"1"}}',
          '{"gracePeriodSeconds":-1}', '{"propagationPolicy":"x"}', '{"orphanDependents":true,"propagationPolicy":"Orphan"}', '{"kind":"Scale"}',
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"w"}}', '{"spec":{"replicas":3}}', '{"status":{"replicas":1}}', '"x"', "1")
TYPES = (MERGE, STRATEGIC, JSON_PATCH, APPLY, JSON, YAML, "text/plain", "")


def asked(seed):
    """Requests for a few objects with parameters, forms of answers and bodies that a seed chose."""
    def play(s):
        rng = random.Random(seed)
        ns = s.namespace()
        paths = [ns + "/configmaps", "/apis/apps/v1" + ns.removeprefix("/api/v1") + "/deployments", ns + "/secrets"]
        pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        for name in ("a", "b"):
            s.ask("POST", paths[0], {"metadata": {"name": name, "labels": {"a": name}}, "data": {"k": "v"}})
            s.ask("POST", paths[1], {"metadata": {"name": name, "labels": {"a": name}}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod}})
        for _ in range(40):
            method = rng.choice(["GET", "GET", "GET", "PATCH", "PATCH", "POST", "PUT", "DELETE"])
            path = rng.choice(paths) + rng.choice(["", "/a", "/b", "/missing", "/a/status", "/a/scale", "/a/nothing"] if method != "GET" else ["", "", "", "/a", "/a/scale", "/missing"])
            query = "&".join(f"{key}={urllib.parse.quote(rng.choice(QUERIES[key]), safe='&=%')}" for key in rng.sample(sorted(QUERIES), rng.choice([0, 1, 1, 2, 3])))
            many = method == "DELETE" and path in paths
            accept = JSON if many else rng.choice(ACCEPTS)
            if method == "GET":
                shape(s, method, f"{path}?{query}", None, accept=accept)
            else:
                shape(s, method, f"{path}?{query}", rng.choice(BODIES), accept=accept,
                      type=JSON if many else rng.choice(TYPES))
    return play


def scripts(first, last):
    for seed in range(first, last + 1):
        yield f"spoiled_{seed}", spoiled(seed)
        yield f"asked_{seed}", asked(seed)
