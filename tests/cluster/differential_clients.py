"""Scripts of test_differential.py: what clients and people send that is not quite usual. Services and their addresses, questions about
rights, tokens, namespaces that end, objects that go, and what a strict server says of fields."""
import urllib.parse

from differential import APPLY, JSON_PATCH, MERGE, PARTIAL, STRATEGIC, TABLE, YAML
from differential_kinds import minimal, resources

SCRIPTS = []
DRY = "?dryRun=All"
RBAC = "rbac.authorization.k8s.io"


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def pod_spec(**more):
    return {"containers": [{"name": "c", "image": "i"}], **more}


# ---- Services ----

def service(name, **spec):
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


GIVEN = (
    {"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilyPolicy": "RequireDualStack"}, {"ipFamilyPolicy": "SingleStack", "ipFamilies": ["IPv4"]},
    {"ipFamilies": ["IPv6"]}, {"ipFamilies": ["IPv4", "IPv6"]}, {"ipFamilies": ["IPv4", "IPv4"]}, {"ipFamilyPolicy": "x"}, {"ipFamilies": ["x"]},
    {"clusterIP": "None", "ipFamilyPolicy": "PreferDualStack"}, {"clusterIP": "None", "selector": {"a": "b"}, "ipFamilyPolicy": "RequireDualStack"},
    {"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack"}, {"clusterIP": "None", "ipFamilies": ["IPv6"]}, {"clusterIPs": ["10.96.200.1"]},
    {"clusterIP": "10.96.200.2", "clusterIPs": ["10.96.200.3"]}, {"clusterIP": "10.96.200.4", "clusterIPs": ["10.96.200.4"]}, {"clusterIP": "10.96.200.4"},
    {"clusterIPs": ["10.96.200.5", "fd00::1"]}, {"clusterIP": "None", "clusterIPs": ["None"]}, {"clusterIP": "", "clusterIPs": []},
    {"clusterIP": "10.96.0.0"}, {"clusterIP": "10.96.255.255"}, {"clusterIP": "010.96.200.6"}, {"clusterIP": "fd00::1"},
    {"clusterIP": "None", "type": "NodePort"}, {"clusterIP": "None", "type": "LoadBalancer"},
    {"type": "ExternalName", "externalName": "a.b", "clusterIP": "10.96.200.7"}, {"type": "ExternalName", "externalName": "a b"},
    {"type": "ExternalName", "externalName": "a.b", "ports": []}, {"type": "ExternalName", "externalName": "a.b", "ipFamilies": ["IPv4"]}, {"externalName": "a.b"},
    {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, {"allocateLoadBalancerNodePorts": False}, {"type": "LoadBalancer", "loadBalancerClass": "x.y/z"},
    {"loadBalancerClass": "x.y/z"}, {"type": "LoadBalancer", "loadBalancerClass": "x y"}, {"type": "LoadBalancer", "loadBalancerSourceRanges": ["1.2.3.4/8", "x", "01.2.3.0/24"]},
    {"loadBalancerSourceRanges": ["1.2.3.0/24"]}, {"type": "NodePort", "healthCheckNodePort": 30500},
    {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30501}, {"type": "LoadBalancer", "externalTrafficPolicy": "x"},
    {"externalTrafficPolicy": "Local"}, {"internalTrafficPolicy": "Local"}, {"trafficDistribution": "x"}, {"trafficDistribution": "PreferSameNode"},
    {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}, {"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 5}}},
    {"type": "NodePort", "ports": [{"name": "a", "port": 1, "nodePort": 31000}, {"name": "b", "port": 2, "nodePort": 31000}]},
    {"type": "NodePort", "ports": [{"name": "a", "port": 1, "nodePort": 31001}, {"name": "b", "port": 1, "protocol": "UDP", "nodePort": 31001}]},
    {"type": "NodePort", "ports": [{"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}, {"name": "c", "port": 54}]},
    {"ports": [{"port": 1, "nodePort": 31002}]}, {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, {"externalIPs": ["127.0.0.1", "x", "0.0.0.0", "::1"]},
    {"externalIPs": ["1.2.3.4"], "clusterIP": "None"})


@script
def addresses_of_services(s):
    p = s.namespace() + "/services"
    for i, spec in enumerate(GIVEN):
        s.post(p, service(f"s{i}", **spec))
    s.ask("DELETE", p)
    s.post(p, service("one", clusterIP="10.96.210.1"))
    s.post(p, service("two", clusterIP="10.96.210.1"))
    s.delete(p + "/one")
    s.post(p, service("two", clusterIP="10.96.210.1"))
    s.delete(p + "/two")
    s.post(p + DRY, service("both", type="NodePort", ports=[{"name": "a", "port": 1, "nodePort": 31003}, {"name": "b", "port": 2, "nodePort": 31003}]))


@script
def changes_of_services(s):
    p = s.namespace() + "/services"
    s.post(p, service("m"))
    balancer = {"type": "LoadBalancer"}
    for spec in ({"type": "NodePort"}, {"type": "NodePort", "ports": [{"port": 80, "nodePort": 31500}]}, {"type": "NodePort", "ports": [{"port": 81}]}, balancer,
                 {**balancer, "allocateLoadBalancerNodePorts": False}, {**balancer, "loadBalancerClass": "x.y/z"}, {**balancer, "externalTrafficPolicy": "Local"},
                 {**balancer, "externalTrafficPolicy": "Cluster"}, {**balancer, "externalTrafficPolicy": "Local", "healthCheckNodePort": 30777},
                 {**balancer, "externalTrafficPolicy": "Local", "healthCheckNodePort": 30778}, {"type": "ClusterIP"}, {"clusterIP": "None"}, {"clusterIP": ""},
                 {"clusterIP": "10.96.201.1"}, {"ipFamilyPolicy": "PreferDualStack"}, {"ipFamilies": ["IPv6"]}, {"type": "ExternalName", "externalName": "x.y"},
                 {"type": "ClusterIP", "clusterIP": "10.96.202.1"}, {"type": "ClusterIP", "clusterIP": "None"}):
        live = s.ask("GET", p + "/m").body
        s.put(p + "/m", {**live, "spec": {**{k: v for k, v in live["spec"].items() if k != "externalName"}, **spec}})
        s.patch(p + "/m", {"spec": spec})
    s.patch(p + "/m/status", {"status": {"loadBalancer": {"ingress": [{"ip": "x"}, {"hostname": "1.2.3.4"}, {"ipMode": "VIP"}]}}})


# ---- rights ----

ATTRIBUTES = [
    {"verb": "get", "resource": "pods"}, {"verb": "get", "resource": "pods", "subresource": "log"}, {"verb": "delete", "resource": "pods"},
    {"verb": "update", "group": "apps", "resource": "deployments", "subresource": "scale"}, {"verb": "get", "resource": "secrets", "name": "x"},
    {"verb": "*", "resource": "pods"}, {"verb": "list", "resource": "pods", "fieldSelector": {"rawSelector": "spec.nodeName=x"}},
    *({"verb": "list", "resource": "pods", "fieldSelector": {"requirements": [r]}} for r in (
        {"key": "a", "operator": "In", "values": ["b"]}, {"key": "a", "operator": "In", "values": ["b", "c"]}, {"operator": "Exists", "values": ["x"]}, {"operator": "In"})),
    *({"verb": "list", "resource": "pods", "labelSelector": l} for l in (
        {"requirements": [{"key": "a", "operator": "x"}]}, {"rawSelector": "((", "requirements": [{}]}, {}, {"rawSelector": "=="},
        {"requirements": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "x"}]}, {"requirements": [{"key": "a b", "operator": "In", "values": ["x y"]}]}))]
REVIEWS = (
    {}, {"spec": {"user": "a"}}, {"spec": {"user": "a", "resourceAttributes": {}, "nonResourceAttributes": {}}}, {"spec": {"user": "a", "nonResourceAttributes": {"path": "x", "verb": "get"}}},
    {"spec": {"groups": [""], "resourceAttributes": {}}}, {"metadata": {"name": "x"}, "spec": {"user": "a", "resourceAttributes": {}}},
    {"metadata": {"namespace": "x"}, "spec": {"user": "a", "resourceAttributes": {}}}, {"status": {"allowed": True}, "spec": {"user": "a", "resourceAttributes": {"verb": "get"}}},
    {"spec": {"user": 1}}, {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"},
    {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"user": "a", "resourceAttributes": {}}})


@script
def access_reviews(s):
    inside, base = s.namespace().removeprefix("/api/v1"), "/apis/authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list"]}, {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]},
             {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["x"], "verbs": ["get"]}]
    s.ask("POST", f"/apis/{RBAC}/v1{inside}/roles", {"metadata": {"name": "r"}, "rules": rules})
    s.ask("POST", f"/apis/{RBAC}/v1{inside}/rolebindings", {"metadata": {"name": "r"}, "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"}, "subjects": [
        {"kind": "User", "name": "bob"}, {"kind": "Group", "name": "team"}]})

    def asked(path, who, attributes, **more):
        return s.post(base + path, {"spec": {**who, "resourceAttributes": {"namespace": s.ns, **attributes}}}, **more)
    s.until(lambda: s.ask("POST", base + "/subjectaccessreviews", {"spec": {"user": "bob", "resourceAttributes": {
        "namespace": s.ns, "verb": "list", "resource": "pods"}}})["status.allowed"], "the rights")
    for attributes in ATTRIBUTES:
        asked("/subjectaccessreviews", {"user": "bob"}, attributes)
        asked("/subjectaccessreviews", {"groups": ["team"], "user": "x", "extra": {"k": ["v"]}}, attributes)
        asked(inside + "/localsubjectaccessreviews", {"user": "bob"}, attributes)
        asked("/selfsubjectaccessreviews", {}, attributes, headers={"Impersonate-User": "bob"})
    for body in REVIEWS:
        for path in ("/subjectaccessreviews", inside + "/localsubjectaccessreviews", "/selfsubjectaccessreviews", "/selfsubjectrulesreviews"):
            s.post(base + path, body)


