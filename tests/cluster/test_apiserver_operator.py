"""An operator on controller-runtime (tests/tools/go-operator) does the same on a real kube-apiserver and on ours: the
same objects in the end, and nothing in its log that it calls an error."""
import json
import os
import signal
import subprocess

from differential import MERGE, Normal, Ours, Server, Session, differences
from lab import NO_WORKLOADS, ROOT, Failure, spawn, tail, wait_for

LAB = {"controllers": NO_WORKLOADS}
NS, SITES = "sites", "/apis/proof.leeboard.dev/v1/namespaces/sites/sites"
CORE, APPS = "/api/v1/namespaces/sites", "/apis/apps/v1/namespaces/sites"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/sites/leases/site-operator"

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "sites.proof.leeboard.dev"},
    "spec": {"group": "proof.leeboard.dev", "scope": "Namespaced",
             "names": {"kind": "Site", "listKind": "SiteList", "plural": "sites", "singular": "site"},
             "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                 "openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
                     "spec": {"type": "object", "required": ["image"], "properties": {
                         "image": {"type": "string"}, "page": {"type": "string"},
                         "replicas": {"type": "integer", "format": "int32", "default": 1, "minimum": 0}}},
                     "status": {"type": "object", "properties": {
                         "observedGeneration": {"type": "integer", "format": "int64"},
                         "readyReplicas": {"type": "integer", "format": "int32"},
                         "conditions": {
                             "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                             "items": {"type": "object", "required": ["type", "status"], "properties": {
                                 **{k: {"type": "string"} for k in ("type", "status", "reason", "message")},
                                 "lastTransitionTime": {"type": "string", "format": "date-time"},
                                 "observedGeneration": {"type": "integer", "format": "int64"}}}}}}}}}}]}}


def site(name, **spec):
    return {"apiVersion": "proof.leeboard.dev/v1", "kind": "Site", "metadata": {"name": name, "namespace": NS},
            "spec": {"image": "web.test/web:1", "page": "front", **spec}}


