"""Generated scripts of test_differential.py about CEL: rules of definitions, made from a seed. Most are well-typed, some
are not, some were broken by taking away, doubling or exchanging a token. What both servers say of the rules must be the
same, and what they say of objects where the rules stand."""
import json
import random
import re

import cel_cases
from differential import MERGE

GROUP = "rules.d.example"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROBE = {"rule": "self.metadata.name != 'probe'"}  # tells when the rules are in force

# What may stand where something of a type is wanted. <t> is something of type t, <t|u> the same where the variable V of
# type u is known. A map never has more than one entry: their order is Go's.
FORMS = {
    "bool": """true; false; <b>; !<bool>; <bool> && <bool>; <bool> || <bool>; <bool> ? <bool> : <bool>; <int> == <int>; <int> != <int>; <int> < <int>;
        <int> <= <double>; <uint> > <int>; <double> >= <double>; <string> == <string>; <string> < <string>; <bytes> == <bytes>; <ints> == <ints>;
        <strings> == <strings>; <map> == <map>; <int> in <ints>; <string> in <strings>; <string> in <map>; <time> < <time>; <time> == <time>;
        <span> <= <span>; <any> == <int>; <any> == <string>; type(<any>) == int; type(<string>) == string; <oint> == <oint>; <oint>.hasValue();
        <string>.contains(<string>); <string>.startsWith(<string>); <string>.endsWith(<string>); <string>.matches(<regex>); isURL(<string>); isIP(<string>);
        isCIDR(<string>); isQuantity(<string>); isSemver(<string>); isSemver(<string>, <bool>); ip.isCanonical(<iptext>); <ip> == <ip>; <ip>.isLoopback();
        <ip>.isGlobalUnicast(); <ip>.isLinkLocalMulticast(); <cidr>.containsIP(<iptext>); <cidr>.containsIP(<ip>); <cidr>.containsCIDR(<cidrtext>);
        <cidr> == <cidr>; <quantity> == <quantity>; <quantity>.isGreaterThan(<quantity>); <quantity>.isLessThan(<quantity>); <quantity>.isInteger();
        <semver>.isLessThan(<semver>); <semver> == <semver>; <url> == <url>; <ints>.all(V, <bool|int>); <strings>.exists(V, <bool|string>);
        <ints>.exists_one(V, <bool|int>); <map>.all(V, <bool|string>); <strings>.all(V, W, W < <string>); <ints>.existsOne(V, W, W == V);
        <ints>.isSorted(); <strings>.isSorted(); sets.contains(<ints>, <ints>); sets.equivalent(<strings>, <strings>); sets.intersects(<ints>, <ints>);
        has(self.spec.maybe); has(self.spec.deep.x); has(self.spec.i); has(<map>.k); <format>.validate(<string>).hasValue(); self.spec.set == self.spec.set2;
        self.spec.keyed == self.spec.keyed2; self.spec.keyed.all(V, V.name != <string>); self.spec.keyed.exists(V, V.value < <int>);
        self.spec.deep == self.spec.deep; self.spec.none == null; self.spec == oldSelf.spec; has(oldSelf.spec.i); oldSelf.spec.i <= self.spec.i;
        format.named(<string>).hasValue(); bool(<string>); dyn(<int>) == <double>; dyn(<string>) == <int>; <reals> == <reals>; self.metadata.name == <string>;
        self.spec.t == <time>; self.spec.day < <time>; (<bool>); [<int>, <int>] == <ints>; {<string>: <int>} == <map>; self.spec.?maybe.hasValue()""",
    "b": "self.spec.b; self.spec.?b.orValue(<bool>)",
    "int": """0; 1; -1; 7; 2; 3; 9223372036854775807; -9223372036854775808; 0x1F; self.spec.i; self.spec.i; self.spec.deep.x.y; <int> + <int>; <int> - <int>;
        <int> * <int>; <int> / <int>; <int> % <int>; -<int>; (<int>); <string>.size(); size(<strings>); size(<map>); <ints>[<small>]; <map>[<string>];
        <map>.k; int(<double>); int(<string>); int(<uint>); <string>.indexOf(<string>); <string>.lastIndexOf(<string>); <string>.indexOf(<string>, <small>);
        <ints>.sum(); <ints>.max(); <ints>.min(); <ints>.indexOf(<int>); <ints>.lastIndexOf(<int>); <ints>.first().orValue(<int>); <time>.getFullYear();
        <time>.getMonth(); <time>.getDayOfWeek(); <time>.getHours(<zone>); <span>.getMinutes(); <span>.getMilliseconds(); <bool> ? <int> : <int>;
        <ip>.family(); <cidr>.prefixLength(); <quantity>.asInteger(); <quantity>.compareTo(<quantity>); sign(<quantity>); <semver>.major(); <semver>.patch();
        <oint>.orValue(<int>); <oint>.value(); self.spec.map[?<string>].orValue(<int>); <ints>.filter(V, <bool|int>).size(); <strings>.map(V, V.size()).sum();
        int(<time>); self.spec.keyed[<small>].value; <bytes>.size(); <ints>.map(V, V + <int>)[<small>]; <strings>.transformMap(V, W, V)[<small>]""",
    "small": "0; 0; 1; 2; -1; self.spec.i; 5",
    "uint": "0u; 1u; 7u; 18446744073709551615u; <uint> + <uint>; <uint> - <uint>; <uint> * <uint>; <uint> / <uint>; uint(<int>); uint(<string>); uint(<double>)",
    "double": """0.0; 1.5; -2.5; 1e308; 5e-324; 1e-7; 100.0; self.spec.n; <double> + <double>; <double> - <double>; <double> * <double>; <double> / <double>; -<double>;
        double(<int>); double(<string>); <quantity>.asApproximateFloat(); <reals>.sum(); <reals>.max(); self.spec.?n.orValue(<double>)""",
    "string": r"""''; 'a'; 'k'; "b"; 'Hello, World'; 'äöü'; '😀'; 'a\tb'; "\u00e9"; '1'; '12'; '-5'; '1.5'; 'true'; 'A.b-C'; r'\d'; '%s'; self.spec.s; self.spec.s; self.spec.e;
        self.spec.none; self.spec.texts.k; self.spec.maybe; self.spec.kept.known; <string> + <string>; <string>.lowerAscii(); <string>.upperAscii(); <string>.trim();
        <string>.replace(<string>, <string>); <string>.replace(<string>, <string>, <small>); <string>.substring(<small>); <string>.substring(<small>, <small>);
        <string>.charAt(<small>); <strings>.join(<string>); <strings>.join(); <strings>[<small>]; string(<int>); string(<double>); string(<bool>); string(<bytes>);
        string(<time>); string(<span>); string(<uint>); string(<ip>); string(<cidr>); string(<any>); <string>.find(<regex>); <bool> ? <string> : <string>;
        <url>.getHost(); <url>.getScheme(); <url>.getEscapedPath(); <url>.getPort(); strings.quote(<string>); '%s|%s'.format([<string>, <strings>]); '%d'.format([<int>]);
        '%.2f %e'.format([<double>, <double>]); '%x %X %b'.format([<int>, <string>, <bool>]); '%s'.format([<map>]); '%s %s'.format([<time>, <span>]); <strings>.max();
        <format>.validate(<string>).orValue(['none']).join('; '); <strings>.first().orValue(<string>); <strings>.last().orValue(<string>); <strings>.filter(V, <bool|string>).join('-')""",
    "bytes": r"b'a'; b''; b'\xff'; b'ä'; bytes(<string>); self.spec.raw; <bytes> + <bytes>",
    "ints": """[]; [1]; [3, 1, 2]; [<int>]; [<int>, <int>]; self.spec.list; self.spec.list; <ints> + <ints>; <ints>.map(V, <int|int>); <ints>.filter(V, <bool|int>); <ints>.sort();
        <ints>.slice(<small>, <small>); lists.range(<small>); <ints>.distinct(); <ints>.reverse(); [<ints>, <ints>].flatten(); <ints>.transformList(V, W, V + W);
        <ints>.map(V, V > <int>, V); [?<oint>]; <ints>.sortBy(V, -V)""",
    "reals": "[1.5]; self.spec.reals; [<double>]; <reals> + <reals>; <reals>.sort(); <ints>.map(V, double(V))",
    "strings": """[]; ['a']; ['b', 'a']; self.spec.words; self.spec.set; self.spec.empty; [<string>]; [<string>, <string>]; <strings> + <strings>; <string>.split(<string>);
        <string>.split(<string>, <small>); <strings>.map(V, <string|string>); <strings>.filter(V, <bool|string>); <strings>.sort(); <strings>.distinct(); <string>.findAll(<regex>);
        <string>.findAll(<regex>, <small>); <ints>.map(V, string(V)); <strings>.sortBy(V, V.size()); self.spec.keyed.map(V, V.name); <url>.getQuery()['q']""",
    "map": "{}; {'k': 1}; self.spec.map; {<string>: <int>}; self.spec.?map.orValue({'k': <int>}); <bool> ? <map> : <map>; {'x': 1}.transformMap(V, W, W + <int>); {?<string>: <oint>}",
    "oint": """optional.none(); optional.of(<int>); optional.ofNonZeroValue(<int>); self.spec.?i; self.spec.map[?<string>]; <ints>[?<small>]; <oint>.or(<oint>);
        <oint>.optMap(V, <int|int>); <oint>.optFlatMap(V, optional.of(V)); self.?spec.deep.x.y; <ints>.first(); <ints>.last()""",
    "any": "self.spec.any; self.spec.port; dyn(<int>); dyn(<string>)",
    "time": """self.spec.t; self.spec.day; timestamp('2026-11-15T17:04:05Z'); timestamp('0001-01-01T00:00:00Z'); timestamp('9999-12-31T23:59:59.999Z'); timestamp(<int>);
        <time> + <span>; <time> - <span>; timestamp(<string>)""",
    "span": "self.spec.d; duration('1h30m'); duration('-5s'); duration('1ns'); duration('100000h'); <span> + <span>; <span> - <span>; <time> - <time>; duration(<string>)",
    "zone": "'UTC'; '+02:00'; '-07:30'; 'Nowhere/Land'; '25:00'; <string>",
    "regex": r"'a+'; '^[a-z]*$'; r'\d+'; '(a|b)c?'; '[^x]'; 'H.llo'; '.*'; '(?i)hello'; '('; '[z-a]'; self.spec.s; 'a{2,}'; r'\pL'; <string>",
    "iptext": "'10.1.2.3'; '::1'; '2001:DB8::1'; '1.2.3'; 'x'; '127.0.0.1'; <string>",
    "ip": "ip(<iptext>); <cidr>.ip(); ip('192.168.0.1')",
    "cidrtext": "'10.0.0.0/8'; '10.1.2.3/16'; '::/0'; '2001:db8::/32'; '10.0.0.0'; '1.2.3.4/33'; <string>",
    "cidr": "cidr(<cidrtext>); cidr('10.0.0.0/8').masked(); <cidr>.masked()",
    "quantity": "quantity('1'); quantity('1.5Gi'); quantity('100m'); quantity('-3k'); quantity('1e3'); quantity(<string>); <quantity>.add(<quantity>); <quantity>.sub(<int>); <quantity>.add(<int>)",
    "semver": "semver('1.2.3'); semver('1.0.0-rc.1'); semver('v1.2', true); semver('x'); semver(<string>); semver('01.2.3', <bool>)",
    "url": "url('https://u@example.com:80/a/b?q=1&q=2#f'); url('/path?q=x'); url('http://[::1]:80/'); url(<string>); url('x y')",
    "format": "format.dns1123Label(); format.dns1035Label(); format.qualifiedName(); format.labelValue(); format.uri(); format.uuid(); format.byte(); format.date(); format.datetime(); format.dns1123Subdomain()",
}
FORMS = {name: [form.strip() for form in re.split(r";\s", text)] for name, text in FORMS.items()}
PLAIN = {name: [f for f in forms if "<" not in re.sub(r" <=? ", "", f)] or forms for name, forms in FORMS.items()}
HOLE = re.compile(r"<([a-z]+)(?:\|([a-z]+))?>")
TOKEN = re.compile(r"""\s+|[rb]?'(?:[^'\\]|\\.)*'|[rb]?"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:e-?\d+)?u?|&&|\|\||[=!<>]=|.""", re.DOTALL)
# The types of loop variables.
ELEMENTS = {"ints": "int", "strings": "string", "map": "string", "oint": "int"}


