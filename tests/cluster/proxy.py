"""A proxy between the operator and the API server that a test can stop at any request.

It ends TLS on both sides and speaks HTTP/1.1 only, so that requests can be told apart:

    with Proxy(lab, hook) as proxy, Operator(lab, kubeconfig=proxy.kubeconfig): ...

hook(request, stage) is called in the thread of the connection at three moments of every request:
BEFORE it is passed on, SENT when the API server has answered but the operator does not know, and
ANSWERED when the operator has been sent the whole answer (of a watch: its head). A hook that
returns CUT makes the proxy drop the connection right there.
"""
import os
import socket
import ssl
import subprocess
import threading

import yaml
from lab import free_port

BEFORE, SENT, ANSWERED = "before", "sent", "answered"
CUT = object()


class Request:
    def __init__(self, number, head, body):
        self.number, self.head, self.body = number, head, body
        self.method, self.path = head[0].split(" ")[:2]

    def mutates(self):
        return self.method in ("POST", "PUT", "PATCH", "DELETE")

    def __repr__(self):
        return f"{self.number}: {self.method} {self.path}"


class Ended(Exception):
    """One of the two sides is gone, or the hook cut it."""


class Side:
    """One side of a connection, read by lines and counts."""

    def __init__(self, connection):
        self.connection, self.reader = connection, connection.makefile("rb")

    def head(self):
        lines = []
        while True:
            line = self.line()
            if line == b"\r\n":
                return lines
            lines.append(line.decode("latin-1").rstrip("\r\n"))

    def line(self):
        line = self.reader.readline(1 << 20)
        if not line.endswith(b"\n"):
            raise Ended
        return line

    def bytes(self, count):
        data = self.reader.read(count)
        if len(data) < count:
            raise Ended
        return data

    def send(self, *data):
        self.connection.sendall(b"".join(data))


def header(head, name):
    for line in head[1:]:
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    return None


def as_bytes(head):
    return "".join(f"{line}\r\n" for line in [*head, ""]).encode("latin-1")


class Proxy:
    count_of_all = 0

    def __init__(self, lab, hook=lambda request, stage: None, token="admin-token"):
        self.lab, self.hook, self.lock = lab, hook, threading.Lock()
        self.requests, self.open, self.closed = [], set(), False
        port = free_port()
        Proxy.count_of_all += 1
        base = f"{lab.dir}/proxy-{Proxy.count_of_all}"
        self.kubeconfig = f"{base}.kubeconfig"
        certificate = self._certificate()
        with open(self.kubeconfig, "w") as f:
            yaml.dump({
                "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
                "clusters": [{"name": "proxy", "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority": f"{certificate}.crt"}}],
                "users": [{"name": "me", "user": {"token": token}}],
                "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "me"}}]}, f)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(f"{certificate}.crt", f"{certificate}.key")
        self.tls.set_alpn_protocols(["http/1.1"])
        self.listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _certificate(self):
        base = f"{self.lab.dir}/proxy"
        if not os.path.exists(f"{base}.crt"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=proxy", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", f"{base}.key", "-out", f"{base}.crt"],
                           check=True, capture_output=True)
        return base

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed = True
        self.listener.close()
        for connection in list(self.open):
            self._shut(connection)

    def _shut(self, connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def _accept(self):
        while not self.closed:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw):
        try:
            with self.tls.wrap_socket(raw, server_side=True) as client, \
                    socket.create_connection(("127.0.0.1", self.lab.port)) as plain, \
                    self.lab.tls.wrap_socket(plain, server_hostname="127.0.0.1") as server:
                self.open |= {client, server}
                ours, theirs = Side(client), Side(server)
                try:
                    while True:
                        self._one(ours, theirs)
                finally:
                    self.open -= {client, server}
        except (Ended, OSError, ValueError):
            pass

    def _say(self, request, stage):
        if self.hook(request, stage) is CUT:
            raise Ended

    def _one(self, client, server):
        head = client.head()
        body = client.bytes(int(header(head, "content-length") or 0))
        with self.lock:
            request = Request(len(self.requests) + 1, head, body)
            self.requests.append(request)
        self._say(request, BEFORE)
        server.send(as_bytes(request.head), request.body)
        answer = server.head()
        status, streams = int(answer[0].split(" ")[1]), "watch=" in request.path
        if streams or status == 204:
            self._say(request, SENT)
            client.send(as_bytes(answer))
            self._say(request, ANSWERED)
            if status != 204:
                self._pass_on(answer, server, client.send)
            return
        parts = []
        self._pass_on(answer, server, parts.append)
        self._say(request, SENT)
        client.send(as_bytes(answer), *parts)
        self._say(request, ANSWERED)

    def _pass_on(self, answer, server, sink):
        if header(answer, "transfer-encoding") != "chunked":
            sink(server.bytes(int(header(answer, "content-length") or 0)))
            return
        while True:
            line = server.line()
            size = int(line.split(b";")[0], 16)
            sink(line + server.bytes(size + 2))
            if size == 0:
                return
