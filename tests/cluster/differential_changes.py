"""Scripts of test_differential.py about changes of objects of built-in kinds: what may be changed, and what is said if it may not."""
from differential import JSON_PATCH, MERGE
from differential_custom import define, fields

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def template(**labels):
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


@script
def applied_nulls(s):
    anything = {"x-kubernetes-preserve-unknown-fields": True}
    p, one = define(s, "nulls", {**fields(any=anything, may={**anything, "nullable": True}, either={"x-kubernetes-int-or-string": True}, text={"type": "string"},
                                          map={"type": "object", "additionalProperties": anything}, list={"type": "array", "items": anything},
                                          free={"type": "object", **anything})})
    nothing = dict.fromkeys(("any", "may", "either", "text", "map", "list", "free"))
    s.apply(p + "/a", one("a", spec=nothing))
    s.apply(p + "/a", one("a", spec={"any": {"a": None, "b": {"c": None}, "l": [None, {"d": None}]}, "may": {"a": None}, "map": {"a": None, "b": {"c": None}},
                                     "list": [{"a": None}], "free": {"a": None, "b": {"c": None}}}))
    s.apply(p + "/a", one("a", spec=nothing))
    s.apply(p + "/b", one("b", spec={"any": 1, "may": 1, "free": {"a": 1}}))
    s.apply(p + "/b", one("b", spec={"any": None, "may": None, "free": {"a": None}}))
    s.post(p, one("c", spec=nothing))
    s.post(p, one("d", spec={"any": {"a": None, "b": {"c": None}, "l": [None, {"d": None}]}, "free": {"a": None}, "map": {"a": None}}))
    s.apply(p + "/d", one("d", spec={"any": None}), force=True)


@script
def changes_of_stateful_sets(s):
    p = s.namespace().replace("/api/v1", "/apis/apps/v1") + "/statefulsets"
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    s.post(p, {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "serviceName": "s", "template": template(a="b"), "volumeClaimTemplates": [claim]}})
    for path, value in (("accessModes", []), ("accessModes", ["Nonsense"]), ("resources", {}), ("resources/requests/storage", "-1"), ("storageClassName", "A b")):
        s.patch(p + "/a", [{"op": "add", "path": "/spec/volumeClaimTemplates/0/spec/" + path, "value": value}], type=JSON_PATCH)
    s.patch(p + "/a", {"spec": {"serviceName": "A b"}})
    s.patch(p + "/a", {"spec": {"serviceName": "A b", "template": {"spec": {"containers": []}}}})


@script
def changes_of_jobs(s):
    p = s.namespace().replace("/api/v1", "/apis/batch/v1") + "/jobs"
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"suspend": True, "template": template()}}
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    s.post(p, job)
    for label in ("batch.kubernetes.io~1job-name", "batch.kubernetes.io~1controller-uid", "job-name", "controller-uid"):
        s.patch(p + "/a", [{"op": "remove", "path": "/spec/template/metadata/labels/" + label}], type=JSON_PATCH)
        s.patch(p + "/a", [{"op": "replace", "path": "/spec/template/metadata/labels/" + label, "value": "x"}], type=JSON_PATCH)
    s.patch(p + "/a", {"spec": {"template": {"metadata": {"labels": None}}}})


