"""Scripts about what is done to pods beside writing them: logs, binding, eviction, accounts. See differential.py."""
import json

from differential import MERGE, STRATEGIC

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def pod(name, labels=None, annotations=None, **spec):
    meta = {"name": name, **({"labels": labels} if labels else {}), **({"annotations": annotations} if annotations else {})}
    return {"metadata": meta, "spec": {"containers": [{"name": "a", "image": "i"}], **spec}}


TWO = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]


def node(s):
    """A node of this script's own, in the state in which it stays: the real one's controllers write to it, too."""
    name = s.ns + "-node"
    s.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    return name


def upgrade(s, path, upgrade_to, protocol):
    """Asks for another protocol, and records what comes until the server has said all."""
    heads = {**s.server.headers, "Host": "x", "Connection": "Upgrade", "Upgrade": upgrade_to, "Content-Length": 0, **(
        {"Sec-WebSocket-Version": 13, "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Sec-WebSocket-Protocol": protocol}
        if upgrade_to == "websocket" else {"X-Stream-Protocol-Version": protocol})}
    connection = s.server.connect(30)
    method = "GET" if upgrade_to == "websocket" else "POST"
    connection.sock.sendall((f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in heads.items()) + "\r\n").encode())
    answer, said = connection.response_class(connection.sock, method=method), []
    answer.begin()
    if answer.status != 101:
        said = json.loads(answer.read())
    while answer.status == 101 and (head := answer.fp.read(2)):
        size = int.from_bytes(answer.fp.read(2), "big") if head[1] == 126 else head[1]
        frame = answer.fp.read(size)
        said.append([head[0], frame[:1].hex(), json.loads(frame[1:]) if frame[1:2] == b"{" else frame[1:].hex()])
    connection.close()
    s.record(f"{upgrade_to} {protocol} {path}", {"status": answer.status, "protocol": answer.getheader("Sec-WebSocket-Protocol"), "said": said})


def unreachable(s, p):
    """kube-apiserver speaks some protocols itself, and can tell in them that it does not reach a kubelet."""
    for path in ("exec?command=ls&command=-l&stdout=true&stderr=true", "exec?command=ls", "attach?stdout=true&stdin=true&tty=true", "attach?stderr=1",
                 "portforward?ports=80"):
        for protocol in ("v5.channel.k8s.io", "v4.channel.k8s.io", "v4.channel.k8s.io, v5.channel.k8s.io", "nonsense",
                         "SPDY/3.1+portforward.k8s.io"):
            upgrade(s, f"{p}/there/{path}", "websocket", protocol)
        upgrade(s, f"{p}/there/{path}", "SPDY/3.1", "v4.channel.k8s.io")
        upgrade(s, f"{p}/one/{path}", "websocket", "v5.channel.k8s.io")
        upgrade(s, f"{p}/gone/{path}", "websocket", "v5.channel.k8s.io")


def sessions(s, p):
    """What is said of exec, attach and portforward before there is a connection."""
    s.post(p, pod("init", initContainers=[{"name": "x", "image": "i"}]))
    s.get(p + "/init/log")
    for part in ("exec", "attach", "portforward"):
        for name in ("missing", "one", "two", "init", "gone", "there"):
            s.get(f"{p}/{name}/{part}?command=ls&stdout=true")
        for query in ("?container=zz", "?container=x", "?ports=x", "?ports=1,70000", "?tty=1&stderr=1", ""):
            s.get(f"{p}/two/{part}{query}")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            s.send(method, f"{p}/there/{part}", {})