class World:
    """One of the two servers, and the operators on it."""

    def __init__(self, name, kubeconfig, folder):
        self.name, self.kubeconfig, self.folder = name, kubeconfig, folder
        self.session, self.operators = Session(Server(name, kubeconfig), "operator"), []

    def ask(self, method, path, body=None, type="application/json"):
        answer = self.session.ask(method, path, body, type=type)
        if answer.status >= 300:
            raise Failure(f"{self.name}: {method} {path}: {answer.status} {answer.text[:500]}")
        return answer.body

    def find(self, path):
        answer = self.session.ask("GET", path)
        return answer.body if answer.status == 200 else None

    def until(self, condition, what):
        def look():
            for process, log in self.operators:
                if process.poll() not in (None, 0):
                    raise Failure(f"{self.name}: the operator ended with {process.returncode}:\n{tail(log, 15)}")
            return condition()
        try:
            return wait_for(look, 120, f"{self.name}: {what}")
        except AssertionError as error:
            logs = "\n".join(tail(log, 15) for _, log in self.operators)
            raise Failure(f"{error}\n{logs}") from error

    def holder(self):
        return ((self.find(LEASE) or {}).get("spec") or {}).get("holderIdentity")

    def start_operator(self):
        program = subprocess.run([f"{ROOT}/tests/tools/go-operator/build"], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip()
        log = f"{self.folder}/{self.name}-operator-{len(self.operators)}.log"
        process = spawn([program, f"--namespace={NS}"], log,
                        env={"KUBECONFIG": self.kubeconfig, "HOME": self.folder, "PATH": os.environ["PATH"]})
        self.operators.append((process, log))
        return process

    def stop_operator(self, process):
        process.send_signal(signal.SIGTERM)
        code = process.wait(90)
        if code:
            logs = "\n".join(tail(log, 10) for _, log in self.operators)
            raise Failure(f"{self.name}: the operator ended with {code} after SIGTERM:\n{logs}")

    def kill(self):
        for process, _ in self.operators:
            process.kill()
            process.wait()

    # What happens

    def play_ready(self, name, replicas):
        """What the Deployment's controller would say, then waits until the operator has said it too."""
        self.until(lambda: self.find(f"{APPS}/deployments/{name}"), f"Deployment {name}")
        self.ask("PATCH", f"{APPS}/deployments/{name}/status",
                 {"status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}}, MERGE)

        def told():
            o = self.find(f"{SITES}/{name}")
            status = o.get("status") or {}
            ready = [c["status"] for c in status.get("conditions", []) if c["type"] == "Ready"]
            return ready == ["True"] and status["observedGeneration"] == o["metadata"]["generation"]
        self.until(told, f"Site {name} to be ready")

    def deployed(self, name, check, what):
        self.until(lambda: (d := self.find(f"{APPS}/deployments/{name}")) and check(d), f"Deployment {name} {what}")

    def settled(self, name):
        def same():
            o = self.find(f"{SITES}/{name}")
            return (o.get("status") or {}).get("observedGeneration") == o["metadata"]["generation"]
        self.until(same, f"Site {name} to be looked at")

    def events(self):
        """{(reason, group that it came by, …)}; how often one came is the machine's."""
        items = self.ask("GET", f"{CORE}/events")["items"]
        return sorted({(e["reason"], e["message"], e["type"], e["involvedObject"]["kind"], e["involvedObject"]["name"],
                        e.get("action", ""), e.get("reportingComponent", ""), (e.get("related") or {}).get("kind", ""))
                       for e in items if e["involvedObject"]["kind"] == "Site"})

    def result(self):
        objects = {}
        for path in (SITES, f"{APPS}/deployments", f"{CORE}/services", f"{CORE}/configmaps"):
            items = self.ask("GET", path)["items"]
            objects[path] = [o for o in items if o["metadata"]["name"] != "kube-root-ca.crt"]
        return {"objects": objects, "events": [list(e) for e in self.events()]}

    def complaints(self):
        for _, log in self.operators:
            with open(log, encoding="utf8") as f:
                for line in f:
                    # Its own lines are JSON; those of client-go begin with a letter for the level, and a date.
                    level = json.loads(line)["level"] if line.startswith("{") else line[:2]
                    if level not in ("info", "debug", "I0", "I1"):
                        yield f"{self.name}: {line.strip()}"


def image_of(d):
    return d["spec"]["template"]["spec"]["containers"][0]["image"]


def page_of(d):
    return d["spec"]["template"]["metadata"]["annotations"]["page"]


def story(world):
    world.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    world.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    world.until(lambda: world.find(SITES), "Sites to be served")
    first = world.start_operator()
    leader = world.until(world.holder, "a leader")
    second = world.start_operator()
    world.ask("POST", f"{CORE}/configmaps", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "front"},
                                             "data": {"page": "one"}})
    for i in range(5):
        world.ask("POST", SITES, site(f"site-{i}", **({"replicas": i} if i else {})))
    for i in range(5):
        world.play_ready(f"site-{i}", i or 1)
    # A change of the spec, of what is shown, and somebody who takes a child away or meddles with it.
    world.ask("PATCH", f"{SITES}/site-1", {"spec": {"image": "web.test/web:2"}}, MERGE)
    world.deployed("site-1", lambda d: image_of(d) == "web.test/web:2", "with the new image")
    world.ask("PATCH", f"{CORE}/configmaps/front", {"data": {"page": "two"}}, MERGE)
    for i in range(5):
        world.deployed(f"site-{i}", lambda d: page_of(d) == "two", "with the new page")
    uid = world.ask("GET", f"{APPS}/deployments/site-3")["metadata"]["uid"]
    world.ask("DELETE", f"{APPS}/deployments/site-3")
    world.deployed("site-3", lambda d: d["metadata"]["uid"] != uid, "made anew")
    world.play_ready("site-3", 3)
    world.ask("DELETE", f"{CORE}/services/site-2")
    world.until(lambda: world.find(f"{CORE}/services/site-2"), "the Service made anew")
    # The other one takes over.
    world.stop_operator(first)
    world.until(lambda: world.holder() not in (leader, "", None), "another leader")
    world.ask("POST", SITES, site("site-5", replicas=2))
    world.play_ready("site-5", 2)
    # The finalizer, then the garbage collector.
    world.ask("DELETE", f"{SITES}/site-4")
    world.until(lambda: not world.find(f"{SITES}/site-4"), "the Site to be gone")
    for path in (f"{APPS}/deployments", f"{CORE}/services"):
        world.until(lambda: not world.find(f"{path}/site-4"), "its children to be gone")
    for i in (0, 1, 2, 3, 5):
        world.settled(f"site-{i}")
    # A Deployment may be made twice (site-3), but every first one has its events in both groups.
    world.until(lambda: len(world.events()) >= 12, "all events")
    world.stop_operator(second)


def test_an_operator_of_controller_runtime_does_the_same_on_both(lab):
    results = {}
    with Ours() as ours:
        for name, kubeconfig in (("real", lab.kubeconfig), ("ours", ours.kubeconfig)):
            world = World(name, kubeconfig, ours.dir)
            try:
                story(world)
                results[name] = Normal().value("", world.result(), None)
                complaints = list(world.complaints())
            finally:
                world.kill()
            if complaints:
                raise Failure(f"{len(complaints)} complaints in the operator's log:\n" + "\n".join(complaints[:5]))
    found = [f"{path}\n    real: {json.dumps(w)[:300]}\n    ours: {json.dumps(g)[:300]}"
             for path, w, g in differences("", results["real"], results["ours"])]
    if found:
        raise Failure(f"{len(found)} differences:\n" + "\n".join(found[:20]))
