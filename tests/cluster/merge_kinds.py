"""Random configurations for test_merge.py: built-in kinds by hand, custom kinds from their schema."""
import base64

APP = {"app": "x"}


def some(rng, items, least=0):
    """A random part of the items, in random order."""
    items = list(items)
    rng.shuffle(items)
    return items[:rng.randint(least, len(items))]


def maybe(rng, chance=0.5):
    return rng.random() < chance


def texts(rng, prefix="k", least=0):
    return {f"{prefix}{i}": f"v{rng.randint(0, 2)}" for i in some(rng, range(4), least)}


def metadata(rng):
    out = {}
    if maybe(rng):
        out["labels"] = {k if k != "k0" else "a.b/k0": v for k, v in texts(rng).items()}
    if maybe(rng, 0.3):
        out["annotations"] = texts(rng)
    if maybe(rng, 0.15):
        out["finalizers"] = some(rng, ["test.dev/a", "test.dev/b"])
    return out


def quantities(rng):
    return {name: rng.choice(values) for name, values in some(rng, [
        ("cpu", ["1000m", "1", "0.5", "500m", 2, "2"]), ("memory", ["1Gi", "1024Mi", "2048Mi", "1G"]),
        ("example.com/gpu", ["1", 1, "2"])])}


def environment(rng):
    out = []
    for i in some(rng, range(4)):
        if maybe(rng, 0.2):
            out.append({"name": f"E{i}", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}})
        else:
            out.append({"name": f"E{i}", "value": rng.choice(["", "1", "two", "<&>"])})
    return out


def container(rng, name, full):
    out = {"name": name}
    if full or maybe(rng):
        out["image"] = rng.choice(["a:1", "b:2"])
    for field, make in (
            ("env", lambda: environment(rng)),
            ("args", lambda: some(rng, ["-a", "-b", "--c=1"])),
            ("ports", lambda: [{"containerPort": p, **({"protocol": proto} if proto else {}),
                                **({"name": f"p{p}"} if maybe(rng) else {})}
                               for p, proto in some(rng, [(80, None), (81, "TCP"), (53, "UDP")])]),
            ("resources", lambda: {part: quantities(rng) for part in some(rng, ["limits", "requests"])
                                   if part == "limits"}),
            ("volumeMounts", lambda: [{"name": f"v{i}", "mountPath": f"/m{i}"}
                                      for i in some(rng, range(2))]),
            ("readinessProbe", lambda: {"httpGet": {"path": "/", "port": rng.choice([80, "p80"])},
                                        "periodSeconds": rng.choice([5, 10])}),
            ("securityContext", lambda: {"capabilities": {"drop": ["ALL"]}} if maybe(rng) else {}),
            ("tty", lambda: maybe(rng)),
            ("workingDir", lambda: rng.choice(["", "/w"]))):
        if maybe(rng, 0.3):
            out[field] = make()
    return out


def volume(rng, i):
    return {"name": f"v{i}", **rng.choice([{"emptyDir": {}}, {"configMap": {"name": "c"}},
                                           {"emptyDir": {"medium": "Memory"}}])}


def pod_spec(rng, full):
    out = {}
    if full or maybe(rng):
        out["containers"] = [container(rng, f"c{i}", full) for i in some(rng, range(3), 1)]
    if full or maybe(rng, 0.3):
        out["volumes"] = [volume(rng, i) for i in (some(rng, range(2)) if not full else range(2))]
    for field, make in (
            ("nodeSelector", lambda: texts(rng)),
            ("tolerations", lambda: [{"key": k, "operator": "Exists"} for k in some(rng, "ab")]),
            ("terminationGracePeriodSeconds", lambda: rng.choice([0, 30, 60])),
            ("hostNetwork", lambda: False),
            ("imagePullSecrets", lambda: [{"name": n} for n in some(rng, "ab")]),
            ("hostAliases", lambda: [{"ip": ip, "hostnames": ["h"]}
                                     for ip in some(rng, ["10.0.0.1", "10.0.0.2"])]),
            ("topologySpreadConstraints", lambda: [
                {"topologyKey": k, "maxSkew": 1, "whenUnsatisfiable": w}
                for k, w in some(rng, [("z", "DoNotSchedule"), ("z", "ScheduleAnyway"), ("h", "DoNotSchedule")])]),
            ("securityContext", lambda: {"runAsNonRoot": maybe(rng)} if maybe(rng) else {})):
        if maybe(rng, 0.2):
            out[field] = make()
    return out


def template(rng, full):
    out = {}
    if full:
        out["metadata"] = {"labels": {**APP, **texts(rng)}}
    elif maybe(rng, 0.4):
        out["metadata"] = {"annotations": texts(rng, least=1)}
    spec = pod_spec(rng, full)
    if spec:
        out["spec"] = spec
    return out


