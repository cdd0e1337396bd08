"""The router under load: thousands of open streams, a new config meanwhile, and a back end that dies."""
import json
import os
import resource
import subprocess
import tempfile
import time
import urllib.request

from lab import ROOT, free_port, wait_for

BUILD = f"{ROOT}/build/{os.environ.get('V', 'release')}"
LOAD = f"{BUILD}/router_load"
STREAMS = min(10000, (resource.getrlimit(resource.RLIMIT_NOFILE)[1] - 1000) // 2)


class Place:
    """Two back ends, and a router that prefers the first."""

    def __init__(self):
        # pylint: disable-next=consider-using-with
        self.folder, self.port, self.metrics = tempfile.TemporaryDirectory(prefix="leeboard-load-"), free_port(), free_port()
        self.backs = [subprocess.Popen([LOAD, "serve"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
        self.ports = [int(back.stdout.readline()) for back in self.backs]
        self.write(["a", "b"])
        with open(f"{self.folder.name}/log", "wb") as log:
            self.router = subprocess.Popen(
                [f"{BUILD}/leeboard", "router", "--config", f"{self.folder.name}/config.json", "--listen",
                 f"127.0.0.1:{self.port}", "--metrics-bind-address", f"127.0.0.1:{self.metrics}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_for(lambda: self.text() is not None, 20, "the router")

    def write(self, names):
        with open(f"{self.folder.name}/next", "w", encoding="utf-8") as f:
            json.dump({"backends": [{"name": n, "tier": "local", "address": f"http://127.0.0.1:{self.ports['ab'.index(n)]}"}
                                    for n in names],
                       "rules": [{"name": "r", "match": {}, "route": {"backends": names}}]}, f)
        os.rename(f"{self.folder.name}/next", f"{self.folder.name}/config.json")

    def text(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def audit(self):
        with open(f"{self.folder.name}/log", encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        return [line for line in lines if line["msg"] == "router.dispatch"]

    def pss_kb(self):
        with open(f"/proc/{self.router.pid}/smaps_rollup", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))

    def close(self):
        for process in [self.router, *self.backs]:
            process.kill()
            process.wait()
        self.folder.cleanup()


def test_router_keeps_thousands_of_streams_through_a_new_config():
    place = Place()
    try:
        before = place.pss_kb()
        with subprocess.Popen([LOAD, "stream", "127.0.0.1", str(place.port), str(STREAMS), "1000000", "1000", "hold"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout.readline() == "held\n", "not every stream began"
            each = (place.pss_kb() - before) / STREAMS
            place.write(["b"])
            wait_for(lambda: 'backend_health{backend="a"' in place.text() and "config loaded" in open(
                f"{place.folder.name}/log", encoding="utf-8").read().split("config loaded", 1)[1], 20, "the new config")
            time.sleep(2.5)  # two more chunks of each stream
            client.stdin.close()
            figures = json.loads(client.stdout.readline())
        assert figures["begun"] == STREAMS and figures["chunks"] >= 2 * STREAMS, figures
        assert each < 16, f"{each:.1f} KB for each of {STREAMS} streams"
        print(f"{STREAMS} streams, {each:.1f} KB each")
    finally:
        place.close()


def test_router_fails_no_request_when_a_back_end_dies_under_load():
    place = Place()
    try:
        with subprocess.Popen([LOAD, "ask", "127.0.0.1", str(place.port), "16", "3", "1024"], stdout=subprocess.PIPE,
                              text=True) as client:
            wait_for(lambda: len(place.audit()) > 500, 20, "load")
            place.backs[0].kill()
            figures = json.loads(client.stdout.readline())
        assert figures["failed"] == 0 and figures["answers"] > 1000, figures
        used = {line["backend"] for line in place.audit()}
        assert used == {"a", "b"}, used
    finally:
        place.close()
