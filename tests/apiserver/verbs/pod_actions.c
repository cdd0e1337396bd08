#include "tests/apiserver/desk.h"

#define PODS "/api/v1/namespaces/default/pods"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

static void make_pod(struct desk *d, const char *name)
{
    desk_do(d,
        "POST",
        PODS,
        arena_printf(test_arena(),
            "{'metadata':{'name':'%s','labels':{'a':'b'}},"
            "'spec':{'containers':[{'name':'c','image':'i'}]}}",
            name));
}

static void patch(struct desk *d, const char *target, const char *body)
{
    struct desk_answer got =
        desk_ask_as(d, "PATCH", target, "application/merge-patch+json", NULL, body);
    check_int(got.status, 200);
}

TEST(a_pod_is_bound_once)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    make_pod(&d, "p");
    static const char binding[] = "{'metadata':{'name':'p'},'target':{'kind':'Node','name':'n'}}";
    struct desk_answer got = desk_ask(&d, "POST", PODS "/p/binding?dryRun=All", binding);
    check_int(got.status, 201);
    check(!json_get_text(desk_do(&d, "GET", PODS "/p", NULL), "spec.nodeName"));
    got = desk_ask(&d, "POST", PODS "/p/binding", binding);
    check_int(got.status, 201);
    struct json pod = desk_do(&d, "GET", PODS "/p", NULL);
    check_text(json_get_text(pod, "spec.nodeName"), "n");
    struct json condition = json_get(pod, "status.conditions").items[0];
    check_text(json_get_text(condition, "type"), "PodScheduled");
    check_text(json_get_text(condition, "status"), "True");
    got = desk_ask(&d, "POST", "/api/v1/namespaces/default/bindings", binding);
    check_int(got.status, 409);
    check_text(json_get_text(got.body, "message"),
        "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to node "
        "\"n\"");
    desk_done(&d);
}

TEST(an_eviction_asks_the_budget)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    make_pod(&d, "p");
    static const char eviction[] =
        "{'apiVersion':'policy/v1','kind':'Eviction','metadata':{'name':'p'}}";
    patch(&d,
        PODS "/p/status",
        "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}");
    desk_do(&d,
        "POST",
        BUDGETS,
        "{'metadata':{'name':'b'},'spec':{'minAvailable':1,'selector':{'matchLabels':{'a':'b'}}}}");
    struct desk_answer got = desk_ask(&d, "POST", PODS "/p/eviction", eviction);
    check_int(got.status, 429);
    check_text(json_get_text(json_get(got.body, "details.causes").items[0], "message"),
        "The disruption budget b is still being processed by the server.");
    patch(&d,
        BUDGETS "/b/status",
        "{'status':{'observedGeneration':1,'disruptionsAllowed':0,'currentHealthy':1,"
        "'desiredHealthy':1,'expectedPods':1}}");
    got = desk_ask(&d, "POST", PODS "/p/eviction", eviction);
    check_int(got.status, 429);
    patch(&d, BUDGETS "/b/status", "{'status':{'disruptionsAllowed':1}}");
    got = desk_ask(&d, "POST", PODS "/p/eviction?dryRun=All", eviction);
    check_int(got.status, 201);
    got = desk_ask(&d,
        "POST",
        PODS "/p/eviction?dryRun=All",
        "{'apiVersion':'policy/v1beta1','kind':'Eviction','metadata':{'name':'p'}}");
    check_int(got.status, 201);
    check_int(
        json_get_int(desk_do(&d, "GET", BUDGETS "/b", NULL), "status.disruptionsAllowed", -1), 1);
    got = desk_ask(&d, "POST", PODS "/p/eviction", eviction);
    check_int(got.status, 201);
    check_int(desk_ask(&d, "GET", PODS "/p", NULL).status, 404);
    check_int(
        json_get_int(desk_do(&d, "GET", BUDGETS "/b", NULL), "status.disruptionsAllowed", -1), 0);
    desk_done(&d);
}

TEST(a_pod_gets_the_account_and_the_limits_of_its_namespace)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    desk_do(&d,
        "POST",
        "/api/v1/namespaces/default/limitranges",
        "{'metadata':{'name':'l'},'spec':{'limits':[{'type':'Container','default':{'cpu':'1'},"
        "'max':{'cpu':'2'}}]}}");
    make_pod(&d, "p");
    struct json pod = desk_do(&d, "GET", PODS "/p", NULL);
    check_text(json_get_text(pod, "spec.serviceAccountName"), "default");
    struct json container = json_get(pod, "spec.containers").items[0];
    check_text(json_get_text(container, "resources.limits.cpu"), "1");
    check_text(json_get_text(json_member(container, "volumeMounts").items[0], "mountPath"),
        "/var/run/secrets/kubernetes.io/serviceaccount");
    struct desk_answer got = desk_ask(&d,
        "POST",
        PODS,
        "{'metadata':{'name':'q'},'spec':{'containers':[{'name':'c','image':'i','resources':"
        "{'limits':{'cpu':'3'}}}]}}");
    check_int(got.status, 403);
    check_text(json_get_text(got.body, "message"),
        "pods \"q\" is forbidden: maximum cpu usage per Container is 2, but limit is 3");
    desk_done(&d);
}

TEST(a_query_with_a_nul_selects_nothing_instead_of_everything)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    make_pod(&d, "p");
    struct desk_answer got = desk_ask(&d, "DELETE", PODS "?labelSelector=a%00", NULL);
    check_int(got.status, 400);
    check_int(desk_ask(&d, "GET", PODS "/p", NULL).status, 200);
    desk_done(&d);
}

TEST(endpoints_of_one_machine_are_in_loopback_only_if_the_server_allows_it)
{
    static const char slice[] =
        "{'metadata':{'name':'s'},'addressType':'IPv4','endpoints':[{'addresses':['127.64.0.1']}]}";
    for (int allowed = 0; allowed < 2; allowed++) {
        struct desk d;
        desk_init_builtin(&d,
            (struct apiserver_options){
                .loopback_endpoints = allowed, .service_cidr = "127.96.0.0/16" });
        struct desk_answer got = desk_ask(
            &d, "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", slice);
        check_int(got.status, allowed ? 201 : 422);
        apiserver_set_endpoint(d.server, "127.0.0.1", 6443);
        desk_settle(&d);
        struct json made = desk_do(&d,
            "GET",
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
            NULL);
        check_int(json_get_int(json_get(made, "ports").items[0], "port", 0), 6443);
        made = desk_do(&d, "GET", "/api/v1/namespaces/default/services/kubernetes", NULL);
        check_text(json_get_text(made, "spec.clusterIP"), "127.96.0.1");
        desk_done(&d);
    }
}

TEST(what_is_not_offered_of_pods_is_refused_in_plain_words)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    struct desk_answer got = desk_ask(&r, "GET", "/api/v1/namespaces/default/pods/p/proxy", NULL);
    check_int(got.status, 501);
    check_text(json_get_text(got.body, "message"), "this server does not offer pods/proxy");
    check_int(desk_ask(&r, "GET", "/api/v1/namespaces/default/pods/p/nonsense", NULL).status, 404);
    desk_done(&r);
}
