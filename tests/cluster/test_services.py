"""Services of `leeboard up`: reached by address and by name, through rollouts, with nobody turned away."""
import json
import os
import subprocess
import tempfile
import threading
import urllib.request

from lab import ROOT, spawn, tail, wait_for

LEEBOARD = os.environ.get("LEEBOARD", f"{ROOT}/build/release/leeboard")
# Answers slowly, one connection a request, and dies at once of SIGTERM: only who stops it can be gentle.
SERVER = """
import http.server, os, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.1)
        body = os.environ["TURN"].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer((os.environ["IP"], 8080), Handler).serve_forever()
"""


class Up:
    """A running `leeboard up` with a folder of its own; ends with the block."""

    def __init__(self, *objects):
        self.dir = tempfile.mkdtemp(prefix="services-")
        self.log = f"{self.dir}/log"
        self.env = {**os.environ, "LEEBOARD_DATA": f"{self.dir}/data"}
        with open(f"{self.dir}/objects.json", "w") as f:
            json.dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}, f)
        self.process = spawn([LEEBOARD, "up", "-f", f"{self.dir}/objects.json", "--listen=127.0.0.1:0"],
                             self.log, env=self.env)

    def run(self, *words, **options):
        return subprocess.run([LEEBOARD, *words], env=self.env, text=True, capture_output=True, **options)

    def get(self, kind, name):
        got = self.run("get", kind, name, "-o", "json")
        return json.loads(got.stdout) if got.returncode == 0 else None

    def apply(self, thing):
        got = self.run("apply", "-f", "-", input=json.dumps(thing))
        assert got.returncode == 0, got.stderr

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(tail(self.log, 30))
        self.process.terminate()
        self.process.wait(90)
        subprocess.run(["rm", "-rf", self.dir], check=False)


def deployment(name, script, replicas=1, turn="1", **pod):
    env = [{"name": "TURN", "value": turn}, {"name": "SERVER", "value": SERVER},
           {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script], "env": env, **pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
                     "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}}


def web(turn):
    return deployment("web", 'exec python3 -c "$SERVER"', replicas=2, turn=turn,
                      readinessProbe={"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1,
                                      "timeoutSeconds": 30})


SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
           "spec": {"selector": {"app": "web"}, "ports": [{"port": 18080, "targetPort": 8080}]}}


class Asker(threading.Thread):
    """Asks again and again until it is told to stop; what it was answered, and what went wrong."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.stop, self.answers, self.errors = url, False, [], []
        self.start()

    def run(self):
        while not self.stop:
            try:
                with urllib.request.urlopen(self.url, timeout=60) as answer:
                    self.answers.append(answer.read().decode())
            except OSError as error:
                self.errors.append(repr(error))


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.read().decode()
    except OSError:
        return None


def test_rollout_turns_nobody_away():
    with Up(SERVICE, web("1")) as up:
        service = wait_for(lambda: up.get("service", "web"), 60, "the Service")
        url = f"http://{service['spec']['clusterIP']}:18080/"
        wait_for(lambda: answers(url) == "1", 60, "the first answer")
        askers = [Asker(url) for _ in range(4)]
        for turn in ("2", "3"):
            up.apply(web(turn))
            wait_for(lambda: all(turn in a.answers for a in askers), 120, f"answers of turn {turn}")
            wait_for(lambda: up.get("deployment", "web")["status"].get("replicas") == 2, 120, "the old ones to go")
        for asker in askers:
            asker.stop = True
        for asker in askers:
            asker.join(60)
        errors = [error for asker in askers for error in asker.errors]
        assert not errors, errors[:5]
        assert sum(len(a.answers) for a in askers) > 20


def test_pod_reaches_services_by_name():
    script = ('until curl -sf http://web.default.svc.cluster.local:18080/ >$HOME/answer; do sleep 0.1; done; '
              'curl -sf http://web:$WEB_SERVICE_PORT/ >>$HOME/answer; '
              'cat $HOME/answer; echo; while :; do sleep 1; done')
    with Up(SERVICE, web("7"), deployment("client", script)) as up:
        def by_name():
            text = up.run("get", "pods", "-o", "json").stdout
            return "names of Services do not resolve" in text or up.run("logs", "client").stdout.endswith("77\n")
        wait_for(by_name, 60, "both answers by name, or the condition that says that there are none")
