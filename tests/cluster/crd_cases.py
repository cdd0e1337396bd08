"""What the differential test of custom kinds asks: schemas, objects for each, and updates."""

S, I, N, B = ({"type": t} for t in ("string", "integer", "number", "boolean"))


def obj(**properties):
    return {"type": "object", "properties": properties}


def lst(items, **more):
    return {"type": "array", "items": items, **more}


def mp(items, **more):
    return {"type": "object", "additionalProperties": items, **more}


PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, **PRESERVE}
ANYTHING = (None, 1, -1, 2.5, "text", "", True, [], [1], ["a", "a"], {}, {"a": 1}, {"b": {"c": [None]}}, [None], [{}])

# name: (schema of spec, values of spec)
SPECS = {}


def case(name, schema, *values):
    SPECS[name] = (schema, values)


for name, schema in (("string", S), ("integer", I), ("number", N), ("boolean", B), ("object", {"type": "object"}),
                     ("array", lst(S)), ("intorstring", INT_OR_STRING),
                     ("nullable", {**S, "nullable": True}), ("preserve", PRESERVE),
                     ("mapint", mp(I)), ("maptrue", {"type": "object", "additionalProperties": True}),
                     ("arrayofmaps", lst(mp(S))), ("enumtext", {**S, "enum": ["a", "b", "text"]}),
                     ("enumint", {**I, "enum": [1, 2, 3]}), ("enumnull", {**S, "nullable": True, "enum": ["a", None]}),
                     ("datetime", {**S, "format": "date-time"}), ("int32", {**I, "format": "int32"}),
                     ("double", {**N, "format": "double"}), ("fmtint", {**I, "format": "ipv4"})):
    case("type-" + name, obj(x=schema), *({"x": v} for v in ANYTHING))

case("unknown", obj(a=S, b=obj(c=S), l=lst(obj(d=I)), m=mp(obj(e=S)), p={**obj(q=obj(r=S)), **PRESERVE},
                    pl={**lst({"type": "object", **PRESERVE})}, t={"type": "object", "additionalProperties": True}),
     {"z": 1}, {"a": "x", "b": {"c": "y", "z": 1}, "y": {"w": 1}}, {"l": [{"d": 1, "f": 2}, {"g": {"h": 1}}]},
     {"m": {"k.l": {"e": "x", "f": 1}, "n/o": {"f": 1}}}, {"p": {"any": {"thing": [1]}, "q": {"r": "s", "t": 1}}},
     {"pl": [{"x": 1}]}, {"t": {"a": {"b": 1}, "c": 1, "d": [{"e": 1}]}},
     {"apiVersion": "x", "kind": "y", "metadata": {"z": 1}})
case("embedded", obj(e=EMBEDDED, f={"type": "object", "x-kubernetes-embedded-resource": True,
                                    "properties": {"spec": obj(a=S)}}, l=lst(EMBEDDED)),
     {"e": {}}, {"e": {"apiVersion": "v1", "kind": "Pod", "x": 1}}, {"e": {"apiVersion": "a/b/c", "kind": "No_"}},
     {"e": {"apiVersion": "", "kind": ""}}, {"f": {"apiVersion": "v1", "kind": "P", "spec": {"a": "x", "b": 1}, "q": 1}},
     {"f": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "x", "labels": {"a": "b"}}}},
     {"l": [{"apiVersion": "v1"}, {"kind": "x"}]}, {"e": {"apiVersion": "v1", "kind": "-x"}},
     {"f": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "x", "foo": 1}}})
case("nulls", obj(a=S, n={**S, "nullable": True}, d={**S, "default": "dd"}, nd={**S, "nullable": True, "default": "x"},
                  o=obj(p=S), l=lst(S), m=mp(S), mn=mp({**S, "nullable": True})),
     {"a": None, "n": None, "d": None, "nd": None}, {"o": None}, {"o": {"p": None}}, {"l": None}, {"l": [None]},
     {"m": {"k": None}}, {"mn": {"k": None}}, {"m": None})
