"""ToolHive's kinds with the controllers of Kubernetes beside them: the two bugs of upstream's
operator that wiped out checksums and overtook pods, the status that a gateway writes too, and the
key that is made once."""
import base64

from lab import wait_for
from promises import Operator

LAB = {"controllers": "*"}
API = "toolhive.stacklok.dev/v1beta1"
CHECKSUM = "toolhive.stacklok.dev/runconfig-checksum"
GENERATION = "toolhive.stacklok.dev/mcpserver-generation"
RESTARTED = "kubectl.kubernetes.io/restartedAt"
FLAGS = ("--toolhive-runner-image=proxy.test/r:1", "--vmcp-image=gateway.test/v:1")


def thing(kind, name, **spec):
    return {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}


def server(**spec):
    return thing("MCPServer", "weather", **{"image": "img.test/w:1", "transport": "streamable-http",
                                            **spec})


class Proxy:
    """The Deployment of the server, and how often its pods were replaced."""

    def __init__(self, lab, ns, name="weather"):
        self.lab, self.ns, self.name = lab, ns, name

    def get(self):
        return self.lab.get("deployments", self.ns, self.name)

    def template(self):
        return self.get()["spec"]["template"]

    def annotations(self):
        return self.template()["metadata"]["annotations"]

    def env(self, name):
        found = [e for e in self.template()["spec"]["containers"][0]["env"] if e["name"] == name]
        assert len(found) == 1, (name, found)
        return found[0]

    def check(self, expected):
        """So many rollouts, and not one more."""
        def observed():
            d = self.get()
            return d and d["status"].get("observedGeneration") == d["metadata"]["generation"] and d
        d = wait_for(observed, 30, "the deployment controller")
        sets = [s for s in self.lab.list("replicasets", self.ns)
                if s["metadata"]["ownerReferences"][0]["name"] == self.name]
        revision = d["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        assert (revision, len(sets)) == (str(expected), expected), \
            f"revision {revision} with {len(sets)} ReplicaSets instead of {expected}"


# Annotations and labels of users under every map that they can extend, ours among them.
OVERRIDES = {
    "proxyDeployment": {
        "annotations": {"vault.hashicorp.com/agent-inject": "true", CHECKSUM: "mine"},
        "labels": {"team": "a", "app": "evil"},
        "podTemplateMetadataOverrides": {
            "annotations": {"vault.hashicorp.com/role": "weather", CHECKSUM: "mine",
                            GENERATION: "99"},
            "labels": {"tier": "proxy", "toolhive-name": "evil"}}},
    "proxyService": {"annotations": {"cloud.google.com/neg": "{}"},
                     "labels": {"team": "a", "app": "evil"}}}
INPUTS = (
    {"image": "img.test/w:2"}, {"args": ["--city=Oslo"]}, {"env": [{"name": "A", "value": "1"}]},
    {"proxyPort": 9090}, {"mcpPort": 7000}, {"endpointPrefix": "/p"}, {"trustProxyHeaders": True},
    {"audit": {"enabled": True}}, {"permissionProfile": {"type": "builtin", "name": "none"}},
    {"toolConfigRef": {"name": "trim"}}, {"telemetryConfigRef": {"name": "otel"}},
    {"oidcConfigRef": {"name": "corp", "audience": "w"}},
    {"authzConfig": {"type": "inline", "inline": {"policies": [
        "permit(principal, action, resource);"]}}},
    {"backendReplicas": 2})


def configs():
    return [thing("MCPToolConfig", "trim", toolsFilter=["q"]),
            thing("MCPTelemetryConfig", "otel", prometheus={"enabled": True}),
            thing("MCPOIDCConfig", "corp", type="inline",
                  inline={"issuer": "https://login.test"})]


def test_annotations_of_users_never_take_the_place_of_the_checksum(lab):
    """Seed 001. Seen to fail with toolhive_merge() letting users win: there is no proxy then."""
    ns = lab.namespace("checksum")
    with Operator(lab, *FLAGS) as op:
        spec = {"resourceOverrides": OVERRIDES}
        lab.apply(ns, [*configs(), server(**spec)])
        proxy = Proxy(lab, ns)
        wait_for(proxy.get, 30, "the proxy")
        proxy.check(1)
        seen = {proxy.annotations()[CHECKSUM]}
        for i, change in enumerate(INPUTS):
            spec.update(change)
            lab.apply(ns, server(**spec))
            wait_for(lambda: proxy.annotations()[GENERATION] == str(i + 2), 30, f"{change}")
            op.settle()
            proxy.check(i + 2)
            annotations = proxy.annotations()
            assert annotations[CHECKSUM] not in seen | {"mine"}, (change, annotations)
            seen.add(annotations[CHECKSUM])
        d, t = proxy.get(), proxy.template()
        assert t["metadata"]["annotations"]["vault.hashicorp.com/role"] == "weather"
        assert t["metadata"]["labels"]["tier"] == "proxy"
        assert t["metadata"]["labels"]["toolhive-name"] == "weather"
        assert d["metadata"]["annotations"]["vault.hashicorp.com/agent-inject"] == "true"
        assert d["metadata"]["labels"]["app"] == "mcpserver"
        # A change of what it refers to is an input, too.
        lab.apply(ns, thing("MCPToolConfig", "trim", toolsFilter=["r"]))
        wait_for(lambda: proxy.annotations()[CHECKSUM] not in seen, 30, "the new tools")
        op.settle()
        proxy.check(len(INPUTS) + 2)


def test_the_generation_of_a_pod_is_that_of_its_template(lab):
    """Seed 004."""
    ns = lab.namespace("generation")
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, server())
        proxy = Proxy(lab, ns)
        wait_for(proxy.get, 30, "the proxy")
        for generation in range(1, 5):
            if generation > 1:
                lab.apply(ns, server(args=[f"--n={generation}"]))
            wait_for(lambda: proxy.annotations()[GENERATION] == str(generation), 30, "the template")
            op.settle()
            field = proxy.env("THV_MCPSERVER_GENERATION")["valueFrom"]["fieldRef"]
            assert field == {"apiVersion": "v1",
                             "fieldPath": f"metadata.annotations['{GENERATION}']"}, field
            config = lab.get("configmaps", ns, "weather-runconfig")["data"]["runconfig.json"]
            assert f'"mcpserver_generation": {generation}' in config
            proxy.check(generation)
        version = proxy.get()["metadata"]["resourceVersion"]
        lab.api("PATCH", lab.path("mcpservers", ns, "weather"),
                {"metadata": {"annotations": {"note": "idle"}}}, "application/merge-patch+json")
        op.settle()
        op.restart()
        op.settle()
        assert proxy.get()["metadata"]["resourceVersion"] == version, "an idle pass wrote"


