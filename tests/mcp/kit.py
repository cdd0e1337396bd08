"""Starts the proxy, and speaks to it as MCP clients do. Standard library only."""
import contextlib
import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time

WAIT = 20
LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"


GIVEN = set()


def free_port():
    """Never the same twice: who was given one may be slow to take it."""
    while True:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        if port not in GIVEN:
            GIVEN.add(port)
            return port


def await_true(condition, what, seconds=WAIT, pause=0.02):
    limit = time.time() + seconds
    while time.time() < limit:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"waited {seconds} s: {what}")


def resident(process):
    """Bytes of memory that a process holds; 0 with a sanitizer, which holds much more."""
    if "/build/release/" not in os.readlink(f"/proc/{process.pid}/exe"):
        return 0
    with open(f"/proc/{process.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def answers(port, path="/health"):
    try:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        c.request("GET", path)
        return c.getresponse().read() is not None
    except OSError:
        return False


@contextlib.contextmanager
def proxy(program, config, arguments, env=None):
    """A running `leeboard mcp run ARGUMENTS`; yields its port and process."""
    with tempfile.TemporaryDirectory() as folder:
        port = config.get("port") or free_port()
        config = {"schema_version": "v0.1.0", "name": "tested", "host": "127.0.0.1", "port": port, **config}
        with open(os.path.join(folder, "runconfig.json"), "w") as f:
            json.dump(config, f)
        log = open(os.path.join(folder, "log"), "w+")
        process = subprocess.Popen([program, "mcp", "run", *arguments], cwd=folder, stdout=log, stderr=log,
                                   env={**os.environ, **(env or {})})
        try:
            await_true(lambda: answers(port) or process.poll() is not None, "the proxy serves")
            assert process.poll() is None, open(log.name).read()
            yield port, process
        finally:
            process.terminate()
            code = process.wait(WAIT)
            if code != 0:
                raise AssertionError(f"the proxy ended with {code}: {open(log.name).read()[-3000:]}")


class Reply:
    """An answer as it comes: .status, .headers, .messages; .text for what is no message."""

    def __init__(self, port, method, path, headers, body, timeout=WAIT):
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
        self.c.request(method, path, body, headers)
        self.r = None
        self.messages, self.events, self.text, self.ended = [], [], "", False

    def head(self):
        if self.r is None:
            self.r = self.c.getresponse()
            self.status = self.r.status
        return self

    def __iter__(self):
        """One message after the other."""
        self.head()
        if "event-stream" not in (self.r.getheader("Content-Type") or ""):
            self.text = self.r.read().decode()
            self.ended = True
            try:
                yield json.loads(self.text)
            except ValueError:
                pass
            return
        event = {}
        while True:
            line = self.r.readline()
            if not line:
                self.ended = True
                return
            line = line.decode().rstrip("\r\n")
            if line:
                key, _, value = line.partition(":")
                event[key] = value.lstrip()
            elif event:
                self.events.append(event)
                data = event.get("data")
                if data and data.startswith("{"):
                    yield json.loads(data)
                event = {}

    def last(self):
        for m in self:
            self.messages.append(m)
        return self.messages[-1] if self.messages else None

    def close(self):
        self.c.close()
        if self.r:
            self.r.close()
        if self.c.sock:
            self.c.sock.close()


class Client:
    """A legacy client with a session."""

    def __init__(self, port, capabilities=None, path="/mcp"):
        self.port, self.path, self.sid, self.ids = port, path, None, 0
        first = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": LEGACY, "capabilities": capabilities or {}, "clientInfo": {"name": "t", "version": "1"}}})
        self.about = first.last()
        self.sid = first.r.getheader("Mcp-Session-Id")
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).last()

    def headers(self):
        h = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        return {**h, "Mcp-Session-Id": self.sid, "MCP-Protocol-Version": LEGACY} if self.sid else h

    def post(self, message, accept=None):
        headers = self.headers()
        if accept:
            headers["Accept"] = accept
        return Reply(self.port, "POST", self.path, headers, json.dumps(message, ensure_ascii=False).encode())

    def start(self, method, params=None, id=None, accept=None):
        self.ids += 1
        m = {"jsonrpc": "2.0", "id": self.ids if id is None else id, "method": method}
        if params is not None:
            m["params"] = params
        return self.post(m, accept)

    def call(self, method, params=None, **more):
        return self.start(method, params, **more).last()

    def tool(self, name, arguments=None, **more):
        return self.call("tools/call", {"name": name, "arguments": arguments or {}}, **more)

    def get(self, headers=None):
        return Reply(self.port, "GET", self.path, {**self.headers(), "Accept": "text/event-stream", **(headers or {})}, None)


def modern(port, method, params=None, id=1, capabilities=None, headers=None, meta=None, path="/mcp"):
    """A request of 2026-07-28."""
    params = dict(params or {})
    params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": capabilities or {},
                       META + "clientInfo": {"name": "m", "version": "1"}, **(meta or {})}
    h = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
         "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    name = params.get("name") or params.get("uri")
    if name:
        h["Mcp-Name"] = name
    h = {k: v for k, v in {**h, **(headers or {})}.items() if v is not None}
    body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    return Reply(port, "POST", path, h, body.encode())


def in_background(work):
    box = {}

    def go():
        try:
            box["value"] = work()
        except Exception as e:  # the test looks at it
            box["error"] = e
    t = threading.Thread(target=go, daemon=True)
    t.start()

    def result():
        t.join(WAIT)
        if "error" in box:
            raise box["error"]
        assert "value" in box, "it has not ended"
        return box["value"]
    return result


def text_of(message):
    return message["result"]["content"][0]["text"]