class Maker:
    """Expressions of one rule."""

    def __init__(self, rng, wrong):
        self.rng, self.wrong, self.names = rng, wrong, 0

    def make(self, kind, depth=0, known=()):
        rng = self.rng
        fitting = [name for name, k in known if k == kind]
        if fitting and rng.random() < 0.5:
            return rng.choice(fitting)
        if self.wrong and rng.random() < 0.12:
            kind = rng.choice(sorted(FORMS))
        form = rng.choice(PLAIN[kind] if depth > 3 or rng.random() < 0.15 * depth else FORMS[kind])
        names = {}
        for letter in "VW":
            if re.search(rf"\b{letter}\b", form):
                self.names += 1
                names[letter] = f"{'xyzvw'[self.names % 5]}{self.names if self.names > 4 else ''}"
        form = re.sub(r"\b[VW]\b", lambda m: names[m[0]], form)

        def fill(m):
            more = known + ((names["V"], m[2]),) if m[2] and "V" in names else known
            return self.make(m[1], depth + 1, more)
        return HOLE.sub(fill, form)


def broken(rng, text):
    """One token is gone, there twice, or in another's place."""
    tokens = TOKEN.findall(text)
    at, how = rng.randrange(len(tokens)), rng.choice(["drop", "twice", "swap", "put", "cut"])
    if how == "drop":
        del tokens[at]
    elif how == "twice":
        tokens.insert(at, tokens[at])
    elif how == "swap":
        other = rng.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif how == "cut":
        tokens = tokens[:at + 1]
    else:
        tokens.insert(at, rng.choice(["(", ")", "[", "]", "{", "}", ",", ".", "?", ":", "in", "!", "-", "1", "'", "#", "true", "as", "&", "==", "\\", "`", "é"]))
    return "".join(tokens)


