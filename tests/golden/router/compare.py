"""What a replay of the router's wire cases gave, against what LLMKube's router-proxy gave.

Left out on both sides: texts of errors, lines of the log, numbers of connections, case of header names, times,
metrics (ours also count failures), headers that each HTTP client adds itself, and the keys that only our audit line has.
`differences.yaml` lists the paths that may differ, by case, with the reason; `*` stands for anything.
"""
import fnmatch
import json
import os
import re

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
OUR_AUDIT = ("durationMs", "firstTokenMs", "requestBytes", "responseBytes", "failedBackends", "events", "promptTokens",
             "completionTokens", "latencyMs", "each", "times")
HOP = ("accept-encoding", "user-agent", "connection", "date")


def plain_headers(headers):
    return {k.lower(): v for k, v in headers.items() if k.lower() not in HOP}


def normalise(case):
    for part in case.get("variants", {"": case}).values():
        for key in ("log", "stderr", "metrics", "upstream_notes"):
            part.pop(key, None)
        for line in part.get("audit") or []:
            for key in OUR_AUDIT:
                line.pop(key, None)
        for answer in part.get("responses") or []:
            answer.pop("took", None)
            answer.pop("metrics", None)
            if "headers" in answer:
                answer["headers"] = plain_headers(answer["headers"])
            if isinstance(answer.get("body"), str):
                answer["body"] = re.sub(r'"message":".*"', '"message":""', answer["body"])
        for request in part.get("upstream_requests") or []:
            request.pop("conn", None)
            request["headers"] = plain_headers(request.get("headers", {}))
    return case


def differing(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted(set(a) | set(b)):
            yield from differing(a.get(key), b.get(key), f"{path}.{key}")
    elif isinstance(a, list) and isinstance(b, list):
        for i in range(max(len(a), len(b))):
            yield from differing(a[i] if i < len(a) else None, b[i] if i < len(b) else None, f"{path}.{i}")
    elif a != b:
        yield path


def compare(out):
    """Sentences, one a case that differs in a way that is not listed, or no longer differs."""
    with open(f"{HERE}/differences.yaml", encoding="utf-8") as file:
        listed = yaml.safe_load(file)
    for name in sorted(os.listdir(f"{HERE}/recorded")):
        case = name.removesuffix(".json")
        if not os.path.exists(f"{out}/{name}"):
            yield f"{case}: was not played"
            continue
        pictures = []
        for folder in (f"{HERE}/recorded", out):
            with open(f"{folder}/{name}", encoding="utf-8") as file:
                pictures.append(normalise(json.load(file)))
        paths = sorted(set(differing(*pictures)))
        allowed = listed.get(case, {}).get("paths", [])
        strange = [p for p in paths if not any(fnmatch.fnmatchcase(p, glob) for glob in allowed)]
        if strange:
            yield f"{case}: differs in {', '.join(strange[:5])}"
        elif allowed and not paths and not listed[case].get("by_chance"):
            yield f"{case}: differences.yaml lists it, and nothing differs"
