"""Expressions that the API server and src/cel must agree on: what they give, what they say when they fail, and what is
said of those that do not compile. All are rules at the root of one kind, checked against one object."""

BOUNDED = {"type": "string", "maxLength": 60}
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "s": BOUNDED,
    "e": {"type": "string", "enum": ["one", "two"]},
    "t": {"type": "string", "format": "date-time"},
    "d": {"type": "string", "format": "duration"},
    "day": {"type": "string", "format": "date"},
    "raw": {"type": "string", "format": "byte", "maxLength": 40},
    "any": {"x-kubernetes-int-or-string": True, "maxLength": 20},
    "port": {"x-kubernetes-int-or-string": True, "maxLength": 20},
    "none": {"type": "string", "nullable": True, "maxLength": 5},
    "list": {"type": "array", "maxItems": 10, "items": {"type": "integer"}},
    "words": {"type": "array", "maxItems": 10, "items": BOUNDED},
    "empty": {"type": "array", "maxItems": 10, "items": BOUNDED},
    "reals": {"type": "array", "maxItems": 10, "items": {"type": "number"}},
    "set": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": BOUNDED},
    "set2": {"type": "array", "maxItems": 10, "x-kubernetes-list-type": "set", "items": BOUNDED},
    "keyed": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
              "items": {"type": "object", "required": ["name"], "properties": {
                  "name": BOUNDED, "value": {"type": "integer"}}}},
    "keyed2": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
               "items": {"type": "object", "required": ["name"], "properties": {
                   "name": BOUNDED, "value": {"type": "integer"}}}},
    "map": {"type": "object", "maxProperties": 10, "additionalProperties": {"type": "integer"}},
    "texts": {"type": "object", "maxProperties": 10, "additionalProperties": BOUNDED},
    "deep": {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"type": "integer"}}}}},
    "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": BOUNDED}},
    "free": {"x-kubernetes-preserve-unknown-fields": True},
    "namespace": BOUNDED,
    "a-b": BOUNDED, "a.b": BOUNDED, "a/b": BOUNDED, "a__b": BOUNDED, "in": BOUNDED, "1x": BOUNDED, "_u": BOUNDED,
    "maybe": BOUNDED,
    "template": {"type": "object", "x-kubernetes-embedded-resource": True,
                 "properties": {"spec": {"type": "object", "properties": {"z": {"type": "integer"}}}}},
}}}}
OBJECT = {"spec": {
    "i": 7, "n": 2.5, "b": True, "s": "Hello, World", "e": "two", "t": "2026-11-15T17:04:05.123456789Z", "d": "1h30m",
    "day": "2026-02-28", "raw": "aGVsbG8=", "any": 80, "port": "http", "none": None,
    "list": [3, 1, 2], "words": ["b", "a", "c"], "empty": [], "reals": [1.5, -2.0, 3.25],
    "set": ["x", "y"], "set2": ["y", "x"],
    "keyed": [{"name": "one", "value": 1}, {"name": "two", "value": 2}],
    "keyed2": [{"name": "two", "value": 2}, {"name": "one", "value": 1}],
    "map": {"a": 1, "b": 2}, "texts": {"k.v/x": "v", "k": "w"}, "deep": {"x": {"y": 5}},
    "kept": {"known": "k", "other": {"more": 1}}, "free": {"a": [1]},
    "namespace": "ns", "a-b": "dash", "a.b": "dot", "a/b": "slash", "a__b": "under", "in": "word", "1x": "no", "_u": "u",
    "template": {"apiVersion": "v1", "kind": "T", "metadata": {"name": "t"}, "spec": {"z": 1}},
}}

