"""kubectl exec, cp, attach and port-forward, and the Python client's, in pods that `leeboard up` runs as processes."""
import concurrent.futures
import contextlib
import fcntl
import filecmp
import http.client
import os
import pty
import re
import select
import struct
import subprocess
import termios
import textwrap
import time
import urllib.request

from lab import die_with_parent, programs, tail, wait_for
from test_apiserver_kubectl import clients
from test_up import Up, alive
from test_up_workloads import WAIT, shell

BLOB = os.urandom(1 << 20) * 3
IP = {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
# SPDY without a WebSocket around it: older clients, and those that are made with client-go's executor.
BOTH = [{"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": on, "KUBECTL_PORT_FORWARD_WEBSOCKETS": on} for on in ("true", "false")]
SERVE = "cd $HOME; echo ahoy >index.html; exec python3 -m http.server --bind $IP 8080"


def box(script=WAIT, others=(), **container):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "box"}, "spec": {
        "terminationGracePeriodSeconds": 1,
        "containers": [shell(script, env=[IP, {"name": "GREETING", "value": "ahoy"}], **container), *others]}}


def ready(probe=8080):
    return {"readinessProbe": {"tcpSocket": {"port": probe}, "periodSeconds": 1}}


@contextlib.contextmanager
def machine(*args, **rest):
    with Up(box(*args, **rest)) as up:
        up.kubectl("wait", "--for=condition=Ready", "pod/box", "--timeout=90s")
        yield up


def command(up, *args):
    return [f"{programs()}/kubectl", f"--kubeconfig={up.data}/kubeconfig", *args]


def kubectl(up, *args, **rest):
    return subprocess.run(command(up, *args), capture_output=True, timeout=120, env={**up.env, **rest.pop("env", {})},
                          check=False, **rest)


class Running:
    """kubectl in the background, and what it has said."""

    def __init__(self, up, *args, **env):
        self.log = f"{up.dir}/kubectl-{len(os.listdir(up.dir))}.log"
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(command(up, *args), stdin=subprocess.PIPE, stdout=out, stderr=out,
                                            preexec_fn=die_with_parent, env={**up.env, **env})

    def says(self, pattern):
        return wait_for(lambda: re.search(pattern, tail(self.log, 1000), re.M), 60, f"{pattern} of kubectl")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


def test_exec_has_streams_a_code_and_what_the_container_has():
    with machine(f"cd $HOME; touch mine; {WAIT}") as up:
        for env in BOTH:
            done = kubectl(up, "exec", "box", "--", "sh", "-c", "ls; echo $GREETING; echo oh >&2; exit 3", env=env)
            assert (done.returncode, done.stdout) == (3, b"mine\nahoy\n"), done
            assert done.stderr == b"oh\ncommand terminated with exit code 3\n", done
            done = kubectl(up, "exec", "-i", "box", "--", "sh", "-c", "cat; echo end", env=env, input=BLOB)
            assert done.returncode == 0 and done.stdout == BLOB + b"end\n", (done.returncode, done.stderr)
            done = kubectl(up, "exec", "box", "--", "no-such-program", env=env)
            assert done.returncode == 1, done
            assert b"error executing command in container: no-such-program: No such file" in done.stderr, done
        words = [str(i) for i in range(200)]
        assert kubectl(up, "exec", "box", "--", "echo", *words).stdout.split() == [w.encode() for w in words]
        done = kubectl(up, "exec", "box", "-c", "zz", "--", "ls")
        assert done.returncode == 1 and b"container zz is not valid for pod box" in done.stderr, done
        up.stop()


def use_terminal(up, env):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 43, 132, 0, 0))
    process = subprocess.Popen(command(up, "exec", "-it", "box", "--", "sh"), stdin=theirs, stdout=theirs,
                               stderr=theirs, env={**up.env, **env}, start_new_session=True)
    os.close(theirs)
    said = b""

    def hears(pattern):
        nonlocal said
        while not re.search(pattern, said):
            assert select.select([ours], [], [], 90)[0], said
            said += os.read(ours, 4096)
    # What a shell prints is not what was typed, which the terminal echoes.
    os.write(ours, b"echo $((40 + 2))\n")
    hears(rb"42\r\n")
    os.write(ours, b"tty; until stty size | grep 132; do :; done; exit 5\n")
    hears(rb"/dev/pts/\d+\r\n43 132\r\n")
    assert process.wait(90) == 5
    os.close(ours)


