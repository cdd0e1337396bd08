"""ToolHive's kinds beside MCPServer on a real kube-apiserver: deletion with and without referents,
edits that reach the workloads, drift of children, a deletion that leaves nothing."""
from lab import wait_for
from promises import Operator, condition
from test_toolhive import FLAGS, gateway, server, thing

LAB = {"controllers": "*"}
REMOTE = "https://mcp.acme.test/mcp"


def remote(**spec):
    return thing("MCPRemoteProxy", "gateway", remoteUrl=REMOTE, **spec)


def test_a_config_goes_when_its_last_referent_is_gone(lab):
    ns = lab.namespace("referents")
    with Operator(lab, *FLAGS):
        lab.apply(ns, thing("MCPToolConfig", "trim", toolsFilter=["a"]))
        lab.apply(ns, server(toolConfigRef={"name": "trim"}))
        lab.apply(ns, remote(toolConfigRef={"name": "trim"}))
        for plural, name in (("mcpservers", "weather"), ("mcpremoteproxies", "gateway")):
            wait_for(lambda p=plural, n=name: lab.get(p, ns, n).get("status", {}).get(
                "toolConfigHash"), 20, f"a hash in {plural}")
        lab.delete("mcptoolconfigs", ns, "trim")
        blocked = wait_for(lambda: condition(lab.get("mcptoolconfigs", ns, "trim"),
                                             "DeletionBlocked"), 20, "DeletionBlocked")
        assert blocked["message"].endswith(": MCPServer/weather, MCPRemoteProxy/gateway"), blocked
        lab.delete("mcpremoteproxies", ns, "gateway")
        wait_for(lambda: condition(lab.get("mcptoolconfigs", ns, "trim"), "DeletionBlocked")[
            "message"].endswith(": MCPServer/weather"), 20, "a shorter list")
        lab.patch("mcpservers", ns, "weather", {"spec": {"toolConfigRef": None}})
        wait_for(lambda: lab.get("mcptoolconfigs", ns, "trim") is None, 20, "the end of the config")


def test_a_config_of_nobody_and_a_group_with_members_go_at_once(lab):
    ns = lab.namespace("alone")
    with Operator(lab, *FLAGS):
        lab.apply(ns, thing("MCPTelemetryConfig", "otel"))
        lab.apply(ns, thing("MCPGroup", "tools"))
        lab.apply(ns, server(groupRef={"name": "tools"}))
        wait_for(lambda: lab.get("mcpgroups", ns, "tools").get("status", {}).get(
            "servers") == ["weather"], 20, "the member")
        lab.delete("mcptelemetryconfigs", ns, "otel")
        lab.delete("mcpgroups", ns, "tools")
        for plural, name in (("mcptelemetryconfigs", "otel"), ("mcpgroups", "tools")):
            wait_for(lambda p=plural, n=name: lab.get(p, ns, n) is None, 20, f"the end of {name}")
        wait_for(lambda: (condition(lab.get("mcpservers", ns, "weather"), "GroupRefValidated") or {}).get(
            "reason") == "GroupRefNotFound", 20, "the condition of the server")


def test_an_edit_of_a_config_reaches_the_proxies_and_a_fault_does_not(lab):
    ns = lab.namespace("edited")
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, thing("MCPTelemetryConfig", "otel", openTelemetry={
            "enabled": True, "endpoint": "https://otel.test", "tracing": {"enabled": True}}))
        lab.apply(ns, remote(telemetryConfigRef={"name": "otel"}))

        def config():
            found = lab.get("configmaps", ns, "gateway-runconfig")
            return found and found["data"]["runconfig.json"]
        before = wait_for(config, 20, "the RunConfig")
        lab.patch("mcptelemetryconfigs", ns, "otel",
                  {"spec": {"openTelemetry": {"endpoint": "https://other.test"}}})
        wait_for(lambda: "other.test" in config(), 20, "the new endpoint")
        lab.patch("mcptelemetryconfigs", ns, "otel",
                  {"spec": {"openTelemetry": {"tracing": {"enabled": False}}}})
        wait_for(lambda: lab.get("mcpremoteproxies", ns, "gateway")["status"]["phase"] == "Failed",
                 20, "the proxy to tell")
        op.settle()
        assert "other.test" in config()
        status = lab.get("mcpremoteproxies", ns, "gateway")["status"]
        assert status["message"] == "MCPTelemetryConfig otel is not valid", status
        assert lab.get("deployments", ns, "gateway"), "the proxy is gone"
        lab.patch("mcptelemetryconfigs", ns, "otel", {"spec": {"openTelemetry": {
            "enabled": True, "endpoint": "https://otel.test", "tracing": {"enabled": True}}}})
        wait_for(lambda: config() == before, 20, "the first RunConfig")


