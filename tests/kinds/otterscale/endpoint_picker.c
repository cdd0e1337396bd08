#include "tests/kinds/otterscale/otters.h"

#include "tests/test.h"

#define KIND (&otterscale_model_service_kind)

static struct json picker(const struct plan *p, const char *name)
{
    return json_get(otters_child(p, &RESOURCE_DEPLOYMENT, name), "spec.template.spec.containers.0");
}

TEST(the_pickers_configuration_is_known_by_upstreams_hashes)
{
    static const char *const rows[][2] = {
        { "{}", "3aee930c4fc2cf8c749623ba30a077bd93d5cca0c6513c87a5fe3427b089f2f1" },
        { "{'prefill': {}}", "da2206ceec8c17d0eef3714ea7387e412c7b565661113eef5c0d0fd2b083eb23" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl", rows[i][0]);
        const struct plan *p = otters_run(&w, KIND, "owl");
        struct json annotations = json_get(
            otters_child(p, &RESOURCE_DEPLOYMENT, "owl-epp"), "spec.template.metadata.annotations");
        check_text(json_text(json_member(annotations, "checksum/config")), rows[i][1]);
    }
}

TEST(several_pickers_elect_one_of_them)
{
    struct otters w;
    otters_init(&w);
    otters_service(
        &w, "owl", "{'inferencePool': {'endpointPicker': {'replicas': 3, 'port': 9444}}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check_json(json_get(picker(p, "owl-epp"), "args"),
        "['--pool-name=owl', '--pool-namespace=ml', '--pool-group=inference.networking.k8s.io',"
        " '--config-file=/config/default-plugins.yaml', '--grpc-port=9444', '--zap-encoder=json',"
        " '--ha-enable-leader-election', '--tracing=false']");
    check_text(json_get_text(picker(p, "owl-epp"), "readinessProbe.grpc.service"), "readiness");
    check_int(json_get(otters_child(p, &OTTERSCALE_ROLE, "owl-epp"), "rules").count, 5);
    check_json(json_get(otters_child(p, &OTTERSCALE_CLUSTER_ROLE, "ml-owl-epp"), "rules.2"),
        "{'nonResourceURLs': ['/metrics'], 'verbs': ['get']}");
    check_text(json_get_text(
                   otters_child(p, &OTTERSCALE_POOL, "owl"), "spec.endpointPickerRef.failureMode"),
        "FailOpen");
}

/* Kubernetes deletes a token whose account is not there, and whoever may not make the account would
 * make the token again and again. */
TEST(a_token_waits_for_its_account)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w, "owl", "{'inferencePool': {'endpointPicker': {}}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    size_t tokens = 0;
    for (size_t i = 1; i < p->child_count; i++)
        if (p->children[i].resource == &RESOURCE_SECRET) {
            tokens++;
            check(p->children[i].after.resource == &RESOURCE_SERVICE_ACCOUNT);
        }
    check_int((int64_t)tokens, 1);
}

