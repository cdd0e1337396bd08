"""A running `leeboard router` for a test."""
import contextlib
import json
import os
import subprocess
import tempfile
import urllib.request

from lab import ROOT, free_port, wait_for

PROGRAM = f"{ROOT}/build/{os.environ.get('V', 'release')}/leeboard"


class Running(int):
    """Its port, with what it wrote."""

    def audit(self):
        with open(self.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
        return [line for line in lines if line["msg"] == "router.dispatch"]

    def rss_kib(self):
        with open(f"/proc/{self.pid}/status", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


@contextlib.contextmanager
def running(config, policy=None, flags=(), **environment):
    port = Running(free_port())
    with tempfile.TemporaryDirectory(prefix="leeboard-router-") as folder:
        for name, what in (("config.json", config), ("policy.json", policy or {})):
            with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
                json.dump(what, f)
        port.log = f"{folder}/log"
        with open(port.log, "wb") as log:
            process = subprocess.Popen(
                [PROGRAM, "router", "--config", f"{folder}/config.json", "--listen", f"127.0.0.1:{int(port)}",
                 "--metrics-bind-address", "none", *flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": os.environ["PATH"], **environment})
        port.pid, port.ended = process.pid, process.poll

        def ready():
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"http://127.0.0.1:{int(port)}/health", timeout=5).status == 200
        try:
            wait_for(ready, 20, "the router")
            yield port
        finally:
            process.kill()  # nothing of it outlives the test
            process.wait()
