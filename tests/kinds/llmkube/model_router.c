#include "kinds/llmkube/model_router.h"

#include "tests/kinds/llmkube/llmkube_stage.h"
#include "tests/test.h"

#define HOME "{'name': 'home', 'inferenceServiceRef': {'name': 'svc'}}"
#define IMAGE "spec.template.spec.containers.0.image"

static void init(struct stage *s)
{
    llmkube_stage_init(s);
    stage_add(s, "{'kind': 'InferenceService', 'metadata': {'name': 'svc'}, 'spec': {}}");
}

static void add_router(struct stage *s, const char *spec)
{
    stage_add(s,
        arena_printf(test_arena(),
            "{'kind': 'ModelRouter', 'metadata': {'name': 'r', 'generation': 1}, 'spec': %s}",
            spec));
}

static const char *image(struct stage *s)
{
    return json_get_text(stage_child(s, "Deployment"), IMAGE);
}

TEST(a_running_router_keeps_its_image_until_its_object_changes)
{
    struct stage s;
    init(&s);
    add_router(&s, "{'backends': [" HOME "]}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(image(&s), "leeboard-router:" LEEBOARD_VERSION);
    struct json older = json_with(test_arena(),
        stage_child(&s, "Deployment"),
        "spec.template.spec.containers",
        json_list(test_arena(),
            json_map(test_arena(),
                { "name", json_str("router-proxy") },
                { "image", json_str("upstream/proxy:1") })));
    stage_owned(&s, "Deployment", "r-router-proxy", older);
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(image(&s), "upstream/proxy:1");
    stage_apply_status(&s, &llmkube_model_router_kind, "r");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(image(&s), "upstream/proxy:1");
    stage_edit(&s, &LLMKUBE_MODEL_ROUTER, "r", "spec.defaultRoute", "'home'");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(image(&s), "leeboard-router:" LEEBOARD_VERSION);
    llmkube_stage_flags(&s, "--router-proxy-image=registry.test/p:2");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(image(&s), "registry.test/p:2");
}

TEST(a_back_end_without_an_address_is_left_out_and_the_others_serve)
{
    struct stage s;
    init(&s);
    add_router(&s,
        "{'backends': [" HOME ", {'name': 'gone', 'inferenceServiceRef': {'name': 'absent'}}],"
        "'rules': [{'name': 'both', 'route': {'backends': ['gone', 'home']}},"
        "{'name': 'empty', 'route': {'backends': ['gone']}}], 'defaultRoute': 'gone'}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(stage_condition(&s, "BackendsReady"), "False BackendsUnresolved");
    struct json data = json_get(stage_child(&s, "ConfigMap"), "data");
    const char *config = json_text(json_member(data, "config.json"));
    check(config && !strstr(config, "gone") && !strstr(config, "empty"));
    check(config && strstr(config, "\"both\""));
}

TEST(a_fail_closed_rule_never_goes_away)
{
    struct stage s;
    init(&s);
    add_router(&s,
        "{'backends': [" HOME ", {'name': 'gone', 'inferenceServiceRef': {'name': 'absent'}}],"
        "'rules': [{'name': 'safe', 'failClosed': true, 'route': {'backends': ['gone']}}]}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(stage_condition(&s, "Available"), "False CompileFailed");
    check(s.plan.keep_children && !s.plan.child_count);
}

TEST(sensitive_data_to_an_external_back_end_is_loud_although_its_tier_is_local)
{
    struct stage s;
    init(&s);
    add_router(&s,
        "{'backends': [{'name': 'o', 'external': {'provider': 'openai', 'model': 'm'}}],"
        "'rules': [{'name': 'p', 'failClosed': true, 'match': {'dataClassification': ['pii']},"
        "'route': {'backends': ['o']}}]}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(stage_condition(&s, "SensitiveDataLeaves"), "True ExternalBackendIsLocal");
}

#define POLICY                                                                                     \
    "{'backends': [{'name': 'home', 'inferenceServiceRef': {'name': 'svc'}, "                      \
    "'healthCheck': {'path': '/up'}}], 'policy': {'budgets': [{'name': 'b', 'scope': 'router', "   \
    "'maxTokens': 9}]}, 'proxy': {'replicas': 3, 'image': '%s'}}"

TEST(what_config_json_has_no_place_for_is_in_policy_json)
{
    struct stage s;
    init(&s);
    add_router(
        &s, arena_printf(test_arena(), POLICY, "registry.test:5000/leeboard-router:1@sha256:0"));
    stage_run(&s, &llmkube_model_router_kind, "r");
    struct json data = json_get(stage_child(&s, "ConfigMap"), "data");
    check_text(json_text(json_member(data, "policy.json")),
        "{\"backends\":[{\"healthCheck\":{\"path\":\"/up\"},\"name\":\"home\"}],"
        "\"policy\":{\"budgets\":[{\"maxTokens\":9,\"name\":\"b\",\"scope\":\"router\"}]},"
        "\"replicas\":3}");
    check(!strstr(json_text(json_member(data, "config.json")), "budgets"));
    check(!stage_condition(&s, "FieldsIgnored"));
}

TEST(a_router_of_llmkube_gets_no_policy_json_and_says_what_it_ignores)
{
    struct stage s;
    init(&s);
    add_router(&s, arena_printf(test_arena(), POLICY, "registry.test/llmkube-router-proxy:1"));
    stage_run(&s, &llmkube_model_router_kind, "r");
    struct json data = json_get(stage_child(&s, "ConfigMap"), "data");
    check(!json_present(json_member(data, "policy.json")));
    check_text(stage_condition(&s, "FieldsIgnored"), "True NotActedOn");
    check(strstr(stage_message(&s, "FieldsIgnored"), "spec.policy.budgets"));
}

TEST(budgets_of_one_name_and_lists_without_tokens_are_named)
{
    static const struct {
        const char *policy, *message;
    } rows[] = {
        { "{'budgets': [{'name': 'b', 'scope': 'router', 'maxTokens': 9}, {'name': 'b', 'scope': "
          "'team', 'maxTokens': 9}]}",
            "spec.policy.budgets: duplicate name \"b\"" },
        { "{'auth': {'allowlists': [{'team': 't'}]}}", "spec.policy.auth.allowlists need" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        init(&s);
        add_router(&s,
            arena_printf(test_arena(), "{'backends': [" HOME "], 'policy': %s}", rows[i].policy));
        stage_run(&s, &llmkube_model_router_kind, "r");
        check_text(stage_condition(&s, "Validated"), "False SpecInvalid");
        check(text_starts(stage_message(&s, "Validated"), rows[i].message));
    }
}

TEST(each_fault_of_a_router_is_named_with_its_path)
{
    static const struct {
        const char *spec, *message;
    } rows[] = {
        { "{'backends': [{'name': 'a'}]}", "spec.backends[0]: exactly one of" },
        { "{'backends': [" HOME ", " HOME "]}", "spec.backends[1].name: duplicate" },
        { "{'backends': [{'name': 'a', 'tier': 'cloud', 'inferenceServiceRef': {'name': 'svc'}}]}",
            "spec.backends[0].tier: " },
        { "{'backends': [{'name': 'a', 'timeout': 'soon', 'inferenceServiceRef': {'name': "
          "'svc'}}]}",
            "spec.backends[0].timeout: \"soon\" is not a duration" },
        { "{'backends': [" HOME "], 'rules': [{'name': 'x', 'route': {'backends': ['no']}}]}",
            "spec.rules[0].route.backends[0]: references undefined backend \"no\"" },
        { "{'backends': [" HOME "], 'policy': {'budgets': [{'name': 'b', 'scope': 'rule', "
          "'ruleName': 'no', 'maxTokens': 1}]}}",
            "spec.policy.budgets[0].ruleName: references undefined rule \"no\"" },
        { "{'backends': [" HOME "], 'proxy': {'quarantineDuration': '1 minute'}}",
            "spec.proxy.quarantineDuration: " },
        { "{'backends': {}}", "spec.backends: expected list" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        init(&s);
        add_router(&s, rows[i].spec);
        stage_run(&s, &llmkube_model_router_kind, "r");
        check_text(stage_condition(&s, "Validated"), "False SpecInvalid");
        const char *message = stage_message(&s, "Validated");
        if (!text_starts(message, rows[i].message))
            test_fail(__FILE__, __LINE__, "%s instead of %s", message, rows[i].message);
    }
}

#define GATEWAY "'dataPlane': 'Gateway', 'gatewayRef': {'name': 'edge'}, 'backends': [" HOME "]"

TEST(the_gateway_says_what_it_cannot_do)
{
    static const struct {
        const char *spec, *reason;
    } rows[] = {
        { "{'dataPlane': 'Gateway', 'backends': [" HOME "]}", "False GatewayRefMissing" },
        { "{" GATEWAY ", 'policy': {'budgets': [{'name': 'b', 'scope': 'rule', 'maxTokens': 5}]}}",
            "False UnsupportedBudgetScope" },
        { "{" GATEWAY ", 'policy': {'budgets': [{'name': 'b', 'scope': 'router'}]}}",
            "False InvalidBudget" },
        { "{" GATEWAY ", 'policy': {'auth': {'allowlists': [{'team': 't'}]}}}",
            "False AuthorizationRequiresJWT" },
        { "{" GATEWAY ", 'policy': {'auditLog': {'sink': 'file'}}}",
            "False UnsupportedAuditLogInGatewayMode" },
        { "{" GATEWAY ", 'defaultRoute': 'no'}", "False ReconcileFailed" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        init(&s);
        add_router(&s, rows[i].spec);
        stage_run(&s, &llmkube_model_router_kind, "r");
        check_text(stage_condition(&s, "GatewayReady"), rows[i].reason);
        check(!s.plan.child_count && s.plan.keep_children);
    }
    struct stage s;
    init(&s);
    s.not_served = true;
    add_router(&s, "{" GATEWAY "}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(stage_condition(&s, "GatewayReady"), "False GatewayCRDsNotInstalled");
}

TEST(budgets_and_allow_lists_become_policies_of_the_gateway)
{
    struct stage s;
    init(&s);
    add_router(&s,
        "{" GATEWAY ", 'rules': [{'name': 'x', 'match': {'models': ['m', 'n']}, 'route': "
        "{'backends': ['home']}}], 'policy': {'budgets': [{'name': 'b', 'scope': 'team', "
        "'maxTokens': 5, 'windowSeconds': 60}], 'auth': {'jwt': {'provider': 'p', 'issuer': 'i', "
        "'jwksURI': 'https://k.test', 'teamClaim': 'team'}, 'allowlists': [{'team': 't', 'models': "
        "['m']}, {'team': 'u'}]}}}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check_text(stage_condition(&s, "GatewayReady"), "True Exposed");
    struct json policy = stage_child(&s, "BackendTrafficPolicy");
    struct json limit = json_get(policy, "spec.rateLimit.global.rules.0");
    check_int(json_get_int(limit, "limit.requests", 0), 5);
    check_text(json_get_text(limit, "limit.unit"), "Minute");
    check_text(json_get_text(limit, "clientSelectors.0.headers.0.name"), "x-llmkube-team");
    struct json security = stage_child(&s, "SecurityPolicy");
    check_text(json_get_text(security, "spec.authorization.defaultAction"), "Deny");
    check_int(json_get(security, "spec.authorization.rules").count, 1);
    struct json route = stage_child(&s, "AIGatewayRoute");
    check_int(json_get(route, "spec.rules.0.matches").count, 2);
}

TEST(a_router_in_front_of_a_pool_may_ask_for_its_members)
{
    struct stage s;
    init(&s);
    stage_add(&s,
        "{'kind': 'ModelPool', 'metadata': {'name': 'p'}, 'spec': {'swapBudget': '90s', 'members': "
        "[{'inferenceServiceRef': {'name': 'svc'}}, {'inferenceServiceRef': {'name': 'b'}}]}}");
    add_router(&s, "{'backends': [" HOME "], 'proxy': {'replicas': 3}}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    struct json data = json_get(stage_child(&s, "ConfigMap"), "data");
    const char *config = json_text(json_member(data, "config.json"));
    check(config && strstr(config,
                        "\"pool\": {\n        \"name\": \"p\",\n        \"namespace\": \"ns\",\n"
                        "        \"member\": \"svc\",\n        \"members\": [\n          \"svc\","
                        "\n          \"b\"\n        ],\n        \"swapBudget\": 90000000000\n"));
    struct json deployment = stage_child(&s, "Deployment");
    check_int(json_get_int(deployment, "spec.replicas", 0), 1);
    check_text(
        json_get_text(deployment, "spec.template.spec.serviceAccountName"), "r-router-proxy");
    struct json container = json_get(deployment, "spec.template.spec.containers.0");
    check(json_list_has(json_get(container, "args"), "--enable-activation"));
    check_text(json_get_text(container, "env.0.value"), "r");
    check(json_present(stage_child(&s, "RoleBinding")));
    check(stage_has_event(&s, "ReplicasIgnored"));
}

TEST(a_router_on_one_machine_waits_for_the_addresses_of_its_back_ends)
{
    struct stage s;
    init(&s);
    llmkube_stage_settings(&s)->one_machine = true;
    add_router(&s, "{'backends': [" HOME "], 'defaultRoute': 'home'}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check(!json_present(stage_child(&s, "Deployment")));
    check_text(stage_condition(&s, "Available"), "False DeploymentNotReady");
    stage_add(&s,
        "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'svc'}, 'spec': "
        "{'clusterIP': '127.96.1.2'}}");
    stage_run(&s, &llmkube_model_router_kind, "r");
    check(json_present(stage_child(&s, "Deployment")));
    struct json data = json_get(stage_child(&s, "ConfigMap"), "data");
    check(strstr(json_text(json_member(data, "config.json")), "http://127.96.1.2:8080"));
}
