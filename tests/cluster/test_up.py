"""`leeboard up` with a real llama-server: from manifests to answers on one machine, and what happens when things go
wrong. No kube-apiserver takes part; kubectl does."""
import functools
import glob
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request

import yaml

from lab import ROOT, programs, spawn, tail, wait_for
from terminal import Terminal

LEEBOARD = os.environ.get("LEEBOARD", f"{ROOT}/build/leeboard")
PLAIN = "/usr/sbin:/usr/bin:/sbin:/bin"


@functools.cache
def llama():
    """The folder of a llama-server."""
    return subprocess.run([f"{ROOT}/tools/llama"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


@functools.cache
def tiny():
    path = os.path.join(tempfile.mkdtemp(prefix="up-model-"), "tiny.gguf")
    subprocess.run([f"{ROOT}/tools/tiny-gguf", path], check=True)
    return path


def model(name="tiny", **spec):
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": name},
            "spec": {"source": f"file://{tiny()}", **spec}}


def service(name="chat", **spec):
    """One thread: more would wait for each other on a busy machine."""
    spec = {"modelRef": "tiny", "replicas": 1, "contextSize": 512, "extraArgs": ["--threads", "1"],
            "resources": {"cpu": "100m", "memory": "64Mi"}, **spec}
    return {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "InferenceService",
            "metadata": {"name": name}, "spec": spec}


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Up:
    """A `leeboard up` in the foreground, on a folder of its own. Nothing of it outlives the test."""

    def __init__(self, *objects, flags=(), path=f"{llama()}:{PLAIN}", start=True):
        self.dir = tempfile.mkdtemp(prefix="up-")
        self.data, self.log = f"{self.dir}/data", f"{self.dir}/log"
        self.env = {"PATH": path, "LEEBOARD_DATA": self.data, "HOME": self.dir}
        self.manifest = f"{self.dir}/manifest.yaml"
        self.write(*objects)
        self.command = [LEEBOARD, "up", "-f", self.manifest, "--listen", "127.0.0.1:0", "--endpoint",
                        "127.0.0.1:0", *flags]
        self.process = None
        if start:
            self.start()

    def write(self, *objects):
        with open(self.manifest, "w") as f:
            yaml.safe_dump_all(objects, f)

    def start(self):
        self.process = spawn(self.command, self.log, env=self.env)
        wait_for(lambda: self.process.poll() is not None or "serves" in tail(self.log, 1000), 30, "up to serve")
        assert self.process.poll() is None, self.said()

    def said(self):
        return tail(self.log, 1000)

    def run(self, *args, code=0):
        """Another leeboard command on the same folder; what it prints. code None: any."""
        done = subprocess.run([LEEBOARD, *args], env=self.env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=120)
        assert code is None or done.returncode == code, (args, done.returncode, done.stdout, self.said())
        return done.stdout

    def kubectl(self, *args):
        done = subprocess.run([f"{programs()}/kubectl", *args], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120,
                              env={**self.env, "KUBECONFIG": f"{self.data}/kubeconfig"})
        assert done.returncode == 0, (args, done.stdout, self.said())
        return done.stdout

    def get(self, resource, name=None):
        """The object, or (without a name) all of them."""
        found = json.loads(self.run("get", resource, *([name] if name else []), "-o", "json"))
        return found if name else found["items"]

    def await_ready(self, name="chat"):
        def look():
            found = self.get("inferenceservices", name)
            return found if found.get("status", {}).get("phase") == "Ready" else None
        try:
            return wait_for(look, 60, f"{name} to be ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()}\n{json.dumps(self.get('pods'), indent=1)}") from error

    def pods(self):
        return [p for p in self.get("pods") if "deletionTimestamp" not in p["metadata"]]

    def tasks(self):
        """(supervisor, program) of every container that runs."""
        found = []
        for path in glob.glob(f"{self.data}/node/pods/*/containers/*/*/task"):
            try:
                with open(path) as f:
                    words = f.read().split()
            except FileNotFoundError:
                continue
            if alive(words[0]):
                found.append((int(words[0]), int(words[2])))
        return sorted(found)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(90)
        assert self.process.returncode == 0, self.said()
        assert not self.tasks()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if os.path.exists(self.data):
            self.run("down", "--now")
        shutil.rmtree(self.dir)


def ask(endpoint, tokens=4):
    body = json.dumps({"messages": [{"role": "user", "content": "Ahoy?"}], "max_tokens": tokens}).encode()
    request = urllib.request.Request(endpoint, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["message"]["content"]


def gguf_below(folder):
    return [f"{where}/{name}" for where, _, names in os.walk(folder) for name in names if name.endswith(".gguf")]


def test_quickstart_answers_ends_and_copies_nothing():
    folder = tempfile.mkdtemp(prefix="up-")
    log, env = f"{folder}/log", {**os.environ, "RUN": f"{folder}/run"}

    def run_once(times):
        process = spawn(["make", "-s", "-C", ROOT, "run"], log, env=env)
        wait_for(lambda: process.poll() is not None or tail(log, 1000).count("\n< ") == times, 120, "an answer")
        assert process.poll() is None, tail(log, 100)
        with open(f"{folder}/run/data/up.pid") as f:
            os.kill(int(f.read()), signal.SIGTERM)
        assert process.wait(90) == 0, tail(log, 100)
        assert not gguf_below(f"{folder}/run/data")
        (file,) = gguf_below(f"{folder}/run")
        return os.stat(file).st_ino, os.stat(file).st_mtime_ns

    try:
        first = run_once(1)
        # The one address of all models, or the service's own where another program has that one.
        assert re.search(r"^curl http://127\.(0\.0\.1:11435|96\.\d+\.\d+:8080)/v1/chat/completions ", tail(log, 100), re.M)
        assert run_once(2) == first
    finally:
        subprocess.run([LEEBOARD, "down", "--now", "--data", f"{folder}/run/data"], check=True)
        shutil.rmtree(folder)


def test_commands_and_kubectl_see_what_runs():
    with Up(model(), service()) as up:
        endpoint = up.await_ready()["status"]["endpoint"]
        assert ask(endpoint)
        rows = [line.split() for line in up.run("ps").splitlines()]
        assert rows[0] == ["NAME", "KIND", "PHASE", "ENDPOINT", "RESTARTS", "MEMORY", "AGE"]
        assert rows[1][:3] == ["tiny", "Model", "ready"] and rows[2][:5] == ["chat", "InferenceService", "ready",
                                                                             endpoint, "0"]
        assert re.search(r" \d+ MiB ", up.run("ps"))
        listed = {(o["kind"], o["name"]): o for o in json.loads(up.run("ps", "-o", "json"))}
        one = listed["InferenceService", "chat"]
        assert one["ready"] and one["namespace"] == "default" and one["restarts"] == 0 and one["memoryBytes"] > 1 << 20
        assert one["endpoint"].startswith("http://") and "why" not in one, one
        assert [o["name"] for o in yaml.safe_load(up.run("ps", "-o", "yaml"))] == [name for _, name in listed]
        assert [line.split()[-1] for line in up.run("ps", "-o", "wide").splitlines()][1:] == ["default"] * len(listed)
        assert "initContainers" not in up.pods()[0]["spec"] and not gguf_below(up.data)
        assert up.run("kubeconfig").strip() == f"{up.data}/kubeconfig"
        up.kubectl("rollout", "status", "deployment/chat", "--timeout=60s")
        up.kubectl("wait", "pod", "--all", "--for=condition=Ready", "--timeout=60s")
        assert "1/1" in up.kubectl("get", "deployments")
        followed = f"{up.dir}/followed"
        follow = spawn([f"{programs()}/kubectl", "logs", "-f", "deployment/chat"], followed,
                       env={**up.env, "KUBECONFIG": f"{up.data}/kubeconfig"})
        ours = spawn([LEEBOARD, "logs", "chat", "-f", "--tail", "1"], f"{followed}-too", env=up.env)
        wait_for(lambda: "listening" in tail(followed, 1000), 30, "the log so far")
        wait_for(lambda: tail(f"{followed}-too", 10), 30, "its last line")
        ask(endpoint)
        for log in followed, f"{followed}-too":
            wait_for(lambda: "print_timing" in tail(log, 1000), 30, "the log of a request")
        up.stop(signal.SIGINT)
        assert follow.wait(30) is not None and ours.wait(30) is not None


def talker(name, text, namespace="default"):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [
                {"name": "main", "image": "busybox", "command": ["sh", "-c", f"echo {text}; exec sleep 1000"]}]}}


