#include "kinds/workloads/workloads.h"

#include "tests/kinds/stage.h"
#include "tests/test.h"

static const struct kind *const KIND = &workloads_service_kind;

static void begin(struct stage *s, const char *spec)
{
    stage_init(s, NULL);
    stage_add(s, "{'kind': 'Service', 'metadata': {'name': 'svc', 'labels': {'team': 'a'}}}");
    stage_edit(s, &WORKLOADS_SERVICE, "svc", "spec", spec);
}

#define PORTS "'ports': [{'name': 'http', 'port': 80, 'targetPort': 'web', 'protocol': 'TCP'}]"
#define SPEC "{'selector': {'app': 'web'}, " PORTS "}"

static void add_pod(struct stage *s, const char *name, const char *more)
{
    struct arena *a = test_arena();
    struct json pod = test_json(
        "{'kind': 'Pod', 'metadata': {'labels': {'app': 'web'}}, 'spec': {'nodeName': 'n',"
        " 'containers': [{'ports': [{'name': 'web', 'containerPort': 8000, 'protocol': 'TCP'}]}]},"
        " 'status': {'phase': 'Running', 'podIP': '10.0.0.1', 'podIPs': [{'ip': '10.0.0.1'}],"
        "  'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    pod = json_with(a, pod, "metadata.name", json_str(name));
    json_each_member (m, test_json(more))
        pod = json_with(a, pod, m->key, m->value);
    stage_add_json(s, pod);
}

TEST(a_service_names_its_ready_pods)
{
    struct stage s;
    begin(&s, SPEC);
    add_pod(&s, "a", "{}");
    add_pod(&s, "ends", "{'metadata.deletionTimestamp': '2026-11-15T16:00:00Z'}");
    add_pod(&s, "ended", "{'status.phase': 'Succeeded'}");
    add_pod(&s, "nowhere", "{'status.podIP': '', 'status.podIPs': []}");
    add_pod(&s, "other", "{'metadata.labels': {'app': 'x'}}");
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 1);
    struct json slice = stage_child(&s, "EndpointSlice");
    check_json(json_get(slice, "metadata.labels"),
        "{'team': 'a', 'kubernetes.io/service-name': 'svc',"
        " 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io'}");
    check_json(json_get(slice, "ports"), "[{'name': 'http', 'port': 8000, 'protocol': 'TCP'}]");
    check_int(json_get(slice, "endpoints").count, 2);
    check_json(json_get(slice, "endpoints.0"),
        "{'addresses': ['10.0.0.1'], 'nodeName': 'n',"
        " 'conditions': {'ready': true, 'serving': true, 'terminating': false},"
        " 'targetRef': {'kind': 'Pod', 'namespace': 'ns', 'name': 'a', 'uid': 'Pod/a'}}");
    check_json(json_get(slice, "endpoints.1.conditions"),
        "{'ready': false, 'serving': true, 'terminating': true}");
}

TEST(pods_with_other_ports_and_the_hundred_and_first_have_slices_of_their_own)
{
    struct stage s;
    begin(&s, SPEC);
    add_pod(&s,
        "b",
        "{'spec.containers': [{'ports': [{'name': 'web', 'containerPort': 9000,"
        " 'protocol': 'TCP'}]}]}");
    for (int i = 0; i < 101; i++)
        add_pod(&s, arena_printf(test_arena(), "a%d", i), "{}");
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 3);
    const char *last = json_get_text(s.plan.children[2].object, "metadata.name");
    check(!text_eq(json_get_text(s.plan.children[0].object, "metadata.name"), last));
}

TEST(a_service_without_pods_has_an_empty_slice)
{
    struct stage s;
    begin(&s, SPEC);
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 1);
    check(!json_present(json_get(stage_child(&s, "EndpointSlice"), "endpoints")));
}

TEST(a_service_without_a_selector_is_left_to_others)
{
    struct stage s;
    begin(&s, "{" PORTS "}");
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 0);
    check(s.plan.keep_children);
    begin(&s, "{'type': 'ExternalName', 'selector': {'app': 'web'}}");
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 0);
}

TEST(a_load_balancer_is_told_where_it_is_reached)
{
    static struct workloads_settings settings;
    struct stage s;
    begin(&s, "{'type': 'LoadBalancer', 'selector': {'app': 'web'}, " PORTS "}");
    stage_run(&s, KIND, "svc");
    check(!s.plan.has_status); /* nobody makes one */
    settings.balanced = test_json("['127.0.0.1', '192.0.2.2']");
    s.settings = &settings;
    stage_run(&s, KIND, "svc");
    check_json(
        s.plan.status, "{'loadBalancer': {'ingress': [{'ip': '127.0.0.1'}, {'ip': '192.0.2.2'}]}}");
    check_int(s.plan.child_count, 1);
    stage_edit(&s, &WORKLOADS_SERVICE, "svc", "spec.loadBalancerClass", "'theirs.example/x'");
    stage_run(&s, KIND, "svc");
    check_json(s.plan.status, "{}");
    stage_edit(&s, &WORKLOADS_SERVICE, "svc", "spec.loadBalancerClass", NULL);
    stage_edit(&s, &WORKLOADS_SERVICE, "svc", "spec.type", "'ClusterIP'");
    stage_run(&s, KIND, "svc");
    check_json(s.plan.status, "{}");
}

TEST(a_headless_service_for_a_set_names_hosts_that_are_not_ready)
{
    struct stage s;
    begin(&s,
        "{'selector': {'app': 'web'}, 'clusterIP': 'None', 'publishNotReadyAddresses': true,"
        " 'ipFamilies': ['IPv6', 'IPv4']}");
    add_pod(&s,
        "a",
        "{'spec.hostname': 'a', 'spec.subdomain': 'svc', 'status.conditions': [],"
        " 'status.podIPs': [{'ip': '10.0.0.1'}, {'ip': 'fd00::1'}]}");
    stage_run(&s, KIND, "svc");
    check_int(s.plan.child_count, 2);
    struct json first = s.plan.children[0].object, second = s.plan.children[1].object;
    check_text(json_get_text(first, "addressType"), "IPv6");
    check_text(json_get_text(first, "endpoints.0.addresses.0"), "fd00::1");
    check_text(json_get_text(second, "endpoints.0.addresses.0"), "10.0.0.1");
    check_text(json_get_text(second, "endpoints.0.hostname"), "a");
    check(json_get_bool(second, "endpoints.0.conditions.ready", false));
    check_text(json_text(json_member(
                   json_get(second, "metadata.labels"), "service.kubernetes.io/headless")),
        "");
}