def rule_of(rng):
    kind = rng.choice(["right", "right", "right", "wrong", "broken"])
    text = Maker(rng, kind == "wrong").make("bool")
    rule = {"rule": broken(rng, text) if kind == "broken" else text}
    if rng.random() < 0.15:
        rule["message"] = rng.choice(["no", "no\nway", " ", "nö"])
    if rng.random() < 0.25:
        message = Maker(rng, rng.random() < 0.2).make("string")
        rule["messageExpression"] = broken(rng, message) if rng.random() < 0.1 else message
    if rng.random() < 0.15:
        rule["reason"] = rng.choice(["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Nope"])
    if rng.random() < 0.1:
        rule["fieldPath"] = rng.choice([".spec", ".spec.i", ".spec.deep.x", ".spec.list", ".spec.list[0]", ".spec.nope", "spec", ".spec['a-b']", ".spec.map.k", ".spec.keyed[0].name", "."])
    if "oldSelf" in rule["rule"] and rng.random() < 0.3:
        rule["optionalOldSelf"] = rng.choice([True, False])
    return rule


def value(rng, schema, wild):
    """Something for a schema; if wild, now and then something that does not fit."""
    if wild and rng.random() < 0.03:
        return rng.choice([None, 1, "x", [], {}, True, 1.5])
    if schema.get("x-kubernetes-int-or-string"):
        return rng.choice([0, 80, "http", "50%", "7"])
    if "enum" in schema:
        return rng.choice(schema["enum"])
    kind = schema.get("type")
    if kind == "object" and "properties" in schema:
        made = {k: value(rng, v, wild) for k, v in sorted(schema["properties"].items())
                if k in schema.get("required", ()) or rng.random() < 0.8}
        return {"apiVersion": "v1", "kind": "T", "metadata": {"name": "t"}, **made} if schema.get("x-kubernetes-embedded-resource") else made
    if kind == "object":
        return {rng.choice(["k", "a", "x/y"]): value(rng, schema["additionalProperties"], wild) for _ in range(rng.randint(0, 1))
                } if "additionalProperties" in schema else {}
    if kind == "array":
        items = [value(rng, schema["items"], wild) for _ in range(rng.randint(0, 4))]
        if "x-kubernetes-list-type" in schema:
            keys = schema.get("x-kubernetes-list-map-keys")
            items = list({json.dumps([i.get(k) for k in keys] if keys and isinstance(i, dict) else i): i for i in items}.values())
        return items
    texts = {"date-time": ["2026-11-15T17:04:05.123456789Z", "1970-01-01T00:00:00Z", "2024-02-29T23:59:59+05:30"], "date": ["2026-02-28", "1999-12-31"],
             "duration": ["1h30m", "-5s", "0s", "1ns"], "byte": ["aGVsbG8=", "YQ=="]}
    words = ["", "a", "b", "k", "Hello, World", "äöü", "😀x", "12", "-5", "1.5", "true", "10.1.2.3", "a.b", "A", "aab", "1Gi", "x/y"]
    text = rng.choice(texts.get(schema.get("format"), words))
    return {"string": text if wild else text[:schema.get("maxLength", 99)], "integer": rng.choice([0, 1, 2, 7, -1, 9223372036854775807, -9223372036854775808]),
            "number": rng.choice([0, 1, 2.5, -0.5, 1e300, 3]), "boolean": rng.random() < 0.5, None: rng.choice([{}, {"a": [1]}])}[kind]


