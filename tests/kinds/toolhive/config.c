#include "kinds/toolhive/config/config.h"

#include "kinds/toolhive/mcp_server.h"
#include "tests/kinds/toolhive/toolhive_stage.h"
#include "tests/test.h"

#define DELETED "metadata.deletionTimestamp", "'2026-01-01T00:00:00Z'"

static const char *text_of(
    struct stage *s, const struct resource *r, const char *name, const char *path)
{
    const char *text = json_get_text(stage_status(s, r, name), path);
    return text ? text : "";
}

TEST(a_config_that_nobody_refers_to_goes_at_once)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPToolConfig", "trim", "{'toolsFilter': ['a']}");
    stage_settle(&s, &toolhive_tool_config_kind, "trim");
    stage_edit(&s, &TOOLHIVE_TOOL_CONFIG, "trim", DELETED);
    stage_run(&s, &toolhive_tool_config_kind, "trim");
    check(!s.plan.stay);
    check(!stage_condition(&s, "DeletionBlocked"));
}

TEST(a_config_stays_while_workloads_refer_to_it_and_names_them)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPExternalAuthConfig", "auth", "{'type': 'unauthenticated'}");
    /* Both references of one object count once. */
    toolhive_stage_add(&s,
        "MCPServer",
        "b",
        "{'externalAuthConfigRef': {'name': 'auth'}, 'authServerRef': {'name': 'auth'}}");
    toolhive_stage_add(&s, "MCPRemoteProxy", "a", "{'externalAuthConfigRef': {'name': 'auth'}}");
    toolhive_stage_add(&s, "MCPServer", "other", "{'externalAuthConfigRef': {'name': 'else'}}");
    stage_settle(&s, &toolhive_external_auth_config_kind, "auth");
    const char *hash = text_of(&s, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, "auth", "configHash");
    stage_edit(&s, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, "auth", DELETED);
    stage_step(&s, &toolhive_external_auth_config_kind, "auth");
    check(s.plan.stay);
    check_text(stage_told(&s, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, "auth", "DeletionBlocked"),
        "True ReferencedByWorkloads: Cannot delete: referenced by workloads: MCPServer/b, "
        "MCPRemoteProxy/a");
    check(stage_has_event(&s, "DeletionBlocked"));
    check_text(text_of(&s, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, "auth", "configHash"), hash);
    stage_run(&s, &toolhive_external_auth_config_kind, "auth");
    check(!stage_has_event(&s, "DeletionBlocked")); /* told once */
    stage_edit(&s, &TOOLHIVE_SERVER, "b", "spec", "{}");
    stage_run(&s, &toolhive_external_auth_config_kind, "auth");
    check(s.plan.stay);
    stage_edit(&s, &TOOLHIVE_REMOTE_PROXY, "a", "spec.externalAuthConfigRef", NULL);
    stage_run(&s, &toolhive_external_auth_config_kind, "auth");
    check(!s.plan.stay);
}

TEST(the_hash_of_a_config_follows_its_spec_and_comes_back_with_it)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "MCPOIDCConfig",
        "corp",
        "{'type': 'inline', 'inline': {'issuer': 'https://login.test', 'clientId': 'a'}}");
    stage_settle(&s, &toolhive_oidc_config_kind, "corp");
    const char *before = text_of(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "configHash");
    check(strlen(before) == 8);
    stage_edit(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "spec.inline.clientId", "'b'");
    stage_settle(&s, &toolhive_oidc_config_kind, "corp");
    check(!text_eq(text_of(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "configHash"), before));
    stage_edit(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "spec.inline.clientId", "'a'");
    stage_settle(&s, &toolhive_oidc_config_kind, "corp");
    check_text(text_of(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "configHash"), before);
}

