/* What users write against the operator's keys and names, in every map that they can extend. */

#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/serving/serving.h"
#include "kinds/toolhive/virtual_mcp_server.h"

#include "tests/kinds/toolhive/toolhive_stage.h"
#include "tests/test.h"

#define PATCH                                                                                      \
    "'podTemplateSpec': {'metadata': {'labels': {'app': 'evil', 'app.kubernetes.io/name': "        \
    "'evil', "                                                                                     \
    "'mine': 'yes'}}, 'spec': {'nonsense': 1, 'nodeSelector': {'disk': 'ssd'}}}"
#define UNKNOWN "these have no effect: spec.podTemplateSpec.spec.nonsense"

static const struct {
    const char *kind, *name, *spec, *workload;
    const struct kind *of;
} rows[] = {
    { "MCPRemoteProxy",
        "gw",
        "{'remoteUrl': 'https://a.test/mcp', " PATCH "}",
        "Deployment",
        &toolhive_remote_proxy_kind },
    { "VirtualMCPServer",
        "hub",
        "{'groupRef': {'name': 'tools'}, 'incomingAuth': {'type': 'anonymous'}, " PATCH "}",
        "Deployment",
        &toolhive_virtual_server_kind },
    { "EmbeddingServer", "vec", "{" PATCH "}", "StatefulSet", &toolhive_embedding_server_kind },
    { "MCPRegistry",
        "cat",
        "{'configYAML': 'x', " PATCH "}",
        "Deployment",
        &toolhive_registry_kind },
};

static void add_group(struct stage *s)
{
    stage_add(s,
        "{'apiVersion': '" TOOLHIVE_GROUP "/v1beta1', 'kind': 'MCPGroup', 'metadata': {'name': "
        "'tools'}, 'spec': {}, 'status': {'phase': 'Ready'}}");
}

/* Seen to fail without go_template_keep() (the API server refuses such a Deployment) and without
 * go_template_known() (it refuses that, too). */
TEST(a_patch_of_the_pod_harms_neither_selector_nor_schema)
{
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        toolhive_stage_init(&s);
        add_group(&s);
        toolhive_stage_add(&s, rows[i].kind, rows[i].name, rows[i].spec);
        stage_run(&s, rows[i].of, rows[i].name);
        struct json spec = json_get(stage_child(&s, rows[i].workload), "spec");
        struct json labels = json_get(spec, "template.metadata.labels");
        json_each_member (m, json_get(spec, "selector.matchLabels"))
            check_text(json_text(json_member(labels, m->key)), json_text(m->value));
        check_text(json_text(json_member(labels, "mine")), "yes");
        check_text(json_get_text(spec, "template.spec.nodeSelector.disk"), "ssd");
        check(!json_present(json_get(spec, "template.spec.nonsense")));
        check_text(stage_condition(&s, "FieldsIgnored"), "True FieldsHaveNoEffect");
        check_text(stage_message(&s, "FieldsIgnored"), UNKNOWN);
    }
}

static void run_server(struct stage *s, const char *more)
{
    toolhive_stage_init(s);
    toolhive_stage_add(s,
        "MCPServer",
        "w",
        arena_printf(test_arena(), "{'image': 'i:1', 'transport': 'streamable-http'%s}", more));
    stage_run(s, &toolhive_server_kind, "w");
}

