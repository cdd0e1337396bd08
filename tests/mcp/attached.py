"""A stdio server in a pod, reached through pods/attach."""
import contextlib
import json
import os
import tempfile

import kit
from attach_server import Cluster
from kit import Client, await_true, text_of
from shared_server import ANN, CAN, error


@contextlib.contextmanager
def attached(program):
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state")
        open(state, "w").close()
        cluster = Cluster(state)
        server = f"http://127.0.0.1:{cluster.server.server_port}"
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": server}}],
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
    try:
        test_a_server_in_a_pod(program)
    except Exception:
        import traceback
        traceback.print_exc()
        return 0, 1
    return 1, 0
