"""What goes wrong around the proxy: servers that die, clients that leave, read nothing or never end, and bytes that make no sense."""
import contextlib
import http.client
import json
import os
import random
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import kit
from kit import Client, await_true, in_background, text_of
from shared_server import error, served

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
SHOW = False  # how long each took


class Server:
    """http_server.py of the legacy era, which can be killed and started again at its address."""

    def __init__(self, folder, port=None):
        self.state, self.port, self.process = os.path.join(folder, "state"), port or kit.free_port(), None
        open(self.state, "w").close()

    def start(self):
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "http_server.py"), str(self.port), "legacy", self.state],
                                        stderr=subprocess.DEVNULL)
        await_true(lambda: kit.answers(self.port, "/"), "the server runs")
        return self

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def said(self):
        return open(self.state).read().splitlines()


@contextlib.contextmanager
def over_http(program, start=True, **config):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        if start:
            server.start()
        try:
            config = {"transport": "streamable-http", "remote_url": f"http://127.0.0.1:{server.port}/mcp", **config}
            with kit.proxy(program, config, ["remote"]) as (port, process):
                yield port, server, process
        finally:
            server.kill()


def health(port):
    c = http_get(port, "/health")
    return json.loads(c)["status"]


def post_raw(port, client, message):
    """The socket that an answer comes on, byte for byte."""
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(kit.WAIT)
    body = json.dumps(message)
    head = "".join(f"{k}: {v}\r\n" for k, v in {**client.headers(), "Host": "a", "Content-Length": len(body)}.items())
    s.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n{body}".encode())
    return s


def all_of(s):
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while more := s.recv(1 << 16):
            data += more
    return data


def http_get(port, path):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=kit.WAIT)
    c.request("GET", path)
    return c.getresponse().read()


# ---- servers ----

def test_a_server_that_is_killed_while_calls_wait(program):
    with over_http(program) as (port, server, _p):
        clients = [Client(port) for _ in range(3)]
        call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow", "arguments": {"steps": 100, "pause": 1}}}
        waiting = [post_raw(port, c, call) for c in clients[:2]]
        await_true(lambda: len([x for x in server.said() if x.startswith("user")]) >= 5, "the calls run")
        server.kill()
        for reply in waiting:
            # Its stream had begun: it is cut, so that nobody takes it for whole.
            data = all_of(reply)
            assert b"HTTP/1.1 200" in data and b"notifications/progress" in data, data
            assert b"\r\n0\r\n" not in data and b'"result"' not in data, data
        last = clients[2].start("tools/call", {"name": "echo", "arguments": {"text": "x"}})
        assert error(last.last()) == -32603 and last.status == 502
        assert health(port) == "healthy"
        server.start()
        # The same sessions go on: the server has forgotten them, which clients do not notice.
        said = [c.tool("echo", {"text": "again"}) for c in clients]
        assert [text_of(m) for m in said if "result" in m] == ["again"] * 3, said


def test_a_server_that_dies_before_its_answer(program):
    """It takes the request, says nothing and goes."""
    listener = socket.create_server(("127.0.0.1", 0))
    taken = []

    def serve():
        while True:
            try:
                c, _ = listener.accept()
            except OSError:
                return
            taken.append(c)
    threading.Thread(target=serve, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    with kit.proxy(program, {"transport": "streamable-http", "remote_url": url}, ["remote"]) as (port, _):
        body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "a"}})
        reply = kit.Reply(port, "POST", "/mcp", {"Content-Type": "application/json"}, body)
        await_true(lambda: taken and taken[0].recv(1 << 16), "the request is there")
        listener.close()
        taken[0].close()
        m = reply.last()
        assert error(m) == -32603 and m["id"] == 7 and reply.status == 502


def test_a_server_that_is_not_there_yet(program):
    with over_http(program, start=False) as (port, server, _p):
        assert health(port) == "healthy"
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        reply = kit.Reply(port, "POST", "/mcp", {"Content-Type": "application/json"}, body)
        assert error(reply.last()) == -32603 and reply.status == 502
        server.start()
        assert text_of(Client(port).tool("echo", {"text": "now"})) == "now"


# ---- clients ----