@script
def token_requests(s):
    ns = s.namespace()
    p = ns + "/serviceaccounts/default/token"
    s.ask("POST", ns + "/pods", {"metadata": {"name": "p"}, "spec": pod_spec()})
    s.ask("POST", ns + "/secrets", {"metadata": {"name": "s"}})
    s.ask("POST", ns + "/serviceaccounts", {"metadata": {"name": "second"}})
    pod = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    for spec in ({"audiences": ["a", "b"]}, {"expirationSeconds": 599}, {"expirationSeconds": 4294967297}, {"expirationSeconds": 3.5}, {"expirationSeconds": "x"},
                 {"x": 1, "expirationSeconds": 600}):
        s.post(p, {"spec": spec})
    for ref in ({**pod, "uid": "x"}, {**pod, "name": "nope"}, {"kind": "Secret", "apiVersion": "v1", "name": "nope"}, {**pod, "kind": "ConfigMap"},
                {**pod, "apiVersion": "apps/v1"}, {}, {"kind": "Pod", "apiVersion": "v1"}):
        s.post(p, {"spec": {"boundObjectRef": ref}})
    for ref in (pod, {**pod, "uid": "x"}, {**pod, "apiVersion": ""}):
        s.post(ns + "/serviceaccounts/second/token", {"spec": {"boundObjectRef": ref}})
    for meta in ({"name": "x"}, {"name": "default", "namespace": "x"}, {"labels": {"a": "b"}, "generateName": "g"}):
        s.post(p, {"metadata": meta})
    s.post("/api/v1/namespaces/missing/serviceaccounts/default/token", {})


