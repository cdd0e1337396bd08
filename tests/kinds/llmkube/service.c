#include "tests/kinds/llmkube/service_stage.h"

static struct json port(const struct stage *s)
{
    return json_get(stage_child(s, "Service"), "spec.ports.0");
}

TEST(a_service_leads_to_the_port_of_the_container)
{
    struct stage s;
    service_init(&s, "'runtime': 'vllm'");
    service_run(&s);
    check_json(port(&s), "{'name': 'http', 'port': 8080, 'protocol': 'TCP', 'targetPort': 8000}");
    check_text(json_get_text(s.plan.status, "endpoint"),
        "http://svc.ns.svc.cluster.local:8080/v1/chat/completions");
    service_spec(&s, "'containerPort': 9001, 'endpoint': {'port': 80, 'path': '/v1/embeddings'}");
    service_run(&s);
    check_json(port(&s), "{'name': 'http', 'port': 80, 'protocol': 'TCP', 'targetPort': 9001}");
    check_text(json_get_text(s.plan.status, "endpoint"),
        "http://svc.ns.svc.cluster.local:80/v1/embeddings");
}

TEST(a_node_port_is_asked_for_only_of_a_node_port_service)
{
    struct stage s;
    service_init(&s, "'endpoint': {'type': 'NodePort', 'nodePort': 30123}");
    service_run(&s);
    check_int(json_get_int(port(&s), "nodePort", 0), 30123);
    service_spec(&s, "'endpoint': {'type': 'LoadBalancer', 'nodePort': 30123}");
    service_run(&s);
    check(!json_present(json_get(port(&s), "nodePort")));
    check_text(json_get_text(stage_child(&s, "Service"), "spec.type"), "LoadBalancer");
}
