"""Kubernetes' own workloads under `leeboard up`, as real processes: what keeps them from being ready is told at once,
StatefulSets keep their data, Jobs end and fail."""
import re
import signal
import urllib.request

from lab import free_port, wait_for
from test_up import Up

WAIT = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


def shell(script, **rest):
    return {"name": "main", "image": "busybox", "command": ["sh", "-c", script], **rest}


def workload(kind, name, container, pod=None, **spec):
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 5, **(pod or {})}}
    if kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": {"name": name}, "spec": {"template": template, **spec}}
    template["metadata"] = {"labels": {"app": name}}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}}


def key_of(name):
    return [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": name, "key": "k"}}}]


STUCK = {
    # What cannot be ready: what is said of it
    "refused": (workload("Deployment", "refused", shell(WAIT), {"runtimeClassName": "nowhere"}),
                'refused: 0/1  pods "refused-.*" is forbidden: .*RuntimeClass "nowhere" not found'),
    "refused-job": (workload("Job", "refused-job", shell(WAIT), {"runtimeClassName": "nowhere"}),
                    'refused: 0/1  pods "refused-job-" is forbidden: .*RuntimeClass "nowhere" not found'),
    "large": (workload("Deployment", "large", shell(WAIT, resources={"requests": {"memory": "1Pi"}})),
              r"pending: 0/1  .*Insufficient memory \(asked for 1Pi, "),
    "device": (workload("Deployment", "device", shell(WAIT, resources={"limits": {"example.org/tpu": 1}})),
               r"pending: 0/1  .*Insufficient example.org/tpu \(this machine has none\)"),
    "program": (workload("StatefulSet", "program", {"name": "main", "image": "example.org/unknown"}),
                "no program: 0/1  main: name a program with --images FILE: none is known for image example.org/unknown"),
    "key": (workload("Deployment", "key", shell(WAIT, env=key_of("settings"))),
            'no settings: 0/1  main: configmap "settings" not found'),
    "volume": (workload("Deployment", "volume", shell(WAIT), {
        "volumes": [{"name": "v", "configMap": {"name": "settings"}}]}),
        'no volume: 0/1  MountVolume.SetUp failed for volume "v" : configmap "settings" not found'),
    "crash": (workload("Deployment", "crash", shell("echo first; echo cannot open the sea; exit 7")),
              "crashing: 0/1  main: exit code 7: cannot open the sea"),
    "alone": ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "alone"}, "spec": {
        "containers": [shell("echo bad luck; exit 3")], "restartPolicy": "Never"}},
        "failed: main: exit code 3: bad luck"),
    "cron": ({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "cron"}, "spec": {
        "schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [shell("true")]}}}}}},
        "not run: nothing starts CronJobs on one machine"),
}


def test_load_balancer_is_reached_at_the_exposed_address_and_says_so():
    server = {"name": "web", "image": "busybox", "command": ["python3", "-m", "http.server", "--bind", "$(IP)", "8000"],
              "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]}
    port = free_port()
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": port, "targetPort": 8000}]}}
    with Up(workload("Deployment", "web", server), service, flags=["--expose", "127.0.0.1,127.0.0.3"]) as up:
        def answers(address, number):
            try:
                with urllib.request.urlopen(f"http://{address}:{number}/", timeout=10) as answer:
                    return answer.status == 200
            except OSError:
                return False
        for address in "127.0.0.1", "127.0.0.3":
            wait_for(lambda: answers(address, port), 30, f"an answer at {address}")
        found = up.get("services", "web")
        assert [i["ip"] for i in found["status"]["loadBalancer"]["ingress"]] == ["127.0.0.1", "127.0.0.3"], found
        node_port = found["spec"]["ports"][0]["nodePort"]
        assert answers("127.0.0.1", node_port) and answers("127.0.0.3", node_port)
        assert "127.0.0.1,127.0.0.3" in up.run("get", "services")
        up.stop()
    with Up(start=False) as up:
        said = up.run(*up.command[1:], "--expose", "0.0.0.0", code=2)
        assert "0.0.0.0 is all addresses" in said and "127.0.0.1" in said, said


def reasons_of(up, name):
    return [e["reason"] for e in up.get("events") if e["involvedObject"]["name"].startswith(name)]


def test_what_is_not_ready_is_told_at_once_with_its_reason():
    with Up(*(o for o, _ in STUCK.values()), start=False) as up:
        said = up.run(*up.command[1:], "--detach", code=1)
        listed = up.run("ps")
        for name, (found, reason) in STUCK.items():
            about = f"{found['kind']} {name}"
            assert re.search(f"{about} is not ready: {reason}", said), (about, said)
            assert re.search(f"^{about}: {reason.split(': ', 1)[1]}", listed, re.M), (about, listed)
        for name, reason in ("refused", "FailedCreate"), ("large", "FailedScheduling"), ("program", "ErrImageNeverPull"), \
                ("key", "Failed"), ("crash", "BackOff"):
            assert reason in reasons_of(up, name), (name, reason, up.get("events"))
        wait_for(lambda: "FailedMount" in reasons_of(up, "volume"), 30, "the event of what stays so")
        described = up.kubectl("describe", "pod", "-l", "app=crash")
        order = [described.index(f"  {word} ") for word in ("Scheduled", "Pulled", "Created", "Started", "BackOff")]
        assert order == sorted(order), described
        up.write({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"k": "v"}})
        up.run("apply", "-f", up.manifest)
        for name in "key", "volume":
            up.kubectl("rollout", "status", f"deployment/{name}", "--timeout=90s")
        assert up.run("down") == "ended\n"
        up.write(STUCK["refused"][0])
        up.start()  # and in the foreground
        wait_for(lambda: "Deployment refused: refused  0/1  pods " in up.said(), 30, "the reason")
        wait_for(lambda: "Deployment volume: ready  1/1" in up.said(), 60, "what goes on")
        up.stop(signal.SIGINT)
        last = [line for line in up.said().splitlines() if line.startswith("Deployment volume: ")][-1]
        assert last == "Deployment volume: stopped", up.said()


