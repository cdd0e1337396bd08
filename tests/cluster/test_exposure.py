"""Objects of other projects' CRDs: what their schemas fill in is no reason to write again."""
from lab import own_lab, wait_for
from promises import Operator, model, service, wait_children, wait_condition

DASHBOARDS = "/apis/grafana.integreatly.org/v1beta1/namespaces/charts/grafanadashboards"
DASHBOARD_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "grafanadashboards.grafana.integreatly.org"},
    "spec": {"group": "grafana.integreatly.org", "scope": "Namespaced",
             "names": {"plural": "grafanadashboards", "singular": "grafanadashboard",
                       "kind": "GrafanaDashboard", "listKind": "GrafanaDashboardList"},
             "versions": [{"name": "v1beta1", "served": True, "storage": True, "schema": {
                 "openAPIV3Schema": {"type": "object", "properties": {"spec": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}}}]}}


@own_lab()
def test_exposure_and_objective_are_at_rest_after_a_restart(lab):
    lab.install_crds("tests/golden/crds")
    ns = lab.namespace("exposed")
    edge = {"gateway": {"enabled": True, "gatewayRef": {"name": "edge"}}}
    with Operator(lab, "--enable-pyrra-slo") as operator:
        lab.apply(ns, [model(), service(endpoint=edge, slo={"objective": "99"})])
        wait_condition(lab, "inferenceservices", ns, "svc", "GatewayReady")
        wait_condition(lab, "inferenceservices", ns, "svc", "SLOReady")
        operator.settle()
        routes = f"/apis/aigateway.envoyproxy.io/v1beta1/namespaces/{ns}/aigatewayroutes"
        rule, = lab.api("GET", f"{routes}/svc")["spec"]["rules"]
        assert rule["backendRefs"][0]["weight"] == 1, rule  # the schema's, not ours
        mark = lab.mark()
        operator.restart()
        operator.settle()
        assert not lab.writes(mark), lab.writes(mark)
        edge["gateway"]["modelName"] = "other"
        lab.apply(ns, [service(endpoint=edge, slo={"objective": "99"})])
        wait_for(lambda: "other" in str(lab.api("GET", f"{routes}/svc")["spec"]), 15, "the new name")
        lab.apply(ns, [service(slo={"objective": "99"})])
        wait_for(lambda: not lab.api("GET", routes)["items"], 15, "the route to go")


def dashboard(name, runtime=None):
    needs = f"\n  annotations: {{dashboards.llmkube.dev/requires-runtime: {runtime}}}" if runtime else ""
    return (f"apiVersion: grafana.integreatly.org/v1beta1\nkind: GrafanaDashboard\nmetadata:\n"
            f"  name: {name}{needs}\nspec: {{folder: models}}\n")


@own_lab()
def test_dashboards_follow_the_runtimes_in_use(lab):
    lab.create("customresourcedefinitions", None, DASHBOARD_CRD)
    ns = lab.namespace("charts")
    lab.namespace("used")
    lab.apply(ns, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {
        "a": dashboard(f"{name}-all"), "b": dashboard(f"{name}-sglang", "sglang")}}
        for name in ("candidates", "others")])

    def published():
        return {d["metadata"]["name"] for d in lab.api("GET", DASHBOARDS)["items"]}
    with Operator(lab, "--grafana-dashboard-source=charts/candidates") as operator:
        wait_for(lambda: published() == {"candidates-all"}, 20, "the unconditional dashboard")
        lab.apply("used", [model(), service(runtime="sglang")])
        wait_children(lab, "used")
        wait_for(lambda: published() == {"candidates-all", "candidates-sglang"}, 15, "SGLang's")
        lab.patch("inferenceservices", "used", "svc", {"spec": {"replicas": 0}})
        wait_for(lambda: published() == {"candidates-all"}, 15, "SGLang's to go")
        operator.settle()