def workload(rng, full, more):
    spec = {"selector": {"matchLabels": APP}} if full else {}
    part = template(rng, full)
    if part:
        spec["template"] = part
    if maybe(rng, 0.4):
        spec["replicas"] = rng.randint(0, 3)
    if maybe(rng, 0.2):
        spec["revisionHistoryLimit"] = rng.randint(1, 3)
    more(spec)
    return {"spec": spec} if spec else {}


def deployment(rng, full):
    def more(spec):
        if maybe(rng, 0.3):
            spec["strategy"] = rng.choice([
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": rng.choice([1, "25%"])}},
                {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"}}])
        if maybe(rng, 0.2):
            spec["minReadySeconds"] = rng.randint(0, 2)
    return workload(rng, full, more)


def stateful_set(rng, full):
    def more(spec):
        if full:
            spec["serviceName"] = "s"
    return workload(rng, full, more)


def service(rng, full):
    spec = {}
    if full or maybe(rng):
        spec["ports"] = [{"port": p, **({"protocol": proto} if proto else {}), "name": f"{proto}-{p}".lower(),
                          **({"targetPort": rng.choice([8080, "web"])} if maybe(rng) else {})}
                         for p, proto in some(rng, [(80, None), (81, "TCP"), (53, "UDP")], 1)]
    if full or maybe(rng, 0.3):
        spec["selector"] = {**APP, **texts(rng)}
    if maybe(rng, 0.3):
        spec["sessionAffinity"] = "None"
    if maybe(rng, 0.2):
        spec["publishNotReadyAddresses"] = maybe(rng)
    return {"spec": spec} if spec else {}


def config_map(rng, _):
    out = {}
    if maybe(rng, 0.8):
        out["data"] = texts(rng)
    if maybe(rng, 0.3):
        out["binaryData"] = {f"b{i}": base64.b64encode(b"x" * i).decode() for i in some(rng, range(3))}
    return out


def autoscaler(rng, full):
    spec = {}
    if full:
        spec["scaleTargetRef"] = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    if full or maybe(rng):
        spec["maxReplicas"] = rng.randint(3, 5)
    if maybe(rng):
        spec["minReplicas"] = rng.randint(1, 2)
    if maybe(rng, 0.4):
        spec["metrics"] = [{"type": "Resource", "resource": {"name": n, "target": {
            "type": "Utilization", "averageUtilization": rng.randint(50, 52)}}}
                           for n in some(rng, ["cpu", "memory"], 1)]
    if maybe(rng, 0.3):
        spec["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": rng.choice([0, 60])}}
    return {"spec": spec} if spec else {}


def workload_status(rng):
    out = {"replicas": rng.randint(1, 3), "observedGeneration": rng.randint(1, 3)}
    if maybe(rng):
        out["conditions"] = [{"type": t, "status": rng.choice(["True", "False"]), "reason": "R", "message": "m"}
                             for t in some(rng, ["Available", "Progressing"])]
    return out


def service_status(rng):
    return {"conditions": [{"type": t, "status": "True", "reason": "R", "message": "m",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"} for t in some(rng, ["A", "B"])]}


def autoscaler_status(rng):
    return {"desiredReplicas": rng.randint(0, 3), "currentReplicas": rng.randint(0, 3)}


class FromSchema:
    """Random values of a structural schema. Fields with patterns are left out unless they must be there; fields with
    defaults too, except inside atomic values, where a default would change what was applied."""

    def __init__(self, schema):
        self.schema, self.atomic = schema, 0

    def part(self, rng, name, full):
        schema = self.schema["properties"].get(name)
        return self.value(rng, schema, full, 0) if schema else None

    def value(self, rng, schema, full, depth):
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return rng.choice([1, 2, "1", "50%"])
        kind = schema.get("type")
        if kind == "string":
            if schema.get("format") == "date-time":
                return rng.choice(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
            return rng.choice("abcde") * max(1, schema.get("minLength", 1))
        if kind in ("integer", "number"):
            low = schema.get("minimum", 0)
            return rng.randint(int(low), int(min(schema.get("maximum", low + 3), low + 3)))
        if kind == "boolean":
            return maybe(rng)
        if kind in ("array", "object"):
            atomic = "atomic" == (schema.get("x-kubernetes-list-type", "atomic") if kind == "array" else
                                  schema.get("x-kubernetes-map-type"))
            self.atomic += atomic
            out = (self.list if kind == "array" else self.map)(rng, schema, full, depth)
            self.atomic -= atomic
            return out
        return rng.choice([1, "free", [1, 2], {"deep": {"er": rng.randint(0, 2)}}])

    def list(self, rng, schema, full, depth):
        how, keys = schema.get("x-kubernetes-list-type", "atomic"), schema.get("x-kubernetes-list-map-keys", [])
        out, seen = [], set()
        for _ in range(rng.randint(schema.get("minItems", 0), 3 if how == "atomic" else 5)):
            item = self.value(rng, schema["items"], full, depth + 1)
            for key in keys:
                field = schema["items"]["properties"][key]
                if key not in item and (key in schema["items"].get("required", []) or "default" not in field):
                    item[key] = self.value(rng, field, full, depth + 1)
            mark = repr([item.get(k, schema["items"]["properties"][k].get("default")) for k in keys]
                        if keys else item)
            if how == "atomic" or mark not in seen:
                out.append(item)
            seen.add(mark)
        return out

    def map(self, rng, schema, full, depth):
        if schema.get("x-kubernetes-embedded-resource"):
            return {"apiVersion": "v1", "kind": "X", "metadata": {"name": "x", "labels": texts(rng, least=1)}}
        if schema.get("x-kubernetes-preserve-unknown-fields") and "properties" not in schema:
            return {f"u{i}": rng.choice([1, "x", {"y": rng.randint(0, 2)}, [1]]) for i in some(rng, range(3))}
        out, more = {}, schema.get("additionalProperties")
        if isinstance(more, dict):
            return {f"m{i}": self.value(rng, more, full, depth + 1) for i in some(rng, range(3))}
        required = schema.get("required", [])
        for name, field in schema.get("properties", {}).items():
            must = (name in required and (full or depth > 0)) or (self.atomic and "default" in field)
            if must or (maybe(rng, 0.5 if depth < 2 else 0.3) and depth < 6 and not self.awkward(field)):
                out[name] = self.value(rng, field, full, depth + 1)
        return out

    def awkward(self, field):
        return "pattern" in field or "x-kubernetes-validations" in field or "default" in field


SHAPE = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "shapes.test.leeboard.dev"},
    "spec": {
        "group": "test.leeboard.dev", "scope": "Namespaced",
        "names": {"plural": "shapes", "singular": "shape", "kind": "Shape"},
        "versions": [{
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                                                     "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer"},
                    "text": {"type": "string"},
                    "ratio": {"type": "number"},
                    "flag": {"type": "boolean"},
                    "either": {"x-kubernetes-int-or-string": True},
                    "atomicList": {"type": "array", "items": {"type": "integer"}},
                    "atomicItems": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {
                        "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}},
                    "texts": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "numbers": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "integer"}},
                    "items": {
                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {
                            "name": {"type": "string"},
                            "value": {"type": "string"},
                            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                            "inner": {
                                "type": "array", "x-kubernetes-list-type": "map",
                                "x-kubernetes-list-map-keys": ["id"],
                                "items": {"type": "object", "required": ["id"], "properties": {
                                    "id": {"type": "integer"}, "note": {"type": "string"}}}},
                            "tags": {"type": "array", "x-kubernetes-list-type": "set",
                                     "items": {"type": "string"}},
                            "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                                "p": {"type": "string"}, "q": {"type": "string"}}}}}},
                    "ports": {
                        "type": "array", "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["port", "protocol"],
                        "items": {"type": "object", "required": ["port"], "properties": {
                            "port": {"type": "integer"},
                            "protocol": {"type": "string", "default": "TCP"},
                            "name": {"type": "string"}}}},
                    "atomicMap": {"type": "object", "x-kubernetes-map-type": "atomic",
                                  "additionalProperties": {"type": "string"}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "structs": {"type": "object", "additionalProperties": {
                        "type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}},
                    "lists": {"type": "object", "additionalProperties": {
                        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}},
                    "nested": {"type": "object", "properties": {"deep": {"type": "object", "properties": {
                        "deeper": {"type": "object", "properties": {
                            "a": {"type": "string"}, "b": {"type": "string", "nullable": True}}}}}}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "half": {"type": "object", "x-kubernetes-preserve-unknown-fields": True,
                             "properties": {"known": {"type": "integer"}}},
                    "anything": {"x-kubernetes-preserve-unknown-fields": True},
                    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True,
                                 "x-kubernetes-preserve-unknown-fields": True}}},
                "status": {"type": "object", "properties": {
                    "replicas": {"type": "integer"},
                    "conditions": {
                        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                        "items": {"type": "object", "required": ["type"], "properties": {
                            "type": {"type": "string"}, "status": {"type": "string"}}}},
                    "seen": {"type": "object", "additionalProperties": {"type": "integer"}}}}}}}}]}}
SHAPE["spec"]["versions"].append({**SHAPE["spec"]["versions"][0], "name": "v2", "storage": False})