case("defaults", obj(a={**I, "default": 5}, b={**obj(c={**S, "default": "cc"}), "default": {}},
                     l=lst(obj(d={**B, "default": True})), m=mp(obj(e={**N, "default": 1.5})),
                     o=obj(f={**S, "default": "f"}), li=lst({**S, "default": "i"}), mi=mp({**S, "default": "v"}),
                     ld={**lst(obj(x={**S, "default": "x"})), "default": [{}, {"x": "y"}]}),
     {}, {"b": {}}, {"l": [{}, {"d": False}]}, {"m": {"x": {}}}, {"o": {}}, {"li": [None, "a"]},
     {"mi": {"a": None}}, {"ld": []}, {"b": {"c": None}}, {"a": None, "ld": None})
case("required", {**obj(a=S, b=I, c={**obj(d=S), "required": ["d", "e"]}), "required": ["a", "b"]},
     {}, {"a": "x"}, {"a": "x", "b": 1, "c": {}}, {"b": 1, "c": {"d": "x"}})
case("length", obj(s={**S, "minLength": 2, "maxLength": 4}, p={**S, "pattern": "^[a-z]+$", "maxLength": 3}),
     {"s": "a"}, {"s": "abc"}, {"s": "abcde"}, {"s": "äöüß"}, {"s": "ä"}, {"s": "äöüßä"}, {"p": "A"}, {"p": "ABCD"},
     {"p": "abc"})
case("pattern", obj(a={**S, "pattern": "^(\\d+)(\\.\\d+)?$"}, b={**S, "pattern": "b"}, c={**S, "pattern": "^$|^[^/]+$"}),
     {"a": "1.5"}, {"a": "1.x"}, {"b": "abc"}, {"b": "xyz"}, {"c": ""}, {"c": "a/b"}, {"a": "quote\"'"})
case("numbers", obj(i={**I, "minimum": 2, "maximum": 9}, x={**I, "minimum": 2, "exclusiveMinimum": True, "maximum": 9,
                                                           "exclusiveMaximum": True},
                    n={**N, "minimum": 0.5, "maximum": 1000000.5}, m={**I, "multipleOf": 3},
                    f={**N, "multipleOf": 0.1}, g={**N, "maximum": 1000000}, h={**I, "minimum": 1.5},
                    k={**N, "minimum": 0.00001, "exclusiveMinimum": True}),
     *({k: v} for k in "ixnmfghk" for v in (-1, 0, 1, 2, 3, 9, 10, 0.25, 0.3, 2.5, 1e7, 2000000)))
case("items", obj(a=lst(I, minItems=1, maxItems=2), b=lst(S, maxItems=1), d=lst(obj(x=I), maxItems=0)),
     {"a": []}, {"a": [1, 2]}, {"a": [1, 2, 3]}, {"a": ["x", 1, 2]}, {"b": ["a", "b"]}, {"d": [{"x": "y"}]})
case("properties", obj(a=mp(I, minProperties=1, maxProperties=2), b=mp(S, maxProperties=1)),
     {"a": {}}, {"a": {"x": 1}}, {"a": {"x": 1, "y": 2, "z": "3"}}, {"b": {"x": "1", "y": "2"}},
     {"a": {"x/y.z": "w"}})
case("anyof", obj(a={**obj(b=S, c=I, d=S), "anyOf": [{"required": ["b"]}, {"required": ["c", "d"]}]},
                  i={**INT_OR_STRING, "anyOf": [{"type": "integer"}, {"type": "string"}], "pattern": "^[0-9]+%?$"},
                  n={**I, "anyOf": [{"minimum": 10}, {"maximum": 2}, {"enum": [5]}]}),
     {"a": {}}, {"a": {"b": "x"}}, {"a": {"c": 1}}, {"a": {"d": "x", "c": 1}}, {"i": 5}, {"i": "5%"}, {"i": "x"},
     {"i": True}, {"n": 5}, {"n": 6}, {"n": 1}, {"n": "x"})
case("oneof", obj(a={**obj(b=S, c=I, d=obj(e=S)), "oneOf": [{"required": ["b"]}, {"required": ["c"]},
                                                          {"properties": {"d": {"required": ["e"]}},
                                                           "required": ["d"]}]}),
     {"a": {}}, {"a": {"b": "x"}}, {"a": {"b": "x", "c": 1}}, {"a": {"b": "x", "c": 1, "d": {"e": "f"}}},
     {"a": {"d": {}}}, {"a": {"d": {"e": "x"}}})