FLOOD = """import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}}
    elif m.get("method") == "tools/call" and m["params"]["name"] == "flood":
        for i in range(%d):
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": m["params"]["_meta"]["progressToken"], "progress": i, "message": "x" * 60000}}))
        r = {}
    else:
        r = {"content": [{"type": "text", "text": "here"}]}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def test_a_client_that_reads_nothing_costs_what_it_may_be_behind(program):
    script = FLOOD % 300  # 18 MB for each call
    with kit.proxy(program, {"transport": "stdio"}, ["--local", sys.executable, "--", "-c", script]) as (port, process):
        c = Client(port)
        before = kit.resident(process)
        idle = [Client(port).start("tools/call", {"name": "flood", "_meta": {"progressToken": i}}) for i in range(3)]
        assert text_of(c.tool("here")) == "here"  # after all floods: the server does one thing after the other
        assert kit.resident(process) < before + 16 * MIB, (before, kit.resident(process))
        for reply in idle:
            reply.close()


def test_a_client_that_reads_nothing_holds_an_http_server_back(program):
    sent, chunk = [], b"data: " + b"x" * 65000 + b"\n\n"
    listener = socket.create_server(("127.0.0.1", 0))

    def flood(c):
        c.recv(1 << 16)
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        sent.append(0)
        me = len(sent) - 1
        try:
            while sent[me] < 200 * MIB:
                sent[me] += c.send(chunk)
        except OSError:
            pass

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=flood, args=(listener.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    with kit.proxy(program, {"transport": "streamable-http", "remote_url": url}, ["remote"]) as (port, process):
        before = kit.resident(process)
        clients = []
        for i in range(10):
            c = socket.create_connection(("127.0.0.1", port))
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            c.sendall(b"GET /mcp HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n")
            clients.append(c)
        seen = [None]

        def quiet():
            was, seen[0] = seen[0], list(sent)
            return was == seen[0] and len(sent) == 10
        await_true(quiet, "the servers are held back", pause=0.3)
        assert max(sent) < 32 * MIB, sent
        assert kit.resident(process) < before + 16 * MIB, (before, kit.resident(process))
        assert health(port) == "healthy"
        for c in clients:
            c.close()
    listener.close()


def hellos(port, count, padding, clients=4):
    """That many sessions, which nobody ends; several requests at once on each connection."""
    body = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t" + "x" * padding, "version": "1"}}}).encode()
    head = "POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: %d\r\n\r\n"
    request, step = (head % len(body)).encode() + body, 50 if padding < 1000 else 1

    def run():
        c = socket.create_connection(("127.0.0.1", port))
        c.settimeout(kit.WAIT)
        for _ in range(count // clients // step):
            c.sendall(request * step)
            got = b""
            while got.lower().count(b"mcp-session-id:") < step or got.count(b'"serverInfo"') < step:
                data = c.recv(1 << 16)
                assert data, got[-500:]
                got += data
        return c
    return [w() for w in [in_background(run) for _ in range(clients)]]


def test_sessions_that_nobody_ends_are_bounded_by_their_bytes(program):
    with served(program) as (port, _, process):
        kept = hellos(port, 10000, 0)
        many = kit.resident(process)
        assert many < 40 * MIB, many
        first = Client(port)
        kept += hellos(port, 3000, 60000)  # 180 MB of them, of which 64 are kept
        assert kit.resident(process) < many + 100 * MIB, (many, kit.resident(process))
        # The oldest made room; clients begin again.
        assert error(first.call("ping")) == -32001
        assert Client(port).call("ping")["result"] == {}


def test_half_requests_and_noise(program):
    with served(program) as (port, _, process):
        c = Client(port)
        before, open_ones = kit.resident(process), []

        def say(data):
            s = socket.create_connection(("127.0.0.1", port))
            with contextlib.suppress(OSError):
                s.sendall(data)
            open_ones.append(s)
        dice = random.Random(7)
        for i in range(300):
            say(b"POST /mcp HTTP/1.1\r\nHost: a\r\nX-" + b"y" * i)
        for i in range(300):
            say(dice.randbytes(dice.randrange(1, 4000)))
        for line in (b"GET / HTTP/9.9\r\n\r\n", b"POST /mcp HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + dice.randbytes(500), b"\x16\x03\x01" + dice.randbytes(300)):
            say(line)
        assert text_of(c.tool("echo", {"text": "beside them"})) == "beside them"
        assert kit.resident(process) < before + 16 * MIB, (before, kit.resident(process))
        for s in open_ones:
            s.close()


def test_bodies_that_do_not_end_are_bounded_together(program):
    with served(program) as (port, _, process):
        c = Client(port)
        head = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n"
        part, sockets = b" " * (8 * MIB - 1000), []
        for _ in range(36):  # 288 MiB, of which 256 are taken
            s = socket.create_connection(("127.0.0.1", port))
            with contextlib.suppress(OSError):
                s.sendall(head + part)
            sockets.append(s)
        told, _, _ = select.select(sockets, [], [], kit.WAIT)
        assert told and told[0].recv(100).startswith(b"HTTP/1.1 503"), told
        assert kit.resident(process) < 330 * MIB, kit.resident(process)
        for s in sockets:
            s.close()
        await_true(lambda: "result" in c.tool("echo", {"text": "room again"}), "there is room again")


# ---- the RunConfig ----

def test_a_run_config_that_changes_changes_nothing_in_a_process(program):
    """A mounted ConfigMap changes under a pod that is to be replaced: it must not take half of the new one."""
    steps = [{"type": "tool-filter", "parameters": {"filter_tools": ["echo"]}}]
    with served(program, middleware_configs=steps) as (port, _, process):
        c = Client(port)
        names = [t["name"] for t in c.call("tools/list")["result"]["tools"]]
        path = os.path.join(f"/proc/{process.pid}/cwd", "runconfig.json")
        config = json.load(open(path))
        for text in (json.dumps({**config, "middleware_configs": [], "port": 1}), "{", ""):
            open(path, "w").write(text)
            assert [t["name"] for t in c.call("tools/list")["result"]["tools"]] == names == ["echo"]
            assert [t["name"] for t in Client(port).call("tools/list")["result"]["tools"]] == names


def run(program):
    failed = 0
    tests = [t for n, t in list(globals().items()) if n.startswith("test_")]
    for t in tests:
        begun = time.time()
        try:
            t(program)
            if SHOW:
                print(f"{time.time() - begun:.1f} s {t.__name__}")
        except Exception:
            print(f"{t.__name__}: {traceback.format_exc()}")
            failed += 1
    return len(tests) - failed, failed


if __name__ == "__main__":
    SHOW = True
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1])))
