"""MCP servers and model routers under `leeboard up`: the proxies are this program, the servers are local programs."""
import http.client
import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request

import test_endpoint
import test_up
import yaml

from lab import PATIENCE_S, ROOT, free_port, wait_for

NPM = "@modelcontextprotocol/server-everything@2026.8.31"
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def server(name, image, transport="streamable-http", **spec):
    return {"apiVersion": "toolhive.stacklok.dev/v1beta1", "kind": "MCPServer", "metadata": {"name": name},
            "spec": {"image": image, "transport": transport, **spec}}


class Client:
    """A session over streamable HTTP."""

    def __init__(self, url):
        self.url, self.session, self.last = url, None, 0
        self.server = self.ask("initialize", INITIALIZE)["serverInfo"]["name"]

    def ask(self, method, params=None):
        self.last += 1
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        body = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            self.session = answer.headers.get("Mcp-Session-Id", self.session)
            text = answer.read().decode()
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        answers = [m for m in map(json.loads, lines or [text]) if m.get("id") == self.last]
        assert answers and "result" in answers[0], text
        return answers[0]["result"]

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["content"][0]["text"]


class Up(test_endpoint.Up):
    """With tests/mcp/http_server.py as the image example.com/web, and as example.com/wild on all addresses, and
    stdio_server.py as example.com/stdio. What they note is in `state`."""

    def __init__(self, *objects, port=0, era="legacy", start=True):
        super().__init__(*objects, start=False)
        self.state = f"{self.dir}/state"
        with open(self.state, "w", encoding="utf8"):
            pass
        os.chmod(self.dir, 0o755)  # servers are user 1000, who may not reach our tree
        os.chmod(self.state, 0o666)
        for name in ("http_server.py", "stdio_server.py"):
            shutil.copy(f"{ROOT}/tests/mcp/{name}", self.dir)
        web, stdio = f"{self.dir}/http_server.py", f"{self.dir}/stdio_server.py"
        rows = [{"image": "example.com/web", "hostEnv": ["MCP_HOST"],
                 "program": ["/usr/bin/python3", web, str(port), era, self.state]},
                {"image": "example.com/wild",
                 "program": ["/usr/bin/python3", web, f"0.0.0.0:{port}", era, self.state]},
                {"image": "example.com/stdio", "program": ["/usr/bin/python3", stdio, era, self.state]}]
        with open(f"{self.dir}/images.yaml", "w", encoding="utf8") as f:
            yaml.safe_dump({"images": rows}, f)
        self.command += ["--images", f"{self.dir}/images.yaml"]
        if start:
            self.start()

    def endpoint(self, name):
        def ready():
            rows = json.loads(self.run("ps", "-o", "json"))
            return next((r["endpoint"] for r in rows if r["name"] == name and r["ready"]), None)
        try:
            return wait_for(ready, PATIENCE_S, f"{name} to be ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.run('ps')}\n{json.dumps(self.get('pods'), indent=1)}") from error

    def client(self, name):
        """The Service answers a moment after its pods are ready."""
        def connect():
            try:
                return Client(self.endpoint(name))
            except urllib.error.URLError:
                return None
        return wait_for(connect, PATIENCE_S, f"an answer of {name}")

    def notes(self):
        with open(self.state, encoding="utf8") as f:
            return f.read().splitlines()


def test_an_mcp_server_over_http_runs_as_a_local_program():
    port = free_port()
    with Up(server("web", "example.com/web:1", mcpPort=port), port=port) as up:
        client = up.client("web")
        assert client.server == "tested"
        assert client.call("echo", text="ahoy") == "ahoy"
        assert up.run("mcp", "call", "web", "echo", '{"text": "a call"}') == "a call\n"
        kinds = {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in up.pods()}
        assert kinds["web-0"] == "example.com/web:1" and len(kinds) == 2, kinds
        rows = json.loads(up.run("ps", "-o", "json"))
        assert [r["kind"] for r in rows] == ["MCPServer"], rows
        up.write(server("web", "example.com/web:2", mcpPort=port))
        up.run("apply", "-f", up.manifest)
        wait_for(lambda: any(p["spec"]["containers"][0]["image"] == "example.com/web:2" for p in up.pods()),
                 PATIENCE_S, "the new image")
        assert up.client("web").call("echo", text="again") == "again"
        up.run("delete", "-f", up.manifest)
        wait_for(lambda: not up.pods(), PATIENCE_S, "the end of its pods")
        up.stop()


def test_servers_that_listen_on_all_addresses_have_their_own():
    port = free_port()
    both = [server(name, "example.com/wild", mcpPort=port) for name in ("one", "two")]
    with Up(*both, port=port) as up:
        for name in ("one", "two"):
            assert up.client(name).call("echo", text=name) == name
        assert not any(s["restartCount"] for p in up.pods() for s in p["status"]["containerStatuses"])
        up.stop()


