#!/usr/bin/env python3
"""stdio_server.py over HTTP: http_server.py [HOST:]PORT legacy|modern STATE-FILE [fixture]. A legacy server wants a session and knows nothing of
2026-07-28; a modern one knows nothing else. GET /forget ends all sessions."""
import json
import os
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST, _, PORT = sys.argv.pop(1).rpartition(":")
import stdio_server as server  # noqa: E402
if sys.argv[-1] == "fixture":
    import fixture  # noqa: E402,F401

SESSIONS, HERE = {}, threading.local()
MODERN_METHODS = {"server/discover", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list",
                  "prompts/list", "prompts/get", "completion/complete", "subscriptions/listen"}


def put(m):
    HERE.handler.event({"jsonrpc": "2.0", **m})


class Current:
    """The answer that a thread writes to: threads of its own are bound to it."""

    def __init__(self, handler):
        self.handler = handler

    def bind(self):
        HERE.handler = self.handler


server.put = put


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, code, body=None, **headers):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(code)
        if data:
            self.send_header("Content-Type", "application/json")
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def event(self, m):
        data = b"event: message\ndata: " + json.dumps(m).encode() + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def do_DELETE(self):
        self.reply(200 if SESSIONS.pop(self.headers.get("Mcp-Session-Id"), None) else 404)

    def do_GET(self):
        if self.path == "/forget":
            SESSIONS.clear()
        self.reply(200 if self.path == "/forget" else 405)

    def refuse(self, status, code, text, rid=None):
        self.reply(status, {"jsonrpc": "2.0", "id": rid, "error": {"code": code, "message": text}})

    def refused_modern(self, m, version):
        """What a server of 2026-07-28 checks before it looks at a request. True: refused."""
        method, meta = m["method"], (m.get("params") or {}).get("_meta") or {}
        told = meta.get(server.META + "protocolVersion")
        name = (m.get("params") or {}).get("name")
        if method not in MODERN_METHODS:
            self.refuse(404, -32601, "Method not found", m["id"])
        elif not told or server.META + "clientCapabilities" not in meta:
            self.refuse(400, -32602, "no _meta", m["id"])
        elif version != told or self.headers.get("Mcp-Method") != method or (
                method == "tools/call" and (self.headers.get("Mcp-Name") or "").strip() != name):
            self.refuse(400, -32020, "headers", m["id"])
        elif told != "2026-07-28":
            self.reply(400, {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32022, "message": "unsupported", "data": {
                "supported": ["2026-07-28"], "requested": told}}})
        elif name == "refuse":
            self.refuse(400, -32600, "not like that", m["id"])
        elif name == "test_missing_capability" and "sampling" not in meta[server.META + "clientCapabilities"]:
            self.reply(400, {"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32021, "message": "missing", "data": {
                "requiredCapabilities": {"sampling": {}}}}})
        else:
            return False
        return True

    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sid, version = self.headers.get("Mcp-Session-Id"), self.headers.get("MCP-Protocol-Version")
        method = m.get("method")
        more = {}
        if server.ERA == "legacy":
            if version and version > "2026":
                return self.refuse(400, -32000, "Bad Request: Unsupported protocol version")
            if method == "initialize":
                sid = uuid.uuid4().hex
                SESSIONS[sid] = True
                server.initialized = 0
                more = {"Mcp-Session-Id": sid}
            elif not sid:
                return self.refuse(400, -32000, "Bad Request: No valid session ID provided")
            elif sid not in SESSIONS:
                return self.refuse(404, -32001, "Session not found")
        elif method and "id" in m and self.refused_modern(m, version):
            return
        if method is None or "id" not in m:
            if method is None:
                with server.STARTED:
                    server.ANSWERS[m["id"]] = m
                    server.STARTED.notify_all()
            if method == "notifications/cancelled":
                server.note("cancelled")
            return self.reply(202)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        for k, v in more.items():
            self.send_header(k, v)
        self.end_headers()
        HERE.handler = self
        server.CURRENT = Current(self)
        server.note("user %s" % self.headers.get("Authorization"))
        server.serve(m)
        self.close_connection = True
        try:
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            pass


ThreadingHTTPServer((HOST or os.environ.get("MCP_HOST") or "127.0.0.1", int(PORT)), Handler).serve_forever()
