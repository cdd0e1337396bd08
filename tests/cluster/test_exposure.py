"""Objects of other projects' CRDs: what their schemas fill in is no reason to write again."""
from lab import own_lab, wait_for
from promises import Operator, model, service, wait_condition


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
