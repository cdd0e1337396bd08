"""Scripts of test_differential.py that are bytes on a connection: what no library of HTTP would send.

Each request goes over a connection of its own. What comes back is recorded as status, media type and body, and whether
the connection is good for another request after it.

Not here is what our reader of HTTP refuses with a 400 where Go's takes it: lines that end without a carriage return or go
on in the next one, two Content-Length fields or one beside a Transfer-Encoding, bytes above 127 in a target, methods that
are not registered, CONNECT, other versions than 1.0 and 1.1. What is wrong inside a chunked body is a 400 too, not a 500.
"""
import http.client
import json

SCRIPTS = []
HEAD = "Host: x\r\nAuthorization: {auth}\r\n"


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def read_answer(sock, method):
    """(status, headers, body), or None where the connection ended without an answer."""
    answer = http.client.HTTPResponse(sock, method=method)
    try:
        answer.begin()
        text = "" if answer.status == 101 else answer.read().decode("utf8", "replace")
    except (http.client.HTTPException, OSError):
        return None
    finally:
        answer.close()
    return answer.status, answer.headers, text


def raw(s, head, body="", auth=True, show=None):
    """Sends a request whose lines are given, with who asks put in for {head}."""
    token = s.server.headers.get("Authorization", "none")
    text = head.replace("{head}", HEAD.format(auth=token) if auth else "Host: x\r\n") + body
    method, connection = head.split(" ", 1)[0], s.server.connect(30)
    try:
        connection.sock.sendall(text.encode("latin1"))
        answer = read_answer(connection.sock, method)
        again = None
        if answer:
            try:
                connection.sock.sendall(f"GET /healthz HTTP/1.1\r\n{HEAD.format(auth=token)}\r\n".encode())
                again = read_answer(connection.sock, "GET")
            except OSError:
                pass
    finally:
        connection.close()
    shown = None
    if answer:
        status, headers, text = answer
        try:
            text = json.loads(text)
        except ValueError:
            pass
        if isinstance(text, dict) and text.get("kind") != "Status":
            text = text.get("kind", "an object")
        names = ("Content-Type", "Location", "Allow", "Sec-Websocket-Version")
        shown = {"status": status, "body": text, **{n: headers.get(n) for n in names}}
    s.record(f"{show or head!r} {body!r}"[:300], {"answer": shown, "open": bool(again and again[0] == 200)})


@script
def raw_paths(s):
    ns = s.namespace()
    s.ask("POST", ns + "/configmaps", {"metadata": {"name": "a"}})
    one = ns + "/configmaps/a"
    for path in (
            "//api/v1", "/api//v1/namespaces", ns + "//configmaps", ns + "/configmaps//a", one + "/", ns + "/configmaps/", "/api/v1/namespaces/",
            "/./api/v1/namespaces/x", "/api/../api/v1/namespaces/x", one + "/..", one + "/.", "/api/v1/../v1/namespaces/x", "/../version", "/..",
            ns + "/configmaps/%61", ns + "/configmaps/%2e", ns + "/configmaps/%2E%2E", ns + "/configmaps/a%2fb", ns + "/configmaps/%zz",
            ns + "/configmaps/%", ns + "/configmaps/a%20b", ns + "/configmaps/%c3%bc", "/%61pi/v1", "/api%2fv1", ns + "/config%6daps/a",
            one + "?", one + "?&", one + "?pretty", one + "?%zz=1", one + "?a=%zz", one + "?a;b", one + "?a=1;b=2", one + "#x", one + "?x#y", "/healthz/", "/healthz//", "/version/",
            "/version//", "/apis/", "/apis//", "/api/", "/api//", "/apis/apps/", "/apis/apps/v1/", "/apis/apps//v1", "/apis/apps/v1//deployments", "*", "http://x" + one,
            "https://x" + one, "ftp://x" + one, "http://" + one, "api/v1", "", "?x", "http://x", "http://x?y", "/" + "a" * 3000, ns + "/configmaps/" + "a" * 300,
            ns + "/configmaps/A", ns + "/configmaps/-", ns + "/configmaps/a:b", ns + "/configmaps/a,b", ns + "/configmaps/a+b", ns + "/configmaps/a@b", ns + "/configmaps/~",
            "/openapi/v3/", "/openapi/v2/", "/openapi", "/openapi/v3/api/v1/", "/livez/ping/", "/readyz/x/y", "/metrics/", "/logs", "/ui", "/swagger.json",
            "/api/v1/namespaces/" + s.ns + "/configmaps/a/b/c", "/api/v1/configmaps/a", "/api/v1/proxy/namespaces/x/services/y", "/api/v1/proxy", "/apis/apps/v1/proxy", "/apis/apps/v1/watch",
            "/apis/apps/v1/watch/", "/apis/apps/v1/watch/deployments/x/y"):
        raw(s, f"GET {path} HTTP/1.1\r\n{{head}}\r\n")


