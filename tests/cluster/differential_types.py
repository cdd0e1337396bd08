"""Scripts about what is particular to some kinds, and about forms of answers. See differential.py."""
import json

from differential import APPLY, JSON_PATCH, MERGE, STRATEGIC, TABLE, YAML
from differential_seeds import shape

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def pod_spec(**more):
    return {"containers": [{"name": "c", "image": "i"}], **more}


def deployment(name="web", **spec):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec()}, **spec}}


@script
def service_types(s):
    p = s.namespace() + "/services"

    def service(name, **spec):
        return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    for body in (service("plain"), service("headless", clusterIP="None"), service("node", type="NodePort"),
                 service("balancer", type="LoadBalancer"), service("local", type="LoadBalancer", externalTrafficPolicy="Local"),
                 service("outside", type="ExternalName", externalName="a.example"), service("outside-empty", type="ExternalName"),
                 service("fixed-port", type="NodePort", ports=[{"port": 80, "nodePort": 30080}]),
                 service("same-port", type="NodePort", ports=[{"port": 80, "nodePort": 30080}]),
                 service("low-port", type="NodePort", ports=[{"port": 80, "nodePort": 80}]),
                 service("sticky", sessionAffinity="ClientIP"), service("bad-ip", clusterIP="1.2.3.4"),
                 service("no-ip", clusterIP="nonsense"), service("none", ports=[]), service("close", trafficDistribution="PreferClose"),
                 service("two", ports=[{"port": 80}, {"port": 81}]), service("bad-type", type="Nonsense"),
                 service("bad-port", ports=[{"port": 0}, {"port": 70000, "name": "x", "protocol": "X"}])):
        s.post(p, body)
    for name, spec in (("plain", {"type": "NodePort"}), ("plain", {"type": "LoadBalancer"}), ("plain", {"type": "ClusterIP"}),
                       ("plain", {"type": "ExternalName", "externalName": "b.example"}), ("plain", {"type": "ClusterIP"}),
                       ("outside", {"type": "ClusterIP"}), ("node", {"ports": [{"port": 90}]}), ("sticky", {"sessionAffinity": "None"}),
                       ("balancer", {"externalTrafficPolicy": "Local"}), ("balancer", {"type": "ClusterIP"})):
        s.patch(f"{p}/{name}", {"spec": spec})
    s.patch(p + "/node/status", {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}})
    s.get(p + "/local")
    for name in ("plain", "headless", "node", "outside", "fixed-port"):
        s.delete(f"{p}/{name}")