case("allof", obj(a={**obj(b=S, c=I), "allOf": [{"required": ["b"]}, {"properties": {"c": {"minimum": 5}}}]},
                  s={**S, "allOf": [{"pattern": "a"}, {"maxLength": 2}]}),
     {"a": {}}, {"a": {"b": "x", "c": 3}}, {"a": {"c": 3}}, {"s": "bcd"}, {"s": "abc"}, {"s": "a"}, {"s": "xyz"})
case("not", obj(s={**S, "not": {"pattern": "^x"}}, a={**obj(b=S, c=S), "not": {"required": ["b", "c"]}}),
     {"s": "xy"}, {"s": "y"}, {"a": {"b": "1", "c": "2"}}, {"a": {"b": "1"}})
case("lists", obj(s=lst(S, **{"x-kubernetes-list-type": "set"}), i=lst(I, **{"x-kubernetes-list-type": "set"}),
                  m=lst({**obj(k=S, v=I), "required": ["k"]}, **{"x-kubernetes-list-type": "map",
                                                                "x-kubernetes-list-map-keys": ["k"]}),
                  mm=lst({**obj(k=S, p={**I, "default": 1}, v=I), "required": ["k"]},
                         **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"]}),
                  deep=mp(lst(S, **{"x-kubernetes-list-type": "set"}))),
     {"s": ["a", "b", "a", "a", "b"]}, {"i": [1, 1]}, {"m": [{"k": "a"}, {"k": "a", "v": 1}]},
     {"m": [{"v": 1}, {"v": 2}]}, {"mm": [{"k": "a"}, {"k": "a", "p": 1}, {"k": "a", "p": 2}]},
     {"m": ["x"]}, {"deep": {"x/y": ["a", "a"]}}, {"s": [None, None]})
FORMATS = {
    "byte": ("", "YQ==", "YQ", "a b", "YWJj"), "cidr": ("10.0.0.0/8", "10.0.0.1", "10.0.0.0/33", "::/0", "010.0.0.0/8"),
    "date": ("2024-02-29", "2023-02-29", "x"),
    "date-time": ("2024-01-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00+01:00",
                  "2024-13-01T00:00:00Z", "2024-01-01t00:00:00.123z", "2024-01-01T00:00:00", "2024-01-01T00:00:60Z"),
    "datetime": ("2024-01-01T00:00:00Z", "x"),
    "duration": ("1h", "1 day", "5", "x", "1.5h", "", "3 weeks", "2d", "1h x"),
    "email": ("a@b", "a@b.c", "a", "A <a@b.c>", "a@", "@b", "a b@c.d", "\"a b\"@c.d"),
    "hostname": ("a", "a.b", "a-b.cd", "-a", "a_b", "a.b-", "my-host", "example.com", "1.2.3.4", "a..b"),
    "ipv4": ("1.2.3.4", "1.2.3", "::1", "01.2.3.4", "::ffff:1.2.3.4", "1.2.3.256"),
    "ipv6": ("::1", "1.2.3.4", "fe80::1%eth0", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::2::3"),
    "mac": ("00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455", "00:11", "00:11:22:33:44:5g",
            "00:11:22:33:44:55:66:77"),
    "uri": ("http://a", "a", "/a", "http://a b", "", "http://[::1", "http://a:b", "http://a/%zz", "urn:x", "*", "//a",
            "http://a?x=%zz", ":a", "1a:b", "http://u:p@h:80/x#y"),
    "uuid": ("01234567-89ab-cdef-0123-456789abcdef", "0123456789abcdef0123456789ABCDEF", "x"),
    "uuid3": ("01234567-89ab-3def-0123-456789abcdef", "01234567-89ab-4def-0123-456789abcdef"),
    "uuid4": ("01234567-89ab-4def-8123-456789abcdef", "01234567-89ab-4def-0123-456789abcdef"),
    "uuid5": ("01234567-89ab-5def-8123-456789abcdef", "01234567-89ab-4def-8123-456789abcdef"),
    "isbn": ("3836221195", "978-4-87311-368-5", "123"), "isbn10": ("3-836-22119-5", "3836221194"),
    "isbn13": ("9784873113685", "9784873113684"),
    "creditcard": ("5398228707871527", "5398228707871528", "4111 1111 1111 1111"),
    "ssn": ("078-05-1120", "078051120", "078 05 1120", "x"), "hexcolor": ("#fff", "fff000", "#ffff"),
    "rgbcolor": ("rgb(0,31,255)", "rgb(1,349,275)", "rgb( 1 , 2 , 3 )"), "password": ("x",),
    "bsonobjectid": ("507f1f77bcf86cd799439011", "x"), "int32": ("x",), "quantity": ("x",),
    "k8s-short-name": ("a", "A", "a.b", "a" * 64), "k8s-long-name": ("a.b", "A", "a_b", "a" * 254), "unheardof": ("x",),
}
for name, values in FORMATS.items():
    case("format-" + name, obj(x={**S, "format": name}), *({"x": v} for v in values))

case("ranges", obj(a={**I, "format": "int32", "maximum": 5}, b={**I, "format": "int64"}, c={**I, "format": "uint32"},
                   d={**N, "format": "float"}, e={**N, "format": "float32"}, f={**INT_OR_STRING, "minimum": 1.5},
                   g={**I, "minimum": -0.5}, h={**I, "format": "int32", "maximum": 3000000000},
                   i={"type": "integer", "allOf": [{"format": "int32"}]}, k={**S, "anyOf": [{"format": "ipv4"}]},
                   n={**N, "multipleOf": -2}),
     *({k: v} for k in "abcdefghikn" for v in (2147483648, 1.5, 1e300, 2, "x", 1.0)))
case("enums", obj(a={**I, "enum": [1, 2]}, b={**N, "enum": [1, 2.5]}, c={"enum": ["a", 1], **PRESERVE}, d=obj(e=S),
                  f={**obj(g=I), "enum": [{"g": 1}]}, h={**lst(I), "enum": [[1], [2]]}),
     {"a": 2.9}, {"a": 3}, {"b": 1}, {"b": 2.5}, {"b": 2}, {"c": 1}, {"c": "a"}, {"c": {"x": 1}}, {"c": [1]},
     {"f": {"g": 1}}, {"f": {"g": 2}}, {"h": [1]}, {"h": [3]}, {"c": True}, {"c": None})
case("unique", obj(a=lst(I, maxItems=9), d=lst(lst(I))), {"a": [1, 1]}, {"d": [[1], ["x"]]})

# Objects of a kind with the scale subresource.
SCALED = [{"replicas": 3}, {"replicas": -1}, {"replicas": 3000000000}, {"replicas": "x"}, {"replicas": {"a": [1, "b"]}}, 7,
          {"replicas": 1.5}, {"replicas": [True, {"x": 1}]}, {"selector": 5}, {"selector": "a=b"}]

# Updates: name: (loose schema under which the first state is created, strict schema, first spec, later specs)
STRICT = obj(a={**S, "maxLength": 2}, b={**I, "minimum": 5}, o={**obj(x={**S, "enum": ["ok"]}, y=I), "required": ["z"]},
             l=lst({**I, "maximum": 3}), la=lst({**I, "maximum": 3}, **{"x-kubernetes-list-type": "atomic"}),
             m=lst({**obj(k=S, v={**I, "maximum": 3}), "required": ["k"]},
                   **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}),
             s=lst(S, **{"x-kubernetes-list-type": "set"}),
             mp=mp({**I, "maximum": 3}), al={**obj(p=S, q=S), "allOf": [{"properties": {"p": {"maxLength": 1}}}]},
             an={**obj(p=S, q=S), "anyOf": [{"properties": {"p": {"maxLength": 1}}}, {"required": ["r"]}]})
LOOSE = obj(a=S, b=I, o=obj(x=S, y=I, z=S), l=lst(I), la=lst(I),
            m=lst({**obj(k=S, v=I), "required": ["k"]},
                  **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}), s=lst(S), mp=mp(I),
            al=obj(p=S, q=S), an=obj(p=S, q=S))
