"""Many clients in front of one server on standard streams: what is rewritten, whom a message reaches, both eras, faults."""
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
import traceback

import kit
from kit import Client, META, MODERN, await_true, in_background, modern, text_of

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stdio_server.py")
CAN = {"elicitation": {}, "sampling": {}, "roots": {}}
ANN = {"action": "accept", "content": {"name": "Ann"}}


@contextlib.contextmanager
def served(program, era="legacy", **config):
    with tempfile.TemporaryDirectory() as folder:
        state = os.path.join(folder, "state")
        open(state, "w").close()
        with kit.proxy(program, {"transport": "stdio", "proxy_mode": "streamable-http", **config},
                       ["--local", sys.executable, "--", SERVER, era, state]) as (port, process):
            yield port, lambda: open(state).read().splitlines(), process


def error(message):
    return message["error"]["code"]


# ---- legacy clients, legacy server ----

def test_text_and_ids_pass_unchanged(program):
    with served(program) as (port, _, _p):
        c = Client(port)
        words = "nbsp[\u00a0] zwj[\U0001f469\u200d\U0001f4bb] hyphen[\u00ad] ls[\u2028] mark[\ufeff] rtl[\u200f]"
        assert text_of(c.tool("echo", {"text": words})) == words
        for rid in (0, -1, 9007199254740993, "a\"b", "ü", ""):
            assert c.call("ping", id=rid)["id"] == rid
        raw = Client.post(c, {"jsonrpc": "2.0", "id": 1.5, "method": "ping"}).last()
        assert raw["id"] == 1.5


def test_equal_ids_and_tokens_of_two_clients_do_not_meet(program):
    with served(program) as (port, _, _p):
        a, b = Client(port), Client(port)
        replies = [c.start("tools/call", {"name": "slow", "arguments": {"steps": 3}, "_meta": {"progressToken": "t"}}, id=7)
                   for c in (a, b)]
        for reply in replies:
            reply.last()
            assert [m["params"]["progress"] for m in reply.messages[:-1]] == [0, 1, 2], reply.messages
            assert all(m["params"]["progressToken"] == "t" for m in reply.messages[:-1])
            assert reply.messages[-1]["id"] == 7
        ids = [json.loads(text_of(c.tool("ids", id=7))) for c in (a, b)]
        assert ids[0][0] != ids[1][0]


def test_one_handshake_serves_everybody(program):
    with served(program) as (port, state, _p):
        clients = [Client(port, CAN if i else {}) for i in range(5)]
        assert all(c.about["result"]["serverInfo"]["name"] == "tested" for c in clients)
        begun = [line for line in state() if line.startswith("initialize")]
        assert len(begun) == 1 and all(k in begun[0] for k in CAN), begun


def test_a_question_goes_to_the_client_whose_call_is_under_way(program):
    with served(program) as (port, _, _p):
        asked, other = Client(port, CAN), Client(port, CAN)
        for tool, result in (("ask", ANN), ("sample", {"role": "assistant"}), ("roots", {"roots": []})):
            reply = asked.start("tools/call", {"name": tool, "arguments": {}})
            messages = iter(reply)
            question = next(messages)
            assert question["method"] in ("elicitation/create", "sampling/createMessage", "roots/list")
            # Another session cannot answer it.
            other.post({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}).last()
            done = asked.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
            done.last()
            assert done.status == 202
            assert json.loads(text_of(next(messages))) == result


def test_a_client_that_cannot_be_asked_is_not(program):
    with served(program) as (port, _, _p):
        assert "can answer" in text_of(Client(port).tool("ask"))


def test_a_cancellation_reaches_the_call_that_it_names(program):
    with served(program) as (port, state, _p):
        a = Client(port)
        reply = a.start("tools/call", {"name": "wait"}, id=5)
        await_true(lambda: "waiting" in state(), "the call runs")
        a.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5, "reason": "r"}}).last()
        line = await_true(lambda: [x for x in state() if x.startswith("cancelled")], "it is cancelled")
        assert line == ['cancelled "%s|int64:5"' % a.sid], line
        reply.close()


def test_a_lost_client_does_not_cancel_in_the_legacy_era(program):
    with served(program) as (port, state, _p):
        a = Client(port)
        a.start("tools/call", {"name": "wait"}).close()
        await_true(lambda: "waiting" in state(), "the call runs")
        assert a.call("ping")["result"] == {}
        assert not [x for x in state() if x.startswith("cancelled")]


