"""Quotas: what is refused and what they say is used, on both servers.

On the real one a controller keeps the status, and admission looks at a copy of it that is a little older. So every request
is tried without effect until it is answered as the script expects it, and what is used is awaited: only then it counts.
"""
import json

from differential import MERGE

SCRIPTS = []


def script(function):
    SCRIPTS.append((f"quota_{function.__name__}", function))
    return function


class Quotas:
    def __init__(self, s):
        self.s, self.core = s, s.namespace()
        self.ns = self.core.removeprefix("/api/v1")

    def path(self, plural, group=None):
        return f"/apis/{group}{self.ns}/{plural}" if group else f"{self.core}/{plural}"

    def make(self, name, hard, used, **spec):
        """A quota, and what is used when it begins."""
        self.s.post(self.path("resourcequotas"), {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name},
                                                  "spec": {"hard": hard, **spec}})
        self.used(name, used)

    def used(self, name, used):
        """Waits until this much is used, and records the status."""
        path = f"{self.path('resourcequotas')}/{name}"
        status = lambda: self.s.ask("GET", path)["status"] or {}
        self.s.until(lambda: status().get("used") == used, f"{name} to have {json.dumps(used)} used, not {json.dumps(status())}")
        self.s.record(f"status of {name}", status())

    def change(self, method, name, body=None):
        """Of a quota; the owners of its status are others here."""
        answer = self.s.ask(method, f"{self.path('resourcequotas')}/{name}", body, type=MERGE)
        self.s.record(f"{method} {name} {body}", {"status": answer.status, "reason": answer["reason"], "spec": answer["spec"]})

    def send(self, code, method, path, body, quota="", **more):
        def answers():
            answer = self.s.ask(method, path + "?dryRun=All", body, **more)
            return answer.status == code and quota in answer.text
        self.s.until(answers, f"{code} {quota} for {json.dumps(body)[:200]}")
        return self.s.send(method, path, body, **more)

    def post(self, code, plural, body, group=None, quota=""):
        """quota: the one that refuses it."""
        return self.send(code, "POST", self.path(plural, group), body, quota and f"quota: {quota},")

    def patch(self, code, path, body):
        return self.send(code, "PATCH", self.path(path), body, type=MERGE)


def named(kind, name, version="v1", **more):
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more}


def pod(name, requests=None, limits=None, more=None, **spec):
    containers = [{"name": "a", "image": "x", "resources": {"requests": requests or {}, "limits": limits or {}}}, *(more or [])]
    return named("Pod", name, spec={"containers": containers, **spec})