TEST(an_invalid_config_keeps_the_hash_of_the_last_valid_one)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "MCPOIDCConfig",
        "corp",
        "{'type': 'inline', 'inline': {'issuer': 'https://login.test'}}");
    stage_settle(&s, &toolhive_oidc_config_kind, "corp");
    const char *before = text_of(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "configHash");
    stage_edit(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "spec.inline.issuer", "'http://login.test'");
    stage_step(&s, &toolhive_oidc_config_kind, "corp");
    check(stage_has_event(&s, "ConfigInvalid"));
    check_text(stage_condition(&s, "Valid"), "False ConfigInvalid");
    check_text(text_of(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "configHash"), before);
    check(json_get_int(stage_status(&s, &TOOLHIVE_OIDC_CONFIG, "corp"), "observedGeneration", 0) ==
          1);
    stage_edit(&s, &TOOLHIVE_OIDC_CONFIG, "corp", "spec.inline.insecureAllowHTTP", "true");
    stage_step(&s, &toolhive_oidc_config_kind, "corp");
    check(stage_has_event(&s, "ConfigValid"));
    check_text(stage_condition(&s, "Valid"), "True ConfigValid");
}

TEST(faults_of_configs_name_the_path)
{
    static const struct {
        const struct kind *kind;
        const char *spec, *message;
    } rows[] = {
        { &toolhive_oidc_config_kind,
            "{'type': 'inline', 'inline': {'issuer': 'https://a.test', 'jwksUrl': 'ftp://b.test'}}",
            "JWKS URL \"ftp://b.test\" has unsupported scheme \"ftp\"; must be http or https" },
        { &toolhive_authz_config_kind,
            "{'type': 'httpv1', 'config': {'http': {'url': 'unix:///x'}}}",
            "http.url must use http or https scheme, got \"unix\"" },
        { &toolhive_authz_config_kind,
            "{'type': 'cedarv1', 'config': []}",
            "config must be a JSON object" },
        { &toolhive_external_auth_config_kind,
            "{'type': 'awsSts', 'awsSts': {'roleMappings': [{'claim': 'a', 'matcher': 'b'}]}}",
            "awsSts.roleMappings[0]: claim and matcher are mutually exclusive" },
        { &toolhive_external_auth_config_kind,
            "{'type': 'embeddedAuthServer', 'embeddedAuthServer': {'storage': {'type': 'redis'}}}",
            "storage: redis configuration is required when type is 'redis'" },
        { &toolhive_telemetry_config_kind,
            "{'openTelemetry': {'insecure': true, 'caBundleRef': {'configMapRef': {'name': 'c'}}}}",
            "caBundleRef cannot be specified when insecure is true" },
        { &toolhive_telemetry_config_kind,
            "{'openTelemetry': {'headers': {'a': 'b'}, 'sensitiveHeaders': [{'name': 'a', "
            "'secretKeyRef': {'name': 's', 'key': 'k'}}]}}",
            "header \"a\" appears in both headers and sensitiveHeaders" },
        { &toolhive_webhook_config_kind,
            "{'mutating': [{'name': 'm', 'url': 'https://a.test', 'timeout': '31s'}]}",
            "mutating webhook[0] \"m\": timeout: 31s is not between 0s and 30s" },
        { &toolhive_webhook_config_kind,
            "{'validating': [{'name': 'v', 'url': 'https://a.test', 'timeout': 'soon'}]}",
            "validating webhook[0] \"v\": timeout: \"soon\" is not a duration. Use a form such as "
            "5s." },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        toolhive_stage_init(&s);
        toolhive_stage_add(&s, rows[i].kind->resource->kind, "x", rows[i].spec);
        stage_run(&s, rows[i].kind, "x");
        check_text(stage_message(&s, "Valid"), rows[i].message);
        check(s.plan.outcome == OUTCOME_WAIT);
    }
}

TEST(a_policy_that_cannot_be_parsed_is_told_by_place)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "MCPAuthzConfig",
        "pol",
        "{'type': 'cedarv1', 'config': {'policies': ['permit(principal, action, resource);', "
        "'nope']}}");
    stage_run(&s, &toolhive_authz_config_kind, "pol");
    check_text(stage_condition(&s, "Valid"), "True ConfigValid");
    check_text(stage_condition(&s, "PoliciesParsed"), "False AuthzPolicySyntaxInvalid");
    check(text_starts(stage_message(&s, "PoliciesParsed"), "spec.config.policies[1]: "));
}