def test_notifications_reach_streams_and_subscribers(program):
    with served(program) as (port, _, _p):
        a, b = Client(port), Client(port)
        streams = [iter(c.get().head()) for c in (a, b)]
        assert a.call("resources/subscribe", {"uri": "test://a"})["result"] == {}
        b.tool("change")
        assert next(streams[0])["method"] == "notifications/tools/list_changed"
        assert next(streams[0])["params"] == {"uri": "test://a"}
        assert next(streams[1])["method"] == "notifications/tools/list_changed"
        b.tool("change")
        assert next(streams[1])["method"] == "notifications/tools/list_changed"


def test_a_log_message_goes_to_the_call(program):
    with served(program) as (port, _, _p):
        a = Client(port)
        reply = a.start("tools/call", {"name": "log"})
        reply.last()
        assert [m.get("method") for m in reply.messages] == ["notifications/message", None]


def test_a_client_that_takes_only_json_gets_json(program):
    with served(program) as (port, _, _p):
        a = Client(port)
        reply = a.start("tools/call", {"name": "slow", "_meta": {"progressToken": 1}}, accept="application/json")
        assert text_of(reply.last()) == "slow done" and len(reply.messages) == 1


def test_a_dead_server_fails_its_calls_and_comes_back(program):
    with served(program) as (port, state, _p):
        a, b = Client(port), Client(port)
        waiting = b.start("tools/call", {"name": "wait"})
        await_true(lambda: "waiting" in state(), "the call runs")
        assert error(a.tool("die")) == -32603
        assert error(waiting.last()) == -32603 and waiting.status == 502
        # In mid-stream it is the last message.
        reply = a.start("tools/call", {"name": "die", "arguments": {"after": True}, "_meta": {"progressToken": 1}})
        reply.last()
        assert [m.get("method") for m in reply.messages] == ["notifications/progress", None]
        assert error(reply.messages[-1]) == -32603 and reply.status == 200
        # The sessions go on; each process was told hello once.
        assert text_of(b.tool("echo", {"text": "again"})) == "again"
        assert len([x for x in state() if x == "start"]) == len([x for x in state() if x.startswith("initialize")]) == 3


def test_a_program_that_is_not_there_is_an_error(program):
    with kit.proxy(program, {"transport": "stdio"}, ["--local", "/nowhere/program"]) as (port, _):
        assert kit.answers(port)


def test_sessions_end(program):
    with served(program) as (port, _, _p):
        a = Client(port)
        reply = kit.Reply(port, "DELETE", "/mcp", a.headers(), None)
        reply.last()
        assert reply.status == 204
        assert error(a.call("ping")) == -32001
        reply = a.get()
        reply.last()
        assert reply.status == 404


def test_sixty_clients_at_once(program):
    with served(program) as (port, _, _p):
        clients = [Client(port) for _ in range(60)]
        work = [in_background(lambda c=c, i=i: [text_of(c.tool("echo", {"text": f"{i}-{k}"})) for k in range(5)])
                for i, c in enumerate(clients)]
        for i, result in enumerate(work):
            assert result() == [f"{i}-{k}" for k in range(5)]


# ---- HTTP+SSE to clients ----

def test_older_clients_get_their_answers_on_the_stream(program):
    with served(program, proxy_mode="sse") as (port, _, _p):
        stream = kit.Reply(port, "GET", "/sse", {"Accept": "text/event-stream"}, None)
        messages = iter(stream)

        def post(m, path):
            r = kit.Reply(port, "POST", path, {"Content-Type": "application/json"}, json.dumps(m))
            r.last()
            return r.status
        in_first = in_background(lambda: next(messages))
        path = await_true(lambda: stream.events and stream.events[0]["data"], "the endpoint comes")
        assert stream.events[0]["event"] == "endpoint" and path.startswith("/messages?sessionId=")
        hello = {"protocolVersion": "2024-11-05", "capabilities": CAN, "clientInfo": {"name": "t", "version": "1"}}
        assert post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, path) == 202
        assert in_first()["result"]["serverInfo"]["name"] == "tested"
        assert post({"jsonrpc": "2.0", "method": "notifications/initialized"}, path) == 202
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "ask", "arguments": {}}}
        assert post(call, path) == 202
        question = next(messages)
        assert question["method"] == "elicitation/create"
        assert post({"jsonrpc": "2.0", "id": question["id"], "result": ANN}, path) == 202
        assert json.loads(text_of(next(messages))) == ANN
        assert post(call, "/messages?sessionId=nobody") == 404
        assert post(call, "/messages") == 400
        stream.close()
        await_true(lambda: post(call, path) == 404, "the session ends with its stream")