def runs_of(up, number):
    try:
        with open(f"{up.data}/volumes/default/data-set-{number}/runs") as f:
            return f.read().split()
    except FileNotFoundError:
        return []


def stateful_set(word):
    script = f"echo {word}-$HOSTNAME >>/data/runs; {WAIT}"
    return workload("StatefulSet", "set", shell(script, volumeMounts=[{"name": "data", "mountPath": "/data"}]),
                    replicas=2, serviceName="set", volumeClaimTemplates=[
                        {"metadata": {"name": "data"}, "spec": {
                            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}])


def test_stateful_set_keeps_its_data_over_a_roll():
    with Up(stateful_set("one")) as up:
        up.kubectl("rollout", "status", "statefulset/set", "--timeout=90s")
        before = {p["metadata"]["name"]: p["metadata"]["uid"] for p in up.pods()}
        assert sorted(before) == ["set-0", "set-1"]
        up.write(stateful_set("two"))
        up.run("apply", "-f", up.manifest)
        up.kubectl("rollout", "status", "statefulset/set", "--timeout=90s")
        after = {p["metadata"]["name"]: p["metadata"]["uid"] for p in up.pods()}
        assert sorted(after) == sorted(before) and not set(after.values()) & set(before.values())
        for number in 0, 1:
            wait_for(lambda: runs_of(up, number) == [f"one-set-{number}", f"two-set-{number}"], 30, "what both wrote")
        up.stop()


def test_jobs_end_and_fail():
    indexed = workload("Job", "indexed", shell("echo number $JOB_COMPLETION_INDEX"), completions=3, parallelism=2,
                       completionMode="Indexed")
    failing = workload("Job", "failing", shell("echo no luck; exit 1"), backoffLimit=1)
    with Up(indexed, failing) as up:
        up.kubectl("wait", "job/indexed", "--for=condition=Complete", "--timeout=90s")
        assert up.get("jobs", "indexed")["status"]["completedIndexes"] == "0-2"
        written = [up.run("logs", p["metadata"]["name"]).strip() for p in up.pods()
                   if p["metadata"]["labels"]["job-name"] == "indexed"]
        assert sorted(written) == ["number 0", "number 1", "number 2"]
        wait_for(lambda: "trying again  0/1  1 failed, the last one: main: exit code 1: no luck" in up.said() or
                 "Job failing: failed" in up.said(), 30, "its back-off to be told")
        up.kubectl("wait", "job/failing", "--for=condition=Failed", "--timeout=90s")
        status = up.get("jobs", "failing")["status"]
        assert status["failed"] == 2, status
        (failed,) = [c for c in status["conditions"] if c["type"] == "Failed"]
        assert failed["reason"] == "BackoffLimitExceeded", failed
        listed = up.run("ps")
        assert re.search(r"^failing +Job +failed ", listed, re.M) and re.search(r"^indexed +Job +done ", listed, re.M)
        assert "2 failed, the last one: main: exit code 1: no luck" in listed
        up.stop()