TEST(flags_decide_on_tokens_rules_routes_and_traces)
{
    struct otters w;
    otters_init(&w);
    w.settings.provider = "gke";
    w.settings.gateway = NULL;
    w.settings.tracing = true;
    w.settings.otel_endpoint = "http://otel:4317";
    otters_service(&w,
        "owl",
        "{'inferencePool': {'endpointPicker': {}}, 'monitoring': {'podMonitor': {'enabled': "
        "true}}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check(!json_present(otters_child(p, &RESOURCE_SECRET, "owl-epp-sa-metrics-reader-secret")));
    check(!json_present(json_get(otters_child(p, &OTTERSCALE_SERVICE_MONITOR, "owl-epp"),
        "spec.endpoints.0.authorization")));
    check(!json_present(otters_child(p, &OTTERSCALE_RULE, "owl-epp")));
    check(!json_present(otters_child(p, &OTTERSCALE_ROUTE, "owl")));
    struct json env = json_get(picker(p, "owl-epp"), "env");
    check_text(json_get_text(json_find(env, "name", "OTEL_EXPORTER_OTLP_ENDPOINT"), "value"),
        "http://otel:4317");
    w.settings.metrics_auth = false;
    p = otters_run(&w, KIND, "owl");
    check(json_list_has(json_get(picker(p, "owl-epp"), "args"), "--metrics-endpoint-auth=false"));
    check(!json_present(otters_child(p, &OTTERSCALE_CLUSTER_ROLE, "ml-owl-epp")));
}

TEST(a_route_names_its_gateways_namespace_only_if_it_is_another)
{
    static const char *const rows[][2] = {
        { "{'httpRoute': {'gatewayRef': {'name': 'g'}}}", NULL },
        { "{'httpRoute': {'gatewayRef': {'name': 'g', 'namespace': 'ml'}}}", NULL },
        { "{'httpRoute': {'gatewayRef': {'name': 'g', 'namespace': 'infra'}}}", "infra" },
        { "{}", "llm-d" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct otters w;
        otters_init(&w);
        otters_service(&w, "owl.2", rows[i][0]);
        struct json route = otters_child(otters_run(&w, KIND, "owl.2"), &OTTERSCALE_ROUTE, "owl.2");
        check_text(json_get_text(route, "spec.parentRefs.0.namespace"), rows[i][1]);
        check_text(json_get_text(route, "spec.rules.0.matches.0.headers.0.value"), "owl.2");
    }
}

TEST(of_two_names_that_sanitise_alike_the_first_keeps_it)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w, "owl.1", "{}");
    check(json_present(
        otters_child(otters_run(&w, KIND, "owl.1"), &RESOURCE_SERVICE_ACCOUNT, "owl-1-epp")));
    otters_service(&w, "owl-1", "{}");
    const struct plan *p = otters_run(&w, KIND, "owl-1");
    check(!json_present(otters_child(p, &RESOURCE_SERVICE_ACCOUNT, "owl-1-epp")));
    const char *second =
        json_get_text(otters_child(p, &OTTERSCALE_POOL, "owl-1"), "spec.endpointPickerRef.name");
    check(json_present(otters_child(p, &RESOURCE_SERVICE_ACCOUNT, second)));
    /* and keeps it when the first one is gone */
    file_view_remove(&w.view, &RESOURCE_SERVICE_ACCOUNT, "ml", "owl-1-epp");
    p = otters_run(&w, KIND, "owl-1");
    check(json_present(otters_child(p, &RESOURCE_SERVICE_ACCOUNT, second)));
}

TEST(of_two_that_come_together_the_one_whose_name_it_is_has_it)
{
    struct otters w;
    otters_init(&w);
    otters_service(&w, "owl.1", "{}");
    otters_service(&w, "owl-1", "{}");
    check(!json_present(
        otters_child(otters_run(&w, KIND, "owl.1"), &RESOURCE_SERVICE_ACCOUNT, "owl-1-epp")));
    check(json_present(
        otters_child(otters_run(&w, KIND, "owl-1"), &RESOURCE_SERVICE_ACCOUNT, "owl-1-epp")));
}

TEST(a_cluster_role_of_another_service_is_not_taken)
{
    struct otters w;
    otters_init(&w);
    otters_add(&w,
        "{'apiVersion': 'rbac.authorization.k8s.io/v1', 'kind': 'ClusterRoleBinding',"
        " 'metadata': {'name': 'ml-owl-epp', 'annotations': {'leeboard.dev/owner':"
        " 'ModelService.model.otterscale.io/m/l-owl'}}}");
    otters_service(&w, "owl", "{'inferencePool': {'endpointPicker': {}}}");
    const struct plan *p = otters_run(&w, KIND, "owl");
    check(!json_present(otters_child(p, &OTTERSCALE_CLUSTER_ROLE, "ml-owl-epp")));
}
