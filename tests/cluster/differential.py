"""The same script of requests to a real kube-apiserver and to ours; what comes back must be the same.

A script is a function that takes a Session, sends requests with it and uses what its own server answered (a uid, a
version) in later ones. It runs once on each server; then the two transcripts are compared request by request: status,
content type, body. What each server chooses for itself is normalised: the n-th uid that a script meets is uid#n on both
sides, the n-th resourceVersion rv#n, and so on, so that "the same one again" is still seen.

The contract (docs/ARCHITECTURE.md): equal are status code, reason, the field paths of causes, what is accepted and
refused, and what is stored. Sentences need not be equal, except the PHRASES that tools match on; of warnings only
whether there are any is compared. See contract().

INTENDED lists what differs on purpose, and why.
"""
import base64
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import tempfile
import time

import yaml

from lab import ROOT, Failure, free_port, spawn, tail, wait_for

BUILD = os.environ.get("LEEBOARD_BUILD", ROOT + "/build/release")
JSON = "application/json"
APPLY, YAML = "application/apply-patch+yaml", "application/yaml"
MERGE, JSON_PATCH, STRATEGIC = (f"application/{n}-patch+json" for n in ("merge", "json", "strategic-merge"))
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GENERATED = re.compile(r"\b(gen[-_][a-z0-9-]*?|kube-api-access-)[bcdfghjklmnpqrstvwxz2456789]{5}\b", re.IGNORECASE)
VERSION = re.compile(r'(resourceVersion\\?":\\?"|current: |in record \(|too old resource version: )(\d+)( \(\d+\))?')
ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")

# What tools look for in a message, by the reason of the Status.
PHRASES = {"AlreadyExists": ("already exists",), "Conflict": ("has been modified",), "NotFound": ("not found",),
           "Forbidden": ("is forbidden", "exceeded quota", "violates PodSecurity"), "Invalid": ("field is immutable",),
           "Expired": ("too old resource version",)}

# Groups and kinds that are stored and that nothing here acts on: their schema is checked, they have no rules of their own.
STORED_ONLY = {"admissionregistration.k8s.io", "flowcontrol.apiserver.k8s.io", "resource.k8s.io", "certificates.k8s.io", "apiregistration.k8s.io",
               "IPAddress", "ServiceCIDR", "Ingress", "IngressClass", "NetworkPolicy", "CSIDriver", "CSINode", "CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"}
# Fields of other kinds that nothing here reads.
STORED_FIELDS = {"resourceClaims", "claims", "windowsOptions", "controllerPublishSecretRef", "nodeStageSecretRef",
                 "nodePublishSecretRef", "controllerExpandSecretRef", "nodeExpandSecretRef"}

# (part of the script's name, pattern of "REQUEST: PATH", why)
INTENDED = [
    ("bodies", r'^POST \S+ (\x00|a: b: c|\{|\{"kind":"ConfigMap")?: .body.message$',
     "What is wrong with YAML is said in the words of the library that reads it."),
    ("applies", r"fieldManager=script \{: .body.message$",
     "What is wrong with YAML is said in the words of the library that reads it."),
    ("names", r'/services .*"name": "(a/b|\.\.|\.|1||%)".*: .body.(message|details.causes|spec.clusterIP)',
     "The real server stores an IPAddress for a Service before it looks at the Service's name."),
    ("update", "fieldManager=%00 ", "Our texts hold no NUL: a query with one is refused."),
    ("kind_daemonset", "^GET .*: .body.metadata.annotations$",
     "The annotation is a field of the real server's own form of the object, which has none when metadata is asked for."),
    ("certificate", r": .body(\.items\[0\])?.spec.(extra|uid|username)$", "The administrators of the two servers have different names."),
    ("quota_scopes", r"/pods .*\"name\": \"d\".*: .body.message$", "Of two quotas that both say no, the real server names either."),
    ("quota", r"/resourcequotas.*: .warnings$", "Whoever makes a quota of something that is not counted here is told."),
    ("", r"\"strategy\": \"Webhook\".*: .warnings$", "Whoever makes a definition with a webhook is told that it is not asked here."),
    ("conversion_webhooks", r"(/customresourcedefinitions .*: .warnings|: .body.message)$", "The real server asks the webhook, ours says that it does not."),
    ("openapi", r"meta.v1.(DeleteOptions|WatchEvent).x-kubernetes-group-version-kind$",
     "The real server tags them with every version of every group that its code knows, served or not."),
    ("openapi", r"/proxy(/\{path\})?$", "Requests to pods, services and nodes are not passed on."),
    ("openapi", "Component(Status|Condition)|componentstatuses", "Deprecated, and about components that are not there."),
    ("definitions_", "^closed: $", "The real server ends the connection where it fails itself."),
    ("spoiled", "^closed: $", "The real server ends the connection where it fails itself, as on a merge key that is a list."),
    ("paths", "^NONSENSE ", "Our reader of HTTP knows the registered methods; others are a 400 and end the connection."),
]