def test_what_others_do_to_a_proxy_stays(lab):
    """A rollout restart, annotations of a cloud, an autoscaler's replicas."""
    ns = lab.namespace("others")
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, server())
        proxy = Proxy(lab, ns)
        wait_for(proxy.get, 30, "the proxy")
        op.settle()
        lab.kubectl("-n", ns, "rollout", "restart", "deployment/weather")
        restarted = proxy.annotations()[RESTARTED]
        lab.kubectl("-n", ns, "scale", "deployment/weather", "--replicas=3")
        neg = {"metadata": {"annotations": {"cloud.google.com/neg-status": "{}"}}}
        for plural, name in (("services", "mcp-weather-proxy"), ("deployments", "weather")):
            lab.api("PATCH", lab.path(plural, ns, name) + "?fieldManager=gke", neg,
                    "application/merge-patch+json")
        op.settle()
        lab.apply(ns, server(args=["--x"]))
        wait_for(lambda: proxy.annotations()[GENERATION] == "2", 30, "the change")
        op.settle()
        assert proxy.annotations()[RESTARTED] == restarted
        assert proxy.get()["spec"]["replicas"] == 3
        for plural, name in (("services", "mcp-weather-proxy"), ("deployments", "weather")):
            assert "cloud.google.com/neg-status" in \
                lab.get(plural, ns, name)["metadata"]["annotations"], plural
        proxy.check(3)


# The gateway

def gateway(**spec):
    return thing("VirtualMCPServer", "hub", **{"groupRef": {"name": "tools"},
                                               "incomingAuth": {"type": "anonymous"}, **spec})


def status(lab, ns):
    return (lab.get("virtualmcpservers", ns, "hub") or {}).get("status") or {}


def condition(lab, ns, kind):
    return next((c for c in status(lab, ns).get("conditions", ()) if c["type"] == kind), {})