@script
def changes_of_nodes(s):
    p, a = "/api/v1/nodes", "/api/v1/nodes/" + s.ns
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": s.ns, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}}})  # a controller's
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDRs": ["fd00::/64", "10.0.0.0/8", "11.0.0.0/8"]}})
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDRs": ["10.0.0.0/8", "11.0.0.0/8"]}})
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDR": "x"}})
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"podCIDR": "10.0.0.0/8", "podCIDRs": ["fd00::/64"]}})
    s.ask("DELETE", p + "/n")
    s.patch(a, {"spec": {"podCIDRs": ["x"]}})
    s.patch(a, {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"], "providerID": "x://1", "taints": []}})
    s.patch(a, {"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}})
    s.patch(a, {"spec": {"podCIDRs": ["10.1.0.0/24", "fd00::/64"]}})
    s.patch(a, {"spec": {"podCIDR": None, "podCIDRs": None}})
    s.patch(a, {"spec": {"providerID": "x://2"}})
    s.patch(a, {"spec": {"providerID": None}})
    s.patch(a, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule", "value": "b"}]}})
    s.patch(a, {"spec": {"taints": [{"key": "a b", "effect": "No", "value": "b c"}, {"key": "a"}]}})
    s.patch(a, {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]}})
    bad = {"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1500m"}}
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    s.post(p, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": bad})
    s.patch(a, {"status": bad})
    for status in (bad, {"capacity": {"memory": "-1"}}, {"capacity": {"x.y/z": "1500m"}}, {"allocatable": {"cpu": "-100m", "memory": "1500m"}},
                   {"capacity": {"pods": "-1500m"}}):
        s.patch(a + "/status", {"status": status})
    live = s.ask("GET", a).body
    del live["metadata"]["resourceVersion"]
    s.put(a + "/status", {**live, "status": {"addresses": [address, {**address, "type": "Hostname"}, address, address]}})
    s.ask("DELETE", a)


@script
def changes_of_node_ports(s):
    p = s.namespace() + "/services"
    def service(*ports):
        return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [
            {"name": f"p{i}", "port": 80 + i, **port} for i, port in enumerate(ports)]}}
    s.post(p, service({"nodePort": 31701}))
    s.put(p + "/a", service({"nodePort": 31701}, {"nodePort": 31701}))
    s.put(p + "/a", service({"nodePort": 31702}, {"nodePort": 31702}))
    s.put(p + "/a?dryRun=All", service({"nodePort": 31702, "protocol": "UDP"}, {"nodePort": 31702, "protocol": "UDP"}))
    s.put(p + "/a", service({"nodePort": 31701}, {"nodePort": 31701, "protocol": "UDP"}))
    s.delete(p + "/a")


@script
def changes_of_events(s):
    p = s.namespace().replace("/api/v1", "/apis/events.k8s.io/v1") + "/events"
    about = {"kind": "Pod", "name": "a", "namespace": s.ns}
    event = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"}, "eventTime": "2024-01-01T00:00:00.000000Z", "action": "a", "reason": "r",
             "type": "Normal", "reportingController": "c", "reportingInstance": "i", "regarding": about}
    s.post(p, event)
    s.post(p, {**event, "metadata": {"name": "b"}, "series": {"count": 1, "lastObservedTime": None}})
    s.patch(p + "/a", {"series": {"count": 1, "lastObservedTime": None}})
    s.patch(p + "/a", {"series": {"count": 2, "lastObservedTime": None}, "reason": "x"})
    s.patch(p + "/a", {"action": "x", "reason": "x", "type": "Warning", "note": "n", "deprecatedCount": 3, "deprecatedSource": {"host": "h"},
                       "deprecatedFirstTimestamp": "2024-01-01T00:00:00Z", "deprecatedLastTimestamp": "2024-01-01T00:00:00Z",
                       "eventTime": "2025-01-01T00:00:00.000000Z", "related": about, "reportingController": "x", "reportingInstance": "x", "regarding": {"name": "x"}})
    old = f"{s.namespace()}/events"
    s.post(old, {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "o"}, "involvedObject": about, "series": {"count": 1, "lastObservedTime": None}})


@script
def bindings_of_unknown_kinds(s):
    p, rbac = s.namespace(), "/apis/rbac.authorization.k8s.io/v1"
    inside, api = f"{rbac}/namespaces/{s.ns}", {"apiVersion": "rbac.authorization.k8s.io/v1"}
    s.ask("POST", inside + "/roles", {**api, "kind": "Role", "metadata": {"name": "r"}, "rules": [{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"], "verbs": ["*"]}]})
    s.ask("POST", inside + "/rolebindings", {**api, "kind": "RoleBinding", "metadata": {"name": "r"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
                                             "subjects": [{"kind": "User", "name": "u", "apiGroup": "rbac.authorization.k8s.io"}]})
    user = {"Impersonate-User": "u"}
    s.until(lambda: s.ask("GET", inside + "/rolebindings", headers=user).status == 200, "the binding to count")
    for kind, group in (("Nonsense", "rbac.authorization.k8s.io"), ("Role", "x"), ("Role", ""), ("Nonsense", ""), ("", "")):
        s.post(inside + "/rolebindings", {**api, "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"apiGroup": group, "kind": kind, "name": "r"}}, headers=user)
    s.post(inside + "/rolebindings", {**api, "kind": "RoleBinding", "metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "none"}}, headers=user)


@script
def changes_of_ephemeral_containers(s):
    p = s.namespace() + "/pods"
    s.post(p, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    one = {"name": "e", "image": "i", "targetContainerName": "c"}
    s.patch(p + "/a/ephemeralcontainers", {"spec": {"ephemeralContainers": [one]}})
    for change in ([{**one, "image": "j"}], [{**one, "env": [{"name": "a", "value": "b"}]}], [], [{**one, "name": "f"}], [{**one, "tty": True}, {**one, "name": "f"}]):
        s.patch(p + "/a/ephemeralcontainers", {"spec": {"ephemeralContainers": change}})
