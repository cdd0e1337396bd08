"""Scripts of test_differential.py about requests: forms of answers, options of deletes, beginnings of watches."""
import base64
import json

import yaml

from differential import APPLY, JSON, JSON_PATCH, MERGE, PARTIAL, PARTIAL_LIST, STRATEGIC, TABLE, YAML

SCRIPTS = []
BINARY = "application/vnd.kubernetes.protobuf"


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def config_map(name, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": {"k": "v"}}


def pod(name, **meta):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **meta}, "spec": {
        "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "i"}]}}


def thing(name, **meta):
    return {"apiVersion": "requests.example.com/v1", "kind": "Thing", "metadata": {"name": name, **meta}}


def define_things(s):
    s.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "metadata": {"name": "things.requests.example.com"}, "spec": {
            "group": "requests.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    s.until(lambda: s.ask("GET", "/apis/requests.example.com/v1/things").status == 200, "things to be served")


def show(s, method, path, body=None, **more):
    """Sends and records; YAML is read, and what a table says of ages and in words of its own is left out."""
    answer = s.ask(method, path, body, **more)
    if answer.body is None and YAML in answer.type:
        answer.body = yaml.safe_load(answer.text)
    table = answer.body if isinstance(answer.body, dict) and answer.body.get("kind") == "Table" else {}
    for row in table.get("rows") or []:
        row["cells"] = ["AGE" if isinstance(c, str) and c[:-1].isdigit() else c for c in row["cells"]]
    for column in table.get("columnDefinitions") or []:
        column["description"] = ""
    s.record(f"{method} {path} {body} {more}"[:300], answer.shown())
    return answer


# ---- forms of answers ----

ACCEPTS = (JSON, YAML, TABLE, PARTIAL, PARTIAL_LIST, "text/plain", "*/*", "application/*", "", "nonsense", "*", ";", "application/json,",
           TABLE.replace("v1", "v1beta1"), TABLE.replace("v1", "v9"), PARTIAL.replace("v1", "v1beta1"), PARTIAL_LIST.replace("v1", "v1beta1"),
           PARTIAL.replace("meta.k8s.io", "x"), TABLE.replace("Table", "Nonsense"), TABLE.replace("json", "yaml"), PARTIAL.replace("json", "yaml"),
           "application/json;as=Table", "application/json;v=v1", PARTIAL.replace("v1", "v9") + ", application/json", f"{PARTIAL},{TABLE}",
           "text/plain, application/yaml", "application/json;stream=watch", "application/yaml;stream=watch", "APPLICATION/JSON",
           "application/json ; as=Table;v=v1;g=meta.k8s.io", "application/json;q=0", "application/json;q=x,application/yaml;q=0.9")


def ask_in_every_form(s, path, make):
    s.ask("POST", path, make("a"))
    for accept in ACCEPTS:
        show(s, "GET", path + "/a", accept=accept)
        show(s, "GET", path + "/missing", accept=accept)
        show(s, "GET", path, accept=accept)
        show(s, "GET", path + "?limit=x", accept=accept)
        show(s, "GET", path + "?watch=1&timeoutSeconds=x", accept=accept)
        show(s, "GET", path + "?includeObject=x", accept=accept)
        show(s, "POST", path, make("a"), accept=accept)
        show(s, "POST", path, make("n"), accept=accept)
        show(s, "PATCH", path + "/n?includeObject=x", {"metadata": {"labels": {"x": "y"}}}, type=MERGE, accept=accept)
        s.record("written", s.ask("GET", path + "/n")["metadata.labels"])
        show(s, "PATCH", path + "/missing", {}, type=MERGE, accept=accept)
        show(s, "PATCH", path + "/a", {}, type="text/plain", accept=accept)
        show(s, "POST", path, "{", accept=accept)
        show(s, "POST", path, "{", type="text/plain", accept=accept)
        show(s, "POST", path + "?dryRun=x", make("a"), accept=accept)
        show(s, "DELETE", path + "/missing", accept=accept)
        show(s, "DELETE", path + "/n", accept=accept)
        s.ask("POST", path, make("n", labels={"d": "d"}))
        show(s, "DELETE", path + "?labelSelector=d", accept=accept)
        s.ask("DELETE", path + "/n")
        show(s, "GET", path + "/a/nothing", accept=accept)
        show(s, "PUT", path, "{}", accept=accept)
        show(s, "POST", path + "/a", "{}", accept=accept)


@script
def forms(s):
    ask_in_every_form(s, s.namespace() + "/configmaps", config_map)


@script
def forms_of_things(s):
    define_things(s)
    ask_in_every_form(s, "/apis/requests.example.com/v1" + s.namespace().removeprefix("/api/v1") + "/things", thing)


@script
def forms_of_parts(s):
    """What is no object of the path's kind: scales, tokens, evictions, reviews, logs."""
    ns = s.namespace()
    apps = "/apis/apps/v1" + ns.removeprefix("/api/v1") + "/deployments"
    s.ask("POST", apps, {"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    for accept in ACCEPTS:
        show(s, "GET", apps + "/a/scale", accept=accept)
        show(s, "PUT", apps + "/a/scale", {"metadata": {"name": "a"}, "spec": {"replicas": 2}}, accept=accept)
        show(s, "PATCH", apps + "/a/scale", {"spec": {"replicas": 3}}, accept=accept, type=MERGE)
        show(s, "POST", ns + "/serviceaccounts/default/token?dryRun=x", {}, accept=accept)
        show(s, "POST", ns + "/pods/x/eviction", {}, accept=accept)
        show(s, "POST", ns + "/pods/x/binding", {"target": {"name": "x"}}, accept=accept)
        show(s, "POST", ns + "/bindings", {"target": {"name": "x"}}, accept=accept)
        show(s, "GET", ns + "/pods/x/log", accept=accept)
        show(s, "GET", ns + "/pods/x/exec", accept=accept)
        show(s, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
             {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}, accept=accept)


# ---- options of deletes ----

VERSIONS = ("v1", "apps/v1", "apps/v9", "v9", "", "meta.k8s.io/v1", "policy/v1beta1", "nonsense/v1", "a/b/c", "__internal", "apps/__internal")
KINDS = ("", "ConfigMap", "DeletOptions", "Status", "CreateOptions", "ListOptions", "Eviction", "Table", "WatchEvent", "deleteoptions")
OPTIONS = [*({"apiVersion": v, "kind": "DeleteOptions"} for v in VERSIONS), *({"apiVersion": v, "kind": k} for v in ("v1", "apps/v1", "") for k in KINDS),
           {"apiVersion": 1}, {"kind": []}, {"APIVERSION": "v9"}, {"kind": "DeleteOptions", "nonsense": 1}, {"gracePeriodSeconds": "x"},
           {"gracePeriodSeconds": 1.5}, {"dryRun": "All"}, {"dryRun": [1]}, {"dryRun": []}, {"preconditions": []}, {"preconditions": {"uid": 1}},
           {"preconditions": {"nope": 1}}, {"orphanDependents": "true"}, {"propagationPolicy": 1}, {"GRACEPERIODSECONDS": 1},
           {"ignoreStoreReadErrorWithClusterBreakingPotential": "x"}, "null", "[]", "1", '"x"', "{", "", "  ", "true", "a"]


def delete_with_all(s, path):
    for options in OPTIONS:
        s.delete(path + "/missing", options)
        s.delete(path + "?labelSelector=x", options)
    for type in (YAML, "text/plain", "", "application/json;charset=utf-8", MERGE):
        for body in ('{"propagationPolicy":"x"}', "", "propagationPolicy: x", "apiVersion: v1\nkind: DeleteOptions", "a", "null"):
            show(s, "DELETE", path + "/missing", body, type=type)
            show(s, "DELETE", path + "?labelSelector=x", body, type=type)


@script
def options_of_deletes(s):
    delete_with_all(s, s.namespace() + "/configmaps")


@script
def options_of_deletes_of_things(s):
    define_things(s)
    path = "/apis/requests.example.com/v1" + s.namespace().removeprefix("/api/v1") + "/things"
    delete_with_all(s, path)
    # Their router has no routes: a name that is too much or missing is nobody's or the handler's business.
    for body in ("{}", '{"kind":"Thing"}', thing("posted")):
        s.post(path + "/a", body)
        s.put(path, body)
        s.patch(path, body)
        s.patch(path, body, type=STRATEGIC)
        s.post(path + "/a/status", body)
        s.delete(path + "/a/status", body)
    s.get(path + "/posted")


# ---- bodies in protobuf ----

TYPE = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"
BINARIES = (b"", b"k8s", b"k8s\x00", b"k8s\x00\x0a", b"k8s\x00\x0a\x0a", b"k8s\x00\x0a\x00", b"k8s\x00\xff\xff\xff", b"k8s\x00\x12\x00",
            TYPE + b"\x12\x00", TYPE + b"\x12\x05\x0a\x03\x0a\x01z", TYPE + b"\x12\x05\x0a\x03", TYPE + b"\x12\x05\x0a\x05\x0a\x01z", TYPE + b"\x12\x02\x0a\xff",
            TYPE.replace(b"v1", b"v9") + b"\x12\x00", b"k8s\x00\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\x00", b"k8s\x00\x0a\x0e\x0a\x02v1\x12\x08Nonsense\x12\x00",
            b"k8s\x00\x0a\x04\x0a\x02v1\x12\x00", b"k8s\x00\x12\x05\x0a\x03\x0a\x01z", b"{}", b"\x00\x00", TYPE + b"\x12\x05\x0a\x03\x0a\x01z\x1a\x04gzip",
            TYPE + b"\x12\x03\x08\x01\x08", TYPE + b"\x12\x02\x08\x01")


@script
def binaries(s):
    ns = s.namespace()
    path = ns + "/configmaps"
    s.post(path, config_map("z"))
    for body in BINARIES:
        show(s, "POST", path, body, type=BINARY)
        show(s, "PUT", path + "/z", body, type=BINARY)
        show(s, "PATCH", path + "/z", body, type=MERGE)
        show(s, "POST", ns + "/serviceaccounts/default/token?dryRun=All", body, type=BINARY)
        show(s, "POST", ns + "/pods/x/eviction", body, type=BINARY)
        show(s, "DELETE", path + "/missing", body, type=BINARY)
        show(s, "PUT", "/apis/apps/v1" + ns.removeprefix("/api/v1") + "/deployments/x/scale", body, type=BINARY)


# ---- beginnings of watches ----

@script
def beginnings(s):
    path = s.namespace() + "/configmaps"
    s.ask("POST", path, config_map("a", labels={"l": "1"}))
    selected = f"{path}?labelSelector=l&"
    now = s.ask("GET", selected)["metadata.resourceVersion"]

    def stream(query, **more):
        answer = s.ask("GET", f"{selected}watch=1&timeoutSeconds=1&{query}", **more)
        body = answer.body
        if answer.status == 200:
            body = [json.loads(line) for line in answer.text.splitlines()]
            # One may come with the minute, too.
            body = [e for e in body if e["type"] != "BOOKMARK" or "initial-events-end" in str(e)]
        s.record(f"WATCH {query}".replace(now, "NOW"), {"status": answer.status, "type": answer.type, "body": body})
    for send in ("", "&sendInitialEvents=true", "&sendInitialEvents=false", "&sendInitialEvents=", "&sendInitialEvents=x"):
        for match in ("", "&resourceVersionMatch=", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact", "&resourceVersionMatch=x"):
            for version in ("", "&resourceVersion=0", "&resourceVersion=x", f"&resourceVersion={now}"):
                s.get(f"{selected}{send}{match}{version}")
                if match and (send == "" or "NotOlderThan" not in match) or send and not match or version.endswith("x"):
                    stream(send + match + version)
    for more in ("limit=1", "continue=x", "continue=", "limit=1&continue=x", "limit=-1"):
        for send in ("&sendInitialEvents=true", "&resourceVersionMatch=NotOlderThan"):
            stream(more + send)
            s.get(f"{selected}{more}{send}")
    for marks in ("", "&allowWatchBookmarks=true"):
        stream(marks)
        stream("resourceVersion=0" + marks)
        stream("sendInitialEvents=true&resourceVersionMatch=NotOlderThan" + marks)
    for accept in (PARTIAL_LIST, YAML, f"{YAML}, {JSON}", "application/json;stream=x", "text/plain"):
        stream("", accept=accept)
        stream("resourceVersion=x", accept=accept)
        stream("includeObject=x", accept=accept)
    stream("includeObject=x", accept=TABLE)


# ---- pages, and what a patch makes of an object ----

@script
def tokens(s):
    path = s.namespace() + "/configmaps"
    now = int(s.ask("GET", path)["metadata.resourceVersion"])
    good = {"v": "meta.k8s.io/v1", "rv": now, "start": "/x"}
    for token in ({"v": "x"}, {"v": 1}, {}, [], "x", None, 1, {**good, "start": ""}, {**good, "start": "x"}, {**good, "start": "../x"}, {**good, "start": "/x/../y"}, {**good, "start": "/"},
                  {**good, "start": 1}, {**good, "rv": 0}, {**good, "rv": -1}, {**good, "rv": "1"}, {**good, "rv": 1.5}, {**good, "more": 1}):
        text = base64.urlsafe_b64encode(json.dumps(token).encode()).decode().rstrip("=")
        for method, query in (("GET", ""), ("GET", "limit=1&"), ("DELETE", "fieldSelector=metadata.name%3Dx&")):
            s.record(f"{method} {query} {token}".replace(str(now), "NOW"), s.ask(method, f"{path}?{query}continue={text}").shown())
    for text in ("a", "abc", "abcd", "a=", "ab==", "YQ==", "YQ", "x" * 300, "e30=", "e30", "+/"):
        s.get(f"{path}?continue={text}")


@script
def pages_of_deletes(s):
    path = s.namespace() + "/configmaps"

    def left():
        s.record("left", [o["metadata"]["name"] for o in s.ask("GET", path).body["items"] if o["metadata"]["name"] != "kube-root-ca.crt"])
    for i in range(9):
        s.ask("POST", path, config_map(f"c{i}"))
    token = s.ask("GET", path + "?limit=3")["metadata.continue"]
    for query in (f"continue={token}&limit=2", f"continue={token}"):
        s.record("DELETE " + query[-7:], s.ask("DELETE", f"{path}?{query}").shown())
        left()
    for query in ("uid=x", "resourceVersion=1", "resourceVersion=x", "uid=", "uid=x&resourceVersion=1"):
        s.delete(f"{path}/c0?{query}")
        s.ask("POST", path, config_map("c0"))
    s.delete(path + "/c0?uid=x", {})


@script
def patched_types(s):
    """A patch that makes an object something else."""
    ns = s.namespace()
    define_things(s)
    things = "/apis/requests.example.com/v1" + ns.removeprefix("/api/v1") + "/things"
    s.ask("POST", ns + "/configmaps", config_map("a"))
    s.ask("POST", things, thing("a"))
    for patch in ({"kind": "Scale"}, {"kind": ""}, {"kind": None}, {"apiVersion": "v9"}, {"apiVersion": "requests.example.com/v9"}, {"kind": 1}, {"apiVersion": []},
                  {"kind": "Other", "metadata": {"labels": {"a": 1}}}, {"kind": "Scale", "apiVersion": "v9"}, {"kind": "Scale", "metadata": {"name": "z"}}):
        for path in (things + "/a", things + "/a/status", ns + "/configmaps/a"):
            s.patch(path, patch)
            s.patch(path, [{"op": "add", "path": "/" + key, "value": value} for key, value in patch.items()], type=JSON_PATCH)
    for patch in ("null", " null ", "[]", "{}", "", "1"):
        for path in (things + "/a", ns + "/configmaps/a", ns + "/configmaps/missing"):
            s.patch(path, patch)
            s.patch(path, patch, type=JSON_PATCH)
            s.patch(path, patch, type=STRATEGIC)
            if patch:  # what is wrong with no YAML at all is said in other words
                s.patch(path + "?fieldManager=x", patch, type=APPLY)


# What is no list of owners by its types; the first ones are one.
NO_OWNERS = ([], [{}], [{"fieldsV1": 5}], {}, "x", 5, [5], [5, "x"], [[]], [None], [{"manager": 5}], [{"time": 5}], [{"time": "x"}, 5])


@script
def given_owners(s):
    """managedFields as clients write them."""
    p = s.namespace() + "/configmaps"
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2020-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:k": {}}}}
    odd = ({"manager": "m" * 128}, {"manager": "m" * 129}, {"manager": "a\tb"}, {"manager": "\u00fc\n"}, {"manager": "\u00fc" * 65}, {"manager": ""}, {"operation": "Other"},
           {"fieldsType": "X"}, {"apiVersion": ""}, {"apiVersion": "a/b/c"}, {"apiVersion": "v9"}, {"apiVersion": "/v1"}, {"apiVersion": "v1/"}, {"subresource": "x" * 257},
           {"fieldsV1": {"x": {}}})
    s.post(p, config_map("a"))
    for i, change in enumerate(odd):
        s.post(p, config_map(f"c{i}", managedFields=[{**entry, **change}]))
        s.put(p + "/a", config_map("a", managedFields=[{**entry, **change}]))
        s.patch(p + "/a", {"metadata": {"managedFields": [{**entry, **change}]}})
    s.put(p + "/a", config_map("a", managedFields=[{**entry, "manager": "x" * 129}, {**entry, "manager": "\x01"}]))
    for time in ("bad", "2020-01-01", 5, "", None, "2020-01-01T00:00:00Z"):
        s.apply(p + "/a", config_map("a", managedFields=[{**entry, "time": time}]))
    for owners in NO_OWNERS:
        s.apply(p + "/a", config_map("a", managedFields=owners))


@script
def odd_versions(s):
    """resourceVersions that are no usual number, or none."""
    ns = s.namespace()
    define_things(s)
    p, things = ns + "/configmaps", "/apis/requests.example.com/v1" + ns.removeprefix("/api/v1") + "/things"
    s.post(p, config_map("a"))
    s.post(things, thing("a"))
    for version in ("00", "01", "18446744073709551616", "18446744073709551615", "-1", "+1", " 1", "0x1"):
        s.put(p + "/a", config_map("a", resourceVersion=version))
        s.put(things + "/a", thing("a", resourceVersion=version))
        s.patch(p + "/a", {"metadata": {"resourceVersion": version}})
        s.post(p + "?dryRun=All", config_map("new", resourceVersion=version))
        s.post(p, config_map(f"new-{len(version)}", resourceVersion=version))


@script
def other_bodies(s):
    """What the API server can read and has no path for."""
    ns = s.namespace()
    define_things(s)
    group = ns.removeprefix("/api/v1")
    for path in (ns + "/configmaps", "/apis/apps/v1" + group + "/deployments", "/apis/requests.example.com/v1" + group + "/things"):
        for version, names in (("v1", ("List", "ConfigMapList", "Status", "Scale", "DeleteOptions", "WatchEvent", "APIVersions", "APIGroup")), ("autoscaling/v1", ("Scale",)),
                               ("apps/v1", ("DeploymentList", "DeleteOptions", "Status", "List")), ("meta.k8s.io/v1", ("Status", "DeleteOptions", "Table")),
                               ("requests.example.com/v1", ("Thing", "ThingList", "DeleteOptions"))):
            for kind in names:
                s.post(path + "?dryRun=All", {"kind": kind, "apiVersion": version, "metadata": {"name": "x"}})
    for version in ("/v1", "v1/", "/", "a/b/c", " v1"):
        s.post(ns + "/configmaps?dryRun=All", {**config_map("v"), "apiVersion": version})
        s.post(ns + "/configmaps?dryRun=All", {"apiVersion": version, "metadata": {"name": "v"}})


@script
def empty_tables(s):
    group = s.namespace().removeprefix("/api/v1")
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    for path in ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", rbac + "/clusterroles", rbac + "/clusterrolebindings", rbac + group + "/roles",
                 "/api/v1" + group + "/limitranges", "/api/v1" + group + "/configmaps"):
        show(s, "GET", path + "?labelSelector=nobody%3Dhas", accept=TABLE)
        show(s, "DELETE", path + "?labelSelector=nobody%3Dhas", accept=TABLE)
