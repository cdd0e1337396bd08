"""A stdio server in a pod, reached through pods/attach."""
import contextlib
import json
import os
import sys
import tempfile
import traceback

import kit
from attach_server import Cluster, Tunnel
from kit import Client, await_true, text_of
from shared_server import ANN, CAN, error


@contextlib.contextmanager
def attached(program, spdy=False, proxy=None):
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state")
        open(state, "w").close()
        cluster = Cluster(state, spdy)
        server = f"http://127.0.0.1:{cluster.server.server_port}"
        about = {"server": server, **({"proxy-url": proxy} if proxy else {})}
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": about}],
                  "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {"token": "t"}}]}
        path = os.path.join(folder, "kubeconfig")
        with open(path, "w") as f:
            json.dump(config, f)
        try:
            with kit.proxy(program, {"transport": "stdio"}, ["image:1", "--kubeconfig", path]) as (port, _):
                yield port, cluster, lambda: open(state).read().splitlines()
        finally:
            cluster.close()


def test_a_server_in_a_pod(program):
    with attached(program) as (port, cluster, state):
        speaks_through_breaks(port, cluster, state)
        assert not cluster.refused


def test_over_spdy_where_a_websocket_is_refused(program):
    tunnel = Tunnel()
    with attached(program, spdy=True, proxy=tunnel.url) as (port, cluster, state):
        speaks_through_breaks(port, cluster, state)
        assert cluster.refused == len(cluster.attached) == 3
        # Pings of the server are answered with their own ids.
        assert cluster.pinged and set(cluster.pinged) == {b"\0\0\0\2"}
    target = "CONNECT 127.0.0.1:%d HTTP/1.1" % cluster.server.server_port
    assert tunnel.asked and all(x.startswith(target) and "Basic YW5uOnNlY3JldA==" in x for x in tunnel.asked), tunnel.asked


def speaks_through_breaks(port, cluster, state):
    c = Client(port, CAN)
    big = "é\u2028" * 30000
    assert text_of(c.tool("echo", {"text": big})) == big
    messages = iter(c.start("tools/call", {"name": "ask", "arguments": {}}))
    question = next(messages)
    c.post({"jsonrpc": "2.0", "id": question["id"], "result": ANN}).last()
    assert json.loads(text_of(next(messages))) == ANN
    assert cluster.attached[0].headers["Authorization"] == "Bearer t"
    container, = cluster.written[0]["spec"]["template"]["spec"]["containers"]
    assert container["stdin"] is True and container["image"] == "image:1"

    # The connection breaks: what was under way fails, and the same process is not told hello again.
    waiting = c.start("tools/call", {"name": "wait"})
    await_true(lambda: "waiting" in state(), "the call runs")
    cluster.detach()
    assert error(waiting.last()) == -32603
    assert text_of(c.tool("echo", {"text": "again"})) == "again"
    assert len(cluster.attached) == 2
    assert len([x for x in state() if x.startswith("initialize")]) == 1

    # The container starts anew: it is.
    cluster.restart()
    cluster.containers[0].process.kill()
    await_true(lambda: "result" in c.tool("echo", {"text": "anew"}), "the new process answers")
    assert len([x for x in state() if x.startswith("initialize")]) == 2


def run(program):
    failed = 0
    for test in (test_a_server_in_a_pod, test_over_spdy_where_a_websocket_is_refused):
        try:
            test(program)
        except Exception:
            traceback.print_exc()
            failed += 1
    return 2 - failed, failed


if __name__ == "__main__":
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1])))