def test_logs_of_everything_have_names_in_front_and_follow_what_comes():
    team = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    with Up(team, talker("one", "first"), talker("second", "mate", "team")) as up:
        wait_for(lambda: up.run("logs") == "one         | first\nteam/second | mate\n", 30, "both logs")
        assert up.run("logs", "-n", "team") == "team/second | mate\n"
        followed = f"{up.dir}/followed"
        follow = spawn([LEEBOARD, "logs", "-f"], followed, env=up.env)
        with Terminal([LEEBOARD, "ps", "-w", "--data", up.data]) as terminal:
            terminal.wait_line("✔ Pod +one +ready")
            up.write(talker("late", "comer"))
            up.run("apply", "-f", up.manifest)
            terminal.wait_line("✔ Pod +late +ready")
            wait_for(lambda: re.search(r"^late +\| comer$", tail(followed, 10), re.M), 30, "the log of what came later")
            terminal.send("\x03")
            assert terminal.wait_end() == 0 and not terminal.screen.hidden
        up.stop()
        assert follow.wait(30) == 0, tail(followed, 10)


class Asker(threading.Thread):
    """Asks on one connection, without a pause, until it is told to stop. A connection that is not good for the next
    request counts as a failure, as does an answer that is cut short."""

    def __init__(self, endpoint, stream):
        super().__init__(daemon=True)
        url = urllib.parse.urlsplit(endpoint)
        self.connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        self.path, self.stream = url.path, stream
        self.body = json.dumps({"messages": [{"role": "user", "content": "Ahoy?"}], "max_tokens": 2, "stream": stream})
        self.over, self.answers, self.failures = False, 0, []
        self.start()

    def ask(self):
        self.connection.request("POST", self.path, self.body, {"Content-Type": "application/json"})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        assert answer.status == 200, (answer.status, text)
        if self.stream:
            assert text.rstrip().endswith("data: [DONE]"), text
        else:
            json.loads(text)["choices"][0]["message"]["content"]  # whole, and an answer
        self.answers += 1

    def run(self):
        while not self.over:
            try:
                self.ask()
            except Exception as error:  # noqa: BLE001 - whatever a client may see
                self.failures.append(repr(error))
                self.connection.close()