@script
def role_references(s):
    path = f"/apis/{RBAC}/v1" + s.namespace().removeprefix("/api/v1") + "/rolebindings" + DRY
    eve = {"headers": {"Impersonate-User": "eve"}}
    for ref in ({"kind": "ClusterRole", "name": "view"}, {"kind": "Role", "name": "nope"}, {"kind": "Role", "name": ""}):
        body = {"metadata": {"name": "rb"}, "roleRef": {"apiGroup": RBAC, **ref}, "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": s.ns}]}
        s.post(path, body)
        s.post(path, body, **eve)


# ---- what ends ----

@script
def namespaces_that_end(s):
    ns = s.namespace()
    s.post(ns + "/configmaps", {"metadata": {"name": "held", "finalizers": ["x.y/z"]}})
    s.put(ns + "/finalize", {"metadata": {"name": s.ns}, "spec": {"finalizers": ["nodomain"]}})
    s.patch(ns + "/status", {"status": {"phase": "Terminating"}})
    s.delete(ns, {"preconditions": {"uid": "x"}})
    s.record("deleted", s.ask("DELETE", ns)["status.phase"])
    s.until(lambda: s.ask("GET", ns + "/configmaps/held")["metadata.deletionTimestamp"], "the contents to be asked to go")
    for meta in ({"name": "n"}, {"generateName": "gen-"}, {}):
        s.post(ns + "/configmaps", {"metadata": meta})
    s.post(ns + "/serviceaccounts/default/token", {})
    s.patch(ns + "/status", {"status": {"phase": "Active"}})
    s.patch(ns + "/configmaps/held", {"metadata": {"finalizers": None}})


