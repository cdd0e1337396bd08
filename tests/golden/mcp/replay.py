#!/usr/bin/env python3
"""Replay the wire cases against an MCP proxy and compare with what ToolHive 0.44.0 answered.

replay.py URL FLAVOUR [--upstream URL] [--audit FILE] [--case NAME]... [--record]
  URL        base address of the proxy under test, for example http://127.0.0.1:8080
  FLAVOUR    which configuration that proxy runs (see configs/): plain, small, stdio, ...
  --record   write ours/FLAVOUR.NAME.json where the answer differs from recorded/
Where ours/ has a case, our answer is compared with that: a difference from ToolHive that is meant.
Exit status: number of differing cases (capped at 100). Needs PyYAML; upstream.py must be running.
"""
import argparse, difflib, glob, http.client, json, os, re, socket, sys, threading, time
from urllib.parse import urlsplit
from urllib.request import urlopen
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
DROP = {"date", "content-length", "connection", "keep-alive", "server"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


class Run:
    def __init__(self, a):
        u = urlsplit(a.url); self.host, self.port, self.a = u.hostname, u.port, a
        self.vars, self.bg = {**TOKENS, "big": "x" * 1200000, "legacy": "legacy1"}, {}

    def sub(self, v):
        if isinstance(v, str): return re.sub(r"\$\{(\w+)\}", lambda m: str(self.vars.get(m.group(1), m.group(0))), v)
        if isinstance(v, dict): return {k: self.sub(x) for k, x in v.items()}
        if isinstance(v, list): return [self.sub(x) for x in v]
        return v

    def mask(self, v):
        if isinstance(v, str):
            for k, x in self.vars.items():
                if len(str(x)) > 5: v = v.replace(str(x), "<%s>" % k)
            v = re.sub(r"^Local User: .*", "Local User: <os user>", re.sub(r"legacy\d+", "<legacy>", v))
            v = re.sub(r"up-\d+-\d+", "<upstream-sid>", TIME.sub("<time>", UUID.sub("<uuid>", v)))
            v = v.replace("%s:%s" % (self.host, self.port), "<proxy>")
            return v.replace(UPSTREAM.split("//")[1], "<upstream>").replace("127.0.0.1:26180", "<upstream>") if UPSTREAM else v
        if isinstance(v, dict): return {self.mask(k): ("<n>" if k in ("duration_ms", "retryAfterSeconds", "retry-after") else "<os user>" if k == "user_id" and str(v.get("user", "")).startswith("Local User") else self.mask(x)) for k, x in v.items()}
        if isinstance(v, list):  # /status lists backends in random order
            return sorted((self.mask(x) for x in v), key=lambda x: x["name"]) if v and all(isinstance(x, dict) and "mcp_revision" in x for x in v) else [self.mask(x) for x in v]
        return v

    def decode(self, ctype, data):
        text = data.decode("utf-8", "replace")
        if "event-stream" in (ctype or ""):
            out = []
            for block in re.split(r"\r?\n\r?\n", text):
                ev = {}
                for line in block.splitlines():
                    k, _, v = line.partition(":")
                    if k: ev[k] = ev[k] + "\n" + v.lstrip() if k in ev else v.lstrip()
                if "data" in ev:
                    try: ev["data"] = json.loads(ev["data"])
                    except ValueError: pass
                if ev: out.append(ev)
            return out
        try: return json.loads(text)
        except ValueError: return text if len(text) < 4000 else {"<bytes>": len(data)}

    def http(self, s):
        s = self.sub(s)
        host, port = (urlsplit(UPSTREAM).hostname, urlsplit(UPSTREAM).port) if s.get("direct") else (self.host, self.port)
        c = http.client.HTTPConnection(host, port, timeout=s.get("timeout", 15))
        body, headers = s.get("body"), {"Host": "%s:%s" % (self.host, self.port)}
        if "rpc" in s: body = {"jsonrpc": "2.0", **s["rpc"]}
        if body is not None and not isinstance(body, str): body = json.dumps(body, separators=(",", ":"))
        if "pad" in s: body = body.replace("@PAD@", "x" * s["pad"])
        method = s.get("method", "POST")
        if method == "POST": headers.update({"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
        if method == "GET": headers["Accept"] = "text/event-stream"
        headers.update(s.get("headers") or {})
        headers = {k: v for k, v in headers.items() if v is not None}
        out = {}
        try:
            c.putrequest(method, s.get("path", "/mcp"), skip_host=True, skip_accept_encoding=True)
            data = (body or "").encode()
            chunked = s.get("chunked")
            if chunked: headers["Transfer-Encoding"] = "chunked"
            elif data or method == "POST": headers["Content-Length"] = str(len(data))
            for k, v in headers.items():
                for x in (v if isinstance(v, list) else [v]): c.putheader(k, x)
            c.endheaders()
            try:
                if chunked:
                    for i in range(0, len(data), 65536): c.send(b"%x\r\n%s\r\n" % (len(data[i:i + 65536]), data[i:i + 65536]))
                    c.send(b"0\r\n\r\n")
                elif data: c.send(data)
            except OSError: pass
            r = c.getresponse(); raw = b""
            out["status"] = r.status
            out["headers"] = {k.lower(): v for k, v in sorted(r.getheaders()) if k.lower() not in DROP}
            for name, src in (s.get("save") or {}).items():
                if r.getheader(src): self.vars[name] = r.getheader(src)
            try:
                limit = time.time() + s.get("read", 15)
                while time.time() < limit:
                    b = r.read1(65536)
                    if not b: break
                    raw += b
                    if s.get("until") and s["until"].encode() in raw: out["end"] = "left open by us"; break
                else: out["end"] = "still open"
            except Exception as e: out["end"] = type(e).__name__
            out["body"] = self.decode(r.getheader("Content-Type"), raw)
        except Exception as e: out["error"] = type(e).__name__
        finally: c.close()
        return out

    def raw(self, s):
        k = socket.create_connection((self.host, self.port), timeout=5)
        out = {}
        try:
            k.sendall(self.sub(s["raw"]).encode("latin-1")); data = b""
            while True:
                b = k.recv(65536)
                if not b: break
                data += b
        except OSError as e: out["end"] = type(e).__name__
        k.close()
        head, _, rest = data.partition(b"\r\n\r\n")
        out["first_line"] = head.split(b"\r\n")[0].decode("latin-1"); out["body"] = rest.decode("latin-1")[:300]
        return out

    def step(self, s):
        if "wait" in s: time.sleep(s["wait"]); return None
        if "join" in s:
            t, box = self.bg.pop(s["join"]); t.join(20); out = box.get("out", {"error": "still running"})
        elif "audit" in s:
            time.sleep(0.3)
            lines = open(self.a.audit).read().splitlines()[self.audit0:] if self.a.audit else []
            keep = lambda e: {k: v for k, v in e.items() if k not in ("time", "level", "metadata", "audit_id")} | ({"metadata": {k: v for k, v in e["metadata"].items() if k != "extra"}} if "metadata" in e else {})
            return {"audit": [keep(json.loads(x)) for x in lines if x.startswith("{")]}
        elif s.get("background"):
            box = {}; t = threading.Thread(target=lambda: box.update(out=self.http(s)), daemon=True); t.start()
            self.bg[s["background"]] = (t, box); time.sleep(0.4); return None
        elif "raw" in s: out = self.raw(s)
        else:
            for _ in range(s.get("repeat", 1)): out = self.http(s)
        if UPSTREAM and s.get("seen", True):
            time.sleep(0.3 if a.flavour.startswith("v") else 0.05)
            seen = json.load(urlopen(UPSTREAM + "/_seen"))
            for x in seen: x["headers"].pop("host", None) if x["headers"].get("host") == UPSTREAM.split("//")[1] else None
            # vMCP opens background streams and sessions of its own: keep only its requests, by method
            out["upstream"] = [{"method": (x["body"] or {}).get("method"), "params": (x["body"] or {}).get("params") if (x["body"] or {}).get("method") in ("tools/call", "resources/read", "prompts/get") else None}
                               for x in seen if x["method"] == "POST"] if a.flavour.startswith("v") else seen
        return out

    def case(self, case):
        if UPSTREAM: urlopen(UPSTREAM + "/_seen").read()
        self.audit0 = len(open(self.a.audit).read().splitlines()) if self.a.audit and os.path.exists(self.a.audit) else 0
        steps = []
        for s in case["steps"]:
            if s == "session": s = {"rpc": {"id": "init", "method": "initialize", "params": INIT}, "save": {"sid": "Mcp-Session-Id"}, "headers": case.get("headers"), "quiet": True}
            elif s == "initialized": s = {"rpc": {"method": "notifications/initialized"}, "headers": {**(case.get("headers") or {}), **SID}, "quiet": True}
            elif isinstance(s, dict) and "call" in s:
                s = {"rpc": {"id": s.get("id", 1), "method": s["call"], **({"params": s["params"]} if "params" in s else {})}, **{k: v for k, v in s.items() if k not in ("call", "params", "id")},
                     "headers": {**(case.get("headers") or {}), **SID, **(s.get("headers") or {})}}
            elif isinstance(s, dict) and case.get("headers") and "headers" not in s: s = {**s, "headers": case["headers"]}
            out = self.step(s)
            if out is not None: steps.append({"status": out.get("status"), "note": "as in init"} if s.get("quiet") and out.get("status") in (200, 202) and case["name"] != "init" else out)
        return self.mask(json.loads(json.dumps(steps)))


SID = {"Mcp-Session-Id": "${sid}", "MCP-Protocol-Version": "2025-11-25"}
INIT = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {"name": "golden", "version": "1"}}
ap = argparse.ArgumentParser(); ap.add_argument("url"); ap.add_argument("flavour"); ap.add_argument("--upstream", default="http://127.0.0.1:26180")
ap.add_argument("--audit"); ap.add_argument("--case", action="append"); ap.add_argument("--record", action="store_true")
a = ap.parse_args(); UPSTREAM = a.upstream.rstrip("/")
TOKENS = json.load(open(os.path.join(HERE, "configs/tokens.json"))) if os.path.exists(os.path.join(HERE, "configs/tokens.json")) else {}
bad = n = 0
for f in sorted(glob.glob(os.path.join(HERE, "cases", "*.yaml"))):
    doc = yaml.safe_load(re.sub(r"127\.0\.0\.1:2620\d|localhost:2620\d", lambda m: m.group(0)[:-5] + a.url.rsplit(":", 1)[1], open(f).read()))
    if a.flavour not in doc["flavours"]: continue
    for case in doc["cases"]:
        if a.case and case["name"] not in a.case: continue
        n += 1
        got = Run(a).case(case); path = os.path.join(HERE, "recorded", "%s.%s.json" % (a.flavour, case["name"]))
        text = json.dumps(got, indent=1, sort_keys=True) + "\n"
        ours = os.path.join(HERE, "ours", "%s.%s.json" % (a.flavour, case["name"])); want = open(path).read()
        if a.record:
            if text != want: open(ours, "w").write(text)
            elif os.path.exists(ours): os.remove(ours)
            continue
        if os.path.exists(ours) and text == want: bad += 1; print("%s agrees with ToolHive: remove it" % ours); continue
        want = open(ours).read() if os.path.exists(ours) else want
        if text != want:
            bad += 1; print("DIFFERS %s.%s" % (a.flavour, case["name"])); sys.stdout.writelines(difflib.unified_diff(want.splitlines(True), text.splitlines(True), "toolhive", "this", n=1))
print("%d of %d cases agree" % (n - bad, n))
sys.exit(min(bad, 100))
