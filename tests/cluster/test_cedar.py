"""src/cedar beside a real Cedar (cedarpy): thousands of generated policies and requests, from seeds. The decision, the
policies that decided, how many failed, and whether a text is a policy must be equal."""
import json
import os
import random
import subprocess

from lab import ROOT

SEEDS = range(int(os.environ.get("CEDAR_FIRST", "1")), int(os.environ.get("CEDAR_LAST", "4000")) + 1)
# What the real one says of each case; runs in the virtual environment that has cedarpy.
REAL = """
import json, sys, cedarpy
for line in sys.stdin:
    c = json.loads(line)
    request = {k: c[k] for k in ("principal", "action", "resource", "context")}
    got = cedarpy.is_authorized(request, c["policies"], c["entities"])
    bad = got.decision == cedarpy.Decision.NoDecision
    print(json.dumps({"refused": str(got.diagnostics.errors)} if bad else {
        "allowed": got.allowed, "reasons": got.diagnostics.reasons, "errors": got.diagnostics.errors}), flush=True)
"""
ENTITIES = [
    {"uid": {"type": "User", "id": "alice"}, "attrs": {"age": 41, "name": "Alice", "tags": ["a", "b"], "boss": {
        "__entity": {"type": "User", "id": "bob"}}, "home": {"__extn": {"fn": "ip", "arg": "10.1.2.3"}}},
     "parents": [{"type": "Group", "id": "staff"}]},
    {"uid": {"type": "User", "id": "bob"}, "attrs": {"age": 7, "rate": {"__extn": {"fn": "decimal", "arg": "1.25"}}},
     "parents": []},
    {"uid": {"type": "Group", "id": "staff"}, "attrs": {}, "parents": [{"type": "Group", "id": "all"}]},
    {"uid": {"type": "Group", "id": "all"}, "attrs": {"open": True}, "parents": []},
    {"uid": {"type": "MCP::Tool", "id": "sum"}, "attrs": {"cost": -3, "meta": {"x": {"y": 1}, "z": []}},
     "parents": [{"type": "Group", "id": "all"}]},
    {"uid": {"type": "Action", "id": "call"}, "attrs": {}, "parents": []},
]
UIDS = ('User::"alice"', 'User::"bob"', 'Group::"staff"', 'Group::"all"', 'MCP::Tool::"sum"', 'User::"nobody"',
        'Action::"call"')
NAMES = ("age", "name", "tags", "boss", "home", "rate", "open", "cost", "meta", "x", "y", "z", "missing", "n", "s", "deep")
STRINGS = ('""', '"a"', '"Alice"', '"a*b"', r'"\u{e9}\n"', '"10.1.2.3"', '"1.25"', r'"\x41"')
PATTERNS = ('"*"', '"A*"', '"*ce"', '"a\\*b"', '"**"', '""', '"A*i*e"')
ADDRESSES = ("10.1.2.3", "10.0.0.0/8", "::1", "fe80::/10", "1.2.3", "127.0.0.1", "224.0.0.1", "300.1.1.1", "10.0.0.1/33")
DECIMALS = ("1.0", "1.25", "-0.5", "1", "0.12345", "922337203685477.5807", "922337203685477.5808", "-1.2500", ".5")


