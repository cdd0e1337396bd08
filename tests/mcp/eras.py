"""Clients and HTTP servers of different protocol eras."""
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import urllib.request

import kit
from kit import Client, META, MODERN, await_true, modern, text_of
from shared_server import ANN, CAN, error

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "http_server.py")


@contextlib.contextmanager
def served(program, era, path="/mcp"):
    with tempfile.TemporaryDirectory() as folder:
        state, upstream = os.path.join(folder, "state"), kit.free_port()
        open(state, "w").close()
        server = subprocess.Popen([sys.executable, SERVER, str(upstream), era, state])
        try:
            kit.await_true(lambda: kit.answers(upstream, "/"), "the server runs")
            config = {"transport": "streamable-http", "remote_url": f"http://127.0.0.1:{upstream}{path}"}
            with kit.proxy(program, config, ["remote"]) as (port, _):
                yield port, upstream, lambda: open(state).read().splitlines()
        finally:
            server.kill()
            server.wait()


def test_modern_clients_of_a_legacy_server(program):
    with served(program, "legacy") as (port, upstream, state):
        tools = modern(port, "tools/list").last()["result"]
        assert tools["resultType"] == "complete" and tools["cacheScope"] == "private"
        about = modern(port, "server/discover").last()["result"]
        assert about["supportedVersions"] == [MODERN] and about["_meta"][META + "serverInfo"]["name"] == "tested"
        params = {"name": "twice", "arguments": {}}
        first = modern(port, "tools/call", params, id=1, capabilities=CAN).last()["result"]
        (key, _), = first["inputRequests"].items()
        again = {**params, "inputResponses": {key: ANN}, "requestState": first["requestState"]}
        second = modern(port, "tools/call", again, id=2, capabilities=CAN).last()["result"]
        (key, question), = second["inputRequests"].items()
        assert question["method"] == "sampling/createMessage"
        last = {**params, "inputResponses": {key: {"role": "user"}}, "requestState": second["requestState"]}
        done = modern(port, "tools/call", last, id=3, capabilities=CAN).last()
        assert done["id"] == 3 and text_of(done) == json.dumps(ANN, sort_keys=True) + '{"role": "user"}'
        reply = modern(port, "tools/call", {"name": "sample"})
        assert error(reply.last()) == -32021 and reply.status == 400
        slow = modern(port, "tools/call", {"name": "slow"}, meta={"progressToken": "t"})
        slow.last()
        assert [m.get("method") for m in slow.messages] == ["notifications/progress"] * 2 + [None]
        # Legacy clients are served beside them, and a forgotten session is begun again.
        assert text_of(Client(port).tool("echo", {"text": "x"})) == "x"
        urllib.request.urlopen(f"http://127.0.0.1:{upstream}/forget").read()
        assert text_of(modern(port, "tools/call", {"name": "echo", "arguments": {"text": "y"}}).last()) == "y"


def test_sessions_at_the_server_are_not_shared_by_users(program):
    with served(program, "legacy") as (port, _, state):
        for user in ("a", "b", "a"):
            modern(port, "tools/call", {"name": "echo", "arguments": {}}, headers={"Authorization": "Bearer " + user}).last()
        begun = [x for x in state() if x.startswith("initialize")]
        assert len(begun) == 2, state()
        assert [x for x in state() if x == "user Bearer b"]


def test_a_modern_client_that_leaves_cancels_at_a_legacy_server(program):
    with served(program, "legacy") as (port, _, state):
        reply = modern(port, "tools/call", {"name": "wait"})
        await_true(lambda: "waiting" in state(), "the call runs")
        reply.close()
        await_true(lambda: "cancelled" in state(), "the server hears of it")


def test_legacy_clients_of_a_modern_server(program):
    with served(program, "modern") as (port, _, state):
        c = Client(port, CAN)
        assert c.about["result"]["serverInfo"] == {"name": "tested", "version": "2"}
        assert c.call("ping")["result"] == {}
        assert text_of(c.tool("echo", {"text": "x"})) == "x"
        messages = iter(c.start("tools/call", {"name": "ask", "arguments": {}}, id=9))
        question = next(messages)
        c.post({"jsonrpc": "2.0", "id": question["id"], "result": ANN}).last()
        done = next(messages)
        assert done["id"] == 9 and text_of(done) == "s1 " + json.dumps(ANN, sort_keys=True)
        assert text_of(modern(port, "tools/call", {"name": "echo", "arguments": {"text": "y"}}).last()) == "y"
        gone = kit.Reply(port, "DELETE", "/mcp", c.headers(), None)
        gone.last()
        assert gone.status == 204 and error(c.call("ping")) == -32001


def test_what_a_modern_server_refuses_is_a_refusal(program):
    """Its errors may have older codes, too. Once it has shown its era they do not say that it is of another."""
    with served(program, "modern") as (port, _, _s):
        assert MODERN in modern(port, "server/discover").last()["result"]["supportedVersions"]
        reply = modern(port, "tools/call", {"name": "refuse"})
        assert error(reply.last()) == -32600 and reply.status == 400
        assert text_of(modern(port, "tools/call", {"name": "echo", "arguments": {"text": "y"}}).last()) == "y"


def run(program):
    failed = 0
    tests = [t for n, t in list(globals().items()) if n.startswith("test_")]
    for t in tests:
        try:
            t(program)
        except Exception:
            print(f"{t.__name__}: {traceback.format_exc()}")
            failed += 1
    return len(tests) - failed, failed


if __name__ == "__main__":
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1])))