@script
def raw_methods(s):
    ns = s.namespace()
    s.ask("POST", ns + "/configmaps", {"metadata": {"name": "a"}})
    one = ns + "/configmaps/a"
    for method in ("HEAD", "OPTIONS", "TRACE", "PROPFIND", "MKCOL", "SEARCH", "PURGE", "M-SEARCH", "G{T", "GE\tT"):
        for path in (one, ns + "/configmaps", ns + "/configmaps/missing", "/api", "/apis/apps/v1", "/version", "/healthz", "/nonsense", ns + "/configmaps/a/status", "/apis/apps/v1/nonsense"):
            raw(s, f"{method} {path} HTTP/1.1\r\n{{head}}\r\n")
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        for path in ("/healthz", "/version", "/api", "/apis", "/apis/apps", "/apis/apps/v1", "/", "/nonsense", "/openapi/v2"):
            raw(s, f"{method} {path} HTTP/1.1\r\n{{head}}Content-Length: 0\r\n\r\n")


@script
def raw_heads(s):
    ns = s.namespace()
    p = ns + "/configmaps"
    body = '{"metadata":{"name":"a"}}'
    length = f"Content-Length: {len(body)}\r\n"
    for line in ("GET /version HTTP/1.0", "GET /version HTTP/2.0", "GET /version HTTP/0.9", "GET /version HTTP/9", "GET /version http/1.1", 
                 "GET /version HTTP/1.1 ", " GET /version HTTP/1.1", "GET\t/version HTTP/1.1", "GET /version\tHTTP/1.1", "GET /ver sion HTTP/1.1", "/version HTTP/1.1", "GET", "", "GET /version HTTP/1.1x",
                 "GET /ver\x7fsion HTTP/1.1", "GET /version HTTP/11"):
        raw(s, line + "\r\n{head}\r\n")
    for header in ("X: a\x00b", ": z", "X", "X: \x7f", "X: \xff", "X\x01: y", "(x): y", "Host: y", "Content-Length: x", "Content-Length: -1", "Content-Length: +1",
                   "Content-Length: 1, 1", "Content-Length:", "Content-Length: 0\r\nContent-Length: 1", 
                   "Transfer-Encoding: gzip", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: ", "Expect: nonsense",
                   "Connection: close", "Connection: keep-alive", "Connection: x", "Accept: \xff", "X: " + "y" * 9000, "Trailer: X", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk"):
        raw(s, f"GET /version HTTP/1.1\r\n{{head}}{header}\r\n\r\n")
    raw(s, "GET /version HTTP/1.1\r\n\r\n", auth=False, show="no host")
    raw(s, "GET /version HTTP/1.0\r\n\r\n", auth=False, show="no host 1.0")
    raw(s, "GET /version HTTP/1.1\r\nHost: a b\r\n\r\n", auth=False)
    raw(s, "GET /version HTTP/1.1\r\nHost: a/b\r\n\r\n", auth=False)
    for headers, sent in (
            (length, body), ("Content-Length: 3\r\n" + length, body), (length + "Expect: 100-continue\r\n", body), ("Content-Length: 0\r\nExpect: 100-continue\r\n", ""),
            ("Transfer-Encoding: chunked\r\n", f"{len(body):x}\r\n{body}\r\n0\r\n\r\n"), ("Transfer-Encoding: chunked\r\n", f"{len(body):X};a=b\r\n{body}\r\n0\r\nX: y\r\n\r\n"),
            
            ("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), ("", ""), ("Content-Length: 0\r\n", "")):
        raw(s, f"POST {p}?dryRun=All HTTP/1.1\r\n{{head}}Content-Type: application/json\r\n{headers}\r\n", sent)


SOCKET = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
KEY, VERSION = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "Sec-WebSocket-Version: 13\r\n"


@script
def raw_sockets(s):
    """Upgrades that are refused."""
    ns = s.namespace()
    s.ask("POST", ns + "/pods", {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    watch = ns + "/configmaps?watch=1&timeoutSeconds=1"
    origin = "Origin: http://x\r\n"
    for path in (watch, ns + "/configmaps", ns + "/configmaps/missing", ns + "/pods/p/log", ns + "/pods/missing/log", ns + "/pods/p/exec?command=x&stdout=1", ns + "/pods/missing/exec", "/version", "/api", "/nonsense",
                 ns + "/configmaps?watch=1&timeoutSeconds=x", ns + "/configmaps?watch=1&resourceVersion=x", ns + "/configmaps?watch=1&labelSelector=%3D", ns + "/configmaps?watch=1&sendInitialEvents=true",
                 ns + "/pods/p/portforward", ns + "/pods/p/attach"):
        for headers in (SOCKET + KEY + "Sec-WebSocket-Version: 8\r\n" + origin, SOCKET + KEY + origin, SOCKET + VERSION + origin, SOCKET + KEY + VERSION, SOCKET,
                        "Connection: Upgrade\r\nUpgrade: nonsense\r\n", "Upgrade: websocket\r\n" + KEY + VERSION + origin, "Connection: Upgrade\r\n" + KEY + VERSION + origin, "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n",
                        SOCKET + KEY + VERSION + origin + "Sec-WebSocket-Protocol: a, b\r\n", SOCKET + VERSION + origin + "Sec-WebSocket-Key: x\r\n"):
            if "watch" in path and ("Connection" not in headers or "Upgrade:" not in headers or "nonsense" in headers or "SPDY" in headers) and "=x" not in path and "%3D" not in path and "Initial" not in path:
                continue  # that is a stream
            raw(s, f"GET {path} HTTP/1.1\r\n{{head}}{headers}\r\n")
        for method in ("POST", "PUT", "DELETE"):
            raw(s, f"{method} {path} HTTP/1.1\r\n{{head}}{SOCKET}{KEY}{VERSION}{origin}Content-Length: 0\r\n\r\n")
