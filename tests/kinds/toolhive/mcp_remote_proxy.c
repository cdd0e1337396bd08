#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/serving/serving.h"

#include "tests/kinds/toolhive/toolhive_stage.h"
#include "tests/test.h"

#define REMOTE "'remoteUrl': 'https://mcp.acme.test/mcp'"
#define KIND (&toolhive_remote_proxy_kind)

static struct json template_of(const struct stage *s)
{
    return json_get(stage_child(s, "Deployment"), "spec.template");
}

static const char *checksum(const struct stage *s)
{
    const char *text = json_text(
        json_member(json_get(template_of(s), "metadata.annotations"), TOOLHIVE_RUNCONFIG_CHECKSUM));
    return text ? text : "";
}

static void init(struct stage *s, const char *more)
{
    toolhive_stage_init(s);
    toolhive_stage_add(
        s, "MCPRemoteProxy", "gw", arena_printf(test_arena(), "{" REMOTE "%s}", more));
}

TEST(a_patch_of_the_pod_goes_in_and_the_checksum_stays)
{
    struct stage s;
    init(&s,
        ", 'podTemplateSpec': {'metadata': {'annotations': {'" TOOLHIVE_RUNCONFIG_CHECKSUM
        "': 'mine', 'a.test/b': 'c'}}, 'spec': {'nodeSelector': {'disk': 'ssd'}, 'containers': "
        "[{'name': 'toolhive', 'env': [{'name': 'HOME', 'value': '/home'}]}, {'name': 'side', "
        "'image': 'i:1'}]}}");
    stage_run(&s, KIND, "gw");
    struct json spec = json_get(template_of(&s), "spec");
    struct json proxy = json_find(json_get(spec, "containers"), "name", "toolhive");
    check_text(json_get_text(spec, "nodeSelector.disk"), "ssd");
    check(json_present(json_find(json_get(spec, "containers"), "name", "side")));
    check_text(json_get_text(json_find(json_get(proxy, "env"), "name", "HOME"), "value"), "/home");
    check(json_present(json_get(proxy, "readinessProbe")));
    check(strlen(checksum(&s)) == 64);
    check_text(
        json_text(json_member(json_get(template_of(&s), "metadata.annotations"), "a.test/b")), "c");
}

TEST(the_hash_of_a_patch_stays_beside_annotations_of_users)
{
    struct stage s;
    init(&s,
        ", 'podTemplateSpec': {'spec': {}}, 'resourceOverrides': {'proxyDeployment': "
        "{'annotations': {'team': 'x', '" TOOLHIVE_POD_TEMPLATE_HASH "': 'mine'}}}");
    stage_run(&s, KIND, "gw");
    struct json map = json_get(stage_child(&s, "Deployment"), "metadata.annotations");
    check_text(json_text(json_member(map, "team")), "x");
    check(strlen(json_text(json_member(map, TOOLHIVE_POD_TEMPLATE_HASH))) == 64);
}

TEST(an_edit_and_its_way_back_end_in_the_same_template)
{
    static const struct {
        const char *path, *text;
    } edits[] = {
        { "spec.remoteUrl", "'https://other.test/mcp'" },
        { "spec.transport", "'sse'" },
        { "spec.proxyPort", "9090" },
        { "spec.endpointPrefix", "'/x'" },
        { "spec.headerForward", "{'addPlaintextHeaders': {'X-A': '1'}}" },
        { "spec.resources", "{'limits': {'cpu': '1'}}" },
        { "spec.audit", "{'enabled': true}" },
        { "spec.authzConfig",
            "{'type': 'inline', 'inline': {'policies': ['permit(principal, action, "
            "resource);']}}" },
        { "spec.serviceAccount", "'team'" },
    };
    for (size_t i = 0; i < lengthof(edits); i++) {
        struct stage s;
        init(&s, ", 'transport': 'streamable-http', 'proxyPort': 8080");
        stage_settle(&s, KIND, "gw");
        struct json before = template_of(&s);
        bool has = text_eq(edits[i].path, "spec.remoteUrl");
        stage_edit(&s, &TOOLHIVE_REMOTE_PROXY, "gw", edits[i].path, edits[i].text);
        stage_settle(&s, KIND, "gw");
        if (json_equal(template_of(&s), before))
            test_fail(__FILE__, __LINE__, "%s changes nothing", edits[i].path);
        const char *back = has ? "'https://mcp.acme.test/mcp'"
                           : text_eq(edits[i].path, "spec.transport") ? "'streamable-http'"
                           : text_eq(edits[i].path, "spec.proxyPort") ? "8080"
                                                                      : NULL;
        stage_edit(&s, &TOOLHIVE_REMOTE_PROXY, "gw", edits[i].path, back);
        stage_settle(&s, KIND, "gw");
        if (!json_equal(template_of(&s), before))
            test_fail(__FILE__, __LINE__, "%s leaves something", edits[i].path);
    }
}