def test_exec_in_a_container_that_does_not_run():
    crash = {**shell("exit 1"), "name": "crash"}
    with Up(box(others=[crash])) as up:
        wait_for(lambda: "CrashLoopBackOff" in up.kubectl("get", "pod", "box"), 60, "its back-off")
        for env in BOTH:
            done = kubectl(up, "exec", "box", "-c", "crash", "--", "ls", env=env)
            assert done.returncode == 1 and b'connection: container not found ("crash")' in done.stderr, done
        assert kubectl(up, "exec", "box", "--", "true").returncode == 0
        up.stop()


def test_exec_on_a_terminal():
    with machine() as up:
        for env in BOTH:
            use_terminal(up, env)
        up.stop()


def test_cp_goes_both_ways():
    with machine(f"cd $HOME; {WAIT}") as up:
        os.makedirs(f"{up.dir}/there/below")
        for name in "there/blob", "there/below/blob":
            with open(f"{up.dir}/{name}", "wb") as f:
                f.write(BLOB)
        [home] = re.findall("^HOME=(.*)$", kubectl(up, "exec", "box", "--", "env", text=True).stdout, re.M)
        for source, target in (f"{up.dir}/there", f"box:{home}/copy"), (f"box:{home}/copy", f"{up.dir}/back"):
            done = kubectl(up, "cp", source, target)
            assert done.returncode == 0, done.stderr
        same = filecmp.cmpfiles(f"{up.dir}/there", f"{up.dir}/back", ["blob", "below/blob"], shallow=False)
        assert same == (["blob", "below/blob"], [], []), same
        up.stop()


def test_attach_shows_what_is_said_from_now_on_until_the_end():
    with machine("echo before; cd $HOME; until test -e go; do sleep 0.1; done; "
                 f"while :; do echo tick; echo tock >&2; sleep 0.2; done & {WAIT}") as up:
        with Running(up, "attach", "box") as attached:
            assert kubectl(up, "exec", "box", "--", "touch", "go").returncode == 0
            attached.says("^tick$")
            attached.says("^tock$")
            up.kubectl("delete", "pod", "box", "--wait=false")
            assert attached.process.wait(90) == 0
            assert "before" not in tail(attached.log, 1000)
        up.stop()


READ = "while read -r word; do echo got $word; done; echo over"


def feed(up, word, env):
    with Running(up, "attach", "-i", "box", **env) as attached:
        attached.process.stdin.write(f"{word}\n".encode())
        attached.process.stdin.flush()
        attached.says(f"^got {word}$")


def test_attach_writes_to_the_program_also_after_a_crash_of_up():
    with machine(READ, stdin=True) as up:
        for env, word in zip(BOTH, ("one", "two")):
            feed(up, word, env)
        tasks = up.tasks()
        up.process.kill()
        up.process.wait()
        up.start()
        wait_for(lambda: kubectl(up, "exec", "box", "--", "true").returncode == 0, 60, "the pod to be taken over")
        feed(up, "three", BOTH[0])
        assert up.tasks() == tasks
        assert up.kubectl("logs", "box").split("\n")[:3] == ["got one", "got two", "got three"]
        up.stop()


def test_attach_ends_the_input_that_is_for_one():
    with machine(READ, stdin=True, stdinOnce=True) as up:
        done = kubectl(up, "attach", "-i", "box", input=b"one\ntwo\n")
        assert done.returncode == 0 and done.stdout == b"got one\ngot two\nover\n", done
        up.stop()


def fetch(port, name="index.html"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=60) as answer:
        return answer.read()


def forwarded(running):
    """The local port that it has chosen."""
    return int(running.says(r"Forwarding from 127.0.0.1:(\d+) -> ")[1])