def report(lab, ns, phase, message, ready, backends):
    """What the gateway pod does: it reads the object, sets its part and puts all of it."""
    o = lab.get("virtualmcpservers", ns, "hub")
    s = o["status"]
    s.update(phase=phase, message=message, backendCount=sum(b["status"] == "ready" for b in backends),
             discoveredBackends=backends)
    mine = [{"type": "Ready", "status": ready, "reason": "SomeBackendsUnhealthy",
             "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "BackendsDiscovered", "status": "True", "reason": "BackendsDiscovered",
             "message": "found", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    for c in mine:
        there = [o for o in s["conditions"] if o["type"] == c["type"]]
        if there:
            there[0].update(c)
        else:
            s["conditions"].append(c)
    lab.api("PUT", lab.path("virtualmcpservers", ns, "hub") + "/status?fieldManager=vmcp", o)


def start_gateway(lab, ns):
    lab.apply(ns, [thing("MCPGroup", "tools"), gateway()])
    wait_for(lambda: lab.list("pods", ns), 30, "the pod of the gateway")
    lab.play_pods(ns)
    wait_for(lambda: status(lab, ns).get("phase") == "Ready", 30, "the gateway to be ready")


def test_gateway_and_operator_write_one_status_without_a_fight(lab):
    """Seen to fail without plan_yield(): the operator's phase and message take the place of the
    gateway's."""
    ns = lab.namespace("shared")
    with Operator(lab, *FLAGS) as op:
        start_gateway(lab, ns)
        op.settle()
        mark = lab.mark()
        for n in range(6):
            word = "ready" if n % 2 else "unavailable"
            report(lab, ns, "Degraded", f"report {n}", "False", [
                {"name": "a", "status": "ready"}, {"name": "b", "status": word}])
            op.settle()
            s = status(lab, ns)
            assert (s["phase"], s["message"]) == ("Degraded", f"report {n}"), s
            assert s["backendCount"] == 1 + n % 2 and len(s["discoveredBackends"]) == 2, s
        assert not lab.writes(mark), f"the operator wrote {lab.writes(mark)}"
        ready = condition(lab, ns, "Ready")
        assert (ready["reason"], ready["message"]) == ("SomeBackendsUnhealthy", "report 5"), ready

        # A change of ours goes past what the gateway says.
        lab.apply(ns, gateway(telemetryConfigRef={"name": "absent"}))
        wait_for(lambda: condition(lab, ns, "TelemetryConfigRefValidated").get("status") == "False",
                 30, "the broken reference")
        assert status(lab, ns)["message"] == "report 5"
        lab.apply(ns, gateway())
        wait_for(lambda: not condition(lab, ns, "TelemetryConfigRefValidated"), 30, "the repair")
        op.settle()
        s = status(lab, ns)
        assert s["message"] == "report 5" and len(s["discoveredBackends"]) == 2, s

        # No pod, no gateway: then it is ours to say.
        lab.kubectl("-n", ns, "scale", "deployment/hub", "--replicas=0")
        wait_for(lambda: status(lab, ns)["phase"] == "Pending", 60, "the operator's word")
        op.settle()
        s = status(lab, ns)
        assert s["message"] == "No pods found for Virtual MCP server", s
        assert len(s["discoveredBackends"]) == 2, "what the gateway found is its own"


def test_the_session_key_is_made_once(lab):
    ns = lab.namespace("key")

    def key():
        o = lab.get("secrets", ns, "hub-hmac-secret")
        return o and o["data"]["hmac-secret"]
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, [thing("MCPGroup", "tools"), gateway()])
        first = wait_for(key, 30, "the key")
        raw = base64.b64decode(base64.b64decode(first))
        assert len(raw) == 32 and len(set(raw)) > 10, raw
        op.settle()
        op.restart()
        lab.apply(ns, gateway(replicas=2))
        wait_for(lambda: lab.get("deployments", ns, "hub")["spec"]["replicas"] == 2, 30, "replicas")
        op.settle()
        assert key() == first
        lab.delete("secrets", ns, "hub-hmac-secret")
        second = wait_for(key, 30, "another key")
        assert second != first


def test_a_poisonous_object_harms_no_other(lab):
    ns = lab.namespace("poison")
    poison = gateway(config={"compositeTools": [{
        "name": "t", "description": "d", "steps": [{"id": "a", "tool": "x"}],
        "output": {"properties": {"s": {"type": "object", "description": "d", "properties": {
            "n": {"type": "integer", "description": False}}}}}}]})
    other = gateway()
    other["metadata"]["name"] = "bystander"
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, [thing("MCPGroup", "tools"), poison, other])
        wait_for(lambda: lab.get("deployments", ns, "bystander"), 30, "the bystander's gateway")
        op.settle()
        valid = condition(lab, ns, "Valid")
        assert valid["status"] == "False", valid
        assert "output.properties.s.properties.n.description: expected string" in valid["message"]
        assert not lab.get("deployments", ns, "hub")
