"""The Kubernetes client against a real kube-apiserver, through tests/tools/kube_tool.c."""
import base64
import contextlib
import datetime
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import urllib.request

import yaml

from lab import BASE, PATIENCE_S, ROOT, Lab, own_lab, spawn, wait_for

LAB = {"controllers": None}
KUBE_TOOL = os.environ.get("KUBE_TOOL", f"{ROOT}/build/release/kube_tool")
CONFIG_MAPS = "-/v1/ConfigMap/configmaps"


class Tool:
    """A running kube-tool and what it said."""

    def __init__(self, lab, *args, kubeconfig=None, **environment):
        handle, self.path = tempfile.mkstemp(dir=lab.dir)
        os.close(handle)
        self.environment = {"PATH": os.environ["PATH"], "HOME": lab.dir, **environment}
        if kubeconfig != "":
            self.environment["KUBECONFIG"] = kubeconfig or lab.kubeconfig
        self.process = spawn([KUBE_TOOL, *args], self.path, env=self.environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise AssertionError("it did not end after SIGTERM")

    def lines(self):
        with open(self.path) as f:
            text = f.read()
        try:
            return [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]
        except ValueError:
            raise AssertionError(f"kube-tool printed:\n{text}")

    def wait(self, timeout=10, skip=0, **members):
        """The first line, of those after `skip`, that has these members."""
        def found():
            for line in self.lines()[skip:]:
                if members.items() <= line.items():
                    return line
            assert self.process.poll() is None, f"it ended: {self.lines()}"
            return None
        try:
            return wait_for(found, timeout, f"{members}")
        except AssertionError as e:
            raise AssertionError(f"{e}\nit said: {self.lines()[-20:]}")

    def names(self, what, skip=0):
        return [line["name"] for line in self.lines()[skip:] if line.get("what") == what]


def once(lab, *args, code=0, **options):
    """Runs it to its end; returns the only line it printed."""
    with Tool(lab, *args, **options) as tool:
        assert tool.process.wait(PATIENCE_S) == code, tool.lines()
        line, = tool.lines()
        return line


def config_maps(lab, ns, names):
    for name in names:
        lab.create("configmaps", ns, {"metadata": {"name": name}})


def kubeconfig(lab, name, user, **cluster):
    path = f"{lab.dir}/{name}"
    with open(path, "w") as f:
        yaml.dump({
            "current-context": "c", "contexts": [{"name": "c", "context": {
                "cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {
                "server": f"https://127.0.0.1:{lab.port}",
                "certificate-authority": "certs/apiserver.crt", **cluster}}],
            "users": [{"name": "u", "user": user}]}, f)
    return path


def put_file(path, text):
    """As the kubelet does it: the old file or the new one, never half of one."""
    with open(f"{path}.new", "w") as f:
        f.write(text)
    os.rename(f"{path}.new", path)


# Lists and watches

def test_a_list_is_streamed_and_the_watch_goes_on(lab):
    ns = lab.namespace("client-stream")
    config_maps(lab, ns, "abc")
    mark = lab.mark()
    with Tool(lab, "watch", CONFIG_MAPS, ns) as tool:
        end = tool.wait(what="end")
        assert sorted(tool.names("initial")) == ["a", "b", "c"]
        tool.wait(what="state", state="watching")
        config_maps(lab, ns, "d")
        lab.patch("configmaps", ns, "a", {"data": {"x": "y"}})
        lab.delete("configmaps", ns, "b")
        removed = tool.wait(what="remove", name="b")
        assert tool.names("put") == ["d", "a"]
        assert int(removed["version"]) > int(end["version"])
        assert removed["dialled"] == 1 and removed["lists"] == 1, removed
    # One request did it all; it shows up once it has ended.
    ours = wait_for(lambda: list(lab.requests(mark)), 10, "the watch in the audit log")
    assert [(r["verb"], "sendInitialEvents=true" in r["requestURI"]) for r in ours] == [
        ("watch", True)], ours


def restart_apiserver(lab, meanwhile=None):
    """Ends kube-apiserver and starts it again with the same flags."""
    at = next(i for i, (name, _) in enumerate(lab.processes) if name == "kube-apiserver")
    process = lab.processes[at][1]
    with open(f"/proc/{process.pid}/cmdline") as f:
        command = f.read().split("\0")[:-1]
    process.kill()  # it would wait a minute for its watches to end
    process.wait()
    del lab.processes[at]
    if meanwhile:
        meanwhile()
    again = spawn(command, f"{lab.dir}/kube-apiserver.log", cwd=lab.dir)
    lab.processes.insert(at, ("kube-apiserver", again))
    wait_for(lab._answers, 60, "kube-apiserver to be ready again")


def compact_etcd(lab):
    process = next(p for name, p in lab.processes if name == "etcd")
    with open(f"/proc/{process.pid}/cmdline") as f:
        url = next(a.split("=", 1)[1] for a in f.read().split("\0")
                   if a.startswith("--listen-client-urls="))

    def ask(path, body):
        request = urllib.request.Request(url + path, json.dumps(body).encode())
        return json.load(urllib.request.urlopen(request, timeout=10))
    key = base64.b64encode(b"x").decode()
    revision = ask("/v3/kv/range", {"key": key})["header"]["revision"]
    ask("/v3/kv/compaction", {"revision": revision, "physical": True})


def test_a_missing_right_is_named_and_picked_up_when_it_comes(lab):
    ns = lab.namespace("client-rights")
    config = lab.user("powerless", [], ns)
    with Tool(lab, "watch", "apps/v1/Deployment/deployments", kubeconfig=config) as everywhere, \
            Tool(lab, "watch", CONFIG_MAPS, ns, kubeconfig=config) as here:
        seen = everywhere.wait(what="state", state="forbidden")
        assert seen["error"] == "cannot list deployments in apps at cluster scope", seen
        seen = here.wait(what="state", state="forbidden")
        assert seen["error"] == f"cannot list configmaps in namespace {ns}", seen
        lab.patch("roles", ns, "powerless", {"rules": [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]})

        def poked():
            here.process.send_signal(signal.SIGUSR1)
            return any(line.get("state") == "watching" for line in here.lines())
        wait_for(poked, 10, "the right to be used")


def test_an_api_that_comes_is_found(lab):
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": "boats.sail.example"}, "spec": {
               "group": "sail.example", "scope": "Namespaced",
               "names": {"kind": "Boat", "plural": "boats"},
               "versions": [{"name": "v1", "served": True, "storage": True, "schema": {
                   "openAPIV3Schema": {"type": "object",
                                       "x-kubernetes-preserve-unknown-fields": True}}}]}}
    with Tool(lab, "watch", "sail.example/v1/Boat/boats") as tool:
        tool.wait(what="state", state="not-installed")
        lab.create("customresourcedefinitions", None, crd)

        def poked():
            tool.process.send_signal(signal.SIGUSR1)
            return any(line.get("state") == "watching" for line in tool.lines())
        wait_for(poked, 20, "the API to be found")
        boats = "/apis/sail.example/v1/namespaces/default/boats"
        lab.api("POST", boats, {"apiVersion": "sail.example/v1", "kind": "Boat", "metadata": {
            "name": "jolly", "annotations": {"nul": "a\0b"}}, "deep": nested(150)})
        tool.wait(what="put", name="jolly")
        # A kind that goes takes its objects with it.
        skip = len(tool.lines())
        lab.api("DELETE", f"{BASE['customresourcedefinitions']}/customresourcedefinitions/"
                          "boats.sail.example")
        tool.wait(what="remove", name="jolly", skip=skip)
        tool.wait(what="state", state="not-installed", skip=skip, timeout=30)