def stored_only(o):
    """Whether an object is not compared, because its kind has no rules here."""
    return o["apiVersion"].split("/")[0] in STORED_ONLY or o["kind"] in STORED_ONLY


class Server:
    """Where to send requests, and as whom."""

    def __init__(self, name, kubeconfig):
        with open(kubeconfig, encoding="utf8") as f:
            config = yaml.safe_load(f)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.name, self.kubeconfig = name, kubeconfig
        self.host, _, port = cluster["server"].removeprefix("https://").partition(":")
        self.port, self.headers = int(port), {}
        if "certificate-authority-data" in cluster:
            ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
            self.tls = ssl.create_default_context(cadata=ca)
        else:
            self.tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        if "client-certificate-data" in user:
            with tempfile.NamedTemporaryFile() as pem:
                pem.write(base64.b64decode(user["client-certificate-data"]) +
                          base64.b64decode(user["client-key-data"]))
                pem.flush()
                self.tls.load_cert_chain(pem.name)
        else:
            self.headers["Authorization"] = f"Bearer {user['token']}"

    def connect(self, timeout=60):
        connection = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=timeout)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class Ours:
    """`leeboard apiserver` in a folder of its own."""

    def __init__(self, *flags):
        self.dir = tempfile.mkdtemp(prefix="leeboard-api-")
        self.port, self.flags, self.process = free_port(), flags, None
        self.kubeconfig, self.log = f"{self.dir}/data/kubeconfig", f"{self.dir}/log"

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def start(self):
        self.process = spawn([f"{BUILD}/leeboard", "apiserver", "--data", f"{self.dir}/data", "--listen",
                              f"127.0.0.1:{self.port}", *self.flags], self.log)
        wait_for(self.answers, 60, "leeboard apiserver to be ready")

    def answers(self):
        if self.process.poll() is not None:
            raise Failure(f"leeboard apiserver ended with code {self.process.returncode}:\n{tail(self.log, 20)}")
        if not os.path.exists(self.kubeconfig):
            return False
        try:
            connection = Server("ours", self.kubeconfig).connect(5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)

    def kill(self):
        self.process.kill()
        self.process.wait()


def must_live(ours):
    """Whatever was sent, our server runs on; if it does not, the next script gets a new one."""
    if isinstance(ours, Ours) and ours.process.poll() is not None:
        code, said = ours.process.returncode, tail(ours.log, 15)
        ours.start()
        raise Failure(f"leeboard apiserver ended with code {code}:\n{said}")


class Answer:
    def __init__(self, status, headers, text, phrase=""):
        self.status, self.text, self.phrase = status, text, phrase
        self.type = headers.get("Content-Type", "")
        self.warnings = headers.get_all("Warning") or []
        try:
            self.body = json.loads(text) if text else None
        except ValueError:
            self.body = None

    def __getitem__(self, path):
        """answer["metadata.uid"]; None where there is nothing."""
        value = self.body
        for step in path.split("."):
            if isinstance(value, list):
                value = value[int(step)] if int(step) < len(value) else None
            else:
                value = (value or {}).get(step)
        return value

    def shown(self):
        return {"status": f"{self.status} {self.phrase}", "type": self.type, "warnings": self.warnings,
                "body": self.body if self.body is not None else self.text}


