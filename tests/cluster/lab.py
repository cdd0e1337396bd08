"""A real control plane and our operator for tests: etcd, kube-apiserver, kube-controller-manager on
loopback ports in a folder of their own, all gone when the test run ends, however it ends.

    with Lab(controllers="*") as lab:
        lab.install_crds("api")
        ns = lab.namespace("chat")
        with Operator(lab) as op:
            lab.apply(ns, MANIFEST)
            wait_for(lambda: lab.get("deployments", ns, "svc"), 10, "the Deployment")
"""
import atexit
import collections
import ctypes
import functools
import glob
import http.client
import json
import os
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# With these off, a status that a test plays stays as the test wrote it.
NO_WORKLOADS = "*," + ",".join(f"-{name}-controller" for name in (
    "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob",
    "horizontal-pod-autoscaler"))

# The same with Jobs: their pods are made, and wait for a node that there is not.
NO_PODS = "*," + ",".join(f"-{name}-controller" for name in (
    "deployment", "replicaset", "statefulset"))

LLMKUBE = "/apis/inference.llmkube.dev/v1alpha1"
GROUPS = {
    "/api/v1": ("pods", "services", "configmaps", "secrets", "serviceaccounts", "events",
                "persistentvolumeclaims", "persistentvolumes", "namespaces", "nodes"),
    "/apis/apps/v1": ("deployments", "statefulsets", "replicasets", "daemonsets", "controllerrevisions"),
    "/apis/discovery.k8s.io/v1": ("endpointslices",),
    "/apis/batch/v1": ("jobs", "cronjobs"),
    "/apis/autoscaling/v2": ("horizontalpodautoscalers",),
    "/apis/policy/v1": ("poddisruptionbudgets",),
    "/apis/coordination.k8s.io/v1": ("leases",),
    "/apis/rbac.authorization.k8s.io/v1": ("roles", "rolebindings", "clusterroles",
                                           "clusterrolebindings"),
    "/apis/apiextensions.k8s.io/v1": ("customresourcedefinitions",),
    LLMKUBE: ("models", "inferenceservices", "modelrouters", "modelpools", "gpuquotas", "loraadapters"),
    "/apis/federation.llmkube.dev/v1alpha1": ("federatedclusters",),
    "/apis/model.otterscale.io/v1alpha1": ("modelservices", "modelartifacts"),
    "/apis/toolhive.stacklok.dev/v1beta1": (
        "mcpservers", "mcpremoteproxies", "virtualmcpservers", "mcpgroups", "mcpserverentries",
        "virtualmcpcompositetooldefinitions", "mcptoolconfigs", "mcpexternalauthconfigs",
        "mcpoidcconfigs", "mcpauthzconfigs", "mcptelemetryconfigs", "embeddingservers",
        "mcpregistries"),
    "/apis/toolhive.stacklok.dev/v1alpha1": ("mcpwebhookconfigs",),
    "/apis/gateway.networking.k8s.io/v1": ("gateways", "httproutes"),
    "/apis/inference.networking.k8s.io/v1": ("inferencepools",),
    "/apis/networking.istio.io/v1beta1": ("destinationrules",),
    "/apis/monitoring.coreos.com/v1": ("podmonitors", "servicemonitors"),
    "/apis/gateway.envoyproxy.io/v1alpha1": ("backends",),
    "/apis/aigateway.envoyproxy.io/v1beta1": ("aiservicebackends", "aigatewayroutes"),
    "/apis/pyrra.dev/v1alpha1": ("servicelevelobjectives",),
}
BASE = {plural: base for base, plurals in GROUPS.items() for plural in plurals}
MUTATING = ("create", "update", "patch", "delete", "deletecollection")
# No wait ends sooner than this: how busy the machine is decides no test.
PATIENCE_S = 90
# Below the ports that the system gives to whoever asks for any: nobody takes one between our look
# and its use.
PORTS = range(10000, 21000)