def nested(depth):
    return {"x": nested(depth - 1)} if depth else 1


# Single requests

def test_refusals_are_told_apart(lab):
    ns = lab.namespace("client-refusals")

    def request(verb, name, *rest, code=1):
        return once(lab, verb, CONFIG_MAPS, ns, name, *rest, code=code)

    def body(**members):
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap",
                           "metadata": {"name": "a"}, **members})
    made = request("create", "a", body(data={"k": "1"}), code=0)
    uid = made["body"]["metadata"]["uid"]
    assert request("create", "a", body())["code"] == "AlreadyExists"
    wrong = request("create", "a", body(dota={}))
    assert wrong["code"] == "Invalid" and "unknown field" in wrong["error"], wrong
    assert request("get", "nothing")["code"] == "NotFound"

    applied = request("apply", "a", body(data={"k": "2"}))
    assert applied["code"] == "Conflict" and applied["reason"] == "Conflict", applied
    assert [c["field"] for c in applied["causes"]] == [".data.k"], applied
    assert 'conflict with "kube-tool"' in applied["causes"][0]["message"], applied
    applied = request("apply", "a", body(data={"l": "2"}), "another", code=0)
    assert applied["body"]["data"] == {"k": "1", "l": "2"}
    wrong = request("apply", "a", body(dota={}), "another")
    assert wrong["code"] == "Invalid" and ".dota: field not declared" in wrong["error"], wrong
    warned = once(lab, "create-laxly", CONFIG_MAPS, ns, "-", json.dumps({
        "metadata": {"name": "lax"}, "dota": {}}))
    assert "unknown field" in warned["warning"], warned

    refused = request("delete", "a", json.dumps({"uid": "other"}))
    assert refused["code"] == "Conflict" and "UID" in refused["error"], refused
    refused = request("delete", "a", json.dumps({"uid": uid, "resourceVersion": "1"}))
    assert refused["code"] == "Conflict", refused
    version = applied["body"]["metadata"]["resourceVersion"]
    request("delete", "a", json.dumps({"uid": uid, "resourceVersion": version}), code=0)
    assert lab.get("configmaps", ns, "a") is None


