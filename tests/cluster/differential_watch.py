"""Watches in forms that some clients still use: inside a WebSocket, and below /watch/."""
import json

from differential import TABLE

SCRIPTS = []
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "https://127.0.0.1"}
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


class Socket:
    """What the server answers to an upgrade, and the frames after it."""

    def __init__(self, s, path, **headers):
        heads = {**s.server.headers, **UPGRADE, **{k.replace("_", "-"): v for k, v in headers.items()}}
        lines = [f"GET {path} HTTP/1.1", "Host: x", *(f"{k}: {v}" for k, v in heads.items() if v is not None)]
        self.connection = s.server.connect()
        self.connection.sock.sendall("\r\n".join([*lines, "", ""]).encode())
        self.stream = self.connection.sock.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        self.headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(self.stream.readline, b"\r\n"))

    def send(self, opcode, payload):
        """Masked with zeros."""
        self.connection.sock.sendall(bytes([0x80 | opcode, 0x80 | len(payload), 0, 0, 0, 0]) + payload)

    def frame(self):
        opcode, length = self.stream.read(2)
        length = int.from_bytes(self.stream.read(2)) if length == 126 else length
        return opcode, self.stream.read(length)

    def event(self):
        opcode, payload = self.frame()
        assert payload.endswith(b"}\n")
        return [opcode, json.loads(payload)]

    def end(self):
        """The last frame, and that nothing comes after it."""
        return repr([self.frame(), self.stream.read()])


def config_map(name, **labels):
    return {"metadata": {"name": name, "labels": {"a": "b", **labels}}}


@script
def watch_sockets(s):
    p = s.namespace() + "/configmaps"
    mine = p + "?watch=true&labelSelector=a"
    s.post(p, config_map("one"))
    w = Socket(s, mine)
    s.record("upgrade", [w.status, *(w.headers[k] for k in ("upgrade", "connection", "sec-websocket-accept"))])
    s.record("what is there", w.event())
    s.post(p, config_map("two", **{f"label-{i}": "x" * 60 for i in range(10)}))
    s.record("a new one, long", w.event())
    w.send(PING, b"hello")
    s.record("ping", repr(w.frame()))
    w.send(TEXT, b"nobody reads this")
    s.delete(p + "/one")
    s.record("a deleted one", w.event())
    w.send(CLOSE, b"\x03\xe8")
    s.record("closed", w.end())
    for accept in (TABLE, None):
        w = Socket(s, mine + "&timeoutSeconds=1", Accept=accept, Sec_WebSocket_Protocol="any")
        s.record("one protocol", [w.status, w.headers["sec-websocket-protocol"]])
        opcode, event = w.event()
        s.record("in that form", [opcode, event["type"], event["object"]["kind"]])
        s.record("the time is up", w.end())
    for headers in ({"Origin": None}, {"Sec_WebSocket_Key": None}, {"Sec_WebSocket_Version": "8"},
                    {"Sec_WebSocket_Protocol": "a, b"}, {"Upgrade": "h2c"}):
        w = Socket(s, mine + "&timeoutSeconds=1", **headers)
        s.record(f"upgrade with {headers}", w.status)
    for path in ("/api/v1/namespaces/default", "/apis/a.b/v1/c?watch=true", p + "?watch=true&resourceVersion=x",
                 p + "?watch=true&fieldSelector=a%3Db"):
        s.record(f"upgrade of {path}", Socket(s, path).status)


@script
def watch_paths(s):
    p = s.namespace()
    below = p.replace("/api/v1/", "/api/v1/watch/")
    for name in ("one", "two"):
        s.post(p + "/configmaps", config_map(name))
    s.watch(f"{below}/configmaps/one?timeoutSeconds=1", 2).read()
    s.watch(below, 1).read()
    s.watch("/api/v1/watch/nodes/not-there", 0).read()
    s.watch(f"{below}/configmaps/one?fieldSelector=metadata.name%3Done", 1).read()
    s.get(f"{below}/configmaps/one?fieldSelector=metadata.name%3Dtwo")
    s.get(f"{below}/configmaps/one?fieldSelector=metadata.name%21%3Dtwo")
    s.watch(f"{below}/configmaps/one?labelSelector=c", 0).read()
    s.get(f"{below}/configmaps/one/status")
    s.get(f"{below}/pods/one/status")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        s.send(method, f"{below}/configmaps/one", config_map("one"))
        s.send(method, f"{below}/configmaps", config_map("three"))
    s.get(f"{p}/configmaps?labelSelector=a")