def test_children_that_drift_or_go_come_back(lab):
    ns = lab.namespace("drift")
    children = (
        ("deployments", "gateway", {"spec": {"template": {"spec": {"serviceAccountName": "x"}}}}),
        ("services", "mcp-gateway-remote-proxy", {"spec": {"sessionAffinity": "None"}}),
        ("configmaps", "gateway-runconfig", {"data": {"runconfig.json": "{}"}}),
        ("roles", "gateway-remote-proxy-runner", {"rules": []}),
        ("statefulsets", "vectors", {"spec": {"replicas": 4}}),
        ("services", "vectors", {"spec": {"selector": {"app.kubernetes.io/name": "x"}}}),
        ("deployments", "catalog-api", {"spec": {"template": {"spec": {
            "serviceAccountName": "x"}}}}),
        ("configmaps", "catalog-registry-server-config", {"data": {"config.yaml": ""}}),
        ("deployments", "weather", {"spec": {"template": {"spec": {"serviceAccountName": "x"}}}}),
        ("services", "mcp-weather-proxy", {"spec": {"sessionAffinity": "None"}}),
        ("configmaps", "weather-runconfig", {"data": {"runconfig.json": "{}"}}),
        ("roles", "weather-proxy-runner", {"rules": []}),
        ("deployments", "hub", {"spec": {"template": {"spec": {"serviceAccountName": "x"}}}}),
        ("services", "vmcp-hub", {"spec": {"sessionAffinity": "None"}}),
        ("configmaps", "hub-vmcp-config", {"data": {"config.yaml": ""}}),
        ("roles", "hub-vmcp", {"rules": []}),
    )
    with Operator(lab, *FLAGS) as op:
        lab.apply(ns, [thing("MCPGroup", "tools"), remote(), server(), gateway()])
        lab.apply(ns, thing("EmbeddingServer", "vectors", modelCache={"enabled": True}))
        lab.apply(ns, thing("MCPRegistry", "catalog", configYAML="sources: []"))

        def content(plural, name):
            o = lab.get(plural, ns, name)
            return o and {key: o.get(key) for key in ("spec", "data", "rules")}
        wait_for(lambda: all(content(p, n) for p, n, _ in children), 20, "the children")
        op.settle()
        for plural, name, change in children:
            before = content(plural, name)
            lab.patch(plural, ns, name, change)
            wait_for(lambda p=plural, n=name, b=before: content(p, n) == b, 20,
                     f"{plural}/{name} to be as it was")
            lab.delete(plural, ns, name)
            wait_for(lambda p=plural, n=name: content(p, n), 20, f"{plural}/{name} to return")
        op.settle()


def test_a_deleted_object_leaves_nothing_of_ours(lab):
    ns = lab.namespace("left")
    objects = (("mcpremoteproxies", remote()),
               ("embeddingservers", thing("EmbeddingServer", "vectors")),
               ("mcpregistries", thing("MCPRegistry", "catalog", configYAML="sources: []")))
    plurals = ("deployments", "statefulsets", "services", "roles", "rolebindings")
    with Operator(lab, *FLAGS):
        for _, o in objects:
            lab.apply(ns, o)
        wait_for(lambda: len([o for p in plurals for o in lab.list(p, ns)]) == 10, 20, "children")
        for plural, o in objects:
            lab.delete(plural, ns, o["metadata"]["name"])
        wait_for(lambda: not [o for p in plurals for o in lab.list(p, ns)], 60, "their end")
        wait_for(lambda: not [o for p, _ in objects for o in lab.list(p, ns)], 20, "the end")