def test_change_rolls_without_a_failed_request_and_deletion_leaves_nothing():
    with Up(model(), service()) as up:
        endpoint = up.await_ready()["status"]["endpoint"]
        before = up.pods()[0]["metadata"]["name"]
        askers = [Asker(endpoint, stream) for stream in (False, True, False, True)]
        try:
            wait_for(lambda: all(a.answers > 1 for a in askers), 60, "answers before the change")
            up.write(model(), service(contextSize=1024))
            assert "inferenceservices/chat changed" in up.run("apply", "-f", up.manifest)
            up.kubectl("rollout", "status", "deployment/chat", "--timeout=90s")
            wait_for(lambda: len(up.get("pods")) == 1, 60, "the old pod to go")
            counts = [a.answers for a in askers]
            wait_for(lambda: all(a.answers > n + 1 for a, n in zip(askers, counts)), 60, "answers after the change")
        finally:
            for asker in askers:
                asker.over = True
            for asker in askers:
                asker.join()
        failures = [failure for asker in askers for failure in asker.failures]
        assert not failures, failures
        (after,) = up.pods()
        assert after["metadata"]["name"] != before
        assert "1024" in after["spec"]["containers"][0]["args"]
        assert "inferenceservices/chat deleted" in up.run("delete", "-f", up.manifest)
        wait_for(lambda: not up.get("pods"), 60, "the pods to go")
        wait_for(lambda: not up.tasks() and not os.listdir(f"{up.data}/node/pods"), 60, "their files to go")
        up.stop()