def wait_for(condition, timeout, what):
    """Calls condition until it returns something true, and returns that. A timeout (in seconds) of
    less than PATIENCE_S counts as that."""
    timeout = max(timeout, PATIENCE_S)
    deadline, pause = time.monotonic() + timeout, 0.01
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s in vain for {what}; the last look: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.25)


def free_port(claims=[]):
    """Never the same twice while this process lives, nor one of another test run on this machine: it may be long
    until it is bound. A claim is a name that the system forgets with its holder."""
    while True:
        port, claim = random.choice(PORTS), socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0leeboard-port-{port}")
            with socket.socket() as s:
                s.bind(("127.0.0.1", port))
        except OSError:  # it is taken
            claim.close()
            continue
        claims.append(claim)
        return port


def die_with_parent(number=signal.SIGKILL):
    """In a child, before exec: whatever ends the test run ends this too."""
    ctypes.CDLL(None).prctl(1, number)


def spawn(command, log, **options):
    """Call it from the main thread: the child dies with the thread that started it."""
    with open(log, "ab") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                preexec_fn=die_with_parent, **options)


def tail(path, lines):
    if not os.path.exists(path):
        return ""
    with open(path, errors="replace") as f:
        return "".join(collections.deque(f, lines))


@functools.cache
def programs():
    """Where etcd, kube-apiserver, kube-controller-manager and kubectl are."""
    return subprocess.run([f"{ROOT}/tools/kube"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


class Failure(AssertionError):
    """Of a test, with a message that says all there is to say."""


class ApiError(Exception):
    def __init__(self, code, body):
        super().__init__(f"{code} {body[:500]}")
        self.code, self.body = code, body


class Lab:
    """A control plane. controllers: what kube-controller-manager runs ("*", NO_WORKLOADS, ...),
    None for no such process. apiserver: further flags for kube-apiserver."""

    HOST = "127.0.0.1"

    def __init__(self, controllers=NO_WORKLOADS, apiserver=()):
        self.dir = tempfile.mkdtemp(prefix="leeboard-lab-")
        self.controllers, self.flags = controllers, tuple(apiserver)
        self.processes, self.operators, self.local = [], [], threading.local()
        self.bin, self.kubeconfig = programs(), f"{self.dir}/kubeconfig"
        self.audit_log = f"{self.dir}/audit.log"
        atexit.register(self.stop)
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    # Starting and stopping

    def _start(self):
        d, peer, client, self.port = self.dir, free_port(), free_port(), free_port()
        for command in (("genrsa", "-out", f"{d}/sa.key", "2048"),
                        ("rsa", "-in", f"{d}/sa.key", "-pubout", "-out", f"{d}/sa.pub")):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        self._write("tokens.csv", 'admin-token,admin,admin,"system:masters"\n')
        self._write("audit.yaml", yaml.dump({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}],
            "omitStages": ["RequestReceived", "ResponseStarted"]}))
        self._run("etcd", f"--data-dir={d}/etcd", "--unsafe-no-fsync",
                  f"--listen-client-urls=http://127.0.0.1:{client}",
                  f"--advertise-client-urls=http://127.0.0.1:{client}",
                  f"--listen-peer-urls=http://127.0.0.1:{peer}",
                  f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                  f"--initial-cluster=default=http://127.0.0.1:{peer}")
        self._run("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}",
                  f"--cert-dir={d}/certs", f"--secure-port={self.port}", f"--bind-address={self.HOST}",
                  "--service-account-issuer=https://kubernetes.default.svc",
                  f"--service-account-key-file={d}/sa.pub",
                  f"--service-account-signing-key-file={d}/sa.key",
                  "--service-cluster-ip-range=10.96.0.0/16", f"--token-auth-file={d}/tokens.csv",
                  "--authorization-mode=RBAC", "--allow-privileged",
                  f"--audit-policy-file={d}/audit.yaml", f"--audit-log-path={self.audit_log}",
                  "--audit-log-maxsize=4000", *self.flags)
        self.write_kubeconfig("kubeconfig", "admin-token")
        wait_for(self._answers, 60, "kube-apiserver to be ready")
        if self.controllers is not None:
            self._run("kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
                      f"--authentication-kubeconfig={self.kubeconfig}",
                      f"--authorization-kubeconfig={self.kubeconfig}", "--bind-address=127.0.0.1",
                      f"--secure-port={free_port()}", "--leader-elect=false",
                      "--use-service-account-credentials=false",
                      f"--service-account-private-key-file={d}/sa.key",
                      f"--root-ca-file={d}/certs/apiserver.crt",
                      # A claim that comes before its volume is looked at again only after this time.
                      "--pvclaimbinder-sync-period=1s",
                      f"--controllers={self.controllers}")
            # It is at work once it has given this namespace its account.
            wait_for(lambda: self.get("serviceaccounts", "default", "default"), 60,
                     "kube-controller-manager to be at work")

    def _write(self, name, text):
        with open(f"{self.dir}/{name}", "w") as f:
            f.write(text)

    def _run(self, program, *args):
        log = f"{self.dir}/{program}.log"
        self.processes.append((program, spawn([f"{self.bin}/{program}", *args], log, cwd=self.dir)))

    def _answers(self):
        for program, process in self.processes:
            if process.poll() is not None:
                log = tail(f"{self.dir}/{program}.log", 15)
                raise AssertionError(f"{program} ended with code {process.returncode}:\n{log}")
        try:
            return self.api("GET", "/readyz") == "ok"
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def stop(self):
        for operator in self.operators:
            operator.kill()
        for _, process in reversed(self.processes):  # disposable: nothing to flush
            process.kill()
            process.wait()
        self.processes.clear()
        shutil.rmtree(self.dir, ignore_errors=True)
        atexit.unregister(self.stop)

    # Who may do what

    def write_kubeconfig(self, name, token):
        """A kubeconfig file for the bearer of a token; returns its path."""
        self._write(name, yaml.dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {
                "server": f"https://{self.HOST}:{self.port}",
                "certificate-authority": f"{self.dir}/certs/apiserver.crt"}}],
            "users": [{"name": "me", "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}]}))
        return f"{self.dir}/{name}"

    def user(self, name, rules, namespace=None):
        """A service account with these RBAC rules (in one namespace or everywhere); returns the
        path of its kubeconfig."""
        home, kind = namespace or "default", "Role" if namespace else "ClusterRole"
        self.create("serviceaccounts", home, {"metadata": {"name": name}})
        self.create(f"{kind.lower()}s", namespace, {"metadata": {"name": name}, "rules": rules})
        self.create(f"{kind.lower()}bindings", namespace, {
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": home}]})
        token = self.api("POST", self.path("serviceaccounts", home, f"{name}/token"), {})
        return self.write_kubeconfig(f"{name}.kubeconfig", token["status"]["token"])

    # Talking to it

    @functools.cached_property
    def tls(self):
        return ssl.create_default_context(cafile=f"{self.dir}/certs/apiserver.crt")

    def api(self, method, path, body=None, content_type="application/json", token="admin-token"):
        """One request; returns the answer as an object (as text if it is none)."""
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "leeboard-lab",
                   "Content-Type": content_type, "Accept": "application/json"}
        for attempt in range(60):
            # The server ends connections that are idle for 90 s, and a POST is not sent twice.
            idle_s = time.monotonic() - getattr(self.local, "used", 0)
            if getattr(self.local, "connection", None) is None or idle_s > 20:
                self.local.connection = http.client.HTTPSConnection(
                    self.HOST, self.port, context=self.tls, timeout=PATIENCE_S)
            try:
                data = None if body is None else json.dumps(body)
                self.local.connection.request(method, path, data, headers)
                answer = self.local.connection.getresponse()
                text = answer.read().decode()
                self.local.used = time.monotonic()
            except (http.client.HTTPException, OSError):  # most often an idle connection's end
                self.local.connection = None
                if attempt == 2 or method == "POST":
                    raise
                continue
            if answer.status != 429:  # a server that is busy says when to ask again
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))
        if answer.status >= 300:
            raise ApiError(answer.status, text)
        return json.loads(text) if text.startswith(("{", "[")) else text

    @staticmethod
    def path(plural, namespace, name=""):
        where = f"/namespaces/{namespace}" if namespace else ""
        return f"{BASE[plural]}{where}/{plural}" + (f"/{name}" if name else "")

    def get(self, plural, namespace, name):
        """The object, or None."""
        try:
            return self.api("GET", self.path(plural, namespace, name))
        except ApiError as e:
            if e.code == 404:
                return None
            raise

    def list(self, plural, namespace=None):
        return self.api("GET", self.path(plural, namespace))["items"]

    def create(self, plural, namespace, body):
        return self.api("POST", self.path(plural, namespace), body)

    def patch(self, plural, namespace, name, body):
        return self.api("PATCH", self.path(plural, namespace, name), body,
                        "application/merge-patch+json")

    def delete(self, plural, namespace, name):
        return self.api("DELETE", self.path(plural, namespace, name))

    def namespace(self, name):
        self.create("namespaces", None, {"metadata": {"name": name}})
        return name

    def kubectl(self, *args, input=None, check=True):
        environment = {"PATH": os.environ["PATH"], "HOME": self.dir, "KUBECONFIG": self.kubeconfig}
        done = subprocess.run([f"{self.bin}/kubectl", *args], env=environment, input=input,
                              text=True, capture_output=True)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done

    def apply(self, namespace, manifest, check=True):
        """kubectl apply of a YAML text, or of an object, or of a list of objects."""
        if not isinstance(manifest, str):
            items = manifest if isinstance(manifest, list) else [manifest]
            manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        return self.kubectl("-n", namespace, "apply", "-f", "-", input=manifest, check=check)

    def install_crds(self, *folders):
        """Every CRD in these folders of the repository; waits until they are served."""
        names = []
        for path in sorted(p for folder in folders for p in glob.glob(f"{ROOT}/{folder}/*.yaml")):
            with open(path) as f:
                crds = [d for d in yaml.safe_load_all(f)
                        if d and d["kind"] == "CustomResourceDefinition"]
            for crd in crds:
                self.create("customresourcedefinitions", None, crd)
                names.append(crd["metadata"]["name"])

        def established(name):
            status = self.get("customresourcedefinitions", None, name).get("status") or {}
            return any(c["type"] == "Established" and c["status"] == "True"
                       for c in status.get("conditions") or ())
        wait_for(lambda: all(map(established, names)), 30, "the CRDs to be established")

    def play_ready(self, namespace):
        """The part of the pods: every Deployment and StatefulSet of the namespace becomes ready."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for plural in ("deployments", "statefulsets"):
            for o in self.list(plural, namespace):
                n = o["spec"].get("replicas", 1)
                status = {"observedGeneration": o["metadata"]["generation"], "replicas": n,
                          "readyReplicas": n, "updatedReplicas": n, "availableReplicas": n}
                if plural == "deployments":
                    status["conditions"] = [{
                        "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                        "message": "played", "lastTransitionTime": now, "lastUpdateTime": now}]
                self.patch(plural, namespace, f"{o['metadata']['name']}/status",
                           {"status": status})

    def play_pods(self, namespace):
        """The part of a kubelet: every pod of the namespace runs and is ready."""
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        for pod in self.list("pods", namespace):
            if pod["status"].get("phase") == "Running":
                continue
            containers = [{"name": c["name"], "image": c["image"], "imageID": "x", "ready": True,
                           "started": True, "restartCount": 0,
                           "state": {"running": {"startedAt": now}}}
                          for c in pod["spec"]["containers"]]
            self.patch("pods", namespace, f"{pod['metadata']['name']}/status", {"status": {
                "phase": "Running", "startTime": now, "containerStatuses": containers,
                "conditions": [{"type": kind, "status": "True", "lastTransitionTime": now}
                               for kind in ("Initialized", "ContainersReady", "Ready",
                                            "PodScheduled")]}})

    # What was asked of it

    def mark(self):
        """A place in the audit log, to count from: the end of its last whole line."""
        with open(self.audit_log, "rb") as f:
            end = f.seek(0, os.SEEK_END)
            while end > 0:
                start = max(0, end - 4096)
                f.seek(start)
                found = f.read(end - start).rfind(b"\n")
                if found >= 0:
                    return start + found + 1
                end = start
        return 0

    def requests(self, since=0, agent="leeboard/", verbs=None):
        """The finished requests since a mark, of the user agents with this prefix."""
        with open(self.audit_log) as f:
            f.seek(since)
            for line in f:
                if not line.endswith("\n"):
                    return
                event = json.loads(line)
                if event.get("userAgent", "").startswith(agent) and (
                        verbs is None or event["verb"] in verbs):
                    yield event

    def writes(self, since=0, agent="leeboard/", leases=False, events=False):
        """How often what was written: {"patch deployments": 2, "patch models/status": 1}."""
        count = collections.Counter()
        for event in self.requests(since, agent, MUTATING):
            what = event.get("objectRef", {})
            resource = what.get("resource", "?")
            if (resource == "leases" and not leases) or (resource == "events" and not events):
                continue
            sub = f"/{what['subresource']}" if what.get("subresource") else ""
            count[f"{event['verb']} {resource}{sub}"] += 1
        return count


class Operator:
    """A running `leeboard operator`. bind: {path: folder} shows it folders in other places."""

    BINARY = os.environ.get("LEEBOARD", f"{ROOT}/build/release/leeboard")

    def __init__(self, lab, *args, kubeconfig=None, bind=None, wait=True):
        self.lab, self.health, self.metrics_port = lab, free_port(), free_port()
        self.log_path = f"{lab.dir}/operator-{len(lab.operators)}.log"
        self.command = [self.BINARY, "operator", *args,
                        f"--health-probe-bind-address=127.0.0.1:{self.health}",
                        f"--metrics-bind-address=127.0.0.1:{self.metrics_port}",
                        "--metrics-secure=false"]
        if bind:
            root = tempfile.mkdtemp(prefix="root-", dir=lab.dir)
            pairs = [f"{path}={folder}" for path, folder in bind.items()]
            self.command = [f"{HERE}/with-folders", root, *pairs, "--", *self.command]
        self.environment = {"KUBECONFIG": kubeconfig or lab.kubeconfig, "HOME": lab.dir,
                            "PATH": os.environ["PATH"]}
        lab.operators.append(self)
        self.process = None
        self.start(wait)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self, wait=True):
        assert not self.running(), "it runs already"
        self.process = spawn(self.command, self.log_path, env=self.environment)
        if wait:
            self.wait_ready()

    def running(self):
        return self.process is not None and self.process.poll() is None

    def ready(self):
        assert self.running(), f"the operator ended with code {self.process.returncode}"
        try:
            url = f"http://127.0.0.1:{self.health}/readyz"
            return urllib.request.urlopen(url, timeout=2).status == 200
        except OSError:
            return False

    def wait_ready(self, timeout=20):
        wait_for(self.ready, timeout, "the operator to be ready")

    def metrics(self):
        """{"name{labels}": value}"""
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        text = urllib.request.urlopen(url, timeout=PATIENCE_S).read().decode()
        pairs = (line.rsplit(" ", 1) for line in text.splitlines() if line[:1] not in ("#", ""))
        return {name: float(value) for name, value in pairs}

    def stop(self, timeout=PATIENCE_S):
        """SIGTERM; returns the exit code."""
        if self.running():
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"the operator did not end within {timeout} s of SIGTERM")
        return self.process.returncode

    def kill(self):
        """SIGKILL, as a crash would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def restart(self):
        self.stop()
        self.start()

    def log(self, lines=1000000):
        return tail(self.log_path, lines)

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exit_on_signals():
    """SIGTERM and SIGHUP unwind like an exception, so that atexit ends what runs."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))


def own_lab(**options):
    """For a test that needs a control plane of its own, with these options for Lab; crds=False: without our CRDs."""
    def mark(test):
        test.lab_options = options
        return test
    return mark
