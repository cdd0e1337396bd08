#!/usr/bin/env python3
"""The server that the MCP conformance suite tests: the tools, resources and prompts that its scenarios name. It is of one protocol
era, legacy (2025-11-25 and older) or modern (2026-07-28). fixture.py ERA speaks on standard streams; http_server.py serves it
over HTTP."""
import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time

import stdio_server as server
from stdio_server import put

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STRING, OBJECT = {"type": "string"}, {"type": "object", "properties": {}}
LISTED = [{"const": c, "title": c.title()} for c in ("one", "two", "three")]
CAN = {}


def text(t):
    return {"type": "text", "text": t}


def image():
    return {"type": "image", "data": IMAGE, "mimeType": "image/png"}


def resource(uri, body, kind="text/plain"):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": body}}


class Needs(Exception):
    """A modern server's question: the call begins anew with the answer."""


class Call(threading.local):
    """What a modern call knows: who can be asked what, and the answers so far."""
    can, answers, asked = {}, {}, 0


CALL, KEY = Call(), os.urandom(16)
WHICH = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


def ask(method, params, id=None):
    if server.ERA == "legacy":
        return server.ask(method, params, id)
    CALL.asked += 1
    key = id or "q%d" % CALL.asked
    if key in CALL.answers:
        return {"result": CALL.answers[key]}
    if WHICH[method] not in CALL.can:
        raise Refused(-32021, "missing capability", {"requiredCapabilities": {WHICH[method]: {}}})
    raise Needs({key: {"method": method, "params": params}})


def sealed(answers):
    body = base64.urlsafe_b64encode(json.dumps(answers).encode()).decode()
    return body + "." + hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest()


def opened(state):
    body, _, mac = (state or ".").partition(".")
    if state and not hmac.compare_digest(mac, hmac.new(KEY, body.encode(), hashlib.sha256).hexdigest()):
        raise Refused(-32602, "requestState is not ours")
    return json.loads(base64.urlsafe_b64decode(body)) if state else {}


def modern_answer(method, params):
    meta = params.get("_meta") or {}
    if server.META + "clientCapabilities" not in meta:
        raise Refused(-32602, "_meta is missing")
    CALL.can, CALL.asked = meta[server.META + "clientCapabilities"], 0
    CALL.answers = {**opened(params.get("requestState")), **{
        k: v for k, v in (params.get("inputResponses") or {}).items() if isinstance(v, dict)}}
    try:
        result = {"resultType": "complete", **answer(method, params)}
        if method.endswith("/list") or method == "resources/read":
            result.update(ttlMs=1000, cacheScope="public")
        return result
    except Needs as e:
        asked = {k: v for arg in e.args for k, v in arg.items()}
        return {"resultType": "input_required", "inputRequests": asked, "requestState": sealed(CALL.answers)}


def elicit(message, id=None, **properties):
    return ask("elicitation/create", id=id, params={"message": message, "requestedSchema": {
        "type": "object", "properties": properties, "required": [k for k in properties if "default" not in properties[k]]}})


def sample(prompt):
    return ask("sampling/createMessage", {"messages": [{"role": "user", "content": text(prompt)}], "maxTokens": 100})


def result_of(answer):
    return (answer or {}).get("result") or {}


def said(answer):
    r = result_of(answer)
    return "action=%s, content=%s" % (r.get("action"), json.dumps(r.get("content"))) if r else json.dumps(answer)


def wants_log(params):
    return server.ERA == "legacy" or server.META + "logLevel" in params["_meta"]


def logged(params):
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        if wants_log(params):
            put({"method": "notifications/message", "params": {"level": "info", "data": words}})
        time.sleep(0.05)
    return [text("logged")]


def progressed(params):
    token = (params.get("_meta") or {}).get("progressToken")
    for at in (0, 50, 100):
        if token is not None:
            put({"method": "notifications/progress", "params": {"progressToken": token, "progress": at, "total": 100}})
        time.sleep(0.05)
    return [text("done")]