def npm_finds(package):
    if not shutil.which("npx", path=test_up.PLAIN):
        return False
    return subprocess.run(["npm", "view", package, "version"], capture_output=True, timeout=120, check=False).returncode == 0


def test_a_server_of_npm_runs_by_its_name():
    if not npm_finds(NPM):
        print("     skipped: there is no npx, or it does not reach its registry")
        return
    with Up(server("npm", f"npx://{NPM}", "stdio")) as up:
        assert up.client("npm").server == "mcp-servers/everything"
        assert up.run("mcp", "call", "npm", "get-sum", '{"a": 40, "b": 2}') == "The sum of 40 and 2 is 42.\n"
        up.stop()


def test_an_mcp_server_on_stdio_is_shared_and_goes_on_after_a_crash_of_up():
    with Up(server("std", "example.com/stdio:1", "stdio"), start=False) as up:
        up.command[up.command.index("--listen") + 1] = f"127.0.0.1:{free_port()}"  # proxies know the one of their start
        up.start()
        one, two = up.client("std"), up.client("std")
        assert one.call("echo", text="ahoy ☸ <b>") == "ahoy ☸ <b>"
        assert two.call("echo", text="long" * 50000) == "long" * 50000
        before = up.tasks()
        up.process.kill()
        up.process.wait()
        up.start()

        def answers():
            try:
                return one.call("echo", text="still") == "still"
            except (AssertionError, OSError, http.client.HTTPException):  # no answer, or an error for one
                return False
        wait_for(answers, PATIENCE_S, "the old session to go on")
        assert up.tasks() == before
        assert [n for n in up.notes() if n == "start"] == ["start"], up.notes()
        up.stop()


def test_mcp_lists_servers_and_tools_and_calls_them():
    old = server("old", "example.com/stdio:1", "stdio", proxyMode="sse")
    with Up(server("std", "example.com/stdio:1", "stdio"), old) as up:
        up.client("std")
        assert up.endpoint("old").endswith("/sse#old")
        lines = up.run("mcp", "list").splitlines()
        assert [line.split()[:5] for line in lines[1:]] == [
            [name, "default", "MCPServer", "stdio", "ready"] for name in ("old", "std")], lines
        for name in ("std", "old"):
            wait_for(lambda: "Connection refused" not in up.run("mcp", "tools", name, code=None), PATIENCE_S, name)
            assert "echo" in up.run("mcp", "tools", name)
            assert up.run("mcp", "call", name, "echo", '{"text": "ahoy ☸"}') == "ahoy ☸\n"
        result = json.loads(up.run("mcp", "call", "std", "echo", '{"text": "x"}', "-o", "json"))
        assert result == {"content": [{"type": "text", "text": "x"}]}, result
        assert "the server says: Unknown tool" in up.run("mcp", "call", "std", "nope", code=1)
        assert "there is old, std" in up.run("mcp", "tools", "nix", code=1)
        assert "are a JSON object" in up.run("mcp", "call", "std", "echo", "[1]", code=1)


def test_mcp_servers_run_without_root():
    """There are no mounts then: neither for what the proxies read nor for the names of Services."""
    if os.geteuid():
        return  # all of the tests are about it
    port = free_port()
    with Up(server("std", "example.com/stdio:1", "stdio"), server("web", "example.com/web:1", mcpPort=port),
            port=port, start=False) as up:
        own = shutil.copy(os.path.realpath(test_up.LEEBOARD), f"{up.dir}/leeboard")
        up.command[0] = own
        up.command[:0] = ["setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "--"]
        for name in os.listdir(up.dir):
            os.chown(f"{up.dir}/{name}", 1000, 1000)
        os.chown(up.dir, 1000, 1000)
        up.start()
        for name in ("std", "web"):
            assert up.client(name).call("echo", text=name) == name
        up.stop()


def test_a_model_router_runs_in_front_of_a_model():
    router = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "ModelRouter", "metadata": {"name": "front"},
              "spec": {"backends": [{"name": "local", "inferenceServiceRef": {"name": "chat"}, "tier": "local"}],
                       "defaultRoute": "local"}}
    with Up(test_up.model(), test_up.service(), router) as up:
        endpoint = up.endpoint("front")
        up.await_ready()
        assert wait_for(lambda: test_up.ask(endpoint), PATIENCE_S, "an answer")
        wait_for(lambda: up.models() == ["chat", "front"], PATIENCE_S, "both at the one address")
        wait_for(lambda: up.chat("front")[0] == 200, PATIENCE_S, "an answer of the router at the one address")
        up.stop()
