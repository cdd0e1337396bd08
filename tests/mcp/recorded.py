"""The wire cases of tests/golden/mcp, each flavour through a proxy of its own, side by side."""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import kit

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "golden", "mcp")
FLAVOURS = ("plain", "small", "origins", "sse", "stateless", "strict", "headers", "stdio", "filter", "cedar", "oidc")
STDIO = {"transport": "stdio", "proxy_mode": "streamable-http", "middleware_configs": [
    {"type": "bodylimit", "parameters": {"max_bytes": 8388608}}, {"type": "mcp-parser", "parameters": {}}]}


def replay(port, upstream, flavour, more):
    done = subprocess.run([sys.executable, os.path.join(GOLDEN, "replay.py"), f"http://127.0.0.1:{port}", flavour,
                           "--upstream", f"http://127.0.0.1:{upstream}", *more], capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def one(program, flavour, more):
    upstream = kit.free_port()
    if flavour == "stdio":
        server = [sys.executable, "--", os.path.join(GOLDEN, "upstream_stdio.py")]
        with kit.proxy(program, STDIO, ["--local", *server], {"SEEN_PORT": str(upstream)}) as (port, _):
            kit.await_true(lambda: kit.answers(upstream, "/_seen"), "the server runs")
            return replay(port, upstream, flavour, more)
    server = subprocess.Popen([sys.executable, os.path.join(GOLDEN, "upstream.py"), str(upstream)], stderr=subprocess.DEVNULL)
    try:
        kit.await_true(lambda: kit.answers(upstream, "/_seen"), "the server runs")
        with tempfile.TemporaryDirectory() as folder:
            audit = os.path.join(folder, "audit.log")
            config = open(os.path.join(GOLDEN, "configs", flavour + ".json")).read().replace("audit.log", audit)
            # The issuer is the one that the recorded tokens name.
            config = config.replace("127.0.0.1:26180/", f"127.0.0.1:{upstream}/")
            config = {"transport": "streamable-http", "remote_url": f"http://127.0.0.1:{upstream}/mcp", **json.loads(config)}
            with kit.proxy(program, config, ["remote"]) as (port, _):
                return replay(port, upstream, flavour, ["--audit", audit, *more] if os.path.exists(audit) else more)
    finally:
        server.kill()
        server.wait()


def run(program, more=()):
    passed = failed = 0
    with ThreadPoolExecutor(len(FLAVOURS)) as pool:
        outputs = list(pool.map(lambda f: one(program, f, more), FLAVOURS))
    for flavour, output in zip(FLAVOURS, outputs):
        words = output.strip().splitlines()[-1].split() if output.strip() else []
        if len(words) != 5 or words[1] != "of":
            print(f"{flavour}: {output}")
            failed += 1
            continue
        passed, failed = passed + int(words[0]), failed + int(words[2]) - int(words[0])
        if words[0] != words[2]:
            print(output)
    return passed, failed


if __name__ == "__main__":  # recorded.py PROGRAM --record
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1]), sys.argv[2:]))