def deployment(name):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
    return named("Deployment", name, "apps/v1", spec={"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template})


def claim(name, size, **spec):
    return named("PersistentVolumeClaim", name, spec={
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec})


@script
def counts(s):
    q = Quotas(s)
    hard = {"configmaps": "2", "secrets": "1", "count/deployments.apps": "1", "count/configmaps": "5", "resourcequotas": "2",
            "count/leases.coordination.k8s.io": "1", "replicationcontrollers": "0"}
    used = {"configmaps": "1", "secrets": "0", "count/deployments.apps": "0", "count/configmaps": "1", "resourcequotas": "1",
            "count/leases.coordination.k8s.io": "0", "replicationcontrollers": "0"}
    q.make("all", hard, used)
    q.post(201, "configmaps", named("ConfigMap", "a"))
    q.post(403, "configmaps", named("ConfigMap", "b"))
    q.post(403, "configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}})
    q.post(201, "secrets", named("Secret", "a"))
    q.post(403, "secrets", named("Secret", "b"))
    q.post(201, "deployments", deployment("a"), "apps/v1")
    q.post(403, "deployments", deployment("b"), "apps/v1")
    q.post(422, "deployments", named("Deployment", "b", "apps/v1", spec={}), "apps/v1")
    q.post(201, "leases", named("Lease", "a", "coordination.k8s.io/v1"), "coordination.k8s.io/v1")
    q.post(403, "leases", named("Lease", "b", "coordination.k8s.io/v1"), "coordination.k8s.io/v1")
    q.used("all", {**used, "configmaps": "2", "count/configmaps": "2", "secrets": "1", "count/deployments.apps": "1",
                   "count/leases.coordination.k8s.io": "1"})
    q.make("more", {"count/configmaps": "2"}, {"count/configmaps": "2"})
    q.post(403, "resourcequotas", named("ResourceQuota", "third", spec={"hard": {"pods": "1"}}))
    s.delete(q.path("configmaps") + "/a")
    q.used("more", {"count/configmaps": "1"})
    q.change("PATCH", "more", {"spec": {"hard": {"count/configmaps": "1", "secrets": "3"}}})
    q.used("more", {"count/configmaps": "1", "secrets": "1"})
    q.post(403, "configmaps", named("ConfigMap", "c"), quota="more")
    q.change("DELETE", "more")
    q.post(201, "configmaps", named("ConfigMap", "c"))


@script
def pods(s):
    q = Quotas(s)
    hard = {"pods": "3", "count/pods": "10", "requests.cpu": "1", "memory": "1Gi", "limits.cpu": "2", "requests.ephemeral-storage": "1Gi",
            "requests.nvidia.com/gpu": "1", "limits.memory": "3Gi"}
    none = {**{k: "0" for k in hard}}
    q.make("compute", hard, none)
    some = {"cpu": "250m", "memory": "256Mi"}
    more = {"cpu": "500m", "memory": "512Mi"}
    q.post(403, "pods", pod("silent", None, None, [{"name": "b", "image": "x", "resources": {"requests": {"cpu": "1"}}}]))
    q.post(403, "pods", pod("unlimited", some))
    q.post(201, "pods", pod("a", some, more))
    q.post(403, "pods", pod("b", {"cpu": "800m", "memory": "1Gi"}, {"cpu": "800m", "memory": "1Gi"}))
    q.post(403, "pods", pod("b", {**some, "nvidia.com/gpu": "2"}, {**more, "nvidia.com/gpu": "2"}))
    q.post(403, "pods", pod("b", {**some, "ephemeral-storage": "2G"}, more))
    q.post(201, "pods", pod("b", some, more, initContainers=[
        {"name": "i", "image": "x", "resources": {"requests": {"cpu": "300m", "memory": "1"}, "limits": more}},
        {"name": "side", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "10m", "memory": "1"}, "limits": some}}]))
    q.used("compute", {**none, "pods": "2", "count/pods": "2", "requests.cpu": "550m", "memory": "536870913", "limits.cpu": "1250m",
                       "limits.memory": "1280Mi"})
    s.patch(q.path("pods") + "/a/status", {"status": {"phase": "Succeeded"}})
    status = q.path("resourcequotas") + "/compute"
    s.until(lambda: s.ask("GET", status)["status.used.pods"] == "1", "the pod to count no more")
    s.record("used", {k: v for k, v in s.ask("GET", status)["status.used"].items() if "memory" not in k})
    q.post(201, "pods", pod("c", {"cpu": "700m", "memory": "1Mi"}, {"cpu": "700m", "memory": "1Mi"}))
    q.post(403, "pods", pod("d", {"cpu": "1m", "memory": "1Mi"}, {"cpu": "1m", "memory": "1Mi"}))
    s.delete(q.path("pods") + "/c", {"gracePeriodSeconds": 0})
    q.post(201, "pods", pod("d", {"cpu": "1m", "memory": "1Mi"}, {"cpu": "1m", "memory": "1Mi"}))


@script
def scopes(s):
    q = Quotas(s)
    s.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                                                          "metadata": {"name": "quota-high"}, "value": 1000})
    one = {"pods": "1"}
    for name, scope in (("ends", "Terminating"), ("stays", "NotTerminating"), ("cheap", "BestEffort"), ("sure", "NotBestEffort")):
        q.make(name, one, {"pods": "0"}, scopes=[scope])
    expression = [{"scopeName": "PriorityClass", "operator": "In", "values": ["quota-high"]}]
    q.make("high", one, {"pods": "0"}, scopeSelector={"matchExpressions": expression})
    q.make("far", one, {"pods": "0"}, scopes=["CrossNamespacePodAffinity"])
    q.post(201, "pods", pod("a"))
    q.used("stays", one)
    q.used("cheap", one)
    q.post(403, "pods", pod("b", {"cpu": "1"}))
    q.post(201, "pods", pod("b", {"cpu": "1"}, activeDeadlineSeconds=100))
    q.used("ends", one)
    q.used("sure", one)
    q.patch(403, "pods/a", {"spec": {"activeDeadlineSeconds": 10}})
    s.delete(q.path("pods") + "/b", {"gracePeriodSeconds": 0})
    q.used("ends", {"pods": "0"})
    q.patch(200, "pods/a", {"spec": {"activeDeadlineSeconds": 10}})
    q.used("stays", {"pods": "0"})
    q.used("ends", one)
    q.post(201, "pods", pod("c", {"cpu": "1"}, priorityClassName="quota-high"))
    q.used("high", one)
    q.change("DELETE", "stays")
    q.change("DELETE", "sure")
    q.post(403, "pods", pod("d", {"cpu": "1"}, priorityClassName="quota-high"), quota="high")
    term = {"topologyKey": "a", "namespaces": ["x"], "labelSelector": {}}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    q.post(201, "pods", pod("e", {"cpu": "1"}, affinity=affinity))
    q.used("far", one)
    q.post(403, "pods", pod("f", {"cpu": "1"}, affinity=affinity))
    s.post(q.path("resourcequotas"), named("ResourceQuota", "odd", spec={"hard": {"configmaps": "1"}, "scopes": ["Nonsense"]}))