# Of type bool. Where one is false or fails, both must say so in the same words.
RULES = """
true
false
1 + 2 == 3
7 - 10 == -3
6 * 7 == 42
7 / 2 == 3
-7 / 2 == -3
7 % 3 == 1
-7 % 3 == -1
7u % 4u == 3u
1 / 0 == 1
1 % 0 == 1
1u / 0u == 1u
1.0 / 0.0 > 1.0
0.0 / 0.0 == 0.0
0.0 / 0.0 < 1.0
9223372036854775807 + 1 > 0
-9223372036854775808 - 1 < 0
9223372036854775807 * 2 > 0
-9223372036854775808 / -1 > 0
-9223372036854775808 % -1 == 0
-(-9223372036854775808) > 0
18446744073709551615u + 1u > 0u
1u - 2u > 0u
18446744073709551615u * 2u > 0u
1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2
1 < 2u && 2.5 > 2 && 2u < 2.5 && 3 >= 2.9
1 == 1u || true
dyn(1) == 1u
dyn(1) == 1.0
dyn(2u) == 2.0
dyn(1) == "1"
dyn(1.5) == 1
9007199254740993 == dyn(9007199254740992.0)
"a" < "b" && "a" <= "a" && "b" > "a" && b"a" < b"b"
false < true
"a" + "b" == "ab"
b"a" + b"b" == b"ab"
[1] + [2, 3] == [1, 2, 3]
[1, 2] == [2, 1]
{"a": 1, "b": 2} == {"b": 2, "a": 1}
{"a": 1} == {"a": 2}
[] == []
!false
!!true
--1 == 1
true ? true : false
false ? true : false
(1 == 1 ? "a" : "b") == "a"
false && (1 / 0 == 1)
(1 / 0 == 1) && false
true || (1 / 0 == 1)
(1 / 0 == 1) || true
(1 / 0 == 1) || false
(1 / 0 == 1) && true
(1 / 0 == 1) || (1 % 0 == 1)
1 in [1, 2]
3 in [1, 2]
"a" in {"a": 1}
"z" in {"a": 1}
self.spec.i in self.spec.list
3 in self.spec.list
"a" in self.spec.map
"zz" in self.spec.map
1.0 in [1, 2]
dyn(1.0) in [1, 2]
[1, 2][0] == 1
[1, 2][2] == 1
[1, 2][-1] == 1
[1, 2][dyn(1u)] == 2
[1, 2][dyn(1.0)] == 2
[1, 2][dyn(1.5)] == 2
[1, 2][dyn("a")] == 2
{"a": 1}["a"] == 1
{"a": 1}["b"] == 1
{1: "x"}[1] == "x"
{1: "x"}[2] == "x"
{1: "x"}[dyn(1.0)] == "x"
{true: "x"}[true] == "x"
{1u: "x"}[1u] == "x"
{"a": {"b": 1}}.a.b == 1
{"a": 1}.b == 1
has({"a": 1}.a)
has({"a": 1}.b)
has(self.spec.maybe)
has(self.spec.i)
has(self.spec.deep.x.y)
has(self.spec.none)
self.spec.maybe == "x"
self.spec.none == null
self.spec.words[5] == "x"
self.spec.map["q"] == 1
self.spec.map.a == 1
self.spec.texts["k.v/x"] == "v"
self.spec.texts.k == "w"
self.spec.deep.x.y == 5
self.spec.i == 7 && self.spec.n == 2.5 && self.spec.b && self.spec.s == "Hello, World"
self.spec.i == 8
self.spec.n < 2.0
self.spec.__namespace__ == "ns"
self.spec.a__dash__b == "dash"
self.spec.a__dot__b == "dot"
self.spec.a__slash__b == "slash"
self.spec.a__underscores__b == "under"
self.spec.__in__ == "word"
self.spec.namespace == "x"
self.spec._u == "u"
self.kind != "" && self.apiVersion != "" && self.metadata.name != ""
self.metadata.generateName == ""
has(self.metadata.generateName)
self.spec.template.metadata.name == "t" && self.spec.template.spec.z == 1 && self.spec.template.kind == "T"
self.spec.any == 80
self.spec.any == "80"
type(self.spec.any) == int
type(self.spec.port) == string
type(self.spec.port) == int ? self.spec.port < 5 : self.spec.port.startsWith("ht")
self.spec.any < 100
self.spec.any.startsWith("a")
self.spec.any + "x" == "80x"
self.spec.any + 1 == 81
self.spec.any > "a"
size(self.spec.any) == 2
string(self.spec.any) == "80"
int(self.spec.port) == 1
self.spec.set == self.spec.set2
self.spec.set2 == self.spec.set
self.spec.set == ["y", "x"]
["y", "x"] == self.spec.set
self.spec.set + ["z", "x"] == ["x", "y", "z"]
self.spec.keyed == self.spec.keyed2
self.spec.keyed[0] == self.spec.keyed2[1]
self.spec.keyed + self.spec.keyed2 == self.spec.keyed
self.spec.keyed.map(k, k.value) == [1, 2]
self.spec.list + [4] == [3, 1, 2, 4]
self.spec.list == [3, 1, 2]
self.spec.list == [1, 2, 3]
self.spec.words == self.spec.empty
self.spec.map == {"a": 1, "b": 2}
self.spec.map == {"a": 1}
self.spec.kept == self.spec.kept
self.spec.kept.known == "k"
self.spec.deep == self.spec.deep
self.spec == self.spec
self.spec.t == timestamp("2026-11-15T17:04:05.123456789Z")
self.spec.t > timestamp("2026-01-01T00:00:00Z")
self.spec.t.getFullYear() == 2026 && self.spec.t.getMonth() == 10 && self.spec.t.getDate() == 15
self.spec.t.getDayOfMonth() == 14 && self.spec.t.getDayOfWeek() == 0 && self.spec.t.getDayOfYear() == 318
self.spec.t.getHours() == 17 && self.spec.t.getMinutes() == 4 && self.spec.t.getSeconds() == 5
self.spec.t.getMilliseconds() == 123
self.spec.t.getHours("+02:00") == 19
self.spec.t.getHours("-02:30") == 14
self.spec.t.getHours("UTC") == 17
self.spec.t.getHours("Nowhere/Land") == 17
self.spec.day.getMonth() == 1 && self.spec.day == timestamp("2026-02-28T00:00:00Z")
self.spec.d == duration("90m")
self.spec.d.getHours() == 1 && self.spec.d.getMinutes() == 90 && self.spec.d.getSeconds() == 5400
self.spec.d.getMilliseconds() == 5400000
self.spec.d < duration("2h") && self.spec.d + duration("30m") == duration("2h")
self.spec.t + self.spec.d > self.spec.t
self.spec.t - self.spec.t == duration("0s")
self.spec.t - duration("1h") < self.spec.t
timestamp("9999-12-31T23:59:59Z") + duration("1s") > timestamp("2026-01-01T00:00:00Z")
timestamp("0001-01-01T00:00:00Z") - duration("1s") < timestamp("2026-01-01T00:00:00Z")
duration("2000000h") + duration("2000000h") > duration("1s")
timestamp("2026-01-01T00:00:00+01:00") == timestamp("2025-12-31T23:00:00Z")
timestamp(0) == timestamp("1970-01-01T00:00:00Z")
int(timestamp("1970-01-01T00:01:00Z")) == 60
int(duration("1s")) == 1000000000
duration(self.spec.i) == duration("1s")
self.spec.raw == b"hello"
string(self.spec.raw) == "hello" && size(self.spec.raw) == 5
int("42") == 42 && int("-42") == -42 && int(3.9) == 3 && int(-3.9) == -3 && int(5u) == 5
int("+42") == 42
int("x") == 1
int(self.spec.s) == 1
int(1e30) == 1
int(18446744073709551615u) == 1
uint("42") == 42u && uint(3.9) == 3u && uint(5) == 5u
uint(-1) == 1u
uint(self.spec.i - 10) == 1u
uint(self.spec.s) == 1u
double("1.5") == 1.5 && double(2) == 2.0 && double(3u) == 3.0 && double("1e3") == 1000.0
double("inf") > 1.0 && double("-Inf") < 1.0
double(self.spec.s) == 1.0
string(1) == "1" && string(2u) == "2" && string(true) == "true" && string(b"x") == "x"
string(1.5) == "1.5" && string(1e6) == "1e+06" && string(100000.0) == "100000" && string(1e-5) == "1e-05"
string(123456789.0) == "1.23456789e+08" && string(0.1) == "0.1" && string(1e21) == "1e+21"
string(duration("1h30m")) == "5400s" && string(duration("1500ms")) == "1.5s"
string(timestamp("2026-11-15T17:04:05.5Z")) == "2026-11-15T17:04:05.5Z"
string(b"\\xff") == "x"
string(self.spec.raw + b"\\xff") == "x"
bool("true") && bool("1") && bool("T") && !bool("False") && !bool("0")
bool(self.spec.s)
bytes("é") == b"\\303\\251"
type(1) == int && type(1u) == uint && type(1.0) == double && type("") == string && type(b"") == bytes
type(true) == bool && type(null) == null_type && type([]) == list && type({}) == map && type(int) == type
type(self.spec) == map
type(self.spec.list) == list
type(timestamp(0)) == google.protobuf.Timestamp && type(duration("0s")) == google.protobuf.Duration
type(optional.none()) == optional_type
type(ip("::1")) == net.IP
type(1) == type("a")
null == null
null != null
self.spec.t != null
size("héllo") == 5 && "héllo".size() == 5 && size(b"héllo") == 6 && size([1, 2]) == 2 && size({"a": 1}) == 1
self.spec.words.size() == 3 && size(self.spec.map) == 2 && self.spec.s.size() == 12
"hello".contains("ell") && "hello".startsWith("he") && "hello".endsWith("lo") && "hello".contains("")
"hello".contains("x")
"hello".matches("^h.*o$")
"hello".matches("l{3}")
matches("hello", "l+")
"hello".find("l+") == "ll" && "hello".find("x") == ""
"a1b22c333".findAll("[0-9]+") == ["1", "22", "333"]
"a1b22c333".findAll("[0-9]+", 2) == ["1", "22"]
"a1b22c333".findAll("[0-9]+", 0) == []
"abc".findAll("") == ["", "", "", ""]
"abc".findAll("x*") == ["", "", "", ""]
"abc".findAll("b*") == ["", "b", ""]
"hello".find(self.spec.s + "(") == ""
"hello".matches(self.spec.s + "(")
"hello".matches(self.spec.s + "[z-a]")
"tacocat".charAt(3) == "o" && "x".charAt(1) == ""
"x".charAt(2) == ""
"x".charAt(-1) == ""
"hello mellow".indexOf("") == 0 && "hello mellow".indexOf("ello") == 1 && "hello mellow".indexOf("ello", 2) == 7
"hello mellow".indexOf("jello") == -1
"hello mellow".indexOf("ello", 20) == -1
"hello mellow".indexOf("ello", -1) == 1
"héllo".indexOf("l") == 2
"hello mellow".lastIndexOf("") == 12 && "hello mellow".lastIndexOf("ello") == 7
"hello mellow".lastIndexOf("ello", 6) == 1 && "hello mellow".lastIndexOf("x") == -1
"hello mellow".lastIndexOf("ello", -1) == -1
"TacoCat".lowerAscii() == "tacocat" && "TacoCÆt".lowerAscii() == "tacocÆt" && "TacoCat".upperAscii() == "TACOCAT"
"hello hello".replace("he", "we") == "wello wello" && "hello hello".replace("he", "we", 1) == "wello hello"
"hello hello".replace("he", "we", 0) == "hello hello" && "abc".replace("", "-") == "-a-b-c-"
"abc".replace("", "-", 2) == "-a-bc" && "hello hello".replace("he", "we", -1) == "wello wello"
"hello hello hello".split(" ") == ["hello", "hello", "hello"]
"hello hello hello".split(" ", 0) == [] && "hello hello hello".split(" ", 1) == ["hello hello hello"]
"hello hello hello".split(" ", 2) == ["hello", "hello hello"] && "abc".split("") == ["a", "b", "c"]
"".split("") == [] && "".split(" ") == [""] && "a,".split(",") == ["a", ""]
"tacocat".substring(4) == "cat" && "tacocat".substring(0, 4) == "taco" && "tacocat".substring(7) == ""
"tacocat".substring(8) == ""
"tacocat".substring(-1) == ""
"tacocat".substring(5, 3) == ""
"tacocat".substring(2, 9) == ""
"  \\ttrim\\n    ".trim() == "trim" && "\\u2003x\\u00a0".trim() == "x"
["hello", "mellow"].join() == "hellomellow" && ["a", "b"].join(", ") == "a, b" && self.spec.words.join("-") == "b-a-c"
self.spec.empty.join(",") == ""
strings.quote("a\\"b\\n") == "\\"a\\\\\\"b\\\\n\\""
[1, 2, 3].isSorted() && !self.spec.list.isSorted() && ["a", "b"].isSorted() && self.spec.empty.isSorted()
[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && self.spec.list.sum() == 6 && [1u].sum() == 1u
[duration("1s"), duration("2s")].sum() == duration("3s")
self.spec.list.max() == 3 && self.spec.list.min() == 1 && ["b", "a"].min() == "a" && self.spec.reals.max() == 3.25
self.spec.empty.max() == "x"
self.spec.empty.min() == "x"
[9223372036854775807, 1].sum() == 0
[1, 2, 2].indexOf(2) == 1 && [1, 2, 2].lastIndexOf(2) == 2 && [1].indexOf(5) == -1 && self.spec.words.indexOf("a") == 1
[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1].slice(0, 0) == []
[1, 2].slice(1, 5) == []
[1, 2].slice(2, 1) == []
[1, 2].slice(-1, 1) == []
[[1, 2], [3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]
[[1], [2]].flatten(0) == [[1], [2]]
[[1]].flatten(-1) == []
[3, 1, 2].sort() == [1, 2, 3] && self.spec.words.sort() == ["a", "b", "c"] && self.spec.list.sort() == [1, 2, 3]
["bb", "a"].sortBy(x, size(x)) == ["a", "bb"] && self.spec.keyed.sortBy(k, -k.value)[0].name == "two"
lists.range(4) == [0, 1, 2, 3] && lists.range(0) == []
[1, 2, 3].reverse() == [3, 2, 1] && self.spec.words.reverse() == ["c", "a", "b"]
[1, 2, 2, 1].distinct() == [1, 2] && ["a", "a"].distinct() == ["a"]
[1, 2].first() == optional.of(1) && [1, 2].last().value() == 2 && self.spec.empty.first() == optional.none()
sets.contains([1, 2], [2]) && sets.contains([], []) && !sets.contains([1], [1, 2])
sets.equivalent([1, 2], [2, 1, 1]) && !sets.equivalent([1], [2]) && sets.equivalent(self.spec.set, ["y", "x"])
sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])
[1, 2, 3].all(x, x > 0) && ![1, 2].all(x, x > 1) && [].all(x, x == 1)
[1, 2, 3].exists(x, x == 2) && ![1].exists(x, x == 2)
[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)
[1, 2, 3].map(x, x * 2) == [2, 4, 6] && [1, 2, 3].map(x, x > 1, x * 2) == [4, 6]
[1, 2, 3].filter(x, x > 1) == [2, 3]
{"a": 1, "b": 2}.all(k, k != "c") && {"a": 1}.exists(k, k == "a") && {"a": 1}.map(k, k + "x") == ["ax"]
self.spec.map.all(k, self.spec.map[k] > 0)
self.spec.map.all(k, self.spec.map[k] > 1)
self.spec.words.all(w, w.matches("^[a-z]$"))
self.spec.words.map(w, w.upperAscii()).join("") == "BAC"
[1, 0].all(x, 1 / x > 0)
[0, 1].exists(x, 1 / x > 0)
[1, 0].exists(x, 1 / x > 5)
[1, 0].map(x, 1 / x).size() == 2
[1, 0].filter(x, 1 / x > 0).size() == 2
[0].exists_one(x, 1 / x > 0)
[[1, 2], [3]].all(l, l.all(x, x > 0))
[1, 2].all(i, v, v == i + 1) && [5].exists(i, v, i == 0 && v == 5) && [1, 2].existsOne(i, v, v == 2)
{"a": 1, "b": 2}.all(k, v, k + string(v) in ["a1", "b2"])
[1, 2].transformList(i, v, i + v) == [1, 3] && [1, 2].transformList(i, v, i > 0, v) == [2]
[1, 2].transformMap(i, v, v * 2) == {0: 2, 1: 4} && {"a": 1}.transformMap(k, v, v > 5, v) == {}
{"a": "b"}.transformMapEntry(k, v, {v: k}) == {"b": "a"}
{"a": "x", "b": "x"}.transformMapEntry(k, v, {v: k}) == {"x": "a"}
self.spec.map.transformList(k, v, v).sort() == [1, 2]
self.spec.words.transformMap(i, w, w)[2] == "c"
optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1).value() == 1
optional.none().value() == 1
optional.ofNonZeroValue(0) == optional.none() && optional.ofNonZeroValue("a").value() == "a"
optional.ofNonZeroValue([]) == optional.none() && optional.ofNonZeroValue(self.spec.empty) == optional.none()
optional.of(1).or(optional.of(2)).value() == 1 && optional.none().or(optional.of(2)).value() == 2
optional.none().orValue(3) == 3 && optional.of(1).orValue(1 / 0) == 1
self.spec.?maybe == optional.none() && self.spec.?i == optional.of(7) && self.spec.?i.orValue(0) == 7
self.?spec.deep.x.y == optional.of(5) && self.spec.?deep.?x.?y.orValue(1) == 5
self.spec.?none.hasValue()
self.spec.?none.orValue("x") == "x"
self.spec.map[?"a"] == optional.of(1) && self.spec.map[?"z"] == optional.none() && self.spec.list[?9].orValue(4) == 4
[1, 2][?1].value() == 2 && {"a": 1}[?"b"].hasValue() == false && {"a": 1}.?a.value() == 1
has({"a": {"b": 1}}.?a.b)
self.spec.?i.optMap(x, x + 1).value() == 8 && self.spec.?maybe.optMap(x, x + "y") == optional.none()
self.spec.?deep.optFlatMap(d, d.?x).hasValue()
[?optional.of(1), ?optional.none(), 2] == [1, 2] && {?"a": optional.of(1), ?"b": optional.none()} == {"a": 1}
optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(2)].unwrapOpt() == [2]
url("https://example.com:8080/a/b?x=1&x=2&y=z#f").getScheme() == "https"
url("https://example.com:8080/a/b?x=1").getHost() == "example.com:8080"
url("https://[::1]:80/").getHost() == "[::1]:80" && url("https://[::1]:80/").getHostname() == "::1"
url("https://example.com:8080/").getPort() == "8080" && url("https://example.com/").getPort() == ""
url("https://u:p@h/with space/a%20b").getEscapedPath() == "/with%20space/a%20b"
url("https://h/p?x=1&x=2&y=a+b%21").getQuery() == {"x": ["1", "2"], "y": ["a b!"]}
url("https://h/p").getQuery() == {} && url("/path").getScheme() == "" && url("/path").getEscapedPath() == "/path"
url("https://h/p#frag").getEscapedPath() == "/p"
isURL("https://example.com") && isURL("/absolute") && !isURL("relative") && !isURL("") && !isURL("http://h:port/")
isURL("mailto:a@b") && !isURL("http://a b/") && isURL("HTTP://H/") && !isURL("http://h/%zz") && !isURL(":x")
url("relative").getHost() == ""
url("").getHost() == ""
url("http://h:port").getHost() == ""
url("http://h/%zz").getHost() == ""
url('http://"h/%zz').getHost() == ""
url("https://h/") == url("https://h/") && url("https://h/") != url("https://h/x")
isIP("127.0.0.1") && isIP("::1") && !isIP("127.0.0.1.1") && !isIP("::ffff:1.2.3.4") && !isIP("fe80::1%eth0")
!isIP("01.2.3.4") && !isIP("1.2.3") && !isIP("") && !isIP("1.2.3.256") && isIP("2001:DB8::1")
ip("127.0.0.1").family() == 4 && ip("::1").family() == 6
ip("x").family() == 4
ip("1.2.3.4.5").family() == 4
ip("1.2.3").family() == 4
ip("1.2.3.456").family() == 4
ip("1.2.3.04").family() == 4
ip("::ffff:1.2.3.4").family() == 4
ip("fe80::1%eth0").family() == 6
ip("127.0.0.1").isLoopback() && ip("::1").isLoopback() && ip("0.0.0.0").isUnspecified() && ip("::").isUnspecified()
ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast() && ip("169.254.0.1").isLinkLocalUnicast()
ip("fe80::1").isLinkLocalUnicast() && ip("8.8.8.8").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast()
ip("2001:db8:0:0:1:0:0:1") == ip("2001:db8::1:0:0:1") && ip("1.2.3.4") != ip("1.2.3.5")
string(ip("2001:db8:0:0:1:0:0:1")) == "2001:db8::1:0:0:1" && string(ip("::")) == "::" && string(ip("1::")) == "1::"
ip.isCanonical("127.0.0.1") && ip.isCanonical("2001:db8::abcd") && !ip.isCanonical("2001:DB8::ABCD")
ip.isCanonical("x")
isCIDR("10.0.0.0/8") && isCIDR("::1/128") && !isCIDR("10.0.0.0/33") && !isCIDR("10.0.0.0") && !isCIDR("10.0.0.0/08")
cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsIP(ip("10.1.2.3"))
!cidr("10.0.0.0/8").containsIP("11.0.0.1") && !cidr("10.0.0.0/8").containsIP("::1")
cidr("10.0.0.0/8").containsIP("x")
cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && cidr("10.0.0.0/8").containsCIDR(cidr("10.0.0.0/8"))
!cidr("10.0.0.0/8").containsCIDR("10.0.0.0/7")
cidr("10.0.0.0/8").containsCIDR("x")
cidr("10.1.2.3/8").masked() == cidr("10.0.0.0/8") && cidr("10.1.2.3/8").prefixLength() == 8
cidr("10.1.2.3/8").ip() == ip("10.1.2.3") && string(cidr("2001:DB8::/32")) == "2001:db8::/32"
cidr("10.0.0.0").prefixLength() == 8
cidr("10.0.0.0/99").prefixLength() == 8
isQuantity("1.5Gi") && isQuantity("100m") && !isQuantity("abc") && !isQuantity("1.5x") && !isQuantity("") && isQuantity("1e3")
quantity("50Mi").isGreaterThan(quantity("50M")) && quantity("1k").compareTo(quantity("1000")) == 0
quantity("1").isLessThan(quantity("2")) && quantity("1Ki") == quantity("1024") && sign(quantity("-5")) == -1
quantity("50k").asInteger() == 50000 && quantity("50k").isInteger() && !quantity("1500m").isInteger()
quantity("9999999999999999999999").isInteger()
quantity("9999999999999999999999").asInteger() == 1
quantity("1500m").asApproximateFloat() == 1.5 && quantity("1Ki").asApproximateFloat() == 1024.0
quantity("50k").add(quantity("20k")) == quantity("70k") && quantity("50k").add(20) == quantity("50020")
quantity("50k").sub(quantity("20k")).compareTo(quantity("30k")) == 0 && quantity("1").sub(2) == quantity("-1")
quantity("x").isInteger()
quantity("1x").isInteger()
quantity("").isInteger()
semver("1.2.3").major() == 1 && semver("1.2.3").minor() == 2 && semver("1.2.3").patch() == 3
semver("1.2.3-rc.1").isLessThan(semver("1.2.3")) && semver("1.10.0").isGreaterThan(semver("1.9.0"))
semver("1.0.0-alpha.1").compareTo(semver("1.0.0-alpha.beta")) == -1 && semver("1.0.0-2") .compareTo(semver("1.0.0-11")) == -1
semver("1.0.0+a") == semver("1.0.0+b")
isSemver("1.2.3") && !isSemver("1.2") && !isSemver("v1.2.3") && isSemver("v1.2", true) && isSemver("01.02.03", true)
semver("v1.2", true) == semver("1.2.0") && !isSemver("1.2-rc", true) && !isSemver("1.02.3")
semver("1.2").major() == 1
semver("1.x.3").major() == 1
semver("").major() == 1
!format.dns1123Label().validate("my-label").hasValue() && format.dns1123Label().validate("My.Label").hasValue()
format.dns1123Label().validate("Contains spaces").value() == []
format.dns1123Subdomain().validate("a.b-c").hasValue() || format.dns1035Label().validate("1a").hasValue()
!format.qualifiedName().validate("example.com/name").hasValue() && format.qualifiedName().validate("a/b/c").hasValue()
!format.labelValue().validate("").hasValue() && !format.dns1123LabelPrefix().validate("a-").hasValue()
!format.uri().validate("http://a/b").hasValue() && format.uri().validate("x y").hasValue()
!format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue() && format.uuid().validate("x").hasValue()
!format.byte().validate("aGVsbG8=").hasValue() && format.byte().validate("!!").hasValue()
!format.date().validate("2026-02-28").hasValue() && format.date().validate("2026-02-30").hasValue()
!format.datetime().validate("2026-02-28T00:00:00Z").hasValue() && format.datetime().validate("x").hasValue()
format.named("dns1123Label").hasValue() && !format.named("nothing").hasValue()
format.dns1123Label() == format.named("dns1123Label").value()
"%s has %d".format(["x", 3]) == "x has 3"
"%d".format([dyn("x")]) == ""
r"\\d+" == "\\\\d+" && R'a' == "a" && '''a'b''' == "a'b" && \"\"\"a"b\"\"\" == 'a"b'
"\\x41\\101\\u0041\\U00000041" == "AAAA" && "\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\"\\'\\`".size() == 12
b"\\x41\\101" == b"AA" && b'\\xff'.size() == 1
0x1F == 31 && 0x1fu == 31u && 1e3 == 1000.0 && 1.5e-1 == .15
1 == 1 // a comment
[1, 2,] == [1, 2] && {"a": 1,} == {"a": 1}
"\u00e9".size() == 1 && "\U0001F600".size() == 1
"abc".matches("(?i)ABC") && "a\\nb".matches("(?s)a.b") && !"a\\nb".matches("a.b") && "x\\ny".matches("(?m)^y$")
"2026-11".matches("^\\\\d{4}-\\\\d{2}$") && "foo_1".matches("^\\\\w+$") && " ".matches("\\\\s") && "é".matches("^\\\\pL$")
"aaa".find("a+?") == "a" && "aaa".find("a{2}") == "aa" && "ab".find("(?:a|ab)") == "a" && "foobar".find("o*b") == "oob"
"a.b".matches("^a\\\\.b$") && "a-b".matches("^[a\\\\-b]+$") && "]".matches("[]]") && "^".matches("[\\\\^]") && "b".matches("[^a]")
"word here".findAll("\\\\b\\\\w").join("") == "wh" && "tEst".matches("t(?i:e)st") && "x".matches("(?P<n>x)")
"α".matches("^[α-ω]$") && "Z".matches("[[:upper:]]") && !"z".matches("[[:^lower:]]") && "\\t".matches("\\\\x09")
"aXbXc".split("X").map(p, p + "!").join("") == "a!b!c!"
self.spec.keyed.exists_one(k, k.name == "one") && self.spec.keyed.all(k, has(k.value))
self.spec.words.all(x, self.spec.words.exists_one(y, x == y))
self.spec.texts.all(k, k.size() < 10 && self.spec.texts[k].size() == 1)
(self.spec.b ? self.spec.i : self.spec.deep.x.y) == 7
(self.spec.b ? self.spec.deep : self.spec.deep).x.y == 5
self.spec.words[self.spec.list[1]] == "a"
self.spec.e in ["one", "two", "three"]
self.spec.e == "three"
{"a": self.spec.i, "b": self.spec.deep.x.y}.a == 7
[self.spec.i, self.spec.deep.x.y].max() == 7
self.spec.s.lowerAscii().split(", ").map(w, w.size()).sum() == 10
duration(self.spec.s) > duration("1s")
timestamp(self.spec.s) > timestamp("2026-01-01T00:00:00Z")
ip(self.spec.s).family() == 4
quantity(self.spec.s).isInteger()
"x".matches("a**")
lists.range(2000000).size() == 1
""".strip().split("\n")