class Writer:
    """Expressions of all kinds, most of them of fitting types."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def any(self, depth):
        return self.r.choice((self.truth, self.number, self.text, self.set, self.record, self.entity, self.member))(depth)

    def leaf(self, depth, kind):
        """Sometimes something of another type."""
        return self.any(depth - 1) if self.r.random() < 0.06 and depth > 0 else kind(depth)

    def number(self, depth):
        if depth <= 0 or self.r.random() < 0.4:
            return self.r.choice(("0", "1", "-1", "41", "9223372036854775807", "-9223372036854775808", "context.n"))
        a, b = self.leaf(depth - 1, self.number), self.leaf(depth - 1, self.number)
        return self.r.choice((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"-({a})", "principal.age", "resource.cost"))

    def text(self, depth):
        return self.r.choice((*STRINGS, "principal.name", "context.s"))

    def set(self, depth):
        if depth <= 0 or self.r.random() < 0.3:
            return self.r.choice(("[]", "principal.tags", '["a", "b"]', "[1, 1, 2]"))
        return "[" + ", ".join(self.any(depth - 2) for _ in range(self.r.randrange(4))) + "]"

    def record(self, depth):
        names = self.r.sample(NAMES, self.r.randrange(3))
        return "{" + ", ".join(f"{n}: {self.any(depth - 2)}" for n in names) + "}"

    def entity(self, depth):
        return self.r.choice((*UIDS, "principal", "action", "resource", "principal.boss"))

    def member(self, depth):
        of = self.r.choice(("principal", "resource", "context", "context.deep", "principal.boss", "resource.meta"))
        return f"{of}.{self.r.choice(NAMES)}" if self.r.random() < 0.8 else f'{of}["{self.r.choice(NAMES)}"]'

    def extension(self, depth):
        address = lambda: f'ip("{self.r.choice(ADDRESSES)}")'  # noqa: E731
        decimal = lambda: f'decimal("{self.r.choice(DECIMALS)}")'  # noqa: E731
        return self.r.choice((
            f"{address()}.isInRange({address()})", f"{address()}.isIpv4()", f"{address()}.isIpv6()",
            f"{address()}.isLoopback()", f"{address()}.isMulticast()", f"principal.home.isInRange({address()})",
            f"{decimal()}.lessThan({decimal()})", f"{decimal()}.greaterThanOrEqual({decimal()})",
            f"{decimal()} == {decimal()}", f"{address()} == {address()}", f"{decimal()}.lessThanOrEqual({decimal()})"))

    def truth(self, depth):
        if depth <= 0:
            return self.r.choice(("true", "false", "context.ok"))
        d = depth - 1
        t = lambda: self.leaf(d, self.truth)  # noqa: E731
        n = lambda: self.leaf(d, self.number)  # noqa: E731
        return self.r.choice((
            lambda: f"({t()} && {t()})", lambda: f"({t()} || {t()})", lambda: f"!({t()})",
            lambda: f"({n()} {self.r.choice(('<', '<=', '>', '>='))} {n()})",
            lambda: f"({self.any(d)} {self.r.choice(('==', '!='))} {self.any(d)})",
            lambda: f"({self.leaf(d, self.entity)} in {self.leaf(d, self.entity)})",
            lambda: f"({self.entity(d)} in [{', '.join(self.entity(d) for _ in range(self.r.randrange(3)))}])",
            lambda: f"({self.leaf(d, self.entity)} has {self.r.choice(NAMES)})",
            lambda: f"({self.leaf(d, self.record)} has {self.r.choice(NAMES)}.{self.r.choice(NAMES)})",
            lambda: f"(context has {self.r.choice(NAMES)}.{self.r.choice(NAMES)})",
            lambda: f"({self.leaf(d, self.text)} like {self.r.choice(PATTERNS)})",
            lambda: f"({self.leaf(d, self.entity)} is {self.r.choice(('User', 'Group', 'MCP::Tool'))})",
            lambda: f"({self.entity(d)} is User in {self.entity(d)})",
            lambda: f"{self.leaf(d, self.set)}.contains({self.any(d)})",
            lambda: f"{self.leaf(d, self.set)}.{self.r.choice(('containsAll', 'containsAny'))}({self.leaf(d, self.set)})",
            lambda: f"{self.leaf(d, self.set)}.isEmpty()",
            lambda: f"(if {t()} then {t()} else {t()})",
            lambda: self.extension(d),
        ))()

    def scope(self):
        principal = self.r.choice(("principal", f"principal == {self.r.choice(UIDS)}", f"principal in {self.r.choice(UIDS)}",
                                   "principal is User", f"principal is User in {self.r.choice(UIDS)}"))
        action = self.r.choice(("action", 'action == Action::"call"', 'action in [Action::"call", Action::"list"]'))
        resource = self.r.choice(("resource", f"resource in {self.r.choice(UIDS)}", "resource is MCP::Tool"))
        return f"({principal}, {action}, {resource})"

    def policy(self):
        text = self.r.choice(("permit", "permit", "forbid")) + (
            "(principal, action, resource)" if self.r.random() < 0.6 else self.scope())
        for _ in range(self.r.choice((0, 1, 1, 1, 2))):
            text += f" {self.r.choice(('when', 'when', 'unless'))} {{ {self.truth(self.r.randrange(4))} }}"
        return text + ";"

    def spoiled(self, text):
        """Sometimes no policy at all."""
        if self.r.random() < 0.05 and len(text) > 2:
            at = self.r.randrange(len(text))
            return text[:at] + self.r.choice(("", ")", "{", '"', "@", "==", "?", "0x")) + text[at + 1:]
        return text

    def case(self):
        return {
            "policies": self.spoiled("\n".join(self.policy() for _ in range(self.r.randrange(1, 4)))),
            "principal": self.r.choice(('User::"alice"', 'User::"bob"', 'User::"nobody"')),
            "action": 'Action::"call"',
            "resource": self.r.choice(('MCP::Tool::"sum"', 'Group::"all"')),
            "context": {"n": self.r.choice((0, 5, -7)), "s": self.r.choice(("", "a", "Alice")), "ok": True,
                        "deep": {"x": {"y": [1, {"z": "w"}]}}},
            "entities": ENTITIES,
        }


def answers(program, cases):
    done = subprocess.run(program, input="".join(json.dumps(c) + "\n" for c in cases), text=True, stdout=subprocess.PIPE,
                          timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def view(answer):
    if "refused" in answer:
        return "refused"
    return answer["allowed"], sorted(answer["reasons"]), len(answer["errors"])


def test_cedar_decides_as_the_real_one():
    folder = subprocess.run([f"{ROOT}/tools/clients"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    cases = [Writer(seed).case() for seed in SEEDS]
    ours = answers([f"{ROOT}/build/release/cedar_tool"], cases)
    real = answers([f"{folder}/venv/bin/python", "-c", REAL], cases)
    assert len(ours) == len(real) == len(cases), (len(ours), len(real))
    wrong = [(seed, c["policies"], o, r) for seed, c, o, r in zip(SEEDS, cases, ours, real) if view(o) != view(r)]
    kinds = [view(r) for r in real]
    assert sum(k == "refused" for k in kinds) > 20 and sum(k != "refused" and k[0] for k in kinds) > 200, "dull cases"
    assert not wrong, f"{len(wrong)} differ; seed {wrong[0][0]}:\n{wrong[0][1]}\nours {wrong[0][2]}\nreal {wrong[0][3]}"
