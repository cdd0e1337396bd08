"""What bench/run measures with: a control plane to load, and operators as processes to look at."""
import calendar
import concurrent.futures
import datetime
import glob
import json
import os
import resource
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, f"{ROOT}/tests/cluster")
import source  # noqa: E402
import yaml  # noqa: E402
from lab import (LLMKUBE, MUTATING, Lab, Operator, free_port, spawn,  # noqa: E402
                 tail, wait_for)

NAMESPACE = "load"
AT_ONCE = 16    # requests of the load; as many keys as the engine runs
PACED, PACE = 300, 40  # objects, and objects a second, to compare the cost of one at every size
QUIET_S = 3     # without a write: it has come to rest
BUSY_S = 80     # an operator that has not come to rest by then is measured as it is
CONVERGE_S = 3600  # the server makes a Service the slower, the more there are
READY_S = 120   # an operator that is not ready by then is none
CHILDREN = ("deployments", "services")
GROUP = LLMKUBE.removeprefix("/apis/")


class World:
    """A control plane without controllers: nobody but the operator acts."""

    def __init__(self, folders=()):
        self.lab = Lab(controllers=None, apiserver=["--delete-collection-workers=8"])
        self.lab.install_crds("api")
        for folder in folders:
            self._install_missing(folder)
        self.lab.namespace(NAMESPACE)
        self.lab.namespace("llmkube-system")
        self.source = source.serve(free_port())
        self.weights = f"http://127.0.0.1:{self.source.server_port}/tiny.gguf"

    def _install_missing(self, folder):
        for path in glob.glob(f"{folder}/*.yaml"):
            with open(path) as f:
                for crd in yaml.safe_load_all(f):
                    if not self.lab.get("customresourcedefinitions", None, crd["metadata"]["name"]):
                        self.lab.create("customresourcedefinitions", None, crd)

    def stop(self):
        self.source.shutdown()
        self.lab.stop()

    def cpu(self):
        """Of kube-apiserver and etcd."""
        return sum(cpu_of(process) for _, process in self.lab.processes)

    def model(self):
        return {"apiVersion": GROUP, "kind": "Model", "metadata": {"name": "weights"},
                "spec": {"source": self.weights}}

    @staticmethod
    def service(i):
        return {"apiVersion": GROUP, "kind": "InferenceService",
                "metadata": {"name": f"service-{i}"},
                "spec": {"modelRef": "weights", "replicas": 1}}

    def _each(self, call, items):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(call, items))

    def create_model(self):
        self.lab.create("models", NAMESPACE, self.model())

    def await_model(self):
        wait_for(lambda: (self.lab.get("models", NAMESPACE, "weights").get("status") or {})
                 .get("phase") == "Ready", 60, "the Model to be ready")

    def create(self, n, first=0):
        """InferenceServices that share the Model, up to n of them; returns their uids."""
        made = self._each(lambda i: self.lab.create("inferenceservices", NAMESPACE,
                                                    self.service(i)), range(first, n))
        return [o["metadata"]["uid"] for o in made]

    def create_paced(self, n, first, rate):
        begun = time.time()
        for i in range(first, n):
            time.sleep(max(0, begun + (i - first) / rate - time.time()))
            self.lab.create("inferenceservices", NAMESPACE, self.service(i))

    def play_ready(self, n):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        status = {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "updatedReplicas": 1,
                  "availableReplicas": 1, "conditions": [{
                      "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                      "message": "played", "lastTransitionTime": now, "lastUpdateTime": now}]}
        self._each(lambda i: self.lab.patch("deployments", NAMESPACE, f"service-{i}/status",
                                            {"status": status}), range(n))

    def wipe(self):
        """Everything that the load and its operator made."""
        for plural in ("inferenceservices", "models", *CHILDREN):
            path = self.lab.path(plural, NAMESPACE)
            while self.lab.api("GET", f"{path}?limit=1")["items"]:
                self.lab.api("DELETE", f"{path}?limit=500")  # all at once may take too long
        for claim in self.lab.list("persistentvolumeclaims", NAMESPACE):
            name = claim["metadata"]["name"]
            self.lab.delete("persistentvolumeclaims", NAMESPACE, name)
            self.lab.patch("persistentvolumeclaims", NAMESPACE, name,
                           {"metadata": {"finalizers": None}})


class Audit:
    """The audit log from here on, of one user agent; look() reads on."""

    def __init__(self, lab, agent, children=CHILDREN):
        self.children = children
        self.file = open(lab.audit_log)
        self.file.seek(0, os.SEEK_END)
        self.needle, self.rest = f'"userAgent":"{agent}', ""
        self.count, self.events = {}, 0  # writes by kind, leases not counted; events written
        self.first = None                # when the first write came, in seconds since 1970
        self.made = []                   # when children were created

    def look(self):
        """True if something was written."""
        text = self.rest + self.file.read()
        *lines, self.rest = text.split("\n")
        found = [self._take(json.loads(line)) for line in lines if self.needle in line]
        return any(found)

    def _take(self, event):
        what, code = event.get("objectRef", {}), event.get("responseStatus", {}).get("code", 0)
        resource = what.get("resource")
        if event["verb"] not in MUTATING or resource == "leases":
            return False
        if resource == "events":
            self.events += 1
            return False
        sub = f"/{what['subresource']}" if what.get("subresource") else ""
        key = f"{event['verb']} {resource}{sub}" + (f" ({code})" if code >= 300 else "")
        self.count[key] = self.count.get(key, 0) + 1
        self.first = self.first or seconds(event["requestReceivedTimestamp"])
        if resource in self.children and code == 201:
            self.made.append(seconds(event["stageTimestamp"]))
        return True

    def wait_made(self, children):
        def all_there():
            self.look()
            return len(self.made) >= children
        wait_for(all_there, CONVERGE_S, "all children")

    def wait_quiet(self):
        """True when no write came for QUIET_S, False when that took longer than BUSY_S."""
        start = last = time.monotonic()
        while time.monotonic() - last < QUIET_S:
            if time.monotonic() - start > BUSY_S:
                return False
            if self.look():
                last = time.monotonic()
            time.sleep(0.2)
        return True

    def rate(self):
        """Children a second, from the first request's arrival to the last child's creation."""
        took = max(self.made) - self.first
        return {"children": len(self.made), "s": took, "rate": len(self.made) / took}


def seconds(stamp):
    whole, _, part = stamp.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{part or 0}")


class Process:
    """An operator under measurement."""

    def __init__(self, world, name, agent, command, llmkube=True):
        self.world, self.name, self.agent = world, name, agent
        self.health = free_port()
        cache = f"{world.lab.dir}/cache-{name}"
        os.makedirs(cache, exist_ok=True)
        self.command = [*command, f"--health-probe-bind-address=127.0.0.1:{self.health}",
                        "--metrics-bind-address=0"]
        if llmkube:
            self.command += [f"--model-cache-path={cache}", "--allowed-remote-hosts=127.0.0.1"]
        self.log, self.process = f"{world.lab.dir}/{name}.log", None

    def start(self):
        """Returns the milliseconds until /readyz says yes."""
        environment = {"KUBECONFIG": self.world.lab.kubeconfig, "HOME": self.world.lab.dir,
                       "PATH": os.environ["PATH"]}
        start = time.monotonic()
        try:
            self.process = spawn(self.command, self.log, env=environment)
        except OSError as e:
            raise SystemExit(f"{self.name} cannot be started: {e}") from None
        connection = None
        try:
            while True:
                connection, ready = self._ask(connection)
                if ready:
                    return (time.monotonic() - start) * 1000
                code = self.process.poll()
                if code is not None:
                    raise SystemExit(f"{self.name} ended with {code} instead of getting ready "
                                     f"(/readyz on its health port):\n{tail(self.log, 20)}")
                if time.monotonic() - start > READY_S:
                    self.stop()
                    raise SystemExit(f"{self.name} is not ready after {READY_S} s (/readyz on its "
                                     f"health port); is it an operator?\n{tail(self.log, 20)}")
                time.sleep(0.002)
        finally:
            if connection:
                connection.close()

    def _ask(self, connection):
        """(connection to go on with, whether it is ready): so light that it takes little of the
        processor from what it measures."""
        try:
            if not connection:
                connection = socket.create_connection(("127.0.0.1", self.health), timeout=5)
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = connection.recv(4096)
            if answer:
                return connection, answer.startswith(b"HTTP/1.1 200")
        except OSError:
            pass
        if connection:
            connection.close()
        return None, False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def memory(self):
        """Resident now and at most, in MB."""
        with open(f"/proc/{self.process.pid}/status") as f:
            fields = dict(line.split(":", 1) for line in f)
        return tuple(int(fields[key].split()[0]) / 1024 for key in ("VmRSS", "VmHWM"))

    def cpu(self):
        return cpu_of(self.process)


def cpu_of(process):
    """Seconds, of all threads."""
    with open(f"/proc/{process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ours(world):
    return Process(world, "leeboard", "leeboard/", [Operator.BINARY, "operator"])


def peer(world, binary):
    # client-go names a program by its file.
    return Process(world, "llmkube", f"{os.path.basename(binary)}/",
                   [binary, "--metrics-secure=false"])


def prove(process):
    """A peer that is no operator is found out before half an hour of measurements of ours."""
    process.start()
    process.stop()


# The measurements, each on a world without load, which it leaves so


def load(world, process, n, options):
    """Creates n objects under a running operator. Also the idle figures, and those after a restart
    if options.rest."""
    out = {"n": n}
    out["ready_ms"] = starts(process, options.starts)
    time.sleep(options.idle)
    out["idle_mb"], out["idle_peak_mb"] = process.memory()
    audit, cpu = Audit(world.lab, process.agent), process.cpu()
    world.create_model()
    world.await_model()
    begun = time.time()
    world.create(n)
    out["created_s"] = time.time() - begun
    audit.wait_made(len(CHILDREN) * n)
    out["children_s"] = max(audit.made) - begun
    out["rests"], out["cpu_s"] = audit.wait_quiet(), process.cpu() - cpu
    out["loaded_mb"], out["loaded_peak_mb"] = process.memory()
    out["writes"], out["events"] = audit.count, audit.events
    if options.rest:
        out.update(after_load(world, process, n, options))
    process.stop()
    if options.rest:
        out["restart_ms"] = starts(process, options.starts)
        time.sleep(options.idle)
        out["restart_mb"], out["restart_peak_mb"] = process.memory()
        process.stop()
        out["lists_ms"] = lists(world, process)
    world.wipe()
    return out


def add(world, process, first, last, rate=None):
    """What objects cost that come under a running operator: as fast as they can, or so many a second."""
    audit, cpu, begun = Audit(world.lab, process.agent), process.cpu(), time.time()
    if rate:
        world.create_paced(last, first, rate)
    else:
        world.create(last, first)
    audit.wait_made(len(CHILDREN) * (last - first))
    return {"added": last - first, "s": max(audit.made) - begun, "rests": audit.wait_quiet(),
            "cpu_s": process.cpu() - cpu, "writes": audit.count}


def grow(world, process, sizes, told):
    """One operator and more and more objects; what each step costs, and what some more cost that
    come at the same pace at every size: the server is the slower the more there are, and an
    operator that is woken for less at a time does more for each. Leaves the objects there."""
    out, before = {}, 0
    process.start()
    world.create_model()
    world.await_model()
    for n in sizes:
        if n <= before:
            raise SystemExit(f"--growth: {n} is not more than {before}: {PACED} come after each size")
        out[n] = add(world, process, before, n)
        out[n]["loaded_mb"], out[n]["peak_mb"] = process.memory()
        before = n + PACED
        out[n]["paced"] = add(world, process, n, before, PACE)
        told(n, out[n])
    process.stop()
    return out


def starts(process, times):
    """The quickest of several starts; the last one goes on."""
    best = process.start()
    for _ in range(times - 1):
        process.stop()
        best = min(best, process.start())
    return best


def after_load(world, process, n, options):
    out, audit, cpu = {}, Audit(world.lab, process.agent), process.cpu()
    world.play_ready(n)
    audit.wait_quiet()
    out["ready_cpu_s"] = process.cpu() - cpu
    out["ready_writes"], out["ready_events"] = audit.count, audit.events
    audit, cpu = Audit(world.lab, process.agent), process.cpu()
    time.sleep(options.rest)
    audit.look()
    out["rest_cpu_s"], out["rest_writes"] = process.cpu() - cpu, audit.count
    out["rest_s"] = options.rest
    out["rest_mb"], out["rest_peak_mb"] = process.memory()
    return out


def burst(world, process, n):
    """n objects that are there when the operator starts: nothing holds it back but the server."""
    process.start()
    world.create_model()
    world.await_model()
    process.stop()
    world.create(n)
    audit, before = Audit(world.lab, process.agent), world.cpu()
    process.start()
    started = process.cpu()
    audit.wait_made(len(CHILDREN) * n)
    out = {**audit.rate(), "client_cpu_s": process.cpu() - started,
           "server_cpu_s": world.cpu() - before}
    process.stop()
    world.wipe()
    return out


def send(world, lines):
    """Gives requests to tests/tools/request_rate.c."""
    tool = f"{ROOT}/build/release/request_rate"
    done = subprocess.run([tool, world.lab.kubeconfig, str(AT_ONCE)], text=True, check=True,
                          input="".join(json.dumps(line) + "\n" for line in lines),
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def apply(body, subresource=""):
    group, kind, meta = body["apiVersion"], body["kind"].lower() + "s", body["metadata"]
    base = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    return {"method": "PATCH", "type": "application/apply-patch+yaml", "body": json.dumps(body),
            "path": f"{base}/namespaces/{NAMESPACE}/{kind}/{meta['name']}{subresource}"
                    "?fieldManager=leeboard&fieldValidation=Warn" +
                    ("&force=true" if subresource else "")}


def standby(world):
    """Our operator with all its watches, but somebody else holds the lease: it writes nothing."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "bench-standby"},
             "spec": {"holderIdentity": "bench", "leaseDurationSeconds": 3600, "renewTime": now, "acquireTime": now}}
    if not world.lab.get("leases", "default", "bench-standby"):
        world.lab.create("leases", "default", lease)
    process = ours(world)
    process.command += ["--leader-elect", "--leader-election-id=bench-standby",
                        "--leader-election-namespace=default"]
    return process


def raw(world, n, watched=False):
    """The requests that our operator would make for n objects, without an operator; watched: while one
    that only watches is served too."""
    watcher = standby(world) if watched else None
    if watcher:
        watcher.start()
    try:
        return raw_requests(world, n)
    finally:
        if watcher:
            watcher.stop()


def raw_requests(world, n):
    rendered = json.loads(subprocess.run(
        [Operator.BINARY, "render", "-o", "json", "--with-status", "-n", NAMESPACE, "-f", "-"],
        input=json.dumps({"apiVersion": "v1", "kind": "List",
                          "items": [world.model(), world.service(0)]}),
        text=True, check=True, stdout=subprocess.PIPE).stdout)
    children = [c for c in rendered["children"] if c["kind"] in ("Deployment", "Service")]
    whole = next(o for o in rendered["inputs"] if o["kind"] == "InferenceService")
    status = {k: whole[k] for k in ("apiVersion", "kind", "status")}
    status["metadata"] = {"name": "service-0", "namespace": NAMESPACE}
    world.create_model()
    uids, lines = world.create(n), []
    for i, uid in enumerate(uids):
        text = json.dumps([*children, status]).replace("service-0", f"service-{i}")
        *mine, last = json.loads(text)
        for child in mine:
            child["metadata"]["ownerReferences"][0]["uid"] = uid
        lines.append([[apply(child) for child in mine], [apply(last, "/status")]])
    audit, before = Audit(world.lab, "request-rate/"), world.cpu()
    mine = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = send(world, lines)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if told["refused"]:
        raise SystemExit(f"{told['refused']} of {told['requests']} raw requests were refused")
    audit.wait_made(len(CHILDREN) * n)
    out = {**audit.rate(), "server_cpu_s": world.cpu() - before,
           "client_cpu_s": used.ru_utime + used.ru_stime - mine.ru_utime - mine.ru_stime}
    world.wipe()
    return out


def lists(world, process):
    """Milliseconds for the lists that the operator loads, as it asks for them and by the same
    client, with nothing behind them. Call it with the objects there and the operator gone."""
    with open(world.lab.audit_log) as f:
        asked = {json.loads(line)["requestURI"] for line in f
                 if process.agent in line and '"verb":"watch"' in line}
    paths = sorted({uri.split("?")[0] for uri in asked})
    query = ("?watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
             "&resourceVersionMatch=NotOlderThan")
    lines = [[[{"method": "GET", "path": path + query, "until": '"k8s.io/initial-events-end"'}]]
             for path in paths]
    return min(send(world, lines)["milliseconds"] for _ in range(3))