TEST(a_policy_of_a_server_that_cannot_be_parsed_is_told_and_the_proxy_is_made)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "MCPServer",
        "srv",
        "{'image': 'i:1', 'authzConfig': {'type': 'inline', 'inline': {'policies': ['nope']}}}");
    stage_run(&s, &toolhive_server_kind, "srv");
    check_text(stage_condition(&s, "PoliciesParsed"), "False AuthzPolicySyntaxInvalid");
    check(json_present(stage_child(&s, "Deployment")));
}

TEST(a_group_lists_its_members_by_kind)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPGroup", "tools", "{}");
    toolhive_stage_add(&s, "MCPServer", "b", "{'groupRef': {'name': 'tools'}}");
    toolhive_stage_add(&s, "MCPServer", "a", "{'groupRef': {'name': 'tools'}}");
    toolhive_stage_add(&s, "MCPServer", "c", "{'groupRef': {'name': 'others'}}");
    toolhive_stage_add(&s, "MCPServerEntry", "e", "{'groupRef': {'name': 'tools'}}");
    stage_settle(&s, &toolhive_group_kind, "tools");
    struct json status = stage_status(&s, &TOOLHIVE_MCP_GROUP, "tools");
    check_text(json_to_text(test_arena(), json_get(status, "servers")), "[\"a\",\"b\"]");
    check(json_get_int(status, "serverCount", 0) == 2);
    check(json_get_int(status, "entryCount", 0) == 1);
    check(!json_present(json_get(status, "remoteProxyCount")));
    stage_edit(&s, &TOOLHIVE_SERVER, "a", "spec.groupRef.name", "'others'");
    stage_settle(&s, &toolhive_group_kind, "tools");
    status = stage_status(&s, &TOOLHIVE_MCP_GROUP, "tools");
    check_text(json_to_text(test_arena(), json_get(status, "servers")), "[\"b\"]");
}

TEST(urls_of_remote_servers_that_only_this_cluster_has_are_refused)
{
    static const struct {
        const char *url, *fault; /* NULL: allowed */
    } rows[] = {
        { "https://mcp.acme.test/v1", NULL },
        { "http://8.8.8.8:80/", NULL },
        { "http://100.64.1.2/", NULL },
        { "https://notlocalhost/", NULL },
        { "http://10.1.2.3/", "IP address 10.1.2.3 falls within blocked range 10.0.0.0/8" },
        { "http://172.20.0.1/", "IP address 172.20.0.1 falls within blocked range 172.16.0.0/12" },
        { "http://192.168.0.1/",
            "IP address 192.168.0.1 falls within blocked range "
            "192.168.0.0/16" },
        { "http://0.0.0.0/", "IP address 0.0.0.0 falls within blocked range 0.0.0.0/8" },
        { "http://[::1]/", "IP address ::1 falls within blocked range ::1/128" },
        { "http://[fd00::1]/", "IP address fd00::1 falls within blocked range fc00::/7" },
        { "http://[fe80::1]/", "IP address fe80::1 falls within blocked range fe80::/10" },
        { "http://[::ffff:127.0.0.1]/",
            "IP address ::ffff:127.0.0.1 falls within blocked range 127.0.0.0/8" },
        { "http://LOCALHOST/",
            "hostname \"localhost\" matches blocked internal hostname "
            "\"localhost\"" },
        { "http://a.svc.cluster.local/",
            "hostname \"a.svc.cluster.local\" matches blocked internal hostname "
            "\"cluster.local\"" },
        { "http://2130706433/",
            "\"2130706433\" is an unusual spelling of an IP address; write four decimal numbers" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *fault = toolhive_remote_url_fault(test_arena(), rows[i].url);
        if (!rows[i].fault)
            check_text(fault ? fault : "", "");
        else
            check_text(fault ? fault : "",
                arena_printf(test_arena(), "remote URL host is not allowed: %s", rows[i].fault));
    }
    check_text(toolhive_remote_url_fault(test_arena(), ""), "remote URL must not be empty");
}