@script
def workloads(s):
    ns = s.namespace().removeprefix("/api/v1")
    apps, batch = "/apis/apps/v1" + ns, "/apis/batch/v1" + ns
    sets = apps + "/statefulsets"
    # Suspended, paused or of nothing: the real server's controllers have nothing to do.
    made = s.post(sets, {**deployment("db", replicas=0, serviceName="db", volumeClaimTemplates=[
        {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]),
        "kind": "StatefulSet"})
    for spec in ({"serviceName": "other"}, {"podManagementPolicy": "Parallel"}, {"updateStrategy": {"type": "OnDelete"}},
                 {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}, {"minReadySeconds": -1}):
        s.patch(sets + "/db", {"spec": spec})
    s.record("set", made["spec"])
    jobs = batch + "/jobs"
    for name, spec in (("one", {}), ("always", {"template": {"spec": pod_spec(restartPolicy="Always")}}),
                       ("indexed", {"completionMode": "Indexed"}), ("many", {"completions": 3, "parallelism": 2, "backoffLimit": 1}),
                       ("negative", {"completions": -1, "parallelism": -1, "backoffLimit": -1, "activeDeadlineSeconds": -1}),
                       ("selected", {"selector": {"matchLabels": {"a": "b"}}}), ("ttl", {"ttlSecondsAfterFinished": 10})):
        s.post(jobs + "?dryRun=All", {"metadata": {"name": name}, "spec": {
            "suspend": True, "template": {"spec": pod_spec(restartPolicy="Never")}, **spec}})
    cron = batch + "/cronjobs"
    job = {"spec": {"template": {"spec": pod_spec(restartPolicy="OnFailure")}}}
    for name, spec in (("yearly", {}), 
                       ("policy", {"concurrencyPolicy": "Sometimes"}), ("limits", {"successfulJobsHistoryLimit": -1}),
                       ("every", {"schedule": "@every 1h"}), ("empty", {"schedule": ""})):
        s.post(cron, {"metadata": {"name": name}, "spec": {"schedule": "0 0 1 1 *", "suspend": True, "jobTemplate": job, **spec}})
    s.patch(cron + "/yearly", {"spec": {"schedule": "1 1 1 1 *"}})
    s.delete(cron + "/yearly", {"propagationPolicy": "Background"})


@script
def secret_types(s):
    p = s.namespace() + "/secrets"
    for name, body in (("opaque", {"stringData": {"a": "b"}}), ("tls", {"type": "kubernetes.io/tls"}),
                       ("tls-full", {"type": "kubernetes.io/tls", "stringData": {"tls.crt": "", "tls.key": ""}}),
                       ("docker", {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{"}}),
                       ("docker-none", {"type": "kubernetes.io/dockerconfigjson"}),
                       ("docker-full", {"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": "{}"}}),
                       ("basic", {"type": "kubernetes.io/basic-auth"}), ("ssh", {"type": "kubernetes.io/ssh-auth"}),
                       ("token", {"type": "kubernetes.io/service-account-token"}), ("own", {"type": "x.example/y"}),
                       ("key", {"stringData": {"a b": "c"}}), ("base64", {"data": {"a": "%"}}), ("fixed", {"immutable": True})):
        s.post(p, {"metadata": {"name": name}, **body})
    s.patch(p + "/opaque", {"type": "x.example/y"})
    s.patch(p + "/opaque", {"stringData": {"a": "c", "d": "e"}})
    s.patch(p + "/fixed", {"stringData": {"a": "c"}})
    s.patch(p + "/fixed", {"immutable": False})


@script
def scales(s):
    path = "/apis/apps/v1" + s.namespace().removeprefix("/api/v1") + "/deployments"
    scale = path + "/web/scale"

    def body(replicas, **meta):
        return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", **meta}, "spec": {"replicas": replicas}}
    s.post(path, deployment(replicas=0))
    s.get(scale)
    s.apply(scale, body(0), manager="one")
    s.apply(scale, body(2), manager="two")
    s.apply(scale, body(0), manager="two", force=True)
    s.apply(scale, {**body(0), "apiVersion": "v1"}, manager="two")
    s.apply(scale, {**body(0), "spec": {"replicas": "x"}}, manager="two")
    s.apply(scale, body(-1), manager="two", force=True)
    s.apply(scale, body(0, resourceVersion="1"), manager="two")
    s.apply(scale, {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}}, manager="one")
    s.apply(path + "/missing/scale", body(0))
    s.get(path + "/web")
    for patch, kind in (({"spec": {"replicas": 0}}, MERGE), ({"spec": {"replicas": 0}}, STRATEGIC),
                        ([{"op": "replace", "path": "/spec/replicas", "value": 0}], JSON_PATCH),
                        ([{"op": "test", "path": "/spec/replicas", "value": 9}], JSON_PATCH), ({"spec": {"x": 1}}, MERGE),
                        ({"metadata": {"name": "other"}}, MERGE), ({"spec": None}, MERGE)):
        s.patch(scale, patch, type=kind)
    s.put(scale, body(0))
    s.put(scale, {})
    s.put(scale, body(0, resourceVersion="1"))
    s.put(scale + "?dryRun=All", body(0))
    s.post(scale, body(0))
    s.delete(scale)
    table = s.ask("GET", scale, accept=TABLE).body
    s.record("table", {"columns": [c["name"] for c in table["columnDefinitions"]], "cells": table["rows"][0]["cells"][:3]})
    s.record("yaml", s.ask("GET", scale, accept=YAML).type)
    s.get(path + "/web")


@script
def forms_of_answers(s):
    p = s.namespace() + "/configmaps"
    s.post(p, {"metadata": {"name": "a"}, "data": {"k": "v", "long": "x\ny"}})
    for query in ("?pretty=true", "?pretty=1", "?pretty=false", "?pretty", "?pretty=x"):
        for path in (p + "/a", p + "/missing"):
            answer = s.ask("GET", path + query)
            s.record(f"GET {path} {query}", {"status": answer.status, "type": answer.type, "lines": answer.text.count("\n") > 1})
    for agent in ("curl/8.0", "Wget/1", "Mozilla/5.0 x", "kubectl/v1"):
        answer = s.ask("GET", p + "/a", headers={"User-Agent": agent})
        s.record(f"GET as {agent}", {"status": answer.status, "lines": answer.text.count("\n") > 1})
    for accept in (YAML, "application/yaml;q=0.5, application/json;q=0.4", "application/json;pretty=1", "text/html", "application/*",
                   "*/*", "application/json;as=Table;v=v1;g=meta.k8s.io,*/*", "application/json;as=Nonsense;v=v1;g=meta.k8s.io", "", ","):
        for path in (p + "/a", p + "/missing"):
            answer = s.ask("GET", path, accept=accept)
            s.record(f"GET {path} as {accept}", {"status": answer.status, "type": answer.type,
                                                 "reason": answer.body.get("reason") if isinstance(answer.body, dict) else None})
    s.get(p, accept="text/html")
    s.get(p + "?watch=true&timeoutSeconds=1", accept="text/html")


@script
def limit_ranges(s):
    core = s.namespace()
    p, ranges, claims = core + "/pods", core + "/limitranges", core + "/persistentvolumeclaims"
    s.post(ranges, {"metadata": {"name": "l"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}, "min": {"cpu": "50m"},
         "max": {"cpu": "1", "memory": "2Gi"}, "maxLimitRequestRatio": {"cpu": "5"}},
        {"type": "Pod", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}},
        {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "10Gi"}}]}})

    def pod(name, *resources, **more):
        return {"metadata": {"name": name}, "spec": {
            "containers": [{"name": f"c{i}", "image": "i", "resources": r} for i, r in enumerate(resources)], **more}}
    # The real server asks a cache for them.
    s.until(lambda: s.ask("POST", p + "?dryRun=All", pod("x", {}))["metadata.annotations"], "the range to count")
    for body in (pod("plain", {}), pod("low", {"requests": {"cpu": "10m"}}), pod("high", {"limits": {"cpu": "2"}}),
                 pod("ratio", {"limits": {"cpu": "1"}, "requests": {"cpu": "60m"}}), pod("three", *[{"limits": {"cpu": "1"}}] * 3),
                 pod("init", {"limits": {"cpu": "400m"}}, initContainers=[{"name": "i", "image": "i"}]),
                 pod("tiny", {"limits": {"memory": "1"}}), pod("much", {"requests": {"memory": "3Gi"}}),
                 pod("given", {"limits": {"cpu": "1", "memory": "1Gi"}}),
                 pod("part", {"requests": {"cpu": "200m"}}), pod("other", {"limits": {"example.com/gpu": "1"}})):
        s.post(p, body)
    s.patch(p + "/plain", {"metadata": {"labels": {"a": "b"}}})
    for name, size in (("small", "1Mi"), ("large", "1Ti"), ("fits", "1Gi")):
        s.post(claims, {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
    s.post(ranges, {"metadata": {"name": "bad"}, "spec": {"limits": [
        {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"}}, {"type": "Container"}, {"type": "Pod", "default": {"cpu": "1"}},
        {"type": "PersistentVolumeClaim"}, {"type": "x"}]}})


@script
def pod_accounts(s):
    core = s.namespace()
    p = core + "/pods"

    def pod(name, **spec):
        return {"metadata": {"name": name}, "spec": {**pod_spec(), **spec}}
    s.post(core + "/serviceaccounts", {"metadata": {"name": "off"}, "automountServiceAccountToken": False,
                                       "imagePullSecrets": [{"name": "x"}]})
    s.until(lambda: s.ask("POST", p + "?dryRun=All", pod("x", serviceAccountName="off")).status == 201, "the account to be known")
    mount = {"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    for body in (pod("plain"), pod("missing", serviceAccountName="nope"), pod("old-name", serviceAccount="nope"),
                 pod("off", serviceAccountName="off"), pod("off-on", serviceAccountName="off", automountServiceAccountToken=True,
                                                           imagePullSecrets=[{"name": "y"}]),
                 pod("none", automountServiceAccountToken=False), pod("init", initContainers=[{"name": "i", "image": "i"}]),
                 pod("own", containers=[{"name": "a", "image": "i", "volumeMounts": [mount]}, {"name": "b", "image": "i"}],
                     volumes=[{"name": "v", "emptyDir": {}}]),
                 pod("all-own", containers=[{"name": "a", "image": "i", "volumeMounts": [mount]}], volumes=[{"name": "v", "emptyDir": {}}]),
                 pod("named", volumes=[{"name": "kube-api-access-x", "emptyDir": {}}]), pod("bad", containers=[]),
                 {"metadata": {"generateName": "gen-a-"}, "spec": pod_spec(serviceAccountName="nope")},
                 {"metadata": {"name": "mirror", "annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": pod_spec(nodeName="n")}):
        s.post(p, body)
    s.apply(p + "/applied", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "applied"}, "spec": pod_spec()})
    s.apply(p + "/applied", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "applied", "labels": {"a": "b"}}, "spec": pod_spec()})


