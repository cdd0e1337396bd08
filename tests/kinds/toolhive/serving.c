#include "kinds/toolhive/serving/serving.h"

#include "base/time.h"
#include "kinds/toolhive/serving/registry.h"
#include "tests/kinds/toolhive/toolhive_stage.h"
#include "tests/test.h"

/* The right column is what upstream's operator wrote. */
TEST(hashes_of_a_registry_are_those_of_upstream)
{
    static const char *const rows[][2] = {
        { "reg-minimal", "9ca506b2" },
        { "reg-optional-pgpass", "efdca8eb" },
        { "reg-full", "b0809bef" },
        { "reg-podtemplate", "d54879f5" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *path =
            arena_printf(test_arena(), "tests/golden/toolhive/cases/%s.yaml", rows[i][0]);
        struct json spec = { 0 };
        json_each (o, stage_yaml(path))
            if (text_eq(json_get_text(*o, "kind"), "MCPRegistry"))
                spec = json_get(*o, "spec");
        check_text(registry_spec_hash(test_arena(), spec), rows[i][1]);
        check_text(
            registry_content_hash(test_arena(), json_get_text(spec, "configYAML")), "dca6fd2e");
    }
}

TEST(volumes_of_a_registry_must_not_take_the_operators_place)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "MCPRegistry",
        "cat",
        "{'configYAML': 'x', 'volumes': [{'name': 'pgpass', 'emptyDir': {}}]}");
    stage_run(&s, &toolhive_registry_kind, "cat");
    check(json_present(stage_child(&s, "Deployment"))); /* there is no password file */
    stage_edit(&s, &TOOLHIVE_REGISTRY, "cat", "spec.pgpassSecretRef", "{'name': 's', 'key': 'k'}");
    stage_run(&s, &toolhive_registry_kind, "cat");
    check(s.plan.keep_children);
    check_text(stage_message(&s, "Ready"), "volume name 'pgpass' is reserved by the operator");
}

TEST(a_registry_is_called_deprecated_once_for_each_spec)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPRegistry", "cat", "{'configYAML': 'x'}");
    stage_step(&s, &toolhive_registry_kind, "cat");
    check(stage_has_event(&s, "MCPRegistryDeprecated"));
    stage_step(&s, &toolhive_registry_kind, "cat");
    check(!stage_has_event(&s, "MCPRegistryDeprecated"));
}

TEST(the_selector_of_an_embedding_server_takes_no_labels_of_users)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s,
        "EmbeddingServer",
        "vec",
        "{'resourceOverrides': {'statefulSet': {'labels': {'app.kubernetes.io/name': 'mine'}, "
        "'podTemplateMetadataOverrides': {'labels': {'app.kubernetes.io/name': 'mine', 'x': "
        "'y'}}}}}");
    stage_run(&s, &toolhive_embedding_server_kind, "vec");
    struct json set = stage_child(&s, "StatefulSet");
    static const char name[] = "app.kubernetes.io/name";
    check_text(json_text(json_member(json_get(set, "metadata.labels"), name)), "mine");
    check_text(json_text(json_member(json_get(set, "spec.selector.matchLabels"), name)),
        "embeddingserver");
    struct json labels = json_get(set, "spec.template.metadata.labels");
    check_text(json_text(json_member(labels, name)), "embeddingserver");
    check_text(json_text(json_member(labels, "x")), "y");
}

TEST(a_cache_that_is_switched_off_stays_off)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "EmbeddingServer", "vec", "{'modelCache': {'enabled': false}}");
    stage_run(&s, &toolhive_embedding_server_kind, "vec");
    check(!json_present(json_get(stage_child(&s, "StatefulSet"), "spec.volumeClaimTemplates")));
}

TEST(values_that_are_no_quantities_are_told_by_path)
{
    static const char *const rows[][2] = {
        { "{'resources': {'limits': {'memory': '4 GB'}}}",
            "spec.resources.limits.memory: \"4 GB\" is not a quantity. Use a form such as "
            "128Mi." },
        { "{'modelCache': {'size': 'big'}}",
            "spec.modelCache.size: \"big\" is not a quantity. Use a form such as 10Gi." },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        toolhive_stage_init(&s);
        toolhive_stage_add(&s, "EmbeddingServer", "vec", rows[i][0]);
        stage_run(&s, &toolhive_embedding_server_kind, "vec");
        check(s.plan.keep_children);
        check_text(json_get_text(s.plan.status, "phase"), "Failed");
        check_text(json_get_text(s.plan.status, "message"), rows[i][1]);
    }
}

