"""The node on a real kube-apiserver, through tests/tools/node_tool.c: pods as local processes."""
import json
import os
import subprocess
import tempfile
import urllib.request

from lab import ROOT, spawn, tail, wait_for

LAB = {"controllers": "*,-node-lifecycle-controller"}
NODE_TOOL = os.environ.get("NODE_TOOL", f"{ROOT}/build/release/node_tool")
FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


class Node:
    """A running node_tool. What it started and left is killed with it at the end of the test."""

    def __init__(self, lab, *flags, name="here"):
        self.lab, self.name = lab, name
        self.dir = tempfile.mkdtemp(prefix="node-", dir=lab.dir)
        self.log = f"{self.dir}.log"
        self.command = [NODE_TOOL, name, self.dir, "--back-off-ms=200", *flags]
        self.start()

    def start(self):
        environment = {"PATH": os.environ["PATH"], "KUBECONFIG": self.lab.kubeconfig}
        self.process = spawn(self.command, self.log, env=environment)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(90)
        assert self.process.returncode in (0, -9), tail(self.log, 30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is not None:
            self.start()
        self.stop()


def pod(name, *containers, **spec):
    spec = {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 5, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": list(containers), **spec}}


def shell(name, script, **rest):
    return {"name": name, "image": "busybox", "command": ["sh", "-c", script], **rest}


def condition(found, kind):
    return next((c for c in found["status"].get("conditions", []) if c["type"] == kind), {})


def is_ready(found):
    return condition(found, "Ready").get("status") == "True"


def status_of(found, name):
    status = found["status"]
    return next((s for s in status.get("initContainerStatuses", []) +
                 status.get("containerStatuses", []) if s["name"] == name), {})


def wait_pod(lab, ns, name, good, what):
    """The pod once it is so."""
    def look():
        found = lab.get("pods", ns, name)
        return found if found and good(found) else None
    try:
        return wait_for(look, 30, what)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{json.dumps(lab.get('pods', ns, name), indent=1)}") from error


def processes(word):
    return subprocess.run(["pgrep", "-f", word], capture_output=True, text=True).stdout.split()


def test_pod_runs_is_ready_and_goes_without_a_trace(lab):
    ns = lab.namespace("runs")
    with Node(lab) as node:
        lab.apply(ns, pod("web", shell(
            "main", "echo $GREETING >$HOME/said; exec python3 -m http.server --bind $IP 8080",
            env=[{"name": "GREETING", "value": "ahoy"},
                 {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
            readinessProbe={"httpGet": {"path": "/said", "port": 8080}, "periodSeconds": 1})))
        found = wait_pod(lab, ns, "web", is_ready, "the pod to be ready")
        assert found["spec"]["nodeName"] == "here"
        status = found["status"]
        assert status["phase"] == "Running" and status["startTime"]
        assert status["podIP"].startswith("127.") and status["podIPs"] == [{"ip": status["podIP"]}]
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready"):
            assert condition(found, kind)["status"] == "True", kind
        main = status_of(found, "main")
        assert main["started"] and main["ready"] and main["restartCount"] == 0
        assert "startedAt" in main["state"]["running"]
        with urllib.request.urlopen(f"http://{status['podIP']}:8080/said") as answer:
            assert answer.read() == b"ahoy\n"
        folder = f"{node.dir}/pods/{found['metadata']['uid']}"
        assert os.path.isdir(folder)
        lab.delete("pods", ns, "web")
        wait_for(lambda: not lab.get("pods", ns, "web"), 30, "the pod to go")
        wait_for(lambda: not os.path.exists(folder), 30, "its folder to go")
        assert not processes(f"http.server --bind {status['podIP']}")


def test_init_containers_run_in_order_before_the_others(lab):
    ns = lab.namespace("init")
    with Node(lab) as _:
        mount = [{"name": "v", "mountPath": "/shared-data"}]
        side = shell("side", f"echo side >>/shared-data/order; {FOREVER}", volumeMounts=mount,
                     restartPolicy="Always")
        lab.apply(ns, pod(
            "job",
            shell("main", "echo main >>/shared-data/order; cat /shared-data/order >&2; exit 3",
                  volumeMounts=mount, terminationMessagePolicy="FallbackToLogsOnError"),
            initContainers=[shell("one", "echo one >>/shared-data/order", volumeMounts=mount), side,
                            shell("two", "while ! grep -q side /shared-data/order; do sleep 0.05; "
                                  "done; echo two >>/shared-data/order", volumeMounts=mount)],
            volumes=[{"name": "v", "emptyDir": {}}], restartPolicy="Never"))
        found = wait_pod(lab, ns, "job", lambda p: p["status"]["phase"] == "Failed", "its end")
        end = status_of(found, "main")["state"]["terminated"]
        assert (end["exitCode"], end["reason"]) == (3, "Error")
        assert end["message"] == "one\nside\ntwo\nmain\n", end
        assert status_of(found, "one")["state"]["terminated"]["reason"] == "Completed"
        assert "terminated" in status_of(found, "side")["state"]
        assert condition(found, "Ready")["reason"] == "PodFailed"


def test_crash_is_backed_off_and_recovers(lab):
    ns = lab.namespace("crash")
    with Node(lab, "--back-off-ms=1000") as _:
        lab.apply(ns, pod("web", shell("main", f"test -e /fuel/there || exit 9; {FOREVER}",
                                       volumeMounts=[{"name": "v", "mountPath": "/fuel"}]),
                          volumes=[{"name": "v", "configMap": {"name": "fuel"}}]))
        found = wait_pod(lab, ns, "web", lambda p: "waiting" in status_of(p, "main").get("state", {}),
                         "its volume to be missed")
        waiting = status_of(found, "main")["state"]["waiting"]
        assert waiting["reason"] == "ContainerCreating"
        assert 'configmap "fuel" not found' in waiting["message"]
        lab.apply(ns, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fuel"},
                       "data": {"other": ""}})
        found = wait_pod(lab, ns, "web", lambda p: status_of(p, "main").get("state", {}).get(
            "waiting", {}).get("reason") == "CrashLoopBackOff", "the crash loop")
        main = status_of(found, "main")
        assert main["restartCount"] >= 1 and not main["ready"]
        assert main["lastState"]["terminated"]["exitCode"] == 9
        uid = found["metadata"]["uid"]
        assert main["state"]["waiting"]["message"].endswith(
            f"restarting failed container=main pod=web_{ns}({uid})")
        assert condition(found, "Ready")["message"] == "containers with unready status: [main]"
        lab.apply(ns, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fuel"},
                       "data": {"there": ""}})
        wait_pod(lab, ns, "web", is_ready, "the recovery")


def test_killed_node_is_followed_by_one_that_adopts(lab):
    ns = lab.namespace("adopt")
    with Node(lab) as node:
        lab.apply(ns, pod("web", shell("main", f"echo $$; {FOREVER}")))
        before = wait_pod(lab, ns, "web", is_ready, "the pod to be ready")
        lab.apply(ns, pod("short", shell("main", f"while ! [ -e {node.dir}/go ]; do sleep 0.05; done"),
                          restartPolicy="Never"))
        short = wait_pod(lab, ns, "short", is_ready, "the short pod to run")
        lab.apply(ns, pod("lost", shell("main", FOREVER + " # lost-and-gone")))
        wait_pod(lab, ns, "lost", is_ready, "the pod that goes meanwhile")
        node.kill()
        open(f"{node.dir}/go", "w").close()
        lab.kubectl("-n", ns, "delete", "pod", "lost", "--grace-period=0", "--force")
        end = f"{node.dir}/pods/{short['metadata']['uid']}/containers/main/0/exit"
        wait_for(lambda: os.path.exists(end), 30, "the short one to end while nobody looks")
        node.start()
        found = wait_pod(lab, ns, "short", lambda p: p["status"]["phase"] == "Succeeded", "its end")
        assert status_of(found, "main")["state"]["terminated"]["reason"] == "Completed"
        wait_for(lambda: not processes("lost-and-[g]one"), 30, "the lost one to be killed")
        after = lab.get("pods", ns, "web")
        assert status_of(after, "main") == status_of(before, "main")
        assert after["status"]["podIP"] == before["status"]["podIP"]


def test_liveness_restarts_and_hooks_run(lab):
    ns = lab.namespace("alive")
    with Node(lab) as node:
        # The file goes before the next run begins, and a probe may take its time: one restart, not two.
        lab.apply(ns, pod("web", shell(
            "main", FOREVER,
            livenessProbe={"exec": {"command": ["sh", "-c", "test ! -e $HOME/sick"]},
                           "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 60},
            lifecycle={"postStart": {"exec": {"command": ["sh", "-c", "echo up >>$HOME/hooks"]}},
                       "preStop": {"exec": {"command": [
                           "sh", "-c", "echo down >>$HOME/hooks; rm $HOME/sick"]}}}), terminationGracePeriodSeconds=60))
        found = wait_pod(lab, ns, "web", is_ready, "the pod to be ready")
        home = f"{node.dir}/pods/{found['metadata']['uid']}/containers/main/home"
        open(f"{home}/sick", "w").close()
        wait_pod(lab, ns, "web", lambda p: status_of(p, "main")["restartCount"] == 1 and is_ready(p),
                 "the restart")
        with open(f"{home}/hooks") as f:
            assert f.read().split() == ["up", "down", "up"]


def test_what_cannot_be_is_said(lab):
    ns = lab.namespace("cannot")
    with Node(lab) as _:
        lab.apply(ns, pod("image", {"name": "main", "image": "example.com/no/such:1"}))
        lab.apply(ns, pod("large", shell("main", FOREVER, resources={
            "requests": {"cpu": "100000", "nvidia.com/gpu": "64"},
            "limits": {"nvidia.com/gpu": "64"}})))
        lab.apply(ns, pod("caps", shell("main", FOREVER, securityContext={"capabilities": {"drop": ["ALL"]}})))
        lab.apply(ns, pod("user", shell("main", "id -u >/dev/termination-log; id -g >>/dev/termination-log"),
                          securityContext={"runAsUser": 7, "runAsGroup": 8}, restartPolicy="Never"))
        lab.apply(ns, pod("env", shell("main", FOREVER, env=[{"name": "A", "valueFrom": {
            "secretKeyRef": {"name": "none", "key": "k"}}}])))
        found = wait_pod(lab, ns, "image", lambda p: condition(p, "leeboard.dev/ProgramFound"), "it")
        waiting = status_of(found, "main")["state"]["waiting"]
        assert waiting["reason"] == "ErrImageNeverPull"
        assert "none is known for image example.com/no/such:1" in waiting["message"]
        assert condition(found, "leeboard.dev/ProgramFound")["message"] == waiting["message"]
        assert found["status"]["phase"] == "Pending"
        found = wait_pod(lab, ns, "large", lambda p: condition(p, "PodScheduled"), "the refusal")
        refusal = condition(found, "PodScheduled")
        assert (refusal["status"], refusal["reason"]) == ("False", "Unschedulable")
        assert "Insufficient cpu (asked for 100000, free" in refusal["message"], refusal
        assert "Insufficient nvidia.com/gpu (asked for 64" in refusal["message"], refusal
        found = wait_pod(lab, ns, "caps", is_ready, "the pod to run all the same")
        assert "spec.containers[main].securityContext.capabilities" in condition(
            found, "leeboard.dev/Limited")["message"]
        found = wait_pod(lab, ns, "user", lambda p: p["status"]["phase"] == "Succeeded", "the pod to end")
        if os.geteuid() == 0:
            assert status_of(found, "main")["state"]["terminated"]["message"] == "7\n8\n", found["status"]
        else:
            assert "spec.securityContext.runAsUser" in condition(found, "leeboard.dev/Limited")["message"]
        found = wait_pod(lab, ns, "env", lambda p: status_of(p, "main").get("state", {}).get(
            "waiting", {}).get("reason") == "CreateContainerConfigError", "the missing secret")
        assert status_of(found, "main")["state"]["waiting"]["message"] == 'secret "none" not found'


def test_volumes_follow_their_objects_and_the_account_has_a_token(lab):
    ns = lab.namespace("volumes")
    with Node(lab) as node:
        lab.apply(ns, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"},
                       "data": {"text": "one"}})
        lab.apply(ns, pod("web", shell(
            "main", f"cat /var/run/secrets/kubernetes.io/serviceaccount/namespace; {FOREVER}",
            volumeMounts=[{"name": "cm", "mountPath": "/etc/leeboard-cm"}]),
            volumes=[{"name": "cm", "configMap": {"name": "cm"}}],
            automountServiceAccountToken=True))
        found = wait_pod(lab, ns, "web", is_ready, "the pod to be ready")
        volumes = f"{node.dir}/pods/{found['metadata']['uid']}/volumes"
        token = next(name for name in os.listdir(volumes) if name.startswith("kube-api-access"))
        with open(f"{volumes}/{token}/token") as f:
            assert f.read().count(".") == 2
        lab.apply(ns, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"},
                       "data": {"text": "two"}})

        def text():
            with open(f"{volumes}/cm/text") as f:
                return f.read()
        wait_for(lambda: text() == "two", 30, "the new text")
        assert status_of(lab.get("pods", ns, "web"), "main")["restartCount"] == 0


def test_node_without_mounts_translates_paths(lab):
    ns = lab.namespace("paths")
    with Node(lab, "--no-mounts") as _:
        lab.apply(ns, pod("job", shell(
            "main", "echo ahoy >$DIR/file && cat /some-data/file >&2; exit 1",
            env=[{"name": "DIR", "value": "/some-data"}],
            volumeMounts=[{"name": "v", "mountPath": "/some-data"}],
            terminationMessagePolicy="FallbackToLogsOnError"),
            volumes=[{"name": "v", "emptyDir": {}}], restartPolicy="Never"))
        found = wait_pod(lab, ns, "job", lambda p: p["status"]["phase"] == "Failed", "its end")
        assert status_of(found, "main")["state"]["terminated"]["message"] == "ahoy\n"
        assert "mount paths" in condition(found, "leeboard.dev/Limited")["message"]


def test_stopped_node_leaves_nothing_running_and_the_next_one_starts_again(lab):
    ns = lab.namespace("stop")
    with Node(lab) as node:
        lab.apply(ns, pod("web", shell("main", FOREVER + " # stop-and-start")))
        wait_pod(lab, ns, "web", is_ready, "the pod to be ready")
        node.stop()
        assert not processes("stop-and-[s]tart")
        node.start()
        wait_pod(lab, ns, "web", lambda p: is_ready(p) and status_of(p, "main")["restartCount"] == 1,
                 "the next run")
