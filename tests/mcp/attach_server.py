"""As much of an API server as `leeboard mcp run` needs for a stdio server: it takes the workload, lists one pod, and attaches to
its container over a WebSocket, or over SPDY alone. The container is tests/mcp/stdio_server.py."""
import base64
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "stdio_server.py")


def dictionary():
    """The words of SPDY's standard that header blocks are packed with: those of our source, which kubectl understands."""
    text = open(os.path.join(os.path.dirname(os.path.dirname(HERE)), "src/http/spdy.c")).read()
    words, rest = re.search(r"dictionary_words.. = \{(.*?)\};.*?dictionary_rest.. =(.*?);\n", text, re.S).groups()
    words = re.findall(r'"(.*?)"', words)
    return b"".join(struct.pack(">I", len(w)) + w.encode() for w in words) + "".join(re.findall(r'"(.*?)"', rest)).encode()


class Tunnel:
    """A proxy that knows CONNECT and nothing else."""

    def __init__(self):
        self.asked, self.listener = [], socket.create_server(("127.0.0.1", 0))
        self.url = f"http://ann:secret@127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        self.asked.append(head.decode())
        host, port = head.split()[1].decode().split(":")
        server = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")

        def pass_on(a, b):
            try:
                while data := a.recv(65536):
                    b.sendall(data)
                b.shutdown(socket.SHUT_WR)
            except OSError:
                pass
        threading.Thread(target=pass_on, args=(client, server), daemon=True).start()
        pass_on(server, client)


class Container:
    """A server process, attached to by at most one connection at a time."""

    def __init__(self, cluster):
        self.id = "test://%d" % len(cluster.containers)
        self.process = subprocess.Popen([sys.executable, SERVER, "legacy", cluster.state], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.sink = None
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while data := self.process.stdout.read1(7000):
            sink = self.sink
            if sink:
                sink(data)
        self.process.wait()
        if self.sink:
            self.sink(None)


class Cluster:
    def __init__(self, state, spdy=False):
        self.state, self.containers, self.attached, self.written, self.refused = state, [], [], [], 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, code, body):
                data = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                if "/attach?" in self.path and spdy:
                    outer.refused += 1
                    self.reply(403, {"kind": "Status", "reason": "Forbidden", "message": "cannot get resource pods/attach"})
                elif "/attach?" in self.path:
                    outer.attach(self)
                elif "/pods?" in self.path:
                    self.reply(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": outer.pods()})
                else:
                    self.reply(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})

            def do_POST(self):
                if "/attach?" in self.path:
                    return outer.attach_spdy(self)
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.written.append(body)
                body.setdefault("metadata", {}).update(uid="u", resourceVersion="1")
                self.reply(201, body)

            do_PATCH = do_PUT = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.restart()

    def restart(self):
        """The kubelet starts the container anew."""
        self.containers.append(Container(self))

    def detach(self):
        """The connection breaks; the container runs on."""
        self.attached[-1].connection.shutdown(2)

    def pods(self):
        status = {"name": "mcp", "containerID": self.containers[-1].id, "state": {"running": {}}}
        return [{"metadata": {"name": "tested-0", "namespace": "default"}, "status": {"containerStatuses": [status]}}]

    def attach(self, h):
        container = self.containers[-1]
        assert "stdin=true" in h.path and h.headers["Upgrade"] == "websocket", h.path
        key = h.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        h.send_response(101)
        h.send_header("Upgrade", "websocket")
        h.send_header("Connection", "Upgrade")
        h.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode())
        h.send_header("Sec-WebSocket-Protocol", "v5.channel.k8s.io")
        h.end_headers()
        self.attached.append(h)
        lock = threading.Lock()

        def frame(opcode, data, last=True):
            head = bytes([opcode | (0x80 if last else 0)])
            head += bytes([len(data)]) if len(data) < 126 else b"\x7e" + struct.pack(">H", len(data))
            with lock:
                h.wfile.write(head + data)

        def sink(data):
            if data is None:
                frame(2, b'\x03{"metadata":{},"status":"Success"}')
                frame(8, struct.pack(">H", 1000))
            elif len(data) > 10:  # a message in two frames, and a ping between them
                frame(2, b"\x01" + data[:5], False)
                frame(9, b"p")
                frame(0, data[5:])
            else:
                frame(2, b"\x01" + data)
        frame(2, b"\x01")  # servers begin with empty messages
        frame(2, b"\x02")
        container.sink = sink
        try:
            while head := h.rfile.read(2):
                assert head[1] & 0x80, "a client masks"
                length = head[1] & 0x7F
                if length == 126:
                    length, = struct.unpack(">H", h.rfile.read(2))
                elif length == 127:
                    length, = struct.unpack(">Q", h.rfile.read(8))
                mask, data = h.rfile.read(4), h.rfile.read(length)
                data = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
                if head[0] & 15 == 8:
                    break
                if head[0] & 15 in (0, 1, 2) and data[:1] == b"\x00":
                    container.process.stdin.write(data[1:])
                    container.process.stdin.flush()
        except (OSError, ValueError):
            pass
        container.sink = None
        h.close_connection = True

    def attach_spdy(self, h):
        container = self.containers[-1]
        assert "stdin=true" in h.path and h.headers["Upgrade"] == "SPDY/3.1", h.path
        assert "v4.channel.k8s.io" in h.headers.get_all("X-Stream-Protocol-Version")
        h.send_response(101)
        h.send_header("Upgrade", "SPDY/3.1")
        h.send_header("Connection", "Upgrade")
        h.send_header("X-Stream-Protocol-Version", "v4.channel.k8s.io")
        h.end_headers()
        self.attached.append(h)
        unpack, pack = zlib.decompressobj(zdict=dictionary()), zlib.compressobj(zdict=dictionary())
        lock, ids, pinged = threading.Lock(), {}, []

        def frame(first, flags, data):
            with lock:
                h.wfile.write(struct.pack(">II", first, flags << 24 | len(data)) + data)
                h.wfile.flush()

        def sink(data):
            if data is None:
                frame(ids["error"], 1, b'{"metadata":{},"status":"Success"}')
            else:
                frame(ids["stdout"], 0, data[:5])
                frame(0x80030006, 0, struct.pack(">I", 2))  # a ping between
                frame(ids["stdout"], 0, data[5:])
        try:
            while head := h.rfile.read(8):
                first, rest = struct.unpack(">II", head)
                flags, data = rest >> 24, h.rfile.read(rest & 0xffffff)
                if first == 0x80030001:  # a stream
                    number, = struct.unpack(">I", data[:4])
                    text = unpack.decompress(data[10:])
                    count, n, = struct.unpack(">II", text[:8])
                    assert count == 1 and text[8:8 + n] == b"streamtype" and flags == 0 and number % 2 == 1
                    ids[text[12 + n:].decode()] = number
                    block = pack.compress(struct.pack(">I", 0)) + pack.flush(zlib.Z_SYNC_FLUSH)
                    frame(0x80030002, 0, struct.pack(">I", number) + block)
                    if len(ids) == 4:
                        container.sink = sink
                elif first == 0x80030006:
                    pinged.append(data)
                elif first == ids.get("stdin"):
                    container.process.stdin.write(data)
                    container.process.stdin.flush()
        except (OSError, ValueError):
            pass
        assert sorted(ids) == ["error", "stderr", "stdin", "stdout"] and list(ids)[0] == "error"
        self.pinged = pinged
        container.sink = None
        h.close_connection = True

    def close(self):
        self.server.shutdown()
        for c in self.containers:
            c.process.kill()
            c.process.wait()
