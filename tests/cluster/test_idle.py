"""waitForIdle with a server that really answers: the pods of the API server have the address of a
stand-in for llama-server, which says that it is busy until the test says otherwise."""
import contextlib
import fcntl
import http.server
import json
import os
import socket
import struct
import threading

from lab import free_port, wait_for
from promises import Operator, condition, model, service, wait_children, wait_condition
from test_inference_service import play, pods, serving

LAB = {"controllers": "*"}


class Slots(http.server.BaseHTTPRequestHandler):
    """llama-server's list of slots, one of which may be at work."""

    def do_GET(self):
        self.server.asked.append(self.path)
        body = json.dumps([{"id": 0, "is_processing": False},
                           {"id": 1, "is_processing": self.server.busy}]).encode()
        self.send_response(200 if self.path == "/slots" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def local_address():
    """An address that only this machine has: no EndpointSlice may hold 127.0.0.1. Who is not root
    cannot add one to the loopback interface, and uses the machine's own."""
    address = f"192.0.2.{os.getpid() % 253 + 1}"
    name = f"lo:{os.getpid() % 10000}".encode()
    set_address, set_mask, set_flags = 0x8916, 0x891c, 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        def ask(what, ip):
            fcntl.ioctl(s, what, struct.pack("16sHH4s8x", name, socket.AF_INET, 0,
                                             socket.inet_aton(ip)))
        try:
            ask(set_address, address)
        except PermissionError:
            s.connect((address, 9))
            yield s.getsockname()[0]
            return
        ask(set_mask, "255.255.255.255")
        try:
            yield address
        finally:
            fcntl.ioctl(s, set_flags, struct.pack("16sH14x", name, 0))


@contextlib.contextmanager
def stand_in(address):
    server = http.server.ThreadingHTTPServer((address, free_port()), Slots)
    server.busy, server.asked = True, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def bind(lab, ns, pod):
    """The scheduler's part: a pod without a node is in no EndpointSlice."""
    lab.create("nodes", None, {"metadata": {"name": "deck"}})
    name = pod["metadata"]["name"]
    lab.api("POST", lab.path("pods", ns, f"{name}/binding"),
            {"metadata": {"name": name}, "target": {"kind": "Node", "name": "deck"}})


def image(lab, ns):
    return lab.get("deployments", ns, "svc")["spec"]["template"]["spec"]["containers"][0]["image"]


def test_a_rollout_waits_until_the_pods_have_nothing_to_do(lab):
    """Broken by a may_roll() that is always true: "rolled while busy"."""
    ns = lab.namespace("idle")
    lab.apply(ns, [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": "llmkube-normal"}, "value": 10000}])
    with local_address() as address, stand_in(address) as server, Operator(lab) as op:
        spec = {"image": "llama.test/s:1", "containerPort": server.server_port, "rolloutPolicy": {
            "waitForIdle": True, "idleTimeoutSeconds": 3600}}
        lab.apply(ns, [model(), service(**spec)])
        wait_children(lab, ns)
        pod = wait_for(lambda: pods(lab, ns), 15, "a pod")[0]
        bind(lab, ns, pod)
        play(lab, ns, pod, **serving(), podIP=address, podIPs=[{"ip": address}])
        slices = "/apis/discovery.k8s.io/v1/namespaces/idle/endpointslices"
        wait_for(lambda: any(address in e["addresses"] for s in lab.api("GET", slices)["items"]
                             for e in s["endpoints"] or ()), 30, "the address in an EndpointSlice")
        assert not server.asked, "asked although nothing is to be rolled out"

        lab.patch("inferenceservices", ns, "svc", {"spec": {"image": "llama.test/s:2"}})
        deferred = wait_condition(lab, "inferenceservices", ns, "svc", "RolloutDeferred")
        assert deferred["reason"] == "PodsBusy", deferred
        count = len(server.asked)
        wait_for(lambda: len(server.asked) >= count + 2, 30, "two more questions")
        assert set(server.asked) == {"/slots"}, server.asked
        assert image(lab, ns) == "llama.test/s:1", "rolled while busy"

        server.busy = False
        wait_for(lambda: image(lab, ns) == "llama.test/s:2", 30, "the rollout")
        wait_for(lambda: (condition(lab.get("inferenceservices", ns, "svc"), "RolloutDeferred")
                          or {}).get("status") != "True", 30, "the end of the wait")
        op.settle()
        count = len(server.asked)
        lab.patch("inferenceservices", ns, "svc", {"metadata": {"annotations": {"x": "y"}}})
        op.settle()
        assert len(server.asked) == count, "asked although nothing is to be rolled out"