STRICT["properties"]["o"]["properties"]["z"] = S
FIRST = {"a": "long", "b": 1, "o": {"x": "bad", "y": 1}, "l": [9, 1], "la": [9, 1], "m": [{"k": "a", "v": 9}, {"k": "b", "v": 8}],
         "s": ["a", "a"], "mp": {"x": 9, "y": 1}, "al": {"p": "long", "q": "x"}, "an": {"p": "long", "q": "x"}}


def changed(**parts):
    return {**FIRST, **parts}


UPDATES = [
    FIRST, changed(a="longer"), changed(b=2), changed(o={"x": "bad", "y": 2}), changed(o={"x": "worse", "y": 1}),
    changed(l=[9, 2]), changed(l=[9, 1, 9]), changed(la=[9, 2]), changed(m=[{"k": "b", "v": 8}, {"k": "a", "v": 9}]),
    changed(m=[{"k": "a", "v": 7}, {"k": "b", "v": 8}]), changed(m=[{"k": "c", "v": 9}]), changed(s=["a", "a", "b"]),
    changed(s=["b", "b"]), changed(mp={"x": 9, "y": 2}), changed(mp={"x": 8}), changed(al={"p": "long", "q": "y"}),
    changed(an={"p": "long", "q": "y"}), changed(al={"p": "longer", "q": "y"}), changed(an={"p": "longer", "q": "y"}),
    changed(m=[{"k": "b", "v": 8}, {"k": "a", "v": 9}], b=6), {},
]

