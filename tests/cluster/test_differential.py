"""Our API server against the real one: see differential.py. Each script is a test.

DIFFERENTIAL_SEEDS=A-B plays those generated scripts instead of the usual ones; DIFFERENTIAL_SELF=1 holds two
real servers against each other, which shows whether a script is fit for comparing.
"""
import copy
import os
import random
import urllib.parse

import differential as d
import differential_changes
import differential_clients
import differential_control
import differential_custom
import differential_defaults
import differential_definitions
import differential_documents
import differential_embedded
import differential_full
import differential_kinds
import differential_pod_security
import differential_pods
import differential_quotas
import differential_raw
import differential_requests
import differential_rules
import differential_seeds
import differential_types
import differential_versions
import differential_watch
import merge_kinds as kinds
from differential import APPLY, JSON_PATCH, MERGE, PARTIAL, PARTIAL_LIST, STRATEGIC, TABLE, YAML
from lab import NO_WORKLOADS, Lab

SCRIPTS = []
SEEDS = os.environ.get("DIFFERENTIAL_SEEDS", "0-39")
# Rules and objects need a definition, which takes the real server a while.
RULE_SEEDS, OBJECT_SEEDS, DEFINITION_SEEDS = (1, 2), (3, 13, 14, 17), range(1, 61)


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def config_map(name, data=None, **meta):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **meta}, "data": data or {"k": "v"}}


def deployment(name="web", **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
        **spec}}


# ---- reading and writing one object ----

@script
def create_and_read(s):
    p = s.namespace() + "/configmaps"
    made = s.post(p, config_map("a"))
    s.get(p + "/a")
    s.post(p, config_map("a"))
    s.get(p + "/missing")
    s.post(p, {**config_map("b"), "kind": "Secret"})
    s.post(p, {**config_map("b"), "apiVersion": "v2"})
    s.post(p, {**config_map("b"), "apiVersion": None})
    s.post(p, {"kind": "ConfigMap", "metadata": {"name": "no-version"}})
    s.post(p, {"metadata": {"name": "neither"}})
    s.post(p, config_map("b", namespace="elsewhere"))
    s.post(p, config_map("b", resourceVersion="12"))
    s.post(p, config_map("b", uid="11111111-2222-3333-4444-555555555555"))
    s.post(p, config_map("c", creationTimestamp="2020-01-01T00:00:00Z", generation=7, selfLink="/x",
                         deletionTimestamp="2020-01-01T00:00:00Z", deletionGracePeriodSeconds=3))
    s.post(p, config_map(None, generateName="gen-x-"))
    s.post(p, config_map("both", generateName="gen-x-"))
    s.post(p, config_map(None))
    s.post("/api/v1/namespaces/not-there/configmaps", config_map("a"))
    s.post("/api/v1/configmaps", config_map("a"))
    s.get("/api/v1/namespaces/not-there/configmaps")
    s.get("/api/v1/namespaces/not-there/configmaps/a")
    s.delete(p + "/a", {"preconditions": {"uid": made["metadata.uid"]}})
    s.get(p + "/a")
    s.delete(p + "/a")


@script
def names(s):
    p = s.namespace()
    for name in ("UPPER", "under_score", "dot.ted", "-dash", "dash-", "a" * 253, "a" * 254, "ä", "a/b", "..", ".", "a b",
                 "1", "", "a..b", "%"):
        s.post(p + "/configmaps", config_map(name))
        if name not in ("a/b", "..", ".", "", "%"):  # no part of a path: the real server blames spec.clusterIPs instead
            s.post(p + "/services", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                                     "spec": {"ports": [{"port": 80}]}})
        s.post("/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments", deployment(name))
    for name in ("UPPER", "a" * 63, "a" * 64, "dot.ted", ""):
        s.post("/api/v1/namespaces", {"metadata": {"name": name}})
        s.ask("DELETE", f"/api/v1/namespaces/{name}") if name else None
    for name in ("gen-" + "a" * 240, "gen-" + "a" * 250, "GEN-", "gen_"):
        s.post(p + "/configmaps", config_map(None, generateName=name))


@script
def metadata(s):
    p = s.namespace() + "/configmaps"
    label_values = ["", "a", "a" * 63, "a" * 64, "-a", "a-", "a_b.c", "ü", "a b"]
    for i, value in enumerate(label_values):
        s.post(p, config_map(f"value-{i}", labels={"k": value}))
    for i, key in enumerate(["", "a", "a/b", "a/b/c", "A.example/b", "a" * 64, "x." * 130 + "a/b", "/b", "a/", "-a", "ü"]):
        s.post(p, config_map(f"key-{i}", labels={key: "v"}))
        s.post(p, config_map(f"annotation-{i}", annotations={key: "v v ü"}))
    s.post(p, config_map("annotations-long", annotations={"k": "x" * 262144}))
    s.post(p, config_map("annotations-fit", annotations={"k": "x" * 262143}))
    for i, finalizers in enumerate([["a"], ["a/b"], ["orphan"], ["foregroundDeletion"], ["kubernetes"], ["a/b", "a/b"],
                                    ["orphan", "foregroundDeletion"], ["ü/x"], [""]]):
        s.post(p, config_map(f"final-{i}", finalizers=finalizers))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "11111111-2222-3333-4444-555555555555"}
    for i, owners in enumerate([[owner], [owner, owner], [{**owner, "controller": True}],
                                [{**owner, "controller": True}, {**owner, "controller": True, "name": "y"}],
                                [{**owner, "uid": ""}], [{**owner, "name": ""}], [{**owner, "kind": ""}],
                                [{**owner, "apiVersion": ""}], [{**owner, "apiVersion": "v1", "kind": "Event"}],
                                [{**owner, "apiVersion": "a/b/c"}], [{"uid": "x"}]]):
        s.post(p + "?dryRun=All", config_map(f"owned-{i}", ownerReferences=owners))
    s.post(p, config_map("a", labels={"a": 1}))
    s.post(p, config_map("a", labels=["a"]))
    s.post(p, config_map("a", unknown="x"))
    s.post(p, config_map("a2", managedFields=[{"manager": "x"}]))
    s.post(p, config_map("a3", managedFields=[]))


@script
def update(s):
    p = s.namespace() + "/configmaps"
    made = s.post(p, config_map("a"))
    s.put(p + "/a", config_map("a"))  # without a version; nothing new
    s.put(p + "/a", config_map("a", {"k": "w"}))
    s.put(p + "/a", config_map("a", {"k": "x"}, resourceVersion=made["metadata.resourceVersion"]))
    now = s.get(p + "/a")
    s.put(p + "/a", config_map("a", {"k": "x"}, resourceVersion=now["metadata.resourceVersion"]))
    s.put(p + "/a", config_map("a", {"k": "y"}, resourceVersion="nonsense"))
    s.put(p + "/a", config_map("a", {"k": "y"}, resourceVersion="0"))
    s.put(p + "/a", config_map("a", {"k": "y"}, uid="11111111-2222-3333-4444-555555555555"))
    s.put(p + "/a", config_map("b"))
    s.put(p + "/a", config_map(None))
    s.put(p + "/a", config_map("a", namespace="elsewhere"))
    s.put(p + "/new", config_map("new"))
    s.put(p + "/new", config_map("new", resourceVersion="1"))
    s.put(p + "/a", config_map("a", {"k": "z"}, creationTimestamp="2020-01-01T00:00:00Z", generation=9))
    s.put(p + "/a?dryRun=All", config_map("a", {"k": "dry"}))
    s.put(p + "/a?dryRun=Some", config_map("a", {"k": "dry"}))
    s.get(p + "/a")
    s.put(p + "/a?fieldManager=" + "x" * 129, config_map("a"))
    s.put(p + "/a?dryRun=All&fieldManager=%00", config_map("a"))
    s.put(p + "/a?fieldManager=me", config_map("a", {"k": "mine"}))
    s.put(p + "/a", {**config_map("a"), "immutable": True})
    s.put(p + "/a", {**config_map("a", {"k": "changed"}), "immutable": True})
    s.put(p + "/a", {**config_map("a"), "immutable": False})
    s.put(p + "/a", {**config_map("a", labels={"a": "b"}), "immutable": True})