@script
def pod_logs(s):
    p = s.namespace() + "/pods"
    s.post(p, pod("one"))
    s.post(p, pod("two", containers=TWO, initContainers=[{"name": "x", "image": "i"}]))
    s.post(p, pod("hint", annotations={"kubectl.kubernetes.io/default-container": "b"}, containers=TWO))
    for query in ("", "?container=a", "?container=zz", "?tailLines=-1", "?tailLines=0", "?limitBytes=0", "?limitBytes=-1",
                  "?sinceSeconds=0", "?sinceSeconds=-1", "?sinceTime=x", "?tailLines=x", "?follow=x", "?follow=false",
                  "?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", "?timestamps=true&previous=true", "?stream=Stdout",
                  "?tailLines=-1&limitBytes=0&stream=x", "?insecureSkipTLSVerifyBackend=true", "?nonsense=1"):
        s.get(p + "/one/log" + query)
    s.get(p + "/missing/log")
    s.get(p + "/missing/log?tailLines=-1")
    for query in ("", "?container=a", "?container=zz", "?container=x"):
        s.get(p + "/two/log" + query)
    s.get(p + "/hint/log")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        s.send(method, p + "/one/log", {})
    for accept in ("text/plain", "application/yaml", "x/y", "*/*", "text/plain, */*"):
        s.get(p + "/one/log", accept=accept)
    name = node(s)
    s.ask("POST", p, pod("gone", nodeName=s.ns + "-no-node"))
    s.get(p + "/gone/log")
    s.ask("POST", p, pod("there", nodeName=name))
    s.get(p + "/there/log")
    s.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": "localhost"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}}}}, type=MERGE)
    # A server asks its cache for the node's address.
    s.until(lambda: "no preferred" not in s.ask("GET", p + "/there/log").text, "the address of the node")
    s.get(p + "/there/log")
    s.get(p + "/there/log?follow=true&tailLines=4&timestamps=true&previous=true&limitBytes=5&sinceSeconds=4")
    s.get(p + "/there/log?sinceTime=2026-01-02T03:04:05Z&container=a")
    sessions(s, p)
    unreachable(s, p)
    s.delete(p + "/there?gracePeriodSeconds=0")
    s.ask("DELETE", f"/api/v1/nodes/{name}")


def binding(name, node="n1", **meta):
    return {"metadata": {"name": name, **meta}, "target": {"kind": "Node", "name": node}}


@script
def bindings(s):
    core = s.namespace()
    p = core + "/pods"
    for name in ("one", "two", "three", "four"):
        s.post(p, pod(name))
    one = p + "/one/binding"
    s.get(one)
    s.put(one, {})
    s.post(one, {})
    s.post(one, {"target": {"kind": "Node", "name": "n1"}})
    s.post(one, binding("other"))
    s.post(one, {"metadata": {"name": "one"}, "target": {"kind": "Pod", "name": "n1"}})
    s.post(one, {"metadata": {"name": "one"}, "target": {"name": ""}})
    s.post(one, {"metadata": {"name": "one"}, "target": {"kind": "Pod"}})
    s.post(one, {"metadata": {"name": "one"}, "target": "text"})
    s.post(one, binding("one", uid="f47ac10b-58cc-4372-a567-0e02b2c3d479"))
    s.post(one, {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "one"}})
    s.post(one + "?fieldValidation=Strict", {**binding("one"), "x": 1})
    s.post(one + "?dryRun=x", binding("one"))
    s.post(one + "?dryRun=All", binding("one", annotations={"a": "b"}, labels={"l": "m"}))
    s.get(p + "/one")
    s.post(one, binding("one", annotations={"a": "b"}, labels={"l": "m"}))
    s.get(p + "/one")
    s.post(one, binding("one"))
    s.post(one, binding("one", "n2"))
    s.post(p + "/missing/binding", binding("missing"))
    s.post(core + "/bindings", binding("two", "n2"))
    s.get(p + "/two")
    s.post(core + "/bindings", binding("missing"))
    s.post(core + "/bindings", {"target": {"kind": "Node", "name": "n2"}})
    s.post(core + "/bindings", binding("three", namespace="elsewhere"))
    s.get(core + "/bindings")
    s.get("/api/v1/bindings")
    s.get(core + "/bindings/two")
    s.delete(core + "/bindings")
    s.post("/api/v1/bindings", binding("two"))
    s.post(p, pod("gated", schedulingGates=[{"name": "a.b/c"}]))
    s.post(p + "/gated/binding", binding("gated"))
    s.post(p, {**pod("held"), "metadata": {"name": "held", "finalizers": ["a.b/c"]}})
    s.delete(p + "/held")
    s.post(p + "/held/binding", binding("held"))
    s.ask("PATCH", p + "/held", {"metadata": {"finalizers": None}}, type=MERGE)


def eviction(name, **more):
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}


def budget(s, name, generation=1, **status):
    """The status of a budget as its controller would write it."""
    path = "/apis/policy/v1/namespaces/" + s.ns + "/poddisruptionbudgets"
    s.ask("PATCH", f"{path}/{name}/status", {"status": {"observedGeneration": generation, "expectedPods": 1, **status}}, type=MERGE)


