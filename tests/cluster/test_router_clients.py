"""Real clients before the router and a real llama-server behind it: the SDKs of OpenAI and Anthropic."""
import json
import os
import subprocess
import tempfile
import time
import urllib.request

from lab import ROOT, Failure, free_port


def ready(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def wait_ready(url, process, log):
    until = time.monotonic() + 60
    while not ready(url):
        if process.poll() is not None or time.monotonic() > until:
            with open(log, encoding="utf-8", errors="replace") as f:
                raise Failure(f"{url}: {f.read()[-1500:]}")
        time.sleep(0.05)


def test_router_serves_the_sdks_of_openai_and_anthropic():
    program = f"{ROOT}/build/{os.environ.get('V', 'release')}/leeboard"
    python = subprocess.run([f"{ROOT}/tools/sdks"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    llama = subprocess.run([f"{ROOT}/tools/llama"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    back, front, nobody = free_port(), free_port(), free_port()
    running = []
    with tempfile.TemporaryDirectory(prefix="leeboard-sdks-") as folder:
        def start(name, *command):
            with open(f"{folder}/{name}", "wb") as log:
                running.append(subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL))
            return running[-1]
        subprocess.run([f"{ROOT}/tools/tiny-gguf", f"{folder}/tiny.gguf"], check=True)
        address = f"http://127.0.0.1:{back}"
        with open(f"{folder}/config.json", "w", encoding="utf-8") as f:
            json.dump({"backends": [
                {"name": "chat", "tier": "local", "address": address, "model": "inner-name"},
                {"name": "spent", "tier": "local", "address": address, "model": "inner-name"},
                {"name": "gone", "tier": "local", "address": f"http://127.0.0.1:{nobody}"}],
                "rules": [{"name": "small", "match": {"models": ["spent"]}, "route": {"backends": ["spent"]}},
                          {"name": "chat", "match": {"models": ["chat"]}, "route": {"backends": ["chat"]}}],
                "defaultRoute": "gone"}, f)
        with open(f"{folder}/policy.json", "w", encoding="utf-8") as f:
            json.dump({"policy": {"budgets": [
                {"name": "b", "scope": "rule", "ruleName": "small", "maxTokens": 1, "windowSeconds": 86400}]}}, f)
        try:
            server = start("llama.log", f"{llama}/llama-server", "--model", f"{folder}/tiny.gguf", "--host", "127.0.0.1",
                           "--port", str(back), "--threads", "1", "--jinja")
            router = start("router.log", program, "router", "--config", f"{folder}/config.json", "--listen",
                           f"127.0.0.1:{front}", "--metrics-bind-address", "none")
            wait_ready(f"{address}/health", server, f"{folder}/llama.log")
            wait_ready(f"http://127.0.0.1:{front}/health", router, f"{folder}/router.log")
            done = subprocess.run([python, f"{ROOT}/tests/cluster/router_clients.py", f"http://127.0.0.1:{front}"],
                                  capture_output=True, text=True, timeout=120)
            if done.stdout.strip() != "fine":
                raise Failure(done.stdout + done.stderr)
            with open(f"{folder}/router.log", encoding="utf-8") as f:
                lines = [json.loads(line) for line in f]
        finally:
            for process in running:
                process.terminate()
            for process in running:
                process.wait(20)
    audit = [line for line in lines if line["msg"] == "router.dispatch"]
    streams = [line for line in audit if line["outcome"] == "ok_stream"]
    assert len(streams) == 2 and all(line["completionTokens"] > 0 for line in streams), streams
    assert [line["outcome"] for line in audit].count("budget_exceeded") == 1, audit