def test_port_forward_carries_many_connections():
    with machine(SERVE, **ready()) as up:
        assert kubectl(up, "exec", "-i", "box", "--", "sh", "-c", "cat >blob", input=BLOB).returncode == 0
        for env in BOTH:
            with Running(up, "port-forward", "--address=127.0.0.1", "pod/box", ":8080", **env) as forward:
                port = forwarded(forward)
                assert fetch(port) == b"ahoy\n"
                with concurrent.futures.ThreadPoolExecutor(6) as pool:
                    assert all(got == BLOB for got in pool.map(lambda _: fetch(port, "blob"), range(12)))
        with Running(up, "port-forward", "--address=127.0.0.1", "pod/box", ":9") as forward:
            port = forwarded(forward)
            with contextlib.suppress(OSError, http.client.HTTPException):
                fetch(port)
            forward.says("error forwarding port 9 to pod box, uid : .*[Rr]efused")
        up.stop()


PROGRAM = """
    import time
    from kubernetes import client, config
    from kubernetes.stream import portforward, stream
    config.load_kube_config()
    core = client.CoreV1Api()
    def run(script, **more):
        return stream(core.connect_get_namespaced_pod_exec, "box", "default", command=["sh", "-c", script],
                      stdout=True, stderr=True, tty=False, **more)
    assert run("echo out", stdin=False) == "out\\n"
    for protocol in "v5.channel.k8s.io", "v4.channel.k8s.io":
        core.api_client.set_default_header("sec-websocket-protocol", protocol)
        talk = run("read word; echo got $word; exit 7", stdin=True, _preload_content=False)
        talk.write_stdin("this\\n")
        talk.run_forever(timeout=60)
        assert (talk.read_stdout(), talk.returncode, talk.subprotocol) == ("got this\\n", 7, protocol)
    ports = portforward(core.connect_get_namespaced_pod_portforward, "box", "default", ports="8080,9")
    web, got = ports.socket(8080), b""
    web.setblocking(True)
    web.sendall(b"GET /index.html HTTP/1.0\\r\\n\\r\\n")
    while piece := web.recv(4096):
        got += piece
    assert got.endswith(b"ahoy\\n"), got
    while ports.error(9) is None:
        time.sleep(0.01)
    assert "error forwarding port 9 to pod box" in ports.error(9), ports.error(9)
    assert ports.error(8080) is None, ports.error(8080)
    print("done")
"""


def test_the_python_client_runs_commands_and_forwards_ports():
    with machine(SERVE, **ready()) as up:
        done = subprocess.run([f"{clients()}/venv/bin/python", "-c", textwrap.dedent(PROGRAM)], text=True,
                              capture_output=True, timeout=120, check=False,
                              env={**up.env, "KUBECONFIG": f"{up.data}/kubeconfig"})
        assert done.stdout.strip() == "done", done.stderr
        up.stop()


def stuff(pipe):
    """Fills it, and all that is behind it, until nobody takes anything for a while."""
    os.set_blocking(pipe.fileno(), False)
    since = time.monotonic()
    while time.monotonic() - since < 1:
        try:
            os.write(pipe.fileno(), BLOB)
            since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.05)


def test_commands_end_with_their_client_and_with_the_server():
    with machine() as up:
        with Running(up, "exec", "box", "--", "sh", "-c", "echo $$; sleep 1000 & wait") as client:
            pid = int(client.says(r"^(\d+)$")[1])
            assert alive(pid)
        wait_for(lambda: not alive(pid), 60, "the command to end with its client")
        # One whose input nobody reads is not read itself, and goes all the same.
        for env in BOTH:
            with Running(up, "exec", "-i", "box", "--", "sh", "-c", "echo $$; exec sleep 1000", **env) as client:
                pid = int(client.says(r"^(\d+)$")[1])
                stuff(client.process.stdin)
            wait_for(lambda: not alive(pid), 60, "the command to end with its client")
        with Running(up, "exec", "box", "--", "sh", "-c", "echo $$; sleep 1000 & wait") as client:
            pid = int(client.says(r"^(\d+)$")[1])
            up.stop()
            assert client.process.wait(90) != 0
            wait_for(lambda: not alive(pid), 60, "the command to end with the server")