def test_events_are_written_and_aggregated(lab):
    ns = lab.namespace("client-events")
    assert once(lab, "event", ns, "thing", "3") == {"written": 1, "failed": 0}
    assert once(lab, "event", "", "everywhere", "1") == {"written": 1, "failed": 0}
    event, = lab.api("GET", f"/apis/events.k8s.io/v1/namespaces/{ns}/events")["items"]
    assert event["metadata"]["name"].startswith("thing."), event
    assert event["series"]["count"] == 3 and event["reportingController"] == "leeboard", event
    table = lab.kubectl("-n", ns, "get", "events").stdout
    assert "Tried" in table and "a note" in table, table


# Who we are

def whoami(lab, **options):
    review = once(lab, "create", "authentication.k8s.io/v1/SelfSubjectReview/selfsubjectreviews",
                  "", "-", json.dumps({"apiVersion": "authentication.k8s.io/v1",
                                       "kind": "SelfSubjectReview"}), **options)
    return review["body"]["status"]["userInfo"]["username"]


def account(lab, ns, name):
    """A service account and a function that makes tokens for it, which die with a Secret."""
    lab.create("serviceaccounts", ns, {"metadata": {"name": name}})

    def token(secret):
        made = lab.create("secrets", ns, {"metadata": {"name": secret}})
        bound = {"apiVersion": "v1", "kind": "Secret", "name": secret,
                 "uid": made["metadata"]["uid"]}
        return lab.api("POST", lab.path("serviceaccounts", ns, f"{name}/token"), {
            "spec": {"boundObjectRef": bound}})["status"]["token"]
    return token


def test_a_token_that_is_rotated_in_its_file_is_used(lab):
    ns = lab.namespace("client-token")
    token = account(lab, ns, "rotator")
    put_file(f"{lab.dir}/token", token("one") + "\n")
    config = kubeconfig(lab, "rotating", {"tokenFile": "token"})
    assert whoami(lab, kubeconfig=config) == f"system:serviceaccount:{ns}:rotator"
    with Tool(lab, "poll", "/api/v1", "200", kubeconfig=config) as poll:
        poll.wait(status=200)
        lab.delete("secrets", ns, "one")
        poll.wait(status=401, timeout=30)  # the server remembers a good token for ten seconds
        assert poll.lines()[-1]["repeated"] == 0  # the same token again would be of no use
        put_file(f"{lab.dir}/token", token("two"))
        skip = len(poll.lines())
        good = poll.wait(status=200, skip=skip)
        # One was perhaps under way; had it waited for the next look at the file, there were many.
        late = [line for line in poll.lines()[skip:] if line["status"] == 401]
        assert len(late) <= 1 and good["repeated"] <= 1, poll.lines()[skip:]
        # One that is replaced while both are good is taken up without a failure.
        third, skip, mark = token("three"), len(poll.lines()), lab.mark()
        put_file(f"{lab.dir}/token", third)

        def used():
            return any(r["user"].get("extra", {}).get(
                "authentication.kubernetes.io/credential-id") == [f"JTI={token_id(third)}"]
                for r in lab.requests(mark))
        wait_for(used, 20, "the third token in use")  # files are looked at every ten seconds
        assert {line["status"] for line in poll.lines()[skip:]} == {200}


