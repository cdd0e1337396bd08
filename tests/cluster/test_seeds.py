"""The lessons of the upstream operators' bugs: what others wrote stays, what was deleted comes back
once, what cannot be had is not asked for again and again, one bad object harms nobody.

Each test has been seen to fail with its mechanism taken out; its last lines tell how and with what
words.
"""
import http.server
import os
import threading
import time

from lab import ApiError, own_lab, wait_for
from promises import (CHILDREN, Operator, condition, creations, model, nothing_happens,
                      restart_program, service, wait_children, wait_condition)
from proxy import BEFORE, Proxy
from source import TINY

LAB = {"controllers": "*"}


# What others write, and what we keep of it

FOREIGN = {
    "annotations": {"sidecar.istio.io/inject": "true", "injector.test/status": '{"by":"injector"}'},
    "labels": {"argocd.argoproj.io/instance": "shop", "security.istio.io/tlsMode": "istio"},
}
RESTARTED = "kubectl.kubernetes.io/restartedAt"
SIDECAR = {"name": "sidecar", "image": "sidecar.test/proxy:1"}


def lacks(metadata):
    """The foreign keys that are not as they were written."""
    return [f"{part}.{key}" for part, keys in FOREIGN.items() for key, value in keys.items()
            if (metadata.get(part) or {}).get(key) != value]