# ---- modern clients, legacy server ----

def test_a_modern_client_in_front_of_a_legacy_server(program):
    with served(program) as (port, state, _p):
        about = modern(port, "server/discover").last()["result"]
        assert about["supportedVersions"] == [MODERN] and about["resultType"] == "complete"
        assert about["_meta"][META + "serverInfo"]["name"] == "tested"
        tools = modern(port, "tools/list").last()["result"]
        assert tools["resultType"] == "complete" and tools["ttlMs"] == 0 and tools["cacheScope"] == "private"
        assert text_of(modern(port, "tools/call", {"name": "echo", "arguments": {"text": "x"}}).last()) == "x"
        # Its _meta stays here; other keys go on.
        told = modern(port, "tools/call", {"name": "meta"}, meta={"mine": 1, "progressToken": "p"}).last()
        assert sorted(json.loads(text_of(told))) == ["mine", "progressToken"]
        gone = modern(port, "ping")
        assert error(gone.last()) == -32601 and gone.status == 404
        assert error(modern(port, "resources/read", {"uri": "test://x"}).last()) == -32602
        assert len([x for x in state() if x.startswith("initialize")]) == 1


def test_headers_of_a_modern_request_must_be_there_and_agree(program):
    with served(program) as (port, _, _p):
        params = {"name": "echo", "arguments": {"text": "x"}}
        for headers in ({"Mcp-Method": None}, {"Mcp-Method": "tools/list"}, {"Mcp-Name": None}, {"Mcp-Name": "die"},
                        {"MCP-Protocol-Version": None}, {"MCP-Protocol-Version": "2025-11-25"}):
            reply = modern(port, "tools/call", params, headers=headers)
            assert error(reply.last()) == -32020 and reply.status == 400, headers
        assert text_of(modern(port, "tools/call", params, headers={"Mcp-Name": "=?base64?ZWNobw==?="}).last()) == "x"


def test_a_question_in_a_modern_call_is_asked_by_its_result(program):
    with served(program) as (port, _, _p):
        params = {"name": "twice", "arguments": {}}
        first = modern(port, "tools/call", params, id=1, capabilities=CAN).last()["result"]
        assert first["resultType"] == "input_required"
        (key, question), = first["inputRequests"].items()
        assert question["method"] == "elicitation/create" and question["params"]["message"] == "name?"
        again = {**params, "inputResponses": {key: ANN}, "requestState": first["requestState"]}
        second = modern(port, "tools/call", again, id=2, capabilities=CAN).last()["result"]
        assert second["resultType"] == "input_required"
        (key, question), = second["inputRequests"].items()
        assert question["method"] == "sampling/createMessage"
        last = {**params, "inputResponses": {key: {"role": "user"}}, "requestState": second["requestState"]}
        done = modern(port, "tools/call", last, id=3, capabilities=CAN).last()
        assert done["id"] == 3 and text_of(done) == json.dumps(ANN, sort_keys=True) + '{"role": "user"}'
        # A state is good once, and for its own request.
        for state in (second["requestState"], first["requestState"], "x", "x.y", second["requestState"][:-3] + 'aa"'):
            reply = modern(port, "tools/call", {**last, "requestState": state}, capabilities=CAN)
            assert error(reply.last()) == -32602 and reply.status == 400


def test_a_modern_client_learns_which_capability_it_lacks(program):
    with served(program) as (port, _, _p):
        reply = modern(port, "tools/call", {"name": "sample"}, capabilities={"elicitation": {}})
        message = reply.last()
        assert error(message) == -32021 and reply.status == 400
        assert message["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}


def test_roots_that_a_server_asks_for_on_its_own_end_no_call(program):
    with served(program) as (port, _, _p):
        for capabilities in ({}, CAN):
            assert text_of(Client(port, capabilities).tool("aside")) == "went on"
        assert text_of(modern(port, "tools/call", {"name": "aside"}).last()) == "went on"


def test_a_modern_client_that_leaves_cancels(program):
    with served(program) as (port, state, _p):
        reply = modern(port, "tools/call", {"name": "wait"})
        await_true(lambda: "waiting" in state(), "the call runs")
        reply.close()
        await_true(lambda: [x for x in state() if x.startswith("cancelled")], "the server hears of it")


def test_a_modern_client_listens_to_a_legacy_server(program):
    with served(program) as (port, _, _p):
        wanted = {"toolsListChanged": True, "promptsListChanged": True, "resourceSubscriptions": ["test://a"]}
        stream = iter(modern(port, "subscriptions/listen", {"notifications": wanted}, id="L"))
        first = next(stream)
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["test://a"]}
        modern(port, "tools/call", {"name": "change"}).last()
        for method in ("notifications/tools/list_changed", "notifications/resources/updated"):
            m = next(stream)
            assert m["method"] == method and m["params"]["_meta"][META + "subscriptionId"] == "L"


