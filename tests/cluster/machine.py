"""What `leeboard up` needs on a machine that has nothing: a source of weights that can be stopped half-way, and a
stand-in for llama-server that answers its probes. For tests and measurements of up itself; what a real llama-server
does is not seen here."""
import http.server
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

import source
from lab import ROOT, Operator

MIB = 1 << 20
SERVER = """#!/usr/bin/python3
import http.server, sys
def value(flag):
    return sys.argv[sys.argv.index(flag) + 1]
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
http.server.HTTPServer((value("--host"), int(value("--port"))), Answer).serve_forever()
"""
MANIFEST = """apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata: {{name: {name}}}
spec: {{source: "{url}"}}
---
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata: {{name: {name}}}
spec: {{modelRef: {name}, replicas: 1, resources: {{cpu: 100m, memory: 64Mi}}}}
"""


class Source:
    """Serves one GGUF file. A download stops half-way until `go_on` is set, which it is unless held; pace: bytes a
    second."""

    def __init__(self, size=8 * MIB, held=False, pace=None):
        self.pace = pace
        self.data = source.TINY + bytes(size - len(source.TINY))
        self.go_on, self.downloads = threading.Event(), []
        if not held:
            self.go_on.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/weights.gguf"

    def write(self, request, body):
        for at in range(0, len(body), MIB):
            request.wfile.write(body[at:at + MIB])
            if self.pace:
                time.sleep(MIB / self.pace)

    def answer(self, request):
        """The operator reads a header by range; what has an open end, or none, is a download."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("Range", ""))
        first = int(wanted[1]) if wanted else 0
        last = min(int(wanted[2] or len(self.data)) if wanted else len(self.data), len(self.data) - 1)
        request.send_response(206 if wanted else 200)
        if wanted:
            request.send_header("Content-Range", f"bytes {first}-{last}/{len(self.data)}")
        request.send_header("ETag", '"one"')
        request.send_header("Content-Length", str(last + 1 - first))
        request.end_headers()
        if request.command == "HEAD":
            return
        body = self.data[first:last + 1]
        try:
            if not wanted or not wanted[2]:
                self.downloads.append(first)
                half = max(0, len(self.data) // 2 + MIB // 8 - first)
                self.write(request, body[:half])
                self.go_on.wait(120)
                body = body[half:]
            self.write(request, body)
        except ConnectionError:  # whoever asked has gone
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go_on.set()
        self.server.shutdown()
        self.server.server_close()


class Machine:
    """A folder for `leeboard up`, with a manifest of one Model and one InferenceService."""

    def __init__(self, url, name="tiny"):
        self.folder = tempfile.mkdtemp(prefix="machine-")
        self.data = f"{self.folder}/data"
        self.program = f"{self.folder}/model-server"
        self.write("model-server", SERVER, 0o755)
        self.write("images.yaml",
                   f"images:\n- {{image: ghcr.io/ggml-org/llama.cpp, program: [{self.program}], hostFlag: --host}}\n")
        self.write("tiny.yaml", MANIFEST.format(url=url, name=name))

    def write(self, name, text, mode=0o644):
        with open(f"{self.folder}/{name}", "w", encoding="utf8") as f:
            f.write(text)
        os.chmod(f"{self.folder}/{name}", mode)

    def up(self, *flags):
        return [Operator.BINARY, "up", "-f", f"{self.folder}/tiny.yaml", "--data", self.data, "--listen",
                "127.0.0.1:0", "--endpoint", "127.0.0.1:0", "--images", f"{self.folder}/images.yaml", "--allowed-remote-hosts", "127.0.0.1", *flags]

    def ask(self, *words, check=True):
        """What another command says of it; with check=False the whole outcome."""
        done = subprocess.run([Operator.BINARY, *words, "--data", self.data], text=True, cwd=ROOT,
                              capture_output=True, timeout=60, check=False)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return done.stdout

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)