class Rollouts:
    """The Deployment of a service, its Service, and how often its pods were rolled."""

    def __init__(self, lab, ns):
        self.lab, self.ns = lab, ns

    def deployment(self):
        return self.lab.get("deployments", self.ns, "svc")

    def template(self):
        return self.deployment()["spec"]["template"]

    def service(self):
        return self.lab.get("services", self.ns, "svc")

    def check(self, expected):
        """So many rollouts, each with a ReplicaSet of its own, and not one more."""
        def observed():
            d = self.deployment()
            return d["status"].get("observedGeneration") == d["metadata"]["generation"] and d
        d = wait_for(observed, 20, "the deployment controller")
        sets = len(self.lab.list("replicasets", self.ns))
        revision = d["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        assert (revision, sets) == (str(expected), expected), \
            f"revision {revision} with {sets} ReplicaSets instead of {expected}"

    def check_foreign(self, restarted_at):
        d, s, t = self.deployment(), self.service(), self.template()
        lost = {"Deployment": lacks(d["metadata"]), "Service": lacks(s["metadata"]),
                "template": lacks(t["metadata"])}
        assert not any(lost.values()), f"stripped: {lost}"
        assert t["metadata"]["annotations"].get(RESTARTED) == restarted_at, t["metadata"]
        assert SIDECAR["name"] in [c["name"] for c in t["spec"]["containers"]], t["spec"]


def test_what_others_wrote_survives_and_each_change_is_one_rollout(lab):
    """Broken by sending plain updates of the Deployment (kube_update) instead of applying it:
    "stripped: {'Deployment': ['annotations.sidecar.istio.io/inject', ...], 'template': [...]}"."""
    ns, start = lab.namespace("others"), lab.mark()
    with Operator(lab) as op:
        lab.apply(ns, [model(), service(podLabels={"team": "a", "old": "x"}, image="llama.test/s:1",
                                        podAnnotations={"note": "one", "drop": "me"})])
        wait_children(lab, ns)
        seen = Rollouts(lab, ns)
        seen.check(1)
        lab.kubectl("-n", ns, "rollout", "restart", "deployment/svc")
        seen.check(2)
        restarted_at = seen.template()["metadata"]["annotations"][RESTARTED]
        lab.api("PATCH", lab.path("deployments", ns, "svc") + "?fieldManager=injector", {
            "metadata": FOREIGN, "spec": {"template": {"metadata": FOREIGN, "spec": {
                "containers": [SIDECAR]}}}}, "application/strategic-merge-patch+json")
        lab.api("PATCH", lab.path("services", ns, "svc") + "?fieldManager=gitops",
                {"metadata": FOREIGN}, "application/merge-patch+json")
        seen.check(3)

        lab.apply(ns, service(podLabels={"team": "b"}, image="llama.test/s:2",
                              podAnnotations={"note": "two"}, endpoint={"port": 8081}))
        wait_for(lambda: seen.service()["spec"]["ports"][0]["port"] == 8081, 10, "the new port")
        wait_for(lambda: seen.template()["metadata"]["labels"].get("team") == "b", 10, "our label")
        op.settle()
        seen.check_foreign(restarted_at)
        t = seen.template()
        assert t["metadata"]["annotations"]["note"] == "two", t["metadata"]
        assert "old" not in t["metadata"]["labels"], t["metadata"]
        assert "drop" not in t["metadata"]["annotations"], t["metadata"]
        images = {c["name"]: c["image"] for c in t["spec"]["containers"]}
        assert "llama.test/s:2" in images.values() and len(images) == 2, images
        seen.check(4)

        op.restart()
        op.settle()
        seen.check_foreign(restarted_at)
        seen.check(4)

        # The API server forgets its watch cache; a version from before is too old for the new one.
        relist = lab.mark()
        lab.create("configmaps", ns, {"metadata": {"name": "moves-the-version"}})
        restart_program(lab, "kube-apiserver")
        lab.apply(ns, service(podLabels={"team": "c"}, image="llama.test/s:2",
                              podAnnotations={"note": "two"}, endpoint={"port": 8081}))
        wait_for(lambda: seen.template()["metadata"]["labels"].get("team") == "c", 30, "our label")
        op.settle()
        seen.check_foreign(restarted_at)
        seen.check(5)

        lab.kubectl("-n", ns, "rollout", "restart", "deployment/svc")
        seen.check(6)
        op.settle()
        assert seen.template()["metadata"]["annotations"][RESTARTED] != restarted_at
        seen.check(6)
    ours = lab.writes(start)
    assert ours["patch deployments"] == 3 and ours["patch services"] == 2, ours
    lists = [e["requestURI"] for e in lab.requests(relist, verbs=("list", "watch"))
             if "/deployments" in e["requestURI"] and (
                 e["verb"] == "list" or "sendInitialEvents=true" in e["requestURI"])]
    assert lists, "the restart of kube-apiserver made nobody list again"


# Sources that cannot be had

class Sources(http.server.BaseHTTPRequestHandler):
    """Says 503 until it is told to serve; remembers when it was asked."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(time.monotonic())
        body = TINY if self.server.healthy else b""
        self.send_response(200 if self.server.healthy else 503)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve_sources():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sources)
    server.asked, server.healthy, server.daemon_threads = [], False, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def as_one_who_obeys_modes(operator_class):
    """Root may read everything; without these two rights it is like everybody else."""
    class Obeying(operator_class):
        def start(self, wait=True):
            drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--"]
            if os.geteuid() == 0 and self.command[0] != drop[0]:
                self.command = [*drop, *self.command]
            super().start(wait)
    return Obeying


def test_a_file_that_cannot_be_read_is_waited_for_quietly(lab):
    """Broken by ending with RETRY instead of WAIT: "looked at 9 times more; wrote Counter()"."""
    ns, folder = lab.namespace("no-file"), f"{lab.dir}/no-file"
    os.makedirs(f"{folder}/cache")
    for name in ("locked", "good"):
        with open(f"{folder}/{name}.gguf", "wb") as f:
            f.write(TINY)
    os.chmod(f"{folder}/locked.gguf", 0)
    flags = (f"--allowed-host-path-roots={folder}", f"--model-cache-path={folder}/cache")
    with as_one_who_obeys_modes(Operator)(lab, *flags) as op:
        lab.apply(ns, [model("missing", source=f"file://{folder}/none.gguf"),
                       model("locked", source=f"{folder}/locked.gguf")])
        for name, file, why in (("missing", "none", "no such file"),
                                ("locked", "locked", "permission denied")):
            degraded = wait_condition(lab, "models", ns, name, "Degraded")
            assert degraded["reason"] and f"{folder}/{file}.gguf" in degraded["message"] \
                and why in degraded["message"], degraded
            assert lab.get("models", ns, name)["status"]["phase"] == "Failed"
        op.settle()
        looks = op.reconciles("model")
        written = nothing_happens(lab, 12)
        again = op.reconciles("model") - looks
        assert not written and again == 0, f"looked at {again:.0f} times more; wrote {written}"
        for name in ("missing", "locked"):  # a change is not left to the look after five minutes
            lab.patch("models", ns, name, {"spec": {"source": f"file://{folder}/good.gguf"}})
            wait_condition(lab, "models", ns, name, "Available")
        seen = lab.get("models", ns, "missing")
        assert condition(seen, "Degraded")["status"] == "False", seen["status"]


def test_a_source_that_answers_503_is_asked_less_and_less_often(lab):
    """Broken by 0.2 s as the longest back-off: "gaps do not grow: [0.14, 0.12, 0.15, 0.18, ...]". How long the
    gaps are at least is certain, how long at most is not: a busy machine makes them longer."""
    ns, server = lab.namespace("busy-source"), serve_sources()
    with Operator(lab, "--allowed-remote-hosts=127.0.0.1",
                  f"--model-cache-path={lab.dir}/busy") as op:
        lab.apply(ns, model("busy", source=f"http://127.0.0.1:{server.server_port}/busy.gguf"))
        wait_for(lambda: len(server.asked) >= 6, 60, "a sixth question to the source")
        gaps = [b - a for a, b in zip(server.asked, server.asked[1:])]
        assert sum(gaps) > 3, f"gaps do not grow: {gaps}"
        told = lab.get("models", ns, "busy")
        assert any("503" in c["message"] for c in told["status"]["conditions"]), told["status"]
        assert op.count("controller_runtime_reconcile_errors_total", controller="model") >= 3
        server.healthy = True
        wait_condition(lab, "models", ns, "busy", "Available", timeout=30)
        assert lab.get("models", ns, "busy")["status"]["gguf"]["architecture"] == "llama"
    server.shutdown()


# Children that go

def in_the_way(lab, what, act):
    """A hook that acts once, just before the next PATCH whose path ends like this is passed on."""
    done = []

    def hook(request, stage):
        if stage == BEFORE and request.method == "PATCH" and not done and \
                request.path.split("?")[0].endswith(what):
            done.append(request)
            act()
    hook.done = done
    return hook


def test_a_child_deleted_between_our_read_and_our_write_comes_back_once(lab):
    """Two mechanisms see to it, a look after the conflict and the watch. Broken by taking both out
    (a conflict ends the pass, object_gone() wakes nobody): "waited 10 s in vain for the Deployment's
    return"."""
    ns = lab.namespace("deleted")
    lab.apply(ns, [model(), service(image="llama.test/s:1")])

    def act():
        gone.append(lab.get("deployments", ns, "svc")["metadata"]["uid"])
        lab.delete("deployments", ns, "svc")
        wait_for(lambda: lab.get("deployments", ns, "svc") is None, 10, "its end")
    gone = []
    with Operator(lab) as op:
        wait_children(lab, ns)
    hook = in_the_way(lab, "/deployments/svc", act)
    with Proxy(lab, hook) as proxy, Operator(lab, kubeconfig=proxy.kubeconfig) as op:
        op.settle()
        assert not hook.done
        mark = lab.mark()
        lab.patch("inferenceservices", ns, "svc", {"spec": {"image": "llama.test/s:2"}})
        wait_for(lambda: gone, 10, "a write to get in the way of")

        def back():
            o = lab.get("deployments", ns, "svc")
            return o and o["metadata"]["uid"] not in gone
        wait_for(back, 10, "the Deployment's return")
        op.settle()
        assert creations(lab, mark) == [("deployments", ns, "svc")], creations(lab, mark)
        image = lab.get("deployments", ns, "svc")["spec"]["template"]["spec"]["containers"][0]
        assert image["image"] == "llama.test/s:2", image


def test_children_deleted_by_hand_again_and_again_come_back_once_each(lab):
    ns, times = lab.namespace("deleted-often"), 8
    with Operator(lab) as op:
        lab.apply(ns, [model(), service()])
        wait_children(lab, ns)
        op.settle()
        mark = lab.mark()
        for _ in range(times):
            for plural in ("services", "deployments"):
                uid = lab.get(plural, ns, "svc")["metadata"]["uid"]
                lab.delete(plural, ns, "svc")

                def back():
                    o = lab.get(plural, ns, "svc")
                    return o and o["metadata"]["uid"] != uid
                wait_for(back, 20, f"{plural}/svc to come back")
        op.settle()
        made = creations(lab, mark)
        expected = [(plural, ns, "svc") for _ in range(times) for plural in ("services",
                                                                          "deployments")]
        assert made == expected, made


def test_a_child_deleted_while_its_owner_is_going_stays_away(lab):
    """Broken by leaving uid and version out of what we apply: "came back: {'deployments': 1, ...}".
    """
    ns = lab.namespace("going")
    held = service(image="llama.test/s:1")
    held["metadata"]["finalizers"] = ["seeds.test/hold"]
    lab.apply(ns, [model(), held])
    with Operator(lab):
        wait_children(lab, ns)

    def act():
        lab.delete("inferenceservices", ns, "svc")
        for plural in ("deployments", "services"):
            lab.delete(plural, ns, "svc")
            wait_for(lambda: lab.get(plural, ns, "svc") is None, 10, "its end")
    hook = in_the_way(lab, "/deployments/svc", act)
    with Proxy(lab, hook) as proxy, Operator(lab, kubeconfig=proxy.kubeconfig) as op:
        op.settle()
        mark = lab.mark()
        lab.patch("inferenceservices", ns, "svc", {"spec": {"image": "llama.test/s:2"}})
        wait_for(lambda: hook.done, 10, "a write to get in the way of")
        nothing_happens(lab, 3)
        op.settle()
        there = {plural: len(lab.list(plural, ns)) for plural in CHILDREN}
        assert not any(there.values()) and not creations(lab, mark), f"came back: {there}"
        lab.patch("inferenceservices", ns, "svc", {"metadata": {"finalizers": None}})
        wait_for(lambda: lab.get("inferenceservices", ns, "svc") is None, 10, "the owner's end")
        op.settle()
        there = {plural: len(lab.list(plural, ns)) for plural in CHILDREN}
        assert not any(there.values()), f"came back: {there}"


# Objects that cannot be read

def open_crds(lab):
    """As a CRD may be edited: everything below spec is admitted."""
    for name in ("models", "inferenceservices"):
        path = lab.path("customresourcedefinitions", None, f"{name}.inference.llmkube.dev")
        crd = lab.api("GET", path)
        for version in crd["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            schema.pop("x-kubernetes-validations", None)
            schema["properties"]["spec"] = {"type": "object",
                                            "x-kubernetes-preserve-unknown-fields": True}
        lab.api("PUT", path, crd)


UNREADABLE = {
    # Name: (kind's plural, spec, what its condition must name)
    "duration": ("inferenceservices", {"slo": {"objective": "99", "window": "soon"}},
                 "spec.slo.window"),
    "quantity": ("inferenceservices", {"resources": {"memory": "4 GB"}}, "spec.resources.memory"),
    "boolean": ("inferenceservices", {"image": True}, "spec.image"),
    "list": ("inferenceservices", {"env": {"A": "b"}}, "spec.env"),
    "env-value": ("inferenceservices", {"env": [{"name": "A", "value": True}]}, "env[0].value"),
    "text": ("inferenceservices", {"contextSize": "much"}, "spec.contextSize"),
    "shape": ("inferenceservices", {"resources": "plenty"}, "spec.resources"),
    "source": ("models", {"source": True}, "spec.source"),
    "files": ("models", {"source": "acme/tiny", "files": ["a.gguf", 7]}, "spec.files[1]"),
    "hardware": ("models", {"source": "acme/tiny", "hardware": "fast"}, "spec.hardware"),
}


def create_soon(lab, plural, ns, body):
    """An edited CRD is not in force at once."""
    def created():
        try:
            return lab.create(plural, ns, body)
        except ApiError as e:
            if e.code != 422:
                raise
            return None
    return wait_for(created, 20, f"the edited CRD to admit {body['spec']}")


def told(lab, plural, ns, name, path):
    """The condition that names the path, or None."""
    o = lab.get(plural, ns, name)
    return next((c for c in (o.get("status") or {}).get("conditions") or ()
                 if path in c["message"]), None)


def check_bystander(lab, ns):
    lab.namespace(ns)
    lab.apply(ns, [model(), service(image="llama.test/s:1")])
    wait_children(lab, ns)
    wait_for(lambda: (lab.get("inferenceservices", ns, "svc").get("status") or {}).get("phase"), 10,
             "the bystander's status")


@own_lab(controllers=None)
def test_an_object_that_cannot_be_read_says_so_and_harms_nobody(lab):
    """Broken by an abort() where a spec cannot be read, and by a plan without a condition for it:
    "waited 15 s in vain for a condition of inferenceservices/boolean that names spec.image"."""
    ns = lab.namespace("unreadable")
    open_crds(lab)
    with Operator(lab) as op:
        lab.apply(ns, model())
        for name, (plural, spec, _) in UNREADABLE.items():
            body = (model if plural == "models" else service)(name)
            body["spec"].update(spec)
            create_soon(lab, plural, ns, body)
        for name, (plural, _, path) in UNREADABLE.items():
            wait_for(lambda: told(lab, plural, ns, name, path), 15,
                     f"a condition of {plural}/{name} that names {path}")
        check_bystander(lab, "bystander-1")
        op.settle()
        op.restart()
        op.settle()
        check_bystander(lab, "bystander-2")
        for name, (plural, _, path) in UNREADABLE.items():
            assert told(lab, plural, ns, name, path), f"{name} after a restart"
        op.settle()
        written = nothing_happens(lab, 3)
        assert not written, f"it does not come to rest: {written}"
