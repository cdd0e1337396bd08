"""The chart, our image and real pods: what a person does with a cluster, from the installation to the removal."""
import functools
import http.server
import json
import os
import subprocess
import threading
import urllib.request

import images
import lab as labs
import yaml
from lab import ROOT, wait_for
from node import NODE_IP, run
from test_chart import helm
from test_pages import play

HOME, CHAT = "leeboard-system", "chat"
CHART, VERSION = f"{ROOT}/charts/leeboard", "0.1.0"
IMAGES = f"{ROOT}/build/image/leeboard.oci.tar"


def prepare(lab):
    """Images, volumes, and a server with the model file."""
    lab.load(images.write(f"{lab.dir}/pause.tar", images.pause(lab.dir), {"pause:test": (["/pause"], "65535:65535")}))
    nobody, shell = "65532:65532", ["/bin/sh", "-c"]
    names = {
        curl_image(): (["curl"], "100:101"),
        llama_image(): (["/app/llama-server"], ""),
        "mcp.test/stdio:1": (["python3", "/srv/stdio_server.py", "legacy"], nobody),
        "mcp.test/http:1": (["python3", "/srv/http_server.py", "0.0.0.0:8080", "legacy", "/dev/null"], nobody),
        "crash.test/boat:1": ([*shell, "echo 'error: there is no water' >&2; exit 3"], nobody),
    }
    lab.load(images.write(f"{lab.dir}/tools.tar", images.tools(), names))
    lab.load(IMAGES)
    lab.files = serve(lab)
    for n in range(16):
        folder = f"{lab.dir}/volume-{n}"
        os.makedirs(folder)
        os.chmod(folder, 0o777)
        lab.api("POST", "/api/v1/persistentvolumes", {
            "metadata": {"name": f"volume-{n}"}, "spec": {
                "capacity": {"storage": "200Gi"}, "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                "hostPath": {"path": folder}}})


def serve(lab):
    """Files for pods: the model."""
    os.makedirs(f"{lab.dir}/files")
    run(f"{ROOT}/tools/tiny-gguf", f"{lab.dir}/files/tiny.gguf")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=f"{lab.dir}/files")
    server = http.server.ThreadingHTTPServer((NODE_IP, 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{NODE_IP}:{server.server_port}"


@functools.cache
def rendered():
    """What the quickstart becomes."""
    done = subprocess.run([labs.Operator.BINARY, "render", "-f", f"{ROOT}/examples/quickstart"], check=True, text=True,
                          stdout=subprocess.PIPE)
    return next(o for o in yaml.safe_load_all(done.stdout) if o and o["kind"] == "Deployment")["spec"]["template"]["spec"]


def curl_image():
    return rendered()["initContainers"][0]["image"]


def llama_image():
    return rendered()["containers"][0]["image"]


# ---- what a person does ----

def post(url, body, headers=()):
    """The answer's headers and its text."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream", **dict(headers)})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.headers, answer.read().decode()


def address(lab, namespace, service, port=8080):
    return f"http://{lab.get('services', namespace, service)['spec']['clusterIP']}:{port}"


def condition(o, kind):
    return next((c for c in (o or {}).get("status", {}).get("conditions", []) if c["type"] == kind), None)


def wait_phase(lab, plural, namespace, name, phase="Ready"):
    def there():
        o = lab.get(plural, namespace, name)
        return o if (o or {}).get("status", {}).get("phase") == phase else None
    return wait_for(there, 180, f"{plural}/{name} to be {phase}")


def running(lab, namespace, **labels):
    """{name: uid} of the pods that do not end."""
    return {p["metadata"]["name"]: p["metadata"]["uid"] for p in lab.list("pods", namespace)
            if "deletionTimestamp" not in p["metadata"]
            and labels.items() <= p["metadata"].get("labels", {}).items()}


def rolled_out(lab, namespace, deployment):
    lab.kubectl("-n", namespace, "rollout", "status", f"deployment/{deployment}", "--timeout=180s")


def test_the_chart_is_installed(lab):
    play(lab, "install", image="leeboard")
    rolled_out(lab, HOME, "leeboard")


def test_the_quickstart_answers(lab):
    lab.namespace(CHAT)
    manifests = []
    for file in ("model", "service"):
        with open(f"{ROOT}/examples/quickstart/{file}.yaml") as f:
            manifests += yaml.safe_load_all(f)
    for o in manifests:
        if o["kind"] == "Model":
            o["spec"]["source"] = lab.files + "/tiny.gguf"
        else:
            o["spec"]["resources"]["cpu"] = "250m"  # a small machine has room for two pods at a time
    lab.apply(CHAT, manifests)
    wait_phase(lab, "inferenceservices", CHAT, "tinyllama")
    assert ask(address(lab, CHAT, "tinyllama")), "the model said nothing"


def tries(function, *args):
    """None while nobody answers."""
    try:
        return function(*args)
    except OSError:
        return None


def ask(base, **more):
    body = {"model": "tinyllama", "max_tokens": 8, "messages": [{"role": "user", "content": "What is a leeboard?"}], **more}
    return json.loads(post(f"{base}/v1/chat/completions", body)[1])["choices"][0]["message"]["content"]


def test_a_router_in_front_of_it_answers(lab):
    lab.apply(CHAT, {
        "apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "ModelRouter", "metadata": {"name": "front"},
        "spec": {"backends": [{"name": "home", "inferenceServiceRef": {"name": "tinyllama"}}], "defaultRoute": "home"}})
    wait_phase(lab, "modelrouters", CHAT, "front")
    rolled_out(lab, CHAT, "front-router-proxy")
    base = address(lab, CHAT, "front-router-proxy")
    assert ask(base), "the router brought no answer"
    image = lab.get("deployments", CHAT, "front-router-proxy")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.startswith("leeboard-router:"), image


def mcp_server(name, image, transport, **spec):
    return {"apiVersion": "toolhive.stacklok.dev/v1beta1", "kind": "MCPServer", "metadata": {"name": name},
            "spec": {"image": image, "transport": transport, "proxyPort": 8080, **spec}}


class Session:
    """A client of an MCP server: a handshake, then calls of its tool `echo`."""

    def __init__(self, url):
        self.url, self.headers = url, {}
        headers, _ = self._send(0, "initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "pods", "version": "1"}})
        self.headers = {"Mcp-Session-Id": headers["Mcp-Session-Id"], "MCP-Protocol-Version": "2025-06-18"}

    def _send(self, id, method, params):
        headers, text = post(self.url, {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, self.headers)
        if headers["Content-Type"].startswith("text/event-stream"):
            text = [line for line in text.splitlines() if line.startswith("data:")][-1][5:]
        return headers, json.loads(text)

    def echo(self, word):
        answer = self._send(1, "tools/call", {"name": "echo", "arguments": {"text": word}})[1]
        return answer["result"]["content"][0]["text"]

    def tries(self, word):
        """None while there is no server."""
        try:
            return self.echo(word)
        except (OSError, KeyError):
            return None


def open_session(lab, name):
    wait_phase(lab, "mcpservers", CHAT, name)
    wait_for(lambda: running(lab, CHAT, app=name), 60, "the server's pod")
    lab.kubectl("-n", CHAT, "wait", "--for=condition=Ready", "pod", "-l", f"app={name}", "--timeout=120s")
    url = address(lab, CHAT, f"mcp-{name}-proxy") + "/mcp"

    def opened():
        try:
            return Session(url)
        except OSError:
            return None
    return wait_for(opened, 60, f"a session with {name}")


def test_an_mcp_server_on_standard_streams(lab):
    """Through the kubelet's attach; a session survives a new pod of the server."""
    lab.apply(CHAT, mcp_server("tools", "mcp.test/stdio:1", "stdio"))
    session = open_session(lab, "tools")
    assert session.echo("ahoy") == "ahoy"
    before = running(lab, CHAT, app="tools")
    lab.kubectl("-n", CHAT, "delete", "pod", "tools-0", "--grace-period=1")
    wait_for(lambda: running(lab, CHAT, app="tools") and not before.items() & running(lab, CHAT, app="tools").items(),
             60, "a new pod of the server")
    wait_for(lambda: session.tries("again") == "again", 60, "the session to go on with the new pod")


def test_an_mcp_server_over_http(lab):
    lab.apply(CHAT, mcp_server("web", "mcp.test/http:1", "streamable-http", mcpPort=8080))
    assert open_session(lab, "web").echo("ahoy") == "ahoy"


def test_a_crash_is_named_once_with_its_last_line(lab):
    lab.apply(CHAT, mcp_server("boat", "crash.test/boat:1", "streamable-http", mcpPort=8080))

    def told():
        healthy = condition(lab.get("mcpservers", CHAT, "boat"), "PodsHealthy")
        return healthy if healthy and healthy["status"] == "False" else None
    first = wait_for(told, 120, "the crash")
    assert "exit code 3: error: there is no water" in first["message"], first

    def restarts():
        pod = lab.get("pods", CHAT, "boat-0")
        return pod["status"]["containerStatuses"][0]["restartCount"]
    count = restarts()
    wait_for(lambda: restarts() > count, 120, "another restart")
    server = wait_phase(lab, "mcpservers", CHAT, "boat", "Failed")
    assert condition(server, "PodsHealthy") == first, "the condition moved with a restart"
    events = [e for e in lab.list("events", CHAT) if e["reason"] == "CrashLoopBackOff"
              and e["involvedObject"]["name"] == "boat" and e["involvedObject"]["kind"] == "MCPServer"]
    assert len(events) == 1 and events[0].get("count", 1) == 1, events
    lab.delete("mcpservers", CHAT, "boat")
    wait_for(lambda: not lab.get("statefulsets", CHAT, "boat"), 60, "its workload to go")


def test_a_missing_image_is_named(lab):
    lab.apply(CHAT, {**service("lost"), "spec": {**service("lost")["spec"], "image": "127.0.0.1:1/no/such:1"}})

    def told():
        healthy = condition(lab.get("inferenceservices", CHAT, "lost"), "PodsHealthy")
        return healthy and healthy["reason"] == "ImagePullBackOff" and "127.0.0.1:1/no/such:1" in healthy["message"]
    wait_for(told, 120, "the image in the condition")
    lab.delete("inferenceservices", CHAT, "lost")


def service(name):
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "InferenceService", "metadata": {"name": name},
            "spec": {"modelRef": "tinyllama", "replicas": 1}}


def test_a_restart_that_a_person_asks_for_happens_once(lab):
    of = {"app": "tinyllama"}
    before = running(lab, CHAT, **of)
    lab.kubectl("-n", CHAT, "rollout", "restart", "deployment/tinyllama")
    rolled_out(lab, CHAT, "tinyllama")
    after = wait_for(lambda: not before.items() & running(lab, CHAT, **of).items() and running(lab, CHAT, **of), 60,
                     "only the new pod")
    wait_phase(lab, "inferenceservices", CHAT, "tinyllama")
    wait_for(lambda: tries(ask, address(lab, CHAT, "tinyllama")), 60, "an answer of the new pod")
    assert len(after) == 1 and running(lab, CHAT, **of) == after, after


def test_an_upgrade_of_the_chart_restarts_no_workload(lab):
    """The new version is the same program under another tag."""
    for name in ("leeboard", "leeboard-router", "leeboard-mcp"):
        run("ctr", "-n", "k8s.io", "images", "tag", f"docker.io/library/{name}:{VERSION}", f"docker.io/library/{name}:next")
    before, old = running(lab, CHAT), running(lab, HOME)
    helm("upgrade", "leeboard", CHART, "--reset-then-reuse-values", "--set", "controllerManager.image.tag=next", lab=lab)
    rolled_out(lab, HOME, "leeboard")
    wait_for(lambda: not old.items() & running(lab, HOME).items(), 60, "the old operator to go")
    lab.apply(CHAT, mcp_server("later", "mcp.test/stdio:1", "stdio"))  # shows that the new one leads
    assert open_session(lab, "later").echo("ahoy") == "ahoy"
    image = lab.get("deployments", CHAT, "later")["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image == "leeboard-mcp:next", image
    assert before.items() <= running(lab, CHAT).items(), (before, running(lab, CHAT))


def test_removing_the_chart_lets_everything_run_on(lab):
    before = running(lab, CHAT)
    play(lab, "remove", image="leeboard")
    wait_for(lambda: not running(lab, HOME), 60, "the operator's pods to go")
    assert lab.get("models", CHAT, "tinyllama") and ask(address(lab, CHAT, "front-router-proxy"))
    assert running(lab, CHAT) == before, (before, running(lab, CHAT))
    lost = running(lab, CHAT, app="tinyllama")
    lab.kubectl("-n", CHAT, "delete", "pod", "-l", "app=tinyllama", "--grace-period=1")
    wait_for(lambda: not lost.items() & running(lab, CHAT, app="tinyllama").items()
             and tries(ask, address(lab, CHAT, "tinyllama")), 60, "a lost pod to be made anew")
    lab.delete("namespaces", None, CHAT)

    def gone():
        there = lab.get("namespaces", None, CHAT)
        return not there or [c["message"] for c in there["status"].get("conditions", []) if c["status"] == "True"]
    wait_for(lambda: gone() is True, 180, "the namespace to go without an operator")