@script
def evictions(s):
    p = s.namespace() + "/pods"
    budgets = "/apis/policy/v1/namespaces/" + s.ns + "/poddisruptionbudgets"
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    s.post(p, pod("free"))
    free = p + "/free/eviction"
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        s.send(method, free, eviction("free"))
    s.post(free, {})
    s.post(free, eviction("other"))
    s.post(free, {**eviction("free"), "apiVersion": "v1"})
    s.post(free + "?dryRun=All", {**eviction("free"), "apiVersion": "policy/v1beta1"})
    s.post(free, {**eviction("free"), "kind": "Pod", "apiVersion": "v1"})
    s.post(free, eviction("free", deleteOptions={"propagationPolicy": "x"}))
    s.post(free + "?dryRun=x", eviction("free"))
    s.post(free + "?dryRun=All", eviction("free"))
    s.post(free, eviction("free", deleteOptions={"dryRun": ["All"]}))
    s.get(p + "/free")
    s.post(p + "/missing/eviction", eviction("missing"))
    s.post(free, eviction("free"))
    s.get(p + "/free")
    for name in ("kept", "sick"):
        s.post(p, pod(name, labels={"a": "b"}, nodeName="n1", terminationGracePeriodSeconds=7))
    s.patch(p + "/kept/status", ready, type=STRATEGIC)
    s.patch(p + "/sick/status", {"status": {"phase": "Running"}}, type=STRATEGIC)
    s.post(budgets, {"metadata": {"name": "b1"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}})
    s.post(p + "/kept/eviction", eviction("kept"))
    budget(s, "b1", currentHealthy=1, desiredHealthy=1, disruptionsAllowed=0)
    # The real server asks a cache for budgets.
    s.until(lambda: "healthy pods" in s.ask("POST", p + "/kept/eviction?dryRun=All", eviction("kept")).text, "the budget")
    s.post(p + "/kept/eviction", eviction("kept"))
    s.post(p + "/kept/eviction?dryRun=All", eviction("kept"))
    s.post(p + "/sick/eviction?dryRun=All", eviction("sick"))
    budget(s, "b1", currentHealthy=1, desiredHealthy=1, disruptionsAllowed=1)
    s.until(lambda: s.ask("POST", p + "/kept/eviction?dryRun=All", eviction("kept")).status == 201, "the allowance")
    s.post(p + "/kept/eviction", eviction("kept"))
    s.get(budgets + "/b1")
    s.get(p + "/kept")
    s.post(p + "/kept/eviction", eviction("kept"))
    s.post(budgets, {"metadata": {"name": "b2"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}})
    s.until(lambda: "more than one" in s.ask("POST", p + "/sick/eviction?dryRun=All", eviction("sick")).text, "both budgets")
    s.post(p + "/sick/eviction", eviction("sick"))
    for name in ("kept", "sick"):
        s.delete(p + f"/{name}?gracePeriodSeconds=0")


@script
def parts_of_pods(s):
    p = s.namespace() + "/pods"
    amounts = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}
    s.post(p, pod("a", containers=[{"name": "c", "image": "i", "resources": amounts}, {"name": "d", "image": "i"}]))
    s.post(p, pod("b", ephemeralContainers=[{"name": "w", "image": "i"}]))
    extra, size = p + "/a/ephemeralcontainers", p + "/a/resize"
    for path in (extra, size):
        s.get(path)
        s.post(path, {})
        s.delete(path)

    def with_containers(*list):
        body = s.ask("GET", extra).body
        return {**body, "spec": {**body["spec"], "ephemeralContainers": list}}
    x = {"name": "x", "image": "i"}
    s.put(extra, with_containers(x))
    s.put(extra, with_containers())
    s.put(extra, with_containers(x, {"name": "c", "image": "i"},
                                 {"name": "y", "image": "i", "ports": [{"containerPort": 1}], "livenessProbe": {}}))
    for name, target in (("z", "c"), ("t", "nope")):
        s.patch(extra, {"spec": {"ephemeralContainers": [{"name": name, "image": "i", "targetContainerName": target}]}}, type=STRATEGIC)
    for resources in ({"requests": {"cpu": "200m"}}, {"limits": {"cpu": None}}, {"requests": {"memory": "1Mi"}},
                      {"requests": {"ephemeral-storage": "1Mi"}}, {"limits": {"cpu": "200m", "memory": "1Mi"}},
                      {"requests": {"cpu": "3"}}):
        s.patch(size, {"spec": {"containers": [{"name": "c", "resources": resources}]}}, type=STRATEGIC)
    s.get(p + "/a")
