"""The router before providers that prove who asks: a fake Bedrock that works out each signature anew, and a fake Vertex AI
with the token endpoint of Google, which checks the assertion of a service account."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request

import routers
from lab import Failure, wait_for

KEY_ID, SECRET, SESSION = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "a/session+token=="
ANSWER = {"id": "x", "object": "chat.completion", "model": "inner", "choices": [
    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(secret, scope, date, canonical):
    text = f"AWS4-HMAC-SHA256\n{date}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = digest(key, part)
    return digest(key, text).hex()


def fault_of_signature(method, target, headers, body):
    """Why AWS would refuse the request; None if it would not."""
    value = headers.get("authorization") or ""
    if not value.startswith("AWS4-HMAC-SHA256 "):
        return f"no signature in {value!r}"
    parts = dict(p.strip().split("=", 1) for p in value.removeprefix("AWS4-HMAC-SHA256 ").split(","))
    key_id, scope = parts["Credential"].split("/", 1)
    names = parts["SignedHeaders"].split(";")
    path, _, query = target.partition("?")
    unsigned = [n.lower() for n in headers.keys() if n.lower().startswith("x-amz-") and n.lower() not in names]
    if key_id != KEY_ID or scope.split("/")[1:] != ["eu-west-1", "bedrock", "aws4_request"]:
        return f"credential {parts['Credential']}"
    if "host" not in names or unsigned or headers.get("x-amz-security-token") != SESSION:
        return f"headers {names}, unsigned {unsigned}"
    canonical = "\n".join([
        method, urllib.parse.quote(path, safe="/-_.~"),
        "&".join(sorted(f"{k}={v}" for k, _, v in (p.partition("=") for p in query.split("&") if p))),
        *(f"{n}:{' '.join(headers[n].split())}" for n in names), "", ";".join(names), hashlib.sha256(body).hexdigest()])
    ours = signature(SECRET, scope, headers["x-amz-date"], canonical)
    return None if ours == parts["Signature"] else f"signature of\n{canonical}"


class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def body(self):
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def do_GET(self):
        fault = fault_of_signature("GET", self.path, self.headers, b"")
        self.server.checks.append(fault)
        self.answer(403 if fault else 200, {})

    def do_POST(self):
        body = self.body()
        if self.path == "/token":
            self.token(urllib.parse.parse_qs(body.decode()))
        elif "/endpoints/openapi/" in self.path:
            fine = self.headers.get("authorization") == f"Bearer ya29.{len(self.server.assertions)}"
            fine = fine and self.path.endswith("/endpoints/openapi/chat/completions")
            self.answer(200 if fine else 401, ANSWER if fine else {"error": self.headers.get("authorization")})
        else:
            fault = fault_of_signature("POST", self.path, self.headers, body)
            self.server.bodies.append(json.loads(body))
            self.answer(403 if fault else 200, {"error": {"message": fault}} if fault else ANSWER)

    def token(self, form):
        assertion = form["assertion"][0]
        self.server.assertions.append(assertion)
        if self.server.refuses or form["grant_type"] != ["urn:ietf:params:oauth:grant-type:jwt-bearer"]:
            self.answer(400, {"error": "invalid_grant", "error_description": "the account's secret name"})
        else:
            self.answer(200, {"access_token": f"ya29.{len(self.server.assertions)}", "expires_in": 3600})


@contextlib.contextmanager
def provider():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    server.checks, server.bodies, server.assertions, server.refuses = [], [], [], False
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def router(backend, policy=None, **environment):
    config = {"backends": [{"name": "a", "tier": "cloud", **backend}], "defaultRoute": "a"}
    return routers.running(config, policy, **environment)


def ask(port, path="/v1/chat/completions", pieces=None, **body):
    """Status and answer; pieces: sent as chunks."""
    text = json.dumps({"model": "m", "messages": [{"role": "user", "content": "héllo"}], **body}).encode()
    data = iter([text[i:i + pieces] for i in range(0, len(text), pieces)]) if pieces else text
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {
        "Content-Type": "application/json", "Authorization": "Bearer the-callers-own", "X-Amz-Security-Token": "the-callers-own"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def test_requests_to_bedrock_are_signed_with_their_whole_body():
    with provider() as fake:
        where = f"http://127.0.0.1:{fake.server_address[1]}/openai/v1"
        aws = {"AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": SESSION,
               "AWS_REGION": "eu-west-1"}
        backend = {"provider": "bedrock", "address": where, "model": "eu.some-model-v1:0",
                   "credentialsEnv": "AWS_ACCESS_KEY_ID"}
        checked = {"backends": [{"name": "a", "healthCheck": {"path": "/models", "intervalSeconds": 1}}]}
        with router(backend, checked, **aws) as port:
            for status, answer in (ask(port), ask(port, pieces=1000, pad="x" * 300000), ask(port, "/v1/chat/completions?b=2&a=%2F")):
                assert status == 200, (status, answer)
                assert answer["choices"][0]["message"]["content"] == "hello" and answer["model"] == "m", answer
            assert [b["model"] for b in fake.bodies] == ["eu.some-model-v1:0"] * 3
            assert len(fake.bodies[1]["pad"]) == 300000
            wait_for(lambda: fake.checks, 20, "a health check")
            assert fake.checks[0] is None, fake.checks
        with router(backend, AWS_ACCESS_KEY_ID=KEY_ID) as port:
            status, answer = ask(port)
            assert status == 502 and "AWS_SECRET_ACCESS_KEY" in json.dumps(answer), answer
            assert KEY_ID not in json.dumps(answer), answer
        with router(backend, **aws, AWS_BEARER_TOKEN_BEDROCK="an-api-key") as port:
            status, answer = ask(port)
            assert status == 403 and "Bearer an-api-key" in json.dumps(answer), (status, answer)


def claims_of(assertion, public_key, folder):
    """The claims, if the signature is one of RS256 with the key; openssl judges."""
    signed, _, mark = assertion.rpartition(".")
    head, body = (json.loads(base64.urlsafe_b64decode(p + "==")) for p in signed.split("."))
    assert head == {"alg": "RS256", "typ": "JWT", "kid": "k1"}, head
    with open(f"{folder}/text", "w", encoding="utf-8") as f:
        f.write(signed)
    with open(f"{folder}/mark", "wb") as f:
        f.write(base64.urlsafe_b64decode(mark + "=="))
    done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", public_key, "-signature", f"{folder}/mark",
                           f"{folder}/text"], capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stdout + done.stderr)
    return body


def test_vertex_ai_gets_tokens_for_a_service_account():
    with provider() as fake, tempfile.TemporaryDirectory() as folder:
        here = f"http://127.0.0.1:{fake.server_address[1]}"
        subprocess.run(["openssl", "genrsa", "-out", f"{folder}/key.pem", "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", f"{folder}/key.pem", "-pubout", "-out", f"{folder}/public.pem"], check=True,
                       capture_output=True)
        with open(f"{folder}/key.pem", encoding="utf-8") as f:
            account = json.dumps({"type": "service_account", "client_email": "r@p.test", "private_key_id": "k1",
                                  "private_key": f.read(), "token_uri": f"{here}/token"})
        with open(f"{folder}/account.json", "w", encoding="utf-8") as f:
            f.write(account)
        backend = {"provider": "vertex_ai", "address": f"{here}/v1/projects/p/locations/l/endpoints/openapi", "model": "inner",
                   "credentialsEnv": "GOOGLE_APPLICATION_CREDENTIALS"}
        with router(backend, GOOGLE_APPLICATION_CREDENTIALS=account) as port:
            for _ in range(3):
                status, answer = ask(port)
                assert status == 200 and answer["model"] == "m", (status, answer)
            assert len(fake.assertions) == 1, "the token is asked for once"
        claims = claims_of(fake.assertions[0], f"{folder}/public.pem", folder)
        assert claims["iss"] == "r@p.test" and claims["aud"] == f"{here}/token", claims
        assert claims["scope"].endswith("/cloud-platform") and 0 < claims["exp"] - claims["iat"] <= 3600, claims
        with router(backend, GOOGLE_APPLICATION_CREDENTIALS=f"{folder}/account.json") as port:
            assert ask(port)[0] == 200
        fake.refuses = True
        with router(backend, GOOGLE_APPLICATION_CREDENTIALS=account) as port:
            status, answer = ask(port)
            assert status == 502 and "invalid_grant" in json.dumps(answer), (status, answer)
            assert "secret name" not in json.dumps(answer), answer
        with router(backend, GOOGLE_APPLICATION_CREDENTIALS=f"{folder}/nowhere.json") as port:
            status, answer = ask(port)
            assert status == 502 and folder not in json.dumps(answer), (status, answer)


def test_a_key_in_a_mounted_file_is_read_again():
    with provider() as fake, tempfile.TemporaryDirectory() as folder:
        def write(key):
            with open(f"{folder}/next", "w", encoding="utf-8") as f:
                f.write(f"{key}\n")
            os.rename(f"{folder}/next", f"{folder}/key")

        def sent(port):
            return json.dumps(ask(port)[1])  # the fake refuses what is not signed, and says what it got
        write("first-key")
        backend = {"provider": "openai", "address": f"http://127.0.0.1:{fake.server_address[1]}", "credentialsEnv": "OPENAI_API_KEY"}
        with router(backend, OPENAI_API_KEY_FILE=f"{folder}/key") as port:
            assert "Bearer first-key" in sent(port)
            write("second-key")
            assert "Bearer second-key" in sent(port)


def test_a_body_that_was_held_back_is_signed_for_the_next_back_end():
    """The first back end takes nothing and says 503, while the client is in the middle of two megabytes."""
    with provider() as fake, contextlib.closing(socket.create_server(("127.0.0.1", 0))) as busy:
        busy.settimeout(90)
        config = {"backends": [
            {"name": "busy", "tier": "cloud", "address": f"http://127.0.0.1:{busy.getsockname()[1]}"},
            {"name": "aws", "tier": "cloud", "provider": "bedrock", "credentialsEnv": "AWS_ACCESS_KEY_ID",
             "address": f"http://127.0.0.1:{fake.server_address[1]}", "model": "inner"}],
            "rules": [{"name": "r", "match": {}, "route": {"backends": ["busy", "aws"]}}]}
        with routers.running(config, AWS_ACCESS_KEY_ID=KEY_ID, AWS_SECRET_ACCESS_KEY=SECRET, AWS_SESSION_TOKEN=SESSION,
                             AWS_REGION="eu-west-1") as port:
            said = []
            asking = threading.Thread(target=lambda: said.append(ask(port, pad="x" * (2 << 20))))
            asking.start()
            connection, _ = busy.accept()
            connection.recv(1)
            connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            asking.join(90)
            connection.close()
            assert said and said[0][0] == 200, said
            assert len(fake.bodies[0]["pad"]) == 2 << 20 and fake.bodies[0]["model"] == "inner"