TEST(what_users_set_in_vain_is_named)
{
    static const char *const cases[][2] = {
        { "'podTemplateSpec': {'spec': {'foo': 1, 'containers': [{'name': 'mcp', 'bar': 2}]}}",
            "spec.podTemplateSpec.spec.containers[].bar, spec.podTemplateSpec.spec.foo" },
        { "'podTemplateSpec': {'spec': {'serviceAccountName': 'x'}}",
            "spec.podTemplateSpec.spec.serviceAccountName, see spec.serviceAccount" },
        { "'env': [{'name': 'MCP_PORT', 'value': '1'}]", "spec.env[MCP_PORT]" },
        { "'proxyMode': 'sse'", "spec.proxyMode where spec.transport is not stdio" },
        { "'resourceOverrides': {'proxyDeployment': {'labels': {'app': 'evil', 'a': 'b'}}}",
            "spec.resourceOverrides.proxyDeployment.labels[app]" },
        { "'resourceOverrides': {'proxyService': {'labels': {'toolhive': 'no'}}}",
            "spec.resourceOverrides.proxyService.labels[toolhive]" },
        { "'resourceOverrides': {'proxyDeployment': {'env': [{'name': "
          "'THV_MCPSERVER_GENERATION', 'value': '9'}, {'name': 'HOME', 'value': '/x'}]}}",
            "spec.resourceOverrides.proxyDeployment.env[THV_MCPSERVER_GENERATION]" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage s;
        run_server(&s, arena_printf(test_arena(), ", %s", cases[i][0]));
        check_text(stage_message(&s, "FieldsIgnored"),
            arena_printf(test_arena(), "these have no effect: %s", cases[i][1]));
        check(json_present(stage_child(&s, "Deployment")));
    }
    struct stage s;
    run_server(&s, "");
    check(!stage_condition(&s, "FieldsIgnored"));
}

TEST(a_volume_of_the_operators_name_or_place_is_told)
{
    static const char *const cases[][2] = {
        { "{'name': 'runconfig', 'hostPath': '/h', 'mountPath': '/m'}",
            "spec.volumes: the operator has a volume called runconfig; use another name" },
        { "{'name': 'a', 'hostPath': '/h', 'mountPath': '/etc/runconfig'}",
            "spec.volumes: two volumes are mounted at /etc/runconfig; use another mountPath" },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct stage s;
        run_server(&s, arena_printf(test_arena(), ", 'volumes': [%s]", cases[i][0]));
        check(s.plan.keep_children);
        check_text(stage_message(&s, "Ready"),
            arena_printf(test_arena(), "Failed to build configuration: %s", cases[i][1]));
    }
}

TEST(each_variable_stands_once_and_the_last_one_counts)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "EmbeddingServer",
        "vec",
        "{'modelCache': {'enabled': true}, 'env': [{'name': 'MODEL_ID', 'value': 'mine'}, {'name': "
        "'HF_HOME', 'value': '/x'}]}");
    stage_run(&s, &toolhive_embedding_server_kind, "vec");
    struct json env =
        json_get(stage_child(&s, "StatefulSet"), "spec.template.spec.containers.0.env");
    check(env.count == 2);
    check_text(json_get_text(json_find(env, "name", "MODEL_ID"), "value"), "mine");
    check_text(json_get_text(json_find(env, "name", "HF_HOME"), "value"), "/data");
    check_text(stage_message(&s, "FieldsIgnored"), "these have no effect: spec.env[HF_HOME]");
}

TEST(a_registry_with_too_long_a_name_or_two_volumes_of_one_name_says_so)
{
    struct stage s;
    toolhive_stage_init(&s);
    static const char name[] = "a-name-that-is-longer-than-the-labels-of-a-child-can";
    toolhive_stage_add(&s, "MCPRegistry", name, "{'configYAML': 'x'}");
    stage_run(&s, &toolhive_registry_kind, name);
    check_text(stage_message(&s, "Ready"),
        "metadata.name: labels of the children would be longer than 63 characters. Use a name of "
        "at most 50.");
    toolhive_stage_add(&s,
        "MCPRegistry",
        "cat",
        "{'configYAML': 'x', 'volumes': [{'name': 'v', 'emptyDir': {}}, {'name': 'v', 'emptyDir': "
        "{}}]}");
    stage_run(&s, &toolhive_registry_kind, "cat");
    check_text(stage_message(&s, "Ready"), "spec.volumes: two volumes are called 'v'");
}