def test_log_messages_are_for_modern_clients_that_want_them(program):
    with served(program) as (port, state, _p):
        quiet = modern(port, "tools/call", {"name": "log"})
        quiet.last()
        assert len(quiet.messages) == 1
        loud = modern(port, "tools/call", {"name": "log"}, meta={META + "logLevel": "info"})
        loud.last()
        assert [m.get("method") for m in loud.messages] == ["notifications/message", None]
        assert "logging/setLevel" in state()


# ---- modern server ----

def test_a_legacy_client_in_front_of_a_modern_server(program):
    with served(program, "modern") as (port, _, _p):
        c = Client(port, CAN)
        assert c.about["result"]["protocolVersion"] == "2025-11-25"
        assert c.about["result"]["serverInfo"] == {"name": "tested", "version": "2"}
        assert c.call("ping")["result"] == {}
        assert text_of(c.tool("echo", {"text": "x"})) == "x"
        told = json.loads(text_of(c.call("tools/call", {"name": "meta", "_meta": {"mine": 1}})))
        assert told[META + "protocolVersion"] == MODERN and told["mine"] == 1
        assert told[META + "clientCapabilities"] == CAN and told[META + "clientInfo"]["name"] == "t"
        reply = c.start("tools/call", {"name": "ask", "arguments": {}}, id=9)
        messages = iter(reply)
        question = next(messages)
        assert question["method"] == "elicitation/create"
        c.post({"jsonrpc": "2.0", "id": question["id"], "result": ANN}).last()
        done = next(messages)
        assert done["id"] == 9 and text_of(done) == "s1 " + json.dumps(ANN, sort_keys=True)
        assert error(Client(port).tool("ask")) == -32021


def test_a_modern_client_in_front_of_a_modern_server(program):
    with served(program, "modern") as (port, _, _p):
        assert modern(port, "server/discover").last()["result"]["supportedVersions"] == [MODERN]
        first = modern(port, "tools/call", {"name": "ask"}, id=1, capabilities=CAN).last()["result"]
        assert first["requestState"] == "s1" and first["inputRequests"]["k"]["method"] == "elicitation/create"
        again = {"name": "ask", "inputResponses": {"k": ANN}, "requestState": "s1"}
        assert text_of(modern(port, "tools/call", again, id=2).last()) == "s1 " + json.dumps(ANN, sort_keys=True)


# ---- limits ----

def test_the_server_goes_with_the_proxy(program):
    with served(program) as (port, _, process):
        Client(port)
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        assert len(children) == 1
        os.kill(process.pid, signal.SIGTERM)
        process.wait(kit.WAIT)
        await_true(lambda: not os.path.exists(f"/proc/{children[0]}"), "the child has ended")


def test_calls_of_one_session_have_a_limit(program):
    with served(program) as (port, _, _p):
        c = Client(port)
        held = [c.start("tools/call", {"name": "wait"}) for _ in range(256)]
        # They are taken in any order: one more than fits is refused.
        reply = await_true(lambda: (lambda r: r if r.last() and r.status == 429 else None)(c.start("ping")), "429")
        assert reply.r.getheader("Retry-After") == "1"
        for r in held:
            r.close()


def run(program):
    from concurrent.futures import ThreadPoolExecutor
    only = os.environ.get("ONLY", "")
    tests = [(n, t) for n, t in globals().items() if n.startswith("test_") and only in n]

    def one(item):
        try:
            item[1](program)
            return None
        except Exception:
            return f"{item[0]}: {traceback.format_exc()}"
    with ThreadPoolExecutor(6) as pool:
        told = [x for x in pool.map(one, tests) if x]
    for x in told:
        print(x)
    return len(tests) - len(told), len(told)


if __name__ == "__main__":
    start = time.time()
    print("%d passed, %d failed" % run(os.path.abspath(sys.argv[1])), "%.1f s" % (time.time() - start))