def token_id(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]


def test_a_pods_service_account_is_used_as_it_lies_there(lab):
    ns = lab.namespace("client-pod")
    token = account(lab, ns, "pod")
    folder = f"{lab.dir}/service-account"
    os.mkdir(folder)
    put_file(f"{folder}/token", token("one"))
    put_file(f"{folder}/namespace", ns)
    with open(f"{lab.dir}/certs/apiserver.crt") as f:
        put_file(f"{folder}/ca.crt", f.read())
    home = {"HOME": "/nonexistent", "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(lab.port)}
    review = ("--service-account", folder, "create",
              "authentication.k8s.io/v1/SelfSubjectReview/selfsubjectreviews", "", "-",
              '{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}')
    seen = once(lab, *review, kubeconfig="", **home)
    assert seen["body"]["status"]["userInfo"]["username"] == f"system:serviceaccount:{ns}:pod"


def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


def certify(folder, name, subject):
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out",
            f"{name}.csr", "-subj", subject)
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-days", "1", "-out", f"{name}.crt")


def read(path, binary=False):
    with open(path, "rb" if binary else "r") as f:
        return f.read()


def test_the_server_must_prove_who_it_is(lab):
    other = tempfile.mkdtemp(dir=lab.dir)
    openssl(other, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out",
            "ca.crt", "-subj", "/CN=other", "-days", "1")
    admin = {"token": "admin-token"}

    def get(code, **cluster):
        config = kubeconfig(lab, "proving", admin, **cluster)
        return once(lab, "get", "-/v1/Namespace/namespaces", "", "default", kubeconfig=config,
                    code=code)
    refused = get(1, **{"certificate-authority": f"{other}/ca.crt"})
    assert refused["status"] == 0 and "certificate" in refused["error"], refused
    refused = get(1, **{"tls-server-name": "somewhere.else"})
    assert refused["status"] == 0 and "somewhere.else" in refused["error"], refused
    assert get(0, **{"tls-server-name": "kubernetes.default"})["status"] == 200
    insecure = {"certificate-authority": None, "insecure-skip-tls-verify": True}
    assert get(0, **insecure)["status"] == 200