def definition(name, rules):
    schema = {**cel_cases.SCHEMA, "x-kubernetes-validations": rules}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{name}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": {"plural": name, "kind": name.capitalize()},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def text_of(cause):
    """Of a definition nothing; of an object what its rules say, but not why one could not be evaluated."""
    text, field = cause.get("message", ""), cause.get("field", "")
    return text[max(text.rfind("evaluating rule: "), 0):] if "rule" in text and not field.startswith("spec.v") else ""


def shown(answer):
    """What of an answer must be the same (the contract in differential.py)."""
    body = answer.body if isinstance(answer.body, dict) else {}
    causes = {(c.get("field", ""), text_of(c)) for c in (body.get("details") or {}).get("causes") or []}
    return {"status": answer.status, "reason": body.get("reason"), "causes": sorted(causes), "warnings": answer.warnings}


def accepted(s, one, rules):
    """Gives the definition those of the rules that are accepted together; returns them."""
    while True:
        versions = definition("x", rules + [PROBE])["spec"]["versions"]
        answer = s.ask("PATCH", one, {"spec": {"versions": versions}}, type=MERGE)
        if answer.status == 200:
            return rules
        fields = " ".join(c["field"] for c in answer.body["details"]["causes"])
        bad = {int(i) for i in re.findall(r"x-kubernetes-validations\[(\d+)\]", fields)}
        rules = [r for i, r in enumerate(rules) if i not in bad] if bad else rules[:len(rules) // 2]


def rules_of(seed, count=60, objects=10):
    """What is said of rules, and of objects that are made and changed where those that were accepted stand."""
    def play(s):
        rng, name = random.Random(seed), f"rules{seed}"
        path, one = f"/apis/{GROUP}/v1/{name}", f"{CRDS}/{name}.{GROUP}"
        rules = [rule_of(rng) for _ in range(count)]
        for _ in range(2):  # rules are only compiled where what else there is to them is right
            said = shown(s.ask("POST", CRDS + "?dryRun=All", definition(name, rules)))
            own = [[c for c in said["causes"] if f"x-kubernetes-validations[{i}]" in c[0]] for i in range(len(rules))]
            for rule, causes in zip(rules, own):
                s.record(f"rule {json.dumps(rule, ensure_ascii=False)}", causes)
            s.record("definition", {**said, "causes": [c for c in said["causes"] if "validations[" not in c[0]]})
            rules = [r for r, causes in zip(rules, own) if all(c[0].endswith((".rule", ".messageExpression")) for c in causes)]

        def thing(spec, of="o"):
            return {"apiVersion": f"{GROUP}/v1", "kind": name.capitalize(), "metadata": {"name": of}, "spec": spec}
        s.ask("POST", CRDS, definition(name, []))
        s.until(lambda: s.ask("GET", path).status == 200, "the kind to be served")
        schema = cel_cases.SCHEMA["properties"]["spec"]
        stored = s.ask("POST", path, thing(value(rng, schema, False))).body
        s.record("stored", stored.get("spec"))
        rules = accepted(s, one, rules)
        s.record("accepted", rules)
        s.until(lambda: s.ask("POST", path + "?dryRun=All", thing({}, "probe")).status == 422, "the rules to be in force")
        for i in range(objects):
            spec = {k: value(rng, v, i % 3 == 2) for k, v in sorted(schema["properties"].items()) if rng.random() < 0.8}
            spec = {**stored["spec"], **{k: v for k, v in spec.items() if rng.random() < 0.3}} if i % 2 else spec
            if i % 2:
                answer = s.ask("PUT", path + "/o?dryRun=All", {**stored, "spec": spec})
            else:
                answer = s.ask("POST", path + "?dryRun=All", thing(spec, "new"))
            s.record(f"object {json.dumps(spec, ensure_ascii=False)}", shown(answer))
        s.ask("DELETE", one)
    return play


def scripts(seeds):
    for seed in seeds:
        yield f"rules_{seed}", rules_of(seed)
