"""An OpenID issuer: issuer.py PORT. Discovery, keys, and tokens for clients by their credentials (any secret); the client's name is the
subject and decides the groups. POST /rotate makes new keys and forgets the old ones."""
import base64
import json
import sys
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

PORT = int(sys.argv[1])
ISSUER = f"http://127.0.0.1:{PORT}"
keys = []


def rotate():
    keys[:] = [(f"key-{time.time_ns()}", rsa.generate_private_key(public_exponent=65537, key_size=2048))]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, code, value):
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path in ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"):
            self.reply(200, {"issuer": ISSUER, "jwks_uri": ISSUER + "/keys", "token_endpoint": ISSUER + "/token",
                             "authorization_endpoint": ISSUER + "/authorize", "response_types_supported": ["code"],
                             "grant_types_supported": ["client_credentials"], "subject_types_supported": ["public"],
                             "id_token_signing_alg_values_supported": ["RS256"], "code_challenge_methods_supported": ["S256"],
                             "token_endpoint_auth_methods_supported": ["client_secret_basic"]})
        elif self.path == "/keys":
            made = [{**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(k.public_key())), "kid": n, "use": "sig", "alg": "RS256"} for n, k in keys]
            self.reply(200, {"keys": made})
        else:
            self.reply(404, {})

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()))
        if self.path == "/rotate":
            rotate()
            return self.reply(200, {})
        basic = (self.headers.get("Authorization") or " ").split(" ")[1]
        user = base64.b64decode(basic).decode().partition(":")[0] if basic else form.get("client_id")
        if self.path != "/token" or form.get("grant_type") != "client_credentials" or not user:
            return self.reply(400, {"error": "invalid_request"})
        now = int(time.time())
        claims = {"iss": ISSUER, "sub": user, "aud": form.get("resource") or "none", "iat": now, "exp": now + 600,
                  "groups": ["operators"] if user == "ann" else []}
        name, key = keys[0]
        token = jwt.encode(claims, key, algorithm="RS256", headers={"kid": name})
        self.reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": 600})


rotate()
ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
