#!/usr/bin/env python3
"""An MCP server on standard streams for tests: stdio_server.py legacy|modern [STATE-FILE]. Every process appends a line to the
state file, and each cancellation that arrives."""
import json
import os
import sys
import threading
import time

ERA, STATE = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
META = "io.modelcontextprotocol/"
LOCK, ANSWERS, ASKED, STARTED = threading.Lock(), {}, {}, threading.Condition()
numbers = iter(range(1, 1 << 30))
initialized = 0


def note(word):
    if STATE:
        with open(STATE, "a") as f:
            f.write(word + "\n")


def put(m):
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **m}, ensure_ascii=False, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def ask(method, params, id=None):
    """A request to the client; its answer. Modern clients see the id."""
    key, me = id or "q%d" % next(numbers), object()
    ASKED[key] = me
    put({"id": key, "method": method, "params": params})
    with STARTED:
        # A question that is asked again under its id gives the older one up.
        STARTED.wait_for(lambda: key in ANSWERS or ASKED[key] is not me, 30)
        return ANSWERS.pop(key, None) if ASKED[key] is me else {"error": {"message": "no answer"}}


def said(answer):
    return json.dumps((answer or {}).get("result") or (answer or {}).get("error"), sort_keys=True)


def text(t):
    return {"content": [{"type": "text", "text": t}]}


QUESTIONS = {"ask": ("elicitation/create", {"message": "name?", "requestedSchema": {"type": "object", "properties": {}}}),
             "sample": ("sampling/createMessage", {"messages": [], "maxTokens": 5}), "roots": ("roots/list", {})}


def tool(params, rid):
    name, args = params["name"], params.get("arguments") or {}
    token = (params.get("_meta") or {}).get("progressToken")
    if name == "echo":
        return text(args.get("text", ""))
    if name == "ids":
        return text(json.dumps([rid, token]))
    if name == "meta":
        return text(json.dumps(params.get("_meta"), sort_keys=True))
    if name == "slow":
        for i in range(args.get("steps", 2)):
            put({"method": "notifications/progress", "params": {"progressToken": token, "progress": i}})
            time.sleep(args.get("pause", 0.05))
        return text("slow done")
    if name == "log":
        put({"method": "notifications/message", "params": {"level": "info", "data": "hello"}})
        return text("logged")
    if name == "aside":  # as many servers do after the handshake, whatever call is under way
        put({"id": "aside", "method": "roots/list"})
        return text("went on")
    if name == "change":
        put({"method": "notifications/tools/list_changed"})
        put({"method": "notifications/resources/updated", "params": {"uri": "test://a"}})
        return text("changed")
    if name == "die":
        if args.get("after"):
            put({"method": "notifications/progress", "params": {"progressToken": token, "progress": 0}})
            time.sleep(0.2)
        os._exit(3)
    if name == "wait":
        note("waiting")
        time.sleep(60)
    if ERA == "modern" and name in QUESTIONS:
        given = params.get("inputResponses")
        if not given:
            method, p = QUESTIONS[name]
            return {"resultType": "input_required", "inputRequests": {"k": {"method": method, "params": p}}, "requestState": "s1"}
        return text("%s %s" % (params.get("requestState"), json.dumps(given["k"], sort_keys=True)))
    if name == "twice":
        return text(said(ask(*QUESTIONS["ask"])) + said(ask(*QUESTIONS["sample"])))
    if name in QUESTIONS:
        return text(said(ask(*QUESTIONS[name])))
    raise KeyError(name)


def serve(m):
    global initialized
    method, rid, params = m["method"], m["id"], m.get("params") or {}
    caps = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}
    result = None
    if method == "initialize" and ERA == "legacy":
        initialized += 1
        note("initialize %s" % json.dumps(params["capabilities"], sort_keys=True))
        result = {"protocolVersion": "2025-11-25", "capabilities": caps, "serverInfo": {"name": "tested", "version": "1"}}
        if initialized > 1:
            os._exit(4)  # some servers do not survive a second one
    elif method == "server/discover" and ERA == "modern":
        result = {"supportedVersions": ["2026-07-28"], "capabilities": caps, "ttlMs": 0, "cacheScope": "public",
                  "_meta": {META + "serverInfo": {"name": "tested", "version": "2"}}}
    elif ERA == "modern" and META + "protocolVersion" not in params.get("_meta", {}):
        return put({"id": rid, "error": {"code": -32602, "message": "no _meta"}})
    elif method == "tools/list":
        result = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("echo", "ask")]}
    elif method == "resources/read":
        return put({"id": rid, "error": {"code": -32002, "message": "Resource not found"}})
    elif method in ("ping", "resources/subscribe", "resources/unsubscribe", "logging/setLevel") and ERA == "legacy":
        note(method)
        result = {}
    elif method == "tools/call":
        try:
            result = tool(params, rid)
        except KeyError as e:
            return put({"id": rid, "error": {"code": -32602, "message": "Unknown tool: %s" % e}})
    else:
        return put({"id": rid, "error": {"code": -32601, "message": "Method not found"}})
    if ERA == "modern":
        result.setdefault("resultType", "complete")
    put({"id": rid, "result": result})


def main():
    note("start")
    print("this line is no message", flush=True)
    for line in sys.stdin:
        m = json.loads(line)
        if "method" not in m:
            with STARTED:
                ANSWERS[m["id"]] = m
                STARTED.notify_all()
        elif m.get("method") == "notifications/cancelled":
            note("cancelled %s" % json.dumps(m["params"]["requestId"]))
        elif "id" in m:
            threading.Thread(target=serve, args=(m,), daemon=True).start()


if __name__ == "__main__":
    main()