# Of type string: the message of a rule that fails.
TEXTS = """
"i is " + string(self.spec.i)
"%s %d %s".format([self.spec.s, self.spec.i, self.spec.words])
"%s".format([self.spec.map])
"%s %s %s".format([1.5, true, null])
"%s".format([[1.5, "a", b"b", true, null, duration("1s"), timestamp("2026-01-01T00:00:00Z")]])
"%s".format([{"k": [1, {"x": "y"}], "a": 2}])
"%s %s".format([duration("90m"), timestamp("2026-01-01T00:00:00.5Z")])
"%s %s".format([int, type("a")])
"%d %d".format([-5, 7u])
"%f|%.2f|%.0f|%f".format([1.5, 1234567.891, 2.5, -0.001])
"%f %f %f".format(["NaN", "Infinity", "-Infinity"])
"%b %b %b %b".format([5, -5, true, 6u])
"%x %X %x %x".format([255, 255, "hi", b"\\xff\\x01"])
"%o %o".format([8, -8])
"%% %s %%".format(["x"])
"%e".format([1234.5])
strings.quote("a\\tb\\\\")
string(self.spec.t) + " " + string(self.spec.d) + " " + string(self.spec.n)
string(1.0) + " " + string(1e100) + " " + string(-0.5) + " " + string(3.0e-7) + " " + string(2.0 / 3.0)
self.spec.words.map(w, w + "!").join(" ")
"a".replace("a", "b") + "x".charAt(0)
self.spec.none == null ? "null" : "value"
"  padded  "
"two\\nlines"
""
string(1 / 0)
string(cidr("10.1.2.3/16").masked()) + " " + string(ip("2001:DB8::0:1"))
"%s".format([self.spec.keyed.map(k, k.name)])
string(self.spec.list.map(x, double(x) / 3.0).sum())
string(quantity("1.5Gi").asApproximateFloat()) + " " + string(quantity("100m").asApproximateFloat())
url("HTTPS://user@Example.COM:443/p/?q").getHost() + url("https://h/a%2Fb").getEscapedPath()
format.dns1123Label().validate("Bad Name").value().join("; ")
format.dns1035Label().validate("1bad").value().join("; ")
format.qualifiedName().validate("bad name").value().join("; ")
format.labelValue().validate("-bad").value().join("; ")
format.dns1123Subdomain().validate("a..b").value().join("; ")
format.uuid().validate("bad").value().join("; ") + format.uri().validate("bad").value().join("; ")
""".strip("\n").split("\n")