class Session:
    """One script on one server."""

    def __init__(self, server, name):
        self.server, self.name, self.transcript = server, name, []
        self.connection = None
        self.ns = f"d-{name}".replace("_", "-")[:60].rstrip("-")

    def ask(self, method, path, body=None, type=JSON, accept=JSON, headers=None):
        """A request that is not recorded."""
        raw = body if isinstance(body, (bytes, str)) or body is None else json.dumps(body)
        raw = raw.encode() if isinstance(raw, str) else raw
        heads = {**self.server.headers, "User-Agent": "script/1", "Accept": accept, **(headers or {})}
        if raw is not None:
            heads["Content-Type"] = type
        for last in (False, True):
            try:
                self.connection = self.connection or self.server.connect()
                self.connection.request(method, path, raw, {k: v for k, v in heads.items() if v is not None})
                answer = self.connection.getresponse()
                return Answer(answer.status, answer.headers, answer.read().decode("utf8", "replace"), answer.reason)
            except (http.client.HTTPException, ConnectionError):
                self.connection = None
                if last:
                    raise
        return None

    def send(self, method, path, body=None, **more):
        answer = self.ask(method, path, body, **more)
        shown = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        self.transcript.append((f"{method} {path} {str(shown or '')[:160]}", answer.shown()))
        return answer

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.send("POST", path, body, **more)

    def put(self, path, body, **more):
        return self.send("PUT", path, body, **more)

    def patch(self, path, body, type=MERGE, **more):
        return self.send("PATCH", path, body, type=type, **more)

    def delete(self, path, body=None, **more):
        return self.send("DELETE", path, body, **more)

    def apply(self, path, body, manager="script", force=None, **more):
        query = f"?fieldManager={manager}" + ("" if force is None else f"&force={str(force).lower()}")
        return self.send("PATCH", path + query, body, type=APPLY, **more)

    def namespace(self, suffix=""):
        """A namespace of this script's own; returns its path in the core group."""
        name = self.ns + suffix
        self.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # Both have accounts made by a controller, a little later.
        self.until(lambda: self.ask("GET", f"/api/v1/namespaces/{name}/serviceaccounts/default").status == 200,
                   f"the account of {name}")
        self.until(lambda: self.ask("GET", f"/api/v1/namespaces/{name}/configmaps/kube-root-ca.crt").status == 200,
                   f"the certificate of {name}")
        return f"/api/v1/namespaces/{name}"

    def until(self, condition, what):
        wait_for(condition, 90, f"{self.server.name}: {what}")

    def watch(self, path, count, accept=JSON):
        """A stream, to be read later; opened now."""
        return Watch(self, path, count, accept)

    def record(self, label, value):
        self.transcript.append((label, value))

    def close(self):
        if self.connection:
            self.connection.close()


class Watch:
    def __init__(self, session, path, count, accept):
        self.session, self.path, self.count = session, path, count
        self.connection = session.server.connect(60)
        self.connection.request("GET", path, headers={**session.server.headers, "Accept": accept})
        self.answer = self.connection.getresponse()

    def read(self):
        """Takes `count` events other than bookmarks (less, if the stream ends), and records them."""
        events = []
        while sum(e.get("type") != "BOOKMARK" for e in events) < self.count:
            line = self.answer.readline()
            if not line:
                break
            events.append(json.loads(line))
        self.connection.close()
        shown = [e for e in events if e.get("type") != "BOOKMARK"]
        self.session.record(f"WATCH {self.path}", {"status": self.answer.status, "events": shown})
        return events


# ---- comparing ----

def is_certificate(item):
    """Every namespace gets a ConfigMap with the server's own certificate."""
    item = item.get("object", item) if isinstance(item, dict) else None
    meta = item.get("metadata") if isinstance(item, dict) else None
    return isinstance(meta, dict) and meta.get("name") == "kube-root-ca.crt"