@script
def foreground_and_orphans(s):
    p = s.namespace() + "/configmaps"

    def made(name, owner=None, **meta):
        if owner:
            meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata.name"], "uid": owner["metadata.uid"], "blockOwnerDeletion": True}]
        return s.post(p, {"metadata": {"name": name, **meta}})

    def gone(name):
        s.until(lambda: s.ask("GET", f"{p}/{name}").status == 404, name + " to be gone")
    owner = made("owner")
    made("child", owner, finalizers=["x.y/z"])
    s.delete(p + "/owner?propagationPolicy=Foreground")
    s.until(lambda: s.ask("GET", p + "/child")["metadata.deletionTimestamp"], "the child to be asked to go")
    s.patch(p + "/owner", {"metadata": {"finalizers": ["foregroundDeletion", "orphan"]}})
    s.patch(p + "/owner", {"metadata": {"finalizers": ["new.x/y"]}})
    s.patch(p + "/child", {"metadata": {"finalizers": None}})
    gone("owner")
    for finalizer in ("orphan", "foregroundDeletion"):
        owner = made("owner", finalizers=[finalizer])
        made("child", owner)
        s.delete(p + "/owner")
        gone("owner")
        s.until(lambda: not s.ask("GET", p + "/child")["metadata.ownerReferences"], "the child to be free or gone")
        s.ask("DELETE", p + "/child")
    made("held", finalizers=["x.y/z"])
    s.delete(p + "/held")
    s.patch(p + "/held", {"metadata": {"deletionTimestamp": None}})
    s.patch(p + "/held", {"metadata": {"finalizers": []}})
    s.get(p + "/held")


# ---- watching and listing ----

@script
def moves_of_selections(s):
    pods = s.namespace() + "/pods"
    start = s.ask("GET", pods)["metadata.resourceVersion"]

    def watched(query, count, **more):
        return s.watch(f"{pods}?watch=1&timeoutSeconds=20&resourceVersion={start}&{query}", count, **more)
    streams = [watched("fieldSelector=status.phase%3DRunning", 4), watched("fieldSelector=spec.nodeName%3D", 2), watched("fieldSelector=spec.nodeName%3Dn1", 6),
               watched("labelSelector=a%21%3Db", 6), watched("labelSelector=a%3Db&fieldSelector=status.phase%3DRunning", 2),
               watched("labelSelector=%21a", 4, accept=PARTIAL), watched("labelSelector=a%3Db", 2, accept=PARTIAL)]
    s.post(pods, {"metadata": {"name": "a"}, "spec": pod_spec(terminationGracePeriodSeconds=0)})
    s.post(pods + "/a/binding", {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}})
    s.patch(pods + "/a/status", {"status": {"phase": "Running"}})
    s.patch(pods + "/a", {"metadata": {"labels": {"a": "b"}}})
    s.patch(pods + "/a", {"metadata": {"labels": {"a": "c"}}})
    s.patch(pods + "/a/status", {"status": {"phase": "Succeeded"}})
    answer = s.ask("GET", pods + "/a", accept=TABLE)
    s.record("a pod that is done", answer.body["rows"][0]["conditions"])
    s.delete(pods + "/a")
    for stream in streams:
        stream.read()