class Proxy(threading.Thread):
    """Takes CONNECT, remembers for whom, and carries bytes both ways."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://sailor:secret@127.0.0.1:%d" % self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        self.asked.append(head.decode())
        host, port = head.split()[1].decode().rsplit(":", 1)
        server = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=self.carry, args=(server, client), daemon=True)
        back.start()
        self.carry(client, server)

    @staticmethod
    def carry(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def test_everything_goes_through_the_proxy_that_is_named(lab):
    ns, proxy = lab.namespace("client-proxy"), Proxy()
    config = kubeconfig(lab, "proxied", {"token": "admin-token"}, **{"proxy-url": proxy.url})
    with Tool(lab, "watch", CONFIG_MAPS, ns, kubeconfig=config) as tool:
        tool.wait(what="state", state="watching")
        config_maps(lab, ns, "a")
        assert tool.wait(what="put", name="a")["dialled"] == 1
    asked, = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{lab.port} HTTP/1.1"), asked
    login = base64.b64encode(b"sailor:secret").decode()
    assert f"basic {login}".lower() in asked.lower(), asked


def plugin(lab, body):
    path = f"{lab.dir}/plugin"
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\n{body}\n")
    os.chmod(path, 0o755)


def test_a_plugin_is_asked_and_remembered_until_what_it_gave_expires(lab):
    log = f"{lab.dir}/plugin.log"
    api = "client.authentication.k8s.io/v1"
    user = {"exec": {
        "apiVersion": api, "command": "./plugin", "args": ["get", "it"],
        "env": [{"name": "WHO", "value": "me"}], "interactiveMode": "IfAvailable",
        "provideClusterInfo": True, "installHint": "fetch it from the harbour"}}
    config = kubeconfig(lab, "exec", user)
    then = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=4)).strftime("%FT%TZ")
    credential = json.dumps({"apiVersion": api, "kind": "ExecCredential", "status": {
        "token": "admin-token", "expirationTimestamp": then}})
    plugin(lab, f"""echo "$WHO $1 $2 $KUBERNETES_EXEC_INFO" >>{log}; echo '{credential}'""")
    with Tool(lab, "poll", "/api/v1", "100", kubeconfig=config) as poll:
        poll.wait(status=200)
        credential = credential.replace(f', "expirationTimestamp": "{then}"', "")
        plugin(lab, f"echo again >>{log}; echo '{credential}'")
        wait_for(lambda: "again" in read(log).splitlines(), 10, "a run of the other plugin")
        count = len(poll.lines())
        wait_for(lambda: len(poll.lines()) > count + 10, 10, "more requests")
        assert {line["status"] for line in poll.lines()} == {200}, poll.lines()
    first, *_, last = runs = read(log).splitlines()
    assert first.startswith("me get it {") and last == "again" and runs.count("again") == 1, runs
    info = json.loads(first[len("me get it "):])
    assert info["kind"] == "ExecCredential" and info["spec"]["interactive"] is False, info
    assert info["spec"]["cluster"]["server"] == f"https://127.0.0.1:{lab.port}", info

    plugin(lab, "echo the tide is out >&2; exit 3")
    failed = once(lab, "get", CONFIG_MAPS, "default", "x", kubeconfig=config, code=1)
    assert "code 3: the tide is out" in failed["error"], failed
    os.unlink(f"{lab.dir}/plugin")
    failed = once(lab, "get", CONFIG_MAPS, "default", "x", kubeconfig=config, code=1)
    assert "fetch it from the harbour" in failed["error"], failed


# Leadership

def test_a_lease_passes_on_and_a_stopped_leader_writes_nothing(lab):
    ns = lab.namespace("client-lease")

    def holder():
        return lab.get("leases", ns, "882d6afe.llmkube.dev")["spec"]["holderIdentity"]
    with Tool(lab, "lease", ns, "anna") as anna:
        anna.wait(what="gained", may_write=True)
        with Tool(lab, "lease", ns, "ben") as ben:
            ben.wait(what="holder", holder="anna")
            anna.process.terminate()
            assert anna.process.wait(PATIENCE_S) == 0
            ben.wait(what="gained", timeout=4)
            assert anna.lines()[-1]["what"] == "released", anna.lines()
            assert holder() == "ben"
            with Tool(lab, "lease", ns, "carl") as carl:
                carl.wait(what="holder", holder="ben")
                ben.process.send_signal(signal.SIGSTOP)
                carl.wait(what="gained", timeout=25)
                mark = lab.mark()
                ben.process.send_signal(signal.SIGCONT)
                lost = ben.wait(what="lost")
                assert lost["may_write"] is False, lost
                ben.process.wait(PATIENCE_S)
                assert holder() == "carl"
                # Only carl's renewals, and all of them succeed: ben tried nothing.
                wait_for(lambda: len(list(lab.requests(mark))) >= 2, 10, "two renewals")
                codes = [(r["verb"], r["responseStatus"]["code"]) for r in lab.requests(mark)]
                assert set(codes) == {("update", 200)}, codes


# With a control plane of their own: last, because the shared one hangs up on us meanwhile

@own_lab(controllers=None, apiserver=("--feature-gates=WatchList=false",))
def test_without_streaming_lists_come_in_pages(lab):
    ns = lab.namespace("client-pages")
    names = [f"c{i}" for i in range(8)]
    config_maps(lab, ns, names)
    mark = lab.mark()
    with Tool(lab, "watch", CONFIG_MAPS, ns) as tool:
        tool.wait(what="state", state="watching")
        assert sorted(tool.names("initial")) == names
        assert [line["what"] for line in tool.lines()].count("begin") == 1
        config_maps(lab, ns, ["late"])
        tool.wait(what="put", name="late")
        verbs = [r["verb"] for r in lab.requests(mark)]
        assert verbs == ["watch", "list", "list", "list"], verbs  # refused, then 3 + 3 + 2


@own_lab(controllers=None)
def test_what_happened_while_the_server_was_away_is_made_up_for(lab):
    """A version that is gone by the time we ask for it: 410, a new list, and deletes that nobody
    saw are known by what the list lacks."""
    ns = lab.namespace("client-gone")
    config_maps(lab, ns, "abc")
    with Tool(lab, "watch", CONFIG_MAPS, ns) as tool, Tool(lab, "poll", "/version", "100") as poll:
        tool.wait(what="state", state="watching")
        poll.wait(status=200)
        tool.process.send_signal(signal.SIGSTOP)
        restart_apiserver(lab, lambda: poll.wait(status=0))
        lab.delete("configmaps", ns, "b")
        config_maps(lab, ns, "d")
        restart_apiserver(lab, lambda: compact_etcd(lab))
        poll.wait(status=200, skip=len(poll.lines()))
        tool.process.send_signal(signal.SIGCONT)
        tool.wait(what="state", code="Expired", timeout=20)
        tool.wait(what="end", lists=2, timeout=20)
        config_maps(lab, ns, "e")
        tool.wait(what="put", name="e")
        assert sorted(tool.names("initial")[3:]) == ["a", "c", "d"], tool.lines()
        assert not tool.names("remove"), tool.lines()


@own_lab(controllers=None)
def test_restarts_of_the_server_lose_nothing(lab):
    ns = lab.namespace("client-restart")
    with Tool(lab, "watch", CONFIG_MAPS, ns) as tool:
        tool.wait(what="state", state="watching")
        for name in "abc":
            config_maps(lab, ns, [name])
            restart_apiserver(lab)
        config_maps(lab, ns, "d")
        # Each as a change or in a list, and perhaps in both.
        wait_for(lambda: set(tool.names("put") + tool.names("initial")) == set("abcd"), 40, "all four")
        told = [line for line in tool.lines() if "lists" in line]
        if told[-1]["lists"] == 1:  # else the server had forgotten what we asked for
            assert tool.names("put") == list("abcd"), tool.lines()


def test_client_certificates_from_files_and_data():
    with contextlib.ExitStack() as stack:
        pki = stack.enter_context(tempfile.TemporaryDirectory(prefix="leeboard-pki-"))
        openssl(pki, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out",
                "ca.crt", "-subj", "/CN=test", "-days", "1")
        certify(pki, "jane", "/CN=jane/O=system:masters")
        certify(pki, "joe", "/CN=joe/O=system:masters")
        lab = stack.enter_context(Lab(controllers=None,
                                      apiserver=(f"--client-ca-file={pki}/ca.crt",)))
        files = {"client-certificate": f"{pki}/me.crt", "client-key": f"{pki}/me.key"}
        config = kubeconfig(lab, "files", files)
        for name in ("jane", "joe"):
            for part in ("key", "crt"):
                put_file(f"{pki}/me.{part}", read(f"{pki}/{name}.{part}"))
            assert whoami(lab, kubeconfig=config) == name
        data = {f"client-{what}-data": base64.b64encode(read(f"{pki}/jane.{part}", True)).decode()
                for what, part in (("certificate", "crt"), ("key", "key"))}
        ca = base64.b64encode(read(f"{lab.dir}/certs/apiserver.crt", True)).decode()
        config = kubeconfig(lab, "data", data, **{"certificate-authority-data": ca})
        assert whoami(lab, kubeconfig=config) == "jane"
        acting = kubeconfig(lab, "acting", {**data, "as": "somebody", "as-groups": ["crew"]})
        assert whoami(lab, kubeconfig=acting) == "somebody"
        # A certificate that is replaced while we run is the one that we prove from then on.
        review = "/apis/authentication.k8s.io/v1"
        config = kubeconfig(lab, "files", files)
        mark = lab.mark()
        with Tool(lab, "poll", review, "200", kubeconfig=config) as poll:
            poll.wait(status=200)
            put_file(f"{pki}/me.key", read(f"{pki}/jane.key"))
            put_file(f"{pki}/me.crt", read(f"{pki}/jane.crt"))

            def who():
                return [r["user"]["username"] for r in lab.requests(mark)
                        if r["requestURI"] == review][-1:]
            wait_for(lambda: who() == ["jane"], 25, "the new certificate in use")
            assert {line["status"] for line in poll.lines()} == {200}, poll.lines()