class Normal:
    """What a server chose, by the order in which a script met it."""

    def __init__(self):
        self.known = {}

    def symbol(self, kind, value):
        names = self.known.setdefault(kind, {})
        return names.setdefault(value, f"{kind}#{len(names)}")

    def text(self, text):
        text = TIME.sub("TIME", text)
        text = TOKEN.sub("TOKEN", text)
        text = UID.sub(lambda m: self.symbol("uid", m[0]), text)
        text = VERSION.sub(r"\1VERSION", text)
        text = GENERATED.sub(lambda m: self.symbol(m[1], m[0]), text)
        return ADDRESS.sub(lambda m: self.symbol("address", m[0]), text)

    def value(self, key, value, parent):
        if isinstance(value, dict):
            return {self.text(k): self.value(k, v, value) for k, v in sorted(value.items())}
        if isinstance(value, list):
            items = [self.value(key, v, value) for v in value if not is_certificate(v)]
            # Their order depends on whether two writes fell into the same second, and on a map of Go.
            chance = key == "managedFields" or (key == "causes" and "FieldManagerConflict" in str(items))
            return sorted(items, key=lambda i: json.dumps(i, sort_keys=True)) if chance else items
        if key == "resourceVersion" and isinstance(value, str) and value:
            is_list = isinstance(parent, dict) and "uid" not in parent and "name" not in parent
            return "LIST-VERSION" if is_list else self.symbol("rv", value)
        if key == "continue" and value:
            return "CONTINUE"
        if key in ("nodePort", "healthCheckNodePort") and value:
            return self.symbol("nodePort", value)
        return self.text(value) if isinstance(value, str) else value


def differences(path, want, got):
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            at = f"{path}.{key}"
            if key not in got:
                yield at, want[key], "nothing"
            elif key not in want:
                yield at, "nothing", got[key]
            else:
                yield from differences(at, want[key], got[key])
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (w, g) in enumerate(zip(want, got)):
            yield from differences(f"{path}[{i}]", w, g)
    elif want != got or type(want) is not type(got):
        yield path, want, got


def intended(script, where):
    return any(part in script and re.search(pattern, where) for part, pattern, _ in INTENDED)


def contract(value):
    """What of a value must be equal: a Status without its sentences, everything else as it is. A Status may be the body
    of an answer or the object of a watch event."""
    if isinstance(value, list):
        return [contract(v) for v in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "Status" and "status" in value:
        return status_contract(value)
    value = {k: contract(v) for k, v in value.items()}
    if isinstance(value.get("warnings"), list):
        value["warnings"] = bool(value["warnings"])
    return value


def status_contract(body):
    """The causes are a set of field paths: their order is that of a map of Go, and one field may have several."""
    message, details = body.get("message") or "", dict(body.get("details") or {})
    phrases = [p for p in PHRASES.get(body.get("reason"), ()) if p in message]
    fields = sorted({c.get("field", "") for c in details.pop("causes", None) or ()})
    return {**body, "message": phrases, "details": {**details, "fields": fields}}


def compare(name, real, ours):
    """What differs between two transcripts, as lines."""
    lines, normal = [], (Normal(), Normal())
    for (asked, want), (_, got) in zip(real, ours):
        want, got = (contract(n.value("", v, None)) for n, v in zip(normal, (want, got)))
        for path, w, g in differences("", want, got):
            if not intended(name, f"{asked}: {path}"):
                lines.append(f"{name}: {asked}\n    {path}\n    real: {json.dumps(w)[:300]}\n    ours: {json.dumps(g)[:300]}")
    if len(real) != len(ours):
        lines.append(f"{name}: {len(real)} requests on the real server, {len(ours)} on ours")
    return lines


def play(script, server, name):
    session = Session(server, name)
    try:
        script(session)
    except Exception as error:  # noqa: BLE001 - the transcript tells what came before
        session.record("the script ended early", f"{type(error).__name__}: {error}"[:300])
    finally:
        session.close()
    return session.transcript


def run(script, name, real, ours):
    """Plays a script on both; fails with what differs. Returns the number of requests."""
    start = time.monotonic()
    transcripts = [play(script, server, name) for server in (real, ours)]
    lines = compare(name, *transcripts)
    early = [value for transcript in transcripts for label, value in transcript if label == "the script ended early"]
    if early and not lines:
        lines.append(f"{name}: {early[0]}")
    if lines:
        raise Failure("\n".join(lines[:40]) + f"\n{name}: {len(lines)} differences, {time.monotonic() - start:.1f} s")
    return len(transcripts[0])