# Do not compile, or must not be rules.
REFUSED = """
x == 1
self.nothing == 1
self.spec.i == "a"
self.spec.i + self.spec.s == 1
self.spec.i.foo == 1
self.spec.s.size
self.spec.free == 1
self.spec.1x == 1
self.spec.kept.other == 1
self.spec.s.foo()
foo(1)
self.spec.i
1
"a"
self.spec.i && true
true && 1 || "a" == "b"
[1, "a"].size() == 2
{"a": 1, "b": "x"}.size() == 2
{1: 1, "b": 2}.size() == 2
[1, dyn("a")].size() == 2
self.spec.words.all(self.spec.i, true)
self.spec.words.map(1, true).size() == 1
self.spec.i.all(x, x == 1)
has(self)
has(1)
[1, 2].existsOne(x, x == 2)
[1, [2, [3]]].flatten(2) == [1, 2, 3]
has(self.spec["i"])
self.spec.?nothing == optional.none()
duration("x") == duration("1s")
duration(1000000000) == duration("1s")
timestamp("x") == timestamp(0)
"a".matches("(")
"a".matches("[z-a]")
"a".find("(") == ""
"%d".format(["x"]) == ""
"%s %s".format(["x"]) == ""
"%s".format(["x", "y"]) == ""
"%q".format(["x"]) == ""
"abc".reverse() == "cba"
cel.bind(x, 1, x == 1)
math.greatest(1, 2) == 2
base64.encode(b"x") == ""
quantity("1").sign() == 1
sign(quantity("1"))
true ? 1 : "a"
(true ? 1 : 2) == "a"
1 + 1u == 2
1.0 + 1 == 2.0
"a" < 1
-"a" == 1
!1
self.spec.list[0] == "a"
self.spec.list["a"] == 1
self.spec.map[1] == 1
"a" in 1
1 in ["a"]
oldSelf.spec.nothing == 1
self.spec.t == "2026-01-01T00:00:00Z"
self.spec.d > 1
self.spec.raw == "x"
self == 1
self.spec == self.metadata
null == 1
self.spec.i == null
type(1) == "int"
size(1) == 1
int(true) == 1
optional.of(1) == 1
optional.none().orValue("a") == 1
ip(1).family() == 4
ip("1.2.3.4").foo
quantity("1").foo
url("/").nothing == ""
int("x") == 1
uint(-1) == 1u
bool("x")
self.spec.words.exists(w)
self.spec.words.all(@result, true)
self.spec.words.all(__result__, true)
self.spec.words.transformList(x, x, 1) == [1]
[1, 2].sortBy(1, 1) == []
"a".sortBy(x, x) == []
[{"a": 1}].sort() == []
["a"].sum() == "a"
as == 1
package
"\\uD800" == "a"
99999999999999999999 == 1
99999999999999999999u == 1u
Foo{a: 1} == 1
self.spec.s.matches(1)
self.spec.list.filter(x, x)
self.spec.list.filter(x, x + 1)
""".strip().split("\n")

# Texts that are no expressions.
UNREADABLE = """
self.spec.i ==
(1 == 1
1 == 1)
[1, 2
{"a" 1}
self.
self..spec
1 1
'a
"a\\q" == "a"
self.spec.i == 1 self
? 1 : 2
true ? 1
foo(1,)
1 = 1
a &&
|| b
self.spec.words.map(in, 1).size() == 1
é == 1
# == 1
f(1
!
-
in
-1 1
[1,,2]
{1 2: 3}
a.b{c: 1
x.?1
self.spec.list.all(x
has(
[,] == []
.nothing == 1
-1.size() == 1
`a` == 1
""".strip().split("\n")