FIELDS = ("metadata.name=a", "metadata.namespace=a", "spec.nodeName=a", "spec.restartPolicy=Always", "spec.hostNetwork=true", "status.phase=x", "status.podIP=x",
          "status.replicas=1", "status.successful=1", "spec.unschedulable=true", "type=x", "spec.clusterIP=x", "spec.signerName=x", "reason=x", "involvedObject.name=x",
          "metadata.uid=x", "spec.driver=x", "spec.parentRef.name=x", "data.x=y")


@script
def field_selectors_of_all_kinds(s):
    served = resources(s)
    for version, kind in sorted({(o["apiVersion"], o["kind"]) for o in minimal()} & set(served)):
        told, r = {}, served[(version, kind)]
        for field in FIELDS:
            answer = s.ask("GET", f"{r['path']}/{r['name']}?limit=1&fieldSelector={urllib.parse.quote(field)}")
            told[field] = answer.status
        s.record(f"selectors of {version} {kind}", told)


# ---- fields that are unknown or stand twice ----

BODIES = ('"metadata":{"name":"a","labels":{"a":"1","a":"2"},"x":1,"ownerReferences":[{"apiVersion":"v1","kind":"X","name":"n","uid":"u","z":1,"z":2}]}',
          '"metadata":{"name":"a"},"data":{"a":"1","a":"2"},"dat":1', '"metadata":{"name":"a"},"data":{"a":"1"},"data":{"b":"1"},"data":{"c":"1"}', '"kind":"ConfigMap","metadata":{"name":"a"},"Data":{"a":"b"}')


@script
def strict_patches(s):
    ns = s.namespace()
    p = ns + "/configmaps"
    s.post(p, {"metadata": {"name": "a"}, "data": {"k": "v"}})
    for mode in ("Strict", "Warn", "Ignore"):
        query = f"{DRY}&fieldValidation={mode}"
        for body in BODIES:
            text = '{"apiVersion":"v1","kind":"ConfigMap",' + body + "}"
            s.post(p + query, text.replace('"name":"a"', '"name":"n"'))
            s.post(p + query, text.replace('"name":"a"', '"name":"n"'), type=YAML)
            s.put(p + "/a" + query, text)
            s.patch(p + "/a" + query, text, type=MERGE)
            s.patch(p + "/a" + query, text, type=STRATEGIC)
        s.patch(p + "/a" + query, '[{"op":"add","op":"add","path":"/data/a","value":"1"}]', type=JSON_PATCH)
        s.post(ns + "/serviceaccounts/default/token" + query, '{"spec":{"expirationSeconds":3600,"expirationSeconds":3601,"x":1}}')
    for body in ({"metadata": {"name": ""}}, {}, {"metadata": {"name": "a", "uid": "x"}}, {"metadata": {"name": "b", "namespace": "c"}}):
        whole = {"apiVersion": "v1", "kind": "ConfigMap", **body}
        s.put(p + "/a" + DRY, whole)
        for name in ("a", "new", "N"):
            s.patch(f"{p}/{name}{DRY}&fieldManager=m", whole, type=APPLY)


# ---- volumes, and what differs ----