def test_second_signal_kills_what_does_not_end():
    stubborn = {"name": "main", "image": "busybox", "command": ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"]}
    with Up({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stubborn"},
             "spec": {"containers": [stubborn], "terminationGracePeriodSeconds": 3600}}) as up:
        wait_for(up.tasks, 30, "the pod to run")
        wait_for(lambda: "deaf" in up.run("logs", "stubborn"), 30, "it to hear no signal any more")
        up.process.send_signal(signal.SIGINT)
        wait_for(lambda: "a second signal kills them" in up.said(), 30, "the first signal to be seen")
        assert up.tasks()
        wait_for(lambda: up.process.send_signal(signal.SIGINT) or "killing" in up.said(), 30, "the second one")
        assert up.process.wait(90) == 0 and not up.tasks(), up.said()
        up.start()
        wait_for(up.tasks, 30, "the pod to run again")
        assert up.run("down", "--now") == "ended\n" and not up.tasks()


def waiting_reason(up):
    for status in (s for pod in up.pods() for s in pod["status"].get("containerStatuses", [])):
        return status["state"].get("waiting", {}).get("reason")


def test_server_that_crashes_is_backed_off_and_recovers():
    with Up(model(), service()) as up:
        endpoint = up.await_ready()["status"]["endpoint"]
        first = up.tasks()
        os.kill(first[0][1], signal.SIGKILL)
        second = wait_for(lambda: [t for t in up.tasks() if t not in first], 30, "its first restart, at once")
        os.kill(second[0][1], signal.SIGKILL)
        wait_for(lambda: waiting_reason(up) == "CrashLoopBackOff", 30, "its back-off")
        assert "crashing" in up.run("ps")
        said = up.run("why", "chat")
        assert said.startswith("InferenceService chat is crashing: ") and len(said.splitlines()) == 1, said
        assert up.run("why", "tiny") == "Model tiny is ready\n"
        assert "nothing is called cat; there is tiny, chat" in up.run("why", "cat", code=1)
        wait_for(lambda: up.pods()[0]["status"]["containerStatuses"][0]["restartCount"] == 2, 30, "its restart")
        up.await_ready()
        assert ask(endpoint)
        assert up.run("ps").splitlines()[2].split()[4] == "2"


def test_killed_leeboard_is_followed_by_one_that_adopts():
    with Up(model(), service()) as up:
        endpoint = up.await_ready()["status"]["endpoint"]
        before = up.tasks()
        up.process.kill()
        up.process.wait()
        for command in (["ps"], ["get", "pods"]):
            said = up.run(*command, code=1)
            assert re.search(r"what it started still runs: \S+ \(process \d+\)\. `leeboard up` takes it over, "
                             "`leeboard down` ends it", said), said
        assert up.tasks() == before
        os.remove(up.log)
        up.start()
        assert up.await_ready()["status"]["endpoint"] == endpoint
        wait_for(lambda: ask_or_none(endpoint), 30, "an answer again")
        assert up.tasks() == before
        assert up.pods()[0]["status"]["containerStatuses"][0]["restartCount"] == 0
        up.process.kill()
        up.process.wait()
        assert "left running: 1" in up.run("down")
        assert not up.tasks()


def test_what_died_with_the_machine_is_not_called_ready():
    """All that runs is killed at once, as by a power failure, and what is stored says Ready."""
    with Up(model(), service()) as up:
        up.await_ready()
        before = up.tasks()
        up.process.kill()
        up.process.wait()
        for supervisor, _ in before:
            os.kill(supervisor, signal.SIGKILL)
        wait_for(lambda: not up.tasks(), 30, "all to be dead")
        os.remove(up.log)
        up.command += ["--ask", "Ahoy?"]
        up.start()
        wait_for(lambda: "\n< " in up.said() or "no answer" in up.said(), 60, "an answer")
        assert "no answer" not in up.said()
        assert "InferenceService chat: starting" in up.said().split("ready after")[0]
        assert up.tasks() != before


def ask_or_none(endpoint):
    try:
        return ask(endpoint)
    except OSError:
        return None


def test_detached_one_says_when_it_is_ready_and_what_is_not():
    with Up(model(), service(runtimeClassName="nvidia"), start=False) as up:  # a class that nobody has to make
        assert "ready" in up.run(*up.command[1:], "--detach")
        assert ask(up.get("inferenceservices", "chat")["status"]["endpoint"])
        assert "runs already" in up.run("up", code=1)
        assert "models/tiny unchanged" in up.run(*up.command[1:])
        up.write(model(), service(replicas="none"))
        assert "nothing was applied" in up.run(*up.command[1:], code=1)
        assert up.run("down") == "ended\n" and not up.tasks()
        assert "nothing runs" in up.run("down")
    with Up(model(), service(), path=PLAIN, start=False) as up:
        said = up.run(*up.command[1:], "--detach", code=1)
        assert "InferenceService chat is not ready: no program" in said and "install llama-server" in said
        assert "ghcr.io/ggml-org/llama.cpp" in said
        assert "To get it: https://github.com/ggml-org/llama.cpp/releases" in said and "GPUs found: " in said
        (pod,) = up.pods()
        (found,) = [c for c in pod["status"]["conditions"] if c["type"] == "leeboard.dev/ProgramFound"]
        assert found["status"] == "False" and "llama-server" in found["message"]


def test_models_that_are_wrong_are_told():
    cut, size = f"{os.path.dirname(tiny())}/cut.gguf", os.path.getsize(tiny())
    with open(tiny(), "rb") as whole, open(cut, "wb") as half:
        half.write(whole.read()[:size - 1000])
    wrong = model("wrong", sha256="0" * 64)
    with Up(wrong, service(modelRef="wrong"), start=False) as up:
        said = up.run(*up.command[1:], "--detach", code=1)
        assert "Model wrong is not ready: failed: spec.sha256 " in said, said
    with Up(model("cut", source=f"file://{cut}"), service(modelRef="cut"), start=False) as up:
        said = up.run(*up.command[1:], "--detach", code=1)
        found = re.search(rf"Model cut is not ready: failed: {cut} is cut short: it has {size - 1000} of the (\d+) "
                          "bytes that its header tells; put the whole file there", said)
        assert found and size - 1000 < int(found[1]) <= size, said
        assert not up.pods(), said
        shutil.copy(tiny(), cut)
        up.await_ready()  # it is looked at again while somebody waits


def test_local_file_is_used_in_place_and_another_one_is_taken():
    """By rename, as careful tools do it, and then written over while the server has it open."""
    with Up(model(source="./weights.gguf"), service(), start=False) as up:
        file = f"{up.dir}/weights.gguf"
        shutil.copy(tiny(), file)
        up.start()
        endpoint = up.await_ready()["status"]["endpoint"]
        listed = up.run("models")
        assert re.search(r"^default +tiny +/\S+/weights.gguf +\S+ KiB +inferenceservice default/chat$", listed, re.M), listed
        assert "is yours to remove" in up.run("models", "remove", "tiny", code=1)
        (first,) = up.pods()
        args = first["spec"]["containers"][0]["args"]
        assert os.path.realpath(args[args.index("--model") + 1]) == os.path.realpath(file) and not gguf_below(up.data)
        shutil.copy(tiny(), f"{file}.new")
        os.rename(f"{file}.new", file)
        (second,) = wait_for(lambda: (pods := up.pods()) and len(pods) == 1 and pods != [first] and
                             pods[0]["metadata"]["name"] != first["metadata"]["name"] and pods, 60, "another pod")
        up.await_ready()
        with open(tiny(), "rb") as whole, open(file, "wb") as half:
            half.write(whole.read()[:-1000])
        def drifted():
            conditions = up.get("models", "tiny")["status"]["conditions"]
            return next(c for c in conditions if c["type"] == "SourceDrifted")
        wait_for(lambda: drifted()["reason"] == "SourceUnusable", 30, "half a file to be noticed")
        assert "is cut short" in drifted()["message"] and "is cut short" in up.run("why", "tiny")
        assert [p["metadata"]["name"] for p in up.pods()] == [second["metadata"]["name"]]
        shutil.copy(tiny(), file)
        wait_for(lambda: second["metadata"]["name"] not in [p["metadata"]["name"] for p in up.get("pods")], 60,
                 "the pod of the old file to go")
        up.await_ready()
        assert drifted()["status"] == "False" and ask(endpoint)


def test_kinds_of_crds_among_the_manifests_are_known():
    boat = {"apiVersion": "sea.example.org/v1", "kind": "Boat", "metadata": {"name": "one", "namespace": "harbour"}}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": "boats.sea.example.org"},
           "spec": {"group": "sea.example.org", "scope": "Namespaced", "names": {"kind": "Boat", "plural": "boats"},
                    "versions": [{"name": "v1", "served": True, "storage": True,
                                  "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
    with Up(boat, crd, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "harbour"}}) as up:
        assert "one" in up.run("get", "boats", "-n", "harbour")
        up.stop()


def refused(*objects, flags=(), text=None):
    """What `up` says of what it cannot run; nothing is left of it."""
    with Up(*objects, start=False) as up:
        if text is not None:
            with open(up.manifest, "w") as f:
                f.write(text)
        said = up.run(*up.command[1:], *flags, code=1)
        assert not up.tasks() and "nothing runs" in up.run("ps", code=1)
        return said


def test_bad_input_is_refused_with_a_remedy():
    thing = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "one"}}
    assert "Thing/one: the server has no kind Thing in example.org/v1; apply its CRD first" in refused(thing)
    assert "manifest.yaml:" in refused(text="kind: [Model")
    assert 'spec.contextSize' in refused(model(), service(contextSize="much"))
    with Up(model(), service(modelRef="tinny")) as up:
        lost = 'InferenceService chat is failed: Model "tinny" is not in namespace "default" (there is tiny); create it'
        wait_for(lambda: lost in up.run("why", "chat"), 30, "the missing reference to be told, with what there is")
        taken = re.search(r"serves https://(\S+);", up.said()).group(1)
        said = refused(model(), flags=["--listen", taken])
        assert "Address already in use" in said and "--listen" in said
    assert "No such file or directory" in refused(flags=["-f", "/nowhere.yaml"])
    assert "images: write a list" in refused(flags=["--images", f"{ROOT}/examples/quickstart/model.yaml"])