TEST(a_check_that_fails_keeps_the_workload_and_says_why)
{
    static const struct {
        const char *path, *text, *reason;
    } rows[] = {
        { "spec.remoteUrl", "'http://127.0.0.1/'", "False RemoteURLInvalid" },
        { "spec.authzConfig",
            "{'type': 'inline', 'inline': {'policies': ['nope']}}",
            "False AuthzPolicySyntaxInvalid" },
        { "spec.authzConfig",
            "{'type': 'configMap', 'configMap': {'name': 'absent'}}",
            "False AuthzConfigMapNotFound" },
        { "spec.headerForward",
            "{'addHeadersFromSecret': [{'headerName': 'X', 'valueSecretRef': {'name': 'absent', "
            "'key': 'k'}}]}",
            "False HeaderSecretNotFound" },
        { "spec.externalAuthConfigRef",
            "{'name': 'absent'}",
            "False ExternalAuthConfigFetchError" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        init(&s, "");
        stage_settle(&s, KIND, "gw");
        stage_edit(&s, &TOOLHIVE_REMOTE_PROXY, "gw", rows[i].path, rows[i].text);
        stage_run(&s, KIND, "gw");
        check_text(stage_condition(&s, "ConfigurationValid"), rows[i].reason);
        check_text(stage_condition(&s, "AuthConfigured"), "False AuthInvalid");
        check(s.plan.keep_children);
        check(!s.plan.child_count);
        check(s.plan.outcome == OUTCOME_WAIT);
        check(text_starts(json_get_text(s.plan.status, "message"), "Validation failed: "));
    }
}

TEST(a_reference_that_breaks_keeps_the_proxy_of_before)
{
    struct stage s;
    init(&s, ", 'toolConfigRef': {'name': 'absent'}");
    stage_run(&s, KIND, "gw");
    check(s.plan.keep_children);
    check_text(stage_condition(&s, "ToolConfigValidated"), "False ToolConfigNotFound");
    check_text(json_get_text(s.plan.status, "phase"), "Failed");
    check_text(
        json_get_text(s.plan.status, "message"), "MCPToolConfig absent not found in namespace ns");
}

TEST(a_name_that_another_kind_has_is_told)
{
    struct stage s;
    init(&s, "");
    stage_trouble(&s, "Deployment", TROUBLE_FOREIGN, "Deployment gw belongs to MCPServer gw");
    stage_run(&s, KIND, "gw");
    check_text(json_get_text(s.plan.status, "phase"), "Failed");
    check_text(json_get_text(s.plan.status, "message"), "Deployment gw belongs to MCPServer gw");
}

TEST(secret_headers_of_telemetry_reach_the_proxy)
{
    struct stage s;
    init(&s, ", 'telemetryConfigRef': {'name': 'otel'}");
    toolhive_stage_add(&s,
        "MCPTelemetryConfig",
        "otel",
        "{'openTelemetry': {'endpoint': 'https://otel.test', 'tracing': {'enabled': true}, "
        "'sensitiveHeaders': [{'name': 'x-key', 'secretKeyRef': {'name': 's', 'key': 'k'}}]}}");
    stage_run(&s, KIND, "gw");
    struct json env = json_get(template_of(&s), "spec.containers.0.env");
    struct json variable = json_find(env, "name", "TOOLHIVE_OTEL_HEADER_X_KEY");
    check_text(json_get_text(variable, "valueFrom.secretKeyRef.name"), "s");
}

TEST(a_proxy_on_one_machine_has_its_address_in_its_url)
{
    static struct toolhive_settings settings;
    static const struct {
        const struct kind *kind;
        const char *name, *service, *url;
    } cases[] = {
        { &toolhive_server_kind, "s", "mcp-s-proxy", "http://127.96.1.2:8080/mcp" },
        { KIND, "gw", "mcp-gw-remote-proxy", "http://127.96.1.2:8080" },
        { &toolhive_embedding_server_kind, "e", "e", "http://127.96.1.2:8080" },
    };
    settings = toolhive_settings_default;
    settings.one_machine = true;
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage s;
        stage_init(&s, &settings);
        toolhive_stage_add(&s, "MCPRemoteProxy", "gw", "{" REMOTE "}");
        toolhive_stage_add(&s, "MCPServer", "s", "{'image': 'i:1', 'transport': 'stdio'}");
        toolhive_stage_add(&s, "EmbeddingServer", "e", "{'model': 'm'}");
        stage_run(&s, cases[i].kind, cases[i].name);
        stage_apply_status(&s, cases[i].kind, cases[i].name);
        check(!json_get_text(stage_status(&s, cases[i].kind->resource, cases[i].name), "url"));
        stage_add(&s,
            arena_printf(test_arena(),
                "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': '%s', "
                "'ownerReferences': [{'kind': '%s', 'name': '%s', 'controller': true, 'uid': "
                "'%s/%s'}]}, 'spec': {'clusterIP': '127.96.1.2'}}",
                cases[i].service,
                cases[i].kind->resource->kind,
                cases[i].name,
                cases[i].kind->resource->kind,
                cases[i].name));
        stage_run(&s, cases[i].kind, cases[i].name);
        stage_apply_status(&s, cases[i].kind, cases[i].name);
        check_text(json_get_text(stage_status(&s, cases[i].kind->resource, cases[i].name), "url"),
            cases[i].url);
    }
}
