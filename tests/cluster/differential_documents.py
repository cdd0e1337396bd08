"""OpenAPI documents, all of them and whole. Descriptions are left out: built-in kinds have none here, those of custom kinds are compared."""
import time

SCRIPTS = []


def script(function):
    SCRIPTS.append((function.__name__, function))
    return function


def without_prose(value):
    if isinstance(value, list):
        return [without_prose(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: without_prose(v) for k, v in value.items() if k != "description" or not isinstance(v, str)}


def show(s, label, document):
    s.record(label, without_prose(document))


@script
def openapi_of_built_in_kinds(s):
    index = s.ask("GET", "/openapi/v3").body["paths"]
    own = [name for name in sorted(index) if not name.startswith("apis/") or name.count(".") == 0 or ".k8s.io" in name]
    own = [name for name in own if "openid" not in name]  # keys of tokens are not published here
    s.record("documents", own)
    for name in own:
        show(s, name, s.ask("GET", f"/openapi/v3/{name}").body)


def definition(plural, kind, scope, version, **schema):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.my.open-api.example"},
            "spec": {"group": "my.open-api.example", "scope": scope, "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": kind + "List"},
                     "versions": [{"name": "v1beta1", "served": True, "storage": True, **version, "schema": {"openAPIV3Schema": {"type": "object", **schema}}}]}}


@script
def openapi_of_custom_kinds(s):
    number, text = {"type": "integer"}, {"type": "string"}
    inside = {"color": text, "replicas": {**number, "format": "int32", "default": 1, "nullable": True}, "either": {"x-kubernetes-int-or-string": True, "anyOf": [number, text]},
              "object": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
              "objects": {"type": "array", "items": {"type": "object", "required": ["spec"], "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}}},
              "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"], "x-kubernetes-validations": [{"rule": "self.size() < 4"}],
                        "items": {"type": "object", "required": ["a"], "properties": {"a": text}}},
              "byName": {"type": "object", "additionalProperties": {**text, "enum": ["x", "y"]}}}
    scaled = {"selectableFields": [{"jsonPath": ".spec.color"}, {"jsonPath": ".spec.replicas"}], "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = [definition("widgets", "Widget", "Namespaced", scaled, required=["spec"], properties={
                "apiVersion": text, "metadata": {"type": "object"}, "spec": {"type": "object", "properties": inside}, "status": {"type": "object", "properties": {"replicas": number}}}),
            definition("gizmos", "Gizmo", "Cluster", {}, **{"x-kubernetes-preserve-unknown-fields": True})]
    for body in made:
        s.post(definitions, body)
    path, end, document = "/openapi/v3/apis/my.open-api.example/v1beta1", time.monotonic() + 60, {}
    while time.monotonic() < end and not (document and all(f"/{b['spec']['names']['plural']}" in "".join(document["paths"]) for b in made)):
        answer = s.ask("GET", path)
        document = answer.body if answer.status == 200 else {}
        time.sleep(0.1)  # the real server gathers documents in the background
    show(s, "v1beta1", document)
    known = {}
    while time.monotonic() < end and "example.open-api.my.v1beta1.GizmoList" not in known:
        known = s.ask("GET", "/openapi/v2").body["definitions"]
        time.sleep(0.1)
    show(s, "v2", {"definitions": {k: v for k, v in known.items() if k.startswith(("io.k8s.", "example.open-api."))}})
    for body in made:
        s.delete(f"{definitions}/{body['metadata']['name']}")