@script
def services_and_claims(s):
    q = Quotas(s)
    hard = {"services": "3", "services.nodeports": "2", "services.loadbalancers": "1", "count/services": "5"}
    q.make("net", hard, {k: "0" for k in hard})
    ports = [{"name": f"p{n}", "port": n} for n in (1, 2)]
    q.post(201, "services", named("Service", "a", spec={"ports": ports[:1]}))
    q.post(201, "services", named("Service", "b", spec={"type": "NodePort", "ports": ports[:1]}))
    q.post(403, "services", named("Service", "c", spec={"type": "LoadBalancer", "ports": ports}))
    q.post(201, "services", named("Service", "c", spec={"type": "LoadBalancer", "ports": ports[:1]}))
    q.used("net", {"services": "3", "services.nodeports": "2", "services.loadbalancers": "1", "count/services": "3"})
    q.patch(403, "services/a", {"spec": {"type": "NodePort"}})
    q.patch(403, "services/a", {"spec": {"type": "LoadBalancer"}})
    q.patch(200, "services/c", {"spec": {"type": "ClusterIP"}})
    q.used("net", {"services": "3", "services.nodeports": "1", "services.loadbalancers": "0", "count/services": "3"})
    hard = {"persistentvolumeclaims": "2", "requests.storage": "10Gi", "fast.storageclass.storage.k8s.io/requests.storage": "2Gi",
            "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1", "count/persistentvolumeclaims": "9"}
    q.make("disk", hard, {k: "0" for k in hard})
    q.post(403, "persistentvolumeclaims", claim("a", "11Gi"))
    q.post(403, "persistentvolumeclaims", claim("a", "3Gi", storageClassName="fast"))
    q.post(201, "persistentvolumeclaims", claim("a", "1Gi", storageClassName="fast"))
    q.post(201, "persistentvolumeclaims", claim("b", "1500M"))
    q.post(403, "persistentvolumeclaims", claim("c", "1", storageClassName="fast"))
    s.ask("DELETE", q.path("persistentvolumeclaims") + "/b")
    s.ask("PATCH", q.path("persistentvolumeclaims") + "/b", {"metadata": {"finalizers": None}}, type=MERGE)  # or its controller does
    q.used("disk", {"persistentvolumeclaims": "1", "requests.storage": "1Gi", "count/persistentvolumeclaims": "1",
                    "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
                    "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1"})


@script
def other_writes(s):
    """Applied, dry-run, replaced: the same rules."""
    q = Quotas(s)
    q.make("one", {"configmaps": "2"}, {"configmaps": "1"})
    path = q.path("configmaps")
    s.post(path + "?dryRun=All", named("ConfigMap", "dry"))
    q.used("one", {"configmaps": "1"})
    s.apply(path + "/a", named("ConfigMap", "a", data={"a": "b"}))
    q.used("one", {"configmaps": "2"})
    s.apply(path + "/a", named("ConfigMap", "a", data={"a": "c"}))
    s.patch(path + "/a", {"data": {"b": "c"}})
    q.post(403, "configmaps", named("ConfigMap", "a"))
    s.apply(path + "/b", named("ConfigMap", "b"))  # refused by the post before, so by this one
    s.put(path + "/b", named("ConfigMap", "b"))
    q.change("PATCH", "one/status", {"status": {"hard": {"configmaps": "7"}}})
    q.change("PATCH", "one/status", {"status": {"hard": {"nonsense": "7"}, "used": {"configmaps": "0.5"}}})
    s.post(q.path("resourcequotas"), named("ResourceQuota", "bad", spec={"hard": {"configmaps": "1.5", "pods": "x"}}))
    s.post(q.path("resourcequotas"), named("ResourceQuota", "bad", spec={"hard": {"configmaps": "-1", "nonsense": "1", "a/b/c": "1"}}))
    q.make("odd", {"count/nonsense.example.com": "1", "requests.storage": "1"}, {"requests.storage": "0"})
    every = ["BestEffort", "NotBestEffort", "Terminating", "Nonsense"]
    expressions = [{"scopeName": "X", "operator": "In", "values": []}, {"scopeName": "PriorityClass", "operator": "In"},
                   {"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}, {"scopeName": "Terminating", "operator": "Exists"},
                   {"scopeName": "BestEffort", "operator": "In", "values": ["a"]}, {"scopeName": "PriorityClass", "operator": "Nonsense"},
                   {"scopeName": "NotTerminating", "operator": "Exists"}]
    for hard in ({"pods": "1"}, {"pods": "1", "cpu": "1"}, {"configmaps": "1"}, {"requests.storage": "1", "a/b": "1"}, {"hugepages-2Mi": "1"}):
        for scopes in ([], every, every[2:3], ["VolumeAttributesClass"]):
            s.post(q.path("resourcequotas") + "?dryRun=All", named("ResourceQuota", "x", spec={"hard": hard, "scopes": scopes}))
        for expression in expressions:
            s.post(q.path("resourcequotas") + "?dryRun=All", named("ResourceQuota", "x", spec={
                "hard": hard, "scopeSelector": {"matchExpressions": [expression]}}))
    s.post(q.path("resourcequotas"), named("ResourceQuota", "x", spec={"scopeSelector": {"matchExpressions": expressions}}))
    for hard in ({"UP": "1"}, {"requests.foo": "1"}, {"storage": "1"}, {"limits.nvidia.com/gpu": "1"}):
        s.post(q.path("resourcequotas"), named("ResourceQuota", "y", spec={"hard": hard}))