TEST(an_embedding_server_follows_its_stateful_set)
{
    struct stage s;
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "EmbeddingServer", "vec", "{}");
    stage_settle(&s, &toolhive_embedding_server_kind, "vec");
    check_text(json_get_text(s.plan.status, "phase"), "Pending");
    stage_edit(&s, &RESOURCE_STATEFUL_SET, "vec", "status", "{'replicas': 1}");
    stage_run(&s, &toolhive_embedding_server_kind, "vec");
    check_text(json_get_text(s.plan.status, "phase"), "Downloading");
    stage_edit(&s, &RESOURCE_STATEFUL_SET, "vec", "status.readyReplicas", "1");
    stage_run(&s, &toolhive_embedding_server_kind, "vec");
    check_text(json_get_text(s.plan.status, "phase"), "Ready");
    check(json_get_int(s.plan.status, "readyReplicas", 0) == 1);
}

#define REGISTRY_PODS                                                                              \
    "{'app.kubernetes.io/component': 'registry-api', 'app.kubernetes.io/name': 'it-api'}"

static void add_pod(struct stage *s, const char *labels, const char *image)
{
    stage_add(s,
        arena_printf(s->world.arena,
            "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p', 'labels': %s}, "
            "'status': "
            "{'containerStatuses': [{'name': 'c', 'image': '%s', 'state': {'waiting': {'reason': "
            "'ErrImagePull'}}}]}}",
            labels,
            image));
}

TEST(pods_that_cannot_run_are_told_on_embedding_servers_and_registries)
{
    static const struct {
        const char *kind, *spec, *labels;
        const struct kind *run;
    } rows[] = {
        { "EmbeddingServer",
            "{}",
            "{'app.kubernetes.io/component': 'embedding-server', 'app.kubernetes.io/instance': "
            "'it', 'app.kubernetes.io/managed-by': 'toolhive-operator'}",
            &toolhive_embedding_server_kind },
        { "MCPRegistry", "{'configYAML': 'x'}", REGISTRY_PODS, &toolhive_registry_kind },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct stage s;
        toolhive_stage_init(&s);
        toolhive_stage_add(&s, rows[i].kind, "it", rows[i].spec);
        toolhive_stage_add(&s, rows[i].kind, "other", rows[i].spec);
        stage_step(&s, rows[i].run, "it");
        check(!stage_condition(&s, "PodsHealthy"));
        add_pod(&s, rows[i].labels, "here.test/server:9");
        stage_step(&s, rows[i].run, "it");
        check_text(stage_condition(&s, "PodsHealthy"), "False ImagePullBackOff");
        check(strstr(stage_message(&s, "PodsHealthy"), "here.test/server:9"));
        check(stage_has_event(&s, "ImagePullBackOff"));
        stage_step(&s, rows[i].run, "other");
        check(!stage_condition(&s, "PodsHealthy"));
    }
}

static void add_crashed(struct stage *s, const char *ready, const char *state)
{
    stage_edit(s,
        &RESOURCE_POD,
        "p",
        "status",
        arena_printf(test_arena(),
            "{'conditions': [{'type': 'Ready', 'status': '%s'}], 'containerStatuses': [{'name': "
            "'c', "
            "'lastState': {'terminated': {'exitCode': 3}}, 'state': %s}]}",
            ready,
            state));
}

/* Between two crashes a container runs, and without a probe its pod is ready. */
TEST(a_crash_is_told_until_the_container_has_run_for_a_minute)
{
    struct stage s;
    struct arena *a = test_arena();
    toolhive_stage_init(&s);
    toolhive_stage_add(&s, "MCPRegistry", "it", "{'configYAML': 'x'}");
    add_pod(&s, REGISTRY_PODS, "here.test/server:9");
    add_crashed(&s, "False", "{'waiting': {'reason': 'CrashLoopBackOff'}}");
    stage_step(&s, &toolhive_registry_kind, "it");
    check_text(stage_condition(&s, "PodsHealthy"), "False CrashLoopBackOff");
    const char *started = time_format(a, s.world.now_ms);
    add_crashed(&s, "True", arena_printf(a, "{'running': {'startedAt': '%s'}}", started));
    s.world.now_ms += 50000;
    stage_step(&s, &toolhive_registry_kind, "it");
    check_text(stage_condition(&s, "PodsHealthy"), "False CrashLoopBackOff");
    check(!stage_has_event(&s, "CrashLoopBackOff"));
    check(s.plan.within_ms > 0 && s.plan.within_ms <= 11000);
    s.world.now_ms += s.plan.within_ms;
    stage_step(&s, &toolhive_registry_kind, "it");
    check_text(stage_condition(&s, "PodsHealthy"), "True NoTrouble");
}
