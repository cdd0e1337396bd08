"""A server of HTTP+SSE (2024-11-05) behind the proxy: lists on its stream are filtered, each for its user."""
import contextlib
import json
import os
import queue
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import kit
from kit import await_true, in_background

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "mcp", "configs")


class Server:
    """What is posted is answered on the stream, before the receipt if `early`."""

    def __init__(self):
        self.streams, self.posted, self.early, self.mute = {}, [], False, False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, code, data=b""):
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                if self.path == "/jwks":
                    return self.reply(200, open(os.path.join(GOLDEN, "jwks.json"), "rb").read())
                lines = queue.Queue()
                sid = "s-%d" % (len(outer.streams) + 1)
                outer.streams[sid] = lines
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream; charset=utf-8")
                self.send_header("Connection", "close")
                self.end_headers()
                # Some servers name themselves as they know themselves.
                lines.put(f"event: endpoint\r\ndata: http://inside:8080/messages/?session_id={sid}\r\n\r\n")
                while (line := lines.get()) is not None:
                    self.wfile.write(line.encode())
                    self.wfile.flush()
                self.close_connection = True

            def do_POST(self):
                m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.posted.append(m)
                lines = outer.streams.get(self.path.partition("session_id=")[2])
                if not lines:
                    return self.reply(404)
                if not outer.early:
                    self.reply(202, b"Accepted")
                if not outer.mute:
                    lines.put("event: message\ndata: %s\n\n" % json.dumps(answer(m)))
                if outer.early:
                    self.reply(202, b"Accepted")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


def answer(m):
    names = ("echo", "admin")
    result = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in names]} if m["method"] == "tools/list" else {"did": m["method"]}
    return {"jsonrpc": "2.0", "id": m["id"], "result": result}


@contextlib.contextmanager
def served(program, flavour="oidc", **config):
    server = Server()
    base = json.loads(open(os.path.join(GOLDEN, flavour + ".json")).read().replace("127.0.0.1:26180/", f"127.0.0.1:{server.port}/"))
    base["middleware_configs"] = [s for s in base["middleware_configs"] if s["type"] != "audit"]
    config = {**base, "transport": "sse", "remote_url": f"http://127.0.0.1:{server.port}", **config}
    try:
        with kit.proxy(program, config, ["remote"]) as (port, process):
            try:
                yield port, server, process
            finally:
                for lines in server.streams.values():
                    lines.put(None)
                while User.all:
                    User.all.pop().reply.close()  # the proxy would wait for them
    finally:
        server.server.shutdown()


def token(who):
    return {"Authorization": "Bearer " + json.load(open(os.path.join(GOLDEN, "tokens.json")))[who]} if who else {}


class User:
    all = []

    def __init__(self, port, who=None, headers=None):
        self.port, self.token = port, token(who)
        self.reply = kit.Reply(port, "GET", "/sse", {"Accept": "text/event-stream", **self.token, **(headers or {})}, None)
        self.all.append(self)
        self.messages = iter(self.reply)
        self.first = in_background(lambda: next(self.messages))  # it begins with what is no message
        self.endpoint = await_true(lambda: self.reply.events and self.reply.events[0]["data"], "the endpoint comes")

    def post(self, method, id, to=None):
        headers = {"Content-Type": "application/json", **self.token}
        body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "echo"}})
        r = kit.Reply(self.port, "POST", to or self.endpoint, headers, body)
        r.last()
        return r.status

    def next(self):
        first, self.first = self.first, None
        return first() if first else next(self.messages)

    def tools(self, id):
        assert self.post("tools/list", id) == 202
        m = self.next()
        assert m["id"] == id
        return [t["name"] for t in m["result"]["tools"]]


def test_each_user_sees_the_tools_that_the_policy_allows(program):
    with served(program) as (port, server, _p):
        alice, bob = User(port, "alice"), User(port, "bob")
        assert alice.endpoint == "/messages/?session_id=s-1"  # through the proxy
        for early in (False, True):
            server.early = early
            assert (alice.tools(1), bob.tools(1)) == (["echo", "admin"], ["echo"])
        # Other answers, and what the server says of itself, go on as they are.
        assert bob.post("tools/call", "x") == 202 and bob.next()["result"] == {"did": "tools/call"}
        note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        server.streams["s-2"].put(": alive\n\n")
        server.streams["s-2"].put("event: message\nid: 7\ndata: %s\n\n" % json.dumps(note))
        assert bob.next() == note and bob.reply.events[-1]["id"] == "7"
        # Nor does it matter who asked for a list: what comes on bob's stream is what bob may see.
        server.streams["s-2"].put("data: %s\n\n" % json.dumps(answer({"id": 9, "method": "tools/list"})))
        assert [t["name"] for t in bob.next()["result"]["tools"]] == ["echo"]


def test_a_stream_belongs_to_its_user(program):
    with served(program) as (port, server, _p):
        alice, bob = User(port, "alice"), User(port, "bob")
        assert [bob.post(method, 1, alice.endpoint) for method in ("tools/list", "tools/call")] == [404, 404]
        assert bob.post("tools/call", 1, alice.endpoint.replace("_", "%5F")) == 404  # the same address
        assert alice.post("tools/call", 1) == bob.post("tools/call", 1) == 202
        assert len(server.posted) == 2


def test_a_long_stream_costs_no_more_than_its_messages(program):
    with served(program, "filter") as (port, server, process):
        user = User(port)
        assert user.tools(1) == ["echo"]
        before = kit.resident(process)
        big = answer({"id": 2, "method": "tools/list"})
        big["result"]["tools"][0]["description"] = "x" * 50000
        for i in range(300):
            server.streams["s-1"].put("data: %s\n\n" % json.dumps(big))
            assert len(user.next()["result"]["tools"]) == 1
        assert kit.resident(process) < before + (6 << 20), (before, kit.resident(process))


def test_clients_learn_where_they_are(program):
    public = {"X-Forwarded-Prefix": "/weather/", "X-Forwarded-Host": "mcp.example.org", "X-Forwarded-Proto": "https"}
    for config, want in (({}, "/messages/?session_id=s-1"),
                         ({"endpoint_prefix": "/a"}, "/a/messages/?session_id=s-1"),
                         ({"trust_proxy_headers": True}, "https://mcp.example.org/weather/messages/?session_id=s-1"),
                         ({"trust_proxy_headers": True, "endpoint_prefix": "b/"}, "https://mcp.example.org/b/messages/?session_id=s-1")):
        with served(program, "filter", **config) as (port, server, _p):
            user = User(port, headers=public)
            assert user.endpoint == want, (config, user.endpoint)
            user.endpoint = "/messages/?session_id=s-1"  # as it comes through the ingress
            assert user.tools(3) == ["echo"]


def run(program):
    failed = 0
    tests = [t for n, t in list(globals().items()) if n.startswith("test_")]
    for t in tests:
        try:
            t(program)
        except Exception:
            print(f"{t.__name__}: {traceback.format_exc()}")
            failed += 1
    return len(tests) - failed, failed


if __name__ == "__main__":
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1])))