@script
def initial_events_of_custom_kinds(s):
    crds, group = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "initial.example"
    s.ask("POST", crds, {"metadata": {"name": "things." + group}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}})
    p = f"/apis/{group}/v1" + s.namespace().removeprefix("/api/v1") + "/things"
    s.until(lambda: s.ask("GET", p).status == 200, "the kind to be served")
    for name in ("a", "b"):
        s.post(p, {"apiVersion": group + "/v1", "kind": "Thing", "metadata": {"name": name, "labels": {"n": name}}, "x": {"y": [1]}})
    query = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    for more in ("", "&labelSelector=n%3Db"):
        watch = s.watch(p + query + more, 2 if not more else 1)
        events = watch.read()
        s.record("initial events" + more, [e["type"] for e in events if e["type"] != "BOOKMARK"])
    s.get(p + query.replace("&resourceVersionMatch=NotOlderThan", ""))
    s.get(p + "?sendInitialEvents=true")
    s.ask("DELETE", crds + "/things." + group)


@script
def topology_spread(s):
    core = s.namespace()
    apps = "/apis/apps/v1" + core.removeprefix("/api/v1")
    one = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"a": "b"}}}
    for changes in ([{}, {}], [{}, {"whenUnsatisfiable": "ScheduleAnyway"}], [{}, {"maxSkew": 2}], [{}, {}, {}], [{"maxSkew": 0}], [{"maxSkew": -1}],
                    [{"topologyKey": ""}], [{"whenUnsatisfiable": "x"}], [{"whenUnsatisfiable": None}], [{"minDomains": 0}], [{"minDomains": 2}],
                    [{"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}], [{"nodeAffinityPolicy": "x", "nodeTaintsPolicy": "y"}],
                    [{"nodeAffinityPolicy": "Ignore"}], [{"matchLabelKeys": ["x", "x"]}], [{"matchLabelKeys": ["a"]}], [{"matchLabelKeys": ["/"]}],
                    [{"labelSelector": None, "matchLabelKeys": ["x"]}], [{"labelSelector": {"matchLabels": {"/": "b", "A.b/c": "-", "x/" + "y" * 70: "z" * 70}}}],
                    [{"labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "", "operator": "x"}]}}]):
        spec = pod_spec(topologySpreadConstraints=[{**one, **change} for change in changes])
        s.post(core + "/pods?dryRun=All", {"metadata": {"name": "p"}, "spec": spec})
        s.post(apps + "/deployments?dryRun=All", {"metadata": {"name": "d"}, "spec": {
            "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}})
    s.apply(core + "/pods/q", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "q"}, "spec": pod_spec(topologySpreadConstraints=[one, one])})


@script
def numbers_that_do_not_fit(s):
    """Text that is decoded is refused; what an apply or a strategic merge made loses its upper bits."""
    core = s.namespace()
    deployments = "/apis/apps/v1" + core.removeprefix("/api/v1") + "/deployments"
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}}
    s.ask("POST", deployments, {"metadata": {"name": "a"}, "spec": spec})
    for n in ("2147483647", "2147483648", "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e30", "1.5", "1.0", "1e3"):
        def body(kind, version, **more):
            return json.dumps({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, **more}).replace('"N"', n)
        deployment = body("Deployment", "apps/v1", spec={**spec, "replicas": "N"})
        service = body("Service", "v1", spec={"ports": [{"port": 80, "targetPort": "N"}]})
        pod = body("Pod", "v1", spec=pod_spec(activeDeadlineSeconds="N"))
        quota = body("ResourceQuota", "v1", spec={"hard": {"pods": "N"}})
        for path, text in ((deployments, deployment), (core + "/services", service), (core + "/pods", pod), (core + "/resourcequotas", quota)):
            shape(s, "POST", path + "?dryRun=All", text)
            shape(s, "PATCH", path + "/a?dryRun=All&fieldManager=m&force=true", text, type=APPLY)
        shape(s, "PUT", deployments + "/a?dryRun=All", deployment)
        for form in (MERGE, STRATEGIC):
            shape(s, "PATCH", deployments + "/a?dryRun=All", '{"spec":{"replicas":%s}}' % n, type=form)
        shape(s, "PATCH", deployments + "/a?dryRun=All", '[{"op":"replace","path":"/spec/replicas","value":%s}]' % n, type=JSON_PATCH)
    s.patch(deployments + "/a?fieldManager=m", '{"spec":{"replicas":4294967297}}', type=STRATEGIC)
    s.apply(deployments + "/a", '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":4294967298}}', force=True)


@script
def keys_that_stand_twice_in_yaml(s):
    """The last one counts, and there is a warning or an error with the line of each."""
    p = s.namespace() + "/configmaps"
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
    bodies = (head + "data:\n  a: '1'\n  b: x\n  a: '2'\n  b: z\n  a: '3'\n",
              head + "  labels:\n    x: y1\n    x: y2\n  labels: {z: a, z: b}\ndata: {1: a1, 1: a2}\n",
              head + "data: {'c': x,\n  'a': 'b', a: '2'}\nunknown: 3\nunknown: 4\n",
              '{"apiVersion": "v1", "kind": "ConfigMap",\n"metadata": {"name": "a"}, "data": {"a": "b",\n"a": "c"}}')
    for body in bodies:
        for validation in ("", "&fieldValidation=Strict", "&fieldValidation=Warn", "&fieldValidation=Ignore"):
            s.post(p + "?dryRun=All" + validation, body, type=YAML)
            s.send("PATCH", p + "/a?fieldManager=m&dryRun=All" + validation, body, type=APPLY)


@script
def how_long_a_client_waits(s):
    p = s.namespace() + "/configmaps"
    for timeout in ("invalid", "", "1", "-", "1.5m", "1h2m", "1d", ".", "1e3s", "9999999999h", "1s2", "0", "1%20s", "s", "1.m", "%22m", "1%C3%BC"):
        s.get(f"{p}?timeout={timeout}")
    s.get(f"{p}/none?timeout=bad")
    s.post(f"{p}?timeout=bad", {"metadata": {"name": "a"}})
    s.delete(f"{p}/none?timeout=bad")
    for path in ("/apis/nope.example/v1/things", "/version", "/api", "/healthz", "/nonsense"):
        s.get(path + "?timeout=bad")
    s.get(f"{s.namespace()}/pods/none/log?timeout=bad")