@script
def bodies(s):
    p = s.namespace() + "/configmaps"
    for body in ("", "{", "null", "[]", "1", '"a"', '{"a":1}', "\x00", '{"kind":"ConfigMap"', "{}", "   ",
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":1}}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":[]}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":"x"}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":1}}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"binaryData":{"a":"?"}}',
                 '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"b"},"data":{"c":"d"}}',
                 '{"apiVersion":1,"kind":"ConfigMap"}', '{"apiVersion":"v1","kind":{}}'):
        s.post(p, body)
        s.post(p, body, type=YAML)
    for type in ("text/plain", "application/xml", "", "application/json; charset=utf-8", "application/json;", "nonsense",
                 "application/yaml; charset=utf-8", "multipart/form-data"):
        s.post(p, config_map("type-" + str(len(type))), type=type)
    s.post(p, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: b\n", type=YAML)
    s.post(p, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y2\ndata:\n  a: 1\n", type=YAML)
    s.post(p, "a: b: c", type=YAML)
    for accept in ("text/plain", "*/*", "application/*", "application/yaml", "application/json;q=0.5, application/yaml",
                   "nonsense", "application/json;as=Table;v=v9;g=meta.k8s.io", "application/xml, */*"):
        s.get(p + "/y", accept=accept)


@script
def field_validation(s):
    p = s.namespace()
    apps = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments"
    bad = deployment("bad")
    bad["spec"]["unknown"] = 1
    bad["spec"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    doubled = ('{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"twice"},"spec":{"replicas":1,"replicas":2,'
               '"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},'
               '"spec":{"containers":[{"name":"c","name":"c","image":"i"}]}}}}')
    for mode in ("Ignore", "Warn", "Strict", "Nonsense", ""):
        s.post(f"{apps}?dryRun=All&fieldValidation={mode}", bad)
        s.post(f"{apps}?dryRun=All&fieldValidation={mode}", doubled)
        s.post(f"{p}/configmaps?dryRun=All&fieldValidation={mode}", {**config_map("x"), "dataa": {}, "spec": 1})
        s.patch(f"{apps}/bad?fieldManager=x&dryRun=All&fieldValidation={mode}", {
            **deployment("bad"), "unknown": 1}, type=APPLY)
    s.post(apps, deployment("web"))
    for mode in ("Ignore", "Warn", "Strict"):
        q = f"{apps}/web?dryRun=All&fieldValidation={mode}"
        s.put(q, {**deployment("web"), "extra": {"a": 1}})
        s.patch(q, {"spec": {"nonsense": 1}}, type=MERGE)
        s.patch(q, {"spec": {"nonsense": 1}}, type=STRATEGIC)
        s.patch(q, [{"op": "add", "path": "/spec/nonsense", "value": 1}], type=JSON_PATCH)
        s.patch(q, '{"spec":{"replicas":1,"replicas":2}}', type=MERGE)


@script
def warnings(s):
    ns = s.namespace()
    apps, batch = (f"/apis/{g}/v1" + ns.removeprefix("/api/v1") for g in ("apps", "batch"))
    def spec(**more):
        return {"containers": [{"name": "c", "image": "i", **more.pop("container", {})}], **more}
    def workload(name, pod, **more):
        return {"metadata": {"name": name}, "spec": {**more, "selector": {"matchLabels": {"a": "b"}},
                "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}}
    dry = "?dryRun=All"
    for name in ("dot.ted", "a" * 64, "b." + "a" * 64):
        for plural in ("deployments", "replicasets", "daemonsets", "statefulsets"):
            s.post(f"{apps}/{plural}{dry}", workload(name, spec()))
        s.post(ns + "/pods" + dry, {"metadata": {"name": name}, "spec": spec()})
        s.post(ns + "/replicationcontrollers" + dry, workload(name, spec()) | {"spec": {
            "selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec()}}})
        job = {"template": {"spec": spec(restartPolicy="Never")}}
        if len(name) < 63:  # a Job gives its template a label with its name
            s.post(batch + "/jobs" + dry, {"metadata": {"name": name}, "spec": job})
        s.post(batch + "/cronjobs" + dry, {"metadata": {"name": name}, "spec": {
            "schedule": "* * * * *", "jobTemplate": {"spec": job}}})
    twice = [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}, {"name": "A", "value": "2"}]
    secrets = [{"name": "x"}, {"name": "y"}, {"name": "x"}]
    pods = [
        spec(container={"env": twice}),
        spec(container={"env": [twice[0], {"name": "A", "value": "$(A)/x"}]}),
        spec(container={"ports": [{"containerPort": 80}, {"containerPort": 80}]}),
        spec(container={"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 80, "name": "b"}]}),
        spec(container={"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}),
        spec(container={"resources": {"requests": {"memory": "100m", "ephemeral-storage": "1500m"}}}),
        spec(container={"resources": {"limits": {"memory": "2200m"}}}),
        spec(container={"ports": [{"containerPort": 80, "hostIP": "1.2.3.4"}]}),
        spec(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
            "matchExpressions": [{"key": "a", "operator": "In", "values": ["x y", "b" * 64]}]}}]}}),
        spec(imagePullSecrets=secrets), spec(imagePullSecrets=[{}, {"name": "x"}]),
        spec(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["a"]}, {"ip": "1.2.3.4", "hostnames": ["b"]}]),
        spec(nodeSelector={"beta.kubernetes.io/arch": "amd64"}),
        spec(nodeSelector={"failure-domain.beta.kubernetes.io/zone": "a"}),
        spec(priorityClassName="", terminationGracePeriodSeconds=-1),
        spec(volumes=[{"name": "v", "hostPath": {"path": "/x"}}, {"name": "w", "emptyDir": {}}]),
        spec(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "failure-domain.beta.kubernetes.io/zone",
                                         "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}]),
        spec(topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "x", "whenUnsatisfiable": "DoNotSchedule"}]),
        spec(initContainers=[{"name": "i", "image": "i", "env": twice}]),
        spec(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "x"}]}}),
    ]
    for pod in pods:
        s.post(ns + "/pods" + dry, {"metadata": {"name": "p"}, "spec": pod})
        s.post(apps + "/deployments" + dry, workload("p", pod))
    s.post(apps + "/deployments", workload("web", pods[0]))
    s.patch(apps + "/deployments/web", {"spec": {"replicas": 2}})
    s.patch(apps + "/deployments/web", {"spec": {"template": {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}}}})
    s.post(ns + "/pods" + dry, {"metadata": {"name": "p", "annotations": {
        "scheduler.alpha.kubernetes.io/critical-pod": ""}}, "spec": spec()})
    for service in ({"externalIPs": ["010.0.0.1"]}, {"externalIPs": ["1.2.3.4"]}, {"loadBalancerIP": "1.2.3.4", "type": "LoadBalancer"},
                    {"clusterIP": "None", "sessionAffinity": "ClientIP"}, {"type": "ExternalName", "externalName": "a."}):
        s.post(ns + "/services" + dry, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], **service}})
    s.post(ns + "/endpoints" + dry, {"metadata": {"name": "e"}, "subsets": []})
    s.get(ns + "/endpoints")
    s.post(ns + "/persistentvolumeclaims" + dry, {"metadata": {"name": "c", "annotations": {
        "volume.beta.kubernetes.io/storage-class": "x"}}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1500m"}}}})
    s.post("/api/v1/persistentvolumes" + dry, {"metadata": {"name": "v", "annotations": {
        "volume.beta.kubernetes.io/storage-class": "x"}}, "spec": {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1500m"}, "hostPath": {"path": "/x"},
        "persistentVolumeReclaimPolicy": "Recycle"}})
    s.post(batch + "/cronjobs" + dry, {"metadata": {"name": "z"}, "spec": {
        "schedule": "TZ=UTC * * * * *", "jobTemplate": {"spec": {"template": {"spec": spec(restartPolicy="Never")}}}}})
    s.post(batch + "/jobs" + dry, {"metadata": {"name": "z"}, "spec": {
        "completions": 100001, "parallelism": 10001, "completionMode": "Indexed", "template": {"spec": spec(restartPolicy="Never")}}})
    s.post("/apis/policy/v1" + ns.removeprefix("/api/v1") + "/poddisruptionbudgets" + dry, {
        "metadata": {"name": "b"}, "spec": {"selector": {}, "maxUnavailable": 1}})
    s.post("/apis/networking.k8s.io/v1" + ns.removeprefix("/api/v1") + "/ingresses" + dry, {
        "metadata": {"name": "i", "annotations": {"kubernetes.io/ingress.class": "x"}}, "spec": {
            "defaultBackend": {"service": {"name": "s", "port": {"number": 1}}}}})
    s.post("/api/v1/nodes" + dry, {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/24", "externalID": "x"}})
    s.post(ns + "/secrets" + dry, {"metadata": {"name": "s"}, "type": "kubernetes.io/service-account-token"})


# ---- lists ----

@script
def lists(s):
    p = s.namespace() + "/configmaps"
    for i in range(7):
        s.post(p, config_map(f"c{i}", {"n": str(i)}, labels={"even": str(i % 2 == 0).lower(), "n": str(i)}))
    for selector in ("even=true", "even==false", "even!=true", "n in (1,2,3)", "n notin (1,2)", "n", "!n", "missing",
                     "!missing", "even=true,n=4", "", " ", "n in ()", "=", "a b", "n>3", "n<3", "even in (true", "ü=a",
                     "a=" + "x" * 64, "even=", "n in (1,,2)"):
        s.get(f"{p}?labelSelector={d_quote(selector)}")
    for selector in ("metadata.name=c3", "metadata.name!=c3", "metadata.namespace=" + s.ns, "metadata.namespace=x",
                     "metadata.uid=1", "spec.x=1", "metadata.name=c3,metadata.name=c4", "nonsense", "metadata.name in (a)",
                     "metadata.name==c1", "="):
        s.get(f"{p}?fieldSelector={d_quote(selector)}")
    for query in ("limit=3", "limit=0", "limit=-1", "limit=x", "resourceVersion=0", "resourceVersion=x",
                  "resourceVersionMatch=Exact", "resourceVersion=0&resourceVersionMatch=Exact",
                  "resourceVersion=0&resourceVersionMatch=NotOlderThan", "resourceVersionMatch=Nonsense&resourceVersion=1",
                  "continue=nonsense", "resourceVersion=99999999999&timeoutSeconds=1", "pretty=true&limit=1"):
        s.get(f"{p}?{query}")
    token, seen = None, 0
    while token != "" and seen < 10:
        page = s.get(f"{p}?limit=3" + (f"&continue={d_quote(token)}" if token else ""))
        token, seen = page["metadata.continue"] or "", seen + 1
        if seen == 1:
            s.post(p, config_map("c-new"))
            s.delete(p + "/c4")
            s.put(p + "/c5", config_map("c5", {"n": "changed"}))
    first = s.get(f"{p}?limit=2&labelSelector=even%3Dtrue")
    s.get(f"{p}?limit=2&labelSelector=even%3Dtrue&continue={d_quote(first['metadata.continue'] or '')}")
    s.get(f"{p}?limit=2&continue={d_quote(first['metadata.continue'] or '')}&resourceVersion=1")
    version = first["metadata.resourceVersion"]
    s.get(f"{p}?resourceVersion={version}&resourceVersionMatch=Exact")
    s.get(f"{p}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
    s.get(f"/api/v1/configmaps?fieldSelector=metadata.namespace%3D{s.ns}")


@script
def partial_and_tables(s):
    p = s.namespace()
    apps = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments"
    s.post(p + "/configmaps", config_map("a", labels={"x": "y"}))
    s.post(apps, deployment("web", replicas=2))
    s.post(p + "/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "web"}}})
    s.post(p + "/secrets", {"metadata": {"name": "web"}, "stringData": {"a": "b"}})
    for path in (p + "/configmaps/a", apps + "/web", p + "/services/web", p + "/secrets/web"):
        s.get(path, accept=PARTIAL)
        for include in ("", "?includeObject=None", "?includeObject=Metadata", "?includeObject=Object",
                        "?includeObject=Nonsense"):
            answer = s.ask("GET", path + include, accept=TABLE)
            for row in answer.body.get("rows", []):
                row["cells"] = ["AGE" if isinstance(c, str) and c[:-1].isdigit() and c[-1] in "sm" else c
                                for c in row["cells"]]
            for column in answer.body.get("columnDefinitions", []):
                column["description"] = ""  # their words
            s.record(f"GET {path}{include} as a table", answer.shown())
        s.get(path.rsplit("/", 1)[0], accept=PARTIAL_LIST)
        s.get(path.rsplit("/", 1)[0], accept=PARTIAL)


# ---- watching ----

@script
def watch(s):
    p = s.namespace() + "/configmaps"
    s.post(p, config_map("before", labels={"a": "b"}))
    start = s.get(p)["metadata.resourceVersion"]
    q = f"{p}?watch=true&timeoutSeconds=30"
    streams = [s.watch(f"{q}&resourceVersion={start}", 5),
               s.watch(f"{q}&resourceVersion={start}&labelSelector=a%3Db", 4),
               s.watch(f"{q}&resourceVersion={start}&fieldSelector=metadata.name%3Done", 4),
               s.watch(f"{q}&resourceVersion=0&fieldSelector=metadata.name%3Dbefore", 2),
               s.watch(f"{q}&fieldSelector=metadata.name%3Dbefore", 2),
               s.watch(f"{q}&resourceVersion={start}", 3, accept=PARTIAL),
               s.watch(f"{q}&fieldSelector=metadata.name%3Dbefore&allowWatchBookmarks=true&sendInitialEvents=true"
                       "&resourceVersionMatch=NotOlderThan", 2)]
    s.post(p, config_map("one"))
    s.patch(p + "/one", {"metadata": {"labels": {"a": "b"}}})  # comes into the selection
    s.patch(p + "/one", {"data": {"k": "w"}})
    s.patch(p + "/one", {"metadata": {"labels": {"a": None}}})  # and leaves it
    s.delete(p + "/one")
    s.delete(p + "/before")
    for stream in streams:
        stream.read()
    for query in ("resourceVersion=x", "resourceVersion=-1", "sendInitialEvents=true", 
                  "sendInitialEvents=true&resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan&resourceVersion=1",
                  "timeoutSeconds=x", "limit=x"):
        s.get(f"{p}?watch=true&{query}&timeoutSeconds=1" if "timeout" not in query else f"{p}?watch=true&{query}")
    s.watch(f"{p}?watch=true&resourceVersion=1&timeoutSeconds=5", 1).read()


@script
def watch_finalizers(s):
    p = s.namespace() + "/configmaps"
    start = s.get(p)["metadata.resourceVersion"]
    stream = s.watch(f"{p}?watch=true&resourceVersion={start}&timeoutSeconds=30", 4)
    s.post(p, config_map("held", finalizers=["a.example/b"]))
    s.delete(p + "/held")
    s.delete(p + "/held")
    s.patch(p + "/held", {"metadata": {"finalizers": ["a.example/b", "a.example/c"]}})
    s.patch(p + "/held", {"data": {"still": "editable"}})
    s.patch(p + "/held", {"metadata": {"finalizers": None}})
    s.get(p + "/held")
    stream.read()


# ---- patches ----

@script
def json_patches(s):
    p = s.namespace() + "/configmaps"
    s.post(p, config_map("a", {"a": "1", "b": "2", "c/d": "3", "e~f": "4"}, finalizers=["x.example/a", "x.example/b"]))
    for patch in ([{"op": "add", "path": "/data/new", "value": "n"}], [{"op": "replace", "path": "/data/a", "value": "r"}],
                  [{"op": "remove", "path": "/data/b"}], [{"op": "remove", "path": "/data/missing"}],
                  [{"op": "replace", "path": "/data/missing", "value": "x"}], [{"op": "test", "path": "/data/a", "value": "r"}],
                  [{"op": "test", "path": "/data/a", "value": "wrong"}], [{"op": "move", "from": "/data/a", "path": "/data/m"}],
                  [{"op": "copy", "from": "/data/m", "path": "/data/k"}], [{"op": "copy", "from": "/nope", "path": "/data/k"}],
                  [{"op": "add", "path": "/data/c~1d", "value": "slash"}], [{"op": "remove", "path": "/data/e~0f"}],
                  [{"op": "add", "path": "/metadata/finalizers/-", "value": "x.example/c"}],
                  [{"op": "add", "path": "/metadata/finalizers/0", "value": "x.example/0"}],
                  [{"op": "remove", "path": "/metadata/finalizers/1"}], [{"op": "remove", "path": "/metadata/finalizers/99"}],
                  [{"op": "add", "path": "/metadata/finalizers/99", "value": "x"}],
                  [{"op": "add", "path": "/metadata/labels/a", "value": "b"}], [{"op": "add", "path": "/metadata/labels", "value": {}}],
                  [{"op": "nonsense", "path": "/data"}], [{"path": "/data"}], [{"op": "add"}], [{"op": "add", "path": "data/x", "value": "1"}],
                  [{"op": "add", "path": "/data/x"}], {}, "x", [], [1], [{"op": "replace", "path": "", "value": {}}],
                  [{"op": "replace", "path": "/metadata/name", "value": "z"}],
                  [{"op": "replace", "path": "/metadata/uid", "value": "z"}],
                  [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}],
                  [{"op": "replace", "path": "/data/k", "value": 1}], [{"op": "replace", "path": "/data", "value": None}],
                  [{"op": "add", "path": "/data", "value": {"q": "r"}}, {"op": "add", "path": "/data/s", "value": "t"}],
                  [{"op": "test", "path": "/data", "value": {"q": "r", "s": "t"}}],
                  [{"op": "replace", "path": "/kind", "value": "Secret"}],
                  [{"op": "remove", "path": "/metadata/finalizers"}]):
        s.patch(p + "/a", patch, type=JSON_PATCH)
    s.patch(p + "/missing", [], type=JSON_PATCH)
    s.patch(p + "/a", [{"op": "add", "path": "/data/x", "value": "1"}] * 10001, type=JSON_PATCH)


@script
def merge_patches(s):
    p = s.namespace()
    apps = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments"
    s.post(p + "/configmaps", config_map("a", {"a": "1", "b": "2"}))
    for patch in ({"data": {"a": None}}, {"data": {"c": "3"}}, {"data": None}, {"data": {"x": "y"}}, {}, {"data": "text"},
                  {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}, {"metadata": {"labels": None}},
                  {"metadata": {"resourceVersion": "1"}}, {"metadata": {"uid": "x"}}, {"metadata": {"name": "other"}},
                  {"metadata": {"namespace": "other"}}, {"metadata": None}, {"apiVersion": "v2"}, {"kind": "Secret"},
                  [], "x", 1, None, {"nonsense": {"a": 1}}):
        s.patch(p + "/configmaps/a", patch)
    s.patch(p + "/configmaps/a", "{", type=MERGE)
    s.patch(p + "/configmaps/a", {}, type="application/nonsense-patch+json")
    s.patch(p + "/configmaps/a", {"data": {"f": "force"}}, type=MERGE + "; charset=utf-8")
    s.patch(p + "/configmaps/a?force=true", {"data": {"f": "g"}})
    s.patch(p + "/configmaps/missing", {})
    s.post(apps, deployment("web"))
    for patch in ({"spec": {"replicas": 3}}, {"spec": {"replicas": None}}, {"spec": {"replicas": -1}}, {"spec": {"replicas": "x"}},
                  {"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}},
                  {"spec": {"template": {"spec": {"containers": None}}}}, {"spec": {"selector": {"matchLabels": {"app": "other"}}}},
                  {"status": {"replicas": 9}}, {"spec": {"paused": True}}, {"spec": {"paused": False}}):
        s.patch(apps + "/web", patch)
        s.patch(apps + "/web/status", patch)


@script
def strategic_patches(s):
    p = s.namespace()
    apps = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments"
    d0 = deployment("web")
    pod = d0["spec"]["template"]["spec"]
    pod["containers"] = [{"name": "a", "image": "a", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}],
                          "ports": [{"containerPort": 80, "name": "web"}], "args": ["1", "2"]},
                         {"name": "b", "image": "b"}]
    pod["volumes"] = [{"name": "v", "emptyDir": {}}]
    s.post(apps, d0)

    def spec(**more):
        return {"spec": {"template": {"spec": more}}}
    for patch in (spec(containers=[{"name": "a", "image": "a2"}]), spec(containers=[{"name": "c", "image": "c"}]),
                  spec(containers=[{"name": "b", "$patch": "delete"}]), spec(containers=[{"image": "no-name"}]),
                  spec(containers=[{"name": "a", "env": [{"name": "X", "value": "3"}]}]),
                  spec(containers=[{"name": "a", "env": [{"name": "Y", "$patch": "delete"}]}]),
                  spec(containers=[{"name": "a", "env": [{"$patch": "replace"}, {"name": "Z", "value": "z"}]}]),
                  spec(containers=[{"name": "a", "args": ["3"]}]), spec(containers=[{"name": "a", "args": None}]),
                  spec(containers=[{"name": "a", "ports": [{"containerPort": 81}]}]),
                  spec(volumes=[{"name": "v", "configMap": {"name": "x"}}]),
                  spec(volumes=[{"name": "v", "emptyDir": None, "configMap": {"name": "x"}}]),
                  spec(volumes=[{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]),
                  {"spec": {"strategy": {"type": "Recreate"}}},
                  {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
                  {"spec": {"template": {"metadata": {"labels": {"$patch": "replace", "app": "web"}}}}},
                  {"metadata": {"labels": {"x": "y"}, "$setElementOrder/finalizers": ["q.example/b", "q.example/a"],
                                "finalizers": ["q.example/a", "q.example/b"]}},
                  {"metadata": {"$deleteFromPrimitiveList/finalizers": ["q.example/a"]}},
                  {"metadata": {"$deleteFromPrimitiveList/finalizers": ["q.example/b"]}},
                  spec(**{"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "a", "image": "a4"}]}),
                  spec(**{"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "a", "image": "a4"}]}),
                  {"$patch": "nonsense"}, {"spec": {"$patch": "delete"}}, {"metadata": {"$patch": "replace"}}, {}, [], "x",
                  {"spec": {"replicas": "x"}}, {"spec": {"nonsense": 1}}, spec(tolerations=[{"key": "a", "operator": "Exists"}]),
                  spec(tolerations=[{"key": "b", "operator": "Exists"}]), spec(imagePullSecrets=[{"name": "x"}]),
                  spec(imagePullSecrets=[{"name": "y"}]), spec(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["h"]}]),
                  spec(hostAliases=[{"ip": "1.2.3.4", "hostnames": ["i"]}]), spec(nodeSelector={"a": "b"}),
                  spec(nodeSelector={"c": "d"}), spec(nodeSelector=None)):
        s.patch(apps + "/web", patch, type=STRATEGIC)
    s.post(p + "/services", {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]}})
    for patch in ({"spec": {"ports": [{"port": 82, "name": "c"}]}}, {"spec": {"ports": [{"port": 80, "$patch": "delete"}]}},
                  {"spec": {"ports": [{"port": 81, "targetPort": "x"}]}}, {"spec": {"selector": {"a": "b"}}},
                  {"spec": {"type": "NodePort"}}, {"spec": {"type": "ClusterIP"}}, {"spec": {"clusterIP": "None"}}):
        s.patch(p + "/services/web", patch, type=STRATEGIC)


@script
def applies(s):
    p = s.namespace() + "/configmaps"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "1"}}
    s.apply(p + "/a", body)
    s.apply(p + "/a", body)
    s.apply(p + "/a", {**body, "data": {"a": "2"}}, manager="other")
    s.apply(p + "/a", {**body, "data": {"a": "2"}}, manager="other", force=True)
    s.apply(p + "/a", {**body, "data": {"b": "3"}}, manager="other")
    s.apply(p + "/a", {**body, "data": {}})
    s.apply(p + "/a", {**body, "metadata": {"name": "b"}})
    s.apply(p + "/a", {**body, "metadata": {"name": "a", "managedFields": [{"manager": "x"}]}})
    s.apply(p + "/a", {**body, "metadata": {"name": "a", "resourceVersion": "1"}})
    s.apply(p + "/a", {**body, "metadata": {"name": "a", "uid": "11111111-2222-3333-4444-555555555555"}})
    s.patch(p + "/a", body, type=APPLY)  # no manager
    s.apply(p + "/a", body, force="maybe")
    s.apply(p + "/a", "apiVersion: v1\nkind: ConfigMap\ndata:\n  y: 'yaml'\n")
    s.apply(p + "/a", "{")
    s.apply(p + "/a", "[]")
    s.apply(p + "/a", {"kind": "ConfigMap"})
    s.apply(p + "/a", {**body, "kind": "Secret"})
    s.apply(p + "/a", {**body, "data": {"a": 1}})
    s.apply(p + "/a", {**body, "data": {"a": None}})
    s.patch(p + "/a?fieldManager=&force=true", body, type=APPLY)
    s.patch(p + "/a?fieldManager=dry&dryRun=All", {**body, "data": {"dry": "1"}}, type=APPLY)
    s.get(p + "/a")
    s.patch(p + "/a?fieldManager=editor", {"data": {"b": "edited"}})
    s.apply(p + "/a", {**body, "data": {"b": "mine"}})
    s.apply(p + "/new", {**body, "metadata": {"name": "new", "labels": {"a": "b"}}})
    s.patch(p + "/new", {"metadata": {"managedFields": [{}]}})
    s.apply("/api/v1/namespaces/not-there/configmaps/a", body)


@script
def apply_lists(s):
    p = s.namespace()
    apps = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/deployments"
    body = deployment("web", replicas=2)
    s.apply(apps + "/web", body)
    other = copy.deepcopy(body)
    other["spec"]["template"]["spec"]["containers"] = [{"name": "c", "env": [{"name": "A", "value": "1"}]},
                                                       {"name": "side", "image": "s", "ports": [{"containerPort": 80}]}]
    del other["spec"]["replicas"]
    s.apply(apps + "/web", other, manager="mesh")
    s.apply(apps + "/web", body)
    s.patch(apps + "/web/scale", {"spec": {"replicas": 5}}, type=MERGE)
    s.get(apps + "/web/scale")
    s.get(apps + "/web")
    s.apply(apps + "/web", body)
    s.apply(apps + "/web", body, force=True)
    other["spec"]["template"]["spec"]["containers"].pop()
    s.apply(apps + "/web", other, manager="mesh")
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1, "conditions": [
        {"type": "Available", "status": "True", "reason": "x", "message": "y", "lastTransitionTime": "2026-01-01T00:00:00Z",
         "lastUpdateTime": "2026-01-01T00:00:00Z"}]}}
    s.apply(apps + "/web/status", status, manager="controller")
    s.apply(apps + "/web/status", {**status, "spec": {"replicas": 9}}, manager="controller")
    s.get(apps + "/web")
    twice = copy.deepcopy(body)
    twice["spec"]["template"]["spec"]["containers"] *= 2
    s.apply(apps + "/web", twice)


# ---- subresources, deletion, owners, namespaces ----

@script
def scale_and_status(s):
    p = s.namespace()
    for plural, kind in (("deployments", "Deployment"), ("statefulsets", "StatefulSet"), ("replicasets", "ReplicaSet")):
        path = "/apis/apps/v1" + p.removeprefix("/api/v1") + "/" + plural
        body = {**deployment("web"), "kind": kind}
        s.post(path, body)
        scale = s.get(path + "/web/scale")
        s.put(path + "/web/scale", {**scale.body, "spec": {"replicas": 4}})
        s.put(path + "/web/scale", {**scale.body, "spec": {"replicas": 5}})  # an old version
        s.patch(path + "/web/scale", {"spec": {"replicas": -1}})
        s.patch(path + "/web/scale", {"spec": {"replicas": 0}})
        s.patch(path + "/web/scale", [{"op": "replace", "path": "/spec/replicas", "value": 2}], type=JSON_PATCH)
        s.patch(path + "/web/scale", {"spec": None})
        s.put(path + "/web/scale", {"spec": {"replicas": 1}})
        s.put(path + "/web/scale", {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "other"}})
        now = s.get(path + "/web")
        s.put(path + "/web/status", {**now.body, "spec": {}, "status": {"replicas": 3, "observedGeneration": 1}})
        now = s.get(path + "/web/status")
        s.put(path + "/web/status", {**now.body, "status": {"replicas": -1}})
        s.put(path + "/web", {**now.body, "status": {"replicas": 77}})
        s.patch(path + "/web/status", {"metadata": {"labels": {"from": "status"}}, "status": {"replicas": 2}})
        s.get(path + "/web/nonsense")
        s.post(path + "/web/status", {})
        s.delete(path + "/web/status")
        s.delete(path + "/web", {"propagationPolicy": "Orphan"})
        s.get(path + "/missing/scale")
    s.get(p + "/configmaps/x/status")


@script
def delete_options(s):
    p = s.namespace() + "/configmaps"
    for i in range(12):
        s.post(p, config_map(f"c{i}", labels={"n": str(i % 3)}))
    made = s.get(p + "/c0")
    s.delete(p + "/c0", {"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}})
    s.delete(p + "/c0", {"preconditions": {"resourceVersion": "1"}})
    s.delete(p + "/c0", {"preconditions": {"resourceVersion": made["metadata.resourceVersion"]}})
    s.delete(p + "/c1", {"propagationPolicy": "Nonsense"})
    s.delete(p + "/c1", {"propagationPolicy": "Background", "orphanDependents": True})
    s.delete(p + "/c1", {"orphanDependents": False})
    s.delete(p + "/c2", {"gracePeriodSeconds": -1})
    s.delete(p + "/c2", {"gracePeriodSeconds": 5})
    s.delete(p + "/c3", {"dryRun": ["All"]})
    s.delete(p + "/c3?dryRun=All")
    s.delete(p + "/c3", {"dryRun": ["Nonsense"]})
    s.delete(p + "/c3", {"apiVersion": "v1", "kind": "DeleteOptions"})
    s.delete(p + "/c4", {"apiVersion": "apps/v1", "kind": "DeleteOptions"})
    s.delete(p + "/c5", {"apiVersion": "v9", "kind": "DeleteOptions"})
    s.delete(p + "/c5", {"kind": "ConfigMap", "apiVersion": "v1"})
    s.delete(p + "/c5", "{")
    s.delete(p + "/c5?propagationPolicy=Background")
    s.delete(p + "/c6?gracePeriodSeconds=x")
    s.delete(p + "?labelSelector=n%3D1")
    s.get(p + "?labelSelector=n%3D1")
    s.delete(p + "?dryRun=All&labelSelector=n%3D2")
    s.delete(p + "?fieldSelector=metadata.name%3Dc6")
    s.delete(p + "?labelSelector=%3D")
    s.delete(p + "?limit=1&labelSelector=n%3D2")
    s.delete(p + "/missing")


def owned(name, owner, kind="ConfigMap", **more):
    return config_map(name, ownerReferences=[{"apiVersion": "v1", "kind": kind, "name": owner["metadata.name"],
                                              "uid": owner["metadata.uid"], **more}])


@script
def owners(s):
    p = s.namespace() + "/configmaps"

    def gone(name):
        s.until(lambda: s.ask("GET", f"{p}/{name}").status == 404, f"{name} to be gone")
        s.get(f"{p}/{name}")
    for policy in ("Background", "Foreground"):
        owner = s.post(p, config_map(f"owner-{policy.lower()}"))
        name = f"child-{policy.lower()}"
        s.post(p, owned(name, owner, blockOwnerDeletion=True))
        s.delete(p + "/" + owner["metadata.name"], {"propagationPolicy": policy})
        gone(name)
        gone(owner["metadata.name"])
    owner = s.post(p, config_map("owner-orphan"))
    s.post(p, owned("child-orphan", owner))
    s.delete(p + "/owner-orphan", {"propagationPolicy": "Orphan"})
    gone("owner-orphan")
    s.until(lambda: not s.ask("GET", p + "/child-orphan")["metadata.ownerReferences"], "the orphan to be free")
    child = s.get(p + "/child-orphan")
    s.record("orphan", child["metadata.ownerReferences"])
    owner, second = s.post(p, config_map("owner-1")), s.post(p, config_map("owner-2"))
    both = owned("child-both", owner)
    both["metadata"]["ownerReferences"] += owned("", second)["metadata"]["ownerReferences"]
    s.post(p, both)
    s.delete(p + "/owner-1")
    s.until(lambda: len(s.ask("GET", p + "/child-both")["metadata.ownerReferences"]) == 1, "one owner left")
    s.record("one owner left", s.ask("GET", p + "/child-both")["metadata.ownerReferences"])
    s.delete(p + "/owner-2")
    gone("child-both")
    held = s.post(p, config_map("owner-held"))
    blocked = owned("child-held", held, blockOwnerDeletion=True)
    blocked["metadata"]["finalizers"] = ["x.example/hold"]
    s.post(p, blocked)
    s.delete(p + "/owner-held", {"propagationPolicy": "Foreground"})
    s.until(lambda: s.ask("GET", p + "/child-held")["metadata.deletionTimestamp"], "the child to be asked to go")
    s.get(p + "/owner-held")
    s.patch(p + "/child-held", {"metadata": {"finalizers": None}})
    gone("owner-held")


@script
def namespaces(s):
    p = s.namespace("-x")
    name = s.ns + "-x"
    s.get(p)
    s.post(p + "/configmaps", config_map("a", finalizers=["x.example/hold"]))
    s.put(p, {"metadata": {"name": name, "labels": {"a": "b"}}})
    s.patch(p, {"spec": {"finalizers": []}})
    s.delete(p)
    s.until(lambda: (s.ask("GET", p + "/configmaps/a")["metadata.deletionTimestamp"]), "the contents to be asked to go")
    s.post(p + "/configmaps", config_map("late"))
    s.record("phase", s.ask("GET", p)["status.phase"])
    s.patch(p + "/configmaps/a", {"metadata": {"finalizers": None}})
    s.until(lambda: s.ask("GET", p).status == 404, "the namespace to be gone")
    s.get(p)
    s.delete("/api/v1/namespaces/default")
    s.delete("/api/v1/namespaces/kube-system")
    s.delete("/api/v1/namespaces")
    s.post("/api/v1/namespaces", {"metadata": {"name": name + "-y"}, "spec": {"finalizers": ["kubernetes"]}})
    s.delete(f"/api/v1/namespaces/{name}-y")


@script
def paths(s):
    for path in ("/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/version", "/healthz", "/livez", "/readyz",
                 "/nonsense", "/api/v2", "/apis/nonsense", "/apis/apps/v9", "/apis/apps/v1/nonsense", "/api/v1/nonsense",
                 "/api/v1/namespaces/default/nonsense", "/api/v1/namespaces/default/pods/x/nonsense", "/api/v1/pods/x",
                 "/apis/apps/v1/namespaces/default/deployments/x/y/z", "/api/v1/", "/api//v1",
                 "/api/v1/namespaces/default/configmaps/", "/api/v1/namespaces/default/configmaps/%2e%2e", "/apis/",
                 "/healthz/ping", "/healthz/nonsense", "/livez?verbose", "/openapi/v3/nonsense",
                 "/api/v1/namespaces/default/configmaps/a%2Fb", "/apis/apiextensions.k8s.io/v1"):
        answer = s.ask("GET", path)
        # What they list is compared elsewhere, kind by kind.
        keep = path.rstrip("/") not in ("", "/api", "/apis", "/api/v1", "/version", "/apis/apps/v1") and "verbose" not in path
        s.record(f"GET {path}", answer.shown() if keep else {"status": answer.status, "type": answer.type})
    for method in ("PUT", "PATCH", "DELETE", "POST"):
        s.send(method, "/api/v1", {})
        s.send(method, "/nonsense", {})
        s.send(method, "/api/v1/nodes/x/nonsense", {})
        s.send(method, "/version", {})
    s.put("/api/v1/namespaces/default/configmaps", {})
    s.patch("/api/v1/namespaces/default/configmaps", {})
    s.post("/api/v1/namespaces/default/configmaps/x", {})
    s.send("OPTIONS", "/api/v1/namespaces/default/configmaps")
    s.send("NONSENSE", "/api/v1/namespaces/default/configmaps")


@script
def watch_metadata(s):
    """What informers of controllers ask for: metadata alone, from the start and with bookmarks."""
    ns = s.namespace()
    apps = "/apis/apps/v1" + ns.removeprefix("/api/v1") + "/deployments"
    s.post(apps, deployment("before"))
    start = s.get(apps, accept=PARTIAL_LIST)["metadata.resourceVersion"]
    q = "?watch=true&timeoutSeconds=30"
    streams = [s.watch(f"{apps}{q}&resourceVersion={start}", 5, accept=PARTIAL),
               s.watch(f"{apps}{q}&resourceVersion=0", 6, accept=PARTIAL),
               s.watch(f"{apps}{q}&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 6,
                       accept=PARTIAL),
               s.watch(f"{apps}{q}&resourceVersion={start}&labelSelector=a%3Db", 2, accept=PARTIAL),
               s.watch(f"{apps}{q}&resourceVersion={start}", 5)]
    s.post(apps, deployment("one"))
    s.patch(apps + "/one", {"metadata": {"labels": {"a": "b"}}})
    s.patch(apps + "/one/status", {"status": {"replicas": 1}})
    s.patch(apps + "/one", {"spec": {"replicas": 3}})
    s.delete(apps + "/one", {"propagationPolicy": "Background"})
    for stream in streams:
        stream.read()
    for query in ("", "?limit=1", "?labelSelector=a%3Db", "?fieldSelector=metadata.name%3Dbefore"):
        s.get(apps + query, accept=PARTIAL_LIST)
    s.get(apps + "/before", accept=PARTIAL)
    s.get(apps + "/missing", accept=PARTIAL)
    s.patch(apps + "/before", {"metadata": {"annotations": {"x": "y"}}}, accept=PARTIAL)
    s.post(apps, deployment("two"), accept=PARTIAL)
    s.delete(apps + "/two", accept=PARTIAL)


@script
def chunks(s):
    """Pages of a list that changes while it is read."""
    p = s.namespace() + "/configmaps"
    for i in range(20):
        s.post(p, config_map(f"c{i:02}", labels={"half": str(i % 2)}))
    for limit, selector in ((1, ""), (3, ""), (7, ""), (3, "&labelSelector=half%3D1"), (30, "")):
        token, page = "", 0
        while page < 8 and token is not None:
            answer = s.get(f"{p}?limit={limit}{selector}" + (f"&continue={d_quote(token)}" if token else ""))
            token, page = answer["metadata.continue"], page + 1
            s.delete(f"{p}/c{page * 2:02}")
            s.post(p, config_map(f"c{page * 2:02}", {"again": str(page)}, labels={"half": "1"}))
            s.post(p, config_map(f"n{limit}-{page}{len(selector)}"))
    first = s.get(f"{p}?limit=2")
    token, version = d_quote(first["metadata.continue"] or ""), first["metadata.resourceVersion"]
    for query in (f"limit=2&continue={token}&labelSelector=half%3D1", f"continue={token}", f"limit=0&continue={token}",
                  f"limit=2&continue={token}&resourceVersionMatch=Exact",
                  f"limit=2&resourceVersion={version}&resourceVersionMatch=Exact",
                  f"limit=2&resourceVersion={version}&resourceVersionMatch=NotOlderThan", "limit=2&resourceVersion=0",
                  f"limit=2&resourceVersion={version}", "limit=9223372036854775808", "limit=1.5"):
        s.get(f"{p}?{query}")
    s.delete(p + "?limit=5")
    s.delete(p + "?labelSelector=half%3D1&dryRun=All")
    s.delete(p + "?labelSelector=half%3D1")
    s.get(p)


@script
def impersonation(s):
    p = s.namespace() + "/configmaps"
    me = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    ask = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    account = {"Impersonate-User": f"system:serviceaccount:{s.ns}:default"}
    for headers in ({"Impersonate-User": "alice"}, {"Impersonate-User": "alice", "Impersonate-Group": "devs"},
                    {"Impersonate-User": "alice", "Impersonate-Uid": "7"},
                    {"Impersonate-User": "alice", "Impersonate-Extra-Reason": "test"},
                    {"Impersonate-User": "alice", "Impersonate-Extra-example.org%2Fscope": "a"}, account,
                    {"Impersonate-User": "system:anonymous"}, {"Impersonate-Group": "devs"}, {"Impersonate-Uid": "7"},
                    {"Impersonate-Extra-Reason": "test"},  # an empty user is refused here: it would run as the caller
                    {"Impersonate-User": "system:serviceaccount:x"},
                    {"Impersonate-User": "alice", "Impersonate-Group": "system:masters"},
                    {"Impersonate-User": "alice", "Impersonate-Group": "system:unauthenticated"}):
        s.post(me, {}, headers=headers)
        s.get(p + "/a", headers=headers)
        s.get(p, headers=headers)
        s.post(p, config_map("a"), headers=headers)
        s.delete(p + "/a", headers=headers)
        s.get("/healthz", headers=headers)
        s.get("/apis/apps/v1/nonsense", headers=headers)
        s.post(ask, {"spec": {"resourceAttributes": {"namespace": s.ns, "verb": "get", "resource": "configmaps"}}},
               headers=headers)


@script
def reviews(s):
    s.namespace()
    base = "/apis/authorization.k8s.io/v1/"
    for attributes in ({"namespace": s.ns, "verb": "get", "resource": "pods"}, {"verb": "*", "group": "*", "resource": "*"}, {}):
        s.post(base + "selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}})
        s.post(base + "subjectaccessreviews", {"spec": {"user": "nobody", "resourceAttributes": attributes}})
    s.post(base + "selfsubjectaccessreviews", {"spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}})
    s.post(base + "subjectaccessreviews", {"spec": {"user": "system:anonymous", "groups": ["system:unauthenticated"],
                                                    "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}})
    s.post(base + "selfsubjectaccessreviews", {"spec": {}})
    s.post(base + "subjectaccessreviews", {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "nonsense"}})
    s.post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}})
    s.get(base + "selfsubjectaccessreviews")


@script
def accounts_and_rules(s):
    p = s.namespace()
    rbac = "/apis/rbac.authorization.k8s.io/v1" + p.removeprefix("/api/v1")
    s.post(p + "/serviceaccounts", {"metadata": {"name": "robot"}})
    token = s.post(p + "/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 3600}})
    s.post(p + "/serviceaccounts/robot/token", {"spec": {"expirationSeconds": 1}})
    s.post(p + "/serviceaccounts/missing/token", {"spec": {}})
    as_robot = {"Authorization": f"Bearer {token['status.token']}"}
    s.get(p + "/configmaps", headers=as_robot)
    s.post(p + "/configmaps", config_map("a"), headers=as_robot)
    s.get("/version", headers={"Authorization": "Bearer nonsense"})
    s.post(rbac + "/roles", {"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["one"], "verbs": ["get"]}]})
    s.post(rbac + "/rolebindings", {"metadata": {"name": "reader"}, "roleRef": {"kind": "Role", "name": "reader"},
                                    "subjects": [{"kind": "ServiceAccount", "name": "robot"}]})
    s.post(rbac + "/rolebindings", {"metadata": {"name": "reader"}, "roleRef": {
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": s.ns}]})
    s.until(lambda: s.ask("GET", p + "/configmaps", headers=as_robot).status == 200, "the binding to count")
    s.get(p + "/configmaps/missing", headers=as_robot)
    s.delete(p + "/configmaps/missing", headers=as_robot)
    s.get(p + "/secrets/one", headers=as_robot)
    s.get(p + "/secrets/two", headers=as_robot)
    s.get("/api/v1/configmaps", headers=as_robot)
    s.get(p + "/configmaps?watch=true&timeoutSeconds=1&resourceVersion=0", headers=as_robot)
    s.post(rbac + "/roles", {"metadata": {"name": "more"}, "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}, headers=as_robot)
    s.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, headers=as_robot)
    s.patch(rbac + "/rolebindings/reader", {"roleRef": {"name": "other"}})
    s.delete(p + "/serviceaccounts/robot")


@script
def events_and_leases(s):
    p = s.namespace()
    events = "/apis/events.k8s.io/v1" + p.removeprefix("/api/v1") + "/events"
    s.post(p + "/events", {"metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "namespace": s.ns, "name": "x"},
                           "reason": "R", "message": "m", "type": "Normal", "count": 1})
    s.get(events + "/a")
    s.post(events, {"metadata": {"name": "b"}, "regarding": {"kind": "Pod", "namespace": s.ns, "name": "y"}, "reason": "R",
                    "note": "n", "type": "Warning", "action": "A", "reportingController": "c.example/c",
                    "reportingInstance": "i", "eventTime": "2026-01-02T03:04:05.000000Z"})
    s.get(p + "/events/b")
    s.get(p + "/events?fieldSelector=involvedObject.name%3Dx")
    s.get(p + "/events?fieldSelector=reason%3DR,type%3DWarning")
    s.get(events + "?fieldSelector=reason%3DR")
    s.post(p + "/events", {"metadata": {"name": "c"}, "involvedObject": {"kind": "Pod", "namespace": "other", "name": "x"}})
    s.post(events, {"metadata": {"name": "d"}})
    leases = "/apis/coordination.k8s.io/v1" + p.removeprefix("/api/v1") + "/leases"
    s.post(leases, {"metadata": {"name": "no-micro"}, "spec": {"acquireTime": "2026-01-02T03:04:05Z"}})
    lease = s.post(leases, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                            "renewTime": "2026-01-02T03:04:05.000001Z"}})
    s.put(leases + "/l", {**lease.body, "spec": {**lease.body["spec"], "holderIdentity": "b", "leaseTransitions": 1}})
    s.put(leases + "/l", lease.body)
    s.post(leases, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": 0}})
    s.post(leases, {"metadata": {"name": "bad"}, "spec": {"leaseDurationSeconds": -1, "leaseTransitions": -1}})
    s.post(leases, {"metadata": {"name": "bad"}, "spec": {"renewTime": "yesterday"}})
    s.put(leases + "/made-by-put", {"metadata": {"name": "made-by-put"}, "spec": {}})


@script
def lease_contention(s):
    p = "/apis/coordination.k8s.io/v1" + s.namespace().removeprefix("/api/v1") + "/leases"
    lease = s.post(p, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}})
    for holder in ("b", "c"):  # both saw the same version; the second is too late
        s.put(p + "/l", {**lease.body, "spec": {"holderIdentity": holder, "leaseTransitions": 1}})
    s.put(p + "/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "d"}})
    s.patch(p + "/l", {"metadata": {"resourceVersion": lease["metadata.resourceVersion"]}, "spec": {"holderIdentity": "e"}})
    s.patch(p + "/l", [{"op": "test", "path": "/spec/holderIdentity", "value": "a"},
                       {"op": "replace", "path": "/spec/holderIdentity", "value": "f"}], type=JSON_PATCH)
    s.get(p + "/l")


def d_quote(text):
    return urllib.parse.quote(text or "", safe="")


# ---- generated ----

GENERATED = [("", "v1", "ConfigMap", "configmaps", kinds.config_map), ("", "v1", "Service", "services", kinds.service),
             ("apps", "v1", "Deployment", "deployments", kinds.deployment),
             ("apps", "v1", "StatefulSet", "statefulsets", kinds.stateful_set),
             ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", kinds.autoscaler)]


def generated(seed):
    """Some thirty writes and reads of a few objects, as a seed decides."""
    def play(s):
        rng = random.Random(seed)
        group, version, kind, plural, make = GENERATED[seed % len(GENERATED)]
        ns = s.namespace().removeprefix("/api/v1")
        path = (f"/apis/{group}/{version}" if group else "/api/v1") + ns + "/" + plural
        head = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
        for _ in range(30):
            name = rng.choice(["a", "b"])
            one, body = f"{path}/{name}", make(rng, rng.random() < 0.5)
            body = {**head, **body, "metadata": {**body.get("metadata", {}), "name": name}}
            action = rng.choice(["create", "update", "apply", "apply", "force", "merge", "strategic", "delete", "get", "list"])
            manager = rng.choice(["m1", "m2"])
            if action == "create":
                s.post(f"{path}?fieldManager={manager}", body)
            elif action == "update":
                live = s.ask("GET", one)
                if live.status == 200:
                    body["metadata"]["resourceVersion"] = live["metadata.resourceVersion"]
                s.put(f"{one}?fieldManager={manager}", body)
            elif action in ("apply", "force"):
                s.apply(one, body, manager=manager, force=action == "force")
            elif action in ("merge", "strategic"):
                s.patch(f"{one}?fieldManager={manager}", {k: v for k, v in body.items() if k in ("metadata", "spec", "data")},
                        type=MERGE if action == "merge" else STRATEGIC)
            elif action == "delete":
                s.delete(one, {"propagationPolicy": "Background"})
            else:
                s.get(one if action == "get" else path)
    return play


def tests(wanted):
    first, last = (int(n) for n in SEEDS.split("-"))
    modules = (differential_changes, differential_clients, differential_control, differential_custom, differential_defaults, differential_documents, differential_embedded, differential_pod_security, differential_pods, differential_quotas, differential_raw,
               differential_requests, differential_types,
               differential_versions, differential_watch)
    given = range(first, last + 1) if "DIFFERENTIAL_SEEDS" in os.environ else None
    everything = [*SCRIPTS, *differential_rules.scripts(given or RULE_SEEDS), *differential_definitions.scripts(given or DEFINITION_SEEDS, given or OBJECT_SEEDS), *(script for module in modules for script in module.SCRIPTS),
                  *differential_kinds.scripts(), *differential_seeds.scripts(first, last), *differential_full.scripts(given or (7, 8), given or (), given or ()),
                  *((f"generated_{seed}", generated(seed)) for seed in range(first, last + 1))]
    chosen = [(name, function) for name, function in everything
              if wanted(name)]
    if not chosen:
        return
    counted = []
    quiet = NO_WORKLOADS + ",-disruption-controller"  # scripts write the status of budgets
    with Lab(quiet) as lab, Lab(quiet) if os.environ.get("DIFFERENTIAL_SELF") else d.Ours() as ours:
        real, other = d.Server("real", lab.kubeconfig), d.Server("other", ours.kubeconfig)
        def test(name, function):
            def one():
                try:
                    counted.append(d.run(function, name, real, other))
                finally:
                    d.must_live(ours)
            return one
        for name, function in chosen:
            yield name, test(name, function)
    print(f"     {sum(counted)} requests")