# Definitions: a good one with something changed. None removes. Paths are dotted; S is the schema of the first version.
V = "spec.versions.0."
SCHEMA = V + "schema.openAPIV3Schema"
SPEC = SCHEMA + ".properties.spec"
X = SPEC + ".properties.x"
STORED = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
OTHER = {**STORED, "name": "v1beta1", "storage": False}
RULE = "x-kubernetes-validations"
CRDS = [
    {}, {"spec.group": None}, {"spec.group": "nodots"}, {"spec.group": "Bad_.x"}, {"spec.scope": None}, {"spec.scope": "Some"},
    {"spec.names": None}, {"spec.names.plural": None}, {"spec.names.plural": "Upper"}, {"spec.names.plural": "others"},
    {"spec.names.singular": "Bad"}, {"spec.names.kind": None}, {"spec.names.kind": "bad_kind"}, {"spec.names.kind": "1"},
    {"spec.names.listKind": "Things"}, {"spec.names.listKind": "-"}, {"spec.names.shortNames": ["ok", "Bad"]},
    {"spec.names.categories": ["all", "Bad_"]}, {"spec.versions": None}, {"spec.versions": []},
    {V + "storage": False}, {V + "storage": None}, {V + "served": None}, {V + "name": "V1"}, {V + "name": None},
    {V + "name": "v1.0"}, {"spec.versions": [STORED, STORED]}, {"spec.versions": [STORED, OTHER]},
    {"spec.versions": [STORED, {**OTHER, "storage": True}]}, {"spec.versions": [OTHER, STORED]},
    {V + "schema": None}, {SCHEMA: None}, {SCHEMA: {}}, {SCHEMA: {"type": "array"}}, {SCHEMA + ".type": None},
    {"spec.preserveUnknownFields": True}, {"spec.preserveUnknownFields": False},
    {"spec.conversion": {"strategy": "None"}}, {"spec.conversion": {"strategy": "Other"}},
    {"spec.conversion": {"strategy": "Webhook"}}, {"spec.conversion": {}},
    {"spec.conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": []}}},
    {"spec.conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {}}}},
    {"spec.conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}},
    {X: {}}, {X: {"type": "foo"}}, {X: {"type": "array"}}, {X: lst({})}, {X: {"type": "array", "items": [S]}},
    {X: {"type": "object", "properties": {"a": {}}}}, {X: {"type": "object", "additionalProperties": {}}},
    {X: {"type": "object", "additionalProperties": False}}, {X: {**obj(a=S), "additionalProperties": S}},
    {X: {**obj(a=S), "additionalProperties": True}},
    {X: {**S, "$ref": "#/x"}}, {X: {**S, "uniqueItems": True}}, {X: {**S, "uniqueItems": False}},
    {X: {**S, "definitions": {"a": S}}}, {X: {**S, "dependencies": {"a": ["b"]}}}, {X: {**S, "patternProperties": {"a": S}}},
    {X: {**S, "additionalItems": True}}, {X: {**S, "deprecated": True}}, {X: {**S, "id": "x"}},
    {X: {**S, "readOnly": True}}, {X: {**S, "title": "t", "description": "d", "example": 1, "externalDocs": {"url": "x"}}},
    {X: {**S, "discriminator": "x"}}, {X: {**S, "xml": {}}},
    {X: {**S, "default": 1}}, {X: {**S, "default": "a", "enum": ["b"]}}, {X: {**I, "default": 0, "minimum": 1}},
    {X: {**obj(a=S), "default": {"a": "x", "b": 1}}}, {X: {**obj(a=S), "default": {}, "required": ["a"]}},
    {X: {**obj(a={**S, "default": "q"}), "default": {}, "required": ["a"]}}, {X: {**S, "default": None}},
    {X: {**S, "nullable": True, "default": None}}, {X: {**lst(I), "default": ["x"]}},
    {X: {**S, "format": "ipv4", "default": "x"}}, {X: {**PRESERVE, "default": {"anything": [1]}}},
    {X: {**EMBEDDED, "default": {"apiVersion": "v1"}}}, {SCHEMA + ".default": {}},
    {SCHEMA + ".properties.metadata": {"type": "object", "default": {}}},
    {SCHEMA + ".properties.metadata": obj(name={**S, "maxLength": 5})},
    {SCHEMA + ".properties.metadata": obj(labels=mp(S))}, {SCHEMA + ".properties.metadata": S},
    {SCHEMA + ".properties.metadata": {"type": "object", "minProperties": 1}},
    {SCHEMA + ".properties.apiVersion": I}, {SCHEMA + ".properties.kind": {**S, "default": "x"}},
    {SCHEMA + ".properties.metadata": obj(name={**S, "default": "x"})},
    {X: {**S, "allOf": [S]}}, {X: {**S, "anyOf": [{"minLength": 1, "default": "x"}]}},
    {X: {**S, "oneOf": [{"description": "d"}, {"title": "t"}, {"nullable": True}]}},
    {X: {**S, "not": {"type": "string", "x-kubernetes-preserve-unknown-fields": True}}},
    {X: {**obj(a=S), "allOf": [{"properties": {"b": {"minLength": 1}}}]}},
    {X: {**obj(a=S), "anyOf": [{"properties": {"a": {"type": "string"}}}]}},
    {X: {**obj(a=S), "anyOf": [{"additionalProperties": S}]}}, {X: {**lst(S), "anyOf": [{"items": {"minLength": 2}}]}},
    {X: {**S, "anyOf": [{"items": {"minLength": 2}}]}},
    {X: {**obj(a=S), "not": {"properties": {"a": {"enum": ["x"]}}}}},
    {X: {**S, **INT_OR_STRING}}, {X: {**INT_OR_STRING, "anyOf": [{"type": "integer"}, {"type": "string"}]}},
    {X: {**INT_OR_STRING, "anyOf": [{"type": "string"}, {"type": "integer"}]}},
    {X: {**INT_OR_STRING, "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}]}},
    {X: {**INT_OR_STRING, "nullable": True}}, {X: {**INT_OR_STRING, "anyOf": [{"type": "integer"}]}},
    {X: {**S, **PRESERVE}}, {X: {"type": "object", "x-kubernetes-preserve-unknown-fields": False}},
    {X: {**lst(S), **PRESERVE}},
    {X: {**S, "x-kubernetes-embedded-resource": True}}, {X: {"type": "object", "x-kubernetes-embedded-resource": True}},
    {X: {**obj(metadata=obj(name=S)), "x-kubernetes-embedded-resource": True}},
    {X: {**obj(metadata=obj(labels=S)), "x-kubernetes-embedded-resource": True}},
    {SCHEMA + ".x-kubernetes-embedded-resource": True},
    {X: lst(S, **{"x-kubernetes-list-type": "what"})}, {X: {**S, "x-kubernetes-list-type": "set"}},
    {X: lst(S, **{"x-kubernetes-list-type": "set"})}, {X: lst(obj(a=S), **{"x-kubernetes-list-type": "set"})},
    {X: lst({**obj(a=S), "x-kubernetes-map-type": "atomic"}, **{"x-kubernetes-list-type": "set"})},
    {X: lst({**S, "nullable": True}, **{"x-kubernetes-list-type": "set"})},
    {X: lst(lst(S), **{"x-kubernetes-list-type": "set"})},
    {X: lst({**lst(S), "x-kubernetes-list-type": "atomic"}, **{"x-kubernetes-list-type": "set"})},
    {X: lst(obj(a=S), **{"x-kubernetes-list-type": "map"})},
    {X: lst(obj(a=S), **{"x-kubernetes-list-map-keys": ["a"]})},
    {X: lst(obj(a=S), **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: lst({**obj(a=S), "required": ["a"]}, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"]})},
    {X: lst({**obj(a=S), "required": ["a"]}, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "a"]})},
    {X: lst({**obj(a=obj(b=S)), "required": ["a"]}, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: lst({**obj(a={**S, "nullable": True}), "required": ["a"]},
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: lst({**obj(a={**S, "default": "x"})}, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: lst(S, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: lst({**obj(a=S), "required": ["a"], "nullable": True},
            **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]})},
    {X: {**obj(a=S), "x-kubernetes-map-type": "what"}}, {X: {**S, "x-kubernetes-map-type": "atomic"}},
    {X: {**obj(a=S), "x-kubernetes-map-type": "granular"}},
    {X: {**S, "pattern": "("}}, {X: {**S, "pattern": "a{2,1}"}}, {X: {**S, "pattern": "(?=a)"}},
    {X: {**S, "minLength": -1}}, {X: {**S, "maxLength": "x"}}, {X: {**I, "minimum": "x"}}, {X: {**S, "enum": []}},
    {X: {**S, "enum": ["a", "a"]}}, {X: {**I, "multipleOf": -1}}, {X: {**S, "nullable": "yes"}}, {X: "nonsense"},
    {X: {**S, "unheard": 1}}, {"spec.unheard": 1}, {V + "unheard": 1},
    {X: {**S, RULE: [{"rule": "self.size() > 1"}]}}, {X: {**S, RULE: [{"rule": ""}]}}, {X: {**S, RULE: [{}]}},
    {X: {**S, RULE: [{"rule": "self +"}]}}, {X: {**S, RULE: [{"rule": "self.foo"}]}},
    {X: {**S, RULE: [{"rule": "true", "reason": "Nope"}]}}, {X: {**S, RULE: [{"rule": "true", "message": " \n"}]}},
    {X: {**S, RULE: [{"rule": "true", "message": "a\nb"}]}}, {X: {**S, RULE: [{"rule": "a\nb"}]}},
    {X: {**obj(a=S), RULE: [{"rule": "true", "fieldPath": ".b"}]}},
    {X: {**obj(a=S), RULE: [{"rule": "true", "fieldPath": ".a"}]}},
    {X: {**obj(a=S), RULE: [{"rule": "true", "fieldPath": "a["}]}},
    {X: {**S, RULE: [{"rule": "true", "optionalOldSelf": True}]}},
    {X: {**S, RULE: [{"rule": "self == oldSelf"}, {"rule": "self == oldSelf"}]}},
    {X: {**S, "anyOf": [{RULE: [{"rule": "true"}]}]}},
    {X: lst({**S, RULE: [{"rule": "self == oldSelf"}]})},
    {V + "subresources": {"status": {}}}, {V + "subresources": {"scale": {}}},
    {V + "subresources": {"scale": {"specReplicasPath": ".spec.x", "statusReplicasPath": ".status.x"}}},
    {V + "subresources": {"scale": {"specReplicasPath": "spec.x", "statusReplicasPath": ".spec.y"}}},
    {V + "subresources": {"scale": {"specReplicasPath": ".spec.x[0]", "statusReplicasPath": ".status.y",
                                    "labelSelectorPath": ".foo"}}},
    {V + "subresources": {"scale": {"specReplicasPath": ".status.x", "statusReplicasPath": ".status",
                                    "labelSelectorPath": "x["}}},
    {V + "additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": ".spec.x"}]},
    {V + "additionalPrinterColumns": [{}]}, {V + "additionalPrinterColumns": [{"name": "A", "type": "what", "jsonPath": "spec.x"}]},
    {V + "additionalPrinterColumns": [{"name": "A", "type": "date", "format": "what", "jsonPath": ".spec["}]},
    {V + "additionalPrinterColumns": [{"name": "A", "type": "integer", "format": "int32", "jsonPath": "{.spec.x}"}]},
    {V + "selectableFields": [{"jsonPath": ".spec.x"}]}, {V + "selectableFields": [{}]},
    {V + "selectableFields": [{"jsonPath": "spec.x"}]}, {V + "selectableFields": [{"jsonPath": ".spec.nope"}]},
    {V + "selectableFields": [{"jsonPath": ".spec.x"}, {"jsonPath": ".spec.x"}]},
    {V + "selectableFields": [{"jsonPath": ".spec"}]}, {V + "selectableFields": [{"jsonPath": ".metadata.name"}]},
    {V + "selectableFields": [{"jsonPath": ".spec.x[0]"}]},
    {V + "selectableFields": [{"jsonPath": f".spec.x{i}"} for i in range(9)]},
    {V + "deprecated": True}, {V + "deprecated": True, V + "deprecationWarning": "do not"},
    {V + "deprecationWarning": "do not"}, {V + "deprecated": True, V + "deprecationWarning": "x" * 257},
    {V + "deprecated": True, V + "deprecationWarning": "a\nb"}, {V + "deprecated": True, V + "deprecationWarning": ""},
    {"metadata.name": "wrong.rules.example.com"}, {"metadata.name": "Bad"}, {"status": {"storedVersions": ["v9"]}},
    {"spec.group": "foo.k8s.io", "metadata.name": "things.foo.k8s.io"},
    {"spec.group": "foo.k8s.io", "metadata.name": "things.foo.k8s.io",
     "metadata.annotations": {"api-approved.kubernetes.io": "nonsense"}},
    {"spec.group": "foo.kubernetes.io", "metadata.name": "things.foo.kubernetes.io",
     "metadata.annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}},
    {"spec.group": "foo.k8s.io", "metadata.name": "things.foo.k8s.io",
     "metadata.annotations": {"api-approved.kubernetes.io": "unapproved, experimental-only"}},
    {X: {**S, "format": "unheard-of"}}, {X: {**I, "format": "int32"}}, {X: {**I, "format": "ipv4"}},
    {X: {**N, "format": "float64"}}, {X: {**S, "anyOf": [{"format": "unheard-of"}]}},
    {X: {**obj(a=S), "required": ["b"]}}, {X: {**S, "minLength": 5, "maxLength": 2}},
    {"metadata.labels": {"a": "b c"}}, {"spec.names.shortNames": ["a", "a"]},
    {SCHEMA + ".required": ["spec"]}, {SCHEMA + ".maxProperties": 3}, {SCHEMA + ".nullable": True},
    {SCHEMA + ".x-kubernetes-preserve-unknown-fields": True}, {SCHEMA + ".additionalProperties": S},
    {SCHEMA + ".anyOf": [{"required": ["spec"]}], V + "subresources": {"status": {}}},
    {SCHEMA + ".enum": [{}], V + "subresources": {"status": {}}},
]

# Changes of a definition that is established.
CHANGES = [
    {}, {"spec.scope": "Cluster"}, {"spec.names.kind": "Other"}, {"spec.group": "other.example.com"},
    {"spec.names.plural": "others"}, {"spec.names.singular": "one"}, {"spec.names.shortNames": ["th"]},
    {"spec.versions": [OTHER, STORED]}, {"spec.versions": [{**STORED, "name": "v2"}]}, {"spec.versions": []},
    {"spec.versions": [{**OTHER, "storage": True}, {**STORED, "storage": False}]}, {X: {}}, {X: I},
    {"status": {"storedVersions": []}}, {"spec.conversion": None}, {"metadata.labels": {"a": "b"}},
    {V + "served": False}, {X: {**S, RULE: [{"rule": "self.size() > 1"}]}}, {X: lst({**S, RULE: [{"rule": "self.size() > 1"}]})},
]
