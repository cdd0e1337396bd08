"""The step `awssts` before a server that checks signatures, and an STS that gives keys for tokens."""
import contextlib
import datetime
import hashlib
import hmac
import json
import os
import sys
import threading
import traceback
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import kit
from kit import in_background
from old_sse import GOLDEN, token

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ROLE = "arn:aws:iam::123456789012:role/%s"


def sign(h, body):
    """The value of Authorization that a request must have, by AWS's description."""
    date = h.headers["X-Amz-Date"]
    path, _, query = h.path.partition("?")
    names = "host;x-amz-date;x-amz-security-token"
    query = "&".join(sorted(p if "=" in p else p + "=" for p in query.split("&") if p))
    canonical = "\n".join([h.command, path, query, *(f"{n}:{h.headers[n]}" for n in names.split(";")), "", names,
                           hashlib.sha256(body).hexdigest()])
    scope = f"{date[:8]}/eu-west-1/aws-mcp/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + SECRET.encode()
    for word in scope.split("/"):
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    made = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential=AKIATEST/{scope}, SignedHeaders={names}, Signature={made}"


class Amazon:
    def __init__(self):
        self.asked, self.seen, self.refuses = [], [], 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def reply(self, code, data, kind="application/json"):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                if self.path == "/jwks":
                    return self.reply(200, open(os.path.join(GOLDEN, "jwks.json"), "rb").read())
                self.do_POST()

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.path == "/":
                    return self.sts(dict(urllib.parse.parse_qsl(body.decode())))
                is_good = self.headers.get("Authorization") == sign(self, body)
                strange = [n for n in self.headers if n.lower().startswith("x-amz-") and n.lower() not in ("x-amz-date", "x-amz-security-token")]
                outer.seen.append((self.command, self.path, is_good, strange, self.headers.get("X-Amz-Security-Token")))
                if not is_good:
                    return self.reply(403, b"{}")
                m = json.loads(body or "{}")
                self.reply(200, json.dumps({"jsonrpc": "2.0", "id": m.get("id"), "result": {"said": "é"}}).encode())

            do_DELETE = do_POST

            def sts(self, form):
                outer.asked.append(form)
                if outer.refuses:
                    return self.reply(outer.refuses, b"<ErrorResponse/>", "text/xml")
                until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
                self.reply(200, ("<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                                 f"<AccessKeyId>AKIATEST</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey>"
                                 f"<SessionToken>session-of-{form['RoleArn'][-5:]}</SessionToken>"
                                 f"<Expiration>{until:%Y-%m-%dT%H:%M:%SZ}</Expiration></Credentials>"
                                 "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>").encode(), "text/xml")

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


RULES = {"region": "eu-west-1", "role_mappings": [
    {"matcher": "claims['sub'] == 'bob' && !('act' in claims)", "role_arn": ROLE % "other", "priority": 5},
    {"claim": "admin", "role_arn": ROLE % "admin", "priority": 1}]}


@contextlib.contextmanager
def served(program, sts=RULES):
    amazon = Amazon()
    config = json.loads(open(os.path.join(GOLDEN, "oidc.json")).read().replace("127.0.0.1:26180/", f"127.0.0.1:{amazon.port}/"))
    steps = [s for s in config["middleware_configs"] if s["type"] in ("bodylimit", "auth", "mcp-parser")]
    config["middleware_configs"] = [*steps, {"type": "awssts", "parameters": {"aws_sts_config": sts}}, {"type": "recovery"}]
    config.update(transport="streamable-http", remote_url=f"http://127.0.0.1:{amazon.port}/v1/mcp")
    try:
        with kit.proxy(program, config, ["remote"], {"AWS_ENDPOINT_URL_STS": f"http://127.0.0.1:{amazon.port}/"}) as (port, _):
            yield port, amazon
    finally:
        amazon.server.shutdown()


def ask(port, who, method="POST", query="", body=b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"t":"\xc3\xa9"}}'):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-Amz-Date": "never",
               "x-amz-target": "x", **token(who)}
    r = kit.Reply(port, method, "/mcp" + query, headers, body if method == "POST" else None)
    r.last()
    return r.status, r.text


def test_requests_are_signed_with_the_keys_of_the_users_role(program):
    with served(program) as (port, amazon):
        assert ask(port, "alice")[0] == ask(port, "bob")[0] == 200
        assert ask(port, "alice", query="?b=2&a=1")[0] == 200
        assert ask(port, "alice", "GET")[0] == ask(port, "alice", "DELETE")[0] == 200
        assert [(command, path) for command, path, *_ in amazon.seen] == [
            ("POST", "/v1/mcp"), ("POST", "/v1/mcp"), ("POST", "/v1/mcp?b=2&a=1"), ("GET", "/v1/mcp"), ("DELETE", "/v1/mcp")]
        assert all(good and not strange for _, _, good, strange, _ in amazon.seen), amazon.seen
        assert [t for *_, t in amazon.seen[:2]] == ["session-of-admin", "session-of-other"]
        # The keys are used again.
        assert [(f["RoleArn"], f["RoleSessionName"]) for f in amazon.asked] == [(ROLE % "admin", "alice"), (ROLE % "other", "bob")]
        form = amazon.asked[0]
        assert form["Action"] == "AssumeRoleWithWebIdentity" and form["DurationSeconds"] == "3600"
        assert "Bearer " + form["WebIdentityToken"] == token("alice")["Authorization"]


def test_without_keys_nothing_reaches_the_server(program):
    only = {"region": "eu-west-1", "role_mappings": RULES["role_mappings"][1:]}
    with served(program, only) as (port, amazon):
        assert ask(port, "bob") == (403, "Failed to determine IAM role\n")
        for code, status in ((403, 401), (500, 503)):
            amazon.refuses = code
            assert ask(port, "alice") == (status, "AWS credential exchange failed\n")
        assert not amazon.seen
        amazon.refuses = 0
        waiting = [in_background(lambda: ask(port, "alice")[0]) for _ in range(4)]
        assert [w() for w in waiting] == [200] * 4


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