def at_once(*questions):
    """Asks everything before an answer has come."""
    answers = [None] * len(questions)
    if server.ERA == "modern":
        needs = []
        for i, q in enumerate(questions):
            try:
                answers[i] = q()
            except Needs as e:
                needs += e.args
        if needs:
            raise Needs(*needs)
        return [text(json.dumps(result_of(a), sort_keys=True)) for a in answers]
    here = getattr(server, "CURRENT", None)

    def one(i):
        if here:
            here.bind()
        answers[i] = questions[i]()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(questions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return [text(json.dumps(result_of(a), sort_keys=True)) for a in answers]


def changed(what):
    for mine in list(LISTENERS.values()):
        with mine[0]:
            if not mine[2].get(what + "ListChanged"):
                continue
            mine[1].append({"method": "notifications/%s/list_changed" % what})
            mine[0].notify()
    if server.ERA == "legacy":
        put({"method": "notifications/%s/list_changed" % what})
    return [text("changed")]


def rounds(params):
    name = result_of(elicit("Step 1: What is your name?", name=STRING)).get("content")
    color = result_of(elicit("Step 2: What is your favorite color?", color=STRING)).get("content")
    return [text("%s %s" % (json.dumps(name), json.dumps(color)))]


def by_capability(params):
    asked = [q for c, q in (("elicitation", lambda: elicit("Name?", name=STRING)), ("sampling", lambda: sample("Hello"))) if c in (CAN if server.ERA == "legacy" else CALL.can)]
    return at_once(*asked) or [text("nothing to ask")]


def enums():
    plain = {"type": "string", "enum": ["one", "two", "three"]}
    return elicit("Choose", untitledSingle=plain, titledSingle={"type": "string", "oneOf": LISTED},
                  legacyEnum={**plain, "enumNames": ["One", "Two", "Three"]}, untitledMulti={"type": "array", "items": plain},
                  titledMulti={"type": "array", "items": {"anyOf": LISTED}})


def defaults():
    return elicit("Who?", name={**STRING, "default": "John Doe"}, age={"type": "integer", "default": 30},
                  score={"type": "number", "default": 95.5}, status={**STRING, "enum": ["active", "inactive", "pending"], "default": "active"},
                  verified={"type": "boolean", "default": True})


def ask_name(params=None):
    answer = result_of(elicit("What is your name?", "user_name", name=STRING))
    return [text("Hello, %s!" % (answer.get("content") or {}).get("name"))]


TOOLS = {
    "test_simple_text": lambda p: [text("This is a simple text response for testing.")],
    "test_image_content": lambda p: [image()],
    "test_audio_content": lambda p: [{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}],
    "test_embedded_resource": lambda p: [resource("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": lambda p: [text("Multiple content types test:"), image(), resource(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json")],
    "test_tool_with_logging": logged,
    "test_logging_tool": logged,
    "test_tool_with_progress": progressed,
    "test_sampling": lambda p: [text("LLM response: %s" % json.dumps(result_of(sample(p["arguments"]["prompt"])).get("content")))],
    "test_elicitation": lambda p: [text("User response: " + said(elicit(p["arguments"]["message"], username=STRING, email=STRING)))],
    "test_elicitation_sep1034_defaults": lambda p: [text("Elicitation completed: " + said(defaults()))],
    "test_elicitation_sep1330_enums": lambda p: [text("Elicitation completed: " + said(enums()))],
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": lambda p: [text(json.dumps(result_of(sample("What is the capital of France?"))))],
    "test_input_required_result_list_roots": lambda p: [text(json.dumps(result_of(ask("roots/list", {}))))],
    "test_input_required_result_request_state": lambda p: ask_name() + [text("state-ok")],
    "test_input_required_result_multiple_inputs": lambda p: at_once(
        ask_name_raw, lambda: sample("Greet"), lambda: ask("roots/list", {})),
    "test_input_required_result_multi_round": rounds,
    "test_input_required_result_tampered_state": ask_name,
    "test_input_required_result_capabilities": by_capability,
    "test_missing_capability": lambda p: [text(json.dumps(result_of(sample("Hello"))))],
    "test_trigger_tool_change": lambda p: changed("tools"),
    "test_trigger_prompt_change": lambda p: changed("prompts"),
    "test_streaming_elicitation": lambda p: progressed(p) + ask_name(),
    "json_schema_2020_12_tool": lambda p: [text("ok")],
}
SCHEMAS = {
    "test_sampling": {"type": "object", "properties": {"prompt": STRING}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": STRING}, "required": ["message"]},
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
        "properties": {"name": STRING, "address": {"$ref": "#/$defs/address"}, "contactMethod": {**STRING, "enum": ["phone", "email"]},
                       "phone": STRING, "email": STRING},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False},
}


def ask_name_raw():
    return elicit("What is your name?", name=STRING)


def user(content):
    return {"role": "user", "content": content}


PROMPTS = {
    "test_simple_prompt": lambda a: [user(text("This is a simple prompt for testing."))],
    "test_prompt_with_arguments": lambda a: [user(text("Prompt with arguments: arg1='%s', arg2='%s'" % (a.get("arg1"), a.get("arg2"))))],
    "test_prompt_with_embedded_resource": lambda a: [user(resource(a.get("resourceUri"), "Embedded resource content for testing.")),
                                                     user(text("Please process the embedded resource above."))],
    "test_prompt_with_image": lambda a: [user(image()), user(text("Please analyze the image above."))],
    "test_input_required_result_prompt": lambda a: [user(c) for c in ask_name()],
}
ARGUMENTS = {"test_prompt_with_arguments": ["arg1", "arg2"], "test_prompt_with_embedded_resource": ["resourceUri"]}
RESOURCES = {"test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
             "test://static-binary": {"mimeType": "image/png", "blob": IMAGE},
             "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"}}


class Refused(Exception):
    pass


def read(uri):
    if uri.startswith("test://template/"):
        rid = uri.split("/")[3]
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps({"id": rid, "templateTest": True, "data": "Data for ID: " + rid})}
    if uri not in RESOURCES:
        raise Refused(-32002 if server.ERA == "legacy" else -32602, "Resource not found", {"uri": uri})
    return {"uri": uri, **RESOURCES[uri]}


LISTENERS = {}


def listen(m):
    """An answer without an end."""
    meta = {server.META + "subscriptionId": m["id"]}
    put({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": m["params"]["notifications"], "_meta": meta}})
    mine = LISTENERS[json.dumps(m["id"])] = (threading.Condition(), [], m["params"]["notifications"])
    while True:
        with mine[0]:
            mine[0].wait_for(lambda: mine[1], 60)
            for n in mine[1]:
                put({**n, "params": {"_meta": meta}})
            mine[1].clear()


def answer(method, params):
    if method == "server/discover" and server.ERA == "modern":
        return {"supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "public", "capabilities": {
            "tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}, "prompts": {"listChanged": True},
            "logging": {}, "completions": {}}, "_meta": {server.META + "serverInfo": {"name": "fixture", "version": "1"}}}
    if method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe") and server.ERA == "modern":
        raise Refused(-32601, "Method not found")
    if method == "initialize":
        CAN.clear()
        CAN.update(params["capabilities"])
        return {"protocolVersion": params["protocolVersion"], "serverInfo": {"name": "fixture", "version": "1"}, "capabilities": {
            "tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True}, "prompts": {"listChanged": True},
            "logging": {}, "completions": {}}}
    if method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        return {}
    if method == "tools/list":
        return {"tools": [{"name": n, "description": n, "inputSchema": SCHEMAS.get(n, OBJECT)} for n in TOOLS]}
    if method == "tools/call":
        name = params["name"]
        if name == "test_error_handling":
            return {"content": [text("This tool intentionally returns an error for testing")], "isError": True}
        if name not in TOOLS:
            raise Refused(-32602, "Unknown tool: " + name)
        return {"content": TOOLS[name](params)}
    if method == "resources/list":
        return {"resources": [{"uri": u, "name": u, "mimeType": r["mimeType"]} for u, r in RESOURCES.items()]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}]}
    if method == "resources/read":
        return {"contents": [read(params["uri"])]}
    if method == "prompts/list":
        return {"prompts": [{"name": n, "description": n, "arguments": [
            {"name": a, "required": True} for a in ARGUMENTS.get(n, [])]} for n in PROMPTS]}
    if method == "prompts/get":
        if params["name"] not in PROMPTS:
            raise Refused(-32602, "Unknown prompt: " + params["name"])
        return {"messages": PROMPTS[params["name"]](params.get("arguments") or {})}
    if method == "completion/complete":
        return {"completion": {"values": ["paris"], "total": 1, "hasMore": False}}
    raise Refused(-32601, "Method not found")


def serve(m):
    try:
        if m["method"] == "subscriptions/listen" and server.ERA == "modern":
            return listen(m)
        work = answer if server.ERA == "legacy" else modern_answer
        server.put({"id": m["id"], "result": work(m["method"], m.get("params") or {})})
    except Refused as e:
        server.put({"id": m["id"], "error": dict(zip(("code", "message", "data"), e.args))})


def put(m):  # noqa: F811  whatever http_server.py has put there
    server.put(m)


server.serve = serve
if __name__ == "__main__":
    server.main()