@script
def changes_of_volumes(s):
    volumes, claims = "/api/v1/persistentvolumes", s.namespace() + "/persistentvolumeclaims"
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}
    def volume(name, affinity, **source):
        return {"metadata": {"name": f"{s.ns}-{name}"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none", **source,
                "nodeAffinity": affinity}}
    for i, source in enumerate(({"nfs": {"server": "s", "path": "/x"}}, {"hostPath": {"path": "/x"}}, {"local": {"path": "/x"}})):
        s.post(volumes + DRY, volume(str(i), {"required": {"nodeSelectorTerms": [term]}}, **source))
    for affinity in ({}, {"required": {}}, {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a b", "operator": "x"}]}]}}):
        s.post(volumes + DRY, volume("bad", affinity, hostPath={"path": "/x"}))
    made = volume("v", {"required": {"nodeSelectorTerms": [term]}}, csi={"driver": "d.io", "volumeHandle": "h"})
    s.ask("POST", volumes, made)
    one = f"{volumes}/{s.ns}-v{DRY}"
    for spec in ({"csi": {"volumeHandle": "other"}}, {"nodeAffinity": None}, {"volumeMode": "Block"},
                 {"csi": {"controllerExpandSecretRef": {"name": "n", "namespace": "s"}}}):
        answer = s.ask("PATCH", one, {"spec": spec}, type=MERGE)
        s.record(f"{spec}", [answer.status, sorted({c["field"] for c in (answer.body.get("details") or {}).get("causes") or ()})])
    s.ask("DELETE", f"{volumes}/{s.ns}-v")
    claim = {"metadata": {"name": "c"}, "spec": {"storageClassName": "none", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
                                                 "dataSourceRef": {"apiGroup": "g.io", "kind": "K", "name": "n"}}}
    s.post(claims, claim)
    for spec in ({"resources": {"requests": {"storage": "2Gi"}}}, {"accessModes": ["ReadOnlyMany"]}, {"dataSourceRef": {"name": "m"}}, {"volumeAttributesClassName": "x"}):
        s.patch(f"{claims}/c{DRY}", {"spec": spec})
    s.post("/apis/node.k8s.io/v1/runtimeclasses" + DRY, {"metadata": {"name": "r"}, "handler": "h", "scheduling": {"tolerations": [{"key": "a b", "operator": "x"}]}})
    s.post("/apis/discovery.k8s.io/v1" + claims.removeprefix("/api/v1").replace("persistentvolumeclaims", "endpointslices") + DRY, {
        "metadata": {"name": "e"}, "addressType": "FQDN", "endpoints": []})


@script
def changes_of_pods_and_jobs(s):
    ns = s.namespace()
    jobs = "/apis/batch/v1" + ns.removeprefix("/api/v1") + "/jobs"
    s.post(ns + "/pods", {"metadata": {"name": "a"}, "spec": pod_spec(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}])})
    for spec in ({"containers": [{"name": "c", "env": [{"name": "A", "value": "<b>"}]}]}, {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}, {"hostNetwork": True}):
        s.patch(ns + "/pods/a", {"spec": spec}, type=STRATEGIC)
    live = s.ask("GET", ns + "/pods/a").body
    s.put(ns + "/pods/a/status", {**live, "status": {"phase": "Running"}})
    job = {"metadata": {"name": "j"}, "spec": {
        "suspend": True, "completionMode": "Indexed", "completions": 2, "backoffLimit": 1, "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]},
        "successPolicy": {"rules": [{"succeededCount": 1}]}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(restartPolicy="Never")}}}
    s.post(jobs, job)
    for spec in ({"podFailurePolicy": {"rules": []}}, {"successPolicy": {"rules": [{"succeededCount": 2}]}}, {"template": {"spec": {"hostNetwork": True}}}):
        s.patch(f"{jobs}/j{DRY}", {"spec": spec})
    for type, data in (("kubernetes.io/dockercfg", {".dockercfg": "{"}), ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}), ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""})):
        s.post(ns + "/secrets" + DRY, {"metadata": {"name": "s"}, "type": type, "stringData": data})
